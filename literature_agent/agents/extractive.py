"""The model `extractive`: not a language model.

A deterministic stand-in that goes through the same loop as one: it plans queries from the words of the question, calls
the search and fetch tools it is offered, ranks what they show, selects sentences that stand in abstracts, and submits
the same draft. It needs no key, no network and no money, and it reads the text of messages only. It is the floor that
a language model has to beat, and what runs where none is set.
"""

from __future__ import annotations

import calendar
import datetime
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from literature_agent.agents.compose import compose
from literature_agent.agents.door import UNRESOLVED
from literature_agent.agents.evidence import Paper
from literature_agent.agents.models import EXTRACTIVE
from literature_agent.agents.plan import (
    Grammar,
    Plan,
    content_words,
    first_query,
    grammar_of,
    heading_query,
    narrower_query,
    plan_question,
    related_query,
    scanning_query,
    simpler_query,
    wider_queries,
)
from literature_agent.agents.rank import rank
from literature_agent.agents.repair import mend
from literature_agent.agents.selection import select
from literature_agent.agents.transcript import Call, SeenSearch, Transcript, read_transcript
from literature_agent.agents.words import is_weak
from literature_agent.outputs import AggregationDraft

# One run: at most three turns of searches, the rest to read, and one to submit.
_MOST_TURNS = 6
_SEARCH_TURNS = 3
_ENOUGH = 10
_TOO_MANY = 2_000
_WORTH_SORTING = 40
_HITS = 20
_WIDE_HITS = 40
_READ = 25
_SPARE = 5
_MOST_SOURCES = 6
_MOST_CALLS = 20

_STRONG_EVIDENCE = ("Meta-Analysis", "Systematic Review", "Randomized Controlled Trial")
# Preprint servers are read page by page, about a thousand records a week: a window of days is all that can be read.
_WINDOW = datetime.timedelta(days=7)
_WIDEST_WINDOW = datetime.timedelta(days=14)


def extractive_model() -> Model:
    """The model `extractive`: answers by rule, without a language model, from what its tools show."""
    return _ExtractiveModel(_reply, stream_function=_reply_in_pieces, model_name=EXTRACTIVE)


class _ExtractiveModel(FunctionModel):
    """A function model whose requests cost nothing, and say so: an unknown price would not count as free."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await super().request(messages, model_settings, model_request_parameters)
        response.usage.cost = Decimal(0)
        return response


async def _reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return answer(messages, info.function_tools, info.output_tools)


async def _reply_in_pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    for number, part in enumerate(answer(messages, info.function_tools, info.output_tools).parts):
        if isinstance(part, ToolCallPart):
            arguments = part.args_as_json_str()
            yield {number: DeltaToolCall(part.tool_name, arguments, tool_call_id=part.tool_call_id)}
        elif isinstance(part, TextPart):
            yield part.content


def answer(
    messages: Sequence[ModelMessage], tools: Sequence[ToolDefinition], output_tools: Sequence[ToolDefinition]
) -> ModelResponse:
    """The next reply: tool calls while there is something to search or read, then the answer."""
    said = read_transcript(messages, [tool.name for tool in output_tools])
    desk = _Desk(said, tools)
    calls = [] if said.feedback else desk.next_calls()
    if calls:
        turn = said.turns_before + said.turns + 1
        return ModelResponse(
            parts=[
                ToolCallPart(call.tool, dict(call.arguments), f"{EXTRACTIVE}-{turn}-{number}")
                for number, call in enumerate(calls, 1)
            ]
        )
    draft = compose(
        desk.question, said.papers, [search.asked for search in said.searches], said.max_articles, said.named
    )
    return _submission(mend(draft, said.feedback), output_tools, said)


def _submission(draft: AggregationDraft, output_tools: Sequence[ToolDefinition], said: Transcript) -> ModelResponse:
    taking = [tool for tool in output_tools if "summary" in _properties(tool)]
    if not taking:
        return ModelResponse(parts=[TextPart(draft.summary)])
    turn = said.turns_before + said.turns + 1
    return ModelResponse(parts=[ToolCallPart(taking[0].name, draft.model_dump(mode="json"), f"{EXTRACTIVE}-{turn}-1")])


# --- tools ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Planned:
    tool: str
    arguments: Mapping[str, Any]

    @property
    def key(self) -> str:
        return Call(self.tool, self.arguments, "", 0).key


@dataclass(frozen=True)
class _Wanted:
    """A search to make, in the grammar of its source; an empty query is none."""

    query: str
    hits: int = _HITS
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Searcher:
    """A search tool as offered."""

    tool: ToolDefinition

    @property
    def source(self) -> str:
        return self.tool.name.removeprefix("search_")

    @property
    def grammar(self) -> Grammar:
        return grammar_of(self.source)

    def takes(self, name: str) -> bool:
        return name in _properties(self.tool)

    def servers(self, sources: Sequence[str]) -> list[dict[str, str]]:
        """The arguments that name each server behind the tool, as far as the run's sources are among them."""
        behind = _choices(_properties(self.tool).get("server", {}))
        return [{"server": name} for name in behind if name in sources] or [{}]

    @property
    def needs_dates(self) -> bool:
        return {"date_from", "date_to"} <= set(self.tool.parameters_json_schema.get("required", ()))


def _properties(tool: ToolDefinition) -> dict[str, Any]:
    properties = tool.parameters_json_schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _searchers(tools: Sequence[ToolDefinition]) -> list[_Searcher]:
    """The search tools; one that asks all sources at once only where it is the only one."""
    found = [_Searcher(tool) for tool in tools if tool.name.startswith("search_") and "query" in _properties(tool)]
    single = [searcher for searcher in found if searcher.source != "all"]
    return (single or found)[:_MOST_SOURCES]


def _fetch_tool(source: str, tools: Sequence[ToolDefinition]) -> ToolDefinition | None:
    """The tool that gives whole records of a source: `fetch_clinicaltrial` belongs to `search_clinicaltrials`."""
    fetchers = {tool.name.removeprefix("fetch_"): tool for tool in tools if tool.name.startswith("fetch_")}
    return fetchers.get(source) or fetchers.get(source.removesuffix("s")) or fetchers.get(f"{source}s")


class _Desk:
    """What to do next, from what was said so far and the tools at hand."""

    def __init__(self, said: Transcript, tools: Sequence[ToolDefinition]) -> None:
        self.said = said
        self.tools = tools
        self.searchers = _searchers(tools)
        self.made = {call.key for call in said.calls}
        self.question = about(respelled(said.question, said.searches), said.papers)
        self.plan: Plan = plan_question(self.question)
        self.search_turns = len({call.turn for call in said.calls if call.tool.startswith("search_")})

    def next_calls(self) -> list[_Planned]:
        """New calls for this turn, none made before; empty when it is time to submit."""
        said = self.said
        left = _MOST_TURNS - 1 - said.turns
        if said.turns_left is not None:
            left = min(left, said.turns_left - 1)
        if said.closing or left <= 0:
            return []
        affordable = _MOST_CALLS if said.calls_left is None else said.calls_left
        # The last turn before the answer reads: what is found there nobody would read. So does the last call.
        if left > 1 and (planned := self._new(self._search())[: max(affordable - 1, 0)]):
            return planned
        return self._new(self._read())[:affordable]

    def _new(self, planned: Iterable[_Planned]) -> list[_Planned]:
        return [call for key, call in {call.key: call for call in planned}.items() if key not in self.made]

    # --- searching ---

    def _search(self) -> Iterator[_Planned]:
        today = self._today()
        if today is None and self._clock() and any(searcher.needs_dates for searcher in self.searchers):
            yield _Planned("current_time", {})
        yield from self._linked()
        for searcher in self.searchers:
            for wanted in self._queries(searcher):
                arguments = self._arguments(searcher, wanted, today)
                if arguments is not None:
                    for server in searcher.servers(self.said.sources):
                        yield _Planned(searcher.tool.name, {**arguments, **server})

    def _linked(self) -> Iterator[_Planned]:
        """Papers of a trial, versions of a paper: what belongs to a work that the question names."""
        if any(tool.name == "find_related" for tool in self.tools):
            for paper in self.said.papers:
                if paper.reference in self.said.question and paper.has_unseen_links:
                    yield _Planned("find_related", {"reference": paper.reference, "relation": "linked"})

    def _queries(self, searcher: _Searcher) -> Iterator[_Wanted]:
        asked = [call for call in self.said.calls if call.tool == searcher.tool.name and call.answer is not None]
        seen = [search for search in self.said.searches if search.tool == searcher.tool.name]
        if not asked:
            if self.search_turns < _SEARCH_TURNS:
                make = scanning_query if searcher.needs_dates else first_query
                yield _Wanted(make(self.plan, searcher.grammar))
        elif asked[-1].refused:
            yield _Wanted(simpler_query(self.plan))
        elif searcher.needs_dates:
            return
        elif not any(search.asked.status != "failed" for search in seen):
            # The source failed after all retries of the transport: asking again would only wait again.
            return
        elif self._has_read:
            yield from self._by_headings(searcher)
        else:
            yield from self._further(searcher, seen)

    def _further(self, searcher: _Searcher, seen: Sequence[SeenSearch]) -> Iterator[_Wanted]:
        if self.question != self.said.question and self.search_turns < _SEARCH_TURNS:
            yield _Wanted(first_query(self.plan, searcher.grammar))
        if len({reference for search in seen if not search.broader for reference in search.references}) < _ENOUGH:
            if self.search_turns == 1 or len(self.said.papers) < max(_ENOUGH, self.said.max_articles):
                *closer, widest = wider_queries(self.plan, searcher.grammar, self.search_turns) or [""]
                yield from (_Wanted(query) for query in closer)
                yield _Wanted(widest, hits=_WIDE_HITS)
        elif self.search_turns == 1:
            yield from self._second_look(searcher, seen)

    def _second_look(self, searcher: _Searcher, seen: Sequence[SeenSearch]) -> Iterator[_Wanted]:
        """Where the first search found plenty: the strongest evidence among it, fewer places, words of the titles."""
        total = max((search.total or 0 for search in seen), default=0)
        first = first_query(self.plan, searcher.grammar)
        if total > _TOO_MANY:
            yield _Wanted(narrower_query(self.plan, searcher.grammar))
        if total > _WORTH_SORTING and not self.said.types_asked:
            yield _Wanted(first, types=_STRONG_EVIDENCE)
        related = related_query(self.plan, searcher.grammar, [paper.title for paper in self._best()])
        yield _Wanted(related or "")

    def _by_headings(self, searcher: _Searcher) -> Iterator[_Wanted]:
        best = [paper.headings for paper in self._best() if paper.headings]
        if len(best) < self.said.max_articles:
            yield _Wanted(heading_query(self.plan, searcher.grammar, best) or "")

    @property
    def _has_read(self) -> bool:
        return any(call.tool.startswith("fetch_") for call in self.said.calls)

    def _arguments(self, searcher: _Searcher, wanted: _Wanted, today: datetime.date | None) -> dict[str, Any] | None:
        """Arguments as far as the tool takes them; None for a search that it can't make."""
        arguments: dict[str, Any] = {"query": wanted.query}
        if searcher.takes("max_results"):
            arguments["max_results"] = min(wanted.hits, _most(_properties(searcher.tool)["max_results"], wanted.hits))
        if wanted.types:
            arguments["publication_types"] = list(wanted.types)
        if searcher.needs_dates:
            window = self._window(today)
            if window is None:
                return None
            arguments |= {"date_from": window[0].isoformat(), "date_to": window[1].isoformat()}
        if not wanted.query or (wanted.types and not searcher.takes("publication_types")):
            return None
        return arguments

    def _window(self, today: datetime.date | None) -> tuple[datetime.date, datetime.date] | None:
        """The days to read where each day costs: the question's own if they are few, or if no other source can be
        asked (then the tool says what is too long); without any, the last week."""
        last = _day(self.said.date_to, last=True) or today
        if last is None:
            return None
        first = _day(self.said.date_from) or last - _WINDOW
        few = last - first <= _WIDEST_WINDOW or all(searcher.needs_dates for searcher in self.searchers)
        return (first, last) if first <= last and few else None

    def _clock(self) -> bool:
        return any(tool.name == "current_time" for tool in self.tools)

    def _today(self) -> datetime.date | None:
        for call in self.said.calls:
            found = re.search(r"\b(\d{4}-\d{2}-\d{2})\b", call.answer or "") if call.tool == "current_time" else None
            if found:
                return datetime.date.fromisoformat(found.group(1))
        return None

    # --- reading ---

    def _best(self) -> list[Paper]:
        return select(self.question, self.said.papers, max(self.said.max_articles, _ENOUGH), self.said.named)

    def _read(self) -> Iterator[_Planned]:
        """Whole records of the best papers, each from a source that showed it and did not refuse it before."""
        asked = self._asked_for()
        wanted: dict[str, list[str]] = {}
        for paper in self._worth_reading():
            # What no search showed came as a link of another work: its source is not known.
            for source in self.said.shown_by.get(paper.reference) or [one.source for one in self.searchers]:
                tool = _fetch_tool(source, self.tools)
                if tool is not None and paper.reference not in asked.get(tool.name, ()):
                    wanted.setdefault(tool.name, []).append(paper.reference)
                    break
        for tool in self.tools:
            if references := wanted.get(tool.name):
                yield from _fetches(tool, references[:_READ])

    def _worth_reading(self) -> list[Paper]:
        """The best papers of which the end of the abstract is still to be seen, as many as may be listed and some."""
        ranked = [item.paper for item in rank(self.question, self.said.papers, self.said.named) if item.paper.supports]
        return [paper for paper in ranked[: self.said.max_articles + _SPARE] if not (paper.whole and paper.headings)]

    def _asked_for(self) -> dict[str, set[str]]:
        """References that each fetch tool was asked for; of a refused call only those that the refusal names."""
        asked: dict[str, set[str]] = {}
        for call in self.said.calls:
            if call.tool.startswith("fetch_"):
                references = re.findall(r"«[^«»]+»", json.dumps(call.arguments, ensure_ascii=False))
                refused = [reference for reference in references if reference in (call.answer or "")]
                asked.setdefault(call.tool, set()).update(refused or references if call.refused else references)
        return asked


def _day(partial: str | None, *, last: bool = False) -> datetime.date | None:
    """The first or last day of `YYYY[-MM[-DD]]`; None for anything else."""
    found = re.fullmatch(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", partial or "")
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    assert year is not None
    month = month or (12 if last else 1)
    try:
        return datetime.date(year, month, day or (calendar.monthrange(year, month)[1] if last else 1))
    except ValueError:
        return None


def _fetches(tool: ToolDefinition, references: Sequence[str]) -> Iterator[_Planned]:
    """One call for all, or one for each where the tool takes a single reference."""
    for name, schema in _properties(tool).items():
        if "reference" not in name:
            continue
        if _is_list(schema):
            most = int(schema.get("maxItems", len(references)))
            for start in range(0, len(references), most):
                yield _Planned(tool.name, {name: list(references[start : start + most])})
        else:
            yield from (_Planned(tool.name, {name: reference}) for reference in references[:_ENOUGH])
        return


def _is_list(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array" or any(_is_list(option) for option in schema.get("anyOf", ()))


def _choices(schema: Mapping[str, Any]) -> list[str]:
    """The values that a parameter may have, where they are listed."""
    return [*schema.get("enum", ()), *(value for option in schema.get("anyOf", ()) for value in _choices(option))]


def _most(schema: Mapping[str, Any], otherwise: int) -> int:
    """The largest number that a parameter takes."""
    bounds = [option["maximum"] for option in (schema, *schema.get("anyOf", ())) if "maximum" in option]
    return int(bounds[0]) if bounds else otherwise


# What works are called in a question that only names some.
_WORKS = re.compile(
    r"(?:abstract|article|author|citation|journal|manuscript|paper|publication|record|reference)s?", re.I
)


def about(question: str, papers: Iterable[Paper]) -> str:
    """The question, or the titles of the works that it names where it has no words of its own on their subject; nothing
    where those are not known."""
    if all(is_weak(word) or _WORKS.fullmatch(word) for word in content_words(question)):
        # The other part of a title says how the study was done.
        subjects = (max(paper.title.split(": "), key=len) for paper in papers if paper.reference in question)
        return ". ".join(subjects) or ("" if UNRESOLVED in question else question)
    return question


def respelled(question: str, searches: Iterable[SeenSearch]) -> str:
    """The question with words that a source does not know in the spelling that it suggests.

    Where the suggestion can't be laid beside the query word by word, and the query found nothing, it is taken whole.
    """
    better: dict[str, str] = {}
    whole = None
    for search in searches:
        if not search.suggestion:
            continue
        asked, suggested = (_WORD.findall(text) for text in (search.asked.query, search.suggestion))
        if len(asked) == len(suggested):
            pairs = {old.lower(): new for old, new in zip(asked, suggested, strict=True) if old.lower() != new.lower()}
            # A spelling aid also changes words that the source has.
            unknown = {word.lower() for phrase in search.unknown for word in _WORD.findall(phrase)} or pairs.keys()
            better |= {old: new for old, new in pairs.items() if old in unknown and old not in better}
        elif search.asked.status == "empty":
            whole = whole or search.suggestion
    mended = _WORD.sub(lambda found: better.get(found.group().lower(), found.group()), question)
    return _without_syntax(whole) if mended == question and whole else mended


_WORD = re.compile(r"[^\W_]+")


def _without_syntax(query: str) -> str:
    """The words of a query, without operators, tags and quotes."""
    return re.sub(r"\b(?:AND|OR|NOT|and|or|not)\b|\[[^\]]*\]|[()\"*]", " ", query)
