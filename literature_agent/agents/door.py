"""Identifiers in the question: resolved by code before the model is asked, and shown to it as references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from literature_agent.custody import Custody
from literature_agent.ids import FoundIdentifier, find_identifiers
from literature_agent.sources import Source

# Kinds that name a record of a source; an address or a registry number of another registry does not.
_RECORDS = ("pmid", "pmcid", "doi", "nct", "ppr")
MOST_IDENTIFIERS = 50


@dataclass(frozen=True)
class Opened:
    """The question as the model sees it, what was found, and a sentence for each identifier that was not."""

    question: str
    given: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()


async def open_door(custody: Custody, question: str) -> Opened:
    """Resolve the identifiers in `question` and write their references in their place."""
    found = [each for each in find_identifiers(question) if each.kind in _RECORDS][:MOST_IDENTIFIERS]
    if not found:
        return Opened(question)
    given: list[str] = []
    failed: dict[str, str] = {}
    for source, values in _by_source(custody.sources, found):
        text, error = await custody.resolve(source, values)
        if text:
            given.append(text)
        if error is not None:
            failed |= dict.fromkeys(values, f"{source.label} failed: {error.message}")
    unresolved = []
    for each in reversed(found):
        reference = custody.desk.work_of(each.kind, each.value)
        if reference is not None:
            question = question[: each.start] + reference + question[each.end :]
        else:
            why = failed.get(each.value, "no source that was asked has it")
            unresolved.append(f"{each.value} in the question was not resolved: {why}.")
            question = question[: each.start] + "[an identifier that could not be resolved]" + question[each.end :]
    return Opened(question, tuple(given), tuple(dict.fromkeys(reversed(unresolved))))


def _by_source(sources: Sequence[Source], found: Sequence[FoundIdentifier]) -> list[tuple[Source, list[str]]]:
    """Which source is asked for which identifiers: the first that takes the kind."""
    asked: dict[str, tuple[Source, list[str]]] = {}
    for each in found:
        kind = "epmc" if each.kind == "ppr" else each.kind
        source = next((source for source in sources if kind in source.fetches), None)
        if source is not None:
            values = asked.setdefault(source.name, (source, []))[1]
            if each.value not in values:
                values.append(each.value)
    return list(asked.values())
