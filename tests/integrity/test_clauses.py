"""Cutting: never half a statement, never a claim without its support."""

from __future__ import annotations

import pytest

from literature_agent.integrity import Prose, Tally, settle_prose
from tests.integrity.conftest import World, paper


def settled(text: str, world: World, *, claims: bool = True) -> tuple[str, Tally]:
    tally = Tally()
    return settle_prose(Prose("summary", text, claims=claims), world.desk, tally), tally


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("Smith et al. (2020) found that it works.", ""),
        ("It works {ref} (Smith et al., 2020).", "It works {ref}."),
        ("It works (Smith et al., 2020).", ""),
        ("It works {ref} [12].", "It works {ref}."),
        ("It works [12].", ""),
        ("It works {ref}, whereas Smith et al. (2020) found no effect.", "It works {ref}."),
        ("It works {ref}; Smith et al. (2020) disagree.", "It works {ref}."),
        ("It works, whereas Smith et al. (2020) found no effect {ref}.", ""),
        ("Smith (2020) found no effect; it works {ref}.", ""),
        ("It {ref}, while tested by Smith (2020), works.", ""),
        ("In Smith (2020), which was small, it works {ref}.", ""),
        ("Smith (2020) ran a trial. They found that it works {ref}.", ""),
        ("Smith (2020) ran a trial. Sleep improved {ref}.", "Sleep improved {ref}."),
        ("It works {ref}. See https://example.org for more.", "It works {ref}."),
    ],
)
def test_a_cut_takes_the_clause_with_it(written: str, left: str, world: World) -> None:
    reference = world.show(paper(1))
    text, tally = settled(written.format(ref=reference), world)
    assert text == left.format(ref=reference)
    assert tally.leaks_cut == 1


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("{no} found that it works.", ""),
        ("As shown by {no}, it works {ref}.", ""),
        ("It works {ref} {no}.", "It works {ref}."),
        ("It works ({ref}, {no}).", "It works ({ref})."),
        ("It works ({no}).", "It works. [unsupported]"),
        ("It works {no}.", "It works. [unsupported]"),
        ("{no}", ""),
    ],
)
def test_an_unknown_reference_goes_and_leaves_a_sentence_or_nothing(written: str, left: str, world: World) -> None:
    """K077, K078: only the exact token goes, with the joints that it leaves."""
    reference = world.show(paper(1))
    unknown = world.hold(paper(2))
    text, tally = settled(written.format(ref=reference, no=unknown), world)
    assert text == left.format(ref=reference)
    assert tally.unknown_references == 1


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("It works ({no})({ref}).", "It works ({ref})."),
        ("It works [{no}][{ref}].", "It works [{ref}]."),
        ("It works {no}–{ref}.", "It works {ref}."),
        ("It works ({ref}-{no}).", "It works ({ref})."),
        ("It works {no} as well as {ref}.", "It works {ref}."),
        ("It works **{no}** {ref}.", "It works {ref}."),
        ("It works “{no}” {ref}.", "It works {ref}."),
        ("It works (as in {no}; see also {ref}).", "It works (see also {ref})."),
        ("It works ({ref}; see also {no}).", "It works ({ref})."),
        ("It works ({ref}, as in {no}).", "It works ({ref})."),
        ("It works ({ref}; cf. {no}; {ref2}).", "It works ({ref}; {ref2})."),
        ("It works (see {no} for details) {ref}.", "It works {ref}."),
        ("It works (a trial, {no}; a cohort, {ref}).", "It works (a cohort, {ref})."),
        ("It works ({no}: n = 30; {ref}: n = 40).", "It works ({ref}: n = 40)."),
        ("It works ({ref}, n = 1,200 {no}).", "It works ({ref})."),
        ("It works (ref. {no}; ref. {ref}).", "It works (ref. {ref})."),
        ("It works ([{no}], [{ref}]).", "It works ([{ref}])."),
        ("It works (as shown in {no}) in women {ref}.", "It works in women {ref}."),
        ("It works ({ref}) and ({no}).", "It works ({ref})."),
        ("It works {ref} and so does {no}.", ""),
        ("It works, as ({no}) shows, in women {ref}.", ""),
        ("It works ({no}, which tested women, and {ref}).", ""),
        ("({no}) found that it works in women.", ""),
        ("- {no}: sleep\n- {ref}: memory", "- {ref}: memory"),
    ],
)
def test_no_word_or_sign_is_left_of_an_unknown_reference(written: str, left: str, world: World) -> None:
    """What stands in brackets beside it alone is said of it, and goes with it."""
    names = {"ref": world.show(paper(1)), "ref2": world.show(paper(3))}
    text, tally = settled(written.format(**names, no=world.hold(paper(2))), world)
    assert text == left.format(**names)
    assert tally.unknown_references == 1


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("«artifact:link:cite~{a} {b}»", "{ref}"),
        ("«{a}{b}»", "{ref}"),
        ("«artifact:link:cite~{wide}»", "{ref}"),
        ("«artifact:link:cite~{a}{b}»»", "{ref}"),
        ("«artifact:link:cite~АВСЕКМНОРТ»", ""),
        ("«artifact:link:fetch~{a}{b}»", ""),
    ],
)
def test_a_reference_written_in_another_way_is_read_or_goes_whole(written: str, left: str, world: World) -> None:
    reference = world.show(paper(1))
    key = reference[20:30]
    wide = "".join(chr(ord(each) + 0xFEE0) for each in key)
    text, _ = settled(f"It works {written.format(a=key[:5], b=key[5:], wide=wide)}.", world)
    assert text == (f"It works {reference}." if left else "It works. [unsupported]")


def test_the_right_one_of_two_similar_tokens_is_removed(world: World) -> None:
    """K078."""
    first, second, third = world.show(paper(1)), world.hold(paper(2)), world.show(paper(12))
    text, _ = settled(f"One thing ({second}), another {first} and a third ({third}).", world)
    assert text == f"One thing, another {first} and a third ({third})."


def test_an_identifier_beside_its_own_reference_leaves_one_reference(world: World) -> None:
    shown = paper(1)
    reference = world.show(shown)
    text, tally = settled(f"It works {reference} (PMID: {shown.pmid}; DOI: {shown.doi}).", world)
    assert text == f"It works {reference}."
    assert tally.leaks_replaced == 2


def test_settling_twice_changes_nothing(world: World) -> None:
    reference = world.show(paper(1))
    once, _ = settled(f"It works. Sleep improved {reference} [3]. Smith et al. (2020) disagree.", world)
    again, tally = settled(once, world)
    assert again == once
    assert once.startswith("It works. [unsupported]")
    assert tally.leaks_cut == 0


def test_what_a_cut_brings_together_is_cut_too(world: World) -> None:
    reference = world.show(paper(1))
    text, _ = settled(f"NCT90000 (Smith et al., 2020)001 was stopped {reference}.", world)
    assert "NCT" not in text
