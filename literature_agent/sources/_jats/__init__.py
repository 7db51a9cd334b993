"""One reader for JATS from every source: EFetch set, OAI envelope, bare article, front matter alone."""

from __future__ import annotations

from literature_agent.sources._jats.article import JatsArticle, JatsSet, choose, parse_jats
from literature_agent.sources._jats.prose import walk

__all__ = ["JatsArticle", "JatsSet", "choose", "parse_jats", "walk"]
