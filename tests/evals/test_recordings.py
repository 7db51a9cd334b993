"""A dataset recorded and run again from its recording, with no server."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from pydantic_evals import Case

from evals.cases import About, Ask, Expected
from evals.command import run_main
from evals.datasets import CaseSet, Loaded
from evals.evaluators.metrics import metric
from evals.harness import Plan, run
from evals.models import RECORDED
from evals.replay import network_refused
from evals.report import Report, compare
from evals.upstream import RECORDING, Recordings, slug
from literature_agent.errors import InvalidInputError
from literature_agent.testing import scripted_model, submit

from .conftest import QUESTION, TRIAL
from .test_harness import dataset

SOURCES = ("pubmed", "clinicaltrials")


def small() -> Loaded:
    """Two cases: one with an answer, one whose source fails."""
    fault = {"service": "eutils", "kind": "server_error"}
    cases = [
        Case(
            name="metformin",
            inputs=Ask(question=QUESTION, sources=SOURCES),
            expected_output=Expected(relevant={TRIAL: 3}),
            metadata=About(),
        ),
        Case(
            name="source down",
            inputs=Ask.model_validate({"question": QUESTION, "sources": SOURCES, "faults": [fault]}),
            expected_output=Expected(relevant={TRIAL: 3}),
            metadata=About(required=("partial",)),
        ),
    ]
    return Loaded(CaseSet(name="small", cases=cases), "packaged")


def ran(out: Path, **options: object) -> Report:
    out.mkdir(exist_ok=True)
    return asyncio.run(run(Plan(loaded=small(), out=out, concurrency=1, **options)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Report:
    return ran(folder / "first", record=folder / "kept")


def scores(report: Report) -> list[tuple[str, dict[str, float]]]:
    """All but what is time or cost."""

    def is_kept(name: str) -> bool:
        return metric(name).group != "cost" and metric(name).unit != "s"

    return [(case.name, {name: value for name, value in case.scores.items() if is_kept(name)}) for case in report.cases]


def test_a_replay_has_the_scores_of_the_run_and_asks_no_network(recorded: Report, folder: Path) -> None:
    with network_refused() as tried:
        again = ran(folder / "again", replay=folder / "kept", model=RECORDED)
    assert tried == []
    assert scores(again) == scores(recorded)
    assert [case.scores["recall@10"] for case in again.cases] == [1, 0]
    assert again.cases[1].scores["behaviour"] == 1
    assert {one.verdict for one in compare(recorded, again) if one.metric.unit != "s"} == {"same"}
    assert (again.made.model, recorded.made.upstream) == ("extractive", "sandbox")
    assert again.made.upstream.startswith("recording ")


def test_a_live_model_is_answered_from_the_recording(recorded: Report, folder: Path) -> None:
    """The model under test decides what it does with the same answers of the services."""
    with network_refused() as tried:
        same = ran(folder / "live", replay=folder / "kept", model="extractive")
        other = ran(
            folder / "other", replay=folder / "kept", model=scripted_model(lambda seen: submit("No search was made."))
        )
    assert tried == []
    assert scores(same) == scores(recorded)
    assert [case.scores["recall@10"] for case in other.cases] == [0, 0]
    assert (other.failed, other.made.model) == (0, "function:scripted")


def test_a_case_that_was_not_recorded_is_a_failed_case_that_says_so(recorded: Report, folder: Path) -> None:
    part = folder / "part"
    shutil.copytree(folder / "kept", part)
    shutil.rmtree(part / slug("metformin"))
    report = ran(folder / "missing", replay=part, model=RECORDED)
    assert [case.name for case in report.cases if case.error is not None] == ["metformin"]
    assert "holds no recording of the case 'metformin'" in str(report.cases[0].error)
    assert (report.summarise("recall@10").cases, report.summarise("recall@10").failed) == (2, 1)


def test_a_recording_under_any_other_name_serves_the_case_of_its_question(recorded: Report, folder: Path) -> None:
    """As `literature-agent run --record` makes them; a broken one beside it is no matter."""
    part = folder / "by-hand"
    shutil.copytree(folder / "kept" / slug("metformin"), part / "monday")
    (part / "broken").mkdir()
    (part / "broken" / "run.json").write_text("{}", encoding="utf-8")
    report = ran(folder / "by-question", replay=part, model=RECORDED)
    assert scores(report)[0] == scores(recorded)[0]


def test_a_request_that_was_not_recorded_is_a_failed_case_that_names_it(recorded: Report, folder: Path) -> None:
    part = folder / "less"
    shutil.copytree(folder / "kept", part)
    for file in (part / slug("metformin")).glob("upstream-*"):
        file.unlink()
    report = ran(folder / "lacks", replay=part, model=RECORDED)
    assert [case.error is not None for case in report.cases] == [True, False]
    assert "has no answer to a request that this run makes" in str(report.cases[0].error)


def test_recordings_are_made_and_replayed_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = dataset(tmp_path / "d", "penguins sunburn", "metformin cognitive decline")
    shared = [str(file), "--quiet", "--sources", "pubmed", "--concurrency", "2"]
    assert run_main([*shared, "--model", "pasted", "--out", str(tmp_path / "a"), "--record", str(tmp_path / "r")]) == 0
    assert run_main([*shared, "--out", str(tmp_path / "b"), "--replay", str(tmp_path / "r")]) == 0
    assert "small | function:pasted" in capsys.readouterr().out
    used = [*shared, "--model", "pasted", "--out", str(tmp_path / "c"), "--record", str(tmp_path / "r")]
    assert run_main(used) == 2
    assert "is not empty" in capsys.readouterr().err
    assert run_main([*used[:-1], str(file / "r")]) == 2
    assert "Nothing can be recorded in" in capsys.readouterr().err
    assert run_main([*shared, "--out", str(tmp_path / "d"), "--replay", str(tmp_path / "nowhere")]) == 2
    assert "holds no recording" in capsys.readouterr().err
    assert run_main([*shared, "--out", str(tmp_path / "e"), "--model", "recorded"]) == 2
    assert "answers in a replay alone" in capsys.readouterr().err


def test_where_only_a_recording_tells_what_there_is_answers_are_judged_by_it(recorded: Report, folder: Path) -> None:
    """As after recording real services, of which no corpus exists."""
    loaded = small()._replace(corpus=RECORDING)
    out = folder / "real"
    out.mkdir()
    report = asyncio.run(run(Plan(loaded=loaded, out=out, concurrency=1, replay=folder / "kept", model=RECORDED)))
    assert scores(report) == scores(recorded)
    with pytest.raises(InvalidInputError, match="asked of recorded services"):
        asyncio.run(run(Plan(loaded=loaded, out=out, concurrency=1)))


def test_a_folder_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no recording"):
        Recordings(tmp_path)
