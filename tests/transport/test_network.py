"""What happens on the wire, over real connections where the fault can be made there."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from literature_agent.errors import ConfigurationError, InvalidInputError, SourceError
from literature_agent.transport import Answer, Request, Transport
from tests.waiting import PATIENCE_S, pass_time

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Handler, Loopback, Wire

HERE = Path(__file__).parent


def body(answer: Answer) -> bytes:
    return answer.body


# Requests


async def test_parameters_arrive_as_they_were_given_and_the_agent_names_itself(
    serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    """K063: an explicit, honest user agent, and no address in it."""
    server = serve(lambda handler: handler.answer())
    given = (("query", 'α-synuclein & (IL-6 + TNF) "x"'), ("sort", "P_PDATE_D desc"), ("cursorMark", "*"), ("e", ""))
    request = Request("europepmc", "europepmc", "/search", given, accept="application/json")
    async with open_transport(url=server.url + "rest", email="someone@example.org") as transport:
        await transport.send(request, body)
    method, path, headers, _ = server.requests[0]
    assert method == "GET"
    assert urlsplit(path).path == "/rest/search"
    assert tuple(parse_qsl(urlsplit(path).query, keep_blank_values=True)) == given
    assert headers["user-agent"].startswith("literature-agent/")
    assert headers["accept"] == "application/json"
    assert "example.org" not in repr(server.requests)


async def test_ncbi_is_told_who_asks_and_nobody_else_is(
    serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    """The ID converter takes no key; OAI-PMH refuses parameters it does not know."""
    server = serve(lambda handler: handler.answer())
    sent = [
        Request("pubmed", "eutils", "esearch.fcgi"),
        Request("pmc", "pmc", "tools/idconv/api/v1/articles/"),
        Request("pmc", "pmc", "api/oai/v1/mh/"),
        Request("europepmc", "europepmc", "search"),
        Request("biorxiv", "biorxiv", "details"),
        Request("clinicaltrials", "clinicaltrials", "studies"),
    ]
    async with open_transport(
        url=server.url, email=" someone@example.org ", ncbi_api_key="0123456789abcdef"
    ) as transport:
        for request in sent:
            await transport.send(request, body)
    told = [dict(parse_qsl(urlsplit(path).query)) for _, path, _, _ in server.requests]
    contact = {"tool": "literature_agent", "email": "someone@example.org"}
    assert told == [{**contact, "api_key": "0123456789abcdef"}, contact, {}, {}, {}, {}]


async def test_without_key_and_address_only_the_tool_is_named(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer())
    async with open_transport(url=server.url) as transport:
        await transport.send(ask, body)
    assert server.requests[0][1] == "/esearch.fcgi?db=pubmed&term=sleep%20apnoea&tool=literature_agent"


async def test_a_form_is_posted_with_the_credentials_in_its_body(
    serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer())
    request = Request("pubmed", "eutils", "epost.fcgi", form=(("db", "pubmed"), ("id", "90000001,90000002")))
    async with open_transport(url=server.url, ncbi_api_key="0123456789abcdef") as transport:
        await transport.send(request, body)
    method, path, headers, sent = server.requests[0]
    assert (method, path, headers["content-type"]) == ("POST", "/epost.fcgi", "application/x-www-form-urlencoded")
    assert parse_qsl(sent.decode()) == [
        ("db", "pubmed"),
        ("id", "90000001,90000002"),
        ("tool", "literature_agent"),
        ("api_key", "0123456789abcdef"),
    ]


@pytest.mark.parametrize(
    "request_",
    [
        Request("europepmc", "europepmc", "search", params=(("query", "half \ud800 pair"),)),
        Request("europepmc", "europepmc", "article/MED/1\n2"),
    ],
)
async def test_characters_that_cannot_be_sent_are_refused(
    request_: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(200))
    async with open_transport(replies) as transport:
        with pytest.raises(InvalidInputError, match="characters") as failed:
            await transport.send(request_, body)
    assert failed.value.reason == "europepmc_invalid_input"
    assert replies.requests == []


# Bodies


async def test_an_answer_comes_with_status_type_and_headers_in_lower_case(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer(404, b"<html>", Content_Type="text/html", X_RateLimit_Limit="3"))
    async with open_transport(url=server.url) as transport:
        answer = await transport.send(ask, lambda answer: answer)
    assert (answer.status, answer.body, answer.content_type) == (404, b"<html>", "text/html")
    assert answer.headers["x-ratelimit-limit"] == "3"
    assert answer.looks_like_html()


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_compressed_answers_are_decoded(
    coding: str, ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    text = b"text " * 1000
    packed = gzip.compress(text) if coding == "gzip" else zlib.compress(text)
    server = serve(lambda handler: handler.answer(200, packed, Content_Encoding=coding))
    async with open_transport(url=server.url) as transport:
        assert await transport.send(ask, body) == b"text " * 1000
    assert coding in server.requests[0][2]["accept-encoding"]


async def test_an_answer_that_says_it_is_too_large_is_not_read(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    def huge(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        handler.close_connection = True

    server = serve(huge)
    async with open_transport(url=server.url) as transport:
        with pytest.raises(SourceError, match="larger than") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_invalid_response"
    assert len(server.requests) == 1


async def test_reading_stops_at_the_cap_though_the_body_never_ends(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    sent = 0

    def endless(handler: Handler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000
        except OSError:
            handler.close_connection = True

    server = serve(endless)
    async with open_transport(url=server.url, max_body=1_000_000) as transport:
        with pytest.raises(SourceError, match="1000000 bytes"):
            await transport.send(ask, body)
    assert sent < 50_000_000
    assert len(server.requests) == 1


async def test_a_small_body_that_grows_on_decoding_is_stopped_too(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    server = serve(lambda handler: handler.answer(200, bomb, Content_Encoding="gzip"))
    async with open_transport(url=server.url, max_body=1_000_000) as transport:
        with pytest.raises(SourceError, match="larger than"):
            await transport.send(ask, body)


async def test_several_layers_of_compression_are_not_unpacked(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    """Each layer multiplies by up to a thousand; nobody asked for more than one."""
    bomb = gzip.compress(gzip.compress(b"\0" * 20_000_000))
    server = serve(lambda handler: handler.answer(200, bomb, Content_Encoding="gzip, gzip"))
    async with open_transport(url=server.url) as transport:
        with pytest.raises(SourceError, match="compressed") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_invalid_response"
    assert len(server.requests) == 1


class Dripping(httpx.AsyncByteStream):
    """One byte a second, for ever or until `end`."""

    def __init__(self, clock: FakeClock, end: float = float("inf")) -> None:
        self._clock = clock
        self._end = end
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._clock.seconds < self._end:
            await self._clock.sleep(1)
            yield b"."

    async def aclose(self) -> None:
        self.closed = True


async def test_a_dripping_body_ends_at_the_deadline_and_is_closed(
    ask: Request, clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """K117."""
    drip = Dripping(clock)
    network = httpx.MockTransport(lambda _: httpx.Response(200, stream=drip))
    transport = Transport(open_transport().settings, network=network, clock=clock)
    async with transport:
        with transport.deadline(3), pytest.raises(SourceError, match="deadline") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_timeout"
    assert clock.seconds == pytest.approx(3)
    assert drip.closed


async def test_without_a_deadline_a_large_article_may_take_its_time(
    ask: Request, clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """K044: only the wait for the next part is limited."""
    network = httpx.MockTransport(lambda _: httpx.Response(200, stream=Dripping(clock, end=900)))
    async with Transport(open_transport().settings, network=network, clock=clock) as transport:
        assert await transport.send(ask, body) == b"." * 900


async def test_a_body_that_stalls_on_a_real_connection_is_closed_at_the_deadline(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    """K117."""
    arrived, hung_up = threading.Event(), threading.Event()

    def stall(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        handler.wfile.write(b"1")
        arrived.set()
        if handler.rfile.read(1) == b"":
            hung_up.set()
        handler.close_connection = True

    server = serve(stall)
    async with open_transport(url=server.url, real_time=True) as transport:
        with transport.deadline(30):
            call = asyncio.create_task(transport.send(ask, body))
        assert await asyncio.to_thread(arrived.wait, PATIENCE_S)
        pass_time(30)
        with pytest.raises(SourceError, match="deadline") as failed:
            await call
        assert await asyncio.to_thread(hung_up.wait, PATIENCE_S)
    assert failed.value.reason == "pubmed_timeout"
    assert len(server.requests) == 1


async def test_a_body_that_stalls_longer_than_the_read_timeout_is_a_timeout(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    release = threading.Event()

    def stall(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        release.wait(10)
        handler.close_connection = True

    server = serve(stall)
    async with open_transport(url=server.url, read_timeout=0.5, retry_attempts=1) as transport:
        with pytest.raises(SourceError, match="no answer in time") as failed:
            await transport.send(ask, body)
    release.set()
    assert failed.value.reason == "pubmed_timeout"


async def test_cancelled_calls_give_their_connections_back(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    """K116: 20 cancelled calls on a pool of 10, then one call."""
    loop, arrived, gone = asyncio.get_running_loop(), asyncio.Semaphore(0), threading.Semaphore(0)

    def hang_or_answer(handler: Handler) -> None:
        if "hang" in handler.path:
            loop.call_soon_threadsafe(arrived.release)
            handler.rfile.read(1)
            gone.release()
            handler.close_connection = True
        else:
            handler.answer(200, b"answer")

    server = serve(hang_or_answer)
    network = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=10))
    settings = open_transport(url=server.url, pace="off").settings
    async with network, Transport(settings, network=network) as transport:
        calls = [asyncio.create_task(transport.send(Request("pubmed", "eutils", "hang"), body)) for _ in range(20)]
        for _ in range(10):
            await arrived.acquire()
        for call in calls:
            call.cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(error, asyncio.CancelledError) for error in ended)
        async with asyncio.timeout(10):
            assert await transport.send(ask, body) == b"answer"
        for _ in range(10):
            assert await asyncio.to_thread(gone.acquire, timeout=10)
    assert len(server.requests) == 11


async def test_connections_are_kept_between_requests_and_closed_at_the_end(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    peers: set[object] = set()
    closed = threading.Event()

    def note(handler: Handler) -> None:
        peers.add(handler.client_address)
        handler.answer()
        if len(server.requests) == 3 and handler.rfile.read(1) == b"":
            closed.set()

    server = serve(note)
    transport = open_transport(url=server.url)
    async with transport:
        for _ in range(3):
            await transport.send(ask, body)
        assert not closed.is_set()
    assert await asyncio.to_thread(closed.wait, 10)
    assert len(peers) == 1
    with pytest.raises(RuntimeError, match="closed"):
        await transport.send(ask, body)
    await transport.aclose()


def test_a_transport_refuses_a_second_event_loop(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer())
    transport = open_transport(url=server.url)

    async def use_and_close() -> None:
        async with transport:
            await transport.send(ask, body)

    first = asyncio.new_event_loop()
    first.run_until_complete(transport.send(ask, body))
    with pytest.raises(RuntimeError, match="event loop"):
        asyncio.run(transport.send(ask, body))
    first.run_until_complete(use_and_close())
    first.close()


# Redirects


async def test_a_redirect_on_the_host_is_followed_with_the_credentials_sent_once(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    def moved(handler: Handler) -> None:
        if "new" in handler.path:
            handler.answer(200, b"answer")
        else:
            handler.answer(301, Location="/new/" + handler.path.lstrip("/"))  # echoes the key

    server = serve(moved)
    async with open_transport(url=server.url, ncbi_api_key="0123456789abcdef") as transport:
        assert await transport.send(ask, body) == b"answer"
    assert parse_qsl(urlsplit(server.requests[1][1]).query) == [
        ("db", "pubmed"),
        ("term", "sleep apnoea"),
        ("tool", "literature_agent"),
        ("api_key", "0123456789abcdef"),
    ]


@pytest.mark.parametrize(
    ("status", "method"), [(301, "POST"), (302, "POST"), (307, "POST"), (308, "POST"), (303, "GET")]
)
async def test_a_moved_form_is_posted_again_unless_the_answer_lies_elsewhere(
    status: int, method: str, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    """An E-utilities query is in the form, so it must not be lost; 303 says to fetch another document (RFC 9110)."""

    def moved(handler: Handler) -> None:
        if handler.path.startswith("/new"):
            handler.answer(200, b"answer")
        else:
            handler.answer(status, Location="/new")

    server = serve(moved)
    request = Request("pubmed", "eutils", "epost.fcgi", form=(("id", "90000001"),))
    async with open_transport(url=server.url) as transport:
        assert await transport.send(request, body) == b"answer"
    assert server.requests[1][0] == method
    assert (b"id=90000001" in server.requests[1][3]) == (method == "POST")


@pytest.mark.parametrize(
    "elsewhere", ["other host", "user name", "host as user name", "other scheme", "nonsense", "downgrade"]
)
async def test_a_redirect_off_the_host_is_not_followed(
    elsewhere: str, ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    location = {
        "other host": "https://login.example.org/?to=x",
        "user name": "http://someone@service.test/",
        "host as user name": "https://service.test@evil.example.org/",
        "other scheme": "ftp://service.test/file",
        "nonsense": "http://[half",
        "downgrade": "http://service.test/",
    }[elsewhere]
    base = "https://service.test/" if elsewhere == "downgrade" else "http://service.test/"
    replies = wire(httpx.Response(302, headers={"Location": location}))
    async with open_transport(replies, url=base, ncbi_api_key="0123456789abcdef") as transport:
        with pytest.raises(SourceError, match="only redirects within the host") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_invalid_response"
    assert len(replies.requests) == 1


@pytest.mark.parametrize("location", ["https://service.test/x", "https://SERVICE.test:443/x"])
async def test_an_upgrade_to_https_on_the_host_is_followed(
    location: str, ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(301, headers={"Location": location}), httpx.Response(200, content=b"answer"))
    async with open_transport(replies) as transport:
        assert await transport.send(ask, body) == b"answer"
    assert replies.requests[1].url.scheme == "https"


async def test_circles_end_after_five_redirects(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(302, headers={"Location": "/again"}))
    async with open_transport(replies) as transport:
        with pytest.raises(SourceError, match="in circles") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_invalid_response"
    assert len(replies.requests) == 6


async def test_a_redirect_to_nowhere_is_not_an_answer(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    async with open_transport(wire(httpx.Response(302))) as transport:
        with pytest.raises(SourceError, match="not an answer") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_invalid_response"


# Proxies and certificates


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_requests_go_through_the_proxy_that_the_environment_names(
    variable: str,
    ask: Request,
    serve: Callable[..., Loopback],
    open_transport: Callable[..., Transport],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = serve(lambda handler: handler.answer(200, b"by proxy"))
    monkeypatch.setenv(variable, f"http://user:secret@127.0.0.1:{proxy.port}")
    async with open_transport(url="http://nowhere.invalid/base/") as transport:
        assert await transport.send(ask, body) == b"by proxy"
    method, path, headers, _ = proxy.requests[0]
    assert (method, path.partition("?")[0]) == ("GET", "http://nowhere.invalid/base/esearch.fcgi")
    assert headers["proxy-authorization"].startswith("Basic ")


async def test_a_proxy_may_be_named_without_a_scheme(
    ask: Request,
    serve: Callable[..., Loopback],
    open_transport: Callable[..., Transport],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = serve(lambda handler: handler.answer(200, b"by proxy"))
    monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{proxy.port}")
    async with open_transport(url="http://nowhere.invalid/") as transport:
        assert await transport.send(ask, body) == b"by proxy"


@pytest.mark.parametrize("spared", ["127.0.0.1", "*", "localhost, 127.0.0.1"])
async def test_hosts_of_no_proxy_are_asked_directly(
    spared: str,
    ask: Request,
    serve: Callable[..., Loopback],
    open_transport: Callable[..., Transport],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = serve(lambda handler: handler.answer(200, b"by proxy"))
    server = serve(lambda handler: handler.answer(200, b"directly"))
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("NO_PROXY", spared)
    async with open_transport(url=server.url) as transport:
        assert await transport.send(ask, body) == b"directly"
    assert proxy.requests == []


async def test_https_goes_through_a_tunnel_and_the_proxy_sees_no_path(
    ask: Request,
    serve: Callable[..., Loopback],
    open_transport: Callable[..., Transport],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = serve(lambda handler: handler.answer(502))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    async with open_transport(url="https://nowhere.invalid/", ncbi_api_key="0123456789abcdef") as transport:
        with pytest.raises(SourceError, match="the proxy refused") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_unreachable"
    assert {(method, path) for method, path, _, _ in proxy.requests} == {("CONNECT", "nowhere.invalid:443")}
    assert "0123456789abcdef" not in repr(proxy.requests)


@pytest.mark.parametrize(
    "proxy", ["gopher://user:secret@host:1", "socks5://user:secret@host:1", "http://user:secret@host:port"]
)
async def test_an_unusable_proxy_is_a_configuration_error_without_its_password(
    proxy: str, ask: Request, open_transport: Callable[..., Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setitem(sys.modules, "socksio", None)  # as where the extra is not installed
    async with open_transport() as transport:
        with pytest.raises(ConfigurationError, match="proxy") as failed:
            await transport.send(ask, body)
    assert "secret" not in failed.value.message + failed.value.recovery
    assert failed.value.__context__ is None


async def test_a_certificate_of_ssl_cert_file_is_trusted_and_another_is_not(
    ask: Request,
    serve: Callable[..., Loopback],
    open_transport: Callable[..., Transport],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve(lambda handler: handler.answer(200, b"over TLS"), tls=True)
    async with open_transport(url=server.url) as transport:
        with pytest.raises(SourceError, match="certificate") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_unreachable"
    assert "SSL_CERT_FILE" in failed.value.recovery
    assert server.requests == []

    monkeypatch.setenv("SSL_CERT_FILE", str(HERE / "loopback.pem"))
    async with open_transport(url=server.url) as transport:
        assert await transport.send(ask, body) == b"over TLS"


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_an_unreadable_ssl_cert_file_is_a_configuration_error(
    content: str | None,
    ask: Request,
    open_transport: Callable[..., Transport],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file = tmp_path / "certificates.pem"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with open_transport(url="https://nowhere.invalid/") as transport:
        with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
            await transport.send(ask, body)


def test_loading_the_room_loads_no_http_library() -> None:
    code = "import sys, literature_agent.transport; print([m for m in ('httpx', 'httpcore') if m in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYDANTIC_DISABLE_PLUGINS": "__all__"},
    )
    assert loaded.stdout.strip() == "[]"
