"""Who may call what, as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from literature_agent.errors import ConfigurationError
from literature_agent.mcp_server.policy import (
    DEFAULT_TOOLS,
    EXPOSABLE,
    Policy,
    hash_token,
    loopback_policy,
    new_token,
    read_policy,
    stdio_policy,
)

FULL = """
[http]
allowed_hosts = ["lit.example.org"]
allowed_origins = ["https://lit.example.org"]
max_body_bytes = 200000

[http.jwt]
issuer = "https://id.example.org"
audience = "literature"
public_key_file = "key.pem"

[[consumer]]
name = "stdio"
tools = ["search_pubmed", "literature_aggregator"]

[[consumer]]
name = "team"
tools = ["search_pubmed", "pubmed_europepmc_search"]
identifiers = "raw"
token_sha256 = ["HASH"]
calls_per_day = 100
runs_per_day = 5

[consumer.budget]
max_requests = 10
deadline_s = 60
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_policy_is_read_from_toml(tmp_path: Path) -> None:
    token, hashed = new_token()
    policy = read_policy(write(tmp_path, FULL.replace("HASH", hashed)))
    team = policy.of_token(token)
    assert team is not None
    assert (team.name, team.identifiers, team.budget.deadline_s) == ("team", "raw", 60)
    stdio = policy.named("stdio")
    assert stdio is not None
    assert stdio.tools == ("literature_aggregator", "search_pubmed")
    assert policy.http.allowed_hosts == ("lit.example.org",)
    assert policy.of_token(hashed) is None
    assert token not in policy.model_dump_json()


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ('[[consumer]]\nname = "a"\ntools = ["nosuch"]', "nosuch"),
        ('[[consumer]]\nname = "a"\ntools = ["search_pumbed"]', "Did you mean 'search_pubmed'?"),
        ('[[consumer]]\nname = "a"\ntools = ["pubmed_europepmc_search"]', "raw"),
        ('[[consumer]]\nname = "a"\ntoken_sha256 = "my-secret-token"', "SHA-256"),
        ('[[consumer]]\nname = "a"\n[[consumer]]\nname = "a"', "same name"),
        ('[[consumer]]\nname = "a"\nmodel = "openai:x"', "consumer.0.model"),
        ("nonsense = 1", "nonsense"),
        ("[[", "can't be read"),
    ],
)
def test_a_policy_that_is_refused_says_where_and_never_a_secret(tmp_path: Path, broken: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_policy(write(tmp_path, broken))
    assert said in refused.value.message
    assert "my-secret-token" not in refused.value.message


def test_a_policy_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nosuch"):
        read_policy(tmp_path / "nosuch.toml")


def test_the_default_is_three_tools_on_stdio_and_nobody_over_http() -> None:
    assert stdio_policy().consumers[0].tools == DEFAULT_TOOLS
    assert Policy().consumers == ()
    assert {"pubmed_europepmc_search", "pubmed_europepmc_fetch"} <= set(
        stdio_policy(identifiers="raw").consumers[0].tools
    )
    assert not {name for name in EXPOSABLE if name.startswith("literature_s")} & set(DEFAULT_TOOLS)
    with pytest.raises(ConfigurationError, match="nosuch"):
        stdio_policy(tools=["nosuch"])


def test_a_token_for_the_loopback_address_must_be_long() -> None:
    token, _ = new_token()
    assert loopback_policy(token).of_token(token) is not None
    assert loopback_policy(token).consumers[0].token_sha256 == (hash_token(token),)
    with pytest.raises(ConfigurationError, match="too short"):
        loopback_policy("secret")
