"""Recordings: what services and model answered in one run, kept in a folder, and given again without a network.

The folder holds `run.json` and a file for each exchange, named by a hash of the request and its place among equal
requests, so that the same request asked twice may have two answers. Of a request its hash and one readable line are
kept, of an answer its status, type and body: no header, no credential. Keys, e-mail addresses and the caller's network
address are hidden before anything is hashed, kept or read, so that a replay sees just what the run saw.

A recording may come from anybody: it is JSON of a fixed shape, bounded in size, and no name in it leads to a file.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from literature_agent.errors import (
    ConfigurationError,
    InvalidInputError,
    LiteratureError,
    SourceError,
    reason_of,
    source_error,
)
from literature_agent.settings import Settings
from literature_agent.transport.hosts import CREDENTIAL_NAMES
from literature_agent.transport.messages import Answer, Request, describe
from literature_agent.transport.secrets import HIDDEN, Secrets

Kind = Literal["upstream", "model"]
Outcome = Literal["answered", "failed", "cut"]

MANIFEST = "run.json"
LARGEST_FILE = 160 * 2**20
"""Bytes; a body of the largest size that is read, as JSON text with its escapes."""
MOST_FILES = 100_000
_LONGEST_LINE = 2_000
_NAME = re.compile(r"(upstream|model)-[0-9a-f]{40}-[1-9][0-9]{0,5}\.json")

# How long a call that the record has cut short waits for the end of the run, seconds.
_PATIENCE_S = 10.0
# Turns of the event loop that let calls begun together begin before the first of them has its answer.
_TURNS = 20
_TURNS_BEFORE_CUT = 1000

M = TypeVar("M", bound=BaseModel)


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeptAnswer(_Kept):
    """One answer of a service; its body as text, or in base 64 where it is none."""

    status: Annotated[int, Field(ge=100, le=999)]
    content_type: Annotated[str, Field(max_length=1_000)] = ""
    text: str | None = None
    base64: str | None = None

    @classmethod
    def of(cls, answer: Answer) -> KeptAnswer:
        kept = cls(status=answer.status, content_type=answer.content_type[:1_000])
        try:
            return kept.model_copy(update={"text": answer.body.decode("utf-8")})
        except UnicodeDecodeError:
            return kept.model_copy(update={"base64": base64.b64encode(answer.body).decode("ascii")})

    def answer(self) -> Answer:
        body = (
            (self.text or "").encode("utf-8") if self.base64 is None else base64.b64decode(self.base64, validate=True)
        )
        return Answer(self.status, body, self.content_type)


_CLASSES: dict[str, type[LiteratureError]] = {
    "source": SourceError,
    "input": InvalidInputError,
    "configuration": ConfigurationError,
}


class KeptError(_Kept):
    """A typed error as it ended a call."""

    kind: Literal["source", "input", "configuration"]
    message: str
    reason: Annotated[str, Field(max_length=100)]
    retryable: bool
    recovery: str

    @classmethod
    def of(cls, error: LiteratureError) -> KeptError:
        kind: Literal["source", "input", "configuration"] = "source"
        if isinstance(error, InvalidInputError | ConfigurationError):
            kind = "input" if isinstance(error, InvalidInputError) else "configuration"
        return cls(
            kind=kind, message=error.message, reason=error.reason, retryable=error.retryable, recovery=error.recovery
        )

    def error(self) -> LiteratureError:
        return _CLASSES[self.kind](self.message, reason=self.reason, retryable=self.retryable, recovery=self.recovery)


class KeptCall(_Kept):
    """What came of one request to a service: every answer, those asked again too, and the error if it ended in one."""

    answers: tuple[KeptAnswer, ...] = ()
    error: KeptError | None = None


class Entry(_Kept):
    """One exchange. `cut`: the run ended before the answer was there."""

    format: Literal[1] = 1
    number: Annotated[int, Field(ge=1)]
    """Place among all exchanges of the run, in order of asking."""
    request: Annotated[str, Field(max_length=_LONGEST_LINE)]
    """One line for people."""
    outcome: Outcome
    ended: AwareDatetime
    content: JsonValue = None


class Manifest(_Kept):
    """The file `run.json`."""

    format: Literal[1] = 1
    run_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    is_complete: bool = False
    """False until the run has ended."""
    about: JsonValue = None
    """What was asked of whom; read by the room of the agents."""
    moments: dict[str, AwareDatetime] = {}
    """Readings of the clock, by name."""
    left: dict[str, float] = {}
    """Seconds that were left until the deadline, by name of the moment."""
    ending: JsonValue = None
    """Why the run ended early; None where it did not."""
    exchanges: Annotated[int, Field(ge=0)] = 0
    """How many exchanges were begun."""


class Scrub:
    """Hides keys, e-mail addresses and network addresses in what is hashed or kept."""

    def __init__(self, settings: Settings) -> None:
        self._secrets = Secrets(settings)

    def text(self, text: str) -> str:
        """`text` with nothing of that in it."""
        return self.body(self._secrets.hide(text).encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def body(self, body: bytes) -> bytes:
        """`body` without keys and e-mail addresses; JSON and XML stay what they are."""
        body = self._secrets.hide_bytes(body)
        if b"api-key" in body:
            body = _ECHOED_KEY.sub(rb'\1"' + HIDDEN.encode() + b'"', body)
        return _without_addresses(body) if b"@" in body else body

    def answer(self, answer: Answer) -> Answer:
        """`answer` so that it may be kept; what refuses a request may name the caller's network address too."""
        body = self.body(answer.body)
        if answer.status >= 400:
            body = _NETWORK_ADDRESS.sub(HIDDEN.encode(), body)
        return replace(answer, body=body, content_type=self.text(answer.content_type))


# NCBI puts the caller's network address there where no key was sent.
_ECHOED_KEY = re.compile(rb'("api-key"\s*:\s*)"[^"]*"')
_NETWORK_ADDRESS = re.compile(rb"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}\b", re.IGNORECASE)
# From the `@` on; what stands before it is looked for backwards, so that a long body is read in linear time.
_DOMAIN = re.compile(rb"@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")
_LOCAL_PART = re.compile(rb"[A-Za-z0-9._%+-]*\Z")
_LONGEST_LOCAL_PART = 64
_ESCAPE = re.compile(rb"u[0-9a-fA-F]{4}|.", re.DOTALL)


def _without_addresses(body: bytes) -> bytes:
    parts: list[bytes] = []
    done = 0
    for found in _DOMAIN.finditer(body):
        window = body[max(done, found.start() - _LONGEST_LOCAL_PART) : found.start()]
        local = _LOCAL_PART.search(window)
        start = found.start() - len(window) + (local.start() if local else len(window))
        if start > 0 and body[start - 1 : start] == b"\\" and (escape := _ESCAPE.match(body, start)) is not None:
            start = min(escape.end(), found.start())  # the letter of an escape in JSON is not part of the address
        parts += [body[done:start], HIDDEN.encode()]
        done = found.end()
    return b"".join([*parts, body[done:]])


def key_of_request(request: Request, scrub: Scrub) -> str:
    """What `request` asks, hashed: service, path, parameters and form; no host, since a replay has none."""
    asked = [
        request.service,
        request.path.lstrip("/"),
        *(
            None if pairs is None else [[n, scrub.text(v)] for n, v in pairs if n not in CREDENTIAL_NAMES]
            for pairs in (request.params, request.form)
        ),
    ]
    return hash_of(asked)


def line_of_request(request: Request, scrub: Scrub) -> str:
    """The request in one line for people."""
    return scrub.text(describe(request))[:_LONGEST_LINE]


def hash_of(asked: Any) -> str:
    """Name of a request: 40 hexadecimal digits."""
    return hashlib.blake2b(json.dumps(asked, sort_keys=True).encode("ascii"), digest_size=20).hexdigest()


# --- recording --------------------------------------------------------------------------------------------------------


@dataclass
class OpenEntry:
    """An exchange that is being recorded. Its place is taken when it is opened, whenever its answer comes."""

    path: Path
    number: int
    request: str
    write: Callable[[Path, BaseModel], None]
    scrub: Scrub
    answers: list[KeptAnswer] = field(default_factory=list)

    def heard(self, answer: Answer) -> Answer:
        """Keep one answer of a service, and give it as it is kept."""
        clean = self.scrub.answer(answer)
        self.answers.append(KeptAnswer.of(clean))
        return clean

    def call(self, error: LiteratureError | None = None) -> JsonValue:
        """What came of a request to a service, to be kept."""
        kept = KeptCall(answers=tuple(self.answers), error=None if error is None else KeptError.of(error))
        content: JsonValue = kept.model_dump(mode="json", exclude_none=True)
        return content

    def close(self, outcome: Outcome, ended: datetime, content: JsonValue = None) -> None:
        """Write the exchange."""
        self.write(
            self.path, Entry(number=self.number, request=self.request, outcome=outcome, ended=ended, content=content)
        )


class Recorder:
    """Records one run into a folder that is new or empty; folder and files are this user's alone.

    Raises:
        InvalidInputError: the folder can't be made, or holds something.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.problem: str | None = None
        """Why the recording is not complete, where it could not be written."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_empty = not any(self.folder.iterdir())
            if is_empty:
                self.folder.chmod(0o700)
        except OSError as refused:
            raise InvalidInputError(
                f"Nothing can be recorded in {str(self.folder)!r}: {reason_of(refused)}.",
                recovery="Name a folder that can be made.",
            ) from None
        if not is_empty:
            raise InvalidInputError(
                f"The folder {str(self.folder)!r} is not empty, and a recording is of one run.",
                recovery="Name a new folder.",
            )
        self._manifest: Manifest | None = None
        self._places: dict[tuple[Kind, str], int] = {}
        self._number = 0
        self._moments: dict[str, datetime] = {}
        self._left: dict[str, float] = {}

    def begin(self, run_id: str, about: JsonValue) -> None:
        """Say which run is recorded; the first thing done.

        Raises:
            InvalidInputError: another run is in the folder already.
        """
        if self._manifest is not None:
            raise InvalidInputError(
                f"The recording in {str(self.folder)!r} has its run already.", recovery="Name a new folder."
            )
        self._manifest = Manifest(run_id=run_id, about=about)
        self._write(self.folder / MANIFEST, self._manifest)

    def finish(self, ending: JsonValue = None) -> None:
        """Say that the run has ended; without it the recording can't be replayed."""
        if self._manifest is not None and self.problem is None:
            update = {"is_complete": True, "moments": self._moments, "left": self._left}
            update |= {"ending": ending, "exchanges": self._number}
            self._write(self.folder / MANIFEST, self._manifest.model_copy(update=update))

    def open(self, kind: Kind, key: str, request: str, scrub: Scrub) -> OpenEntry:
        """Take the place of an exchange that begins now."""
        place = self._places[kind, key] = self._places.get((kind, key), 0) + 1
        self._number += 1
        path = self.folder / f"{kind}-{key}-{place}.json"
        return OpenEntry(path, self._number, request[:_LONGEST_LINE], self._write, scrub)

    def now(self, moment: str, now: datetime) -> datetime:
        """Keep a reading of the clock under a name, if it has one; the first of a name stands."""
        return self._moments.setdefault(moment, now) if moment else now

    def left(self, moment: str, seconds: float | None) -> float | None:
        """Keep how much time was left at a moment, if it has a name and there is a deadline."""
        if moment and seconds is not None:
            self._left[moment] = seconds
        return seconds

    def _write(self, path: Path, content: BaseModel) -> None:
        if self.problem is not None:
            return
        # A file is there whole or not at all.
        new = path.with_name(f".{path.name}.new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content.model_dump_json(indent=1).encode("utf-8"))
            new.replace(path)
        except OSError as refused:
            self.problem = f"The recording in {str(self.folder)!r} is not complete: {reason_of(refused)}."


# --- replaying --------------------------------------------------------------------------------------------------------


class Player:
    """Gives a recorded run again: no network, no waiting, the clock and the run id of the record.

    Raises:
        InvalidInputError: there is no complete recording in the folder, or it is broken.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.problem: LiteratureError | None = None
        """What the recording lacks, since that is no fault of a source and ends the replay."""
        self.on_cut: Callable[[], object] = lambda: None
        """Called where the record has no answer because its run was ended from outside."""
        self._manifest = self._read(MANIFEST, Manifest)
        if not self._manifest.is_complete:
            self._broken("its run was stopped before it had ended", recovery="Record the run again.")
        self._places: dict[tuple[Kind, str], int] = {}
        self._taken = 0
        self._latest = min(self._manifest.moments.values(), default=datetime.fromtimestamp(0, UTC))

    @property
    def run_id(self) -> str:
        return self._manifest.run_id

    @property
    def about(self) -> JsonValue:
        return self._manifest.about

    @property
    def ending(self) -> JsonValue:
        return self._manifest.ending

    def take(self, kind: Kind, key: str, request: str) -> Entry:
        """The next recorded exchange for a request.

        Raises:
            SourceError: `recording_not_found`, there is none.
            InvalidInputError: its file is broken.
        """
        if self.problem is not None:
            raise self.problem
        place = self._places[kind, key] = self._places.get((kind, key), 0) + 1
        name = f"{kind}-{key}-{place}.json"
        self._taken += 1
        if not os.path.lexists(self.folder / name):
            if self._is_over():
                return Entry(number=self._taken, request="", outcome="cut", ended=self._latest)
            again = f" for time {place}" if place > 1 else ""
            what = "a request to the model" if kind == "model" else "a request"
            self.problem = source_error(
                "recording",
                "not_found",
                f"The recording in {str(self.folder)!r} has no answer to {what} that this run makes{again}: {request}",
                recovery="Replay it with the version, prompts and options that recorded it, or record it anew.",
            )
            raise self.problem
        entry = self._read(name, Entry)
        self._latest = max(self._latest, entry.ended.astimezone(UTC))
        return entry

    def _is_over(self) -> bool:
        """Whether the run was ended from outside and has had all its exchanges: what it asks now, it never came to."""
        ending = self._manifest.ending
        from_outside = isinstance(ending, dict) and ending.get("kind") in ("cancelled", "deadline")
        return from_outside and self._taken > self._manifest.exchanges

    def exchanges(self, kind: Kind) -> list[Entry]:
        """All recorded exchanges of a kind, in order of asking.

        Raises:
            InvalidInputError: a file is broken, or there are too many.
        """
        names = [path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        if len(names) > MOST_FILES:
            self._broken(f"it holds more than {MOST_FILES:,} files")
        entries = [self._read(name, Entry) for name in names if name.startswith(f"{kind}-")]
        return sorted(entries, key=lambda entry: entry.number)

    def content(self, entry: Entry, kind: type[M]) -> M:
        """What an exchange holds.

        Raises:
            InvalidInputError: it is broken.
        """
        try:
            return kind.model_validate(entry.content)
        except ValidationError:
            self._broken(f"exchange {entry.number} has another shape")

    async def upstream(
        self, request: Request, scrub: Scrub, failed: Callable[[Answer], None]
    ) -> tuple[Answer, datetime]:
        """The answer of a service, and when it came; `failed` is told of those that were asked for again.

        Raises:
            LiteratureError: the one that the call ended in, or what the recording lacks.
        """
        entry = self.take("upstream", key_of_request(request, scrub), line_of_request(request, scrub))
        await self.its_turn()
        if entry.outcome == "cut":
            await self.cut()
        call = self.content(entry, KeptCall)
        try:
            answers = [kept.answer() for kept in call.answers]
        except ValueError:
            self._broken(f"the body of exchange {entry.number} is not in base 64")
        is_failed = entry.outcome == "failed" and call.error is not None
        for answer in answers if is_failed else answers[:-1]:
            failed(answer)
        if is_failed:
            assert call.error is not None
            raise call.error.error()
        if not answers:
            self._broken(f"exchange {entry.number} holds no answer")
        return answers[-1], entry.ended.astimezone(UTC)

    async def its_turn(self) -> None:
        """Let what was begun at the same time begin too, as it would while a real answer is on its way."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def cut(self) -> NoReturn:
        """End the run as it was ended when it was recorded: from outside, while this call had no answer."""
        for _ in range(_TURNS_BEFORE_CUT):
            if self._taken >= self._manifest.exchanges:
                break
            await asyncio.sleep(0.001)
        # What else was answered before the end is answered first.
        await self.its_turn()
        await self.its_turn()
        self.on_cut()
        await asyncio.sleep(_PATIENCE_S)
        self._broken("it ends in the middle of its run")

    def now(self, moment: str) -> datetime:
        """The recorded reading of that name; else when the latest answer came."""
        found = self._manifest.moments.get(moment)
        return self._latest if found is None else found.astimezone(UTC)

    def had(self, moment: str) -> bool:
        """Whether there is a recorded reading of that name."""
        return moment in self._manifest.moments

    def left(self, moment: str) -> float | None:
        """How much time was left at the moment of that name; None: no deadline."""
        return self._manifest.left.get(moment)

    def _read(self, name: str, kind: type[M]) -> M:
        try:
            # Not followed and not waited for: a link may lead anywhere, a pipe has no end.
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(self.folder / name, flags), "rb") as file:
                state = os.fstat(file.fileno())
                if not stat.S_ISREG(state.st_mode):
                    self._broken(f"{name} is no file")
                if state.st_size > LARGEST_FILE:
                    self._broken(f"{name} is larger than {LARGEST_FILE:,} bytes")
                text = file.read(LARGEST_FILE + 1)
        except OSError as refused:
            if name == MANIFEST and isinstance(refused, FileNotFoundError | NotADirectoryError):
                raise InvalidInputError(
                    f"There is no recording in {str(self.folder)!r}.",
                    recovery="Name a folder that `run --record` filled.",
                ) from None
            self._broken(f"{name} can't be read ({reason_of(refused)})")
        try:
            return kind.model_validate_json(text)
        except ValidationError:
            self._broken(f"{name} has another shape")

    def _broken(self, why: str, recovery: str = "Use one that nobody has changed, or record it anew.") -> NoReturn:
        raise InvalidInputError(
            f"The recording in {str(self.folder)!r} can't be used: {why}.",
            reason="recording_invalid_input",
            recovery=recovery,
        )


Recording: TypeAlias = Recorder | Player
"""Where a run is recorded to, or replayed from."""


def offline(settings: Settings) -> Settings:
    """Settings of a replay: nothing is waited for, stored or left alone."""
    return settings.model_copy(update={"cache": "off", "breaker": "off", "pace": "off", "rate_limit_store": "memory"})


def recorded(settings: Settings) -> Settings:
    """Settings of a run that is recorded: every answer comes from a service."""
    return settings.model_copy(update={"cache": "off"})
