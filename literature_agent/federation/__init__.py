"""What needs several sources: federated search, related works, the full-text ladder, identifiers in each other's terms."""

from __future__ import annotations

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
    "ConvertedId",
    "Ids",
    "Seed",
    "SourceAnswer",
    "ask_all",
    "convert_ids",
    "find_related",
    "ids_of",
    "ids_of_records",
    "merged",
    "plan_all",
    "read",
    "read_full_text",
    "require_any",
    "search_all",
    "seed_of",
    "seed_of_records",
    "sections_named",
]
