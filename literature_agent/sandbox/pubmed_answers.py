"""The E-utilities that PubMed clients use, answered in the shapes of the real service."""

from __future__ import annotations

import datetime
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from threading import Lock

from lxml import etree

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.messages import Reply, Request, json_reply, text_reply, xml_reply, xml_text_reply
from literature_agent.sandbox.pubmed_fields import (
    CREATION_DATE,
    ENTRY_DATE,
    MODIFICATION_DATE,
    PUBLICATION_DATE,
    Field,
)
from literature_agent.sandbox.pubmed_query import parse_pubmed
from literature_agent.sandbox.pubmed_records import Day, Paper
from literature_agent.sandbox.pubmed_search import Outcome, date_bounds, search_pubmed_index
from literature_agent.sandbox.spelling import suggestion
from literature_agent.sandbox.synthesis import xml_text

DATABASES = frozenset({"pubmed", "pmc", "mesh"})

# PubMed hands out no more than this many ids of one search, however many it counts.
_LAST_REACHABLE = 9_998
_DEFAULT_RETMAX = 20
_LARGEST_RETMAX = 10_000
_KEPT_SEARCHES = 200

_RETSTART_ERROR = (
    "Search Backend failed: Exception:\n'retstart' cannot be larger than 9998. For PubMed, ESearch can only retrieve"
    " the first 9,999 records matching the query. To obtain more than 9,999 PubMed records, consider using EDirect"
    " that contains additional logic to batch PubMed search results automatically so that an arbitrary number can be"
    " retrieved. For details see https://www.ncbi.nlm.nih.gov/books/NBK25499/"
)
_EMPTY_TERM_ERROR = "Empty term and query_key - nothing todo"
_NO_IDS_ERROR = "ID list is empty! Possibly it has no correct IDs."
_ARTICLE_SET = (
    '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"'
    ' "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n<PubmedArticleSet>\n'
)
_ESEARCH_DOCTYPE = (
    '<!DOCTYPE eSearchResult PUBLIC "-//NLM//DTD esearch 20060628//EN"'
    ' "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20060628/esearch.dtd">'
)
_EFETCH_DOCTYPE = (
    '<!DOCTYPE eEfetchResult PUBLIC "-//NLM//DTD efetch 20131226//EN"'
    ' "https://eutils.ncbi.nlm.nih.gov/eutils/dtd/20131226/efetch.dtd">'
)
_ESPELL_DOCTYPE = (
    '<!DOCTYPE eSpellResult PUBLIC "-//NLM//DTD eSpellResult, 23 November 2004//EN"'
    ' "https://www.ncbi.nlm.nih.gov/entrez/query/DTD/eSpell.dtd">'
)

_UNDATED = Day(0)

_DATE_TYPES: dict[str, Field] = {
    "pdat": PUBLICATION_DATE,
    "edat": ENTRY_DATE,
    "mdat": MODIFICATION_DATE,
    "crdt": CREATION_DATE,
}
_SORTS = {
    "relevance": "relevance",
    "pub_date": "published",
    "pub date": "published",
    "pub+date": "published",
    "most recent": "entered",
    "author": "author",
    "first author": "author",
    "journalname": "journal",
    "journal": "journal",
    "title": "title",
}


class PubMedAnswers:
    """ESearch, EFetch, ESpell and ESummary over the papers of a corpus."""

    def __init__(self, corpus: Corpus, *, today: Callable[[], datetime.date]) -> None:
        self._corpus = corpus
        self._today = today
        self._searches: OrderedDict[str, list[str]] = OrderedDict()
        self._numbers = count(1)
        self._lock = Lock()

    # ESearch

    def search(self, request: Request) -> Reply:
        """ESearch with `db=pubmed`, as JSON or XML."""
        as_json = request.get("retmode").lower() == "json"
        if request.number("retstart", 0) > _LAST_REACHABLE:
            return search_error(_RETSTART_ERROR, as_json=as_json)
        term = request.get("term")
        if not term.strip(" ()\u200b\u200c\u200d\ufeff\t\r\n"):
            return search_error(_EMPTY_TERM_ERROR, as_json=as_json)
        parsed = parse_pubmed(term, default_field=request.get("field") or None)
        outcome = search_pubmed_index(self._corpus.pubmed, parsed, today=self._today())
        self._restrict_dates(request, outcome)
        messages: list[str] = []
        ids = self._ordered(outcome, request.get("sort"), messages)
        if not ids:
            messages.append("No items found.")
        start = request.number("retstart", 0)
        size = min(request.number("retmax", _DEFAULT_RETMAX), _LARGEST_RETMAX, _LAST_REACHABLE + 1 - start)
        page = [] if request.get("rettype").lower() == "count" else ids[start : start + size]
        history = self._remember(ids) if request.get("usehistory").lower() == "y" else None
        result = _Result(str(len(ids)), page, str(start), history, outcome, messages)
        if request.get("rettype").lower() == "count":
            return result.count(as_json=as_json)
        return result.json() if as_json else result.xml()

    def _restrict_dates(self, request: Request, outcome: Outcome) -> None:
        """`mindate` with `maxdate`, or `reldate`. One bound alone restricts nothing, as at PubMed."""
        known = _DATE_TYPES.get(request.get("datetype").lower() or "edat")
        if known is None:
            return
        today = self._today()
        bounds = None
        if request.get("reldate"):
            bounds = date_bounds(f"last {request.number('reldate', 0)} days", today=today)
        elif request.get("mindate") and request.get("maxdate"):
            low = date_bounds(request.get("mindate"), today=today)
            high = date_bounds(request.get("maxdate"), today=today)
            bounds = (low[0], high[1]) if low and high else None
        if bounds is None:
            return
        outcome.entries &= self._corpus.pubmed.between(known.places[0], *bounds)
        low_text, high_text = (f"{n // 10000:04d}/{n // 100 % 100:02d}/{n % 100:02d}" for n in bounds)
        restriction = f"{low_text}:{high_text}[{known.name}]"
        outcome.translation = f"({outcome.translation}) AND {restriction}" if outcome.translation else restriction

    def _ordered(self, outcome: Outcome, sort: str, messages: list[str]) -> list[str]:
        order = _SORTS.get(sort.lower() or "relevance")
        if order is None:
            messages.append(f"Unknown sort schema '{sort}' ignored")
        papers = sorted((self._corpus.papers[entry] for entry in outcome.entries), key=lambda p: -int(p.pmid))
        if order == "published":
            papers.sort(key=lambda p: -(p.published or p.electronic or _UNDATED).number)
        elif order == "entered":
            papers.sort(key=lambda p: -(p.entered or _UNDATED).number)
        elif order == "author":
            papers.sort(key=lambda p: p.authors[0].short.lower() if p.authors else "\uffff")
        elif order == "journal":
            papers.sort(key=lambda p: p.journal.lower() or "\uffff")
        elif order == "title":
            papers.sort(key=lambda p: p.title.lower().strip("[\"'"))
        else:
            scores = self._corpus.pubmed.scores(outcome.ranking)
            positions = {self._corpus.papers[entry].pmid: scores.get(entry, 0.0) for entry in outcome.entries}
            papers.sort(key=lambda p: -positions[p.pmid])
        return [paper.pmid for paper in papers]

    def _remember(self, ids: list[str]) -> str:
        with self._lock:
            name = f"MCID_{next(self._numbers):024x}"
            self._searches[name] = ids
            while len(self._searches) > _KEPT_SEARCHES:
                self._searches.popitem(last=False)
        return name

    # EFetch, ESummary, ESpell

    def fetch(self, request: Request) -> Reply:
        """EFetch with `db=pubmed`: the records' own XML. Unknown ids are left out, as PubMed does."""
        if request.get("WebEnv"):
            ids = self._recalled(request)
            if ids is None:
                return fetch_error("Unable to obtain query #1", status=400)
        elif not request.listed("id"):
            return fetch_error("Supplied id parameter is empty.")
        else:
            ids = numbers(request.listed("id"))
            if not ids:
                return fetch_error(_NO_IDS_ERROR, status=400)
        papers = self._known(ids)
        if request.get("rettype").lower() == "uilist" and request.get("retmode").lower() in {"", "text"}:
            return text_reply("".join(f"{paper.pmid}\n" for paper in papers))
        if request.get("retmode").lower() not in {"", "xml"}:
            return fetch_error("The sandbox answers EFetch with retmode=xml only.", status=400)
        return xml_text_reply(_ARTICLE_SET + "\n".join(paper.xml() for paper in papers) + "</PubmedArticleSet>")

    def _recalled(self, request: Request) -> list[str] | None:
        with self._lock:
            ids = self._searches.get(request.get("WebEnv"))
        if ids is None:
            return None
        start = request.number("retstart", 0)
        return ids[start : start + request.number("retmax", _LARGEST_RETMAX)]

    def _known(self, ids: Iterable[str]) -> list[Paper]:
        return [self._corpus.by_pmid[pmid] for pmid in dict.fromkeys(ids) if pmid in self._corpus.by_pmid]

    def summaries(self, request: Request) -> Reply:
        """ESummary with `db=pubmed&retmode=json`: the fields that clients read."""
        ids = numbers(request.listed("id"))
        if not ids:
            return json_reply({"header": header("esummary"), "error": "Neither query_key nor id specified"})
        result: dict[str, object] = {"uids": list(dict.fromkeys(ids))}
        for pmid in result["uids"] if isinstance(result["uids"], list) else ():
            paper = self._corpus.by_pmid.get(pmid)
            result[pmid] = _summary(paper) if paper else {"uid": pmid, "error": "cannot get document summary"}
        return json_reply({"header": header("esummary"), "result": result}, trailing="\n")

    def spelling(self, request: Request) -> Reply:
        """ESpell: a better spelling from the words of the corpus; an empty `CorrectedQuery` where there is none."""
        term = request.get("term")
        corrected, replaced = suggestion(term, self._corpus.pubmed.vocabulary)
        root = etree.Element("eSpellResult")
        add(root, "Database", request.get("db") or "pubmed")
        add(root, "Query", term)
        add(root, "CorrectedQuery", corrected)
        spelled = etree.SubElement(root, "SpelledQuery")
        for original, better in replaced:
            add(spelled, "Original", original)
            add(spelled, "Replaced", better)
        etree.SubElement(root, "ERROR")
        return xml_reply(root, doctype=_ESPELL_DOCTYPE)


class _Result:
    """What an ESearch answer says, in both of its forms."""

    def __init__(
        self,
        total: str,
        ids: Sequence[str],
        start: str,
        history: str | None,
        outcome: Outcome,
        messages: Sequence[str],
    ) -> None:
        self.total, self.ids, self.start, self.history = total, ids, start, history
        self.outcome, self.messages = outcome, messages

    def count(self, *, as_json: bool) -> Reply:
        if as_json:
            return json_reply({"header": header("esearch"), "esearchresult": {"count": self.total}}, trailing="\n")
        root = etree.Element("eSearchResult")
        add(root, "Count", self.total)
        return xml_reply(root, doctype=_ESEARCH_DOCTYPE)

    def json(self) -> Reply:
        outcome = self.outcome
        result: dict[str, object] = {"count": self.total, "retmax": str(len(self.ids)), "retstart": self.start}
        if self.history:
            result |= {"querykey": "1", "webenv": self.history}
        result["idlist"] = list(self.ids)
        result["translationset"] = [{"from": source, "to": target} for source, target in outcome.translation_set]
        result["querytranslation"] = outcome.translation
        if outcome.phrases_not_found or outcome.fields_not_found:
            result["errorlist"] = {
                "phrasesnotfound": outcome.phrases_not_found,
                "fieldsnotfound": outcome.fields_not_found,
            }
        if self.messages or outcome.quoted_phrases_not_found or outcome.phrases_ignored:
            result["warninglist"] = {
                "phrasesignored": outcome.phrases_ignored,
                "quotedphrasesnotfound": outcome.quoted_phrases_not_found,
                "outputmessages": list(self.messages),
            }
        return json_reply({"header": header("esearch"), "esearchresult": result}, trailing="\n")

    def xml(self) -> Reply:
        outcome = self.outcome
        root = etree.Element("eSearchResult")
        add(root, "Count", self.total)
        add(root, "RetMax", str(len(self.ids)))
        add(root, "RetStart", self.start)
        if self.history:
            add(root, "QueryKey", "1")
            add(root, "WebEnv", self.history)
        id_list = etree.SubElement(root, "IdList")
        for pmid in self.ids:
            add(id_list, "Id", pmid)
        translations = etree.SubElement(root, "TranslationSet")
        for source, target in outcome.translation_set:
            translation = etree.SubElement(translations, "Translation")
            add(translation, "From", source)
            add(translation, "To", target)
        add(root, "QueryTranslation", outcome.translation)
        if outcome.phrases_not_found or outcome.fields_not_found:
            errors = etree.SubElement(root, "ErrorList")
            for phrase in outcome.phrases_not_found:
                add(errors, "PhraseNotFound", phrase)
            for name in outcome.fields_not_found:
                add(errors, "FieldNotFound", name)
        if self.messages or outcome.quoted_phrases_not_found or outcome.phrases_ignored:
            warnings = etree.SubElement(root, "WarningList")
            for phrase in outcome.phrases_ignored:
                add(warnings, "PhraseIgnored", phrase)
            for phrase in outcome.quoted_phrases_not_found:
                add(warnings, "QuotedPhraseNotFound", phrase)
            for message in self.messages:
                add(warnings, "OutputMessage", message)
        return xml_reply(root, doctype=_ESEARCH_DOCTYPE)


def search_error(message: str, *, as_json: bool) -> Reply:
    """An ESearch failure: HTTP 200 with `ERROR` in the body; NCBI leaves its line breaks raw inside the JSON."""
    if as_json:
        body = json.dumps({"header": header("esearch"), "esearchresult": {"ERROR": message}}, separators=(",", ":"))
        return Reply(200, "application/json; charset=UTF-8", (body.replace("\\n", "\n") + "\n").encode())
    root = etree.Element("eSearchResult")
    add(root, "ERROR", message)
    return xml_reply(root, doctype=_ESEARCH_DOCTYPE)


def fetch_error(message: str, *, status: int = 200) -> Reply:
    root = etree.Element("eFetchResult")
    add(root, "ERROR", message)
    return xml_reply(root, status=status, doctype=_EFETCH_DOCTYPE)


def numbers(values: Iterable[str]) -> list[str]:
    """The values that are identifiers, read as the number they spell: `00000012` is 12, and 0 is none."""
    plain = (value for value in values if value.isascii() and value.isdecimal() and len(value) < 12)
    return [str(int(value)) for value in plain if int(value)]


def add(parent: etree._Element, tag: str, text: str) -> etree._Element:
    node = etree.SubElement(parent, tag)
    node.text = xml_text(text)
    return node


def header(kind: str) -> dict[str, str]:
    return {"type": kind, "version": "0.3"}


def _summary(paper: Paper) -> dict[str, object]:
    ids = [("pubmed", 1, paper.pmid), ("doi", 3, paper.doi), ("pmc", 8, paper.pmcid)]
    first_public = paper.published or paper.electronic
    return {
        "uid": paper.pmid,
        "pubdate": paper.pub_date_text,
        "epubdate": paper.electronic.iso.replace("-", " ") if paper.electronic else "",
        "source": paper.journal_iso or paper.journal_medline,
        "authors": [
            {"name": a.short, "authtype": "CollectiveName" if a.collective else "Author", "clusterid": ""}
            for a in paper.authors
        ],
        "lastauthor": paper.authors[-1].short if paper.authors else "",
        "title": paper.title,
        "volume": paper.volume,
        "issue": paper.issue,
        "pages": paper.pages,
        "lang": list(paper.languages),
        "nlmuniqueid": paper.nlm_id,
        "issn": paper.issn_print,
        "essn": paper.issn_electronic,
        "pubtype": list(paper.types),
        "articleids": [{"idtype": kind, "idtypen": n, "value": value} for kind, n, value in ids if value],
        "attributes": ["Has Abstract"] if paper.abstract else [],
        "fulljournalname": paper.journal,
        "elocationid": f"doi: {paper.doi}" if paper.doi else "",
        "doctype": "citation",
        "sortpubdate": f"{first_public.iso.replace('-', '/')} 00:00" if first_public else "",
        "vernaculartitle": paper.vernacular_title,
    }
