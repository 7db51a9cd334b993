"""The error tree."""

from __future__ import annotations

import pickle

import pytest

from literature_agent.errors import ConfigurationError, InvalidInputError, LiteratureError, SourceError, source_error


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
