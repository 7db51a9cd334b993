"""What every citation format says of a work: its facts in one plain form, taken from the record alone.

Text is on one line without markup, entities and unseen characters (K125). A title has no full stop at its end and
pages are written out, since programs that read the formats add the one and compute with the other (K123).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from literature_agent.artifacts import (
    Author,
    BioRxivPreprint,
    CitationArtifact,
    ClinicalTrial,
    MeshHeading,
    Notice,
    PubMedArticle,
    article_url,
)
from literature_agent.ids import normalise_nct
from literature_agent.render._answer import is_synthetic
from literature_agent.render._plain import paper_line
from literature_agent.sources._text import clean_text
from literature_agent.views import marks

Kind = Literal["article", "preprint", "trial", "chapter", "book"]

REGISTRY_OF_TRIALS = "ClinicalTrials.gov"
SYNTHETIC_MARK = "[SYNTHETIC - Made up for testing]"

_SERVERS = {"biorxiv": "bioRxiv", "medrxiv": "medRxiv"}
_DATABASES = {
    "pubmed": "PubMed",
    "europepmc": "Europe PMC",
    "preprint": "Europe PMC",
    "pmc": "PubMed Central",
    "biorxiv": "bioRxiv",
    "medrxiv": "medRxiv",
    "clinicaltrials": REGISTRY_OF_TRIALS,
}


@dataclass(frozen=True)
class Name:
    """A person, or a group, which has `group` and nothing else."""

    family: str = ""
    """With its particles, as the sources give it: `van der Berg`."""
    given: str = ""
    """Given names, else initials: `Åsa Maria`, `Å. M.`."""
    initials: str = ""
    """`ÅM`."""
    suffix: str = ""
    group: str = ""
    orcid: str = ""


@dataclass(frozen=True)
class Pages:
    """`first` alone is an article number, a single page, or a list of pages that is no range."""

    first: str = ""
    last: str = ""

    def joined(self) -> str:
        return f"{self.first}-{self.last}" if self.last else self.first


@dataclass(frozen=True)
class Citation:
    """One work; what is not known is empty."""

    kind: Kind
    title: str
    names: tuple[Name, ...]
    container: str
    """Journal, book, preprint server or registry."""
    container_short: str
    issued: tuple[int, ...]
    """Year, year and month, or year, month and day of issue."""
    online: tuple[int, ...]
    accessed: tuple[int, ...]
    """The day on which the record was got."""
    volume: str
    issue: str
    pages: Pages
    version: str
    doi: str
    pmid: str
    pmcid: str
    nct_id: str
    """Of a trial itself."""
    trials: tuple[str, ...]
    """NCT numbers that the record of a paper names."""
    issn: str
    url: str
    abstract: str
    keywords: tuple[str, ...]
    mesh: tuple[MeshHeading, ...]
    types: tuple[str, ...]
    language: str
    """As the source writes it: `eng`."""
    note: str
    """What must stand with the work wherever it is cited: preprint, retraction, concern, synthetic."""
    notices: tuple[Notice, ...]
    database: str

    @property
    def subjects(self) -> tuple[str, ...]:
        """Keywords and MeSH descriptors, each once."""
        once: dict[str, str] = {}
        for word in (*self.keywords, *(heading.descriptor for heading in self.mesh)):
            once.setdefault(word.casefold(), word)
        return tuple(once.values())


def citation_of(artifact: CitationArtifact) -> Citation:
    """The facts of a record."""
    kind = _kind(artifact)
    issued, online = _dates(artifact)
    retrieved = max((origin.retrieved_at.date() for origin in artifact.provenance), default=None)
    nct_id = _field(artifact, "nct_id")
    version = getattr(artifact, "version", None)
    return Citation(
        kind=kind,
        title=_title(artifact.title),
        names=_names(artifact),
        container=_container(artifact, kind),
        container_short=_plain(artifact.journal_abbreviation),
        issued=issued,
        online=online,
        accessed=_parts(retrieved),
        volume=_field(artifact, "volume"),
        issue=_field(artifact, "issue"),
        pages=read_pages(_field(artifact, "pages")),
        version="" if version is None else str(version),
        doi=_plain(artifact.doi),
        pmid=_field(artifact, "pmid"),
        pmcid=_field(artifact, "pmcid"),
        nct_id=nct_id,
        trials=tuple(nct for number in getattr(artifact, "accession_numbers", ()) if (nct := normalise_nct(number))),
        issn=_field(artifact, "issn"),
        url=_address(artifact) or article_url(doi=artifact.doi, nct_id=nct_id or None) or "",
        abstract=_plain(artifact.abstract_text),
        keywords=_each_plain(artifact.keywords),
        mesh=tuple(getattr(artifact, "mesh_headings", ())),
        types=_each_plain(artifact.publication_types),
        language=_plain(artifact.language),
        note=note_of(artifact),
        notices=artifact.notices,
        database=_DATABASES[artifact.source],
    )


def note_of(artifact: CitationArtifact) -> str:
    """The marks of a work, `[RETRACTED]` and others, and one that says that it was made up for testing; else empty."""
    return " ".join(filter(None, (marks(artifact), SYNTHETIC_MARK if is_synthetic(artifact) else "")))


def citation_keys(citations: Sequence[Citation]) -> tuple[str, ...]:
    """A key for each, unique and plain ASCII: `doe2026`; where several would share it, `doe2026a`, `doe2026b`.

    The same list gives the same keys.
    """
    bases = [_base_key(citation) for citation in citations]
    shared = {base for base, count in Counter(bases).items() if count > 1}
    used: Counter[str] = Counter()
    keys = []
    for base in bases:
        keys.append(base + _letters(used[base]) if base in shared else base)
        used[base] += 1
    return tuple(keys)


def _base_key(citation: Citation) -> str:
    first = citation.names[0] if citation.names else Name()
    year = str(citation.issued[0]) if citation.issued else "nd"
    candidates = (first.family, first.group.split(" ")[0], citation.title.split(" ")[0])
    return next((word for text in candidates if (word := _ascii_word(text))), "work") + year


def _ascii_word(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z]", "", plain)


def _letters(number: int) -> str:
    """`a` to `z`, then `aa`, `ab` and so on."""
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return letters


# --- text -------------------------------------------------------------------------------------------------------------


def _plain(text: str | None) -> str:
    return paper_line(clean_text(text or ""))


def _field(artifact: CitationArtifact, name: str) -> str:
    return _plain(getattr(artifact, name, None))


def _each_plain(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(plain for text in texts if (plain := _plain(text)))


def _title(text: str) -> str:
    title = _plain(text)
    # `...` is no full stop, and the one of `U.S.` belongs to the word.
    if title.endswith(".") and not title.endswith("..") and not re.search(r"(?:^|[\s(])(?:[^\W\d_]\.){2,}$", title):
        return title[:-1].rstrip()
    return title


def _address(artifact: CitationArtifact) -> str:
    url = artifact.url or ""
    return url if re.fullmatch(r"https?://[^\s<>\"]+", url) and url.isprintable() else ""


# --- names ------------------------------------------------------------------------------------------------------------


def _names(artifact: CitationArtifact) -> tuple[Name, ...]:
    if isinstance(artifact, ClinicalTrial):
        sponsor = _plain(artifact.sponsor)
        return (Name(group=sponsor),) if sponsor else ()
    names = tuple(name for author in artifact.authors if (name := _name(author)) is not None)
    if not names and (first := _plain(artifact.first_author)):
        return (Name(group=first),)
    return names


def _name(author: Author) -> Name | None:
    group, family, given = _plain(author.collective), _plain(author.family), _plain(author.given)
    initials, orcid = _plain(author.initials), _plain(author.orcid)
    if group:
        return Name(group=group, orcid=orcid)
    if not family:
        return Name(family=given, orcid=orcid) if given else None
    letters = initials or "".join(part[0] for part in re.split(r"[\s-]+", given) if part)
    return Name(
        family=family,
        given=given or dotted(initials),
        initials=letters,
        suffix=_plain(author.suffix),
        orcid=orcid,
    )


def dotted(initials: str) -> str:
    """`ÅM` as `Å. M.`, `J-P` as `J.-P.`; `Th` is one initial. Letters without case stay as they are."""
    if not any(map(str.isupper, initials)):
        return initials
    apart = "".join(f" {c}" if c.isupper() else c for c in initials.replace(".", " ").replace("-", " - "))
    return " ".join(word if word == "-" else f"{word}." for word in apart.split()).replace(" - ", "-")


# --- where and when ---------------------------------------------------------------------------------------------------


def _kind(artifact: CitationArtifact) -> Kind:
    if isinstance(artifact, ClinicalTrial):
        return "trial"
    if artifact.is_preprint:
        return "preprint"
    types = {kind.casefold().replace("-", " ") for kind in artifact.publication_types}
    # PubMed's records of books carry no type that says so; all its journals have an abbreviation.
    is_book = isinstance(artifact, PubMedArticle) and not (
        artifact.journal_abbreviation or getattr(artifact, "issn", None) or getattr(artifact, "issue", None)
    )
    if types & {"book chapter", "chapter"} or (is_book and artifact.journal):
        return "chapter"
    return "book" if "book" in types or is_book else "article"


def _container(artifact: CitationArtifact, kind: Kind) -> str:
    if kind == "trial":
        return REGISTRY_OF_TRIALS
    named = _plain(artifact.journal) or _plain(artifact.journal_abbreviation)
    return named or (_SERVERS[artifact.server] if isinstance(artifact, BioRxivPreprint) else "")


_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def _dates(artifact: CitationArtifact) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Dates of issue and of appearing online. The year is the record's; a date of another year does not replace it."""
    printed, online = _parts(artifact.published), _parts(artifact.published_online)
    year = artifact.year or next((each[0] for each in (printed, online) if each), None)
    issued = next((each for each in (printed, online) if each and each[0] == year), (year,) if year else ())
    return issued, online


def _parts(written: str | date | None) -> tuple[int, ...]:
    match = _DATE.fullmatch(str(written))
    return tuple(int(part) for part in match.groups() if part) if match else ()


# --- pages ------------------------------------------------------------------------------------------------------------

# Not inside an article number: `S1360-1385(25)00164-5`.
_RANGE = re.compile(r"(?<![\w.()-])[\w.]+-[\w.]+(?![\w.()-])")
_PAGE = re.compile(r"(?P<prefix>\D*)(?P<number>\d+)(?P<rest>.*)")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))


def read_pages(printed: str) -> Pages:
    """`737-8` as pages 737 and 738 (K123); an article number `e123` has no last page, a list is one text."""
    text = re.sub(r"\s*-\s*", "-", printed.translate(_DASHES)).rstrip(".")
    if _RANGE.fullmatch(text) and (ends := _ends(text)):
        return Pages(ends[0]) if ends[0] == ends[1] else Pages(*ends)
    return Pages(_RANGE.sub(lambda match: "-".join(_ends(match.group()) or (match.group(),)), text))


def _ends(text: str) -> tuple[str, str] | None:
    """First and last page of `1639-41`, the last written out; None where it is no range: `12-0034`, `99-2`."""
    first, last = text.split("-")
    start, end = _PAGE.fullmatch(first), _PAGE.fullmatch(last)
    if start is None or end is None:
        return (first, last) if start is end else None
    number, until = start["number"], end["number"]
    if end["prefix"] not in ("", start["prefix"]):
        return first, last
    until = number[: max(0, len(number) - len(until))] + until
    if int(until) < int(number) or (until.startswith("0") and not number.startswith("0")):
        return None
    return first, f"{start['prefix']}{until}{end['rest']}"
