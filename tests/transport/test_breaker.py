"""A service that fails repeatedly is left alone for a while."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from literature_agent.errors import SourceError, source_error
from literature_agent.sources.pubmed.elink import links_request
from literature_agent.transport import Answer, Breakers, Request, TransientAnswer, Transport
from literature_agent.transport.breaker import (
    BREAKERS_OF_THIS_PROCESS,
    FAILURES,
    FIRST_PAUSE_S,
    IN_A_ROW_S,
    LONGEST_PAUSE_S,
    Breaker,
    LeftAlone,
)
from tests.waiting import pass_time

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Handler, Loopback


def body(answer: Answer) -> bytes:
    return answer.body


class Moody:
    """A server whose next answers are the given statuses, the last one for ever."""

    def __init__(self, serve: Callable[..., Loopback], *statuses: int) -> None:
        self.statuses = list(statuses)
        self.server = serve(self._answer)

    def _answer(self, handler: Handler) -> None:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        handler.answer(status, b"answer")

    @property
    def asked(self) -> int:
        return len(self.server.requests)


@pytest.fixture
def moody(serve: Callable[..., Loopback]) -> Callable[..., Moody]:
    return lambda *statuses: Moody(serve, *statuses)


async def fails(transport: Transport, request: Request, read: Callable[[Answer], Any] = body) -> SourceError:
    with pytest.raises(SourceError) as failed:
        await transport.send(request, read)
    return failed.value


async def test_after_three_failed_calls_a_service_is_left_alone_and_says_so(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport], clock: FakeClock
) -> None:
    down = moody(503)
    async with open_transport(url=down.server.url, retry_attempts=2, pace="off") as transport:
        for _ in range(FAILURES):
            assert "2 attempts" in (await fails(transport, ask)).message
        assert down.asked == 2 * FAILURES
        clock.seconds += 3
        waited = len(clock.slept)
        error = await fails(transport, Request("pmc", "eutils", "efetch.fcgi"))
        assert (down.asked, len(clock.slept)) == (2 * FAILURES, waited)
    assert (error.reason, error.retryable) == ("pmc_unreachable", True)
    assert error.message == (
        f"127.0.0.1:{down.server.port} failed 3 times in a row (last: answered 503) and is not asked for another 27 s."
    )
    assert "27 s" in error.recovery


async def test_two_failures_are_not_enough_and_an_answer_in_between_begins_the_count_anew(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport]
) -> None:
    down = moody(503, 503, 200, 503, 503, 404, 503, 503, 200)
    async with open_transport(url=down.server.url, retry_attempts=1, pace="off") as transport:
        for expected in "xx.xx.xx.":
            if expected == ".":
                assert await transport.send(ask, body) == b"answer"
            else:
                assert "503" in (await fails(transport, ask)).message
    assert down.asked == 9


async def test_failures_long_ago_do_not_count(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport], clock: FakeClock
) -> None:
    down = moody(503)
    async with open_transport(url=down.server.url, retry_attempts=1, pace="off") as transport:
        for _ in range(FAILURES):
            clock.seconds += IN_A_ROW_S + 1
            await fails(transport, ask)
        assert "in a row" not in (await fails(transport, ask)).message
    assert down.asked == FAILURES + 1


async def test_after_the_pause_one_request_tries_and_the_pause_doubles_up_to_five_minutes(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport], clock: FakeClock
) -> None:
    down = moody(503)
    async with open_transport(url=down.server.url, retry_attempts=3, pace="off") as transport:
        for _ in range(FAILURES):
            await fails(transport, ask)
        for pause in (30, 60, 120, 240, 300, 300):
            asked, waited = down.asked, len(clock.slept)
            clock.seconds += pause - 1
            assert "for another 1 s" in (await fails(transport, ask)).message
            assert down.asked == asked
            clock.seconds += 1
            error = await fails(transport, ask)
            assert (down.asked, len(clock.slept)) == (asked + 1, waited)
            assert f"for another {min(2 * pause, 300)} s" in error.message
        down.statuses = [200]
        clock.seconds += 300
        for _ in range(3):
            assert await transport.send(ask, body) == b"answer"
        # It is as before: three failures, and half a minute.
        down.statuses = [503]
        for _ in range(FAILURES):
            await fails(transport, ask)
        assert "for another 30 s" in (await fails(transport, ask)).message
    assert (FIRST_PAUSE_S, LONGEST_PAUSE_S) == (30, 300)


async def test_only_one_call_at_a_time_tries(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport], clock: FakeClock
) -> None:
    arrived, answer = threading.Event(), threading.Event()

    def slow(handler: Handler) -> None:
        if len(server.requests) > FAILURES:
            arrived.set()
            answer.wait(10)
            handler.answer(200, b"answer")
        else:
            handler.answer(503)

    server: Loopback = serve(slow)
    async with open_transport(url=server.url, retry_attempts=1, pace="off") as transport:
        for _ in range(FAILURES):
            await fails(transport, ask)
        clock.seconds += FIRST_PAUSE_S
        trial = asyncio.create_task(transport.send(ask, body))
        assert await asyncio.to_thread(arrived.wait, 10)
        assert "not asked for another 10 s" in (await fails(transport, ask)).message
        answer.set()
        assert await trial == b"answer"
        assert await transport.send(ask, body) == b"answer"


async def test_a_trial_that_is_cancelled_makes_room_for_another(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport], clock: FakeClock
) -> None:
    arrived, release = threading.Event(), threading.Event()

    def hang_once(handler: Handler) -> None:
        if len(server.requests) <= FAILURES:
            handler.answer(503)
        elif not arrived.is_set():
            arrived.set()
            release.wait(10)
        else:
            handler.answer(200, b"answer")

    server: Loopback = serve(hang_once)
    async with open_transport(url=server.url, retry_attempts=1, pace="off") as transport:
        for _ in range(FAILURES):
            await fails(transport, ask)
        clock.seconds += FIRST_PAUSE_S
        trial = asyncio.create_task(transport.send(ask, body))
        assert await asyncio.to_thread(arrived.wait, 10)
        trial.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trial
        release.set()
        clock.seconds += 10
        assert await transport.send(ask, body) == b"answer"


# What counts


def refused(answer: Answer) -> bytes:
    raise source_error("pubmed", "invalid_input", "no such field")


def empty_envelope(answer: Answer) -> bytes:
    raise TransientAnswer("an empty envelope", kind="unreachable")


@pytest.mark.parametrize(
    ("status", "read"),
    [(400, refused), (403, body), (404, refused), (429, body), (501, body), (302, body), (200, empty_envelope)],
)
async def test_answers_of_whatever_kind_show_that_the_service_is_there(
    status: int,
    read: Callable[[Answer], bytes],
    ask: Request,
    moody: Callable[..., Moody],
    open_transport: Callable[..., Transport],
) -> None:
    """A refusal of the question, the client or the rate; 429 makes the pace rest instead."""
    there = moody(status)
    async with open_transport(url=there.server.url, retry_attempts=1, pace="off") as transport:
        for _ in range(3 * FAILURES):
            await fails(transport, ask, read)
    assert there.asked == 3 * FAILURES


@pytest.mark.parametrize(
    ("statuses", "asked"),
    [
        pytest.param([200, 200], 2 + FAILURES, id="answered to the end"),
        pytest.param([200, 503], 2 + FAILURES - 1, id="answered at first"),
    ],
)
async def test_a_call_counts_by_its_last_attempt(
    statuses: list[int],
    asked: int,
    ask: Request,
    moody: Callable[..., Moody],
    open_transport: Callable[..., Transport],
) -> None:
    down, known = moody(*statuses, 503), Breakers()
    given = {"url": down.server.url, "pace": "off", "breakers": known}
    async with open_transport(**given, retry_attempts=2) as transport:
        await fails(transport, ask, empty_envelope)
    async with open_transport(**given, retry_attempts=1) as transport:
        for _ in range(FAILURES):
            await fails(transport, ask)
    assert down.asked == asked


async def test_a_trial_that_is_answered_counts_as_no_failure(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport], clock: FakeClock
) -> None:
    down = moody(*[503] * FAILURES, 200, 503)
    async with open_transport(url=down.server.url, retry_attempts=1, pace="off") as transport:
        for _ in range(FAILURES):
            await fails(transport, ask)
        clock.seconds += FIRST_PAUSE_S
        await fails(transport, ask, empty_envelope)
        for _ in range(FAILURES):
            await fails(transport, ask)
    assert down.asked == 2 * FAILURES + 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_failures_of_the_service_count(
    status: int, ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport]
) -> None:
    down = moody(status)
    async with open_transport(url=down.server.url, retry_attempts=1, pace="off") as transport:
        for _ in range(3 * FAILURES):
            await fails(transport, ask)
    assert down.asked == FAILURES


async def test_a_host_that_takes_no_connection_counts(ask: Request, open_transport: Callable[..., Transport]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        async with open_transport(url=url, retry_attempts=1, pace="off") as transport:
            said = [(await fails(transport, ask)).message for _ in range(FAILURES + 1)]
    assert all("no connection" in message for message in said)
    assert ["in a row" in message for message in said] == [False, False, False, True]


async def test_a_host_that_hangs_until_the_deadline_counts_if_it_had_ten_seconds(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport], clock: FakeClock
) -> None:
    """The deadline itself runs by the loop's timers; what passes on the clock is put on by hand."""
    release = threading.Event()
    arrived = threading.Semaphore(0)

    def hang(handler: Handler) -> None:
        arrived.release()
        release.wait(60)
        handler.close_connection = True

    server = serve(hang)
    async with open_transport(url=server.url, retry_attempts=1, pace="off") as transport:
        for took in (9.0, 9.0, 9.0, 10.0, 10.0, 10.0):
            with transport.deadline(30):
                call = asyncio.create_task(fails(transport, ask))
            assert await asyncio.to_thread(arrived.acquire, timeout=60)
            clock.seconds += took
            pass_time(30)
            assert "before the deadline" in (await call).message
        error = await fails(transport, ask)
        release.set()
    assert "failed 3 times in a row" in error.message
    assert len(server.requests) == 6


async def test_calls_ended_by_their_own_callers_do_not_count(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    arrived, release = threading.Semaphore(0), threading.Event()

    def hang(handler: Handler) -> None:
        arrived.release()
        release.wait(20)
        handler.answer(200, b"answer")

    server = serve(hang)
    async with open_transport(url=server.url, pace="off") as transport:
        for _ in range(2 * FAILURES):
            call = asyncio.create_task(transport.send(ask, body))
            assert await asyncio.to_thread(arrived.acquire, timeout=10)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        release.set()
        assert await transport.send(ask, body) == b"answer"


# Whom it concerns


async def test_other_services_and_other_addresses_are_asked_as_before(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport]
) -> None:
    down, well, known = moody(503), moody(200), Breakers()
    async with open_transport(url=down.server.url, retry_attempts=1, pace="off", breakers=known) as transport:
        for _ in range(FAILURES + 1):
            await fails(transport, ask)
        assert "in a row" not in (await fails(transport, Request("europepmc", "europepmc", "search"))).message
    async with open_transport(url=well.server.url, pace="off", breakers=known) as another:
        assert await another.send(ask, body) == b"answer"


async def test_a_part_that_fails_by_itself_does_not_cost_the_rest_of_its_service(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer(503 if "elink" in handler.path else 200, b"answer"))
    part = links_request("90000101", "similar")
    async with open_transport(url=server.url, retry_attempts=1, pace="off") as transport:
        for _ in range(FAILURES):
            await fails(transport, part)
        assert ", elink failed 3 times in a row" in (await fails(transport, part)).message
        assert await transport.send(ask, body) == b"answer"
        assert ", elink failed 3 times in a row" in (await fails(transport, part)).message
    assert len(server.requests) == FAILURES + 1


async def test_all_clients_of_this_process_know_of_it(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport]
) -> None:
    """One-shot calls open a client each."""
    down = moody(503)
    for _ in range(FAILURES + 2):
        async with open_transport(
            url=down.server.url, retry_attempts=1, pace="off", breakers=None, real_time=True
        ) as transport:
            await fails(transport, ask)
    assert down.asked == FAILURES
    assert BREAKERS_OF_THIS_PROCESS.of("eutils", down.server.url) is not Breakers().of("eutils", down.server.url)


async def test_without_a_breaker_everything_is_asked_and_nothing_counted(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport]
) -> None:
    down, known = moody(503), Breakers()
    given = {"url": down.server.url, "retry_attempts": 1, "pace": "off", "breakers": known}
    async with open_transport(**given, breaker="off") as transport:
        for _ in range(2 * FAILURES):
            await fails(transport, ask)
    assert down.asked == 2 * FAILURES
    async with open_transport(**given) as careful:
        assert "in a row" not in (await fails(careful, ask)).message


async def test_a_stored_answer_serves_while_the_service_is_left_alone(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport]
) -> None:
    there = moody(200, 503)
    async with open_transport(url=there.server.url, retry_attempts=1, pace="off", cache="on") as transport:
        await transport.send(ask, body)
        other = Request("pubmed", "eutils", "espell.fcgi")
        for _ in range(FAILURES + 1):
            error = await fails(transport, other)
        assert "in a row" in error.message
        assert await transport.send(ask, body) == b"answer"


async def test_a_call_that_waits_to_ask_again_stops_when_others_have_given_up(
    ask: Request, moody: Callable[..., Moody], open_transport: Callable[..., Transport]
) -> None:
    down = moody(503)
    async with open_transport(url=down.server.url, retry_attempts=3, pace="off") as transport:
        errors = await asyncio.gather(*(fails(transport, ask) for _ in range(12)))
    left_alone = [error for error in errors if "in a row" in error.message]
    assert len(left_alone) >= 1
    assert down.asked < 36
    assert all(error.retryable and error.reason == "pubmed_unreachable" for error in errors)


async def test_the_key_is_in_no_message(
    ask: Request, serve: Callable[..., Loopback], open_transport: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer(503, b"0123456789abcdef"))
    async with open_transport(
        url=server.url, retry_attempts=1, pace="off", ncbi_api_key="0123456789abcdef"
    ) as transport:
        errors = [await fails(transport, ask) for _ in range(FAILURES + 1)]
    assert "in a row" in errors[-1].message
    assert "0123456789abcdef" not in repr([(error.message, error.recovery) for error in errors])


def test_threads_share_one_count() -> None:
    breaker = Breaker()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: breaker.failed(0.0, "down"), range(FAILURES)))
        trials = list(threads.map(lambda _: _try(breaker, FIRST_PAUSE_S), range(40)))
    assert trials.count(True) == 1
    assert trials.count(None) == 39


def test_calls_that_went_out_before_the_pause_do_not_lengthen_it() -> None:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.failed(0.0, "down")
    breaker.failed(20.0, "down too")
    with pytest.raises(LeftAlone) as left_alone:
        breaker.admit(21.0)
    assert (left_alone.value.seconds, left_alone.value.failures) == (FIRST_PAUSE_S - 21, FAILURES)
    assert breaker.admit(FIRST_PAUSE_S)


def _try(breaker: Breaker, now: float) -> bool | None:
    try:
        return breaker.admit(now)
    except LeftAlone:
        return None


# Nothing stays open


async def test_a_cancelled_call_leaves_no_connection_open(
    ask: Request, open_transport: Callable[..., Transport]
) -> None:
    """K116, K117: counted at the other end, in each phase of an answer."""
    opened = closed = stalled = 0
    changed = asyncio.Condition()

    async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened, closed, stalled
        opened += 1
        phase = opened % 3
        await reader.readuntil(b"\r\n\r\n")
        if phase:
            writer.write(b"HTTP/1.1 200 OK\r\n" + b"Content-Length: 10\r\n\r\n1" * (phase == 2))
            await writer.drain()
        async with changed:
            stalled += 1
            changed.notify_all()
        while await reader.read(100):
            pass
        writer.close()
        async with changed:
            closed += 1
            changed.notify_all()

    server = await asyncio.start_server(stall, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, open_transport(url=url, pace="off", real_time=True) as transport:
        calls = [asyncio.create_task(transport.send(ask, body)) for _ in range(15)]
        async with asyncio.timeout(10), changed:
            await changed.wait_for(lambda: stalled == 15)
        for call in calls:
            call.cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(error, asyncio.CancelledError) for error in ended)
        async with asyncio.timeout(10), changed:
            await changed.wait_for(lambda: closed == opened)
    assert opened == 15
