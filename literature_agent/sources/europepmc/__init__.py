"""Europe PMC: PubMed, PMC and preprints in one index."""

from __future__ import annotations

from literature_agent.sources._registration import Source
from literature_agent.sources.europepmc.client import EuropePMCClient
from literature_agent.sources.europepmc.tools import EuropePMCTools

SOURCE = Source(
    name="europepmc",
    label="Europe PMC",
    interface="Europe PMC RESTful web service (search, article)",
    search_tool="search_europepmc",
    fetch_tool="fetch_europepmc",
    guide="europepmc",
    fetches=("epmc", "pmid", "pmcid", "doi"),
    filters=frozenset(
        {
            "date_from",
            "date_to",
            "publication_types",
            "sort",
            "sources",
            "page_size",
            "result_type",
            "cursor_mark",
        }
    ),
    build=lambda transport: EuropePMCTools(EuropePMCClient(transport)),
    tools=EuropePMCTools,
    enabled=lambda settings: settings.europepmc_enabled,
    leaves="Search queries and identifiers go to Europe PMC (EMBL-EBI, United Kingdom).",
)
