"""Pasted citations taken apart, in the styles of the field."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.federation import read_citation
from literature_agent.federation.citation_text import LONGEST_CITATION

TITLE = "Effect of X on Y: a synthetic trial"


def said(text: str) -> dict[str, Any]:
    return read_citation(text).model_dump(exclude={"key", "text"}, exclude_none=True)


WHOLE = {
    "first_author": "Doe",
    "title": TITLE,
    "journal": "J Synth Med",
    "year": 2016,
    "volume": "375",
    "first_page": "1834",
}


@pytest.mark.parametrize(
    "text",
    [
        f"Doe JA, Roe R, et al. {TITLE}. J Synth Med. 2016 Nov 10;375(19):1834-44.",
        f"1. Doe JA. {TITLE}. J Synth Med 2016;375:1834-1844",
        f"[12] Doe J, Roe R. {TITLE}. J Synth Med. 2016 Nov-Dec; 375 (19 Pt 2): 1834-44. Epub 2016 Oct 2.",
        f"Doe, J. A., & Roe, R. (2016). {TITLE}. J Synth Med, 375(19), 1834–1844.",
        f"Doe J, Roe R (2016a) {TITLE}. J Synth Med 375(19): 1834-44",
        f"Doe, J. & Roe, R. {TITLE}. J Synth Med 375, 1834–1844 (2016).",
        f'Doe, Jane, et al. "{TITLE}." J Synth Med, vol. 375, no. 19, 2016, pp. 1834-44.',
    ],
)
def test_the_styles_of_the_field_say_the_same(text: str) -> None:
    assert said(text) == WHOLE


def test_identifiers_are_read_and_do_not_stand_in_the_way() -> None:
    text = f"Doe JA. {TITLE}. J Synth Med. 2016;375(19):1834-44. doi: 10.5555/a.B. PMID: 90000001; PMCID: PMC90000001."
    assert said(text) == {**WHOLE, "doi": "10.5555/a.b", "pmid": "90000001", "pmcid": "PMC90000001"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Author 2021 time travel psychology", {"first_author": "Author", "title": "time travel psychology"}),
        ("A title of some words and nothing else", {"title": "A title of some words and nothing else"}),
        ("PMID 90000001", {"pmid": "90000001"}),
        ("https://doi.org/10.5555/a", {"doi": "10.5555/a"}),
        ("Doe J. Lancet 2020;395:e12", {"first_author": "Doe", "journal": "Lancet", "first_page": "e12"}),
        ("van den Broek HJ, Doe J. A short title. Synth J 2020;1:2", {"first_author": "van den Broek"}),
        ("Lindqvist ÅM. A short title. Synth J 2020;1:2", {"first_author": "Lindqvist"}),
        ("SYNTH Study Group. A short title. Synth J 2020;1:2", {"first_author": "SYNTH Study Group"}),
        (
            "Doe AB et al. A short title. Proc. Natl. Acad. Sci. U.S.A. 88, 3248-3250 (1991)",
            {"title": "A short title", "journal": "Proc. Natl. Acad. Sci. U.S.A", "year": 1991},
        ),
        ("Doe J. Does X help? A trial. Synth J 2020;1:2", {"title": "Does X help? A trial", "journal": "Synth J"}),
        ("", {}),
        ("...", {}),
    ],
)  # fmt: skip
def test_what_is_there_is_read_and_nothing_is_guessed(text: str, expected: dict[str, Any]) -> None:
    read = said(text)
    assert {name: read.get(name) for name in expected} == expected
    if not expected:
        assert read == {}


def test_key_and_text_are_kept() -> None:
    citation = read_citation("Doe 2020 some words here", "a")
    assert (citation.key, citation.text) == ("a", "Doe 2020 some words here")


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    read_citation(text)


@pytest.mark.parametrize("text", ["A. " * 5000, "a-" * 20_000, "Doe J, " * 5000, "(2020) " * 3000, "1:2 " * 5000])
def test_a_huge_text_takes_no_time(text: str) -> None:
    began = time.process_time()
    assert len(read_citation(text).text) <= LONGEST_CITATION
    assert time.process_time() - began < 1
