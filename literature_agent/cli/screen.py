"""What a command writes: its result on stdout, everything else on stderr."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from literature_agent.errors import ConfigurationError, InvalidInputError, LiteratureError, told

if TYPE_CHECKING:
    from literature_agent.custody import Event

FAILED, USAGE, PARTIAL = 1, 2, 3
"""Exit codes; 0 is done."""
WIDEST = 100
"""Columns beyond which lines of prose are hard to read."""


@dataclass(frozen=True)
class Screen:
    """The two streams, and how the caller wants them."""

    json: bool = False
    lines: bool = False
    """JSON documents on one line each."""
    quiet: bool = False
    verbose: bool = False
    color: bool = True

    @property
    def width(self) -> int:
        """Columns of text: of the terminal up to `WIDEST`, 80 where stdout is no terminal."""
        return max(40, min(shutil.get_terminal_size().columns, WIDEST)) if sys.stdout.isatty() else 80

    def result(self, text: str) -> None:
        """The result of the command, on stdout."""
        _write(sys.stdout, text if text.endswith("\n") else text + "\n")

    def document(self, document: Mapping[str, Any]) -> None:
        """The result as one JSON document, on stdout; with `lines` one of several, on a line of its own."""
        _write(sys.stdout, to_json(document, sys.stdout.encoding, indent=None if self.lines else 2))

    def note(self, sentence: str) -> None:
        """Something worth knowing beside the result, on stderr; not with `--quiet`, nor if it is empty."""
        if sentence and not self.quiet:
            _write(sys.stderr, _fitted(_safe(sentence)) + "\n")

    def trouble(self, sentence: str) -> None:
        """Something that went wrong beside the result, on stderr; also with `--quiet`."""
        _write(sys.stderr, _fitted(_safe(sentence)) + "\n")

    def error(self, error: LiteratureError) -> None:
        """Why the command failed: in JSON mode as a document on stdout, else one line on stderr."""
        if self.json:
            self.document(error_document(error))
        else:
            _write(sys.stderr, _fitted(f"Error: {_safe(told(error))}") + "\n")

    @contextmanager
    def progress(self, *notes: str) -> Iterator[Callable[[Event], None]]:
        """A listener that shows the events of a run on stderr: live where that is a terminal.

        Elsewhere it says the notes and what failed; with `verbose` every event, a line each. `notes` come before the
        first event: a run that is refused at once says only why.
        """
        waiting = [note for note in notes if note]
        if self.quiet:
            yield lambda event: None
        elif self.verbose or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            started = time.monotonic()
            every = self.verbose or sys.stderr.isatty()

            def tell(event: Event) -> None:
                while waiting:
                    self.note(waiting.pop(0))
                if every or event.kind in ("source_failed", "budget"):
                    line = _safe(f"[{time.monotonic() - started:5.1f} s] {event.text}")
                    _write(sys.stderr, _cut(line) + "\n")

            yield tell
        else:
            from rich.console import Console

            from literature_agent.cli.live import LiveView

            console = Console(stderr=True, no_color=not self.color, highlight=False)
            with LiveView(console, waiting).shown() as view:
                yield view

    @contextmanager
    def logging(self) -> Iterator[None]:
        """With `--verbose`, the package's own log on stderr.

        Only that: the HTTP library logs whole addresses, and those of NCBI carry the key (K118).
        """
        if not self.verbose:
            yield
            return
        logger = logging.getLogger("literature_agent")
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


def color_wanted(no_color: bool) -> bool:
    """Whether colour may be used: not with `--no-color`, nor with NO_COLOR in the environment (no-color.org)."""
    return not no_color and not os.environ.get("NO_COLOR")


def code_of(error: LiteratureError) -> int:
    """The exit code of a command that ends in this error."""
    return USAGE if isinstance(error, InvalidInputError | ConfigurationError) else FAILED


def error_document(error: LiteratureError) -> dict[str, Any]:
    """`{"error": {"reason", "message", "retryable", "recovery"}}`."""
    return {
        "error": {
            "reason": error.reason,
            "message": error.message,
            "retryable": error.retryable,
            "recovery": error.recovery,
        }
    }


def to_json(document: Mapping[str, Any], encoding: str | None = "utf-8", *, indent: int | None = 2) -> str:
    """The document as JSON text, indented or on one line, in ASCII where `encoding` is not UTF-8."""
    unicode_ok = (encoding or "").lower().replace("-", "") in ("utf8", "utf8sig")
    return json.dumps(document, ensure_ascii=not unicode_ok, indent=indent) + "\n"


def _safe(text: str) -> str:
    from literature_agent.render import one_line

    return one_line(text)


def _fitted(text: str) -> str:
    """On a terminal the text broken between words; elsewhere one line, for programs that read lines."""
    if not sys.stderr.isatty():
        return text
    columns = shutil.get_terminal_size().columns
    return textwrap.fill(text, columns, break_long_words=False, break_on_hyphens=False)


def _cut(line: str) -> str:
    """On a terminal as much of the line as fits into one; elsewhere all of it."""
    columns = shutil.get_terminal_size().columns
    return line if not sys.stderr.isatty() or len(line) < columns else line[: columns - 4] + "..."


def _write(stream: IO[str], text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
