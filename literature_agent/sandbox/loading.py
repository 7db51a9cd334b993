"""Reads a folder of mixed files into the records that the sandbox serves.

Each file is recognised by what stands in it; a file that holds no record (an error answer, a web page, a table) is
passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from literature_agent.sandbox.jats_records import article_ids, has_body
from literature_agent.sandbox.pubmed_records import Paper, read_papers
from literature_agent.sandbox.synthesis import draft_from_beir, paper_from_draft

_NCT = re.compile(r"^NCT\d{8}$")
_PMCID = re.compile(r"PMC\d+")
_READABLE = (".xml", ".nxml", ".json", ".jsonl")


@dataclass(slots=True)
class Records:
    """Everything found, each kind once: by PMID, PMCID, (source, id), (DOI, version) and NCT number."""

    papers: dict[str, Paper] = field(default_factory=dict)
    articles: dict[str, etree._Element] = field(default_factory=dict)
    europepmc: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    preprints: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)
    _lines: int = 0

    def __bool__(self) -> bool:
        return bool(self.papers or self.articles or self.europepmc or self.preprints or self.trials)

    def read(self, name: str, content: bytes) -> None:
        """Take the records out of one file; the fuller of two records with one identifier stays."""
        if not name.lower().endswith(_READABLE) or not content.strip():
            return
        if name.lower().endswith(".jsonl"):
            self._read_lines(name, content)
        elif name.lower().endswith(".json"):
            try:
                self._read_json(json.loads(content, strict=False))
            except (ValueError, RecursionError):
                return
        else:
            self._read_xml(name, content)

    def _read_xml(self, name: str, content: bytes) -> None:
        root = parse_xml(content)
        if root is None:
            return
        for paper in read_papers(root):
            self._keep_paper(paper)
        for article in root.iter("{*}article"):
            # Files of the open-access packages may name the article in their own name only.
            named = _PMCID.search(name.rpartition("/")[2])
            pmcid = article_ids(article).get("pmcid") or (named[0] if named else None)
            if pmcid and _is_fuller_article(article, self.articles.get(pmcid)):
                self.articles[pmcid] = article

    def _read_lines(self, name: str, content: bytes) -> None:
        is_corpus = "corpus" in name.lower().rpartition("/")[2]
        for line in content.splitlines():
            try:
                item = json.loads(line, strict=False)
            except (ValueError, RecursionError):
                continue
            if not isinstance(item, dict):
                continue
            if "_id" in item and "text" in item:
                if is_corpus or "title" in item:
                    self._lines += 1
                    self._keep_paper(paper_from_draft(draft_from_beir(item, self._lines)))
            else:
                self._read_json(item)

    def _read_json(self, value: object) -> None:
        for item in _unwrapped(value):
            if not isinstance(item, dict):
                continue
            if isinstance(item.get("protocolSection"), dict):
                self._keep_trial(item)
            elif {"doi", "version", "server"} <= item.keys() and str(item["version"]).isdecimal():
                self.preprints.setdefault((str(item["doi"]).lower(), str(item["version"])), item)
            elif isinstance(item.get("id"), str) and isinstance(item.get("source"), str) and "title" in item:
                key = (item["source"], item["id"])
                if len(item) > len(self.europepmc.get(key, {})):
                    self.europepmc[key] = item

    def _keep_trial(self, study: dict[str, Any]) -> None:
        identification = study["protocolSection"].get("identificationModule")
        number = identification.get("nctId") if isinstance(identification, dict) else None
        if isinstance(number, str) and _NCT.match(number) and _size(study) > _size(self.trials.get(number)):
            self.trials[number] = study

    def _keep_paper(self, paper: Paper) -> None:
        known = self.papers.get(paper.pmid)
        if known is None or len(paper.abstract_text) > len(known.abstract_text):
            self.papers[paper.pmid] = paper


def parse_xml(content: bytes) -> etree._Element | None:
    """The root, with nothing fetched and no entity of the file's own expanded; None for what is no XML."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _is_fuller_article(article: etree._Element, known: etree._Element | None) -> bool:
    return known is None or (has_body(article) and not has_body(known))


def _unwrapped(value: object) -> Iterable[Any]:
    """The records inside the answers of Europe PMC, bioRxiv and ClinicalTrials.gov, or a plain list of records."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return ()
    result_list = value.get("resultList")
    for container in (
        result_list.get("result") if isinstance(result_list, Mapping) else None,
        value.get("result"),
        value.get("collection"),
        value.get("studies"),
    ):
        if isinstance(container, list):
            return container
        if isinstance(container, Mapping):
            return (container,)
    return (value,)


def _size(study: dict[str, Any] | None) -> int:
    return len(json.dumps(study)) if study else 0
