"""The tool of PMC and its client over the real transport."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from literature_agent.errors import SourceError
from literature_agent.settings import Settings
from literature_agent.sources.pmc import PMCClient, PMCTools
from literature_agent.transport import Transport
from tests.desks import PAYLOADS, Desk, StillClock, bare_settings


async def test_articles_come_in_the_order_asked_with_text_and_provenance(desk: Desk, tools: PMCTools) -> None:
    desk.answers("id=90000301&", "article-2026.xml")
    desk.answers("id=90000321&", "two-articles.xml")
    result = await tools.fetch(["pmc90000321", "PMC90000301", "PMC90000301"])
    assert [article.copy_id for article in result.artifacts] == ["pmc:PMC90000321", "pmc:PMC90000301"]
    first = result.artifacts[0].model_dump()
    assert [section["text"] for section in first["sections"]] == ["Text of the second."]
    assert first["provenance"][0]["request"] == "GET efetch.fcgi?db=pmc&id=90000321&retmode=xml"
    assert len(desk.sent) == 2


async def test_an_article_whose_text_is_kept_back_comes_as_a_citation(desk: Desk, tools: PMCTools) -> None:
    desk.answers("efetch", "restricted.xml")
    (article,) = (await tools.fetch("PMC90000330")).artifacts
    assert article.abstract_text == "Only this."
    assert article.model_dump()["sections"] == ()


async def test_unknown_and_failed_are_told_apart(desk: Desk, tools: PMCTools) -> None:
    """K094: one failure costs no other."""
    desk.answers("id=90000399&", "not-available.xml")
    desk.answers("id=90000301&", "article-2026.xml")
    desk.answers("id=90000302&", "busy", status=503)
    result = await tools.fetch(["PMC90000399", "PMC90000302", "PMC90000301"])
    assert len(result.artifacts) == 1
    assert result.not_found == ("PMC90000399",)
    assert {name: error.reason for name, error in result.failed.items()} == {"PMC90000302": "pmc_unreachable"}


async def test_a_fetch_of_which_nothing_was_answered_raises(desk: Desk, tools: PMCTools) -> None:
    desk.answers("efetch", "busy", status=503)
    with pytest.raises(SourceError) as caught:
        await tools.fetch(["PMC90000301"])
    assert (caught.value.reason, caught.value.retryable) == ("pmc_unreachable", True)
    assert len(desk.sent) == 3


async def test_another_article_than_the_one_asked_is_never_taken(desk: Desk, tools: PMCTools) -> None:
    desk.answers("efetch", "article-2026.xml")
    with pytest.raises(SourceError) as caught:
        await tools.fetch(["PMC90000309"])
    assert caught.value.reason == "pmc_invalid_response"


@pytest.mark.parametrize(
    ("payload", "pmcid", "reason"),
    [
        ("restricted.xml", "PMC90000330", "publisher_restricted"),
        ("embargoed.xml", "PMC90000331", "embargoed"),
        ("scanned-page.xml", "PMC90000332", "no_body"),
        ("not-available.xml", "PMC90000399", "not_in_pmc"),
        ("article-2026.xml", "PMC90000301", None),
    ],
)
async def test_an_article_without_text_says_why(
    desk: Desk, client: PMCClient, payload: str, pmcid: str, reason: str | None
) -> None:
    desk.answers("efetch", payload)
    assert (await client.article(pmcid)).reason == reason


async def test_identifiers_are_converted_in_batches_of_one_kind(desk: Desk, client: PMCClient) -> None:
    """K019: each once, in the form with the prefix; upstream takes 200 a call."""
    none = '{"status":"ok","records":[{"status":"error","errmsg":"Identifier not found in PMC"}]}'
    desk.answers("idtype=pmcid", none, kind="application/json")
    asked = [f"PMC9{number:07d}" for number in range(450)]
    found = await client.convert("pmcid", [*asked, asked[0]])
    assert found.not_in_pmc == tuple(asked)
    assert [line.partition("ids=")[2].partition("&")[0].count(",") + 1 for line in desk.paths] == [200, 200, 50]


async def test_one_bad_identifier_costs_the_batch_nothing(desk: Desk, client: PMCClient) -> None:
    """K019: upstream refuses the whole batch with HTTP 400."""
    desk.answers("ids=[^&]*90000666", "conversion-refused.json", status=400)
    record = '{"pmid":90000341,"pmcid":"PMC90000341","requested-id":"90000341"}'
    desk.answers("ids=90000341&", f'{{"status":"ok","records":[{record}]}}', kind="application/json")
    found = await client.convert("pmid", ["90000341", "90000666"])
    assert {name: one.pmcid for name, one in found.found.items()} == {"90000341": "PMC90000341"}
    assert (found.not_in_pmc, found.failed) == (("90000666",), {})


async def test_a_failed_conversion_is_not_the_absence_of_a_text(desk: Desk, client: PMCClient) -> None:
    desk.answers("idconv", "down", status=502)
    found = await client.convert("doi", ["10.5555/a"])
    assert (found.found, found.not_in_pmc) == ({}, ())
    assert found.failed["10.5555/a"].reason == "pmc_unreachable"


async def test_a_citing_article_is_never_taken_for_the_text(desk: Desk, client: PMCClient) -> None:
    desk.answers("elink", "links-citing-only.json")
    assert await client.linked_pmcid("90000343") is None


async def test_that_elink_names_no_text_is_not_stored(desk: Desk, tmp_path: Path) -> None:
    settings = bare_settings(cache="on", cache_dir=tmp_path)
    async with Transport(settings, network=httpx.MockTransport(desk), clock=StillClock()) as transport:
        desk.answers("elink", "links-citing-only.json", times=1)
        desk.answers("elink", "links-text-and-citing.json")
        client = PMCClient(transport)
        found = [await client.linked_pmcid("90000343") for _ in range(3)]
    assert (found, desk.count("elink")) == ([None, "PMC90000343", "PMC90000343"], 2)


async def test_key_and_address_reach_the_service_and_no_message() -> None:
    """K118: they are added innermost."""
    desk = Desk(PAYLOADS / "pmc")
    desk.answers("idconv", "conversion-old.json")
    desk.answers("efetch", "busy", status=503)
    settings = Settings(
        pace="off", rate_limit_store="memory", cache="off", breaker="off", retry_attempts=1,
        email="someone@example.org", ncbi_api_key="0123456789abcdef0123",
    )  # fmt: skip
    async with Transport(settings, network=httpx.MockTransport(desk)) as transport:
        client = PMCClient(transport)
        await client.convert("pmid", ["90000342"])
        with pytest.raises(SourceError) as caught:
            await client.article("PMC90000301")
    assert "email=someone@example.org" in desk.sent[0].line
    assert "api_key" not in desk.sent[0].line
    assert "api_key=0123456789abcdef0123" in desk.sent[1].line
    assert "0123456789abcdef0123" not in caught.value.message
