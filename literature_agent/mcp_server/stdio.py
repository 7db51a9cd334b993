"""The server on standard input and output: every line on stdout is JSON-RPC, whatever warns or prints (K101)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

import anyio
from mcp.server.stdio import stdio_server

from literature_agent.mcp_server.server import LiteratureServer


@contextmanager
def claimed_stdout() -> Iterator[int]:
    """A descriptor that leads to stdout, while everything else that is written there goes to stderr."""
    sys.stdout.flush()
    wire = os.dup(1)
    printed = sys.stdout
    try:
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        yield wire
    finally:
        sys.stdout = printed
        os.dup2(wire, 1)
        os.close(wire)


async def serve_stdio(server: LiteratureServer, wire: int) -> None:
    """Serve one client until it closes stdin; `wire` is what `claimed_stdout` gave."""
    built = server.build()
    with os.fdopen(wire, "wb", closefd=False) as binary:
        out = anyio.wrap_file(TextIOWrapper(binary, encoding="utf-8"))
        async with stdio_server(stdout=out) as (reader, writer):
            await built.run(reader, writer, built.create_initialization_options())
