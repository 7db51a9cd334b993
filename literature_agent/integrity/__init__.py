"""Pure checks over draft, registry and ledger. No network, no clock, no model."""

from __future__ import annotations

from literature_agent.integrity.checks import CitedArticle, Settled, repair_message, review, settle
from literature_agent.integrity.desk import Desk
from literature_agent.integrity.prose import UNSUPPORTED, Problem, Prose, Tally, review_prose, settle_prose

__all__ = [
    "UNSUPPORTED",
    "CitedArticle",
    "Desk",
    "Problem",
    "Prose",
    "Settled",
    "Tally",
    "repair_message",
    "review",
    "review_prose",
    "settle",
    "settle_prose",
]
