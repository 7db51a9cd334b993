"""The E-utilities that lead from one record to others: ELink, ECitMatch, and the MeSH database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lxml import etree

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.messages import Reply, Request, json_reply, text_reply, xml_reply
from literature_agent.sandbox.pubmed_answers import add, header, numbers
from literature_agent.sandbox.pubmed_fields import STOP_WORDS
from literature_agent.sandbox.pubmed_records import Heading, Paper
from literature_agent.sandbox.syntax import plain, tokens

_MOST_SIMILAR = 100
# Above the numbers that MeSH gives to descriptors.
_FIRST_INVENTED_HEADING = 900_000
_ELINK_DOCTYPE = (
    '<!DOCTYPE eLinkResult PUBLIC "-//NLM//DTD elink 20101123//EN"'
    ' "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20101123/elink.dtd">'
)
_ROW_END = re.compile(r"[\r\n]+")


@dataclass(frozen=True, slots=True)
class _Links:
    name: str
    target: str
    found: tuple[tuple[str, int], ...]


class LinkAnswers:
    """Similar, citing and cited papers, PMC copies, and citations matched to PMIDs."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def links(self, request: Request) -> Reply:
        """ELink with `cmd=neighbor` or `neighbor_score`; a repeated `id` keeps one link set for each."""
        as_json = request.get("retmode").lower() == "json"
        command = request.get("cmd", "neighbor").lower() or "neighbor"
        groups = [numbers(value.split(",")) for value in request.parameters.get("id", ())]
        if command not in {"neighbor", "neighbor_score"} or request.get("dbfrom", "pubmed").lower() != "pubmed":
            return _link_error("The sandbox answers ELink from pubmed with cmd=neighbor only.", as_json=as_json)
        if not any(groups):
            return _link_error("Empty id list", as_json=as_json)
        scored = command == "neighbor_score"
        target = request.get("db", "pubmed").lower()
        sets = [(group, self._link_set(group, target, request.get("linkname"))) for group in groups if group]
        return _links_json(sets, scored) if as_json else _links_xml(sets, scored)

    def _link_set(self, seeds: Sequence[str], target: str, wanted: str) -> list[_Links]:
        papers = [self._corpus.by_pmid[pmid] for pmid in seeds if pmid in self._corpus.by_pmid]
        if target == "pmc":
            copies = [(paper.pmcid.removeprefix("PMC"), 0) for paper in papers if paper.pmcid]
            citing = (self._corpus.by_pmid[pmid] for pmid in self._citing(papers))
            kinds = [
                _Links("pubmed_pmc", "pmc", tuple(copies)),
                _Links("pubmed_pmc_refs", "pmc", tuple((p.pmcid.removeprefix("PMC"), 0) for p in citing if p.pmcid)),
            ]
        else:
            # NCBI knows the references of an article only where its full text lies in PMC.
            cited = (c.pmid for paper in papers if paper.pmcid for c in paper.citations)
            kinds = [
                _Links("pubmed_pubmed", "pubmed", tuple(self._similar(papers))),
                _Links("pubmed_pubmed_citedin", "pubmed", tuple((pmid, 0) for pmid in self._citing(papers))),
                _Links(
                    "pubmed_pubmed_refs",
                    "pubmed",
                    tuple((pmid, 0) for pmid in dict.fromkeys(cited) if pmid in self._corpus.by_pmid),
                ),
            ]
        return [links for links in kinds if links.found and wanted in {"", links.name}]

    def _citing(self, papers: Iterable[Paper]) -> list[str]:
        citing = (pmid for paper in papers for pmid in self._corpus.citing.get(paper.pmid, ()))
        return sorted(dict.fromkeys(citing), key=lambda pmid: -int(pmid))

    def _similar(self, papers: Sequence[Paper]) -> list[tuple[str, int]]:
        """The seeds, then the papers that share words of their titles and headings, best first."""
        index = self._corpus.pubmed
        words = [word for paper in papers for word in tokens(paper.title) if word not in STOP_WORDS]
        headings = [heading.descriptor for paper in papers for heading in paper.headings if heading.major]
        expressions = [index.expression(text, ("title", "abstract", "keywords")) for text in words]
        expressions += [index.expression(heading, ("mesh",)) for heading in headings]
        scores = index.scores([expression for expression in expressions if expression])
        ranked = sorted(scores, key=lambda entry: (-scores[entry], -int(self._corpus.papers[entry].pmid)))
        seeds = [paper.pmid for paper in papers]
        best = max(scores.values(), default=0.0)
        found = [(pmid, int(best * 1_000_000) + 1) for pmid in seeds]
        found += [
            (pmid, int(scores[entry] * 1_000_000))
            for entry in ranked
            if (pmid := self._corpus.papers[entry].pmid) not in seeds
        ]
        return found[:_MOST_SIMILAR]

    def match_citations(self, request: Request) -> Reply:
        """ECitMatch: a line of text for each citation, whatever `retmode` says.

        Journal, volume and first page decide. A citation without a journal that cannot be matched silently ends the
        batch, as it does at NCBI.
        """
        lines = []
        for row in _ROW_END.split(request.get("bdata")):
            cells = [cell.strip() for cell in row.split("|")]
            if len(cells) < 6:
                continue
            journal, year, volume, page, author, key = cells[:6]
            found = self._matching(journal, year, volume, page)
            if not journal and len(found) != 1:
                break
            if found:
                outcome = found[0] if len(found) == 1 else f"AMBIGUOUS ({len(found)} citations)"
            elif self._corpus.pubmed.with_value("journal", journal):
                outcome = "NOT_FOUND"
            else:
                author, outcome = "", "NOT_FOUND;INVALID_JOURNAL"
            lines.append("|".join((journal, year, volume, page, author, key, outcome)) + "\n")
        return text_reply("".join(lines))

    def _matching(self, journal: str, year: str, volume: str, page: str) -> list[str]:
        index = self._corpus.pubmed
        if not volume or not page:
            return []
        entries = index.with_value("volume", volume) & index.with_value("page", page)
        if journal:
            entries &= index.with_value("journal", journal)
        elif year.isascii() and year.isdecimal() and len(year) == 4:
            entries &= index.between("published", int(year) * 10_000, int(year) * 10_000 + 9_999)
        return sorted(self._corpus.papers[entry].pmid for entry in entries)


class MeshAnswers:
    """The MeSH database, as far as the headings of the corpus go."""

    def __init__(self, corpus: Corpus) -> None:
        headings = {(h.descriptor, h.ui) for paper in corpus.papers for h in paper.headings}
        numbered = {name: ui for name, ui in sorted(headings) if re.fullmatch(r"D\d{6,}", ui)}
        # Corpora of other formats name their headings without number.
        for place, name in enumerate(sorted({name for name, _ in headings} - numbered.keys())):
            numbered[name] = f"D{_FIRST_INVENTED_HEADING + place}"
        self._by_number = {_mesh_number(ui): Heading(name, ui, False) for name, ui in numbered.items()}

    def search(self, request: Request) -> Reply:
        """ESearch with `db=mesh`: headings that hold every word asked for, the exact one first."""
        asked = plain(re.sub(r"\[[^\]]*\]", " ", request.get("term")))
        words = set(asked.split())
        names = {number: plain(heading.descriptor) for number, heading in self._by_number.items()}
        found = [number for number, name in names.items() if words and words <= set(name.split())]
        found.sort(key=lambda number: (names[number] != asked, len(names[number]), names[number]))
        start = request.number("retstart", 0)
        page = found[start : start + request.number("retmax", 20)]
        if request.get("retmode").lower() == "json":
            result: dict[str, object] = {"count": str(len(found)), "retmax": str(len(page)), "retstart": str(start)}
            result |= {"idlist": page, "translationset": [], "querytranslation": request.get("term")}
            return json_reply({"header": header("esearch"), "esearchresult": result}, trailing="\n")
        root = etree.Element("eSearchResult")
        for tag, text in (("Count", str(len(found))), ("RetMax", str(len(page))), ("RetStart", str(start))):
            add(root, tag, text)
        id_list = etree.SubElement(root, "IdList")
        for number in page:
            add(id_list, "Id", number)
        return xml_reply(root)

    def summaries(self, request: Request) -> Reply:
        """ESummary with `db=mesh&retmode=json`."""
        result: dict[str, object] = {"uids": (ids := numbers(request.listed("id")))}
        for number in ids:
            heading = self._by_number.get(number)
            result[number] = (
                {
                    "uid": number,
                    "ds_recordtype": "descriptor",
                    "ds_meshui": heading.ui,
                    "ds_meshterms": [heading.descriptor],
                    "ds_scopenote": "",
                    "ds_idxlinks": [],
                }
                if heading
                else {"uid": number, "error": "cannot get document summary"}
            )
        return json_reply({"header": header("esummary"), "result": result}, trailing="\n")


def _link_error(message: str, *, as_json: bool) -> Reply:
    if as_json:
        return json_reply({"header": header("elink"), "ERROR": message}, trailing="\n")
    root = etree.Element("eLinkResult")
    add(root, "ERROR", message)
    return xml_reply(root, doctype=_ELINK_DOCTYPE)


def _mesh_number(ui: str) -> str:
    """Entrez numbers descriptors by 68 and the six digits of their own number: `D003924` is 68003924."""
    return f"68{int(ui[1:]):06d}"


def _links_json(sets: Sequence[tuple[Sequence[str], Sequence[_Links]]], scored: bool) -> Reply:
    link_sets = []
    for seeds, kinds in sets:
        link_set: dict[str, object] = {"dbfrom": "pubmed", "ids": list(seeds)}
        if kinds:
            link_set["linksetdbs"] = [
                {
                    "dbto": links.target,
                    "linkname": links.name,
                    "links": [{"id": n, "score": score} if scored else n for n, score in links.found],
                }
                for links in kinds
            ]
        link_sets.append(link_set)
    return json_reply({"header": header("elink"), "linksets": link_sets}, trailing="\n")


def _links_xml(sets: Sequence[tuple[Sequence[str], Sequence[_Links]]], scored: bool) -> Reply:
    root = etree.Element("eLinkResult")
    for seeds, kinds in sets:
        link_set = etree.SubElement(root, "LinkSet")
        add(link_set, "DbFrom", "pubmed")
        id_list = etree.SubElement(link_set, "IdList")
        for seed in seeds:
            add(id_list, "Id", seed)
        for links in kinds:
            node = etree.SubElement(link_set, "LinkSetDb")
            add(node, "DbTo", links.target)
            add(node, "LinkName", links.name)
            for number, score in links.found:
                link = etree.SubElement(node, "Link")
                add(link, "Id", number)
                if scored:
                    add(link, "Score", str(score))
    return xml_reply(root, doctype=_ELINK_DOCTYPE)
