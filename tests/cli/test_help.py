"""`--help`, its examples, the README's list of them, and what a shell completes."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from literature_agent.cli.app import app, main
from literature_agent.cli.examples import EXAMPLES, listed
from literature_agent.sandbox import SandboxServer
from literature_agent.sources import SOURCES

from .conftest import Done, Run

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
COMMANDS = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
# They serve until they are interrupted; their own tests run them.
SERVERS = ("sandbox",)
WORK = [example for command, examples in EXAMPLES.items() if command not in SERVERS for example in examples]


def test_the_readme_lists_the_examples_of_the_help() -> None:
    assert f"```console\n{listed()}\n```" in README


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_and_shows_the_examples(cli: Run, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli(command, "--help")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    for example in EXAMPLES.get(command, ()):
        assert f"    literature-agent {example}" in lines


def test_the_list_of_commands_says_what_each_does(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli("--help")
    for command in COMMANDS:
        (line,) = re.findall(rf"^  {command} +(.+)$", done.out, re.M)
        assert line.endswith("."), line
        assert not line.endswith("..."), line


def _run(cli: Run, example: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Done:
    """An example as a shell runs it in `folder`."""
    words = shlex.split(example)
    if "<" in words:
        at = words.index("<")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / words[at + 1]).read_bytes())))
        del words[at : at + 2]
    target = None
    if ">" in words:
        at = words.index(">")
        target = folder / words[at + 1]
        del words[at : at + 2]
    done = cli(*words)
    if target is not None:
        target.write_text(done.out, encoding="utf-8")
    return done


@pytest.fixture(scope="module")
def earlier_run(sandbox: SandboxServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a saved run, `run.json`, and its recording, `kept`."""
    folder = tmp_path_factory.mktemp("earlier")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in sandbox.settings_overrides().items():
            patch.setenv(f"LITERATURE_AGENT_{name.upper()}", value)
        patch.setenv("LITERATURE_AGENT_PACE", "off")
        asked = ("run", "Does metformin slow cognitive decline?", "--sources", "pubmed", "--quiet")
        assert main([*asked, "--output", str(folder / "run.json"), "--record", str(folder / "kept")]) == 0
    return folder


@pytest.mark.parametrize("example", WORK)
def test_an_example_works(
    cli: Run,
    server: SandboxServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    earlier_run: Path,
    example: str,
) -> None:
    (tmp_path / "lines.jsonl").write_text('{"source": "pubmed", "query": "metformin"}\n', encoding="utf-8")
    (tmp_path / "q.txt").write_text("Does metformin slow cognitive decline?\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "lines.txt").write_text("ask 1 What fell?\nexport refs.bib\n", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"quit\n")))
    if "--from" in example:
        shutil.copy(earlier_run / "run.json", tmp_path)
    if "--replay" in example or "--drift" in example:
        shutil.copytree(earlier_run / "kept", tmp_path / "kept")
    done = _run(cli, example, monkeypatch, tmp_path)
    assert done.code == 0, done.err
    made = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    for name in re.findall(r"(?:--output|--search-log|>) (\S+)", example):
        assert name in made
    if "--open" in example:
        assert any(name.endswith(".html") for name in made)


def _completed(*words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "literature_agent"],
        check=True,
        capture_output=True,
        encoding="utf-8",
        env={
            "_LITERATURE_AGENT_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("literature-agent", *words)),
            "COMP_CWORD": str(len(words)),
            "PATH": "",
        },
        timeout=60,
    )
    return done.stdout.split()


def test_a_shell_completes_commands_options_values_and_sources() -> None:
    assert _completed("se") == ["search"]
    assert _completed("run", "--search") == ["--searches", "--search-log"]
    assert _completed("run", "--format", "ht") == ["html"]
    assert _completed("search", "") == [source.name for source in SOURCES]
    assert _completed("run", "--sources", "pubmed,eu") == ["pubmed,europepmc"]
