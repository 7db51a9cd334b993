"""The tracer of this package: one for each provider, since making one takes longer than a span."""

from __future__ import annotations

from functools import lru_cache

from opentelemetry import trace


def tracer() -> trace.Tracer:
    """Writes to the provider that the application has set by now."""
    return _tracer_of(trace.get_tracer_provider())


@lru_cache(maxsize=2)
def _tracer_of(provider: trace.TracerProvider) -> trace.Tracer:
    return provider.get_tracer("literature_agent")
