"""Spelling suggestions from the words of a corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping

from literature_agent.sandbox.syntax import plain

_SHORTEST = 4
_WIDEST = 2
_LONG = 8
"""Letters of a word in which two may be wrong: `stings` is no misspelt `ratings`."""
# Letters alone: a word with a digit, a truncated one, and what stands in square brackets are left alone.
_WORD = re.compile(r"\[[^\]]*\]|[^\W_]+\*?")


def suggestion(query: str, vocabulary: Mapping[str, int]) -> tuple[str, list[tuple[str, str]]]:
    """The query with each unknown word replaced by its nearest known one, and the pairs; `("", [])` for no change.

    Nearest: one letter added, left out, changed or swapped, two in a long word; among equals the word in most
    records. Words with digits, truncated words and field tags are left alone, and so is a word whose singular or
    plural is known.
    """
    replaced: list[tuple[str, str]] = []

    def corrected(found: re.Match[str]) -> str:
        word = found.group()
        bare = plain(word)
        better = None
        if word.isalpha() and len(bare) >= _SHORTEST and not any(form in vocabulary for form in (bare, *forms(bare))):
            better = _nearest(bare, vocabulary)
        if better:
            replaced.append((word, better))
        return better or word.lower()

    text = " ".join(_WORD.sub(corrected, query).split())
    return (text, replaced) if replaced else ("", [])


def forms(word: str) -> set[str]:
    """The plurals of a word in lower case, and what it may be the plural of; not all of them are words."""
    others = {f"{word}s", f"{word}es", f"{word[:-1]}ies" if word.endswith("y") else ""}
    if word.endswith("s") and not word.endswith("ss"):
        others |= {word[:-1], word[:-2] if word.endswith("es") else ""}
        others |= {f"{word[:-3]}y" if word.endswith("ies") else ""}
    return {form for form in others if len(form) > 2}


def _nearest(word: str, vocabulary: Mapping[str, int]) -> str | None:
    best: tuple[int, int, str] | None = None
    widest = _WIDEST if len(word) >= _LONG else 1
    for candidate, records in vocabulary.items():
        if abs(len(candidate) - len(word)) > widest or not candidate.isalpha() or not _shares_an_end(word, candidate):
            continue
        distance = edit_distance(word, candidate, limit=widest)
        if distance is not None and (best is None or (distance, -records, candidate) < best):
            best = (distance, -records, candidate)
    return best[2] if best else None


def _shares_an_end(word: str, candidate: str) -> bool:
    # Misspellings seldom touch both ends of a word; comparing the rest letter by letter would be slow.
    return word[:2] == candidate[:2] or word[-2:] == candidate[-2:]


def edit_distance(left: str, right: str, *, limit: int) -> int | None:
    """Letters to add, remove, change or swap with a neighbour to get from one word to the other; None above `limit`."""
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, letter in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            cost = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return None
        before, previous = previous, current
    return previous[-1] if previous[-1] <= limit else None
