"""What PubMed links a record to: notices, other versions, registered trials, and what they mean for the reader.

A paper is `retracted`, `concern` or `corrected` by what PubMed links *in*; what it links *to* makes a record a notice.
Where several hold, the most serious one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lxml import etree

from literature_agent.ids import normalise_doi, normalise_nct, normalise_pmid
from literature_agent.sources._text import printed_date
from literature_agent.sources._xml import child, text_of

Fields = dict[str, Any]

_NOTICE_KINDS = {
    "RetractionIn": "retracted_by",
    "RetractedandRepublishedIn": "retracted_by",
    "RetractionOf": "retraction_of",
    "ExpressionOfConcernIn": "concern_by",
    "ExpressionOfConcernFor": "concern_about",
    "ErratumIn": "corrected_by",
    "CorrectedandRepublishedIn": "corrected_by",
    "ErratumFor": "correction_of",
}
# Of a corrected-and-republished pair each is also a later or earlier version of the other.
_VERSIONS = {
    "UpdateIn": "updated_by",
    "UpdateOf": "update_of",
    "CorrectedandRepublishedIn": "updated_by",
    "CorrectedandRepublishedFrom": "update_of",
    "RetractedandRepublishedIn": "updated_by",
    "RetractedandRepublishedFrom": "update_of",
}
_NOTICE_LINKS = frozenset({"RetractionOf", "ExpressionOfConcernFor", "ErratumFor"})
_NOTICE_TYPES = frozenset(
    {"Retraction of Publication", "Retraction Notice", "Published Erratum", "Expression of Concern"}
)
# PubMed has no link type for preprints: `UpdateOf` names the server's journal title or its DOI.
_PREPRINT_SOURCE = re.compile(
    r"\b(?:bioRxiv|medRxiv|arXiv|ChemRxiv|PsyArXiv|SocArXiv|EarthArXiv|Res Sq|Research Square|SSRN|Preprints?|Authorea|"
    r"Qeios|OSF)\b|\b10\.(?:1101/(?:20|\d{6})|64898/|21203/|20944/|26434/|2139/ssrn|22541/|48550/|31234/)",
    re.I,
)
# Servers withdraw a preprint by a new version of this title; there is no link and no type for it.
_WITHDRAWN = re.compile(r"\W*(?:withdrawn|retracted)\W*[:\]]", re.I)
_DOI_IN_PROSE = re.compile(r"\b10\.[0-9]{4,9}/\S+")


def link_record(fields: Fields, links: Iterable[etree._Element]) -> None:
    """Put notices, related records and correction status into `fields`, from its publication types and `links`."""
    types = set(fields.get("publication_types", ()))
    is_preprint = "Preprint" in types
    notices: list[Fields] = []
    related: list[Fields] = []
    kinds = set()
    for link in links:
        kind = str(link.get("RefType"))
        if kind not in _NOTICE_KINDS and kind not in _VERSIONS:
            continue
        kinds.add(kind)
        source, note = text_of(child(link, "RefSource")), text_of(child(link, "Note"))
        pmid = normalise_pmid(text_of(child(link, "PMID")))
        prose = _DOI_IN_PROSE.search(source)
        doi = normalise_doi(prose.group()) if prose else None
        if kind in _NOTICE_KINDS:
            notice = {"kind": _NOTICE_KINDS[kind], "reference_id": pmid or doi, "date": printed_date(source)}
            notices.append({**notice, "text": " ".join(part for part in (source, note) if part) or None})
        if kind in _VERSIONS and (pmid or doi):
            related.append({"relation": _version(kind, is_preprint, source), "pmid": pmid, "doi": doi})
    for number in fields.get("accession_numbers", ()):
        if nct_id := normalise_nct(number):
            related.append({"relation": "trial", "nct_id": nct_id})
    if notices:
        fields["notices"] = notices
    if related:
        fields["related"] = related
    fields["is_preprint"] = is_preprint
    fields["is_notice"] = bool(kinds & _NOTICE_LINKS or types & _NOTICE_TYPES)
    withdrawn = is_preprint and _WITHDRAWN.match(fields.get("title") or "") is not None
    if "Retracted Publication" in types or kinds & {"RetractionIn", "RetractedandRepublishedIn"} or withdrawn:
        fields["correction_status"] = "retracted"
    elif "ExpressionOfConcernIn" in kinds:
        fields["correction_status"] = "concern"
    elif kinds & {"ErratumIn", "CorrectedandRepublishedIn"}:
        fields["correction_status"] = "corrected"


def _version(kind: str, is_preprint: bool, source: str) -> str:
    """How the other record of a version link is seen from this one: a preprint and its paper, or two versions."""
    if kind == "UpdateIn" and is_preprint and not _PREPRINT_SOURCE.search(source):
        return "published_as"
    if kind == "UpdateOf" and not is_preprint and _PREPRINT_SOURCE.search(source):
        return "preprint"
    return _VERSIONS[kind]
