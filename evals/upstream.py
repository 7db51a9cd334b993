"""What the agent searches during a run, frozen: the sandbox over a named corpus, or recorded answers.

The date is frozen too, since a search of preprints asks for the last days.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import httpx

from evals.cases import FaultOn
from literature_agent import LiteratureAggregator, Settings
from literature_agent.agents.recording import recorded_run
from literature_agent.errors import InvalidInputError
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.settings import load_settings
from literature_agent.transport import Player, Recorder, Recording, Transport
from literature_agent.transport.recording import MANIFEST, KeptCall

PACKAGED = "packaged"
RECORDING = "recording"
"""In place of a corpus: what a recording holds is all there is, as where real services were recorded."""
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

    def _new_transport(self, recording: Recording | None = None) -> Transport:
        return Transport(self.settings, network=self._network, clock=FrozenDay(), recording=recording)


class Upstream(Protocol):
    """What is asked during a run. Use it as a context manager."""

    corpus_name: str
    """`packaged`, or the folder whose files tell evaluators what there is."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def place(self, faults: Sequence[FaultOn] = ()) -> AbstractContextManager[Place]:
        """The upstream of one case, with its faults on."""
        ...

    def recording(self, case: str, question: str) -> Recording | None:
        """Where the case is recorded to, or replayed from."""
        ...


class Sandbox:
    """The sandbox over a corpus; a case with faults gets a server of its own.

    Args:
        corpus: `packaged`, or a folder.
        record: a folder that receives a recording of each case.

    Raises:
        InvalidInputError: the corpus folder does not exist or holds no record.
    """

    def __init__(self, corpus: str = PACKAGED, *, record: Path | None = None) -> None:
        self.corpus_name = corpus
        self._record = record
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
            yield Place(_settings(**self._server.settings_overrides()), None, self._server)
            return
        with SandboxServer(self._corpus, today=lambda: TODAY) as server:
            for fault in faults:
                server.faults.set(**fault.model_dump())
            yield Place(_settings(**server.settings_overrides()), None, server)

    def recording(self, case: str, question: str) -> Recorder | None:
        """Where the case is recorded to. What a run that was stopped has left there is recorded anew."""
        if self._record is None:
            return None
        folder = self._record / slug(case)
        if (folder / MANIFEST).is_file():
            shutil.rmtree(folder)
        return Recorder(folder)


class Recordings:
    """Recorded runs in place of a server: nothing is asked of any network.

    A folder that `--record` filled, one folder for each case; recordings that `literature-agent run --record` made
    serve too, below that folder or as it: a case takes the one of its name, else one of its question.

    Raises:
        InvalidInputError: the folder holds no recording.
    """

    def __init__(self, folder: Path, corpus: str = PACKAGED) -> None:
        self.folder = folder
        self.corpus_name = corpus
        found = [folder, *sorted(folder.iterdir())] if folder.is_dir() else []
        self._runs = [place for place in found if (place / MANIFEST).is_file()]
        if not self._runs:
            raise InvalidInputError(
                f"{str(folder)!r} holds no recording.", recovery="Name a folder that `--record` filled."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    @contextmanager
    def place(self, faults: Sequence[FaultOn] = ()) -> Iterator[Place]:
        """Nowhere: faults are on record as they struck."""
        yield Place(_settings(), None, None)

    def recording(self, case: str, question: str) -> Player:
        """The recording of a case. One that was made of another case by its name does not serve.

        Raises:
            InvalidInputError: there is none, or it is broken.
        """
        named = self.folder / slug(case)
        if named in self._runs:
            return Player(named)
        for place in self._runs:
            if not _SLUG.fullmatch(place.name) and _question_of(place) == question.strip():
                return Player(place)
        raise InvalidInputError(
            f"{str(self.folder)!r} holds no recording of the case {case!r}.", recovery="Record the run anew."
        )

    def bodies(self) -> Iterator[tuple[str, bytes]]:
        """Every answer of a service that is XML or JSON, each once, named by its hash."""
        found: dict[str, bytes] = {}
        for player in (Player(place) for place in self._runs):
            for entry in player.exchanges("upstream"):
                for answer in (kept.answer() for kept in player.content(entry, KeptCall).answers):
                    kind = {b"<": "xml", b"{": "json", b"[": "json"}.get(answer.body.lstrip()[:1])
                    if kind and answer.status == 200:
                        found[f"{hashlib.sha256(answer.body).hexdigest()[:16]}.{kind}"] = answer.body
        yield from sorted(found.items())

    def hash(self) -> str:
        """One hash over what was recorded: of each run what it says of itself, and its exchanges."""
        whole = hashlib.sha256()
        for place in self._runs:
            whole.update((place / MANIFEST).read_bytes())
            for file in sorted(place.iterdir()):
                whole.update(f"{file.name} {file.stat().st_size}\n".encode())
        return whole.hexdigest()[:16]


def _question_of(recording: Path) -> str | None:
    """What was asked; None where the recording is broken, which is no matter of other cases."""
    try:
        return recorded_run(Player(recording)).request.question.strip()
    except InvalidInputError:
        return None


def upstream_of(corpus: str, record: Path | None = None, replay: Path | None = None) -> Upstream:
    """The sandbox over a corpus, or recordings.

    Raises:
        InvalidInputError: folder of corpus or recordings can't be used.
    """
    return Sandbox(corpus, record=record) if replay is None else Recordings(replay, corpus)


def slug(case: str) -> str:
    """The name of a case as name of a file or folder."""
    plain = re.sub(r"[^\w.-]+", "-", case).strip("-")[:60]
    return f"{plain}-{hashlib.sha256(case.encode()).hexdigest()[:6]}"


_SLUG = re.compile(r".*-[0-9a-f]{6}")


def _settings(**places: Any) -> Settings:
    # Everything that could move a score is set here, whatever the environment says.
    return load_settings(
        **places,
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
    """Name and content of every file of a corpus, in order of name; of `recording:FOLDER` what services answered there.

    Raises:
        InvalidInputError: the folder does not exist.
    """
    if corpus == PACKAGED:
        with resources.as_file(resources.files("literature_agent.sandbox") / "corpus") as packaged:
            yield from _below(packaged)
        return
    kind, _, folder = corpus.partition(":")
    if kind == RECORDING and folder:
        yield from Recordings(Path(folder)).bodies()
        return
    if not Path(corpus).is_dir():
        raise InvalidInputError(f"The corpus folder {corpus!r} does not exist.", recovery="Name a folder that exists.")
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
