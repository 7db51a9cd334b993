"""The command line, called in this process against a sandbox of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from literature_agent.cli import main
from literature_agent.sandbox import Corpus, SandboxServer


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """stdout as the one JSON document it must be."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


Run = Callable[..., Done]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Run:
    """`cli("search", "pubmed", "x")` runs the command and gives code, stdout and stderr."""

    def run(*arguments: str) -> Done:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def corpus() -> Iterator[Corpus]:
    packaged = Corpus.packaged()
    yield packaged
    packaged.close()


@pytest.fixture
def server(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxServer]:
    """A sandbox to which the settings of this process point; its faults can be switched on."""
    with SandboxServer(corpus) as running:
        for name, value in running.settings_overrides().items():
            monkeypatch.setenv(f"LITERATURE_AGENT_{name.upper()}", value)
        monkeypatch.setenv("LITERATURE_AGENT_PACE", "off")
        monkeypatch.setenv("LITERATURE_AGENT_RETRY_MAX_WAIT_S", "0.01")
        yield running
