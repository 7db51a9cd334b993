"""What a pattern of the guard finds."""

from __future__ import annotations

from typing import Literal, NamedTuple

LeakKind = Literal[
    "doi",
    "pmid",
    "pmcid",
    "nct",
    "isrctn",
    "eudract",
    "arxiv",
    "ppr",
    "nbk",
    "registry",
    "url",
    "key",
    "author-year",
    "journal-year",
    "marker",
    "title",
]


class Hit(NamedTuple):
    """`folded.text[start:end]` is something that prose must not hold."""

    kind: LeakKind
    start: int
    end: int
    value: str | None = None
    """The identifier in its written form, where it is spelled exactly."""
