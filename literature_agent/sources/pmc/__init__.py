"""PMC: full texts. It is reached through `read`, has no search, and so no place in `SOURCES`."""

from __future__ import annotations

from literature_agent.sources.pmc.client import PMCClient
from literature_agent.sources.pmc.tools import PMCTools

__all__ = ["PMCClient", "PMCTools"]
