"""Asks ELink which PubMed records belong to one: similar ones, those that cite it, those it cites.

Citing and cited articles are known from full texts in PMC only, so these lists are short of the truth; an article
without full text in PMC has no references here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from literature_agent.ids import normalise_pmid
from literature_agent.sources._eutils import eutils_request, linked_ids, read_link_sets
from literature_agent.sources.pubmed.query import NAME
from literature_agent.transport import Answer, Request, TransientAnswer, Transport

LinkKind = Literal["similar", "cited_by", "references"]
LINK_NAMES: dict[LinkKind, str] = {
    "similar": "pubmed_pubmed",
    "cited_by": "pubmed_pubmed_citedin",
    "references": "pubmed_pubmed_refs",
}


def links_request(pmid: str, kind: LinkKind) -> Request:
    """ELink from one record; several in one request would be merged, or would need a repeated `id`."""
    params = [
        ("dbfrom", "pubmed"),
        ("db", "pubmed"),
        ("linkname", LINK_NAMES[kind]),
        ("cmd", "neighbor"),
        ("id", pmid),
        ("retmode", "json"),
    ]
    # Never from a cache: an empty list may be a passing fault, and nothing in it tells.
    return replace(eutils_request(NAME, "elink.fcgi", params), max_age_s=0)


def read_links(answer: Answer, pmid: str, kind: LinkKind) -> tuple[str, ...]:
    """The linked PMIDs in NCBI's order (best or newest first), without the record itself.

    Raises:
        TransientAnswer: a passing fault; also an answer about another record.
        SourceError: NCBI refused the request.
    """
    sets = read_link_sets(answer, NAME)
    seeds = {normalise_pmid(str(seed)) for one in sets for seed in one.get("ids") or ()}
    if not sets or (seeds and pmid not in seeds):
        raise TransientAnswer("ELink answered without the record asked for.", kind="invalid_response")
    found = (normalise_pmid(text) for text in linked_ids(sets, LINK_NAMES[kind], "pubmed"))
    return tuple(found_pmid for found_pmid in found if found_pmid is not None and found_pmid != pmid)


async def linked_pmids(transport: Transport, pmid: str, kind: LinkKind) -> tuple[str, ...]:
    """All PMIDs that ELink links to a record, however many; cutting is the caller's.

    An empty list is asked for twice: under load ELink leaves links out.

    Raises:
        SourceError: ELink gave no usable answer.
    """
    found: tuple[str, ...] = ()
    for _ in range(2):
        found = await transport.send(links_request(pmid, kind), lambda answer: read_links(answer, pmid, kind))
        if found:
            break
    return found
