"""The ways a service fails, to be switched on for one service or all: what a client must live with."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from literature_agent.errors import InvalidInputError
from literature_agent.sandbox.messages import Reply, json_reply

FaultKind = Literal["rate_limit", "server_error", "slow", "cut", "html", "empty_envelope", "refuse"]
Service = Literal["all", "eutils", "pmc", "europepmc", "biorxiv", "clinicaltrials"]

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
SERVICES: tuple[Service, ...] = get_args(Service)
_SERVER_ERRORS = (500, 501, 502, 503, 504)
_LONGEST_WAIT_S = 600.0

_HTML = (
    b"<!DOCTYPE html>\n<html><head><title>Service temporarily unavailable</title></head>"
    b"<body><h1>Service temporarily unavailable</h1><p>We are working on it.</p></body></html>\n"
)
_EMPTY_ENVELOPES: dict[str, tuple[str, bytes]] = {
    "europepmc": ("application/json;charset=UTF-8", b'{"version":"6.9"}'),
    "biorxiv": ("application/json", b""),
    "clinicaltrials": ("application/json", b"{}"),
}
_PROLOG = (
    b'<?xml version="1.0" encoding="UTF-8" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "">\n'
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault as it stands: `times` is how often it still strikes (None: until cleared).

    `status` belongs to `server_error`, `seconds` to `slow` (the wait) and `rate_limit` (`Retry-After`). `path`
    narrows it to addresses that contain this text.
    """

    service: Service
    kind: FaultKind
    times: int | None = None
    status: int = 503
    seconds: float = 1.0
    path: str = ""


class Faults:
    """The faults switched on at a server. Nothing is on at first; safe to change while requests run."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def set(
        self,
        service: str,
        kind: str,
        *,
        times: int | None = None,
        status: int = 503,
        seconds: float = 1.0,
        path: str = "",
    ) -> Fault:
        """Switch a fault on; several may stand at once, and the oldest that fits a request strikes.

        Raises:
            InvalidInputError: a service, kind, status, wait or count that does not exist.
        """
        fault = Fault(
            service=_one_of(SERVICES, service, "service"),
            kind=_one_of(KINDS, kind, "fault"),
            times=_whole(times, "times") if times is not None else None,
            status=_whole(status, "status"),
            seconds=_seconds(seconds),
            path=path,
        )
        if fault.kind == "server_error" and fault.status not in _SERVER_ERRORS:
            raise InvalidInputError(f"A server error has one of the statuses {_SERVER_ERRORS}, not {fault.status}.")
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self, service: str | None = None) -> None:
        """Switch off the faults of one service, or all of them."""
        with self._lock:
            self._faults = [] if service is None else [f for f in self._faults if f.service != service]

    def standing(self) -> list[Fault]:
        """The faults that are on, in the order they were switched on."""
        with self._lock:
            return list(self._faults)

    def strike(self, service: str, path: str) -> Fault | None:
        """The fault for this request, counted as used; None where nothing is wrong."""
        with self._lock:
            for position, fault in enumerate(self._faults):
                if fault.service not in {"all", service} or fault.path not in path:
                    continue
                if fault.times is not None:
                    left = Fault(**{**asdict(fault), "times": fault.times - 1})
                    self._faults[position : position + 1] = [left] if left.times else []
                return fault
        return None

    def from_json(self, value: object) -> Fault:
        """Switch on what a control request describes: `service`, `fault`, and optionally the rest of `Fault`."""
        if not isinstance(value, Mapping):
            raise InvalidInputError("A fault is a JSON object with `service` and `fault`.")
        options: dict[str, Any] = {k: v for k, v in value.items() if k not in {"service", "fault", "kind"}}
        unknown = set(options) - {"times", "status", "seconds", "path"}
        if unknown:
            raise InvalidInputError(f"A fault has no {', '.join(sorted(map(repr, unknown)))}.")
        if not isinstance(options.get("path", ""), str):
            raise InvalidInputError("The path of a fault is text.")
        return self.set(str(value.get("service", "all")), str(value.get("fault", value.get("kind"))), **options)


def faulty_reply(fault: Fault, service: str) -> Reply | None:
    """The answer that a fault puts in place of the real one; None for faults of the connection itself."""
    if fault.kind == "rate_limit":
        return rate_limited(seconds=fault.seconds)
    if fault.kind == "server_error":
        return Reply(fault.status, "text/html; charset=UTF-8", _HTML)
    if fault.kind == "html":
        return Reply(200, "text/html; charset=UTF-8", _HTML)
    if fault.kind == "empty_envelope":
        content_type, body = _EMPTY_ENVELOPES.get(service, ("text/xml; charset=UTF-8", _PROLOG))
        return Reply(200, content_type, body)
    return None


def rate_limited(*, seconds: float = 2.0, limit: int = 3) -> Reply:
    """HTTP 429 with NCBI's body, which is JSON whatever was asked for."""
    reply = json_reply(
        {"error": "API rate limit exceeded", "api-key": "127.0.0.1", "count": str(limit + 1), "limit": str(limit)},
        status=429,
    )
    wait = f"{seconds:g}" if seconds == int(seconds) else str(int(seconds) + 1)
    headers = {"Retry-After": wait, "X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": "0"}
    return Reply(reply.status, "application/json", reply.body, headers)


def _one_of(known: tuple[Any, ...], value: str, what: str) -> Any:
    if value not in known:
        raise InvalidInputError(f"Unknown {what} {value!r}: choose one of {', '.join(known)}.")
    return value


def _whole(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInputError(f"The {what} of a fault is a whole number above 0, not {value!r}.")
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LONGEST_WAIT_S:
        raise InvalidInputError(f"The seconds of a fault lie between 0 and {_LONGEST_WAIT_S:g}, not {value!r}.")
    return float(value)
