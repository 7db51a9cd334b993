"""Answers a parsed Europe PMC query over an index. Unlike PubMed, a word that is nowhere leaves nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from literature_agent.sandbox.europepmc_query import RANGE_FIELDS, STOP_WORDS, WORD_FIELDS
from literature_agent.sandbox.pubmed_fields import LANGUAGES
from literature_agent.sandbox.syntax import EVERYTHING, Chain, Node, Span, Term, plain, tokens
from literature_agent.sandbox.text_index import TextIndex

_DATE = re.compile(r"^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$")
_FIRST, _LAST = 0, 99_991_231
_NUMBERS = frozenset({"CITED", "PUB_YEAR"})


@dataclass(slots=True)
class Found:
    entries: set[int]
    ranking: list[str] = field(default_factory=list)


def search_europepmc_index(index: TextIndex, tree: Node, *, synonyms: bool = False) -> Found:
    """Entries that match the tree and the expressions to rank them by; `synonyms` adds plurals and singulars."""
    return _Search(index, synonyms).evaluate(tree)


class _Search:
    def __init__(self, index: TextIndex, synonyms: bool) -> None:
        self.index = index
        self.synonyms = synonyms

    def evaluate(self, node: Node) -> Found:
        if isinstance(node, Chain):
            return self._chain(node)
        if isinstance(node, Span):
            return Found(self._between(node.field, node.low, node.high))
        if node == EVERYTHING:
            return Found(self.index.everything())
        if node.field is None or node.field in WORD_FIELDS:
            return self._words(node)
        if node.field in RANGE_FIELDS:
            return Found(self._between(node.field, node.text, node.text))
        return Found(self._value(node.field, node.text))

    def _chain(self, chain: Chain) -> Found:
        if _is_unanswered_lookup(chain):
            return Found(set())
        joined: Found | None = None
        for operator, part in chain.parts:
            found = self.evaluate(part)
            if joined is None:
                joined = Found(set(found.entries), list(found.ranking))
            elif operator == "AND":
                joined.entries &= found.entries
            elif operator == "OR":
                joined.entries |= found.entries
            else:
                joined.entries -= found.entries
            if operator != "NOT":
                joined.ranking += found.ranking
        assert joined is not None
        return joined

    def _words(self, term: Term) -> Found:
        columns = WORD_FIELDS[term.field] if term.field else None
        text = term.text.rstrip("*")
        if not term.quoted and plain(text) in STOP_WORDS:
            return Found(self.index.everything())
        short_name = term.field == "AUTH" and len(words := tokens(text)) > 1 and len(words[-1]) <= 2
        prefix = term.text.endswith("*") or short_name
        forms = [text]
        if self.synonyms and not prefix and not term.quoted:
            bare = plain(text)
            others = (f"{bare}s", bare.removesuffix("s"))
            forms += [form for form in others if form != bare and form in self.index.vocabulary]
        entries: set[int] = set()
        ranking: list[str] = []
        for form in forms:
            entries |= self.index.matching(form, columns, prefix=prefix)
            expression = self.index.expression(form, columns, prefix=prefix)
            ranking += [expression] if expression else []
        return Found(entries, ranking)

    def _value(self, name: str, text: str) -> set[int]:
        value, prefix = text.rstrip("*"), text.endswith("*")
        if name == "LANG":
            value = LANGUAGES.get(value.lower(), value)
        elif name == "PMCID" and value.isdecimal():
            value = f"PMC{value}"
        elif value.lower() in {"yes", "true", "no", "false"}:
            value = "Y" if value.lower() in {"yes", "true"} else "N"
        elif name in {"AUTH_FIRST", "AUTH_LAST"}:
            prefix = True
        return self.index.with_value(name, value, prefix=prefix)

    def _between(self, name: str, low: str, high: str) -> set[int]:
        if name in _NUMBERS:
            first, last = low[:9] or str(_FIRST), high[:9] or str(_LAST)
            if not (first.isascii() and first.isdecimal() and last.isascii() and last.isdecimal()):
                return set()
            return self.index.between(name, int(first), int(last))
        lower, upper = _bounds(low, _FIRST), _bounds(high, _LAST)
        return self.index.between(name, lower[0], upper[1]) if lower and upper else set()


def _is_unanswered_lookup(chain: Chain) -> bool:
    """`EXT_ID:"1" AND SRC:MED`, the quoted form that matches nothing at Europe PMC."""
    direct = [part for operator, part in chain.parts if operator == "AND" and isinstance(part, Term)]
    return any(t.field == "EXT_ID" and t.quoted for t in direct) and any(t.field == "SRC" for t in direct)


def _bounds(text: str, otherwise: int) -> tuple[int, int] | None:
    if not text:
        return otherwise, otherwise
    found = _DATE.match(text)
    if not found:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    stem = (year or 0) * 10_000
    if month is None:
        return stem + 101, stem + 1231
    return stem + month * 100 + (day or 1), stem + month * 100 + (day or 31)
