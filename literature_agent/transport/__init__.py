"""HTTP: the only room that waits, retries or holds a key."""

from literature_agent.transport.clock import Clock, SystemClock
from literature_agent.transport.messages import (
    Answer,
    Attempt,
    Progress,
    Request,
    ServiceName,
    TransientAnswer,
    describe,
)
from literature_agent.transport.pace import MemoryPaceStore, Pace, PaceStore, limiter_for
from literature_agent.transport.room import SANDBOX_HEADER, Transport

__all__ = [
    "Answer",
    "Attempt",
    "Clock",
    "MemoryPaceStore",
    "Pace",
    "PaceStore",
    "Progress",
    "Request",
    "SANDBOX_HEADER",
    "ServiceName",
    "SystemClock",
    "TransientAnswer",
    "Transport",
    "describe",
    "limiter_for",
]
