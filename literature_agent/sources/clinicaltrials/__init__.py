"""ClinicalTrials.gov: the registry of clinical studies, from the National Library of Medicine."""

from __future__ import annotations

from literature_agent.sources._registration import Source
from literature_agent.sources.clinicaltrials.client import ClinicalTrialsClient
from literature_agent.sources.clinicaltrials.tools import ClinicalTrialsTools

SOURCE = Source(
    name="clinicaltrials",
    label="ClinicalTrials.gov",
    interface="ClinicalTrials.gov API v2 (studies)",
    search_tool="search_clinicaltrials",
    fetch_tool="fetch_clinicaltrial",
    guide="clinicaltrials",
    fetches=("nct",),
    filters=frozenset(
        {"condition", "intervention", "term", "overall_status", "phases", "date_from", "date_to", "sort"}
    ),
    build=lambda transport: ClinicalTrialsTools(ClinicalTrialsClient(transport)),
    tools=ClinicalTrialsTools,
    enabled=lambda settings: True,
    leaves="Search queries and NCT numbers go to ClinicalTrials.gov (National Library of Medicine, USA).",
    holds="registrations: status, design, outcomes, posted results, linked works",
)
