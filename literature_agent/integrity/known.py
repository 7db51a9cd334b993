"""What a run's own works would give away in prose: their authors, journals, titles and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from literature_agent.artifacts import CitationArtifact
from literature_agent.integrity.folding import fold

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_JOURNAL_WORD = re.compile(r"[^\W_](?:\w|-(?=\w))*|&")
_TOKEN = re.compile(r"[^\W_]+|&")
# The same for ASCII, several times as fast.
_APART = {code: " " for code in range(128) if not chr(code).isalnum()} | {ord("&"): " and "}

SHORTEST_TITLE = 5
"""Words. A shorter title is a phrase that prose may hold by chance, unless it stands in quotation marks."""
SHORTEST_QUOTED_TITLE = 3


# Letters of one piece, that no decomposition makes plain.
_STROKED = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h", "ı": "i"}
    | {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "þ": "th", "Þ": "Th"}
)
# As names are written where there are no such letters: `Mueller`, `Soerensen`.
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


class Person(NamedTuple):
    """A family name, and how the rest of the name may be written."""

    family: str
    initials: str
    given: str


def bare(word: str) -> str:
    """`word` in lower case without accents, to compare names by."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word.translate(_STROKED))
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()


def name_words(text: str) -> Iterator[re.Match[str]]:
    """Words as names are: `Ben-David`, `O'Brien`, left to right."""
    return _WORD.finditer(text)


def plain_words(text: str) -> list[str]:
    """The words of `text` for comparing titles and questions: letters and digits only, lower case, no accents, `&` as
    `and`."""
    if text.isascii():
        return text.lower().translate(_APART).split()
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
    texts: tuple[str, ...] = ()
    """Titles and abstracts, each once."""

    @cached_property
    def journal_names(self) -> dict[str, list[tuple[str, ...]]]:
        """Words of each journal whose name has several, by the first."""
        return names_by_first_word(self.journals)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Family names that titles and abstracts of the works hold as words: `Parkinson`."""
        return frozenset(word for text in self.texts for word in plain_words(text) if word in self.people)

    @classmethod
    def of(cls, works: Iterable[CitationArtifact]) -> Known:
        # Copies of one work have most of this in common, and each thing is read once.
        authors: dict[tuple[str, str, str], None] = {}
        journals: set[str] = set()
        pmids: set[str] = set()
        endings: set[str] = set()
        titles: dict[str, None] = {}
        abstracts: dict[str, None] = {}
        for work in works:
            for author in work.authors:
                authors[author.family or author.collective or "", author.initials or "", author.given or ""] = None
            journals.update(name for name in (work.journal, work.journal_abbreviation) if name)
            if pmid := getattr(work, "pmid", None):
                pmids.add(pmid)
            for doi in (work.doi, *work.alternate_dois):
                ending = (doi or "").partition("/")[2]
                if len(ending) >= 8 and any(c.isdigit() for c in ending):
                    endings.add(ending.casefold())
            titles[work.title] = None
            abstracts[work.abstract_text or ""] = None
        people: dict[str, list[Person]] = {}
        for family, initials, given in authors:
            _add_person(people, family, initials, given)
        folded = dict.fromkeys(fold(title).text for title in titles)
        by_first_words: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for words in dict.fromkeys(tuple(plain_words(title)) for title in folded):
            if len(words) >= SHORTEST_QUOTED_TITLE:
                by_first_words.setdefault(words[:SHORTEST_QUOTED_TITLE], []).append(words)
        return cls(
            people,
            frozenset(map(journal_key, journals)) - {""},
            frozenset(pmids),
            frozenset(endings),
            by_first_words,
            (*folded, *abstracts),
        )


def _add_person(people: dict[str, list[Person]], family: str, initials: str, given: str) -> None:
    if family.isascii() and family.isalpha():
        words = [family.lower()]
    else:
        words = [bare(match.group()) for match in name_words(fold(family).text)]
    if not words or len(words[-1]) < 2:
        return
    initials = initials or "".join(part[0] for part in re.split(r"[\s-]+", given) if part)
    if not initials.isalpha():
        initials = re.sub(r"\W", "", initials)
    given = bare(given.split(" ")[0])
    person = Person(" ".join(words), bare(initials), given if len(given) > 1 else "")
    spelled_out = bare(re.split(r"\s", family.strip())[-1].lower().translate(_SPELLED_OUT))
    for key in {words[-1], spelled_out}:
        same_name = people.setdefault(key, [])
        if person not in same_name:
            same_name.append(person)


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
