"""The limit trial in small: several who share nothing but the store of the pace."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from evals.limiter.counting import Arrival, CountingSandbox, Load, pauses, tightest, violations
from literature_agent.results import SearchResult
from literature_agent.sandbox import Corpus
from literature_agent.settings import Settings, load_settings
from literature_agent.sources.pubmed import SOURCE as PUBMED
from literature_agent.transport import Pace, PaceStore, Transport
from literature_agent.transport.stores import Kept, pace_store
from literature_agent.transport.turns import Rate, Row

R = TypeVar("R")


class Watching:
    """A store that notes every start that is written into it."""

    def __init__(self, store: PaceStore) -> None:
        self.blocking, self.shared, self.where = store.blocking, store.shared, store.where
        self.starts: set[float] = set()
        self._store = store
        self._lock = threading.Lock()

    def change(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
        def noted(kept: Kept) -> R:
            result = work(kept)
            with self._lock:
                self.starts.update(Row.read(kept.text, kept.now).sent)
            return result

        return self._store.change(name, time, noted)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_four_who_share_a_store_keep_one_limit(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """By the clock of the store and so whatever the load: real arrivals are counted by `python -m evals limiter`."""
    address = request.getfixturevalue("postgres_url") if kind == "postgres" else f"sqlite:///{tmp_path / 'pace'}"
    stores = [Watching(pace_store(Settings(rate_limit_store=address))) for _ in range(4)]
    rate = 20

    def ask(store: Watching) -> None:
        pace = Pace("host", rate, store=store)
        for _ in range(8):
            pace.acquire_sync()

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(ask, store) for store in stores]:
            done.result(timeout=60)
    starts = sorted(set[float]().union(*(store.starts for store in stores)))
    assert len(starts) == 32
    assert violations(starts, rate) == 0
    assert min(b - a for a, b in itertools.pairwise(starts)) >= Rate.of(rate).interval / 2 - 0.002


async def test_the_counting_server_tells_who_came_and_refuses_what_is_too_much() -> None:
    corpus = Corpus.packaged()
    with CountingSandbox(corpus, 3) as server:
        settings = load_settings(
            **server.settings_overrides(),
            email="process-1@example.org",
            pace="off",
            cache="off",
            breaker="off",
            rate_limit_store="memory",
            retry_attempts=1,
        )
        async with Transport(settings) as transport:
            pubmed = PUBMED.build(transport)
            ended = await asyncio.gather(
                *(pubmed.search("metformin", max_results=1) for _ in range(20)), return_exceptions=True
            )
        arrivals = server.arrivals()
    corpus.close()
    assert {arrival.who for arrival in arrivals} == {"process-1@example.org"}
    assert {arrival.status for arrival in arrivals} <= {200, 429}
    failed = [end for end in ended if not isinstance(end, SearchResult) or end.status != "ok"]
    assert sum(arrival.status == 429 for arrival in arrivals) == len(failed)
    accepted = [arrival.at for arrival in arrivals if arrival.status == 200]
    assert violations(accepted, 3) == 0


def test_violations_are_counted_in_every_second_and_not_by_the_clock() -> None:
    assert violations([0.0, 0.4, 0.9, 1.0, 1.39, 1.95], 3) == 1
    assert tightest([0.0, 0.4, 0.9, 1.0, 1.39, 1.95], 3) == pytest.approx(0.99)
    assert violations([0.0, 0.5, 1.0, 1.5], 3) == 0
    assert tightest([0.0], 3) == float("inf")


def test_load_is_the_time_in_which_all_had_work() -> None:
    arrivals = [
        Arrival(at, who, 200) for at, who in [(0, "a"), (1, "b"), (2, "a"), (3, "b"), (4, "a"), (5, "b"), (6, "b")]
    ]
    load = Load.of(arrivals)
    assert (load.seconds, load.requests, load.shares) == (3, 4, {"b": 2, "a": 2})
    assert load.used(1) == 1
    assert load.apart == 0
    assert Load(1, 3, {"a": 2, "b": 1}).apart == pytest.approx(2 / 3)


def test_a_pause_is_the_longest_gap_that_ends_after_the_refusal() -> None:
    arrivals = [Arrival(at, "a", 200) for at in (0, 5, 6, 9.5, 10)] + [Arrival(6.2, "b", 429)]
    assert pauses(arrivals, 6.1) == {"a": 3.5, "b": 0.0}
