"""The MCP server: what clients list, call, read and get, for the consumer behind each request.

Built on the low-level server of the official SDK: schemas and results go out as they are made here, a request is
cancelled with its task, and both generations of the protocol are served.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Result,
)

from literature_agent.agents.aggregator import LiteratureAggregator
from literature_agent.errors import LiteratureError
from literature_agent.mcp_server import raw
from literature_agent.mcp_server.desk import CallFailed, Desk
from literature_agent.mcp_server.offers import AGGREGATOR, RAW_FETCH, RAW_SEARCH, RESULT, Offer, build_offers
from literature_agent.mcp_server.policy import STDIO, Consumer, Policy
from literature_agent.mcp_server.prompts import PROMPTS, get_prompt
from literature_agent.mcp_server.replies import Answer, to_failure, to_result
from literature_agent.mcp_server.resources import TEMPLATES, Library
from literature_agent.mcp_server.runs import INTERRUPTED, RUNNING, LiveRun, Runs
from literature_agent.mcp_server.shelf import Shelf, StoredRun, make_folder, moment_text
from literature_agent.mcp_server.tasks import EXTENSION, Task, TaskParams, TaskStatus, declares_tasks, require_tasks
from literature_agent.mcp_server.twins import ErrorTwin, error_twin, sentence
from literature_agent.prompts import load_prompt
from literature_agent.results import ErrorInfo
from literature_agent.settings import Settings
from literature_agent.sources import Source, sources_of_all
from literature_agent.transport import Transport

T = TypeVar("T")

logger = logging.getLogger("literature_agent.mcp_server")

NAME = "literature-agent"
SCOPE_KEY = "literature_agent.consumer"
"""Member of an HTTP request's scope under which the door puts the name of the consumer."""
SESSION_HEADER = "mcp-session-id"

PROGRESS_EVERY_S = 5.0
"""A long call is heard of at least so often; clients may give up after ten seconds of silence."""


@dataclass
class House:
    """What is open while the server runs."""

    settings: Settings
    policy: Policy
    sources: Sequence[Source]
    folder: Path
    transport: Transport
    stack: AsyncExitStack
    desks: dict[str, Desk] = field(default_factory=dict)
    _aggregator: LiteratureAggregator | None = None

    def desk(self, consumer: Consumer) -> Desk:
        if consumer.name not in self.desks:
            shelf = Shelf(self.folder, consumer.name, retention_days=consumer.retention_days)
            runs = Runs(consumer, shelf, self.aggregator, self.transport.now)
            self.desks[consumer.name] = Desk(consumer, shelf, runs, self.sources, self.transport)
        return self.desks[consumer.name]

    async def aggregator(self) -> LiteratureAggregator:
        """Made when first asked for: many a client only searches."""
        if self._aggregator is None:
            aggregator = LiteratureAggregator(settings=self.settings)
            self._aggregator = await self.stack.enter_async_context(aggregator)
        return self._aggregator

    async def close(self) -> None:
        await asyncio.gather(*(desk.close() for desk in self.desks.values()))


Context = ServerRequestContext[House, Any]


@dataclass
class LiteratureServer:
    """The handlers of one server.

    Args:
        settings: where the sources are, and what is switched on.
        policy: who may call what.
        folder: where the files of the consumers lie; None: a folder that goes with the server.
        progress_every_s: longest silence of a long call.
    """

    settings: Settings
    policy: Policy
    folder: Path | None = None
    progress_every_s: float = PROGRESS_EVERY_S
    sources: Sequence[Source] = field(init=False)
    offers: Mapping[str, Offer] = field(init=False)

    def __post_init__(self) -> None:
        if self.folder is not None:
            make_folder(self.folder)
        self.sources = sources_of_all(self.settings)
        self.offers = build_offers(self.sources, europepmc_enabled=self.settings.europepmc_enabled)
        self._library = Library(self.sources)

    def build(self) -> Server[House]:
        """The SDK's server with these handlers."""
        server: Server[House] = Server(
            NAME,
            version=_version(),
            title="Biomedical literature with citations that are always real",
            instructions=load_prompt("parent"),
            lifespan=self._open,
            get_tool_input_schema=lambda name: None,  # no argument travels in a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        server.extensions[EXTENSION] = {}
        server.middleware.append(self._start_task)
        server.add_request_handler("tasks/get", TaskParams, self._get_task)
        server.add_request_handler("tasks/cancel", TaskParams, self._cancel_task)
        server.add_request_handler("tasks/update", TaskParams, self._update_task)
        return server

    @asynccontextmanager
    async def _open(self, server: Server[House]) -> AsyncIterator[House]:
        async with AsyncExitStack() as stack:
            folder = self.folder
            if folder is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="literature-agent-mcp-")))
            transport = await stack.enter_async_context(Transport(self.settings))
            house = House(self.settings, self.policy, self.sources, folder, transport, stack)
            try:
                yield house
            finally:
                await house.close()

    # Who

    def _consumer(self, context: Context) -> Consumer:
        """The consumer behind a request; over HTTP the door has named it."""
        request = context.request
        name = STDIO if request is None else request.scope.get(SCOPE_KEY)
        consumer = self.policy.named(name) if isinstance(name, str) else None
        if consumer is None:
            raise MCPError(code=INVALID_REQUEST, message="This server knows no such consumer.")
        return consumer

    def _offered(self, consumer: Consumer) -> list[Offer]:
        return [self.offers[name] for name in consumer.tools if name in self.offers]

    def _offer(self, consumer: Consumer, name: str) -> Offer:
        offer = next((offer for offer in self._offered(consumer) if offer.name == name), None)
        if offer is None:
            # The same for a tool that is not exposed and for one that does not exist.
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {name[:80]!r}")
        return offer

    # Tools

    async def _list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        consumer = self._consumer(context)
        return ListToolsResult(tools=[offer.listed(consumer) for offer in self._offered(consumer)])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        consumer = self._consumer(context)
        offer = self._offer(consumer, params.name)
        try:
            desk = context.lifespan_context.desk(consumer)
            arguments = offer.read(params.arguments or {})
            desk.take_call()
            answer = await self._with_progress(
                context, lambda tell: desk.carry_out(offer.name, arguments, _session_id(context), tell)
            )
            return _reply(desk, offer.name, answer)
        except CallFailed as failed:
            return _failure(offer, failed.error, failed.text)
        except LiteratureError as error:
            if offer.name in (RAW_SEARCH, RAW_FETCH):
                return to_failure(error_twin(error), {}).model_copy(
                    update={"structured_content": raw.error_document(error)}
                )
            return _failure(offer, error_twin(error))
        except Exception:
            logger.exception("the tool %s ended with an error of ours", offer.name)
            return _failure(offer, _BUG)

    async def _with_progress(self, context: Context, work: Callable[[Callable[[str], None]], Awaitable[T]]) -> T:
        """`work`, while the client hears how far it has come: on news at once, else every few seconds."""
        began, news = time.monotonic(), asyncio.Event()
        last = "Working"

        def tell(text: str) -> None:
            nonlocal last
            last = text
            news.set()

        async def report() -> None:
            number = 0
            while True:
                said = last
                try:
                    async with asyncio.timeout(self.progress_every_s):
                        await news.wait()
                    news.clear()
                    said = last
                except TimeoutError:
                    said = f"{last} ({time.monotonic() - began:.0f} s so far)"
                number += 1
                await context.session.report_progress(number, None, said)

        reporter = asyncio.create_task(report())
        try:
            return await work(tell)
        finally:
            reporter.cancel()
            await asyncio.gather(reporter, return_exceptions=True)

    # Tasks: the aggregator as a run that is asked for later

    async def _start_task(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """A call of the aggregator by a client that knows tasks gives a handle at once.

        Middleware, because the SDK cuts every other result of `tools/call` to the two shapes it knows.
        """
        asked = ctx.params or {}
        if ctx.method != "tools/call" or asked.get("name") != AGGREGATOR or not declares_tasks(ctx):
            return await call_next(ctx)
        try:
            params = CallToolRequestParams.model_validate(asked, by_name=False)
        except ValueError:
            return await call_next(ctx)  # which says what is wrong
        consumer = self._consumer(ctx)
        offer = self._offer(consumer, params.name)
        desk = ctx.lifespan_context.desk(consumer)
        try:
            arguments = offer.read(params.arguments or {})
            desk.take_call()
            run_id = await desk.start_run(arguments)
        except LiteratureError as error:
            return _sent(_failure(offer, error_twin(error)))
        return (
            (await self._task(ctx, desk, run_id))
            .model_copy(update={"result_type": "task", "result": None, "error": None})
            .document()
        )

    async def _get_task(self, context: Context, params: TaskParams) -> HandlerResult:
        require_tasks(context, params)
        desk = context.lifespan_context.desk(self._consumer(context))
        return (await self._task(context, desk, params.task_id)).document()

    async def _cancel_task(self, context: Context, params: TaskParams) -> HandlerResult:
        require_tasks(context, params)
        run = self._run(context.lifespan_context.desk(self._consumer(context)), params.task_id)
        if isinstance(run, LiveRun):
            run.token.cancel()
        return _DONE

    async def _update_task(self, context: Context, params: TaskParams) -> HandlerResult:
        require_tasks(context, params)
        self._run(context.lifespan_context.desk(self._consumer(context)), params.task_id)
        return _DONE

    def _run(self, desk: Desk, task_id: str) -> LiveRun | StoredRun:
        run = desk.runs.find(task_id)
        if run is None:
            raise MCPError(code=INVALID_PARAMS, message="Task not found")
        return run

    async def _task(self, context: Context, desk: Desk, task_id: str) -> Task:
        run = self._run(desk, task_id)
        stored = desk.shelf.run(task_id)
        assert stored is not None  # it is written down before its id is known
        state = RUNNING if isinstance(run, LiveRun) else desk.runs.status_of(stored)
        status: TaskStatus = "completed"
        result, error, message = None, None, None
        if state == RUNNING:
            status = "working"
            message = sentence(run.sentence) if isinstance(run, LiveRun) else None
        elif state == INTERRUPTED:
            status = "failed"
            message = "The run was interrupted and has no answer: start it again."
            error = {"code": INTERNAL_ERROR, "message": message}
        elif state == "cancelled":
            status = "cancelled"
            message = f"What was found until then is kept: {RESULT} gives it."
        elif stored.error is not None:
            failed = error_twin(ErrorInfo.model_validate_json(stored.error))
            result = _sent(_failure(self.offers[AGGREGATOR], failed))
        else:
            answer = await desk.carry_out(RESULT, {"run_id": task_id}, _session_id(context), lambda said: None)
            result = _sent(_reply(desk, AGGREGATOR, answer))
        return Task(
            task_id=task_id,
            status=status,
            status_message=message,
            created_at=f"{stored.started_at}Z",
            last_updated_at=f"{stored.finished_at or moment_text(desk.now())}Z",
            ttl_ms=int(desk.shelf.retention.total_seconds() * 1000),
            result=result,
            error=error,
        )

    # Resources and prompts

    async def _list_resources(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        desk = context.lifespan_context.desk(self._consumer(context))
        return ListResourcesResult(resources=self._library.listed(desk))

    async def _list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        self._consumer(context)
        return ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def _read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        consumer = self._consumer(context)
        desk = context.lifespan_context.desk(consumer)
        return self._library.read(str(params.uri), desk, self._offered(consumer))

    async def _list_prompts(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        self._consumer(context)
        return ListPromptsResult(prompts=list(PROMPTS))

    async def _get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        self._consumer(context)
        return get_prompt(params.name, params.arguments)


_BUG = ErrorTwin(
    reason="internal_error",
    message="This server made a mistake; it is in its log.",
    retryable=False,
    recovery="Report it, or try another tool.",
)


def _failure(offer: Offer, error: ErrorTwin, text: str | None = None) -> CallToolResult:
    twin: dict[str, Any] = {"status": "failed"}
    if offer.name == "render_citations":
        twin["style"] = ""
    return to_failure(error, twin, text)


def _reply(desk: Desk, tool: str, answer: Answer) -> CallToolResult:
    return to_result(
        answer,
        desk.shelf.registry,
        raw=desk.raw and tool not in (RAW_SEARCH, RAW_FETCH),
        link=desk.consumer.bibliography == "link",
    )


_DONE: dict[str, Any] = {"resultType": "complete"}


def _sent(result: Result) -> dict[str, Any]:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def _session_id(context: Context) -> str:
    request = context.request
    return "" if request is None else request.headers.get(SESSION_HEADER, "")


def _version() -> str:
    try:
        return version("literature-agent")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0"
