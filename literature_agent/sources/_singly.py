"""Records, or batches of them, asked for one by one, for as long as that makes sense."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from literature_agent.errors import InvalidInputError, SourceError

FAILURES_IN_A_ROW = 3
"""After so many failed look-ups in a row the rest are not asked."""

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True)
class Answered(Generic[K, T]):
    """What came of each that was asked for; in neither: there is no such record."""

    found: dict[K, T] = field(default_factory=dict)
    failed: dict[K, SourceError] = field(default_factory=dict)


async def ask_singly(wanted: Iterable[K], ask: Callable[[K], Awaitable[T | None]]) -> Answered[K, T]:
    """What `ask` gives for each, None where there is no such record.

    A service that fails, or refuses this client, several times in a row is left alone: what is left fails alike. That
    it refuses one of the values says nothing of the next.
    """
    answered = Answered[K, T]()
    in_a_row = 0
    for one in wanted:
        if in_a_row >= FAILURES_IN_A_ROW:
            answered.failed[one] = next(reversed(answered.failed.values()))
            continue
        try:
            record = await ask(one)
        except SourceError as error:
            answered.failed[one] = error
            in_a_row += not isinstance(error, InvalidInputError)
            continue
        in_a_row = 0
        if record is not None:
            answered.found[one] = record
    return answered
