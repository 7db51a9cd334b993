"""EFetch, ESpell and ESummary over the small corpus, asked over HTTP."""

from __future__ import annotations

import httpx
import pytest
from lxml import etree

EFETCH = "/entrez/eutils/efetch.fcgi"


def fetched(client: httpx.Client, ids: str) -> list[str | None]:
    root = etree.fromstring(client.get(EFETCH, params={"db": "pubmed", "id": ids, "retmode": "xml"}).content)
    return [node.findtext("MedlineCitation/PMID") or node.findtext("BookDocument/PMID") for node in root]


def test_records_come_as_their_own_xml(client: httpx.Client) -> None:
    reply = client.get(EFETCH, params={"db": "pubmed", "id": "90001001", "retmode": "xml"})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/xml; charset=UTF-8"
    assert b"<!DOCTYPE PubmedArticleSet PUBLIC" in reply.content[:200]
    record = etree.fromstring(reply.content).find("PubmedArticle")
    assert record is not None
    abstract = record.findall("MedlineCitation/Article/Abstract/AbstractText")[1]
    assert etree.tostring(abstract, encoding="unicode", with_tail=False) == (
        '<AbstractText Label="RESULTS" NlmCategory="RESULTS">Metformin slowed decline (<i>P</i>&lt;0.001) in 1.73'
        " m<sup>2</sup> units.</AbstractText>"
    )
    assert record.findtext("MedlineCitation/Article/AuthorList/Author/LastName") == "Müller"


def test_unknown_ids_are_left_out_and_repeated_ones_come_once(client: httpx.Client) -> None:
    assert fetched(client, "90001002,99999999,90001001,90001002") == ["90001002", "90001001"]
    assert fetched(client, "99999999") == []


def test_ids_are_read_as_numbers(client: httpx.Client) -> None:
    assert fetched(client, "0090001001") == ["90001001"]


def test_a_book_chapter_is_a_record_of_its_own_kind(client: httpx.Client) -> None:
    reply = client.get(EFETCH, params={"db": "pubmed", "id": "90001005"})
    assert etree.fromstring(reply.content)[0].tag == "PubmedBookArticle"


def test_a_deleted_citation_is_no_record(client: httpx.Client) -> None:
    assert fetched(client, "90001099") == []


@pytest.mark.parametrize("ids", ["0", "00000000", "abc", "PMC123,x"])
def test_no_valid_id_at_all_is_a_400(client: httpx.Client, ids: str) -> None:
    """K013."""
    reply = client.get(EFETCH, params={"db": "pubmed", "id": ids, "retmode": "xml"})
    assert reply.status_code == 400
    root = etree.fromstring(reply.content)
    assert root.tag == "eFetchResult"
    assert root.findtext("ERROR") == "ID list is empty! Possibly it has no correct IDs."


def test_an_absent_id_parameter_is_an_error_inside_200(client: httpx.Client) -> None:
    reply = client.get(EFETCH, params={"db": "pubmed", "retmode": "xml"})
    assert reply.status_code == 200
    assert etree.fromstring(reply.content).findtext("ERROR") == "Supplied id parameter is empty."


def test_many_ids_can_be_posted(client: httpx.Client) -> None:
    """K011."""
    ids = ",".join(str(number) for number in range(90000800, 90001400))
    root = etree.fromstring(client.post(EFETCH, data={"db": "pubmed", "id": ids}).content)
    assert len(root) == 6


def test_ids_as_plain_list(client: httpx.Client) -> None:
    sent = {"db": "pubmed", "id": "90001001,90001002", "rettype": "uilist", "retmode": "text"}
    assert client.get(EFETCH, params=sent).text == "90001001\n90001002\n"


def test_spelling_is_corrected_from_the_words_of_the_corpus(client: httpx.Client) -> None:
    def corrected(term: str) -> tuple[str | None, list[str | None]]:
        reply = client.get("/entrez/eutils/espell.fcgi", params={"db": "pubmed", "term": term})
        root = etree.fromstring(reply.content)
        assert root.find("ERROR") is not None
        assert not root.findtext("ERROR")
        return root.findtext("CorrectedQuery"), [node.text for node in root.iterfind("SpelledQuery/Replaced")]

    assert corrected("metfornim and demnetia") == ("metformin and dementia", ["metformin", "dementia"])
    assert corrected("metformin")[1] == []
    assert corrected("90001001 xqzwvkj")[1] == []


def test_spelling_reads_a_query_with_brackets_and_leaves_tags_beginnings_and_plurals_alone(
    client: httpx.Client,
) -> None:
    def corrected(term: str) -> str | None:
        reply = client.get("/entrez/eutils/espell.fcgi", params={"db": "pubmed", "term": term})
        return etree.fromstring(reply.content).findtext("CorrectedQuery")

    assert corrected("(metfornim AND demnetia)") == "(metformin and dementia)"
    assert corrected("metfornim[tiab] OR demnet*") == "metformin[tiab] or demnet*"
    assert corrected("dementias") == ""
    # One letter of a short word may be wrong, two of a long one.
    assert corrected("dementhi") == "dementia"
    assert corrected("pilod") == ""


def test_a_summary_tells_known_from_unknown(client: httpx.Client) -> None:
    sent = {"db": "pubmed", "id": "90001001,99999999", "retmode": "json"}
    result = client.get("/entrez/eutils/esummary.fcgi", params=sent).json()["result"]
    assert result["uids"] == ["90001001", "99999999"]
    assert result["90001001"]["source"] == "Synth J Metab"
    assert [author["name"] for author in result["90001001"]["authors"]] == ["Müller JA", "Roe R", "MEMORY Study Group"]
    assert result["99999999"] == {"uid": "99999999", "error": "cannot get document summary"}


def test_what_the_sandbox_has_not_is_refused(client: httpx.Client) -> None:
    medline = client.get(EFETCH, params={"db": "pubmed", "id": "90001001", "rettype": "medline", "retmode": "text"})
    assert medline.status_code == 400
    assert client.get(EFETCH, params={"db": "nothing", "id": "1"}).status_code == 400
    assert client.get("/entrez/eutils/einfo.fcgi").status_code == 404
    summary = client.get("/entrez/eutils/esummary.fcgi", params={"db": "pubmed", "retmode": "json"})
    assert summary.json()["error"] == "Neither query_key nor id specified"
