"""What needs several sources: federated search, related works, citations, the full-text ladder, conversion of ids."""

from __future__ import annotations

from literature_agent.federation.citation_text import Citation, read_citation
from literature_agent.federation.citations import match_citations
from literature_agent.federation.full_text import read as read_full_text
from literature_agent.federation.full_text import read_once as read
from literature_agent.federation.ids import ConvertedId, Ids, convert_ids, ids_of, ids_of_records
from literature_agent.federation.related import Seed, find_related, seed_of, seed_of_records
from literature_agent.federation.search_all import (
    SourceAnswer,
    ask_all,
    merged,
    plan_all,
    require_any,
    search_all,
)
from literature_agent.federation.sections import sections_named

__all__ = [
    "Citation",
    "ConvertedId",
    "Ids",
    "Seed",
    "SourceAnswer",
    "ask_all",
    "convert_ids",
    "find_related",
    "ids_of",
    "ids_of_records",
    "match_citations",
    "merged",
    "plan_all",
    "read",
    "read_citation",
    "read_full_text",
    "require_any",
    "search_all",
    "seed_of",
    "seed_of_records",
    "sections_named",
]
