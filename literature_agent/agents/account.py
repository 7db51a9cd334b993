"""What parallel children may still spend of their parent's limits.

pydantic-ai checks a limit before a request and counts it after the answer, so children running side by side overshoot
it together. Here a request is reserved before it is sent, and the parent always keeps enough for its own ending.

What a response costs in tokens and money is known afterwards only. Reserved is the largest seen so far, with a little
for the history that grows; before a child has answered, what the parent's own requests cost on average. So the limits
hold where responses are alike; one that is far larger than all before it may still cross them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from pydantic_ai.usage import RunUsage, UsageLimits

GROWTH = 1.2
"""How much more the next request of a history may cost than the largest before it."""
_MEASURED = ("total_tokens", "input_tokens", "output_tokens", "cost")
_NAMES = {
    "total_tokens": "tokens",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "cost": "US dollars",
}


@dataclass(eq=False)
class Purse:
    """One child's share: what it has taken from the account so far."""

    account: Account
    usage: RunUsage = field(default_factory=RunUsage)
    requests: int = 0
    tool_calls: int = 0
    seen: dict[str, float] = field(default_factory=dict)
    """What had been used, by measure, when it was looked at last."""
    asked_after: int | None = None
    """How many requests had been answered when the newest one was reserved: it is under way as long as no more are."""

    def take_request(self) -> bool:
        """Reserve one model request; False if the parent's limit leaves none."""
        return self.account.take_request(self)

    def take_tool_call(self) -> bool:
        """Reserve one tool call; False if the parent's limit leaves none."""
        return self.account.take_tool_call(self)

    def take_turn(self, *, closing: bool) -> str | None:
        """Reserve the tokens and cost of one turn; a sentence why not, where the parent's limits leave none.

        A turn that is not the closing one leaves room for the closing turn of every child that runs.
        """
        return self.account.take_turn(self, closing=closing)

    @property
    def is_waiting(self) -> bool:
        """Whether a request is under way, so that what it costs is not yet in `usage`."""
        return self.asked_after == self.usage.requests


class Account:
    """The account of one parent run, shared by its children. Safe for threads."""

    def __init__(self, usage: RunUsage, limits: UsageLimits) -> None:
        self._usage = usage
        self._limits = limits
        self._purses: list[Purse] = []
        self._calls = 0
        self._largest = {name: _measure(usage, name) / max(1, usage.requests) for name in _MEASURED}
        self._lock = threading.Lock()

    def open(self, calls: int = 1) -> Purse | None:
        """A purse with one request reserved for closing; None if the parent's limit leaves not even that.

        `calls`: tool calls of the parent's turn, this child among them; each is one of the limit when it has ended.
        """
        purse = Purse(self)
        with self._lock:
            self._purses.append(purse)
            self._calls = max(self._calls, calls)
        if purse.take_request():
            return purse
        self._drop(purse)
        return None

    def close(self, purse: Purse) -> None:
        """Add what the child used to the parent's usage."""
        with self._lock:
            self._look_at(purse)
            self._usage.incr(purse.usage)
            self._purses.remove(purse)

    @property
    def is_idle(self) -> bool:
        """Whether no child is running."""
        with self._lock:
            return not self._purses

    def take_request(self, purse: Purse) -> bool:
        with self._lock:
            limit = self._limits.request_limit
            # The parent keeps one request to go on, and where there is room one more for its closing turn.
            kept = 0 if limit is None else (2 if limit >= 6 else 1)
            taken = sum(each.requests for each in self._purses)
            if limit is not None and self._usage.requests + taken + kept >= limit:
                return False
            purse.requests += 1
            return True

    def take_tool_call(self, purse: Purse) -> bool:
        with self._lock:
            limit = self._limits.tool_calls_limit
            taken = sum(each.tool_calls for each in self._purses)
            # Each running child is itself a tool call of the parent, counted when it ends, as are the tools beside it.
            running = max(self._calls, len(self._purses))
            if limit is not None and self._usage.tool_calls + taken + running >= limit:
                return False
            purse.tool_calls += 1
            return True

    def take_turn(self, purse: Purse, *, closing: bool) -> str | None:
        limits = self._limits
        with self._lock:
            for each in self._purses:
                self._look_at(each)
            growth = GROWTH if purse.usage.requests else 1.0
            under_way = [each for each in self._purses if each is not purse and each.is_waiting]
            for name, limit in (
                ("total_tokens", limits.total_tokens_limit),
                ("input_tokens", limits.input_tokens_limit),
                ("output_tokens", limits.output_tokens_limit),
                ("cost", limits.cost_limit),
            ):
                if limit is None:
                    continue
                largest = self._largest[name]
                spent = sum(_measure(usage, name) for usage in (self._usage, *(each.usage for each in self._purses)))
                promised = largest * sum(GROWTH if each.usage.requests else 1.0 for each in under_way)
                # Kept: the parent's own ending, and the closing turn of each child that could go on instead.
                kept = GROWTH * largest * (1 if closing or not purse.usage.requests else 1 + len(self._purses))
                if spent + promised + growth * largest + kept > float(limit):
                    return f"The limit of {limit:,} {_NAMES[name]} of the agent that asked was near."
            purse.asked_after = purse.usage.requests
            return None

    def _look_at(self, purse: Purse) -> None:
        """Learn from what a child has used since it was looked at last."""
        for name in _MEASURED:
            now = _measure(purse.usage, name)
            newest, purse.seen[name] = now - purse.seen.get(name, 0.0), now
            self._largest[name] = max(self._largest[name], newest)

    def _drop(self, purse: Purse) -> None:
        with self._lock:
            self._purses.remove(purse)


class Accounts:
    """The accounts of the parents that have children running, of whichever aggregator. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[int, Account] = {}

    def open(self, usage: RunUsage, limits: UsageLimits, calls: int = 1) -> Purse | None:
        """`Account.open` of the parent whose run counts in `usage`."""
        with self._lock:
            # The account holds the object, so that no other gets its number.
            account = self._accounts.setdefault(id(usage), Account(usage, limits))
            purse = account.open(calls)
            self._forget(usage, account)
            return purse

    def close(self, usage: RunUsage, purse: Purse) -> None:
        """`Account.close`; the account ends with its last child."""
        with self._lock:
            purse.account.close(purse)
            self._forget(usage, purse.account)

    def _forget(self, usage: RunUsage, account: Account) -> None:
        if account.is_idle:
            self._accounts.pop(id(usage), None)


ACCOUNTS_OF_THIS_PROCESS = Accounts()
"""A parent's children may be of different aggregators: what they share is the parent's run alone."""


def _measure(usage: RunUsage, name: str) -> float:
    return float(getattr(usage, name) or 0)
