"""Citations checked against the records: does the work exist, and is it cited as it is?

Identifiers, ECitMatch and a search for the title bring candidates; none of them is believed before its record is
compared with what the citation says. A title alone matches nothing (K080), and a wrong journal or year is told apart
from an invented paper (K081).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from literature_agent.artifacts import Artifact, CitationArtifact
from literature_agent.errors import SourceError, refused
from literature_agent.federation.citation_text import Citation, read_citation
from literature_agent.federation.related import named_in
from literature_agent.ids import joining_doi, normalise_doi, normalise_pmcid, normalise_pmid
from literature_agent.results import CitationMatch, ErrorInfo, FetchResult, FieldDifference
from literature_agent.sources import SOURCES, Source
from literature_agent.sources.pubmed.citmatch import Locator, locate
from literature_agent.transport import Transport

MOST_CITATIONS = 200

_TITLE_WORDS = 12
_CANDIDATES = 5
_SAME_TITLE = 0.9
_WORDS_OF_A_CUT_TITLE = 4
_TELLING_WORDS = 4
"""Words that a title needs to name a paper together with the year alone; `Editorial` needs the author too."""
_IDENTIFIERS = frozenset(("doi", "pmid", "pmcid"))
_SMALL_WORDS = "a an and are as at by for from in into is its of on or that the this to was were with"
_LEFT_OUT = frozenset(_SMALL_WORDS.split())
_ISE = re.compile(r"is(e|ed|es|ing|ation|ations)$")
_NOTICE_WORDS = re.compile(r"\b(?:correction|corrigendum|erratum|retract\w*|expression of concern|notice)\b", re.I)


async def match_citations(
    transport: Transport, citations: Sequence[Citation | str], *, sources: Sequence[Source] | None = None
) -> tuple[CitationMatch, ...]:
    """What each citation turns out to be: as many answers as citations, in their order.

    Args:
        citations: pasted text, or fields.
        sources: who may be asked; None: every source that is switched on. PubMed knows most, Europe PMC adds
            preprints and papers outside PubMed.

    Raises:
        InvalidInputError: too many citations.
    """
    if len(citations) > MOST_CITATIONS:
        raise refused(
            "pubmed",
            f"{len(citations):,} citations are too many: check at most {MOST_CITATIONS} at once.",
        )
    read = [read_citation(one) if isinstance(one, str) else _normalised(one) for one in citations]
    on = SOURCES if sources is None else sources
    allowed = {source.name: source for source in on if source.enabled(transport.settings)}
    async with transport.job("eutils", "pubmed"):
        check = _Check(transport, allowed, read)
        await check.by_identifier()
        await check.by_locator()
        await check.by_title()
    return tuple(check.answer(place) for place in range(len(read)))


class Comparison(NamedTuple):
    """What of a citation agrees with a record and what differs; what one of them does not say is in neither."""

    agrees: frozenset[str]
    differs: tuple[FieldDifference, ...]
    is_close: bool = False
    """The title differs by a word or a slip of the pen: it may be meant, but is not cited as it is."""


def compare(citation: Citation, record: CitationArtifact) -> Comparison:
    """Each field of the citation held against the record."""
    agrees: set[str] = set()
    differs: list[FieldDifference] = []

    def hold(name: str, given: str | int | None, found: str | int | None, same: bool) -> None:
        if given in (None, "") or found in (None, ""):
            return
        if same:
            agrees.add(name)
        else:
            differs.append(FieldDifference(field=name, given=str(given), found=str(found)))

    hold("title", citation.title, record.title, same_title(citation.title or "", record))
    hold("first_author", citation.first_author, record.first_author, _same_author(citation.first_author or "", record))
    journal = record.journal or record.journal_abbreviation
    hold("journal", citation.journal, journal, _same_journal(citation.journal or "", record))
    online = record.published_online
    years = {record.year, int(online[:4]) if online else None}
    hold("year", citation.year, record.year, citation.year in years)
    volume = getattr(record, "volume", None)
    hold("volume", citation.volume, volume, _folded(citation.volume or "") == _folded(volume or ""))
    page = _first_page(getattr(record, "pages", None) or "")
    hold("first_page", citation.first_page, page, _first_page(citation.first_page or "") == page)
    dois = {joining_doi(doi) for doi in (record.doi or "", *record.alternate_dois)}
    hold("doi", citation.doi, record.doi, joining_doi(citation.doi or "") in dois)
    for name in ("pmid", "pmcid"):
        found = getattr(record, name, None)
        hold(name, getattr(citation, name), found, getattr(citation, name) == found)
    return Comparison(frozenset(agrees), tuple(differs), is_close=close_title(citation.title or "", record))


def is_meant(citation: Citation, compared: Comparison) -> bool:
    """Whether the record is the work that the citation means, perhaps cited wrongly.

    With a title: the title and author or year, or the title and the place. Without: an identifier or the place, unless
    author and year both say otherwise. A title of other words is forgiven only where everything else agrees.
    """
    agrees, wrong = compared.agrees, {one.field for one in compared.differs}
    identified = bool(agrees & _IDENTIFIERS)
    placed = {"volume", "first_page"} <= agrees and "journal" not in wrong
    if citation.title and "title" in agrees | wrong:
        if "title" not in agrees and not compared.is_close:
            return (identified or placed) and {"first_author", "year"} <= agrees
        if identified or placed or "first_author" in agrees:
            return True
        return "year" in agrees and "first_author" not in wrong and len(_words(citation.title)) >= _TELLING_WORDS
    if identified or placed:
        return not {"first_author", "year"} <= wrong
    return {"first_author", "year", "journal"} <= agrees and bool(agrees & {"volume", "first_page"})


@dataclass
class _Check:
    """The citations of one call, the candidates found for each, and what could not be asked."""

    transport: Transport
    allowed: dict[str, Source]
    citations: list[Citation]
    candidates: dict[int, list[Artifact]] = field(default_factory=dict)
    errors: dict[int, SourceError] = field(default_factory=dict)
    ambiguous: set[int] = field(default_factory=set)

    # --- where candidates come from

    async def by_identifier(self) -> None:
        asked: dict[str, list[int]] = {}
        for place, one in enumerate(self.citations):
            for value in (one.pmid, one.doi, one.pmcid):
                if value:
                    asked.setdefault(value, []).append(place)
        left = await self._fetch("pubmed", asked)
        # What PubMed has not, or could not answer for, Europe PMC may have: preprints, papers outside PubMed.
        await self._fetch("europepmc", left)

    async def by_locator(self) -> None:
        """ECitMatch, for citations that say journal, volume and page: without a journal it drops the whole batch."""
        if "pubmed" not in self.allowed:
            return
        places = [
            place
            for place, one in enumerate(self.citations)
            if one.journal and one.volume and one.first_page and self._best(place) is None
        ]
        if not places:
            return
        lines = await locate(
            self.transport,
            [
                Locator(
                    journal=one.journal or "",
                    volume=one.volume or "",
                    first_page=one.first_page or "",
                    year=str(one.year or ""),
                    author=one.first_author or "",
                )
                for one in (self.citations[place] for place in places)
            ],
        )
        asked: dict[str, list[int]] = {}
        for at, place in enumerate(places):
            if at in lines.failed:
                self.errors.setdefault(place, lines.failed[at])
                continue
            if lines.located[at].is_ambiguous:
                self.ambiguous.add(place)
            for pmid in lines.located[at].pmids[:_CANDIDATES]:
                asked.setdefault(pmid, []).append(place)
        await self._fetch("europepmc", await self._fetch("pubmed", asked))

    async def by_title(self) -> None:
        for place, one in enumerate(self.citations):
            words = _told(one.title or "")
            if self._best(place) is not None or len(words) < 2 or not (one.first_author or one.year):
                continue
            queries = {
                "pubmed": " AND ".join(f"{word}[ti]" for word in words[:_TITLE_WORDS]),
                "europepmc": " AND ".join(f"TITLE:{word}" for word in words[:_TITLE_WORDS]),
            }
            for name, query in queries.items():
                if name not in self.allowed or self._best(place) is not None:
                    continue
                try:
                    found = await self.allowed[name].build(self.transport).search(query, max_results=_CANDIDATES)
                except SourceError as error:
                    self.errors.setdefault(place, error)
                    continue
                self.candidates.setdefault(place, []).extend(found.artifacts)

    async def _fetch(self, source: str, asked: dict[str, list[int]]) -> dict[str, list[int]]:
        """Records of identifiers as candidates; gives back those that brought none."""
        if not asked or source not in self.allowed:
            return asked
        try:
            result = await self.allowed[source].build(self.transport).fetch(list(asked))
        except SourceError as failure:
            result = FetchResult(failed=dict.fromkeys(asked, ErrorInfo.of(failure)))
        left: dict[str, list[int]] = {}
        for value, places in asked.items():
            artifact = named_in(result, value)
            for place in places:
                if artifact is not None:
                    self.candidates.setdefault(place, []).append(artifact)
                elif value in result.failed:
                    info = result.failed[value]
                    error = SourceError(info.message, reason=info.reason, retryable=info.retryable)
                    self.errors.setdefault(place, error)
            if artifact is None:
                left[value] = places
        return left

    # --- what they are

    def _best(self, place: int) -> tuple[Artifact, Comparison] | None:
        """The candidate that the citation means; None also where it may mean several."""
        best = self._likeliest(place)
        return best[0] if len(best) == 1 else None

    def _likeliest(self, place: int) -> list[tuple[Artifact, Comparison]]:
        """The works with the fewest differences, papers before their preprints and notices; one if its identifier
        tells."""
        citation = self.citations[place]
        compared = [(one, compare(citation, one)) for one in self.candidates.get(place, ())]
        meant = [(one, comparison) for one, comparison in compared if is_meant(citation, comparison)]

        def rank(pair: tuple[Artifact, Comparison]) -> tuple[int, bool, bool]:
            return len(pair[1].differs), pair[0].is_notice, pair[0].is_preprint

        meant.sort(key=rank)
        if not meant or meant[0][1].agrees & _IDENTIFIERS:
            return meant[:1]
        rivals = [pair for pair in meant[1:] if rank(pair) == rank(meant[0]) and _is_another(pair[0], meant[0][0])]
        return [meant[0], *rivals]

    def answer(self, place: int) -> CitationMatch:
        citation = self.citations[place]
        best = self._best(place)
        if best is not None:
            artifact, compared = best
            return CitationMatch(
                key=citation.key,
                status="miscited" if compared.differs else "matched",
                pmid=getattr(artifact, "pmid", None),
                doi=artifact.doi,
                artifact=artifact,
                differs=compared.differs,
            )
        if (error := self.errors.get(place)) is not None:
            return CitationMatch(key=citation.key, status="failed", error=ErrorInfo.of(error))
        return CitationMatch(key=citation.key, status="unknown", note=self._why_unknown(place))

    def _why_unknown(self, place: int) -> str:
        citation = self.citations[place]
        identified = [compare(citation, one).agrees & _IDENTIFIERS for one in self.candidates.get(place, ())]
        if any(identified):
            return "The identifier given belongs to another work."
        if len(self._likeliest(place)) > 1:
            return "Several works fit it; add the title with volume and page, or an identifier."
        if place in self.ambiguous:
            return "Journal, volume and page fit several works; add the title."
        said = citation.model_dump(exclude={"key", "text"}, exclude_none=True)
        if not said:
            return "Nothing that names a work could be read in it: give authors, year and title, or an identifier."
        if set(said) <= {"title"}:
            return "A title alone matches nothing: add the first author or the year."
        if said.keys() & _IDENTIFIERS:
            return "No source has a record with the identifier given, and none agrees with the rest."
        return "No record agrees with it."


def _is_another(one: CitationArtifact, other: CitationArtifact) -> bool:
    """Whether two records are of different works: by PMID, else by DOI."""
    pairs = [(getattr(one, name, None), getattr(other, name, None)) for name in ("pmid", "doi")]
    stated = [mine == theirs for mine, theirs in pairs if mine and theirs]
    return bool(stated) and not stated[0]


# --- comparing --------------------------------------------------------------------------------------------------------


def same_title(given: str, record: CitationArtifact) -> bool:
    """Whether a title as cited is that of the record: spelling of English aside, or cut at its subtitle."""
    mine, theirs = _title_words(given), _title_words(record.title)
    if not mine or not theirs or _is_other_kind(given, record):
        return False
    shorter, longer = sorted((mine, theirs), key=len)
    if mine == theirs:
        return True
    rest = longer[len(shorter) :]
    # What is cut may be a subtitle, but not which part it is (K072).
    return len(shorter) >= _WORDS_OF_A_CUT_TITLE and longer[: len(shorter)] == shorter and rest[:1] != ["part"]


def close_title(given: str, record: CitationArtifact) -> bool:
    """Whether a title as cited is nearly that of the record. Numbers must agree: Part I is not Part II (K072)."""
    mine, theirs = _title_words(given), _title_words(record.title)
    if not mine or not theirs or _is_other_kind(given, record) or _numerals(mine) != _numerals(theirs):
        return False
    return SequenceMatcher(None, " ".join(mine), " ".join(theirs), autojunk=False).ratio() >= _SAME_TITLE


def _is_other_kind(given: str, record: CitationArtifact) -> bool:
    # `Author Correction: <title>` is not the paper it corrects (K009).
    return record.is_notice and not _NOTICE_WORDS.search(given)


def _title_words(title: str) -> list[str]:
    """The words that tell, in one spelling of British and American English."""
    return [_ISE.sub(r"iz\1", word.replace("our", "or").replace("ae", "e").replace("oe", "e")) for word in _told(title)]


def _told(text: str) -> list[str]:
    return [word for word in _words(text) if word not in _LEFT_OUT]


def _same_author(given: str, record: CitationArtifact) -> bool:
    if not record.authors and not record.first_author:
        return False
    first = record.authors[0] if record.authors else None
    words = set(_words(given))
    if first is not None and first.collective:
        theirs = set(_words(first.collective))
        return bool(theirs) and len(words & theirs) / len(theirs | words) >= 0.5
    family = _words((first.family if first else None) or record.first_author or "")
    # Particles are cited and left out as it comes: `van den Broek`, `Broek`.
    return bool(family) and family[-1] in words


def _same_journal(given: str, record: CitationArtifact) -> bool:
    """Whether the name is the journal's title or an abbreviation of it: word by word, or by its initials."""
    names = [name for name in (record.journal, record.journal_abbreviation) if name]
    mine = _journal_words(given)
    if not mine:
        return False
    for name in names:
        theirs = _journal_words(name)
        if not theirs:
            continue
        if "".join(mine) == "".join(theirs) or _initials(mine, theirs) or _initials(theirs, mine):
            return True
        if len(mine) == len(theirs) and all(map(_abbreviates, mine, theirs)):
            return True
    return False


def _initials(name: Sequence[str], of: Sequence[str]) -> bool:
    """Whether the one word of `name` are the initials of `of`, perhaps without its last words: `NEJM`, `PNAS`."""
    return len(name) == 1 and len(name[0]) > 2 and "".join(word[0] for word in of).startswith(name[0])


def _abbreviates(one: str, other: str) -> bool:
    """Whether one word is cut or drawn together from the other: `med`, `natl`."""
    short, long = sorted((one, other), key=len)
    letters = iter(long)
    return short[0] == long[0] and all(letter in letters for letter in short)


def _journal_words(name: str) -> list[str]:
    # `Lancet (London, England)`: what stands in brackets tells journals of one name apart.
    bare = re.sub(r"\([^()]*\)|:.*", " ", name)
    return _told(bare)


def _first_page(pages: str) -> str:
    first = re.split(r"[-–—,;\s]", pages.strip(), maxsplit=1)[0]
    return _folded(first).lstrip("0")


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", _folded(text))


def _numerals(words: Iterable[str]) -> list[str]:
    return [word for word in words if word.isdigit() or re.fullmatch(r"[ivx]+", word)]


def _folded(text: str) -> str:
    """Lower case without accents; letters that have no plain form keep theirs."""
    spread = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in spread if not unicodedata.combining(letter)).strip()


def _normalised(citation: Citation) -> Citation:
    """Fields given by a caller in the forms that are compared; an identifier that is none is left out."""
    return citation.model_copy(
        update={
            "doi": normalise_doi(citation.doi) if citation.doi else None,
            "pmid": normalise_pmid(citation.pmid) if citation.pmid else None,
            "pmcid": normalise_pmcid(citation.pmcid) if citation.pmcid else None,
        }
    )
