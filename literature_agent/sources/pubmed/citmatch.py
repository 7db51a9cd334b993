"""Asks ECitMatch for the PMIDs of citations: `journal|year|volume|first page|author|key|`, a line each.

The answer is lines of text whatever format is asked for. Journal, volume and page decide, author and year may disagree
with the record found: what is matched here is a candidate, to be compared with the record. Lines come back by a key of
ours, for callers' keys may repeat (K007, K008).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from literature_agent.errors import SourceError
from literature_agent.ids import normalise_pmid
from literature_agent.sources._eutils import check_answer, eutils_request, unusable
from literature_agent.sources._text import clean_text
from literature_agent.sources.pubmed.query import NAME
from literature_agent.transport import A_DAY, Answer, Request, TransientAnswer, Transport

BATCH = 50
"""Citations of one request."""

_KEY = "lacit{}x"
_LINE_END = re.compile(r"[\r\n]+")
_AMBIGUOUS = re.compile(r"AMBIGUOUS\b[\s;:]*(?P<rest>.*)", re.I)


@dataclass(frozen=True)
class Locator:
    """Where a citation says that its article stands. Journal, volume and page are needed."""

    journal: str
    volume: str
    first_page: str
    year: str = ""
    author: str = ""


@dataclass(frozen=True)
class Located:
    """Candidates for one citation; `is_ambiguous` where NCBI knows several and names none, or all of them."""

    pmids: tuple[str, ...] = ()
    is_ambiguous: bool = False


@dataclass(frozen=True)
class Lines:
    """Answers by place of the citation in what was asked; each place is in exactly one of the two."""

    located: Mapping[int, Located]
    failed: Mapping[int, SourceError]


def locate_request(locators: Mapping[int, Locator]) -> Request:
    """ECitMatch for the citations, each under a key made of its place."""
    rows = [
        "|".join(_cell(text) for text in (one.journal, one.year, one.volume, one.first_page, one.author))
        + f"|{_KEY.format(place)}|"
        for place, one in locators.items()
    ]
    params = [("db", "pubmed"), ("retmode", "xml"), ("bdata", "\r".join(rows))]
    return eutils_request(NAME, "ecitmatch.cgi", params, max_age_s=A_DAY)


def read_lines(answer: Answer, places: Sequence[int]) -> dict[int, Located]:
    """What the lines say, by place; a citation without a line is missing.

    Raises:
        TransientAnswer: a passing fault: a web page, or not a single line that belongs to a citation asked.
        SourceError: NCBI refused the request.
    """
    text = answer.body.decode("utf-8", "replace").strip("\ufeff \r\n")
    if answer.status != 200 or answer.looks_like_html() or text.startswith(("<", "{")):
        check_answer(answer, NAME)
        raise unusable(answer, NAME)
    by_key = {_KEY.format(place): place for place in places}
    found: dict[int, Located] = {}
    for line in _LINE_END.split(text):
        cells = [cell.strip() for cell in line.split("|")]
        at = next((at for at in range(len(cells) - 1, -1, -1) if cells[at] in by_key), None)
        if at is not None and (outcome := _outcome(" ".join(filter(None, cells[at + 1 :])))) is not None:
            found[by_key[cells[at]]] = outcome
    if not found:
        raise TransientAnswer("ECitMatch gave no line for any citation.", kind="invalid_response")
    return found


async def locate(transport: Transport, locators: Sequence[Locator]) -> Lines:
    """Candidates for each citation. Those that a batch leaves out, as a batch does behind a line it cannot read, are
    asked again by themselves; a part that fails costs no other."""
    located: dict[int, Located] = {}
    failed: dict[int, SourceError] = {}
    waiting = [dict(list(enumerate(locators))[start : start + BATCH]) for start in range(0, len(locators), BATCH)]
    while waiting:
        batch = waiting.pop(0)
        places = list(batch)
        try:
            lines = await transport.send(locate_request(batch), partial(read_lines, places=places))
        except SourceError as error:
            if error.reason == f"{NAME}_invalid_response" and len(places) > 1:
                middle = len(places) // 2
                waiting += [{place: batch[place] for place in half} for half in (places[:middle], places[middle:])]
            else:
                failed |= dict.fromkeys(places, error)
            continue
        located |= lines
        left = {place: one for place, one in batch.items() if place not in lines}
        if left:
            first, *others = left
            # The first one left out may be what ended the batch.
            waiting.append({first: left[first]})
            if others:
                waiting.append({place: left[place] for place in others})
    return Lines(located, failed)


def _cell(text: str) -> str:
    return clean_text(text.replace("|", " "))


def _outcome(text: str) -> Located | None:
    """`27633186`, `NOT_FOUND;INVALID_JOURNAL`, `AMBIGUOUS (3 citations)`, `AMBIGUOUS 1,2`; None for anything else."""
    if pmid := (normalise_pmid(text) if text.isascii() and text.isdigit() else None):
        return Located((pmid,))
    if text.upper().startswith("NOT_FOUND"):
        return Located()
    if ambiguous := _AMBIGUOUS.fullmatch(text):
        rest = ambiguous["rest"]
        named = [] if "(" in rest else [normalise_pmid(one) for one in re.findall(r"\d+", rest)]
        return Located(tuple(pmid for pmid in named if pmid), is_ambiguous=True)
    return None
