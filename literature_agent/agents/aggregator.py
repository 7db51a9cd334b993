"""`LiteratureAggregator`: one question in, one checked answer out."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from copy import copy
from datetime import datetime
from functools import cached_property
from typing import Any, Self, TypeVar, Unpack

from pydantic_ai import (
    Agent,
    CancellationToken,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolFailed,
    ToolReturn,
)
from pydantic_ai.exceptions import (
    AgentRunError,
    RunCancelled,
    UserError,
)
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.usage import RunUsage as ModelUsage
from pydantic_ai.usage import UsageLimits

from literature_agent.agents.account import ACCOUNTS_OF_THIS_PROCESS, Purse
from literature_agent.agents.agent import build_agent
from literature_agent.agents.answer import write_answer
from literature_agent.agents.briefing import brief
from literature_agent.agents.capability import LiteratureCapability
from literature_agent.agents.compose import compose
from literature_agent.agents.door import open_door
from literature_agent.agents.durability import Durability
from literature_agent.agents.durable_child import answer_durable_parent, is_durable
from literature_agent.agents.ending import ended_by, usage_limits
from literature_agent.agents.models import EXTRACTIVE, model_name, provided, resolve_model
from literature_agent.agents.papers import papers_of, searches_of
from literature_agent.agents.recording import (
    RecordedRun,
    RecordingModel,
    ReplayedModel,
    is_replayed,
    recorded_ending,
    recorded_run,
    scrubbed,
)
from literature_agent.agents.relay import relayed
from literature_agent.agents.request import read_request
from literature_agent.agents.run import Ending, Run
from literature_agent.agents.schemas import flat_tool
from literature_agent.agents.sync import run_until_interrupted, takes_what
from literature_agent.custody import Custody, Direct, Event, Observer
from literature_agent.errors import ConfigurationError, InvalidInputError, expect, told
from literature_agent.ledger import Ledger
from literature_agent.outputs import (
    AggregationDraft,
    AggregationRequest,
    Budget,
    LiteratureAggregationOutput,
    RequestLimits,
)
from literature_agent.prompts import load_prompt
from literature_agent.registry import ArtifactRegistry, find_references
from literature_agent.settings import Settings, load_settings
from literature_agent.sources import Source, select_sources
from literature_agent.sources._text import quoted
from literature_agent.transport import Player, Recorder, Recording, Transport
from literature_agent.transport.spans import tracer
from literature_agent.views import SMALLEST_OUTPUT, view_output

# A child leaves its parent time to use the answer.
_SHARE_OF_PARENTS_TIME = 0.8

T = TypeVar("T")
RegistryOf = Callable[[RunContext[Any]], ArtifactRegistry | None]


class LiteratureAggregator:
    """The literature sub-agent.

    Built once, it holds no run: every run gets its own ledger and, unless the caller hands one in, its own registry.
    `async with` keeps one HTTP client for several runs; without it each run opens and closes its own.

    Args:
        model: model name as pydantic-ai writes it, a model object, or None: the setting `MODEL`, else `extractive`.
        sources: names of the sources to ask; None: those of the settings.
        settings: None: from the environment.
        budget: limits of a run that brings none of its own.
        durability: an engine such as `literature_agent.durable.DurableRuns`: inside one of its workflows every model
            request and tool call is a recorded step, and calls as a tool are child workflows.

    Raises:
        InvalidInputError: unknown source or model name.
        ConfigurationError: a setting or key is missing or wrong.
    """

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        sources: Sequence[str] | str | None = None,
        settings: Settings | None = None,
        budget: Budget | None = None,
        durability: Durability | None = None,
    ) -> None:
        expect("settings", settings, (Settings, type(None)), "Settings")
        expect("budget", budget, (Budget, type(None)), "Budget")
        expect("model", model, (str, Model, type(None)), "name of a model or model object")
        self.settings = settings if settings is not None else load_settings()
        self.budget = budget if budget is not None else Budget()
        self.sources = select_sources(sources, self.settings)
        self.model = model
        if model is not None:
            resolve_model(model)
        self.durability = durability
        self._named: dict[str, Model] = {}
        self._durable_agents: dict[tuple[str, ...], tuple[Model, Agent[Run, AggregationDraft]]] = {}
        self._transport: Transport | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.last_children: dict[str | None, asyncio.Event] = {}
        """Of each durable parent's run: set when the newest of its children has been held."""
        self._stack = AsyncExitStack()
        if durability is not None:
            durability.adopt(self)

    @cached_property
    def agent(self) -> Agent[Run, AggregationDraft]:
        """The agent behind every run, for those who want to look at it; it holds none."""
        return build_agent(self.sources, self.settings)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._transport = await self._stack.enter_async_context(self._new_transport())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._transport = None
        await self._stack.aclose()

    def _new_transport(self, recording: Recording | None = None) -> Transport:
        return Transport(self.settings, recording=recording)

    async def run(
        self,
        question: str | AggregationRequest,
        *,
        model: Model | str | None = None,
        registry: ArtifactRegistry | None = None,
        budget: Budget | None = None,
        on_event: Observer | None = None,
        cancellation_token: CancellationToken | None = None,
        recording: Recording | None = None,
        **limits: Unpack[RequestLimits],
    ) -> LiteratureAggregationOutput:
        """Answer one question. `limits` are the other members of `AggregationRequest` (`sources`, `date_from` ...).

        With a `Recorder` every answer of services and model is kept; with a `Player` the recorded run is given again,
        offline, with its model, budget and sources. A `Player` and a model object: that model is asked, and only what
        the services answered is taken from the record.

        Whatever happens on the way, what was found comes back in a typed output; its `status` says how the run ended.

        Raises:
            InvalidInputError: the request is refused (empty question, unknown source, bad date ...).
            ConfigurationError: a key or setting is missing or wrong.
            SourceError: `recording_not_found`, a recording lacks what its replay asks.
            asyncio.CancelledError: the task itself was cancelled; what was found stays in the caller's registry.
        """
        expect("model", model, (str, Model, type(None)), "name of a model or model object")
        expect("registry", registry, (ArtifactRegistry, type(None)), "ArtifactRegistry")
        expect("budget", budget, (Budget, type(None)), "Budget")
        expect("cancellation_token", cancellation_token, (CancellationToken, type(None)), "CancellationToken")
        expect("recording", recording, (Recorder, Player, type(None)), "Recorder or Player")
        _expect_function("on_event", on_event)
        request = read_request(question, limits)
        if isinstance(recording, Player):
            return await self._replay(request, model, registry, budget, on_event, cancellation_token, recording)
        return await self._answer(request, model, registry, budget, on_event, cancellation_token, recording=recording)

    async def _replay(
        self,
        request: AggregationRequest,
        model: Model | str | None,
        registry: ArtifactRegistry | None,
        budget: Budget | None,
        on_event: Observer | None,
        token: CancellationToken | None,
        player: Player,
    ) -> LiteratureAggregationOutput:
        run = recorded_run(player)
        run.check(request, budget, model, self.settings)
        settings = run.settings(self.settings)
        chosen = model if isinstance(model, Model) else ReplayedModel(player, run, settings)
        again = LiteratureAggregator(chosen, sources=run.sources, settings=settings)
        if (again.sources, settings.repair_rounds) == (self.sources, self.settings.repair_rounds):
            again.agent = self.agent  # it is the same, and takes a third of a second to build
        token = token or CancellationToken()
        player.on_cut = token.cancel
        return await again._answer(run.request, None, registry, run.budget, on_event, token, recording=player)

    @takes_what(run)
    async def stream(
        self, question: str | AggregationRequest, *, on_event: Observer | None = None, **options: Any
    ) -> AsyncIterator[Event | LiteratureAggregationOutput]:
        """The events of a run as they happen, then its output. Leaving the iteration early cancels the run.

        Takes the arguments of `run`.

        Raises:
            InvalidInputError, ConfigurationError: as `run`.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def tell(event: Event) -> None:
            events.put_nowait(event)
            if on_event is not None:
                on_event(event)

        task = asyncio.create_task(self.run(question, on_event=tell, **options))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @takes_what(run)
    def run_sync(self, question: str | AggregationRequest, **options: Any) -> LiteratureAggregationOutput:
        """`run`, for code that is not async; works inside a running event loop too. Ctrl-C ends it in a partial
        answer, a second one raises."""
        token = options.pop("cancellation_token", None)
        return run_until_interrupted(lambda stop: self.run(question, cancellation_token=stop, **options), token)

    def as_tool(
        self,
        *,
        registry: ArtifactRegistry | RegistryOf | None = None,
        name: str = "literature_aggregator",
        budget: Budget | None = None,
        max_characters: int = 6000,
        on_output: Callable[[RunContext[Any], LiteratureAggregationOutput], None] | None = None,
    ) -> Tool[Any]:
        """This sub-agent as a tool of a larger agent. Without a model of its own it uses the parent's.

        The parent's model sees summary, themes, gaps, status, limitations and one line per article, never an
        identifier; the tool's metadata carries the whole output. Each step is an event in the parent's own stream
        (`literature_agent.agents.relay.LiteratureStepEvent`).

        Args:
            registry: receives every record found, so that `render_text` finds it again; a function takes it from the
                context of the parent's run. None: one for each call, gone with it.
            name: of the tool.
            budget: limits of each call, within those of the parent; None: the aggregator's.
            max_characters: of what the parent's model sees.
            on_output: called with the context and the whole output of each call.

        Raises:
            InvalidInputError: an argument is of the wrong kind.
        """
        _expect_options(registry, budget, max_characters)
        expect("name", name, str, "text")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name):
            raise InvalidInputError(
                f"name={name[:80]!r} is no name of a tool: use letters, digits, _ and -, at most 64."
            )
        _expect_function("on_output", on_output)

        async def literature_aggregator(ctx: RunContext[Any], request: AggregationRequest) -> ToolReturn:
            """Search the biomedical literature and answer a question with checked citations.

            Returns a summary with references, relevant articles with reasons, themes and research gaps. Copy
            references exactly; never write DOIs, PMIDs, authors or journals yourself.
            """
            output = await self._answer_parent(ctx, request, _held_by(registry, ctx), budget)
            if on_output is not None:
                on_output(ctx, output)
            # A copy leaves the live registry behind: messages outlive the run, and are kept and sent.
            return ToolReturn(view_output(output, max_characters), metadata=copy(output))

        tool = Tool(literature_aggregator, name=name, takes_ctx=True)
        # The framework writes the aliases; the wire is snake_case, as in all other tools.
        tool.function_schema.json_schema = AggregationRequest.model_json_schema(by_alias=False)
        return flat_tool(tool)

    @takes_what(as_tool)
    def as_toolset(self, **options: Any) -> FunctionToolset[Any]:
        """`as_tool` as a toolset that also tells the parent's model how to treat references. Takes its options."""
        return FunctionToolset([self.as_tool(**options)], instructions=load_prompt("parent"))

    def as_capability(
        self,
        *,
        registry: ArtifactRegistry | RegistryOf | None = None,
        budget: Budget | None = None,
        max_characters: int = 6000,
    ) -> LiteratureCapability:
        """`as_toolset` that also holds the parent's own output to the rules: only references it was shown, no typed
        identifiers. What breaks them goes back to the parent's model, then is cut. Arguments as of `as_tool`."""
        _expect_options(registry, budget, max_characters)

        def registry_of(ctx: RunContext[Any]) -> ArtifactRegistry:
            held = _held_by(registry, ctx)
            return held if held is not None else ArtifactRegistry()

        return LiteratureCapability(
            tool=lambda held_by, note: self.as_tool(
                registry=held_by, budget=budget, max_characters=max_characters, on_output=note
            ),
            repair_rounds=self.settings.repair_rounds,
            max_characters=max_characters,
            registry_of=registry_of,
        )

    async def _answer_parent(
        self,
        ctx: RunContext[Any],
        request: AggregationRequest,
        registry: ArtifactRegistry | None,
        budget: Budget | None,
    ) -> LiteratureAggregationOutput:
        """Answer as a child of the run behind `ctx`, within its limits; usage is added to it however this ends."""
        try:
            request = read_request(request, {})
            self._sources_of(request)
        except InvalidInputError as refused:
            raise ModelRetry(told(refused)) from None
        calls = max(1, len(_calls_of_turn(ctx)))
        if is_durable(ctx):
            return await answer_durable_parent(self, ctx, request, registry, budget or self.budget, calls)
        usage = ctx.usage
        purse = ACCOUNTS_OF_THIS_PROCESS.open(usage, ctx.usage_limits or UsageLimits(), calls)
        if purse is None:
            raise ToolFailed("The limit of model requests leaves none for a literature search: answer without it.")
        try:
            limit = budget if budget is not None else self.budget
            left = ctx.remaining_time()
            if left is not None:
                seconds = left * _SHARE_OF_PARENTS_TIME
                limit = limit.model_copy(update={"deadline_s": min(limit.deadline_s or seconds, max(0.01, seconds))})
            async with relayed(ctx) as observer:
                return await self._answer(request, self.model or _model_of(ctx), registry, limit, observer, None, purse)
        finally:
            ACCOUNTS_OF_THIS_PROCESS.close(usage, purse)

    async def _answer(
        self,
        request: AggregationRequest,
        model: Model | str | None,
        registry: ArtifactRegistry | None,
        budget: Budget | None,
        on_event: Observer | None,
        token: CancellationToken | None,
        purse: Purse | None = None,
        recording: Recording | None = None,
    ) -> LiteratureAggregationOutput:
        sources = self._sources_of(request)
        chosen = self._resolved(model or self.model or self.settings.model or EXTRACTIVE)
        limit = budget if budget is not None else self.budget
        if isinstance(recording, Recorder):
            request = scrubbed(request, self.settings)
        async with self._open(request, sources, registry, limit, on_event, recording) as run:
            run.purse = purse
            if self._durable_here()[0] is None and not is_replayed(chosen):
                chosen = provided(chosen)
            if isinstance(recording, Recorder):
                about = RecordedRun.of(request, limit, chosen, sources, self.settings)
                recording.begin(run.run_id, about.model_dump(mode="json"))
                chosen = RecordingModel(chosen, recording, run.custody.transport)
            with tracer().start_as_current_span(
                "literature run", attributes={"run_id": run.run_id, "model": model_name(chosen)}
            ) as span:
                output = await self._carry_out(run, chosen, token)
                span.set_attributes(
                    {
                        "status": output.status,
                        "articles": len(output.relevant_articles),
                        "searches": len(output.search_log),
                        "requests": output.usage.requests,
                        "repair_rounds": output.integrity.repair_rounds,
                    }
                )
                return output

    def _sources_of(self, request: AggregationRequest) -> tuple[Source, ...]:
        """The sources that a request asks.

        Raises:
            InvalidInputError: it, or one of its given searches, names a source that is not there.
        """
        sources = self.sources if request.sources is None else select_sources(request.sources, self.settings)
        known = [source.name for source in sources]
        for line in request.searches:
            if line.source not in known:
                raise InvalidInputError(
                    f"A given search names the source {quoted(line.source)}: use one of {', '.join(known)}."
                )
        return sources

    def _resolved(self, model: Model | str) -> Model:
        if self.durability is None or not isinstance(model, str):
            return resolve_model(model)
        # One object for a name, so that the durable agent built on it is kept.
        if model not in self._named:
            self._named[model] = resolve_model(model)
        return self._named[model]

    def _agent_for(
        self, sources: Sequence[Source], model: Model, durability: Durability | None
    ) -> Agent[Run, AggregationDraft]:
        """The agent whose tools are those of `sources`."""
        if durability is not None:
            # A durable agent has its model from the start: one that is handed over at run time can't be recorded.
            names = tuple(source.name for source in sources)
            known, agent = self._durable_agents.get(names, (None, None))
            if agent is None or known is not model:
                agent = build_agent(sources, self.settings, model=provided(model), durability=durability)
                self._durable_agents[names] = model, agent
            return agent
        if tuple(sources) == self.sources:
            return self.agent
        return build_agent(sources, self.settings)

    def _durable_here(self) -> tuple[Durability | None, str]:
        """The engine that carries the run which begins here, if any, and the run's id."""
        run_id = None if self.durability is None else self.durability.run_id()
        return (None, uuid.uuid4().hex) if run_id is None else (self.durability, run_id)

    @asynccontextmanager
    async def _open(
        self,
        request: AggregationRequest,
        sources: Sequence[Source],
        registry: ArtifactRegistry | None,
        budget: Budget,
        on_event: Observer | None,
        recording: Recording | None = None,
    ) -> AsyncIterator[Run]:
        async with AsyncExitStack() as stack:
            # A client belongs to the loop it was opened in; a run in another loop opens its own. So does one that is
            # recorded: what a shared client has kept would not be on record.
            shared = self._transport if self._loop is asyncio.get_running_loop() and recording is None else None
            transport = (
                shared if shared is not None else await stack.enter_async_context(self._new_transport(recording))
            )
            durability, run_id = self._durable_here()
            if isinstance(recording, Player):
                run_id = recording.run_id
            held = registry if registry is not None else ArtifactRegistry()
            ledger = Ledger(run_id, held)
            custody = Custody(
                run_id=run_id,
                sources=sources,
                transport=transport,
                registry=held,
                ledger=ledger,
                request=request,
                observer=on_event,
                steps=durability or Direct(),
                reroutes=True,
            )
            yield Run(run_id, request, self.settings, held, ledger, custody, budget, on_event, recording=recording)

    async def _carry_out(self, run: Run, model: Model, token: CancellationToken | None) -> LiteratureAggregationOutput:
        custody, transport = run.custody, run.custody.transport
        started = await custody.clock("started")
        durability, _ = self._durable_here()
        custody.tell(Event(kind="started", text=f"Model {model_name(model)}", run_id=run.run_id))
        usage = ModelUsage() if run.purse is None else run.purse.usage
        budget = run.budget
        ending: Ending | None = None
        draft: AggregationDraft | None = None
        try:
            with transport.deadline(budget.deadline_s) if budget.deadline_s else nullcontext():
                given = await _until_cancelled(_prepare(run), token)
                result = await self._agent_for(custody.sources, model, durability).run(
                    brief(
                        run.request,
                        [source.name for source in custody.sources],
                        given,
                        question=run.asked,
                        today=started.date(),
                    ),
                    deps=run,
                    model=model if durability is None else None,
                    usage=usage,
                    usage_limits=usage_limits(budget),
                    timeout=_timeout(transport, started, resumable=durability is not None),
                    cancellation_token=token,
                )
                draft = result.output
        except (AgentRunError, UserError) as broken:
            ending = ended_by(broken, budget, usage, run.settings)
        except asyncio.CancelledError:
            # The caller keeps the registry: what has come of the calls under way is held there.
            custody.cut_short("cancelled")
            raise
        ending = run.ending or ending
        if isinstance(run.recording, Player):
            if run.recording.problem is not None:
                raise run.recording.problem
            if is_replayed(model):
                ending = recorded_ending(run.recording)
        custody.cut_short("" if ending is None else ending.kind)
        if draft is None:
            named = {str(found.reference) for found in find_references(run.asked)}
            draft = run.last_draft or compose(
                run.asked or run.request.question, papers_of(run), searches_of(run), run.request.max_articles, named
            )
        output = write_answer(
            run,
            draft,
            model=model_name(model),
            usage=usage,
            ending=ending,
            started=started,
            finished=custody.now("finished"),
        )
        if isinstance(run.recording, Recorder):
            run.recording.finish(None if ending is None else ending._asdict())
        custody.tell(Event(kind="finished", text=f"Finished: {output.status}", run_id=run.run_id, status=output.status))
        return output


async def _prepare(run: Run) -> list[str]:
    """What the model is given with the question: the records that it names, and the caller's own searches."""
    opened = await open_door(run.custody, run.request.question)
    run.asked, run.unresolved = opened.question, opened.unresolved
    searches = enumerate(run.request.searches, 1)
    return [*opened.given, *[await run.custody.given(line.source, line.query, number) for number, line in searches]]


# A token tells nobody but the framework's own runs, so that it is looked at while there is none.
_LOOK_S = 0.05


async def _until_cancelled(work: Coroutine[Any, Any, T], token: CancellationToken | None) -> T:
    """What `work` gives; stopped and `RunCancelled` raised once the token is cancelled, as within a run."""
    if token is None:
        return await work
    task = asyncio.ensure_future(work)
    try:
        while not task.done() and not token.cancelled:
            await asyncio.wait({task}, timeout=_LOOK_S)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled():
        raise RunCancelled("cancelled before the model was asked")
    return task.result()


def _expect_function(name: str, value: object) -> None:
    if value is not None and not callable(value):
        expect(name, value, (), "function")


def _expect_options(registry: object, budget: object, max_characters: object) -> None:
    # A class can be called too, but what it makes is a new registry that nobody else holds.
    if isinstance(registry, type) or not callable(registry):
        expect("registry", registry, (ArtifactRegistry, type(None)), "ArtifactRegistry, or function of the context")
    expect("budget", budget, (Budget, type(None)), "Budget")
    expect("max_characters", max_characters, int, "whole number")
    if isinstance(max_characters, int) and max_characters < SMALLEST_OUTPUT:
        raise InvalidInputError(
            f"max_characters={max_characters} is too small: the parent's model needs {SMALLEST_OUTPUT} at least."
        )


def _held_by(registry: ArtifactRegistry | RegistryOf | None, ctx: RunContext[Any]) -> ArtifactRegistry | None:
    held = registry(ctx) if callable(registry) else registry
    expect("registry", held, (ArtifactRegistry, type(None)), "ArtifactRegistry")
    return held


def _timeout(transport: Transport, started: datetime, *, resumable: bool) -> float | None:
    """Seconds after its beginning at which the model's loop ends.

    A resumed run began in the past, and what it did then must be read back before its time is up again: the time it
    lay still does not count.
    """
    left = transport.time_left()
    if left is None or not resumable:
        return left
    return left + max(0.0, (transport.now() - started).total_seconds())


def _model_of(ctx: RunContext[Any]) -> Model:
    if isinstance(ctx.model, Model):
        return ctx.model
    raise ConfigurationError("The parent runs on a realtime model: give LiteratureAggregator a model of its own.")


def _calls_of_turn(ctx: RunContext[Any]) -> list[ToolCallPart]:
    """The tool calls of the reply that is being carried out."""
    reply = next((message for message in reversed(ctx.messages) if isinstance(message, ModelResponse)), None)
    return [] if reply is None else list(reply.tool_calls)
