"""The records that a sandbox serves, with their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from lxml import etree

from literature_agent.errors import InvalidInputError
from literature_agent.sandbox.europepmc_records import COLUMNS, Record, core_record, index_entry, merged
from literature_agent.sandbox.jats_records import article_ids, body_words, draft_from_jats, has_body
from literature_agent.sandbox.loading import Records
from literature_agent.sandbox.pubmed_index import index_papers
from literature_agent.sandbox.pubmed_records import Paper, read_papers
from literature_agent.sandbox.synthesis import pubmed_xml
from literature_agent.sandbox.text_index import Entry, TextIndex

# Identifiers set aside for invented papers: PMIDs from here on, and the DOI prefix kept for examples.
_INVENTED_PMIDS_FROM = 90_000_000
_INVENTED_DOI = "10.5555/"


class Corpus:
    """A set of papers, preprints, full texts and trials, searchable the way their services search."""

    def __init__(self, records: Records) -> None:
        self.articles = records.articles
        self.preprints = records.preprints
        self.trials = records.trials
        self.by_pmid, pmc_only = _with_full_texts(records)
        self.papers: tuple[Paper, ...] = tuple(self.by_pmid.values())
        self.pubmed = index_papers(self.papers)
        self.citing = _citing(self.papers)
        self.europepmc_by_id = self._europepmc_records(records, pmc_only)
        self.europepmc_records = tuple(self.europepmc_by_id.values())
        self.europepmc = TextIndex(
            tuple(COLUMNS), tuple(COLUMNS.values()), (self._europepmc_entry(r) for r in self.europepmc_records)
        )

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
        if not folder.is_dir():
            raise InvalidInputError(f"The corpus folder {str(folder)!r} does not exist.")
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
        records = self.europepmc_by_id
        europepmc_dois = {str(record.get("doi") or "").lower() for record in self.europepmc_records}
        preprint_dois = {doi for doi, _ in self.preprints} - europepmc_dois
        hidden = sum(("MED", pmid) not in records for pmid in self.by_pmid)
        return len(records) + hidden + len(preprint_dois) + len(self.trials)

    @property
    def is_synthetic(self) -> bool:
        """Whether every publication carries an identifier kept for invented ones."""
        dois = [doi for doi, _ in self.preprints]
        return all(_is_invented(r.get("pmid"), r.get("doi")) for r in self.europepmc_records) and all(
            _is_invented(None, doi) for doi in dois
        )

    def open_article(self, number: str) -> etree._Element | None:
        """The JATS article with a body under this PMCID or preprint id."""
        article = self.articles.get(number.upper())
        return article if article is not None and has_body(article) else None

    def close(self) -> None:
        self.pubmed.close()
        self.europepmc.close()

    def _europepmc_records(self, records: Records, pmc_only: list[Paper]) -> dict[tuple[str, str], Record]:
        preprints = {
            str(r["doi"]).lower() for (source, _), r in records.europepmc.items() if source == "PPR" and "doi" in r
        }
        pmcids = {ids["pmid"]: pmcid for pmcid, a in records.articles.items() if "pmid" in (ids := article_ids(a))}
        found: dict[tuple[str, str], Record] = {}
        for paper in (*self.papers, *pmc_only):
            if "Preprint" in paper.types and paper.doi in preprints:
                continue
            pmcid = paper.pmcid or pmcids.get(paper.pmid, "")
            record = core_record(
                paper,
                pmcid=pmcid,
                cited_by=len(self.citing.get(paper.pmid, ())),
                open_access=self.open_article(pmcid) is not None,
            )
            found[record["source"], record["id"]] = record
        for key, native in records.europepmc.items():
            found[key] = merged(found.get(key), native)
        return found

    def _europepmc_entry(self, record: Record) -> Entry:
        article = self.open_article(str(record.get("pmcid") or record["id"]))
        paper = self.by_pmid.get(str(record.get("pmid") or ""))
        cited = [citation.pmid for citation in paper.citations if citation.pmid] if paper else []
        return index_entry(record, body=body_words(article) if article is not None else "", cited=cited)


def _with_full_texts(records: Records) -> tuple[dict[str, Paper], list[Paper]]:
    """The papers, with a record for every full text that came without one; those without a PMID apart."""
    papers = dict(records.papers)
    pmcids = {paper.pmcid for paper in papers.values() if paper.pmcid}
    pmc_only: list[Paper] = []
    for pmcid, article in records.articles.items():
        draft = draft_from_jats(article)
        if pmcid in pmcids or draft.pmid in papers:
            continue
        made = next(read_papers(pubmed_xml(draft if draft.pmid else replace(draft, pmid="1"))))
        if draft.pmid:
            papers[draft.pmid] = made
        else:
            pmc_only.append(replace(made, pmid="", xml=""))
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


def _is_invented(pmid: str | None, doi: str | None) -> bool:
    return bool(pmid and int(pmid) >= _INVENTED_PMIDS_FROM) or bool(doi and doi.lower().startswith(_INVENTED_DOI))


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
