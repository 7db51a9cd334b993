"""Calling async code from code that is not."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_own_loop(start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the coroutine that `start` makes to its end and give its result.

    Inside a running event loop (a notebook) it runs in a worker thread with a loop of its own, so that the running loop
    is neither entered twice nor patched.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    outcome: list[T] = []
    failure: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.append(context.run(lambda: asyncio.run(start())))
        except BaseException as raised:  # noqa: BLE001  # handed over to the calling thread
            failure.append(raised)

    thread = threading.Thread(target=work, name="literature-agent-sync")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
