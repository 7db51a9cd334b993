"""What a run that survives a crash needs of the engine that carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_ai.capabilities import AbstractCapability

from literature_agent.custody import Steps

if TYPE_CHECKING:
    from literature_agent.agents.aggregator import LiteratureAggregator
    from literature_agent.outputs import AggregationRequest, Budget, LiteratureAggregationOutput


class Durability(Steps, Protocol):
    """A durable engine, such as `literature_agent.durable.DurableRuns`: it records what each step gave."""

    def adopt(self, aggregator: LiteratureAggregator) -> None:
        """Be ready to carry child runs of this aggregator."""
        ...

    def run_id(self) -> str | None:
        """Id of the durable run this code is part of; None outside of one."""
        ...

    def capabilities(self) -> Sequence[AbstractCapability[Any]]:
        """Make each model request of an agent one recorded step."""
        ...

    async def child(
        self,
        aggregator: LiteratureAggregator,
        call_id: str,
        request: AggregationRequest,
        budget: Budget,
    ) -> LiteratureAggregationOutput:
        """Answer in a durable run of its own, named by the parent's run and the tool call."""
        ...
