"""What a durable run did is written as JSON with a schema version, and nothing else is read."""

from __future__ import annotations

import base64
import json
import pickle
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dbos import _serialization
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from literature_agent.durable import RecordRefused
from literature_agent.durable.book import open_book
from literature_agent.durable.records import RecordedError, RecordSerializer, no_pickles
from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.settings import Settings

RECORDS = RecordSerializer()


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path("/nowhere/at/all").touch, ()


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"args": [{"question": "q", "n": 1.5, "yes": True}], "kwargs": {}},
        {"$": "a name that looks like a tag"},
        datetime(2026, 1, 2, 3, 4, 5, 678, UTC),
        ModelResponse(
            parts=[TextPart("«x»"), ToolCallPart("search_pubmed", {"query": "a"}, "c1")],
            usage=RequestUsage(input_tokens=3, output_tokens=4),
            model_name="m",
            timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        ),
    ],
    ids=["nothing", "arguments", "tag", "time", "response"],
)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    assert RECORDS.deserialize(RECORDS.serialize(value)) == value


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("The query is empty.", reason="pubmed_invalid_input"),
        SourceError("It is away.", reason="pubmed_unreachable", recovery="Wait."),
        UnexpectedModelBehavior("It said nothing."),
    ],
)
def test_an_error_is_read_as_it_was_written(error: Exception) -> None:
    read = RECORDS.deserialize(RECORDS.serialize(error))
    assert type(read) is type(error)
    assert str(read) == str(error)
    assert getattr(read, "reason", None) == getattr(error, "reason", None)


def test_the_body_of_a_providers_answer_is_not_recorded() -> None:
    """It may repeat the key that was sent."""
    written = RECORDS.serialize(ModelHTTPError(401, "m", {"error": "key sk-secret is wrong"}))
    assert "sk-secret" not in written
    assert RECORDS.deserialize(written).status_code == 401


def test_an_error_of_an_unknown_type_keeps_its_name_and_words() -> None:
    read = RECORDS.deserialize(RECORDS.serialize(ZeroDivisionError("by zero")))
    assert isinstance(read, RecordedError)
    assert (read.kind, str(read)) == ("ZeroDivisionError", "by zero")


def test_what_is_no_record_and_a_record_of_another_schema_are_refused_in_words() -> None:
    for text in ("gASVCg==", "[]", json.dumps({"value": 1})):
        with pytest.raises(RecordRefused, match="was not written by literature-agent"):
            RECORDS.deserialize(text)
    with pytest.raises(RecordRefused, match=r"schema 99 can't be read: this version of literature-agent reads schema"):
        RECORDS.deserialize(json.dumps({"schema": 99, "value": 1}))


def test_an_object_that_is_no_json_is_not_recorded() -> None:
    with pytest.raises(TypeError, match="A Bomb can't be recorded"):
        RECORDS.serialize({"x": Bomb()})


def test_a_row_that_says_it_is_a_pickle_is_refused_unread() -> None:
    """The engine chooses the reader by a column of the row: a serializer of one's own does not keep pickles out."""
    bomb = base64.b64encode(pickle.dumps(Bomb())).decode()
    with no_pickles(), pytest.raises(RecordRefused, match="is a pickle"):
        _serialization.deserialize_value(bomb, "py_pickle", RECORDS)
    with pytest.raises(FileNotFoundError):
        _serialization.deserialize_value(bomb, "py_pickle", RECORDS)


def test_a_list_of_runs_says_of_a_pickle_that_it_can_not_be_read(
    at: Callable[[str | None], Settings], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = at(None)
    with open_book(settings):
        pass
    bomb = base64.b64encode(pickle.dumps(Bomb())).decode()
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.execute(
            "INSERT INTO workflow_status (workflow_uuid, status, name, inputs, output, serialization, created_at,"
            " updated_at, application_name) VALUES ('old', 'SUCCESS', 'literature_run', ?, ?, 'py_pickle', 1, 1,"
            " 'literature-agent')",
            (bomb, bomb),
        )
    database.close()
    with open_book(settings) as book:
        line = book.line("old")
    assert (line.state, line.status, line.question) == ("done", None, "")
    # The engine's own log, which names its parts, stays off the screen.
    assert caplog.messages == []
