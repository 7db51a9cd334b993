"""The Europe PMC grammar, text to tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.sandbox.europepmc_query import parse_europepmc
from literature_agent.sandbox.syntax import EVERYTHING, Chain, Span, Term


def test_neighbours_are_joined_by_and() -> None:
    assert parse_europepmc("sleep memory").tree == Chain((("AND", Term("sleep")), ("AND", Term("memory"))))


def test_and_binds_tighter_than_or() -> None:
    both = Chain((("AND", Term("b1")), ("AND", Term("c1"))))
    assert parse_europepmc("a1 OR b1 AND c1").tree == Chain((("OR", Term("a1")), ("OR", both)))


@pytest.mark.parametrize("text", ["a1 NOT b1", "a1 AND NOT b1"])
def test_and_not_means_not(text: str) -> None:
    """Unlike PubMed."""
    assert parse_europepmc(text).tree == Chain((("AND", Term("a1")), ("NOT", Term("b1"))))


def test_a_leading_not_takes_away_from_everything() -> None:
    assert parse_europepmc("NOT b1").tree == Chain((("AND", EVERYTHING), ("NOT", Term("b1"))))


def test_a_field_applies_to_word_phrase_and_group() -> None:
    assert parse_europepmc("TITLE:sleep").tree == Term("sleep", "TITLE")
    assert parse_europepmc('title:"deep sleep"').tree == Term("deep sleep", "TITLE", quoted=True)
    group = Chain((("OR", Term("a1", "TITLE")), ("OR", Term("b1", "TITLE"))))
    assert parse_europepmc("TITLE:(a1 OR b1)").tree == group


def test_a_name_that_is_no_field_is_words() -> None:
    assert parse_europepmc("miR-21:target").tree == Term("miR-21:target")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("PUB_YEAR:[2020 TO 2025]", Span("PUB_YEAR", "2020", "2025")),
        ("FIRST_PDATE:[2020-01-01 TO *]", Span("FIRST_PDATE", "2020-01-01", "")),
    ],
)
def test_ranges_are_read(text: str, span: Span) -> None:
    assert parse_europepmc(text).tree == span


def test_sorting_inside_the_query_is_no_search_term() -> None:
    parsed = parse_europepmc("sleep sort_cited:y")
    assert (parsed.tree, parsed.sort) == (Term("sleep"), "CITED desc")


def test_the_forms_our_own_clients_send() -> None:
    parsed = parse_europepmc('("deep sleep" OR memory) AND (SRC:MED OR SRC:PPR)').tree
    assert isinstance(parsed, Chain)
    assert [operator for operator, _ in parsed.parts] == ["AND", "AND"]


@pytest.mark.parametrize(
    "text",
    ['"deep', "((deep", "deep))", 'TITLE:"', "TITLE:(", "FIRST_PDATE:[2020", "(FIRST_PDATE[2013-01-01 TO 2016-12-05])"],
)
def test_malformed_queries_are_survived(text: str) -> None:
    parse_europepmc(text)


@given(st.text(alphabet=st.sampled_from(list('ab 1"()[]:*TITLE_SRC PUB_YEAR AND OR NOT TO-\n\x00é')), max_size=80))
def test_no_text_near_the_grammar_is_refused(text: str) -> None:
    parse_europepmc(text)


@given(st.text(max_size=200))
def test_no_text_at_all_is_refused(text: str) -> None:
    parse_europepmc(text)
