"""The sandbox in a process of its own, as the services are: what it costs is not counted with what asks it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from literature_agent.sandbox import Asked, Corpus, SandboxServer

_PATIENCE_S = 60


@contextmanager
def sandbox_process() -> Iterator[tuple[dict[str, str], Callable[[], list[Asked]]]]:
    """The packaged sandbox in a process of its own, as the services are: the settings that point at it, and what asks
    it for the requests that have come in since the last time."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    # The other end belongs to the child alone, so that its death is seen here.
    theirs.close()

    def received() -> Any:
        if not ours.poll(_PATIENCE_S):
            raise TimeoutError(f"the sandbox did not answer in {_PATIENCE_S} seconds")
        return ours.recv()

    def asked() -> list[Asked]:
        ours.send("asked")
        return [Asked(*each) for each in received()]

    try:
        yield received(), asked
    finally:
        with suppress(OSError):  # it may have ended by itself
            ours.send("stop")
        process.join(_PATIENCE_S)
        ours.close()


def _serve(pipe: Connection) -> None:
    with SandboxServer(Corpus.packaged()) as server:
        pipe.send(server.settings_overrides())
        while pipe.recv() == "asked":
            pipe.send([tuple(each) for each in server.requests])
            server.requests.clear()
