"""The table of citation formats, and what holds in each of them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from typing import Any

import pytest
import rispy

from literature_agent.errors import InvalidInputError
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry
from literature_agent.render import render_answer_text
from literature_agent.render.formats import FORMATS, find_format, numbered_works, render_bibliography

from .conftest import article, held


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("values", "mark"),
    [
        ({"correction_status": "retracted"}, "[RETRACTED]"),
        ({"correction_status": "concern"}, "[CONCERN]"),
        ({"correction_status": "corrected"}, "[CORRECTED]"),
        ({"is_preprint": True}, "[PREPRINT - Not peer-reviewed]"),
        ({"is_notice": True}, "[NOTICE]"),
        ({}, "[SYNTHETIC - Made up for testing]"),
    ],
)
def test_marks_stand_with_the_work_in_every_format(name: str, values: dict[str, Any], mark: str) -> None:
    written = render_bibliography([article(1, **values)], name).replace("\\", "")
    assert mark in written
    if mark == "[RETRACTED]":
        assert mark not in render_bibliography([article(1)], name).replace("\\", "")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes_one_entry_for_each_work_in_order(name: str) -> None:
    records = [article(number, title=f"Finding {word}") for number, word in enumerate(("omega", "alpha", "mu"), 1)]
    written = render_bibliography(records, name)
    assert re.findall(r"Finding (omega|alpha|mu)\b", written) == ["omega", "alpha", "mu"]
    assert written.endswith("\n")


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_bibliography_holds_no_entry(name: str) -> None:
    assert len(render_bibliography([], name).splitlines()) == (1 if name in ("csl-json", "csv") else 0)


@pytest.mark.parametrize("name", ["pdf", "", "no-such-style", "BibTeX"])
def test_an_unknown_format_is_refused_with_the_names(name: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        find_format(name)
    meant = " Did you mean 'bibtex'?" if name == "BibTeX" else ""
    assert refused.value.message == f"There is no citation format {name!r}.{meant}"
    for known in FORMATS:
        assert known in refused.value.recovery


def test_every_csl_style_is_a_format() -> None:
    assert "2021; 48: 201–12" in render_bibliography([article(1)], "the-lancet")


def test_without_the_extra_a_misspelt_format_is_still_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "citeproc", None)
    with pytest.raises(InvalidInputError, match="There is no citation format 'bibtx'"):
        find_format("bibtx")


def _numbers(output: LiteratureAggregationOutput) -> dict[int, str]:
    """Number and title of each entry in the answer's own list of articles."""
    text = render_answer_text(output, width=1000)
    entries = re.findall(r"^\[(\d+)\] .*?(Synthetic finding number \d+)\.", text, re.M)
    return {int(number): title for number, title in entries}


def test_an_answers_works_keep_their_numbers_in_every_format(output: LiteratureAggregationOutput) -> None:
    """K082: numbers by first use, the same in the answer and in its bibliography."""
    works = numbered_works(output)
    titles = [work.title.removesuffix(".") for work in works]
    assert _numbers(output) == dict(enumerate(titles, start=1))
    assert titles[0] == "Synthetic finding number 2"
    for name in ("text", "vancouver", "ama", "apa", "nature"):
        listed = re.findall(r"^\[(\d+)\] .*?(Synthetic finding number \d+)", render_bibliography(works, name), re.M)
        assert [(int(number), title) for number, title in listed] == list(enumerate(titles, start=1))
    assert [entry["title"] for entry in rispy.loads(render_bibliography(works, "ris"))] == titles
    assert [item["title"] for item in json.loads(render_bibliography(works, "csl-json"))] == titles
    rows = csv.DictReader(io.StringIO(render_bibliography(works, "csv"), newline=""))
    assert [(row["number"], row["title"]) for row in rows] == [(str(n), t) for n, t in enumerate(titles, start=1)]


def test_every_marker_has_exactly_one_entry_and_the_reverse(
    output: LiteratureAggregationOutput, registry: ArtifactRegistry
) -> None:
    """K082."""
    unlisted = held(registry, article(9))
    answer = output.model_copy(update={"summary": output.summary + f" And more {unlisted.reference}."})
    answer.attach(registry)
    works = numbered_works(answer)
    text = render_answer_text(answer, width=1000)
    markers = {int(number) for number in re.findall(r"\[(\d+)\]", re.sub(r"^\[\d+\] ", "", text, flags=re.M))}
    assert markers <= set(range(1, len(works) + 1))
    assert len({work.reference for work in works}) == len(works) == 5
    assert [work.title for work in works].count(unlisted.title) == 1


def test_an_answer_without_its_registry_still_lists_its_articles(output: LiteratureAggregationOutput) -> None:
    read_back = LiteratureAggregationOutput.model_validate(output.model_dump(mode="json"))
    assert {work.reference for work in numbered_works(read_back)} == {a.reference for a in output.relevant_articles}


def test_the_formats_load_no_citation_processor() -> None:
    code = "import sys, literature_agent.render.formats; print([m for m in sys.modules if m.startswith('citeproc')])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8", timeout=300)
    assert done.stdout.strip() == "[]"
