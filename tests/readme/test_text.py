"""What the README says in its prose and tables is so: settings, commands and their options, names, files."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from typer.main import get_command

import literature_agent
from evals.__main__ import main as evaluate
from literature_agent import LiteratureAggregator
from literature_agent.cli.app import PROGRAM, app
from literature_agent.cli.doctor import KEY_PAGE
from literature_agent.settings import Settings
from literature_agent.sources import SOURCES

from .blocks import README, ROOT

# Code within a line, in the order of the text.
SPANS = [
    child.content
    for token in MarkdownIt("commonmark").enable("table").parse(README)
    for child in token.children or ()
    if child.type == "code_inline"
]
COMMANDS = get_command(app).commands  # type: ignore[attr-defined]  # typer's group has no type of its own
OPTIONS = {
    name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    | {"--help"}
    for name, command in COMMANDS.items()
}


def test_every_setting_is_named_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (.+?) \|", README, re.M))
    assert set(rows) == {name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        said = re.fullmatch(r"`(.+)`", rows[name.upper()])
        # In words where there is none, or where it is an address or a folder.
        if said is not None and name != "model":
            assert said[1] == str(field.default).lower().removesuffix(".0"), name
        else:
            assert field.default is None or name.endswith(("_base_url", "_dir")) or name == "sources", name


def test_every_variable_of_the_environment_is_read() -> None:
    text = (ROOT / "literature_agent/settings.py").read_text(encoding="utf-8")
    for name in set(re.findall(r"\bLITERATURE_AGENT_([A-Z_]*[A-Z])\b", README)):
        assert name.lower() in Settings.model_fields or f"LITERATURE_AGENT_{name}" in text, name


def test_every_command_has_the_options_that_the_text_gives_it() -> None:
    run = 0
    for span in SPANS:
        words = shlex.split(span)
        if words[0] == PROGRAM:
            words = words[1:]
        if words[0] in COMMANDS:
            assert {word for word in words if word.startswith("--")} <= OPTIONS[words[0]], span
            run += 1
    assert run > 20


def test_every_option_in_the_text_is_one_of_some_command(capsys: pytest.CaptureFixture[str]) -> None:
    known = {"--install-completion"}.union(*OPTIONS.values())
    for command in ("run", "compare"):
        with pytest.raises(SystemExit):
            evaluate([command, "--help"])
        known.update(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert {option for span in SPANS for option in re.findall(r"(?<!\S)--[a-z-]+", span)} <= known


def test_every_module_to_run_and_every_extra_to_install_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for name in re.findall(r"python -m ([\w.]+)", README):
        assert find_spec(f"{name}.__main__" if (ROOT / name.replace(".", "/")).is_dir() else name) is not None, name
    named = re.findall(r"(?:literature-agent|\.)\[(\w+)\]'", README) + re.findall(r"extra `(\w+)`", README)
    assert {"anthropic", "dev", "durable", "inspect", "mcp", "parquet", "postgres"} <= set(named)
    assert set(named) <= set(extras)


def _names() -> list[tuple[str, str, str]]:
    """Cells of the table of needs: Python, command line, tool of the agent."""
    section = README.split("## Which tool for which need")[1].split("\n\nCommands take")[0]
    rows = [line.removeprefix("|").removesuffix("|").split("|") for line in section.splitlines() if line[:2] == "| "]
    return [(python, line, tool) for _, python, line, tool in rows[1:]]


async def test_what_the_table_of_needs_names_is_there(settings: Settings) -> None:
    sent: set[str] = set()

    def look(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent.update(tool.name for tool in info.function_tools)
        return ModelResponse(parts=[TextPart("done")])

    await LiteratureAggregator(FunctionModel(look), settings=settings).run("What is known about metformin?")
    found = 0
    for python, line, tool in _names():
        for name in re.findall(r"`([a-z_.]+)[`(]", python):
            _named(name)
            found += 1
        for command in re.findall(r"`([a-z]+)[ `]", line):
            assert command in COMMANDS, command
        for name in re.findall(r"`([a-z_]+)`", tool):
            assert name in sent, name
            sent.remove(name)
    assert found > 15
    # A guide to the day's date is no need of the reader's.
    assert sent == {"current_time"}


def _named(name: str) -> object:
    """What the README calls by this name: public, or by its module."""
    if "." not in name:
        return getattr(literature_agent, name) if name in literature_agent.__all__ else None
    module, _, member = name.rpartition(".")
    return getattr(import_module(f"literature_agent.{module}"), member)


def test_every_source_says_what_leaves_the_machine_and_where_a_key_comes_from() -> None:
    for source in SOURCES:
        assert f"| {source.label} | {source.leaves} |" in README
        assert f"`{source.search_tool}`" in README
        assert f"`{source.fetch_tool}`" in README
    assert f"<{KEY_PAGE}>" in README


def test_every_file_named_to_readers_exists() -> None:
    section = README.split("## Add a source")[1]
    places = [ROOT, ROOT / "literature_agent", ROOT / "literature_agent/sources/pubmed", ROOT / "tests/sources/pubmed"]
    for name in set(re.findall(r"`([\w/]+(?:\.py|\.md|/))`", section)):
        assert any((Path(place) / name).exists() for place in places), name


def test_every_door_named_at_the_top_opens() -> None:
    """GitHub makes the anchor of a heading from its words, joined by hyphens."""
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.+)$", README, re.M)}
    doors = re.findall(r"\]\(#([\w-]+)\)", README.split("## ")[0])
    assert set(doors) <= headings
    assert headings == set(doors)
