"""One review of a whole draft, one settlement."""

from __future__ import annotations

from typing import Any

import pytest

from literature_agent.integrity import Problem, repair_message, review, settle
from literature_agent.outputs import IntegrityReport
from literature_agent.registry import Reference
from literature_agent.results import SearchResult
from tests.integrity.conftest import World, draft, paper

QUOTE = "No serious events occurred."


def article(reference: str, reason: str = "It bears on it.", *quotes: str) -> dict[str, Any]:
    return {"reference": reference, "reason": reason, "quotes": list(quotes)}


def test_a_clean_draft_passes_and_keeps_every_word(world: World) -> None:
    reference = world.show(paper(1))
    written = draft(
        f"Exercise slowed decline {reference}. No trial in children was found.",
        relevant_articles=[article(reference, "The largest trial.", QUOTE)],
        key_themes=[{"name": "Exercise", "description": f"It helps {reference}.", "references": [reference]}],
        research_gaps=[{"description": "The dose in children.", "basis": "not_searched"}],
    )
    assert review(written, world.desk) == ()
    settled = settle(written, world.desk, max_articles=20)
    assert settled.summary == written.summary
    assert settled.themes[0].description == written.key_themes[0].description
    assert settled.articles[0].quotes[0].text == QUOTE
    assert settled.integrity == IntegrityReport()


def test_all_problems_of_a_draft_come_together_with_field_text_and_fix(world: World) -> None:
    reference = world.show(paper(1))
    world.search("x", SearchResult(status="ok", total=4))
    mistyped = reference[:-2] + ("0" if reference[-2] != "0" else "1") + "»"
    written = draft(
        f"It works [3]. Sleep improved. Smith et al. (2020) agree {reference}. See {mistyped}.",
        relevant_articles=[
            article(str(Reference.for_identity("doi:10.5555/invented")), "As in PMID 90000001."),
            article(reference, "Good.", "These words stand nowhere at all."),
        ],
        key_themes=[{"name": "NEJM 2020", "description": "All improved.", "references": ["nonsense"]}],
        research_gaps=[{"description": "See NCT90000001.", "basis": "null_search", "searches": ["s1"]}],
    )
    problems = review(written, world.desk)
    assert {problem.field for problem in problems} == {
        "summary",
        "relevant_articles[0].reference",
        "relevant_articles[0].reason",
        "relevant_articles[1].quotes",
        "key_themes[0].name",
        "key_themes[0].description",
        "key_themes[0].references",
        "research_gaps[0].description",
        "research_gaps[0].searches",
    }
    assert [problem.text for problem in problems if problem.field == "summary"] == [
        mistyped,
        "[3]",
        "Smith et al. (2020)",
        "Sleep improved.",
    ]
    assert f"mistyped; the reference is {reference}." in {problem.fix for problem in problems}
    lines = repair_message(problems).split("\n")
    assert len(lines) == len(problems)
    assert all(line.startswith("- ") for line in lines)


def test_a_repair_message_stays_readable_whatever_is_wrong() -> None:
    problems = [Problem("summary", str(number), "mend it.") for number in range(1_000)]
    lines = repair_message(problems).split("\n")
    assert len(lines) == 61
    assert "940 more points" in lines[-1]


def test_unknown_references_are_not_revealed_though_the_registry_holds_them(world: World) -> None:
    """K083: held is not shown."""
    world.show(paper(1))
    held, nowhere = world.hold(paper(2)), str(Reference.for_identity("doi:10.5555/invented"))
    fixes = [[problem.fix for problem in review(draft(f"It works {each}."), world.desk)] for each in (held, nowhere)]
    assert fixes[0] == fixes[1] == ["unknown; cite only what you were shown."]


def test_claims_without_reference_are_marked_and_counted(world: World) -> None:
    reference = world.show(paper(1))
    written = draft(f"It works {reference}. Sleep improved. No trial in children was found.")
    settled = settle(written, world.desk, max_articles=20)
    assert settled.summary == f"It works {reference}. Sleep improved. [unsupported] No trial in children was found."
    assert settled.integrity.claims_unsupported == 1


def test_marks_that_the_model_writes_itself_are_not_taken_over(world: World) -> None:
    reference = world.show(paper(1))
    written = draft(f"It works {reference} [RETRACTED]. [unsupported]")
    assert settle(written, world.desk, max_articles=20).summary == f"It works {reference}."


def test_a_quote_in_prose_must_stand_in_a_paper_cited_with_it(world: World) -> None:
    reference, other = world.show(paper(1)), world.show(paper(2, abstract_text="Nothing of this kind is here at all."))
    true = f"They say “Insulin worsened memory in women” {reference}."
    for false in (
        f"They say “Insulin improved memory in all women” {reference}.",
        f"They say “Insulin worsened memory in women” {other}.",
    ):
        written = draft(f"{true} {false}")
        assert [problem.field for problem in review(written, world.desk)] == ["summary"]
        settled = settle(written, world.desk, max_articles=20)
        assert settled.summary == true
        assert settled.integrity.quotes_dropped == 1


def test_a_quote_of_an_article_must_come_from_that_article(world: World) -> None:
    other = world.show(paper(2, abstract_text="Nothing of this kind is here at all."))
    world.show(paper(1))
    written = draft(f"It works {other}.", relevant_articles=[article(other, "Good.", QUOTE)])
    settled = settle(written, world.desk, max_articles=20)
    assert settled.articles[0].quotes == ()
    assert settled.integrity.quotes_dropped == 1


def test_a_work_that_only_the_prose_cites_is_listed_within_the_limit(world: World) -> None:
    """K082: every marker has an entry."""
    first, second = world.show(paper(1)), world.show(paper(2))
    written = draft(f"It works {first} {second}.", relevant_articles=[article(first)])
    assert [a.reference for a in settle(written, world.desk, max_articles=20).articles] == [first, second]
    assert [a.reference for a in settle(written, world.desk, max_articles=1).articles] == [first]


def test_a_theme_without_a_name_that_can_be_kept_goes(world: World) -> None:
    reference = world.show(paper(1))
    written = draft(
        f"It works {reference}.",
        key_themes=[{"name": "Smith et al.", "description": f"It helps {reference}.", "references": [reference]}],
    )
    assert settle(written, world.desk, max_articles=20).themes == ()


@pytest.mark.parametrize("members", [{}, {"relevant_articles": [article("", "", "")]}])
def test_an_empty_draft_settles_to_nothing(members: dict[str, Any], world: World) -> None:
    settled = settle(draft("", **members), world.desk, max_articles=20)
    assert (settled.summary, settled.articles, settled.themes, settled.gaps) == ("", (), (), ())


def test_a_thousand_references_are_cut_in_one_pass(world: World) -> None:
    reference = world.show(paper(1))
    flood = " ".join(str(Reference.for_identity(f"doi:10.5555/{number}")) for number in range(1_000))
    settled = settle(draft(f"It works {reference} {flood}."), world.desk, max_articles=20)
    assert settled.summary == f"It works {reference}."
    assert settled.integrity.unknown_references == 1_000


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("It helps artifact:link:cite~{key}.", "It helps {reference}."),
        ("It helps (artifact:link:cite~{key}).", "It helps ({reference})."),
        ("It helps cite~{key}, and memory improves.", "It helps {reference}, and memory improves."),
        ("It helps [cite~{key}].", "It helps {reference}."),
        ("It helps <<artifact:link:cite~{key}>>.", "It helps {reference}."),
    ],
)
def test_a_reference_in_another_spelling_is_read_and_nothing_around_it_goes(
    world: World, written: str, kept: str
) -> None:
    reference = world.show(paper(1))
    text = written.format(key=reference[20:-1])
    assert review(draft(text), world.desk) == ()
    settled = settle(draft(text), world.desk, max_articles=5)
    assert settled.summary == kept.format(reference=reference)
    assert settled.integrity == IntegrityReport()
