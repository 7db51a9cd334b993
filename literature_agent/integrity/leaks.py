"""Identifiers that a model typed into prose.

Only an exact identifier of a work shown in this run may be replaced, by that work's reference. Everything else goes
back for repair and is cut at the end: a guess would be a false attribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from literature_agent.ids import IdentifierKind, find_identifiers

ShownWork = Callable[[IdentifierKind, str], str | None]
"""Reference of the work with this identifier, if this run has shown it."""


class Leak(NamedTuple):
    """`text[start:end]` is an identifier; `reference` names the shown work it belongs to, if there is one."""

    kind: str
    start: int
    end: int
    text: str
    reference: str | None


def find_leaks(text: str, shown_work: ShownWork) -> Iterator[Leak]:
    """Identifiers typed into `text`, left to right."""
    for found in find_identifiers(text):
        reference = shown_work(found.kind, found.value)
        yield Leak(found.kind, found.start, found.end, text[found.start : found.end], reference)
