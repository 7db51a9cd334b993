"""ELink: similar, citing and cited records, and what an empty list may mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.sources.pubmed.elink import LINK_NAMES, LinkKind, linked_pmids, links_request, read_links
from literature_agent.transport import Answer, TransientAnswer, Transport, describe

SEED = "90000001"
Links = Callable[..., str]


@pytest.fixture
def links() -> Links:
    """An ELink answer: `links(["90000002"])`; no links, no `linksetdbs`."""

    def build(found: Sequence[Any], name: str = "pubmed_pubmed", seed: str = SEED) -> str:
        one: dict[str, Any] = {"dbfrom": "pubmed", "ids": [seed]}
        if found:
            one["linksetdbs"] = [{"dbto": "pubmed", "linkname": name, "links": list(found)}]
        return json.dumps({"header": {"type": "elink"}, "linksets": [one]})

    return build


def raw(body: str | bytes, status: int = 200) -> Answer:
    return Answer(status, body.encode() if isinstance(body, str) else body, "application/json")


def test_the_request_names_one_record_and_one_link() -> None:
    assert describe(links_request(SEED, "cited_by")) == (
        "GET elink.fcgi?dbfrom=pubmed&db=pubmed&linkname=pubmed_pubmed_citedin&cmd=neighbor&id=90000001&retmode=json"
    )
    assert links_request(SEED, "similar").max_age_s == 0


def test_the_order_is_kept_and_the_record_itself_is_left_out(links: Links) -> None:
    body = links([SEED, "90000003", "90000002", "90000003", "x", {"id": "90000004", "score": 9}])
    assert read_links(raw(body), SEED, "similar") == ("90000003", "90000002", "90000004")


def test_links_of_another_name_are_not_taken(links: Links) -> None:
    assert read_links(raw(links(["90000002"], "pubmed_pubmed_reviews")), SEED, "similar") == ()


@pytest.mark.parametrize(
    "body",
    [
        '{"header":{},"ERROR":"Couldn\'t resolve #exLinkSrv2, the address table is empty."}',
        '{"linksets":[{"dbfrom":"pubmed","ids":["90000001"],"ERROR":"Search Backend failed"}]}',
        '{"linksets":[]}',
        '{"linksets":{}}',
        '{"header":{}}',
        '{"linksets":[{"ids":["90000009"]}]}',
        "<?xml version='1.0'?><!DOCTYPE eLinkResult>",
        "<html>Service Temporarily Unavailable</html>",
        "",
        '{"linksets":[',
    ],
)
def test_an_outage_is_never_the_absence_of_links(body: str) -> None:
    """K015, K016."""
    with pytest.raises(TransientAnswer):
        read_links(raw(body), SEED, "similar")


def test_a_refusal_names_its_reason() -> None:
    with pytest.raises(InvalidInputError, match="Empty id list"):
        read_links(raw('{"header":{},"ERROR":"Empty id list"}', 400), SEED, "similar")


async def test_an_empty_list_is_asked_for_once_more(transport: Transport, desk: Any, links: Links) -> None:
    """ELink leaves links out under load."""
    desk.answers("elink", links([]), kind="application/json")
    desk.answers("elink", links(["90000002"]), kind="application/json")
    assert await linked_pmids(transport, SEED, "similar") == ("90000002",)
    assert len(desk.asked("elink")) == 2


async def test_an_empty_list_that_stays_empty_is_an_answer(transport: Transport, desk: Any, links: Links) -> None:
    desk.answers("elink", links([]), kind="application/json")
    assert await linked_pmids(transport, SEED, "references") == ()
    assert len(desk.asked("elink")) == 2


async def test_a_fault_is_asked_again_and_then_raised(transport: Transport, desk: Any, links: Links) -> None:
    desk.answers_by("elink", lambda _: httpx.Response(503))
    with pytest.raises(SourceError) as caught:
        await linked_pmids(transport, SEED, "similar")
    assert (caught.value.reason, caught.value.retryable) == ("pubmed_unreachable", True)
    assert len(desk.asked("elink")) == 3


@pytest.mark.parametrize(
    ("file", "seed", "kind", "count"),
    [
        ("elink-json-related.json", "25760099", "similar", 10),
        ("elink-json-citedin.json", "26846451", "cited_by", 51),
        ("elink-json-citedin-two.json", "29540945", "cited_by", 2),
        ("elink-json-pmc-refs-only.json", "25760099", "references", 0),
    ],
)
def test_recorded_answers_are_read(shared_dir: Path, file: str, seed: str, kind: LinkKind, count: int) -> None:
    found = read_links(raw((shared_dir / "recorded" / "eutils" / file).read_bytes()), seed, kind)
    assert len(found) >= count
    assert bool(found) == bool(count)
    assert seed not in found
    assert all(pmid.isdigit() for pmid in found)
    assert kind in LINK_NAMES
