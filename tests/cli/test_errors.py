"""Bad input: one clear sentence, the right exit code, no traceback; in JSON mode an error document."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from literature_agent import api
from literature_agent.cli import main
from literature_agent.sandbox import SandboxServer

from .conftest import Run

SECRET = "0123456789abcdefSECRET"

BAD_INPUT = [
    (("run", ""), "The question is empty."),
    (("run", "  ?! "), "The question is empty."),
    (("run", "M\udcfcller?"), "The question is not UTF-8 text."),
    (("chat", "M\udcfcller?"), "The question is not UTF-8 text."),
    (("run", "half of \ud83d"), "The question is not UTF-8 text."),
    (("run",), "Missing argument"),
    (("run", "x", "--sources", "pubmedd"), "Unknown source 'pubmedd'. Did you mean 'pubmed'?"),
    (("run", "x", "--sources", ","), "No source to ask."),
    (("search", "pumbed", "x"), "Unknown source 'pumbed'. Did you mean 'pubmed'?"),
    (("run", "x", "--model", "no-such-model"), "No provider knows the model 'no-such-model'"),
    (("run", "x", "--model", "nobody:model"), "No provider knows the model 'nobody:model'"),
    (("run", "x", "--model", "openai:gpt-5"), "OPENAI_API_KEY"),
    (("run", "x", "--corpus", "/no/such/folder"), "The corpus folder '/no/such/folder' does not exist."),
    (("search", "pubmed", "x", "--corpus", "/no/such/folder"), "The corpus folder '/no/such/folder' does not exist."),
    (("run", "x", "--max-articles", "0"), "--max-articles"),
    (("run", "x", "--max-articles", "many"), "--max-articles"),
    (("run", "x", "--deadline", "0"), "--deadline"),
    (("run", "x", "--deadline", "nan"), "--deadline"),
    (("run", "x", "--format", "pdf"), "--format"),
    (("run", "x", "--output", "/no/such/folder/a.md"), "does not exist"),
    (("run", "x", "--output", "answer.docx"), "The output file 'answer.docx' has no ending that says its form."),
    (("resume", "x", "--output", "answer.docx"), "The output file 'answer.docx' has no ending that says its form."),
    (("run", "x", "--searches", "/no/such/file"), "can't be read"),
    (("run", "x", "--no-such-option"), "No such option: --no-such-option"),
    (("run", "x", "surplus"), "surplus"),
    (("search", "pubmed", ""), "blank"),
    (("search", "pubmed", "x", "--max-results", "0"), "--max-results"),
    (("search", "pubmed", "x", "--page", "third"), "page='third'"),
    (("search", "pubmed", "x", "--since", "yesterday"), "yesterday"),
    (("search", "pubmed", "x", "--since", "2020", "--until", "2010"), "2010"),
    (("fetch", "pubmed", "not-an-id"), "not-an-id"),
    (("fetch", "pubmed"), "Missing argument"),
    (("sandbox", "--port", "99999999"), "--port"),
    (("sandbox", "--corpus", "/no/such/folder"), "does not exist"),
    (("no-such-command",), "No such command"),
    (("serach", "pubmed", "x"), "Did you mean 'search'?"),
    (("--verison",), "--version"),
    (("run", "x", "--souces", "pubmed"), "--sources"),
    (("run", "x", "--format", "htm"), "Did you mean 'html'?"),
    (("run", "x", "--max-cost", "-1"), "'--max-cost': write 0 or more."),
    (("run", "x", "--max-cost", "free"), "'--max-cost': write a number."),
    (("run", "x", "--max-requests", "1.5"), "'--max-requests': write a whole number."),
    (("run", "x", "--max-articles", "101"), "'--max-articles': write 100 or less."),
    (("run", "x", "--deadline", "soon"), "'--deadline': write a number."),
    (("run", "x", "--since", "2020-13"), "date_from='2020-13' is not in the calendar"),
    (("run", "x", "--until", "tomorrow"), "date_to='tomorrow' is no date"),
    (("run", "x", "--since-entry-date", "soon"), "since_entry_date='soon'"),
    (("run", "x", "--open", "--format", "text"), "--open shows the HTML report"),
    (("run", "x", "--search-log", "log.pdf"), "'log.pdf' has no ending that says its form."),
    (("run", "x", "--search-log", "/no/such/folder/log.csv"), "does not exist"),
    (("run", "x" * 20_001), "20,001 characters"),
    (("search", "pubmed", "x", "--sort", "sideways"), "sort='sideways'"),
    (("search", "pubmed", "a\x00b"), "U+0000"),
    (("search", "all", "x", "--page", "2"), "has no pages"),
    (("search", "clinicaltrials", "x", "--languages", "eng"), "has no filter 'languages'"),
    (("search",), "Missing argument 'source'"),
    (("fetch", "pubmd", "1"), "Did you mean 'pubmed'?"),
    (("fetch", "all", "1"), "`all` is no source by itself: it asks every one at once, in a search alone."),
    (("run", "x", "--sources", "all"), "`all` is no source by itself"),
    (("cite",), "Nothing to cite."),
    (("sandbox", "--corpus", __file__), "is a file, not a folder."),
    (("search", "biorxiv", "x"), "`date_from` and `date_to` are missing."),
    (("search", "biorxiv", "x", "--since", "2024-01-01"), "`date_to` is missing."),
    (("search", "europepmc", "x", "--languages", "ger,fre"), "(given: 'ger, fre')"),
    (("cite", "x y"), "'x y' is neither an identifier nor a reference."),
    (("cite", "90000101", "--format", "bibtx"), "There is no citation format 'bibtx'. Did you mean 'bibtex'?"),
    (("cite", "--from", "/no/such/run.json"), "can't be read"),
    (("sandbox", "--port", "x"), "'--port': write a whole number."),
    (("doctor", "--ofline"), "--offline"),
    (("run", "x", "--record", "a", "--replay", "b"), "--record and --replay contradict each other."),
    (("run", "--replay", "a", "--drift", "b"), "--replay and --drift contradict each other."),
    (("run", "x", "--record", "/dev/null/folder"), "Nothing can be recorded in '/dev/null/folder'"),
    (("run", "x", "--record", "/etc"), "The folder '/etc' is not empty"),
    (("run", "--replay", "/no/such/folder"), "There is no recording in '/no/such/folder'."),
    (("run", "x", "--from", "2015"), "No such option: --from. Did you mean '--date-from'?"),
    (("run", "x", "--to", "2015"), "Did you mean '--date-to'?"),
    (("run", "x", "--cost", "1"), "Did you mean '--max-cost'?"),
    (("run", "x", "--max-results", "5"), "Did you mean '--max-articles' or '--max-cost' or '--max-requests'?"),
    (("run", "x", "--type", "Review"), "Did you mean '--publication-types'?"),
    (("run", "x", "--format", "bib"), "Did you mean 'bibtex'?"),
    (("run", "x", "--format", "HTML"), "Did you mean 'html'?"),
    (("run", "x", "--sandbox=yes"), "Option '--sandbox' does not take a value."),
    (("read", "PMC1", "PMC2"), "Too many arguments: PMC2."),
    (("SEARCH", "pubmed", "x"), "Did you mean 'search'?"),
    (("run", "--drift", "/etc"), "There is no recording in '/etc'."),
    (("run", "--drift", "x", "--open"), "prints what has changed, so --open has nothing to do."),
    (("run", "--drift", "x", "--output", "a.md"), "so --output has nothing to do"),
    (("chat", "--from", "/no/such/run.json"), "can't be read"),
    (("chat", "x", "--sources", "pubmedd"), "Did you mean 'pubmed'?"),
    (("chat", "x", "--model", "nobody:model"), "No provider knows the model 'nobody:model'"),
    (("chat", "x", "y"), "y"),
    (("caht",), "Did you mean 'chat'?"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), BAD_INPUT, ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else ""
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    cli: Run, server: SandboxServer, arguments: tuple[str, ...], said: str
) -> None:
    """K120."""
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1, done.err
    assert said in done.err
    # A next step that only points at the message says nothing to a reader.
    assert "named in the message" not in done.err
    assert not server.requests

    as_json = cli(*arguments, "--json")
    assert as_json.code == 2
    error = as_json.document["error"]
    assert list(as_json.document) == ["error"]
    assert set(error) == {"reason", "message", "retryable", "recovery"}
    assert said in error["message"]
    assert error["recovery"]
    assert error["retryable"] is False


def test_what_the_system_refuses_is_said_in_words(cli: Run, server: SandboxServer, tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    taken = server.base_url.rpartition(":")[2].strip("/")
    for arguments, said in (
        (("sandbox", "--port", taken), f"cannot open port {taken} on 127.0.0.1: Address already in use. Choose"),
        (("mcp", "--http", "--port", taken), f"cannot open port {taken} on 127.0.0.1: Address already in use. Choose"),
        (("mcp", "--port", "1"), "--host and --port are of a server over HTTP. Give --http too."),
        (("mcp", "--policy", "/no/such.toml"), "'/no/such.toml' can't be read: No such file or directory. Give"),
        (("mcp", "--policy", str(tmp_path)), "can't be read: Is a directory. Give"),
        (("mcp", "--policy", str(tmp_path / "bytes.toml")), "can't be read: it is not UTF-8 text. Give"),
    ):
        done = cli(*arguments)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert "Errno" not in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fetch", "nosuch", "1"), "Use one of: pubmed, europepmc, biorxiv, medrxiv, clinicaltrials."),
        (("search", "nosuch", "x"), "medrxiv, clinicaltrials; or `all`, which asks them all."),
        (("search", "europepmc", "x", "--sources", "PPR"), "word after `search`; a part of Europe PMC is named in the"),
        (("fetch", "pubmed", "1", "--source", "x"), "The source is the first word after `fetch`."),
        (("run", "x", "--sources", "pubmed", "europepmc"), "Join the names of sources by commas: --sources A,B."),
        (("search", "metformin"), "Write `literature-agent search SOURCE QUERY`, with a source such as pubmed."),
        (("fetch", "90000101"), "Write `literature-agent fetch SOURCE ID`, with a source such as pubmed."),
        (("run", "metformin", "and", "memory"), "Put the question in quotes, or see `literature-agent run --help`."),
        (("search", "pubmed", "metformin", "memory"), "Put the query in quotes"),
        (("run", "x", "--output", "answer.docx"), ".nbib, .json, or give --format."),
        (("search", "biorxiv", "x"), "or search europepmc with SRC:PPR in the query."),
    ],
)
def test_the_next_step_fits_the_command(cli: Run, arguments: tuple[str, ...], said: str) -> None:
    assert said in cli(*arguments).err
    assert said in cli(*arguments, "--json").document["error"]["recovery"]


def test_an_option_without_its_value_is_said_with_the_command(cli: Run) -> None:
    done = cli("run", "x", "--model")
    assert (done.code, done.out) == (2, "")
    assert done.err == "Error: Option '--model' needs a value. See `literature-agent run --help`.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        *[
            ("run", "x", option)
            for option in ("--mail", "--budget", "--html", "--question", "--version", "--year", "-n")
        ],
        *[("search", "pubmed", "x", option) for option in ("--format", "--output", "--model")],
        ("chat", "x", "--format"),
        ("sandbox", "--host"),
        ("run", "x", "--sources", "arxiv"),
        ("search", "pubmed,europepmc", "x"),
        ("run", "x", "--format", "docx"),
        ("config",),
    ],
    ids=" ".join,
)
def test_what_fits_nothing_gets_no_suggestion(cli: Run, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert "mean" not in done.err
    assert "Possible" not in done.err


def test_a_server_that_could_keep_nothing_does_not_start(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("LITERATURE_AGENT_CACHE_DIR", str(tmp_path / "file"))
    done = cli("mcp")
    assert (done.code, done.out) == (2, "")
    assert "can't be kept in" in done.err
    assert "Not a directory. Set LITERATURE_AGENT_CACHE_DIR to a folder of yours." in done.err


def test_json_and_jsonl_at_once_are_refused(cli: Run) -> None:
    done = cli("search", "pubmed", "x", "--json", "--jsonl")
    assert (done.code, done.out.count("\n")) == (2, 1)
    assert done.document["error"]["message"] == "--json and --jsonl contradict each other."


def test_two_forms_at_once_are_refused(cli: Run) -> None:
    done = cli("run", "x", "--json", "--format", "markdown")
    assert done.code == 2
    assert done.document["error"]["message"] == "--json and --format markdown contradict each other."


@pytest.mark.parametrize("form", [("--format", "json"), ("--format=json",)])
def test_asking_for_json_by_format_makes_errors_json_too(cli: Run, form: tuple[str, ...]) -> None:
    """K120."""
    assert cli("run", "", *form).document["error"]["message"] == "The question is empty."


def test_a_corpus_folder_without_records_is_refused(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing here", encoding="utf-8")
    done = cli("run", "x", "--corpus", str(tmp_path))
    assert done.code == 2
    assert "holds no record" in done.err


@pytest.mark.parametrize("line", ["{", "[]", "[" * 100_000, '{"source": "pubmed"}', '{"source": "pubmed", "query": 1}'])
def test_a_searches_file_that_holds_no_search_names_the_line(cli: Run, tmp_path: Path, line: str) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"source": "pubmed", "query": "x"}\n' + line, encoding="utf-8")
    done = cli("run", "x", "--searches", str(file))
    assert done.code == 2
    assert f"Line 2 of {str(file)!r} is no search." in done.err
    file.write_text("\n", encoding="utf-8")
    assert "holds no search" in cli("run", "x", "--searches", str(file)).err
    file.write_bytes(b"\xff\xfe\x00")
    assert "it is not UTF-8 text" in cli("run", "x", "--searches", str(file)).err


def test_a_refused_setting_is_named_without_its_value(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_NCBI_BASE_URL", "ftp://user:password@host/")
    done = cli("search", "pubmed", "x")
    assert done.code == 2
    assert "LITERATURE_AGENT_NCBI_BASE_URL" in done.err
    assert "password" not in done.err


def test_an_unreachable_service_is_exit_code_1(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    # Port 9 (discard) is closed on every machine of today.
    monkeypatch.setenv("LITERATURE_AGENT_NCBI_BASE_URL", "http://127.0.0.1:9/")
    done = cli("search", "pubmed", "x", "--json")
    assert done.code == 1
    assert done.document["error"]["reason"] == "pubmed_unreachable"
    run = cli("run", "metformin", "--sources", "pubmed", "--json")
    assert run.code == 1
    assert run.document["error"]["reason"] == "request_unreachable"


def test_no_command_shows_the_help_and_is_a_usage_error(cli: Run) -> None:
    done = cli()
    assert done.code == 2
    assert done.err.startswith("Usage: literature-agent")
    assert cli("--json").document["error"]["message"].startswith("No such option: --json")


def test_a_value_that_looks_like_the_json_option_is_no_option(cli: Run) -> None:
    done = cli("run", "--no-such-option", "--", "--json")
    assert done.out == ""
    assert done.err.startswith("Error: No such option")


def test_an_escape_sequence_in_an_argument_does_not_reach_the_terminal(cli: Run) -> None:
    done = cli("run", "x", "--sources", "\x1b[31mpub\x07med")
    assert done.code == 2
    assert all(line.isprintable() for line in done.err.splitlines())


def test_help_and_version_are_no_errors(cli: Run) -> None:
    for command in ((), ("run",), ("search",), ("fetch",), ("sandbox",), ("doctor",)):
        done = cli(*command, "--help")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("Usage: literature-agent")
    assert cli("--version").out.startswith("literature-agent ")


@pytest.mark.parametrize("form", [("--verbose",), ("--verbose", "--json")])
def test_the_key_appears_nowhere(
    cli: Run,
    server: SandboxServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    form: tuple[str, ...],
) -> None:
    """K118: not in output, errors or logs, whatever the service answers."""
    monkeypatch.setenv("NCBI_API_KEY", SECRET)
    monkeypatch.setenv("LITERATURE_AGENT_EMAIL", "someone@example.org")
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    with caplog.at_level(logging.DEBUG):
        done = [cli("search", "pubmed", "metformin", *form)]
        assert any(SECRET in asked.query for asked in server.requests)  # the key was really sent
        for fault in ("server_error", "html", "refuse", "rate_limit"):
            server.faults.clear()
            server.faults.set("eutils", fault)
            done.append(cli("search", "pubmed", "metformin", *form))
            done.append(cli("run", "metformin and cognition", "--sources", "pubmed", *form))
        server.faults.clear()
        done.append(cli("doctor", *form))
    written = "".join(f"{out}{err}" for _, out, err in done) + caplog.text
    assert SECRET not in written
    assert "someone@example.org" not in written
    assert "someone%40example.org" not in written


def test_verbose_leaves_the_loggers_as_they_were(cli: Run, server: SandboxServer) -> None:
    logger = logging.getLogger("literature_agent")
    before = (logger.level, list(logger.handlers))
    cli("search", "pubmed", "metformin", "--verbose")
    assert (logger.level, list(logger.handlers)) == before


def test_a_bug_is_shown_as_one_and_json_mode_still_gets_its_document(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(api, "search_sync", broken)
    done = cli("search", "pubmed", "x")
    assert (done.code, done.out) == (1, "")
    assert "ZeroDivisionError: a bug of ours" in done.err
    assert cli("search", "pubmed", "x", "--json").document["error"]["reason"] == "internal_error"


def test_output_that_the_terminal_cannot_spell_is_escaped(server: SandboxServer, tmp_path: Path) -> None:
    for form in ((), ("--json",)):
        done = subprocess.run(
            [sys.executable, "-m", "literature_agent", "fetch", "pubmed", "90000101", *form],
            env={**_environment(), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
            check=False,
            capture_output=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode("ascii")
        assert "Lindqvist" in text
        if form:
            assert json.loads(text)["artifacts"][0]["authors"][0]["initials"] == "ÅM"


def test_a_reader_that_goes_away_is_no_traceback(server: SandboxServer) -> None:
    done = subprocess.run(
        f"{sys.executable} -m literature_agent search pubmed metformin --json --max-results 50 | head -c 1",
        shell=True,
        env=_environment(),
        check=False,
        capture_output=True,
        timeout=300,
    )
    assert b"Traceback" not in done.stderr


def test_the_module_is_the_command(server: SandboxServer) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "literature_agent", "search", "nosuch", "x", "--json"],
        env=_environment(),
        check=False,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["reason"] == "request_invalid_input"


@pytest.mark.parametrize(("given", "at_the_end"), [("", "frozen"), ("['--version']", "as it was")])
def test_the_program_looks_for_no_garbage_at_its_end_and_a_caller_is_left_alone(given: str, at_the_end: str) -> None:
    """What was loaded is left to the system, which takes no time."""
    code = (
        "import atexit, gc, sys; from literature_agent.cli import main; sys.argv = ['literature-agent', '--version']; "
        # What is put down first is done last.
        "atexit.register(lambda: print('frozen' if gc.get_freeze_count() else 'as it was')); "
        f"main({given})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8", timeout=300)
    assert done.stdout.splitlines()[-1] == at_the_end


def test_main_reads_the_arguments_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["literature-agent", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("literature-agent ")


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)
