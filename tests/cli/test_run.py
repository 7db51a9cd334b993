"""`run`: a question in, an answer out, in every form and ending."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from literature_agent.cli.files import name_for
from literature_agent.cli.options import read_types
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry
from literature_agent.sandbox import SandboxServer

from .conftest import Run

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"


def test_the_packaged_sandbox_answers_the_question_of_the_readme(cli: Run) -> None:
    done = cli("run", "--sandbox", QUESTION)
    assert done.code == 0
    assert done.out.startswith(f"{QUESTION}\n=")
    assert "Status: complete." in done.out
    assert "[1] " in done.out
    assert "are SYNTHETIC" in done.out
    assert "No language model was used" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    # Notes and one line for each event on stderr, none of the answer there.
    assert "invented papers" in done.err
    assert "it is not a language model" in done.err
    assert "PubMed" in done.err
    assert "Summary" not in done.err


def test_json_is_one_document_that_rebuilds_answer_and_registry(cli: Run, server: SandboxServer) -> None:
    done = cli("run", QUESTION, "--json")
    assert done.code == 0
    document = done.document
    registry = ArtifactRegistry.from_json(json.dumps(document.pop("registry")))
    answer = LiteratureAggregationOutput.model_validate(document)
    assert answer.status == "complete"
    for article in answer.relevant_articles:
        held = registry.find(article.reference or "")
        assert held is not None
        assert held.title == article.title
    assert cli("run", QUESTION, "--format", "json").document["summary"] == answer.summary


def test_quiet_leaves_stderr_empty(cli: Run, server: SandboxServer) -> None:
    done = cli("run", QUESTION, "--quiet")
    assert (done.code, done.err) == (0, "")


def test_the_options_reach_the_request(cli: Run, server: SandboxServer) -> None:
    done = cli(
        *("run", QUESTION, "--json", "--sources", "pubmed", "--since", "2022", "--until", "2024-12"),
        *("--max-articles", "2", "--languages", "eng", "--publication-types", "Randomized Controlled Trial"),
    )
    answer = done.document
    assert done.code == 0
    assert {record["source"] for record in answer["search_log"]} == {"pubmed"}
    assert len(answer["relevant_articles"]) == 2
    for article in answer["relevant_articles"]:
        assert 2022 <= article["year"] <= 2024
        assert "Randomized Controlled Trial" in article["publication_types"]
        assert article["languages"] == ["eng"]


def test_given_searches_run_first_and_unchanged(cli: Run, server: SandboxServer, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"source": "pubmed", "query": "metformin[ti] AND dementia[ti]"}\n\n', encoding="utf-8")
    log = cli("run", QUESTION, "--json", "--searches", str(file)).document["search_log"]
    assert (log[0]["origin"], log[0]["query"]) == ("given", "metformin[ti] AND dementia[ti]")
    assert all(record["origin"] == "planned" for record in log[1:])


def test_nothing_found_is_done(cli: Run, server: SandboxServer) -> None:
    """K079; exit code 0, since the question was answered: no evidence."""
    done = cli("run", "zzqx blorptine wuggification", "--json")
    assert done.code == 0
    assert done.document["status"] == "no_evidence"
    assert done.document["relevant_articles"] == []


def test_one_failing_source_makes_the_answer_partial(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    server.faults.set("europepmc", "server_error")
    done = cli("run", QUESTION)
    assert done.code == 3
    assert "Status: PARTIAL." in done.out
    assert "europepmc failed" in done.out


def test_no_answering_source_is_a_failure_with_an_error_in_json(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K120: the document of a failed run carries `error`."""
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    server.faults.set("all", "server_error")
    done = cli("run", QUESTION, "--json")
    assert done.code == 1
    error = done.document["error"]
    assert set(error) == {"reason", "message", "retryable", "recovery"}
    assert error["reason"] == "request_unreachable"
    assert error["retryable"] is True
    assert done.document["status"] == "failed"
    text = cli("run", QUESTION)
    assert text.code == 1
    assert "Status: FAILED." in text.out


def test_a_used_up_budget_is_a_partial_answer(cli: Run, server: SandboxServer) -> None:
    done = cli("run", QUESTION, "--max-requests", "1", "--json")
    assert done.code == 3
    assert done.document["status"] == "partial"


def test_the_answer_is_written_to_a_file_in_the_form_of_its_suffix(
    cli: Run, server: SandboxServer, tmp_path: Path
) -> None:
    for suffix, start in ((".md", f"# {QUESTION}\n"), (".json", "{\n")):
        file = tmp_path / f"answer{suffix}"
        done = cli("run", QUESTION, "--output", str(file))
        assert (done.code, done.out) == (0, "")
        assert file.read_text(encoding="utf-8").startswith(start)
        assert f"Written to {file}." in done.err
    assert "run_id" in json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))


def test_json_on_stdout_and_markdown_in_a_file_go_together(cli: Run, server: SandboxServer, tmp_path: Path) -> None:
    file = tmp_path / "answer.md"
    done = cli("run", QUESTION, "--json", "--output", str(file))
    assert done.document["status"] == "complete"
    assert file.read_text(encoding="utf-8").startswith("# ")


def test_in_a_folder_the_file_is_named_after_the_question(cli: Run, server: SandboxServer, tmp_path: Path) -> None:
    """K122."""
    cli("run", QUESTION, "--output", str(tmp_path), "--format", "markdown")
    (file,) = tmp_path.glob("*.md")
    assert file.name == "does-metformin-slow-cognitive-decline-in-older-adults-with-d.md"


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("x" * 100 + "/../../etc?" * 20, "x" * 60 + ".md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("Wirkt Metformin? Überprüfung", "wirkt-metformin-uberprufung.md"),
        ("?", "answer.md"),
        ("糖尿病", "answer.md"),
        ('a\x00b\n:c|"d', "a-b-c-d.md"),
    ],
)
def test_a_file_name_made_of_a_question_is_short_and_safe(question: str, name: str) -> None:
    """K122."""
    assert name_for(question, ".md") == name


def test_an_answer_that_cannot_be_written_is_not_lost(
    cli: Run, server: SandboxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", refuse)
    done = cli("run", QUESTION, "--output", str(tmp_path / "answer.txt"))
    assert "No space left on device" in done.err
    assert done.out.startswith(QUESTION)


def test_a_corpus_folder_is_asked_instead_of_the_services(cli: Run, tmp_path: Path) -> None:
    records = [
        {"_id": "7", "title": "Effect of blorptine on wugs", "text": "We gave blorptine to wugs. It helped wugs."},
        {"_id": "8", "title": "Something else", "text": "Nothing to see."},
    ]
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "corpus.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    done = cli("run", "Does blorptine help wugs?", "--corpus", str(tmp_path), "--json", "--sources", "pubmed")
    assert done.code == 0
    assert [article["title"].rstrip(".") for article in done.document["relevant_articles"]] == [records[0]["title"]]


def test_publication_types_keep_the_commas_of_their_names() -> None:
    assert read_types(["Review,Clinical Trial, Phase III", "Meta-Analysis"]) == (
        "Review",
        "Clinical Trial, Phase III",
        "Meta-Analysis",
    )
    assert read_types([" , "]) is None
    assert read_types(None) is None


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_ends_in_a_partial_answer_without_a_traceback(server: SandboxServer, tmp_path: Path) -> None:
    server.faults.set("europepmc", "slow", seconds=60)
    running = subprocess.Popen(
        [sys.executable, "-m", "literature_agent", "run", QUESTION],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    try:
        until = time.monotonic() + 60
        while not any("esearch" in asked.path for asked in list(server.requests)) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 3, err
    assert "Status: PARTIAL." in out
    assert "Traceback" not in err
    assert "Stopping" in err
