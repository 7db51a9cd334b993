"""Identifiers and pasted citations in the question: resolved by code before the model is asked, and shown to it as
references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from literature_agent.agents.citations import PastedCitation, pasted_citations
from literature_agent.custody import Custody
from literature_agent.ids import FoundIdentifier, find_identifiers
from literature_agent.results import CitationMatch
from literature_agent.sources import Source

# Kinds that name a record of a source; an address or a registry number of another registry does not.
_RECORDS = ("pmid", "pmcid", "doi", "nct", "ppr")
MOST_IDENTIFIERS = 50
UNRESOLVED = "[identifier not resolved]"
"""What stands in the question for an identifier that no source has."""


@dataclass(frozen=True)
class Opened:
    """The question as the model sees it, what was found, and a sentence for each identifier that was not resolved and
    each citation that is not as the record has it."""

    question: str
    given: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()


async def open_door(custody: Custody, question: str) -> Opened:
    """Resolve the identifiers in `question`, write their references in their place, and check pasted citations."""
    question, checked, doubts = await _checked_citations(custody, question)
    found = [each for each in find_identifiers(question) if each.kind in _RECORDS][:MOST_IDENTIFIERS]
    if not found:
        return Opened(question, checked, doubts)
    given: list[str] = list(checked)
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
            unresolved.append(f"{each.value} in the question was not resolved: {why.rstrip('.')}.")
            question = question[: each.start] + UNRESOLVED + question[each.end :]
    return Opened(question, tuple(given), (*doubts, *dict.fromkeys(reversed(unresolved))))


async def _checked_citations(custody: Custody, question: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The question with references in place of the citations that were found, the view of all of them as checked, and
    a sentence for each that is not as cited."""
    citations = pasted_citations(question)
    if not citations or not {"pubmed", "europepmc"} & {source.name for source in custody.sources}:
        return question, (), ()
    text, matches, problem = await custody.check_citations([citation.text for citation in citations])
    if problem:
        return question, (), (f"The citations in the question were not checked: {problem}",)
    question = _with_references(custody, question, citations, matches)
    doubts = [_doubt(number, match) for number, match in enumerate(matches, start=1)]
    return question, (text,), tuple(doubt for doubt in doubts if doubt)


def _with_references(
    custody: Custody, question: str, citations: Sequence[PastedCitation], matches: Sequence[CitationMatch]
) -> str:
    """What was not found stays as it was pasted: its words may help to find it."""
    for number, (citation, match) in reversed(list(enumerate(zip(citations, matches, strict=True), start=1))):
        reference = None if match.artifact is None else custody.registry.work_of(match.artifact)
        if reference is not None:
            question = f"{question[: citation.start]}[citation {number}] {reference}{question[citation.end :]}"
    return question


def _doubt(number: int, match: CitationMatch) -> str | None:
    if match.status == "matched":
        return None
    if match.status == "miscited":
        fields = ", ".join(difference.field for difference in match.differs)
        return f"Citation {number} in the question is miscited; the record differs in: {fields}."
    if match.status == "failed":
        why = match.error.message if match.error is not None else "the source did not answer."
        return f"Citation {number} in the question was not checked: {why}"
    return f"Citation {number} in the question is unknown: no source that was asked has such a record."


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
