"""From a question to an `Outcome`: the agent as shipped, with everything that its model saw and wrote kept."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from evals.cases import Ask
from evals.models import RECORDED, model_of
from evals.outcome import Outcome, Said, SeenWork, keys_in
from evals.upstream import PACKAGED, Aggregator, Sandbox, Upstream
from literature_agent import ArtifactRegistry, Budget, LiteratureAggregationOutput
from literature_agent.agents.conduct import OUTPUT_TOOL
from literature_agent.agents.recording import ReplayedModel, recorded_run
from literature_agent.agents.sync import run_in_own_loop
from literature_agent.transport import Player


class Recorder(WrapperModel):
    """Passes every request on to the model, and keeps what was said."""

    def __init__(self, wrapped: Model) -> None:
        super().__init__(wrapped)
        self.said: list[Said] = []
        self.instructions = ""
        self.prompt_hash = ""
        self._began = time.perf_counter()
        self._heard = 0
        self._turn = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if not self.prompt_hash:
            self._note_prompt(messages, model_request_parameters)
        # What the model wrote itself was noted when it came.
        for message in messages[self._heard :]:
            if isinstance(message, ModelRequest):
                self.said += self._asked(message)
        self._heard = len(messages)
        response = await super().request(messages, model_settings, model_request_parameters)
        self._turn += 1
        self.said += self._replied(response)
        return response

    def _note_prompt(self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> None:
        first = messages[-1]
        self.instructions = (first.instructions or "") if isinstance(first, ModelRequest) else ""
        tools = [
            [tool.name, tool.description, tool.parameters_json_schema]
            for tool in (*parameters.function_tools, *parameters.output_tools)
        ]
        written = json.dumps([self.instructions, tools], sort_keys=True, ensure_ascii=False, default=str)
        self.prompt_hash = hashlib.sha256(written.encode()).hexdigest()[:16]

    def _at(self) -> float:
        return round(time.perf_counter() - self._began, 4)

    def _asked(self, message: ModelRequest) -> Iterator[Said]:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                text = part.content if isinstance(part.content, str) else str(part.content)
                yield Said(kind="prompt", text=text, turn=self._turn, at_s=self._at())
            elif isinstance(part, ToolReturnPart):
                # A call or answer that is to be mended comes back as the return of its call.
                mend = part.outcome == "retried" or part.tool_name == OUTPUT_TOOL
                kind: Any = "correction" if mend else "failure" if part.outcome == "failed" else "result"
                yield Said(
                    kind=kind,
                    text=part.content if isinstance(part.content, str) else part.model_response_str(),
                    tool=part.tool_name,
                    call_id=part.tool_call_id,
                    turn=self._turn,
                    at_s=self._at(),
                )
            elif isinstance(part, RetryPromptPart):
                yield Said(
                    kind="correction",
                    text=part.model_response(),
                    tool=part.tool_name or "",
                    call_id=part.tool_call_id,
                    turn=self._turn,
                    at_s=self._at(),
                )

    def _replied(self, response: ModelResponse) -> Iterator[Said]:
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                yield Said(
                    kind="call",
                    text=part.args_as_json_str(),
                    tool=part.tool_name,
                    call_id=part.tool_call_id,
                    turn=self._turn,
                    at_s=self._at(),
                )
            elif isinstance(part, TextPart | ThinkingPart) and part.content:
                written: Any = "text" if isinstance(part, TextPart) else "thinking"
                yield Said(kind=written, text=part.content, turn=self._turn, at_s=self._at())


def task(question: str, *, model: Model | str = "extractive", corpus: str = PACKAGED) -> Outcome:
    """A plain function for any harness: one question to the agent over the sandbox; works inside a running loop too.

    `evals.evaluators.score` takes what it gives; the answer itself is its `output`.

    Raises:
        LiteratureError: the question is refused, or model or corpus can't be used.
    """

    async def ask() -> Outcome:
        with Sandbox(corpus) as upstream:
            return await answer(Ask(question=question), upstream, model=model)

    return run_in_own_loop(ask)


async def answer(
    ask: Ask,
    upstream: Upstream,
    *,
    case: str = "",
    model: Model | str = "extractive",
    budget: Budget | None = None,
) -> Outcome:
    """Put one question to the agent. The model `RECORDED` answers as the one on record did.

    Raises:
        LiteratureError: the request is refused, a setting or key is wrong, or a recording lacks something.
    """
    registry = ArtifactRegistry()
    began = time.perf_counter()
    recording = upstream.recording(case, ask.question)
    with upstream.place(ask.faults) as place:
        if model == RECORDED and isinstance(recording, Player):
            run = recorded_run(recording)
            recorder = Recorder(ReplayedModel(recording, run, run.settings(place.settings)))
        else:
            recorder = Recorder(model_of(model) if isinstance(model, str) else model)
        async with Aggregator(place) as aggregator:
            output = await aggregator.run(
                ask.request(), model=recorder, registry=registry, budget=budget or Budget(), recording=recording
            )
    return outcome_of(
        output,
        recorder.said,
        registry,
        case=case,
        corpus=upstream.corpus_name,
        wall_s=time.perf_counter() - began,
        prompt_hash=recorder.prompt_hash,
        instructions=recorder.instructions,
    )


def outcome_of(
    output: LiteratureAggregationOutput,
    said: Sequence[Said],
    registry: ArtifactRegistry,
    *,
    case: str,
    corpus: str,
    wall_s: float,
    prompt_hash: str = "",
    instructions: str = "",
) -> Outcome:
    """What a run left, in the form that evaluators take. `registry` is the run's own."""
    written = output.model_dump(mode="json")
    keys = keys_in((*(said_.text for said_ in said), json.dumps(written, ensure_ascii=False)))
    works: dict[str, SeenWork] = {}
    for key in keys:
        reference = f"«artifact:link:cite~{key}»"
        first = registry.canonical(reference)
        if first is None or first.key in works:
            continue
        works[first.key] = SeenWork(
            keys=tuple(sorted(registry.keys(reference))),
            identifiers=tuple(_identifiers(registry, reference)),
            family=registry.family_key(reference) or first.key,
        )
    return Outcome(
        case=case,
        corpus=corpus,
        model=output.model,
        output=written,
        transcript=tuple(said),
        works=tuple(works.values()),
        wall_s=round(wall_s, 4),
        prompt_hash=prompt_hash,
        instructions=instructions,
    )


def _identifiers(registry: ArtifactRegistry, reference: str) -> Iterator[str]:
    found: dict[str, None] = {}
    for copy in registry.copies(reference):
        for name in ("pmid", "pmcid", "doi", "nct_id"):
            if value := getattr(copy, name, None):
                found[str(value).lower() if name == "doi" else str(value)] = None
        found.update(dict.fromkeys(doi.lower() for doi in copy.alternate_dois))
    yield from found
