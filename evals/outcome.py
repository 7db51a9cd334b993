"""What a case leaves behind: the answer, the transcript, and which work each reference of them means.

Evaluators see this and the corpus files, nothing else. Another agent is measured by filling in `Outcome` itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from evals.cases import Wire

REFERENCE = re.compile(r"«artifact:link:cite~([0-9A-Z]{10})»")
_HEADER = re.compile(r"^Search (s\d+(?:\+s\d+)*) \| (\S+) \| (\w+)(?: \| shown (\d+) of (\d+|unknown))?", re.M)
_PART = re.compile(r"^(s\d+): (\S+) \| (\w+)", re.M)


class Said(Wire):
    """One step of the transcript, as the model saw or wrote it."""

    kind: Literal["prompt", "result", "failure", "correction", "call", "text", "thinking"]
    text: str
    tool: str = ""
    call_id: str = ""
    turn: int
    """Requests to the model made when this was said; the prompt is 0, the first reply 1."""
    at_s: float
    """Seconds since the case began."""


class SeenWork(Wire):
    """A work that a reference of the transcript or the answer means, as the run's registry has it."""

    keys: tuple[str, ...]
    """Every key that means it."""
    identifiers: tuple[str, ...]
    """PMIDs, DOIs, PMCIDs, NCT numbers of its copies, bare."""
    family: str
    """The key that stands for its family."""


class ShownSearch(Wire):
    """A search as its header line told it to the model."""

    search_id: str
    source: str
    status: str


class Outcome(Wire):
    """One answered case."""

    case: str
    corpus: str
    """`packaged`, or the folder that was searched."""
    model: str
    output: dict[str, Any]
    """The answer, as `LiteratureAggregationOutput` serialises."""
    transcript: tuple[Said, ...]
    works: tuple[SeenWork, ...] = ()
    wall_s: float
    prompt_hash: str = ""
    """Of instructions and tool definitions as sent."""
    instructions: str = Field(default="", repr=False)

    @cached_property
    def work_of(self) -> Mapping[str, SeenWork]:
        """The work of each key."""
        return {key: work for work in self.works for key in work.keys}

    def identifiers_of(self, reference: str) -> tuple[str, ...]:
        """Identifiers of the work that a reference means; empty if the run did not have it."""
        found = REFERENCE.search(reference)
        work = self.work_of.get(found[1]) if found else None
        return work.identifiers if work is not None else ()

    @cached_property
    def shown_keys(self) -> frozenset[str]:
        """Every key that stands in something the model was shown, with the other keys of those works."""
        shown = {key for said in self.transcript if said.kind in SHOWN for key in REFERENCE.findall(said.text)}
        return frozenset(shown | {key for work in self.works if shown & set(work.keys) for key in work.keys})

    @cached_property
    def shown_searches(self) -> tuple[ShownSearch, ...]:
        """Every search that the model was told of, from the header lines of its results."""
        return tuple(search for said in self.transcript if said.kind in SHOWN for search in searches_told(said.text))

    @property
    def articles(self) -> list[dict[str, Any]]:
        """The articles of the answer, best first."""
        return list(self.output.get("relevant_articles") or ())

    def article_identifiers(self) -> list[tuple[str, ...]]:
        """Identifiers of each listed article: those it prints and those of the work it refers to."""
        return [
            tuple(dict.fromkeys((*printed(article), *self.identifiers_of(article.get("reference") or ""))))
            for article in self.articles
        ]

    def prose(self) -> Iterator[tuple[str, str]]:
        """Everything that a model wrote into the answer, with the place it stands in."""
        yield "summary", str(self.output.get("summary") or "")
        for article in self.articles:
            yield "reason", str(article.get("relevance") or "")
        for theme in self.output.get("key_themes") or ():
            yield "theme", str(theme.get("name") or "")
            yield "theme", str(theme.get("description") or "")
        for gap in self.output.get("research_gaps") or ():
            yield "gap", str(gap.get("description") or "")


def searches_told(text: str) -> Iterator[ShownSearch]:
    """The searches whose header lines stand in something shown; a search of all sources is one for each of them."""
    for line in _HEADER.finditer(text):
        names = line[1].split("+")
        if len(names) == 1 and line[2] != "all":
            yield ShownSearch(search_id=names[0], source=line[2], status=line[3])
            continue
        for part in _PART.finditer(text, line.end()):
            if part[1] in names:
                yield ShownSearch(search_id=part[1], source=part[2], status=part[3])


SHOWN = ("prompt", "result", "failure", "correction")
"""Kinds of `Said` that the model was shown, rather than wrote."""


def printed(article: Mapping[str, Any]) -> Iterator[str]:
    """The identifiers that an article of the answer prints."""
    for name in ("pmid", "pmcid", "doi", "nct_id"):
        if article.get(name):
            yield str(article[name]).lower() if name == "doi" else str(article[name])


def keys_in(texts: Iterable[str]) -> list[str]:
    """Keys of all references in the texts, each once."""
    return list(dict.fromkeys(key for text in texts for key in REFERENCE.findall(text)))
