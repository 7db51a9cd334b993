"""Promise 4: what an answer says of its own run is what the ledger says."""

from __future__ import annotations

import pytest

from literature_agent.integrity import review, settle
from literature_agent.results import SearchResult
from tests.integrity.conftest import World, draft, paper


@pytest.mark.parametrize(
    ("said", "status", "true"),
    [
        ("PubMed failed.", "ok", False),
        ("One source could not be reached.", "empty", False),
        ("The search timed out.", "ok", False),
        ("No source failed.", "ok", True),
        ("The searches found that full texts were unavailable.", "ok", True),
        ("The search failed to find any trial.", "empty", True),
        ("The search failed to uncover any trial.", "empty", True),
        ("PubMed failed to answer.", "empty", False),
        ("PubMed failed.", "failed", True),
        ("One source did not answer.", "partial", True),
        ("PubMed had no match.", "failed", False),
        ("No trial was found in PubMed.", "failed", False),
        ("PubMed had no match.", "empty", True),
        ("No trial was found.", "failed", True),
    ],
)
def test_a_failure_and_an_empty_answer_are_not_taken_for_each_other(
    said: str, status: str, true: bool, world: World
) -> None:
    reference = world.show(paper(1))
    answer = None if status == "failed" else SearchResult.model_validate({"status": status, "query_sent": "metformin"})
    world.search("metformin", answer)
    written = draft(f"It works {reference}. {said}")
    assert [problem.text for problem in review(written, world.desk)] == [said] * (not true)
    settled = settle(written, world.desk, max_articles=20)
    assert settled.summary == f"It works {reference}. {said}{' [unsupported]' * (not true)}"
    assert settled.integrity.claims_unsupported == (not true)


def test_who_made_no_search_is_not_contradicted(world: World) -> None:
    """An agent that asked for an answer knows more of its searches than its own ledger."""
    written = draft(f"It works {world.show(paper(1))}. PubMed failed.")
    assert review(written, world.desk) == ()


@pytest.mark.parametrize(
    "said",
    ["Shows why the search for biomarkers failed.", "A trial in the registry that failed.", "Why services failed."],
)
def test_what_stands_beside_a_work_speaks_of_the_work(said: str, world: World) -> None:
    reference = world.show(paper(1))
    world.search("metformin", SearchResult(status="ok", query_sent="metformin"))
    written = draft(f"It works {reference}.", relevant_articles=[{"reference": reference, "reason": said}])
    assert review(written, world.desk) == ()
    assert settle(written, world.desk, max_articles=20).articles[0].reason == said
