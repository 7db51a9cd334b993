"""State of one run: what pydantic-ai calls deps. Agent and toolset hold none of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from literature_agent.agents.account import Purse
from literature_agent.custody import Custody, Event, Observer
from literature_agent.integrity import Desk
from literature_agent.ledger import Ledger
from literature_agent.outputs import AggregationDraft, AggregationRequest, Budget
from literature_agent.registry import ArtifactRegistry
from literature_agent.settings import Settings
from literature_agent.transport import Recording


class Ending(NamedTuple):
    """Why a run ended before the model had finished by itself."""

    kind: Literal["deadline", "cancelled", "budget", "loop", "model"]
    sentence: str


@dataclass
class Run:
    """One question on its way to an answer."""

    run_id: str
    request: AggregationRequest
    settings: Settings
    registry: ArtifactRegistry
    ledger: Ledger
    custody: Custody
    budget: Budget
    observer: Observer | None = None
    repair_rounds: int = 0
    tool_calls: int = 0
    """Calls of search and fetch tools so far, counted when they are opened or refused."""
    refused: int = 0
    """How many of the newest calls, one after another, could not be carried out as they were written."""
    ending: Ending | None = None
    closing_turns: int = 0
    purse: Purse | None = None
    """This run's share of its parent's limits, where it has a parent."""
    asked: str = ""
    """The question as the model sees it, once references stand in it for identifiers."""
    unresolved: tuple[str, ...] = ()
    """A sentence for each identifier in the question that was not resolved."""
    last_draft: AggregationDraft | None = field(default=None)
    """The newest draft that could be read, whether or not it passed the checks."""
    recording: Recording | None = None
    """Where the run is recorded to, or replayed from."""
    _desk: tuple[int, Desk] | None = field(default=None, init=False, repr=False)

    def desk(self) -> Desk:
        """What the checks may know of the run as it stands."""
        if self._desk is None or self._desk[0] != self.ledger.changes:
            self._desk = (self.ledger.changes, Desk(self.registry, self.ledger, self.request.question))
        return self._desk[1]

    def refuse(self, calls: int = 1) -> None:
        """Count calls that name no tool or can't be read: within the budget they are calls like all others."""
        most = self.budget.max_tool_calls
        left = calls if most is None else max(0, most - self.tool_calls)
        self.tool_calls += min(calls, left)
        self.refused += calls

    def tell(self, event: Event) -> None:
        """Hand an event to the listener; a listener that raises does not end the run."""
        self.custody.tell(event)
