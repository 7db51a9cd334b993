"""What the agent searches during a run, frozen: the sandbox over a named corpus, or recorded answers.

The date is frozen too, since a search of preprints asks for the last days.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import NamedTuple, Self

import httpx

from evals.cases import FaultOn
from literature_agent import LiteratureAggregator, Settings
from literature_agent.errors import InvalidInputError
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.settings import load_settings
from literature_agent.transport import Transport

PACKAGED = "packaged"
TODAY = datetime.date(2026, 11, 30)
SOURCES = ("pubmed", "europepmc", "biorxiv", "medrxiv", "clinicaltrials")


class FrozenDay:
    """The clock of this machine, except that the day is always `TODAY`."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime.datetime:
        of_day = datetime.datetime.now(datetime.UTC).time()
        return datetime.datetime.combine(TODAY, of_day, datetime.UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def block(self, seconds: float) -> None:
        time.sleep(seconds)


class Place(NamedTuple):
    """Where the clients of one case are pointed."""

    settings: Settings
    network: httpx.AsyncBaseTransport | None
    server: SandboxServer | None


class Aggregator(LiteratureAggregator):
    """The aggregator on the frozen day, over the upstream of a case."""

    def __init__(self, place: Place) -> None:
        super().__init__(settings=place.settings)
        self._network = place.network

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        transport = Transport(self.settings, network=self._network, clock=FrozenDay())
        self._transport = await self._stack.enter_async_context(transport)
        return self


class Upstream:
    """The sandbox over a corpus. Use it as a context manager; a case with faults gets a server of its own.

    Raises:
        InvalidInputError: the corpus folder does not exist or holds no record.
    """

    def __init__(self, corpus: str = PACKAGED) -> None:
        self.corpus_name = corpus
        self._corpus = Corpus.packaged() if corpus == PACKAGED else Corpus.from_folder(Path(corpus))
        self._server = SandboxServer(self._corpus, today=lambda: TODAY)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self._corpus.close()

    @contextmanager
    def place(self, faults: Sequence[FaultOn] = ()) -> Iterator[Place]:
        """The upstream of one case, with its faults on."""
        if not faults:
            yield Place(_settings(self._server), None, self._server)
            return
        with SandboxServer(self._corpus, today=lambda: TODAY) as server:
            for fault in faults:
                server.faults.set(**fault.model_dump())
            yield Place(_settings(server), None, server)


def _settings(server: SandboxServer) -> Settings:
    # Everything that could move a score is set here, whatever the environment says.
    return load_settings(
        **server.settings_overrides(),
        sources=SOURCES,
        europepmc_enabled=True,
        pace="off",
        cache="off",
        breaker="off",
        rate_limit_store="memory",
        retry_attempts=3,
        retry_max_wait_s=0.01,
        repair_rounds=2,
        biorxiv_max_pages=60,
    )


def corpus_files(corpus: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file of a corpus, in order of name.

    Raises:
        InvalidInputError: the folder does not exist.
    """
    if corpus == PACKAGED:
        with resources.as_file(resources.files("literature_agent.sandbox") / "corpus") as packaged:
            yield from _below(packaged)
        return
    if not Path(corpus).is_dir():
        raise InvalidInputError(f"The corpus folder {corpus!r} does not exist.")
    yield from _below(Path(corpus))


def _below(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix in (".xml", ".nxml", ".json", ".jsonl"):
            yield file.relative_to(folder).as_posix(), file.read_bytes()


def corpus_hash(corpus: str) -> str:
    """One hash over names and contents of the files."""
    whole = hashlib.sha256()
    for name, content in corpus_files(corpus):
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()[:16]
