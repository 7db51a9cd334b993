"""BibTeX, as BibTeX 0.99d and biblatex read it; UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from literature_agent.artifacts import CitationArtifact
from literature_agent.render._citation import Citation, Name, citation_keys, citation_of

_TYPES = {"article": "article", "preprint": "misc", "trial": "misc", "chapter": "incollection", "book": "book"}
_CONTAINERS = {"article": "journal", "preprint": "howpublished", "trial": "howpublished", "chapter": "booktitle"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
# BibTeX counts escaped braces too: one without a partner gets an invisible one, or it would end the field.
_UNPAIRED = {"{": r"\{\vphantom{\}}", "}": r"\vphantom{\{}\}"}
_SPECIAL = re.compile(r"[\\{}~^&%$#_]")
# TeX reads these pairs as one sign: dashes, quotation marks.
_LIGATURE = re.compile(r"([-`',<>])(?=\1)")


def render_bibtex(artifacts: Sequence[CitationArtifact]) -> str:
    """One entry for each record, in their order; ends in a line break, or is empty."""
    citations = [citation_of(artifact) for artifact in artifacts]
    return "\n".join(_entry(citation, key) for citation, key in zip(citations, citation_keys(citations), strict=True))


def bibtex_text(text: str) -> str:
    """`text` so that TeX prints it as it is."""
    unpaired = _unpaired(text)
    escaped = _SPECIAL.sub(lambda sign: (_UNPAIRED if sign.start() in unpaired else _ESCAPES)[sign.group()], text)
    return _LIGATURE.sub(r"\1{}", escaped)


def _unpaired(text: str) -> set[int]:
    """Where braces stand that no other one closes or opens."""
    opened: list[int] = []
    lone: set[int] = set()
    for brace in re.finditer(r"[{}]", text):
        if brace.group() == "{":
            opened.append(brace.start())
        elif opened:
            opened.pop()
        else:
            lone.add(brace.start())
    return lone.union(opened)


def _entry(citation: Citation, key: str) -> str:
    fields = "".join(f"  {name} = {value},\n" for name, value in _fields(citation) if value)
    return f"@{_TYPES[citation.kind]}{{{key},\n{fields}}}\n"


def _fields(citation: Citation) -> Iterator[tuple[str, str]]:
    yield "author", _braced(" and ".join(map(_name, citation.names)))
    # The second pair keeps the letters' case.
    yield "title", _braced(_braced(bibtex_text(citation.title)))
    if citation.kind in _CONTAINERS:
        yield _CONTAINERS[citation.kind], _braced(bibtex_text(citation.container))
    year, month = (*citation.issued, 0, 0)[:2]
    yield "year", _braced(str(year or ""))
    yield "month", _MONTHS[month - 1] if 1 <= month <= len(_MONTHS) else ""
    yield "volume", _braced(bibtex_text(citation.volume))
    yield "number", _braced(bibtex_text(citation.nct_id or citation.issue))
    yield "pages", _braced(_pages(citation))
    yield "version", _braced(bibtex_text(citation.version))
    # Styles print these two as they stand.
    yield "doi", _braced(_raw(citation.doi))
    yield "url", _braced("" if citation.doi else _raw(citation.url))
    yield "pmid", _braced(bibtex_text(citation.pmid))
    yield "pmcid", _braced(bibtex_text(citation.pmcid))
    yield "issn", _braced(bibtex_text(citation.issn))
    yield "language", _braced(bibtex_text(citation.language))
    yield "keywords", _braced(", ".join(map(_keyword, citation.subjects)))
    yield "abstract", _braced(bibtex_text(citation.abstract))
    yield "note", _braced(bibtex_text(citation.note))


def _braced(value: str) -> str:
    return f"{{{value}}}" if value else ""


def _name(name: Name) -> str:
    """`van der Berg, Jan`, `Roe, Jr., John`; a group in braces, for its words are no names (K126)."""
    if name.group:
        return _braced(bibtex_text(name.group))
    if not name.given:
        # Several words without a comma would be read as given and family name.
        whole = " ".join(part for part in (name.family, name.suffix) if part)
        return _braced(bibtex_text(whole)) if " " in whole or "," in whole else bibtex_text(whole)
    family = _braced(bibtex_text(name.family)) if _has_inner_particle(name.family) else _part(name.family)
    return ", ".join(part for part in (family, _part(name.suffix), _part(name.given)) if part)


def _part(text: str) -> str:
    """A part of a name; in braces where a comma or an `and` in it would part names."""
    return _braced(bibtex_text(text)) if "," in text or "and" in text.casefold().split() else bibtex_text(text)


def _has_inner_particle(family: str) -> bool:
    """Whether a small word stands behind a capitalised one: BibTeX would take all up to it for a particle."""
    small = [word[:1].islower() for word in family.split()]
    return any(each and not all(small[:at]) for at, each in enumerate(small))


def _pages(citation: Citation) -> str:
    if citation.pages.last:
        return "--".join((bibtex_text(citation.pages.first), bibtex_text(citation.pages.last)))
    return bibtex_text(citation.pages.first)


def _keyword(word: str) -> str:
    text = bibtex_text(word)
    return _braced(text) if "," in text else text


def _raw(address: str) -> str:
    return address.replace("\\", "%5C").replace("{", "%7B").replace("}", "%7D")
