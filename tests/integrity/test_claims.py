"""Claims: all sentences but those that only speak of the search, the coverage or missing evidence."""

from __future__ import annotations

import pytest

from evals.integrity.labelled import read_labelled, score_claims
from literature_agent.integrity.claims import is_claim


def test_the_labelled_sentences_are_told_apart() -> None:
    score = score_claims()
    assert score.false_alarms == ()
    assert score.missed == ()
    assert len(read_labelled("claims.tsv")) >= 200


@pytest.mark.parametrize(
    "sentence",
    [
        "No trial of harm was found, so metformin is safe.",
        "The searches found that metformin improves memory.",
        "No evidence was found on children, but adults improved.",
        "The searches found “twelve trials of great value” here.",
        "No evidence was found. " * 30,
        "",
    ],
)
def test_an_exception_must_be_one_as_a_whole(sentence: str) -> None:
    assert is_claim(sentence)


def test_references_do_not_change_what_a_sentence_is() -> None:
    assert is_claim("Metformin helps «artifact:link:cite~K7QX2MDA4T».")
    assert not is_claim("No trial in children was found «artifact:link:cite~K7QX2MDA4T».")
