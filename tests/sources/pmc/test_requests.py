"""What would be sent to PMC, and what is refused before anything is sent."""

from __future__ import annotations

import pytest

from literature_agent.errors import InvalidInputError
from literature_agent.sources.pmc.client import articles_request, conversion_request, links_request
from literature_agent.sources.pmc.tools import MOST_IDS, read_pmcids
from literature_agent.transport import describe


def test_articles_are_asked_from_efetch_by_their_digits() -> None:
    request = articles_request(["PMC90000301", "PMC90000302"])
    assert (request.source, request.service) == ("pmc", "eutils")
    assert describe(request) == "GET efetch.fcgi?db=pmc&id=90000301,90000302&retmode=xml"


def test_many_articles_are_asked_by_form() -> None:
    """K011."""
    request = articles_request([f"PMC9{number:07d}" for number in range(300)])
    assert request.params == ()
    assert request.form is not None


@pytest.mark.parametrize(
    ("kind", "ids", "expected"),
    [
        ("pmid", ["90000301", "90000302"], "ids=90000301,90000302&idtype=pmid"),
        ("pmcid", ["PMC90000301"], "ids=PMC90000301&idtype=pmcid"),
        ("doi", ["10.5555/a(1)"], "ids=10.5555/a(1)&idtype=doi"),
    ],
)
def test_the_id_converter_is_always_told_the_type(kind: str, ids: list[str], expected: str) -> None:
    """Upstream's page says types are detected; without it a DOI fails."""
    request = conversion_request(kind, ids)  # type: ignore[arg-type]  # plain strings from the table above
    assert (request.source, request.service) == ("pmc", "pmc")
    assert describe(request) == f"GET tools/idconv/api/v1/articles/?{expected}&format=json&versions=no"


def test_the_link_asked_for_is_that_to_the_article_itself() -> None:
    assert describe(links_request("90000301")) == (
        "GET elink.fcgi?dbfrom=pubmed&db=pmc&linkname=pubmed_pmc&cmd=neighbor&id=90000301&retmode=json"
    )


def test_pmcids_are_read_leniently_and_written_in_one_form() -> None:
    assert read_pmcids(["pmc90000301", " PMC90000301.2 ", "https://pmc.ncbi.nlm.nih.gov/articles/PMC90000302/"]) == {
        "pmc90000301": "PMC90000301",
        " PMC90000301.2 ": "PMC90000301",
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC90000302/": "PMC90000302",
    }


@pytest.mark.parametrize("value", ["90000301", "10.5555/a", "PMC", "", "PMC1, PMC2"])
def test_what_is_no_pmcid_is_refused_with_the_fix(value: str) -> None:
    """K021: digits are no PMCID."""
    with pytest.raises(InvalidInputError) as caught:
        read_pmcids([value])
    assert caught.value.reason == "pmc_invalid_input"
    assert repr(value) in caught.value.message
    assert "PMC3531190" in caught.value.message


def test_too_many_articles_in_one_call_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=f"at most {MOST_IDS}"):
        read_pmcids([f"PMC{number}" for number in range(1, MOST_IDS + 2)])
