"""Figures of batches for whoever collects OpenTelemetry metrics; requests to sources are counted by the transport."""

from __future__ import annotations

from literature_agent.telemetry.batches import BatchMeter

__all__ = ["BatchMeter"]
