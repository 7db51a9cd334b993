"""Queries planned from a question, by rule."""

from __future__ import annotations

import pytest

from literature_agent.agents.plan import (
    EuropePMC,
    Grammar,
    PubMed,
    content_words,
    first_query,
    grammar_of,
    heading_query,
    narrower_query,
    plan_question,
    related_query,
    simpler_query,
    wider_queries,
)
from literature_agent.agents.words import (
    closed_compound,
    other_spelling,
    specificity,
    split_compound,
    stem,
    stems,
    truncated,
)

METFORMIN = "Does metformin slow cognitive decline in older adults with type 2 diabetes?"


def test_the_first_query_joins_the_most_specific_concepts_with_and() -> None:
    assert first_query(plan_question(METFORMIN), PubMed()) == (
        "metformin AND ((cognitive decline) OR (cognitive impairment) OR dementia) AND (type 2 diabetes)"
    )


def test_words_of_asking_and_weak_words_are_in_no_query() -> None:
    plan = plan_question("What is the effect of statins on the risk of fractures in patients?")
    queries = [first_query(plan, PubMed()), *wider_queries(plan, PubMed(), 1), *wider_queries(plan, PubMed(), 2)]
    for query in queries:
        assert not {"what", "is", "the", "effect", "risk", "patients"} & set(query.lower().replace("(", " ").split())


def test_widening_drops_the_least_specific_concept_then_asks_for_pairs_then_beginnings_then_any_word() -> None:
    plan = plan_question("Do bisphosphonates prevent vertebral fractures in glucocorticoid users?")
    assert first_query(plan, PubMed()) == "(vertebral fractures) AND bisphosphonates AND glucocorticoid"
    assert wider_queries(plan, PubMed(), 1) == [
        "(vertebral fractures) AND bisphosphonates",
        "((vertebral fractures) AND bisphosphonates) OR ((vertebral fractures) AND glucocorticoid)"
        " OR (bisphosphonates AND glucocorticoid)",
    ]
    assert wider_queries(plan, PubMed(), 2) == [
        "((vertebr* AND fractur*) AND bisphosphonat*) OR ((vertebr* AND fractur*) AND glucocortico*)"
        " OR (bisphosphonat* AND glucocortico*)",
        "bisphosphonates OR glucocorticoid OR vertebral OR fractures",
    ]
    assert wider_queries(plan, PubMed(), 3) == []


def test_narrowing_asks_for_phrases_in_titles_and_abstracts() -> None:
    assert narrower_query(plan_question("Does vitamin D prevent hip fractures?"), PubMed()) == (
        '"vitamin D"[tiab] AND "hip fractures"[tiab]'
    )


def test_europe_pmc_is_asked_in_titles_and_abstracts() -> None:
    query = first_query(plan_question("Does metformin cause lactic acidosis?"), EuropePMC())
    assert query == "(TITLE_ABS:lactic AND TITLE_ABS:acidosis) AND TITLE_ABS:metformin"
    assert narrower_query(plan_question("lactic acidosis"), EuropePMC()) == 'TITLE_ABS:"lactic acidosis"'


@pytest.mark.parametrize(
    ("source", "grammar"), [("pubmed", PubMed), ("europepmc", EuropePMC), ("clinicaltrials", Grammar), ("x", Grammar)]
)
def test_each_source_has_its_grammar_and_unknown_ones_the_plain_one(source: str, grammar: type[Grammar]) -> None:
    assert type(grammar_of(source)) is grammar


def test_acronyms_codes_and_names_come_before_common_words() -> None:
    plan = plan_question("Is IL-6 raised in the blood of people with Crohn's disease?")
    assert [concept.names[0] for concept in plan.concepts] == ["IL-6", "Crohn disease", "blood"]


def test_other_spellings_and_closed_compounds_are_tried_with_or() -> None:
    assert first_query(plan_question("oedema post-operative"), PubMed()) == (
        "((oedema post-operative) OR (edema post-operative) OR (oedema postoperative))"
    )
    assert first_query(plan_question("pediatric leukemia"), PubMed()) == (
        "((pediatric leukemia) OR (paediatric leukaemia))"
    )


def test_identifiers_and_references_in_the_question_are_no_search_words() -> None:
    words = content_words("Is PMID 12345678 or 10.1000/abc.1 «artifact:link:cite~K7QX2MDA4T» right about metformin?")
    assert words == ["right", "metformin"]


def test_field_tags_of_a_query_given_as_question_are_no_search_words() -> None:
    assert content_words("metformin[tiab] AND dementia[mesh:noexp]") == ["metformin", "dementia"]


@pytest.mark.parametrize("question", ["What is it?", "二甲双胍能否延缓认知衰退?", "Why so?", "x", "2024"])
def test_a_question_without_words_of_meaning_still_has_a_query(question: str) -> None:
    plan = plan_question(question)
    assert all(query.strip() for query in [first_query(plan, PubMed()), *wider_queries(plan, PubMed(), 2)])


@pytest.mark.parametrize("question", ["", "?!", "()"])
def test_a_question_without_any_word_has_an_empty_query(question: str) -> None:
    assert first_query(plan_question(question), PubMed()) == ""
    assert simpler_query(plan_question(question)) == ""


def test_operators_in_a_question_are_words_and_never_operators() -> None:
    assert first_query(plan_question("NOT aspirin OR ibuprofen"), PubMed()) == "ibuprofen AND aspirin"


def test_a_long_question_gives_a_query_of_bounded_length() -> None:
    plan = plan_question("Does metformin plus sitagliptin, empagliflozin and semaglutide prevent nephropathy? " * 200)
    for query in [
        first_query(plan, EuropePMC()),
        *wider_queries(plan, EuropePMC(), 1),
        *wider_queries(plan, PubMed(), 2),
    ]:
        assert len(query) < 1_500


def test_the_simple_query_has_no_syntax() -> None:
    assert simpler_query(plan_question(METFORMIN)) == "metformin cognitive decline"


def test_words_that_several_titles_share_join_the_most_specific_concept() -> None:
    titles = [
        f"Metformin and {word} in hippocampal ageing" for word in ("memory", "autophagy", "autophagy", "autophagy")
    ]
    query = related_query(plan_question("Does metformin slow cognitive decline?"), PubMed(), titles)
    assert query == "metformin AND (hippocampal OR ageing OR autophagy)"
    assert related_query(plan_question(METFORMIN), PubMed(), titles[:2]) is None


def test_subject_headings_of_read_papers_make_a_query_where_two_concepts_have_one() -> None:
    plan = plan_question("Does metformin slow cognitive decline?")
    headings = [("Metformin", "Cognitive Dysfunction", "Humans")] * 2
    assert heading_query(plan, PubMed(), headings) == '"Metformin"[mesh] AND "Cognitive Dysfunction"[mesh]'
    assert heading_query(plan, PubMed(), headings[:1]) is None
    assert heading_query(plan, EuropePMC(), headings) is None


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tumours", "tumor"),
        ("randomised", "randomization"),
        ("cognitive", "cognition"),
        ("diabetic", "diabetes"),
        ("haemoglobin", "hemoglobin"),
        ("neuropathic", "neuropathies"),
        ("IL-6", "il6"),
        ("Crohn's", "Crohn"),
        ("cystoscopist", "cystoscopy"),
        ("exercising", "exercise"),
    ],
)
def test_forms_of_one_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("hypertension", "hypertrophy"), ("interval", "interleukin")])
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_compounds_count_whole_and_in_parts() -> None:
    assert set(stems("HIV-infected")) == {"hivinfect", "hiv", "infect"}
    assert split_compound("laparoscopic-assisted") == ("laparoscopic", "assisted")
    assert split_compound("HIV-infected") == ("HIV", "infected")
    assert split_compound("X-ray") == ("X-ray",)
    assert closed_compound("non-invasive") == "noninvasive"
    assert closed_compound("IL-6") is None


@pytest.mark.parametrize(
    ("word", "other"), [("anaemia", "anemia"), ("hemorrhage", "haemorrhage"), ("epidemic", None), ("metformin", None)]
)
def test_spelling_on_the_other_side_of_the_atlantic(word: str, other: str | None) -> None:
    assert other_spelling(word) == other


def test_beginnings_are_long_enough_to_mean_something() -> None:
    assert truncated("metformin") == "metform"
    assert truncated("cognitive") == "cognit"
    assert truncated("gout") is None
    assert truncated("IL-6") is None


def test_specific_words_weigh_more_than_broad_and_weak_ones() -> None:
    assert specificity("the") == 0
    assert specificity("patients") < specificity("disease") < specificity("metformin") < specificity("HbA1c")
    assert specificity("adversely") == specificity("effect")
