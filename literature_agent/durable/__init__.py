"""Runs that survive a crash, and batches over many workers; needs the extra `durable`."""

from __future__ import annotations

from literature_agent.durable.engine import open_engine
from literature_agent.durable.records import DatabaseError, RecordRefused
from literature_agent.durable.runs import DurableRuns

__all__ = ["DatabaseError", "DurableRuns", "RecordRefused", "open_engine"]
