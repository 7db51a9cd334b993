"""PubMed: citations and abstracts of biomedicine, from the National Library of Medicine."""

from __future__ import annotations

from literature_agent.sources._registration import Source
from literature_agent.sources.pubmed.client import PubMedClient
from literature_agent.sources.pubmed.tools import PubMedTools

SOURCE = Source(
    name="pubmed",
    label="PubMed",
    interface="NCBI E-utilities (ESearch, EFetch)",
    search_tool="search_pubmed",
    fetch_tool="fetch_pubmed",
    guide="pubmed",
    fetches=("pmid", "pmcid", "doi"),
    filters=frozenset({"date_from", "date_to", "publication_types", "languages", "since_entry_date", "sort"}),
    build=lambda transport: PubMedTools(PubMedClient(transport)),
    tools=PubMedTools,
    enabled=lambda settings: True,
    leaves="Search queries, identifiers, contact e-mail and API key go to NCBI (National Library of Medicine, USA).",
)
