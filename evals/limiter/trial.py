"""Four processes ask one server that enforces a limit; all they share is the store of the pace."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from pathlib import Path

from evals.limiter.counting import CountingSandbox, Load, pauses, tightest, violations
from literature_agent.sandbox import Corpus
from literature_agent.settings import Settings, load_settings
from literature_agent.sources.pubmed import SOURCE as PUBMED
from literature_agent.transport import Transport
from literature_agent.transport.turns import MARGIN

KEY = "0123456789abcdef0123456789abcdef0123"
LIMITS = {True: 10, False: 3}
"""Requests in any one second, with a key and without (NBK25497)."""

LEAST_USED = 0.90
MOST_APART = 0.25
REST_S = 3.0
"""What the injected 429 asks for."""

_PATIENCE_S = 1200.0
_TOPICS = ("metformin", "cognitive", "diabetes", "exercise", "adults", "trial", "risk", "dementia")


@dataclass(frozen=True)
class Plan:
    """One trial."""

    store: str
    """`RATE_LIMIT_STORE`."""
    keyed: bool
    processes: int = 4
    runs: int = 40
    rest: bool = False
    """Whether the server answers 429 once, when every process has asked."""

    @property
    def seconds(self) -> float:
        """About what it takes: a search is up to three requests."""
        return self.runs * len(_TOPICS[::2]) * 3 / (LIMITS[self.keyed] * MARGIN) + self.rest * REST_S


@dataclass
class Outcome:
    """What came of it."""

    plan: Plan
    requests: int
    refused: int
    """429 answers, without the injected one."""
    violations: int
    tightest_s: float
    load: Load
    statuses: Counter[str] = field(default_factory=Counter)
    """How the runs ended."""
    pauses: dict[str, float] = field(default_factory=dict)
    """By process, after the injected 429."""
    in_rest: int = 0
    """Requests that came while the injected rest lasted."""

    @property
    def limit(self) -> int:
        return LIMITS[self.plan.keyed]

    @property
    def passed(self) -> bool:
        ended = set(self.statuses) == {"ok"} and self.statuses.total() == self.plan.runs
        clean = self.violations == 0 and self.refused == 0 and ended
        if self.plan.rest:
            return clean and min(self.pauses.values()) >= REST_S * 0.9
        return clean and self.load.used(self.limit) >= LEAST_USED and self.load.apart <= MOST_APART

    def lines(self) -> list[str]:
        """For people."""
        runs = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        text = [
            f"  {self.requests} requests, {self.violations} violations, {self.refused} answered 429; "
            f"{self.limit + 1} requests took {self.tightest_s * 1000:.0f} ms at least; runs: {runs}"
        ]
        if self.plan.rest:
            each = ", ".join(f"{seconds:.1f}" for seconds in self.pauses.values())
            text.append(f"  after one 429 with Retry-After {REST_S:.0f} the processes paused {each} s")
            text.append(f"  requests that came during the rest: {self.in_rest} (they were on their way)")
        else:
            shares = ", ".join(f"{count / self.load.requests:.3f}" for _, count in sorted(self.load.shares.items()))
            text.append(
                f"  under load ({self.load.seconds:.1f} s): {self.load.used(self.limit):.3f} of the allowed rate used; "
                f"shares {shares}: {self.load.apart:.0%} apart"
            )
        return text


def run_trial(plan: Plan) -> Outcome:
    """Run it: the server in this process, the runs in others."""
    limit = LIMITS[plan.keyed]
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Corpus.packaged()) as corpus,
        _ahead_of_all(CountingSandbox(corpus, limit)) as server,
    ):
        settings = {
            **server.settings_overrides(),
            "cache_dir": str(Path(folder) / "cache"),
            "rate_limit_store": plan.store,
            "ncbi_api_key": KEY if plan.keyed else None,
        }
        start, answers = context.Barrier(plan.processes + 1), context.SimpleQueue()
        per_process = plan.runs // plan.processes
        workers = [
            context.Process(target=_work, args=(number, per_process, settings, start, answers), daemon=True)
            for number in range(plan.processes)
        ]
        for worker in workers:
            worker.start()
        try:
            start.wait(_PATIENCE_S)
            began = time.monotonic()
            if plan.rest:
                # By then every process has asked; not by a timer, since a loaded machine is slow.
                while len({arrival.who for arrival in server.arrivals()}) < plan.processes:
                    _pause(0.05, began)
                server.faults.set("eutils", "rate_limit", times=1, seconds=REST_S)
            for worker in workers:
                worker.join(_PATIENCE_S)
        finally:
            for worker in workers:
                if worker.is_alive():
                    worker.kill()
                    worker.join()
        statuses: Counter[str] = Counter()
        while not answers.empty():
            statuses.update(answers.get())
        arrivals = server.arrivals()
    times = [arrival.at for arrival in arrivals]
    injected = next((arrival.at for arrival in arrivals if plan.rest and arrival.status == 429), None)
    return Outcome(
        plan,
        requests=len(times),
        refused=sum(arrival.status == 429 for arrival in arrivals) - (injected is not None),
        violations=violations(times, limit),
        tightest_s=tightest(times, limit),
        load=Load.of(arrivals),
        statuses=statuses,
        pauses={} if injected is None else pauses(arrivals, injected),
        in_rest=0 if injected is None else sum(injected < at < injected + REST_S for at in times),
    )


def _pause(seconds: float, began: float) -> None:
    if time.monotonic() - began > _PATIENCE_S:
        raise TimeoutError
    threading.Event().wait(seconds)


@contextmanager
def _ahead_of_all(server: CountingSandbox) -> Iterator[CountingSandbox]:
    """The server while it runs, in threads that go before all else that waits for a processor, where that is allowed:
    it stands for one on another machine, so it must not be what is slow."""
    with ExitStack() as stack:
        policy = None
        with suppress(AttributeError, OSError):
            policy = os.sched_getscheduler(0), os.sched_getparam(0)
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        try:
            # Threads go on as the one that made them was.
            stack.enter_context(server)
        finally:
            if policy is not None:
                os.sched_setscheduler(0, *policy)
        yield server


def _work(number: int, runs: int, given: dict[str, str], start: Barrier, answers: object) -> None:
    """What one process does: its runs, all at once."""
    settings = load_settings(
        **given, email=f"process-{number}@example.org", pace="on", cache="off", breaker="off", sources="pubmed"
    )
    start.wait(_PATIENCE_S)
    statuses = asyncio.run(_runs(number, runs, settings))
    answers.put(statuses)  # type: ignore[attr-defined]


async def _runs(number: int, runs: int, settings: Settings) -> Sequence[str]:
    """The searches of so many runs, without the model: on a small machine that would be what is slow."""
    async with Transport(settings) as transport:
        pubmed = PUBMED.build(transport)

        async def one(run: int) -> str:
            worst = "ok"
            for topic in _TOPICS[run % 2 :: 2]:
                result = await pubmed.search(f"{topic} OR run{number}x{run}", max_results=5)
                worst = result.status if result.status != "ok" else worst
            return worst

        return await asyncio.gather(*(one(run) for run in range(runs)))
