"""What needs several sources: the full-text ladder and identifiers in each other's terms."""

from __future__ import annotations

from literature_agent.federation.full_text import read as read_full_text
from literature_agent.federation.full_text import read_once as read
from literature_agent.federation.ids import ConvertedId, Ids, convert_ids, ids_of, ids_of_records

__all__ = ["ConvertedId", "Ids", "convert_ids", "ids_of", "ids_of_records", "read", "read_full_text"]
