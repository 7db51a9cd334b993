"""`--help`, its examples, the README's list of them, and what a shell completes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from literature_agent.cli.app import app
from literature_agent.cli.examples import EXAMPLES, listed
from literature_agent.sources import SOURCES

from .conftest import Run

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
COMMANDS = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]


def test_the_readme_lists_the_examples_of_the_help() -> None:
    """Where `tests/readme` runs them."""
    assert f"```console\n{listed()}\n```" in README


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_and_shows_the_examples(cli: Run, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli(command, "--help")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    for example in EXAMPLES.get(command, ()):
        assert f"    literature-agent {example}" in lines


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_options_of_all(cli: Run, command: str) -> None:
    """A server on standard input and output has no document of its own."""
    said = set(re.findall(r"--[a-z-]+", cli(command, "--help").out))
    assert {"--quiet", "--verbose", "--no-color"} <= said
    assert ("--json" in said) is (command != "mcp")


def test_the_list_of_commands_says_what_each_does(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli("--help")
    for command in COMMANDS:
        (line,) = re.findall(rf"^  {command} +(.+)$", done.out, re.M)
        assert line.endswith("."), line
        assert not line.endswith("..."), line


def _asked(*words: str) -> dict[str, str]:
    """What bash puts into the environment of a program that it asks to complete."""
    return {
        "_LITERATURE_AGENT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("literature-agent", *words)),
        "COMP_CWORD": str(len(words)),
    }


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("se",), ["search"]),
        (("run", "--search"), ["--searches", "--search-log"]),
        (("run", "--format", "ht"), ["html"]),
        (("search", ""), [source.name for source in SOURCES]),
        (("run", "--sources", "pubmed,eu"), ["pubmed,europepmc"]),
    ],
)
def test_a_shell_completes_commands_options_values_and_sources(
    cli: Run, words: tuple[str, ...], completed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _asked(*words).items():
        monkeypatch.setenv(name, value)
    done = cli()
    assert (done.code, done.out.split(), done.err) == (0, completed, "")


def test_the_program_that_a_shell_asks_says_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "literature_agent"],
        check=True,
        capture_output=True,
        encoding="utf-8",
        env={**_asked("run", "--search"), "PATH": ""},
        timeout=300,
    )
    assert (done.stdout.split(), done.stderr) == (["--searches", "--search-log"], "")
