"""Retracted works, works under concern, preprints with a published version."""

from __future__ import annotations

import pytest

from literature_agent.artifacts import BioRxivPreprint, Notice, PubMedArticle, RelatedRecord
from literature_agent.integrity import review, settle
from literature_agent.registry import Reference
from tests.integrity.conftest import World, draft, paper

UNKNOWN = [str(Reference.for_identity(f"doi:10.5555/never.shown.{number}")) for number in range(2)]
NOTICE = Notice(kind="retracted_by", reference_id="90000599")


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
        (
            "A randomised controlled trial of 2019 on this question has been retracted and supports nothing {ref}.",
            False,
        ),
        ("An observational study of 2022 from three hospitals was later withdrawn {ref}.", False),
        (
            "The searches found no work on this question that can be relied on: what bears on it has been retracted "
            "or is under an expression of concern {ref}.",
            False,
        ),
        ("The study in which the upper lid was retracted found a cure {ref}.", True),
        ("The trial of 2019 on pupils whose patients were withdrawn found a cure {ref}.", True),
        ("A trial of tea from which nine adults have been withdrawn found a cure {ref}.", True),
        ("Retracted claims apart, {ref} proves that bilberry works.", True),
        ("Patients were withdrawn from the study for benefit in {ref}.", True),
        ("The upper lid was retracted in all pupils of {ref}.", True),
        ("Patients withdrawn from the trial did better {ref}.", True),
        ("This non-retracted trial {ref} proves it.", True),
        ("The trial {ref}, which some wanted retracted, proves it.", True),
        ("Unretracted and sound, the trial {ref} proves it.", True),
        ("The trial {ref} was never retracted.", True),
        ("Nobody claims that {ref} was retracted.", True),
        ("The trial {ref} was almost retracted but stands.", True),
        ("Should the trial {ref} be retracted?", True),
        ("The trial {ref} was wrongly retracted and is right.", True),
        ("If {ref} had been retracted we would not cite it.", True),
        ("Calls that {ref} be retracted were rejected.", True),
        ("The study drug was withdrawn after week 4 in {ref}.", True),
        ("The retraction of the lid in the study was easy {ref}.", True),
        ("Consent was withdrawn by two pupils in {ref}.", True),
        ("Retracted [RETRACTED] bilberry works {ref}.", True),
        ("The retracted gum healed in the trial {ref}.", True),
        ("The trial {ref} was retracted.", False),
        ("The trial {ref} has since been retracted.", False),
        ("{ref}, a retracted trial, claimed that bilberry works.", False),
        ("One retracted paper claimed a cure {ref}.", False),
        ("A trial that claimed a cure {ref} was later withdrawn.", False),
        ("The claim of a cure {ref} rests on a paper that has been retracted.", False),
        ("{ref} (retracted) claimed a cure.", False),
        ("Retracted: {ref} claimed a cure.", False),
        ("The only trial claimed a cure but was retracted {ref}.", False),
        ("Its retraction notice says that the data of {ref} were invented.", False),
        ("Two retracted studies claimed a cure {ref}.", False),
        ("The trial was formally retracted by the journal {ref}.", False),
        ("The journal retracted the trial {ref}.", False),
        ("This study was withdrawn by its authors {ref}.", False),
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


def test_of_two_retracted_works_each_must_be_said_to_be(world: World) -> None:
    one, two = (world.show(paper(number, correction_status="retracted", notices=(NOTICE,))) for number in (62, 63))
    said = f"A retracted trial claimed a cure {one}, and a larger one confirmed it {two}."
    assert settle(draft(said), world.desk, max_articles=20).summary == said.replace(two, f"{two} [RETRACTED]")
    for both in (f"Two retracted trials claimed a cure {one} {two}.", f"The trials {one} and {two} were retracted."):
        assert settle(draft(both), world.desk, max_articles=20).summary == both


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
    both = f"It works {published} (preprint {preprint})."
    assert review(draft(both), world.desk) == ()
    assert settle(draft(both), world.desk, max_articles=20).summary == both


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (
            "Two independent studies agree {pre} {pub}.",
            "Two independent studies agree {pre} [published as {pub}] {pub}.",
        ),
        ("Studies agree {pub}, {pre}.", "Studies agree {pub}."),
        ("{pre} and {pub} agree.", "{pre} [published as {pub}] and {pub} agree."),
        ("According to {pre}, {pub} is right.", "According to {pre} [published as {pub}], {pub} is right."),
        ("{pre}: it works {pub}.", "{pre} [published as {pub}]: it works {pub}."),
        ("It works ({pre}; {pub}).", "It works ({pub})."),
        ("It works ({pre}) and is safe {pub}.", "It works and is safe {pub}."),
        ("Shown between {pre} and {pub}.", "Shown between {pre} [published as {pub}] and {pub}."),
        ("Shown in {pre} as in the trial {pub}.", "Shown in {pre} [published as {pub}] as in the trial {pub}."),
        ("Both {pre} and {pub} say so.", "Both {pre} [published as {pub}] and {pub} say so."),
        ("A preprint and a trial agree {pre} {pub}.", "A preprint and a trial agree {pub}."),
        (
            "Two studies agree, one published as a preprint {pre} {pub}.",
            "Two studies agree, one published as a preprint {pre} [published as {pub}] {pub}.",
        ),
        ("The preprint of {pub} says so too {pre}.", None),
        ("The preprint {pre} was later published {pub}.", None),
        ("A trial, first posted as a preprint, found it {pre} {pub}.", None),
        ("{pre} [published as {pub}].", "{pre} [published as {pub}]."),
    ],
)
def test_a_preprint_and_its_paper_are_never_two_studies(
    said: str, left: str | None, world: World, preprint_and_paper: tuple[BioRxivPreprint, PubMedArticle]
) -> None:
    """Families never count twice; both may be named where the sentence says that they are one."""
    pre, pub = map(world.show, preprint_and_paper)
    said = said.format(pre=pre, pub=pub)
    problems = review(draft(said), world.desk)
    assert any("one study" in problem.fix or "published version" in problem.fix for problem in problems) is (
        left is not None
    )
    settled = settle(draft(said), world.desk, max_articles=20)
    assert settled.summary == (said if left is None else left.format(pre=pre, pub=pub))
    if left is not None and "[published as" not in said:
        assert settled.integrity.versions_joined == 1


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("It fell ({a} and {x}).", "It fell ({a})."),
        ("It fell (see {a}, {b}, and {x}).", "It fell (see {a}, and {b})."),
        ("It fell [{x} or {a}] at once.", "It fell [{a}] at once."),
        ("It fell ({x} and {y}).", "It fell. [unsupported]"),
        ("{a} and {x} agree.", ""),
        ("Neither {x} nor {a} agree.", ""),
        ("Neither {a} nor {x} agree.", ""),
        ("Gains versus {x} were small {a}.", ""),
        ("Gains vs. {x} were small {a}.", ""),
    ],
)
def test_a_list_of_works_in_brackets_loses_what_was_never_shown_and_no_word_is_left_alone(
    said: str, left: str, world: World
) -> None:
    names = {"a": world.show(paper(90)), "b": world.show(paper(91)), "x": UNKNOWN[0], "y": UNKNOWN[1]}
    settled = settle(draft(said.format(**names)), world.desk, max_articles=20)
    assert settled.summary == left.format(**names)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Two independent studies agree {a}, {x}.", ""),
        ("Three of the trials {a} {b} {x} found none.", ""),
        ("It fell in both large cohorts ({a}; {x}).", ""),
        ("Several trials agree {a} {x}.", ""),
        ("Several trials agree {a} {b} {x}.", "Several trials agree {a} {b}."),
        ("Twelve trials agree {a} {x}.", "Twelve trials agree {a}."),
        ("It fell for two weeks {a} {x}.", "It fell for two weeks {a}."),
        (
            "Two trials agree {a} {b}, whereas a review differs {x}.",
            "Two trials agree {a} {b}, whereas a review differs.",
        ),
        ("Two trials agree {x} {y}.", "Two trials agree. [unsupported]"),
    ],
)
def test_a_sentence_that_counts_more_works_than_are_left_is_cut(said: str, left: str, world: World) -> None:
    """Promise 1: a cut reference takes the number with it that counted it."""
    names = {"a": world.show(paper(90)), "b": world.show(paper(91)), "x": UNKNOWN[0], "y": UNKNOWN[1]}
    settled = settle(draft(f"Sleep was studied {names['a']}. {said.format(**names)}"), world.desk, max_articles=20)
    assert settled.summary == f"Sleep was studied {names['a']}. {left.format(**names)}".strip()
    assert settled.integrity.unknown_references == said.count("{x}") + said.count("{y}")


def test_a_list_of_references_holds_each_study_once(
    world: World, preprint_and_paper: tuple[BioRxivPreprint, PubMedArticle]
) -> None:
    pre, pub = map(world.show, preprint_and_paper)
    theme = {"name": "Two studies", "description": f"They agree {pub}.", "references": [pre, pub]}
    gap = {"description": "Sleep.", "basis": "not_searched", "references": [pub, pre]}
    written = draft(f"It works {pub}.", relevant_articles=[pub, pre], key_themes=[theme], research_gaps=[gap])
    assert [(problem.field, problem.text) for problem in review(written, world.desk)] == [
        ("key_themes[0].references", pre),
        ("research_gaps[0].references", pre),
    ]
    settled = settle(written, world.desk, max_articles=20)
    assert (settled.themes[0].references, settled.gaps[0].references) == ((pub,), (pub,))
    assert settled.integrity.versions_joined == 2
    assert [article.reference for article in settled.articles] == [pub, pre]


def test_a_paper_and_its_update_are_one_study_and_a_notice_is_no_version(world: World) -> None:
    first = world.show(paper(81))
    update = world.show(paper(82, related=(RelatedRecord(relation="update_of", pmid="90000581"),)))
    said = f"Two reviews agree {first} {update}."
    assert "one study" in review(draft(said), world.desk)[0].fix
    marked = f"Two reviews agree {first} [updated as {update}] {update}."
    assert settle(draft(said), world.desk, max_articles=20).summary == marked
    stated = f"The updated review {update} found what its earlier version {first} had found."
    assert review(draft(stated), world.desk) == ()
    erratum = world.show(
        paper(
            83,
            publication_types=("Published Erratum",),
            notices=(Notice(kind="correction_of", reference_id="90000582"),),
        )
    )
    assert review(draft(f"It was corrected {update} {erratum}."), world.desk) == ()


def test_a_retracted_work_in_a_list_is_marked(world: World, retracted: PubMedArticle) -> None:
    reference = world.show(retracted)
    gap = {"description": "Sleep in children.", "basis": "not_searched", "references": [reference]}
    written = draft("No trial was found.", research_gaps=[gap])
    assert [problem.field for problem in review(written, world.desk)] == ["research_gaps[0].references"]
    settled = settle(written, world.desk, max_articles=20)
    assert settled.gaps[0].description == f"Sleep in children. {reference} [RETRACTED]"


def test_a_published_version_that_was_not_shown_is_not_revealed(
    world: World, preprint_and_paper: tuple[BioRxivPreprint, PubMedArticle]
) -> None:
    preprint, published = world.show(preprint_and_paper[0]), world.hold(preprint_and_paper[1])
    settled = settle(draft(f"It works {preprint}.", relevant_articles=[preprint]), world.desk, max_articles=20)
    assert published not in settled.summary
    assert [article.reference for article in settled.articles] == [preprint]
