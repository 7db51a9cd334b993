"""Gaps: a search that found nothing must have asked for it, and been read as written."""

from __future__ import annotations

from typing import Any

import pytest

from literature_agent.integrity import review, settle
from literature_agent.integrity.gaps import objection
from literature_agent.results import SearchResult
from tests.integrity.conftest import World, draft, paper

ASKED = "metformin AND adolescents AND cognition"
SAID = "No trial of metformin and cognition in adolescents was found."


def empty(**members: Any) -> SearchResult:
    return SearchResult(status="empty", total=0, **members)


def test_an_answered_search_with_nothing_found_carries_a_gap(world: World) -> None:
    assert objection(world.search(ASKED, empty()), SAID, world.desk) is None


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (None, "failed"),
        (SearchResult(status="ok", total=3), "found something"),
        (SearchResult(status="partial", total=3), "found something"),
        (empty(warnings=("PubMed knows no field tag [tx] and searched without it.",)), "as written"),
        (empty(notice="PubMed found nothing. Its spelling aid suggests: metformin"), "misspelt"),
        (empty(applied_filters={"date_from": "2020"}), "date_from"),
        (empty(applied_filters={"publication_types": "Randomized Controlled Trial"}), "type"),
        (empty(applied_filters={"languages": "fre"}), "language"),
        (empty(applied_filters={"overall_status": "RECRUITING"}), "overall_status"),
        (empty(applied_filters={"phases": "PHASE3"}), "phases"),
        (empty(applied_filters={"category": "neuroscience"}), "category"),
        (empty(applied_filters={"sources": "PMC, PPR"}), "sources"),
    ],
)
def test_a_search_that_shows_nothing_carries_no_gap(result: SearchResult | None, word: str, world: World) -> None:
    """K095: a failed source is no gap in knowledge."""
    why = objection(world.search(ASKED, result), SAID, world.desk)
    assert why is not None
    assert word in why


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"date_from": "2020"}, "No trial of metformin and cognition in adolescents since 2020 was found."),
        (
            {"publication_types": "Randomized Controlled Trial"},
            "No randomised trial of metformin and cognition in adolescents was found.",
        ),
        ({"languages": "eng"}, "No English paper on metformin and cognition in adolescents was found."),
        ({"overall_status": "RECRUITING"}, "No recruiting trial of metformin and cognition in adolescents was found."),
        ({"phases": "PHASE3"}, "No phase 3 trial of metformin and cognition in adolescents was found."),
        ({"sources": "PPR"}, "No preprint on metformin and cognition in adolescents was found."),
        ({"sources": "MED, PMC, PPR"}, SAID),
    ],
)
def test_a_limit_that_the_description_states_is_no_objection(filters: dict[str, str], said: str, world: World) -> None:
    assert objection(world.search(ASKED, empty(applied_filters=filters)), said, world.desk) is None


@pytest.mark.parametrize(
    ("query", "said", "carried"),
    [
        ("metformin AND 2020:2024[dp] AND cognition", "No trial of metformin on cognition was found.", False),
        ("metformin AND 2020:2024[dp] AND cognition", "None on metformin and cognition from 2020 to 2024.", True),
        ("metformin AND Review[pt] AND cognition", "Nothing on metformin and cognition was found.", False),
        ("metformin AND Review[pt] AND cognition", "No review of metformin and cognition was found.", True),
        ("xylophone AND quasar", SAID, False),
        ("metformin AND dose", SAID, False),
        ("metformin", SAID, True),
        ("xylophone", SAID, False),
        ("trial", SAID, False),
        ('"Metformin"[mh]', SAID, True),
        ("metform* AND adolescent*", SAID, True),
        ("metformin AND cognition NOT humans", SAID, False),
        ("metformin AND cognition NOT (adults OR mice)", SAID, False),
        ("metformin AND cognition NOT adults", "Nothing on metformin and cognition outside adults was found.", True),
        ("metformin AND cognition AND adolescents NOT adolescents", SAID, False),
        ("metformin[ti] AND cognition[ti]", SAID, False),
        ("metformin[ti] AND cognition[ti]", "No paper with metformin and cognition in its title was found.", True),
        ("metformin AND cognition AND Ferrante[au]", SAID, False),
        ('metformin AND cognition AND "Synth J Sleep"[ta]', SAID, False),
        ("metformin AND cognition AND Oslo[ad]", SAID, False),
        ("metformin AND cognition AND french[la]", SAID, False),
        ("metformin AND cognition AND french[la]", "No French paper on metformin and cognition was found.", True),
        ("metformin AND cognition AND free full text[sb]", SAID, False),
        ("metformin AND cognition AND 90000501[uid]", SAID, False),
        ("TITLE:metformin AND TITLE:cognition", SAID, False),
        ('metformin AND cognition AND AUTH:"Ferrante L"', SAID, False),
        ("metformin AND cognition AND OPEN_ACCESS:y", SAID, False),
        ("metformin AND cognition AND JOURNAL:Sleep", SAID, False),
        ("metformin[tiab] AND cognition[tw]", SAID, True),
        ("(metformin AND cognition) AND (SRC:MED OR SRC:PPR)", SAID, True),
        ("TITLE_ABS:metformin AND ABSTRACT:cognition", SAID, True),
        ("notable metformin AND cognition", SAID, True),
    ],
)
def test_the_query_must_have_asked_for_what_is_said(query: str, said: str, carried: bool, world: World) -> None:
    """Two content words, the one asked, or a MeSH term in common; limits within the query count as filters do."""
    assert (objection(world.search(query, empty()), said, world.desk) is None) is carried


@pytest.mark.parametrize(
    ("query", "filters", "carried"),
    [
        ("", {"condition": "cognition", "intervention": "metformin"}, True),
        ("adolescents", {"intervention": "metformin"}, True),
        ("", {"condition": "quasar", "intervention": "xylophone"}, False),
    ],
)
def test_words_in_filters_were_asked_for_too(query: str, filters: dict[str, str], carried: bool, world: World) -> None:
    """ClinicalTrials.gov's guide tells models to put disease and drug there."""
    assert (objection(world.search(query, empty(applied_filters=filters)), SAID, world.desk) is None) is carried


@pytest.mark.parametrize("written", ["s1", 1, [1], "1", "[1]", ["S1"], "search s1"])
def test_the_id_of_a_search_may_be_written_as_a_number(written: Any, world: World) -> None:
    world.search(ASKED, empty())
    gap = {"description": SAID, "basis": "null_search", "searches": written}
    answer = draft(f"It works {world.show(paper(1))}.", research_gaps=[gap])
    assert review(answer, world.desk) == ()
    assert settle(answer, world.desk, max_articles=20).gaps[0].searches == ("s1",)


def test_an_unfounded_gap_is_repaired_else_not_searched(world: World) -> None:
    reference = world.show(paper(1))
    failed, found_nothing = world.search(ASKED, None), world.search(ASKED, empty())
    quote = "further trials in children are needed."
    written = draft(
        f"It works {reference}.",
        research_gaps=[
            {"description": SAID, "basis": "null_search", "searches": [failed, found_nothing, "s99"]},
            {"description": SAID, "basis": "null_search", "searches": [failed]},
            {"description": SAID, "basis": "null_search"},
            {"description": "Children.", "basis": "stated_in_literature", "references": [reference], "quotes": [quote]},
            {
                "description": "Dose.",
                "basis": "stated_in_literature",
                "references": [reference],
                "quotes": ["Dose is open."],
            },
            {"description": "Dose.", "basis": "stated_in_literature", "quotes": [quote]},
        ],
    )
    fields = {problem.field for problem in review(written, world.desk)}
    assert {f"research_gaps[{n}].searches" for n in (0, 1)} <= fields
    assert {"research_gaps[2].basis", "research_gaps[4].quotes", "research_gaps[5].quotes"} <= fields
    settled = settle(written, world.desk, max_articles=20)
    assert [gap.basis for gap in settled.gaps] == [
        "null_search",
        "not_searched",
        "not_searched",
        "stated_in_literature",
        "not_searched",
        "not_searched",
    ]
    assert settled.gaps[0].searches == (found_nothing,)
    assert settled.integrity.gaps_downgraded == 4
    assert settled.integrity.quotes_dropped == 2


@pytest.mark.parametrize(
    ("description", "says"),
    [
        ("No trial of metformin and cognition was found.", True),
        ("It was never tested in children.", True),
        ("Long-term data are lacking.", True),
        ("Adolescents remain unstudied.", True),
        ("Trials haven't looked at sleep.", True),
        ("Whether it works in children is not yet known.", False),
        ("The dose is not well established.", False),
        ("It is unclear which dose works.", False),
        ("Larger trials are needed.", False),
        ("There is no consensus on the dose.", False),
        ("No head-to-head comparison of the two drugs exists.", True),
        ("No long-term randomised trial in children.", True),
        ("There is a lack of large trials.", True),
        ("It has not yet been compared with exercise.", True),
        ("Nothing is published on women.", True),
        ("Whether it helps people who do not have diabetes is unknown.", False),
        ("Whether lack of sleep worsens it is unclear.", False),
        ("It remains uncertain if it does no harm.", False),
        ("No head-to-head trial was looked for in this run.", False),
        ("This run did not look at children.", False),
        ("Its mechanism was not explored by this search.", False),
        ("Whether unpublished trials exist was not checked.", False),
        ("Why none of the trials showed a benefit is open.", False),
        ("It is unclear why no trial was stopped early.", False),
        ("No trial was looked for in this run, and none was found.", True),
        ("In this run no trial was found.", True),
        ("Whether it helps children has never been tested.", True),
    ],
)
@pytest.mark.parametrize("basis", ["null_search", "stated_in_literature", "not_searched"])
def test_beside_not_searched_for_nobody_reads_that_nothing_was_found(
    basis: str, description: str, says: bool, world: World
) -> None:
    """Only a search that found nothing shows that something is not there; whose basis is lowered says so no longer."""
    reference = world.show(paper(1))
    gap = {"description": f"{description} Doses vary.", "basis": basis, "references": [reference]}
    written = draft(f"It works {reference}.", research_gaps=[gap])
    if basis == "not_searched":
        assert [problem.text for problem in review(written, world.desk)] == [description] * says
    settled = settle(written, world.desk, max_articles=20)
    mark = " [unsupported]" if says else ""
    assert [(gap.basis, gap.description) for gap in settled.gaps] == [
        ("not_searched", f"{description}{mark} Doses vary.")
    ]
    assert settled.integrity.claims_unsupported == says
    again = draft(
        f"It works {reference}.", research_gaps=[settled.gaps[0].model_dump(include={"description", "basis"})]
    )
    assert settle(again, world.desk, max_articles=20).gaps[0].description == settled.gaps[0].description


def test_a_search_or_a_work_may_say_that_something_is_not_there(world: World) -> None:
    reference, search = world.show(paper(1)), world.search(ASKED, empty())
    cited = f"No trial tested it in children {reference}."
    gaps = [
        {"description": SAID, "basis": "null_search", "searches": [search]},
        {"description": cited, "basis": "not_searched"},
    ]
    written = draft(f"It works {reference}.", research_gaps=gaps)
    assert review(written, world.desk) == ()
    settled = settle(written, world.desk, max_articles=20)
    assert [gap.description for gap in settled.gaps] == [SAID, cited]


QUOTED = "further trials in children are needed."


@pytest.mark.parametrize(
    ("description", "quotes", "held"),
    [
        ("Whether it works in children is unknown.", [QUOTED], True),
        ("Children.", [QUOTED], True),
        ("Whether gene therapy helps elephants is unknown.", [QUOTED], False),
        ("Further work is needed.", [QUOTED], False),
        (
            "The effect of metformin on ageing is open.",
            ["Synthetic paper number 1 on metformin, memory and ageing"],
            False,
        ),
        ("Sleep of women.", ["exercise improved their sleep", QUOTED], True),
    ],
)
def test_what_authors_state_must_be_the_gap(description: str, quotes: list[str], held: bool, world: World) -> None:
    reference, other = world.show(paper(1)), world.show(paper(2, abstract_text="Nothing of the kind stands here."))
    gap = {"description": description, "basis": "stated_in_literature", "references": [reference], "quotes": quotes}
    written = draft(f"It works {reference}.", research_gaps=[gap])
    assert (review(written, world.desk) == ()) is held
    settled = settle(written, world.desk, max_articles=20)
    assert settled.gaps[0].basis == ("stated_in_literature" if held else "not_searched")
    assert settled.integrity.gaps_downgraded == (not held)
    more = draft(f"It works {reference}.", research_gaps=[{**gap, "references": [other, reference]}])
    if held:
        assert [(p.field, p.text) for p in review(more, world.desk)] == [("research_gaps[0].references", other)]
        assert settle(more, world.desk, max_articles=20).gaps[0].references == (reference,)


@pytest.mark.parametrize(
    "said",
    [
        "Nothing is published on metformin and cognition in human adolescents.",
        "No study of metformin and cognition in adolescents was found, animal studies excluded.",
        "No patients with metformin were studied for cognition.",
    ],
)
def test_who_speaks_of_people_has_said_that_animals_are_left_out(said: str, world: World) -> None:
    search = world.search("metformin AND cognition NOT (animals[mh] NOT humans[mh])", empty())
    assert objection(search, said, world.desk) is None
    assert "leaves out" in (objection(search, "No study of metformin and cognition was found.", world.desk) or "")


def test_a_type_is_named_without_what_is_joined_to_it(world: World) -> None:
    search = world.search("metformin AND randomized controlled trial[pt] AND cognition", empty())
    why = objection(search, "No study of metformin and cognition was found.", world.desk)
    assert why == "the search was limited to the type 'randomized controlled trial', which the description does not say"
