"""Every parser of the sources under one name and one form: an answer in, values out, or a typed error.

The sweep over recorded answers and the fuzzer share this table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from literature_agent.errors import LiteratureError
from literature_agent.sources import _eutils, _jats
from literature_agent.sources.biorxiv.parse import Page, parse_details, preprint_of, whole_preprint_of
from literature_agent.sources.clinicaltrials.client import require_data as require_trial_data
from literature_agent.sources.clinicaltrials.parse import parse_page, parse_study
from literature_agent.sources.europepmc.citations import parse_listing
from literature_agent.sources.europepmc.client import require_data
from literature_agent.sources.europepmc.parse import parse_article, parse_search
from literature_agent.sources.pmc import parse as pmc
from literature_agent.sources.pubmed import citmatch, elink, mesh
from literature_agent.sources.pubmed.client import read_records
from literature_agent.sources.pubmed.hits import hits_of, spelling_of
from literature_agent.sources.pubmed.parse import parse_articles
from literature_agent.transport.messages import Answer, TransientAnswer

Reader = Callable[[Answer], object]

TYPED = (LiteratureError, TransientAnswer, pmc.BatchRefused)
"""What a parser may raise; the last two are signals to the room that called it."""


def _hits(answer: Answer) -> object:
    found = _eutils.read_json(answer, "pubmed", "esearchresult")
    asked = str(found.get("retmax", ""))
    return hits_of(found, query="words", limit=int(asked) if re.fullmatch("[0-9]{1,6}", asked) else 20)


def _spelling(answer: Answer) -> object:
    return spelling_of(_eutils.read_xml(answer, "pubmed", "eSpellResult"))


def _links(answer: Answer) -> object:
    """All links of all kinds; then as the client reads them, for the record that the answer is about."""
    sets = _eutils.read_link_sets(answer, "pubmed")
    seed = next((str(seed) for one in sets for seed in one.get("ids") or ()), "1")
    return [elink.read_links(answer, seed, kind) for kind in elink.LINK_NAMES] + [pmc.read_links(answer)]


def _matches(answer: Answer) -> object:
    """ECitMatch repeats the key of each citation; that of a recorded answer is not ours."""
    key = re.compile(rb"\|(?:Art|ref)(\d+)\|")
    places = [int(number) for number in key.findall(answer.body) if len(number) < 4]
    body = key.sub(rb"|lacit\1x|", answer.body)
    return citmatch.read_lines(Answer(answer.status, body, answer.content_type), places or [1, 2])


def _mesh_terms(answer: Answer) -> object:
    result = _eutils.read_json(answer, "pubmed", "result")
    return mesh.read_terms(answer, [str(uid) for uid in result if str(uid).isdigit()])


def _conversions(answer: Answer) -> object:
    try:
        records = json.loads(answer.body)["records"]
        asked = {str(record["requested-id"]) for record in records if "requested-id" in record}
    except (ValueError, TypeError, KeyError, RecursionError):
        asked = set()
    return [pmc.read_conversions(answer, kind, asked or {"10.5555/none"}) for kind in ("doi", "pmid", "pmcid")]


def _jats_articles(answer: Answer) -> object:
    found = pmc.read_articles(answer)
    return [_whole(article) for article in found.articles], dict(found.unavailable)


def _whole(article: Any) -> object:
    parts = (article.tables, article.figures, article.cited_works, article.back_sections, article.released)
    return article.record(with_text=True) if "pmcid" in article.ids else article.front, parts


def _europepmc_full_text(answer: Answer) -> object:
    return [_whole(article) for article in _jats.parse_jats(require_data(answer), "europepmc").articles]


def _preprints(answer: Answer) -> object:
    page: Page = parse_details(answer.body)
    if not page.posts:
        return ()
    return page.rows, [preprint_of([post], "medrxiv") for post in page.posts], whole_preprint_of(page, "biorxiv")


READERS: dict[str, Reader] = {
    "pubmed records": read_records,
    "pubmed file": lambda answer: parse_articles(answer.body),
    "esearch": _hits,
    "espell": _spelling,
    "elink": _links,
    "ecitmatch": _matches,
    "mesh search": mesh.read_uids,
    "mesh records": _mesh_terms,
    "id converter": _conversions,
    "jats": _jats_articles,
    "jats file": lambda answer: pmc.parse_articles(answer.body),
    "europepmc full text": _europepmc_full_text,
    "europepmc search": lambda answer: parse_search(require_data(answer)),
    "europepmc search, whole records": lambda answer: parse_search(require_data(answer), detailed=True),
    "europepmc article": lambda answer: parse_article(require_data(answer)),
    "europepmc citations": lambda answer: parse_listing(require_data(answer), "citations"),
    "europepmc references": lambda answer: parse_listing(require_data(answer), "references"),
    "biorxiv": _preprints,
    "trials search": lambda answer: parse_page(require_trial_data(answer)),
    "trial": lambda answer: parse_study(require_trial_data(answer)),
}


class Outcome(NamedTuple):
    """`value` as read, or `error`: the typed error's reason or kind."""

    value: object
    error: str | None


def read(name: str, answer: Answer) -> Outcome:
    """What the parser makes of the answer, written as JSON once, since a record that can't be written is of no use.

    Any other exception than a typed error passes: it is a bug.
    """
    try:
        value = READERS[name](answer)
    except LiteratureError as refused:
        return Outcome(None, refused.reason)
    except TransientAnswer as passing:
        return Outcome(None, f"again: {passing.kind}")
    except pmc.BatchRefused:
        return Outcome(None, "batch refused")
    for record in _records(value):
        record.model_dump_json()
    return Outcome(value, None)


def _records(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _records(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _records(part)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _records(getattr(value, part.name))


_BY_KIND = {
    "ecitmatch": ("ecitmatch",),
    "elink": ("elink",),
    "esearch": ("esearch", "mesh search"),
    "espell": ("espell",),
    "esummary": ("mesh records",),
    "idconv": ("id converter",),
    "pmc": ("jats", "jats file"),
    "html-instead-of-file": ("jats",),
    "fulltextxml": ("europepmc full text", "jats file"),
    "citations": ("europepmc citations", "europepmc references"),
    "details": ("biorxiv",),
    "search-core": ("europepmc search", "europepmc search, whole records"),
    "study": ("trial",),
}
_BY_SERVICE = {
    "europepmc": ("europepmc search", "europepmc article"),
    "clinicaltrials": ("trials search", "trial"),
    "eutils": ("pubmed records", "pubmed file", "esearch"),
}


def readers_for(service: str, kind: str, name: str) -> tuple[str, ...]:
    """Names of the parsers that would get such an answer; a file of a kind that is never asked for goes to all."""
    if kind.startswith("efetch-pubmed"):
        return "pubmed records", "pubmed file"
    if service == "clinicaltrials" and kind == "search":
        return ("trials search",)
    if kind.startswith(("pmc-oa-cloud", "bioc", "einfo", "epost", "databaselinks", "pmc-oa-error")):
        return tuple(READERS)
    start = next((known for known in _BY_KIND if kind == known or kind.startswith(f"{known}-")), None)
    if start is not None:
        return _BY_KIND[start]
    if service == "eutils" and "efetch" in name:
        return "pubmed records", "pubmed file", "jats"
    return _BY_SERVICE.get(service, tuple(READERS))
