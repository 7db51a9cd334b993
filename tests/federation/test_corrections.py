"""What became of a paper, put together from every source that knows: retracted, concern, corrected, none, unknown.

Over the real parsers and a federated search: one source's answers are served with each thing that it can say.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from literature_agent.federation import find_related, search_all
from literature_agent.results import SearchResult
from literature_agent.sources import biorxiv, europepmc, pubmed
from literature_agent.transport import Transport

PMID = "90000001"
DOI = "10.5555/a.paper"


def pubmed_says(desk: Any, *links: str, types: str = "Journal Article") -> None:
    """PubMed finds the paper, with these links (`RefType PMID`) and types."""
    found = {"header": {}, "esearchresult": {"count": "1", "idlist": [PMID], "querytranslation": "q"}}
    desk.answers("esearch", json.dumps(found))
    comments = "".join(
        f'<CommentsCorrections RefType="{kind}"><RefSource>Synth J. 2021 Mar 2;1:1</RefSource><PMID>{other}</PMID>'
        "</CommentsCorrections>"
        for kind, other in (link.split() for link in links)
    )
    kinds = "".join(f"<PublicationType>{kind}</PublicationType>" for kind in types.split("|"))
    desk.answers(
        "efetch",
        f"<PubmedArticleSet>\n<PubmedArticle><MedlineCitation><PMID>{PMID}</PMID><Article><ArticleTitle>A paper."
        f"</ArticleTitle><PublicationTypeList>{kinds}</PublicationTypeList></Article><CommentsCorrectionsList>{comments}"
        "</CommentsCorrectionsList></MedlineCitation><PubmedData><ArticleIdList>"
        f"<ArticleId IdType='doi'>{DOI}</ArticleId></ArticleIdList></PubmedData></PubmedArticle></PubmedArticleSet>",
        kind="text/xml",
    )


def europepmc_says(desk: Any, *comments: tuple[str, str], result_type: str = "core") -> None:
    """Europe PMC finds the same paper with these comments (type, PMID), or as a `lite` row, which has none."""
    row: dict[str, Any] = {"id": PMID, "source": "MED", "pmid": PMID, "doi": DOI, "title": "A paper."}
    if result_type == "core":
        row["pubTypeList"] = {"pubType": ["Journal Article"]}
    if comments:
        listed = [{"type": kind, "id": other, "source": "MED"} for kind, other in comments]
        row["commentCorrectionList"] = {"commentCorrection": listed}
    desk.answers("/search", json.dumps({"version": "6.9", "hitCount": 1, "resultList": {"result": [row]}}))
    desk.answers("/article/", json.dumps({"version": "6.9", "hitCount": 1, "result": row}))


async def one_work(transport: Transport, **filters: Any) -> SearchResult:
    result = await search_all(transport, (pubmed.SOURCE, europepmc.SOURCE), "a paper", **filters)
    assert result.returned == 1
    return result


@pytest.mark.parametrize(
    ("link", "comment", "status"),
    [
        (None, None, "none"),
        ("RetractionIn 90000002", None, "retracted"),
        (None, ("Retraction in", "90000002"), "retracted"),
        (None, ("Expression of concern in", "90000002"), "concern"),
        ("ErratumIn 90000002", None, "corrected"),
        ("ErratumIn 90000003", ("Expression of concern in", "90000002"), "concern"),
        ("ExpressionOfConcernIn 90000003", ("Retraction in", "90000002"), "retracted"),
        ("CommentIn 90000002", ("Comment in", "90000002"), "none"),
    ],
)
async def test_the_gravest_thing_that_any_source_says_counts(
    transport: Transport, desk: Any, link: str | None, comment: tuple[str, str] | None, status: str
) -> None:
    pubmed_says(desk, *([link] if link else []))
    europepmc_says(desk, *([comment] if comment else []))
    (work,) = (await one_work(transport)).artifacts
    assert (work.correction_status, work.is_notice) == (status, False)
    assert work.correction_checked_at is not None
    assert {notice.reference_id for notice in work.notices} <= {"90000002", "90000003"}
    assert bool(work.notices) == (status != "none")


async def test_what_nobody_knows_is_never_shown_as_none(transport: Transport, desk: Any) -> None:
    """K037: a `lite` row lists no corrections, and PubMed could not be asked."""
    desk.fails("esearch")
    europepmc_says(desk, result_type="lite")
    result = await one_work(transport, result_type="lite")
    (work,) = result.artifacts
    assert (work.correction_status, work.correction_checked_at) == ("unknown", None)
    assert result.status == "partial"


async def test_a_notice_of_two_sources_stands_once_with_all_that_is_known(transport: Transport, desk: Any) -> None:
    pubmed_says(desk, "RetractionIn 90000002", types="Journal Article|Retracted Publication")
    europepmc_says(desk, ("Retraction in", "90000002"))
    (work,) = (await one_work(transport)).artifacts
    (notice,) = work.notices
    assert (notice.kind, notice.reference_id, notice.date) == ("retracted_by", "90000002", "2021-03-02")
    assert notice.text == "Synth J. 2021 Mar 2;1:1"


async def test_the_journal_version_that_a_preprint_server_states_is_a_link(transport: Transport, desk: Any) -> None:
    """`published` of the server's own record; the paper itself is read where it is."""
    post = {
        "doi": "10.1101/2021.01.02.21249001",
        "title": "A preprint",
        "authors": "Doe, J.",
        "date": "2021-01-02",
        "version": "1",
        "server": "medRxiv",
        "category": "epidemiology",
        "abstract": "Synthetic.",
        "published": DOI,
    }
    desk.answers("details/", json.dumps({"messages": [{"status": "ok"}], "collection": [post]}))
    nothing = {"header": {}, "esearchresult": {"count": "0", "idlist": []}}
    desk.answers(rf"esearch.*{post['doi']}", json.dumps(nothing))
    empty = {"version": "6.9", "hitCount": 0, "resultList": {"result": []}}
    desk.answers(rf"/search.*{post['doi']}", json.dumps(empty))
    europepmc_says(desk)
    sources = (pubmed.SOURCE, europepmc.SOURCE, biorxiv.BIORXIV, biorxiv.MEDRXIV)
    result = await find_related(transport, post["doi"], "linked", sources=sources)
    assert result.relations == ("published_as",)
    assert [artifact.doi for artifact in result.artifacts] == [DOI]
    assert result.links[0].certainty == "stated"
