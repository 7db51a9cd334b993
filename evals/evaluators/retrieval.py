"""What was found against the judged set, counted by study: preprint and paper are one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator

from evals.cases import About, Ask, Expected
from evals.evaluators.integrity import Context, Results, outcome_and_library, rate
from evals.library import Library
from evals.outcome import REFERENCE, SHOWN, Outcome, searches_told

Study = int | str
"""The library's number of a study; an identifier that the corpus does not have stands for itself."""


def studies_of(library: Library, groups: Iterable[Sequence[str]]) -> list[Study]:
    """The study of each group of identifiers, each once, in order."""
    found: dict[Study, None] = {}
    for names in groups:
        work = library.find(names)
        found[work.study if work is not None else (names[0] if names else "?")] = None
    return list(found)


def judged(expected: Expected, library: Library) -> dict[Study, int]:
    """The grade of each judged study, the highest of its records."""
    grades: dict[Study, int] = {}
    for name, grade in expected.relevant.items():
        [study] = studies_of(library, [(name,)])
        grades[study] = max(grade, grades.get(study, 0))
    return grades


@dataclass
class Retrieval(Evaluator[Ask, Any, About]):
    """Recall, precision and nDCG of the listed articles; share of the relevant that the model was shown at all.

    No value where the case has no judged set. Gain of nDCG is 2^grade - 1; an unjudged article has none.
    """

    k: int = 10

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        if not isinstance(ctx.expected_output, Expected):
            return {}
        grades = judged(ctx.expected_output, library)
        relevant = {study for study, grade in grades.items() if grade > 0}
        if not relevant:
            return {}
        listed = studies_of(library, outcome.article_identifiers())
        top = listed[: self.k]
        shown = studies_of(library, [work.identifiers for work in outcome.works if set(work.keys) & outcome.shown_keys])
        gains = [2 ** grades.get(study, 0) - 1 for study in top]
        best = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[: self.k]
        return {
            **rate(f"recall@{self.k}", len(relevant & set(top)), len(relevant)),
            **rate("recall", len(relevant & set(listed)), len(relevant)),
            **rate("precision", len(relevant & set(listed)), len(listed), empty=0.0),
            **rate("seen", len(relevant & set(shown)), len(relevant)),
            f"ndcg@{self.k}": EvaluationReason(_discounted(gains) / _discounted(best), f"gains {gains}, best {best}"),
        }


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


@dataclass
class Searching(Evaluator[Ask, Any, About]):
    """How it was searched: searches, reads, whether the first query had no hit, when the first relevant was shown."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        searches = {search.search_id for search in outcome.shown_searches}
        calls = [said for said in outcome.transcript if said.kind == "call"]
        reads = [call for call in calls if call.tool.startswith(("fetch_", "read_"))]
        found: dict[str, EvaluationReason] = {
            "searches": EvaluationReason(len(searches)),
            "reads": EvaluationReason(sum(_asked(call.text) for call in reads), f"{len(reads)} calls"),
        }
        first = next((call for call in calls if call.tool.startswith("search_")), None)
        if first is not None:
            replies = [said.text for said in outcome.transcript if said.call_id == first.call_id and said.kind in SHOWN]
            statuses = [search.status for text in replies for search in searches_told(text)]
            if statuses:
                empty = all(status == "empty" for status in statuses)
                found["first_query_empty"] = EvaluationReason(float(empty), first.text[:300])
        if isinstance(ctx.expected_output, Expected):
            found.update(_first_relevant(outcome, library, ctx.expected_output))
        return found


def _asked(arguments: str) -> int:
    """How many records a fetch or read call asks for."""
    try:
        asked = json.loads(arguments).get("references", "")
    except (ValueError, AttributeError):
        return 1
    return len(asked) if isinstance(asked, list) else 1


def _first_relevant(outcome: Outcome, library: Library, expected: Expected) -> dict[str, EvaluationReason]:
    relevant = {study for study, grade in judged(expected, library).items() if grade > 0}
    for said in outcome.transcript:
        if said.kind not in SHOWN or not relevant:
            continue
        groups = [outcome.identifiers_of(match.group()) for match in REFERENCE.finditer(said.text)]
        if relevant & set(studies_of(library, [names for names in groups if names])):
            return {
                "turns_to_first_relevant": EvaluationReason(said.turn, said.tool),
                "seconds_to_first_relevant": EvaluationReason(said.at_s, said.tool),
            }
    return {}


RETRIEVAL: tuple[type[Evaluator[Ask, Any, About]], ...] = (Retrieval, Searching)
