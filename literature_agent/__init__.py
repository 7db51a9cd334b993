"""A biomedical literature sub-agent whose citations are always real.

Names load on first use, so that importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from literature_agent.agents.aggregator import LiteratureAggregator
    from literature_agent.api import aggregate, aggregate_sync, fetch, fetch_sync, read, read_sync, search, search_sync
    from literature_agent.artifacts import CitationArtifact
    from literature_agent.custody import Event
    from literature_agent.errors import ConfigurationError, InvalidInputError, LiteratureError, SourceError
    from literature_agent.outputs import (
        AggregationRequest,
        Budget,
        GivenSearch,
        KeyTheme,
        LiteratureAggregationOutput,
        ResearchGap,
    )
    from literature_agent.registry import ArtifactRegistry, Reference
    from literature_agent.render import render_text
    from literature_agent.results import FetchResult, FullText, SearchResult
    from literature_agent.settings import Settings
    from literature_agent.transport import limiter_for

__all__ = [
    # one-shot functions
    "aggregate",
    "aggregate_sync",
    "search",
    "search_sync",
    "fetch",
    "fetch_sync",
    "read",
    "read_sync",
    # the sub-agent
    "LiteratureAggregator",
    "AggregationRequest",
    "Budget",
    "GivenSearch",
    "Event",
    # what comes back
    "LiteratureAggregationOutput",
    "KeyTheme",
    "ResearchGap",
    "SearchResult",
    "FetchResult",
    "FullText",
    "CitationArtifact",
    # references
    "ArtifactRegistry",
    "Reference",
    "render_text",
    # settings and errors
    "Settings",
    "limiter_for",
    "LiteratureError",
    "SourceError",
    "InvalidInputError",
    "ConfigurationError",
]

_HOMES = {
    "agents.aggregator": ("LiteratureAggregator",),
    "api": ("aggregate", "aggregate_sync", "fetch", "fetch_sync", "read", "read_sync", "search", "search_sync"),
    "artifacts": ("CitationArtifact",),
    "custody": ("Event",),
    "errors": ("ConfigurationError", "InvalidInputError", "LiteratureError", "SourceError"),
    "outputs": (
        "AggregationRequest",
        "Budget",
        "GivenSearch",
        "KeyTheme",
        "LiteratureAggregationOutput",
        "ResearchGap",
    ),
    "registry": ("ArtifactRegistry", "Reference"),
    "render": ("render_text",),
    "results": ("FetchResult", "FullText", "SearchResult"),
    "settings": ("Settings",),
    "transport": ("limiter_for",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
