"""Drafts that try to get by, through the real loop: scripted model, real tools, real HTTP over the sandbox."""

from __future__ import annotations

import json
from typing import Any

import pytest

from literature_agent import LiteratureAggregationOutput, LiteratureAggregator, Settings
from literature_agent.testing import Calls, Seen, scripted_model, submit

TRIAL = "Two years of metformin modestly slowed cognitive decline in this population."
NEUTRAL = "The drug neither slowed cognitive decline nor altered imaging markers in these older adults."


async def told(settings: Settings, query: str, said: Any, *, more: Calls = ()) -> LiteratureAggregationOutput:
    """What is left of a draft whose model was shown three works of `query` whole and mends nothing."""
    search = [("search_pubmed", {"query": query, "max_results": 3}), *more]

    def fetch(seen: Seen) -> Calls:
        return [("fetch_pubmed", {"references": seen.references[:3]})]

    once = settings.model_copy(update={"repair_rounds": 0})
    return await LiteratureAggregator(scripted_model(search, fetch, said), settings=once).run("Does metformin help?")


METFORMIN = "metformin AND cognitive decline"


@pytest.mark.parametrize(
    "claim",
    [
        "The searches found that metformin prevents dementia.",
        "No study has shown harm, so metformin is safe.",
        "We searched PubMed, where metformin cures dementia.",
        "It is unknown to nobody that metformin works.",
        "It is not unclear whether metformin works.",
        "Only abstracts were read (metformin halves dementia risk).",
        "**Metformin cures dementia:** Only abstracts were read.",
        "No trial was found in which metformin did not work.",
        "Evidence on metformin, the best drug for dementia, is limited.",
        "Two sources answered and metformin cured all.",
    ],
)
async def test_a_finding_in_the_clothes_of_a_search_is_unsupported(claim: str, settings: Settings) -> None:
    output = await told(settings, METFORMIN, submit(claim))
    assert output.summary.endswith("[unsupported]")
    assert output.integrity.claims_unsupported == 1


@pytest.mark.parametrize(
    "said",
    [
        "The drug slowed cognitive decline in these older adults.",
        "slowed cognitive decline nor altered imaging markers in these older adults.",
        "The drug ... slowed cognitive decline",
        "see reason to prescribe metformin for memory",
        "reason to prescribe metformin for memory",
        "Reminding scores dropped by 8.3 words (metformin) and 3.5 words (placebo)",
        "and 3.5 words (placebo) … Treatment may not have come too late",
        "altered imaging markers in these older adults. Two years of metformin",
        "412 volunteers received up to 2 g of metformin or matching placebo every day for 81 months",
        TRIAL,
    ],
)
async def test_words_that_do_not_stand_in_the_paper_are_no_quote_in_list_or_prose(
    said: str, settings: Settings
) -> None:
    """Changed numbers, dropped negations, stitched places, words of another paper."""

    def draft(seen: Seen) -> Calls:
        neutral = seen.references[2]
        listed = [{"reference": neutral, "reason": f"It says ‘{said}’.", "quotes": [said, NEUTRAL]}]
        return [("submit_answer", {"summary": f"The authors write „{said}“ {neutral}.", "relevant_articles": listed})]

    output = await told(settings, METFORMIN, draft)
    assert [quote.text for quote in output.relevant_articles[0].quotes] == [NEUTRAL]
    assert said not in output.summary
    assert said not in (output.relevant_articles[0].relevance or "")
    assert output.integrity.quotes_dropped == 3


@pytest.mark.parametrize(
    ("query", "filters", "searches", "description"),
    [
        ("metformin AND cognition AND xylophone", {}, ["s99"], "No trial of metformin, cognition and xylophones."),
        (METFORMIN, {}, ["s1"], "No trial of metformin and cognitive decline was found."),
        ("xylophone AND quasar", {}, ["s2"], "No trial of metformin and cognition was found."),
        ("metformin AND cognition NOT humans[mh]", {}, ["s2"], "No trial of metformin and cognition was found."),
        ("metformin[au] AND cognition", {}, ["s2"], "No trial of cognition in older adults was found."),
        ("metformin AND cognition", {"date_to": "1901"}, ["s2"], "No trial of metformin and cognition was found."),
        (
            "metformin AND cognition",
            {"publication_types": ["Lecture"]},
            ["s2"],
            "No trial of metformin and cognition was found.",
        ),
        ("metformin AND cognitve", {}, ["s2"], "No trial of metformin and cognitve decline was found."),
        ("metformin[xyz] AND xylophone", {}, ["s2"], "No trial of metformin with xylophone music was found."),
        ("metformin AND malaria", {}, [], "No trial of metformin for malaria was found."),
    ],
)
async def test_a_search_that_shows_no_gap_carries_none(
    query: str, filters: dict[str, Any], searches: list[str], description: str, settings: Settings
) -> None:
    gap = {"description": description, "basis": "null_search", "searches": searches}
    more = [("search_pubmed", {"query": query, **filters})]
    output = await told(settings, METFORMIN, submit("No trial was found.", research_gaps=[gap]), more=more)
    assert [(gap.basis, gap.searches) for gap in output.research_gaps] == [("not_searched", ())]
    assert output.integrity.gaps_downgraded == 1


async def test_a_search_that_shows_a_gap_carries_it(settings: Settings) -> None:
    gap = {"description": "No trial of metformin for malaria.", "basis": "null_search", "searches": ["s2"]}
    more = [("search_pubmed", {"query": "metformin AND malaria"})]
    output = await told(settings, METFORMIN, submit("No trial was found.", research_gaps=[gap]), more=more)
    assert [(gap.basis, gap.searches) for gap in output.research_gaps] == [("null_search", ("s2",))]


@pytest.mark.parametrize(
    "said",
    [
        "Bilberry cures myopia {}.",
        "Retracted claims apart, {} proves that bilberry works.",
        "Patients were withdrawn from the study for benefit in {}.",
        "The upper lid was retracted in all pupils of {}.",
        "This non-retracted trial {} proves it.",
        "The trial {} was wrongly retracted and is right.",
        "Nobody claims that {} was retracted.",
        "If {} had been retracted we would not cite it.",
        "Bilberry [RETRACTED] cures myopia {}.",
        "Consent was withdrawn by two pupils in {}.",
    ],
)
async def test_a_retracted_trial_is_marked_whatever_the_sentence_plays_at(said: str, settings: Settings) -> None:
    def draft(seen: Seen) -> Calls:
        return submit(said.format(seen.references[0]), [seen.references[0]])

    output = await told(settings, "bilberry AND retracted publication[pt]", draft)
    reference = output.relevant_articles[0].reference
    assert output.relevant_articles[0].correction_status == "retracted"
    assert f"{reference} [RETRACTED]" in output.summary
    assert any("retracted" in limit.lower() for limit in output.limitations)


LEAKS = (
    "PMID №33301246", "PMC#7759461", "NCT no04295616", "DOI№10.1056/NEJMoa2034577", "(Smith-2020)", "[Okafor_2019]",
    "@smith2020", "Smith ( 2 0 2 0 )", "Wang & Li ’20", "NEJM-2023", "山田ら（2019）", "ChiCTR№2000029308",
)  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
async def test_a_disguised_leak_reaches_no_field_of_prose(leak: str, settings: Settings) -> None:
    def draft(seen: Seen) -> Calls:
        one = seen.references[0]
        return [
            (
                "submit_answer",
                {
                    "summary": f"Decline was slower {leak} {one}. Metformin works {one}.",
                    "relevant_articles": [{"reference": one, "reason": f"As in {leak}."}],
                    "key_themes": [
                        {"name": f"Trials {leak}", "description": f"See {leak} {one}.", "references": [one]}
                    ],
                    "research_gaps": [{"description": f"Children, says {leak}.", "basis": "not_searched"}],
                },
            )
        ]

    output = await told(settings, METFORMIN, draft)
    themes = [text for theme in output.key_themes for text in (theme.name, theme.description)]
    gaps = [gap.description for gap in output.research_gaps]
    prose = [output.summary, *(article.relevance or "" for article in output.relevant_articles), *themes, *gaps]
    assert leak not in "\n".join(prose)
    assert "Metformin works" in output.summary
    assert output.integrity.leaks_cut >= 4


async def test_an_answer_is_not_lost_for_what_its_lists_leave_out(settings: Settings) -> None:
    """K093: bare references, no reasons, one text for a list, ids of searches in other words."""
    more = [("search_pubmed", {"query": "metformin AND malaria"})]

    def draft(seen: Seen) -> Calls:
        one, two, _ = seen.references[:3]
        return [
            (
                "submit_answer",
                {
                    "summary": f"It slows {one}.",
                    "relevant_articles": [one, {"reference": f"[{two}]", "quotes": TRIAL}],
                    "key_themes": [{"name": "Decline", "references": f"{one}, {two}"}],
                    "research_gaps": [
                        {"description": "The dose."},
                        {"description": "No trial of metformin for malaria.", "basis": "null_search", "searches": "S2"},
                    ],
                },
            )
        ]

    output = await told(settings, METFORMIN, draft, more=more)
    assert (output.status, output.usage.requests) == ("complete", 3)
    assert len(output.relevant_articles) == 2
    assert [len(theme.references) for theme in output.key_themes] == [2]
    assert [(gap.basis, gap.searches) for gap in output.research_gaps] == [
        ("not_searched", ()),
        ("null_search", ("s2",)),
    ]
    assert output.integrity.unknown_references == 0


@pytest.mark.parametrize("said", ["", "  \n", "«»"])
async def test_an_empty_summary_is_sent_back_and_then_said_to_be_missing(said: str, settings: Settings) -> None:
    search: Calls = [("search_pubmed", {"query": METFORMIN})]
    mended = lambda seen: submit(f"It slows {seen.references[0]}.")  # noqa: E731  # one turn of a script
    output = await LiteratureAggregator(scripted_model(search, submit(said), mended), settings=settings).run(
        "Metformin?"
    )
    assert output.summary.startswith("It slows ")
    output = await told(settings, METFORMIN, submit(said))
    assert output.summary == "The model gave no summary that could be kept."


@pytest.mark.parametrize("empty", [None, "null", "[]", []])
async def test_lists_that_come_as_json_text_or_null_are_read(empty: object, settings: Settings) -> None:
    """K093: the answer is not lost for the form of its lists."""
    search: Calls = [("search_pubmed", {"query": METFORMIN})]

    def text(seen: Seen) -> Calls:
        article = {"reference": seen.references[0], "reason": "It bears on it.", "quotes": empty}
        theme = {"name": "Decline", "description": f"It slows {seen.references[0]}.", "references": empty}
        given = {"relevant_articles": json.dumps([article]), "key_themes": [theme], "research_gaps": empty}
        return [("submit_answer", {"summary": f"It slows {seen.references[0]}.", **given})]

    output = await LiteratureAggregator(scripted_model(search, text), settings=settings).run("Does metformin help?")
    assert (output.status, output.usage.requests) == ("complete", 2)
    assert [article.relevance for article in output.relevant_articles] == ["It bears on it."]
    assert [theme.name for theme in output.key_themes] == ["Decline"]
