"""What would be sent to the bioRxiv API, and how a query is read."""

from __future__ import annotations

import pytest

from literature_agent.errors import InvalidInputError
from literature_agent.sources import SOURCES
from literature_agent.sources.biorxiv import BIORXIV, MEDRXIV
from literature_agent.sources.biorxiv.categories import CATEGORIES, known_category
from literature_agent.sources.biorxiv.client import versions_request, window_request
from literature_agent.sources.biorxiv.pages import Place
from literature_agent.sources.biorxiv.query import read_query
from literature_agent.transport import describe

# --- requests ---------------------------------------------------------------------------------------------------------


def test_a_page_of_a_window_is_named_by_server_days_and_cursor() -> None:
    request = window_request(Place("medrxiv", "2026-07-01", "2026-07-03", None, 30), "medrxiv", ended=True)
    assert describe(request) == "GET details/medrxiv/2026-07-01/2026-07-03/30/json"
    assert (request.source, request.service, request.max_age_s) == ("medrxiv", "biorxiv", None)


def test_a_large_cursor_is_written_out() -> None:
    """K057: 100000, never 1e+05."""
    request = window_request(Place("biorxiv", "2020-01-01", "2020-12-31", None, 100_000), "biorxiv", ended=True)
    assert request.path.endswith("/100000/json")


def test_days_that_may_still_grow_are_asked_anew_and_not_stored() -> None:
    place = Place("biorxiv", "2026-11-29", "2026-11-30", None, 0)
    assert window_request(place, "biorxiv", ended=False).max_age_s == 0


def test_the_category_is_a_parameter() -> None:
    request = window_request(Place("biorxiv", "2026-07-01", "2026-07-01", "cell biology", 0), "biorxiv", ended=True)
    assert request.params == (("category", "cell biology"),)


def test_a_doi_is_asked_for_all_its_versions() -> None:
    request = versions_request("medrxiv", "10.64898/2025.12.01.123456", "biorxiv")
    assert describe(request) == "GET details/medrxiv/10.64898/2025.12.01.123456/na/json"
    assert request.source == "biorxiv"
    assert (
        versions_request("biorxiv", "10.5555/a<b>c?d", "biorxiv").path
        == "details/biorxiv/10.5555/a%3Cb%3Ec%3Fd/na/json"
    )


# --- registration -----------------------------------------------------------------------------------------------------


def test_both_servers_are_sources_that_share_their_tools() -> None:
    names = [source.name for source in SOURCES]
    assert names[2:4] == ["biorxiv", "medrxiv"]
    assert (BIORXIV.search_tool, BIORXIV.fetch_tool) == (MEDRXIV.search_tool, MEDRXIV.fetch_tool)
    assert BIORXIV.filters == {"date_from", "date_to", "category"}


def test_the_server_argument_tells_which_source_is_meant() -> None:
    for server, meant in (("medrxiv", MEDRXIV), ("MedRxiv ", MEDRXIV), ("biorxiv", BIORXIV), (None, BIORXIV)):
        assert [source for source in (BIORXIV, MEDRXIV) if source.takes({"server": server})] == [meant]
    assert BIORXIV.takes({"references": []})


# --- categories -------------------------------------------------------------------------------------------------------


def test_categories_are_taken_in_any_spelling_the_website_or_the_api_uses() -> None:
    assert known_category("Cell_Biology", "biorxiv") == "cell biology"
    assert known_category("HIV/AIDS", "medrxiv") == "hiv aids"
    assert known_category("infectious diseases (except HIV/AIDS)", "medrxiv") == "infectious diseases"
    assert known_category(" ", "biorxiv") is None
    assert known_category(None, "biorxiv") is None


def test_an_unknown_category_is_refused_with_the_list() -> None:
    """K058: the server would ignore it and list everything recent."""
    with pytest.raises(
        InvalidInputError, match=r"'genomix' is no category of bioRxiv\. Did you mean 'genomics'"
    ) as error:
        known_category("genomix", "biorxiv")
    assert error.value.reason == "biorxiv_invalid_input"
    assert all(name in error.value.recovery for name in CATEGORIES["biorxiv"])
    with pytest.raises(InvalidInputError):
        known_category("oncology", "biorxiv")


# --- the grammar ------------------------------------------------------------------------------------------------------

TITLE = "Gut microbes of a Synthetic mouse"
ABSTRACT = "We describe the gut-microbiome of an invented mouse, TNF-α and naïve T cells; immunity rises (P<0.001)."


@pytest.mark.parametrize(
    "query",
    [
        "microbes",
        "MICROBES synthetic",
        "immun*",
        '"gut microbiome"',
        '"gut micro*"',
        '"gut microb"*',
        "naive",
        "TNF-alpha",
        "tnf-α",
        "gut-microbiome",
        "zebrafish OR mouse",
        "mouse AND NOT zebrafish",
        "mouse NOT (fish OR bird)",
        "(rat OR mouse) AND (gut OR lung)",
        "NOT zebrafish mouse",
        "NOT NOT mouse",
        "“invented mouse”",
        "mouse, immunity.",
        "zebrafish AND lung OR mouse",
        "mouse OR lung AND zebrafish",
    ],
)
def test_a_query_that_holds(query: str) -> None:
    assert read_query(query, "biorxiv").accepts(TITLE, ABSTRACT)


@pytest.mark.parametrize(
    "query",
    [
        "micro",
        "immun",
        '"mouse gut"',
        '"synthetic mouse we"',
        "mouse AND zebrafish",
        "mouse NOT gut",
        "(zebrafish OR mouse) lung",
        "zebrafish AND (mouse OR gut)",
        "cell",
    ],
)
def test_a_query_that_does_not_hold(query: str) -> None:
    """Words match whole; a phrase stands within the title or within the abstract."""
    assert not read_query(query, "biorxiv").accepts(TITLE, ABSTRACT)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "blank"),
        (" \u200b ", "blank"),
        ("a\x00b", "control character"),
        ('"open', 'open "'),
        ("(mouse", "opening parenthesis"),
        ("mouse)", "closing parenthesis"),
        ("()", "lacks a term before ')'"),
        ("mouse AND", "AND without a term"),
        ("AND mouse", "AND without a term"),
        ("mouse AND OR gut", "AND without a term"),
        ("mouse OR", "ends where a term is missing"),
        ("OR mouse", "lacks a term before 'OR'"),
        ("NOT", "NOT without a term"),
        ("NOT mouse", "only excludes"),
        ("mouse OR NOT gut", "only excludes"),
        ("*cyte", "wildcard inside"),
        ("leuk*mia", "wildcard inside"),
        ("wom?n", "wildcard inside"),
        ("a*", "at least 2 letters"),
        ("mouse +++", "holds no word"),
        ('mouse ""', "holds no word"),
        ("(" * 60 + "mouse" + ")" * 60, "nests more than"),
        ("x" * 20_001, "20,001 characters"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused_in_a_sentence(query: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read_query(query, "medrxiv")
    assert said in error.value.message
    assert error.value.reason == "medrxiv_invalid_input"


def test_the_query_is_told_as_it_was_read() -> None:
    read = read_query("mouse immun* OR “Gut Microbiome” NOT (fish bird)", "biorxiv")
    assert read.written == '(mouse AND immun*) OR ("gut microbiome" AND NOT (fish AND bird))'


def test_grammar_of_other_databases_is_left_out_and_said() -> None:
    read = read_query("mouse[tiab] AND TITLE_ABS:gut", "biorxiv")
    assert read.written == "mouse AND gut"
    assert [warning.partition(" ")[0] for warning in read.warnings] == ["[tiab]", "TITLE_ABS:"]
    chemical = read_query("benzo[a]pyrene", "biorxiv")
    assert (chemical.written, chemical.warnings) == ('"benzo a pyrene"', ())


def test_small_operators_are_passed_over_and_said() -> None:
    read = read_query("mouse and gut or lung", "biorxiv")
    assert read.written == "mouse AND gut AND lung"
    assert "and, or in small letters" in read.warnings[0]


def test_very_long_queries_are_read() -> None:
    read = read_query(" OR ".join(f"w{number}" for number in range(2_000)), "biorxiv")
    assert read.accepts("about w1999", "")
    assert not read.accepts("about w2000", "")
    assert read_query("NOT " * 4_000 + "mouse", "biorxiv").accepts("mouse", "")
