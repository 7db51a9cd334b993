"""Where sentences end."""

from __future__ import annotations

import pytest

from literature_agent.integrity.sentences import sentence_spans

REFERENCE = "«artifact:link:cite~K7QX2MDA4T»"


@pytest.mark.parametrize(
    "sentences",
    [
        ["One.", "Two!", "Three?"],
        ["Smith et al. found it.", "E. coli grew, e.g. in blood."],
        [f"It helped. {REFERENCE}", "It hurt."],
        ["It helped. [unsupported]", "It hurt."],
        [f"A trial says: “It helped. It did.” {REFERENCE}.", "Next."],
        ["The dose was 2.5 mg vs. 5 mg.", "Next."],
        ['The question "Does it help?" remains open.', "“Is it safe?” was asked too.", '"It helps."', "Next."],
        ["An unclosed “quotation. It goes on", "x."][:1],
    ],
)
def test_sentences_are_told_apart(sentences: list[str]) -> None:
    text = " ".join(sentences)
    found = [text[start:end] for start, end in sentence_spans(text)]
    assert found == sentences or "unclosed" in text


def test_a_quotation_that_never_closes_hides_no_sentence() -> None:
    text = "He said “this. " + "One more. " * 300
    assert len(sentence_spans(text)) > 200


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("1. One helps.\n2. Two hurts.", ["1. One helps.", "2. Two hurts."]),
        ("- One helps\n- **Two**: hurts\n* Three", ["- One helps", "- **Two**: hurts", "* Three"]),
        ("What was found:\n- One helps\n- Two hurts", ["What was found:\n- One helps", "- Two hurts"]),
        (
            "## Findings\n\nOne helps.\n\n**Limits**\n\nTwo hurts.",
            ["## Findings\n\nOne helps.", "**Limits**\n\nTwo hurts."],
        ),
        ("| A | B |\n|---|---|\n| one | 1 |\n| two | 2 |", ["| A | B |\n|---|---|\n| one | 1 |", "| two | 2 |"]),
        ("**It helps.** It hurts.", ["**It helps.**", "It hurts."]),
        ("It was 2.\nIt was 3.", ["It was 2.", "It was 3."]),
    ],
)
def test_items_and_rows_are_sentences_and_headings_are_not(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@pytest.mark.parametrize("marks", ["“{}”", "„{}“", "‘{}’", "« {} »", "‹{}›", "「{}」", '"{}"', "'{}'"])
def test_a_full_stop_within_quotation_marks_ends_no_sentence(marks: str) -> None:
    quoted = marks.format("The adult’s drug didn't help. It may have come too late")
    text = f"They write {quoted}. Two «artifact:link:cite~K7QX2MDA4T» agree. The '90s were better."
    assert next(text[a:b] for a, b in sentence_spans(text)) == f"They write {quoted}."
    assert len(sentence_spans(text)) == 3
