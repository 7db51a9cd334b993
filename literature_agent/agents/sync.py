"""Calling async code from code that is not."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from pydantic_ai import CancellationToken

P = ParamSpec("P")
T = TypeVar("T")


def takes_what(like: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Gives the decorated function the arguments of `like`, for readers, editors and type checkers."""

    def same(function: Callable[..., T]) -> Callable[P, T]:
        gives = inspect.signature(function).return_annotation
        shown = inspect.signature(like).replace(return_annotation=gives)
        function.__signature__ = shown  # type: ignore[attr-defined]  # read by `inspect.signature` and `help`
        return function

    return same


def run_in_own_loop(start: Callable[[], Coroutine[Any, Any, T]], *, interrupt: Callable[[], None] | None = None) -> T:
    """Run the coroutine that `start` makes to its end and give its result.

    Inside a running event loop (a notebook) it runs in a worker thread with a loop of its own, so that the running loop
    is neither entered twice nor patched. Interrupted there, it is cancelled and nothing keeps working; with
    `interrupt`, that is called instead the first time, and the result is waited for.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    outcome: list[T] = []
    failure: list[BaseException] = []
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    context = contextvars.copy_context()
    ended, given_up = threading.Event(), threading.Event()

    async def carry_out() -> T:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        if given_up.is_set():  # before there was a task to cancel
            raise asyncio.CancelledError
        return await start()

    def work() -> None:
        try:
            outcome.append(context.run(lambda: asyncio.run(carry_out())))
        except BaseException as raised:  # noqa: BLE001  # handed over to the calling thread
            failure.append(raised)
        finally:
            ended.set()

    thread = threading.Thread(target=work, name="literature-agent-sync")
    try:
        thread.start()
        while not ended.is_set():
            try:
                ended.wait()
            except KeyboardInterrupt:
                if interrupt is None:
                    raise
                interrupt()
                interrupt = None
    except KeyboardInterrupt:
        given_up.set()
        for loop, task in running:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
        if thread.ident is not None:
            ended.wait()
        raise
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def run_until_interrupted(
    start: Callable[[CancellationToken], Coroutine[Any, Any, T]], token: CancellationToken | None = None
) -> T:
    """`run_in_own_loop` of a run that ends early when its token is cancelled, which the first Ctrl-C does.

    A second one raises `KeyboardInterrupt`. A program that handles the signal in its own way goes on doing so.
    """
    from pydantic_ai import CancellationToken

    stop = token if token is not None else CancellationToken()
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )

    async def carry_out() -> T:
        loop = asyncio.get_running_loop()

        def interrupted() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            stop.cancel()

        # Handlers can be set from the main thread only; inside a running loop this one is not in it. Windows has none.
        handled = is_ours and threading.current_thread() is threading.main_thread()
        if handled:
            with suppress(NotImplementedError):
                loop.add_signal_handler(signal.SIGINT, interrupted)
        try:
            return await start(stop)
        finally:
            if handled:
                with suppress(NotImplementedError):
                    loop.remove_signal_handler(signal.SIGINT)

    return run_in_own_loop(carry_out, interrupt=stop.cancel)
