"""Servers and clients of the MCP tests. The clients are those of the official SDK."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import Client, StdioServerParameters  # after the check that the extra is there
from mcp_types import CallToolResult, ReadResourceResult, TextContent, TextResourceContents

from literature_agent.mcp_server import Consumer, LiteratureServer, Policy
from literature_agent.mcp_server.http import serve_http
from literature_agent.mcp_server.policy import EXPOSABLE, RAW_TOOLS, STDIO, hash_token
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings, load_settings

MODEL_TOOLS = tuple(name for name in EXPOSABLE if name not in RAW_TOOLS)

Connect = Callable[..., AbstractAsyncContextManager[Client]]


class Content(Protocol):
    """The result of a call, whichever client it is from."""

    @property
    def content(self) -> Sequence[object]: ...


def text_of(result: Content) -> str:
    """What the model sees."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def page_of(result: ReadResourceResult) -> str:
    """The text of a resource."""
    (page,) = result.contents
    assert isinstance(page, TextResourceContents)
    return page.text


def for_the_person(result: CallToolResult) -> str:
    """The block that is marked for the user."""
    (block,) = [part for part in result.content if part.annotations and part.annotations.audience == ["user"]]
    assert isinstance(block, TextContent)
    return block.text


def all_tools(name: str = STDIO, **members: Any) -> Consumer:
    """A consumer that may call whatever there is."""
    tools = EXPOSABLE if members.get("identifiers") == "raw" else MODEL_TOOLS
    return Consumer(name=name, tools=tools, **members)


@pytest.fixture
def connect(settings: Settings, tmp_path: Path) -> Connect:
    """Opens a server in this process and a client of it."""

    @asynccontextmanager
    async def opened(
        consumer: Consumer | None = None, *, server: LiteratureServer | None = None, **options: Any
    ) -> AsyncIterator[Client]:
        policy = Policy(consumer=(consumer or all_tools(),))
        running = server or LiteratureServer(settings, policy, tmp_path / "mcp", progress_every_s=0.02)
        async with Client(running.build(), **options) as client:
            yield client

    return opened


@pytest.fixture
def stdio(sandbox: SandboxServer, tmp_path: Path) -> Callable[..., StdioServerParameters]:
    """The command of a server on standard input and output, asking the sandbox of this test run."""

    def command(*options: str, **environment: str) -> StdioServerParameters:
        places = {f"LITERATURE_AGENT_{name.upper()}": value for name, value in sandbox.settings_overrides().items()}
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "literature_agent", "mcp", *options],
            env={
                **places,
                "LITERATURE_AGENT_CACHE_DIR": str(tmp_path / "cache"),
                "LITERATURE_AGENT_PACE": "off",
                **environment,
            },
        )

    return command


class HttpServer:
    """A server over HTTP in a thread of its own."""

    def __init__(self, server: LiteratureServer) -> None:
        self.server = server
        self.url = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="mcp-http")

    async def _serve(self) -> None:
        def ready(url: str) -> None:
            self.url = url
            self._ready.set()

        self._loop = asyncio.get_running_loop()
        await serve_http(self.server, host="127.0.0.1", port=0, ready=ready, stop=self._stop)

    def __enter__(self) -> HttpServer:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        assert not self._thread.is_alive()


TOKENS = {name: f"token-of-{name}-0123456789abcdefghijklmnop" for name in ("one", "two", "small")}


@pytest.fixture(scope="module")
def http_server(sandbox: SandboxServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Two consumers with all tools, and one with little, known by `TOKENS`."""
    folder = tmp_path_factory.mktemp("http")
    settings = load_settings(
        **sandbox.settings_overrides(),
        cache_dir=folder / "cache",
        pace="off",
        cache="off",
        rate_limit_store="memory",
        retry_max_wait_s=0.01,
    )
    policy = Policy(
        consumer=(
            all_tools("one", token_sha256=hash_token(TOKENS["one"]), requests_per_minute=10_000),
            all_tools("two", token_sha256=hash_token(TOKENS["two"])),
            Consumer(
                name="small", tools=("search_pubmed",), token_sha256=(hash_token(TOKENS["small"]),), calls_per_day=2
            ),
        )
    )
    with HttpServer(LiteratureServer(settings, policy, folder / "mcp")) as running:
        yield running
