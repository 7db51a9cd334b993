"""What a run has shown, from registry and ledger, for composing an answer by code."""

from __future__ import annotations

from typing import get_args

from literature_agent.agents.evidence import Asked, Mark, Paper
from literature_agent.agents.run import Run
from literature_agent.artifacts import CitationArtifact, DetailedArticle, DetailedEuropePMCArticle, study_type
from literature_agent.views import masked


def papers_of(run: Run) -> list[Paper]:
    """The works that this run has shown, in order of first showing, as far as they were shown."""
    papers = []
    for place, reference in enumerate(run.ledger.shown_references()):
        artifact = run.registry.find(reference)
        if artifact is None:
            continue
        abstracts = [text for text in run.ledger.shown_texts(reference) if text.section == "abstract"]
        longest = max(abstracts, key=lambda text: text.end, default=None)
        stored = longest and run.registry.stored_text(longest.copy_id, longest.section, longest.text_hash)
        papers.append(
            Paper(
                reference=reference,
                title=masked(artifact.title),
                abstract=masked((stored or "")[: longest.end if longest else 0]),
                whole=longest is not None and longest.end >= longest.length,
                year=artifact.year,
                study_type=study_type(artifact),
                marks=_marks(artifact),
                headings=_headings(artifact),
                linked=tuple((link.relation, str(link.reference)) for link in run.registry.linked(reference)),
                positions=(place,),
            )
        )
    return papers


def searches_of(run: Run) -> list[Asked]:
    """The searches of this run in order."""
    lines = {line.search_id: line for line in run.ledger.search_log()}
    asked = []
    for entry in run.ledger.entries:
        if entry.search is None:
            continue
        line = lines[entry.search.search_id]
        filters = "; ".join(f"{name}={value}" for name, value in line.filters.items())
        as_written = not entry.warnings and not entry.notice
        asked.append(Asked(line.search_id, line.source, line.status, line.query, filters, as_written))
    return asked


def _marks(artifact: CitationArtifact) -> frozenset[Mark]:
    marks: set[Mark] = {mark for mark in get_args(Mark) if mark == artifact.correction_status}
    if artifact.is_preprint:
        marks.add("preprint")
    if artifact.is_notice:
        marks.add("notice")
    return frozenset(marks)


def _headings(artifact: CitationArtifact) -> tuple[str, ...]:
    if isinstance(artifact, DetailedArticle | DetailedEuropePMCArticle) and artifact.mesh_headings:
        return tuple(heading.descriptor for heading in artifact.mesh_headings)
    return artifact.keywords
