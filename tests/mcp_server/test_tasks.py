"""The Tasks extension (SEP-2663), asked for by FastMCP's client, which nobody here wrote."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2 as httpx
import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp_tasks import call_tool_task
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY, Request, RequestParams, Result

from literature_agent.mcp_server.tasks import EXTENSION
from literature_agent.sandbox import SandboxServer
from tests.mcp_server.conftest import TOKENS, HttpServer, text_of

QUESTION = {"question": "Does metformin slow cognitive decline?"}


@asynccontextmanager
async def tasking(server: HttpServer, consumer: str) -> AsyncIterator[FastClient[Any]]:
    headers = {"Authorization": f"Bearer {TOKENS[consumer]}"}
    async with FastClient(StreamableHttpTransport(server.url, headers=headers)) as client:
        yield client


async def test_a_client_that_knows_tasks_gets_a_handle_and_later_the_answer(http_server: HttpServer) -> None:
    async with tasking(http_server, "one") as client:
        task = await call_tool_task(client, "literature_aggregator", QUESTION)
        assert task.create_result.status in ("working", "completed")
        assert task.create_result.created_at.endswith("Z")
        answer = await task.result()
        assert answer.structured_content is not None
        assert answer.structured_content["status"] == "complete"
        assert answer.structured_content["run_id"] == task.task_id
        assert "Summary: " in text_of(answer)
        # The same run by its other name, for clients without tasks.
        kept = await client.call_tool("literature_result", {"run_id": task.task_id})
        assert kept.structured_content == answer.structured_content
        # Another tool is answered at once, also to this client.
        found = await client.call_tool("search_pubmed", {"query": "metformin"})
        assert found.structured_content is not None
        assert found.structured_content["status"] == "ok"


async def test_a_refused_call_is_no_task(http_server: HttpServer) -> None:
    async with tasking(http_server, "one") as client:
        refused = await client.call_tool("literature_aggregator", {"question": " "}, raise_on_error=False)
        assert refused.is_error
        assert "question" in text_of(refused)
        unknown = await client.call_tool("literature_aggregator", {"name": 7}, raise_on_error=False)
        assert "no argument 'name'" in text_of(unknown)


async def test_a_cancelled_task_keeps_what_it_found(http_server: HttpServer, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "slow", seconds=60)
    async with tasking(http_server, "one") as client:
        task = await call_tool_task(client, "literature_aggregator", {"question": "metformin and a cancelled task"})
        await task.cancel()
        state = await task.wait(timeout=60)
        assert state.status == "cancelled"
        kept = await client.call_tool("literature_result", {"run_id": task.task_id}, raise_on_error=False)
        assert kept.structured_content is not None
        assert kept.structured_content["status"] == "cancelled"


async def test_another_tenant_s_task_is_not_there(http_server: HttpServer) -> None:
    async with tasking(http_server, "one") as client, tasking(http_server, "two") as other:
        task = await call_tool_task(client, "literature_aggregator", QUESTION)
        foreign = type(task)(other, "literature_aggregator", task.create_result)
        for attempt in (foreign.status, foreign.cancel):
            with pytest.raises(MCPError, match="Task not found"):
                await attempt()
        assert (await task.result()).structured_content is not None


class _Task(RequestParams):
    task_id: str


async def test_who_has_not_declared_tasks_can_ask_for_none(http_server: HttpServer) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['one']}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(http_server.url, http_client=http)) as client,
    ):
        answer = await client.call_tool("literature_aggregator", QUESTION)
        assert answer.structured_content["status"] == "complete"
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            asked: Request[_Task, str] = Request(method=method, params=_Task(task_id="x"))
            with pytest.raises(MCPError) as refused:
                await client.session.send_request(asked, Result)
            assert refused.value.error.code == MISSING_REQUIRED_CLIENT_CAPABILITY
            assert EXTENSION in refused.value.error.message
