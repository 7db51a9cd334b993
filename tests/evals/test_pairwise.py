"""Judges over the wire protocol that any endpoint speaks: two runs held against each other, each pair in both orders,
and the answers of one run marked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import Model

from evals.command import compare_main, run_main
from evals.outcome import Outcome
from evals.pairwise import PairedReport, PairJudge, compare_pairwise, shown_pair
from evals.report import Report, read_report
from literature_agent.errors import InvalidInputError
from tests.agents.test_wire import Endpoint, calls, endpoint, model_at

from .conftest import TRIAL, changed, reference_of
from .test_harness import Answers, ran, ten

__all__ = ["endpoint"]

MARK = "slowed cognitive decline in one trial"
Ask = dict[str, Any]


REFUSED = {"status": 401, "error": {"message": "sk-proj-0123456789abcdef is no key"}}


def hands_in(overall: str, reason: str = "") -> dict[str, Any]:
    return calls(
        (
            "final_result",
            {"faithful": overall, "themes": "equal", "gaps": "equal", "overall": overall, "reason": reason},
        )
    )


def shown_to(request: Ask) -> str:
    return "\n".join(str(message["content"]) for message in request["messages"] if message["role"] == "user")


def prefers_the_mark(request: Ask) -> dict[str, Any]:
    """A judge that reads: it takes the answer with the mark, wherever it stands."""
    first, _, second = shown_to(request).partition("<second>")
    return hands_in("equal" if (MARK in first) == (MARK in second) else "first" if MARK in first else "second", "Read.")


def prefers_the_first(request: Ask) -> dict[str, Any]:
    return hands_in("first")


@pytest.fixture(scope="module")
def runs(good: Outcome, tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Path, Report], tuple[Path, Report]]:
    """Ten cases each; the second run answers without the mark, and has no answer to one of them."""
    folder = tmp_path_factory.mktemp("pairs")
    worse = changed(good, lambda output: output.update(summary=f"It was studied {reference_of(good, TRIAL)}."))
    reports = (
        ran(folder / "a", Answers(good), ten(count=4)),
        ran(folder / "b", Answers(worse, raising=(3,)), ten(count=4)),
    )
    return (folder / "a", reports[0]), (folder / "b", reports[1])


Runs = tuple[tuple[Path, Report], tuple[Path, Report]]


def judged(
    runs: Runs, endpoint: Endpoint, reply: Callable[[Ask], dict[str, Any]], repeats: int = 1, rubric: str = ""
) -> PairedReport:
    endpoint.replies = [reply]
    model: Model = model_at(endpoint)
    return asyncio.run(compare_pairwise(PairJudge(model, repeats, rubric), *runs))


def test_a_judge_that_reads_finds_the_better_run_in_both_orders(runs: Runs, endpoint: Endpoint) -> None:
    report = judged(runs, endpoint, prefers_the_mark, repeats=2)
    by_name = {one.criterion: one for one in report.preferred()}
    overall = by_name["overall"]
    assert (overall.first, overall.equal, overall.second, overall.mean) == (4, 0, 0, -1)
    assert (overall.verdict, overall.agreement, report.stood_first) == ("first", 1, 0.5)
    assert (by_name["themes"].equal, by_name["themes"].first, by_name["themes"].mean) == (3, 1, -0.25)
    # Three pairs, twice, in two orders; the case without an answer loses unasked.
    assert len(endpoint.asked) == 12
    assert [pair.unanswered for pair in report.pairs] == ["", "", "", "second"]
    back = judged((runs[1], runs[0]), endpoint, prefers_the_mark)
    assert {one.criterion: one.mean for one in back.preferred()}["overall"] == 1


def test_a_judge_that_takes_what_stands_first_is_seen_to_do_so_and_decides_nothing(
    runs: Runs, endpoint: Endpoint
) -> None:
    report = judged(runs, endpoint, prefers_the_first)
    overall = next(one for one in report.preferred() if one.criterion == "overall")
    assert (overall.agreement, report.stood_first) == (0, 1)
    assert (overall.first, overall.equal) == (1, 3)
    assert overall.verdict == "equal"


def test_a_judge_sees_question_answers_and_abstracts_and_neither_reference_nor_model(
    runs: Runs, endpoint: Endpoint, good: Outcome
) -> None:
    judged(runs, endpoint, prefers_the_mark, rubric="Say which is better.")
    shown = shown_to(endpoint.asked[0])
    worse = changed(good, lambda output: output.update(summary=f"It was studied {reference_of(good, TRIAL)}."))
    assert {shown_to(request) for request in endpoint.asked} == {shown_pair(good, worse), shown_pair(worse, good)}
    assert "cite~" not in shown
    assert good.model not in shown
    assert shown.count("<abstracts>") == 2
    system = [message["content"] for message in endpoint.asked[0]["messages"] if message["role"] != "user"]
    assert system == ["Say which is better."]


def test_a_pair_that_the_judge_failed_to_judge_is_counted_and_in_no_figure(runs: Runs, endpoint: Endpoint) -> None:
    report = judged(
        runs, endpoint, lambda request: {"status": 401, "error": {"message": "sk-proj-0123456789 is no key"}}
    )
    assert report.failed == 3
    assert {pair.error for pair in report.pairs} == {"", "its provider answered 401."}
    overall = next(one for one in report.preferred() if one.criterion == "overall")
    assert (overall.first, overall.equal, overall.second, overall.agreement) == (1, 0, 0, None)


def test_runs_on_other_cases_are_not_judged(runs: Runs, endpoint: Endpoint, good: Outcome, tmp_path: Path) -> None:
    other = ran(tmp_path / "c", Answers(good), ten(count=3))
    with pytest.raises(InvalidInputError, match="not the same cases"):
        judged((runs[0], (tmp_path / "c", other)), endpoint, prefers_the_mark)
    assert endpoint.asked == []


def test_pairs_are_judged_from_the_command_line(
    runs: Runs,
    endpoint: Endpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{endpoint.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    endpoint.replies = [prefers_the_mark]
    folders = [str(runs[0][0]), str(runs[1][0])]
    rubric, page = tmp_path / "rubric.md", tmp_path / "diff.html"
    rubric.write_text("Mark them well.", encoding="utf-8")
    options = ["--judge", "openai-chat:by-hand", "--judge-repeats", "1", "--rubric", str(rubric), "--out", str(page)]
    assert compare_main([*folders, *options]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "overall 4 0 0 -1.000" in out
    assert "6 judgements of 4 pairs, each in both orders. Of the decided ones 50% were for the answer that stood" in out
    assert "1 pairs lack an answer" in out
    written = page.read_text(encoding="utf-8")
    assert "What the judge prefers" in written
    assert "no answer of B" in written
    assert compare_main([*folders, "--judge", "openai-chat:by-hand", "--rubric", str(tmp_path / "none.md")]) == 2
    assert "can't be read" in capsys.readouterr().err
    endpoint.replies = [{"status": 500, "error": {"message": "no"}}]
    assert compare_main([*folders, "--judge", "openai-chat:by-hand"]) == 1
    assert "3 pairs were not judged" in capsys.readouterr().out


def test_a_judge_marks_each_answer_of_a_run_and_holds_it_against_the_experts(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The absolute judge, over the same wire: its figures stand in table and report, with thresholds of their own."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{endpoint.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    marks = {"faithful": 4, "themes": 3, "gaps": 2, "reason": "Read."}
    endpoint.replies = [
        calls(("final_result", {**marks, "answer": "yes"})),
        calls(("final_result", {**marks, "answer": "maybe"})),
    ]
    file, out = tmp_path / "judged.yaml", tmp_path / "out"
    case = {"name": "one", "inputs": {"question": "metformin cognition"}, "expected_output": {"answer": "yes"}}
    file.write_text(json.dumps({"name": "judged", "cases": [case]}), encoding="utf-8")
    rubric = tmp_path / "rubric.md"
    rubric.write_text("Mark it well.", encoding="utf-8")
    options = [str(file), "--model", "pasted", "--sources", "pubmed", "--quiet", "--concurrency", "1"]
    options += ["--judge", "openai-chat:by-hand", "--rubric", str(rubric), "--out", str(out)]
    assert run_main([*options, "--fail-under", "judge_answer=0.6"]) == 1
    assert "judge_answer is 0.500, under 0.6" in capsys.readouterr().out
    scores = read_report(out).cases[0].scores
    assert [scores[f"judge_{name}"] for name in ("faithful", "themes", "gaps", "answer", "agreement")] == [
        1, 0.75, 0.5, 0.5, 0,
    ]  # fmt: skip
    first, second = (shown_to(request) for request in endpoint.asked)
    assert first.index("<answer>") < first.index("<abstracts>")
    assert second.index("<abstracts>") < second.index("<answer>")
    assert "Mark it well." in str(endpoint.asked[0]["messages"])

    endpoint.replies = [REFUSED]
    options[-1] = str(tmp_path / "refused")
    assert run_main(options) == 1
    kept = (tmp_path / "refused" / "report.json").read_text(encoding="utf-8")
    assert "The judge gave no answer: its provider answered 401." in kept
    assert "sk-proj" not in kept + capsys.readouterr().out
