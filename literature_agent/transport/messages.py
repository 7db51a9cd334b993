"""What goes out and what comes back, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Literal, NamedTuple, TypeVar
from urllib.parse import urlencode

from literature_agent.errors import ErrorKind

T = TypeVar("T")

A_DAY = 86_400.0
"""Seconds after which records are asked for anew: a retraction must not be overlooked for longer."""

# What was read is not read in another way (`*+`): a body of many comments would take for ever.
_PAGE = re.compile(rb"(?:\xef\xbb\xbf|\s|<\?xml[^>]*>|<!--.*?-->)*+<(?:!doctype\s+html|html)\b", re.I | re.S)
_BOT_CHECK = re.compile(
    rb"preparing to download|just a moment|captcha|proof.of.work|pow_challenge|checking your browser|access denied|"
    rb"are you a robot|cf-chl|enable javascript and cookies",
    re.I,
)

ServiceName = Literal["eutils", "pmc", "europepmc", "biorxiv", "clinicaltrials"]


@dataclass(frozen=True)
class Request:
    """One request, without credentials: those are added innermost and are never seen above.

    `path` is joined to the base URL that the settings give for `service`. `form` makes it a POST.
    """

    source: str
    """Prefix of the reason of an error: `pubmed`, `europepmc`, `pmc` ..."""
    service: ServiceName
    """Which host answers; pace, job gate and breaker are per service. PubMed and PMC EFetch are both `eutils`."""
    path: str
    params: tuple[tuple[str, str], ...] = ()
    form: tuple[tuple[str, str], ...] | None = None
    accept: str = "*/*"
    max_age_s: float | None = None
    """Age up to which a stored answer will do, seconds; None: as the settings say; 0: asked anew, and not stored."""
    part: str = ""
    """Name of a part of the service that is known to fail by itself: the breaker counts its failures apart."""


@dataclass(frozen=True)
class Answer:
    """A complete answer: `body` was read whole and is within the size cap."""

    status: int
    body: bytes
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""

    def looks_like_html(self) -> bool:
        """Whether a page came where data was asked for (maintenance note, bot check, proxy). JSON that is called a
        page is none."""
        if _PAGE.match(self.body[:2048]):
            return True
        return "text/html" in self.content_type.lower() and not self.body[:64].lstrip().startswith((b"{", b"["))

    def asks_for_a_browser(self) -> bool:
        """Whether the page that came checks if a person asks (K046)."""
        return self.looks_like_html() and _BOT_CHECK.search(self.body[:20_000]) is not None


class Received(NamedTuple, Generic[T]):
    """What a reader made of an answer."""

    value: T
    at: datetime
    """When the service gave the answer: for a stored one not now, but then."""
    was_stored: bool = False
    """Whether nothing was sent for it."""


class TransientAnswer(Exception):  # a signal to the retry loop, never seen by a caller
    """Raised by a source's reader: this answer is a passing fault of the service, ask again.

    `kind` becomes the reason when attempts run out.
    """

    def __init__(self, message: str, *, kind: ErrorKind = "unreachable", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


@dataclass(frozen=True)
class Attempt:
    """One request on the wire, for those who watch: no query, no credentials."""

    source: str
    service: ServiceName
    path: str
    number: int
    """Counted from 1; above 1 it is a repetition."""
    status: int | None
    """None when no whole answer came."""
    size: int
    """Bytes of the decoded body."""
    fault: str = ""
    """What went wrong on the wire."""
    queued_s: float = 0.0
    """Time spent waiting for its turn."""


@dataclass(frozen=True)
class Progress:
    """How far a call of many requests has come, for those who watch: no query, no credentials."""

    source: str
    done: int
    of: int
    text: str
    """A sentence for people."""


def describe(request: Request) -> str:
    """The request in one line, as provenance gives it: method, path, parameters; never credentials."""
    parameters = urlencode((*request.params, *(request.form or ())), safe=',:*[]()"/', errors="replace")
    line = f"{'GET' if request.form is None else 'POST'} {request.path}"
    return f"{line}?{parameters}" if parameters else line
