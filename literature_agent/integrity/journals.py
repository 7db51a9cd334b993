"""Journals named in folded prose: with a year, with volume and page, or as the place of publication."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from literature_agent.integrity.hits import Hit
from literature_agent.integrity.known import Known, bare, journal_key, journal_words, names_by_first_word
from literature_agent.integrity.vocabulary import COMMON_WORD_JOURNALS, JOURNAL_FAMILIES, JOURNAL_WORDS, JOURNALS
from literature_agent.integrity.years import REACH, SIGNS, UPPER, Year

_JOURNAL_NAME = (
    rf"(?:The\s)?(?:[{UPPER}][\w-]{{0,30}}\s){{0,3}}(?:Journal|Annals|Archives|Proceedings|Transactions|Bulletin)(?:\sof(?:\sthe)?"
    rf"(?:\s(?:[{UPPER}][\w'-]{{0,30}}|and|of|the|in|for|&)){{1,7}})?"
)
_JOURNAL_THEN_YEAR = re.compile(rf"\b{_JOURNAL_NAME}[\s,.;:]{{0,3}}(?:in\s)?[(\[]?(?:19|20)\d\d\b")
_YEAR_THEN_JOURNAL = re.compile(r"^\s(?P<name>(?:[^\W\d_][\w&'.-]*\s){0,8}[^\W\d_][\w&'.-]*)")
_PUBLISHED_IN = re.compile(
    r"\b(?:published|appeared|appearing|printed|reported|appears)\s(?:online\s)?in\s(?:the\s)?(?=\S)", re.I
)
_VOLUME = re.compile(
    r"\b(?:19|20)\d\d(?:\s[A-Z][a-z]{2}(?:\s\d{1,2})?)?\s?;\s?\d{1,4}\s?(?:\([\w\s.-]{1,14}\)\s?)?(?::\s?[a-z]?\d+(?:-\w+)?|(?<=\)))"
    r"|\b\d{1,4}\s?\((?:\d{1,5}(?:-\d+)?|Suppl[\w\s.]{0,8})\)\s?:\s?[a-z]?\d{1,6}(?:\s?-\s?\w?\d+)?"
    r"|\bvol(?:ume)?\.?\s?\d+\s?,?\s(?:(?:no|issue|pp?|pages?)\.?\s?\d+|(?:19|20)\d\d\b)",
    re.I,
)  # fmt: skip
_JOINT = re.compile(rf"[\s,.;:]{{0,3}}(?:(?<=\s)in\s|\s?{SIGNS}{{1,2}}\s?)?[(\[]?\s?$")
# `JAMA, 17 March 2020`
_DATE_BEFORE = re.compile(
    r"\s(?:\d{1,2}\.?\s)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)[a-z]{0,6}\.?\s(?:\d{1,2},?\s)?$"
)
_IN_WORDS = " -/_|+~=*#@&'^\\"
_SET_OFF = re.compile(r"\s?(?:[;:,.)\]]|$)")


_NAMES = names_by_first_word(JOURNALS)
# Words that are journals and nothing else, so that no capital is asked of the words around them.
_SINGLE = frozenset(key for key in JOURNALS - COMMON_WORD_JOURNALS if " " not in key)
_LOWER = ("of", "and", "the", "in", "for", "&", "on", "et", "de", "für", "la")
_SAY_JOURNAL = frozenset(("journal", "annals", "archives", "proceedings", "transactions", "bulletin"))
_CALLED_JOURNAL = re.compile(
    rf"(?<![^\W_])(?:(?:[{UPPER}][\w-]{{0,30}}\s){{1,4}}Journal\b|(?:Journal|Annals|Archives|Proceedings|Transactions|Bulletin)\sof(?=\s))"
    rf"(?:\sof(?=\s))?(?:\s(?:(?:and|of|the|in|for|&)\s){{0,2}}[{UPPER}][\w'-]{{0,30}}){{0,7}}"
)
_ENDS_CLAUSE = re.compile(r"[;!?]|\.\s")
# Bodies that a journal has called together.
_BODY = re.compile(r"\s(?:Standing\s)?Commissions?\b|(?<=Journal)\sClubs?\b", re.I)
# What makes another name of the beginning of a journal's: `World Health Organization`.
_ORGANISATION = re.compile(r"\sOrgani[sz]ation\b|(?<=Journal)\sClubs?\b")
# Where manuscripts went to, they were not always printed.
_SUBMITTED_TO = re.compile(r"\bsubmi(?:t|ssion)[^.;]{0,40}\bto\s(?:the\s)?$", re.I)
_PAPER = (
    r"(?:papers?|trials?|stud(?:y|ies)|articles?|reports?|reviews?|publications?|analys[ie]s|editorials?|letters?"
    r"|commentar(?:y|ies))"
)
_PAPER_IN = re.compile(
    rf"\b{_PAPER},?\s(?:\w+\s)?(?:in|from|by)\s(?:the\s(?:journal\s)?)?$|\b{_PAPER}\s?[(\[](?:the\s)?$", re.I
)
# Journals called by a word: only what is printed stands in them, while trials are done in them, too.
_PRINTED_IN = re.compile(
    r"\b(?:paper|article|editorial|publication)s?,?\s(?:in|from)\s(?:the\sjournal\s)?(?P<name>[A-Z][a-z]{2,20})(?=[\s,.;:)\]]|$)"
    r"|\bin\sthe\sjournal\s(?P<called>[A-Z][a-z]{2,20})\b"
)


def _named(text: str, known: Known) -> Iterator[tuple[int, int]]:
    """Where journals are named that the run or everybody knows, or that call themselves one."""
    spelled = list(journal_words(text))
    keys = [bare(word.group()) for word in spelled]
    for at, key in enumerate(keys):
        word = spelled[at].group()
        if key in _SINGLE and word[0].isupper():
            yield spelled[at].span()
        for names in (_NAMES, known.journal_names):
            for name in names.get(key, ()):
                end = at + len(name)
                # A name that says what it is needs no capitals.
                if tuple(keys[at:end]) == name and (
                    (len(name) > 2 and not _SAY_JOURNAL.isdisjoint(name))
                    or all(each.group()[0].isupper() or each.group() in _LOWER for each in spelled[at:end])
                ):
                    yield spelled[at].start(), spelled[end - 1].end()
                    break
    for match in _CALLED_JOURNAL.finditer(text):
        yield match.span()


def _in_prose(text: str, known: Known, years: list[Year]) -> Iterator[Hit]:
    """Journals with a year in their clause, or behind what they print: `A 2018 paper in The Lancet found`."""
    for match in _PRINTED_IN.finditer(text):
        name = (match["name"] or match["called"]).lower()
        if name in COMMON_WORD_JOURNALS or name in JOURNALS or name in known.journals:
            yield Hit("journal-year", match.start(), match.end())
    plain = [year for year in years if year.how != "range"]
    for start, end in _named(text, known):
        if _BODY.match(text, end):
            continue
        if _SUBMITTED_TO.search(text, max(0, start - 70), start):
            continue
        if (paper := _PAPER_IN.search(text, max(0, start - 50), start)) is not None:
            yield Hit("journal-year", paper.start(), end)
            continue
        first = bisect.bisect_left(plain, start - REACH, key=lambda year: year.start)
        for number in range(first, len(plain)):
            year = plain[number]
            if year.start > end + REACH:
                break
            between = text[year.end : start] if year.end <= start else text[end : year.start]
            if not _ENDS_CLAUSE.search(between):
                yield Hit("journal-year", start, end)
                break


def journal_years(text: str, known: Known, years: list[Year]) -> Iterator[Hit]:
    """Journals with one of the `years`, with volume and page, or as the place of publication; hits may overlap."""
    for match in _VOLUME.finditer(text):
        yield Hit("journal-year", match.start(), match.end())
    for match in _JOURNAL_THEN_YEAR.finditer(text):
        yield Hit("journal-year", match.start(), match.end())
    for year in years:
        if year.how == "range":
            continue
        window = text[max(0, year.start - REACH) : year.start]
        offset = year.start - len(window)
        if (paper := _PAPER_BEFORE.search(window)) is not None:
            window = window[: paper.start()] + " ("
        if (start := _journal_before(window, text[year.end : year.end + 3], known)) is not None:
            yield Hit("journal-year", offset + start, year.end)
        elif (length := _journal_behind(text[year.end : year.end + REACH], known)) is not None:
            yield Hit("journal-year", year.start, year.end + length)
    yield from _in_prose(text, known, years)
    for match in _PUBLISHED_IN.finditer(text):
        length = _journal_length(text[match.end() : match.end() + REACH], known)
        if length is not None:
            yield Hit("journal-year", match.start(), match.end() + length)


def _journal_before(window: str, behind: str, known: Known) -> int | None:
    """Where a journal begins that ends at the end of `window`, before its year."""
    dated = _DATE_BEFORE.search(window)
    joint = _JOINT.search(window, 0, dated.start() if dated else len(window))
    assert joint is not None
    head = window[: joint.start()]
    spelled = list(re.finditer(r"[^\s]+", head))[-9:]
    if not spelled or not spelled[-1].group().lstrip("([\"'")[:1].isalpha():
        return None
    for number in range(len(spelled)):
        name = head[spelled[number].start() :].lstrip("([\"'")
        if _is_journal(
            name,
            known,
            # "the Stroke-2020 cohort", "Stroke in 2019 was": a sign within the word and `in` set nothing off.
            set_off=dated is None
            and " in " not in joint.group()
            and (bool(_SET_OFF.match(behind)) or joint.group().strip(_IN_WORDS) != ""),
            after=head[: spelled[number].start()],
        ):
            return spelled[number].start()
    return None


# `a Lancet paper from 2019`
_PAPER_BEFORE = re.compile(
    r"\s(?:paper|trial|study|article|report|review|publication|analysis)\s(?:from|of|in|published\sin|[(\[])\s?$"
)
# `the March 2020 issue of JAMA`, `2020's Nature Medicine`
_ISSUE_OF = re.compile(r"(?:\s(?:issue|edition|number|volume)\sof|'s)\s(?:the\s)?(?=[A-Z])")
_PAPER_BEHIND = re.compile(r"\s(?:paper|trial|study|article|report|review|publication)\b")


def _journal_behind(window: str, known: Known) -> int | None:
    """`2023 NEJM`, `2019 Lancet paper`."""
    if (issue := _ISSUE_OF.match(window)) is not None:
        length = _journal_length(window[issue.end() :], known)
        return None if length is None else issue.end() + length
    found = _YEAR_THEN_JOURNAL.match(window)
    if found is None:
        return None
    one = re.match(r"\s(\S+)", window)
    named = one is not None and _PAPER_BEHIND.match(window, one.end()) is not None
    if named and one is not None and _is_journal(one.group(1), known, set_off=True):
        return one.end()
    return _longest_journal(window, 1, found["name"], known, set_off=False)


def _journal_length(window: str, known: Known) -> int | None:
    """Length of the journal at the beginning of `window`."""
    found = re.match(r"(?:[^\W\d_][\w&'.-]*\s?){1,9}", window)
    return None if found is None else _longest_journal(window, 0, found.group(), known, set_off=True)


def _longest_journal(window: str, offset: int, name: str, known: Known, *, set_off: bool) -> int | None:
    spelled = list(re.finditer(r"\S+", name))
    for number in range(len(spelled), 0, -1):
        part = name[: spelled[number - 1].end()].rstrip(".,;:")
        if _ORGANISATION.match(window, offset + len(part)):
            return None
        if _is_journal(part, known, set_off=set_off):
            return offset + len(part)
        if re.fullmatch(_JOURNAL_NAME, part):
            return offset + len(part)
    return None


# What stands behind the name of a publisher or a group where no journal is meant.
_NO_TITLE = frozenset(("open-label", "handbook", "collaboration", "library", "tool", "guideline", "guidelines"))


def _is_journal(name: str, known: Known, *, set_off: bool, after: str = "") -> bool:
    key = journal_key(name)
    if not key or not name[0].isupper():
        # A name in lower case is a journal only where it has several words.
        return key in JOURNALS and " " in key and key not in COMMON_WORD_JOURNALS
    if key in COMMON_WORD_JOURNALS:
        return set_off or bool(re.search(r"\b(?:in|from)\s(?:the\s)?$", after))
    if key in JOURNALS or key in known.journals or key.replace("-", " ") in JOURNALS:
        return True
    parts = key.split()
    capital = all(part[0].isupper() or part.lower() in ("of", "and", "the", "in", "&", "for") for part in name.split())
    if not capital or not 2 <= len(parts) <= 7:
        return False
    if parts[0] in JOURNAL_FAMILIES and not _NO_TITLE.intersection(parts):
        return len(parts) <= 5
    return sum(part in JOURNAL_WORDS for part in parts) >= 2 and all(
        part in JOURNAL_WORDS or part in ("of", "and", "the", "in") for part in parts
    )
