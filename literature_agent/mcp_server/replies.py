"""A reply as it goes out: text for the model, a bibliography for the person, the typed twin; below the size limit.

Clients refuse results above about 25,000 tokens (K104). A token is at least two bytes of what is sent here, so that
48,000 bytes stay below it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcp_types import Annotations, CallToolResult, ContentBlock, ResourceLink, TextContent

from literature_agent.artifacts import CitationArtifact
from literature_agent.errors import told
from literature_agent.mcp_server.twins import ErrorTwin
from literature_agent.registry import ArtifactRegistry
from literature_agent.render import bibliography_entry
from literature_agent.views import FENCE_CLOSE, FENCE_OPEN

MOST_BYTES = 48_000
"""Of a whole reply."""
MOST_TEXT_BYTES = 30_000
MOST_HITS = 40
"""Hits of one search that fit into a reply."""
LONGEST_BIBLIOGRAPHY = 12_000
LONGEST_RENDERED = 36_000
"""Bytes of what `render_citations` prints."""

_HEADING = re.compile(r"^«artifact:link:cite~[0-9A-Z]{10}» \|", re.M)


@dataclass(frozen=True)
class Answer:
    """What a tool gives, before it is made fit to send."""

    text: str
    structured: dict[str, Any]
    references: tuple[str, ...] = ()
    """Works for the person's bibliography."""
    rendered: str | None = None
    """Text for the person instead of a bibliography."""


class Fitted(NamedTuple):
    """A view cut to a length, and the references of the records that did not fit."""

    text: str
    left_out: tuple[str, ...] = ()


def fit_view(text: str, limit: int = MOST_TEXT_BYTES) -> Fitted:
    """A view of at most `limit` bytes: whole records from the first on; the one that alone is too long is cut."""
    if size(text) <= limit:
        return Fitted(text)
    starts = [match.start() for match in _HEADING.finditer(text)]
    close = text.rfind(FENCE_CLOSE)
    if not starts or FENCE_OPEN not in text[: starts[0]] or close < starts[-1]:
        return Fitted(cut(text, limit))
    head, tail = text[: starts[0]], text[close:]
    records = [text[start:end] for start, end in zip(starts, [*starts[1:], close], strict=True)]
    kept: list[str] = []
    room = limit - size(head) - size(tail) - 200
    for at, record in enumerate(records):
        needed = size(record) + 40 * (len(records) - at - 1)
        if needed > room and not kept:
            kept.append(cut(record, max(1_000, room - 40 * (len(records) - 1))) + "\n")
            break
        if needed > room:
            break
        kept.append(record)
        room -= size(record)
    left_out = tuple(record.split(" |", 1)[0] for record in records[len(kept) :])
    said = f"\nLeft out for length, ask for them in another call: {', '.join(left_out)}" if left_out else ""
    return Fitted(head + "".join(kept) + tail + said, left_out)


def cut(text: str, limit: int) -> str:
    """At most `limit` bytes of `text`, with a mark where it is cut, and the fence closed again."""
    if size(text) <= limit:
        return text
    end = "…"
    if FENCE_OPEN in text:
        end += f"\n{FENCE_CLOSE}"
    end += "\n(Cut for length: ask for less at once.)"
    return text.encode("utf-8", "replace")[: limit - size(end)].decode("utf-8", "ignore") + end


def size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def bibliography(works: Sequence[CitationArtifact], limit: int = LONGEST_BIBLIOGRAPHY) -> str:
    """Numbered entries of the works, printed from their records, at most `limit` bytes."""
    lines: list[str] = []
    left = limit
    for number, work in enumerate(works, 1):
        line = f"[{number}] {bibliography_entry(work)}"
        if size(line) + 1 > left:
            lines.append(f"({len(works) - number + 1} more; each is a resource of its own: citation://KEY.)")
            break
        lines.append(line)
        left -= size(line) + 1
    return "\n".join(lines)


def facts(artifact: CitationArtifact) -> dict[str, Any]:
    """What the mode `raw` adds of a work: identifiers, authors, journal."""
    members = {
        "reference": artifact.reference,
        "authors": ", ".join(author.display for author in artifact.authors[:10] if author.display) or None,
        "journal": artifact.journal,
        "year": artifact.year,
        "doi": artifact.doi,
        "pmid": getattr(artifact, "pmid", None),
        "pmcid": getattr(artifact, "pmcid", None),
        "nct_id": getattr(artifact, "nct_id", None),
        "url": artifact.url,
    }
    return {name: value for name, value in members.items() if value is not None}


FACTS_SCHEMA: dict[str, Any] = {
    "type": "array",
    "description": "Identifiers, authors and journal of each reference.",
    "items": {
        "type": "object",
        "properties": {
            "reference": {"type": "string"},
            "authors": {"type": "string"},
            "journal": {"type": "string"},
            "year": {"type": "integer"},
            "doi": {"type": "string"},
            "pmid": {"type": "string"},
            "pmcid": {"type": "string"},
            "nct_id": {"type": "string"},
            "url": {"type": "string"},
        },
        "additionalProperties": False,
    },
}


def to_result(answer: Answer, registry: ArtifactRegistry, *, raw: bool, link: bool) -> CallToolResult:
    """The reply of a tool. In the mode `raw` identifiers stand in the text and the twin too."""
    structured = dict(answer.structured)
    text = answer.text
    works = [work for reference in answer.references if (work := registry.find(reference)) is not None]
    # What was printed names its works already.
    if raw and works and answer.rendered is None:
        structured["records"] = [facts(work) for work in works]
        room = MOST_BYTES - size(compact(structured)) - LONGEST_BIBLIOGRAPHY - 1_000
        lines = [f"{work.reference}: {bibliography_entry(work)}" for work in works]
        text = cut(f"{text}\nRecords:\n" + "\n".join(lines), max(4_000, min(room, MOST_TEXT_BYTES + 8_000)))
    if size(compact(structured)) > MOST_BYTES // 3:
        structured.pop("records", None)
    content: list[ContentBlock] = [TextContent(text=_writable(text))]
    left = MOST_BYTES - size(text) - size(compact(structured)) - 200
    person = answer.rendered
    if person is None:
        person = bibliography(works, min(left, LONGEST_BIBLIOGRAPHY))
    if person and link and answer.rendered is None:
        keys = ",".join(reference[-11:-1] for reference in answer.references)
        content.append(
            ResourceLink(
                uri=f"bibliography://{keys}",
                name="bibliography",
                title="Bibliography",
                mime_type="text/plain",
                annotations=Annotations(audience=["user"]),
            )
        )
    elif person:
        content.append(
            TextContent(text=_writable(cut(person, max(left, 2_000))), annotations=Annotations(audience=["user"]))
        )
    return CallToolResult(content=content, structured_content=structured)


def to_failure(error: ErrorTwin, twin: dict[str, Any], text: str | None = None) -> CallToolResult:
    """The reply of a call that failed: a sentence, and the error branch of the twin."""
    said = text if text is not None else told(error)
    return CallToolResult(
        content=[TextContent(text=_writable(cut(said, 4_000)))],
        structured_content={**twin, "error": error.model_dump()},
        is_error=True,
    )


def weight_of(result: CallToolResult) -> int:
    """Bytes that a model may be shown of a reply: all texts, and the structured content."""
    texts = sum(size(part.text) for part in result.content if isinstance(part, TextContent))
    return texts + size(compact(result.structured_content or {}))


def compact(document: dict[str, Any]) -> str:
    """A document as it is sent."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
