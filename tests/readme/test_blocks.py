"""Every code block of the README is run. What is put in place of what stands there is said with each runner."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from pydantic_ai.models import KnownModelName

from evals.__main__ import main as evaluate
from evals.datasets import known
from literature_agent.cli import main
from literature_agent.durable.book import open_book
from literature_agent.mcp_server import LiteratureServer
from literature_agent.mcp_server.policy import hash_token, read_policy
from literature_agent.render import UNKNOWN_REFERENCE
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings, load_settings
from tests.mcp_server.conftest import TOKENS, HttpServer

from .blocks import PARTS, README, ROOT, SERVERS, Part, blocks, configuration, parts

FORKED = Path(__file__).with_name("forked.py")
RUN: set[str] = set()


def runs(kind: str, *, together: bool = False) -> pytest.MarkDecorator:
    """The test runs each part of this kind; `together`: it gets them all at once."""
    RUN.add(kind)
    mine = [part for part in PARTS if part.kind == kind]
    if together:
        return pytest.mark.parametrize("these", [mine], ids=[kind])
    return pytest.mark.parametrize("part", mine, ids=[part.place for part in mine])


@pytest.fixture
def at_sandbox(sandbox: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The settings that point at the sandbox, in the environment."""
    places = {f"LITERATURE_AGENT_{name.upper()}": value for name, value in sandbox.settings_overrides().items()}
    places["LITERATURE_AGENT_PACE"] = "off"
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    return places


# --- from nothing

# What the package needs is lent by the environment of this test, so that nothing is fetched. It lends no commands, so
# `.venv/bin/pytest` is called as a module.
LENT = {
    "PYTHONPATH": sysconfig.get_path("purelib"),
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say: no isolation
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # The test command runs this test too: one file stands for all, one process for two, and no fixture is loaded.
    "PYTEST_ADDOPTS": "-p no:cacheprovider --noconftest --maxprocesses 1 tests/test_ids.py",
}


@runs("installation", together=True)
def test_a_bare_python_is_enough(these: list[Part], tmp_path: Path) -> None:
    """The commands, step by step in one checkout; a step that was done for an earlier one is not done again."""
    for entry in ("pyproject.toml", "README.md", "LICENSE", "literature_agent", "prompts", "evals", "tests"):
        (tmp_path / entry).symlink_to(ROOT / entry)
    bare = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(bare if bare.exists() else sys.executable)
    environment = {**os.environ, **LENT, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    written: dict[str, str] = {}
    for part in these:
        (line,) = part.text.splitlines()
        for step in line.split(" && "):
            if step in written:
                continue
            done = subprocess.run(
                ["bash", "-euc", step.replace(".venv/bin/pytest", ".venv/bin/python -m pytest")],
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                check=False,
                capture_output=True,
                encoding="utf-8",
                timeout=600,
            )
            assert done.returncode == 0, f"{part.place}: {step}\n{done.stdout}{done.stderr}"
            # pip's warning of an extra that is not there.
            assert done.stderr == "" or "install" not in step, f"{part.place}: {step}\n{done.stderr}"
            written[step] = done.stdout
    venv, install, answer, install_for_tests, tests = written
    assert written[venv] == written[install] == written[install_for_tests] == ""
    assert "Status: complete." in written[answer]
    assert re.search(r"^\d+ passed in ", written[tests], re.M)


# --- in Python

# What the output of each snippet must show, in the order of the README.
SHOWN = (
    ("complete extractive\n", "[1]", "\n\nReferences\n\n[1] ", "10.5555/"),
    ("[1]", "\n\nReferences\n\n[1] "),
    ("True ", "[1]", "\n\nReferences\n\n[1] ", "semaglutide"),
    ("['a'] ",),
    ("started Model extractive\nsearch_started PubMed: ", 'finished Finished: complete\ncomplete {"run_id":"'),
    ("recall 1.00 complete ", "unknown_references=0"),
    ("complete True\n",),
    ('{"literature_aggregator":"Status: complete', "«artifact:link:cite~"),
)


@runs("snippet", together=True)
def test_a_snippet_needs_nothing_but_itself(
    these: list[Part], sandbox: SandboxServer, at_sandbox: dict[str, str], tmp_path: Path
) -> None:
    """Each in a process and a folder of its own, with the settings pointing at the sandbox."""
    for number, part in enumerate(these):
        (tmp_path / f"{number}.py").write_text(part.text, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-W", "error", str(FORKED), str(tmp_path)],
        env={**os.environ, "PYTHONUTF8": "1"},
        check=True,
        timeout=600,
    )
    for number, (part, shown) in enumerate(zip(these, SHOWN, strict=True)):
        code, out, err = (
            (tmp_path / f"{number}.{kind}").read_text(encoding="utf-8") for kind in ("code", "out", "err")
        )
        assert (code, err) == ("0", ""), part.place
        for text in shown:
            assert text in out, part.place
        assert UNKNOWN_REFERENCE not in out, part.place


# --- commands


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


# What a reader brings.
FILES = {
    "lines.jsonl": '{"source": "pubmed", "query": "metformin"}\n',
    "q.txt": "Does metformin slow cognitive decline?\n",
    "lines.txt": "ask 1 What fell?\nexport refs.bib\n",
    "questions.jsonl": '{"question": "Metformin in dementia?", "sources": ["pubmed"], "max_requests": 20}\n',
}


def _ready(words: list[str], settings: Settings) -> bool:
    """Whether what serves until it is interrupted serves."""
    if words[0] == "sandbox":
        try:
            httpx.get(f"http://127.0.0.1:{words[words.index('--port') + 1]}/", timeout=5)
        except httpx.TransportError:
            return False
        return True
    with open_book(settings) as book:
        return book.health().sentences()[0].startswith("1 worker")


def _interrupt_when(ready: Callable[[], bool], over: threading.Event) -> None:
    while not over.wait(0.05):
        if ready():
            os.kill(os.getpid(), signal.SIGINT)
            return


class Shell:
    """Runs lines of `literature-agent` in this process and its folder, with `<` and `>` as a shell has them."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self._patch, self._captured = patch, captured
        self.run_id = ""
        """Of the last durable run."""

    def words(self, line: str) -> list[str]:
        """The line's words, with what only the reader's machine has replaced: a free port, an id of a run that is."""
        words = shlex.split(line, comments=True)[1:]
        for option, instead in (("--port", _free_port()), ("--workers", "1")):
            if option in words:
                words[words.index(option) + 1] = instead
        if words[0] == "resume":
            words[1] = self.run_id
        return words

    def run(self, words: list[str]) -> Done:
        words = list(words)
        given = "quit\n"
        if "<" in words:
            at = words.index("<")
            given = Path(words[at + 1]).read_text(encoding="utf-8")
            del words[at : at + 2]
        target = None
        if ">" in words:
            at = words.index(">")
            target = Path(words[at + 1])
            del words[at : at + 2]
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        over = threading.Event()
        waiting = threading.Thread(target=lambda: None)
        if words[0] == "sandbox" or words[:2] == ["batch", "--queue"]:
            settings = load_settings()
            waiting = threading.Thread(target=_interrupt_when, args=(lambda: _ready(words, settings), over))
        waiting.start()
        try:
            code = main(words)
        finally:
            over.set()
            waiting.join()
        written = self._captured.readouterr()
        if target is not None:
            target.write_text(written.out, encoding="utf-8")
        return Done(code, written.out, written.err)


def _free_port() -> str:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@runs("commands")
@pytest.mark.usefixtures("at_sandbox")
def test_the_commands_work_one_after_the_other(
    part: Part, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In one folder: what one line writes another may read."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    opened: list[str] = []
    monkeypatch.chdir(folder)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shell = Shell(monkeypatch, capsys)
    for line in part.text.splitlines():
        words = shell.words(line)
        done = shell.run(words)
        assert done.code == 0, f"{part.place}: {line}\n{done.err}"
        assert "Traceback" not in done.err
        for option in ("--output", "--search-log", "--out", "--record", ">"):
            if option in words:
                assert Path(words[words.index(option) + 1]).exists(), line
        if "--json" in words:
            json.loads(done.out)
        if "--jsonl" in words:
            assert [json.loads(row)["title"] for row in done.out.splitlines()]
        if "--open" in words:
            assert opened.pop().endswith(".html")
        if words == ["runs"]:
            (shell.run_id,) = re.findall(r"\b[0-9a-f]{12}\b", done.out)


# --- evaluation

# Models of providers are stood in for by one that needs none and is not `extractive` either; one case, answered in this
# process, stands for all.
STAND_IN = "pasted"
SMALL = ("--limit", "1", "--concurrency", "1", "--quiet")


@runs("evaluation")
def test_the_evaluation_runs_and_compares(
    part: Part, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    models = set(re.findall(r"(?<=--model )[a-z]+:[\w.-]+", part.text))
    assert models <= set(get_args(KnownModelName.__value__))
    for line in part.text.splitlines():
        stood_in = line
        for model in models:
            stood_in = stood_in.replace(model, STAND_IN).replace(model.replace(":", "-"), STAND_IN)
        words = shlex.split(stood_in, comments=True)[3:]
        if words[0] == "list":
            assert evaluate(words) == 0
            shown = capsys.readouterr().out
            continue
        if words[0] == "run":
            assert words[1] == "pubmedqa-dev" or re.search(rf"^{words[1]} ", shown, re.M)
            if words[1] not in known():
                # The corpus is no part of a checkout.
                assert not os.environ.get("CI")
                assert evaluate(words) == 2
                assert "There is no dataset 'pubmedqa-dev'. Name a path, or one of: " in capsys.readouterr().err
                continue
            words += SMALL
        # The stand-in is worse than what the threshold asks of a model.
        missed = STAND_IN in words and "--fail-under" in words
        code = evaluate(words)
        written = capsys.readouterr()
        assert code == int(missed), f"{part.place}: {line}\n{written.out}{written.err}"
        if words[0] == "run":
            folder = f"{words[1]}{'-hard' if '--hard' in words else ''}--{STAND_IN if missed else 'extractive'}"
            made = {str(path.relative_to(tmp_path / "eval-runs" / folder)) for path in tmp_path.rglob(f"{folder}/*")}
            assert {"report.json", "report.html"} <= made
        if "--out" in words:
            assert "<html" in Path(words[words.index("--out") + 1]).read_text(encoding="utf-8")


@runs("dataset")
def test_the_dataset_is_run(part: Part, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(part.text, encoding="utf-8")
    assert evaluate(["run", str(file), "--out", str(tmp_path / "out"), *SMALL]) == 0
    written = capsys.readouterr()
    assert re.search(r"^ *recall .* 1\.000 ", written.out, re.M)
    assert written.err == ""


# --- clients of the MCP server


async def _tools_of(command: str, arguments: list[str], environment: dict[str, str]) -> set[str]:
    """The tools of a server that the official client starts, with the command on its path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    started = StdioServerParameters(command=command, args=arguments, env={**environment, "PATH": path})
    async with Client(started) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


def _options(arguments: list[str]) -> dict[str, str]:
    assert arguments[0] == "mcp"
    return dict(zip(arguments[1::2], arguments[2::2], strict=True))


@runs("client configuration")
async def test_a_configuration_starts_a_server(part: Part, at_sandbox: dict[str, str], tmp_path: Path) -> None:
    """Exactly its command, and what its options ask for."""
    document = configuration(part.text)
    ((_, entries),) = ((name, document[name]) for name in SERVERS if name in document)
    assert isinstance(entries, dict)
    for entry in entries.values():
        environment = {**at_sandbox, "LITERATURE_AGENT_CACHE_DIR": str(tmp_path), **entry.get("env", {})}
        tools = await _tools_of(entry["command"], entry["args"], environment)
        options = _options(entry["args"])
        if "--tools" in options:
            assert tools == set(options["--tools"].split(","))
        assert "search_pubmed" in tools
        assert ("pubmed_europepmc_search" in tools) is (options.get("--identifiers") == "raw")


@runs("client command")
async def test_a_command_for_a_client_starts_a_server(part: Part, at_sandbox: dict[str, str], tmp_path: Path) -> None:
    """What stands behind `--`. Before it, what `claude mcp add` takes: a name of letters, digits, `-` and `_`."""
    for line in part.text.splitlines():
        words = shlex.split(line)
        at = words.index("--")
        assert words[:3] == ["claude", "mcp", "add"]
        (name,) = words[3:at]
        assert re.fullmatch(r"[A-Za-z0-9_-]+", name)
        command, *arguments = words[at + 1 :]
        environment = {**at_sandbox, "LITERATURE_AGENT_CACHE_DIR": str(tmp_path)}
        assert await _tools_of(command, arguments, environment) == {
            "literature_aggregator",
            "search_pubmed",
            "read_pmc_full_text",
        }


@runs("policy")
async def test_the_policy_lets_in_whom_it_names(part: Part, settings: Settings, tmp_path: Path) -> None:
    """Served, with the hash of a token that is known here in place of zeros."""
    token = TOKENS["one"]
    (tmp_path / "policy.toml").write_text(part.text.replace("0" * 64, hash_token(token)), encoding="utf-8")
    policy = read_policy(tmp_path / "policy.toml")
    (consumer,) = policy.consumers
    with HttpServer(LiteratureServer(settings, policy, tmp_path / "mcp")) as server:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
            httpx2.AsyncClient(timeout=30) as nobody,
            Client(streamable_http_client(server.url, http_client=http)) as client,
        ):
            assert {tool.name for tool in (await client.list_tools()).tools} == set(consumer.tools)
            for name, value, code in (
                ("Host", policy.http.allowed_hosts[0], 401),
                ("Host", "elsewhere.example.org", 421),
                ("Origin", policy.http.allowed_origins[0], 401),
                ("Origin", "https://elsewhere.example.org", 403),
            ):
                assert (await nobody.post(server.url, headers={name: value})).status_code == code


# --- all of them; below the runners, which are known by now


def test_every_block_is_run_by_a_test() -> None:
    assert [f"{part.place}: {part.kind}" for part in PARTS if part.kind not in RUN] == []
    assert {part.kind for part in PARTS} == RUN
    # Counted without a parser of Markdown.
    assert sum(line.startswith("```") for line in README.splitlines()) == 2 * len(blocks(README))


@pytest.mark.parametrize(
    "block",
    [
        "```mermaid\ngraph LR\n```",
        "```\nwhatever\n```",
        "Words.\n\n    indented = True\n",
        "```console\nliterature-agent doctor\nrm -rf kept\n```",
        '```json\n{"other": {}}\n```',
        "- in a list:\n\n  ```text\n  x\n  ```\n",
        "~~~yaml\na: 1\n~~~",
    ],
)
def test_a_block_that_nothing_runs_is_found(block: str) -> None:
    assert any(part.kind not in RUN for part in parts(f"# Title\n\n{block}\n"))
