"""An answer put together by rule from papers and searches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from literature_agent.agents.abstracts import sentences_of
from literature_agent.agents.compose import compose
from literature_agent.agents.evidence import Asked, Mark, Paper
from literature_agent.agents.rank import rank
from literature_agent.agents.selection import select
from literature_agent.ids import find_identifiers
from literature_agent.integrity.claims import is_claim
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.registry import find_references

QUESTION = "Does metformin slow cognitive decline in older adults with type 2 diabetes?"
FINDING = "Metformin did not slow cognitive decline in older adults with type 2 diabetes."


def ref(number: int) -> str:
    return f"«artifact:link:cite~{number:010d}»"


def paper(number: int, conclusion: str = FINDING, **fields: object) -> Paper:
    """A whole record about the question whose conclusion is `conclusion`."""
    text = (
        "BACKGROUND: Whether metformin protects cognition is unknown.\n"
        "METHODS: We followed 400 older adults with diabetes for two years.\n"
        "RESULTS: Scores on the synthetic memory scale fell by 2 points in both groups.\n"
        f"CONCLUSIONS: {conclusion}"
    )
    known = {
        "title": f"Metformin and cognitive decline, cohort {chr(64 + number)}",
        "abstract": text,
        "whole": True,
        "year": 2020,
        "study_type": "Randomized Controlled Trial",
    }
    return Paper(reference=ref(number), **{**known, **fields})  # type: ignore[arg-type]  # fields of Paper by name


def summary_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


# --- claims -----------------------------------------------------------------------------------------------------------


def test_every_sentence_of_the_summary_carries_a_reference_and_claims_are_copied() -> None:
    papers = [paper(1), paper(2, "Cognitive decline was slower with metformin, but the difference was small.")]
    draft = compose(QUESTION, papers, [])
    sentences = summary_sentences(draft.summary)
    assert len(sentences) == 3
    assert all(list(find_references(sentence)) for sentence in sentences)
    assert f"A randomised controlled trial of 2020 concludes: “{FINDING.rstrip('.')}” {ref(1)}." in sentences
    assert "without a language model" in sentences[0]


def test_the_same_input_gives_the_same_answer() -> None:
    papers = [paper(n, f"Metformin slowed decline by {n} points in older adults.") for n in range(1, 9)]
    searches = [Asked("s1", "pubmed", "ok"), Asked("s2", "europepmc", "empty")]
    assert compose(QUESTION, papers, searches, 5) == compose(QUESTION, list(papers), list(searches), 5)


def test_articles_come_best_first_with_reason_and_a_verbatim_quote_and_not_more_than_asked() -> None:
    unrelated = replace(
        paper(3), title="Grip strength of swimmers", abstract="CONCLUSIONS: Swimmers grip well in water."
    )
    draft = compose(QUESTION, [unrelated, paper(1), paper(2)], [], max_articles=2)
    assert [article.reference for article in draft.relevant_articles] == [ref(1), ref(2)]
    assert draft.relevant_articles[0].reason == (
        "Randomised controlled trial of 2020 whose title and abstract cover metformin, cognitive decline, "
        "type 2 diabetes and older adults."
    )
    assert draft.relevant_articles[0].quotes == [FINDING]


def test_a_paper_that_uses_another_name_for_the_thing_is_found() -> None:
    other = paper(1, "Metformin users had less dementia.", title="Metformin and dementia in the elderly", abstract="x")
    unrelated = paper(2, title="Metformin and grip strength", abstract="Metformin did not change grip strength.")
    ranked = rank(QUESTION, [unrelated, other])
    assert [item.paper.reference for item in ranked] == [ref(1), ref(2)]


STATES = {"retracted": "has been retracted", "concern": "is under an expression of concern"}


@pytest.mark.parametrize("mark", ["retracted", "concern"])
def test_works_that_can_not_be_relied_on_are_named_as_such_and_carry_nothing(mark: Mark) -> None:
    draft = compose(QUESTION, [paper(1, marks=frozenset({mark})), paper(2)], [])
    assert draft.summary.endswith(
        f" A randomised controlled trial of 2020 on this question {STATES[mark]} and supports nothing here {ref(1)}."
    )
    assert draft.summary.count(ref(1)) == 1
    assert ref(2) in draft.summary
    first, last = draft.relevant_articles
    assert (first.reference, last.reference, last.quotes) == (ref(2), ref(1), [])
    assert (
        last.reason == f"Randomised controlled trial of 2020 on this question that {STATES[mark]}: it supports nothing."
    )
    elsewhere = draft.model_copy(update={"summary": "", "relevant_articles": []}).model_dump_json()
    assert ref(1) not in elsewhere


def test_a_notice_and_an_unreliable_work_on_another_subject_are_left_out() -> None:
    notice = paper(1, marks=frozenset({"notice"}))
    other = paper(3, title="Grip strength", abstract="Metformin eases grip.", marks=frozenset({"retracted"}))
    draft = compose(QUESTION, [notice, paper(2), other], []).model_dump_json()
    assert ref(1) not in draft
    assert ref(3) not in draft


@pytest.mark.parametrize("mark", ["retracted", "concern"])
def test_where_only_unreliable_works_bear_on_the_question_they_are_listed_with_their_mark(mark: Mark) -> None:
    other = paper(2, title="Grip strength of swimmers", abstract="CONCLUSIONS: Swimmers grip well in water.")
    draft = compose(QUESTION, [other, paper(1, marks=frozenset({mark}))], [Asked("s1", "pubmed", "ok")])
    assert [article.reference for article in draft.relevant_articles] == [ref(1)]
    assert STATES[mark] in draft.relevant_articles[0].reason
    assert draft.relevant_articles[0].quotes == []
    assert all(ref(1) in sentence for sentence in summary_sentences(draft.summary))
    assert "“" not in draft.summary
    assert draft.key_themes == []


def test_works_on_other_subjects_are_no_evidence() -> None:
    """What a wide search dragged in shares a word with the question and nothing else."""
    question = "Is antivenom effective for scorpion stings in pregnancy?"
    other = paper(1, title="Aspirin in pregnancy", abstract="CONCLUSIONS: Aspirin is effective in pregnancy.")
    draft = compose(question, [other], [Asked("s1", "pubmed", "ok")])
    assert draft.relevant_articles == []
    assert draft.key_themes == []
    assert draft.summary == (
        "No evidence was found on scorpion stings, antivenom and pregnancy: the searches found only works on other "
        "subjects."
    )
    assert not is_claim(draft.summary)


def test_a_work_that_the_question_names_is_listed_first_whatever_it_holds() -> None:
    named = paper(1, title="Grip strength of swimmers", abstract="CONCLUSIONS: Swimmers grip well in water.")
    papers = [paper(2), named, paper(3)]
    draft = compose(f"What does {ref(1)} say of metformin and cognitive decline?", papers, [], named={ref(1)})
    assert [article.reference for article in draft.relevant_articles] == [ref(1), ref(2), ref(3)]


def test_a_preprint_gives_way_to_its_published_version() -> None:
    preprint = paper(1, marks=frozenset({"preprint"}), study_type="Preprint", linked=(("paper", ref(2)),))
    published = paper(2, title="The same trial under its final title: metformin and cognitive decline")
    assert [p.reference for p in select(QUESTION, [preprint, published], 10)] == [ref(2)]
    named = replace(published, linked=(("preprint", ref(1)),))
    assert [p.reference for p in select(QUESTION, [replace(preprint, linked=()), named], 10)] == [ref(2)]
    # Also where the published version itself would hold too little of the question to be listed.
    apart = replace(published, title="Final report", abstract="CONCLUSIONS: It did not.")
    papers = [preprint, paper(3), paper(4), paper(5), apart]
    assert {p.reference for p in select(QUESTION, papers, 10)} == {ref(2), ref(3), ref(4), ref(5)}
    same_title = replace(preprint, linked=(), title=published.title.upper())
    assert [p.reference for p in select(QUESTION, [same_title, published], 10)] == [ref(2)]


def test_a_preprint_alone_is_called_one_wherever_it_speaks() -> None:
    preprint = paper(1, marks=frozenset({"preprint"}), study_type="Preprint")
    draft = compose(QUESTION, [preprint], [])
    assert "A preprint of 2020, not peer-reviewed, concludes: “" in draft.summary
    assert draft.relevant_articles[0].reason.startswith("Preprint of 2020, not peer-reviewed, whose")


def test_a_snippet_is_listed_but_never_speaks() -> None:
    snippet = paper(1, whole=False, abstract="BACKGROUND: Metformin may slow cognitive decline in older adults, but…")
    draft = compose(QUESTION, [snippet], [])
    assert "“" not in draft.summary
    assert ref(1) in draft.summary
    assert draft.relevant_articles[0].quotes == []


@pytest.mark.parametrize("study_type", ["Clinical Trial Protocol", "Registered trial"])
def test_a_study_without_results_makes_no_claim(study_type: str) -> None:
    draft = compose(QUESTION, [paper(1, study_type=study_type)], [])
    assert "“" not in draft.summary
    assert [article.reference for article in draft.relevant_articles] == [ref(1)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Metformin slowed cognitive decline as shown in [trial, see linked] before.",
        "Metformin slowed cognitive decline (see [identifier] for older adults).",
        "As Smith et al. showed, metformin slowed cognitive decline in older adults.",
        "Metformin slowed cognitive decline in older adults, as Voss (2019) had said.",
        "Metformin slowed cognitive decline in older adults, see Lancet 2020;395:1.",
        "Metformin slowed cognitive decline in older adults with diabetes [3, 4].",
        "Copyright of metformin and cognitive decline in adults: Synthetic Press.",
        "This trial of metformin and cognitive decline was registered at ClinicalTrials.gov.",
        "Write to metformin@example.org about cognitive decline in older adults.",
        "Metformin slowed cognitive decline in «artifact:link:cite~K7QX2MDA4T» too.",
    ],
)
def test_sentences_that_carry_names_identifiers_or_years_are_not_repeated(sentence: str) -> None:
    draft = compose(QUESTION, [paper(1, f"{sentence} {FINDING}"), paper(2, sentence)], [])
    assert sentence.rstrip(".")[:40] not in draft.summary
    assert FINDING.rstrip(".") in draft.summary
    prose = [draft.summary, *(a.reason for a in draft.relevant_articles), *(t.description for t in draft.key_themes)]
    assert all(not list(find_identifiers(text)) for text in prose)
    assert all(sentence not in article.quotes for article in draft.relevant_articles)


def test_methods_and_background_are_never_told_as_findings() -> None:
    told = compose(QUESTION, [paper(1, "It was short.")], []).model_dump_json()
    assert "We followed 400" not in told
    assert "is unknown" not in told


def test_an_abstract_without_labels_is_read_by_place() -> None:
    text = (
        "Older adults with diabetes often lose memory. Whether metformin matters is unknown. We gave it to 200 people. "
        "Scores fell by two points in both groups. Metformin had no effect on cognitive decline. "
        "More trials are needed."
    )
    sentences = sentences_of(paper(1, abstract=text))
    assert [sentence.role for sentence in sentences] == [
        "background", "background", "background", "body", "conclusion", "conclusion",
    ]  # fmt: skip
    assert [sentence.names_gap for sentence in sentences] == [False, False, False, False, False, True]
    assert "“Metformin had no effect on cognitive decline”" in compose(QUESTION, [paper(1, abstract=text)], []).summary


def test_a_sentence_with_quotation_marks_keeps_them_apart_from_ours() -> None:
    conclusion = 'Metformin is no "memory pill" and did not slow cognitive decline.'
    draft = compose(QUESTION, [paper(1, conclusion)], [])
    assert "“Metformin is no 'memory pill' and did not slow cognitive decline”" in draft.summary
    assert draft.relevant_articles[0].quotes == [conclusion]


# --- nothing found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("searches", "said", "not_said"),
    [
        ([], "No search was made", "No evidence"),
        ([Asked("s1", "pubmed", "empty")], "No evidence was found: PubMed answered", "failed"),
        ([Asked("s1", "pubmed", "failed"), Asked("s2", "europepmc", "failed")], "No source answered", "No evidence"),
        (
            [Asked("s1", "pubmed", "empty"), Asked("s2", "europepmc", "failed")],
            "What Europe PMC would hold is not known",
            "Europe PMC answered",
        ),
    ],
)
def test_without_papers_the_answer_says_why_and_cites_nothing(searches: list[Asked], said: str, not_said: str) -> None:
    """K079, K095: found nothing, failed and not asked are told apart."""
    draft = compose(QUESTION, [], searches)
    assert said in draft.summary
    assert not_said not in draft.summary
    assert not list(find_references(draft.model_dump_json()))
    assert draft.relevant_articles == []
    assert draft.key_themes == []


# --- themes and gaps --------------------------------------------------------------------------------------------------


def test_themes_are_subjects_that_several_papers_share() -> None:
    papers = [
        paper(1, headings=("Humans", "Metformin", "Diabetes Mellitus, Type 2", "Dementia")),
        paper(2, headings=("Humans", "Metformin", "Dementia")),
        paper(3, headings=("Humans", "Metformin", "Diabetes Mellitus, Type 2")),
    ]
    themes = {theme.name: theme for theme in compose(QUESTION, papers, []).key_themes}
    assert set(themes) == {"Metformin", "Type 2 Diabetes Mellitus", "Dementia"}
    assert themes["Dementia"].references == [ref(1), ref(2)]
    for theme in themes.values():
        assert all(list(find_references(sentence)) for sentence in summary_sentences(theme.description))


def test_where_no_headings_were_read_titles_give_the_themes() -> None:
    papers = [paper(n, title=f"Hippocampal volume in cohort {n}", headings=()) for n in (1, 2, 3)]
    assert [theme.name for theme in compose(QUESTION, papers, []).key_themes] == ["Hippocampal volume"]


def test_one_paper_has_no_themes() -> None:
    assert compose(QUESTION, [paper(1, headings=("Metformin", "Dementia"))], []).key_themes == []


def test_a_gap_that_authors_name_is_quoted_with_its_reference() -> None:
    gap = "Trials in people with kidney disease are still needed."
    (found,) = compose(QUESTION, [paper(1, f"{FINDING} {gap}")], []).research_gaps
    assert found.basis == "stated_in_literature"
    assert found.references == [ref(1)]
    assert found.quotes == [gap]
    assert found.description == (
        f"The authors of a randomised controlled trial of 2020 name as open: “{gap.rstrip('.')}” {ref(1)}."
    )


def test_what_an_introduction_calls_unknown_is_no_gap() -> None:
    assert compose(QUESTION, [paper(1)], []).research_gaps == []


def test_searches_that_found_nothing_are_a_gap_of_their_source_and_failed_ones_none() -> None:
    query = "metformin AND (cognitive decline)"
    searches = [
        Asked("s1", "pubmed", "empty", query),
        Asked("s2", "europepmc", "failed", query),
        Asked("s3", "pubmed", "ok", "metformin"),
        Asked("s4", "biorxiv", "empty", "metform* AND (cognit* AND declin*)"),
    ]
    narrow, whole = compose(QUESTION, [paper(1)], searches).research_gaps
    assert narrow.basis == whole.basis == "null_search"
    assert (narrow.searches, whole.searches) == (["s1"], ["s4"])
    assert narrow.description == (
        "The narrowest search of PubMed on metformin and cognitive decline found no record; wider ones did."
    )
    assert whole.description == "No record was found in bioRxiv for metformin and cognitive decline (1 search)."


def test_sources_of_which_the_same_can_be_said_are_one_gap_with_limits_in_words() -> None:
    narrow, wide = "metform* AND (cognit* AND declin*) AND (older AND adults)", "metformin OR cognitive OR decline"
    week = "; date_from=2026-11-23; date_to=2026-11-30"
    searches = [
        Asked("s1", "clinicaltrials", "empty", narrow),
        Asked("s2", "biorxiv", "empty", narrow, filters="server=bioRxiv" + week),
        Asked("s3", "medrxiv", "empty", narrow, filters="server=medRxiv" + week),
        Asked("s4", "clinicaltrials", "empty", wide),
    ]
    registry, servers = compose(QUESTION, [paper(1)], searches).research_gaps
    assert (registry.searches, servers.searches) == (["s1", "s4"], ["s2", "s3"])
    assert registry.description == (
        "No record was found in ClinicalTrials.gov for metformin and cognitive decline (2 searches)."
    )
    assert servers.description == (
        "No record was found in bioRxiv and medRxiv for metformin, cognitive decline and older adults "
        "(1 search each, dated 2026-11-23 to 2026-11-30)."
    )


def test_a_search_no_wider_than_an_empty_one_is_not_called_wider() -> None:
    searches = [
        Asked("s1", "pubmed", "empty", "metformin AND (cognitive decline)"),
        Asked("s2", "pubmed", "ok", "metformin AND (older adults)"),
    ]
    (gap,) = compose(QUESTION, [paper(1)], searches).research_gaps
    assert gap.description == (
        "No record was found in PubMed for metformin and cognitive decline (1 search); other searches there found some."
    )


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "What is known about the new coronavirus in patients with pneumonia?",
            "CONCLUSIONS: Avelumab was safe in patients with papillomatosis. One patient had pneumonia.",
        ),
        (
            "Inpatient versus outpatient management of neutropenic fever in gynecologic oncology patients",
            "CONCLUSIONS: Costs of inpatient tonsillectomy differ by hospital type. More research is needed.",
        ),
    ],
)
def test_a_paper_with_one_word_of_the_question_is_listed_and_not_quoted(question: str, text: str) -> None:
    draft = compose(question, [paper(1, title="A synthetic cohort", abstract=text)], [])
    (article,) = draft.relevant_articles
    assert article.quotes == []
    assert "“" not in draft.summary
    assert draft.research_gaps == []


def test_headings_in_capitals_are_themes_in_common_writing_and_acronyms_stay() -> None:
    papers = [paper(n, headings=("COGNITIVE DECLINE", "MRI MEMORY", "COVID-19")) for n in (1, 2)]
    papers.append(paper(3, headings=("COVID-19",)))
    papers.append(paper(4, headings=("MRI MEMORY", "COVID-19")))
    names = {theme.name for theme in compose(QUESTION, papers, []).key_themes}
    assert names == {"Cognitive decline", "MRI memory", "COVID-19"}


@pytest.mark.parametrize(
    "search",
    [
        Asked("s1", "pubmed", "empty", "grip AND strength"),
        Asked("s1", "pubmed", "empty", "metformin"),
        Asked("s1", "pubmed", "empty", "metformin AND (cognitive decline)", as_written=False),
    ],
)
def test_a_search_that_asked_for_something_else_or_was_run_otherwise_shows_no_gap(search: Asked) -> None:
    assert compose(QUESTION, [], [search]).research_gaps == []


def test_a_gap_names_the_limits_of_its_searches() -> None:
    query = "metformin AND (cognitive decline)"
    searches = [
        Asked("s1", "pubmed", "empty", query, filters="date_from=2022; languages=eng"),
        Asked("s2", "pubmed", "empty", query, filters="publication_types=Review"),
    ]
    dated, typed = compose(QUESTION, [], searches).research_gaps
    assert (dated.searches, typed.searches) == (["s1"], ["s2"])
    assert "(1 search, dated from 2022, language eng)" in dated.description
    assert "(1 search, of type Review)" in typed.description


# --- ranking ----------------------------------------------------------------------------------------------------------


def test_study_type_and_date_decide_between_equals_and_never_over_the_subject() -> None:
    review = paper(1, study_type="Meta-Analysis", year=2024)
    letter = paper(2, study_type="Letter", year=1990)
    off_subject = paper(
        3, study_type="Meta-Analysis", year=2025, title="Grip strength", abstract="CONCLUSIONS: Metformin eases grip."
    )
    order = [item.paper.reference for item in rank(QUESTION, [off_subject, letter, review])]
    assert order == [ref(1), ref(2), ref(3)]


def test_what_can_carry_no_claim_ranks_last() -> None:
    ranked = rank(QUESTION, [paper(1, marks=frozenset({"retracted"})), paper(2, title="Grip", abstract="Grip.")])
    assert [item.paper.reference for item in ranked] == [ref(2), ref(1)]


def test_a_compound_counts_as_one_thing_and_its_common_parts_for_little() -> None:
    question = "Does low-dose atropine slow myopia?"
    right = paper(1, title="Atropine 0.01% and myopia", abstract="Atropine slows myopia.")
    shares_the_dose = paper(2, title="Low-dose aspirin", abstract="Low-dose aspirin, a low dose, slows ageing.")
    first, second = rank(question, [shares_the_dose, right])
    assert (first.paper.reference, second.paper.reference) == (ref(1), ref(2))
    assert first.covered > 2 * second.covered


def test_references_in_a_question_are_no_words_of_it() -> None:
    plain = rank("Does metformin slow decline?", [paper(1)])
    assert rank(f"Does metformin {ref(7)} slow decline?", [paper(1)]) == plain


def test_ranking_of_nothing_is_empty_and_a_question_without_words_ranks_all() -> None:
    assert rank(QUESTION, []) == []
    assert len(rank("???", [paper(1), paper(2)])) == 2
