"""HTTP: the only room that waits, retries or holds a key."""

from literature_agent.transport.breaker import Breakers
from literature_agent.transport.clock import Clock, SystemClock
from literature_agent.transport.messages import (
    A_DAY,
    Answer,
    Attempt,
    Progress,
    Received,
    Request,
    ServiceName,
    TransientAnswer,
    describe,
)
from literature_agent.transport.pace import Pace, limiter_for
from literature_agent.transport.recording import Recorder
from literature_agent.transport.replaying import Player, Recording
from literature_agent.transport.room import Transport
from literature_agent.transport.sandboxes import SANDBOX_HEADER, Sandboxes
from literature_agent.transport.stores import MemoryPaceStore, PaceStore

__all__ = [
    "A_DAY",
    "Answer",
    "Attempt",
    "Breakers",
    "Clock",
    "MemoryPaceStore",
    "Pace",
    "PaceStore",
    "Player",
    "Progress",
    "Received",
    "Recorder",
    "Recording",
    "Request",
    "SANDBOX_HEADER",
    "Sandboxes",
    "ServiceName",
    "SystemClock",
    "TransientAnswer",
    "Transport",
    "describe",
    "limiter_for",
]
