"""Model and sources in a process of their own, so that they take nothing from the process that is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

from evals.durable.model_server import model_server
from literature_agent.sandbox import Corpus, SandboxServer


@contextmanager
def other_side(delay_s: float) -> Iterator[tuple[dict[str, str], str]]:
    """The settings that point at the sandbox, and the address of a model that answers after `delay_s` seconds."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, delay_s), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        here.close()
        process.join(10)


def _serve(pipe: Connection, delay_s: float) -> None:
    with SandboxServer(Corpus.packaged()) as sandbox, model_server(delay_s) as model:
        pipe.send((sandbox.settings_overrides(), model.address))
        # Nothing comes: it ends with the other end of the pipe.
        pipe.poll(None)
