"""Papers and their sentences, told in prose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from literature_agent.agents.abstracts import Sentence
from literature_agent.agents.evidence import UNTYPED, Paper

_TYPE_NAMES = {
    UNTYPED.lower(): "paper",
    "randomized controlled trial": "randomised controlled trial",
    "clinical trial, phase iii": "phase III trial",
    "clinical trial, phase ii": "phase II trial",
    "clinical trial, phase i": "phase I trial",
    "clinical trial protocol": "trial protocol",
    "multicenter study": "multicentre study",
    "case reports": "case report",
    "comment": "commentary",
}


def cited(introduction: str, sentence: Sentence, reference: str) -> str:
    """`A trial concludes: “...” «reference».` One sentence that carries its reference."""
    words = sentence.text.rstrip(".").translate(_INNER_QUOTES)
    return f"{introduction}: “{words}” {reference}."


_INNER_QUOTES = str.maketrans({"“": "‘", "”": "’", '"': "'"})


def study_of(paper: Paper) -> str:
    """`randomised controlled trial of 2021`, `preprint of 2023, not peer-reviewed,`."""
    kind = _TYPE_NAMES.get(paper.study_type.lower(), paper.study_type.lower())
    of = f" of {paper.year}" if paper.year else ""
    if "preprint" not in paper.marks:
        return f"{kind}{of}"
    return (
        f"preprint{of}, not peer-reviewed,"
        if kind in ("paper", "preprint")
        else f"{kind}{of}, a preprint not peer-reviewed,"
    )


def with_article(noun: str) -> str:
    """`A trial`, `An editorial`."""
    return f"{'An' if noun[0] in 'aeiou' else 'A'} {noun}"


def listing(words: Sequence[str]) -> str:
    """`metformin, insulin and diet`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def number_of(of: int, noun: str) -> str:
    """`one work`, `3 works`."""
    return f"one {noun}" if of == 1 else f"{of} {noun}s"


def references_of(papers: Iterable[Paper]) -> str:
    """The references, parted by blanks."""
    return " ".join(paper.reference for paper in papers)


def told_by(paper: Paper, sentence: Sentence) -> str:
    """`cited`, with what kind of paper it is and whether it concludes so."""
    verb = "concludes" if sentence.concludes else "reports"
    return cited(f"{with_article(study_of(paper))} {verb}", sentence, paper.reference)


def capital(text: str) -> str:
    """With a capital at its beginning."""
    return f"{text[0].upper()}{text[1:]}"
