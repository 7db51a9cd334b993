"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from evals.postgres import Postgres, running_postgres
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.settings import Settings, load_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent

# A shell's background job ignores Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What is loaded stays: Python need not look for garbage in it, neither while test files are loaded nor at the end.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# A loaded machine is slow, not wrong. The same inputs each time, so that a change fails by what it did and not by luck;
# the profile `search` (`pytest -n 0 --hypothesis-profile=search`) and the commands under `evals` try others, and more.
calm = hypothesis.settings(
    deadline=None, database=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], derandomize=False
)
hypothesis.settings.register_profile("search", calm, max_examples=2000)
hypothesis.settings.register_profile("suite", calm, max_examples=50, derandomize=True)
hypothesis.settings.load_profile("suite")


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The optional folder of recorded answers beside the checkout; its absence is a failure in CI, a skip elsewhere."""
    folder = ROOT.parent / "shared"
    if not (folder / "recorded" / "MANIFEST.tsv").is_file():
        if os.environ.get("CI"):
            pytest.fail("CI is set and ../shared (recorded answers) is missing")
        pytest.skip("the optional folder ../shared (recorded answers) is not here")
    return folder


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting, key or proxy of the machine reaches a test; the cache lies in a folder of the test's own, which is
    made by who uses it: most tests need no folder at all."""
    for name in list(os.environ):
        if name.startswith(("LITERATURE_AGENT_", "NCBI_", "EUROPEPMC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{uuid.uuid4().hex}"))


@pytest.fixture(scope="session")
def sandbox() -> Iterator[SandboxServer]:
    """The sandbox over the packaged corpus; faults that a test switches on are off again after it."""
    with SandboxServer(Corpus.packaged()) as server:
        yield server


@pytest.fixture(autouse=True)
def _no_faults_left(request: pytest.FixtureRequest) -> Iterator[None]:
    server: SandboxServer | None = request.getfixturevalue("sandbox") if "sandbox" in request.fixturenames else None
    yield
    if server is not None:
        server.faults.clear()


@pytest.fixture
def settings(sandbox: SandboxServer, tmp_path: Path) -> Settings:
    """Settings that point every service at the sandbox, with short waits and without pace, cache or breaker."""
    return load_settings(
        **sandbox.settings_overrides(),
        cache_dir=tmp_path / "cache",
        pace="off",
        cache="off",
        breaker="off",
        rate_limit_store="memory",
        retry_max_wait_s=0.01,
    )


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """One PostgreSQL for all test processes; a test asks it for a database of its own."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    # Not inside it: pytest closes that folder to other users, and as root the server runs as one.
    name = hashlib.blake2b(str(shared).encode(), digest_size=8).hexdigest()
    with running_postgres(Path(tempfile.gettempdir()) / f"literature-agent-{name}") as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """The address of a new empty database."""
    return postgres.database()


PLACES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without the background services, which ask the network and find none where tests run.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def _missing(reason: str) -> None:
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(f"REQUIRE_BROWSER is set and {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium; the test is skipped where none can be had, and fails there if REQUIRE_BROWSER is set."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("the extra `browser` (playwright) is not installed")
    program = next((path for name in PLACES if (path := shutil.which(name))), None)
    if program is None:
        _missing(f"no Chromium is installed ({', '.join(PLACES)})")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield started
        started.close()
