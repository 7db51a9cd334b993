"""The leak guard: what a model typed into prose that only code may put there.

Only an exact identifier of a work shown in this run may be replaced, by that work's reference. Everything else goes
back for repair and is cut at the end: a guess would be a false attribution. Authors, journals and titles that the
question itself names may be echoed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

from literature_agent.integrity.authors import author_years
from literature_agent.integrity.folding import Folded, fold
from literature_agent.integrity.hits import Hit, LeakKind
from literature_agent.integrity.identifiers import identifiers_in
from literature_agent.integrity.journals import journal_years
from literature_agent.integrity.known import Known, plain_words
from literature_agent.integrity.markers import markers
from literature_agent.integrity.titles import titles_in
from literature_agent.integrity.years import years_in

KINDS: frozenset[LeakKind] = frozenset(get_args(LeakKind))
"""What is looked for."""

ShownWork = Callable[[str, str], str | None]
"""Reference of the work with this identifier (kind, value), if this run has shown it."""


class Leak(NamedTuple):
    """`text[start:end]` must not stand in prose; `reference` names the shown work that it identifies exactly."""

    kind: LeakKind
    start: int
    end: int
    text: str
    reference: str | None


@dataclass(frozen=True)
class Guard:
    """What the guard knows of a run: its question, its works, and which of them it has shown."""

    shown_work: ShownWork
    known: Known = field(default_factory=Known)
    question: str = ""
    """Words of the question, each between blanks."""

    @classmethod
    def of(cls, shown_work: ShownWork, known: Known, question: str) -> Guard:
        return cls(shown_work, known, f" {' '.join(plain_words(fold(question).text))} ")

    def find(self, text: str) -> list[Leak]:
        """The leaks of `text`, left to right, none overlapping another. Linear in the length of the text."""
        folded = fold(text)
        hits = (
            hit for hit in _hits(folded.text, self.known) if hit.kind in KINDS and not self._echoes(hit, folded.text)
        )
        return [self._leak(group, folded, text) for group in _grouped(hits)]

    def _leak(self, group: list[Hit], folded: Folded, text: str) -> Leak:
        first = group[0]
        start, end = folded.span(first.start, max(hit.end for hit in group))
        named = {reference for hit in group if (reference := self._named(hit)) is not None}
        exact = all(hit.kind in _IDENTIFIERS for hit in group)
        # Two works in one address: neither is what was meant.
        return Leak(first.kind, start, end, text[start:end], named.pop() if exact and len(named) == 1 else None)

    def _named(self, hit: Hit) -> str | None:
        return None if hit.value is None else self.shown_work(hit.kind, hit.value)

    def _echoes(self, hit: Hit, text: str) -> bool:
        """Whether the question itself says it. Identifiers and numbers are never an echo."""
        said = plain_words(text[hit.start : hit.end]) if hit.kind in _ECHOED else []
        if hit.kind == "title":
            return f" {' '.join(said)} " in self.question
        named = [word for word in said if word not in _FILLING]
        return bool(named) and all(f" {word} " in self.question for word in named)


_IDENTIFIERS = frozenset(("doi", "pmid", "pmcid", "nct", "isrctn", "eudract", "arxiv", "ppr", "nbk", "url", "key"))
_ECHOED = frozenset(("author-year", "journal-year", "title"))
# Words within an author-year that name nobody.
_FILLING = frozenset(("et", "al", "and", "the", "in", "by", "of", "colleagues", "study", "trial", "paper", "s"))


def _hits(text: str, known: Known) -> Iterator[Hit]:
    yield from identifiers_in(text, known)
    years = years_in(text)
    yield from author_years(text, known, years)
    yield from journal_years(text, known, years)
    yield from markers(text)
    yield from titles_in(text, known)


def _grouped(hits: Iterable[Hit]) -> Iterator[list[Hit]]:
    """Overlapping hits together, left to right; in each the widest first."""
    group: list[Hit] = []
    end = 0
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if group and hit.start >= end:
            yield group
            group = []
        group.append(hit)
        end = max(end, hit.end) if len(group) > 1 else hit.end
    if group:
        yield group
