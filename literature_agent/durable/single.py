"""One question in a durable run, from the command line or from code: asked, and taken up again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from dbos import DBOS
from pydantic_ai.models import Model

from literature_agent.custody import Observer
from literature_agent.durable.engine import VERSION, open_engine
from literature_agent.durable.runs import DurableRuns, read_document
from literature_agent.errors import ConfigurationError, InvalidInputError
from literature_agent.outputs import AggregationRequest, Budget, LiteratureAggregationOutput
from literature_agent.settings import Settings

_LOOK_S = 0.2


def answer_durably(
    request: AggregationRequest,
    *,
    run_id: str,
    settings: Settings,
    model: str | None = None,
    budget: Budget | None = None,
    on_event: Observer | None = None,
    version: str = VERSION,
) -> LiteratureAggregationOutput:
    """Answer one question in a durable run; if the process dies, `resume` goes on with it.

    Raises:
        InvalidInputError, ConfigurationError: as `LiteratureAggregator.run`.
        DatabaseError: the database does not answer.
    """
    with open_engine(settings, version=version) as runs:
        return asyncio.run(runs.run(request, run_id=run_id, model=model, budget=budget, on_event=on_event))


def resume(
    run_id: str,
    *,
    settings: Settings,
    models: Mapping[str, Model] | None = None,
    on_event: Observer | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    version: str = VERSION,
) -> LiteratureAggregationOutput:
    """Go on with a run where it was, and give its answer; that of an ended run is read back.

    A run on which another process is at work is waited for.

    Raises:
        InvalidInputError: there is no run of that id, or it was begun with other papers.
        ConfigurationError: it was begun by a version whose runs this one can't take up.
        RecordRefused: its record can't be read.
        LiteratureError: it ended in an error.
    """
    with open_engine(settings, models=models, version=version) as runs:
        return _followed(runs, run_id, on_event, say)


def _followed(
    runs: DurableRuns, run_id: str, on_event: Observer | None, say: Callable[[str], None]
) -> LiteratureAggregationOutput:
    status = _status_of(run_id)
    if status.status not in ("SUCCESS", "ERROR"):
        _require_version(run_id, status.app_version)
    if on_event is not None:
        runs.observe(run_id, on_event)
    waited = False
    while status.status not in ("SUCCESS", "ERROR"):
        mine = status.executor_id == DBOS.executor_id
        if status.status != "ENQUEUED" and not mine and not runs.at_work(status.executor_id):
            DBOS.resume_workflows([run_id])
        elif not mine and status.status == "PENDING" and not waited:
            waited = True
            say(f"Run {run_id} is being worked on by {status.executor_id}: waiting for it.")
        time.sleep(_LOOK_S)
        status = _status_of(run_id)
    live = runs.taken(run_id)
    if live is not None:
        return live
    return read_document(DBOS.retrieve_workflow(run_id).get_result())


def _require_version(run_id: str, begun_by: str) -> None:
    (code, _, papers), own = begun_by.partition(" "), DBOS.application_version
    if code != own.partition(" ")[0]:
        raise ConfigurationError(
            f"The run {run_id!r} was begun by {code}; this is {own}, whose steps differ.",
            recovery="Resume it with that version, or ask the question again.",
        )
    if begun_by != own:
        begun = f"with {papers}" if papers else "without --sandbox and --corpus"
        raise InvalidInputError(
            f"The run {run_id!r} was begun {begun} and can't go on with other papers.",
            recovery=f"Resume it {begun}.",
        )


def _status_of(run_id: str) -> Any:
    status = DBOS.get_workflow_status(run_id)
    if status is None:
        raise InvalidInputError(
            f"No run has the id {run_id[:80]!r}.", recovery="List them with `literature-agent runs`."
        )
    return status
