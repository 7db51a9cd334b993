"""The records that a sandbox serves, with their indexes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from lxml import etree

from literature_agent.errors import InvalidInputError
from literature_agent.sandbox.europepmc_records import COLUMNS, Record, core_record, index_entry, merged
from literature_agent.sandbox.jats_records import article_ids, body_words, draft_from_jats, has_body
from literature_agent.sandbox.loading import Records
from literature_agent.sandbox.pubmed_index import index_papers
from literature_agent.sandbox.pubmed_records import Paper
from literature_agent.sandbox.synthesis import paper_from_draft
from literature_agent.sandbox.text_index import Entry, TextIndex

# Identifiers set aside for invented papers: PMIDs and NCT numbers from here on, and the DOI prefix kept for examples.
_INVENTED_FROM = 90_000_000
_INVENTED_DOI = "10.5555/"


class Corpus:
    """A set of papers, preprints, full texts and trials, searchable the way their services search."""

    def __init__(self, records: Records) -> None:
        self.articles = records.articles
        self.preprints = records.preprints
        self.trials = records.trials
        self.by_pmid, self._pmc_only = _with_full_texts(records)
        self.papers: tuple[Paper, ...] = tuple(self.by_pmid.values())
        self.citing = _citing(self.papers)
        self.pubmed = index_papers(self.papers)
        self._native = records.europepmc
        self._lock = threading.Lock()
        self._europepmc: _EuropePmc | None = None

    @classmethod
    def packaged(cls) -> Corpus:
        """The small invented corpus that comes with the package."""
        records = Records()
        for name, content in _files(resources.files("literature_agent.sandbox") / "corpus", "corpus"):
            records.read(name, content)
        if not records:
            raise InvalidInputError("The packaged corpus is missing from this installation: install the package again.")
        return cls(records)

    @classmethod
    def from_folder(cls, folder: Path) -> Corpus:
        """Every record in the files below `folder`.

        Read are PubMed XML, JATS, Europe PMC, bioRxiv and ClinicalTrials.gov JSON and BEIR `corpus.jsonl`.

        Raises:
            InvalidInputError: the folder does not exist or holds no record.
        """
        folder = Path(folder)
        if folder.is_file():
            raise InvalidInputError(
                f"The corpus folder {str(folder)!r} is a file, not a folder.", recovery="Name the folder that holds it."
            )
        if not folder.is_dir():
            raise InvalidInputError(
                f"The corpus folder {str(folder)!r} does not exist.", recovery="Name a folder that exists."
            )
        records = Records()
        for name, content in _files(folder, folder.name):
            records.read(name, content)
        if not records:
            raise InvalidInputError(
                f"The corpus folder {str(folder)!r} holds no record: expected PubMed XML, JATS, Europe PMC, bioRxiv or"
                " ClinicalTrials.gov JSON, or a BEIR corpus.jsonl."
            )
        return cls(records)

    @property
    def size(self) -> int:
        """How many publications and trials there are; copies of one paper count once."""
        papers = (*self.papers, *self._pmc_only)
        own = [record for (source, key), record in self._native.items() if source != "MED" or key not in self.by_pmid]
        known = {paper.doi for paper in papers if paper.doi} | {_doi(record) for record in own}
        preprints = {doi for doi, _ in self.preprints} - known
        pmcids = {paper.pmcid for paper in papers if paper.pmcid}
        copies = sum(1 for record in own if record["source"] == "PMC" and record["id"] in pmcids)
        return len(papers) + len(own) - copies + len(preprints) + len(self.trials)

    @property
    def is_synthetic(self) -> bool:
        """Whether every publication and trial carries an identifier kept for invented ones."""
        return (
            all(_is_invented(paper.pmid, paper.doi) for paper in (*self.papers, *self._pmc_only))
            and all(_is_invented(str(record.get("pmid") or ""), _doi(record)) for record in self._native.values())
            and all(_is_invented("", doi) for doi, _ in self.preprints)
            and all(_is_invented(number.removeprefix("NCT"), "") for number in self.trials)
        )

    @property
    def europepmc(self) -> _EuropePmc:
        """Europe PMC's records and index, made when they are first needed."""
        with self._lock:
            if self._europepmc is None:
                self._europepmc = _EuropePmc(self, self._native, self._pmc_only)
            return self._europepmc

    def open_article(self, number: str) -> etree._Element | None:
        """The JATS article with a body under this PMCID or preprint id."""
        article = self.articles.get(number.upper())
        return article if article is not None and has_body(article) else None

    def close(self) -> None:
        self.pubmed.close()
        if self._europepmc is not None:
            self._europepmc.index.close()


class _EuropePmc:
    """The corpus as Europe PMC holds it: `records` in `core` shape, numbered as in `index`."""

    def __init__(self, corpus: Corpus, native: Mapping[tuple[str, str], Record], pmc_only: Iterable[Paper]) -> None:
        self._corpus = corpus
        self.by_id = self._merged(native, pmc_only)
        self.records = tuple(self.by_id.values())
        self.index = TextIndex(tuple(COLUMNS), tuple(COLUMNS.values()), map(self._entry, self.records))

    def _merged(
        self, native: Mapping[tuple[str, str], Record], pmc_only: Iterable[Paper]
    ) -> dict[tuple[str, str], Record]:
        corpus = self._corpus
        preprints = {_doi(record) for (source, _), record in native.items() if source == "PPR"} - {""}
        pmcids = {ids["pmid"]: pmcid for pmcid, a in corpus.articles.items() if "pmid" in (ids := article_ids(a))}
        found: dict[tuple[str, str], Record] = {}
        for paper in (*corpus.papers, *pmc_only):
            if "Preprint" in paper.types and paper.doi in preprints:
                continue
            pmcid = paper.pmcid or pmcids.get(paper.pmid, "")
            record = core_record(
                paper,
                pmcid=pmcid,
                cited_by=len(corpus.citing.get(paper.pmid, ())),
                open_access=corpus.open_article(pmcid) is not None,
            )
            found[record["source"], record["id"]] = record
        for key, record in native.items():
            found[key] = merged(found.get(key), record)
        return found

    def _entry(self, record: Record) -> Entry:
        article = self._corpus.open_article(str(record.get("pmcid") or record["id"]))
        paper = self._corpus.by_pmid.get(str(record.get("pmid") or ""))
        cited = [citation.pmid for citation in paper.citations if citation.pmid] if paper else []
        return index_entry(record, body=body_words(article) if article is not None else "", cited=cited)


def _with_full_texts(records: Records) -> tuple[dict[str, Paper], list[Paper]]:
    """The papers, with a record for every full text that came without one; those without a PMID apart."""
    papers = dict(records.papers)
    pmcids = {paper.pmcid for paper in papers.values() if paper.pmcid}
    pmc_only: list[Paper] = []
    for pmcid, article in records.articles.items():
        draft = draft_from_jats(article, pmcid=pmcid)
        if pmcid in pmcids or draft.pmid in papers:
            continue
        if draft.pmid:
            papers[draft.pmid] = paper_from_draft(draft)
        else:
            pmc_only.append(paper_from_draft(draft))
    return papers, pmc_only


def _citing(papers: Iterable[Paper]) -> dict[str, list[str]]:
    """PMIDs of the papers that cite each PMID, as their reference lists say."""
    citing: dict[str, list[str]] = {}
    for paper in papers:
        cited = [citation.pmid for citation in paper.citations]
        cited += [link.pmid for link in paper.links if link.kind == "Cites"]
        for pmid in dict.fromkeys(cited):
            if pmid:
                citing.setdefault(pmid, []).append(paper.pmid)
    return citing


def _doi(record: Record) -> str:
    return str(record.get("doi") or "").lower()


def _is_invented(number: str, doi: str) -> bool:
    return (number.isdecimal() and int(number) >= _INVENTED_FROM) or doi.startswith(_INVENTED_DOI)


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        return
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if item.name.startswith("."):
            continue
        if item.is_dir():
            yield from _files(item, f"{name}/{item.name}")
        elif item.is_file():
            yield f"{name}/{item.name}", item.read_bytes()
