"""What ends a run of the agent before it has submitted an answer."""

from __future__ import annotations

import re
from decimal import Decimal

from pydantic_ai.exceptions import (
    AgentRunError,
    IncompleteToolCall,
    ModelHTTPError,
    RunCancelled,
    RunTimedOut,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.usage import RunUsage, UsageLimits

from literature_agent.agents.conduct import used_up
from literature_agent.agents.recording import without_keys
from literature_agent.agents.run import Ending
from literature_agent.outputs import Budget
from literature_agent.settings import Settings

_LONGEST_REASON = 300


def ended_by(error: AgentRunError | UserError, budget: Budget, usage: RunUsage, settings: Settings) -> Ending:
    """Why the framework gave a run up. `usage` is what the run has used."""
    if isinstance(error, RunTimedOut):
        return Ending("deadline", "The deadline was reached before the model had finished.")
    if isinstance(error, RunCancelled):
        return Ending("cancelled", "The run was cancelled before the model had finished.")
    if isinstance(error, UsageLimitExceeded):
        return Ending("budget", used_up(budget, usage) or "The budget was used up.")
    return Ending("model", f"The model did not finish: {why_no_answer(error, settings)}")


def why_no_answer(error: AgentRunError | UserError, settings: Settings) -> str:
    """Why a model gave no answer, for the end of a sentence, without keys."""
    if isinstance(error, IncompleteToolCall):
        return "its output was cut by its output limit."
    if isinstance(error, ModelHTTPError):
        # The body of a provider's answer may repeat the key that was sent.
        return f"its provider answered {error.status_code}."
    said = without_keys(" ".join(error.message.split()), settings)[:_LONGEST_REASON]
    if said.startswith("Exceeded maximum output retries"):
        return "it submitted no answer that could be read, also when asked again."
    if tool := re.match(r"Tool ('.{1,64}?') exceeded max retries", said):
        return f"it called {tool[1]}, which it was told it can't, again and again."
    return said


class _Limits(UsageLimits):
    """Limits whose answer says in its `limitations`, instead of a warning, that a price was not known."""

    def check_cost(self, usage: RunUsage, *, warn_if_cost_unavailable: bool = False) -> None:
        super().check_cost(usage, warn_if_cost_unavailable=False)


def usage_limits(budget: Budget) -> UsageLimits:
    """The limits of a budget that the framework watches."""
    return _Limits(
        request_limit=budget.max_requests,
        total_tokens_limit=budget.max_tokens,
        cost_limit=None if budget.max_cost_usd is None else Decimal(str(budget.max_cost_usd)),
    )
