"""Answers a parsed PubMed query over an index, with what PubMed says about how it understood the query.

PubMed drops a term that it has nowhere and searches for the rest; it says so in `phrasesnotfound` and
`quotedphrasesnotfound`. The same is done here, over the vocabulary of the corpus.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

from literature_agent.sandbox.pubmed_fields import (
    ALL_FIELDS,
    FILTER,
    KNOWN_FILTERS,
    KNOWN_TYPES,
    LANGUAGES,
    MESH_TERMS,
    NARROWER_TYPES,
    PUBMED_ID,
    STOP_WORDS,
    Field,
    field_named,
)
from literature_agent.sandbox.pubmed_query import ParsedQuery
from literature_agent.sandbox.spelling import forms
from literature_agent.sandbox.syntax import Chain, Node, Operator, Span, Term, plain, tokens
from literature_agent.sandbox.text_index import TextIndex

_LONGEST_HEADING = 8
_RELATIVE = re.compile(r"^last (\d{1,4}) (day|week|month|year)s?$")
_DATE = re.compile(r"^(\d{4})(?:/(\d{1,2})(?:/(\d{1,2}))?)?$")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(slots=True)
class Found:
    """Entry numbers, how PubMed would print this part, and the expressions that rank it."""

    entries: set[int]
    translation: str
    ranking: list[str] = field(default_factory=list)
    composite: bool = False

    def printed(self) -> str:
        return f"({self.translation})" if self.composite else self.translation


@dataclass(slots=True)
class Outcome:
    """What a search gives: the matches and everything ESearch reports beside them."""

    entries: set[int]
    translation: str
    ranking: list[str]
    translation_set: list[tuple[str, str]]
    phrases_not_found: list[str]
    quoted_phrases_not_found: list[str]
    fields_not_found: list[str]
    phrases_ignored: list[str]


def search_pubmed_index(index: TextIndex, query: ParsedQuery, *, today: datetime.date) -> Outcome:
    """Entries that match the query, as PubMed would find them; `today` is for `"last 5 years"[dp]`."""
    run = _Search(index, today)
    found = run.evaluate(query.tree) if query.tree is not None else None
    return Outcome(
        entries=found.entries if found else set(),
        translation=found.translation if found else "",
        ranking=found.ranking if found else [],
        translation_set=run.translation_set,
        phrases_not_found=list(dict.fromkeys(run.phrases_not_found)),
        quoted_phrases_not_found=list(dict.fromkeys(run.quoted_phrases_not_found)),
        fields_not_found=list(query.unknown_tags),
        phrases_ignored=list(dict.fromkeys(run.phrases_ignored)),
    )


def date_bounds(text: str, *, today: datetime.date) -> tuple[int, int] | None:
    """First and last day (`YYYYMMDD`) of `2020`, `2020/05`, `2020/05/17` or `last 5 years`; None for anything else."""
    text = " ".join(text.strip().strip('"').lower().replace("-", "/").split())
    if relative := _RELATIVE.match(text):
        days = {"day": 1, "week": 7, "month": 30, "year": 365}[relative[2]] * int(relative[1])
        start = today.toordinal() - days
        first = datetime.date.fromordinal(start) if start > 0 else datetime.date.min
        return int(first.strftime("%Y%m%d")), int(today.strftime("%Y%m%d"))
    words = text.split()
    if 1 < len(words) <= 3 and words[1][:3] in _MONTHS:
        text = "/".join([words[0], str(_MONTHS.index(words[1][:3]) + 1), *words[2:]])
    found = _DATE.match(text)
    if not found:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    assert year is not None
    if month is None:
        return year * 10000 + 101, year * 10000 + 1231
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    stem = year * 10000 + month * 100
    return (stem + 1, stem + 31) if day is None else (stem + day, stem + day)


class _Search:
    def __init__(self, index: TextIndex, today: datetime.date) -> None:
        self.index = index
        self.today = today
        self.translation_set: list[tuple[str, str]] = []
        self.phrases_not_found: list[str] = []
        self.quoted_phrases_not_found: list[str] = []
        self.phrases_ignored: list[str] = []
        self._by_kind: dict[str, Callable[[Term, Field], Found | None]] = {
            "words": self._words,
            "value": self._value,
            "mesh": self._mesh,
            "author": self._author,
            "date": self._date,
            "id": self._identifier,
            "filter": self._filter,
        }

    def evaluate(self, node: Node) -> Found | None:
        """Matches of this part; None where nothing of it is known, so that it drops out of the query."""
        if isinstance(node, Chain):
            return join([(operator, self.evaluate(part)) for operator, part in node.parts])
        if isinstance(node, Span):
            return self._span(node)
        if node.field is None:
            return self._phrase_anywhere(node) if node.quoted else self._untagged(node.text.split())
        known = field_named(node.field)
        assert known is not None
        return self._by_kind[known.kind](node, known)

    # Words

    def _words(self, term: Term, known: Field) -> Found | None:
        text, prefix = term.text.rstrip("*"), term.text.endswith("*")
        if not tokens(text):
            return None
        found = self._text(text, known, prefix=prefix, near=term.near)
        if found.entries:
            return found
        words = [word for word in term.text.split() if plain(word) not in STOP_WORDS]
        if len(tokens(text)) > 1 and len(words) > 1 and term.near is None:
            # Not in the phrase index: the quotes are ignored and each word is searched by itself.
            if term.quoted:
                self.quoted_phrases_not_found.append(f'"{term.text}"')
            parts = [self._words(Term(word, term.field), known) for word in words]
            return join([("AND", part) for part in parts])
        if term.quoted:
            self.quoted_phrases_not_found.append(f'"{term.text}"')
        else:
            self.phrases_not_found.append(f"{term.text}[{known.name}]")
        return None

    def _text(self, text: str, known: Field, *, prefix: bool = False, near: int | None = None) -> Found:
        entries = self.index.matching(text, known.places, prefix=prefix, near=near)
        ranked = self.index.expression(text, known.places, prefix=prefix, near=near)
        shown = f"{plain(text)}*" if prefix else f'"{plain(text)}"'
        name = known.name if near is None else f"{known.name}:~{near}"
        return Found(entries, f"{shown}[{name}]", [ranked] if ranked else [])

    def _phrase_anywhere(self, term: Term) -> Found | None:
        text, prefix = term.text.rstrip("*"), term.text.endswith("*")
        found = self._text(text, ALL_FIELDS, prefix=prefix)
        if found.entries:
            return found
        self.quoted_phrases_not_found.append(f'"{term.text}"')
        return self._untagged(term.text.split()) if len(tokens(text)) > 1 else None

    def _untagged(self, words: Sequence[str]) -> Found | None:
        """Automatic term mapping: MeSH headings are recognised, stop words dropped, the rest ANDed."""
        identifiers = [word for word in words if word.isdecimal() and word.isascii() and 5 <= len(word) <= 8]
        if identifiers and len(identifiers) == len(words):
            return self._identifier(Term(" ".join(identifiers)), PUBMED_ID)
        headings = self.index.values("heading")
        parts: list[Found | None] = []
        ignored: list[str] = []
        at = 0
        while at < len(words):
            length = self._heading_at(words, at, headings)
            if length:
                parts.append(self._mapped(" ".join(words[at : at + length])))
            elif plain(words[at]) in STOP_WORDS or not tokens(words[at]):
                ignored.append(plain(words[at]))
            elif plain(words[at]) == "hasabstract":
                parts.append(self._filter(Term("hasabstract"), FILTER))
            else:
                parts.append(self._plain_word(words[at]))
            at += max(length, 1)
        if not parts:
            self.phrases_ignored.extend(word for word in ignored if word)
        return join([("AND", part) for part in parts])

    def _heading_at(self, words: Sequence[str], at: int, headings: Set[str]) -> int:
        for length in range(min(_LONGEST_HEADING, len(words) - at), 0, -1):
            run = words[at : at + length]
            if not any("*" in word for word in run) and plain(" ".join(run)) in headings:
                return length
        return 0

    def _mapped(self, text: str) -> Found:
        heading = self._mesh(Term(text), MESH_TERMS)
        assert heading is not None
        whole = self._text(text, ALL_FIELDS)
        parts = [heading]
        if len(tokens(text)) > 1:
            each = join([("AND", self._text(word, ALL_FIELDS)) for word in tokens(text)])
            assert each is not None
            parts.append(each)
            parts.append(whole)
        else:
            parts.extend(self._text(form, ALL_FIELDS) for form in self._forms(text))
        mapped = join([("OR", part) for part in parts])
        assert mapped is not None
        self.translation_set.append((text, mapped.translation))
        return mapped

    def _plain_word(self, word: str) -> Found | None:
        if word.endswith("*"):
            found = self._text(word.rstrip("*"), ALL_FIELDS, prefix=True)
        else:
            forms = self._forms(word)
            joined = join([("OR", self._text(form, ALL_FIELDS)) for form in forms])
            assert joined is not None
            found = joined
            if len(forms) > 1:
                self.translation_set.append((word, found.translation))
        if found.entries:
            return found
        self.phrases_not_found.append(word)
        return None

    def _forms(self, word: str) -> list[str]:
        """The word with the singular or plural that the corpus also has."""
        bare = plain(word)
        if len(tokens(bare)) != 1 or len(bare) < 3 or not bare.isalpha():
            return [word]
        return [bare, *sorted(form for form in forms(bare) if form in self.index.vocabulary)]

    # Whole values

    def _value(self, term: Term, known: Field) -> Found | None:
        place = known.places[0]
        text, prefix = term.text.rstrip("*"), term.text.endswith("*")
        asked = [text]
        if place == "type" and term.explode:
            asked += NARROWER_TYPES.get(text.lower(), ())
        elif place == "language":
            asked = [LANGUAGES.get(text.lower(), text)]
        elif place == "databank":
            asked = [text, text.partition("/")[2] or text]
        entries: set[int] = set()
        for value in asked:
            entries |= self.index.with_value(place, value, prefix=prefix)
        known_elsewhere = (place == "type" and text.lower() in KNOWN_TYPES) or place in {"language", "databank"}
        return self._listed(term, known, entries, keep=known_elsewhere)

    def _mesh(self, term: Term, known: Field) -> Found | None:
        place = known.places[0] + (" exploded" if term.explode else "")
        text, prefix = term.text.rstrip("*"), term.text.endswith("*")
        found = self._listed(term, known, self.index.with_value(place, text, prefix=prefix), keep=False)
        if found is not None:
            words = self.index.expression(text, ("mesh",), prefix=prefix)
            found.ranking = [words] if words else []
        return found

    def _author(self, term: Term, known: Field) -> Found | None:
        place = known.places[0]
        name = plain(term.text)
        entries = self.index.with_value(place, name)
        # Initials may be given in part (`smith j` finds `smith ja`) and left out, unless quotes say otherwise.
        if not term.quoted or term.text.endswith("*"):
            initials = len(name.split()) > 1 and len(name.split()[-1]) <= 2
            open_end = name if initials or term.text.endswith("*") else f"{name} "
            entries |= self.index.with_prefix(place, open_end)
        return self._listed(term, known, entries, keep=False)

    def _identifier(self, term: Term, known: Field) -> Found | None:
        values = term.text.replace(",", " ").split() if known.name == PUBMED_ID.name else [term.text]
        entries: set[int] = set()
        for value in values:
            if known.name == PUBMED_ID.name and value.isdecimal():
                value = str(int(value))
            if known.places == ("pmc",) and value.isdecimal():
                value = f"pmc{value}"
            for place in known.places:
                entries |= self.index.with_value(place, value)
        return self._listed(term, known, entries, keep=True)

    def _filter(self, term: Term, known: Field) -> Found | None:
        name = plain(term.text)
        if name in {"all", "pubmed"}:
            entries = self.index.everything()
        elif name in LANGUAGES:
            entries = self.index.with_value("language", LANGUAGES[name])
        else:
            entries = self.index.with_value("filter", name)
        return self._listed(term, known, entries, keep=name in KNOWN_FILTERS)

    def _listed(self, term: Term, known: Field, entries: set[int], *, keep: bool) -> Found | None:
        """A whole value as PubMed prints it. Unknown values are reported; `keep`: they still leave nothing."""
        if not entries:
            if term.quoted:
                self.quoted_phrases_not_found.append(f'"{term.text}"[{known.name}]')
            elif not keep:
                self.phrases_not_found.append(f"{term.text}[{known.name}]")
            if not keep:
                return None
        name = known.name if term.explode else f"{known.name}:noexp"
        return Found(entries, f'"{plain(term.text)}"[{name}]')

    # Dates and ranges

    def _date(self, term: Term, known: Field) -> Found | None:
        bounds = date_bounds(term.text, today=self.today)
        if bounds is None:
            self.phrases_not_found.append(f"{term.text}[{known.name}]")
            return None
        return self._between(known, *bounds)

    def _span(self, span: Span) -> Found | None:
        known = field_named(span.field)
        assert known is not None
        if known.kind == "id":
            return self._numbered(known, span)
        low = date_bounds(span.low, today=self.today)
        high = date_bounds(span.high, today=self.today)
        if low is None or high is None:
            self.phrases_not_found.append(f"{span.low}:{span.high}[{known.name}]")
            return None
        return self._between(known, low[0], high[1])

    def _between(self, known: Field, low: int, high: int) -> Found:
        printed = f"{_slashed(low)}:{_slashed(high)}[{known.name}]"
        return Found(self.index.between(known.places[0], low, high), printed)

    def _numbered(self, known: Field, span: Span) -> Found | None:
        if not (span.low.isdecimal() and span.high.isdecimal()):
            self.phrases_not_found.append(f"{span.low}:{span.high}[{known.name}]")
            return None
        entries = self.index.between("number", int(span.low), int(span.high))
        return Found(entries, f"{span.low}:{span.high}[{known.name}]")


def join(parts: Sequence[tuple[Operator, Found | None]]) -> Found | None:
    """Parts joined from left to right; parts that were not found drop out; None when all did."""
    joined: Found | None = None
    previous: Operator | None = None
    for number, (operator, part) in enumerate(parts):
        if part is None:
            continue
        if joined is None:
            # Where the side to take from was not found, a NOT has nothing to work on.
            entries = set() if operator == "NOT" and number > 0 else set(part.entries)
            joined = Found(entries, part.translation, list(part.ranking), part.composite)
            continue
        if operator == "AND":
            joined.entries &= part.entries
        elif operator == "OR":
            joined.entries |= part.entries
        else:
            joined.entries -= part.entries
        if operator != "NOT":
            joined.ranking += part.ranking
        left = joined.translation if operator == previous else joined.printed()
        joined.translation = f"{left} {operator} {part.printed()}"
        joined.composite = True
        previous = operator
    return joined


def _slashed(day: int) -> str:
    return f"{day // 10000:04d}/{day // 100 % 100:02d}/{day % 100:02d}"
