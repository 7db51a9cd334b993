"""A run as the extractive model reads it: the text of the messages and nothing else.

Metadata, registry and ledger are out of its reach, as they are for a language model.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from literature_agent.agents.evidence import UNTYPED, Asked, Mark, Paper
from literature_agent.views import FENCE_CLOSE, FENCE_OPEN

REFERENCE = re.compile(r"«artifact:link:cite~[0-9A-Za-z]{10}»")

_QUESTION = re.compile(r"<question>\n(.*?)\n</question>", re.S)
_AT_MOST = re.compile(r"^Articles: at most (\d{1,3})$", re.M)
_SOURCES = re.compile(r"^Sources: (.+)$", re.M)
_PUBLISHED = re.compile(r"^Published: (\S+|any time) to (\S+)", re.M)
_TYPES_ASKED = re.compile(r"^Publication types: ", re.M)
_STATUS = re.compile(r"^\[status: (.*)\]$", re.M)
_TURNS_LEFT = re.compile(r"\b([\d,]+) turns? left\b")
_CALLS_LEFT = re.compile(r"\b([\d,]+) tool calls? left\b")
_CLOSING = re.compile(r"^This is the last turn\b", re.M)
_SEARCH = re.compile(r"^Search (\S+) \| (\S+) \| (ok|empty|partial|failed)(?: \| shown (\d+) of (\d+|unknown))?", re.M)
_HEADING = re.compile(rf"^({REFERENCE.pattern}) \| (.*)$")
_MARKS: Mapping[str, Mark] = {
    "[PREPRINT": "preprint",
    "[RETRACTED]": "retracted",
    "[CONCERN]": "concern",
    "[CORRECTED]": "corrected",
    "[NOTICE]": "notice",
}
_DEFAULT_ARTICLES = 20


@dataclass(frozen=True)
class Call:
    """One tool call of this run with the text it was answered with; None while it is unanswered."""

    tool: str
    arguments: Mapping[str, Any]
    id: str
    turn: int
    answer: str | None = None
    refused: bool = False
    """The answer asks for a corrected call."""

    @property
    def key(self) -> str:
        """Equal for calls that ask the same."""
        return f"{self.tool} {json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)}"


@dataclass(frozen=True)
class SeenSearch:
    """The header of one search as shown."""

    asked: Asked
    shown: int
    total: int | None
    tool: str | None
    """The tool whose call was answered with it; None for what stood in the first message."""
    suggestion: str | None = None
    """The query in the source's own spelling, where it offers one."""
    unknown: tuple[str, ...] = ()
    """Words of the query that the source says it has nothing for."""
    broader: bool = False
    """The source warns that it left out part of the query."""
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Transcript:
    """Everything said in this run."""

    question: str = ""
    max_articles: int = _DEFAULT_ARTICLES
    sources: tuple[str, ...] = ()
    """Sources of this run as the request names them; empty where it does not."""
    date_from: str | None = None
    date_to: str | None = None
    types_asked: bool = False
    """Whether the request itself is limited to publication types."""
    named: frozenset[str] = frozenset()
    """References of the works that the question names, and of those shown as linked to one of them."""
    calls: tuple[Call, ...] = ()
    searches: tuple[SeenSearch, ...] = ()
    papers: tuple[Paper, ...] = ()
    shown_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Reference -> names of the sources whose searches showed it."""
    feedback: tuple[str, ...] = ()
    """What was said against submitted answers, oldest first."""
    turns: int = 0
    """Replies of the model so far in this run."""
    turns_before: int = 0
    """Replies in the conversation before this run."""
    turns_left: int | None = None
    """As the newest status line says, this one included; None where none says it."""
    calls_left: int | None = None
    closing: bool = False
    """It was said that this is the last turn."""


def read_transcript(messages: Sequence[ModelMessage], output_tools: Iterable[str] = ()) -> Transcript:
    """The run that the messages tell, from its question on; earlier runs in the same conversation are left out."""
    start = _start(messages)
    before = sum(isinstance(message, ModelResponse) for message in messages[:start])
    turns = 0
    prompts: list[str] = []
    calls: dict[str, Call] = {}
    for message in messages[start:]:
        if isinstance(message, ModelResponse):
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    calls[part.tool_call_id] = Call(part.tool_name, _arguments(part), part.tool_call_id, turns)
            turns += 1
        else:
            prompts.extend(_prompts(message))
            for answer in message.parts:
                if isinstance(answer, ToolReturnPart) and answer.tool_call_id in calls:
                    calls[answer.tool_call_id] = replace(
                        calls[answer.tool_call_id],
                        answer=answer.model_response_str(wrap_if_error=False),
                        refused=answer.outcome == "retried",
                    )
    first, later = (prompts[0], prompts[1:]) if prompts else ("", [])
    outputs = frozenset(output_tools)
    feedback = [call.answer for call in calls.values() if call.tool in outputs and call.answer and call.refused]
    return _with_views(
        Transcript(
            **_request(first),
            calls=tuple(call for call in calls.values() if call.tool not in outputs),
            feedback=(*feedback, *later),
            turns=turns,
            turns_before=before,
            **_standing([call.answer for call in calls.values() if call.answer]),
        ),
        first,
    )


def _standing(answers: Sequence[str]) -> dict[str, Any]:
    """What the status line says of the budget. It stands behind the fence: inside it, it would be a paper's text."""
    behind = [answer.rpartition(FENCE_CLOSE)[2] for answer in answers]
    lines = [found.group(1) for text in behind for found in _STATUS.finditer(text)]
    turns, calls = (pattern.search(lines[-1]) if lines else None for pattern in (_TURNS_LEFT, _CALLS_LEFT))
    return {
        "turns_left": int(turns.group(1).replace(",", "")) if turns else None,
        "calls_left": int(calls.group(1).replace(",", "")) if calls else None,
        "closing": any(_CLOSING.search(text) for text in behind),
    }


def _start(messages: Sequence[ModelMessage]) -> int:
    """Where the run begins: the last message with a question, else the first with a prompt."""
    asked = [n for n, message in enumerate(messages) if any(_QUESTION.search(text) for text in _prompts(message))]
    prompted = [n for n, message in enumerate(messages) if any(True for _ in _prompts(message))]
    return asked[-1] if asked else prompted[0] if prompted else 0


def _prompts(message: ModelMessage) -> Iterable[str]:
    if isinstance(message, ModelRequest):
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                yield _prompt_text(part)


def _prompt_text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n".join(text for item in part.content if isinstance(text := getattr(item, "content", item), str))


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    try:
        return part.args_as_dict()
    except ValueError:
        return {}


def _request(prompt: str) -> dict[str, Any]:
    """The question and its limits as `agents.briefing.brief` writes them; a prompt without them is the question."""
    asked = _QUESTION.search(prompt)
    if asked is None:
        return {"question": prompt.strip()}
    rest = prompt[asked.end() :].partition("\nAlready done for you:")[0]
    published, at_most, sources = _PUBLISHED.search(rest), _AT_MOST.search(rest), _SOURCES.search(rest)
    return {
        "question": asked.group(1).strip(),
        "sources": tuple(sources.group(1).split(", ")) if sources else (),
        "max_articles": int(at_most.group(1)) if at_most else _DEFAULT_ARTICLES,
        "date_from": published.group(1) if published and published.group(1) != "any" else None,
        "date_to": published.group(2) if published and published.group(2) != "today" else None,
        "types_asked": bool(_TYPES_ASKED.search(rest)),
    }


# --- views ------------------------------------------------------------------------------------------------------------

_COUNT = re.compile(r"^(?:(?:Search|Related to) .* \| shown|Fetched) (\d+) of ", re.M)
_LEFT_OUT = re.compile(rf"^(?:Not found|Failed): ({REFERENCE.pattern})", re.M)
_VIEW = re.compile(r"^(?=Search \S+ \| \S+ \| |Fetched \d+ of \d+$|Citations \| \d+ checked)", re.M)
_DETAIL = re.compile(r"^(MeSH|Keywords|Registration|Registered for|Outcome|Result|Linked): ")
_FILTERS = re.compile(r"^Filters: (.+)$", re.M)
_WARNING = re.compile(r"^Warning: ", re.M)
_BROADER = re.compile(r"^Warning: .*(?:left it out of the search|broader question|may not answer)", re.M)
_UNKNOWN = re.compile(r"^Warning: \w+ has nothing for (?:'([^']+)'|\"([^\"]+)\") and left it out", re.M)
_RELATION = re.compile(rf"^Relation: ({REFERENCE.pattern}): ", re.M)
_UNSEEN = re.compile(r"^Linked: .*\bnot shown yet\b")
_SUGGESTION = re.compile(r"^(?:Notice|Nothing found): .*\bsuggests: (.+)$", re.M)


@dataclass
class _Shelf:
    """Papers and searches while views are read."""

    papers: dict[str, Paper] = field(default_factory=dict)
    shown_by: dict[str, list[str]] = field(default_factory=dict)
    searches: list[SeenSearch] = field(default_factory=list)

    def read(self, text: str, call: Call | None) -> None:
        """Take in one view: its header if it is a search, and the papers that stand in its fence."""
        header, blocks = _split(text)
        found = _SEARCH.search(header)
        papers = self._trusted(text, blocks)
        if found:
            self._search(found, header, call, papers)
        source = _source_of(call) or (found.group(2) if found else "")
        for place, paper in enumerate(papers):
            if found:
                paper = replace(paper, positions=(place,))
                sources = self.shown_by.setdefault(paper.reference, [])
                if source not in sources:
                    sources.append(source)
            known = self.papers.get(paper.reference)
            self.papers[paper.reference] = paper if known is None else _merged(known, paper)

    def _trusted(self, text: str, blocks: Sequence[Sequence[str]]) -> list[Paper]:
        """The papers of a view, without those that only the text of another paper pretends to show.

        Paper text can hold lines that look like a heading. Then there are more of them than the view says it shows.
        """
        papers = [_paper(block) for block in blocks]
        stated = _COUNT.search(text)
        if stated is None or len(papers) <= int(stated.group(1)):
            return papers
        refused = {found.group(1) for found in _LEFT_OUT.finditer(text)}
        papers = [paper for paper in papers if paper.reference not in refused and self._agrees(paper)]
        counts = Counter(paper.reference for paper in papers)
        return [paper for paper in papers if counts[paper.reference] == 1]

    def _agrees(self, paper: Paper) -> bool:
        """Whether a paper shown before is shown now with the same title and beginning."""
        known = self.papers.get(paper.reference)
        if known is None:
            return True
        short, long = sorted((known.abstract.rstrip("…"), paper.abstract.rstrip("…")), key=len)
        return paper.title == known.title and long.startswith(short)

    def _search(self, found: re.Match[str], header: str, call: Call | None, papers: Sequence[Paper]) -> None:
        search_id, source, status, shown, total = found.groups()
        query = re.search(r"^Query: (.*)$", header, re.M)
        suggested, filters = _SUGGESTION.search(header), _FILTERS.search(header)
        asked = Asked(
            search_id,
            source,
            _status(status),
            query=query.group(1) if query else _query_of(call),
            filters=filters.group(1) if filters else "",
            as_written=suggested is None and not _WARNING.search(header),
        )
        self.searches.append(
            SeenSearch(
                asked=asked,
                shown=int(shown or 0),
                total=int(total) if total and total != "unknown" else None,
                tool=call.tool if call else None,
                suggestion=suggested.group(1) if suggested else None,
                unknown=tuple(single or double for single, double in _UNKNOWN.findall(header)),
                broader=bool(_BROADER.search(header)),
                references=tuple(paper.reference for paper in papers),
            )
        )


def _with_views(transcript: Transcript, prompt: str) -> Transcript:
    shelf = _Shelf()
    _, _, given = prompt.partition("\nAlready done for you:\n")
    # Each view that stands there begins with its own header.
    for view in _VIEW.split(given):
        shelf.read(view, None)
    for call in transcript.calls:
        if call.answer:
            shelf.read(call.answer, call)
    return replace(
        transcript,
        named=_named(transcript),
        searches=tuple(shelf.searches),
        papers=tuple(shelf.papers.values()),
        shown_by={reference: tuple(sources) for reference, sources in shelf.shown_by.items()},
    )


def _named(transcript: Transcript) -> frozenset[str]:
    named = set(REFERENCE.findall(transcript.question))
    for call in transcript.calls:
        asked = call.arguments if call.tool == "find_related" else {}
        if asked.get("relation") == "linked" and asked.get("reference") in named and call.answer:
            named.update(_RELATION.findall(_split(call.answer)[0]))
    return frozenset(named)


def _split(text: str) -> tuple[str, list[list[str]]]:
    """What stands before the fence, and the lines of each paper inside it."""
    header, _, fenced = text.partition(FENCE_OPEN)
    blocks: list[list[str]] = []
    # A view that was cut lacks the end of its fence.
    for line in fenced.partition(FENCE_CLOSE)[0].strip("\n").split("\n"):
        if _HEADING.match(line):
            blocks.append([line])
        elif blocks:
            blocks[-1].append(line)
    return header, blocks


def _source_of(call: Call | None) -> str:
    return call.tool.removeprefix("search_") if call and call.tool.startswith("search_") else ""


def _query_of(call: Call | None) -> str:
    return str(call.arguments.get("query", "")) if call else ""


def _status(text: str) -> Literal["ok", "empty", "partial", "failed"]:
    return text if text in ("ok", "empty", "partial") else "failed"  # type: ignore[return-value]  # narrowed by `in`


def _paper(block: Sequence[str]) -> Paper:
    heading = _HEADING.match(block[0])
    assert heading is not None
    facts = heading.group(2).split(" | ")
    lines = list(block[1:])
    details: list[str] = []
    while lines and _DETAIL.match(lines[-1]):
        details.append(lines.pop())
    title = lines.pop(0).removeprefix("Title:").strip() if lines and lines[0].startswith("Title:") else ""
    abstract, whole = "", False
    if lines and lines[0].startswith("Abstract"):
        whole = lines[0].startswith("Abstract (whole): ")
        abstract = "\n".join([lines[0].partition(": ")[2], *lines[1:]])
        whole = whole or not abstract.endswith("…")
    return Paper(
        reference=heading.group(1),
        title=title,
        abstract=abstract,
        whole=whole,
        year=int(facts[0]) if facts[0].isdecimal() else None,
        study_type=facts[1] if len(facts) > 1 else UNTYPED,
        marks=frozenset(mark for shown, mark in _MARKS.items() if shown in heading.group(2)),
        headings=tuple(_headings(details)),
        linked=tuple(reversed([link for line in details if (link := _link(line))])),
        has_unseen_links=any(_UNSEEN.match(line) for line in details),
    )


def _headings(details: Sequence[str]) -> Iterable[str]:
    for line in reversed(details):
        label, _, value = line.partition(": ")
        if label in ("MeSH", "Keywords"):
            yield from (name for part in value.split("; ") if (name := part.strip().rstrip("*")))


def _link(line: str) -> tuple[str, str] | None:
    found = re.fullmatch(rf"Linked: (\w+) ({REFERENCE.pattern})", line)
    return (found.group(1), found.group(2)) if found else None


def _merged(known: Paper, new: Paper) -> Paper:
    """What both views say of one work: the longest text, every mark, every place."""
    longer = max((known, new), key=lambda paper: (paper.whole, len(paper.abstract)))
    typed = [paper.study_type for paper in (longer, known, new) if paper.study_type != UNTYPED]
    return replace(
        longer,
        title=longer.title or known.title or new.title,
        year=longer.year or known.year or new.year,
        study_type=typed[0] if typed else UNTYPED,
        marks=known.marks | new.marks,
        headings=longer.headings or known.headings or new.headings,
        linked=tuple(dict.fromkeys((*known.linked, *new.linked))),
        has_unseen_links=known.has_unseen_links or new.has_unseen_links,
        positions=(*known.positions, *new.positions),
    )
