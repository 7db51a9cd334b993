"""Records made one: copies joined into a work, works into one, and the record that `find` makes of a work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

from literature_agent import ids
from literature_agent.artifacts import (
    BioRxivPreprint,
    CitationArtifact,
    CorrectionStatus,
    Notice,
    Provenance,
    RelatedRecord,
    TextSection,
    article_url,
)
from literature_agent.registry.texts import stored_texts
from literature_agent.registry.works import Work, dois_of
from literature_agent.results import FullText

_T = TypeVar("_T")

# What one copy doesn't borrow from another: its nature, what is combined below, and what never enters a registry.
_NOT_BORROWED = frozenset(
    (
        "kind",
        "reference",
        "source",
        "url",
        "doi",
        "alternate_dois",
        "abstract_text",
        "abstract_sections",
        "is_preprint",
        "is_notice",
        "correction_status",
        "correction_checked_at",
        "notices",
        "related",
        "provenance",
        "relevance",
        "relevance_score",
        "quotes",
        "server",
        "version",
        "versions",
        "sections",
        "tables",
        "figures",
    )
)
_EMPTY: tuple[object, ...] = (None, "", ())


@cache
def _borrowable(kind: type[CitationArtifact]) -> tuple[str, ...]:
    return tuple(name for name in kind.model_fields if name not in _NOT_BORROWED)


def _borrowed(copy: CitationArtifact, others: Sequence[CitationArtifact]) -> dict[str, Any]:
    update: dict[str, Any] = {}
    if not others:
        return update
    own = copy.__dict__
    for name in _borrowable(type(copy)):
        if own[name] not in _EMPTY:
            continue
        value = next((given for other in others if (given := getattr(other, name, None)) not in _EMPTY), None)
        if value is not None:
            update[name] = value
    return update


def abstract_copy(copies: Sequence[CitationArtifact]) -> CitationArtifact | None:
    """The copy whose abstract is shown: the longest one with labelled sections, else the longest."""
    having = [copy for copy in copies if copy.abstract_text or copy.abstract_sections]
    return max(having, key=lambda copy: (_is_sectioned(copy), _abstract_length(copy)), default=None)


def _is_sectioned(copy: CitationArtifact) -> bool:
    return any(part.label for part in copy.abstract_sections)


def _abstract_length(copy: CitationArtifact) -> int:
    return max(len(copy.abstract_text or ""), sum(len(part.text) for part in copy.abstract_sections))


_SEVERITY: tuple[CorrectionStatus, ...] = ("concern", "corrected", "none", "unknown")
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


def correction_status(copies: Sequence[CitationArtifact]) -> CorrectionStatus:
    """The gravest status of the copies. A paper is reinstated only where that is dated after the retraction, or where
    no copy says it is retracted."""
    said = {copy.correction_status for copy in copies}
    if "reinstated" in said:
        retracted = _latest(copies, "retracted_by")
        reinstated = _latest(copies, "reinstated_by")
        later = retracted and reinstated and reinstated > retracted and not reinstated.startswith(retracted)
        return "reinstated" if later or "retracted" not in said else "retracted"
    if "retracted" in said:
        return "retracted"
    return next(status for status in _SEVERITY if status in said)


def _latest(copies: Iterable[CitationArtifact], kind: str) -> str | None:
    dates = [
        notice.date
        for copy in copies
        for notice in copy.notices
        if notice.kind == kind and notice.date and _DATE.fullmatch(notice.date)
    ]
    return max(dates, default=None)


def _checked_at(copies: Iterable[CitationArtifact], status: CorrectionStatus) -> Any:
    times = [
        copy.correction_checked_at
        for copy in copies
        if copy.correction_status == status and copy.correction_checked_at is not None
    ]
    return max(times, default=None)


def _all_notices(copies: Sequence[CitationArtifact]) -> tuple[Notice, ...]:
    found: dict[tuple[str, str | None], Notice] = {}
    if not any(copy.notices for copy in copies):
        return ()
    for copy in copies:
        for notice in copy.notices:
            slot = (notice.kind, notice.reference_id or notice.text)
            known = found.get(slot)
            if known is None:
                found[slot] = notice
            elif (known.date is None and notice.date) or (known.text is None and notice.text):
                found[slot] = known.model_copy(
                    update={"date": known.date or notice.date, "text": known.text or notice.text}
                )
    return tuple(found.values())


def _all_related(copies: Sequence[CitationArtifact]) -> tuple[RelatedRecord, ...]:
    found: dict[tuple[str | None, ...], RelatedRecord] = {}
    if not any(copy.related for copy in copies):
        return ()
    for copy in copies:
        for other in copy.related:
            slot = (other.relation, other.doi, other.pmid, other.pmcid, other.nct_id)
            if slot not in found or other.certainty == "stated":
                found[slot] = other
    return tuple(found.values())


def _all_provenance(copies: Iterable[CitationArtifact]) -> tuple[Provenance, ...]:
    found: dict[tuple[str, str], Provenance] = {}
    for copy in copies:
        for origin in copy.provenance:
            found.setdefault((origin.source, origin.request), origin)
    return tuple(found.values())


def compose(work: Work) -> CitationArtifact:
    """One record of the work, `reference` set: the best copy, its gaps filled from the others."""
    copies = work.ranked
    best, others = copies[0], copies[1:]
    if not others:
        own = ids.joining_doi(best.doi) if best.doi else None
        return best.model_copy(
            update={
                "reference": str(work.reference),
                "alternate_dois": tuple(each for each in dois_of(best) if each != own),
                "notices": _all_notices(copies),
                "related": _all_related(copies),
                "provenance": _all_provenance(copies),
            }
        )
    update = _borrowed(best, others)
    doi = best.doi or next((copy.doi for copy in others if copy.doi), None)
    own = ids.joining_doi(doi) if doi else None
    status = correction_status(copies)
    update |= {
        "reference": str(work.reference),
        "doi": doi,
        "alternate_dois": tuple(dict.fromkeys(each for copy in copies for each in dois_of(copy) if each != own)),
        "url": best.url or next((copy.url for copy in others if copy.url), None),
        "is_preprint": work.is_preprint,
        "correction_status": status,
        "correction_checked_at": _checked_at(copies, status),
        "notices": _all_notices(copies),
        "related": _all_related(copies),
        "provenance": _all_provenance(copies),
    }
    if doi and not best.doi:
        update["url"] = article_url(doi=doi)
    if source := abstract_copy(copies):
        update |= {"abstract_text": source.abstract_text, "abstract_sections": source.abstract_sections}
    return best.model_copy(update=update)


def absorb(old: CitationArtifact, new: CitationArtifact) -> CitationArtifact:
    """One record of two that the same source gave for the same copy: the fuller, of equally full ones the later, with
    its gaps filled from the other."""
    # The same record found again is no change, whatever request it came by.
    unchanged = {"provenance": old.provenance, "correction_checked_at": old.correction_checked_at}
    if new.model_copy(update=unchanged) == old:
        return old
    base, other = (old, new) if old.kind.endswith(":full") and not new.kind.endswith(":full") else (new, old)
    pair = (base, other)
    status = correction_status(pair)
    update = _borrowed(base, (other,)) | {
        "doi": base.doi or other.doi,
        "alternate_dois": tuple(dict.fromkeys((*base.alternate_dois, *other.alternate_dois))),
        "url": base.url or other.url,
        "is_preprint": base.is_preprint or other.is_preprint,
        "correction_status": status,
        "correction_checked_at": _checked_at(pair, status),
        "notices": _all_notices(pair),
        "related": _all_related(pair),
        "provenance": _all_provenance((old, new)),
    }
    for name in ("sections", "tables", "figures", "versions"):
        if hasattr(base, name) and not getattr(base, name):
            update[name] = getattr(other, name, ())
    if not base.abstract_text and not base.abstract_sections:
        update |= {"abstract_text": other.abstract_text, "abstract_sections": other.abstract_sections}
    if isinstance(base, BioRxivPreprint) and isinstance(other, BioRxivPreprint) and base.version is None:
        update["version"] = other.version
    merged = base.model_copy(update=update)
    return old if merged.model_copy(update=unchanged) == old else merged


def add_copy(work: Work, record: CitationArtifact, full_text: FullText | None = None) -> Work:
    """`work` with one more record, joined to the copy of the same name where there is one."""
    copies = list(work.copies)
    full_texts = dict(work.full_texts)
    superseded = work.superseded
    at = next((place for place, copy in enumerate(copies) if copy.copy_id == record.copy_id), None)
    known = full_texts.get(record.copy_id)
    if full_text is not None:
        full_texts[record.copy_id] = full_text if known is None else join_full_texts(known, full_text)
    if at is None:
        copies.append(record)  # type: ignore[arg-type]  # `hold` takes the kinds of the union only
    else:
        old = copies[at]
        copies[at] = absorb(old, record)  # type: ignore[call-overload]  # as above
        if copies[at] is old and full_text is None:
            return work
        after = set(stored_texts(copies[at], full_texts.get(record.copy_id)))
        before = stored_texts(old, known)
        superseded = tuple(dict.fromkeys((*superseded, *(text for text in before if text not in after))))
    return work.model_copy(update={"copies": tuple(copies), "full_texts": full_texts, "superseded": superseded})


def join_works(first: Work, second: Work) -> Work:
    """Both works as one, with the number and the key of the first."""
    joined = first.model_copy(
        update={
            "keys": {**second.keys, **first.keys},
            "aliases": tuple(dict.fromkeys((*first.aliases, *second.all_keys))),
            "superseded": tuple(dict.fromkeys((*first.superseded, *second.superseded))),
            "notes": tuple(dict.fromkeys((*first.notes, *second.notes))),
        }
    )
    for copy in second.copies:
        joined = add_copy(joined, copy, second.full_texts.get(copy.copy_id))
    return joined


def join_full_texts(old: FullText, new: FullText) -> FullText:
    """What two readings of one full text hold together; the later one's word stands where they differ."""
    if not new.available:
        return old if old.available else new
    return new.model_copy(
        update={
            "sections": _join_sections(old.sections, new.sections),
            "back_sections": _join_sections(old.back_sections, new.back_sections),
            "tables": _longer(old.tables, new.tables),
            "figures": _longer(old.figures, new.figures),
            "cited_works": _longer(old.cited_works, new.cited_works),
            "truncated": old.truncated and new.truncated,
            "characters_total": max(old.characters_total, new.characters_total),
        }
    )


def _longer(old: tuple[_T, ...], new: tuple[_T, ...]) -> tuple[_T, ...]:
    return old if len(old) > len(new) else new


def _join_sections(old: tuple[TextSection, ...], new: tuple[TextSection, ...]) -> tuple[TextSection, ...]:
    base, extra = (old, new) if len(old) > len(new) else (new, old)
    joined = {_slot(base, at): section for at, section in enumerate(base)}
    for at, section in enumerate(extra):
        slot = _slot(extra, at)
        known = joined.get(slot)
        if known is None:
            joined[slot] = section
            continue
        later, earlier = (section, known) if extra is new else (known, section)
        joined[slot] = later.model_copy(
            update={
                "text": later.text if len(later.text) >= len(earlier.text) else earlier.text,
                "sections": _join_sections(earlier.sections, later.sections),
            }
        )
    return tuple(joined.values())


def _slot(sections: tuple[TextSection, ...], at: int) -> tuple[str, int]:
    heading = sections[at].heading
    return heading, sum(section.heading == heading for section in sections[:at])
