"""The model's part of a recording: what it answered, kept by a hash of what it was sent, and given again.

A run is replayed with the request, budget, sources and model of the record; only the texts around them (prompts, tool
descriptions, views) are those of this version, and where they differ the replay says so and ends.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from literature_agent.agents.models import model_name
from literature_agent.agents.run import Ending
from literature_agent.errors import InvalidInputError
from literature_agent.outputs import AggregationRequest, Budget
from literature_agent.settings import Settings
from literature_agent.sources import Source, select_sources
from literature_agent.transport import Player, Recorder, Transport
from literature_agent.transport.recording import Entry, Scrub, hash_of

# Differ from run to run without a difference in what is said.
_PASSING = ("timestamp", "run_id", "conversation_id", "metadata")
# Keys of providers, which some of them repeat in the message that refuses one.
_PROVIDER_KEY = re.compile(r"\b(?:sk|pk|rk|key|token)-[\w*-]{8,}|\bBearer\s+\S+|\bAIza[\w-]{20,}")
_SECONDS_LEFT = re.compile(r"\b\d+ s left\b")
_LONGEST_MESSAGE = 2_000


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedRun(_Kept):
    """What was asked of whom when a run was recorded, and the settings that a replay must have too."""

    request: AggregationRequest
    budget: Budget
    model: str
    """As in `output.model`."""
    model_name: str
    model_system: str
    sources: tuple[str, ...]
    repair_rounds: int
    biorxiv_max_pages: int
    europepmc_enabled: bool

    @classmethod
    def of(
        cls, request: AggregationRequest, budget: Budget, model: Model, sources: Sequence[Source], settings: Settings
    ) -> RecordedRun:
        return cls(
            request=scrubbed(request, settings),
            budget=budget,
            model=model_name(model),
            model_name=model.model_name,
            model_system=model.system,
            sources=tuple(source.name for source in sources),
            repair_rounds=settings.repair_rounds,
            biorxiv_max_pages=settings.biorxiv_max_pages,
            europepmc_enabled=settings.europepmc_enabled,
        )

    def settings(self, settings: Settings) -> Settings:
        """`settings` with what decides the course of the recorded run."""
        names = ("sources", "repair_rounds", "biorxiv_max_pages", "europepmc_enabled")
        return settings.model_copy(update={name: getattr(self, name) for name in names})

    def check(
        self, request: AggregationRequest, budget: Budget | None, model: Model | str | None, settings: Settings
    ) -> None:
        """Refuse what is asked now and is not what was recorded; what is not given is as it was.

        Raises:
            InvalidInputError: the first difference, by name.
        """
        asked = scrubbed(request, settings)
        # Sources may have been chosen for the question or for all questions, and in another order.
        recorded = self.request.model_copy(update={"sources": self.sources})
        if asked.sources is not None:
            named = select_sources(asked.sources, self.settings(settings))
            asked = asked.model_copy(update={"sources": tuple(source.name for source in named)})
        pairs: list[tuple[str, Any, Any]] = [
            (name, getattr(recorded, name), getattr(asked, name))
            for name in AggregationRequest.model_fields
            if name in request.model_fields_set and not (name == "sources" and asked.sources is None)
        ]
        given = set() if budget is None else budget.model_fields_set
        pairs += [(name, getattr(self.budget, name), getattr(budget, name)) for name in sorted(given)]
        if isinstance(model, str):
            pairs.append(("model", self.model, model.strip()))
        for name, then, now in pairs:
            if then != now:
                raise InvalidInputError(
                    f"The recording is of a run {_with(name, then)}, and this one is {_with(name, now)}.",
                    recovery=f"Leave {name} as it was recorded, or record the run anew.",
                )


def recorded_run(player: Player) -> RecordedRun:
    """What a recording says of its run.

    Raises:
        InvalidInputError: it is broken.
    """
    try:
        return RecordedRun.model_validate(player.about)
    except ValidationError:
        raise InvalidInputError(
            f"The recording in {str(player.folder)!r} can't be used: what it says of its run has another shape.",
            reason="recording_invalid_input",
            recovery="Use a recording that nobody has changed, or record it anew.",
        ) from None


def recorded_ending(player: Player) -> Ending | None:
    """Why the recorded run ended early."""
    if not isinstance(player.ending, dict):
        return None
    kind, sentence = player.ending.get("kind"), str(player.ending.get("sentence", ""))[:_LONGEST_MESSAGE]
    for known in ("deadline", "cancelled", "budget", "loop", "model"):
        if kind == known:
            return Ending(known, sentence)
    return None


def scrubbed(request: AggregationRequest, settings: Settings) -> AggregationRequest:
    """The request without keys and e-mail addresses."""
    clean = AggregationRequest.model_validate_json(Scrub(settings).text(request.model_dump_json()))
    return request if clean == request else clean


def without_keys(text: str, settings: Settings) -> str:
    """What a provider's client said, without keys and e-mail addresses."""
    return _PROVIDER_KEY.sub("[hidden]", Scrub(settings).text(text))


class KeptReply(_Kept):
    """What a model answered, or how it failed."""

    response: JsonValue = None
    error: str | None = None


class RecordingModel(WrapperModel):
    """The model it wraps; each exchange is kept."""

    def __init__(self, wrapped: Model, recorder: Recorder, transport: Transport) -> None:
        super().__init__(wrapped)
        self._recorder = recorder
        self._transport = transport
        self._scrub = Scrub(transport.settings)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        key = key_of_exchange(messages, model_settings, model_request_parameters, self._scrub)
        kept = self._recorder.open("model", key, _line(messages), self._scrub)
        try:
            response = await super().request(messages, model_settings, model_request_parameters)
        except (AgentRunError, UserError) as failed:
            said = without_keys(failed.message, self._transport.settings)[:_LONGEST_MESSAGE]
            kept.close("failed", self._transport.now(), KeptReply(error=said).model_dump(mode="json"))
            raise
        except asyncio.CancelledError:
            kept.close("cut", self._transport.now())
            raise
        (written,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
        # The run goes on with what was kept, not with what came: a replay has no more.
        (again,) = ModelMessagesTypeAdapter.validate_json(self._scrub.text(_json([written])))
        (written,) = ModelMessagesTypeAdapter.dump_python([again], mode="json")
        kept.close("answered", self._transport.now(), KeptReply(response=written).model_dump(mode="json"))
        assert isinstance(again, ModelResponse)
        return again


class ReplayedModel(Model):
    """Answers as the model of the record did, to the same request."""

    def __init__(self, player: Player, run: RecordedRun, settings: Settings) -> None:
        super().__init__()
        self._player = player
        self._run = run
        self._scrub = Scrub(settings)

    @property
    def model_name(self) -> str:
        return self._run.model_name

    @property
    def system(self) -> str:
        return self._run.model_system

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        key = key_of_exchange(messages, model_settings, model_request_parameters, self._scrub)
        entry = self._player.take("model", key, _line(messages))
        await self._player.its_turn()
        if entry.outcome == "cut":
            await self._player.cut()
        return reply_of(self._player, entry)


def is_replayed(model: Model) -> bool:
    """Whether the model, under whatever wraps it, gives the answers of a record."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return isinstance(model, ReplayedModel)


class ScriptedModel(ReplayedModel):
    """Answers as the model of the record did, request by request, whatever it is sent: so the same searches are made
    of services that may answer otherwise by now. Its last answer repeats."""

    def __init__(self, player: Player, run: RecordedRun, settings: Settings) -> None:
        super().__init__(player, run, settings)
        self._replies = [entry for entry in player.exchanges("model") if entry.outcome == "answered"]
        self._played = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if not self._replies:
            raise AgentRunError("The recorded model gave no answer.")
        entry = self._replies[min(self._played, len(self._replies) - 1)]
        self._played += 1
        return reply_of(self._player, entry)


def reply_of(player: Player, entry: Entry) -> ModelResponse:
    """What the model answered in a recorded exchange, or its failure as it was raised.

    Raises:
        InvalidInputError: the exchange is broken.
    """
    kept = player.content(entry, KeptReply)
    if kept.error is not None:
        raise AgentRunError(kept.error)
    try:
        (response,) = ModelMessagesTypeAdapter.validate_python([kept.response])
    except ValidationError:
        response = None
    if not isinstance(response, ModelResponse):
        _no_reply(player, entry)
    return response


def _no_reply(player: Player, entry: Entry) -> NoReturn:
    raise InvalidInputError(
        f"The recording in {str(player.folder)!r} can't be used: exchange {entry.number} holds no answer of a model.",
        reason="recording_invalid_input",
        recovery="Use a recording that nobody has changed, or record it anew.",
    )


def key_of_exchange(
    messages: Sequence[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    scrub: Scrub,
) -> str:
    """What is asked of a model, hashed: messages and tools; no header, no time, and not who asks."""
    sent = []
    for message in messages:
        bare: ModelMessage = replace(message, metadata=None)
        if isinstance(bare, ModelRequest):
            # A tool's result lies there as an object too, for others than the model.
            bare = replace(
                bare,
                parts=[
                    replace(part, metadata=None) if isinstance(part, ToolReturnPart) else part for part in bare.parts
                ],
            )
        (written,) = ModelMessagesTypeAdapter.dump_python([bare], mode="json")
        said = {name: written[name] for name in ("kind", "instructions") if name in written}
        sent.append({**said, "parts": [_lasting(part) for part in written["parts"]]})
    tools = [
        [tool.name, tool.description, tool.parameters_json_schema]
        for tool in (*parameters.function_tools, *parameters.output_tools)
    ]
    text = _json([sent, tools, parameters.output_mode, (settings or {}).get("tool_choice")])
    return hash_of(_SECONDS_LEFT.sub("s left", scrub.text(text)))


def _lasting(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in _PASSING}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _line(messages: Sequence[ModelMessage]) -> str:
    turn = 1 + sum(isinstance(message, ModelResponse) for message in messages)
    return f"turn {turn} of the model"


def _with(name: str, value: Any) -> str:
    return f"without {name}" if value is None or value == () else f"with {name}={_short(value)}"


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
