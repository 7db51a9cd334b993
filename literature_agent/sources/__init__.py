"""The literature sources: one folder each, equal in shape, none knowing another.

A source knows how to ask (`client.py`), how to read an answer (`parse.py`) and how to offer both as tools (`tools.py`).
It knows no registry, ledger or reference. What the rest of the house must know of it stands in its registration.
"""

from __future__ import annotations

from literature_agent.sources._registration import Source, SourceTools

__all__ = ["Source", "SourceTools"]
