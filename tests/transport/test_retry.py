"""When a request is sent again."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import httpx
import pytest

from literature_agent.errors import InvalidInputError, SourceError, source_error
from literature_agent.transport import Answer, Attempt, Request, ServiceName, TransientAnswer, Transport
from literature_agent.transport.retry import retry_after

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Handler, Loopback, Wire

OK = httpx.Response(200, content=b"answer")


def body(answer: Answer) -> bytes:
    return answer.body


async def test_third_try_succeeds_after_two_internal_errors(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K113."""
    replies = wire(httpx.Response(500), httpx.Response(500), OK)
    async with open_transport(replies) as transport:
        assert await transport.send(ask, body) == b"answer"
    assert len(replies.requests) == 3


async def test_501_fails_at_once_and_says_it_will_not_pass(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K113."""
    replies = wire(httpx.Response(501), OK)
    async with open_transport(replies) as transport:
        with pytest.raises(SourceError) as failed:
            await transport.send(ask, body)
    assert len(replies.requests) == 1
    assert (failed.value.reason, failed.value.retryable) == ("pubmed_unreachable", False)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (429, "pubmed_rate_limited"),
        (500, "pubmed_unreachable"),
        (502, "pubmed_unreachable"),
        (503, "pubmed_unreachable"),
        (504, "pubmed_timeout"),
    ],
)
async def test_passing_statuses_are_asked_as_often_as_the_settings_say(
    status: int, reason: str, ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(status))
    async with open_transport(replies, retry_attempts=4) as transport:
        with pytest.raises(SourceError, match="4 attempts") as failed:
            await transport.send(ask, body)
    assert len(replies.requests) == 4
    assert (failed.value.reason, failed.value.retryable) == (reason, True)


@pytest.mark.parametrize("status", [200, 204, 400, 401, 404, 422])
async def test_other_statuses_are_handed_to_the_reader_once(
    status: int, ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(status, content=b"" if status == 204 else b"why"))
    async with open_transport(replies) as transport:
        assert await transport.send(ask, lambda answer: answer.status) == status
    assert len(replies.requests) == 1


async def test_403_is_reported_once_with_advice(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K063."""
    replies = wire(httpx.Response(403, content=b"<html>Forbidden</html>"), OK)
    async with open_transport(replies) as transport:
        with pytest.raises(SourceError, match="403") as failed:
            await transport.send(ask, body)
    assert len(replies.requests) == 1
    assert (failed.value.reason, failed.value.retryable) == ("pubmed_blocked", False)
    assert "e-mail" in failed.value.recovery


EVERY_SERVICE: list[tuple[str, ServiceName]] = [
    ("pubmed", "eutils"),
    ("pmc", "pmc"),
    ("europepmc", "europepmc"),
    ("medrxiv", "biorxiv"),
    ("clinicaltrials", "clinicaltrials"),
]
MAINTENANCE = b"<html><head><title>Service Temporarily Unavailable</title></head></html>"


@pytest.mark.parametrize(("source", "service"), EVERY_SERVICE)
async def test_a_page_in_place_of_data_is_asked_again_whatever_the_service(
    source: str, service: ServiceName, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K016: with 200 too, the service is out of reach; no reader ever sees the page."""
    replies = wire(httpx.Response(200, content=MAINTENANCE))
    async with open_transport(replies, retry_attempts=3) as transport:
        with pytest.raises(SourceError, match="a web page came where data was asked for") as failed:
            await transport.send(Request(source, service, "x"), body)
    assert len(replies.requests) == 3
    assert (failed.value.reason, failed.value.retryable) == (f"{source}_unreachable", True)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\xef\xbb\xbf\n<!DOCTYPE HTML PUBLIC 'x'>", "application/json"),
        (b"<?xml version='1.0'?>\n<!-- down --><!DOCTYPE html>", "text/xml"),
        (b"Error : (2002) Connection refused", "text/html; charset=UTF-8"),
        (b"", "text/html"),
    ],
)
async def test_a_page_is_told_by_its_beginning_or_its_type(
    content: bytes, kind: str, ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(200, content=content, headers={"content-type": kind}), OK)
    async with open_transport(replies) as transport:
        assert await transport.send(ask, body) == b"answer"


def test_data_that_begins_with_many_comments_is_known_at_once() -> None:
    assert not Answer(200, b"<!-- c -->" * 200 + b"<!DOCTYPE article><article/>", "text/xml").looks_like_html()


async def test_data_that_is_called_a_page_is_data(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(200, content=b' {"count": "1"}', headers={"content-type": "text/html"}))
    async with open_transport(replies) as transport:
        assert await transport.send(ask, body) == b' {"count": "1"}'


BOT_CHECK = b"<!DOCTYPE html>\n<html><head><title>Just a moment...</title></head></html>"


@pytest.mark.parametrize("status", [200, 403, 404, 503])
@pytest.mark.parametrize(("source", "service"), EVERY_SERVICE)
async def test_a_bot_check_is_blocked_and_not_asked_again_whatever_the_service(
    source: str, service: ServiceName, status: int, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K046."""
    replies = wire(httpx.Response(status, content=BOT_CHECK), OK)
    async with open_transport(replies) as transport:
        with pytest.raises(SourceError) as failed:
            await transport.send(Request(source, service, "x"), body)
    assert len(replies.requests) == 1
    assert (failed.value.reason, failed.value.retryable) == (f"{source}_blocked", False)


def test_the_recorded_bot_check_is_one(shared_dir: Path) -> None:
    page = (shared_dir / "recorded" / "pmc" / "article-asset-proof-of-work-page.html").read_bytes()
    assert Answer(200, page).asks_for_a_browser()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (httpx.ConnectError("refused"), "pubmed_unreachable"),
        (httpx.ConnectTimeout("slow"), "pubmed_unreachable"),
        (httpx.ReadError("reset"), "pubmed_unreachable"),
        (httpx.RemoteProtocolError("cut"), "pubmed_unreachable"),
        (httpx.ProxyError("407"), "pubmed_unreachable"),
        (httpx.ReadTimeout("slow"), "pubmed_timeout"),
        (httpx.PoolTimeout("full"), "pubmed_timeout"),
    ],
)
async def test_failures_of_the_connection_are_asked_again(
    fault: Exception,
    reason: str,
    ask: Request,
    wire: Callable[..., Wire],
    open_transport: Callable[..., Transport],
) -> None:
    replies = wire(fault, OK)
    async with open_transport(replies) as transport:
        assert await transport.send(ask, body) == b"answer"

    for_ever = wire(fault)
    async with open_transport(for_ever) as transport:
        with pytest.raises(SourceError) as failed:
            await transport.send(ask, body)
    assert failed.value.reason == reason
    assert len(for_ever.requests) == 3


async def test_what_the_reader_calls_passing_is_asked_again_and_keeps_its_kind(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    def read(answer: Answer) -> bytes:
        if answer.body == b"half":
            raise TransientAnswer("the answer stops in the middle", kind="invalid_response")
        return answer.body

    async with open_transport(wire(httpx.Response(200, content=b"half"), OK)) as transport:
        assert await transport.send(ask, read) == b"answer"
    async with open_transport(wire(httpx.Response(200, content=b"half"))) as transport:
        with pytest.raises(SourceError, match="stops in the middle") as failed:
            await transport.send(ask, read)
    assert failed.value.reason == "pubmed_invalid_response"


@pytest.mark.parametrize(
    "refusal", [InvalidInputError("bad term"), source_error("pubmed", "configuration", "key"), KeyError("bug")]
)
async def test_what_else_the_reader_raises_passes_at_once(
    refusal: Exception, ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    def read(answer: Answer) -> NoReturn:
        raise refusal

    replies = wire(OK)
    async with open_transport(replies) as transport:
        with pytest.raises(type(refusal)) as failed:
            await transport.send(ask, read)
    assert failed.value is refusal
    assert len(replies.requests) == 1


async def test_cancellation_while_waiting_for_the_next_attempt_leaves_at_once(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """K114."""
    replies = wire(httpx.Response(503))
    asleep = asyncio.Event()

    async def sleep(seconds: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    clock.sleep = sleep  # type: ignore[method-assign]  # waits until it is cancelled
    async with open_transport(replies) as transport:
        call = asyncio.create_task(transport.send(ask, body))
        await asleep.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert len(replies.requests) == 1


@pytest.mark.parametrize("refusals", [0, 1])
async def test_cancellation_on_the_wire_is_not_a_reason_to_ask_again(
    refusals: int, ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    """K114: in the first attempt, and in one that the policy has asked for."""
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    hung_up = threading.Event()

    def hang(handler: Handler) -> None:
        if len(server.requests) <= refusals:
            handler.answer(503)
            return
        loop.call_soon_threadsafe(arrived.set)
        if handler.rfile.read(1) == b"":  # returns when the client hangs up
            hung_up.set()
        handler.close_connection = True

    server = serve(hang)
    async with open_transport(url=server.url) as transport:
        call = asyncio.create_task(transport.send(ask, body))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(hung_up.wait, 10)
    assert len(server.requests) == refusals + 1


NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        (" 7 ", 7.0),
        ("86400", 86400.0),
        ("Mon, 30 Nov 2026 12:00:20 GMT", 20.0),
        ("Mon, 30 Nov 2026 12:00:20 -0000", 20.0),
        ("0", None),
        ("-5", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
        ("soon", None),
        ("inf", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_to_come(header: str | None, seconds: float | None) -> None:
    """K115; RFC 9110, section 10.2.3."""
    assert retry_after(header, NOW) == seconds


@pytest.mark.parametrize(("header", "wait"), [("4", 4.0), ("86400", 20.0), ("Mon, 30 Nov 2026 00:00:09 GMT", 9.0)])
@pytest.mark.parametrize("status", [429, 503])
async def test_a_usable_retry_after_is_obeyed_up_to_the_cap(
    header: str,
    wait: float,
    status: int,
    ask: Request,
    wire: Callable[..., Wire],
    open_transport: Callable[..., Transport],
) -> None:
    """K115."""
    replies = wire(httpx.Response(status, headers={"Retry-After": header}), OK)
    async with open_transport(replies, retry_max_wait_s=20) as transport:
        assert await transport.send(ask, body) == b"answer"
    assert replies.gaps == [wait]


@pytest.mark.parametrize("header", ["-5", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"])
async def test_an_unusable_retry_after_gives_way_to_the_own_backoff(
    header: str,
    ask: Request,
    wire: Callable[..., Wire],
    clock: FakeClock,
    open_transport: Callable[..., Transport],
) -> None:
    """K115."""
    replies = wire(httpx.Response(503, headers={"Retry-After": header}), OK)
    async with open_transport(replies) as transport:
        await transport.send(ask, body)
    assert 0.5 <= clock.slept[0] <= 1.0


async def test_the_own_backoff_doubles_with_jitter_and_the_total_is_bounded_and_said(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """K119: 10 attempts would wait more than twice the longest wait; it ends before."""
    replies = wire(httpx.Response(503))
    async with open_transport(replies, pace="off", retry_attempts=10, retry_max_wait_s=7) as transport:
        with pytest.raises(SourceError) as failed:
            await transport.send(ask, body)
    for wait, least in zip(clock.slept, [0.5, 1, 2, 4], strict=False):
        assert least <= wait <= least + 0.5
    assert len(clock.slept) == 4  # a fifth wait of 7 s would go beyond 14 s, whatever the jitter
    assert sum(clock.slept) <= 14
    assert f"5 attempts, {sum(clock.slept):.1f} s waited" in failed.value.message


async def test_no_attempt_is_waited_for_beyond_the_deadline(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    replies = wire(httpx.Response(503, headers={"Retry-After": "20"}), OK)
    async with open_transport(replies) as transport:
        with transport.deadline(10), pytest.raises(SourceError, match="1 attempt") as failed:
            await transport.send(ask, body)
        assert transport.time_left() is None
    assert failed.value.reason == "pubmed_unreachable"
    assert clock.slept == []


async def test_of_two_deadlines_the_earlier_one_holds(open_transport: Callable[..., Transport]) -> None:
    async with open_transport() as transport:
        with transport.deadline(10):
            with transport.deadline(60):
                assert transport.time_left() == 10
            with transport.deadline(3):
                assert transport.time_left() == 3
            assert transport.time_left() == 10
            assert await asyncio.create_task(_time_left(transport)) == 10
        assert transport.time_left() is None


async def _time_left(transport: Transport) -> float | None:
    return transport.time_left()


async def test_first_call_throttled_without_a_key_gets_advice_and_others_go_on(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K112."""
    throttled = httpx.Response(
        429, content=b'{"error":"API rate limit exceeded","api-key":"203.0.113.7","count":"4","limit":"3"}'
    )
    async with open_transport(wire(throttled)) as transport:
        with pytest.raises(SourceError) as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_rate_limited"
    assert "NCBI_API_KEY" in failed.value.recovery
    assert "EMAIL" in failed.value.recovery
    assert "203.0.113.7" not in failed.value.message

    async with open_transport(wire(throttled), ncbi_api_key="0123456789abcdef") as transport:
        with pytest.raises(SourceError) as failed:
            await transport.send(ask, body)
    assert "NCBI_API_KEY" not in failed.value.recovery

    other = Request("europepmc", "europepmc", "search")
    async with open_transport(wire(throttled)) as transport:
        with pytest.raises(SourceError) as failed:
            await transport.send(other, body)
    assert failed.value.reason == "europepmc_rate_limited"
    assert "NCBI" not in failed.value.recovery


async def test_a_host_that_is_not_there_is_unreachable(ask: Request, open_transport: Callable[..., Transport]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        async with open_transport(url=f"http://127.0.0.1:{taken.getsockname()[1]}/") as transport:
            with pytest.raises(SourceError, match=r"^127\.0\.0\.1:\d+, esearch\.fcgi: no connection") as failed:
                await transport.send(ask, body)
    assert failed.value.reason == "pubmed_unreachable"


async def test_a_body_that_breaks_off_is_asked_for_again(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    def cut_then_whole(handler: Handler) -> None:
        if len(server.requests) == 1:
            handler.send_response(200)
            handler.send_header("Content-Length", "100")
            handler.end_headers()
            handler.wfile.write(b"only this")
            handler.close_connection = True
        else:
            handler.answer(200, b"whole")

    server = serve(cut_then_whole)
    async with open_transport(url=server.url) as transport:
        assert await transport.send(ask, body) == b"whole"
    assert len(server.requests) == 2


async def test_a_damaged_compressed_body_is_asked_for_again(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer(200, b"this is no gzip", Content_Encoding="gzip"))
    async with open_transport(url=server.url) as transport:
        with pytest.raises(SourceError, match="damaged") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_invalid_response"
    assert len(server.requests) == 3


async def test_whoever_watches_is_told_of_each_attempt(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    seen: list[Attempt] = []
    async with open_transport(
        wire(httpx.Response(503), httpx.ReadTimeout("slow"), OK), on_attempt=seen.append
    ) as transport:
        await transport.send(ask, body)
    assert [(a.number, a.status, a.size, a.fault) for a in seen] == [
        (1, 503, 0, ""),
        (2, None, 0, "no answer in time"),
        (3, 200, 6, ""),
    ]
    assert {(a.source, a.service, a.path) for a in seen} == {("pubmed", "eutils", "esearch.fcgi")}
