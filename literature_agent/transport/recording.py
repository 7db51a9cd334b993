"""Recordings: what services and model answered in one run, kept in a folder, and given again without a network.

The folder holds `run.json` and a file for each exchange, named by a hash of the request and its place among equal
requests, so that the same request asked twice may have two answers. Of a request its hash and one readable line are
kept, of an answer its status, type and body: no header, no credential. Keys, e-mail addresses and the caller's network
address are hidden before anything is hashed, kept or read, so that a replay sees just what the run saw.

A recording may come from anybody: it is JSON of a fixed shape, bounded in size, and no name in it leads to a file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from literature_agent.errors import (
    ConfigurationError,
    InvalidInputError,
    LiteratureError,
    SourceError,
    reason_of,
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
_LONGEST_LINE = 2_000


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


def recorded(settings: Settings) -> Settings:
    """Settings of a run that is recorded: every answer comes from a service."""
    return settings.model_copy(update={"cache": "off"})
