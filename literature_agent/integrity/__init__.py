"""Pure checks over draft, registry and ledger. No network, no clock, no model."""

from __future__ import annotations

from literature_agent.integrity.checks import CitedArticle, Problem, Settled, review, settle
from literature_agent.integrity.desk import Desk

__all__ = ["CitedArticle", "Desk", "Problem", "Settled", "review", "settle"]
