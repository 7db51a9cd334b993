"""`chat`: what follows from a question, line by line, on one registry."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from literature_agent.cli import chat as chats
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry
from literature_agent.render import answer_document
from literature_agent.sandbox import SandboxServer

from .conftest import Done, Run

QUESTION = "Does metformin slow cognitive decline?"


def _say(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def _documents(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_a_talk_narrows_widens_asks_and_exports_on_one_registry(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = [str(tmp_path / name) for name in ("refs.bib", "run.json", "log.csv")]
    _say(
        monkeypatch,
        QUESTION,
        "",
        "narrow since 2022",
        "ask 1 Did metformin change memory?",
        "show [1]",
        *(f"export {file}" for file in files),
        "widen",
        "widen",
        "quit",
        "This is never heard.",
    )
    done = cli("chat", "--sources", "pubmed", "--json")
    first, narrow, said, record, *written, wide, refused = _documents(done)
    assert done.code == 2  # of the second `widen`, which had nothing to take back
    assert refused["error"]["message"] == "Nothing was narrowed yet."
    assert [document["written"] for document in written] == files
    assert (tmp_path / "refs.bib").read_text(encoding="utf-8").startswith("@")

    years = [{article["year"] for article in document["relevant_articles"]} for document in (first, narrow, wide)]
    assert min(years[1]) >= 2022 > min(years[0])
    assert years[2] == years[0]
    assert {record["filters"].get("date_from") for record in narrow["search_log"]} == {"2022"}
    # What was found first is still there, under the same references.
    held = ArtifactRegistry.from_json(narrow["registry"])
    assert all(article["reference"] in held for article in first["relevant_articles"])

    assert record["artifacts"][0]["reference"] == said["reference"]
    assert said["quotes"]
    assert said["model"] == "extractive"

    # And a saved run is gone on from.
    _say(monkeypatch, "ask 1 Did metformin change memory?", "show 99")
    again = cli("chat", "--from", files[1])
    assert again.code == 2
    assert "The answer has no article '99'. Give a number from 1 to " in again.err
    assert again.out.startswith("[1] ")
    assert f"“{said['quotes'][0]['text']}”" in " ".join(again.out.split())
    assert "Going on from 'Does metformin slow cognitive decline?'" in again.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("narrow since 2020", "There is no answer yet. Ask a question first."),
        ("ask 1 why", "There is no answer yet."),
        ("export a.md", "There is no answer yet."),
        ("show", "There is no answer yet."),
        ("/nonsense", "'/nonsense' is not understood."),
        ("narrow", "'narrow' is not understood."),
        ("ask", "'ask' is not understood."),
        ("?!", "The question is empty."),
        ("\udcff\udcfe", "is not UTF-8 text"),
        ("x" * 80_001, "longer than 80,000 bytes"),
    ],
    ids=lambda value: value[:12].encode("ascii", "replace").decode(),
)
def test_a_line_that_is_not_understood_is_one_sentence(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    _say(monkeypatch, line)
    done = cli("chat", "--quiet")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("Error: ")
    assert said in done.err
    assert not server.requests


def test_limits_are_read_before_anything_is_asked(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "run.json"
    nothing = LiteratureAggregationOutput(
        run_id="0" * 32,
        question="Does blorptine help wugs?",
        summary="No evidence was found.",
        status="no_evidence",
        model="extractive",
        started_at=datetime(2026, 11, 30, tzinfo=UTC),
        duration_s=1.0,
    ).attach(ArtifactRegistry())
    file.write_text(json.dumps(answer_document(nothing)), encoding="utf-8")
    lines = {
        "narrow since yesterday": "date_from='yesterday'",
        "narrow articles many": "'many' is no number of articles.",
        "narrow colour red": "'colour red' is no limit.",
        "widen since": "There is no limit 'since' to take back.",
        "export notes.docx": "'notes.docx' has no ending that says its form.",
        "export /no/such/folder/a.md": "does not exist",
        "ask 1 why": "The answer has no article '1'. It lists none.",
        "help": "",
    }
    _say(monkeypatch, *lines)
    done = cli("chat", "--from", str(file), "--json")
    documents = _documents(done)
    for (line, said), document in zip(lines.items(), documents, strict=True):
        error = document.get("error", {"message": "", "recovery": ""})
        assert said in f"{error['message']} {error['recovery']}", line
    assert documents[-1]["help"] == chats.HELP.splitlines()
    assert not server.requests


def test_the_help_of_the_talk_fits_80_columns() -> None:
    assert max(map(len, chats.HELP.splitlines())) <= 80
