"""ELink, ECitMatch and the MeSH database over the small corpus, asked over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
from lxml import etree

from literature_agent.sandbox import Corpus

EUTILS = "/entrez/eutils/"


def link_sets(client: httpx.Client, **parameters: Any) -> list[dict[str, Any]]:
    sent = {"dbfrom": "pubmed", "retmode": "json", **parameters}
    sets: list[dict[str, Any]] = client.get(EUTILS + "elink.fcgi", params=sent).json()["linksets"]
    return sets


def test_similar_papers_come_best_first_after_the_seed(client: httpx.Client) -> None:
    [found] = link_sets(client, db="pubmed", id="90001002", linkname="pubmed_pubmed")
    assert (found["dbfrom"], found["ids"]) == ("pubmed", ["90001002"])
    [links] = found["linksetdbs"]
    assert (links["dbto"], links["linkname"]) == ("pubmed", "pubmed_pubmed")
    assert links["links"][:2] == ["90001002", "90001004"]


def test_scores_are_whole_numbers_that_fall(client: httpx.Client) -> None:
    [found] = link_sets(client, db="pubmed", id="90001002", linkname="pubmed_pubmed", cmd="neighbor_score")
    scores = [link["score"] for link in found["linksetdbs"][0]["links"]]
    assert scores == sorted(scores, reverse=True)
    assert all(isinstance(score, int) for score in scores)


def test_citing_papers(client: httpx.Client) -> None:
    [found] = link_sets(client, db="pubmed", id="90001001", linkname="pubmed_pubmed_citedin")
    assert found["linksetdbs"][0]["links"] == ["90001002"]


def test_references_are_known_only_for_what_is_in_pmc(client: httpx.Client) -> None:
    [found] = link_sets(client, db="pubmed", id="90001002", linkname="pubmed_pubmed_refs")
    assert "linksetdbs" not in found


def test_the_pmc_copy_is_a_number_without_prefix(client: httpx.Client) -> None:
    [found] = link_sets(client, db="pmc", id="90001001", linkname="pubmed_pmc")
    assert found["linksetdbs"] == [{"dbto": "pmc", "linkname": "pubmed_pmc", "links": ["90001001"]}]


def test_no_link_has_no_list_at_all(client: httpx.Client) -> None:
    assert link_sets(client, db="pmc", id="90001003", linkname="pubmed_pmc") == [
        {"dbfrom": "pubmed", "ids": ["90001003"]}
    ]


def test_commas_merge_seeds_and_repetition_keeps_them_apart(client: httpx.Client) -> None:
    assert len(link_sets(client, db="pubmed", id="90001001,90001002")) == 1
    apart = link_sets(client, db="pubmed", id=["90001001", "90001002"])
    assert [found["ids"] for found in apart] == [["90001001"], ["90001002"]]


def test_links_as_xml(client: httpx.Client) -> None:
    sent = {"dbfrom": "pubmed", "db": "pubmed", "id": "90001001", "linkname": "pubmed_pubmed_citedin"}
    root = etree.fromstring(client.get(EUTILS + "elink.fcgi", params=sent).content)
    assert root.findtext("LinkSet/IdList/Id") == "90001001"
    assert root.findtext("LinkSet/LinkSetDb/LinkName") == "pubmed_pubmed_citedin"
    assert root.findtext("LinkSet/LinkSetDb/Link/Id") == "90001002"


def test_citations_are_matched_by_journal_volume_and_page(client: httpx.Client) -> None:
    """K007, K008: the outcome is the last field; author and year may disagree."""
    rows = [
        "synth j metab|1999|12|101|nobody|Art1|",
        "synth j metab|2015|12|999|x|Art2|",
        "no such|2015|12|101|y|Art3|",
    ]
    reply = client.get(EUTILS + "ecitmatch.cgi", params={"db": "pubmed", "retmode": "xml", "bdata": "\r".join(rows)})
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.text.splitlines() == [
        "synth j metab|1999|12|101|nobody|Art1|90001001",
        "synth j metab|2015|12|999|x|Art2|NOT_FOUND",
        "no such|2015|12|101||Art3|NOT_FOUND;INVALID_JOURNAL",
    ]


def test_an_unmatched_citation_without_journal_swallows_the_rest(client: httpx.Client) -> None:
    rows = "|2015|12|101||a|\r|1900|1|1||b|\rsynth j metab|2015|12|101||c|"
    reply = client.post(EUTILS + "ecitmatch.cgi", data={"db": "pubmed", "bdata": rows})
    assert reply.text.splitlines() == ["|2015|12|101||a|90001001"]


def test_headings_are_found_and_described(client: httpx.Client) -> None:
    sent = {"db": "mesh", "term": "diabetes mellitus", "retmode": "json"}
    result = client.get(EUTILS + "esearch.fcgi", params=sent).json()["esearchresult"]
    assert result["idlist"] == ["68003924"]
    sent = {"db": "mesh", "id": "68003924,1", "retmode": "json"}
    described = client.get(EUTILS + "esummary.fcgi", params=sent).json()["result"]
    assert described["68003924"]["ds_meshui"] == "D003924"
    assert described["68003924"]["ds_meshterms"] == ["Diabetes Mellitus, Type 2"]
    assert "error" in described["1"]
    for term, numbers in (("nothing", []), ("dementia[mesh]", ["68003704"])):
        root = etree.fromstring(client.get(EUTILS + "esearch.fcgi", params={"db": "mesh", "term": term}).content)
        assert [node.text for node in root.iterfind("IdList/Id")] == numbers


def test_every_packaged_paper_is_similar_to_itself_first(client: httpx.Client, small_corpus: Corpus) -> None:
    for pmid in small_corpus.by_pmid:
        [found] = link_sets(client, db="pubmed", id=pmid, linkname="pubmed_pubmed")
        assert found["linksetdbs"][0]["links"][0] == pmid


def test_links_it_has_not_and_empty_requests_are_errors_inside_200(client: httpx.Client) -> None:
    for sent in ({"id": "90001001", "cmd": "acheck"}, {"id": "90001001", "dbfrom": "pmc"}, {"id": "x"}, {}):
        as_json = client.get(EUTILS + "elink.fcgi", params={"db": "pubmed", "retmode": "json", **sent})
        assert (as_json.status_code, "ERROR" in as_json.json()) == (200, True)
        as_xml = client.get(EUTILS + "elink.fcgi", params={"db": "pubmed", **sent})
        assert etree.fromstring(as_xml.content).findtext("ERROR")


def test_scores_in_xml(client: httpx.Client) -> None:
    sent = {"dbfrom": "pubmed", "db": "pubmed", "id": "90001002", "cmd": "neighbor_score"}
    root = etree.fromstring(client.get(EUTILS + "elink.fcgi", params=sent).content)
    assert int(str(root.findtext("LinkSet/LinkSetDb/Link/Score"))) > 0


def test_rows_that_are_no_citation_are_dropped(client: httpx.Client) -> None:
    reply = client.get(EUTILS + "ecitmatch.cgi", params={"db": "pubmed", "bdata": "a|b\rsynth j metab|2015|||x|k|"})
    assert reply.text.splitlines() == ["synth j metab|2015|||x|k|NOT_FOUND"]
