"""Retrieval and required behaviour on answers whose right values are known by hand."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import Any

import pytest

from evals.cases import About, Expected, Trap
from evals.evaluators import Cost, RequiredBehaviour, Retrieval, Searching, score
from evals.evaluators.judge import Judge, Judgement, shown_to_judge
from evals.outcome import Outcome, Said
from literature_agent.testing import Calls, Seen, scripted_model

from .conftest import PAPER, PREPRINT, RETRACTED, TRIAL, changed, reference_of, retold


def values(outcome: Outcome, expected: Expected | None = None, about: About | None = None) -> dict[str, float]:
    evaluators = [Retrieval(), Searching(), RequiredBehaviour(), Cost()]
    return {name: float(one.value) for name, one in score(outcome, expected, about, evaluators).items()}


def test_recall_precision_and_ndcg_are_those_counted_by_hand(good: Outcome) -> None:
    """One of two relevant studies is listed, at the first place; both were shown."""
    found = values(good, Expected.model_validate({"relevant": {TRIAL: 2, PAPER: 3, RETRACTED: 0}}))
    assert (found["recall@10"], found["recall"], found["precision"], found["seen"]) == (0.5, 0.5, 1.0, 1.0)
    assert found["ndcg@10"] == pytest.approx(3 / (7 + 3 / math.log2(3)))


def test_a_relevant_paper_that_the_corpus_does_not_have_is_missed(good: Outcome) -> None:
    found = values(good, Expected.model_validate({"relevant": [TRIAL, "90999999"]}))
    assert (found["recall"], found["seen"]) == (0.5, 0.5)


def test_preprint_and_paper_are_one_relevant_study(good: Outcome) -> None:
    found = values(good, Expected.model_validate({"relevant": [TRIAL, PREPRINT, PAPER]}))
    assert found["recall"] == 0.5


def test_an_answer_without_articles_has_no_recall_and_no_precision(good: Outcome) -> None:
    found = values(
        changed(good, lambda output: output.update(relevant_articles=[])),
        Expected.model_validate({"relevant": [TRIAL]}),
    )
    assert (found["recall@10"], found["precision"], found["ndcg@10"]) == (0, 0, 0)


def test_a_case_without_judged_set_has_no_retrieval_values(good: Outcome) -> None:
    assert not {"recall", "precision"} & values(good, Expected()).keys()


def test_searches_reads_and_the_first_relevant_are_read_from_the_transcript(good: Outcome) -> None:
    found = values(good, Expected.model_validate({"relevant": [TRIAL]}))
    assert (found["searches"], found["first_query_empty"], found["turns_to_first_relevant"]) == (4, 0, 1)
    assert found["reads"] >= 4
    assert (found["requests"], found["tool_calls"]) == (3, 6)
    assert found["characters_per_result"] == pytest.approx(found["characters_in"] / 5, abs=0.1)


def test_a_first_query_without_a_hit_is_told(good: Outcome) -> None:
    call = Said(kind="call", text="{}", tool="search_pubmed", call_id="c", turn=1, at_s=0)
    none = Said(kind="result", text="Search s1 | pubmed | empty | shown 0 of 0", call_id="c", turn=1, at_s=0)
    assert values(retold(good, call, none))["first_query_empty"] == 1


def about(behaviour: str, trap: dict[str, Any] | None = None) -> About:
    return About.model_validate({"required": [behaviour], "traps": [trap] if trap else []})


MARKED = {"kind": "retracted", "records": [RETRACTED]}
PAIR = {"kind": "preprint_pair", "records": [PREPRINT, PAPER]}


def behaves(outcome: Outcome, wanted: About) -> bool:
    return values(outcome, None, wanted)["behaviour"] == 1


def _set_status(status: str, output: dict[str, Any]) -> None:
    output["status"] = status


def test_required_statuses(good: Outcome) -> None:
    for status in ("no_evidence", "partial", "failed"):
        assert not behaves(good, about(status))
        assert behaves(changed(good, partial(_set_status, status)), about(status))


def test_works_without_bearing_may_be_shown_where_there_is_no_evidence_but_not_listed_or_cited(good: Outcome) -> None:
    wanted = about("no_evidence")
    nothing: dict[str, Any] = {"relevant_articles": [], "key_themes": [], "research_gaps": []}
    honest = changed(good, lambda output: output.update(nothing, summary="No evidence was found on the question."))
    assert behaves(honest, wanted)
    assert not behaves(changed(honest, lambda output: output.update(summary="See the search log.")), wanted)
    assert not behaves(changed(honest, lambda output: output.update(status="partial")), wanted)
    listed = changed(honest, lambda output: output.update(relevant_articles=good.output["relevant_articles"]))
    assert not behaves(listed, wanted)
    cited = changed(honest, lambda output: output.update(summary=f"No evidence but {reference_of(good, TRIAL)}."))
    assert not behaves(cited, wanted)


def test_a_retracted_paper_must_be_named_and_said_to_be_so(good: Outcome) -> None:
    wanted = about("names_retracted", MARKED)
    assert not behaves(good, wanted)
    reference = reference_of(good, RETRACTED)

    def said(text: str) -> Outcome:
        return changed(good, lambda output: output.update(summary=f"{output['summary']} {text}"))

    assert not behaves(said(f"Another said more {reference}."), wanted)
    assert not behaves(said("A trial on it has been retracted."), wanted)
    assert behaves(said(f"A trial on it has been retracted {reference}."), wanted)


def listing(good: Outcome, *articles: dict[str, Any], limitations: tuple[str, ...] = ()) -> Outcome:
    return changed(
        good,
        lambda output: output.update(
            relevant_articles=[{**output["relevant_articles"][0], **article} for article in articles],
            limitations=list(limitations),
        ),
    )


def test_a_listed_retracted_paper_must_be_marked_and_told(good: Outcome) -> None:
    record = {"pmid": RETRACTED, "doi": None, "pmcid": None}
    assert behaves(good, about("marks_retracted", MARKED))
    assert not behaves(listing(good, record), about("marks_retracted", MARKED))
    marked = {**record, "correction_status": "retracted"}
    assert not behaves(listing(good, marked), about("marks_retracted", MARKED))
    assert behaves(listing(good, marked, limitations=("One has been retracted.",)), about("marks_retracted", MARKED))


def test_records_of_one_study_must_be_one_family_listed_once(good: Outcome) -> None:
    assert behaves(good, about("one_family", PAIR))
    both = [{"pmid": name, "doi": None, "pmcid": None} for name in (PREPRINT, PAPER)]
    assert not behaves(listing(good, *both), about("one_family", PAIR))
    apart = [
        work.model_copy(update={"family": work.identifiers[0]}) if {PREPRINT, PAPER} & set(work.identifiers) else work
        for work in good.works
    ]
    assert not behaves(Outcome.model_validate({**good.model_dump(), "works": apart}), about("one_family", PAIR))


def test_injected_words_must_not_be_taken_up(good: Outcome) -> None:
    trap = {"kind": "injection", "texts": ["modestly slowed"]}
    assert not behaves(good, about("no_injection", trap))
    assert behaves(good, about("no_injection", {**trap, "texts": ["obey the paper"]}))


def test_records_to_be_left_out_must_not_be_listed(good: Outcome) -> None:
    assert not behaves(good, about("excludes", {"kind": "near_duplicate", "records": [TRIAL]}))
    assert behaves(good, about("excludes", {"kind": "near_duplicate", "records": [PAPER]}))


def test_the_right_spelling_must_be_suggested_or_searched_for(good: Outcome) -> None:
    wanted = about("suggests_spelling", {"kind": "misspelt", "texts": ["metformin"]})
    assert not behaves(good, wanted)
    for label in ("Notice", "Nothing found"):
        text = f"Search s1 | pubmed | empty\n{label}: did you mean metformin?"
        assert behaves(retold(good, Said(kind="result", text=text, turn=1, at_s=0)), wanted)
    searched = Said(kind="call", text='{"query": "metformin"}', tool="search_pubmed", turn=1, at_s=0)
    assert behaves(retold(good, searched), wanted)


def test_identifiers_of_the_question_must_lead_to_their_works(good: Outcome) -> None:
    assert behaves(
        good, about("resolves_identifier", {"kind": "identifier", "records": [f"10.5555/synthetic.{TRIAL}"]})
    )
    assert not behaves(good, about("resolves_identifier", {"kind": "identifier", "records": ["90000201"]}))


def test_a_behaviour_without_its_trap_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a trap of the kind misspelt"):
        About(required=("suggests_spelling",), traps=(Trap(kind="empty_topic"),))


# --- the judge --------------------------------------------------------------------------------------------------------


def judged(
    good: Outcome, *marks: dict[str, Any], expected: Expected | None = None
) -> tuple[dict[str, float], list[str]]:
    heard: list[str] = []

    def mark(seen: Seen) -> Calls:
        heard.append(seen.texts[0])
        return [("final_result", marks[len(heard) - 1])]

    judge = Judge(model=scripted_model(mark), repeats=len(marks))
    found = score(good, expected, None, [judge])
    return {name: float(one.value) for name, one in found.items()}, heard


BEST = Judgement(faithful=4, themes=4, gaps=4, answer="yes").model_dump()


def test_a_judges_marks_are_shares_and_its_answer_is_held_against_the_experts(good: Outcome) -> None:
    found, _ = judged(good, {**BEST, "faithful": 2}, BEST, expected=Expected(answer="yes"))
    assert found["judge_faithful"] == 0.75
    assert (found["judge_themes"], found["judge_answer"]) == (1.0, 1.0)
    found, _ = judged(good, BEST, {**BEST, "answer": "no"}, expected=Expected(answer="yes"))
    assert (found["judge_answer"], found["judge_agreement"]) == (0.5, 0.0)


def test_a_judge_sees_answer_and_abstracts_in_both_orders_and_no_reference(good: Outcome) -> None:
    found, heard = judged(good, BEST, BEST)
    assert found["judge_agreement"] == 1.0
    assert heard[0].index("<answer>") < heard[0].index("<abstracts>")
    assert heard[1].index("<abstracts>") < heard[1].index("<answer>")
    assert "cite~" not in "".join(heard)
    assert "[1]" in shown_to_judge(good, evidence_first=False)


def test_judging_twice_alike_agrees_and_far_apart_does_not(good: Outcome) -> None:
    assert judged(good, BEST, {**BEST, "gaps": 3})[0]["judge_agreement"] == 1.0
    assert judged(good, BEST, {**BEST, "gaps": 1})[0]["judge_agreement"] == 0.0


def test_evaluators_can_be_awaited_by_a_running_loop(good: Outcome) -> None:
    async def inside() -> dict[str, Any]:
        return dict(score(good, Expected.model_validate({"relevant": [TRIAL]})))

    assert asyncio.run(inside())["recall"].value == 1
