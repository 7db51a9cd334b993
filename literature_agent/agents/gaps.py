"""What the papers of an answer call unknown, and searches that were answered with nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from literature_agent.agents.evidence import Asked
from literature_agent.agents.rank import Wording
from literature_agent.agents.selection import Chosen
from literature_agent.agents.telling import cited, listing, study_of, with_article
from literature_agent.agents.words import STOP_WORDS, bare, word_tokens
from literature_agent.outputs import DraftGap
from literature_agent.render.search_log import source_label

_GAPS = 4


def stated_gaps(chosen: Sequence[Chosen]) -> list[DraftGap]:
    """What authors call unknown, one sentence of a paper at most."""
    gaps: list[DraftGap] = []
    for item in chosen:
        sentence = next((s for s in reversed(item.sentences) if s.names_gap and s.repeatable), None)
        if sentence is None or not item.quoted or not item.paper.whole or len(gaps) == _GAPS:
            continue
        introduction = f"The authors of {with_article(study_of(item.paper)).lower()} name as open"
        gaps.append(
            DraftGap(
                description=cited(introduction, sentence, item.paper.reference),
                basis="stated_in_literature",
                references=[item.paper.reference],
                searches=[],
                quotes=[sentence.text],
            )
        )
    return gaps


@dataclass(frozen=True)
class _Nothing:
    """Searches of one source with the same limits that asked for the same subjects and were answered with nothing."""

    source: str
    subjects: tuple[str, ...]
    filters: str
    searches: tuple[Asked, ...]
    others: Literal["none", "wider", "other"]
    """The searches of the source that found something, beside them."""


def null_searches(wording: Wording, searches: Sequence[Asked]) -> list[DraftGap]:
    """Searches that asked for this question and were answered with nothing, a gap for sources of which the same can be
    said: a failed search is none."""
    alike: dict[tuple[object, ...], list[_Nothing]] = {}
    for nothing in _answered_with_nothing(wording, searches):
        same = (nothing.subjects, _limits(nothing.filters), len(nothing.searches), nothing.others)
        alike.setdefault(same, []).append(nothing)
    return [
        DraftGap(
            description=_found_nothing(group),
            basis="null_search",
            references=[],
            searches=[search.search_id for nothing in group for search in nothing.searches],
            quotes=[],
        )
        for group in alike.values()
    ]


def _answered_with_nothing(wording: Wording, searches: Sequence[Asked]) -> Iterator[_Nothing]:
    empty = [search for search in searches if search.status == "empty" and search.as_written]
    for source, filters in dict.fromkeys((search.source, search.filters) for search in empty):
        subjects: tuple[str, ...] = ()
        kept: list[Asked] = []
        for search in empty:
            if (search.source, search.filters) != (source, filters):
                continue
            held = _held(subjects if kept else _subjects(wording), search.query)
            if held:
                subjects = held
                kept.append(search)
        if kept:
            found = [s for s in searches if s.source == source and s.status in ("ok", "partial")]
            yield _Nothing(source, subjects, filters, tuple(kept), _beside(kept, found, subjects))


def _beside(
    empty: Sequence[Asked], found: Sequence[Asked], subjects: Sequence[str]
) -> Literal["none", "wider", "other"]:
    if not found:
        return "none"
    fewest = min(search.query.count(" AND ") for search in empty)
    about = {word for subject in subjects for word in _content(subject)}
    wider = all(s.query.count(" AND ") < fewest and any(_has(s.query, word) for word in about) for s in found)
    return "wider" if wider else "other"


def _found_nothing(group: Sequence[_Nothing]) -> str:
    """One sentence that is true of each source of the group."""
    first = group[0]
    sources = listing([source_label(nothing.source) for nothing in group])
    subject, number = listing(first.subjects), len(first.searches)
    limits = f", {within}" if (within := _limits(first.filters)) else ""
    if first.others == "wider":
        asked = "search" if number == len(group) == 1 else "searches"
        said = f" ({within})" if within else ""
        return f"The narrowest {asked} of {sources} on {subject}{said} found no record; wider ones did."
    made = f"{number} {'search' if number == 1 else 'searches'}{' each' if len(group) > 1 else ''}"
    beside = "; other searches there found some" if first.others == "other" else ""
    return f"No record was found in {sources} for {subject} ({made}{limits}){beside}."


_LIMITS = {"languages": "language {}", "publication_types": "of type {}", "since_entry_date": "entered since {}"}
# Other names of the source itself.
_NO_LIMITS = frozenset({"server"})


def _limits(filters: str) -> str:
    """`dated 2026-11-23 to 2026-11-30, language eng` for `date_from=2026-11-23; date_to=2026-11-30; languages=eng`."""
    given = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in filters.split("; "))}
    since, until = given.pop("date_from", ""), given.pop("date_to", "")
    dated = f"dated {since} to {until}" if since and until else f"dated from {since}" if since else ""
    if until and not since:
        dated = f"dated up to {until}"
    named = [
        _LIMITS.get(name, f"{name.replace('_', ' ')} {{}}").format(value)
        for name, value in given.items()
        if value and name not in _NO_LIMITS
    ]
    return ", ".join(filter(None, [dated, *named]))


def _subjects(wording: Wording) -> tuple[str, ...]:
    return tuple(concept.names[0] for concept in wording.concepts) or wording.stems


def _held(subjects: Sequence[str], query: str) -> tuple[str, ...]:
    """The subjects that a query holds whole; none if it has fewer than two words of them."""
    held = tuple(s for s in subjects if (words := _content(s)) and all(_has(query, word) for word in words))
    return held if len({word for subject in held for word in _content(subject)}) > 1 else ()


def _content(subject: str) -> list[str]:
    return [word for token in word_tokens(subject) if (word := bare(token)) not in STOP_WORDS and not word.isdigit()]


def _has(query: str, word: str) -> bool:
    """Whether a query asks for a word, by itself or by its beginning (`metform*`)."""
    return any(word == part or (part.endswith("*") and word.startswith(part[:-1])) for part in _asked(query))


def _asked(query: str) -> set[str]:
    """The words of a query, field names aside."""
    return {bare(word) for word in re.findall(r"[^\W_][\w-]*\*?", re.sub(r"\b[A-Z_]+:", " ", query))}
