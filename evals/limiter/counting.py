"""What a server that enforces a limit has seen."""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.sandbox.messages import Request


@dataclass(frozen=True)
class Arrival:
    """One request at the server."""

    at: float
    """Seconds of the server's monotonic clock."""
    who: str
    """The process, by the contact address that it sends."""
    status: int


class CountingSandbox(SandboxServer):
    """A sandbox that answers 429 above `limit` requests in any one second, and notes every arrival."""

    def __init__(self, corpus: Corpus, limit: int) -> None:
        super().__init__(corpus, rate_limit=limit)
        self._guard = threading.Lock()
        self._arrivals: list[Arrival] = []

    def reply_to(self, request: Request, content_type: str, body: bytes) -> Any:
        """As the sandbox does, noted."""
        at = time.monotonic()
        answer = super().reply_to(request, content_type, body)
        if not request.path.startswith("/_sandbox"):
            with self._guard:
                status = 0 if answer.reply is None else answer.reply.status
                self._arrivals.append(Arrival(at, request.get("email"), status))
        return answer

    def arrivals(self) -> list[Arrival]:
        """All of them, in order of time."""
        with self._guard:
            return sorted(self._arrivals, key=lambda arrival: arrival.at)


def violations(times: Sequence[float], limit: int) -> int:
    """Requests that were more than `limit` within one second, counted from each of them backwards."""
    return sum(last - first < 1.0 for first, last in zip(times, times[limit:], strict=False))


def tightest(times: Sequence[float], limit: int) -> float:
    """Shortest time, seconds, in which `limit` + 1 requests came; below 1 it is a violation."""
    return min((last - first for first, last in zip(times, times[limit:], strict=False)), default=float("inf"))


@dataclass(frozen=True)
class Load:
    """The time in which every process had work: from the first request of the last one to begin, to the last request of
    the first one to end."""

    seconds: float
    requests: int
    shares: dict[str, int]
    """Requests by process."""

    @classmethod
    def of(cls, arrivals: Sequence[Arrival]) -> Load:
        begun: dict[str, float] = {}
        ended: dict[str, float] = {}
        for arrival in arrivals:
            begun.setdefault(arrival.who, arrival.at)
            ended[arrival.who] = arrival.at
        first, last = max(begun.values()), min(ended.values())
        within = [arrival for arrival in arrivals if first <= arrival.at <= last]
        return cls(last - first, len(within), dict(Counter(arrival.who for arrival in within)))

    def used(self, limit: int) -> float:
        """Share of the allowed rate."""
        return (self.requests - 1) / self.seconds / limit if self.seconds > 0 else 0.0

    @property
    def apart(self) -> float:
        """How far the largest share is above the smallest, as a share of their mean."""
        counts = list(self.shares.values())
        return (max(counts) - min(counts)) / statistics.mean(counts)


def pauses(arrivals: Sequence[Arrival], after: float) -> dict[str, float]:
    """Longest time, seconds, from one request of a process to its next, that ends later than `after`."""
    longest = {}
    for who in sorted({arrival.who for arrival in arrivals}):
        times = [arrival.at for arrival in arrivals if arrival.who == who]
        longest[who] = max((b - a for a, b in itertools.pairwise(times) if b > after), default=0.0)
    return longest
