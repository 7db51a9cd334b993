"""A client that cancels: what was asked upstream ends too, seen from the other side of the wire (K105)."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from literature_agent.mcp_server import LiteratureServer, Policy
from literature_agent.mcp_server.policy import hash_token
from literature_agent.settings import Settings
from literature_agent.testing import scripted_model
from tests.mcp_server.conftest import TOKENS, HttpServer, all_tools

Command = Callable[..., StdioServerParameters]


class Tarpit:
    """A service that takes requests and never answers; it notices who hangs up."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.closed = threading.Semaphore(0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # it is over
                return
            self._open.append(connection)
            threading.Thread(target=self._hold, args=(connection,), daemon=True).start()

    def _hold(self, connection: socket.socket) -> None:
        was_asked = False
        try:
            while connection.recv(65536):
                if not was_asked:
                    was_asked = True
                    self.asked.release()
        except OSError:
            pass
        if was_asked:
            self.closed.release()

    def close(self) -> None:
        self._listener.close()
        for connection in self._open:
            connection.close()


@pytest.fixture
def tarpit() -> Iterator[Tarpit]:
    held = Tarpit()
    yield held
    held.close()


HEADERS = {"Authorization": f"Bearer {TOKENS['one']}"}


def http_server_at(settings: Settings, folder: Path) -> HttpServer:
    policy = Policy(consumer=(all_tools("one", token_sha256=hash_token(TOKENS["one"])),))
    return HttpServer(LiteratureServer(settings, policy, folder))


@asynccontextmanager
async def over_http(settings: Settings, folder: Path, mode: str) -> AsyncIterator[Client]:
    with http_server_at(settings, folder) as server:
        async with (
            httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
        ):
            yield client


@pytest.mark.parametrize(
    ("door", "tool"),
    [
        ("stdio auto", "search_pubmed"),
        ("stdio legacy", "literature_aggregator"),
        ("http auto", "search_pubmed"),
        ("http auto", "literature_aggregator"),
        ("http legacy", "search_pubmed"),
        ("http legacy", "literature_aggregator"),
    ],
)
async def test_the_service_sees_the_connection_closed(
    door: str, tool: str, tarpit: Tarpit, stdio: Command, settings: Settings, tmp_path: Path
) -> None:
    kind, _, mode = door.partition(" ")
    if kind == "stdio":
        opened = Client(stdio("--tools", tool, LITERATURE_AGENT_NCBI_BASE_URL=tarpit.url), mode=mode)
    else:
        stuck = settings.model_copy(update={"ncbi_base_url": tarpit.url})
        opened = over_http(stuck, tmp_path / "mcp", mode)  # type: ignore[assignment]
    arguments = {"query": "metformin"} if tool == "search_pubmed" else {"question": "metformin?", "sources": ["pubmed"]}
    async with opened as client:
        call = asyncio.create_task(client.call_tool(tool, arguments))
        assert await asyncio.to_thread(tarpit.asked.acquire, timeout=60)
        assert not tarpit.closed.acquire(blocking=False)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(tarpit.closed.acquire, timeout=30)
        # Nothing is asked again, and the server goes on.
        assert not await asyncio.to_thread(tarpit.asked.acquire, timeout=0.5)
        assert [each.name for each in (await client.list_tools()).tools if each.name == tool] == [tool]


async def test_an_agent_of_pydantic_ai_that_is_cancelled_ends_its_call_too(
    tarpit: Tarpit, settings: Settings, tmp_path: Path
) -> None:
    from fastmcp.client.transports import StreamableHttpTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset

    stuck = settings.model_copy(update={"ncbi_base_url": tarpit.url})
    with http_server_at(stuck, tmp_path / "mcp") as server:
        model = scripted_model([("search_pubmed", {"query": "metformin"})], lambda seen: "done")
        toolset = MCPToolset(StreamableHttpTransport(server.url, headers=HEADERS), init_timeout=60)
        agent = Agent(model, toolsets=[toolset])
        async with agent:
            run = asyncio.create_task(agent.run("Metformin?"))
            assert await asyncio.to_thread(tarpit.asked.acquire, timeout=60)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            assert await asyncio.to_thread(tarpit.closed.acquire, timeout=30)
