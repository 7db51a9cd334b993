"""PubMed's query language, read into a tree. Pure: no index, no corpus.

The rules are those of PubMed's help page: upper-case operators work from left to right, parentheses group, a tag
belongs to the words before it, and untagged neighbours are joined by AND. No text is refused: what cannot be
understood is searched as words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from literature_agent.sandbox.pubmed_fields import Field, field_named, read_tag
from literature_agent.sandbox.syntax import Node, Operator, Span, Term, chained, tokens

# Deeper parentheses than any person writes are read as spaces, so that no text exhausts the stack.
_DEEPEST = 100

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " ", "\u200b": " "})
_VALUE = r'(?:"\s*[\d/]{1,10}\s*"|[\d/]{1,10})'
_SPAN = re.compile(rf"({_VALUE})\s*(?:\[([^\[\]]*)\])?\s*:\s*({_VALUE})\s*\[([^\[\]]*)\]")
_BRACKET = re.compile(r"\s*\[([^\[\]]{1,60})\]")
_WORD = re.compile(r'[^\s()"\[\]]+')
_OPERATORS: dict[str, Operator] = {"AND": "AND", "OR": "OR", "NOT": "NOT"}
_GLUED = re.compile(r"(?!(?:AND|OR|NOT)\b)[\w-]")
_UNKNOWN_TAG = re.compile(r"^[A-Za-z][A-Za-z/ :_-]*[A-Za-z]$")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The tree (None for a query without a single word) and the tags that name no field."""

    tree: Node | None
    unknown_tags: tuple[str, ...] = ()


def parse_pubmed(text: str, *, default_field: str | None = None) -> ParsedQuery:
    """Read a query. `default_field` is ESearch's `field=`: the tag for every term that has none."""
    default = field_named(default_field) if default_field else None
    reader = _Reader(text.translate(_QUOTES), default)
    tree = reader.read()
    unknown = dict.fromkeys(reader.unknown_tags)
    if default_field and default is None:
        unknown[default_field] = None
    return ParsedQuery(tree=tree, unknown_tags=tuple(unknown))


@dataclass(slots=True)
class _Frame:
    """One open parenthesis: the parts read so far and the operator waiting for its right side."""

    parts: list[tuple[Operator, Node]] = field(default_factory=list)
    waiting: Operator | None = None

    def operator(self, operator: Operator) -> None:
        # The first of two operators counts: this is how PubMed turns `AND NOT x` into `AND x`.
        if self.parts and self.waiting is None:
            self.waiting = operator

    def operand(self, node: Node) -> None:
        self.parts.append((self.waiting or "AND", node))
        self.waiting = None

    def closed(self) -> Node | None:
        return chained(self.parts)


class _Reader:
    def __init__(self, text: str, default: Field | None) -> None:
        self.text = text
        self.at = 0
        self.default = default
        self.unknown_tags: list[str] = []
        self._frames = [_Frame()]
        self._run: list[str] = []

    def read(self) -> Node | None:
        while self.at < len(self.text):
            self._step()
        self._end_run(None)
        while len(self._frames) > 1:
            self._close()
        return self._frames[0].closed()

    def _step(self) -> None:
        character = self.text[self.at]
        if character.isspace():
            self.at += 1
        elif character == "(":
            self._end_run(None)
            self.at += 1
            if len(self._frames) < _DEEPEST:
                self._frames.append(_Frame())
        elif character == ")":
            self._end_run(None)
            self.at += 1
            self._close()
        elif not self._span() and not self._phrase():
            self._word()

    def _close(self) -> None:
        if len(self._frames) > 1:
            node = self._frames.pop().closed()
            if node is not None:
                self._frames[-1].operand(node)

    def _span(self) -> bool:
        found = _SPAN.match(self.text, self.at)
        if not found:
            return False
        low, low_tag, high, high_tag = (part or "" for part in found.groups())
        known = read_tag(high_tag)
        if known is None or known.field.kind not in {"date", "id"} or (low_tag and read_tag(low_tag) is None):
            return False
        self._end_run(None)
        self._frames[-1].operand(Span(known.field.name, low.strip('" '), high.strip('" ')))
        self.at = found.end()
        return True

    def _phrase(self) -> bool:
        if self.text[self.at] != '"':
            return False
        end = self.text.find('"', self.at + 1)
        if end < 0:
            self.at += 1
            return True
        phrase = " ".join(self.text[self.at + 1 : end].split())
        self.at = end + 1
        self._end_run(None)
        tag = self._tag_here()
        if tokens(phrase):
            self._add(phrase, tag, quoted=True)
        return True

    def _word(self) -> None:
        """A word with the brackets that belong to it, an operator, or the tag that ends a run of words."""
        start = self.at
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                if self._is_tag():
                    break
                end = self.text.find("]", self.at)
                following = self.text[self.at + 1 : end] if end > 0 else ""
                self.at = end + 1 if following and not set(following) & set('[()" ') else self.at + 1
            elif self.text[self.at] == "]":
                self.at += 1
            elif found := _WORD.match(self.text, self.at):
                self.at = found.end()
            else:
                break
        word = self.text[start : self.at]
        operator = _OPERATORS.get(word)
        if operator is not None and not self._is_tag():
            self._end_run(None)
            self._frames[-1].operator(operator)
            return
        if tokens(word):
            self._run.append(word)
        if self._is_tag():
            self._end_run(self._tag_here())

    def _is_tag(self) -> bool:
        """Whether a field tag stands here. Known names may follow a space; unknown ones must touch the term."""
        found = _BRACKET.match(self.text, self.at)
        if not found:
            return False
        if _GLUED.match(self.text, found.end()):
            return False
        if read_tag(found[1]) is not None:
            return True
        touches = self.at > 0 and self.text[self.at] == "[" and not self.text[self.at - 1].isspace()
        return touches and bool(_UNKNOWN_TAG.match(found[1].strip()))

    def _tag_here(self) -> str | None:
        if not self._is_tag():
            return None
        found = _BRACKET.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return found[1].strip()

    def _end_run(self, tag: str | None) -> None:
        if self._run:
            words, self._run = self._run, []
            self._add(" ".join(words), tag, quoted=False)

    def _add(self, text: str, tag: str | None, *, quoted: bool) -> None:
        known = read_tag(tag) if tag is not None else None
        if tag is not None and known is None:
            self.unknown_tags.append(tag)
        if known is None:
            name = self.default.name if self.default is not None else None
            term = Term(text, name, quoted=quoted)
        else:
            term = Term(text, known.field.name, quoted=quoted, explode=known.explode, near=known.near)
        self._frames[-1].operand(term)
