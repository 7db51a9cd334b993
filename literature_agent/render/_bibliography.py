"""One entry of a bibliography, printed from the record alone.

The form is that of the ICMJE's sample references ("Vancouver"): authors (six, then `et al.`), title, journal,
`year;volume(issue):pages`, identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from literature_agent.artifacts import BioRxivPreprint, CitationArtifact, ClinicalTrial, article_url
from literature_agent.registry import mask_references
from literature_agent.render._plain import full_stop, markdown, paper_line
from literature_agent.views import marks

MAX_AUTHORS = 6

_SERVERS = {"biorxiv": "bioRxiv", "medrxiv": "medRxiv"}
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"]+")


def bibliography_entry(artifact: CitationArtifact) -> str:
    """The entry of `artifact` on one line of plain text.

    `Lindqvist A, Nair PR. Title. Journal. 2021;48(3):201-12. doi:10.5555/x PMID: 90000101`. Behind the title it is
    always said that a work is a preprint, retracted, corrected or under an expression of concern. A web address stands
    only where there is no DOI. Nothing in a record can control a terminal.
    """
    address = _address(artifact)
    names = [name for name, _ in _identifiers(artifact)]
    return _joined(artifact, lambda text: text, names if artifact.doi or not address else [*names, address])


def bibliography_entry_markdown(artifact: CitationArtifact) -> str:
    """The same entry on one line of Markdown, with its identifiers as links."""
    address = _address(artifact)
    named = _identifiers(artifact)
    links = [f"[{markdown(name)}](<{url}>)" if url else markdown(name) for name, url in named]
    return _joined(artifact, markdown, links if artifact.doi or not address else [*links, f"<{address}>"])


def author_line(artifact: CitationArtifact) -> str:
    """Names of the authors, six at most and then `et al.`; of a trial its sponsor; empty where nobody is named."""
    if isinstance(artifact, ClinicalTrial):
        return paper_line(artifact.sponsor or "")
    names = [name for author in artifact.authors if (name := paper_line(author.display))]
    if not names:
        return paper_line(artifact.first_author or "")
    return ", ".join(names[:MAX_AUTHORS]) + (", et al." if len(names) > MAX_AUTHORS else "")


def title_line(artifact: CitationArtifact) -> str:
    """The title on one line, `[No title]` where the record has none."""
    return paper_line(artifact.title) or "[No title]"


def _joined(artifact: CitationArtifact, escape: Callable[[str], str], identifiers: list[str]) -> str:
    authors, title, place = (
        escape(full_stop(part)) for part in (author_line(artifact), title_line(artifact), place_line(artifact))
    )
    # No full stop behind an identifier: it would be copied with it.
    return mask_references(" ".join(part for part in (authors, title, marks(artifact), place, *identifiers) if part))


def _phase(code: str) -> str:
    """`Phase 3` for the registry's `PHASE3`, `Early phase 1` for `EARLY_PHASE1`."""
    return re.sub(r"(?<=[a-z])(?=\d)", " ", code.replace("_", " ").lower()).capitalize()


def place_line(artifact: CitationArtifact) -> str:
    """Journal, server, book or registry, with date, volume, issue and pages."""
    if isinstance(artifact, ClinicalTrial):
        phases = " / ".join(_phase(phase) for phase in artifact.phases if phase != "NA")
        facts = [artifact.nct_id, phases, (artifact.overall_status or "").replace("_", " ").lower()]
        if artifact.start_date:
            facts.append(f"start {artifact.start_date}")
        return "ClinicalTrials.gov. " + "; ".join(fact for fact in map(paper_line, facts) if fact)
    where = paper_line(artifact.journal or artifact.journal_abbreviation or "")
    when = str(artifact.year) if artifact.year else "[date unknown]"
    if isinstance(artifact, BioRxivPreprint):
        where = where or _SERVERS[artifact.server]
        when += f" (version {artifact.version})" if artifact.version is not None else ""
    volume, issue, pages = (paper_line(getattr(artifact, name, None) or "") for name in ("volume", "issue", "pages"))
    within = volume + (f"({issue})" if issue else "")
    return f"{full_stop(where)} {when}".strip() + (f";{within}" if within else "") + (f":{pages}" if pages else "")


def _identifiers(artifact: CitationArtifact) -> list[tuple[str, str | None]]:
    """DOI and PMID, else PMCID, each with the address of its page."""
    doi, pmid, pmcid = artifact.doi, getattr(artifact, "pmid", None), getattr(artifact, "pmcid", None)
    found = []
    if doi:
        found.append((paper_line(f"doi:{doi}"), article_url(doi=doi)))
    if pmid:
        found.append((paper_line(f"PMID: {pmid}"), article_url(pmid=pmid)))
    if pmcid and not found:
        found.append((paper_line(f"PMCID: {pmcid}"), article_url(pmcid=pmcid)))
    return found


def _address(artifact: CitationArtifact) -> str | None:
    return artifact.url if artifact.url and _WEB_ADDRESS.fullmatch(artifact.url) else None
