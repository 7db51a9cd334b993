"""Related works over the sandbox: similar, citing, cited, linked; none and failed told apart."""

from __future__ import annotations

from typing import Any

import pytest

from literature_agent.artifacts import ClinicalTrial, PubMedArticle
from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.federation import Seed, find_related, seed_of, seed_of_records
from literature_agent.federation.ids import Ids
from literature_agent.results import RelatedResult
from literature_agent.sandbox import SandboxServer
from literature_agent.sources import europepmc, pubmed
from literature_agent.transport import Transport

# Of the packaged corpus: 101 cites 103 and 106, and lies in PMC; 701 was retracted by 702; 707 is the preprint of 708.
CITING, CITED = "90000101", "90000103"
RETRACTED, RETRACTION = "90000701", "90000702"
PREPRINT, PAPER = "90000707", "90000708"


def pmids(result: RelatedResult) -> list[str | None]:
    return [getattr(artifact, "pmid", None) for artifact in result.artifacts]


def trail(result: RelatedResult) -> list[tuple[str, str]]:
    return [(step.route, step.result) for step in result.trail]


# --- similar ----------------------------------------------------------------------------------------------------------


async def test_similar_works_come_whole_without_the_work_itself_and_are_cut_here(wire: Transport) -> None:
    result = await find_related(wire, CITING, "similar", max_results=4)
    assert (result.status, result.returned, len(result.artifacts)) == ("ok", 4, 4)
    assert result.total is not None
    assert result.total > 4
    assert CITING not in pmids(result)
    assert all(artifact.kind == "link:cite:pubmed:full" for artifact in result.artifacts)
    assert trail(result) == [("pubmed_elink", "found")]


@pytest.mark.parametrize("seed", ["10.5555/synthetic.90000101", "PMC90000101", "pmid: 90000101"])
async def test_every_kind_of_identifier_leads_to_the_same_works(wire: Transport, seed: str) -> None:
    by_pmid = await find_related(wire, CITING, "similar", max_results=4)
    assert pmids(await find_related(wire, seed, "similar", max_results=4)) == pmids(by_pmid)


async def test_a_failed_look_is_an_error_and_not_an_empty_list(wire: Transport, sandbox: SandboxServer) -> None:
    """K095: nobody but ELink knows similar works."""
    sandbox.faults.set("eutils", "html", path="elink")
    with pytest.raises(SourceError) as caught:
        await find_related(wire, CITING, "similar")
    assert (caught.value.reason, caught.value.retryable) == ("pubmed_unreachable", True)


async def test_records_that_pubmed_does_not_hand_out_come_from_europe_pmc(
    wire: Transport, sandbox: SandboxServer
) -> None:
    healthy = await find_related(wire, CITING, "similar", max_results=4)
    sandbox.faults.set("eutils", "server_error", path="efetch")
    result = await find_related(wire, CITING, "similar", max_results=4)
    assert pmids(result) == pmids(healthy)
    assert {artifact.source for artifact in result.artifacts} == {"europepmc"}
    assert (result.status, result.error) == ("ok", None)


async def test_records_that_nobody_hands_out_are_an_error(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "server_error", path="efetch")
    sandbox.faults.set("europepmc", "server_error")
    with pytest.raises(SourceError):
        await find_related(wire, CITING, "similar", max_results=4)


# --- cited_by and references ------------------------------------------------------------------------------------------


async def test_citing_and_cited_works_come_from_elink(wire: Transport) -> None:
    citing = await find_related(wire, CITED, "cited_by")
    assert (pmids(citing), citing.total, citing.status) == ([CITING], 1, "ok")
    cited = await find_related(wire, CITING, "references")
    assert pmids(cited) == [CITED, "90000106"]
    assert trail(cited) == [("pubmed_elink", "found")]


@pytest.mark.parametrize("kind", ["html", "server_error", "empty_envelope", "cut"])
async def test_europe_pmc_answers_where_elink_fails_and_it_is_said(
    wire: Transport, sandbox: SandboxServer, kind: str
) -> None:
    sandbox.faults.set("eutils", kind)
    result = await find_related(wire, CITED, "cited_by")
    assert (pmids(result), result.status, result.error) == ([CITING], "ok", None)
    assert trail(result) == [("pubmed_elink", "failed"), ("europepmc_citations", "found")]
    assert "europepmc_citations" in result.warnings[-1]


async def test_cited_works_without_a_record_are_counted(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "server_error", path="elink")
    result = await find_related(wire, CITING, "references")
    assert pmids(result) == [CITED, "90000106"]
    assert "1 of the 3 works has no record and is" in result.warnings[0]


async def test_none_is_believed_only_when_both_say_so(wire: Transport) -> None:
    """ELink knows the citations of articles in PMC only."""
    result = await find_related(wire, "90000201", "cited_by")
    assert (result.status, result.total, result.error) == ("empty", 0, None)
    assert trail(result) == [("pubmed_elink", "none"), ("europepmc_citations", "none")]
    assert result.notice == "No work is known as citing it."


async def test_none_beside_a_failure_is_partial(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("europepmc", "server_error")
    result = await find_related(wire, "90000201", "cited_by")
    assert (result.status, result.artifacts) == ("partial", ())
    assert result.error is not None
    assert (result.error.reason, result.notice) == ("europepmc_unreachable", None)


async def test_when_both_fail_it_is_an_error(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("all", "server_error")
    with pytest.raises(SourceError) as caught:
        await find_related(wire, CITED, "cited_by")
    assert caught.value.reason == "pubmed_unreachable"


async def test_a_preprint_that_pubmed_has_not_is_looked_for_at_europe_pmc(wire: Transport) -> None:
    result = await find_related(wire, "PPR900001", "cited_by")
    assert trail(result) == [("pubmed_elink", "not_tried"), ("europepmc_citations", "none")]
    assert result.status == "empty"


async def test_only_the_sources_allowed_are_asked(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.requests.clear()
    result = await find_related(wire, CITED, "cited_by", sources=[europepmc.SOURCE])
    assert pmids(result) == [CITING]
    assert all("/europepmc/" in asked.path for asked in sandbox.requests)
    sandbox.requests.clear()
    result = await find_related(wire, "90000201", "cited_by", sources=[pubmed.SOURCE])
    assert trail(result)[1] == ("europepmc_citations", "not_tried")
    assert result.status == "empty"
    assert all("/europepmc/" not in asked.path for asked in sandbox.requests)


# --- linked -----------------------------------------------------------------------------------------------------------


async def test_a_retracted_paper_leads_to_its_notice_and_the_notice_to_the_paper(wire: Transport) -> None:
    result = await find_related(wire, RETRACTED, "linked")
    assert (pmids(result), result.relations) == ([RETRACTION], ("retracted_by",))
    assert result.artifacts[0].is_notice
    assert [notice.kind for notice in result.notices] == ["retracted_by"]
    back = await find_related(wire, RETRACTION, "linked")
    assert (pmids(back), back.relations) == ([RETRACTED], ("retraction_of",))
    assert back.artifacts[0].correction_status == "retracted"


async def test_a_preprint_leads_to_its_paper_and_the_paper_to_its_preprint(wire: Transport) -> None:
    forth = await find_related(wire, PREPRINT, "linked")
    assert dict(zip(pmids(forth), forth.relations, strict=True))[PAPER] in ("published_as", "updated_by")
    back = await find_related(wire, PAPER, "linked")
    assert PREPRINT in pmids(back)
    assert PAPER not in pmids(back)


async def test_a_preprint_of_europe_pmc_leads_to_its_paper_with_how_sure_that_is(wire: Transport) -> None:
    result = await find_related(wire, "PPR900001", "linked")
    assert (pmids(result), result.relations) == (["90000403"], ("published_as",))
    assert result.links[0].certainty == "inferred"


async def test_a_copy_in_pmc_is_a_link_and_no_other_work(wire: Transport) -> None:
    result = await find_related(wire, CITING, "linked")
    assert [link.pmcid for link in result.links if link.relation == "pmc_copy"] == ["PMC90000101"]
    assert CITING not in pmids(result)
    assert result.status == "ok"


async def test_a_trial_leads_to_the_papers_that_name_it(wire: Transport) -> None:
    result = await find_related(wire, "NCT90000001", "linked", sources=[pubmed.SOURCE])
    assert (pmids(result), result.relations) == ([CITING], ("paper",))


async def test_links_into_sources_that_are_not_asked_are_counted(wire: Transport) -> None:
    """The paper names a trial, and no registry may be asked."""
    result = await find_related(wire, CITING, "linked", sources=[pubmed.SOURCE, europepmc.SOURCE])
    assert (result.status, result.artifacts) == ("ok", ())
    assert result.warnings == ("No source that may be asked takes an identifier of 1 linked record.",)
    assert "NCT90000001" in [link.nct_id for link in result.links]


@pytest.mark.parametrize("service", ["eutils", "europepmc"])
async def test_the_trail_is_the_same_whichever_source_is_slower(
    service: str, wire: Transport, sandbox: SandboxServer
) -> None:
    sandbox.faults.set(service, "slow", seconds=0.1, times=1)
    result = await find_related(wire, RETRACTED, "linked")
    assert trail(result) == [("pubmed_record", "found"), ("europepmc_record", "found")]


async def test_one_failing_source_makes_links_partial(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("europepmc", "server_error")
    result = await find_related(wire, RETRACTED, "linked")
    assert (pmids(result), result.status) == ([RETRACTION], "partial")
    assert result.error is not None
    assert result.error.reason == "europepmc_unreachable"


async def test_a_work_that_nobody_knows_has_no_links_and_it_is_said(wire: Transport) -> None:
    result = await find_related(wire, "99999999", "linked")
    assert (result.status, result.notice) == ("empty", "No source has a record of this work.")


async def test_links_of_a_work_that_no_source_answers_for_are_an_error(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("all", "refuse")
    with pytest.raises(SourceError):
        await find_related(wire, RETRACTED, "linked")


# --- input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", ["", "   ", "metformin", "x" * 5000, "PMC", "90000101, 90000102", "a\x00b"])
async def test_what_is_no_identifier_is_refused_with_the_fix(
    wire: Transport, sandbox: SandboxServer, seed: str
) -> None:
    sandbox.requests.clear()
    with pytest.raises(InvalidInputError) as caught:
        await find_related(wire, seed, "similar")
    assert len(caught.value.message) < 200
    assert "PMID" in caught.value.recovery
    assert not sandbox.requests


@pytest.mark.parametrize("more", [{"kind": "nephew"}, {"max_results": 0}, {"max_results": 10_000}])
async def test_an_impossible_request_names_the_value(wire: Transport, more: dict[str, Any]) -> None:
    value = str(next(iter(more.values())))
    with pytest.raises(InvalidInputError, match=value):
        await find_related(wire, CITING, **{"kind": "similar", **more})


async def test_a_look_that_nobody_can_make_is_refused(wire: Transport) -> None:
    with pytest.raises(InvalidInputError, match="pubmed is not among the sources"):
        await find_related(wire, CITING, "similar", sources=[europepmc.SOURCE])


def test_a_seed_is_read_from_text_and_from_records() -> None:
    assert seed_of(" nct90000001 ") == Seed(Ids(), "NCT90000001")
    assert seed_of("10.1101/2021.01.01.21249999v2").ids.doi == "10.1101/2021.01.01.21249999"
    records = [PubMedArticle(pmid="90000001", doi="10.5555/a"), ClinicalTrial(nct_id="NCT90000001")]
    assert seed_of_records(records) == Seed(Ids(pmid="90000001", doi="10.5555/a"), "NCT90000001")
