"""Runs: failed cases stay in the denominator, stopped runs go on, reports say what they were made of."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pydantic_evals import Case

from evals.arithmetic import by_case, difference, estimate
from evals.cases import About, Ask, Expected
from evals.command import compare_main, list_main, run_main
from evals.crew import CaseFailed, Crew
from evals.datasets import CaseSet, Loaded
from evals.evaluators import score
from evals.harness import Plan, base_name, check_folder, read_outcome, run
from evals.outcome import Outcome
from evals.page import render_page
from evals.report import Report, compare, obstacles, read_report
from evals.task import task
from literature_agent import Budget
from literature_agent.errors import InvalidInputError

from .conftest import TRIAL


def ten(relevant: str = TRIAL, count: int = 10) -> Loaded:
    cases = [
        Case(
            name=f"case-{number}",
            inputs=Ask(question=f"Question {number}?"),
            expected_output=Expected(relevant={relevant: 1}),
            metadata=About(),
        )
        for number in range(count)
    ]
    return Loaded(CaseSet(name="ten", cases=cases), "packaged")


class Answers:
    """Gives the same outcome to every case, but fails, waits or stops where it is told."""

    def __init__(self, good: Outcome, *, raising: tuple[int, ...] = (), hanging: tuple[int, ...] = ()) -> None:
        self.good, self.raising, self.hanging = good, raising, hanging
        self.asked: list[str] = []
        self.hangs = asyncio.Event()

    async def __call__(self, ask: Ask, case: str) -> Outcome:
        self.asked.append(case)
        number = int(base_name(case).removeprefix("case-"))
        if number in self.raising:
            raise RuntimeError(f"{case} broke")
        if number in self.hanging:
            self.hangs.set()
            await asyncio.Event().wait()
        return self.good


def ran(out: Path, task: Answers, loaded: Loaded | None = None, **options: object) -> Report:
    out.mkdir(exist_ok=True)
    plan = Plan(loaded=loaded or ten(), out=out, **{"timeout_s": 0.2, **options})  # type: ignore[arg-type]
    return asyncio.run(run(plan, task))


def test_one_case_that_raises_does_not_end_the_others(good: Outcome, tmp_path: Path) -> None:
    """K127."""
    report = ran(tmp_path / "run", Answers(good, raising=(3,)))
    assert report.failed == 1
    assert [case.name for case in report.cases if case.error is not None] == ["case-3"]
    assert "case-3 broke" in str(report.cases[3].error)
    assert sum("recall" in case.scores for case in report.cases) == 9


def test_failed_cases_stay_in_the_denominator_at_the_worst_value(good: Outcome, tmp_path: Path) -> None:
    """K128."""
    report = ran(tmp_path / "run", Answers(good, hanging=(1, 2)))
    recall = report.summarise("recall@10")
    assert recall.mean == pytest.approx(0.8)
    assert (recall.cases, recall.failed) == (10, 2)
    assert report.summarise("fabricated_reference_rate").mean == pytest.approx(0.2)
    assert report.summarise("quote_pass_rate").mean == pytest.approx(0.8)
    assert report.summarise("searches").cases == 8
    assert "no answer within" in str(report.cases[1].error)


def test_runs_on_other_cases_are_not_comparable(
    good: Outcome, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """K128: a run that lost two cases is not held against one that has them."""
    whole = ran(tmp_path / "a", Answers(good))
    shorter = ran(tmp_path / "b", Answers(good), limit=8)
    assert "not the same cases: 2 only in the first" in obstacles(whole, shorter)[0]
    with pytest.raises(InvalidInputError, match="Not comparable"):
        compare(whole, shorter)
    assert compare_main([str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "Not comparable: not the same cases" in capsys.readouterr().err
    other = ran(tmp_path / "c", Answers(good), ten("90000102"))
    assert obstacles(whole, other) == ["the cases have the same names, but not the same questions or judgements"]


def dataset(file: Path, *questions: str) -> Path:
    cases = [{"name": f"c{n}", "inputs": {"question": q}} for n, q in enumerate(questions)]
    file.write_text(json.dumps({"name": "small", "cases": cases}), encoding="utf-8")
    return file.rename(file.with_suffix(".yaml"))


def test_a_job_whose_every_case_failed_is_not_green(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """K129. An empty question is refused by the agent, so that the case raises."""
    file = dataset(tmp_path / "d", " ", " ")
    shared = [str(file), "--out", str(tmp_path / "out"), "--quiet", "--concurrency", "1"]
    assert run_main(shared) == 1
    assert "2 of 2 cases failed" in capsys.readouterr().out
    assert run_main([*shared, "--fail-on", "none"]) == 0


def test_any_failed_case_can_be_made_to_fail_the_job(
    good: Outcome, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """K129: option any or all. Thresholds too set the exit code."""
    file = dataset(tmp_path / "d", "penguins sunburn", " ")
    shared = [str(file), "--out", str(tmp_path / "out"), "--quiet", "--concurrency", "1", "--sources", "pubmed"]
    assert run_main([*shared, "--model", "pasted", "--fail-on", "any"]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 cases failed" in out
    assert "InvalidInputError: The question is empty" in out
    assert run_main([*shared, "--model", "pasted", "--fail-under", "honest_status_rate=0.9"]) == 1
    assert "honest_status_rate is 0.500, under 0.9" in capsys.readouterr().out
    assert run_main([*shared, "--model", "pasted", "--fail-under", "leaked_identifier_rate=0.6"]) == 0
    assert run_main([*shared, "--fail-under", "recall"]) == 2
    assert run_main(["no-such-dataset", "--out", str(tmp_path / "x")]) == 2
    assert "There is no dataset 'no-such-dataset'" in capsys.readouterr().err


def test_what_can_not_be_used_ends_a_run_before_its_first_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = dataset(tmp_path / "d", "penguins sunburn")
    shared = [str(file), "--quiet", "--model", "pasted", "--out", str(tmp_path / "out")]
    (tmp_path / "notes.md").write_text("# Notes", encoding="utf-8")
    (tmp_path / "beir").mkdir()
    (tmp_path / "beir" / "corpus.jsonl").write_text("", encoding="utf-8")
    for options, said in (
        ([*shared, "--fail-under", "recal=0.6"], "There is no metric 'recal'"),
        ([*shared, "--judge", "nosuch:judge"], "No provider knows the model 'nosuch:judge'"),
        ([*shared, "--model", "nosuch:model"], "No provider knows the model 'nosuch:model'"),
        ([str(tmp_path / "notes.md"), *shared[1:]], "is of no known form. Give a YAML file"),
        ([str(tmp_path / "beir"), *shared[1:]], "as a dataset: queries.jsonl: No such file or directory."),
        ([*shared, "--sources", "pubmedd"], "Did you mean 'pubmed'?"),
    ):
        assert run_main(options) == 2
        assert said in capsys.readouterr().err
    wrong = {"--limit": "x", "--repeat": "0", "--timeout": "0", "--deadline": "-1", "--max-cost": "nan"}
    for option, value in wrong.items():
        with pytest.raises(SystemExit, match="2"):
            run_main([*shared, option, value])
        assert f"argument {option}: {value!r} is no " in capsys.readouterr().err
    assert not list((tmp_path / "out").rglob("cases/*"))


def test_a_stopped_run_goes_on_and_a_finished_one_starts_anew(good: Outcome, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    task = Answers(good, hanging=(5,))

    async def stopped() -> None:
        running = asyncio.create_task(run(Plan(loaded=ten(), out=out, concurrency=1, timeout_s=60), task))
        await task.hangs.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(stopped())
    again = Answers(good)
    report = ran(out, again, timeout_s=60)
    assert again.asked == [f"case-{number}" for number in range(5, 10)]
    assert (report.resumed, report.failed, len(report.cases)) == (5, 0, 10)
    anew = Answers(good)
    assert ran(out, anew, timeout_s=60).resumed == 0
    assert len(anew.asked) == 10


def test_a_report_is_not_overwritten_by_another_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, other = dataset(tmp_path / "d", "penguins sunburn", "metformin"), dataset(tmp_path / "e", "statins")
    out = tmp_path / "out"
    shared = ["--out", str(out), "--quiet", "--concurrency", "1", "--model", "pasted"]
    given = [str(file), *shared, "--limit", "1", "--sources", "pubmed"]
    assert run_main([*given, "--fail-on", "none"]) == 0
    kept = (out / "report.json").read_bytes()
    capsys.readouterr()
    for options in (
        [str(other), *shared, "--limit", "1", "--sources", "pubmed"],
        [str(file), *shared, "--sources", "pubmed"],
        [*given, "--seed", "2"],
        [*given, "--repeat", "2"],
        [*given, "--sources", "europepmc"],
        [*given, "--max-cost", "1"],
        [*given, "--judge", "test"],
    ):
        assert run_main(options) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"{str(out)!r} holds another run: `{file} --model pasted --limit 1 --sources pubmed`. Give" in said
        assert (out / "report.json").read_bytes() == kept
    assert run_main([*given, "--fail-on", "any", "--concurrency", "2"]) == 0  # the same run, made again


def test_a_stopped_run_goes_on_with_more_cases_and_with_nothing_else(good: Outcome, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"asked": {"": "d", "limit": "5"}, "finished": false}', encoding="utf-8")
    check_folder(tmp_path, {"": "d", "limit": "9"})
    with pytest.raises(InvalidInputError, match="holds another run: `d --limit 5`"):
        check_folder(tmp_path, {"": "d", "limit": "5", "repeat": "2"})


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine" / "cases").mkdir(parents=True)
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    file = dataset(tmp_path / "d", "penguins sunburn")
    for out, said in ((tmp_path / "mine", "is of no run of this harness"), (tmp_path / "file", "is no folder")):
        assert run_main([str(file), "--quiet", "--model", "pasted", "--out", str(out)]) == 2
        assert said in capsys.readouterr().err
    assert (tmp_path / "mine" / "cases").is_dir()


def test_repeats_are_means_of_one_case(good: Outcome, tmp_path: Path) -> None:
    report = ran(tmp_path / "run", Answers(good, raising=(0,)), ten(count=2), repeat=3)
    assert [case.name for case in report.cases[:2]] == ["case-0 [1/3]", "case-0 [2/3]"]
    recall = report.summarise("recall")
    assert (recall.mean, recall.cases, recall.failed) == (0.5, 2, 1)


def test_a_report_says_what_it_was_made_of_and_reads_back(good: Outcome, tmp_path: Path) -> None:
    report = ran(tmp_path / "run", Answers(good), ten(count=2), seed=7)
    made = report.made
    assert (made.dataset, made.corpus, made.seed, made.repeat) == ("ten", "packaged", 7, 1)
    assert made.prompt_hashes == (good.prompt_hash,)
    assert all(len(name) == 16 for name in (made.dataset_hash, made.corpus_hash, made.code_hash, *made.prompt_hashes))
    assert {"python", "pydantic-ai-slim", "pydantic-evals"} <= made.versions.keys()
    assert made.model_settings["max_requests"] == "30"
    assert read_report(tmp_path / "run") == report
    assert read_outcome(tmp_path / "run", report.cases[0]) == good.model_copy(update={"instructions": ""})
    written = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert {one["name"] for one in written["summary"]} >= {"recall@10", "fabricated_reference_rate", "wall_s"}


def test_a_better_run_is_told_from_one_that_is_the_same(good: Outcome, tmp_path: Path) -> None:
    before = ran(tmp_path / "a", Answers(good, raising=(0, 1, 2, 3, 4)))
    after = ran(tmp_path / "b", Answers(good))
    verdicts = {one.metric.name: one.verdict for one in compare(before, after)}
    assert verdicts["recall@10"] == "better"
    assert verdicts["fabricated_reference_rate"] == "better"
    assert {one.verdict for one in compare(after, after)} == {"same"}
    assert {one.metric.name: one.verdict for one in compare(after, before)}["recall@10"] == "worse"
    page = tmp_path / "diff.html"
    assert compare_main([str(tmp_path / "b"), str(tmp_path / "a"), "--out", str(page), "--fail-on-worse"]) == 1
    assert "Cases that moved most" in page.read_text(encoding="utf-8")
    assert "seen: relevant shown to the model" in page.read_text(encoding="utf-8")
    assert compare_main([str(tmp_path / "b"), str(tmp_path / "a"), "--out", "/no/such/diff.html"]) == 2


def test_intervals_hold_the_mean_and_do_not_change_with_the_hour() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0, 1.0]
    found = estimate(values, seed=3)
    assert found == estimate(values, seed=3)
    assert found.mean == pytest.approx(0.6875)
    assert found.low < found.mean < found.high
    assert estimate([1.0] * 5) == (1.0, 1.0, 1.0, 5)
    assert by_case([("a", 1.0), ("a", 0.0), ("b", 1.0)]) == {"a": 0.5, "b": 1.0}
    with pytest.raises(ValueError, match="at least one"):
        estimate([])
    with pytest.raises(ValueError, match="same cases"):
        difference({"a": 1.0}, {"b": 1.0})


async def test_a_worker_process_answers_and_tells_what_failed() -> None:
    async with Crew(1, corpus="packaged", model="pasted", budget=Budget()) as crew:
        answered, refused = await asyncio.gather(
            crew.answer(Ask(question="metformin cognitive decline trial", sources=("pubmed",)), "a"),
            crew.answer(Ask(question=" "), "b"),
            return_exceptions=True,
        )
    assert isinstance(answered, Outcome)
    assert answered.output["relevant_articles"]
    assert isinstance(refused, CaseFailed)
    assert "The question is empty" in str(refused)


def test_the_lying_model_runs_as_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["adversarial", "--limit", "3", "--seed", "5", "--concurrency", "1"]) == 0
    assert "fabricated citations" in capsys.readouterr().out
    assert run_main(["adversarial", "--model", "extractive"]) == 2
    assert "it takes no --model" in capsys.readouterr().err


async def test_a_plain_function_answers_a_question_for_any_harness() -> None:
    """Inside a running loop too."""
    outcome = task("metformin cognitive decline trial", model="pasted")
    assert outcome.output["relevant_articles"]
    assert score(outcome)["fabricated_reference_rate"].value == 0


def test_datasets_and_metrics_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_main([]) == 0
    out = capsys.readouterr().out
    assert "topics" in out
    assert "adversarial" in out
    assert "version_double_count_rate" in out


def test_a_page_holds_its_cases_and_nothing_that_runs_but_its_own_script(good: Outcome, tmp_path: Path) -> None:
    loaded = ten(count=2)
    loaded.cases.cases[0].inputs = Ask(question="<script>alert(1)</script>?")
    page = render_page(ran(tmp_path / "run", Answers(good), loaded), tmp_path / "run")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize("content", ["[]", "1", "{}", "not JSON", "[" * 100_000])
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "report.json").write_text(content)
    with pytest.raises(InvalidInputError, match="is no report of this harness"):
        read_report(tmp_path)
