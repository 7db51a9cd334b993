"""Views of whole records and full texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from literature_agent.artifacts import (
    CitationArtifact,
    ClinicalTrial,
    DetailedArticle,
    DetailedEuropePMCArticle,
    TextSection,
)
from literature_agent.registry import StoredText, stored_texts
from literature_agent.results import (
    FetchResult,
    FullText,
)
from literature_agent.views.masks import Lookup, mask, masked
from literature_agent.views.page import (
    FENCE_CLOSE,
    FENCE_OPEN,
    RESULT_CHARACTERS,
    Marked,
    Page,
    Readable,
    View,
    heading,
    results_posted,
    short,
    snippet_end,
    write_title,
)


def view_fetch(
    result: FetchResult,
    references: Sequence[str],
    *,
    lookup: Lookup | None = None,
    marked: Marked | None = None,
    readable: Readable | None = None,
    linked: Callable[[str], Sequence[tuple[str, str]]] | None = None,
    not_found: Sequence[str] = (),
    failed: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
) -> View:
    """Whole records as a model sees them: title, whole abstract, MeSH headings, linked works by reference."""
    page = Page(lookup)
    page.line(f"Fetched {len(result.artifacts)} of {len(result.artifacts) + len(not_found) + len(failed)}")
    for reference in not_found:
        page.line(f"Not found: {reference}")
    for reference, why in failed:
        page.line(f"Failed: {reference}: {short(masked(why), 200)}")
    for note in notes:
        page.line(f"Note: {note}")
    for warning in result.warnings:
        page.line(f"Warning: {short(masked(warning), 300)}")
    left_out: list[str] = []
    if result.artifacts:
        page.line(FENCE_OPEN)
        for artifact, reference in zip(result.artifacts, references, strict=True):
            known = (marked(reference) if marked else None) or artifact
            page.references.append(reference)
            page.line(heading(known, reference, readable(reference) if readable else None))
            write_title(page, artifact, reference)
            if page.length > RESULT_CHARACTERS:
                left_out.append(reference)
                continue
            if artifact.abstract_text:
                page.write("Abstract (whole): ")
                page.quote(artifact, reference, "abstract", artifact.abstract_text)
            else:
                page.line("No abstract.")
            for line in _details(artifact):
                page.line(line)
            shown = linked(reference) if linked else ()
            for relation, other in shown:
                page.line(f"Linked: {relation} {other}")
            if unseen := _not_shown(known, [relation for relation, _ in shown]):
                page.line(f"Linked: {', '.join(unseen)}; not shown yet, `find_related` with `linked` may show them")
        page.line(FENCE_CLOSE)
    if left_out:
        page.line(f"Left out for length, fetch them in another call: {', '.join(left_out)}")
    return page.view()


MOST_READ_CHARACTERS = 12_000
"""Characters of full text in one tool result."""
SHORT_FULL_TEXT = 8_000
"""A full text of at most so many characters comes whole at once: its outline would only cost a turn."""


def view_full_text(
    full: FullText,
    reference: str,
    *,
    chosen: frozenset[int] | None = None,
    missing: Sequence[str] = (),
    tables: Sequence[str] = (),
    lookup: Lookup | None = None,
) -> View:
    """A full text as a model sees it: the outline (a short one whole), or the sections whose `id()` is in `chosen`, and
    tables by label.

    Sections come whole and in document order until `MOST_READ_CHARACTERS` is reached; the one in which it ends is cut,
    and what is left out is named.
    """
    page = Page(lookup)
    page.references.append(reference)
    if not full.available or full.artifact is None:
        page.line(f"No full text of {reference}: {full.reason or 'unknown reason'}")
        # What has no text is in the reason; what could not be asked is another matter.
        for step in full.trail:
            if step.result == "failed":
                page.line(f"Tried: {step.route}: failed" + (f" ({step.reason})" if step.reason else ""))
        return page.view()
    artifact = full.artifact
    parts = _parts(full)
    is_short = sum(len(stored.text) for stored, _ in parts) <= SHORT_FULL_TEXT
    if chosen is None and not tables and not is_short:
        page.line(f"Full text of {reference} | {full.characters_total:,} characters | outline; ask by heading")
        page.line(FENCE_OPEN)
        for stored, _ in parts:
            page.line(f"{masked(stored.section)} ({len(stored.text):,} characters)")
        page.line(FENCE_CLOSE)
        return page.view()
    wanted = [
        stored
        for stored, section in parts
        if (chosen is None and not tables)
        or (section is not None and chosen is not None and id(section) in chosen)
        or (section is None and stored.section in tables)
    ]
    page.line(f"Full text of {reference} | {len(wanted)} of {len(parts)} parts")
    for name in missing:
        page.line(f"There is no section {name!r}; ask without sections for the outline.")
    page.line(FENCE_OPEN)
    left, left_out = MOST_READ_CHARACTERS, []
    for stored in wanted:
        if left <= 0:
            left_out.append(stored.section)
            continue
        page.line(f"## {masked(stored.section)}")
        end = len(stored.text) if len(stored.text) <= left else snippet_end(stored.text, left)
        page.quote(artifact, reference, stored.section, stored.text, end)
        left -= end
        if end < len(stored.text):
            left = 0
            left_out.append(f"rest of {stored.section}")
    page.line(FENCE_CLOSE)
    if left_out:
        page.line(f"Left out for length, ask for them by heading: {masked('; '.join(left_out))}")
    return page.view()


def _parts(full: FullText) -> list[tuple[StoredText, TextSection | None]]:
    """The stored texts of a full text, in order, each with its section; tables and figures have none."""
    assert full.artifact is not None  # the caller has a text
    sections = [section for section in _walk((*full.sections, *full.back_sections)) if section.text]
    of_record = stored_texts(full.artifact, FullText())
    return list(zip_longest(stored_texts(full.artifact, full)[len(of_record) :], sections))


def _walk(sections: Iterable[TextSection]) -> Iterator[TextSection]:
    for section in sections:
        yield section
        yield from _walk(section.sections)


_UPDATES = ("paper", "preprint")


def _not_shown(artifact: CitationArtifact, shown: Sequence[str]) -> list[str]:
    """What the record names that belongs to it and is not among the works shown: notices and other records."""
    named = [f"notice ({notice.kind.replace('_', ' ')})" for notice in artifact.notices if "notice" not in shown]
    for other in artifact.related:
        # An update is a paper or, where the record is one of a journal, its preprint.
        as_shown = {"published_as": ("paper",), "updated_by": _UPDATES, "update_of": _UPDATES}
        is_shown = any(name in shown for name in as_shown.get(other.relation, (other.relation,)))
        if other.relation != "pmc_copy" and not is_shown and other.certainty == "stated":
            named.append(other.relation.replace("_", " "))
    return list(dict.fromkeys(named))


def _details(artifact: CitationArtifact) -> Iterator[str]:
    if isinstance(artifact, DetailedArticle | DetailedEuropePMCArticle) and artifact.mesh_headings:
        yield "MeSH: " + "; ".join(h.descriptor + ("*" if h.major else "") for h in artifact.mesh_headings)
    if artifact.keywords:
        yield "Keywords: " + "; ".join("".join(piece.text for piece in mask(k)) for k in artifact.keywords[:15])
    if isinstance(artifact, ClinicalTrial):
        yield from _trial_details(artifact)


_MOST_OUTCOMES = 6

_MOST_VALUES = 8


def _trial_details(trial: ClinicalTrial) -> Iterator[str]:
    """What the registry says of a study: where it stands, what it does, what it measures, what it has reported."""
    facts = [
        trial.overall_status,
        f"stopped because: {trial.why_stopped}" if trial.why_stopped else None,
        trial.study_type,
        "/".join(trial.phases),
        f"{trial.enrollment:,} people" if trial.enrollment is not None else None,
        f"{trial.start_date or '?'} to {trial.completion_date or '?'}" if trial.start_date else None,
        results_posted(trial),
    ]
    yield "Registration: " + short(masked("; ".join(fact for fact in facts if fact)), 300)
    tested = [f"{each.type}: {each.name}" if each.type else each.name for each in trial.interventions]
    if trial.conditions or tested:
        yield "Registered for: " + short(masked(f"{', '.join(trial.conditions)} | {'; '.join(tested)}"), 300)
    ranked = sorted(trial.outcomes, key=lambda outcome: outcome.kind != "primary")
    for outcome in ranked[:_MOST_OUTCOMES]:
        frame = f" ({outcome.time_frame})" if outcome.time_frame else ""
        yield f"Outcome: {outcome.kind}: " + short(masked(f"{outcome.measure}{frame}"), 200)
    if len(ranked) > _MOST_OUTCOMES:
        yield f"Outcome: {len(ranked) - _MOST_OUTCOMES} more are registered"
    for result in trial.results[:_MOST_OUTCOMES]:
        values = [
            f"{each.group}{f', {each.category}' if each.category else ''}: {each.value}"
            + (f" ({each.spread})" if each.spread else "")
            for each in result.values[:_MOST_VALUES]
        ]
        head = " ".join(
            part for part in (result.parameter, result.measure, f"[{result.unit}]" if result.unit else "") if part
        )
        yield "Result: " + short(masked(f"{head}: {'; '.join(values)}"), 500)
    if len(trial.results) > _MOST_OUTCOMES:
        yield f"Result: {len(trial.results) - _MOST_OUTCOMES} more are posted"
