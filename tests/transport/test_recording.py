"""Recordings: what is kept and what is not, given again without a network, untrusted when read."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.settings import Settings
from literature_agent.transport import Answer, Player, Recorder, Request, TransientAnswer, Transport
from literature_agent.transport import recording as recordings
from literature_agent.transport.recording import Scrub

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Wire

KEY, EMAIL = "SECRET0123456789abcdef", "Librarian+pubmed@example.org"
RUN_ID = "0" * 32
Open = Callable[..., Transport]


def body(answer: Answer) -> bytes:
    return answer.body


class NoNetwork(httpx.AsyncBaseTransport):
    """Fails a test that asks it anything."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise AssertionError("a replay asked the network")


@pytest.fixture
def recorded(open_transport: Open, wire: Callable[..., Wire], tmp_path: Path) -> Callable[..., Any]:
    """Record the answers to `asks` and give the folder."""

    async def record(
        *replies: httpx.Response | Exception, asks: list[Request], read: Callable[[Answer], Any] = body, **settings: Any
    ) -> tuple[Path, list[Any]]:
        folder = tmp_path / "recording"
        recorder = Recorder(folder)
        recorder.begin(RUN_ID, {"by": "a test"})
        got: list[Any] = []
        transport = open_transport(wire(*replies), recording=recorder, **settings)
        for request in asks:
            try:
                got.append(await transport.receive(request, read))
            except SourceError as error:
                got.append(error)
        recorder.finish()
        assert recorder.problem is None
        return folder, got

    return record


def replaying(folder: Path, **settings: Any) -> Transport:
    return Transport(Settings(**settings), network=NoNetwork(), recording=Player(folder))


def kept(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()))


async def test_a_replay_gives_the_same_answer_at_the_same_time_and_asks_no_network(
    recorded: Callable[..., Any], ask: Request
) -> None:
    folder, (then,) = await recorded(httpx.Response(200, text="<a>é</a>"), asks=[ask])
    now = await replaying(folder).receive(ask, body)
    assert now == then
    assert now.value == "<a>é</a>".encode()


async def test_a_body_that_is_no_text_comes_back_byte_for_byte(recorded: Callable[..., Any], ask: Request) -> None:
    folder, _ = await recorded(httpx.Response(200, content=bytes(range(256))), asks=[ask])
    assert (await replaying(folder).receive(ask, body)).value == bytes(range(256))


async def test_every_answer_is_kept_and_a_replay_does_not_wait_where_the_run_did(
    recorded: Callable[..., Any], ask: Request, clock: FakeClock
) -> None:
    busy = httpx.Response(429, headers={"retry-after": "7"}, text='{"error":"API rate limit exceeded"}')
    folder, _ = await recorded(busy, httpx.Response(200, text="yes"), asks=[ask])
    assert 7 in clock.slept
    call = json.loads(next(folder.glob("upstream-*")).read_text(encoding="utf-8"))
    assert [answer["status"] for answer in call["content"]["answers"]] == [429, 200]
    slept = len(clock.slept)
    async with asyncio.timeout(5):
        assert (await replaying(folder).receive(ask, body)).value == b"yes"
    assert len(clock.slept) == slept


async def test_a_call_that_failed_fails_again_in_the_same_words(recorded: Callable[..., Any], ask: Request) -> None:
    folder, (then,) = await recorded(httpx.Response(503), asks=[ask], retry_attempts=2)
    with pytest.raises(SourceError) as now:
        await replaying(folder).receive(ask, body)
    assert isinstance(then, SourceError)
    assert vars(now.value) == vars(then)


@pytest.mark.parametrize("ends_well", [True, False])
async def test_who_listens_to_failed_attempts_hears_the_same_again(
    open_transport: Open, wire: Callable[..., Wire], ask: Request, tmp_path: Path, ends_well: bool
) -> None:
    """A source that judges by all attempts says the same of them in a replay."""

    def read(answer: Answer) -> bytes:
        if answer.body == b"bare":
            raise TransientAnswer("bare")
        return answer.body

    async def failures(transport: Transport) -> list[str]:
        heard: list[TransientAnswer] = []
        try:
            await transport.receive(ask, read, heard=heard.append)
        except SourceError as error:
            heard.append(TransientAnswer(error.reason))
        return [str(fault) for fault in heard]

    recorder = Recorder(tmp_path / "recording")
    recorder.begin(RUN_ID, {"by": "a test"})
    replies = [httpx.Response(200, text="bare"), httpx.Response(503), httpx.Response(200, text="bare")]
    if ends_well:
        replies[-1] = httpx.Response(200, text="good")
    then = await failures(open_transport(wire(*replies), recording=recorder))
    recorder.finish()
    assert then == ["bare", "answered 503", *([] if ends_well else ["bare", "pubmed_unreachable"])]
    assert await failures(replaying(tmp_path / "recording")) == then


async def test_the_same_request_twice_may_have_two_answers(recorded: Callable[..., Any], ask: Request) -> None:
    replies = httpx.Response(200, text="one"), httpx.Response(200, text="two")
    folder, _ = await recorded(*replies, asks=[ask, ask])
    transport = replaying(folder)
    assert [(await transport.receive(ask, body)).value for _ in range(2)] == [b"one", b"two"]
    with pytest.raises(SourceError, match="for time 3") as missing:
        await transport.receive(ask, body)
    assert missing.value.reason == "recording_not_found"


async def test_a_request_that_is_not_on_record_is_a_typed_error_that_names_it(
    recorded: Callable[..., Any], ask: Request
) -> None:
    folder, _ = await recorded(httpx.Response(200, text="yes"), asks=[ask])
    transport = replaying(folder)
    with pytest.raises(SourceError, match=r"GET esearch\.fcgi") as missing:
        await transport.receive(Request("pubmed", "eutils", "esearch.fcgi", params=(("term", "other"),)), body)
    assert (missing.value.reason, missing.value.retryable) == ("recording_not_found", False)
    with pytest.raises(SourceError) as again:  # a replay does not go on after that
        await transport.receive(ask, body)
    assert again.value is missing.value


async def test_no_header_key_or_address_is_kept_or_seen_by_the_run(recorded: Callable[..., Any], ask: Request) -> None:
    """K118: the service echoes the key, the contact address and the network address."""
    echo = {
        "error": f"API key {KEY} invalid for {EMAIL}",
        "api-key": "203.0.113.7",
        "author": "line\nsomebody.else@lab.example.com said so",
    }
    refused = httpx.Response(400, json=echo, headers={"x-echo": KEY, "set-cookie": "session=abc"})
    post = Request("pubmed", "eutils", "epost.fcgi", form=(("id", "1"),))
    folder, got = await recorded(refused, asks=[ask, post], ncbi_api_key=KEY, email=EMAIL)
    text = kept(folder)
    for secret in (KEY, EMAIL, EMAIL.lower(), "203.0.113.7", "somebody.else", "session=abc", "User-Agent", "x-echo"):
        assert secret not in text
    assert json.loads(got[0].value)["author"] == "line\n[hidden] said so"
    # Nobody's key and nobody's address: another person replays it.
    assert (await replaying(folder).receive(ask, body)).value == got[0].value


async def test_files_and_folder_are_for_this_user_alone(recorded: Callable[..., Any], ask: Request) -> None:
    folder, _ = await recorded(httpx.Response(200, text="yes"), asks=[ask])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert {path.suffix for path in folder.iterdir()} == {".json"}


async def test_what_the_reader_refuses_for_ever_is_refused_again(recorded: Callable[..., Any], ask: Request) -> None:
    def refuse(answer: Answer) -> bytes:
        raise TransientAnswer("an empty envelope", kind="invalid_response")

    folder, (then,) = await recorded(httpx.Response(200, text="{}"), asks=[ask], read=refuse, retry_attempts=2)
    with pytest.raises(SourceError) as now:
        await replaying(folder).receive(ask, refuse)
    assert str(now.value) == str(then)


async def test_named_moments_and_the_time_left_are_those_of_the_record(
    open_transport: Open, wire: Callable[..., Wire], tmp_path: Path, ask: Request, clock: FakeClock
) -> None:
    recorder = Recorder(tmp_path / "r")
    recorder.begin(RUN_ID, None)
    transport = open_transport(wire(httpx.Response(200, text="yes")), recording=recorder)
    with transport.deadline(100):
        started = transport.now("started")
        clock.seconds = 30
        answered = (await transport.receive(ask, body)).at
        clock.seconds = 40
        assert transport.time_left("before request 2") == 60
    recorder.finish({"kind": "deadline", "sentence": "Time was up."})

    player = Player(tmp_path / "r")
    again = Transport(Settings(), network=NoNetwork(), recording=player)
    with again.deadline(0.001):
        assert again.now("started") == again.now() == started
        assert (await again.receive(ask, body)).at == answered == again.now("no such moment")
        assert (again.time_left("before request 2"), again.time_left()) == (60, None)
    assert (player.run_id, player.ending) == (RUN_ID, {"kind": "deadline", "sentence": "Time was up."})


async def test_a_call_that_was_cut_short_ends_the_replay_there(
    open_transport: Open, tmp_path: Path, ask: Request
) -> None:
    class Hanging(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.Event().wait()
            raise AssertionError

    recorder = Recorder(tmp_path / "r")
    recorder.begin(RUN_ID, None)
    transport = Transport(Settings(cache="off", pace="off"), network=Hanging(), recording=recorder)
    task = asyncio.create_task(transport.receive(ask, body))
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    recorder.finish()

    player = Player(tmp_path / "r")
    again = asyncio.create_task(Transport(Settings(), network=NoNetwork(), recording=player).receive(ask, body))
    player.on_cut = again.cancel
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(5):
            await again


# --- a recording is untrusted -----------------------------------------------------------------------------------------


def _cut(folder: Path) -> None:
    path = folder / "run.json"
    path.write_bytes(path.read_bytes()[:-9])


def _incomplete(folder: Path) -> None:
    text = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(text.replace('"is_complete": true', '"is_complete": false'), encoding="utf-8")


def _another_format(folder: Path) -> None:
    text = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(text.replace('"format": 1', '"format": 2'), encoding="utf-8")


def _run_id_as_path(folder: Path) -> None:
    text = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(text.replace(RUN_ID, "../../etc/passwd"), encoding="utf-8")


def _exchange(folder: Path) -> Path:
    return next(folder.glob("upstream-*"))


def _rewritten(**content: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        entry = json.loads(_exchange(folder).read_text(encoding="utf-8"))
        entry["content"] = content
        _exchange(folder).write_text(json.dumps(entry), encoding="utf-8")

    return change


def _huge(folder: Path) -> None:
    with _exchange(folder).open("r+b") as file:
        file.truncate(recordings.LARGEST_FILE + 1)


def _link(folder: Path) -> None:
    elsewhere = folder.parent / "elsewhere.json"
    _exchange(folder).rename(elsewhere)
    (folder / f"upstream-{recordings.key_of_request(_ASK, Scrub(Settings()))}-1.json").symlink_to(elsewhere)


def _pipe(folder: Path) -> None:
    path = _exchange(folder)
    path.unlink()
    os.mkfifo(path)


def _deep(folder: Path) -> None:
    _exchange(folder).write_text('{"content":' + "[" * 100_000, encoding="utf-8")


_ASK = Request("pubmed", "eutils", "esearch.fcgi", params=(("db", "pubmed"), ("term", "sleep apnoea")))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_cut, "run.json has another shape"),
        (_incomplete, "its run was stopped before it had ended"),
        (_another_format, "run.json has another shape"),
        (_run_id_as_path, "run.json has another shape"),
        (_huge, "is larger than"),
        (_link, "can't be read"),
        (_pipe, "is no file"),
        (_deep, "has another shape"),
        (_rewritten(answers=[]), "holds no answer"),
        (_rewritten(answers=[{"status": "200; rm"}]), "has another shape"),
        (_rewritten(answers=[{"status": 200, "pickle": "gASV"}]), "has another shape"),
        (_rewritten(answers=[{"status": 200, "base64": "?"}]), "is not in base 64"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_a_broken_recording_is_refused_in_one_sentence(
    recorded: Callable[..., Any], damage: Callable[[Path], None], said: str
) -> None:
    folder, _ = await recorded(httpx.Response(200, text="yes"), asks=[_ASK])
    damage(folder)
    with pytest.raises(InvalidInputError, match=said) as refused:
        await replaying(folder).receive(_ASK, body)
    assert str(folder) in refused.value.message
    assert refused.value.recovery


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InvalidInputError, match="There is no recording"):
            Player(folder)


def test_a_folder_is_recorded_into_once(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InvalidInputError, match="is not empty"):
        Recorder(tmp_path)
    with pytest.raises(InvalidInputError, match="Nothing can be recorded"):
        Recorder(tmp_path / "notes.txt")
    recorder = Recorder(tmp_path / "new" / "folder")
    recorder.begin(RUN_ID, None)
    with pytest.raises(InvalidInputError, match="has its run already"):
        recorder.begin(RUN_ID, None)


def test_a_full_disk_ends_the_recording_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path / "r")
    recorder.begin(RUN_ID, None)

    def refuse(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", refuse)
    recorder.open("model", "0" * 40, "turn 1", Scrub(Settings())).close("answered", datetime.now(UTC))
    recorder.finish()
    monkeypatch.undo()
    assert recorder.problem is not None
    assert "No space left on device" in recorder.problem
    with pytest.raises(InvalidInputError, match="its run was stopped"):
        Player(tmp_path / "r")


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("Write to a.b+c@lab-1.example.org.", "Write to [hidden]."),
        ("<b>x@y.org</b>; mailto:q@z.example.com", "<b>[hidden]</b>; mailto:[hidden]"),
        (r'{"a": "line\nx@y.org", "b": "é\u00e9ad@y.org"}', r'{"a": "line\n[hidden]", "b": "é\u00e9[hidden]"}'),
        ("@example.org and a@b, 5 mg @ 37.5 C", "[hidden] and a@b, 5 mg @ 37.5 C"),
        ('{"api-key": "203.0.113.7"}', '{"api-key": "[hidden]"}'),
        ("x" * 200 + "@y.org", "x" * 136 + "[hidden]"),
    ],
)
def test_addresses_are_hidden_and_the_form_of_a_text_stays(given: str, left: str) -> None:
    assert Scrub(Settings()).text(given) == left
    if given.startswith("{"):
        json.loads(left)
