"""How what a durable run did is written down: JSON with a schema version, never a pickle.

A pickle runs code when it is read, so whoever can write to the database could run anything in a worker; and it breaks
when a class moves. Rows that say they are pickles are refused unread.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

import pydantic_ai.exceptions
import sqlalchemy as sa
from dbos import _serialization
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError, UserError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse

from literature_agent import errors
from literature_agent.errors import LiteratureError

SCHEMA = 1
"""Version of everything written: raised when an older reader could misread it."""

_TAG = "$"


class RecordRefused(LiteratureError):
    """What the database holds can't be read by this version."""

    def __init__(self, message: str, *, recovery: str) -> None:
        super().__init__(message, reason="durable_record_refused", recovery=recovery)


class DatabaseError(LiteratureError):
    """The database of durable runs can't be used."""

    def __init__(self, message: str, *, recovery: str) -> None:
        super().__init__(message, reason="durable_unreachable", retryable=True, recovery=recovery)


class RecordedError(Exception):
    """An error that a step ended in, read back from the record: its type is known by name only."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class RecordSerializer(_serialization.Serializer):
    """Reads and writes the records of durable runs."""

    def name(self) -> str:
        """Stands in the database beside every value."""
        return "literature_agent_json"

    def serialize(self, data: Any) -> str:
        """JSON text of a value: plain JSON, a model's response, a time, or an error.

        Raises:
            TypeError: a value of another kind.
        """
        return json.dumps({"schema": SCHEMA, "value": _written(data)}, ensure_ascii=False, separators=(",", ":"))

    def deserialize(self, serialized_data: str) -> Any:
        """The value again.

        Raises:
            RecordRefused: written by a version whose records this one can't read, or no such record at all.
        """
        try:
            document = json.loads(serialized_data)
        except ValueError:
            document = None
        if not isinstance(document, dict) or "schema" not in document:
            raise RecordRefused(
                "A record in the database was not written by literature-agent.",
                recovery="Give durable runs a database of their own (LITERATURE_AGENT_DATABASE_URL).",
            )
        check_schema(document["schema"])
        return _read(document["value"])


def check_schema(schema: Any) -> None:
    """Refuse a record of another schema.

    Raises:
        RecordRefused: in one sentence, what wrote it and what to do.
    """
    if schema != SCHEMA:
        raise RecordRefused(
            f"A record of schema {schema!r} can't be read: this version of literature-agent reads schema {SCHEMA}.",
            recovery="Resume the run with the version that began it, or ask the question again.",
        )


class _NoPickles:
    """Stands in the place of the engine's reader of pickles."""

    def name(self) -> str:
        return "py_pickle"

    def serialize(self, data: Any) -> str:
        raise RecordRefused("Nothing is written as a pickle.", recovery="Report it.")

    def deserialize(self, serialized_data: str) -> Any:
        raise RecordRefused(
            "A record in the database is a pickle, which could run code when it is read: it is left unread.",
            recovery="Give durable runs a database of their own (LITERATURE_AGENT_DATABASE_URL).",
        )


@contextmanager
def no_pickles() -> Iterator[None]:
    """While this lasts the engine of this process reads no pickle, whatever a row says it is.

    The engine chooses the reader by a column of the row, so a serializer of one's own does not keep pickles out.
    """
    before = _serialization.DBOSDefaultSerializer
    _serialization.DBOSDefaultSerializer = cast(Any, _NoPickles())
    try:
        yield
    finally:
        _serialization.DBOSDefaultSerializer = before


# --- values ---


def _written(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_written(each) for each in value]
    if isinstance(value, Mapping):
        plain = {str(name): _written(each) for name, each in value.items()}
        return {_TAG: "mapping", "value": plain} if _TAG in plain else plain
    if isinstance(value, ModelResponse):
        return {_TAG: "response", "value": ModelMessagesTypeAdapter.dump_python([value], mode="json")[0]}
    if isinstance(value, datetime):
        return {_TAG: "time", "value": value.isoformat()}
    if isinstance(value, Decimal):
        return {_TAG: "decimal", "value": str(value)}
    if isinstance(value, BaseException):
        return {_TAG: "error", "value": _written_error(value)}
    raise TypeError(f"A {type(value).__name__} can't be recorded: only JSON values, model responses, times and errors.")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(each) for each in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_TAG)
    if tag is None:
        return {name: _read(each) for name, each in value.items()}
    reader = _READERS.get(tag)
    if reader is None:
        raise RecordRefused(
            f"A record holds a value of the unknown kind {tag!r}.",
            recovery="Resume the run with the version that began it, or ask the question again.",
        )
    return reader(value["value"])


def write_error(error: LiteratureError) -> dict[str, Any]:
    """An error of this package as plain JSON."""
    return {
        "type": type(error).__name__,
        "message": error.message,
        "reason": error.reason,
        "retryable": error.retryable,
        "recovery": error.recovery,
    }


def read_literature_error(written: Mapping[str, Any]) -> LiteratureError:
    """The error that `write_error` wrote."""
    kind = getattr(errors, str(written["type"]), None)
    known = kind if isinstance(kind, type) and issubclass(kind, LiteratureError) else LiteratureError
    return known(
        written["message"],
        reason=written["reason"],
        retryable=written["retryable"],
        recovery=written["recovery"],
    )


def not_recorded(refused: sa.exc.DBAPIError) -> DatabaseError:
    """What people are told where the database took no record."""
    why = " ".join(str(refused.orig).split())[:200]
    return DatabaseError(
        f"The database can't record what the run does: {why}.",
        recovery="Make room or mend it, then go on: what was recorded before is kept.",
    )


def _written_error(error: BaseException) -> dict[str, Any]:
    # Where a result could not be recorded, the engine would record that failure as the step's own end.
    if isinstance(error, sa.exc.DBAPIError):
        raise not_recorded(error)
    if isinstance(error, DatabaseError):
        raise error
    if isinstance(error, LiteratureError):
        return write_error(error)
    written: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, ModelAPIError):
        written |= {"model_name": error.model_name, "message": error.message}
    if isinstance(error, ModelHTTPError):
        # The body of the provider's answer stays out: it may repeat the key that was sent.
        written |= {"message": f"status code {error.status_code}", "status_code": error.status_code}
    return written


def _read_error(written: dict[str, Any]) -> BaseException:
    kind, message = str(written["type"]), str(written["message"])
    if "reason" in written:
        return read_literature_error(written)
    if "status_code" in written:
        return ModelHTTPError(written["status_code"], written["model_name"])
    if "model_name" in written:
        return ModelAPIError(written["model_name"], message)
    found = getattr(pydantic_ai.exceptions, kind, None) or getattr(builtins, kind, None)
    if isinstance(found, type) and issubclass(found, AgentRunError | UserError | OSError | ValueError):
        try:
            return found(message)
        except TypeError:
            return RecordedError(kind, message)
    return RecordedError(kind, message)


_READERS: dict[str, Callable[[Any], Any]] = {
    "mapping": lambda value: {name: _read(each) for name, each in value.items()},
    "response": lambda value: ModelMessagesTypeAdapter.validate_python([value])[0],
    "time": datetime.fromisoformat,
    "decimal": Decimal,
    "error": _read_error,
}
