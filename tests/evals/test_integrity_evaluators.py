"""Each planted fault is caught by exactly the evaluator meant for it; the right answer by none."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from evals.cases import Ask, Expected
from evals.evaluators import (
    INTEGRITY,
    FabricatedReferences,
    GapSupport,
    HonestStatus,
    LeakedIdentifiers,
    QuotePassRate,
    RepairRounds,
    RetractedAsSupport,
    UnsupportedClaims,
    VersionDoubleCount,
    score,
)
from evals.outcome import Outcome, Said
from evals.task import answer
from evals.upstream import Upstream
from literature_agent.registry import Reference
from literature_agent.testing import Calls, Seen, scripted_model, submit

from .conftest import PAPER, PREPRINT, RETRACTED, TRIAL, changed, reference_of, retold

PERFECT = {
    "fabricated_reference_rate": 0,
    "leaked_identifier_rate": 0,
    "quote_pass_rate": 1,
    "unsupported_claim_rate": 0,
    "retracted_as_support_rate": 0,
    "version_double_count_rate": 0,
    "gap_support_rate": 1,
    "honest_status_rate": 1,
    "repair_rounds": 0,
}


def integrity(outcome: Outcome, expected: Expected | None = None) -> dict[str, float]:
    found = score(outcome, expected, None, [evaluator() for evaluator in INTEGRITY])
    return {name: float(one.value) for name, one in found.items()}


def test_a_right_answer_has_every_rate_perfect(good: Outcome) -> None:
    assert integrity(good) == PERFECT


def fabricated_reference(good: Outcome, output: dict[str, Any]) -> None:
    unknown = (
        Reference.of("doi:10.5555/nobody.has.this") if hasattr(Reference, "of") else "«artifact:link:cite~0000000000»"
    )
    output["summary"] += f" Another trial found the same effect {unknown}."


def borrowed_identity(good: Outcome, output: dict[str, Any]) -> None:
    output["relevant_articles"][0]["doi"] = f"10.5555/synthetic.{PAPER}"


def leaked_doi(good: Outcome, output: dict[str, Any]) -> None:
    output["summary"] = output["summary"].replace(" in one trial", f" in one trial (10.5555/synthetic.{TRIAL})")


def leaked_byline(good: Outcome, output: dict[str, Any]) -> None:
    output["relevant_articles"][0]["relevance"] = "Shown by Okafor et al. in a trial of the question."


def forged_quote(good: Outcome, output: dict[str, Any]) -> None:
    quote = output["relevant_articles"][0]["quotes"][0]
    quote["text"] = quote["text"].replace("modestly slowed", "stopped")


def forged_quote_in_prose(good: Outcome, output: dict[str, Any]) -> None:
    said = "“Two years of metformin stopped cognitive decline in this population for good”"
    output["summary"] += f" The authors say {said} {reference_of(good, TRIAL)}."


def unsupported_claim(good: Outcome, output: dict[str, Any]) -> None:
    output["summary"] += " Metformin also prevents every kind of dementia."


def retracted_support(good: Outcome, output: dict[str, Any]) -> None:
    output["summary"] += f" Metformin halves the incidence of dementia {reference_of(good, RETRACTED)}."


def double_count(good: Outcome, output: dict[str, Any]) -> None:
    record = output["relevant_articles"][0]
    titles = dict(re.findall(r"(«\S+») \|.*\nTitle: (.*)", "\n".join(said.text for said in good.transcript)))
    for name in (PREPRINT, PAPER):
        reference = reference_of(good, name)
        output["relevant_articles"].append(
            {
                **record,
                "reference": reference,
                "title": titles[reference],
                "pmid": name,
                "pmcid": None,
                "doi": None,
                "quotes": [],
                "related": [],
            }
        )


def unsupported_gap(good: Outcome, output: dict[str, Any]) -> None:
    output["research_gaps"][0].update(basis="null_search", searches=["s1"])


def gap_without_quote(good: Outcome, output: dict[str, Any]) -> None:
    output["research_gaps"][0].update(basis="stated_in_literature", searches=[], quotes=[])


def dishonest_status(good: Outcome, output: dict[str, Any]) -> None:
    output["status"] = "no_evidence"


PLANTED: list[tuple[Callable[[Outcome, dict[str, Any]], None], str]] = [
    (fabricated_reference, "fabricated_reference_rate"),
    (borrowed_identity, "fabricated_reference_rate"),
    (leaked_doi, "leaked_identifier_rate"),
    (leaked_byline, "leaked_identifier_rate"),
    (forged_quote, "quote_pass_rate"),
    (forged_quote_in_prose, "quote_pass_rate"),
    (unsupported_claim, "unsupported_claim_rate"),
    (retracted_support, "retracted_as_support_rate"),
    (double_count, "version_double_count_rate"),
    (unsupported_gap, "gap_support_rate"),
    (gap_without_quote, "gap_support_rate"),
    (dishonest_status, "honest_status_rate"),
]


@pytest.mark.parametrize(("plant", "metric"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_a_planted_fault_moves_its_own_rate_and_no_other(
    good: Outcome, plant: Callable[[Outcome, dict[str, Any]], None], metric: str
) -> None:
    found = integrity(changed(good, lambda output: plant(good, output)))
    moved = {name for name, value in found.items() if value != PERFECT[name]}
    assert moved == {metric}
    better_high = metric in ("quote_pass_rate", "gap_support_rate", "honest_status_rate")
    assert (found[metric] < PERFECT[metric]) is better_high


MEANT_FOR = {
    fabricated_reference: FabricatedReferences,
    leaked_doi: LeakedIdentifiers,
    forged_quote: QuotePassRate,
    unsupported_claim: UnsupportedClaims,
    retracted_support: RetractedAsSupport,
    double_count: VersionDoubleCount,
    unsupported_gap: GapSupport,
    dishonest_status: HonestStatus,
}


def test_of_all_plants_and_all_evaluators_only_the_pairs_that_are_meant_for_each_other_meet(good: Outcome) -> None:
    """Each evaluator alone, on the right answer and on each plant."""

    def said(outcome: Outcome, kind: Any) -> dict[str, float]:
        return {name: float(one.value) for name, one in score(outcome, None, None, [kind()]).items()}

    assert {*MEANT_FOR.values(), RepairRounds} == set(INTEGRITY)
    before = {kind: said(good, kind) for kind in INTEGRITY}
    for plant in MEANT_FOR:
        planted = changed(good, partial(plant, good))
        caught = {kind for kind in INTEGRITY if said(planted, kind) != before[kind]}
        assert caught == {MEANT_FOR[plant]}, plant.__name__


def test_a_retracted_paper_that_is_said_to_be_so_supports_nothing(good: Outcome) -> None:
    told = changed(
        good,
        lambda output: output.update(
            summary=f"{output['summary']} One report that said more was retracted {reference_of(good, RETRACTED)}."
        ),
    )
    assert integrity(told) == PERFECT


def test_versions_that_name_each_other_are_one_study(good: Outcome) -> None:
    def linked(output: dict[str, Any]) -> None:
        double_count(good, output)
        output["relevant_articles"][-1]["related"] = [{"relation": "update_of", "doi": None, "pmid": PREPRINT}]

    assert integrity(changed(good, linked)) == PERFECT


def test_a_dataset_may_say_what_is_one_study(good: Outcome) -> None:
    def two(output: dict[str, Any]) -> None:
        double_count(good, output)
        del output["relevant_articles"][1]

    separate = changed(good, two)
    assert integrity(separate)["version_double_count_rate"] == 0
    same = Expected.model_validate({"same": [[TRIAL, PAPER]]})
    assert integrity(separate, same)["version_double_count_rate"] == 1


def test_a_reference_that_only_the_model_wrote_is_fabricated(good: Outcome) -> None:
    """What the model wrote itself shows nothing: only what it was sent does."""
    written = [said for said in good.transcript if said.kind in ("call", "text")]
    assert integrity(retold(good, *written))["fabricated_reference_rate"] == 1


def test_a_failed_source_must_be_named_and_makes_the_answer_partial(good: Outcome) -> None:
    failed = Said(kind="failure", text="Search s9 | europepmc | failed\nno answer", tool="search", turn=1, at_s=0.1)
    heard = retold(good, failed, *good.transcript)
    assert integrity(heard)["honest_status_rate"] == 0
    silent = changed(heard, lambda output: output.update(status="partial"))
    assert integrity(silent)["honest_status_rate"] == 0
    told = changed(heard, lambda output: output.update(status="partial", limitations=["europepmc failed: no answer"]))
    assert integrity(told)["honest_status_rate"] == 1


def test_repairs_are_counted_from_the_transcript(good: Outcome) -> None:
    back = Said(kind="correction", text="Mend this.", tool="submit_answer", turn=2, at_s=0.1)
    assert integrity(retold(good, back, *good.transcript))["repair_rounds"] == 1


def test_an_answer_that_went_back_to_the_model_is_a_repair_round(upstream: Upstream) -> None:
    """Through the real loop: the recorder tells the return of an answer that was not accepted from a result."""

    def unsupported(seen: Seen) -> Calls:
        return submit("Metformin prevents every kind of dementia in everybody who takes it.", seen.references[:1])

    def mended(seen: Seen) -> Calls:
        return submit(f"Metformin slowed decline {seen.references[0]}.", seen.references[:1])

    model = scripted_model([("search_pubmed", {"query": f"{TRIAL}[uid]"})], unsupported, mended)
    outcome = asyncio.run(answer(Ask(question="Metformin?", sources=("pubmed",)), upstream, model=model))
    assert integrity(outcome)["repair_rounds"] == outcome.output["integrity"]["repair_rounds"] == 1


def test_the_answers_own_counters_are_not_believed(good: Outcome) -> None:
    def lie(output: dict[str, Any]) -> None:
        leaked_doi(good, output)
        output["integrity"] = dict.fromkeys(output["integrity"], 0)

    assert integrity(changed(good, lie))["leaked_identifier_rate"] > 0
