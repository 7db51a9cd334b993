"""What a run's own works would give away in prose: their authors, journals, titles and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from literature_agent.artifacts import Author, CitationArtifact
from literature_agent.integrity.folding import fold

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_JOURNAL_WORD = re.compile(r"[^\W_](?:\w|-(?=\w))*|&")
_TOKEN = re.compile(r"[^\W_]+|&")

SHORTEST_TITLE = 5
"""Words. A shorter title is a phrase that prose may hold by chance, unless it stands in quotation marks."""
SHORTEST_QUOTED_TITLE = 3


class Person(NamedTuple):
    """A family name, and how the rest of the name may be written."""

    family: str
    initials: str
    given: str


def bare(word: str) -> str:
    """`word` in lower case without accents, to compare names by."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()


def name_words(text: str) -> Iterator[re.Match[str]]:
    """Words as names are: `Ben-David`, `O'Brien`, left to right."""
    return _WORD.finditer(text)


def plain_words(text: str) -> list[str]:
    """The words of `text` for comparing titles and questions: letters and digits only, lower case, no accents, `&` as
    `and`."""
    if text.isascii():
        words = _TOKEN.findall(text.lower())
        return ["and" if word == "&" else word for word in words] if "&" in text else words
    return plain_tokens(text)[1]


def plain_tokens(text: str) -> tuple[list[re.Match[str]], list[str]]:
    """Where the words of `text` stand, and how `plain_words` gives them."""
    tokens = list(_TOKEN.finditer(text))
    return tokens, ["and" if token.group() == "&" else bare(token.group()) for token in tokens]


@dataclass(frozen=True)
class Known:
    """What is known of the works that a run has got. Built once for a draft."""

    people: dict[str, list[Person]] = field(default_factory=dict)
    """By the last word of the family name, bare."""
    journals: frozenset[str] = frozenset()
    pmids: frozenset[str] = frozenset()
    doi_endings: frozenset[str] = frozenset()
    """What stands behind the first slash of a DOI, where it is telling."""
    titles: dict[tuple[str, ...], list[tuple[str, ...]]] = field(default_factory=dict)
    """Words of each title, by its first words."""
    terms: frozenset[str] = frozenset()
    """Family names that titles and abstracts of the works hold as words: `Parkinson`."""

    @cached_property
    def journal_names(self) -> dict[str, list[tuple[str, ...]]]:
        """Words of each journal whose name has several, by the first."""
        return names_by_first_word(self.journals)

    @classmethod
    def of(cls, works: Iterable[CitationArtifact]) -> Known:
        known = cls()
        journals: set[str] = set()
        pmids: set[str] = set()
        endings: set[str] = set()
        spoken: set[str] = set()
        for work in works:
            for author in work.authors:
                known._add_person(author)
            journals.update(journal_key(name) for name in (work.journal, work.journal_abbreviation) if name)
            if pmid := getattr(work, "pmid", None):
                pmids.add(pmid)
            for doi in (work.doi, *work.alternate_dois):
                ending = (doi or "").partition("/")[2]
                if len(ending) >= 8 and any(c.isdigit() for c in ending):
                    endings.add(ending.casefold())
            words = tuple(plain_words(fold(work.title).text))
            spoken.update(words, plain_words(work.abstract_text or ""))
            if len(words) >= SHORTEST_QUOTED_TITLE:
                titles = known.titles.setdefault(words[:SHORTEST_QUOTED_TITLE], [])
                if words not in titles:
                    titles.append(words)
        terms = frozenset(spoken.intersection(known.people))
        return cls(known.people, frozenset(journals - {""}), frozenset(pmids), frozenset(endings), known.titles, terms)

    def _add_person(self, author: Author) -> None:
        family = author.family or author.collective or ""
        if family.isascii() and family.isalpha():
            words = [family.lower()]
        else:
            words = [bare(match.group()) for match in name_words(fold(family).text)]
        if not words or len(words[-1]) < 2:
            return
        initials = author.initials or "".join(part[0] for part in re.split(r"[\s-]+", author.given or "") if part)
        if not initials.isalpha():
            initials = re.sub(r"\W", "", initials)
        given = bare((author.given or "").split(" ")[0])
        person = Person(" ".join(words), bare(initials), given if len(given) > 1 else "")
        people = self.people.setdefault(words[-1], [])
        if person not in people:
            people.append(person)


def journal_key(name: str) -> str:
    """A journal's name to compare by: lower case, without full stops, brackets and `The`."""
    plain = " ".join(re.sub(r"\([^()]*\)", " ", bare(name)).replace(".", " ").replace(",", " ").split())
    return plain.removeprefix("the ")


def journal_words(text: str) -> Iterator[re.Match[str]]:
    """The words of a journal's name, or of prose that may hold one, without `'s`."""
    return _JOURNAL_WORD.finditer(text)


def names_by_first_word(keys: Iterable[str]) -> dict[str, list[tuple[str, ...]]]:
    """Words of the names of several words among `keys`, by the first of them, longest first."""
    names: dict[str, list[tuple[str, ...]]] = {}
    for key in sorted(keys, key=lambda key: (-len(key), key)):
        words = tuple(match.group() for match in journal_words(key))
        if len(words) > 1:
            names.setdefault(words[0], []).append(words)
    return names
