"""A server over the small invented corpus of this folder, and short ways to ask it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from literature_agent.sandbox import Corpus, SandboxServer

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def small_corpus() -> Iterator[Corpus]:
    corpus = Corpus.from_folder(Path(__file__).parent / "small_corpus")
    yield corpus
    corpus.close()


@pytest.fixture
def server(small_corpus: Corpus) -> Iterator[SandboxServer]:
    with SandboxServer(small_corpus, today=lambda: datetime.date(2026, 11, 30)) as running:
        yield running


@pytest.fixture
def client(server: SandboxServer) -> Iterator[httpx.Client]:
    # No certificates: nothing here is encrypted, and loading them takes longer than most tests.
    with httpx.Client(base_url=server.base_url, timeout=60, verify=False) as http:
        yield http


@pytest.fixture
def esearch(client: httpx.Client) -> Ask:
    """Ask ESearch for JSON and get `esearchresult`."""

    def ask(term: str, **parameters: str) -> dict[str, Any]:
        sent = {"db": "pubmed", "term": term, "retmode": "json", **parameters}
        reply = client.get("/entrez/eutils/esearch.fcgi", params=sent)
        assert reply.status_code == 200
        result: dict[str, Any] = reply.json()["esearchresult"]
        return result

    return ask


@pytest.fixture
def epmc(client: httpx.Client) -> Ask:
    """Ask Europe PMC's search for JSON and get the envelope."""

    def ask(query: str, **parameters: str) -> dict[str, Any]:
        sent = {"query": query, "format": "json", **parameters}
        reply = client.get("/europepmc/webservices/rest/search", params=sent)
        assert reply.status_code == 200
        envelope: dict[str, Any] = reply.json()
        return envelope

    return ask
