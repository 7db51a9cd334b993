"""Resources: whole records, answers of runs, guides of the sources, and what this server is.

A resource of another consumer answers like one that does not exist.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Annotations,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from literature_agent.mcp_server.desk import Desk
from literature_agent.mcp_server.offers import Offer
from literature_agent.mcp_server.replies import MOST_BYTES, MOST_HITS, bibliography, size
from literature_agent.mcp_server.runs import output_of
from literature_agent.mcp_server.shelf import StoredRun
from literature_agent.prompts import load_prompt
from literature_agent.registry import Reference
from literature_agent.registry.references import is_key, normalise_key
from literature_agent.render import render_answer_markdown
from literature_agent.sources import Source

SERVER = "literature://server"
_URI = re.compile(r"(citation|run|guide|bibliography)://([A-Za-z0-9_,-]{1,600})/?")
_LISTED = 20
_LONGEST_TEXT = 2_000
_REST_OF_ANSWER = (
    "\n\n(Cut for length. Each work is a resource of its own, citation://KEY; `render_citations` prints them.)\n"
)
_PERSON = Annotations(audience=["user"])

TEMPLATES = (
    ResourceTemplate(
        name="citation",
        title="Whole record of a reference",
        uri_template="citation://{key}",
        description="The record of a work that was shown to you, with identifiers; key: the ten characters behind `~`.",
        mime_type="application/json",
        annotations=_PERSON,
    ),
    ResourceTemplate(
        name="run",
        title="Answer of a run",
        uri_template="run://{run_id}",
        description="The answer of literature_aggregator or literature_start as Markdown, partial ones too.",
        mime_type="text/markdown",
        annotations=_PERSON,
    ),
    ResourceTemplate(
        name="bibliography",
        title="Bibliography",
        uri_template="bibliography://{keys}",
        description="Entries of works that were shown to you; keys parted by commas.",
        mime_type="text/plain",
        annotations=_PERSON,
    ),
    ResourceTemplate(
        name="guide",
        title="Guide of a source",
        uri_template="guide://{source}",
        description="How to search a source well.",
        mime_type="text/markdown",
    ),
)


@dataclass(frozen=True)
class Library:
    """The resources of a server with these sources."""

    sources: Sequence[Source]

    def listed(self, desk: Desk) -> list[Resource]:
        """The server's own resources, and the works shown last."""
        fixed = [
            Resource(uri=SERVER, name="server", title="This server: sources and limits", mime_type="application/json")
        ]
        fixed += [
            Resource(
                uri=f"guide://{guide}",
                name=f"guide-{guide}",
                title=f"How to search {label}",
                mime_type="text/markdown",
            )
            for guide, label in self._guides().items()
        ]
        works = [
            Resource(
                uri=f"citation://{key}",
                name=key,
                title=work.title[:200] or None,
                mime_type="application/json",
                annotations=_PERSON,
            )
            for key in desk.shelf.last_shown(_LISTED)
            if (work := desk.shelf.registry.find(key)) is not None
        ]
        return [*fixed, *works]

    def read(self, uri: str, desk: Desk, offers: Sequence[Offer]) -> ReadResourceResult:
        """The contents of a resource.

        Raises:
            MCPError: there is no such resource for this consumer.
        """
        if uri.rstrip("/") == SERVER:
            return _text(uri, json.dumps(self._about(desk, offers), indent=1), "application/json")
        match = _URI.fullmatch(uri)
        if match is None:
            raise _unknown(uri)
        kind, name = match.groups()
        if kind == "citation":
            return _text(uri, self._record(uri, name, desk), "application/json")
        if kind == "bibliography":
            references = [Reference(key) for part in name.split(",") if is_key(key := normalise_key(part))]
            works = [
                work
                for reference in references
                if desk.shelf.was_shown(reference) and (work := desk.shelf.registry.find(reference)) is not None
            ]
            if not works:
                raise _unknown(uri)
            return _text(uri, bibliography(works, MOST_BYTES), "text/plain")
        if kind == "run":
            return _text(uri, self._answer(uri, name, desk), "text/markdown")
        guide = next((guide for guide in self._guides() if guide == name.lower()), None)
        if guide is None:
            raise _unknown(uri)
        return _text(uri, load_prompt(f"sources/{guide}"), "text/markdown")

    def _guides(self) -> dict[str, str]:
        guides: dict[str, str] = {}
        for source in self.sources:
            guides.setdefault(source.guide, source.label)
        return guides

    def _record(self, uri: str, key: str, desk: Desk) -> str:
        written = normalise_key(key)
        if not is_key(written):
            raise _unknown(uri)
        reference = Reference(written)
        if desk.shelf.was_shown(reference):
            work = desk.shelf.registry.find(reference)
            if work is not None:
                document = work.model_dump_json(exclude_none=True, indent=1)
                return document if size(document) <= MOST_BYTES else _shortened(work.model_dump(mode="json"))
        if desk.shelf.was_evicted(reference):
            days = desk.consumer.retention_days
            raise MCPError(
                code=INVALID_PARAMS,
                message=f"The work behind {uri[:80]} was here and is evicted: it was not shown for {days:g} days. "
                "Search for it again.",
                data={"reason": "evicted"},
            )
        raise _unknown(uri)

    def _answer(self, uri: str, run_id: str, desk: Desk) -> str:
        run = desk.runs.find(run_id)
        output = output_of(run) if isinstance(run, StoredRun) else None
        if output is None:
            raise _unknown(uri)
        page = render_answer_markdown(output.attach(desk.shelf.registry))
        if size(page) <= MOST_BYTES:
            return page
        lines = page.encode()[: MOST_BYTES - size(_REST_OF_ANSWER)].decode("utf-8", "ignore").rpartition("\n")[0]
        return lines + _REST_OF_ANSWER

    def _about(self, desk: Desk, offers: Sequence[Offer]) -> dict[str, Any]:
        consumer = desk.consumer
        return {
            "server": "literature-agent",
            "sources": [
                {"name": source.name, "label": source.label, "interface": source.interface, "leaves": source.leaves}
                for source in self.sources
            ],
            "tools": [offer.name for offer in offers],
            "identifiers": consumer.identifiers,
            "limits": {
                "hits_per_reply": MOST_HITS,
                "bytes_per_reply": MOST_BYTES,
                "calls_per_day": consumer.calls_per_day,
                "runs_per_day": consumer.runs_per_day,
                "requests_per_minute": consumer.requests_per_minute,
                "sessions_at_once": consumer.sessions_at_once,
                "runs_at_once": consumer.runs_at_once,
                "retention_days": consumer.retention_days,
                "run": consumer.budget.model_dump(exclude_none=True),
            },
        }


def _text(uri: str, text: str, mime_type: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=mime_type)])


def _unknown(uri: str) -> MCPError:
    shown = unquote(uri)[:80].encode("ascii", "replace").decode()
    return MCPError(code=INVALID_PARAMS, message=f"Unknown resource: {shown!r}", data={"reason": "not_found"})


def _shortened(document: dict[str, Any]) -> str:
    """A record too long for one reply, without what makes it so: the longest members first, what identifies it never.
    It stays JSON."""
    longest = sorted(document, key=lambda name: size(json.dumps(document[name], ensure_ascii=False)), reverse=True)
    text = ""
    for name in longest:
        value = document[name]
        if isinstance(value, str):
            document[name] = value[:_LONGEST_TEXT] + "… (left out for length)" if len(value) > _LONGEST_TEXT else value
        elif value:
            document[name] = f"left out for length ({len(value)} entries)" if hasattr(value, "__len__") else value
        text = json.dumps({name: value for name, value in document.items() if value is not None}, ensure_ascii=False)
        if size(text) <= MOST_BYTES:
            break
    return text
