"""PMC over the small corpus: EFetch, id converter, OAI-PMH."""

from __future__ import annotations

import httpx
import pytest
from lxml import etree

CONVERTER = "/pmc/tools/idconv/api/v1/articles/"


def test_articles_come_in_a_set_and_unknown_ones_as_errors(client: httpx.Client) -> None:
    sent = {"db": "pmc", "id": "PMC90001001,99,90001001", "retmode": "xml"}
    reply = client.get("/entrez/eutils/efetch.fcgi", params=sent)
    assert b"-//NLM//DTD ARTICLE SET 2.0//EN" in reply.content[:200]
    root = etree.fromstring(reply.content)
    assert [node.tag for node in root] == ["article", "error"]
    assert root.findtext("article/body/sec/title") == "Methods"
    assert (root[1].get("id"), root[1].text) == ("99", "The following PMCID is not available: 99")


def test_no_valid_number_is_a_400(client: httpx.Client) -> None:
    reply = client.get("/entrez/eutils/efetch.fcgi", params={"db": "pmc", "id": "0"})
    assert reply.status_code == 400
    assert "ID list is empty" in str(etree.fromstring(reply.content).findtext("ERROR"))


def test_ids_are_converted_row_by_row(client: httpx.Client) -> None:
    sent = {"ids": "90001001,90001002", "idtype": "pmid", "format": "json", "tool": "t", "email": "e@example.org"}
    answer = client.get(CONVERTER, params=sent).json()
    assert answer["status"] == "ok"
    assert "warnings" not in answer["request"]
    assert answer["records"] == [
        {"pmid": 90001001, "pmcid": "PMC90001001", "doi": "10.5555/sandbox.1001", "requested-id": "90001001"},
        {
            "pmid": 90001002,
            "requested-id": "90001002",
            "status": "error",
            "errmsg": "Identifier not found in PMC",
        },
    ]


@pytest.mark.parametrize(
    ("kind", "value"), [("doi", "10.5555/SANDBOX.1001"), ("pmcid", "PMC90001001"), ("pmcid", "pmc90001001")]
)
def test_every_kind_leads_to_the_same_row(client: httpx.Client, kind: str, value: str) -> None:
    [row] = client.get(CONVERTER, params={"ids": value, "idtype": kind, "format": "json"}).json()["records"]
    assert (row["pmid"], row["requested-id"]) == (90001001, value)


@pytest.mark.parametrize(
    ("ids", "kind", "code"),
    [
        ("PMC1,2", "pmcid", "invalid_pmcids"),
        ("10.5555/x", "", "invalid_pmids"),
        ("x", "pmid", "invalid_pmids"),
        ("", "pmid", "invalid_ids"),
        (",".join(map(str, range(1, 202))), "pmid", "invalid_ids"),
        ("1", "isbn", "invalid_idtype"),
    ],
)
def test_one_malformed_id_spoils_the_batch(client: httpx.Client, ids: str, kind: str, code: str) -> None:
    """K019: and a DOI without its type is read as a PMID."""
    reply = client.get(CONVERTER, params={"ids": ids, "idtype": kind, "format": "json"})
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["code"] == code


def test_oai_wraps_the_article_in_its_envelope(client: httpx.Client) -> None:
    sent = {"verb": "GetRecord", "metadataPrefix": "pmc", "identifier": "oai:pubmedcentral.nih.gov:90001050"}
    root = etree.fromstring(client.get("/pmc/api/oai/v1/mh/", params=sent).content)
    assert etree.QName(root).localname == "OAI-PMH"
    body = root.find(".//{https://jats.nlm.nih.gov/ns/archiving/1.3/}body")
    assert body is not None
    for change, code in (
        ({"identifier": "oai:pubmedcentral.nih.gov:5"}, "idDoesNotExist"),
        ({"metadataPrefix": "oai_dc"}, "cannotDisseminateFormat"),
        ({"verb": "Identify"}, "badVerb"),
    ):
        reply = client.get("/pmc/api/oai/v1/mh/", params=sent | change)
        error = etree.fromstring(reply.content).find("{*}error")
        assert reply.status_code == 200
        assert error is not None
        assert error.get("code") == code
