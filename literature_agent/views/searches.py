"""Views of what searches and looks across the sources gave."""

from __future__ import annotations

from collections.abc import Sequence

from literature_agent.artifacts import (
    CitationArtifact,
)
from literature_agent.errors import counted
from literature_agent.federation import ConvertedId
from literature_agent.federation.scoring import formula
from literature_agent.results import (
    CitationMatch,
    MeshResult,
    RelatedResult,
    SearchResult,
)
from literature_agent.views.masks import Lookup, masked
from literature_agent.views.page import Marked, Page, Readable, Seen, View, short, write_hits, write_notice


def view_search(
    search_id: str,
    source: str,
    result: SearchResult,
    references: Sequence[str],
    *,
    lookup: Lookup | None = None,
    marked: Marked | None = None,
    readable: Readable | None = None,
    seen: Seen | None = None,
    notes: Sequence[str] = (),
) -> View:
    """One search as a model sees it.

    `references` name `result.artifacts` one by one; `marked` gives the completed record of a reference, so that a
    retraction known from another source is shown with this one too.
    """
    page = Page(lookup)
    total = "unknown" if result.total is None else str(result.total)
    page.line(f"Search {search_id} | {source} | {result.status} | shown {len(result.artifacts)} of {total}")
    if result.query_sent:
        page.line(f"Query: {result.query_sent}")
    if interpreted := _interpreted(result):
        page.line(f"Interpreted as: {short(masked(interpreted), 600)}")
    if result.applied_filters:
        page.line("Filters: " + "; ".join(f"{name}={value}" for name, value in result.applied_filters.items()))
    for warning in result.warnings:
        page.line(f"Warning: {short(masked(warning), 300)}")
    write_notice(page, result.status, result.notice, "the source answered and has no match for this query.")
    if result.error is not None:
        page.line(f"Could not be read in full: {short(masked(result.error.message), 300)}")
    if result.next_page is not None:
        page.line(f'Next page: page="{result.next_page}"')
    for note in notes:
        page.line(f"Note: {note}")
    write_hits(page, result.artifacts, references, marked, seen, readable)
    return page.view()


def _interpreted(result: SearchResult) -> str:
    """How the source read the query, if that says more than the query. Every untagged word is "[All Fields]" in
    PubMed's translation, which tells nothing and would push its end over the limit."""
    read = (result.query_interpreted or "").replace("[All Fields]", "")
    is_same = read.replace('"', "").casefold() == (result.query_sent or "").replace('"', "").casefold()
    return "" if is_same else read


def view_search_all(
    search_ids: Sequence[str],
    result: SearchResult,
    references: Sequence[str],
    *,
    lookup: Lookup | None = None,
    marked: Marked | None = None,
    readable: Readable | None = None,
    seen: Seen | None = None,
) -> View:
    """A search of all sources as a model sees it: a line for each source, then the merged hits, best score first.

    `search_ids` are those of the sources asked, in their order; a source that was not asked has none.
    """
    page = Page(lookup)
    page.line(f"Search {'+'.join(search_ids)} | all | {result.status} | shown {len(result.artifacts)} of unknown")
    page.line(f"Query: {result.query_sent}")
    asked = iter(search_ids)
    # Servers of one kind are left out for one reason: it is said once.
    left_out: dict[str, list[str]] = {}
    told: set[str] = set()
    for outcome in result.outcomes:
        if outcome.status == "not_asked":
            why = " ".join(outcome.warnings)
            left_out.setdefault(why.partition(" was not asked: ")[2] or why, []).append(outcome.source)
            told.update(outcome.warnings)
            continue
        total = "unknown" if outcome.total is None else str(outcome.total)
        line = f"{next(asked)}: {outcome.source} | {outcome.status} | got {outcome.returned} of {total}"
        if outcome.error is not None:
            line += f" | {short(masked(outcome.error.message), 200)}"
            line += " This says nothing about the literature." if outcome.status == "failed" else ""
        page.line(line)
    for why, sources in left_out.items():
        page.line(f"{', '.join(sources)}: not asked" + (f": {short(masked(why), 300)}" if why else ""))
    if result.applied_filters:
        page.line("Filters: " + "; ".join(f"{name}={value}" for name, value in result.applied_filters.items()))
    for warning in result.warnings:
        if warning not in told:
            page.line(f"Warning: {short(masked(warning), 300)}")
    # How the score is made is for people: the order says what a model needs of it.
    notice = (result.notice or "").replace(f", by score ({formula()})", ", best first")
    write_notice(page, result.status, notice, "every source that was asked answered and has no match for this query.")
    write_hits(page, result.artifacts, references, marked, seen, readable)
    return page.view()


def view_related(
    result: RelatedResult,
    reference: str,
    references: Sequence[str],
    *,
    linked: Sequence[tuple[str, str]] = (),
    lookup: Lookup | None = None,
    marked: Marked | None = None,
    readable: Readable | None = None,
    seen: Seen | None = None,
) -> View:
    """Works related to the one of `reference`; `linked` are those that this run has shown already."""
    page = Page(lookup)
    total = "unknown" if result.total is None else str(result.total)
    page.line(f"Related to {reference} | {result.kind} | {result.status} | shown {len(result.artifacts)} of {total}")
    for warning in result.warnings:
        page.line(f"Warning: {short(masked(warning), 300)}")
    write_notice(page, result.status, result.notice, "the source answered and knows none.")
    if result.error is not None:
        page.line(f"Not all could be asked: {short(masked(result.error.message), 300)}")
    if any(link.relation == "pmc_copy" for link in result.links):
        page.line("A copy lies in PMC; `read_pmc_full_text` tells whether it can be read.")
    inferred = sum(link.certainty == "inferred" for link in result.links)
    if inferred:
        page.line(f"{inferred} of the links {'is' if inferred == 1 else 'are'} inferred by the source, not stated.")
    for relation, other in zip(result.relations, references, strict=False):
        page.line(f"Relation: {other}: {relation}")
    for relation, other in linked:
        page.line(f"Relation: {other}: {relation} (shown before)")
    write_hits(page, result.artifacts, references, marked, seen, readable)
    return page.view()


def view_matches(
    matches: Sequence[CitationMatch],
    references: Sequence[str | None],
    *,
    lookup: Lookup | None = None,
    marked: Marked | None = None,
    readable: Readable | None = None,
) -> View:
    """Citations as checked, by number: what each is, and the names of fields that are wrong; then the works."""
    page = Page(lookup)
    counts = {status: sum(match.status == status for match in matches) for status in _MATCHES}
    page.line(f"Citations | {len(matches)} checked | " + ", ".join(f"{n} {s}" for s, n in counts.items() if n))
    works: dict[str, CitationArtifact] = {}
    for number, (match, reference) in enumerate(zip(matches, references, strict=True), start=1):
        line = f"Citation {number}: {match.status}"
        if match.artifact is not None and reference is not None:
            works.setdefault(reference, match.artifact)
            line += f": {reference}"
        if match.differs:
            line += f" | wrong: {', '.join(difference.field for difference in match.differs)}"
        if match.note:
            line += f" | {short(masked(match.note), 200)}"
        if match.error is not None:
            line += f" | {short(masked(match.error.message), 200)} This says nothing about the citation."
        page.line(line)
    write_hits(page, list(works.values()), list(works), marked, None, readable)
    return page.view()


_MATCHES = ("matched", "miscited", "unknown", "failed")


def view_conversions(rows: Sequence[tuple[str, ConvertedId]]) -> str:
    """Which kinds of identifier each work has; the identifiers themselves are for code alone."""
    lines = [f"Identifiers of {counted(len(rows), 'work')}; the identifiers themselves stay with the caller."]
    for reference, one in rows:
        if one.status == "failed":
            why = one.error.message if one.error is not None else ""
            lines.append(f"Failed: {reference}: {short(masked(why), 200)}")
            continue
        has = [name for name, value in (("PubMed", one.pmid), ("PMC", one.pmcid), ("DOI", one.doi)) if value]
        line = f"Identifiers: {reference}: {', '.join(has) or 'none'}"
        if one.status == "not_in_pmc":
            line += " | not in PMC"
        if one.embargoed_until:
            line += f" | full text from {one.embargoed_until}"
        lines.append(line)
    return "\n".join(lines)


def view_mesh(result: MeshResult) -> str:
    """MeSH records for a term: heading, synonyms, place in the tree, scope note."""
    lines = [f"MeSH | {masked(result.term)} | {result.status} | shown {len(result.terms)} of {result.total}"]
    if result.status == "empty":
        lines.append("Nothing found: MeSH has no such term; try a synonym or a broader one.")
    for term in result.terms:
        kind = f" ({term.kind})" if term.kind and term.kind != "descriptor" else ""
        lines.append(f"Heading: {masked(term.descriptor)}{kind}")
        if term.entry_terms:
            lines.append(f"  Synonyms: {short(masked('; '.join(term.entry_terms)), 300)}")
        if term.tree_numbers:
            lines.append(f"  Tree: {', '.join(term.tree_numbers[:6])}")
        if term.scope_note:
            lines.append(f"  Scope: {short(masked(term.scope_note), 400)}")
    return "\n".join(lines)
