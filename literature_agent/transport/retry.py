"""When a request is sent again, and how long that waits: the one policy of the package."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential_jitter

from literature_agent.errors import ErrorKind
from literature_agent.transport.messages import TransientAnswer

T = TypeVar("T")

TRANSIENT: dict[int, ErrorKind] = {
    429: "rate_limited",
    500: "unreachable",
    502: "unreachable",
    503: "unreachable",
    504: "timeout",
}
"""Statuses that pass by themselves. 501 and the rest do not (K113)."""

# All waits of one request together, as a multiple of the longest single one (K119).
_TOTAL = 2


@dataclass(frozen=True)
class GaveUp:
    """The last fault of a request that was not sent again."""

    fault: TransientAnswer
    attempts: int
    waited_s: float


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds that a `Retry-After` header asks for (RFC 9110: seconds, or a date); None for anything else (K115)."""
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text):
        return float(text) or None
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now.timestamp()
    return seconds if seconds > 0 else None


async def with_retries(
    call: Callable[[int], Awaitable[T]],
    *,
    attempts: int,
    longest_wait: float,
    sleep: Callable[[float], Awaitable[None]],
    left: Callable[[], float],
) -> T | GaveUp:
    """`call(number)` until it raises no `TransientAnswer`; anything else it raises, cancellation too, leaves at once.

    Waits as the service asks, else longer each time with jitter; never longer than `longest_wait` at once, twice
    that in all, or the time `left`.
    """
    try:
        return await call(1)
    except TransientAnswer as fault:
        first: TransientAnswer | None = fault
    own = wait_exponential_jitter(multiplier=0.5, jitter=0.5, max=longest_wait)

    def wait(state: RetryCallState) -> float:
        asked = _fault(state).retry_after
        if asked is not None and math.isfinite(asked) and asked > 0:
            return min(asked, longest_wait)
        return own(state)

    def stop(state: RetryCallState) -> bool:
        pause = state.upcoming_sleep
        return state.attempt_number >= attempts or state.idle_for + pause > _TOTAL * longest_wait or pause >= left()

    number = 0

    async def once() -> T:
        # Nearly every request needs one attempt: the policy is asked only where that one failed.
        nonlocal first, number
        number += 1
        if first is not None:
            fault, first = first, None
            raise fault
        return await call(number)

    return await AsyncRetrying(
        retry=retry_if_exception_type(TransientAnswer),
        wait=wait,
        stop=stop,
        sleep=sleep,
        retry_error_callback=lambda state: GaveUp(_fault(state), state.attempt_number, state.idle_for),
    )(once)


def _fault(state: RetryCallState) -> TransientAnswer:
    fault = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(fault, TransientAnswer)
    return fault
