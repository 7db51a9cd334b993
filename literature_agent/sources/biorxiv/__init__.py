"""bioRxiv and medRxiv: preprints, from openRxiv. One room, one registration for each server."""

from __future__ import annotations

from literature_agent.sources._registration import Source
from literature_agent.sources.biorxiv.categories import LABELS, Server
from literature_agent.sources.biorxiv.client import BioRxivClient
from literature_agent.sources.biorxiv.tools import BioRxivTools


def _source(server: Server, leaves: str) -> Source:
    return Source(
        name=server,
        label=LABELS[server],
        interface=f"bioRxiv API (details/{server})",
        search_tool="search_biorxiv",
        fetch_tool="fetch_biorxiv",
        guide="biorxiv",
        fetches=("doi",),
        filters=frozenset({"date_from", "date_to", "category"}),
        build=lambda transport: BioRxivTools(BioRxivClient(transport, server)),
        tools=BioRxivTools,
        enabled=lambda settings: True,
        leaves=leaves,
        holds="records of preprints: full abstract, versions, the published paper",
        takes=lambda arguments: str(arguments.get("server") or "biorxiv").strip().lower() == server,
        needs_window=True,
        probe={"date_from": "2019-12-25", "date_to": "2019-12-25"},
    )


BIORXIV = _source(
    "biorxiv", "Dates, categories and DOIs go to bioRxiv's API (openRxiv, USA); the words of a query stay here."
)
MEDRXIV = _source(
    "medrxiv",
    "Dates, categories and DOIs go to the same API for medRxiv (openRxiv, USA); the words of a query stay here.",
)
