"""The server on standard input and output, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from mcp import Client, StdioServerParameters

from literature_agent.cli import main
from literature_agent.mcp_server.policy import hash_token
from literature_agent.sandbox import SandboxServer
from tests.mcp_server.conftest import for_the_person, text_of

Command = Callable[..., StdioServerParameters]

DEFAULT = ["literature_aggregator", "search_pubmed", "read_pmc_full_text"]

# What a site may do to a process: print at once, print from a thread, warn, log everything, run children that print.
NOISE = """
import logging, os, sys, threading, warnings
logging.basicConfig(level=logging.DEBUG)
import httpx
class Loud(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request):
        print("printed inside a call")
        sys.stdout.write("written inside a call\\n")
        os.write(1, b"written below Python\\n")
        os.system("echo printed by a child")
        if os.path.samestat(os.fstat(0), os.stat(os.devnull)):
            os.write(2, b"nothing to read inside a call\\n")
        warnings.warn("warned inside a call")
        logging.getLogger("loud").warning("logged inside a call")
        return await super().handle_async_request(request)
httpx.AsyncHTTPTransport = Loud
"""


OPENING: tuple[dict[str, object], ...] = (
    {
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_lists_the_default_tools_and_calls_them(stdio: Command, mode: str) -> None:
    """Both generations of the protocol."""
    async with Client(stdio(), mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == DEFAULT
        found = await client.call_tool("search_pubmed", {"query": "metformin cognition", "max_results": 3})
        assert not found.is_error
        assert text_of(found).startswith("Search s1 | pubmed | ok | shown 3 of ")
        assert "10.5555/" in for_the_person(found)


class Spoken(NamedTuple):
    """What a server wrote while it was spoken to, and how it ended."""

    stdout: list[str]
    stderr: str
    code: int


@pytest.fixture(scope="module")
def spoken(sandbox: SandboxServer, tmp_path_factory: pytest.TempPathFactory) -> Spoken:
    """A server in a loud process, whose launcher left placeholders: garbage, a call, and a call cut off by the end."""
    places = {f"LITERATURE_AGENT_{name.upper()}": value for name, value in sandbox.settings_overrides().items()}
    folder = tmp_path_factory.mktemp("spoken")
    call = {"method": "tools/call", "params": {"name": "search_pubmed", "arguments": {"query": "metformin"}}}
    with (folder / "stderr").open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"{NOISE}\nfrom literature_agent.cli import main\nsys.exit(main(['mcp', '--verbose']))",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            env={
                **os.environ,
                **places,
                "LITERATURE_AGENT_CACHE_DIR": str(folder),
                "PYTHONWARNINGS": "always",
                "PYTHONUNBUFFERED": "",
                "NCBI_API_KEY": "${user_config.ncbi_api_key}",
                "LITERATURE_AGENT_EMAIL": "${user_config.email}",
                "LITERATURE_AGENT_MODEL": "${user_config.model}",
            },
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("not json\n[1, 2]\n")
        for message in (*OPENING, {"id": 3, **call}):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        lines = []
        for line in process.stdout:
            lines.append(line)
            if '"id":3' in line:
                break
        sandbox.faults.set("eutils", "slow", seconds=60)
        try:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 4, **call}) + "\n")
            process.stdin.close()
            lines += process.stdout.readlines()
            process.stdout.close()
            code = process.wait(30)
        finally:
            sandbox.faults.clear()
    return Spoken(lines, (folder / "stderr").read_text(encoding="utf-8"), code)


def test_every_line_on_stdout_is_json_rpc_whatever_warns_or_prints(spoken: Spoken) -> None:
    """K101."""
    answers = [json.loads(line) for line in spoken.stdout]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert {1, 2, 3} <= {answer.get("id") for answer in answers}
    for said in ("printed", "written", "warned", "logged", "nothing to read"):
        assert f"{said} inside a call" in spoken.stderr
    assert "written below Python" in spoken.stderr
    assert "printed by a child" in spoken.stderr


def test_the_process_ends_with_its_client_though_a_call_is_under_way(spoken: Spoken) -> None:
    """K105: the call would have taken a minute."""
    assert spoken.code == 0
    assert not any('"id":4' in line and '"result"' in line for line in spoken.stdout)


def test_a_placeholder_that_a_launcher_left_is_an_unset_option(spoken: Spoken, sandbox: SandboxServer) -> None:
    """K107: the key is not sent, and nothing breaks."""
    assert "No model is set" in spoken.stderr
    assert "user_config" not in spoken.stderr
    assert not any("user_config" in asked.query for asked in sandbox.requests)


def test_a_placeholder_in_place_of_the_token_lets_nobody_in(
    sandbox: SandboxServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """K107: whoever knows the launcher's file could guess it."""
    monkeypatch.setenv("LITERATURE_AGENT_MCP_TOKEN", "${user_config.literature_token}")
    # The port is taken, so that the command ends.
    assert main(["mcp", "--http", "--port", sandbox.base_url.rpartition(":")[2]]) == 2
    assert "Nobody is let in" in capfd.readouterr().err


def test_garbage_on_stdin_does_not_end_the_server(spoken: Spoken) -> None:
    (listed,) = [answer for line in spoken.stdout if (answer := json.loads(line)).get("id") == 2]
    assert [tool["name"] for tool in listed["result"]["tools"]] == DEFAULT
    assert "Traceback" not in "".join(spoken.stdout)


# --- the command


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_in_order_while_it_waits_for_a_line(stdio: Command, number: signal.Signals) -> None:
    command = stdio()
    assert command.env is not None
    with subprocess.Popen(
        [command.command, *command.args],
        env={**os.environ, **command.env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **OPENING[0]}).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(number)
        try:
            assert server.wait(timeout=20) == 0
        finally:
            server.kill()
        assert server.stderr is not None
        assert b"Traceback" not in server.stderr.read()


def test_a_new_token_is_printed_with_its_hash(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--new-token"]) == 0
    first, second = capfd.readouterr().out.splitlines()
    assert second == f'policy: token_sha256 = ["{hash_token(first.split()[1])}"]'


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tools", "nosuch"], "nosuch"),
        (["--policy", "nosuch.toml"], "nosuch.toml"),
        (["--policy", "{}", "--tools", "search_pubmed"], "not taken beside it"),
        (["--policy", "{}"], "no consumer called 'stdio'"),
        (["--http", "--policy", "{}", "--port", "99999"], "--port"),
    ],
)
def test_a_policy_or_flag_that_is_refused_is_a_usage_error(
    options: list[str], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[consumer]]\nname = "other"\n', encoding="utf-8")
    assert main(["mcp", "--sandbox", *(option.replace("{}", str(policy)) for option in options)]) == 2
    written = capfd.readouterr()
    assert written.out == ""
    assert said in written.err
