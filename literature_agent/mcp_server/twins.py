"""The small typed twin of each reply: what a program reads. No titles, no abstracts, nothing that the text repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from literature_agent.agents.schemas import flat_schema
from literature_agent.errors import LiteratureError
from literature_agent.federation import ConvertedId
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.results import (
    CitationMatch,
    ErrorInfo,
    FetchResult,
    FullText,
    MeshResult,
    RelatedResult,
    SearchResult,
)
from literature_agent.views import masked

MOST_WARNINGS = 10
LONGEST_SENTENCE = 300

_HEADING = re.compile(r"^(«artifact:link:cite~[0-9A-Z]{10}») \|", re.M)
_REFERENCE = re.compile(r"«artifact:link:cite~[0-9A-Z]{10}»")
_SEARCH_ID = re.compile(r"^Search (s\d+) \|")
_MISSING = re.compile(r"^(Not found|Failed): («artifact:link:cite~[0-9A-Z]{10}»)", re.M)

Status = Literal["ok", "empty", "partial", "failed"]


class Twin(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def document(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


class ErrorTwin(Twin):
    reason: Annotated[str, Field(description="Machine-readable: pubmed_rate_limited, request_invalid_input ...")]
    message: str
    retryable: bool = False
    recovery: Annotated[str, Field(description="One next step.")] = ""


class Reply(Twin):
    """What every reply may carry."""

    warnings: list[str] = []
    error: Annotated[ErrorTwin | None, Field(description="Present when the call failed, in whole or in part.")] = None


class OutcomeTwin(Twin):
    source: str
    status: str
    total: int | None = None
    returned: int = 0


class SearchTwin(Reply):
    status: Status
    search_id: str | None = None
    total: Annotated[int | None, Field(description="Matches that the source says it has.")] = None
    returned: int = 0
    next_page: Annotated[str | None, Field(description="Give it back as `page` to go on.")] = None
    notice: str | None = None
    references: list[str] = []
    outcomes: list[OutcomeTwin] | None = None


class FetchTwin(Reply):
    status: Status
    returned: int = 0
    references: list[str] = []
    not_found: list[str] = []
    failed: list[str] = []
    left_out: Annotated[list[str], Field(description="For length; fetch them in another call.")] = []


class ReadTwin(Reply):
    status: Status
    references: list[str] = []
    available: bool = False
    reason: Annotated[str | None, Field(description="Why there is no text.")] = None
    characters_total: int = 0


class RelatedTwin(Reply):
    status: Status
    total: int | None = None
    returned: int = 0
    notice: str | None = None
    references: list[str] = []
    relations: list[str] = []


class MatchTwin(Twin):
    status: Literal["matched", "miscited", "unknown", "failed"]
    reference: str | None = None
    wrong: Annotated[list[str], Field(description="Fields that are not as the record has them.")] = []


class MatchesTwin(Reply):
    status: Status
    citations: Annotated[list[MatchTwin], Field(description="One for each citation, in the order given.")] = []
    references: list[str] = []


class ConversionTwin(Twin):
    reference: str
    status: Literal["found", "not_in_pmc", "invalid", "failed"]
    has: Annotated[list[Literal["pmid", "pmcid", "doi"]], Field(description="Kinds of identifier.")] = []
    embargoed_until: str | None = None


class ConversionsTwin(Reply):
    status: Status
    works: list[ConversionTwin] = []
    references: list[str] = []


class MeshTwin(Reply):
    status: Status
    total: int | None = None
    headings: list[str] = []


class CoverageTwin(Twin):
    source: str
    asked: int
    answered: int
    empty: int
    failed: int
    truncated: int


class RunTwin(Reply):
    run_id: str | None = None
    status: Annotated[
        str, Field(description="complete, partial, no_evidence, failed; of a started run also running, interrupted.")
    ]
    progress: Annotated[str | None, Field(description="What a running run did last.")] = None
    elapsed_s: float | None = None
    model: str | None = None
    articles_analyzed: int | None = None
    references: list[str] = []
    coverage: list[CoverageTwin] = []


class CitationsTwin(Reply):
    status: Status
    style: str
    returned: int = 0
    references: list[str] = []
    unknown: list[str] = []
    left_out: Annotated[list[str], Field(description="For length; print them in another call.")] = []


def schema_of(twin: type[Twin]) -> dict[str, Any]:
    """The output schema, everything in place."""
    return flat_schema(twin.model_json_schema(mode="serialization"))


def error_twin(error: LiteratureError | ErrorInfo) -> ErrorTwin:
    return ErrorTwin(
        reason=error.reason,
        message=sentence(error.message),
        retryable=error.retryable,
        recovery=sentence(error.recovery),
    )


def sentence(text: str) -> str:
    """One line of bounded length as a model may see it: identifiers are masked, references stand."""
    folded = " ".join(text.split())
    between = [masked(part) for part in _REFERENCE.split(folded)]
    line = between[0] + "".join(
        reference + part for reference, part in zip(_REFERENCE.findall(folded), between[1:], strict=True)
    )
    if len(line) <= LONGEST_SENTENCE:
        return line
    end = LONGEST_SENTENCE - 1
    # A reference stands whole or not at all.
    return (
        line[: next((each.start() for each in _REFERENCE.finditer(line) if each.start() < end < each.end()), end)] + "…"
    )


def sentences(texts: Sequence[str]) -> list[str]:
    cut = [sentence(text) for text in texts[:MOST_WARNINGS]]
    return [*cut, f"and {len(texts) - MOST_WARNINGS} more"] if len(texts) > MOST_WARNINGS else cut


def headed(text: str) -> list[str]:
    """References of the records that a view shows, in order."""
    return list(dict.fromkeys(_HEADING.findall(text)))


def mentioned(text: str) -> list[str]:
    """All references in a text of ours, in order."""
    return list(dict.fromkeys(_REFERENCE.findall(text)))


def search_twin(result: SearchResult, text: str) -> SearchTwin:
    found = _SEARCH_ID.match(text)
    references = headed(text)
    return SearchTwin(
        status=result.status,
        search_id=found.group(1) if found else None,
        total=result.total,
        returned=len(references),
        next_page=result.next_page,
        notice=sentence(result.notice) if result.notice else None,
        references=references,
        warnings=sentences(result.warnings),
        outcomes=[
            OutcomeTwin(source=each.source, status=each.status, total=each.total, returned=each.returned)
            for each in result.outcomes
        ]
        or None,
        error=error_twin(result.error) if result.error else None,
    )


def fetch_twin(result: FetchResult, text: str, left_out: Sequence[str]) -> FetchTwin:
    missing = _MISSING.findall(text)
    references = headed(text)
    failed = [reference for what, reference in missing if what == "Failed"]
    error = next(iter(result.failed.values()), None)
    status: Status = "partial" if failed and references else "failed" if failed else "ok" if references else "empty"
    return FetchTwin(
        status=status,
        returned=len(references),
        references=references,
        not_found=[reference for what, reference in missing if what == "Not found"],
        failed=failed,
        left_out=list(left_out),
        warnings=sentences(result.warnings),
        error=error_twin(error) if error else None,
    )


def read_twin(result: FullText, reference: str) -> ReadTwin:
    return ReadTwin(
        status="ok" if result.available else "empty",
        references=[reference],
        available=result.available,
        reason=result.reason,
        characters_total=result.characters_total,
        warnings=sentences(result.warnings),
    )


def related_twin(result: RelatedResult, text: str) -> RelatedTwin:
    references = headed(text)
    return RelatedTwin(
        status=result.status,
        total=result.total,
        returned=len(references),
        notice=sentence(result.notice) if result.notice else None,
        references=references,
        relations=list(result.relations) if len(result.relations) == len(references) else [],
        warnings=sentences(result.warnings),
        error=error_twin(result.error) if result.error else None,
    )


def matches_twin(matches: Sequence[CitationMatch], references: Sequence[str | None], text: str) -> MatchesTwin:
    """`references` are those of the citations, one by one; `text` is the view."""
    return MatchesTwin(
        status=_status_of([match.status for match in matches]),
        citations=[
            MatchTwin(status=match.status, reference=reference, wrong=[each.field for each in match.differs])
            for match, reference in zip(matches, references, strict=True)
        ],
        references=headed(text),
        error=_first_error(matches),
    )


def conversions_twin(converted: Sequence[ConvertedId], references: Sequence[str]) -> ConversionsTwin:
    return ConversionsTwin(
        status=_status_of([one.status for one in converted]),
        works=[
            ConversionTwin(
                reference=reference,
                status=one.status,
                has=[kind for kind in ("pmid", "pmcid", "doi") if getattr(one, kind)],
                embargoed_until=one.embargoed_until,
            )
            for reference, one in zip(references, converted, strict=True)
        ],
        references=list(references),
        error=_first_error(converted),
    )


def mesh_twin(result: MeshResult) -> MeshTwin:
    return MeshTwin(
        status=result.status, total=result.total, headings=[sentence(term.descriptor) for term in result.terms]
    )


def _status_of(each: Sequence[str]) -> Status:
    failed = each.count("failed")
    return "failed" if failed == len(each) else "partial" if failed else "ok"


def _first_error(each: Sequence[CitationMatch | ConvertedId]) -> ErrorTwin | None:
    return next((error_twin(one.error) for one in each if one.status == "failed" and one.error is not None), None)


def run_twin(output: LiteratureAggregationOutput) -> RunTwin:
    return RunTwin(
        run_id=output.run_id,
        status=output.status,
        elapsed_s=round(output.duration_s, 1),
        model=output.model,
        articles_analyzed=output.articles_analyzed,
        references=[artifact.reference for artifact in output.relevant_articles if artifact.reference],
        coverage=[CoverageTwin(**coverage.model_dump()) for coverage in output.coverage],
        warnings=sentences(output.limitations),
    )
