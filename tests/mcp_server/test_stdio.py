"""The server on standard input and output, driven by the official client."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client, StdioServerParameters

from tests.mcp_server.conftest import for_the_person, text_of

Command = Callable[..., StdioServerParameters]

DEFAULT = ["literature_aggregator", "search_pubmed", "read_pmc_full_text"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_lists_the_default_tools_and_calls_them(stdio: Command, mode: str) -> None:
    """Both generations of the protocol."""
    async with Client(stdio(), mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == DEFAULT
        found = await client.call_tool("search_pubmed", {"query": "metformin cognition", "max_results": 3})
        assert not found.is_error
        assert text_of(found).startswith("Search s1 | pubmed | ok | shown 3 of ")
        assert "10.5555/" in for_the_person(found)
