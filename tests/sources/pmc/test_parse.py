"""PMC's answers read: articles, conversions, links, and the answers nobody likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from literature_agent.errors import SourceError
from literature_agent.sources.pmc.parse import (
    BatchRefused,
    Conversion,
    IdType,
    parse_articles,
    read_articles,
    read_conversions,
    read_links,
)
from literature_agent.transport.messages import Answer, TransientAnswer

PAYLOADS = Path(__file__).resolve().parents[2] / "payloads" / "pmc"
KINDS = {".xml": "text/xml", ".json": "application/json", ".html": "text/html"}


def answer(name: str, status: int = 200) -> Answer:
    return Answer(status, (PAYLOADS / name).read_bytes(), KINDS[Path(name).suffix])


def raw(body: str, status: int = 200, kind: str = "text/xml") -> Answer:
    return Answer(status, body.encode(), kind)


# --- articles ---------------------------------------------------------------------------------------------------------


def test_whole_articles_carry_their_text() -> None:
    (article,) = parse_articles((PAYLOADS / "article-2026.xml").read_bytes())
    assert (article.kind, article.source, article.pmcid) == ("link:cite:pmc", "pmc", "PMC90000301")
    assert (len(article.sections), len(article.tables), len(article.figures)) == (5, 2, 2)
    assert type(article).model_validate_json(article.model_dump_json()) == article


@pytest.mark.parametrize("name", ["not-available.xml", "not-available-old.xml"])
def test_an_unavailable_article_is_an_answer(name: str) -> None:
    found = read_articles(answer(name))
    assert (found.articles, list(found.unavailable)) == ((), ["PMC90000399"])


def test_a_list_of_impossible_ids_is_an_empty_answer() -> None:
    """K013."""
    body = "<eFetchResult><ERROR>ID list is empty! Possibly it has no correct IDs.</ERROR></eFetchResult>"
    assert read_articles(raw(body, 400)).articles == ()


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ("<pmc-articleset><article><front>", 200, "invalid_response"),
        ("<pmc-articleset></pmc-articleset>", 200, "invalid_response"),
        ('<?xml version="1.0"?><!DOCTYPE pmc-articleset PUBLIC "x" "y">', 200, "invalid_response"),
        ("<eFetchResult><ERROR>proxy_stream(): 502 Bad Gateway</ERROR></eFetchResult>", 400, "unreachable"),
        ("<html><body>Service Temporarily Unavailable</body></html>", 200, "unreachable"),
        ("", 200, "invalid_response"),
    ],
)
def test_a_passing_fault_is_told_from_an_answer(body: str, status: int, kind: str) -> None:
    """K014, K015, K016, K017: never "no article"."""
    with pytest.raises(TransientAnswer) as caught:
        read_articles(raw(body, status))
    assert caught.value.kind == kind


def test_a_refused_key_is_a_matter_of_the_settings() -> None:
    """K022."""
    with pytest.raises(SourceError) as caught:
        read_articles(raw('{"error":"API key invalid","api-key":"0123456789abcdef"}', 400, "application/json"))
    assert caught.value.reason == "pmc_configuration"
    assert "0123456789abcdef" not in caught.value.message


# --- conversions ------------------------------------------------------------------------------------------------------


def test_conversions_are_joined_by_id_whatever_their_order_and_case() -> None:
    """Upstream repeats a DOI in another case, and numbers PMIDs."""
    found = read_conversions(answer("conversion-mixed.json"), "doi", ["10.5555/a", "10.5555/b", "10.5555/c"])
    assert found == {
        "10.5555/a": Conversion("PMC90000341", "90000341", "10.5555/a"),
        "10.5555/b": Conversion(doi="10.5555/b"),
    }


def test_the_answer_of_the_old_converter_is_read_too() -> None:
    """Without `requested-id`, with PMIDs as text."""
    found = read_conversions(answer("conversion-old.json"), "pmid", ["90000342"])
    assert found == {"90000342": Conversion("PMC90000342", "90000342", "10.5555/old")}


def test_an_article_under_embargo_is_in_pmc_from_a_date() -> None:
    (found,) = read_conversions(answer("conversion-embargoed.json"), "pmid", ["90000331"]).values()
    assert (found.pmcid, found.embargoed_until) == ("PMC90000331", "2027-06-01")


def test_a_refused_batch_is_told_from_a_fault() -> None:
    with pytest.raises(BatchRefused):
        read_conversions(answer("conversion-refused.json", 400), "pmid", ["90000301"])


@pytest.mark.parametrize(
    ("body", "status"), [("<html>x</html>", 200), ("", 200), ('{"status":"ok"}', 200), ("[]", 200)]
)
def test_an_answer_of_another_shape_is_a_passing_fault(body: str, status: int) -> None:
    with pytest.raises(TransientAnswer):
        read_conversions(raw(body, status), "pmid", ["90000301"])


def test_a_missing_converter_is_no_answer() -> None:
    with pytest.raises(SourceError) as caught:
        read_conversions(raw("gone", 404, "text/plain"), "pmid", ["90000301"])
    assert caught.value.reason == "pmc_invalid_response"


@pytest.mark.parametrize(
    ("name", "kind", "asked", "pmcid"),
    [
        ("doi-found", "doi", "10.1371/journal.pone.0000030", "PMC1762313"),
        ("doi-invalid", "doi", "10.1371/journal.pone.0000030x", None),
        ("pmcid-two-versions-manuscript", "pmcid", "PMC3292175", "PMC3292175"),
        ("pmid-found", "pmid", "19749171", "PMC2763780"),
        ("pmid-not-found-2026-shape-unverified", "pmid", "22663011", None),
        ("pmid-not-in-pmc", "pmid", "19308318", None),
    ],
)
def test_recorded_conversions(shared_dir: Path, name: str, kind: IdType, asked: str, pmcid: str | None) -> None:
    body = (shared_dir / "recorded" / "idconv" / f"{name}.json").read_bytes()
    found = read_conversions(Answer(200, body, "application/json"), kind, [asked])
    assert found[asked].pmcid == pmcid


# --- links ------------------------------------------------------------------------------------------------------------


def test_only_the_link_to_the_article_itself_counts() -> None:
    assert read_links(answer("links-text-and-citing.json")) == ("PMC90000343",)
    assert read_links(answer("links-citing-only.json")) == ()


def test_links_come_as_text_or_as_objects() -> None:
    body = '{"linksets":[{"linksetdbs":[{"dbto":"pmc","linkname":"pubmed_pmc","links":[{"id":"90000344"}]}]}]}'
    assert read_links(raw(body, kind="application/json")) == ("PMC90000344",)


def test_a_record_without_links_has_none() -> None:
    assert read_links(raw('{"linksets":[{"dbfrom":"pubmed","ids":["90000343"]}]}', kind="application/json")) == ()


def test_an_outage_of_the_link_server_is_not_the_absence_of_links() -> None:
    """Upstream: an upper-case `ERROR` under HTTP 200."""
    with pytest.raises(TransientAnswer):
        read_links(answer("links-outage.json"))


@pytest.mark.parametrize("body", ['<?xml version="1.0"?>', "{}", "<html></html>"])
def test_links_of_another_shape_are_a_passing_fault(body: str) -> None:
    with pytest.raises(TransientAnswer):
        read_links(raw(body))
