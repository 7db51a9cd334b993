"""What a gap in knowledge may rest on: a search that was answered with nothing, and that really asked for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from literature_agent.integrity.desk import Desk
from literature_agent.integrity.vocabulary import words
from literature_agent.ledger import LedgerEntry, SearchRecord
from literature_agent.registry import find_references, remove_references

SHARED_WORDS = 2
"""Content words that query and description must have in common, where they share no MeSH term; all of a shorter
query."""

_NO_CONTENT = words(
    """
    a about after all also among an and any are as at be been before between by can could did do does during for from
    had has have how if in into is it its less more most no none not of on only or other over per so some such than that
    the their there these this those through to under up was we were what when whether which who with within without
    effect effects evidence found finding findings literature known knowledge paper papers patient patients people
    published record records report reported research result results review reviews search searches searched source
    sources studied studies study trial trials data database databases available compared comparing comparison
    pubmed europe pmc medline exist exists whether gap information
    """
)
# What every gap is called.
_OPEN = words(
    """
    unknown unclear uncertain open lacking needed need needs required further future remain remains remained question
    questions name names named author authors still yet should would may might must be examined examine investigate
    investigated understood clear determine determined establish established confirm confirmed warranted limited few
    little insufficient scarce article articles work works
    """
)
_TAG = re.compile(r"\[[^\[\]]*\]")
_FIELD = re.compile(r"\b[A-Z][A-Z_]{2,24}:")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*\*?")
_MESH = re.compile(
    r"\"?([^\"()\[\]]{3,120}?)\"?\s*\[\s*(?:mh|mesh|majr)[^\[\]]*\]|\b(?:MESH|KW):\"([^\"]{3,120})\"", re.I
)
_DATED = re.compile(
    r"\[\s*(?:dp|pdat|edat|crdt|date)[^\[\]]*\]|\b(?:FIRST_PDATE|PUB_YEAR|E_PDATE|P_PDATE|FIRST_IDATE)[A-Z_]*:", re.I
)
_TYPED = re.compile(
    r"\"?([^\"()\[\]:]{3,60}?)\"?\s*\[\s*(?:pt|ptyp|publication type)[^\[\]]*\]|\bPUB_TYPE:\"?([\w -]{3,60})\"?", re.I
)
_OPERATOR = re.compile(r"\b(?:AND|OR|NOT)\b")
# What a query leaves out, and fields that hold less than the subject of a paper.
_LEFT_OUT = re.compile(r"\b(?:NOT|ANDNOT)\s+(\([^()]*\)|\"[^\"]*\"|[^\s()]+)")
_NARROW_TAG = re.compile(
    r"(\"[^\"\[\]]{1,120}\"|[^\s\"\[\]()]+(?:\s(?!(?:AND|OR|NOT)\b)[^\s\"\[\]()]+){0,4})\s*"
    r"\[\s*(ti|title|au|author|fau|1au|lastau|cn|ad|affiliation|ta|jour|journal|la|lang|language|sb|subset|filter|uid|pmid|doi|aid"
    r"|gr|vi|ip|pg)\s*\]",
    re.I,
)
_NARROW_FIELD = re.compile(
    r"\b(TITLE|AUTH|AUTHOR|JOURNAL|AFF|LANG|OPEN_ACCESS|IN_EPMC|IN_PMC|HAS_\w+|EXT_ID|PMCID|DOI|ISSN|GRANT_AGENCY)"
    r":\s*(\"[^\"]*\"|\([^()]*\)|[^\s()]+)"
)
_ANIMALS = re.compile(r"\b(?:animals?|mice|mouse|rats?|rodents?)\b", re.I)
_PEOPLE = re.compile(
    r"\b(?:humans?|people|persons?|patients?|adults?|children|women|men|infants?|participants?)\b", re.I
)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_DATE_FILTERS = ("date_from", "date_to", "since_entry_date")
# Filters that hold words of the subject.
_SUBJECT_FILTERS = ("condition", "intervention", "term")
# What a description says that states such a filter; none: a word of its value.
_STATED_BY = {
    "overall_status": "",
    "category": "",
    "phases": r"\bphases?\b",
    "sources": r"\bpreprints?\b|\bpatents?\b|\bagricola\b",
}
# What says that something is not there, which only a search can show; that it is not known anybody may say.
_RECORDS = (
    r"(?:trials?|stud(?:y|ies)|evidence|data|papers?|articles?|reviews?|reports?|research|meta-analys[ei]s|records?|publications?"
    r"|preprints?|registrations?|literature|guidelines?|comparisons?|cohorts?|experiments?|results?|information|follow-up|hits?|match(?:es)?)"
)
_ABSENCE = re.compile(
    rf"\b(?:no|neither|lack(?:s|ed|ing)?(?:\sof)?|absence\sof|paucity\sof)\s(?:[\w-]+\s){{0,5}}?{_RECORDS}\b|\bnothing\b|\bnone\b"
    r"|\b(?:not|never|cannot)\s(?:\w+\s){0,3}?(?:stud(?:y|ied)|test|examin|investigat|evaluat|assess|compar|explor|measur"
    r"|report|publish|address|found|find|identif|look|trial|research|regist|exist|available)"
    r"|n't\s(?:been\s)?(?:\w+\s)?(?:studied|tested|found|looked|examined)"
    r"|\b(?:is|are|remains?|was|were|seems?)\s(?:\w+ly\s|still\s|so\sfar\s)?(?:lacking|absent|missing|scarce|non-?existent)\b"
    rf"|\bun(?:tested|studied|explored|examined|published(?!\s{_RECORDS}\b)|addressed|researched|investigated)\b",
    re.I,
)
_NOT_KNOWN = re.compile(
    r"\b(?:not|never|n't)\s(?:(?:been|be|yet|so|at|all|well|\w+ly)\s){0,3}(?:known|clear|certain|sure|understood|established"
    r"|settled|resolved|answered|determined|decided)\b|\b(?:no|not)\s(?:one|clear\sanswer|agreement|consensus|certainty)\b",
    re.I,
)
# What the run itself did not do: the very meaning of a gap without a search.
_DONE = r"(?:look|search|examin|explor|assess|address|cover|stud(?:y|i)|ask|seek|compar|investigat|evaluat)\w*"
_OURSELVES = r"(?:this|these|our)\s(?:run|search(?:es)?|answer|review|overview)"
_NOT_DONE = re.compile(
    r"\b(?:not|never|no|none)\s(?:[\w-]+\s){0,6}?(?:(?:looked|searched)\sfor|sought|checked)\b"
    rf"|\b(?:we|{_OURSELVES})\s(?:did|do|does|could|have|has)(?:\snot|n't)\s{_DONE}"
    rf"|\b(?:not|never)\s(?:be\s|been\s|\w+ly\s)?{_DONE}\s(?:(?:at|for)\s)?"
    rf"(?:here\b|(?:in|by)\s{_OURSELVES}\b|from\s(?:the\s)?abstracts\b)",
    re.I,
)
# Who asks why or whether does not say that it is so.
_UNSETTLED = r"(?:open|unclear|unknown|uncertain|unresolved|undecided|debated|disputed)"
_WONDERED = re.compile(
    rf"^(?:whether|why|how)\b[^.;:]*?\b(?:is|are|remains?)\s(?:still\s|\w+ly\s)?{_UNSETTLED}\b|\b{_UNSETTLED}\s(?:whether|why)\b[^.;:]*",
    re.I,
)
_SPELLING = re.compile(r"\bspelling|\bsuggest|\bdid you mean", re.I)


_SEARCH_ID = re.compile(r"\s*(?:search\s*)?s?(\d{1,6})\s*", re.I)


def search_id_of(written: str) -> str:
    """The id of a search as the ledger has it: `s3` for `S3`, `search s3` and `3`."""
    read = _SEARCH_ID.fullmatch(written)
    return f"s{read[1]}" if read else written.strip()


def objection(search_id: str, description: str, desk: Desk) -> str | None:
    """Why the search does not show that nothing is known of `description`; None if it does."""
    entry = next(
        (e for e in desk.ledger.entries if e.search is not None and e.search.search_id == search_id_of(search_id)), None
    )
    if entry is None or entry.search is None:
        return "no search of this run has that id"
    record = entry.search
    if record.status == "failed":
        return "that search failed, which says nothing about the literature"
    if record.status != "empty" or record.total:
        return "that search found something"
    return _misread(entry) or next(_unstated(record, description), None) or _off_topic(record, description)


def states(quoted: Iterable[str], description: str) -> bool:
    """Whether words that authors wrote share a content word with the gap that they are said to name."""
    about = {_stem(word) for word in _words(_bare(description)) if word not in _OPEN}
    said = {_stem(word) for text in quoted for word in _words(text) if word not in _OPEN}
    return any(_same(one, other) for one in about for other in said)


def says_absent(sentence: str) -> bool:
    """Whether the sentence of a gap says that something is not there: `No trial was found`, `X was never tested`."""
    said = _bare(sentence)
    for other in (_WONDERED, _NOT_DONE, _NOT_KNOWN):
        said = other.sub(" ", said)
    return _ABSENCE.search(said) is not None


def _bare(text: str) -> str:
    return remove_references(text, {found.key for found in find_references(text)})


def _misread(entry: LedgerEntry) -> str | None:
    if entry.warnings:
        return f"the source did not run the query as written ({' '.join(entry.warnings[0].split())[:160]})"
    if entry.notice and _SPELLING.search(entry.notice):
        return "a word of the query may be misspelt: the source suggests another spelling"
    return None


def _unstated(record: SearchRecord, description: str) -> Iterator[str]:
    """Limits of the search that the description does not state."""
    said = set(_YEAR.findall(description))
    stems = {_stem(word) for word in _words(description)}
    for name in _DATE_FILTERS:
        if (value := record.filters.get(name)) and not set(_YEAR.findall(value)) <= said:
            yield f"the search was limited by {name}={value}, which the description does not say"
    for name, said_by in _STATED_BY.items():
        value = record.filters.get(name, "")
        # Europe PMC over PubMed's papers too is the whole of it.
        if not value or (name == "sources" and "MED" in value):
            continue
        stated = re.search(said_by, description, re.I) if said_by else any(_stem(w) in stems for w in _words(value))
        if not stated:
            yield f"the search was limited by {name}={value}, which the description does not say"
    if _DATED.search(record.query):
        years = set(_YEAR.findall(record.query))
        if not (years <= said if years else re.search(r"\byears?\b|\bmonths?\b|\brecent", description, re.I)):
            yield "the query limits the date, which the description does not say"
    types = [part for part in record.filters.get("publication_types", "").split(",") if part.strip()]
    # Before a tag stands its own phrase: what is joined to it by AND is none of the type.
    types += [_OPERATOR.split(first or second)[-1] for first, second in _TYPED.findall(record.query)]
    for kind in types:
        if not _says_type(kind, stems, description):
            yield f"the search was limited to the type {kind.strip()!r}, which the description does not say"
    yield from _narrowed(record.query, stems, description)
    for language in record.filters.get("languages", "").split(","):
        if (code := language.strip().lower()[:3]) and not any(word.startswith(code) for word in _words(description)):
            yield f"the search was limited to the language {language.strip()!r}, which the description does not say"


def _narrowed(query: str, stems: set[str], description: str) -> Iterator[str]:
    """What the words of the query leave out or ask of single fields, and the description does not say."""
    for left_out in _LEFT_OUT.findall(query):
        excludes = re.search(
            r"\b(?:not|outside|other than|except|exclud(?:ing|ed)|without|but|beyond)\b", description, re.I
        )
        said = excludes and any(_stem(word) in stems for word in _words(left_out))
        # Who speaks of people has said that animals are left out.
        if not said and not (_ANIMALS.search(left_out) and _PEOPLE.search(description)):
            yield f"the query leaves out {left_out.strip()!r}, which the description does not say"
    parts = [(name, asked) for asked, name in _NARROW_TAG.findall(query)] + _NARROW_FIELD.findall(query)
    for name, asked in parts:
        if name.lower() in ("ti", "title"):
            stated = re.search(r"\btitles?\b", description, re.I) is not None
        else:
            stated = any(_stem(word) in stems for word in _words(asked))
        if not stated:
            asked = " ".join(asked.split())
            yield f"the query asks for {asked!r} in the field {name}, which the description does not say"


def _says_type(kind: str, stems: set[str], description: str) -> bool:
    named = [word for word in re.findall(r"[a-z]+", kind.lower()) if len(word) > 2]
    if any(word.startswith("randomi") for word in named):
        return bool(re.search(r"\brandomi[sz]ed|\bRCTs?\b", description, re.I))
    return not named or _stem(named[-1]) in {*stems, *(_stem(w) for w in re.findall(r"[a-z]+", description.lower()))}


def _off_topic(record: SearchRecord, description: str) -> str | None:
    about = [_stem(word) for word in _words(description)]
    for term in _mesh_terms(record):
        named = [_stem(word) for word in _words(term)]
        if named and all(any(_same(word, other) for other in about) for word in named):
            return None
    sent = "; ".join([record.query, *(record.filters[name] for name in _SUBJECT_FILTERS if name in record.filters)])
    asked = {_stem(word) for word in _words(_TAG.sub(" ", _FIELD.sub(" ", sent)))}
    shared = sum(any(_same(word, other) for other in about) for word in asked)
    # A query of one word asked for all that holds this word.
    if asked and shared >= min(SHARED_WORDS, len(asked)):
        return None
    query = " ".join(sent.split())[:160]
    return f"the description does not name what was searched for, in the words of its query ({query})"


def _mesh_terms(record: SearchRecord) -> Iterator[str]:
    for query in (record.query, record.query_interpreted or ""):
        for first, second in _MESH.findall(query):
            yield first or second


def _words(text: str) -> Iterable[str]:
    for match in _WORD.finditer(text.lower()):
        word = match.group()
        if word not in _NO_CONTENT and not word.isdigit() and len(word) > 1:
            yield word


def _stem(word: str) -> str:
    """What the forms of a word share; a `*` stands for any ending, as in a query."""
    if word.endswith("*"):
        return word
    for ending in ("ies", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _same(one: str, other: str) -> bool:
    if one.endswith("*") or other.endswith("*"):
        short, long = sorted((one.rstrip("*"), other.rstrip("*")), key=len)
        return len(short) > 2 and long.startswith(short)
    # Forms of one word (`cognition`, `cognitive`) differ behind their sixth letter; short words must be equal.
    return one == other or (len(one) > 6 and len(other) > 6 and one[:6] == other[:6])
