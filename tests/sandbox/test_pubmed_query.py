"""The PubMed grammar, text to tree: rules of PubMed's help page unless a test says otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.sandbox.pubmed_query import ParsedQuery, parse_pubmed
from literature_agent.sandbox.syntax import Chain, Span, Term


def test_untagged_words_stay_together_as_one_run() -> None:
    assert parse_pubmed("metformin  cognitive decline").tree == Term("metformin cognitive decline")


def test_operators_work_from_left_to_right_without_precedence() -> None:
    tree = parse_pubmed("a1 OR b1 AND c1 NOT d1").tree
    assert tree == Chain((("AND", Term("a1")), ("OR", Term("b1")), ("AND", Term("c1")), ("NOT", Term("d1"))))


def test_parentheses_group() -> None:
    inner = Chain((("AND", Term("b1")), ("OR", Term("c1"))))
    assert parse_pubmed("a1 AND (b1 OR c1)").tree == Chain((("AND", Term("a1")), ("AND", inner)))


def test_lower_case_operators_are_words() -> None:
    assert parse_pubmed("salt and pepper").tree == Term("salt and pepper")


@pytest.mark.parametrize("text", ["a1 AND NOT b1", "a1 AND OR b1"])
def test_the_first_of_two_operators_counts(text: str) -> None:
    """PubMed turns `AND NOT x` into `AND x` (measured 2026-04)."""
    assert parse_pubmed(text).tree == Chain((("AND", Term("a1")), ("AND", Term("b1"))))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("x1[ti]", "Title"),
        ("x1[tiab]", "Title/Abstract"),
        ("x1[Title/Abstract]", "Title/Abstract"),
        ("x1 [TIAB]", "Title/Abstract"),
        ("x1[ab]", "Abstract"),
        ("x1[au]", "Author"),
        ("x1[1au]", "Author - First"),
        ("x1[mh]", "MeSH Terms"),
        ("x1[mesh]", "MeSH Terms"),
        ("x1[MeSH Terms]", "MeSH Terms"),
        ("x1[majr]", "MeSH Major Topic"),
        ("x1[MeSH Major Topic]", "MeSH Major Topic"),
        ("x1[pt]", "Publication Type"),
        ("x1[Publication Type]", "Publication Type"),
        ("x1[dp]", "Date - Publication"),
        ("x1[pdat]", "Date - Publication"),
        ("x1[Date - Publication]", "Date - Publication"),
        ("x1[edat]", "Date - Entry"),
        ("x1[la]", "Language"),
        ("x1[Language]", "Language"),
        ("x1[pmid]", "UID"),
        ("x1[uid]", "UID"),
        ("x1[doi]", "Article Identifier"),
        ("x1[aid]", "Article Identifier"),
        ("x1[ta]", "Journal"),
        ("x1[jour]", "Journal"),
        ("x1[Journal]", "Journal"),
        ("x1[all]", "All Fields"),
        ("x1[All Fields]", "All Fields"),
        ("x1[tw]", "Text Word"),
        ("x1[sb]", "Filter"),
        ("x1[filter]", "Filter"),
        ("x1[si]", "Secondary Source ID"),
        ("x1[pmc]", "PMC ID"),
        ("x1[ad]", "Affiliation"),
        ("x1[ot]", "Other Term"),
        ("x1[lastau]", "Author - Last"),
    ],
)
def test_tags_are_known_by_abbreviation_and_name_in_any_case(text: str, field: str) -> None:
    assert parse_pubmed(text).tree == Term("x1", field)
    assert parse_pubmed(text).unknown_tags == ()


def test_a_tag_belongs_to_all_words_since_the_last_operator() -> None:
    tree = parse_pubmed("aspirin AND heart failure[ti]").tree
    assert tree == Chain((("AND", Term("aspirin")), ("AND", Term("heart failure", "Title"))))


def test_a_phrase_ends_the_words_before_it() -> None:
    tree = parse_pubmed('aspirin "heart failure"[ti]').tree
    assert tree == Chain((("AND", Term("aspirin")), ("AND", Term("heart failure", "Title", quoted=True))))


def test_explosion_can_be_switched_off() -> None:
    assert parse_pubmed('"Dementia"[MeSH Terms:noexp]').tree == Term(
        "Dementia", "MeSH Terms", quoted=True, explode=False
    )


def test_proximity_is_read_from_the_tag() -> None:
    assert parse_pubmed('"sleep memory"[tiab:~3]').tree == Term("sleep memory", "Title/Abstract", quoted=True, near=3)


def test_an_unknown_tag_is_named_and_its_term_kept() -> None:
    """K004: the tag is ignored and reported."""
    parsed = parse_pubmed("lecanemab[NoSuchField] AND aspirin")
    assert parsed.unknown_tags == ("NoSuchField",)
    assert parsed.tree == Chain((("AND", Term("lecanemab")), ("AND", Term("aspirin"))))


@pytest.mark.parametrize(
    "text", ["[18F]FDG", "benzo[a]pyrene", "PET [18F]", "BRAF[V600E]", "BRAF [V600E]", "x[1,2-b]y"]
)
def test_brackets_that_are_no_field_tag_are_text(text: str) -> None:
    """K069 for PubMed: only field-tag brackets are syntax."""
    assert parse_pubmed(text) == ParsedQuery(Term(text))


@pytest.mark.parametrize(
    "text",
    [
        '("2015/01/01"[dp] : "2020"[dp])',
        '"2015/01/01"[Date - Publication] : "2020"[Date - Publication]',
        "2015/01/01:2020[dp]",
        "2015/01/01 : 2020 [pdat]",
    ],
)
def test_a_date_range_is_one_part(text: str) -> None:
    assert parse_pubmed(text).tree == Span("Date - Publication", "2015/01/01", "2020")


def test_a_range_of_pmids_is_read() -> None:
    assert parse_pubmed("1:7500000[uid]").tree == Span("UID", "1", "7500000")


def test_a_colon_in_a_pasted_title_is_no_range() -> None:
    assert parse_pubmed("Vaccines: weak link in 2015: a survey").tree == Term("Vaccines: weak link in 2015: a survey")


def test_an_operator_may_touch_a_tag() -> None:
    tree = parse_pubmed("asthma[ti]AND child[ti]").tree
    assert tree == Chain((("AND", Term("asthma", "Title")), ("AND", Term("child", "Title"))))


@pytest.mark.parametrize(
    "text", ['"heart failure', "((heart failure", "heart failure))", 'heart failure"', ") heart failure ("]
)
def test_unbalanced_quotes_and_parentheses_are_survived(text: str) -> None:
    assert parse_pubmed(text).tree == Term("heart failure")


def test_curly_quotes_are_quotes() -> None:
    assert parse_pubmed("“heart failure”[ti]").tree == Term("heart failure", "Title", quoted=True)


@pytest.mark.parametrize("text", ["", "()", "AND", "AND OR NOT", '""', "[ti]", "[]", "( ( ) )", " : , ."])
def test_a_query_without_words_has_no_tree(text: str) -> None:
    assert parse_pubmed(text).tree is None


def test_operators_without_a_side_are_dropped() -> None:
    assert parse_pubmed("OR heart AND").tree == Term("heart")


def test_a_default_field_tags_what_has_no_tag() -> None:
    """ESearch's `field=` parameter."""
    tree = parse_pubmed("heart AND lung[ab]", default_field="title").tree
    assert tree == Chain((("AND", Term("heart", "Title")), ("AND", Term("lung", "Abstract"))))


def test_very_deep_parentheses_are_survived() -> None:
    tree = parse_pubmed("(" * 50_000 + "heart" + ")" * 50_000).tree
    assert tree == Term("heart")
    parse_pubmed("(a1 " * 5_000)


def test_a_long_list_stays_flat() -> None:
    tree = parse_pubmed(" OR ".join(f"{number}[uid]" for number in range(1, 3001))).tree
    assert isinstance(tree, Chain)
    assert len(tree.parts) == 3000


@given(st.text(alphabet=st.sampled_from(list('ab 1"()[]:*/~?#%AND OR NOT ti mh dp\n\t\x00“é')), max_size=80))
def test_no_text_near_the_grammar_is_refused(text: str) -> None:
    parse_pubmed(text)


@given(st.text(max_size=200))
def test_no_text_at_all_is_refused(text: str) -> None:
    parse_pubmed(text)
