"""What stands in place of the network and of time in the tests of a source: prepared answers and a still clock."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote_plus

import httpx
from hypothesis import strategies as st

from literature_agent.settings import Settings

PAYLOADS = Path(__file__).resolve().parent / "payloads"
KINDS = {
    ".xml": "text/xml; charset=UTF-8",
    ".json": "application/json",
    ".html": "text/html",
    ".txt": "text/plain",
}


class StillClock:
    """Time that passes only by waiting, and never really waits."""

    def __init__(self, *, hour: int = 12) -> None:
        self.waited = 0.0
        self.today = datetime(2026, 11, 30, hour, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.waited

    def now(self) -> datetime:
        return self.today + timedelta(seconds=self.waited)

    async def sleep(self, seconds: float) -> None:
        self.waited += seconds

    def block(self, seconds: float) -> None:
        self.waited += seconds


def bare_settings(**more: Any) -> Settings:
    """Each request reaches the network at once and each time: no pace, no cache, no breaker."""
    return Settings(**{"pace": "off", "rate_limit_store": "memory", "cache": "off", "breaker": "off", **more})


@dataclass
class Sent:
    """One request as it went out: `raw` is its query or form, `fields` the same decoded, `line` all of it decoded."""

    method: str
    path: str
    raw: str
    fields: dict[str, str]
    headers: httpx.Headers
    line: str

    @property
    def ids(self) -> list[str]:
        return self.fields["id"].split(",")


def sent_of(request: httpx.Request, cut: str) -> Sent:
    """`cut` is the beginning of the path that tells nothing."""
    raw = request.content.decode("ascii") if request.method == "POST" else request.url.query.decode("ascii")
    fields = {name: values[0] for name, values in parse_qs(raw, keep_blank_values=True).items()}
    line = f"{request.method} {request.url.host}{request.url.path}?{unquote_plus(raw)}"
    return Sent(request.method, request.url.path.removeprefix(cut), raw, fields, request.headers, line)


Reply = Callable[[Sent], httpx.Response]


@dataclass
class Rule:
    """One prepared answer, given `left` times."""

    pattern: re.Pattern[str]
    reply: Reply
    left: int


def _nothing(_: Sent) -> httpx.Response:
    return httpx.Response(404, content=b"", headers={"content-type": "text/plain"})


@dataclass
class Desk:
    """The first prepared answer whose pattern is found in `METHOD host/path?fields` (decoded) is given."""

    payloads: Path
    cut: str = "/"
    otherwise: Reply = _nothing
    sent: list[Sent] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)

    def answers(
        self,
        pattern: str,
        body: str | bytes | dict[str, Any],
        *,
        status: int = 200,
        kind: str = "application/json",
        times: int = 10**9,
        location: str = "",
    ) -> None:
        """`body` is the name of a payload if it ends like one, else what is answered."""
        if isinstance(body, dict):
            body = json.dumps(body)
        if isinstance(body, str) and (suffix := Path(body).suffix) in KINDS and "\n" not in body:
            body, kind = (self.payloads / body).read_bytes(), KINDS[suffix]
        content = body.encode() if isinstance(body, str) else body
        headers = {"content-type": kind, **({"location": location} if location else {})}
        self.answers_by(pattern, lambda _: httpx.Response(status, content=content, headers=headers), times=times)

    def answers_by(self, pattern: str, reply: Reply, *, times: int = 10**9) -> None:
        self.rules.append(Rule(re.compile(pattern), reply, times))

    def fails(self, pattern: str) -> None:
        self.answers(pattern, "busy", status=503, kind="text/plain")

    @property
    def paths(self) -> list[str]:
        """Of each request its path and, where it has one, its query."""
        return [one.path + (f"?{unquote_plus(one.raw)}" if one.raw else "") for one in self.sent]

    def count(self, pattern: str) -> int:
        """How many requests so far match."""
        return sum(1 for one in self.sent if re.search(pattern, one.line))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        sent = sent_of(request, self.cut)
        self.sent.append(sent)
        for rule in self.rules:
            if rule.left > 0 and rule.pattern.search(sent.line):
                rule.left -= 1
                return rule.reply(sent)
        return self.otherwise(sent)


# --- answers that no service would give -------------------------------------------------------------------------------

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += [(*way, key), *_places(inner, (*way, key))]
    return found


@st.composite
def mutated_json(draw: st.DrawFn, paths: list[Path]) -> bytes:
    """One of these answers with up to three of its members replaced by anything, or removed."""
    mutated = copy.deepcopy(json.loads(draw(st.sampled_from(paths)).read_text(encoding="utf-8")))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(mutated)
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        holder = mutated
        for step in way:
            holder = holder[step]
        if draw(st.booleans()):
            holder[last] = draw(ANY_JSON)
        else:
            del holder[last]
    return json.dumps(mutated).encode()


@st.composite
def damaged_bytes(draw: st.DrawFn, paths: list[Path]) -> bytes:
    """One of these answers with bytes cut out, put in, or broken off."""
    body = draw(st.sampled_from(paths)).read_bytes()
    start = draw(st.integers(0, min(len(body), 8000)))
    if draw(st.booleans()):
        return body[:start]
    return body[:start] + draw(st.binary(max_size=12)) + body[start + draw(st.integers(0, 40)) :]
