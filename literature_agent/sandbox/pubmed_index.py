"""What PubMed can search in a paper: which words go into which field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from literature_agent.sandbox.pubmed_records import Author, Day, Paper
from literature_agent.sandbox.syntax import plain
from literature_agent.sandbox.text_index import Entry, TextIndex

# Column and weight in the ranking: a word in the title says more than one in the abstract.
_COLUMNS = {
    "title": 6.0,
    "abstract": 1.5,
    "keywords": 3.0,
    "mesh": 3.0,
    "types": 1.0,
    "substances": 1.0,
    "authors": 1.0,
    "affiliations": 0.1,
    "journal": 0.5,
    "vernacular": 1.0,
    "ids": 1.0,
}


def index_papers(papers: Sequence[Paper]) -> TextIndex:
    """An index whose entry numbers are the positions in `papers`."""
    return TextIndex(tuple(_COLUMNS), tuple(_COLUMNS.values()), (_entry(paper) for paper in papers))


def heading_names(descriptor: str) -> Iterator[str]:
    """A heading and its straightened form: `Diabetes Mellitus, Type 2` is also `Type 2 Diabetes Mellitus`."""
    yield descriptor
    if ", " in descriptor:
        yield " ".join(reversed(descriptor.split(", ")))


def broader_names(descriptor: str) -> Iterator[str]:
    """The headings that an inverted heading says it belongs to; stands in for the MeSH tree."""
    parts = descriptor.split(", ")
    for length in range(1, len(parts)):
        yield ", ".join(parts[:length])


def _entry(paper: Paper) -> Entry:
    descriptors = [heading.descriptor for heading in paper.headings]
    qualifiers = [name for heading in paper.headings for name, _ in heading.qualifiers]
    databanks = [number for _, number in paper.databanks]
    return Entry(
        texts={
            "title": paper.title,
            "abstract": " ".join([*(f"{s.label} {s.text}" for s in paper.abstract), paper.other_abstracts]),
            "keywords": " . ".join(paper.keywords),
            "mesh": " . ".join([*descriptors, *qualifiers]),
            "types": " . ".join(paper.types),
            "substances": " . ".join(name for name, _ in paper.chemicals),
            "authors": " . ".join(name for author in paper.authors for name in _written(author)),
            "affiliations": " . ".join(place for author in paper.authors for place in author.affiliations),
            "journal": " . ".join((paper.journal, paper.journal_iso, paper.journal_medline)),
            "vernacular": paper.vernacular_title,
            "ids": " . ".join(part for part in (paper.doi, paper.pmcid, paper.pii, paper.pmid, *databanks) if part),
        },
        values={
            **_mesh_values(paper),
            **_people_values(paper.authors),
            "type": paper.types,
            "language": paper.languages,
            "journal": (paper.journal, paper.journal_iso, paper.journal_medline, paper.nlm_id),
            "issn": (paper.issn_print, paper.issn_electronic, paper.issn_linking),
            "volume": (paper.volume,),
            "issue": (paper.issue,),
            "page": (paper.pages, paper.pages.partition("-")[0]),
            "country": (paper.country,),
            "subheading": qualifiers,
            "registry": (number for _, number in paper.chemicals),
            "databank": [*databanks, *(f"{bank}/{number}" for bank, number in paper.databanks)],
            "grant": [part for grant in paper.grants for part in (grant.grant_id, grant.agency)],
            "pmid": (paper.pmid,),
            "doi": (paper.doi,),
            "pii": (paper.pii, paper.book_accession),
            "pmc": (paper.pmcid,),
            "filter": _filters(paper),
        },
        days={
            "published": _numbers(paper.published, paper.electronic),
            "print": _numbers(paper.published),
            "electronic": _numbers(paper.electronic),
            "entered": _numbers(paper.entered),
            "created": _numbers(paper.entered),
            "revised": _numbers(paper.revised),
            "completed": _numbers(paper.completed),
            "indexed": _numbers(paper.history.get("medline")),
            "number": (int(paper.pmid),),
        },
    )


def _mesh_values(paper: Paper) -> dict[str, set[str]]:
    values: dict[str, set[str]] = {"heading": set(), "mesh": set(), "majr": set()}
    exploded: dict[str, set[str]] = {"mesh exploded": set(), "majr exploded": set()}
    for heading in paper.headings:
        names = set(heading_names(heading.descriptor))
        values["heading"] |= names
        for place in ("mesh", "majr"):
            if place == "majr" and not heading.major:
                continue
            for name in (*names, *broader_names(heading.descriptor)):
                qualified = {f"{name}/{qualifier}" for qualifier, flag in heading.qualifiers if place == "mesh" or flag}
                exploded[f"{place} exploded"] |= {name, *qualified}
                if name in names:
                    values[place] |= {name, *qualified}
    return values | exploded


def _people_values(authors: Sequence[Author]) -> dict[str, Iterable[str]]:
    persons = [author for author in authors if author.last]
    return {
        "author": [name for author in authors for name in _written(author)],
        "first author": _written(authors[0]) if authors else (),
        "last author": _written(authors[-1]) if authors else (),
        "collective": [author.collective for author in authors if author.collective],
        "orcid": [author.orcid for author in persons if author.orcid],
    }


def _written(author: Author) -> tuple[str, ...]:
    """The ways a name is searched: `doe ja`, `doe jane a`, `jane a doe`."""
    if author.collective:
        return (author.collective,)
    return (f"{author.last} {author.initials}", f"{author.last} {author.fore}", f"{author.fore} {author.last}")


def _filters(paper: Paper) -> set[str]:
    kinds = {plain(kind) for kind in paper.types}
    filters = set(kinds) | {plain(paper.status).replace(" ", "")}
    if paper.abstract:
        filters.add("hasabstract")
    if paper.pmcid:
        filters |= {"free full text", "full text", "pubmed pmc"}
    if paper.doi:
        filters.add("full text")
    if any(heading.descriptor == "Humans" for heading in paper.headings):
        filters.add("humans")
    if "systematic review" in kinds or "systematic review" in plain(paper.title):
        filters.add("systematic")
    return filters


def _numbers(*days: Day | None) -> list[int]:
    return [day.number for day in days if day is not None]
