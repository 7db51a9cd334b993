"""`run`: a question in, an answer out, in every form and ending."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import webbrowser
from pathlib import Path

import pytest

from literature_agent.cli.files import name_for, read_searches
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
    # The notes on stderr, no progress where no terminal is, and none of the answer.
    assert "invented papers" in done.err
    assert "it is not a language model" in done.err
    assert done.err.count("\n") == 2
    assert "\x1b" not in done.out + done.err
    # With --verbose a line for each event.
    assert "PubMed: 10 of 10, 10 new" in cli("run", "--sandbox", QUESTION, "--verbose").err


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
        *("run", QUESTION, "--json", "--sources", "pubmed", "--since", "2018", "--until", "2024-12"),
        *("--max-articles", "2", "--languages", "eng", "--publication-types", "Randomized Controlled Trial"),
    )
    answer = done.document
    assert done.code == 0
    assert {record["source"] for record in answer["search_log"]} == {"pubmed"}
    assert len(answer["relevant_articles"]) == 2
    for article in answer["relevant_articles"]:
        assert 2018 <= article["year"] <= 2024
        assert "Randomized Controlled Trial" in article["publication_types"]
        assert article["languages"] == ["eng"]


def test_given_searches_run_first_and_unchanged(cli: Run, server: SandboxServer, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"source": "pubmed", "query": "metformin[ti] AND dementia[ti]"}\n\n', encoding="utf-8")
    log = cli("run", QUESTION, "--json", "--searches", str(file)).document["search_log"]
    assert (log[0]["origin"], log[0]["query"]) == ("given", "metformin[ti] AND dementia[ti]")
    assert all(record["origin"] == "planned" for record in log[1:])


def test_a_line_separator_inside_a_given_query_ends_no_line(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"source": "pubmed", "query": "one\u2028two"}\n', encoding="utf-8")
    assert len(read_searches(file)) == 1


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


def test_a_drift_that_nobody_answers_is_not_known_and_never_nothing(
    cli: Run, server: SandboxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 4: "nothing found" and "source failed" differ."""
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    kept = str(tmp_path / "kept")
    assert cli("run", QUESTION, "--record", kept, "--quiet").code == 0
    same = cli("run", "--drift", kept, "--json")
    assert (same.code, same.document["works_now"]) == (0, same.document["works_then"])
    server.faults.set("europepmc", "server_error")
    some = cli("run", "--drift", kept)
    assert (some.code, " now: " in some.out) == (3, True)
    server.faults.set("all", "server_error")
    none = cli("run", "--drift", kept, "--json").document
    assert (none["works_now"], none["error"]["reason"]) == (None, "request_unreachable")
    assert {search["reason_now"] for search in none["searches"]} >= {"pubmed_unreachable", "europepmc_unreachable"}
    assert not [search for search in none["searches"] if search["status_then"] is None or search["status_now"] is None]
    text = cli("run", "--drift", kept)
    assert text.code == 1
    assert "what is found now is not known" in " ".join(text.out.split())
    assert "Error: No search was answered, so nothing is known of what has changed." in text.err


def test_what_a_recording_is_not_of_is_refused_and_never_passed_over(
    cli: Run, server: SandboxServer, tmp_path: Path
) -> None:
    kept = str(tmp_path / "kept")
    sources = ("--sources", "pubmed,europepmc")
    assert cli("run", QUESTION, *sources, "--max-requests", "9", "--record", kept, "--quiet").code == 0
    for given in (("--sources", "Europepmc,pubmed"), ("--max-requests", "9"), ()):
        assert cli("run", "--replay", kept, *given, "--quiet").code == 0
    for given, said in (
        (("--sources", "pubmed"), "with sources="),
        (("--max-requests", "1"), "with max_requests='9', and this one is with max_requests='1'."),
        (("--deadline", "9"), "with deadline_s='9.0'"),
    ):
        done = cli("run", "--replay", kept, *given)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
    again = (
        ("--sources", "pubmed"), ("--since", "2020"), ("--model", "extractive"), ("--max-articles", "3"),
        ("--max-requests", "9"), ("--deadline", "9"), ("--max-cost", "1"), ("--languages", "eng"),
    )  # fmt: skip
    for option, value in again:
        done = cli("run", "--drift", kept, option, value)
        assert (done.code, done.out) == (2, "")
        assert f"so {'--date-from' if option == '--since' else option} has nothing to do." in done.err
    assert cli("run", QUESTION, "--drift", kept, "--quiet").code == 0
    other = cli("run", "Another question?", "--drift", kept)
    assert other.code == 2
    assert f"The recording is of the question {QUESTION!r}." in other.err


def test_a_used_up_budget_is_a_partial_answer(cli: Run, server: SandboxServer) -> None:
    done = cli("run", QUESTION, "--max-requests", "1", "--json")
    assert done.code == 3
    assert done.document["status"] == "partial"


def test_the_answer_is_written_to_a_file_in_the_form_of_its_suffix(
    cli: Run, server: SandboxServer, tmp_path: Path
) -> None:
    for suffix, start in ((".md", f"# {QUESTION}\n"), (".json", "{\n"), (".html", "<!doctype html>\n")):
        file = tmp_path / f"answer{suffix}"
        done = cli("run", QUESTION, "--output", str(file))
        assert (done.code, done.out) == (0, "")
        assert file.read_text(encoding="utf-8").startswith(start)
        assert f"Written to {file}." in done.err
    assert "run_id" in json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that would have been opened."""
    opened: list[str] = []

    def open_(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    monkeypatch.setattr(webbrowser, "open", open_)
    return opened


def test_open_shows_the_report_of_a_file(cli: Run, server: SandboxServer, tmp_path: Path, browser: list[str]) -> None:
    file = tmp_path / "answer.html"
    assert cli("run", QUESTION, "--open", "--output", str(file)).code == 0
    assert browser == [file.as_uri()]
    assert QUESTION in file.read_text(encoding="utf-8")
    again = cli("run", QUESTION, "--open", "--output", str(file))
    assert f"No browser could be started; open {file} yourself." in again.err


def test_open_without_a_file_makes_one_that_only_its_owner_can_see(
    cli: Run, server: SandboxServer, tmp_path: Path, browser: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """K122: its name is made of the question."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = cli("run", "Does metformin / slow? decline", "--open", "--json")
    assert done.document["status"] == "complete"
    (file,) = tmp_path.rglob("*.html")
    assert file.name == "does-metformin-slow-decline.html"
    assert browser == [file.as_uri()]
    if os.name == "posix":
        assert file.parent.stat().st_mode & 0o077 == 0


def test_the_search_log_is_written_beside_the_answer(cli: Run, server: SandboxServer, tmp_path: Path) -> None:
    files = [tmp_path / f"log{suffix}" for suffix in (".md", ".csv", ".json", ".svg")]
    done = cli("run", QUESTION, "--json", *(part for file in files for part in ("--search-log", str(file))))
    markdown, table, document, drawing = (file.read_bytes().decode("utf-8") for file in files)
    assert markdown.startswith(f"# Search log: {QUESTION}\n")
    assert table.count("\r\n") == len(done.document["search_log"]) + 1
    assert json.loads(document)["flow"] == done.document["flow"]
    assert drawing.startswith("<svg ")
    assert done.err.count("Written to") == 4


@pytest.mark.parametrize("given", [QUESTION, f"\ufeff{QUESTION}\r\n\r\n"])
def test_the_question_is_read_from_standard_input(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    assert cli("run", "-", "--json").document["question"] == QUESTION


@pytest.mark.parametrize(
    ("given", "said"),
    [(b"", "The question is empty."), (b"\xff\xfe", "is not UTF-8 text"), (b"x" * 80_010, "characters")],
)
def test_a_bad_question_on_standard_input_is_refused(
    cli: Run, monkeypatch: pytest.MonkeyPatch, given: bytes, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    done = cli("run", "-")
    assert done.code == 2
    assert said in done.err


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


@pytest.mark.parametrize(
    ("given", "sources", "said"),
    [
        (("--languages", "ger"), "europepmc", "Europe PMC can't filter by languages; its hits are not limited by it."),
        (
            ("--publication-types", "Review"),
            "clinicaltrials",
            "ClinicalTrials.gov can't filter by publication_types; its hits are not limited by it.",
        ),
    ],
)
def test_a_limit_that_a_source_can_not_apply_is_said_once(
    cli: Run, server: SandboxServer, given: tuple[str, str], sources: str, said: str
) -> None:
    found = cli("run", *given, "--sources", sources, "metformin dementia", "--json").document
    assert len(found["search_log"]) > 1
    assert found["limitations"].count(said) == 1
    assert said.split(";")[0] not in str(cli("run", "--sources", sources, "metformin dementia", "--json").document)


def test_a_limit_that_pubmed_does_not_know_is_said(cli: Run, server: SandboxServer) -> None:
    limits = ("--publication-types", "Nonsense", "--sources", "pubmed")
    found = cli("run", *limits, "metformin dementia", "--json").document
    told = [sentence for sentence in found["limitations"] if "Nonsense" in sentence]
    assert len(told) == 1
    assert "PubMed does not know the quoted phrase" in told[0]
    known = cli("run", "--publication-types", "Review", *limits[2:], "metformin dementia", "--json").document
    assert not [sentence for sentence in known["limitations"] if "phrase" in sentence]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_can_not_be_saved_is_printed_and_said(cli: Run, server: SandboxServer, tmp_path: Path) -> None:
    for name in ("a.json", "a.md", "log.csv"):
        (tmp_path / name).symlink_to("/dev/full")
    for given in (("--output", "a.json"), ("--output", "a.md"), ("--search-log", "log.csv")):
        done = cli("run", "-q", given[0], str(tmp_path / given[1]), QUESTION)
        assert done.code == 1
        assert done.err.count("\n") == 1
        assert "can't be written: No space left on device." in done.err
        assert "metformin" in done.out


def test_an_output_whose_name_is_too_long_is_refused_before_any_work(
    cli: Run, server: SandboxServer, tmp_path: Path
) -> None:
    for option, name in (("--output", "a" * 300 + ".md"), ("--search-log", "a" * 300 + ".csv")):
        for path in (tmp_path / name, tmp_path / name / "a.csv"):
            done = cli("run", option, str(path), QUESTION)
            assert done.code == 2
            assert "File name too long" in done.err
            assert done.err.count("\n") == 1
    assert not server.requests
