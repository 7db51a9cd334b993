"""`read`: full texts on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from literature_agent.cli import main


def test_the_outline_then_the_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "PMC90000101", "--sandbox", "--quiet", "--outline"]) == 0
    outline = capsys.readouterr().out
    assert "characters)" in outline
    assert main(["read", "90000101", "--sandbox", "--quiet", "--sections", "methods"]) == 0
    text = capsys.readouterr().out
    assert "Methods" in text
    assert len(text) > len(outline)


def test_json_is_the_full_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "PMC90000101", "--sandbox", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["available"] is True
    assert document["sections"]


def test_the_outline_as_json_has_headings_and_lengths_and_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "PMC90000101", "--sandbox", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["read", "PMC90000101", "--sandbox", "--json", "--outline"]) == 0
    outline = json.loads(capsys.readouterr().out)
    assert outline.keys() == whole.keys() - {"cited_works"}
    assert outline["sections"][1] == {
        "heading": "Methods",
        "level": 1,
        "characters": 0,
        "sections": [
            {"heading": inner["heading"], "level": 2, "characters": len(inner["text"]), "sections": []}
            for inner in whole["sections"][1]["sections"]
        ],
    }
    assert [each["heading"] for each in outline["back_sections"]] == [
        each["heading"] for each in whole["back_sections"]
    ]
    assert outline["tables"] == [{"label": "Table 1", "caption": "Participants at baseline"}]
    assert outline["artifact"]["title"] == whole["artifact"]["title"]


def test_no_full_text_says_why_and_what_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "90000103", "--sandbox", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "No full text:" in out
    assert "- pmc" in out
    assert main(["read", "90000103", "--sandbox", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["error"]["reason"] == "pmc_not_in_pmc"
    assert document["error"]["recovery"]
    assert document["trail"]


def test_a_reference_of_a_saved_run_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "run.json"
    question = "Does metformin slow cognitive decline in older adults with diabetes?"
    assert main(["run", "--sandbox", question, "--json", "--output", str(saved), "--quiet"]) == 0
    capsys.readouterr()
    articles = json.loads(saved.read_text(encoding="utf-8"))["relevant_articles"]
    open_one = next(article for article in articles if article.get("pmid") == "90000101")
    assert main(["read", open_one["reference"], "--from", str(saved), "--sandbox", "--quiet"]) == 0
    assert "Methods" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["read", " "], ["read", "no such thing"], ["read", "PMC90000101", "--sections", "Zzz"]]
)
def test_bad_input_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--sandbox", "--quiet"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("Error: ")
