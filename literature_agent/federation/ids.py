"""Identifiers across sources: what one of them is in the others' terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from literature_agent.artifacts import CitationArtifact, EuropePMCArticle, PMCArticle, PubMedArticle, Record
from literature_agent.errors import InvalidInputError, SourceError, refused
from literature_agent.ids import identify, strip_doi_version
from literature_agent.results import ErrorInfo
from literature_agent.sources._text import quoted
from literature_agent.sources.pmc.client import PMCClient
from literature_agent.sources.pmc.parse import IdType
from literature_agent.transport import Transport

_KINDS: tuple[IdType, ...] = ("pmid", "pmcid", "doi")
LONGEST_ID = 300
"""Characters of an identifier; longer ones are text."""


@dataclass(frozen=True)
class Ids:
    """What is known of one article's identifiers, each in its written form."""

    pmid: str | None = None
    pmcid: str | None = None
    doi: str | None = None
    ppr: str | None = None
    """Europe PMC's identifier of a preprint, `PPR123`."""

    def completed(self, **found: str | None) -> Ids:
        """With what was found in place of what is missing; what is known stays."""
        missing = {name: value for name, value in found.items() if value and getattr(self, name) is None}
        return replace(self, **missing)

    @property
    def main(self) -> str:
        """The one that sources are asked by: PMID, PMCID, DOI, preprint id."""
        return self.pmid or self.pmcid or self.doi or self.ppr or ""

    def __bool__(self) -> bool:
        return bool(self.main)


def ids_of(text: str) -> Ids:
    """What `text` names, taken whole: PMID, PMCID, DOI or preprint id (`PPR...`); bare digits are a PMID.

    Raises:
        InvalidInputError: it names no article; the message says what is taken.
    """
    known = identify(text) if isinstance(text, str) and len(text) <= LONGEST_ID and text.strip().isprintable() else None
    if known is not None and known.kind == "doi":
        return Ids(doi=strip_doi_version(known.value))
    if known is not None and known.kind in ("pmid", "pmcid", "ppr"):
        return Ids(**{known.kind: known.value})
    if known is not None and known.kind == "nct":
        raise refused(
            "pmc",
            f"{known.value} is a registered trial, which has no full text.",
            recovery="Fetch it from clinicaltrials, or search pubmed for papers about it.",
        )
    raise refused(
        "pmc",
        f"{quoted(text)} is no identifier of an article.",
        recovery="Give one PMID (33301246), PMCID (PMC7759461), DOI (10.1056/NEJMoa2001017) or preprint id (PPR123).",
    )


def ids_of_records(records: Iterable[CitationArtifact]) -> Ids:
    """What the records of one work say of its identifiers, the first that names one first."""
    ids = Ids()
    for record in records:
        ids = ids.completed(doi=record.doi)
        if isinstance(record, PubMedArticle | PMCArticle | EuropePMCArticle):
            ids = ids.completed(pmid=record.pmid, pmcid=record.pmcid)
        if isinstance(record, EuropePMCArticle) and record.epmc_source == "PPR":
            ids = ids.completed(ppr=record.epmc_id)
    return ids


class ConvertedId(Record):
    """One identifier and what it is elsewhere; `not_in_pmc`: the converter, which knows PMC only, has none such."""

    asked: str
    status: Literal["found", "not_in_pmc", "invalid", "failed"]
    pmid: str | None = None
    pmcid: str | None = None
    doi: str | None = None
    embargoed_until: str | None = None
    error: ErrorInfo | None = None


async def convert_ids(transport: Transport, ids: Sequence[str]) -> tuple[ConvertedId, ...]:
    """PMIDs, PMCIDs and DOIs in each other's terms, by PMC's ID converter: one answer for each, in the order asked.

    Raises:
        SourceError: `pmc_timeout` or `pmc_unreachable`, nothing could be asked at all.
    """
    read: list[Ids | InvalidInputError] = []
    for text in ids:
        try:
            read.append(_convertible(text))
        except InvalidInputError as refusal:
            read.append(refusal)
    client = PMCClient(transport)
    async with transport.job("pmc", "pmc"):
        answers = {
            kind: await client.convert(kind, [value for one in read if (value := _value(one, kind)) is not None])
            for kind in _KINDS
        }
    converted: list[ConvertedId] = []
    for text, one in zip(ids, read, strict=True):
        if isinstance(one, InvalidInputError):
            converted.append(ConvertedId(asked=text, status="invalid", error=ErrorInfo.of(one)))
            continue
        kind, value = next(((kind, value) for kind in _KINDS if (value := _value(one, kind))), ("pmid", ""))
        known = {name: _value(one, name) for name in _KINDS}
        error: SourceError | None = answers[kind].failed.get(value)
        if (found := answers[kind].found.get(value)) is not None:
            stated = {"pmid": found.pmid, "pmcid": found.pmcid, "doi": found.doi}
            converted.append(
                ConvertedId(
                    asked=text,
                    status="found",
                    embargoed_until=found.embargoed_until,
                    **{name: stated[name] or known[name] for name in _KINDS},
                )
            )
        elif error is not None:
            converted.append(ConvertedId(asked=text, status="failed", error=ErrorInfo.of(error), **known))
        else:
            converted.append(ConvertedId(asked=text, status="not_in_pmc", **known))
    return tuple(converted)


def _convertible(text: str) -> Ids:
    ids = ids_of(text)
    if not (ids.pmid or ids.pmcid or ids.doi):
        raise refused("pmc", f"{quoted(text)} is not converted: the ID converter takes a PMID, PMCID or DOI.")
    return ids


def _value(one: Ids | InvalidInputError, kind: IdType) -> str | None:
    value: str | None = None if isinstance(one, InvalidInputError) else getattr(one, kind)
    return value
