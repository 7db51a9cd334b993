"""The one gate between a model and the tools, for the agent and for MCP alike."""

from __future__ import annotations

from literature_agent.custody.calls import Asked, Call, Direct, Shown, Steps, request_limits
from literature_agent.custody.events import Event, EventKind, Observer
from literature_agent.custody.fetching import identifier_for
from literature_agent.custody.gate import READ_TOOL, Custody

__all__ = [
    "READ_TOOL",
    "Asked",
    "Call",
    "Custody",
    "Direct",
    "Event",
    "EventKind",
    "Observer",
    "Shown",
    "Steps",
    "identifier_for",
    "request_limits",
]
