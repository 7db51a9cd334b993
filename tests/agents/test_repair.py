"""An answer mended by what was said against it."""

from __future__ import annotations

from literature_agent.agents.repair import mend, points_of
from literature_agent.integrity import Problem
from literature_agent.outputs import AggregationDraft, DraftArticle, DraftGap, DraftTheme

A, B, C = (f"«artifact:link:cite~{key * 10}»" for key in "ABC")


def draft() -> AggregationDraft:
    return AggregationDraft(
        summary=f"One thing holds {A}. Another holds {B}.",
        relevant_articles=[
            DraftArticle(reference=A, reason="It names PMID 12345.", quotes=["Words that stand there."]),
            DraftArticle(reference=B, reason="A trial.", quotes=[]),
        ],
        key_themes=[
            DraftTheme(name="First", description=f"Said here {A}. Said there {B}.", references=[A, B]),
            DraftTheme(name="Second", description=f"Only here {C}.", references=[C]),
        ],
        research_gaps=[
            DraftGap(
                description=f"Open {A}.",
                basis="stated_in_literature",
                references=[A],
                searches=[],
                quotes=["It is open."],
            ),
            DraftGap(
                description="Nothing found.", basis="null_search", references=[], searches=["s1", "s2"], quotes=[]
            ),
        ],
    )


def said(field: str, text: str, fix: str = "remove it.") -> str:
    return f"The answer was not accepted yet.\n{Problem(field, text, fix)}"


def test_points_are_read_as_the_checks_write_them() -> None:
    (point,) = points_of(said("key_themes[0].name", 'it\'s "quoted"\nhere', f"mistyped; the reference is {A}."))
    assert point.field == "key_themes[0].name"
    assert point.text == 'it\'s "quoted"\nhere'
    assert point.instead == A
    assert points_of("Something else.\n- not a point") == []


def test_without_feedback_nothing_changes() -> None:
    assert mend(draft(), []) == draft()


def test_an_identifier_in_a_reason_costs_the_reason_only() -> None:
    mended = mend(draft(), [said("relevant_articles[0].reason", "PMID 12345")])
    assert mended.relevant_articles[0].reason == "Found by the searches for this question."
    assert mended.model_copy(update={"relevant_articles": draft().relevant_articles}) == draft()


def test_an_unknown_reference_leaves_lists_prose_and_everything_that_rests_on_it_alone() -> None:
    mended = mend(draft(), [said("summary", A, "unknown; cite only what you were shown.")])
    assert A not in mended.model_dump_json()
    assert mended.summary == f"Another holds {B}."
    assert mended.key_themes[0].description == f"Said there {B}."
    assert [gap.basis for gap in mended.research_gaps] == ["null_search"]


def test_a_theme_that_loses_all_its_references_goes() -> None:
    mended = mend(draft(), [said("key_themes[1].references", C)])
    assert [theme.name for theme in mended.key_themes] == ["First"]


def test_a_search_that_is_no_null_search_leaves_its_gap_and_the_gap_goes_with_the_last_one() -> None:
    once = mend(draft(), [said("research_gaps[1].searches", "s1")])
    assert once.research_gaps[1].searches == ["s2"]
    twice = mend(draft(), [said("research_gaps[1].searches", "s1"), said("research_gaps[1].searches", "s2")])
    assert [gap.basis for gap in twice.research_gaps] == ["stated_in_literature"]


def test_a_gap_goes_with_the_quote_that_carries_it() -> None:
    mended = mend(draft(), [said("research_gaps[0].quotes", "It is open.")])
    assert [gap.basis for gap in mended.research_gaps] == ["null_search"]


def test_a_summary_that_cites_nothing_is_replaced_by_what_was_found() -> None:
    mended = mend(draft(), [said("summary", draft().summary, "cite the papers that support it.")])
    assert (
        mended.summary == f"The searches found works that may bear on the question; no answer was put together {A} {B}."
    )


def test_an_answer_that_loses_every_article_says_that_it_has_none() -> None:
    mended = mend(draft(), [said("summary", A), said("summary", B), said("summary", C)])
    assert mended.summary == "No answer could be put together from what the searches found."
    assert mended.relevant_articles == []


def test_feedback_that_names_nothing_costs_quotes_then_themes_then_prose() -> None:
    vague = "No."
    first, second, third, fourth = (mend(draft(), [vague] * times) for times in (1, 2, 3, 4))
    assert first.research_gaps == []
    assert first.key_themes == draft().key_themes
    assert second.key_themes == []
    assert "One thing holds" not in third.summary
    assert fourth == third
