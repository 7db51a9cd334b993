"""Keys and addresses stay inside (K118)."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from literature_agent.errors import ConfigurationError, LiteratureError, source_error
from literature_agent.settings import Settings
from literature_agent.transport import Answer, Attempt, Request, TransientAnswer, Transport, describe
from literature_agent.transport.secrets import Secrets

if TYPE_CHECKING:
    from tests.transport.conftest import Handler, Loopback, Wire

KEY = "SECRET0123456789abcdef"
EMAIL = "Librarian+pubmed@example.org"
GIVEN = {"ncbi_api_key": KEY, "email": EMAIL}


def leaks(text: str) -> bool:
    low = text.lower()
    return any(secret.lower() in low for secret in (KEY, EMAIL, quote(EMAIL), quote(EMAIL, safe="")))


def everything_about(error: BaseException) -> str:
    """The error as the most talkative of reporters shows it: chain, arguments, and local variables of each frame.

    Without the frame of the test, which knows the secrets.
    """
    shown, seen = "", [error]
    while seen:
        one = seen.pop()
        frames = one.__traceback__.tb_next if one is error and one.__traceback__ else one.__traceback__
        lines = traceback.TracebackException(type(one), one, frames, capture_locals=True, compact=False)
        shown += "".join(lines.stack.format())
        shown += repr(one) + repr(one.args) + repr(vars(one))
        seen += [linked for linked in (one.__cause__, one.__context__) if linked is not None]
        if isinstance(one, httpx.RequestError):
            shown += str(one.request.url)
    return shown


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def echo(status: int, **headers: str) -> Callable[[Handler], None]:
    """As NCBI does: the key in the body, and here in a header too."""
    body = f'{{"error":"API key invalid","api-key":"{KEY}",\n"email":"{EMAIL}","e":"{quote(EMAIL)}"}}'.encode()
    return lambda handler: handler.answer(
        status, body, X_Echo=handler.path, Content_Type=f"text/plain; k={KEY}", **headers
    )


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
@pytest.mark.parametrize("status", [200, 302, 400, 403, 429, 500, 501])
async def test_no_log_line_error_span_or_answer_shows_the_key_or_the_address(
    status: int,
    level: int,
    ask: Request,
    serve: Callable[..., Loopback],
    open_transport: Callable[..., Transport],
    caplog: pytest.LogCaptureFixture,
    spans: InMemorySpanExporter,
) -> None:
    def read(answer: Answer) -> Answer:
        if answer.status == 400:
            raise source_error("pubmed", "configuration", f"NCBI says {answer.body.decode()}") from ValueError(answer)
        return answer

    server = serve(echo(status, **({"Location": f"https://login.example.org/?k={KEY}"} if status == 302 else {})))
    attempts: list[Attempt] = []
    shown = ""
    with caplog.at_level(level):
        async with open_transport(url=server.url, on_attempt=attempts.append, **GIVEN) as transport:
            try:
                shown += repr(await transport.send(ask, read))
            except LiteratureError as error:
                shown += everything_about(error) + error.recovery
            shown += repr(transport)
    assert KEY in server.requests[0][1]  # it was really sent
    assert quote(EMAIL, safe="") in server.requests[0][1]
    assert not leaks(shown)
    assert not leaks(caplog.text)
    assert not leaks(repr(attempts))
    assert (level == logging.DEBUG) == ("httpcore" in caplog.text)  # the library did log
    recorded = spans.get_finished_spans()
    assert recorded
    assert not leaks("".join(span.to_json() for span in recorded))


@pytest.mark.parametrize(
    "fault",
    [
        httpx.ConnectError(f"no route to https://service.test/?api_key={KEY}"),
        httpx.ConnectError(f"[SSL: CERTIFICATE_VERIFY_FAILED] for {EMAIL}"),
        httpx.ReadTimeout(KEY),
        httpx.ReadError(KEY),
        httpx.ProxyError(KEY),
        httpx.DecodingError(KEY),
        httpx.InvalidURL(KEY),
    ],
)
async def test_faults_of_the_http_library_are_not_in_the_chain(
    fault: Exception,
    ask: Request,
    wire: Callable[..., Wire],
    open_transport: Callable[..., Transport],
    spans: InMemorySpanExporter,
) -> None:
    async with open_transport(wire(fault), **GIVEN) as transport:
        with pytest.raises(LiteratureError) as failed:
            await transport.send(ask, lambda answer: answer)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    assert not leaks(everything_about(failed.value))
    assert not leaks("".join(span.to_json() for span in spans.get_finished_spans()))


async def test_an_unusable_environment_shows_nothing_either(
    ask: Request, open_transport: Callable[..., Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://someone:password@proxy.test:1")
    async with open_transport(**GIVEN) as transport:
        with pytest.raises(ConfigurationError, match="proxy") as failed:
            await transport.send(ask, lambda answer: answer)
    shown = everything_about(failed.value)
    assert not leaks(shown)
    assert "password" not in shown


async def test_the_deadline_shows_nothing_either(ask: Request, open_transport: Callable[..., Transport]) -> None:
    async def never(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    settings = open_transport(**GIVEN).settings
    async with Transport(settings, network=httpx.MockTransport(never)) as transport:
        with transport.deadline(0.01), pytest.raises(LiteratureError, match="deadline") as failed:
            await transport.send(ask, lambda answer: answer)
    assert not leaks(everything_about(failed.value))


async def test_what_a_reader_quotes_when_it_gives_up_is_clean(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    def read(answer: Answer) -> Answer:
        raise TransientAnswer(f"the service says {answer.body.decode()} {answer.headers}")

    async with open_transport(url=serve(echo(200)).url, **GIVEN) as transport:
        with pytest.raises(LiteratureError, match="the service says") as failed:
            await transport.send(ask, read)
    assert not leaks(everything_about(failed.value))


async def test_each_attempt_is_one_span_without_the_query(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport], spans: InMemorySpanExporter
) -> None:
    replies = wire(httpx.Response(503), httpx.ReadTimeout("slow"), httpx.Response(200, content=b"answer"))
    async with open_transport(replies) as transport:
        await transport.send(ask, lambda answer: answer)
    common = {
        "literature.source": "pubmed",
        "literature.service": "eutils",
        "url.path": "esearch.fcgi",
        "http.request.method": "GET",
    }
    assert [(span.name, dict(span.attributes or {})) for span in spans.get_finished_spans()] == [
        (
            "http attempt",
            {
                **common,
                "literature.attempt": 1,
                "http.response.status_code": 503,
                "http.response.body.size": 0,
            },
        ),
        ("http attempt", {**common, "literature.attempt": 2, "error.type": "no answer in time"}),
        (
            "http attempt",
            {
                **common,
                "literature.attempt": 3,
                "http.response.status_code": 200,
                "http.response.body.size": 6,
            },
        ),
    ]


async def test_a_cancelled_attempt_ends_its_span(
    ask: Request, open_transport: Callable[..., Transport], spans: InMemorySpanExporter
) -> None:
    arrived = asyncio.Event()

    async def never(request: httpx.Request) -> httpx.Response:
        arrived.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    attempts: list[Attempt] = []
    settings = open_transport().settings
    async with Transport(settings, network=httpx.MockTransport(never), on_attempt=attempts.append) as transport:
        call = asyncio.create_task(transport.send(ask, lambda answer: answer))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert [attempt.fault for attempt in attempts] == ["CancelledError"]
    assert [dict(span.attributes or {})["error.type"] for span in spans.get_finished_spans()] == ["CancelledError"]


async def test_instrumentation_of_the_http_library_sees_nothing(
    ask: Request, open_transport: Callable[..., Transport]
) -> None:
    """An application that instruments httpx would otherwise write whole addresses into its spans."""
    enabled: list[bool] = []

    def look(request: httpx.Request) -> httpx.Response:
        enabled.append(is_http_instrumentation_enabled())
        return httpx.Response(200)

    async with Transport(open_transport().settings, network=httpx.MockTransport(look)) as transport:
        await transport.send(ask, lambda answer: answer)
    assert enabled == [False]
    assert is_http_instrumentation_enabled()


async def test_logs_of_others_are_left_alone_afterwards(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    before = {name: list(logging.getLogger(name).filters) for name in ("httpcore.http11", "httpcore.connection")}
    async with open_transport(wire(httpx.Response(200)), **GIVEN) as transport:
        await transport.send(ask, lambda answer: answer)
        assert logging.getLogger("httpcore.http11").filters != before["httpcore.http11"]
    assert {name: logging.getLogger(name).filters for name in before} == before


def test_secrets_are_hidden_in_each_spelling_and_case() -> None:
    secrets = Secrets(Settings(ncbi_api_key="abc/DEF+123", email="a.b+c@example.org"))
    text = "abc/DEF+123 ABC/def+123 abc%2FDEF%2B123 a.b+c@example.org a.b%2Bc%40example.org a.b%2bc%40example.org"
    assert secrets.hide(text) == " ".join(["[hidden]"] * 6)
    assert secrets.hide_bytes(text.encode()) == " ".join(["[hidden]"] * 6).encode()


def test_a_key_too_short_to_be_one_does_not_tear_up_the_papers() -> None:
    secrets = Secrets(Settings(ncbi_api_key="rat"))
    assert secrets.hide_bytes(b"the rat genome") == b"the rat genome"
    assert secrets.hide("key rat") == "key [hidden]"


def test_without_secrets_nothing_is_touched() -> None:
    secrets = Secrets(Settings())
    assert secrets.hide("text") == "text"
    assert secrets.hide_bytes(b"body") == b"body"


def test_a_request_is_described_in_one_line() -> None:
    assert (
        describe(
            Request("pubmed", "eutils", "esearch.fcgi", params=(("db", "pubmed"), ("term", 'asthma[ti] AND "x y"')))
        )
        == 'GET esearch.fcgi?db=pubmed&term=asthma[ti]+AND+"x+y"'
    )
    assert describe(Request("pubmed", "eutils", "epost.fcgi", form=(("id", "1,2"),))) == "POST epost.fcgi?id=1,2"
    assert describe(Request("biorxiv", "biorxiv", "details/biorxiv/10.5555/1")) == "GET details/biorxiv/10.5555/1"
    assert describe(Request("x", "biorxiv", "p", params=(("q", "\ud800"),))) == "GET p?q=%3F"
