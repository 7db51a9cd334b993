"""What would be sent, without sending it."""

from __future__ import annotations

import pytest

from literature_agent.errors import InvalidInputError
from literature_agent.sources.pubmed.client import look_up_request, records_request, search_request, spelling_request
from literature_agent.sources.pubmed.query import (
    MOST_IDS,
    Asked,
    Search,
    limit_of,
    offset_of,
    plan_search,
    read_ids,
)
from literature_agent.transport import A_DAY


def sent(search: Search, *, offset: int = 0, limit: int = 10) -> dict[str, str]:
    request = search_request(search, offset=offset, limit=limit)
    return dict(request.form or request.params)


def test_query_is_sent_untouched_with_an_explicit_order() -> None:
    """Ours: PubMed's grammar passes through, also what looks odd."""
    query = 'Ca2+ AND "heart attack"[tiab:~3] AND #1 NOT  (benzo[a]pyrene)\n'
    assert sent(plan_search(query)) == {
        "db": "pubmed",
        "term": query,
        "retmode": "json",
        "retstart": "0",
        "retmax": "10",
        "sort": "relevance",
    }


def test_a_search_is_sent_anew_after_a_day() -> None:
    """Ours: with `since_entry_date` the records of the last days are what is asked for."""
    assert search_request(plan_search("x"), offset=0, limit=10).max_age_s == A_DAY
    assert look_up_request([Asked("10.5555/x", "doi", "10.5555/x")]).max_age_s == A_DAY


def test_dates_go_beside_the_query_as_publication_dates() -> None:
    fields = sent(plan_search("x", date_from="2015", date_to="2016/02"))
    assert fields["term"] == "x"
    assert (fields["datetype"], fields["mindate"], fields["maxdate"]) == ("pdat", "2015/01/01", "2016/02/29")


@pytest.mark.parametrize(
    ("given", "mindate", "maxdate"),
    [
        ({"date_from": "2020-01-01"}, "2020/01/01", "3000/12/31"),
        ({"date_to": "2020"}, "1000/01/01", "2020/12/31"),
        ({"date_from": "2020", "date_to": "  "}, "2020/01/01", "3000/12/31"),
    ],
)
def test_one_ended_range_gets_an_open_end(given: dict[str, str], mindate: str, maxdate: str) -> None:
    """K006: ESearch takes both dates or neither."""
    fields = sent(plan_search("x", **given))
    assert (fields["mindate"], fields["maxdate"]) == (mindate, maxdate)


def test_filters_without_a_parameter_are_added_to_the_term_and_reported() -> None:
    search = plan_search(
        "a OR b",
        publication_types=["Review", " Randomized Controlled Trial ", "Review", ""],
        languages=["EN", "German"],
        since_entry_date="2026-11",
        sort="Pub_Date",
    )
    assert search.term == (
        '(a OR b) AND ("Review"[pt] OR "Randomized Controlled Trial"[pt]) AND ("eng"[la] OR "german"[la]) '
        'AND ("2026/11/01"[edat] : "3000"[edat])'
    )
    assert search.applied == {
        "publication_types": "Review, Randomized Controlled Trial",
        "languages": "eng, german",
        "since_entry_date": "2026-11",
        "sort": "pub_date",
    }
    assert sent(search)["sort"] == "pub_date"


def test_blank_filters_are_absent() -> None:
    search = plan_search("x", date_from="", date_to=None, publication_types=[], languages=[" "], sort=" ")
    assert (search.term, search.start, search.end, search.applied) == ("x", None, None, {})


def test_web_address_shows_the_same_search() -> None:
    search = plan_search("flu & cold", date_from="2020", languages="fr", sort="author")
    assert search.url == (
        "https://pubmed.ncbi.nlm.nih.gov/?term=%28%28flu+%26+cold%29+AND+%28%22fre%22%5Bla%5D%29%29+AND+"
        "%28%222020%2F01%2F01%22%5Bdp%5D+%3A+%223000%2F12%2F31%22%5Bdp%5D%29&sort=fauth"
    )


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"sort": "colour"}, "sort='colour' is no order of PubMed: use one of relevance, pub_date, author, journal."),
        ({"date_from": "2021", "date_to": "2020"}, "date_from='2021' is later than date_to='2020': exchange them."),
        ({"date_from": "soon"}, "date_from='soon' is no date"),
        ({"date_to": "2020-02-30"}, "date_to='2020-02-30' is not in the calendar"),
        ({"since_entry_date": "yesterday"}, "since_entry_date='yesterday' is no date"),
        ({"publication_types": ['Review"[pt] OR "x']}, "publication_types="),
        ({"languages": ["***"]}, "languages='***' is refused"),
    ],
)
def test_bad_filter_is_refused_by_value_and_fix(given: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        plan_search("x", **given)
    assert named in refused.value.message
    assert refused.value.reason == "pubmed_invalid_input"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "blank"),
        (" \t\n", "blank"),
        ("\u200b\u2060\ufeff", "blank"),
        ("cancer\x00", "control character (U+0000, character 7)"),
        ("can\x1bcer", "control character"),
        ("x" * 20_001, "20,001 characters"),
    ],
)
def test_query_that_cannot_be_sent_is_refused_with_a_sentence(query: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        plan_search(query)
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("query", "said"),
    [("a AND NOT b", "write 'NOT' alone"), ('"a', "is not closed"), ("(a OR b", "is not closed")],
)
def test_query_that_pubmed_would_misread_is_sent_with_a_warning(query: str, said: str) -> None:
    search = plan_search(query)
    assert search.term == query
    assert any(said in warning for warning in search.warnings)


def test_page_is_the_number_of_records_before_it() -> None:
    """K012: the first record is number 0."""
    assert [offset_of(page) for page in (None, "", " ", "0", "20", "9998")] == [0, 0, 0, 0, 20, 9998]


@pytest.mark.parametrize("page", ["9999", "10000", "15000", "999999999999", "-1", "1.5", "two", "٣"])
def test_page_beyond_reach_or_none_at_all_is_refused(page: str) -> None:
    """K002: PubMed would answer the former with an error inside HTTP 200."""
    with pytest.raises(InvalidInputError) as refused:
        offset_of(page)
    assert page in refused.value.message


def test_asking_for_no_records_is_refused() -> None:
    assert limit_of(1) == 1
    with pytest.raises(InvalidInputError, match="max_results=0 is too small"):
        limit_of(0)


def test_long_queries_and_long_lists_are_posted_as_forms() -> None:
    """K011: 5,000 characters, 600 ids."""
    long = search_request(plan_search(" OR ".join(["synthetic[ti]"] * 300)), offset=0, limit=10)
    assert long.params == ()
    assert long.form is not None
    assert dict(long.form)["db"] == "pubmed"
    assert records_request([str(90_000_000 + n) for n in range(600)]).form is not None
    greek = search_request(plan_search("β" * 400), offset=0, limit=10)
    assert greek.form is not None, "each letter takes six characters in an address"


def test_short_ones_are_sent_as_get() -> None:
    request = records_request(["90000001", "90000002"])
    assert request.form is None
    assert request.params == (("db", "pubmed"), ("id", "90000001,90000002"), ("retmode", "xml"))
    assert spelling_request("metfromin").params == (("db", "pubmed"), ("term", "metfromin"))


def test_dois_and_pmcids_are_looked_up_in_their_own_fields() -> None:
    asked = [Asked("a", "doi", "10.5555/x(1)"), Asked("b", "pmcid", "PMC9900001")]
    assert dict(look_up_request(asked).params)["term"] == '"10.5555/x(1)"[aid] OR PMC9900001[pmc]'


def test_identifiers_are_read_in_every_dress_and_once() -> None:
    given = [
        "90000001",
        "PMID: 00090000001",
        "https://pubmed.ncbi.nlm.nih.gov/90000002/",
        "MED:90000003",
        "pmc9900004.1",
        "https://doi.org/10.5555/SYN.5",
        "90000001",
    ]
    assert [(one.kind, one.value) for one in read_ids(given)[0]] == [
        ("pmid", "90000001"),
        ("pmid", "90000001"),
        ("pmid", "90000002"),
        ("pmid", "90000003"),
        ("pmcid", "PMC9900004"),
        ("doi", "10.5555/syn.5"),
    ]


def test_impossible_numbers_are_kept_to_be_not_found() -> None:
    """K013."""
    assert [one.kind for one in read_ids(["00000000", "123456789012"])[0]] == [None, None]


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("PMC123, see 45", "give one PMID, PMCID or DOI"),
        ("pmid 12 or 13", "give one PMID, PMCID or DOI"),
        ("", "give one PMID, PMCID or DOI"),
        ("10.1000", "give one PMID, PMCID or DOI"),
        ("NCT01234567", "search pubmed for NCT01234567[si]"),
        ("PPR123456", "europepmc"),
        ("NBK1403", "NBK1403[book]"),
    ],
)
def test_what_is_no_record_of_pubmed_is_refused_with_the_way_to_it(text: str, way: str) -> None:
    """K018, K021: digits are never cut out of text, and no number crosses over to another kind."""
    with pytest.raises(InvalidInputError) as refused:
        read_ids([text])
    assert repr(text) in refused.value.message
    assert way in refused.value.message
    asked, wrong = read_ids(["90000001", text])
    assert [one.value for one in asked] == ["90000001"]
    assert {name: str(why) for name, why in wrong.items()} == {text: str(refused.value)}


def test_a_text_in_place_of_a_list_is_one_identifier() -> None:
    """K018: `10.1000/12345` is a DOI, never twelve letters or PMID 12345."""
    assert read_ids("10.1000/12345")[0] == [Asked("10.1000/12345", "doi", "10.1000/12345")]


def test_more_identifiers_than_one_fetch_takes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="10,000 identifiers are too many: fetch at most 2,000"):
        read_ids([str(90_000_000 + n) for n in range(10_000)])
    assert len(read_ids([str(90_000_000 + n) for n in range(MOST_IDS)])[0]) == MOST_IDS
