"""RIS, as reference managers read it: one value a line, lists as repeated tags, UTF-8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from literature_agent.artifacts import CitationArtifact
from literature_agent.render._citation import Citation, Name, citation_keys, citation_of

# RIS has no type for a preprint or a registered trial.
_TYPES = {"article": "JOUR", "preprint": "UNPB", "trial": "ELEC", "chapter": "CHAP", "book": "BOOK"}
_WORK_TYPES = {"preprint": "Preprint", "trial": "Clinical trial registration"}


def render_ris(artifacts: Sequence[CitationArtifact]) -> str:
    """One record for each, in their order; ends in a line break, or is empty."""
    citations = [citation_of(artifact) for artifact in artifacts]
    return "\n".join(_record(citation, key) for citation, key in zip(citations, citation_keys(citations), strict=True))


def _record(citation: Citation, key: str) -> str:
    lines = (f"{tag}  - {value}\n" for tag, value in _lines(citation, key) if value)
    return "".join((f"TY  - {_TYPES[citation.kind]}\n", *lines, "ER  - \n"))


def _lines(citation: Citation, key: str) -> Iterator[tuple[str, str]]:
    yield "ID", key
    for name in citation.names:
        yield "AU", _name(name)
    yield "TI", citation.title
    yield "PB" if citation.kind in ("preprint", "trial") else "T2", citation.container
    yield "J2", citation.container_short
    yield "PY", str(citation.issued[0]) if citation.issued else ""
    yield "DA", _date(citation.issued)
    yield "VL", citation.volume
    yield "IS", citation.issue
    yield "SP", citation.pages.first
    yield "EP", citation.pages.last
    yield "ET", citation.version
    yield "SN", citation.issn
    yield "DO", citation.doi
    yield "UR", citation.url
    yield "AN", citation.pmid or citation.nct_id
    yield "C2", citation.pmcid
    yield "AB", citation.abstract
    # One word a line: a comma inside a word parts nothing (K124).
    for word in citation.subjects:
        yield "KW", word
    yield "LA", citation.language
    yield "M3", _WORK_TYPES.get(citation.kind, "")
    yield "N1", citation.note
    yield "DB", citation.database


def _name(name: Name) -> str:
    """`Last, First, Suffix`; a group as it is."""
    return name.group or ", ".join(part for part in (name.family, name.given, name.suffix) if part)


def _date(issued: tuple[int, ...]) -> str:
    """`2026/01/31/`; what is not known stays empty between the slashes."""
    if not issued:
        return ""
    month, day = (f"{part:02d}" if part else "" for part in (*issued[1:], 0, 0)[:2])
    return f"{issued[0]:04d}/{month}/{day}/"
