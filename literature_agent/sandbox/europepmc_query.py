"""Europe PMC's query language, read into a tree. Pure: no index, no corpus.

`AND`, `OR`, `NOT` and `AND NOT` in upper case, AND binding tighter than OR; neighbours are joined by AND;
`FIELD:term`, `FIELD:"a phrase"`, `FIELD:(a OR b)`, `FIELD:[a TO b]`. A name that is no field of Europe PMC is read
as words. No text is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from literature_agent.sandbox.syntax import EVERYTHING, Group, Node, Operator, Span, Term, tokens

_DEEPEST = 100

_FIELD = re.compile(r"([A-Za-z][A-Za-z_]*):(?=\S)")
_RANGE = re.compile(r"[\[{]\s*([^\s\[\]{}]+)\s+TO\s+([^\s\[\]{}]+)\s*[\]}]")
_WORD = re.compile(r'[^\s()"]+')
_OPERATORS: dict[str, Operator] = {"AND": "AND", "OR": "OR", "NOT": "NOT"}

WORD_FIELDS: dict[str, tuple[str, ...]] = {
    "TITLE": ("title",),
    "ABSTRACT": ("abstract",),
    "TITLE_ABS": ("title", "abstract"),
    "KW": ("keywords",),
    "MESH": ("mesh",),
    "CHEM": ("substances",),
    "AFF": ("affiliations",),
    "AUTH": ("authors",),
    "BODY": ("body",),
    "METHODS": ("body",),
    "RESULTS": ("body",),
    "DISCUSS": ("body",),
    "CONCL": ("body",),
    "INTRO": ("body",),
}
VALUE_FIELDS = frozenset(
    {
        "ACCESSION_ID",
        "AUTHORID",
        "AUTH_FIRST",
        "AUTH_LAST",
        "CITES",
        "DOI",
        "ESSN",
        "EXT_ID",
        "GRANT_AGENCY",
        "GRANT_ID",
        "HAS_ABSTRACT",
        "HAS_FREE_FULLTEXT",
        "HAS_FT",
        "HAS_PDF",
        "HAS_REFLIST",
        "IN_EPMC",
        "IN_PMC",
        "ISSN",
        "ISSUE",
        "JOURNAL",
        "LANG",
        "LICENSE",
        "OPEN_ACCESS",
        "PAGE_INFO",
        "PMCID",
        "PUBLISHER",
        "PUB_TYPE",
        "SRC",
        "VOLUME",
    }
)
RANGE_FIELDS = frozenset(
    {"CITED", "CREATION_DATE", "E_PDATE", "FIRST_IDATE", "FIRST_PDATE", "PUB_YEAR", "P_PDATE", "UPDATE_DATE"}
)
_SORT_FIELDS = {"SORT_DATE": "P_PDATE_D", "SORT_CITED": "CITED"}

# Words that carry nothing in a full-text index (Lucene's English list).
_LUCENE_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this"
    " to was will with"
)
STOP_WORDS = frozenset(_LUCENE_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The tree (None for a query without a single word) and the sort that `sort_date:y` or `sort_cited:y` asks for."""

    tree: Node | None
    sort: str = ""


def parse_europepmc(text: str) -> ParsedQuery:
    reader = _Reader(text.translate({0x201C: '"', 0x201D: '"'}))
    return ParsedQuery(tree=reader.read(), sort=reader.sort)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.sort = ""
        self._frames = [Group()]

    def read(self) -> Node | None:
        while self.at < len(self.text):
            self._step()
        while len(self._frames) > 1:
            self._close()
        return self._frames[0].closed()

    def _step(self) -> None:
        character = self.text[self.at]
        if character.isspace():
            self.at += 1
        elif character == "(":
            self._open(self._frames[-1].name)
        elif character == ")":
            self.at += 1
            self._close()
        elif not self._fielded():
            self._value(self._frames[-1].name)

    def _open(self, name: str | None) -> None:
        self.at += 1
        if len(self._frames) < _DEEPEST:
            self._frames.append(Group(name))

    def _close(self) -> None:
        if len(self._frames) > 1:
            node = self._frames.pop().closed()
            if node is not None:
                self._frames[-1].operand(node)

    def _fielded(self) -> bool:
        found = _FIELD.match(self.text, self.at)
        if not found:
            return False
        name = found[1].upper()
        if name in _SORT_FIELDS:
            self.at = found.end()
            if word := _WORD.match(self.text, self.at):
                self.at = word.end()
                if word[0].lower() in {"y", "yes", "true"}:
                    self.sort = f"{_SORT_FIELDS[name]} desc"
            return True
        if name not in WORD_FIELDS and name not in VALUE_FIELDS and name not in RANGE_FIELDS:
            return False
        self.at = found.end()
        if self.text[self.at] == "(":
            self._open(name)
        else:
            self._value(name)
        return True

    def _value(self, name: str | None) -> None:
        """A range, a phrase, a word or an operator at this place."""
        span = _RANGE.match(self.text, self.at) if name in RANGE_FIELDS else None
        if span and name:
            self.at = span.end()
            self._frames[-1].operand(Span(name, _bound(span[1]), _bound(span[2])))
        elif self.text[self.at] == '"':
            end = self.text.find('"', self.at + 1)
            phrase = " ".join(self.text[self.at + 1 : end].split()) if end > 0 else ""
            self.at = end + 1 if end > 0 else self.at + 1
            if tokens(phrase):
                self._frames[-1].operand(Term(phrase, name, quoted=True))
        elif word := _WORD.match(self.text, self.at):
            self.at = word.end()
            self._word(word[0], name)
        else:
            self.at += 1

    def _word(self, word: str, name: str | None) -> None:
        if word in _OPERATORS:
            self._frames[-1].operator(_OPERATORS[word])
        elif word in {"*", "*:*"} and name is None:
            self._frames[-1].operand(EVERYTHING)
        elif tokens(word) and (name is not None or word.lower() not in STOP_WORDS):
            self._frames[-1].operand(Term(word, name))


def _bound(text: str) -> str:
    return "" if text == "*" else text.strip("\"'")
