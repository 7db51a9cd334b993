"""What a model sees of a result: compact text, with a map from the text back to what is stored.

Never DOI, PMID, PMCID, NCT number, author or journal. Text of papers stands inside a fence that says it is data;
identifiers, reference tokens and fence tags inside it are masked.
"""

from __future__ import annotations

from literature_agent.views.answer import SMALLEST_OUTPUT, view_output
from literature_agent.views.masks import MASKS, mask, masked
from literature_agent.views.page import (
    FENCE_CLOSE,
    FENCE_OPEN,
    RESULT_CHARACTERS,
    View,
    full_text_open,
    marks,
    shrunk,
    snippet_end,
)
from literature_agent.views.records import view_fetch, view_full_text
from literature_agent.views.searches import (
    view_conversions,
    view_matches,
    view_mesh,
    view_related,
    view_search,
    view_search_all,
)

__all__ = [
    "FENCE_CLOSE",
    "FENCE_OPEN",
    "MASKS",
    "RESULT_CHARACTERS",
    "SMALLEST_OUTPUT",
    "View",
    "full_text_open",
    "marks",
    "mask",
    "masked",
    "shrunk",
    "snippet_end",
    "view_conversions",
    "view_fetch",
    "view_full_text",
    "view_matches",
    "view_mesh",
    "view_output",
    "view_related",
    "view_search",
    "view_search_all",
]
