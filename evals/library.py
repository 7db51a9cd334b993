"""The corpus as evaluators read it: straight from the files, by no parser or check of the package.

It knows of each paper its identifiers, title, words, first author, year, whether it is retracted, and which papers
are versions of one study.
"""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from evals.cases import identifier
from evals.upstream import corpus_files

_RETRACTED = frozenset({"retracted publication", "withdrawn publication"})
_VERSIONS = frozenset({"updatein", "updateof", "preprint of", "preprint in", "preprintin", "preprintof"})


@dataclass(frozen=True)
class Paper:
    """One record of one file."""

    names: tuple[str, ...]
    """PMID, DOI, PMCID, NCT number, document id; bare."""
    title: str = ""
    texts: tuple[str, ...] = ()
    """Whole text with the title before it, then its passages; as they stand in the file."""
    author: str = ""
    year: str = ""
    journal: str = ""
    retracted: bool = False
    versions: tuple[str, ...] = ()
    """Identifiers of other records that are versions of it."""


@dataclass(frozen=True)
class Work:
    """Every record of one publication, as one."""

    names: frozenset[str]
    titles: frozenset[str]
    as_filed: tuple[str, ...]
    retracted: bool
    study: int
    """The same number for preprint and paper of one study."""
    authors: frozenset[tuple[str, str]] = field(default=frozenset())
    """First author and year, as printed."""
    journals: frozenset[tuple[str, str]] = field(default=frozenset())

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its texts, folded by `plain`."""
        return tuple(plain(text) for text in self.as_filed)


class Library:
    """The works of a corpus, by any of their identifiers."""

    def __init__(self, papers: Iterable[Paper]) -> None:
        self.papers = tuple(papers)
        groups = _joined([paper.names for paper in self.papers])
        studies = _joined([(*paper.names, *paper.versions) for paper in self.papers])
        members: dict[int, list[Paper]] = {}
        for paper in self.papers:
            members.setdefault(groups[paper.names[0]], []).append(paper)
        self.works = tuple(_work(group, studies[group[0].names[0]]) for group in members.values())
        self._by_name = {name: work for work in self.works for name in work.names}

    def find(self, names: Iterable[str]) -> Work | None:
        """The work that carries any of the identifiers."""
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """PMIDs long enough not to be a plain number of a text."""
        return frozenset(name for name in self._by_name if name.isdecimal() and len(name) >= 7)

    @cached_property
    def bylines(self) -> re.Pattern[str] | None:
        """First author near the year, and journal near the year, of every work."""
        pairs = {pair for work in self.works for pair in (*work.authors, *work.journals)}
        parts = []
        for name, year in sorted(pairs):
            near = rf"\b{re.escape(name.casefold())}\b"
            parts += [rf"{near}.{{0,25}}\b{year}\b", rf"\b{year}\b.{{0,25}}{near}"]
        return re.compile("|".join(parts)) if parts else None


@lru_cache(maxsize=4)
def library_of(corpus: str) -> Library:
    """The library of a corpus: `packaged`, a folder, or `recording:FOLDER`.

    Raises:
        InvalidInputError: the folder does not exist.
    """
    papers = (paper for name, content in corpus_files(corpus) for paper in read_papers(name, content))
    # A recorded answer may be cut, or hold a record without any identifier.
    return Library(paper for paper in papers if paper.names)


def read_papers(name: str, content: bytes) -> Iterator[Paper]:
    """The records of one file."""
    if name.endswith(".jsonl"):
        for line in content.decode("utf-8").split("\n"):
            if line.strip():
                yield from _json(json.loads(line))
    elif name.endswith(".json"):
        yield from _json(json.loads(content))
    else:
        root = ET.fromstring(content)
        yield from (_pubmed(article) for article in root.iter("PubmedArticle"))
        yield from (_book(document) for document in root.iter("BookDocument"))
        if root.tag.rpartition("}")[2] in ("article", "pmc-articleset"):
            yield from (_jats(article) for article in root.iter("article"))


def _work(papers: Sequence[Paper], study: int) -> Work:
    return Work(
        names=frozenset(name for paper in papers for name in paper.names),
        titles=frozenset(words(paper.title) for paper in papers if paper.title),
        as_filed=tuple(text for paper in papers for text in paper.texts),
        retracted=any(paper.retracted for paper in papers),
        study=study,
        authors=frozenset((paper.author, paper.year) for paper in papers if len(paper.author) > 2 and paper.year),
        journals=frozenset((paper.journal, paper.year) for paper in papers if len(paper.journal) > 4 and paper.year),
    )


def _joined(groups: Sequence[Sequence[str]]) -> dict[str, int]:
    """A number for each name, the same for all names that any group joins."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for group in groups:
        for name in group:
            parent[root(name)] = root(group[0])
    numbers: dict[str, int] = {}
    return {name: numbers.setdefault(root(name), len(numbers)) for name in list(parent)}


# Soft hyphens, joiners, marks of direction and order of bytes: nothing that is seen.
_UNSEEN = dict.fromkeys(
    [0xAD, 0x61C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
)
_SAME = {**_UNSEEN, **dict.fromkeys(map(ord, '‘’“”"′″`´'), "'"), **dict.fromkeys(map(ord, "‐‑‒–—−"), "-")}
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,60}>")


def plain(text: str) -> str:
    """For comparing words: no markup, one form of each character, single blanks, no unseen characters."""
    return " ".join(unicodedata.normalize("NFKC", _TAG.sub("", text)).translate(_SAME).split())


def words(text: str) -> str:
    """Letters and digits alone, for comparing titles."""
    return " ".join(re.findall(r"[^\W_]+", plain(text).casefold()))


def _inside(node: ET.Element | None) -> str:
    return "" if node is None else "".join(node.itertext())


def _names(*candidates: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(identifier(name) for name in candidates if name and name.strip()))


def _pubmed(article: ET.Element) -> Paper:
    ids = {one.get("IdType", ""): one.text or "" for one in article.findall("PubmedData/ArticleIdList/ArticleId")}
    printed = [one.text or "" for one in article.iter("ELocationID") if one.get("EIdType") == "doi"]
    title = _inside(article.find(".//ArticleTitle")) or _inside(article.find(".//VernacularTitle"))
    parts = [title]
    for part in article.findall(".//AbstractText"):
        label = part.get("Label")
        # PubMed prints labels in capitals, Europe PMC does not.
        parts += [f"{label}: {_inside(part)}", f"{label.capitalize()}: {_inside(part)}"] if label else [_inside(part)]
    types = {_inside(one).casefold() for one in article.iter("PublicationType")}
    links = [(one.get("RefType", "").casefold(), one.findtext("PMID")) for one in article.iter("CommentsCorrections")]
    return Paper(
        names=_names(article.findtext("MedlineCitation/PMID"), *printed, ids.get("doi"), ids.get("pmc")),
        title=plain(title),
        texts=(" ".join(parts), *(_inside(part) for part in article.findall(".//AbstractText"))),
        author=_inside(article.find(".//AuthorList/Author/LastName")).strip(),
        year=_inside(article.find(".//JournalIssue/PubDate/Year")).strip(),
        journal=_inside(article.find(".//Journal/Title")).strip(),
        retracted=bool(types & _RETRACTED) or any(kind == "retractionin" for kind, _ in links),
        versions=_names(*(number for kind, number in links if kind in _VERSIONS)),
    )


def _book(document: ET.Element) -> Paper:
    ids = {one.get("IdType", ""): one.text or "" for one in document.findall("ArticleIdList/ArticleId")}
    title = _inside(document.find("ArticleTitle")) or _inside(document.find("Book/BookTitle"))
    passages = [_inside(part) for part in document.findall(".//AbstractText")]
    return Paper(
        names=_names(document.findtext("PMID"), ids.get("doi"), ids.get("pmc")),
        title=plain(title),
        texts=(" ".join([title, *passages]), *passages),
    )


def _jats(article: ET.Element) -> Paper:
    ids = {one.get("pub-id-type", ""): (one.text or "").strip() for one in article.findall(".//front//article-id")}
    pmcid = ids.get("pmcid") or ids.get("pmc") or ""
    pmcid = pmcid if not pmcid or pmcid.startswith("PMC") else f"PMC{pmcid}"
    passages = [_inside(one) for one in article.iter() if one.tag in ("p", "td", "th", "title", "caption")]
    return Paper(
        names=_names(ids.get("pmid"), ids.get("doi"), pmcid),
        title=plain(_inside(article.find(".//front//article-title"))),
        texts=(" ".join(article.itertext()), *passages),
    )


def _json(value: object) -> Iterator[Paper]:
    """Records of BEIR, Europe PMC, bioRxiv and ClinicalTrials.gov, wherever they stand in the document."""
    if isinstance(value, list):
        for each in value:
            yield from _json(each)
    elif isinstance(value, dict):
        if "protocolSection" in value:
            yield _trial(value)
        elif "_id" in value and "text" in value:
            yield _beir(value)
        elif ("doi" in value or "pmid" in value or "pmcid" in value) and "title" in value:
            yield _listed(value)
        else:
            for each in value.values():
                yield from _json(each)


def _trial(study: dict[str, Any]) -> Paper:
    head = study["protocolSection"].get("identificationModule", {})
    everything = " ".join(_strings(study))
    title = plain(str(head.get("briefTitle") or ""))
    return Paper(
        names=_names(str(head.get("nctId") or "")), title=title, texts=(everything, *map(plain, _strings(study)))
    )


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _beir(line: dict[str, Any]) -> Paper:
    details = line.get("metadata") if isinstance(line.get("metadata"), dict) else {}
    assert isinstance(details, dict)
    title = str(line.get("title") or "")
    parts = [str(line["text"])]
    for section in details.get("sections") or ():
        label, text = str(section.get("label") or ""), str(section.get("text") or "")
        parts += [text, f"{label}: {text}", f"{label.capitalize()}: {text}"] if label else [text]
    return Paper(
        names=_names(str(line["_id"]), str(details.get("pmid") or ""), str(details.get("doi") or "")),
        title=plain(title),
        texts=(" ".join([title, *parts]), *parts),
        year=str(details.get("year") or "")[:4],
        journal=str(details.get("journal") or ""),
    )


def _listed(record: dict[str, Any]) -> Paper:
    """A record of Europe PMC or of bioRxiv."""
    abstract = str(record.get("abstractText") or record.get("abstract") or "")
    authors = record.get("authorList") or {}
    first = (authors.get("author") or [{}])[0] if isinstance(authors, dict) else {}
    types = record.get("pubTypeList") or {}
    kinds = {str(kind).casefold() for kind in types.get("pubType") or ()} if isinstance(types, dict) else set()
    links = record.get("commentCorrectionList") or {}
    linked = links.get("commentCorrection") or () if isinstance(links, dict) else ()
    relations = [(str(one.get("type") or "").casefold(), str(one.get("id") or "")) for one in linked]
    published = str(record.get("published") or "")
    own = str(record.get("id") or "") if record.get("source") in ("PPR", "AGR", "PAT") else ""
    year = str(record.get("pubYear") or record.get("date") or "")[:4]
    return Paper(
        names=_names(record.get("doi"), record.get("pmid"), record.get("pmcid"), own),
        title=plain(str(record.get("title") or "")),
        texts=(f"{record.get('title') or ''} {abstract}",),
        author=str(first.get("lastName") or ""),
        year=year,
        retracted=bool(kinds & _RETRACTED)
        or any(kind == "retraction in" for kind, _ in relations)
        or str(record.get("type") or "").casefold() == "withdrawn",
        versions=_names(
            *(number for kind, number in relations if kind in _VERSIONS),
            published if published.startswith("10.") else None,
        ),
    )


def with_same(library: Library, same: Sequence[Sequence[str]]) -> Library:
    """The library with groups of identifiers of one study that a dataset names."""
    if not same:
        return library
    extra = [replace(Paper(names=(group[0],)), versions=tuple(group[1:])) for group in same if group]
    return Library((*library.papers, *extra))
