"""MeSH looked up by term: headings, synonyms, scope notes, trees."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.sources.pubmed.mesh import lookup_mesh, read_terms
from literature_agent.transport import Answer, TransientAnswer, Transport

RECORDS: dict[str, dict[str, Any]] = {
    "68900001": {
        "uid": "68900001",
        "ds_recordtype": "descriptor",
        "ds_meshui": "D900001",
        "ds_meshterms": ["Synthetic Infarction", "Synthetic Attack", "Attack, Synthetic"],
        "ds_scopenote": "An invented &amp; <i>harmless</i> condition.",
        "ds_idxlinks": [{"parent": 1, "treenum": "C14.907.1"}, {"parent": 2, "treenum": "C14.280.2"}, {}],
    },
    "68900002": {"ds_meshui": "none", "ds_meshterms": ["Synthetic Attack Prevention"], "ds_recordtype": "descriptor"},
    "67900003": {"ds_meshui": "C900003", "ds_meshterms": ["synthetic attack factor"]},
    "68900004": {"error": "cannot get document summary"},
}


@pytest.fixture
def serves_mesh(desk: Any, hits: Callable[..., str]) -> Any:
    """A desk that finds all records for any term but a quoted one, and has their summaries."""

    def search(sent: Any) -> httpx.Response:
        quoted = sent.fields["term"].startswith('"')
        return httpx.Response(200, text=hits(["68900001"] if quoted else list(RECORDS)))

    def summaries(sent: Any) -> httpx.Response:
        return httpx.Response(200, text=json.dumps({"result": {"uids": sent.ids, **{u: RECORDS[u] for u in sent.ids}}}))

    desk.answers_by("esearch", search)
    desk.answers_by("esummary", summaries)
    return desk


async def test_a_synonym_leads_to_its_heading_first(transport: Transport, serves_mesh: Any) -> None:
    result = await lookup_mesh(transport, " synthetic  attack ")
    assert (result.term, result.status, result.total) == ("synthetic attack", "ok", 4)
    assert [term.descriptor for term in result.terms] == [
        "Synthetic Infarction",
        "Synthetic Attack Prevention",
        "synthetic attack factor",
    ]
    first = result.terms[0]
    assert (first.ui, first.kind) == ("D900001", "descriptor")
    assert first.scope_note == "An invented & harmless condition."
    assert first.entry_terms == ("Synthetic Attack", "Attack, Synthetic")
    assert first.tree_numbers == ("C14.907.1", "C14.280.2")
    assert [request.fields["db"] for request in serves_mesh.sent] == ["mesh"] * 3


async def test_the_number_of_a_record_is_read_from_entrez_where_the_record_has_none(
    transport: Transport, serves_mesh: Any
) -> None:
    """Upstream: 68 and six digits stand for D and the same digits."""
    result = await lookup_mesh(transport, "synthetic attack")
    assert [term.ui for term in result.terms] == ["D900001", "D900002", "C900003"]


async def test_an_exact_heading_comes_before_longer_ones(transport: Transport, serves_mesh: Any) -> None:
    result = await lookup_mesh(transport, "SYNTHETIC ATTACK PREVENTION", max_results=1)
    assert [term.descriptor for term in result.terms] == ["Synthetic Attack Prevention"]


async def test_nothing_found_is_empty_and_asks_for_no_summaries(
    transport: Transport, desk: Any, hits: Callable[..., str]
) -> None:
    desk.answers("esearch", hits([]), kind="application/json")
    result = await lookup_mesh(transport, "blorptine")
    assert (result.status, result.terms) == ("empty", ())
    assert desk.asked("esummary") == []


async def test_a_failure_is_not_an_empty_vocabulary(transport: Transport, desk: Any, hits: Callable[..., str]) -> None:
    """K095."""
    desk.answers("esearch", hits(["68900001"]), kind="application/json")
    desk.answers("esummary", "<html>down_bethesda</html>", kind="text/html")
    with pytest.raises(SourceError) as caught:
        await lookup_mesh(transport, "synthetic attack")
    assert caught.value.reason == "pubmed_unreachable"


@pytest.mark.parametrize("body", ['{"result":{"uids":[]}}', '{"result":[]}', "{}", "", '{"result":{"1":3}}'])
def test_summaries_that_lack_what_was_asked_are_a_passing_fault(body: str) -> None:
    with pytest.raises(TransientAnswer):
        read_terms(Answer(200, body.encode()), ["1"])


@pytest.mark.parametrize("term", ["", "   ", '"[]*"', "a\x00b", "x" * 301, "\u200b"])
async def test_what_is_no_term_is_refused_before_anything_is_sent(transport: Transport, desk: Any, term: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await lookup_mesh(transport, term)
    assert caught.value.reason == "pubmed_invalid_input"
    assert desk.sent == []


@pytest.mark.parametrize("wanted", [0, -1, 51])
async def test_an_impossible_number_of_terms_is_refused(transport: Transport, desk: Any, wanted: int) -> None:
    with pytest.raises(InvalidInputError, match=f"max_results={wanted}"):
        await lookup_mesh(transport, "x", max_results=wanted)
    assert desk.sent == []
