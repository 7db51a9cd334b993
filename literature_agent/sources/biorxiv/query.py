"""What a caller asks, as a filter over titles and abstracts: the servers have no keyword search (K058).

Words match whole, in any letter case; `immun*` matches a beginning; "exact phrase"; AND, OR, NOT in capitals and
parentheses. NOT binds closest, then AND, then OR; words side by side are all wanted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from literature_agent.errors import InvalidInputError, refused
from literature_agent.sources._text import quoted, require_query
from literature_agent.sources.biorxiv.categories import Server
from literature_agent.sources.biorxiv.highwire import GREEK

_DEEPEST = 50
_SHORTEST_PREFIX = 2

_TOKEN = re.compile(r'"(?P<phrase>[^"]*)"(?P<open>\*?)|(?P<bracket>[()])|(?P<word>[^\s()"]+)')
_TYPOGRAPHIC = str.maketrans("“”„«»", '"""""')
_PUBMED_TAG = re.compile(
    r"\[(?:tiab|ti|ab|tw|title|title/abstract|text words?|all fields|all|mesh(?: terms?| major topic)?|mh|majr|pt|dp|"
    r"au|la|sh|nm|ot)(?::~?\w+)?\]",
    re.I,
)
_FIELD = re.compile(r'\b(?:TITLE_ABS|TITLE|ABSTRACT|KW|ABS)\s?:\s?(?=[\w("])')
_ACCENT = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]")
_GREEK = {ord(letter): f" {name} " for name, letter in GREEK.items()}
_NOT_A_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Words:
    """Words that stand side by side; the last one may be only the beginning of a word."""

    needle: str
    written: str


@dataclass(frozen=True)
class AllOf:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class AnyOf:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Without:
    part: Node


Node: TypeAlias = "Words | AllOf | AnyOf | Without"


@dataclass(frozen=True)
class Filter:
    """A query, read."""

    tree: Node
    warnings: tuple[str, ...] = ()

    def accepts(self, title: str, abstract: str) -> bool:
        """Whether title and abstract together satisfy the query; a phrase stands in one of them."""
        return _holds(self.tree, f"{folded(title)}|{folded(abstract)}")

    @property
    def written(self) -> str:
        """How the query was read."""
        return _written(self.tree)


def folded(text: str) -> str:
    """Words in lower case without accents, a blank before and behind each; Greek letters by name (`TNF-α`)."""
    folded_case = text.casefold()
    if not text.isascii():
        folded_case = _ACCENT.sub("", unicodedata.normalize("NFKD", folded_case)).translate(_GREEK)
    return f" {_NOT_A_WORD.sub(' ', folded_case).strip()} "


def read_query(query: str, source: Server) -> Filter:
    """The query as a filter.

    Raises:
        InvalidInputError: blank, unbalanced, nothing to look for, or a `*` elsewhere than at the end of a word.
    """
    plain = require_query(query, source).translate(_TYPOGRAPHIC)
    warnings = []
    if tags := dict.fromkeys(_PUBMED_TAG.findall(plain)):
        warnings.append(f"{', '.join(tags)} is PubMed's grammar and was left out: titles and abstracts are looked at.")
        plain = _PUBMED_TAG.sub(" ", plain)
    if fields := dict.fromkeys(found.strip() for found in _FIELD.findall(plain)):
        warnings.append(f"{', '.join(fields)} was left out: titles and abstracts are looked at, no single fields.")
        plain = _FIELD.sub("", plain)
    reader = _Reader(plain, source)
    tree = reader.read()
    if not _asks(tree):
        raise refused(source, f"The query {quoted(query, 80)} only excludes: name at least one word to look for.")
    if reader.small_operators:
        names = ", ".join(dict.fromkeys(reader.small_operators))
        warnings.append(f"{names} in small letters was not read as an operator: write AND, OR, NOT in capitals.")
    return Filter(tree, tuple(warnings))


class _Reader:
    """Reads a query left to right."""

    def __init__(self, query: str, source: Server) -> None:
        self.query, self.source = query, source
        if query.count('"') % 2:
            raise self.wrong('has an open ": close it or leave it out')
        self.tokens = list(_TOKEN.finditer(query))
        self.at = 0
        self.small_operators: list[str] = []

    def wrong(self, what: str) -> InvalidInputError:
        return refused(self.source, f"The query {quoted(self.query, 80)} {what}.")

    def read(self) -> Node:
        tree = self.any_of(0)
        if self.at < len(self.tokens):
            raise self.wrong("has a closing parenthesis without its partner: balance them")
        return tree

    def peek(self) -> str:
        return self.tokens[self.at].group() if self.at < len(self.tokens) else ""

    def any_of(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.wrong(f"nests more than {_DEEPEST} parentheses: write it flatter")
        parts = [self.all_of(depth)]
        while self.peek() == "OR":
            self.at += 1
            parts.append(self.all_of(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def all_of(self, depth: int) -> Node:
        parts: list[Node] = []
        while True:
            self.skip_small_operators()
            if self.peek() in ("", ")", "OR"):
                break
            if self.peek() == "AND":
                self.at += 1
                self.skip_small_operators()
                if not parts or self.peek() in ("", ")", "OR", "AND"):
                    raise self.wrong("has an AND without a term on each side")
            parts.append(self.term(depth))
        if not parts:
            missing = self.peek()
            raise self.wrong(f"lacks a term before {missing!r}" if missing else "ends where a term is missing")
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def term(self, depth: int) -> Node:
        negative = False
        while self.peek() == "NOT":
            self.at += 1
            negative = not negative
        if self.peek() in ("", ")", "OR", "AND"):
            raise self.wrong("has a NOT without a term behind it")
        token = self.tokens[self.at]
        self.at += 1
        node: Node
        if token["bracket"]:
            node = self.any_of(depth + 1)
            if self.peek() != ")":
                raise self.wrong("has an opening parenthesis without its partner: balance them")
            self.at += 1
        else:
            node = self.words(token)
        return Without(node) if negative else node

    def words(self, token: re.Match[str]) -> Words:
        if token["word"] is not None:
            text, is_beginning = token["word"].rstrip(".,;:"), False
        else:
            text, is_beginning = token["phrase"].strip(), bool(token["open"])
        if text.endswith("*"):
            text, is_beginning = text[:-1], True
        if "*" in text or "?" in text.rstrip("?"):
            raise self.wrong(f"has a wildcard inside {quoted(text, 40)}: only an ending may be open, as in immun*")
        bare = folded(text)
        if not bare.strip():
            raise self.wrong(f"has {quoted(token.group(), 40)}, which holds no word: leave it out")
        if is_beginning and len(bare.split()[-1]) < _SHORTEST_PREFIX:
            raise self.wrong(f"has {quoted(token.group(), 40)}: write at least {_SHORTEST_PREFIX} letters before *")
        several = " " in bare.strip()
        written = f'"{bare.strip()}"' if several else bare.strip()
        return Words(bare[:-1] if is_beginning else bare, written + "*" * is_beginning)

    def skip_small_operators(self) -> None:
        while self.peek() in ("and", "or", "not"):
            self.small_operators.append(self.peek())
            self.at += 1


def _holds(node: Node, text: str) -> bool:
    if isinstance(node, Words):
        return node.needle in text
    if isinstance(node, AllOf):
        return all(_holds(part, text) for part in node.parts)
    if isinstance(node, AnyOf):
        return any(_holds(part, text) for part in node.parts)
    return not _holds(node.part, text)


def _asks(node: Node) -> bool:
    """Whether the query names something that must be there; else it would list everything."""
    if isinstance(node, Words):
        return True
    if isinstance(node, AllOf):
        return any(_asks(part) for part in node.parts)
    return isinstance(node, AnyOf) and all(_asks(part) for part in node.parts)


def _written(node: Node) -> str:
    if isinstance(node, Words):
        return node.written
    if isinstance(node, Without):
        return f"NOT {_bracketed([node.part])[0]}"
    return (" AND " if isinstance(node, AllOf) else " OR ").join(_bracketed(node.parts))


def _bracketed(parts: Iterable[Node]) -> list[str]:
    return [f"({_written(part)})" if isinstance(part, AllOf | AnyOf) else _written(part) for part in parts]
