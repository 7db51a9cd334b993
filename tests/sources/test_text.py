"""Text and dates from outside, cleaned and checked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.errors import InvalidInputError
from literature_agent.sources._text import (
    LONGEST_QUERY,
    clean_text,
    date_bounds,
    date_of_parts,
    first_day,
    last_day,
    month_of,
    one_line,
    parse_partial_date,
    printed_date,
    require_query,
    superscript,
    year_of,
)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("P<0.001 and c.1022T>C", "P<0.001 and c.1022T>C"),
        ("a<b and c>d, 3<5>2, x < y", "a<b and c>d, 3<5>2, x < y"),
        ("<i>TERT</i> gene <b class='x'>region</b>", "TERT gene region"),
        ("<jats:p>One.</jats:p><jats:p>Two.</jats:p>", "One. Two."),
        ("<h4>Background</h4>Text", "Background Text"),
        ('<a href="http://synthetic.example/?a=1&amp;b=2">link</a>', "link"),
        ("line<br/>break", "line break"),
        ("1.73 m<sup>2</sup>, H<sub>2</sub>O, 10<sup>-5</sup>, CD8<sup>+</sup>", "1.73 m², H2O, 10⁻⁵, CD8+"),
        ("  two\n\t words\u00a0here ", "two words here"),
        ("bold < 5 <unknown> stays", "bold < 5 <unknown> stays"),
    ],
)
def test_markup_goes_and_everything_else_stays(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("CSR&amp;D", "CSR&D"),
        ("CSR&amp;amp;D", "CSR&amp;D"),
        ("17&#946;, &#x3b2;, &alpha;", "17β, β, α"),
        ("&lt;i&gt;italic&lt;/i&gt; P&lt;0.001", "italic P<0.001"),
        ("AT&T, R&D; S&notch; &; &#; &unknown;", "AT&T, R&D; S&notch; &; &#; &unknown;"),
    ],
)
def test_entities_are_decoded_once_and_only_where_they_are_whole(raw: str, clean: str) -> None:
    """K031: not in a loop."""
    assert clean_text(raw) == clean


@pytest.mark.parametrize(
    "unseen", ["\u00ad", "\u200b", "\u202e", "\u2066", "\ufeff", "\x00", "\x1b", "\x9f", "\ud800", "\U000e0041"]
)
def test_characters_that_cannot_be_seen_are_removed(unseen: str) -> None:
    assert clean_text(f"syn{unseen}thetic") == "synthetic"


def test_joiners_of_scripts_stay() -> None:
    assert clean_text("می\u200cخواهم") == "می\u200cخواهم"


@given(st.text())
def test_clean_text_is_one_line_without_unseen_characters_and_can_be_encoded(text: str) -> None:
    clean = clean_text(text)
    assert clean == " ".join(clean.split())
    clean.encode("utf-8")
    assert not any(ord(char) < 32 for char in clean)


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="<&", min_codepoint=33)))
def test_plain_words_are_untouched(word: str) -> None:
    assert clean_text(word) == word.replace("\x7f", "")


def test_raised_numbers_are_raised_and_raised_words_are_not() -> None:
    assert [superscript(text) for text in ("2", "-1", "−1", "2+", "+", "n", "a2", " 3 ", "")] == [
        "²", "⁻¹", "⁻¹", "²⁺", "+", "n", "a2", "³", "",
    ]  # fmt: skip


def test_long_text_is_cut_with_a_mark() -> None:
    assert one_line("x" * 400, 10) == "xxxxxxxxx…"
    assert one_line(None) == ""


@pytest.mark.parametrize(
    ("given_date", "read"),
    [("2015", "2015"), ("2015-3", "2015-03"), ("2015/03/07", "2015-03-07"), (" 2016-02-29 ", "2016-02-29")],
)
def test_partial_date_keeps_its_precision(given_date: str, read: str) -> None:
    assert parse_partial_date(given_date) == read


@pytest.mark.parametrize("bad", ["", "15", "2015-13", "2015-00", "2015-02-29", "0000", "2015-03-07T00:00", "٢٠١٥", "x"])
def test_date_that_is_none_is_refused_by_value(bad: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_partial_date(bad, name="date_from", source="pubmed")
    assert f"date_from={bad!r}" in refused.value.message
    assert "YYYY" in refused.value.message
    assert refused.value.reason == "pubmed_invalid_input"


def test_range_may_be_open_at_either_end_and_is_never_reversed() -> None:
    assert date_bounds("2015", None) == ("2015", None)
    assert date_bounds(" ", "2015/2") == (None, "2015-02")
    assert date_bounds("2020-05", "2020") == ("2020-05", "2020")
    with pytest.raises(InvalidInputError, match="exchange them"):
        date_bounds("2021", "2020-12-31")


def test_days_of_a_partial_date() -> None:
    assert [first_day(d) for d in ("2016", "2016-02", "2016-02-03")] == ["2016-01-01", "2016-02-01", "2016-02-03"]
    assert [last_day(d) for d in ("2016", "2016-02", "2016-02-03")] == ["2016-12-31", "2016-02-29", "2016-02-03"]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2018 Jun", "2018-06"),
        ("2018 Jun 05", "2018-06-05"),
        ("2018 Jun-Jul", "2018-06"),
        ("2018", "2018"),
        ("2018 Spring", "2018"),
        ("1998 Dec-1999 Jan", "1998-12"),
        ("2018 May - Jun", "2018-05"),
        ("2000 Jan 15-31", "2000-01-15"),
        ("2020 Feb 31", "2020-02"),
        ("June 2018", "2018-06"),
        ("Jun 5, 2018", "2018-06-05"),
        ("5 June 2018", "2018-06-05"),
        ("2018-06-05", "2018-06-05"),
        ("Winter 2016", "2016"),
        ("Mar Biol. 2001;2(3):4", "2001"),
        ("Summer", None),
        ("", None),
        (None, None),
    ],
)
def test_date_in_words_is_read_without_guessing(text: str | None, date: str | None) -> None:
    """K010, K027."""
    assert printed_date(text) == date


def test_year_is_the_first_plausible_number_of_four_digits() -> None:
    """K027."""
    texts = ("1990 May-Jun", "1978-1979 Winter", "Winter 2016", "no date", "12345", "0999", None)
    assert [year_of(text) for text in texts] == [1990, 1978, 2016, None, None, None, None]


def test_month_is_a_name_or_a_number_of_the_calendar() -> None:
    names = ("Jun", "june", "06", "6", "Sept.", "13", "0", "Spring", "", None)
    assert [month_of(text) for text in names] == [6, 6, 6, 6, 9, None, None, None, None, None]


def test_parts_that_are_no_month_or_day_are_left_out() -> None:
    assert date_of_parts("2018", "Jun", "31") == "2018-06"
    assert date_of_parts("2018", "Spring", "3") == "2018"
    assert date_of_parts("", "Jun") is None


def test_query_passes_untouched_or_is_refused() -> None:
    query = " a\tOR\nb "
    assert require_query(query, "pubmed") is query
    for bad in ("", "\u3164 \u200d", "a\x00", "a\x85", "\ud800a", "x" * (LONGEST_QUERY + 1)):
        with pytest.raises(InvalidInputError):
            require_query(bad, "pubmed")
