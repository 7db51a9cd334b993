"""Who may call what: consumers, their tools, budgets and credentials, read from a TOML file or made from flags.

Exposable is not exposed: a consumer has exactly the tools that its policy names. Over HTTP nobody is known without a
policy. A token stands in the file as its SHA-256 only; tokens are random and long, so that a plain hash can't be
guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from literature_agent.errors import ConfigurationError, in_words, meant, reason_of
from literature_agent.outputs import Budget

EXPOSABLE = (
    "literature_aggregator",
    "search_pubmed",
    "fetch_pubmed",
    "read_pmc_full_text",
    "search_europepmc",
    "fetch_europepmc",
    "search_biorxiv",
    "fetch_biorxiv",
    "search_clinicaltrials",
    "fetch_clinicaltrial",
    "find_related",
    "search_all",
    "match_citations",
    "convert_ids",
    "lookup_mesh",
    "render_citations",
    "literature_start",
    "literature_status",
    "literature_result",
    "pubmed_europepmc_search",
    "pubmed_europepmc_fetch",
)
"""Every tool that a policy may name, in the order in which they are listed."""
RAW_TOOLS = frozenset({"pubmed_europepmc_search", "pubmed_europepmc_fetch"})
"""Tools that hand out identifiers: only in the identifiers mode `raw`."""
DEFAULT_TOOLS = ("literature_aggregator", "search_pubmed", "read_pmc_full_text")

STDIO = "stdio"
"""Name of the one consumer of a server on standard input and output."""

_HASH = re.compile(r"[0-9a-f]{64}")

Identifiers = Literal["references", "raw"]
Bibliography = Literal["inline", "link"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Consumer(_Part):
    """One consumer: what it may call, how much of it, and how it shows who it is."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    tools: tuple[str, ...] = ()
    identifiers: Identifiers = "references"
    """`references`: its model sees references only; `raw`: identifiers, authors and journals too."""
    bibliography: Bibliography = "inline"
    """How replies carry the bibliography for the person: as text, or as a link to a resource, for clients that hand
    every text to the model."""
    token_sha256: tuple[str, ...] = ()
    """SHA-256, in hexadecimal, of each bearer token it may show."""
    subject: str | None = None
    """`sub` of the JWTs it shows."""
    calls_per_day: Annotated[int, Field(ge=0)] | None = None
    """Tool calls of one day (UTC); None: no limit."""
    runs_per_day: Annotated[int, Field(ge=0)] | None = None
    """Runs of the aggregator in one day, among the calls."""
    requests_per_minute: Annotated[int, Field(ge=1)] = 600
    """HTTP requests, tool calls or not."""
    sessions_at_once: Annotated[int, Field(ge=1)] = 200
    """HTTP sessions open at the same time, for clients of the protocol's versions that have sessions."""
    runs_at_once: Annotated[int, Field(ge=1)] = 4
    budget: Budget = Budget(deadline_s=300.0)
    """Limits of each run of the aggregator."""
    retention_days: Annotated[float, Field(gt=0, le=3650)] = 30.0
    """Works not shown again for so long are evicted, and answers of runs deleted."""

    @field_validator("tools")
    @classmethod
    def _known_tools(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in EXPOSABLE:
                raise ValueError(
                    f"there is no tool {name!r}.{meant(name, EXPOSABLE)} Use some of {', '.join(EXPOSABLE)}"
                )
        return tuple(name for name in EXPOSABLE if name in names)

    @field_validator("token_sha256", mode="before")
    @classmethod
    def _hashes(cls, given: Any) -> Any:
        hashes = [given] if isinstance(given, str) else given
        if isinstance(hashes, list | tuple) and not all(isinstance(h, str) and _HASH.fullmatch(h) for h in hashes):
            raise ValueError("not a SHA-256 in hexadecimal; `literature-agent mcp --new-token` makes a token with it")
        return hashes

    @model_validator(mode="after")
    def _raw_tools_need_raw(self) -> Consumer:
        hidden = RAW_TOOLS.intersection(self.tools) if self.identifiers != "raw" else ()
        if hidden:
            raise ValueError(f'{min(hidden)} hands out identifiers: it needs identifiers = "raw"')
        return self


class Jwt(_Part):
    """How JSON web tokens are checked: one issuer, one audience, one public key."""

    issuer: str
    audience: str
    public_key_file: Path
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"], ...] = ("RS256",)


class Http(_Part):
    """What the HTTP door takes."""

    allowed_hosts: tuple[str, ...] = ()
    """Host headers taken beside those of the loopback address it is bound to (`lit.example.org`)."""
    allowed_origins: tuple[str, ...] = ()
    """Origin headers of browsers taken (`https://lit.example.org`)."""
    max_body_bytes: Annotated[int, Field(ge=1_000)] = 1_000_000
    jwt: Jwt | None = None


class Policy(_Part):
    """All consumers of one server."""

    consumers: tuple[Consumer, ...] = Field(default=(), alias="consumer")
    http: Http = Http()

    @model_validator(mode="after")
    def _told_apart(self) -> Policy:
        for what, values in (
            ("name", [consumer.name for consumer in self.consumers]),
            ("token", [token for consumer in self.consumers for token in consumer.token_sha256]),
            ("subject", [consumer.subject for consumer in self.consumers if consumer.subject is not None]),
        ):
            if len(values) != len(set(values)):
                raise ValueError(f"two consumers have the same {what}")
        return self

    def named(self, name: str) -> Consumer | None:
        return next((consumer for consumer in self.consumers if consumer.name == name), None)

    def of_token(self, token: str) -> Consumer | None:
        """The consumer that shows this bearer token. All hashes are compared, each in constant time."""
        shown = hash_token(token)
        found = None
        for consumer in self.consumers:
            for known in consumer.token_sha256:
                if hmac.compare_digest(known, shown):
                    found = consumer
        return found

    def of_subject(self, subject: str) -> Consumer | None:
        return next((consumer for consumer in self.consumers if consumer.subject == subject), None)


def hash_token(token: str) -> str:
    """SHA-256 of a token, as the policy file has it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_token() -> tuple[str, str]:
    """A token of 256 random bits, and its hash."""
    token = secrets.token_urlsafe(32)
    return token, hash_token(token)


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file.

    Raises:
        ConfigurationError: the file can't be read or is no policy; the message names the member, never its value.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as broken:
        raise ConfigurationError(
            f"The policy file {str(path)!r} can't be read: {reason_of(broken)}.", recovery="Give a policy as TOML."
        ) from None
    try:
        return Policy.model_validate(document)
    except ValidationError as refused:
        first = refused.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(
            f"The policy file {str(path)!r} is refused at {where or 'its top'}: {in_words(first['msg'])}."
        ) from None


def stdio_policy(
    *,
    tools: Sequence[str] | None = None,
    identifiers: Identifiers = "references",
    bibliography: Bibliography = "inline",
) -> Policy:
    """The policy of a server on standard input and output without a file: one consumer with the default tools.

    Raises:
        ConfigurationError: there is no such tool.
    """
    return _policy_of_one(STDIO, tools, identifiers=identifiers, bibliography=bibliography)


def loopback_policy(
    token: str,
    *,
    tools: Sequence[str] | None = None,
    identifiers: Identifiers = "references",
    bibliography: Bibliography = "inline",
) -> Policy:
    """The policy of a server on the loopback address without a file: whoever has the token, with the default tools.

    Raises:
        ConfigurationError: the token is too short, or there is no such tool.
    """
    if len(token) < 24:
        raise ConfigurationError(
            "The token in LITERATURE_AGENT_MCP_TOKEN is too short: it can be guessed.",
            recovery="Make one with `literature-agent mcp --new-token`.",
        )
    return _policy_of_one(
        "loopback",
        tools,
        identifiers=identifiers,
        bibliography=bibliography,
        token_sha256=(hash_token(token),),
    )


def _policy_of_one(name: str, tools: Sequence[str] | None, **members: Any) -> Policy:
    own = sorted(RAW_TOOLS) if members["identifiers"] == "raw" else []
    chosen = tuple(tools) if tools is not None else (*DEFAULT_TOOLS, *own)
    try:
        return Policy(consumer=(Consumer(name=name, tools=chosen, **members),))
    except ValidationError as refused:
        first = refused.errors(include_input=False, include_url=False)[0]
        raise ConfigurationError(f"The tools are refused: {in_words(first['msg'])}.") from None
