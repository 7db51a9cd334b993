"""Worker processes that answer cases, each with its own sandbox: the rule-based model is bound by processor, and one
Python process uses one core."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import traceback
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from evals.cases import Ask
from evals.outcome import Outcome
from evals.task import answer
from evals.upstream import Upstream, upstream_of
from literature_agent import Budget


class CaseFailed(Exception):
    """A case was not answered; the message says why."""


class Crew:
    """`size` processes that take cases as they come. Use it as an async context manager."""

    def __init__(
        self,
        size: int,
        *,
        corpus: str,
        model: str,
        budget: Budget,
        record: Path | None = None,
        replay: Path | None = None,
    ) -> None:
        self._workers = [_Worker(_Job(corpus, model, budget, record, replay)) for _ in range(size)]

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            for worker in self._workers:
                worker.start(loop)
            await asyncio.gather(*(worker.ready for worker in self._workers))
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    def _close(self) -> None:
        for worker in self._workers:
            worker.tell_to_end()
        for worker in self._workers:
            worker.close()

    async def answer(self, ask: Ask, case: str) -> Outcome:
        """The outcome of one case, from the process that has the least to do.

        Raises:
            CaseFailed: the case raised, or its process ended.
        """
        return await min(self._workers, key=lambda worker: len(worker.waiting)).answer(ask, case)


class _Job(NamedTuple):
    """What a process is to do."""

    corpus: str
    model: str
    budget: Budget
    record: Path | None
    replay: Path | None


class _Worker:
    def __init__(self, job: _Job) -> None:
        self.waiting: dict[int, asyncio.Future[Outcome]] = {}
        # Spawned, not forked: event loops and locks of this process mean nothing in another.
        context = get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_work, args=(there, job), daemon=True)
        self._there = there
        self._asked = 0
        self._listener: threading.Thread | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.ready: asyncio.Future[None] = loop.create_future()
        self._process.start()
        self._there.close()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    async def answer(self, ask: Ask, case: str) -> Outcome:
        self._asked += 1
        number = self._asked
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self.waiting[number] = future
        try:
            self._here.send((number, case, ask.model_dump()))
            return await future
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                self._here.send((number, case, None))
            raise
        except OSError:
            raise CaseFailed("The process that should answer the case has ended.") from None
        finally:
            self.waiting.pop(number, None)

    def tell_to_end(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._here.send(None)

    def close(self) -> None:
        if self._process.pid is None:
            return
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(timeout=10)
        if self._listener is not None:
            self._listener.join(timeout=10)
        self._here.close()

    def _listen(self) -> None:
        while True:
            try:
                number, kind, payload = self._here.recv()
            except (EOFError, OSError):
                break
            self._tell(number, kind, payload)
        self._tell(0, "failed", "The process that should answer the case has ended.")

    def _tell(self, number: int, kind: str, payload: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may have ended
            self._loop.call_soon_threadsafe(self._settle, number, kind, payload)

    def _settle(self, number: int, kind: str, payload: Any) -> None:
        if kind == "ready":
            self.ready.set_result(None)
            return
        if number == 0:
            if not self.ready.done():
                self.ready.set_exception(CaseFailed(str(payload)))
            futures = list(self.waiting.values())
        else:
            futures = [self.waiting[number]] if number in self.waiting else []
        for future in futures:
            if future.done():
                continue
            if kind == "answered":
                future.set_result(Outcome.model_validate_json(payload))
            else:
                future.set_exception(CaseFailed(str(payload)))


def _work(pipe: Connection, job: _Job) -> None:
    # Ctrl-C reaches the whole group of processes; the first one tells the others when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asyncio.run(_serve(pipe, job))
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001  # whatever stops the process is told to the one that waits for it
        with contextlib.suppress(OSError):
            pipe.send((0, "failed", told(error)))


async def _serve(pipe: Connection, job: _Job) -> None:
    loop = asyncio.get_running_loop()
    running: dict[int, asyncio.Task[None]] = {}

    async def one(number: int, case: str, ask: Ask, upstream: Upstream) -> None:
        try:
            outcome = await answer(ask, upstream, case=case, model=job.model, budget=job.budget)
            pipe.send((number, "answered", outcome.model_dump_json()))
        except Exception as error:  # noqa: BLE001  # one case that raises does not end the others (K127)
            pipe.send((number, "failed", told(error)))

    with upstream_of(job.corpus, job.record, job.replay) as upstream:
        pipe.send((0, "ready", None))
        while (got := await loop.run_in_executor(None, pipe.recv)) is not None:
            number, case, asked = got
            if asked is None:
                if number in running:
                    running[number].cancel()
                continue
            task = running[number] = asyncio.create_task(one(number, case, Ask(**asked), upstream))
            task.add_done_callback(partial(_forget, running, number))
        for unfinished in list(running.values()):
            unfinished.cancel()
        await asyncio.gather(*running.values(), return_exceptions=True)


def _forget(running: dict[int, asyncio.Task[None]], number: int, _: asyncio.Task[None]) -> None:
    running.pop(number, None)


def told(error: BaseException) -> str:
    """Name, message and place of an exception."""
    place = traceback.format_exception(error)[-2:]
    return f"{type(error).__name__}: {error}\n{''.join(place)}".strip()
