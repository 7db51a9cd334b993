"""Recordings given again: the answers of one recorded run, without a network."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, TypeAlias, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from literature_agent.errors import InvalidInputError, LiteratureError, reason_of, source_error
from literature_agent.settings import Settings
from literature_agent.transport.messages import Answer, Request
from literature_agent.transport.recording import (
    LARGEST_FILE,
    MANIFEST,
    Entry,
    KeptCall,
    Kind,
    Manifest,
    Recorder,
    Scrub,
    key_of_request,
    line_of_request,
)

_MOST_FILES = 100_000
_NAME = re.compile(r"(upstream|model)-[0-9a-f]{40}-[1-9][0-9]{0,5}\.json")

# How long a call that the record has cut short waits for the end of the run, seconds.
_PATIENCE_S = 10.0
# Turns of the event loop that let calls begun together begin before the first of them has its answer.
_TURNS = 20
_TURNS_BEFORE_CUT = 1000

M = TypeVar("M", bound=BaseModel)


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
        if len(names) > _MOST_FILES:
            self._broken(f"it holds more than {_MOST_FILES:,} files")
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
