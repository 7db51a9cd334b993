"""PMC's answers to values: JATS from EFetch or OAI, the ID converter, links from PubMed. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from literature_agent.artifacts import PMCArticle
from literature_agent.errors import SourceError, source_error
from literature_agent.ids import normalise_doi, normalise_pmcid, normalise_pmid
from literature_agent.sources._eutils import check_answer, is_empty_id_list, linked_ids, read_link_sets
from literature_agent.sources._jats import JatsSet, parse_jats
from literature_agent.sources._text import one_line, printed_date
from literature_agent.transport.messages import Answer, TransientAnswer

NAME = "pmc"

IdType = Literal["pmid", "pmcid", "doi"]


def parse_articles(body: bytes) -> list[PMCArticle]:
    """Every article of an EFetch set, an OAI answer or a document that is an article, with its text.

    Articles that state no PMCID are left out.

    Raises:
        SourceError: `pmc_invalid_response`: no whole XML, or nothing in it that is known here.
    """
    found = parse_jats(body, NAME)
    return [article.record(with_text=True) for article in found.articles if "pmcid" in article.ids]


def read_articles(answer: Answer) -> JatsSet:
    """The articles of an EFetch answer and the PMCIDs it says are not available.

    Raises:
        TransientAnswer: a passing fault: a maintenance page, an answer that is cut off or says nothing at all.
        SourceError: NCBI's refusal.
    """
    if is_empty_id_list(answer):
        return JatsSet(unavailable={"": "ID list is empty"})
    check_answer(answer, NAME)
    try:
        found = parse_jats(answer.body, NAME)
    except SourceError as broken:
        raise TransientAnswer(broken.message, kind="invalid_response") from None
    if not found.articles and not found.unavailable:
        raise TransientAnswer("NCBI answered with an empty set of articles.", kind="invalid_response")
    return found


# --- ID converter -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conversion:
    """What the ID converter says of one identifier; without PMCID it is not in PMC."""

    pmcid: str | None = None
    pmid: str | None = None
    doi: str | None = None
    embargoed_until: str | None = None
    """Date of release of an article that is in PMC, but not yet to be seen."""


class BatchRefused(Exception):
    """The converter refused a whole batch for the sake of one identifier in it (HTTP 400)."""


def read_conversions(answer: Answer, id_type: IdType, asked: Collection[str]) -> dict[str, Conversion]:
    """What was answered for each identifier asked, joined by identifier and never by place; answers new and old.

    An identifier that is missing from the answer is missing here.

    Raises:
        BatchRefused: HTTP 400 with the converter's own error.
        TransientAnswer: an empty body, or something that is no answer of the converter.
        SourceError: a status that is no answer.
    """
    data = _json(answer)
    if answer.status == 400 and isinstance(data, dict):
        raise BatchRefused
    if not isinstance(data, dict):
        if answer.status in (200, 204):
            raise TransientAnswer("the ID converter answered with something that is no data", kind="invalid_response")
        raise source_error(NAME, "invalid_response", f"The ID converter answered HTTP {answer.status}.")
    records = data.get("records")
    if answer.status != 200 or not isinstance(records, list) or not records:
        raise TransientAnswer(
            f"the ID converter gave no records: {one_line(str(data.get('status', '')), 60)}", kind="invalid_response"
        )
    by_folded = {name.casefold(): name for name in asked}
    found: dict[str, Conversion] = {}
    for record in records:
        if not isinstance(record, dict):
            continue
        name = by_folded.get(_requested(record, id_type).casefold())
        if name is None and len(asked) == 1 == len(records) and "requested-id" not in record:
            name = next(iter(asked))
        if name is not None:
            found.setdefault(name, _conversion(record))
    return found


def _requested(record: dict[str, Any], id_type: IdType) -> str:
    """The identifier asked, in our form. The old converter only repeats it under its own name."""
    text = str(record.get("requested-id") or record.get(id_type) or "").strip()
    if id_type == "pmcid":
        return normalise_pmcid(text) or normalise_pmcid(f"PMC{text}") or text
    return (normalise_doi(text) if id_type == "doi" else normalise_pmid(text)) or text


def _conversion(record: dict[str, Any]) -> Conversion:
    pmid, doi = normalise_pmid(str(record.get("pmid") or "")), normalise_doi(str(record.get("doi") or ""))
    released = printed_date(str(record.get("release-date") or ""))
    is_live = str(record.get("live", "true")).lower() not in ("false", "no")
    pmcid = normalise_pmcid(str(record.get("pmcid") or ""))
    if record.get("status") == "error" and not (pmcid and released):
        return Conversion(pmid=pmid, doi=doi)
    return Conversion(pmcid, pmid, doi, None if is_live else released)


# --- links ------------------------------------------------------------------------------------------------------------


def read_links(answer: Answer) -> tuple[str, ...]:
    """PMCIDs of the full texts of a PubMed record.

    Only the link `pubmed_pmc` leads to the article itself; `pubmed_pmc_refs` leads to others that cite it.

    Raises:
        TransientAnswer, SourceError: as the E-utilities' error shapes say.
    """
    digits = linked_ids(read_link_sets(answer, NAME), "pubmed_pmc", "pmc")
    return tuple(pmcid for one in digits if (pmcid := normalise_pmcid(f"PMC{one}")))


def _json(answer: Answer) -> Any:
    try:
        return json.loads(answer.body.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
