"""The error tree."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

from literature_agent.errors import (
    ConfigurationError,
    InvalidInputError,
    LiteratureError,
    SourceError,
    in_words,
    reason_of,
    source_error,
    told,
)
from literature_agent.results import ErrorInfo
from literature_agent.settings import load_settings


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [("unreachable", True), ("rate_limited", True), ("timeout", True), ("blocked", False), ("not_found", False)],
)
def test_a_source_error_carries_reason_and_next_step(kind: str, retryable: bool) -> None:
    error = source_error("pubmed", kind, "It failed.")  # type: ignore[arg-type]  # parametrised literal
    assert (error.reason, error.retryable, str(error)) == (f"pubmed_{kind}", retryable, "It failed.")
    assert error.recovery


def test_refused_input_is_its_own_kind() -> None:
    error = source_error("pubmed", "invalid_input", "Bad.")
    assert isinstance(error, InvalidInputError)
    assert isinstance(error, SourceError)
    assert not error.retryable


def test_a_next_step_that_only_points_at_the_message_is_not_read_out() -> None:
    for error in (InvalidInputError("x=3 is too many: give 2"), ConfigurationError("x=3 is too many: give 2")):
        assert error.recovery
        assert told(error) == "x=3 is too many: give 2."
    assert told(InvalidInputError("Too many.", recovery="Give 2.")) == "Too many. Give 2."
    assert told(ErrorInfo(reason="x", message="It failed")) == "It failed."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("99", "RETRY_ATTEMPTS is not usable: write 10 or less."),
        ("x", "RETRY_ATTEMPTS is not usable: write a whole number."),
        ("0", "RETRY_ATTEMPTS is not usable: write 1 or more."),
    ],
)
def test_a_refused_setting_says_what_to_write(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_settings(retry_attempts=text)
    assert str(refused.value).endswith(said)


def test_what_pydantic_says_is_put_in_words() -> None:
    assert in_words("Input should be 'on' or 'off'") == "it should be 'on' or 'off'"
    assert in_words("Input should be a valid boolean, unable to interpret input") == "write true or false"
    assert in_words("Value error, there is no tool 'x'.") == "there is no tool 'x'"
    assert in_words("Invalid value for '--a': Value error, it's no form.") == "Invalid value for '--a': it's no form"
    assert in_words("Input should be greater than 0") == "write more than 0"
    assert in_words("Input should be a valid string") == "write a text"
    assert in_words("Input should be a valid list") == "write a list"
    assert in_words("Value should have at least 1 item after validation, not 0") == "it is empty"


def test_the_reason_of_a_refusal_holds_no_number_and_no_path(tmp_path: Path) -> None:
    with pytest.raises(OSError) as refused:
        (tmp_path / "missing").read_text()
    assert reason_of(refused.value) == "No such file or directory"
    assert reason_of(OSError("layout 3")) == "layout 3"
    assert reason_of(RuntimeError("[Errno -2] Name or service not known")) == "Name or service not known"
    assert reason_of(RuntimeError("[SSL: X] no certificate found (_ssl.c:4154)")) == "no certificate found"
    assert reason_of(RuntimeError()) == "RuntimeError"
    with pytest.raises(ValueError) as not_text:
        b"\xff".decode("utf-8")
    assert reason_of(not_text.value) == "it is not UTF-8 text"


@pytest.mark.parametrize(
    "error", [source_error("pubmed", "timeout", "x"), InvalidInputError("y"), ConfigurationError("z")]
)
def test_errors_survive_pickling(error: LiteratureError) -> None:
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error)
    assert (other.message, other.reason, other.retryable, other.recovery) == (
        error.message,
        error.reason,
        error.retryable,
        error.recovery,
    )


def test_a_traceback_says_the_next_step_once() -> None:
    error = InvalidInputError("Bad.", recovery="Do that.")
    for each in (error, pickle.loads(pickle.dumps(error))):
        told = "".join(traceback.format_exception(each)).splitlines()
        assert told[-2:] == ["literature_agent.errors.InvalidInputError: Bad.", "Do that."]
    assert not hasattr(InvalidInputError("Bad."), "__notes__")
