"""Literature runs as workflows of DBOS: what each step gave is recorded, so a killed run goes on where it was.

A model request is one step (pydantic-ai's durability capability), a tool call is one step that holds the typed result.
Registry and ledger are never written inside a step: custody fills them again from the recorded results.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from dbos import DBOS, SetWorkflowID
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestContext

from literature_agent.agents.aggregator import LiteratureAggregator
from literature_agent.agents.models import EXTRACTIVE, resolve_model
from literature_agent.custody import Asked, Observer
from literature_agent.durable.records import (
    SCHEMA,
    DatabaseError,
    check_schema,
    not_recorded,
    read_literature_error,
    write_error,
)
from literature_agent.durable.workers import is_alive
from literature_agent.errors import ConfigurationError
from literature_agent.outputs import AggregationRequest, Budget, LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry
from literature_agent.render import answer_document, render_answer_markdown, render_notebook_html
from literature_agent.settings import Settings

T = TypeVar("T")

RUN_WORKFLOW = "literature_run"
_LOOK_S = 0.02
_UNWIND_S = 2.0
"""So long the runs that are left may take to close what they have open."""
MAX_RECOVERIES = 20
"""Times that a run is taken up again after its worker died, before it is set aside."""


class Job(BaseModel):
    """One question as it stands in the database: no setting, no key, no address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA
    request: AggregationRequest
    model: str
    """A name that `resolve_model` takes, or the one under which a model object was given."""
    budget: Budget = Budget()


class DurableRuns:
    """Carries literature runs in the workflows of DBOS.

    Build it before `DBOS.launch()` and build it the same way in every process that may resume the runs. `open_engine`
    does both for programs that have no DBOS of their own.

    Args:
        settings: of every run carried here; None: from the environment.
        models: model objects by name, for models that a name alone can't make.
        engine: the database, where `open_engine` keeps a list of the processes at work.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        models: Mapping[str, Model] | None = None,
        engine: sa.Engine | None = None,
    ) -> None:
        from literature_agent.settings import load_settings

        self.settings = settings if settings is not None else load_settings()
        self._models = dict(models or {})
        self._engine = engine
        self._aggregators: dict[str, LiteratureAggregator] = {}
        self._observers: dict[str, Observer] = {}
        self._live: dict[str, LiteratureAggregationOutput] = {}
        self._adapters: dict[Any, TypeAdapter[Any]] = {}
        self.trouble: DatabaseError | None = None
        """Why this process can't go on: its runs can't be recorded."""
        self._draining = False
        self._leave = threading.Event()
        self._steps = self._under_way = 0
        self._fewer = threading.Condition()

        # The engine keeps a workflow by its name, so this one is a function made here and not a method.
        @DBOS.workflow(name=RUN_WORKFLOW, max_recovery_attempts=MAX_RECOVERIES)
        async def literature_run(job: dict[str, Any]) -> dict[str, Any]:
            return await self._carry_out(job)

        self.workflow = literature_run

    # --- what callers use ---

    async def run(
        self,
        request: AggregationRequest,
        *,
        run_id: str,
        model: str | None = None,
        budget: Budget | None = None,
        on_event: Observer | None = None,
    ) -> LiteratureAggregationOutput:
        """Answer one question in a workflow named `run_id`; one that exists already is joined, and not done again."""
        job = self.job(request, model=model, budget=budget)
        if on_event is not None:
            self._observers[run_id] = on_event
        try:
            with SetWorkflowID(run_id):
                document = await self.workflow(job.model_dump(mode="json"))
            return self._live.pop(run_id, None) or read_document(document)
        except _Unrecorded as unrecorded:
            raise unrecorded.error from None
        except sa.exc.DBAPIError as refused:
            raise not_recorded(refused) from None
        finally:
            self._observers.pop(run_id, None)
            self._live.pop(run_id, None)

    def job(self, request: AggregationRequest, *, model: str | None = None, budget: Budget | None = None) -> Job:
        """What is put in the database for a question.

        Raises:
            InvalidInputError, ConfigurationError: no such model, or its key is missing.
        """
        name = model or self.settings.model or EXTRACTIVE
        self._aggregator(name)
        return Job(request=request, model=name, budget=budget or Budget())

    def observe(self, run_id: str, observer: Observer) -> None:
        """Tell `observer` the events of a run that this process takes up."""
        self._observers[run_id] = observer

    def at_work(self, executor_id: str | None) -> bool:
        """Whether the process of that name lives."""
        return self._engine is not None and is_alive(self._engine, executor_id)

    def taken(self, run_id: str) -> LiteratureAggregationOutput | None:
        """The live answer of an observed run that this process carried out; given once."""
        self._observers.pop(run_id, None)
        return self._live.pop(run_id, None)

    # --- what the aggregator asks of an engine ---

    def adopt(self, aggregator: LiteratureAggregator) -> None:
        if aggregator.model is not None:
            self._aggregators.setdefault(_name_of(aggregator.model), aggregator)

    def run_id(self) -> str | None:
        return DBOS.workflow_id if DBOS.workflow_id is not None and DBOS.step_id is None else None

    def capabilities(self) -> Sequence[AbstractCapability[Any]]:
        return [_Doorkeeper(self), DBOSDurability()]

    async def step(self, name: str, returns: Any, call: Callable[[], Awaitable[Asked[T]]]) -> Asked[T]:
        adapter = self._adapter(returns)
        live: list[Asked[T]] = []

        async def record() -> dict[str, Any]:
            asked = await call()
            live.append(asked)
            return {
                "schema": SCHEMA,
                "started": asked.started.isoformat(),
                "result": adapter.dump_python(asked.result, mode="json"),
                "error": None if asked.error is None else write_error(asked.error),
            }

        async with self.at_a_step():
            written = await DBOS.run_step_async({"name": f"literature.{name}"}, record)
        if live:
            return live[0]
        check_schema(written["schema"])
        error = written["error"]
        return Asked(
            datetime.fromisoformat(written["started"]),
            # As JSON, because lists are read as tuples there.
            adapter.validate_json(json.dumps(written["result"])),
            None if error is None else read_literature_error(error),
        )

    def _adapter(self, returns: Any) -> TypeAdapter[Any]:
        if returns not in self._adapters:
            self._adapters[returns] = TypeAdapter(returns if returns is type(None) else returns | None)
        return self._adapters[returns]

    async def child(
        self,
        aggregator: LiteratureAggregator,
        call_id: str,
        request: AggregationRequest,
        budget: Budget,
    ) -> LiteratureAggregationOutput:
        parent = self.run_id()
        if parent is None or aggregator.model is None:
            raise ConfigurationError("A durable child needs a durable parent and a model of its own.")
        if request.sources is None:
            request = request.model_copy(update={"sources": tuple(source.name for source in aggregator.sources)})
        job = Job(request=request, model=_name_of(aggregator.model), budget=budget)
        run_id = f"{parent}-{call_id}"
        with SetWorkflowID(run_id):
            document = await self.workflow(job.model_dump(mode="json"))
        return self._live.pop(run_id, None) or read_document(document)

    # --- ending well ---

    def raise_trouble(self) -> None:
        """Raise what keeps this process from recording, so that it ends and others take its runs up.

        Raises:
            DatabaseError: a step could not be recorded.
        """
        if self.trouble is not None:
            raise self.trouble

    def drain(self, grace_s: float) -> bool:
        """Begin no further step, and wait until those on their way are recorded. Not to be called in an event loop.

        The runs stay unfinished in the database, for another worker or for `resume`. False if steps were still on their
        way after `grace_s` seconds; they are done again.
        """
        self._draining = True
        with self._fewer:
            recorded = self._fewer.wait_for(lambda: self._steps == 0, timeout=grace_s)
            self._leave.set()
            # Where a step hangs, its run does: it is ended with the engine.
            self._fewer.wait_for(lambda: self._under_way == 0, timeout=_UNWIND_S if recorded else 0)
        return recorded

    @asynccontextmanager
    async def at_a_step(self) -> AsyncIterator[None]:
        """Around one step; while the engine drains, none begins."""
        while self._draining:
            # Not at once: that would cut off the steps of the same run that are still on their way.
            if self._leave.is_set():
                raise _Left
            await asyncio.sleep(_LOOK_S)
        with self._fewer:
            self._steps += 1
        try:
            yield
        finally:
            with self._fewer:
                self._steps -= 1
                self._fewer.notify_all()

    # --- the workflow ---

    async def _carry_out(self, written: dict[str, Any]) -> dict[str, Any]:
        check_schema(written.get("schema_version"))
        job = Job.model_validate(written)
        run_id = self.run_id()
        assert run_id is not None  # DBOS calls this as a workflow
        with self._fewer:
            self._under_way += 1
        try:
            output = await self._aggregator(job.model).run(
                job.request, budget=job.budget, on_event=self._observers.get(run_id)
            )
        except (sa.exc.DBAPIError, DatabaseError) as refused:
            self.trouble = refused if isinstance(refused, DatabaseError) else not_recorded(refused)
            raise _Unrecorded(self.trouble) from None
        finally:
            with self._fewer:
                self._under_way -= 1
                self._fewer.notify_all()
        if run_id in self._observers:
            self._live[run_id] = output
        return {"schema": SCHEMA, "answer": answer_document(output)}

    def _aggregator(self, model: str) -> LiteratureAggregator:
        if model not in self._aggregators:
            self._aggregators[model] = LiteratureAggregator(
                self._models.get(model) or resolve_model(model), settings=self.settings, durability=self
            )
        return self._aggregators[model]


class _Unrecorded(BaseException):
    """A step could not be recorded. No `Exception`: the engine would record it as the end of the run."""

    def __init__(self, error: DatabaseError) -> None:
        super().__init__(error.message)
        self.error = error


class _Left(BaseException):
    """The engine ends with the run unfinished. No `Exception`, for the same reason."""


class _Doorkeeper(AbstractCapability[Any]):
    """Lets no model request begin while the engine drains."""

    def __init__(self, runs: DurableRuns) -> None:
        self._runs = runs

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        async with self._runs.at_a_step():
            return await handler(request_context)


def read_document(written: Mapping[str, Any]) -> LiteratureAggregationOutput:
    """The answer that a finished workflow holds, with its registry.

    Raises:
        RecordRefused: it was written by a version that this one can't read.
    """
    check_schema(written.get("schema"))
    answer = dict(written["answer"])
    registry = answer.pop("registry", None)
    output = LiteratureAggregationOutput.model_validate_json(json.dumps(answer))
    if registry is None:
        return output
    return output.attach(
        ArtifactRegistry.from_json(registry), html=render_notebook_html, markdown=render_answer_markdown
    )


def _name_of(model: Model | str) -> str:
    if isinstance(model, str):
        return model
    return model.model_name if model.model_name == EXTRACTIVE else f"{model.system}:{model.model_name}"
