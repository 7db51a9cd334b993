"""The request that a caller's question and limits make, or why they make none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from literature_agent.errors import InvalidInputError, expect, in_words
from literature_agent.outputs import MAX_QUESTION_CHARACTERS, AggregationRequest
from literature_agent.sources._text import date_bounds, parse_partial_date


def read_request(question: str | AggregationRequest, limits: Mapping[str, Any]) -> AggregationRequest:
    """The request that a question and its limits make.

    Raises:
        InvalidInputError: in one sentence, what was wrong and what to do.
    """
    if isinstance(question, AggregationRequest):
        asked = question.model_dump()
    else:
        expect("question", question, str, "text or AggregationRequest")
        asked = {"question": question}
    if isinstance(question, AggregationRequest) and not limits:
        request = question
    else:
        unknown = sorted(set(limits) - set(AggregationRequest.model_fields))
        if unknown:
            raise InvalidInputError(f"Unknown option {unknown[0]!r}: use {', '.join(AggregationRequest.model_fields)}.")
        given = {name: value for name, value in limits.items() if value is not None}
        try:
            request = AggregationRequest(**{**asked, **given})
        except ValidationError as refused:
            first = refused.errors(include_url=False)[0]
            name, value = ".".join(str(part) for part in first["loc"]), repr(first["input"])
            raise InvalidInputError(f"{name}={value[:80]}: {in_words(first['msg'])}.") from None
    date_bounds(request.date_from, request.date_to, source="request")
    if request.since_entry_date is not None:
        parse_partial_date(request.since_entry_date, name="since_entry_date", source="request")
    text = request.question.strip()
    if not any(character.isalnum() for character in text):
        raise InvalidInputError("The question is empty.", recovery="Ask a question in words.")
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise InvalidInputError(
            f"The question has {len(text):,} characters; at most {MAX_QUESTION_CHARACTERS:,} are read.",
            recovery="Shorten it; pass searches with `searches=`.",
        )
    return request
