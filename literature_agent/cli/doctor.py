"""`doctor`: what is set, what answers, what leaves this machine, and what to do about each finding."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from literature_agent.cli import options
from literature_agent.cli.mcp import TOKEN
from literature_agent.cli.screen import USAGE, Screen, color_wanted
from literature_agent.errors import ConfigurationError, LiteratureError, counted, meant

if TYPE_CHECKING:
    from literature_agent.settings import Settings
    from literature_agent.sources import Source
    from literature_agent.transport import Transport

KEY_PAGE = "https://account.ncbi.nlm.nih.gov/settings/"
"""Where NCBI gives out API keys (NBK25497)."""

TIMEOUT_S = 10.0
CLOCK_TOLERANCE_S = 60.0
_PACKAGES = ("literature-agent", "pydantic-ai-slim", "pydantic", "httpx", "lxml", "typer", "rich")
_PROBE = "diabetes"
_PREFIX = "LITERATURE_AGENT_"


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `wrong` means that the configuration is broken; `warning`, that it works with less."""

    name: str
    status: Literal["ok", "warning", "wrong"]
    text: str
    todo: str = ""


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Ask no source; look at this machine only.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Check settings, sources, model and cache on this machine.

    Says what to do about each finding. Shows no key, only whether one is set. Exit code 0 unless the configuration is
    broken (2).
    """
    screen = Screen(json=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    with screen.logging():
        findings = list(_examine(offline))
    wrong = any(finding.status == "wrong" for finding in findings)
    if json:
        screen.document({"ok": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        screen.result(_listed(findings, screen.width))
    return USAGE if wrong else 0


def _examine(offline: bool) -> Iterator[Finding]:
    from literature_agent.settings import load_settings

    yield from _installation()
    yield from _misspelt_settings()
    try:
        settings = load_settings()
    except ConfigurationError as refused:
        yield Finding("settings", "wrong", refused.message, refused.recovery)
        return
    yield from _identity(settings)
    yield _model(settings)
    yield _cache(settings)
    yield _pace(settings, offline)
    yield from _sources(settings, offline)
    yield from _what_leaves(settings)


def _installation() -> Iterator[Finding]:
    yield Finding("python", "ok", f"Python {platform.python_version()} on {platform.system()}.")
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding("packages", "warning", f"{name} is not installed.", "Install this package again.")
    yield Finding("packages", "ok", ", ".join(found) + ".")


def _misspelt_settings() -> Iterator[Finding]:
    from literature_agent.settings import Settings

    known = {name.upper() for name in Settings.model_fields} | {"SECRETS_DIR", TOKEN.removeprefix(_PREFIX)}
    for name in sorted(os.environ):
        written = name.upper().removeprefix(_PREFIX)
        if name.upper().startswith(_PREFIX) and written not in known:
            todo = meant(written, known).strip() or "Remove it."
            yield Finding("settings", "warning", f"{name} is no setting of this program.", todo)


def _identity(settings: Settings) -> Iterator[Finding]:
    if settings.ncbi_api_key is not None:
        yield Finding("NCBI API key", "ok", "Set: PubMed may be asked 10 times a second.")
    else:
        yield Finding(
            "NCBI API key",
            "warning",
            "Not set: PubMed may be asked 3 times a second by everybody at this address together.",
            f"Register a free key at {KEY_PAGE} and set NCBI_API_KEY.",
        )
    if settings.email is not None:
        yield Finding("e-mail", "ok", "Set: NCBI can reach you before it blocks this address.")
    else:
        yield Finding(
            "e-mail",
            "warning",
            "Not set: NCBI asks for a contact address with each request.",
            f"Set {_PREFIX}EMAIL.",
        )


def _model(settings: Settings) -> Finding:
    from literature_agent.agents.models import EXTRACTIVE, model_name, resolve_model

    name = settings.model or EXTRACTIVE
    try:
        chosen = model_name(resolve_model(name))
    except LiteratureError as refused:
        return Finding("model", "wrong", refused.message, refused.recovery)
    if chosen == EXTRACTIVE:
        return Finding(
            "model",
            "ok",
            "`extractive`: sentences selected by rule, no language model, no key, no cost.",
            f"For a written synthesis set {_PREFIX}MODEL, for example to anthropic:claude-sonnet-4-5.",
        )
    return Finding(
        "model", "ok", f"{chosen}: its name and key are set. The provider was not asked: that may cost money."
    )


def _cache(settings: Settings) -> Finding:
    from literature_agent.transport.cache import database_of

    folder = settings.cache_dir
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (Path(existing).is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        todo = f"Set {_PREFIX}CACHE_DIR to a folder of yours."
        return Finding("cache", "warning", f"{folder} can't be written.", todo)
    try:
        shared = database_of(settings)
    except ConfigurationError as refused:
        return Finding("cache", "wrong", refused.message, refused.recovery)
    if shared is not None:
        return Finding("cache", "ok", f"{folder} can be written; answers are kept in the {shared.name}.")
    return Finding("cache", "ok", f"{folder} can be written.")


def _pace(settings: Settings, offline: bool) -> Finding:
    """Who shares the pace, and whether its store can be used. A file is tried always, a database not if `offline`."""
    from literature_agent.transport.stores import PostgresPaceStore, pace_store

    name = "pace"
    try:
        store = pace_store(settings)
        wanted = store.shared
        is_database = isinstance(store, PostgresPaceStore)
        if not (offline and is_database):
            store.change("doctor", time.time, lambda kept: None)
    except LiteratureError as refused:
        return Finding(name, "wrong", f"{refused.message} Nothing can be sent.", refused.recovery)
    if is_database:
        reached = "was not asked" if offline else "answers"
        return Finding(name, "ok", f"Shared by all who use the {store.where}, which {reached}.")
    if wanted and not store.shared:
        todo = f"Set {_PREFIX}CACHE_DIR or {_PREFIX}RATE_LIMIT_STORE."
        return Finding(name, "warning", "Kept in this process alone: its file cannot be used.", todo)
    if "postgres" in (settings.database_url.get_secret_value() if settings.database_url else ""):
        todo = f"If several machines use one key or address, set {_PREFIX}RATE_LIMIT_STORE to that database too."
        return Finding(name, "warning", f"Kept in {store.where}, though {_PREFIX}DATABASE_URL is shared.", todo)
    who = "Shared by all processes of this machine, in" if store.shared else "Kept in"
    return Finding(name, "ok", f"{who} {store.where}.")


def _sources(settings: Settings, offline: bool) -> Iterator[Finding]:
    from literature_agent.sources import SOURCES

    enabled = [source for source in SOURCES if source.enabled(settings)]
    for source in SOURCES:
        if source not in enabled:
            yield Finding(source.label, "warning", "Switched off in the settings.")
    if offline:
        return
    from literature_agent.agents.sync import run_in_own_loop

    yield from run_in_own_loop(lambda: _ask_all(enabled, settings))


async def _ask_all(sources: list[Source], settings: Settings) -> list[Finding]:
    from literature_agent.transport import Transport
    from literature_agent.transport.network import DirectOrProxied

    once = settings.model_copy(update={"retry_attempts": 1, "cache": "off", "breaker": "off"})
    from literature_agent.cli.clock import TimedNetwork

    network = TimedNetwork(DirectOrProxied())
    async with aclosing(network), Transport(once, network=network) as transport:
        answers = await asyncio.gather(*(_ask(source, transport) for source in sources))
    return [*answers, *_clock(network.ahead)]


def _clock(ahead: Sequence[float]) -> Iterator[Finding]:
    """Whether the dates of a search log would be right; the middle one of several clocks is believed."""
    if not ahead:
        return
    seconds = median(ahead)
    if abs(seconds) <= CLOCK_TOLERANCE_S:
        yield Finding("clock", "ok", f"Agrees with the services to {CLOCK_TOLERANCE_S:.0f} s.")
    else:
        apart = f"{abs(seconds):,.0f} s {'ahead of' if seconds > 0 else 'behind'} the services"
        yield Finding("clock", "warning", f"{apart}: dates in search logs will be wrong.", "Set the clock.")


async def _ask(source: Source, transport: Transport) -> Finding:
    """Whether a small search of the source is answered; this also tries the key."""
    try:
        with transport.deadline(TIMEOUT_S):
            result = await source.build(transport).search(_PROBE, max_results=1, **source.probe)
    except LiteratureError as error:
        broken = error.reason.endswith("_configuration")
        return Finding(source.label, "wrong" if broken else "warning", f"No answer: {error.message}", error.recovery)
    return Finding(source.label, "ok", f"Answers ({counted(result.total or 0, 'hit')} for {_PROBE!r}).")


def _what_leaves(settings: Settings) -> Iterator[Finding]:
    from literature_agent.sources import SOURCES

    for source in SOURCES:
        if source.enabled(settings):
            yield Finding("leaves this machine", "ok", source.leaves)
    if settings.model not in (None, "extractive"):
        yield Finding(
            "leaves this machine",
            "ok",
            f"To the provider of {settings.model}: your question and the titles and abstracts that were found.",
        )


def _listed(findings: list[Finding], width: int) -> str:
    from literature_agent.render import one_line, wrapped

    signs = {"ok": "ok     ", "warning": "warning", "wrong": "WRONG  "}
    lines = []
    for finding in findings:
        first = f"{signs[finding.status]} {finding.name}: "
        lines += wrapped(first + one_line(finding.text), width, hanging=" " * 8)
        if finding.todo:
            lines += wrapped(one_line(finding.todo), width, first=" " * 8 + "-> ", hanging=" " * 11)
    return "\n".join(lines)
