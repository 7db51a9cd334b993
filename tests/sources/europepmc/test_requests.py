"""What would be sent to Europe PMC, and what is refused before anything is sent."""

from __future__ import annotations

import pytest

from literature_agent.errors import InvalidInputError
from literature_agent.sources.europepmc.client import (
    LONGEST_GET,
    article_request,
    full_text_request,
    search_request,
    target_of,
)
from literature_agent.sources.europepmc.query import (
    effective_query,
    known_sources,
    result_type_sent,
    search_page_url,
    sort_complaint,
    sort_sent,
    start_cursor,
    warnings_about,
)
from literature_agent.transport import describe


def refusal(call: object, *arguments: object, **named: object) -> str:
    """The message of the refusal; it must be of the one kind."""
    assert callable(call)
    with pytest.raises(InvalidInputError) as caught:
        call(*arguments, **named)
    assert caught.value.reason == "europepmc_invalid_input"
    assert caught.value.retryable is False
    return caught.value.message


# --- the query --------------------------------------------------------------------------------------------------------


def test_query_is_wrapped_and_restricted_to_the_default_sources() -> None:
    """Ours: `(query) AND (SRC:...)`, so that an OR in the query stays inside."""
    assert effective_query("metformin OR insulin") == "(metformin OR insulin) AND (SRC:MED OR SRC:PMC OR SRC:PPR)"


@pytest.mark.parametrize(
    ("date_from", "date_to", "clause"),
    [
        ("2015", "2020-02", "FIRST_PDATE:[2015-01-01 TO 2020-02-29]"),
        ("2015-03-04", None, "FIRST_PDATE:[2015-03-04 TO 3000-12-31]"),
        (None, "2019", "FIRST_PDATE:[1000-01-01 TO 2019-12-31]"),
        ("2015/3", " ", "FIRST_PDATE:[2015-03-01 TO 3000-12-31]"),
    ],
)
def test_dates_become_whole_days_and_a_missing_end_stays_open(
    date_from: str | None, date_to: str | None, clause: str
) -> None:
    """K006: one end alone is an open range, not a dropped filter."""
    assert effective_query("x", date_from=date_from, date_to=date_to).endswith(f" AND ({clause})")


def test_filters_are_quoted_phrases_joined_by_or() -> None:
    """Upstream: `PUB_TYPE`."""
    query = effective_query("x", sources=["ppr", "MED"], publication_types=["review", ' "odd" type ', ""])
    assert query == '(x) AND (SRC:MED OR SRC:PPR) AND (PUB_TYPE:"review" OR PUB_TYPE:"\\"odd\\" type")'


def test_unknown_source_is_refused_with_the_list() -> None:
    message = refusal(effective_query, "x", sources=["MED", "ETH"])
    assert "'ETH'" in message
    assert "MED, PMC, PPR, PAT, AGR" in message


def test_sources_may_be_blank_repeated_or_in_one_line() -> None:
    assert known_sources([]) == known_sources(["", " "]) == ("MED", "PMC", "PPR")
    assert known_sources("agr, med,AGR") == ("MED", "AGR")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "blank"),
        (" \u200b\n", "blank"),
        ("a\x00b", "U+0000"),
        ("x" * 20_001, "20,001"),
        ('"heart attack', 'open "'),
        ("(a OR b", "opening parenthesis"),
        ("a) OR (b", "closing parenthesis"),
        ("trailing\\", "open \\"),
    ],
)
def test_query_that_cannot_be_meant_is_refused_with_the_fix(query: str, named: str) -> None:
    """Ours: an open quote or bracket would swallow or escape the filters behind it."""
    assert named in refusal(effective_query, query)


def test_quoted_and_escaped_brackets_need_no_partner() -> None:
    assert effective_query('":(" AND a\\(b AND "\\""').startswith('(":(" AND a\\(b AND "\\"") AND')


def test_range_without_colon_is_refused_with_the_corrected_form() -> None:
    """K054: `FIRST_PDATE[...]` is never answered; say so at once."""
    message = refusal(effective_query, "(FIRST_PDATE[2013-01-01 TO 2016-12-05])")
    assert "write FIRST_PDATE:[2013-01-01 TO 2016-12-05]" in message
    effective_query("FIRST_PDATE:[2013-01-01 TO 2016-12-05] AND BRAF [V600E]")


@pytest.mark.parametrize(
    ("date_from", "date_to", "named"),
    [
        ("2020", "2019", "'2020'"),
        ("2020-13", None, "'2020-13'"),
        ("2021-02-29", None, "'2021-02-29'"),
        (None, "soon", "'soon'"),
        ("12-05-2020", None, "'12-05-2020'"),
        (None, "2020\x00", "2020"),
    ],
)
def test_bad_dates_are_refused_by_value(date_from: str | None, date_to: str | None, named: str) -> None:
    assert named in refusal(effective_query, "x", date_from=date_from, date_to=date_to)


@pytest.mark.parametrize("value", ["two\nlines", "nul\x00", "x" * 201])
def test_filter_values_must_be_plain_short_texts(value: str) -> None:
    assert refusal(effective_query, "x", publication_types=[value]).startswith("publication_types: ")


def test_pubmed_tags_are_warned_about() -> None:
    """Ours: Europe PMC reads `[tiab]` as words, without saying so."""
    assert warnings_about("a[tiab] AND FIRST_PDATE:[2013 TO 2016] AND b[Title/Abstract] AND c[tiab]")[0].startswith(
        "[tiab], [Title/Abstract] "
    )
    for query in ("PUB_YEAR:[2013 TO 2016]", "benzo[a]pyrene"):
        assert warnings_about(query) == ()


def test_search_page_opens_the_same_query() -> None:
    address = "https://europepmc.org/search?query=%28a%20%22b%22%29%20AND%20%28SRC%3AMED%29"
    assert search_page_url('(a "b") AND (SRC:MED)') == address
    assert search_page_url("x" * 9000) is None


# --- sort, cursor, type -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, ""),
        (" ", ""),
        ("relevance", ""),
        ("cited DESC", "CITED desc"),
        ("P_PDATE_D desc", "P_PDATE_D desc"),
        ("PUB_YEAR desc,CITED asc", "PUB_YEAR desc,CITED asc"),
        ("FIRST_PIDATE desc", "FIRST_PIDATE desc"),
        ("date", "P_PDATE_D desc"),
    ],
)
def test_sort_is_sent_as_given_with_known_fields_in_their_case(given: str | None, sent: str) -> None:
    assert sort_sent(given) == sent


def test_sort_complaint_names_what_is_undocumented() -> None:
    assert "'FIRST_PIDATE'" in (sort_complaint("FIRST_PIDATE desc") or "")
    assert "lacks a direction" in (sort_complaint("CITED") or "")
    assert "'cited asc' or 'cited desc'" in (sort_complaint("PUB_YEAR desc,cited") or "")
    assert sort_complaint("CITED desc, pub_year ASC") is None
    assert "short line" in refusal(sort_sent, "CITED\ndesc")


def test_page_and_cursor_mark_are_one_thing() -> None:
    assert start_cursor(None, "*") == start_cursor("", None) == start_cursor("*", "*") == "*"
    assert start_cursor("AoI/x==", "*") == start_cursor(None, "AoI/x==") == "AoI/x=="
    assert "give one of them" in refusal(start_cursor, "AoI/x==", "AoI/y==")


@pytest.mark.parametrize("page", ["2", "A o", "A\x00", "A" * 2001])
def test_what_cannot_be_a_cursor_is_refused(page: str) -> None:
    assert "next_page" in refusal(start_cursor, page, "*")


def test_result_type_is_one_of_three() -> None:
    assert (result_type_sent(" LITE "), result_type_sent(""), result_type_sent("idlist")) == ("lite", "core", "idlist")
    assert "core, lite or idlist" in refusal(result_type_sent, "full")


# --- requests ---------------------------------------------------------------------------------------------------------


def test_search_asks_for_json_and_core_records() -> None:
    """Upstream: XML is the default form, `lite` the default size."""
    request = search_request("(x) AND (SRC:MED)", page_size=7, sort="CITED desc")
    assert (request.source, request.service, request.path, request.form) == ("europepmc", "europepmc", "search", None)
    assert dict(request.params) == {
        "query": "(x) AND (SRC:MED)",
        "format": "json",
        "resultType": "core",
        "pageSize": "7",
        "cursorMark": "*",
        "sort": "CITED desc",
    }
    assert "sort" not in dict(search_request("x").params)


def test_long_query_is_posted_as_a_form() -> None:
    """K011: a very long address is refused with 414."""
    request = search_request("x" * (LONGEST_GET + 1), cursor="AoI/x==")
    assert request.path == "searchPOST"
    assert request.params == ()
    assert dict(request.form or ())["cursorMark"] == "AoI/x=="


def test_article_and_full_text_are_asked_by_path() -> None:
    request = article_request("MED", "90000101")
    assert describe(request) == "GET article/MED/90000101?resultType=core&format=json"
    assert full_text_request("PMC99000101").path == "PMC99000101/fullTextXML"
    assert article_request("AGR", "a/..").path == "article/AGR/a%2F.."


# --- identifiers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "source", "value", "clause"),
    [
        ("23193287", "MED", "23193287", "(EXT_ID:23193287 AND SRC:MED)"),
        ("MED:23193287", "MED", "23193287", "(EXT_ID:23193287 AND SRC:MED)"),
        ("pmc99000101", "PMCID", "PMC99000101", "PMCID:PMC99000101"),
        ("PMC:PMC99000101", "PMCID", "PMC99000101", "PMCID:PMC99000101"),
        ("PPR990001", "PPR", "PPR990001", "(EXT_ID:PPR990001 AND SRC:PPR)"),
        ("PPR:PPR990001", "PPR", "PPR990001", "(EXT_ID:PPR990001 AND SRC:PPR)"),
        ("https://doi.org/10.5555/ABC.", "DOI", "10.5555/abc", 'DOI:"10.5555/abc"'),
        ("10.1101/2024.01.01.123456v2", "DOI", "10.1101/2024.01.01.123456", 'DOI:"10.1101/2024.01.01.123456"'),
        ("agr:IND609153732", "AGR", "IND609153732", "(EXT_ID:IND609153732 AND SRC:AGR)"),
        ("NBK1234", "NBK", "NBK1234", "(EXT_ID:NBK1234 AND SRC:NBK)"),
    ],
)
def test_identifier_is_asked_in_the_form_that_works(asked: str, source: str, value: str, clause: str) -> None:
    """K051: ids stand unquoted, and a PMCID without `SRC:PMC`, for an indexed article's record is MED."""
    target = target_of(asked)
    assert (target.asked, target.source, target.value, target.clause) == (asked, source, value, clause)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("metformin", "'metformin'"),
        ("PMC123, see 45", "'PMC123, see 45'"),
        ("XYZ:123", "'XYZ:123'"),
        ("NCT01234567", "clinicaltrials"),
        ("123456789", "'123456789'"),
        ("10.5555/a\x00b", "10.5555/a"),
        ("AGR:../../x", "AGR:"),
        ("x" * 5000, "…"),
    ],
)
def test_what_is_no_identifier_is_refused_by_value(asked: str, named: str) -> None:
    """K018: digits are never cut out of free text."""
    message = refusal(target_of, asked)
    assert named in message
    assert len(message) < 300
