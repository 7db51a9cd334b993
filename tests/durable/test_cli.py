"""The commands: `run --durable`, `resume`, `runs`, `batch`."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from literature_agent.cli import main
from literature_agent.durable.engine import VERSION
from literature_agent.durable.worker import Crew
from literature_agent.errors import LiteratureError
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import load_settings


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
    assert main(["runs", "cancel", answer["run_id"]]) == 2
    assert "has ended: there is nothing to cancel." in capsys.readouterr().err
    assert main(["runs", "prune"]) == 0
    assert capsys.readouterr().out == "Removed 0 ended runs older than 30 days.\n"
    assert main(["runs", "prune", "--older-than", "0"]) == 0
    assert capsys.readouterr().out == "Removed 1 ended run older than 0 days.\n"
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == "No durable runs.\n"


@pytest.mark.usefixtures("at_sandbox")
@pytest.mark.parametrize(
    ("most_requests", "status", "code", "closing"),
    [(20, "complete", 0, "1 of 1 answered. "), (2, "partial", 3, "1 of 1 answered (1 only in part). ")],
)
def test_a_batch_writes_its_answers_and_says_what_it_did(
    most_requests: int, status: str, code: int, closing: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An answer cut short is a row and no whole answer: a script sees it by the exit code."""
    questions, out = tmp_path / "q.csv", tmp_path / "out.jsonl"
    text = f"question,sources,max_requests\nMetformin in dementia?,pubmed,{most_requests}\n"
    questions.write_text(text, encoding="utf-8")
    assert main(["batch", str(questions), "--out", str(out), "--json"]) == code
    written = capsys.readouterr()
    done = json.loads(written.out)
    assert closing in written.err
    assert (done["answered"], done["failed"], done["left"], done["dead_letters"]) == (1, 0, 0, None)
    assert done["partial"] == int(status == "partial")
    [row] = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert (row["question"], row["status"]) == ("Metformin in dementia?", status)


@pytest.mark.usefixtures("at_sandbox")
def test_questions_to_the_sandbox_are_left_alone_by_workers_of_the_real_services(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a question about real papers would be answered from invented ones, or the other way round."""
    questions, out, corpus = tmp_path / "q.csv", tmp_path / "out.jsonl", tmp_path / "some papers"
    questions.write_text("question,sources,max_requests\nMetformin in dementia?,pubmed,2\n", encoding="utf-8")
    corpus.mkdir()
    (corpus / "corpus.jsonl").write_text(
        '{"_id": "1", "title": "Metformin", "text": "Metformin in dementia."}\n', encoding="utf-8"
    )
    batch = ["batch", str(questions), "--out", str(out), "--queue", "mine"]
    for papers in (["--sandbox"], ["--corpus", str(corpus)], []):
        out.unlink(missing_ok=True)
        assert main([*batch, *papers]) == 3
    with sqlite3.connect(load_settings().cache_dir / "durable" / "runs.sqlite") as kept:
        asked = kept.execute(
            "SELECT application_version FROM workflow_status WHERE queue_name = 'mine' ORDER BY created_at"
        ).fetchall()
    kept.close()
    # Of another version, whose runs a worker leaves alone.
    assert asked == [(f"{VERSION} --sandbox",), (f"{VERSION} --corpus '{corpus}'",), (VERSION,)]
    capsys.readouterr()
    assert main([*batch, "--sandbox"]) == 2
    assert "hold answers from other papers" in capsys.readouterr().err


@pytest.mark.usefixtures("at_sandbox")
@pytest.mark.parametrize(
    ("begun", "other", "said"),
    [
        (["--sandbox"], [], "was begun with --sandbox and can't go on with other papers. Resume it with --sandbox."),
        ([], ["--sandbox"], "was begun without --sandbox and --corpus and can't go on with other papers."),
    ],
)
def test_a_run_goes_on_with_the_papers_it_was_begun_with(
    begun: list[str], other: list[str], said: str, capsys: pytest.CaptureFixture[str], sandbox: SandboxServer
) -> None:
    asked = ("run", "--durable", "--json", "--sources", "pubmed", "--max-requests", "2", "Metformin in dementia?")
    assert main([*asked, *begun]) == 3
    run_id = document(capsys)["run_id"]
    with sqlite3.connect(load_settings().cache_dir / "durable" / "runs.sqlite") as kept:
        # As it stands when its process was killed before the end.
        kept.execute("UPDATE workflow_status SET status = 'PENDING', output = NULL, executor_id = 'gone'")
    kept.close()
    sandbox.requests.clear()
    assert main(["resume", run_id, *other]) == 2
    assert said in capsys.readouterr().err
    assert not sandbox.requests
    assert main(["resume", run_id, *begun, "--json"]) == 3
    assert document(capsys)["run_id"] == run_id


@pytest.mark.usefixtures("at_sandbox")
def test_a_batch_without_any_answer_is_a_failure_with_its_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sandbox: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    questions = tmp_path / "q.csv"
    questions.write_text("question,sources\nMetformin in dementia?,pubmed\n", encoding="utf-8")
    sandbox.faults.set("all", "server_error")
    try:
        assert main(["batch", str(questions), "--out", str(tmp_path / "o.csv"), "--retries", "0", "--json"]) == 1
    finally:
        sandbox.faults.clear()
    done = document(capsys)
    assert done["error"]["reason"] == "request_unreachable"
    assert (done["answered"], done["failed"]) == (0, 1)


def test_several_workers_stop_on_sigterm_and_the_same_command_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Workers are processes of their own, which see the environment alone.
    monkeypatch.setenv("LITERATURE_AGENT_CACHE", "off")
    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    row = {"sources": ["pubmed"], "max_requests": 2}
    rows = [json.dumps({"id": str(n), "question": f"Metformin in dementia, {n}?", **row}) for n in range(12)]
    questions.write_text("\n".join(rows), encoding="utf-8")
    ended = threading.Event()

    def terminate() -> None:
        while not ended.wait(0.02):
            if out.exists() and out.stat().st_size:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    # A signal that comes too late must not end the tests.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    watch = threading.Thread(target=terminate)
    watch.start()
    try:
        code = main(["batch", str(questions), "--out", str(out), "--sandbox", "--workers", "2", "--concurrency", "1"])
    finally:
        ended.set()
        watch.join()
        signal.signal(signal.SIGTERM, before)
    said = capsys.readouterr().err
    answered = len(out.read_text(encoding="utf-8").splitlines())
    assert (code, 0 < answered < 12) == (3, True), said
    assert "Stopping after the steps on their way." in said
    assert f"Stopped with {12 - answered} left; the same command goes on with them." in said
    assert not [child for child in psutil.Process().children() if "--queue" in child.cmdline()]
    assert main(["batch", str(questions), "--out", str(out), "--sandbox"]) == 3
    assert "12 of 12 answered (12 only in part)" in capsys.readouterr().err
    ids = [json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert sorted(ids, key=int) == [str(n) for n in range(12)]


def test_a_worker_that_dies_is_replaced_but_not_for_ever() -> None:
    said: list[str] = []
    crew = Crew([sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], dict(os.environ), 2, said.append)
    first, second = crew.workers
    first.kill()
    first.wait()
    crew.watch()
    assert said == [f"Worker {first.pid} was killed by signal 9; another takes its place."]
    for _ in range(15):
        crew.workers[0].kill()
        crew.workers[0].wait()
        crew.watch()
    crew.stop()
    assert second.returncode == 0

    def die_and_look(times: int) -> None:
        for _ in range(times):
            crew.watch()
            crew.stop()

    die_and_look(4)
    with pytest.raises(LiteratureError, match="end again and again; the last one ended with exit code 0"):
        die_and_look(2)
    crew.stop()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("batch", "q.jsonl"), "needs a file of questions and --out"),
        (("batch", "q.jsonl", "--out", "out.txt"), "is of no known kind"),
        (("batch", "nowhere.jsonl", "--out", "out.jsonl"), "can't be read"),
        (("runs", "sing"), "`runs sing` is no action"),
        (("runs", "cancel"), "takes the id of one run"),
        (("runs", "prune", "--older-than", "1e300"), "'--older-than': write 36500 or less"),
        (("run", "--durable", "--record", "x", "Why?"), "contradict each other"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    command: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(command)) == 2
    assert said in capsys.readouterr().err
