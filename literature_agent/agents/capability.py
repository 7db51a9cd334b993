"""The sub-agent as a capability of a parent: tool, instructions, and the same checks on the parent's own text."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic_ai import AgentRunResult, FunctionToolset, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler

from literature_agent.integrity import Desk, Prose, Tally, repair_message, review_prose, settle_prose
from literature_agent.ledger import Ledger
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.prompts import load_prompt
from literature_agent.registry import ArtifactRegistry, find_references
from literature_agent.views import view_output


@dataclass
class _ParentRun:
    """What one run of the parent was given by the sub-agent."""

    registry: ArtifactRegistry
    ledger: Ledger
    question: str
    repair_rounds: int = 0


@dataclass
class LiteratureCapability(AbstractCapability[Any]):
    """Gives a parent the sub-agent and holds its answers to the same rules.

    Text of the parent's output may cite only what the sub-agent has shown it in this run, and holds no identifier,
    author-year or journal-year. What breaks this goes back to the model, at most `repair_rounds` times; after that,
    code cuts.
    """

    tool: Callable[[Callable[[RunContext[Any]], ArtifactRegistry], Callable[..., None]], Tool[Any]]
    repair_rounds: int = 2
    max_characters: int = 6000
    """Of the view of an answer."""
    registry_of: Callable[[RunContext[Any]], ArtifactRegistry] | None = None
    _runs: dict[str, _ParentRun] = field(default_factory=dict, init=False, repr=False)

    def get_instructions(self) -> str:
        return load_prompt("parent")

    def get_toolset(self) -> FunctionToolset[Any]:
        return FunctionToolset([self.tool(lambda ctx: self._run_of(ctx).registry, self._note)])

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        self._run_of(ctx)
        try:
            return await handler()
        finally:
            self._runs.pop(ctx.run_id or "", None)

    async def after_output_process(self, ctx: RunContext[Any], *, output_context: Any, output: Any) -> Any:
        if ctx.partial_output:
            return output
        run = self._run_of(ctx)
        desk = Desk(run.registry, run.ledger, run.question)
        problems = [
            problem for name, text in _texts("answer", output) for problem in review_prose(Prose(name, text), desk)
        ]
        if not problems:
            return output
        if run.repair_rounds < self.repair_rounds:
            run.repair_rounds += 1
            raise ModelRetry("\n".join([load_prompt("repair"), repair_message(problems)]))
        return _mapped("answer", output, lambda name, text: settle_prose(Prose(name, text), desk, Tally()))

    def _run_of(self, ctx: RunContext[Any]) -> _ParentRun:
        run = self._runs.get(ctx.run_id or "")
        if run is None:
            registry = self.registry_of(ctx) if self.registry_of is not None else ArtifactRegistry()
            question = ctx.prompt if isinstance(ctx.prompt, str) else ""
            run = _ParentRun(registry, Ledger(ctx.run_id or "parent", registry), question)
            self._runs[ctx.run_id or ""] = run
        return run

    def _note(self, ctx: RunContext[Any], output: LiteratureAggregationOutput) -> None:
        """Write down what the view of an answer shows the parent; what did not fit into it was not shown."""
        run = self._run_of(ctx)
        found = (each.reference for each in find_references(view_output(output, self.max_characters)))
        references = [str(each) for each in dict.fromkeys(found) if each is not None and each in run.registry]
        run.ledger.record_fetch(
            run.ledger.next_call_id("door"), source="literature", asked=len(references), references=references
        )
        for reference in references:
            artifact = run.registry.find(reference)
            if artifact is not None:
                length = len(artifact.title)
                run.ledger.show(reference, artifact.copy_id, "title", length, length)


def _texts(name: str, value: Any) -> list[tuple[str, str]]:
    """The texts of an output with the names of their fields."""
    found: list[tuple[str, str]] = []

    def note(field_name: str, text: str) -> str:
        found.append((field_name, text))
        return text

    _mapped(name, value, note)
    return found


def _mapped(name: str, value: Any, change: Callable[[str, str], str]) -> Any:
    """`value` with every text in it changed; models, dataclasses, mappings, lists and tuples keep their kind."""
    if isinstance(value, Enum):
        return value  # its values are the caller's own words
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, BaseModel):
        members = (*type(value).model_fields, *(value.model_extra or ()))
        return value.model_copy(update={each: _mapped(each, getattr(value, each), change) for each in members})
    if is_dataclass(value) and not isinstance(value, type):
        changed = copy(value)
        for each in fields(value):
            # Frozen or not; what the class does when it is made has been done.
            object.__setattr__(changed, each.name, _mapped(each.name, getattr(value, each.name), change))
        return changed
    if isinstance(value, dict):
        return {key: _mapped(str(key), item, change) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = [_mapped(f"{name}[{number}]", item, change) for number, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
