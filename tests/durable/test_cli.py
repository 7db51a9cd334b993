"""The commands: `run --durable`, `resume`, `runs`, `batch`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from literature_agent.cli import main
from literature_agent.sandbox import SandboxServer


@pytest.fixture
def at_sandbox(sandbox: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in sandbox.settings_overrides().items():
        monkeypatch.setenv(f"LITERATURE_AGENT_{name.upper()}", value)
    monkeypatch.setenv("LITERATURE_AGENT_PACE", "off")


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


@pytest.mark.usefixtures("at_sandbox")
def test_a_durable_run_is_listed_shown_again_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("run", "--durable", "--json", "--sources", "pubmed", "--max-requests", "2", "Metformin in dementia?")
    assert main(list(asked)) in (0, 3)
    answer = document(capsys)
    assert main(["runs", "--json"]) == 0
    [line] = document(capsys)["runs"]
    assert (line["run_id"], line["state"], line["status"]) == (answer["run_id"], "done", answer["status"])
    assert main(["resume", answer["run_id"], "--json"]) in (0, 3)
    assert document(capsys) == answer
    assert main(["runs", "health"]) == 0
    assert capsys.readouterr().out == "0 workers, 0 runs on their way, 0 waiting, 0 interrupted.\n"
    assert main(["runs", "prune", "--older-than", "0"]) == 0
    assert capsys.readouterr().out == "Removed 1 ended runs older than 0 days.\n"
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == "No durable runs.\n"


@pytest.mark.usefixtures("at_sandbox")
def test_a_batch_writes_its_answers_and_says_what_it_did(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    questions, out = tmp_path / "q.csv", tmp_path / "out.jsonl"
    questions.write_text("question,sources,max_requests\nMetformin in dementia?,pubmed,2\n", encoding="utf-8")
    assert main(["batch", str(questions), "--out", str(out), "--json"]) == 0
    done = document(capsys)
    assert (done["answered"], done["failed"], done["left"], done["dead_letters"]) == (1, 0, 0, None)
    [row] = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert row["question"] == "Metformin in dementia?"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("batch", "q.jsonl"), "needs a file of questions and --out"),
        (("batch", "q.jsonl", "--out", "out.txt"), "is of no known kind"),
        (("batch", "nowhere.jsonl", "--out", "out.jsonl"), "can't be read"),
        (("runs", "sing"), "`runs sing` is no action"),
        (("runs", "cancel"), "takes the id of one run"),
        (("run", "--durable", "--record", "x", "Why?"), "contradict each other"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    command: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(command)) == 2
    assert said in capsys.readouterr().err
