"""Sections by heading, and what a budget of characters leaves."""

from __future__ import annotations

import pytest

from literature_agent.artifacts import TextSection
from literature_agent.errors import InvalidInputError
from literature_agent.federation.sections import fitted, names_of, whole_characters
from literature_agent.registry.texts import stored_texts
from literature_agent.results import FullText


def section(heading: str, text: str = "", *inside: TextSection, level: int = 1) -> TextSection:
    return TextSection(heading=heading, level=level, text=text, sections=inside)


PAPER = FullText(
    available=True,
    sections=(
        section("1. Introduction", "i" * 100),
        section(
            "2 Materials & Methods",
            "m" * 50,
            section("2.1 Participants", "p" * 30, level=2),
            section("2.2 Statistics", "s" * 40, level=2),
        ),
        section("III. RESULTS", "r" * 80, section("Statistics", "t" * 20, level=2)),
        section("A. Results of others", "o" * 10),
    ),
    back_sections=(section("Data availability", "d" * 10),),
)


def headings(full: FullText) -> list[str]:
    return [part.heading for part in (*full.sections, *full.back_sections)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("introduction", ["1. Introduction"]),
        ("INTRODUCTION:", ["1. Introduction"]),
        ("2.1 participants", ["2.1 Participants"]),
        ("Participants", ["2.1 Participants"]),
        ("Materials and methods", ["2 Materials & Methods"]),
        ("methods", ["2 Materials & Methods"]),
        ("results", ["III. RESULTS"]),
        ("3) Results", ["III. RESULTS"]),
        ("statistics", ["2.2 Statistics", "Statistics"]),
        ("Results/Statistics", ["Statistics"]),
        ("data availability", ["Data availability"]),
    ],
)
def test_headings_are_met_without_regard_to_case_level_and_number(wanted: str, found: list[str]) -> None:
    """K040."""
    assert headings(fitted(PAPER, [wanted], None)) == found


def test_a_section_comes_with_what_is_inside_it_and_once() -> None:
    full = fitted(PAPER, ["Participants", "methods"], None)
    assert headings(full) == ["2 Materials & Methods"]
    assert [part.heading for part in full.sections[0].sections] == ["2.1 Participants", "2.2 Statistics"]
    assert full.characters_total == 120


def test_a_name_that_is_none_is_told_beside_those_that_are_found() -> None:
    full = fitted(PAPER, ["Results", "Demographics"], None)
    assert headings(full) == ["III. RESULTS"]
    assert full.warnings[0].startswith("There is no section 'Demographics'; there are: 1. Introduction; 2 Materials")


def test_nothing_found_lists_the_headings() -> None:
    """K040."""
    with pytest.raises(InvalidInputError) as caught:
        fitted(PAPER, ["method"], None)
    assert caught.value.recovery.endswith("III. RESULTS; Statistics; A. Results of others; Data availability.")


def test_a_text_without_headings_says_that() -> None:
    bare = FullText(available=True, sections=(section("", "x"),))
    with pytest.raises(InvalidInputError) as caught:
        fitted(bare, ["Methods"], None)
    assert "no headings" in caught.value.recovery


def test_blank_names_are_absent() -> None:
    assert names_of(["", " Methods ", "Methods"]) == ("Methods",)
    assert names_of("Methods") == ("Methods",)
    assert names_of(None) == ()


def test_early_sections_are_whole_and_later_headings_are_kept() -> None:
    """K041: the written choice."""
    full = fitted(PAPER, [], 140)
    assert headings(full) == headings(PAPER)
    assert [len(text.text) for text in full.sections] == [100, 40, 0, 0]
    assert [part.text for part in full.sections[1].sections] == ["", ""]
    assert (full.truncated, full.characters_total) == (True, 340)
    assert full.warnings == (
        "Cut to 140 of 340 characters; not given whole: 2 Materials & Methods (40 of 50), 2.1 Participants (0 of 30), "
        "2.2 Statistics (0 of 40), III. RESULTS (0 of 80), Statistics (0 of 20), A. Results of others (0 of 10), "
        "Data availability (0 of 10).",
    )


def test_nothing_follows_the_cut_even_if_it_would_fit() -> None:
    paper = FullText(available=True, sections=(section("A", "a" * 10), section("B", "b" * 10), section("C", "c")))
    assert [part.text for part in fitted(paper, [], 15).sections] == ["a" * 10, "b" * 5, ""]


@pytest.mark.parametrize("budget", [340, 341, 10_000, None])
def test_what_fits_is_not_cut(budget: int | None) -> None:
    full = fitted(PAPER, [], budget)
    assert (full.truncated, full.sections, full.warnings) == (False, PAPER.sections, ())


def test_the_budget_is_for_the_sections_asked() -> None:
    full = fitted(PAPER, ["results"], 90)
    assert (full.characters_total, full.truncated) == (100, True)


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("a" * 399 + "😀" + "b", 400, "a" * 399 + "😀"),
        ("a" * 400 + "😀", 400, "a" * 400),
        ("ab👩‍🔬c", 4, "ab"),
        ("ab👩‍🔬c", 5, "ab👩‍🔬"),
        ("a👍🏽b", 2, "a"),
        ("cafe\u0301s", 4, "caf"),
        ("x🇨🇭🇩🇪", 2, "x"),
        ("x🇨🇭🇩🇪", 3, "x🇨🇭"),
        ("x🇨🇭🇩🇪", 4, "x🇨🇭"),
        ("abc", 3, "abc"),
        ("e\u0301", 1, ""),
    ],
)
def test_a_cut_never_goes_through_a_character(text: str, most: int, expected: str) -> None:
    """K041."""
    assert whole_characters(text, most) == expected


def test_paths_that_quotes_name_are_paths_that_can_be_asked_for() -> None:
    """The registry names a stored text by the path of its headings; asking for that path gives that section."""
    from literature_agent.artifacts import PMCArticle

    record = PMCArticle(pmcid="PMC90000301", sections=PAPER.sections)
    paths = [stored.section for stored in stored_texts(record) if "/" in stored.section]
    assert paths[0] == "2 Materials & Methods/2.1 Participants"
    for path in paths:
        assert len(fitted(PAPER, [path], None).sections) == 1
