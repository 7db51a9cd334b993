"""The README says what is true: its commands, its snippets, its tables."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from literature_agent.cli import main
from literature_agent.cli.doctor import KEY_PAGE
from literature_agent.render import UNKNOWN_REFERENCE
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from literature_agent.sources import SOURCES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

# What the output of each snippet must show, in the order of the README.
SHOWN = (
    ("complete extractive\n", "[1]", "\n\nReferences\n\n[1] ", "10.5555/"),
    ("[1]", "\n\nReferences\n\n[1] "),
    ("True ", "[1]", "\n\nReferences\n\n[1] ", "semaglutide"),
    ("['a'] ",),
    ("recall 1.00 complete ", "unknown_references=0"),
    ("complete True\n",),
)
# Run in this process, which costs less; the others show that a snippet needs nothing but itself.
IN_PROCESS = (2, 3, 5)


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


@pytest.fixture(scope="module")
def server() -> Iterator[SandboxServer]:
    with SandboxServer() as running:
        yield running


def test_there_is_a_snippet_for_each_use() -> None:
    assert len(_blocks("python")) == len(SHOWN)


@pytest.fixture
def _loop() -> Iterator[None]:
    """For `run_sync` of pydantic-ai, which leaves the loop that it makes open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("_loop")
@pytest.mark.parametrize("number", IN_PROCESS)
def test_an_example_runs_as_it_stands(
    number: int,
    server: SandboxServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in server.settings_overrides().items():
        monkeypatch.setenv(f"LITERATURE_AGENT_{name.upper()}", value)
    monkeypatch.setenv("LITERATURE_AGENT_PACE", "off")
    # The README is ours.
    exec(compile(_blocks("python")[number], f"README.md, snippet {number}", "exec"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    for text in SHOWN[number]:
        assert text in shown


@pytest.mark.parametrize("number", sorted(set(range(len(SHOWN))) - set(IN_PROCESS)))
def test_a_snippet_runs_as_it_stands(number: int, server: SandboxServer, tmp_path: Path) -> None:
    """In a process of its own, with the settings pointing at the sandbox."""
    places = {f"LITERATURE_AGENT_{name.upper()}": value for name, value in server.settings_overrides().items()}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _blocks("python")[number]],
        cwd=tmp_path,
        env={**os.environ, **places, "LITERATURE_AGENT_PACE": "off", "PYTHONUTF8": "1"},
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for text in SHOWN[number]:
        assert text in done.stdout
    assert UNKNOWN_REFERENCE not in done.stdout


def test_there_are_two_commands_of_one_line_each_from_a_bare_python() -> None:
    commands = [block.splitlines() for block in _blocks("bash")]
    assert [len(lines) for lines in commands] == [1, 1]
    for (line,) in commands:
        assert line.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert ".venv/bin/pytest" in commands[1][0]


def test_the_main_command_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Its last step, run here; a fresh clone runs the whole line."""
    step = _blocks("bash")[0].split(" && ")[-1]
    program, *arguments = shlex.split(step)
    assert program == ".venv/bin/literature-agent"
    assert main(arguments) == 0
    assert "Status: complete." in capsys.readouterr().out


def test_every_setting_is_named() -> None:
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", README))
    assert {name.upper() for name in Settings.model_fields} <= named


def test_every_source_says_what_leaves_the_machine_and_where_a_key_comes_from() -> None:
    for source in SOURCES:
        assert f"| {source.label} | {source.leaves} |" in README
        assert f"`{source.search_tool}`" in README
        assert f"`{source.fetch_tool}`" in README
    assert f"<{KEY_PAGE}>" in README


def test_every_file_named_to_readers_exists() -> None:
    section = README.split("## Where to start reading")[1]
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", section):
        places = (ROOT / name, ROOT / "literature_agent" / name, ROOT / "literature_agent/sources/pubmed" / name)
        assert any(place.exists() for place in places), name
