"""What goes wrong around a durable run is said in a sentence, and nothing recorded is lost."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest
import sqlalchemy as sa
from dbos._dbos import _get_dbos_instance
from pydantic import SecretStr
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from evals.postgres import running_postgres
from literature_agent.durable import DatabaseError, open_engine
from literature_agent.durable.batch import Batch
from literature_agent.durable.book import open_book
from literature_agent.durable.engine import VERSION, _InWords, away, engine_of, probe, suits
from literature_agent.durable.runs import MAX_RECOVERIES
from literature_agent.durable.single import resume
from literature_agent.durable.tables import Results, read_questions
from literature_agent.durable.worker import working
from literature_agent.durable.workers import Workers, forget, is_alive, living
from literature_agent.errors import ConfigurationError, InvalidInputError
from literature_agent.outputs import AggregationRequest, Budget
from literature_agent.settings import Settings
from tests.durable.conftest import QUESTION, Counting, short_reply

REQUEST = AggregationRequest(question=QUESTION, sources=("pubmed",))


def test_a_folder_that_durable_runs_make_is_for_this_user_alone(tmp_path: Path) -> None:
    """By default it is that of the stored answers."""
    probe(f"sqlite:///{tmp_path}/new/runs.sqlite")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_a_database_that_is_down_at_the_start_is_named_without_its_password(settings: Settings, tmp_path: Path) -> None:
    address = f"postgresql://me:secret-word@/runs?host={tmp_path}"
    down = settings.model_copy(update={"database_url": SecretStr(address)})
    with pytest.raises(DatabaseError, match=r"The database 'runs' at .* does not answer") as refused, open_engine(down):
        pass
    assert "secret-word" not in f"{refused.value} {refused.value.recovery}"
    assert refused.value.retryable


def test_a_file_that_can_not_be_a_database_is_refused(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_text("not a database, but long enough to be looked at" * 20, encoding="utf-8")
    broken = settings.model_copy(update={"database_url": SecretStr(f"sqlite:///{tmp_path / 'runs.sqlite'}")})
    with (
        pytest.raises(DatabaseError, match="can't be used: file is not a database") as refused,
        open_engine(broken),
    ):
        pass
    # Also while somebody holds the error.
    assert refused.value
    assert not [each.path for each in psutil.Process().open_files() if each.path.startswith(str(tmp_path))]


def test_a_sqlite_that_is_too_old_for_this_python_is_refused_in_words(tmp_path: Path) -> None:
    """The engine would fail at its first row, in the words of SQLAlchemy."""
    assert suits((3, 11, 7), (3, 40, 1))
    assert suits((3, 13, 0), (3, 42, 0))
    assert not suits((3, 12, 0), (3, 41, 2))
    if suits(sys.version_info[:2], sqlite3.sqlite_version_info):
        probe(f"sqlite:///{tmp_path}/runs.sqlite")
    else:
        with pytest.raises(ConfigurationError, match=r"need SQLite 3\.42 or newer with this Python"):
            probe(f"sqlite:///{tmp_path}/runs.sqlite")


@pytest.mark.parametrize(
    "address",
    [
        "mysql://me:secret-word@host/x",
        "me:secret-word@host/x",
        "host=h password=secret-word",
        "postgresql:me:secret-word",
        "postgresql://me:secret-word@host:port/x",
        "sqlite://",
    ],
)
def test_an_address_of_no_database_or_of_another_kind_is_refused_and_not_repeated(
    settings: Settings, address: str
) -> None:
    other = settings.model_copy(update={"database_url": SecretStr(address)})
    with pytest.raises(ConfigurationError, match="names no database") as refused, open_engine(other):
        pass
    assert "secret-word" not in f"{refused.value} {refused.value.recovery}"


def test_a_run_of_another_version_is_left_alone_and_its_worker_named(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    settings = at(None)
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"id": "a", "question": "Metformin?"}\n', encoding="utf-8")
    model = {"short": FunctionModel(short_reply)}
    with open_book(settings) as book, working(settings, "q", concurrency=1, models=model, version="newer", poll_s=0.05):
        read = read_questions(questions, Budget())
        batch = Batch(book.client, "b", "q", read, Results(tmp_path / "out.jsonl"), "short")
        batch._open()
        batch._ask()
        [said] = book.health().sentences()[1:]
        assert f"1 question waits for a worker of version {VERSION}; those at work: newer." in said
        assert book.line("b/a/1").state == "waiting"
        # The same command with the newer code asks it anew: nobody had begun it.
        results = Results(tmp_path / "out.jsonl")
        newer = Batch(book.client, "b", "q", read, results, "short", version="newer")
        newer.run(threading.Event(), every_s=0.05)
        assert results.keys == {"a"}
        assert [line.state for line in book.lines()] == ["done", "cancelled"]
        # What another version has answered is taken, and not paid for again.
        newest = Batch(book.client, "b", "q", read, Results(tmp_path / "again.jsonl"), "short", version="newest")
        newest._open()
        assert list(newest._asked) == ["b/a/2"]
    with pytest.raises(ConfigurationError, match="was begun by"):
        _as_version(settings, tmp_path, "b/a/1")


def _as_version(settings: Settings, tmp_path: Path, run_id: str) -> None:
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.execute("UPDATE workflow_status SET application_version = 'older'")
    database.close()
    resume(run_id, settings=settings)


async def test_a_full_disk_ends_the_run_in_words_and_it_goes_on_when_there_is_room(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    settings, model = at(None), Counting(FunctionModel(short_reply))
    with open_engine(settings, models={"counting": model}) as runs:
        # SQLite itself says that the disk is full where a file may have no more pages.
        pages = (tmp_path / "runs.sqlite").stat().st_size // 4096
        sa.event.listen(
            _get_dbos_instance()._sys_db.engine,
            "checkout",
            lambda connection, *_: connection.execute(f"PRAGMA max_page_count={pages + 4}"),
        )
        with pytest.raises(DatabaseError, match="can't record what the run does: database or disk is full"):
            await runs.run(REQUEST, run_id="full", model="counting")
    before = model.requests
    with open_book(settings) as book:
        assert book.line("full").state in ("running", "interrupted")
    answer = await asyncio.to_thread(resume, "full", settings=settings, models={"counting": model})
    assert answer.status == "complete"
    assert model.requests <= before + 2


def test_a_batch_that_finds_no_room_to_ask_says_so_and_goes_on_later(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    settings, questions, out = at(None), tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    rows = [f'{{"id": "{n}", "question": "{"Metformin? " * 100}"}}\n' for n in range(30)]
    questions.write_text("".join(rows), encoding="utf-8")
    read = read_questions(questions, Budget())
    with open_book(settings) as book:
        pages = (tmp_path / "runs.sqlite").stat().st_size // 4096
        sa.event.listen(
            book._engine,
            "checkout",
            lambda connection, *_: connection.execute(f"PRAGMA max_page_count={pages + 4}"),
        )
        full = Batch(book.client, "b", "q", read, Results(out), "short")
        with pytest.raises(DatabaseError, match="database or disk is full"):
            full.run(threading.Event(), every_s=0.01)
    with open_book(settings) as book:
        again = Batch(book.client, "b", "q", read, Results(out), "short")
        again._open()
        again._ask()
        # What was asked before is joined, and nothing is asked twice.
        assert 0 < len(full._asked) < len(again._asked) == len(book.lines()) == 30


def test_of_a_database_that_stays_away_the_log_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    engine = logging.Logger("dbos")
    engine.addHandler(_InWords())
    for _ in range(3):
        engine.warning("Database connection failed: (x.Y) it is gone. Retrying in 1.0 s")
    engine.warning("Anything else")
    assert caplog.messages == [away("it is gone")]


async def test_lost_connections_are_made_again(at: Callable[[str | None], Settings], postgres_url: str) -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        return short_reply(messages, info)

    model = Counting(FunctionModel(reply))
    with open_engine(at(postgres_url), models={"counting": model}) as runs:
        answer = await runs.run(REQUEST, run_id="lost", model="counting")
    assert (answer.status, model.requests) == ("complete", 2)


def test_a_server_that_stops_in_the_middle_of_a_batch_is_waited_for(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    asked: Counter[str] = Counter()
    said: list[str] = []
    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text("".join(f'{{"id": "{n}", "question": "Is it {n}?"}}\n' for n in range(3)), encoding="utf-8")
    with running_postgres() as server:

        def come_back() -> None:
            until = time.monotonic() + 60
            while not said and time.monotonic() < until:
                threading.Event().wait(0.02)
            server.come_back()

        back = threading.Thread(target=come_back)

        def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            asked[str(messages[0].parts[-1])] += 1
            if asked.total() == 3:
                server.go_down()
                back.start()
            return short_reply(messages, info)

        settings = at(server.database())
        with (
            open_book(settings) as book,
            working(settings, "q", concurrency=2, models={"short": FunctionModel(reply)}, poll_s=0.05),
        ):
            batch = Batch(book.client, "b", "q", read_questions(questions, Budget()), Results(out), "short")
            batch.run(threading.Event(), every_s=0.05, say=said.append)
            assert len(book.lines()) == 3
        back.join()
    assert [batch.progress.done, batch.dead] == [3, {}]
    assert Results(out).keys == {"0", "1", "2"}
    # No request was sent again: what was on its way when the server went was recorded when it came back.
    assert list(asked.values()) == [2, 2, 2]
    assert len(said) == 2
    assert re.fullmatch(r"The database of durable runs does not answer \(.+\); everything waits, .+ is lost\.", said[0])
    assert said[1] == "The database of durable runs answers again."


def test_what_a_worker_has_on_its_way_when_it_ends_is_finished_and_the_rest_is_done_by_another(
    at: Callable[[str | None], Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is finished only because a run may take a while to close what it has open.
    monkeypatch.setattr("literature_agent.durable.runs._UNWIND_S", 0.05)
    settings, begun, asked = at(None), threading.Event(), list[int]()

    async def slow(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(len(messages))
        begun.set()
        await asyncio.sleep(0.5)
        return short_reply(messages, info)

    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"id": "a", "question": "Metformin?", "sources": ["pubmed"]}\n', encoding="utf-8")
    model = {"short": FunctionModel(slow)}
    with open_book(settings) as book:
        batch = Batch(book.client, "b", "q", read_questions(questions, Budget()), Results(out), "short")
        batch._open()
        batch._ask()
        with working(settings, "q", concurrency=1, models=model, poll_s=0.05):
            assert begun.wait(30)
        assert asked == [1]
        assert book.line("b/a/1").state == "interrupted"
        assert book.health().stranded == {VERSION: 1}
        with working(settings, "q", concurrency=1, models=model, poll_s=0.05, beat_s=0.1):
            batch.run(threading.Event(), every_s=0.05)
    assert Results(out).keys == {"a"}
    # The first request was finished and recorded by the worker that was told to end.
    assert asked == [1, 3]


def test_a_question_whose_worker_dies_every_time_is_set_aside_with_the_reason(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    settings = at(None)
    questions, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"id": "a", "question": "Metformin?"}\n', encoding="utf-8")
    model = {"short": FunctionModel(short_reply)}
    with open_book(settings) as book:
        batch = Batch(book.client, "b", "q", read_questions(questions, Budget()), Results(out), "short")
        batch._open()
        batch._ask()
        assert book.health().waiting == {VERSION: 1}
        # As it stands when a worker that is gone had begun it once too often.
        with sqlite3.connect(tmp_path / "runs.sqlite") as database:
            database.execute(
                "UPDATE workflow_status SET status = 'PENDING', executor_id = 'gone', recovery_attempts = ?",
                (MAX_RECOVERIES + 1,),
            )
            database.execute("INSERT INTO literature_workers VALUES ('gone', ?, 1, 0)", (VERSION,))
        database.close()
        with working(settings, "q", concurrency=1, models=model, poll_s=0.05, beat_s=0.1):
            batch.run(threading.Event(), every_s=0.05)
        assert book.line("b/a/1").state == "set_aside"
    assert batch.dead["a"].error.message == "The process that worked on it died every time."


def test_a_worker_that_was_cut_off_does_not_take_those_for_dead_that_were_too(tmp_path: Path) -> None:
    file, taken = tmp_path / "list.sqlite", list[str]()
    lists = [
        Workers(engine_of(f"sqlite:///{file}"), name, "v", True, taken.extend, lease_s=0.4) for name in ("one", "other")
    ]
    for each in lists:
        each.enter()
    with sqlite3.connect(file, isolation_level=None) as away:
        away.execute("BEGIN EXCLUSIVE")
        cut_off = [threading.Thread(target=each.look) for each in lists]
        for thread in cut_off:
            thread.start()
        threading.Event().wait(0.6)
        away.execute("ROLLBACK")
    away.close()
    for thread in cut_off:
        thread.join()
    for each in reversed(lists):
        each.look()
    assert taken == []
    # One that is really gone is found out all the same, by one that beats.
    lists[0].beat_s = 0.05
    lists[0].start()
    until = time.monotonic() + 60
    while taken != ["other"] and time.monotonic() < until:
        threading.Event().wait(0.02)
    lists[0].stop()
    for each in lists:
        each.engine.dispose()
    assert taken == ["other"]


def test_a_run_that_another_process_is_at_work_on_is_waited_for(
    at: Callable[[str | None], Settings], tmp_path: Path
) -> None:
    settings, models, said = at(None), {"short": FunctionModel(short_reply)}, list[str]()
    with open_engine(settings, models=models) as runs:
        asyncio.run(runs.run(REQUEST, run_id="theirs", model="short"))

    def change(statement: str, *values: object) -> None:
        with sqlite3.connect(tmp_path / "runs.sqlite") as database:
            database.execute(statement, values)
        database.close()

    def dies(sentence: str) -> None:
        said.append(sentence)
        change("UPDATE literature_workers SET beat_at = 0")

    change("UPDATE workflow_status SET status = 'PENDING', executor_id = 'elsewhere'")
    now = "(julianday('now') - 2440587.5) * 86400.0"
    change(f"INSERT INTO literature_workers VALUES ('elsewhere', ?, 0, {now})", VERSION)
    answer = resume("theirs", settings=settings, models=models, say=dies)
    assert said == ["Run theirs is being worked on by elsewhere: waiting for it."]
    assert answer.status == "complete"


def test_an_unknown_run_is_refused(at: Callable[[str | None], Settings]) -> None:
    with pytest.raises(InvalidInputError, match="No run has the id 'nope'"):
        resume("nope", settings=at(None))
    with pytest.raises(InvalidInputError) as refused:
        resume("x" * 5_000, settings=at(None))
    assert len(refused.value.message) < 120
    with open_book(at(None)) as book, pytest.raises(InvalidInputError, match="No run has the id 'nope'"):
        book.cancel("nope")


def test_a_process_of_this_machine_that_is_gone_is_not_waited_for(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'list.sqlite'}")
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as gone:
        gone.wait()
    here, numbers = socket.gethostname(), (os.getpid(), gone.pid)
    names = [*(f"{here}/{number}/x" for number in numbers), f"elsewhere/{gone.pid}/x"]
    for name in names:
        Workers(engine, name, "v", True, list).enter()
    assert [is_alive(engine, name) for name in names] == [True, False, True]
    engine.dispose()


def test_a_process_taken_for_dead_enters_the_list_again_when_it_beats(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'list.sqlite'}")
    slow = Workers(engine, "slow", "v", True, list, lease_s=-1.0)
    other = Workers(engine, "other", "v", True, list, lease_s=-1.0)
    slow.enter()
    other.enter()
    # These are none of theirs: the runs of another version, and a single run, which only `resume` takes up.
    for name, version, shares in (("newer", "w", True), ("single", "v", False)):
        Workers(engine, name, version, shares, list, lease_s=-1.0).enter()
    # With such a lease everybody is silent at once.
    assert sorted(other.beat()) == ["other", "slow"]
    forget(engine, ["slow"])
    assert living(engine, 10.0) == {"v": 1, "w": 1}
    slow.beat()
    assert living(engine, 10.0) == {"v": 2, "w": 1}
    slow.leave()
    assert living(engine, 10.0) == {"v": 1, "w": 1}
    engine.dispose()
