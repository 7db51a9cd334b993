"""`doctor`: findings with what to do, no key shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from literature_agent.cli.doctor import _clock
from literature_agent.sandbox import SandboxServer
from literature_agent.sources import SOURCES

from .conftest import Done, Run

KEY_PAGE = "https://account.ncbi.nlm.nih.gov/settings/"


def _finding(done: Done, name: str) -> dict[str, Any]:
    found = [finding for finding in done.document["findings"] if finding["name"] == name]
    assert found, name
    first: dict[str, Any] = found[0]
    return first


def test_everything_is_looked_at_and_said(cli: Run, server: SandboxServer) -> None:
    done = cli("doctor", "--json")
    assert done.code == 0
    assert done.document["ok"] is True
    for source in SOURCES:
        assert _finding(done, source.label)["status"] == "ok"
    leaves = [f["text"] for f in done.document["findings"] if f["name"] == "leaves this machine"]
    assert leaves == [source.leaves for source in SOURCES]
    for name in ("python", "packages", "model", "cache", "clock"):
        assert _finding(done, name)["status"] == "ok"


@pytest.mark.parametrize(
    ("ahead", "status", "said"),
    [
        ([0.4, -1.2], "ok", "60 s"),
        ([7200.0, 7201.0, 3.0], "warning", "7,200 s ahead of the services"),
        ([-90.0], "warning", "90 s behind the services"),
    ],
)
def test_a_wrong_clock_is_a_warning(ahead: list[float], status: str, said: str) -> None:
    """The search log is dated by it."""
    (finding,) = _clock(ahead)
    assert finding.status == status
    assert said in finding.text
    assert bool(finding.todo) == (status == "warning")


def test_a_clock_that_nobody_answers_is_not_judged() -> None:
    assert list(_clock([])) == []


def test_a_missing_key_says_where_to_register_one(cli: Run, server: SandboxServer) -> None:
    finding = _finding(cli("doctor", "--offline", "--json"), "NCBI API key")
    assert finding["status"] == "warning"
    assert KEY_PAGE in finding["todo"]
    assert KEY_PAGE in cli("doctor", "--offline").out
    assert not server.requests


def test_a_set_key_is_said_but_not_shown(cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCBI_API_KEY", "0123456789SECRET")
    monkeypatch.setenv("LITERATURE_AGENT_EMAIL", "someone@example.org")
    done = cli("doctor", "--json")
    assert _finding(done, "NCBI API key")["status"] == "ok"
    assert _finding(done, "e-mail")["status"] == "ok"
    assert "SECRET" not in done.out
    assert "someone" not in done.out


def test_a_source_that_does_not_answer_is_a_warning_with_a_next_step(cli: Run, server: SandboxServer) -> None:
    """The configuration is sound, so the exit code stays 0. One attempt only."""
    server.faults.set("eutils", "server_error")
    done = cli("doctor", "--json")
    assert done.code == 0
    finding = _finding(done, "PubMed")
    assert finding["status"] == "warning"
    assert finding["todo"]
    assert sum("eutils" in asked.path for asked in server.requests) == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LITERATURE_AGENT_CACHE", "sometimes", "LITERATURE_AGENT_CACHE"),
        ("LITERATURE_AGENT_MODEL", "no-such-model", "no-such-model"),
        ("LITERATURE_AGENT_MODEL", "openai:gpt-5", "OPENAI_API_KEY"),
        ("LITERATURE_AGENT_SECRETS_DIR", "/no/such/folder", "/no/such/folder"),
    ],
)
def test_a_broken_configuration_is_exit_code_2(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    done = cli("doctor", "--json", "--offline")
    assert done.code == 2
    assert done.document["ok"] is False
    wrong = [finding for finding in done.document["findings"] if finding["status"] == "wrong"]
    assert len(wrong) == 1
    assert said in wrong[0]["text"]
    assert wrong[0]["todo"]


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("openai:gpt-5.2", "OPENAI_API_KEY"),
        ("openai-chat:gpt-5.2", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("groq:llama-3.3-70b-versatile", "GROQ_API_KEY"),
    ],
)
def test_an_empty_key_is_a_key_that_is_not_set(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, model: str, key: str
) -> None:
    monkeypatch.setenv(key, "")
    done = cli("run", "x", "--model", model)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert key in done.err or "Install the extra" in done.err
    monkeypatch.setenv("LITERATURE_AGENT_MODEL", model)
    found = cli("doctor", "--offline", "--json")
    assert found.code == 2
    assert _finding(found, "model")["status"] == "wrong"


def test_what_a_providers_package_raises_is_one_sentence_without_its_text(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:sk-SECRET")
    done = cli("run", "x", "--model", "openai:gpt-5.2")
    assert done.code == 2
    assert done.err.startswith("Error: The model 'openai:gpt-5.2' can't be used: ")
    assert done.err.count("\n") == 1
    assert "SECRET" not in done.err + done.out


def test_a_model_with_its_key_is_ok_and_its_provider_is_named(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_MODEL", "openai:gpt-5")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET")
    done = cli("doctor", "--offline", "--json")
    assert done.code == 0
    assert _finding(done, "model")["text"].startswith("openai:gpt-5")
    assert "To the provider of openai:gpt-5" in done.out
    assert "SECRET" not in done.out


def test_the_token_of_the_mcp_server_is_no_misspelt_setting(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_MCP_TOKEN", "a-token")
    done = cli("doctor", "--offline", "--json")
    assert [finding for finding in done.document["findings"] if finding["name"] == "settings"] == []


def test_a_misspelt_setting_is_found(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_MODLE", "x")
    finding = _finding(cli("doctor", "--offline", "--json"), "settings")
    assert finding["todo"] == "Did you mean 'MODEL'?"


def test_a_cache_that_cannot_be_written_is_a_warning(cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("LITERATURE_AGENT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    finding = _finding(cli("doctor", "--offline", "--json"), "cache")
    assert finding["status"] == "warning"
    assert "CACHE_DIR" in finding["todo"]


@pytest.mark.parametrize(("value", "enabled"), [("false", False), ("0", False), ("no", False), ("", True), ("1", True)])
def test_a_switch_is_read_by_its_meaning(cli: Run, monkeypatch: pytest.MonkeyPatch, value: str, enabled: bool) -> None:
    """K121."""
    monkeypatch.setenv("EUROPEPMC_ENABLED", value)
    done = cli("doctor", "--offline", "--json")
    said = [f["text"] for f in done.document["findings"] if f["name"] == "Europe PMC"]
    assert said == ([] if enabled else ["Switched off in the settings."])


def test_the_store_of_the_pace_is_named_and_tried(
    cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgres_url: str
) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_CACHE_DIR", str(tmp_path))
    finding = _finding(cli("doctor", "--offline", "--json"), "pace")
    assert (finding["status"], str(tmp_path) in finding["text"]) == ("ok", True)

    monkeypatch.setenv("LITERATURE_AGENT_DATABASE_URL", postgres_url)
    finding = _finding(cli("doctor", "--offline", "--json"), "pace")
    assert finding["status"] == "warning"
    assert "RATE_LIMIT_STORE" in finding["todo"]

    monkeypatch.setenv("LITERATURE_AGENT_RATE_LIMIT_STORE", postgres_url)
    done = cli("doctor", "--json", "--offline")
    assert "which was not asked" in _finding(done, "pace")["text"]
    assert "answers are kept in the database" in _finding(done, "cache")["text"]


def test_a_store_that_answers_is_said_to(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_RATE_LIMIT_STORE", postgres_url)
    finding = _finding(cli("doctor", "--json"), "pace")
    assert finding["status"] == "ok"
    assert "which answers" in finding["text"]


def test_a_store_that_cannot_be_reached_is_wrong_and_its_password_not_shown(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_RATE_LIMIT_STORE", "postgresql://u:SECRET@127.0.0.1:1/papers")
    monkeypatch.setenv("EUROPEPMC_ENABLED", "false")
    done = cli("doctor", "--json")
    assert done.code == 2
    finding = _finding(done, "pace")
    assert finding["status"] == "wrong"
    assert "Nothing can be sent" in finding["text"]
    assert "SECRET" not in done.out + done.err
