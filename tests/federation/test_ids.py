"""Identifiers in each other's terms: N in, N out, in the order asked."""

from __future__ import annotations

import json

import pytest

from literature_agent.artifacts import BioRxivPreprint, DetailedArticle, EuropePMCArticle
from literature_agent.errors import InvalidInputError
from literature_agent.federation import ConvertedId, Ids, convert_ids, ids_of, ids_of_records
from literature_agent.transport import Transport
from tests.desks import Desk


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("90000301", Ids(pmid="90000301")),
        ("PMID: 00090000301", Ids(pmid="90000301")),
        ("pmc90000301.2", Ids(pmcid="PMC90000301")),
        ("https://doi.org/10.5555/X", Ids(doi="10.5555/x")),
        ("10.1101/2020.01.01.123456v2", Ids(doi="10.1101/2020.01.01.123456")),
        ("ppr123", Ids(ppr="PPR123")),
    ],
)
def test_an_identifier_is_read_whole(text: str, ids: Ids) -> None:
    assert ids_of(text) == ids


@pytest.mark.parametrize("text", ["NCT90000301", "10.1000/12345 and more", "PMC123, see 45", "\u200b1", ""])
def test_nothing_is_cut_out_of_text(text: str) -> None:
    """K018, K021."""
    with pytest.raises(InvalidInputError):
        ids_of(text)


def test_copies_of_a_work_complete_each_other() -> None:
    records = (
        DetailedArticle(pmid="90000301", doi="10.5555/a"),
        EuropePMCArticle(epmc_id="90000301", epmc_source="MED", pmcid="PMC90000301", doi="10.5555/other"),
        EuropePMCArticle(epmc_id="PPR1", epmc_source="PPR"),
        BioRxivPreprint(source="biorxiv", server="biorxiv"),
    )
    assert ids_of_records(records) == Ids("90000301", "PMC90000301", "10.5555/a", "PPR1")


async def test_every_identifier_gets_one_answer_in_its_place(desk: Desk, transport: Transport) -> None:
    """K007, K008, K019: joined by identifier; duplicates and strangers keep their places."""
    desk.answers(
        "idtype=pmid",
        json.dumps(
            {"status": "ok", "records": [{"pmid": 90000341, "pmcid": "PMC90000341", "requested-id": "90000341"}]}
        ),
    )
    desk.answers("idtype=doi", "conversion-mixed.json")
    desk.fails("idtype=pmcid")
    asked = ["90000341", "10.5555/B", "PMC90000345", "what?", "90000341", "10.5555/a"]
    converted = await convert_ids(transport, asked)
    assert [one.asked for one in converted] == asked
    assert [one.status for one in converted] == ["found", "not_in_pmc", "failed", "invalid", "found", "found"]
    assert converted[0] == ConvertedId(asked="90000341", status="found", pmid="90000341", pmcid="PMC90000341")
    assert (converted[1].doi, converted[1].pmcid) == ("10.5555/b", None)
    assert converted[2].error is not None
    assert converted[2].error.reason == "pmc_unreachable"
    assert converted[3].error is not None
    assert converted[5].pmid == "90000341"
    assert desk.count("idtype=pmid") == desk.count("idtype=doi") == 1


async def test_what_the_converter_cannot_take_is_not_said_to_be_absent_from_pmc(
    desk: Desk, transport: Transport
) -> None:
    (one,) = await convert_ids(transport, ["PPR123"])
    assert (one.status, desk.sent) == ("invalid", [])
    assert one.error is not None
    assert "PPR123" in one.error.message


async def test_a_converter_that_lists_nothing_has_not_answered(desk: Desk, transport: Transport) -> None:
    desk.answers("idconv", '{"status":"ok","records":[]}')
    (one,) = await convert_ids(transport, ["90000301"])
    assert one.status == "failed"


async def test_no_identifiers_send_nothing(desk: Desk, transport: Transport) -> None:
    """K013."""
    assert await convert_ids(transport, []) == ()
    assert desk.sent == []
