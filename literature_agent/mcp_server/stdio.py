"""The server on standard input and output: every line on stdout is JSON-RPC, whatever warns or prints (K101)."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper

import anyio
from mcp.server.stdio import stdio_server

from literature_agent.mcp_server.server import LiteratureServer

_ENDS = (signal.SIGINT, signal.SIGTERM)
"""Hosts send the second to a server that does not end soon after its client."""


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


@contextmanager
def claimed_stdin() -> Iterator[tuple[socket.socket, Callable[[], None]]]:
    """What comes on stdin, and what ends it; children of this process read nothing from there.

    A thread that waits for the next line of a terminal can't be woken: it would keep Ctrl-C waiting too.
    """
    wire, null = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    here, there = socket.socketpair()

    def end() -> None:
        with suppress(OSError):
            there.shutdown(socket.SHUT_RDWR)

    def hand_on() -> None:
        with suppress(OSError):
            while data := os.read(wire, 65_536):
                there.sendall(data)
        end()

    threading.Thread(target=hand_on, name="literature-agent-stdin", daemon=True).start()
    try:
        yield here, end
    finally:
        end()
        os.dup2(wire, 0)


async def serve_stdio(server: LiteratureServer, wire: int) -> None:
    """Serve one client until it closes stdin, or until Ctrl-C or SIGTERM; `wire` is what `claimed_stdout` gave."""
    built, loop = server.build(), asyncio.get_running_loop()
    with (
        claimed_stdin() as (incoming, end),
        incoming,
        incoming.makefile("r", encoding="utf-8", errors="replace") as lines,
        os.fdopen(wire, "wb", closefd=False) as binary,
    ):

        def interrupt() -> None:
            # As if the client had left: what is under way is kept. A second signal ends the process as usual.
            for number in _ENDS:
                loop.remove_signal_handler(number)
            end()

        with suppress(NotImplementedError, RuntimeError, ValueError):  # no such handlers here
            for number in _ENDS:
                loop.add_signal_handler(number, interrupt)
        out = anyio.wrap_file(TextIOWrapper(binary, encoding="utf-8"))
        async with stdio_server(stdin=anyio.wrap_file(lines), stdout=out) as (reader, writer):
            await built.run(reader, writer, built.create_initialization_options())
