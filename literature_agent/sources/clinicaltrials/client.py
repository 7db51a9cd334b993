"""Asks ClinicalTrials.gov's API v2: searches walked by token, studies by number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from literature_agent.artifacts import Provenance
from literature_agent.errors import InvalidInputError, SourceError, counted, refused, source_error
from literature_agent.ids import identify
from literature_agent.results import ErrorInfo, FetchResult
from literature_agent.sources._singly import ask_singly
from literature_agent.sources._text import one_line, quoted
from literature_agent.sources.clinicaltrials.parse import NAME, Study, StudyPage, parse_page, parse_study
from literature_agent.sources.clinicaltrials.query import Plan
from literature_agent.transport import A_DAY, Transport, describe
from literature_agent.transport.messages import Answer, Request, TransientAnswer

MOST_IDS = 500
BATCH = 20
"""Numbers asked in one request: a study with results can be several megabytes."""
SINGLY = 2
"""So many numbers, or fewer, are asked one by one from the start."""

# A search leaves out posted results (megabytes) and the contacts of sites; every site itself is listed (K068).
_FIELDS = ",".join(
    (
        *(
            f"protocolSection.{module}Module"
            for module in (
                "identification",
                "status",
                "sponsorCollaborators",
                "description",
                "conditions",
                "design",
                "armsInterventions",
                "outcomes",
                "eligibility",
                "references",
            )
        ),
        *("LocationFacility", "LocationCity", "LocationCountry", "LocationStatus"),
        "HasResults",
    )
)


# --- requests ---------------------------------------------------------------------------------------------------------


def search_request(plan: Plan, *, page_size: int, token: str | None = None) -> Request:
    """`GET /studies`; the total is asked for with the first page, for it comes with no other."""
    paging = [("pageSize", str(page_size))]
    paging.append(("pageToken", token) if token else ("countTotal", "true"))
    params = (*plan.params, ("fields", _FIELDS), *paging)
    return Request(NAME, "clinicaltrials", "studies", params=params, accept="application/json", max_age_s=A_DAY)


def study_request(number: str) -> Request:
    """`GET /studies/{nctId}`, the whole record."""
    return Request(NAME, "clinicaltrials", f"studies/{number}", accept="application/json", max_age_s=A_DAY)


def studies_request(numbers: Sequence[str]) -> Request:
    """`GET /studies` for whole records by number. One malformed number would reject them all."""
    params = (("filter.ids", ",".join(numbers)), ("pageSize", str(len(numbers))))
    return Request(NAME, "clinicaltrials", "studies", params=params, accept="application/json", max_age_s=A_DAY)


# --- answers ----------------------------------------------------------------------------------------------------------


def require_data(answer: Answer) -> bytes:
    """The body, if the answer is one.

    Raises:
        TransientAnswer: nothing came where data was asked for.
        InvalidInputError: the registry refused the request; its text is told in short (K069).
        SourceError: a status that says nothing better.
    """
    if answer.status in (400, 414, 422):
        said = b"" if answer.looks_like_html() else answer.body
        raise refused(NAME, f"ClinicalTrials.gov refused the request: {_complaint(said)}")
    if answer.status != 200:
        raise source_error(NAME, "invalid_response", f"ClinicalTrials.gov answered with status {answer.status}.")
    if not answer.body.strip():
        raise TransientAnswer("an empty answer came", kind="invalid_response")
    return answer.body


def _complaint(body: bytes) -> str:
    """The registry's own words without the list of all its tokens that it appends."""
    said = one_line(re.split(r"\s+expecting\s+\{", body[:4000].decode("utf-8", "replace"))[0], 200)
    return (said or "it says no reason").rstrip(".") + "."


@dataclass(frozen=True)
class Found:
    """What the walk over the pages brought."""

    studies: tuple[Study, ...]
    total: int | None
    next_token: str | None
    """Continues right after the last study; None at the end of the list."""
    warnings: tuple[str, ...] = ()
    error: SourceError | None = None
    """Why something asked for is missing."""


@dataclass(frozen=True)
class ClinicalTrialsClient:
    """The registry over one transport."""

    transport: Transport

    # --- search

    async def search(self, plan: Plan, *, limit: int, token: str | None = None) -> Found:
        """Studies of a search, page after page until `limit`, the end of the list, or a page that fails.

        Raises:
            SourceError: the first page failed; `InvalidInputError` if the registry refused the query or token.
        """
        found: dict[str, Study] = {}
        unreadable: list[str] = []
        warnings: list[str] = []
        seen: set[str | None] = set()
        first: StudyPage | None = None
        failure: SourceError | None = None
        start, rows = token, 0
        while rows < limit:
            seen.add(token)
            request = search_request(plan, page_size=limit - rows, token=token)
            try:
                page = await self._page(request)
            except SourceError as failed:
                if first is None:
                    raise _about_token(failed, start) from failed
                failure = failed
                break
            first = first or page
            rows += page.rows
            unreadable += page.unreadable
            for study in page.studies:
                found.setdefault(study.trial.nct_id, study)
            token = page.next_token
            if token is None or token in seen or not page.rows:
                token = None
                break
        assert first is not None  # the limit is at least 1, so a page was asked
        total = first.total
        if token is None and start is None and failure is None and total is not None and rows < total:
            warnings.append(
                f"ClinicalTrials.gov states {counted(total, 'study', 'studies')}, but its list ended after {rows:,}."
            )
        if rows > limit:
            warnings.append(
                f"ClinicalTrials.gov sent {counted(rows - limit, 'study', 'studies')} more than asked, left out here."
            )
        if unreadable:
            warnings.append(
                f"{counted(len(unreadable), 'study', 'studies')} could not be read: {'; '.join(unreadable[:3])}."
            )
            failure = failure or source_error(NAME, "invalid_response", warnings[-1])
        return Found(tuple(found.values())[:limit], total, token, tuple(warnings), failure)

    async def _page(self, request: Request) -> StudyPage:
        page, received_at, _ = await self.transport.receive(
            request, lambda answer: parse_page(require_data(answer)), keep=lambda page: not page.unreadable
        )
        studies = tuple(_stamped(study, request, received_at) for study in page.studies)
        self.transport.came(study.trial for study in studies)
        return replace(page, studies=studies)

    # --- fetch

    async def fetch(self, ids: Sequence[str]) -> FetchResult:
        """Whole records, in the order asked; a former number gives the study that took it over.

        Several numbers are asked in one request; what that does not bring is asked singly.

        Raises:
            InvalidInputError: too many numbers, or none of them is an NCT number.
            SourceError: none could be answered because the service failed.
        """
        asked = tuple(dict.fromkeys(ids))
        if len(asked) > MOST_IDS:
            raise refused(
                NAME, f"{len(asked):,} identifiers were given, at most {MOST_IDS} are fetched in one call: split them."
            )
        numbers: dict[str, str] = {}
        errors: dict[str, SourceError] = {}
        for text in asked:
            try:
                numbers[text] = _number(text)
            except InvalidInputError as refusal:
                errors[text] = refusal
        wanted = tuple(dict.fromkeys(numbers.values()))
        got: dict[str, Study] = {}
        if len(wanted) > SINGLY:
            # A request that fails costs no study: each is then asked for by itself.
            batches = await ask_singly(
                range(0, len(wanted), BATCH), lambda start: self._fetch_together(wanted[start : start + BATCH])
            )
            for part in batches.found.values():
                got |= part
        singly = await ask_singly([number for number in wanted if number not in got], self._fetch_one)
        got |= singly.found
        errors |= {text: singly.failed[number] for text, number in numbers.items() if number in singly.failed}
        if errors and len(errors) == len(asked):
            raise next(iter(errors.values()))
        studies = {study.trial.nct_id: study for text in asked if (study := got.get(numbers.get(text, "")))}
        moved = [
            f"{number} is a former number of {study.trial.nct_id}."
            for number, study in got.items()
            if number != study.trial.nct_id
        ]
        return FetchResult(
            artifacts=tuple(study.trial for study in studies.values()),
            not_found=tuple(text for text in asked if text not in errors and numbers[text] not in got),
            failed={text: ErrorInfo.of(errors[text]) for text in asked if text in errors},
            warnings=(*moved, *(warning for study in studies.values() for warning in study.warnings)),
        )

    async def _fetch_together(self, numbers: Sequence[str]) -> dict[str, Study]:
        """What one request for all brings."""
        page = await self._page(studies_request(numbers))
        return {study.trial.nct_id: study for study in page.studies if study.trial.nct_id in numbers}

    async def _fetch_one(self, number: str) -> Study | None:
        """The study of this number, or None if the registry says that there is none; an alias is redirected there."""
        request = study_request(number)

        def read(answer: Answer) -> Study | None:
            if answer.status == 404 and not answer.looks_like_html():
                return None
            return parse_study(require_data(answer))

        study, received_at, _ = await self.transport.receive(request, read)
        if study is None:
            return None
        stamped = _stamped(study, request, received_at)
        self.transport.came([stamped.trial])
        return stamped


def _stamped(study: Study, request: Request, received_at: datetime) -> Study:
    """The study with where and when it was got."""
    origin = Provenance(source=NAME, request=describe(request), retrieved_at=received_at)
    return replace(study, trial=study.trial.model_copy(update={"provenance": (origin,)}))


def _number(text: str) -> str:
    known = identify(text) if len(text) <= 300 else None
    if known is None or known.kind != "nct":
        other = known is not None and known.kind in ("pmid", "pmcid", "doi") and not text.strip().isdigit()
        raise refused(
            NAME,
            f"{quoted(text)} is no number of a study: write NCT and 8 digits, such as NCT01234567."
            + (" For papers, use pubmed or europepmc." if other else ""),
        )
    return known.value


def _about_token(failed: SourceError, token: str | None) -> SourceError:
    """The same failure, with the likely cause where a token was given: tokens end with the registry's daily update."""
    if token is None or not isinstance(failed, InvalidInputError):
        return failed
    return refused(NAME, f"{failed.message} The value of page may have expired.", "Start again without `page`.")
