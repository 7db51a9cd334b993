"""`render_text`: references become numbers, and each number has one entry."""

from __future__ import annotations

import copy
import pickle
import re

from literature_agent import render_text
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry, Reference
from literature_agent.render import UNKNOWN_REFERENCE, bibliography_entry

from .conftest import article

NOBODY = str(Reference.for_identity("doi:10.5555/nobody"))


def test_works_are_numbered_in_order_of_first_use(registry: ArtifactRegistry) -> None:
    first, second = registry.hold(article(1)), registry.hold(article(2))
    text = render_text(f"B {second}, A {first}, B again {second}.", registry)
    body, _, entries = text.partition("\n\nReferences\n\n")
    assert body == "B [1], A [2], B again [1]."
    assert entries == f"[1] {bibliography_entry(article(2))}\n[2] {bibliography_entry(article(1))}"
    assert text.references == (str(second), str(first))
    assert text.unknown == ()


def test_every_marker_has_one_entry_and_every_entry_a_marker(registry: ArtifactRegistry) -> None:
    """K082."""
    held = [registry.hold(article(number)) for number in range(1, 13)]
    registry.hold(article(13))
    prose = " ".join(f"Claim {reference}." for reference in (*held, *held[:3]))
    body, _, entries = render_text(prose, registry).partition("\n\nReferences\n\n")
    markers = [int(number) for number in re.findall(r"\[(\d+)\]", body)]
    assert sorted(set(markers)) == list(range(1, 13))
    assert re.findall(r"^\[(\d+)\]", entries, re.M) == [str(number) for number in range(1, 13)]


def test_an_unknown_reference_is_said_and_reported_and_others_stay(registry: ArtifactRegistry) -> None:
    """K077, K078: only the exact token goes."""
    known = registry.hold(article(1))
    wrong_check = str(known)[:-2] + ("0" if str(known)[-2] != "0" else "1") + "»"
    text = render_text(f"A ({known}), B ({NOBODY}), C ({wrong_check}).", registry)
    assert text.startswith(f"A ([1]), B ({UNKNOWN_REFERENCE}), C ({UNKNOWN_REFERENCE}).")
    assert text.unknown == (NOBODY, wrong_check)
    assert text.count("\n[") == 1


def test_references_are_read_in_every_spelling(registry: ArtifactRegistry) -> None:
    known = registry.hold(article(1))
    spelled = [f"cite~{known.key}", f"<<artifact:link:cite~{known.key.lower()}>>", f"[artifact:link:cite~{known.key}]"]
    assert render_text(" ".join(spelled), registry, bibliography=False) == "[1] [1] [1]"


def test_two_keys_of_one_work_have_one_number(registry: ArtifactRegistry) -> None:
    first = registry.hold(article(1, doi=None))
    registry.hold(article(1))
    other = registry.strongest(first)
    assert other is not None
    assert other != first
    assert render_text(f"{first} {other}", registry, bibliography=False) == "[1] [1]"


def test_prose_without_references_has_no_bibliography(registry: ArtifactRegistry) -> None:
    assert render_text("Nothing to cite.\n\n- a list\n", registry) == "Nothing to cite.\n\n- a list\n"


def test_control_characters_of_prose_are_removed_and_line_breaks_stay(registry: ArtifactRegistry) -> None:
    assert render_text("a\x1b[31mb\n  c\td\r\u202e", registry) == "a[31mb\n  c d "


def test_an_answer_is_enough_to_render_its_prose(output: LiteratureAggregationOutput) -> None:
    text = render_text(output.summary, output)
    assert text.startswith("It works [1]. Others agree [2], [1].")
    assert text.unknown == ()


def test_an_answer_read_back_still_prints_its_articles(output: LiteratureAggregationOutput) -> None:
    back = LiteratureAggregationOutput.model_validate_json(output.model_dump_json())
    assert render_text(output.summary, back) == render_text(output.summary, output)
    theme = output.key_themes[0].references[1]
    assert render_text(theme, output).startswith("[1]")
    assert render_text(theme, back) == UNKNOWN_REFERENCE  # cited but not listed: only the registry knew it


def test_rendered_text_survives_pickle_and_copy(registry: ArtifactRegistry) -> None:
    text = render_text(f"{registry.hold(article(1))} {NOBODY}", registry)
    for other in (pickle.loads(pickle.dumps(text)), copy.copy(text), copy.deepcopy(text)):
        assert (other, other.references, other.unknown) == (text, text.references, text.unknown)
