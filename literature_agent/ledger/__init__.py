"""The ledger: what one run asked, got, showed, read and cited.

Counts, coverage and the search log come from here only.
"""

from __future__ import annotations

from literature_agent.ledger.book import Ledger
from literature_agent.ledger.records import Exclusion, Flow, FoundBy, LedgerEntry, SearchRecord, SourceCoverage

__all__ = ["Exclusion", "Flow", "FoundBy", "Ledger", "LedgerEntry", "SearchRecord", "SourceCoverage"]
