"""The full-text ladder: one for all identifiers, every route recorded, failure never taken for absence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.federation import Ids, read, read_full_text
from literature_agent.registry import ArtifactRegistry
from literature_agent.results import FullText
from literature_agent.settings import Settings
from literature_agent.transport import Transport
from tests.desks import PAYLOADS, Desk, StillClock
from tests.waiting import pass_time

CONVERTED = json.dumps(
    {"status": "ok", "records": [{"pmid": 90000301, "pmcid": "PMC90000301", "doi": "10.5555/synthetic.sleep.301"}]}
)
NOT_IN_PMC = json.dumps({"status": "ok", "records": [{"status": "error", "errmsg": "Identifier not found in PMC"}]})
NOTHING = json.dumps({"version": "6.9", "hitCount": 0, "request": {}, "resultList": {"result": []}})
PUBMED = (
    "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>90000350</PMID><Article><Journal><JournalIssue/></Journal>"
    "<ArticleTitle>Known to PubMed</ArticleTitle></Article></MedlineCitation><PubmedData><ArticleIdList>"
    '<ArticleId IdType="doi">10.5555/known</ArticleId></ArticleIdList></PubmedData></PubmedArticle></PubmedArticleSet>'
)


def row(**members: Any) -> str:
    """Europe PMC's answer to `/search` and `/article` alike: one record."""
    result = {"id": "90000350", "source": "MED", "title": "Known", "pubTypeList": {"pubType": ["Review"]}, **members}
    return json.dumps({"version": "6.9", "hitCount": 1, "result": result, "resultList": {"result": [result]}})


def trail(full: FullText) -> list[tuple[str, str]]:
    return [(step.route, step.result) for step in full.trail]


# --- found ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "requests"),
    [
        ("PMC90000301", 1),
        ("pmc90000301.1", 1),
        ("90000301", 2),
        ("PMID: 90000301", 2),
        ("10.5555/Synthetic.Sleep.301", 2),
        ("https://doi.org/10.5555/SYNTHETIC.sleep.301", 2),
    ],
)
async def test_every_kind_of_identifier_climbs_the_same_ladder(
    desk: Desk, transport: Transport, id: str, requests: int
) -> None:
    """K043: a DOI or PMCID takes no shorter way than a PMID."""
    desk.answers("idconv", CONVERTED)
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    full = await read_full_text(transport, id)
    assert full.available
    assert full.reason is None
    assert full.artifact is not None
    assert full.artifact.model_dump(include={"kind", "source", "pmcid", "pmid", "doi"}) == {
        "kind": "link:cite:pmc",
        "source": "pmc",
        "pmcid": "PMC90000301",
        "pmid": "90000301",
        "doi": "10.5555/synthetic.sleep.301",
    }
    assert (len(full.sections), len(full.tables), len(full.figures), len(full.cited_works)) == (5, 2, 2, 2)
    assert full.trail[-1].route == "pmc_efetch"
    assert len(desk.sent) == requests


async def test_the_text_stands_once_and_the_record_is_a_citation(desk: Desk, transport: Transport) -> None:
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    full = await read_full_text(transport, "PMC90000301")
    assert full.artifact is not None
    assert full.artifact.model_dump()["sections"] == ()
    assert full.artifact.provenance[0].request == "GET efetch.fcgi?db=pmc&id=90000301&retmode=xml"
    assert FullText.model_validate_json(full.model_dump_json()) == full
    assert full.characters_total == sum(map(len, _texts(full.model_dump())))


def _texts(full: dict[str, Any]) -> list[str]:
    def walk(sections: Any) -> list[str]:
        return [text for s in sections for text in (s["text"], *walk(s["sections"]))]

    return walk(full["sections"]) + walk(full["back_sections"])


async def test_what_pmc_does_not_have_is_read_at_europe_pmc(desk: Desk, transport: Transport) -> None:
    desk.answers("efetch.*db=pmc", "<pmc-articleset><error id='90000310'>x</error></pmc-articleset>", kind="text/xml")
    desk.answers("/PMC90000310/fullTextXML", "article-old-oai.xml")
    full = await read_full_text(transport, "PMC90000310")
    assert [section.text for section in full.sections] == ["First.\nSecond.", "Third."]
    assert trail(full) == [("pmc_efetch", "none"), ("europepmc_fulltextxml", "found")]
    assert full.artifact is not None
    assert (full.artifact.source, full.artifact.provenance[0].source) == ("pmc", "europepmc")


@pytest.mark.parametrize("status", [200, 403])
async def test_a_bot_check_page_is_a_failed_route_and_the_next_is_asked(
    desk: Desk, transport: Transport, status: int
) -> None:
    """K046: never saved as the article, reported as blocked."""
    desk.answers("efetch.*db=pmc", (PAYLOADS / "pmc" / "bot-check.html").read_bytes(), status=status, kind="text/html")
    desk.answers("fullTextXML", "article-2026.xml")
    full = await read_full_text(transport, "PMC90000301")
    assert full.available
    assert (full.trail[0].result, full.trail[0].reason) == ("failed", "pmc_blocked")
    assert "Checking your browser" not in full.model_dump_json()
    assert desk.count("efetch") == 1


async def test_another_article_is_never_given_for_the_one_asked(desk: Desk, transport: Transport) -> None:
    desk.answers("efetch.*db=pmc", "two-articles.xml")
    desk.answers("fullTextXML", "two-articles.xml")
    with pytest.raises(SourceError) as caught:
        await read_full_text(transport, "PMC90000301")
    assert caught.value.reason == "pmc_invalid_response"
    second = await read_full_text(transport, "PMC90000321")
    assert [section.text for section in second.sections] == ["Text of the second."]
    assert second.artifact is not None
    assert second.artifact.is_notice


async def test_a_preprint_is_read_by_its_own_id_and_keeps_its_record(desk: Desk, transport: Transport) -> None:
    """A preprint outside PMC has no PMCID: its citation is Europe PMC's record."""
    desk.answers("rest/article/PPR/PPR990001", row(id="PPR990001", source="PPR", doi="10.5555/preprint.1"))
    desk.answers("/PPR990001/fullTextXML", "preprint-europepmc.xml")
    full = await read_full_text(transport, "PPR990001")
    assert [section.text for section in full.sections] == ["Text of the preprint."]
    assert full.artifact is not None
    assert (full.artifact.kind, full.artifact.is_preprint) == ("link:cite:europepmc:full", True)


async def test_a_preprint_doi_finds_the_preprint(desk: Desk, transport: Transport) -> None:
    desk.answers("idconv", NOT_IN_PMC)
    desk.answers("rest/search", row(id="PPR990001", source="PPR", doi="10.5555/preprint.1"))
    desk.answers("/PPR990001/fullTextXML", "preprint-europepmc.xml")
    full = await read_full_text(transport, "10.5555/preprint.1")
    assert full.available
    assert trail(full) == [
        ("pmc_id_converter", "none"),
        ("europepmc_record", "found"),
        ("pmc_efetch", "not_tried"),
        ("europepmc_fulltextxml", "found"),
    ]


async def test_where_the_converter_is_down_the_record_or_the_link_leads_to_the_text(
    desk: Desk, transport: Transport
) -> None:
    desk.fails("idconv")
    desk.answers("rest/article/MED/90000301", row(id="90000301", pmcid="PMC90000301"))
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    assert (await read_full_text(transport, "90000301")).available
    desk.rules.clear()
    desk.fails("idconv")
    desk.fails("rest/")
    desk.answers("elink", '{"linksets":[{"linksetdbs":[{"dbto":"pmc","linkname":"pubmed_pmc","links":["90000301"]}]}]}')
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    desk.fails("efetch")
    full = await read_full_text(transport, "90000301")
    assert full.available
    assert trail(full)[-2:] == [("pubmed_elink", "found"), ("pmc_efetch", "found")]


async def test_a_citing_article_is_never_read_in_place_of_the_paper(desk: Desk, transport: Transport) -> None:
    desk.fails("idconv")
    desk.answers("rest/", NOTHING)
    desk.answers("elink", "links-citing-only.json")
    desk.answers("efetch.*db=pubmed", PUBMED, kind="text/xml")
    full = await read_full_text(transport, "90000350")
    assert not full.available
    assert desk.count("90000999") == 0


# --- no text, and why -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "pmcid", "reason"),
    [
        ("restricted.xml", "PMC90000330", "publisher_restricted"),
        ("embargoed.xml", "PMC90000331", "embargoed"),
        ("scanned-page.xml", "PMC90000332", "no_body"),
    ],
)
async def test_an_article_without_text_keeps_its_citation(
    desk: Desk, transport: Transport, payload: str, pmcid: str, reason: str
) -> None:
    desk.answers("efetch.*db=pmc", payload)
    full = await read_full_text(transport, pmcid)
    assert (full.available, full.reason, full.sections, full.tables) == (False, reason, (), ())
    assert full.artifact is not None
    assert full.artifact.model_dump()["pmcid"] == pmcid
    assert trail(full) == [("pmc_efetch", "none"), ("europepmc_fulltextxml", "none")]


async def test_in_pmc_but_not_open_access(desk: Desk, transport: Transport) -> None:
    """K055: a 404 is an answer."""
    desk.answers("efetch.*db=pmc", "not-available.xml")
    desk.answers("rest/search", row(pmcid="PMC90000399", isOpenAccess="N"))
    full = await read_full_text(transport, "PMC90000399")
    assert full.reason == "not_open_access"
    assert full.artifact is not None
    assert full.artifact.title == "Known"
    assert trail(full) == [
        ("pmc_efetch", "none"),
        ("europepmc_fulltextxml", "none"),
        ("europepmc_record", "found"),
    ]


async def test_known_to_pubmed_but_not_in_pmc(desk: Desk, transport: Transport) -> None:
    desk.answers("idconv", NOT_IN_PMC)
    desk.answers("rest/", NOTHING)
    desk.answers("efetch.*db=pubmed", PUBMED, kind="text/xml")
    full = await read_full_text(transport, "90000350")
    assert full.reason == "not_in_pmc"
    assert full.artifact is not None
    assert (full.artifact.kind, full.artifact.title) == ("link:cite:pubmed:full", "Known to PubMed")
    assert trail(full) == [
        ("pmc_id_converter", "none"),
        ("europepmc_record", "none"),
        ("pubmed_record", "found"),
        ("pmc_efetch", "not_tried"),
        ("europepmc_fulltextxml", "not_tried"),
    ]


@pytest.mark.parametrize("id", ["90000777", "PMC90000399", "10.5555/nowhere"])
async def test_an_identifier_that_nobody_knows(desk: Desk, transport: Transport, id: str) -> None:
    desk.answers("idconv", NOT_IN_PMC)
    desk.answers("efetch.*db=pmc", "not-available.xml")
    desk.answers("rest/(search|article)", NOTHING)
    desk.answers("efetch.*db=pubmed", "<PubmedArticleSet/>", kind="text/xml")
    desk.answers("esearch", '{"esearchresult":{"count":"0","idlist":[]}}')
    full = await read_full_text(transport, id)
    assert (full.available, full.reason, full.artifact) == (False, "unknown_id", None)


async def test_the_converter_knows_of_an_embargo(desk: Desk, transport: Transport) -> None:
    desk.answers("idconv", "conversion-embargoed.json")
    desk.answers("efetch.*db=pmc", "<pmc-articleset><error id='90000331'>x</error></pmc-articleset>", kind="text/xml")
    desk.answers("rest/(search|article)", NOTHING)
    desk.answers("efetch.*db=pubmed", "<PubmedArticleSet/>", kind="text/xml")
    assert (await read_full_text(transport, "90000331")).reason == "embargoed"


# --- failure ----------------------------------------------------------------------------------------------------------


async def test_a_failed_route_and_an_empty_one_make_no_absence(desk: Desk, transport: Transport) -> None:
    """K045: 503 while fetching is temporary, and nothing is remembered."""
    desk.fails("efetch.*db=pmc")
    desk.answers("rest/search", row(pmcid="PMC90000301"))
    full = await read_full_text(transport, "PMC90000301")
    assert (full.available, full.reason) == (False, "temporarily_unavailable")
    assert trail(full)[:2] == [("pmc_efetch", "failed"), ("europepmc_fulltextxml", "none")]
    desk.rules.clear()
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    assert (await read_full_text(transport, "PMC90000301")).available


async def test_a_converter_that_failed_leaves_the_answer_open(desk: Desk, transport: Transport) -> None:
    """K045."""
    desk.fails("idconv")
    desk.fails("elink")
    desk.answers("rest/", NOTHING)
    desk.answers("efetch.*db=pubmed", PUBMED, kind="text/xml")
    assert (await read_full_text(transport, "90000350")).reason == "temporarily_unavailable"


async def test_an_identifier_is_not_unknown_while_who_may_know_it_could_not_be_asked(
    desk: Desk, transport: Transport
) -> None:
    """K045: PMC and Europe PMC have no text, and every look-up of the record failed."""
    desk.answers("efetch.*db=pmc", "not-available.xml")
    for route in ("idconv", "rest/(search|article)", "efetch.*db=pubmed", "esearch"):
        desk.fails(route)
    full = await read_full_text(transport, "PMC90000399")
    assert trail(full)[:3] == [
        ("pmc_efetch", "none"),
        ("europepmc_fulltextxml", "none"),
        ("europepmc_record", "failed"),
    ]
    assert (full.artifact, full.reason) == (None, "temporarily_unavailable")


@pytest.mark.parametrize("id", ["PMC90000301", "90000301", "10.5555/x"])
async def test_if_every_route_failed_that_is_an_error(desk: Desk, transport: Transport, id: str) -> None:
    desk.fails(".")
    with pytest.raises(SourceError) as caught:
        await read_full_text(transport, id)
    assert (caught.value.reason, caught.value.retryable) == ("pmc_unreachable", True)
    assert id in caught.value.message


async def test_a_cut_off_article_is_a_failed_route(desk: Desk, transport: Transport) -> None:
    """K017: what is cut off is no article."""
    whole = (PAYLOADS / "pmc" / "article-2026.xml").read_bytes()
    desk.answers("efetch.*db=pmc", whole[: len(whole) // 2], kind="text/xml")
    desk.answers("fullTextXML", whole[: len(whole) // 2], kind="application/xml")
    with pytest.raises(SourceError) as caught:
        await read_full_text(transport, "PMC90000301")
    assert caught.value.reason == "pmc_invalid_response"


async def test_a_slow_large_article_has_no_total_time_limit(desk: Desk, settings: Settings) -> None:
    """K044: only the wait for the next part is timed; the whole may take its time, by the transport's clock and by the
    loop's timers."""
    clock = StillClock()
    whole = (PAYLOADS / "pmc" / "article-2026.xml").read_bytes()

    class Slow(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            for start in range(0, len(whole), 500):
                await clock.sleep(50)
                pass_time(50)
                await asyncio.sleep(0)  # what is due is done
                await asyncio.sleep(0)
                yield whole[start : start + 500]

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Slow(), headers={"content-type": "text/xml"})

    async with Transport(settings, network=httpx.MockTransport(answer), clock=clock) as transport:
        full = await read_full_text(transport, "PMC90000301")
    assert full.available
    assert clock.waited > 600


async def test_an_answer_beyond_the_byte_cap_is_a_failure_not_a_part(desk: Desk, settings: Settings) -> None:
    """K044: nothing is given for the whole that is not."""
    desk.answers("efetch|fullTextXML", "article-2026.xml")
    async with Transport(settings, network=httpx.MockTransport(desk), clock=StillClock(), max_body=2_000) as transport:
        with pytest.raises(SourceError):
            await read_full_text(transport, "PMC90000301")


# --- switched off -----------------------------------------------------------------------------------------------------


async def test_with_europe_pmc_off_the_rest_of_the_ladder_stands(desk: Desk, settings: Settings) -> None:
    desk.answers("efetch.*db=pmc", "not-available.xml")
    desk.answers("idconv", NOT_IN_PMC)
    desk.answers("esearch", '{"esearchresult":{"count":"0","idlist":[]}}')
    off = settings.model_copy(update={"europepmc_enabled": False})
    async with Transport(off, network=httpx.MockTransport(desk), clock=StillClock()) as transport:
        full = await read_full_text(transport, "PMC90000399")
        assert full.reason == "unknown_id"
        assert ("europepmc_fulltextxml", "not_tried") in trail(full)
        with pytest.raises(SourceError) as caught:
            await read_full_text(transport, "PPR990001")
    assert caught.value.reason == "pmc_disabled"
    assert desk.count("ebi.ac.uk") == 0


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["", "NCT90000301", "sleep and light", "NBK1", "10.5555", "x" * 400, "123\n456"])
async def test_what_names_no_article_is_refused_before_anything_is_sent(
    desk: Desk, transport: Transport, id: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await read_full_text(transport, id)
    assert caught.value.reason == "pmc_invalid_input"
    assert caught.value.recovery
    assert desk.sent == []


async def test_a_budget_of_nothing_is_refused(transport: Transport) -> None:
    with pytest.raises(InvalidInputError, match="max_characters=0"):
        await read_full_text(transport, "PMC90000301", max_characters=0)


# --- sections and budget, through the ladder --------------------------------------------------------------------------


async def test_sections_are_found_at_any_level(desk: Desk, transport: Transport) -> None:
    """K040."""
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    full = await read_full_text(transport, "PMC90000301", sections=["statistics", "Appendix A"])
    assert [(section.heading, section.level) for section in full.sections] == [("Statistics", 2)]
    assert [section.heading for section in full.back_sections] == ["Appendix A"]
    assert full.warnings == ()


async def test_if_no_heading_matches_those_that_exist_are_listed(desk: Desk, transport: Transport) -> None:
    """K040."""
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    with pytest.raises(InvalidInputError) as caught:
        await read_full_text(transport, "PMC90000301", sections=["Demographics"])
    assert "'Demographics'" in caught.value.message
    assert "Participants; Statistics; Results" in caught.value.recovery


async def test_a_cut_text_says_so_and_keeps_the_later_headings(desk: Desk, transport: Transport) -> None:
    """K041: early sections whole, later headings kept."""
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    whole = await read_full_text(transport, "PMC90000301")
    full = await read_full_text(transport, "PMC90000301", max_characters=60)
    assert full.truncated
    assert full.characters_total == whole.characters_total
    assert sum(map(len, _texts(full.model_dump()))) == 60
    assert full.sections[0] == whole.sections[0]
    assert [section.heading for section in full.sections] == [section.heading for section in whole.sections]
    assert "Introduction (31 of" in full.warnings[0]
    assert not whole.truncated


# --- the one-shot function --------------------------------------------------------------------------------------------


async def test_a_registry_understands_its_references_and_holds_the_text(desk: Desk, served: str) -> None:
    """The one-shot function over real sockets: read by PMID, then by the reference that gave."""
    settings = Settings(
        ncbi_base_url=served, pmc_base_url=served, europepmc_base_url=served,
        pace="off", rate_limit_store="memory", cache="off", breaker="off",
    )  # fmt: skip
    registry = ArtifactRegistry()
    desk.answers("idconv", CONVERTED)
    desk.answers("efetch.*db=pmc", "article-2026.xml")
    full = await read("90000301", registry=registry, settings=settings)
    assert full.artifact is not None
    reference = full.artifact.reference
    assert reference is not None
    held = registry.full_text(reference)
    assert held is not None
    assert held.sections == full.sections
    again = await read(reference, sections="Results", registry=registry, settings=settings)
    assert [section.heading for section in again.sections] == ["Results"]
    assert again.artifact is not None
    assert again.artifact.reference == reference
    assert desk.count("idconv") == 1


async def test_a_pmcid_that_has_the_form_of_a_key_is_a_pmcid(desk: Desk, served: str) -> None:
    """`PMC3040717` passes the check of a bare reference key."""
    settings = Settings(ncbi_base_url=served, pace="off", rate_limit_store="memory", europepmc_enabled=False)
    desk.answers("efetch.*db=pmc.*id=3040717", "<article><body><p>x</p></body></article>", kind="text/xml")
    assert (await read("PMC3040717", registry=ArtifactRegistry(), settings=settings)).available


async def test_a_reference_without_its_registry_is_refused(settings: Settings) -> None:
    with pytest.raises(InvalidInputError, match="not held"):
        await read("«artifact:link:cite~K7QX2MDA4T»", settings=settings)


def test_all_known_identifiers_may_be_given_at_once() -> None:
    assert Ids(pmid="1", doi="10.5555/a").completed(pmcid="PMC1", pmid="2") == Ids("1", "PMC1", "10.5555/a")


# --- recorded answers -------------------------------------------------------------------------------------------------


async def test_recorded_answers_climb_the_ladder(desk: Desk, transport: Transport, shared_dir: Path) -> None:
    recorded = shared_dir / "recorded"
    desk.answers("efetch.*id=3299399", (recorded / "pmc/efetch-review-PMC3299399.xml").read_bytes(), kind="text/xml")
    desk.answers("efetch", "<pmc-articleset><error id='8118396'>x</error></pmc-articleset>", kind="text/xml")
    xml = (recorded / "europepmc/fulltextxml-PMC8118396.xml").read_bytes()
    desk.answers("PMC8118396/fullTextXML", xml, kind="application/xml")
    review = await read_full_text(transport, "PMC3299399", sections=["meta-analysis"])
    assert [section.level for section in review.sections] == [2, 2]
    paper = await read_full_text(transport, "PMC8118396")
    assert paper.sections[0].text.startswith("Stictocephala bisonia is native to North America.")
