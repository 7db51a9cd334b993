"""Folding: one spelling, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.integrity.folding import TOKEN, fold

REFERENCE = "«artifact:link:cite~K7QX2MDA4T»"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("１０．５５５５／ａｂｃ", "10.5555/abc"),
        ("10&#46;5555&#x2F;abc", "10.5555/abc"),
        ("10%2E5555%2Fabc", "10.5555/abc"),
        ("10%252E5555&amp;#47;abc", "10.5555/abc"),
        ("10\\.5555\\/abc", "10.5555/abc"),
        ("10.\\u0035555/abc", "10.5555/abc"),
        ("10.**5555**/`abc`", "10.5555/abc"),
        ("10.<b>5555</b>/<!-- x -->abc", "10.5555/abc"),
        ("NC\u200bT\u00ad9\u202e0", "NCT90"),
        ("NСТ90", "NCT90"),
        ("PMC٩٠", "PMC90"),
        ("NCT9000-\n0001", "NCT90000001"),
        ("two\u00a0 \n\tblanks", "two blanks"),
        ("survival¹²", "survival^12"),
        ("survival<sup>12</sup>", "survival^12"),
        ("β-карта", "β-карта"),
        (f"see {REFERENCE}.", f"see {TOKEN}."),
    ],
)
def test_what_can_be_spelled_in_many_ways_is_read_in_one(written: str, read: str) -> None:
    assert fold(written).text == read


def test_a_range_of_the_reading_leads_back_to_what_was_written() -> None:
    text = "before １０&#46;5555 after"
    folded = fold(text)
    at = folded.text.index("10.5555")
    start, end = folded.span(at, at + 7)
    assert text[start:end] == "１０&#46;5555"


@given(st.text(alphabet=st.sampled_from(list("a1 .&#;%2F<b>/\\\u200b\u00b9é«»*_\n")), max_size=60))
def test_every_part_of_a_reading_lies_inside_the_text(text: str) -> None:
    folded = fold(text)
    spans = [folded.span(at, at + 1) for at in range(len(folded.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
