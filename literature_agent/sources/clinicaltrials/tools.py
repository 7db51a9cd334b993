"""ClinicalTrials.gov as tools: search and fetch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from literature_agent.artifacts import ClinicalTrial
from literature_agent.results import ErrorInfo, FetchResult, SearchResult
from literature_agent.sources._text import as_list, first_day, require_number
from literature_agent.sources.clinicaltrials.client import ClinicalTrialsClient
from literature_agent.sources.clinicaltrials.parse import NAME
from literature_agent.sources.clinicaltrials.query import MOST_RESULTS, Plan, plan_search, token_of


@dataclass(frozen=True)
class ClinicalTrialsTools:
    """The tools of the registry over one client."""

    client: ClinicalTrialsClient

    async def search_clinicaltrials(
        self,
        query: Annotated[str, Field(description="Words to find anywhere in the record; may be empty with a filter")],
        *,
        max_results: Annotated[int, Field(description="Records wanted", ge=1, le=200)] = 10,
        page: Annotated[str | None, Field(description="`next_page` of the answer before, unchanged")] = None,
        condition: Annotated[str | None, Field(description="Only studies of this condition or disease")] = None,
        intervention: Annotated[str | None, Field(description="Only studies of this drug or intervention")] = None,
        term: Annotated[str | None, Field(description="Further words that must stand in the record")] = None,
        overall_status: Annotated[
            Sequence[str] | None, BeforeValidator(as_list), Field(description="Any of: RECRUITING, COMPLETED ...")
        ] = None,
        phases: Annotated[
            Sequence[str] | None, BeforeValidator(as_list), Field(description="Any of: PHASE1 to PHASE4, EARLY_PHASE1")
        ] = None,
        date_from: Annotated[str | None, Field(description="First registered since, YYYY[-MM[-DD]]")] = None,
        date_to: Annotated[str | None, Field(description="First registered until, YYYY[-MM[-DD]]")] = None,
        sort: Annotated[str | None, Field(description="relevance (default), date, updated, start_date")] = None,
    ) -> SearchResult:
        """Search ClinicalTrials.gov, the registry of planned, running and finished studies: what is being tested, not what was found, although some records hold results. AND OR NOT in capitals, "phrases", parentheses; `condition` and `intervention` look in their own fields. Filters narrow together. `next_page` continues the list."""  # noqa: E501
        plan = plan_search(
            query,
            condition=condition,
            intervention=intervention,
            term=term,
            overall_status=overall_status,
            phases=phases,
            date_from=date_from,
            date_to=date_to,
            sort=sort,
        )
        limit, token = require_number(max_results, "max_results", MOST_RESULTS, NAME), token_of(page)
        async with self.client.transport.job("clinicaltrials", NAME):
            found = await self.client.search(plan, limit=limit, token=token)
        trials = _exact_first(tuple(study.trial for study in found.studies), plan)
        warnings = [*plan.warnings, *found.warnings]
        start = plan.applied.get("date_from")
        if start and first_day(start) > self.client.transport.now().date().isoformat():
            warnings.append(f"date_from={start!r} lies in the future: no study can have been registered since.")
        notice = None
        if not trials and found.error is None:
            notice = "The list ends here: there are no further studies." if token else "No study matches."
        return SearchResult(
            status="partial" if found.error else "ok" if trials or found.total or token else "empty",
            query_sent=plan.sent,
            search_url=plan.url,
            applied_filters=plan.applied,
            warnings=tuple(warnings),
            notice=notice,
            total=found.total if found.total is not None or token or trials or found.error else 0,
            returned=len(trials),
            page=token,
            next_page=found.next_token,
            artifacts=trials,
            error=ErrorInfo.of(found.error) if found.error else None,
        )

    async def fetch_clinicaltrial(
        self,
        ids: Annotated[Sequence[str], Field(description="NCT numbers, NCT and 8 digits")],
    ) -> FetchResult:
        """Fetch whole records of ClinicalTrials.gov: design, arms, interventions, outcomes, eligibility, all sites, posted results as reported, and papers linked to the study. Says which numbers are unknown."""  # noqa: E501
        async with self.client.transport.job("clinicaltrials", NAME):
            return await self.client.fetch((ids,) if isinstance(ids, str) else tuple(str(one) for one in ids))

    search = search_clinicaltrials
    fetch = fetch_clinicaltrial


def _exact_first(trials: tuple[ClinicalTrial, ...], plan: Plan) -> tuple[ClinicalTrial, ...]:
    """Studies of exactly the condition and intervention asked for before those of a wider or narrower one (K065):
    `Hypertension` before `Pulmonary Arterial Hypertension`. Within both the registry's order stands."""

    def misses(trial: ClinicalTrial) -> int:
        conditions = {name.casefold() for name in trial.conditions}
        names = {name.casefold() for item in trial.interventions for name in (item.name, *item.other_names)}
        return (plan.condition is not None and plan.condition not in conditions) + (
            plan.intervention is not None and plan.intervention not in names
        )

    return tuple(sorted(trials, key=misses))
