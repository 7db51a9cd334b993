"""NBIB, PubMed's own tagged format (MEDLINE display format), as reference managers read it.

Only tags whose content is known from the record are written; those about NLM's processing of it are not.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from literature_agent.artifacts import CitationArtifact, MeshHeading, Notice
from literature_agent.render._citation import Citation, Name, citation_of
from literature_agent.render._plain import paper_line

WIDTH = 88

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NOTICES = {
    "retracted_by": "RIN",
    "retraction_of": "ROF",
    "concern_by": "ECI",
    "concern_about": "ECF",
    "corrected_by": "EIN",
    "correction_of": "EFR",
}


def render_nbib(artifacts: Sequence[CitationArtifact]) -> str:
    """One record for each, parted by empty lines; ends in a line break, or is empty.

    In their order, but those in PubMed first: Zotero takes a file for NBIB only if a PMID stands at its beginning.
    """
    citations = sorted(map(citation_of, artifacts), key=lambda citation: not citation.pmid)
    return "\n".join("".join(map(_line, _lines(citation))) for citation in citations)


def _line(tagged: tuple[str, str]) -> str:
    tag, value = tagged
    if not value:
        return ""
    first, rest = f"{tag:<4}- ", " " * 6
    # Readers join lines of long texts with a blank, but take those of a list for entries of their own.
    if tag not in ("TI", "AB"):
        return f"{first}{value}\n"
    wrapped = textwrap.wrap(
        value, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapped) + "\n"


def _lines(citation: Citation) -> Iterator[tuple[str, str]]:
    yield "PMID", citation.pmid
    # Readers refuse an ISSN without a type; records do not say whether it is that of the print.
    yield "IS", f"{citation.issn} (Undetermined)" if citation.issn else ""
    yield "VI", citation.volume
    yield "IP", citation.issue
    yield "DP", _printed(citation.issued)
    yield "TI", citation.title
    yield "PG", citation.pages.joined()
    yield "AB", citation.abstract
    for name in citation.names:
        yield from _name(name)
    yield "LA", citation.language
    for number in dict.fromkeys((*filter(None, (citation.nct_id,)), *citation.trials)):
        yield "SI", f"ClinicalTrials.gov/{number}"
    for kind in citation.types:
        yield "PT", kind
    yield "DEP", "".join(f"{part:02d}" for part in citation.online) if len(citation.online) == 3 else ""
    yield "TA", citation.container_short
    yield "JT", citation.container
    for heading in citation.mesh:
        yield "MH", _heading(heading)
    for word in citation.keywords:
        yield "OT", word
    for notice in citation.notices:
        if notice.kind in _NOTICES:
            yield _NOTICES[notice.kind], _notice(notice)
    yield "PMC", citation.pmcid
    yield "AID", f"{citation.doi} [doi]" if citation.doi else ""
    yield "GN", citation.note


def _printed(issued: tuple[int, ...]) -> str:
    """`2026 Jan 31`."""
    year, month, day = (*issued, 0, 0, 0)[:3]
    parts = (str(year or ""), _MONTHS[month - 1] if 1 <= month <= len(_MONTHS) else "", str(day or ""))
    return " ".join(part for part in parts if part)


def _name(name: Name) -> Iterator[tuple[str, str]]:
    if name.group:
        yield "CN", name.group
        return
    person = " ".join(part for part in (name.given, name.suffix) if part)
    yield "FAU", ", ".join(part for part in (name.family, person) if part)
    yield "AU", " ".join(part for part in (name.family, name.initials, name.suffix) if part)
    yield "AUID", f"ORCID: {name.orcid}" if name.orcid else ""


def _heading(heading: MeshHeading) -> str:
    """`*Metformin/therapeutic use`; the star marks a major topic."""
    return "/".join(map(paper_line, (("*" if heading.major else "") + heading.descriptor, *heading.qualifiers)))


def _notice(notice: Notice) -> str:
    number = f"PMID: {notice.reference_id}" if notice.reference_id and notice.reference_id.isdigit() else ""
    parts = (paper_line(notice.text or notice.date or ""), number or paper_line(notice.reference_id or ""))
    return " ".join(part for part in parts if part)
