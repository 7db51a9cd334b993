"""A worker: one process that works on a queue until it is told to stop."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pydantic_ai.models import Model

from literature_agent.durable.book import open_book
from literature_agent.durable.engine import VERSION, open_engine
from literature_agent.durable.runs import MAX_RECOVERIES, DurableRuns
from literature_agent.durable.workers import BEAT_S, LEASE_S
from literature_agent.errors import LiteratureError
from literature_agent.settings import Settings

GRACE_S = 30.0
_RESTARTS = 5


@contextmanager
def working(
    settings: Settings,
    queue: str,
    *,
    concurrency: int,
    models: Mapping[str, Model] | None = None,
    version: str = VERSION,
    register: Callable[[DurableRuns], object] | None = None,
    poll_s: float = 0.5,
    grace_s: float = GRACE_S,
    beat_s: float = BEAT_S,
    lease_s: float = LEASE_S,
) -> Iterator[DurableRuns]:
    """While this lasts, this process takes questions from `queue`, at most `concurrency` at a time.

    At the end the steps on their way are finished and recorded; what is left of the runs goes to other workers.
    """
    # Before the engine starts: of a queue that is registered later it learns within a second only.
    with open_book(settings) as book:
        book.client.register_queue(
            queue, worker_concurrency=concurrency, polling_interval_sec=poll_s, on_conflict="always_update"
        )
    with open_engine(
        settings,
        models=models,
        queues=(queue,),
        version=version,
        register=register,
        beat_s=beat_s,
        lease_s=lease_s,
    ) as runs:
        try:
            yield runs
        finally:
            runs.drain(grace_s)


class Crew:
    """Worker processes of this machine; one that dies is started again, a few times.

    Args:
        command: that a worker runs; it must stop when its standard input ends, so that no worker outlives this process.
        environment: of the workers.
        size: number of processes.
        say: told when one had to be started again.
    """

    def __init__(
        self, command: list[str], environment: Mapping[str, str], size: int, say: Callable[[str], None]
    ) -> None:
        self._command = command
        self._environment = dict(environment)
        self._say = say
        self._ended = {False: 0, True: 0}
        """Workers that ended by themselves, and that were killed."""
        self.workers = [self._start() for _ in range(size)]

    def watch(self) -> None:
        """Start again what has died.

        Raises:
            LiteratureError: they die again and again.
        """
        for place, worker in enumerate(self.workers):
            code = worker.poll()
            if code is None:
                continue
            self._ended[code < 0] += 1
            if worker.stdin is not None:
                worker.stdin.close()
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            # A question that kills its worker is set aside before the workers are given up.
            most = _RESTARTS + MAX_RECOVERIES if code < 0 else _RESTARTS
            if self._ended[code < 0] > most * len(self.workers):
                raise LiteratureError(
                    f"The workers end again and again; the last one {how}.",
                    reason="durable_workers",
                    retryable=True,
                    recovery="See what they say above; what is recorded is kept, and the same command goes on with it.",
                )
            self._say(f"Worker {worker.pid} {how}; another takes its place.")
            self.workers[place] = self._start()

    def stop(self) -> None:
        """Let every worker finish its steps and end."""
        for worker in self.workers:
            if worker.stdin is not None:
                worker.stdin.close()
        for worker in self.workers:
            try:
                worker.wait(timeout=GRACE_S + 15)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, env=self._environment)


def until_input_ends(stop: threading.Event) -> None:
    """Set `stop` when standard input ends: the process that started this one is gone, or wants it to end."""

    def wait() -> None:
        sys.stdin.buffer.read()
        stop.set()

    threading.Thread(target=wait, name="literature-agent-input", daemon=True).start()
