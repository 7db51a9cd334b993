"""Retracted works, works under concern, preprints with a published version."""

from __future__ import annotations

import pytest

from literature_agent.artifacts import BioRxivPreprint, PubMedArticle
from literature_agent.integrity import review, settle
from tests.integrity.conftest import World, draft, paper


@pytest.mark.parametrize(
    ("sentence", "marked"),
    [
        ("It works {ref}.", True),
        ("Withdrawal of the drug was hard {ref}.", True),
        ("Eyelid retraction improved {ref}.", True),
        ("It works {ref}, which has not been retracted.", True),
        ("A retracted trial had claimed that it works {ref}.", False),
        ("One paper that was later retracted says so {ref}.", False),
        ("This article has been withdrawn {ref}.", False),
    ],
)
def test_a_retracted_work_never_stands_as_silent_support(
    sentence: str, marked: bool, world: World, retracted: PubMedArticle
) -> None:
    reference = world.show(retracted)
    written = draft(sentence.format(ref=reference))
    assert any("has been retracted" in problem.fix for problem in review(written, world.desk)) is marked
    summary = settle(written, world.desk, max_articles=20).summary
    assert (f"{reference} [RETRACTED]" in summary) is marked


def test_a_work_under_concern_is_marked(world: World) -> None:
    reference = world.show(paper(61, correction_status="concern"))
    assert f"{reference} [CONCERN]" in settle(draft(f"It works {reference}."), world.desk, max_articles=20).summary
    said = f"One trial under an expression of concern says so {reference}."
    assert settle(draft(said), world.desk, max_articles=20).summary == said


def test_the_published_version_is_preferred_and_both_are_named(
    world: World, preprint_and_paper: tuple[BioRxivPreprint, PubMedArticle]
) -> None:
    preprint, published = map(world.show, preprint_and_paper)
    written = draft(f"It works {preprint}.", relevant_articles=[preprint])
    assert any(f"cite its published version {published}" in problem.fix for problem in review(written, world.desk))
    settled = settle(written, world.desk, max_articles=20)
    assert settled.summary == f"It works {preprint} [published as {published}]."
    assert [article.reference for article in settled.articles] == [published, preprint]
    both = f"It works {published} {preprint}."
    assert review(draft(both), world.desk) == ()
    assert settle(draft(both), world.desk, max_articles=20).summary == both


def test_a_published_version_that_was_not_shown_is_not_revealed(
    world: World, preprint_and_paper: tuple[BioRxivPreprint, PubMedArticle]
) -> None:
    preprint, published = world.show(preprint_and_paper[0]), world.hold(preprint_and_paper[1])
    settled = settle(draft(f"It works {preprint}.", relevant_articles=[preprint]), world.desk, max_articles=20)
    assert published not in settled.summary
    assert [article.reference for article in settled.articles] == [preprint]
