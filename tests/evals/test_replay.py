"""The trial of recordings in small, and proof that it would see a difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai import CancellationToken

from evals import replay
from literature_agent.cli.recording import drift_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def report(folder: Path) -> replay.Report:
    return replay.run_trial(1, folder)


def test_a_recorded_run_is_replayed_to_the_same_bytes_with_the_network_refused(report: replay.Report) -> None:
    assert report.passed, report.lines()
    assert report.same == dict.fromkeys(replay.PARTS, 1)
    assert report.exchanges > 10


def test_drift_names_what_is_new_gone_and_newly_retracted(report: replay.Report) -> None:
    drift = report.drift
    assert drift is not None
    assert replay.drift_is_named(drift)
    assert drift.has_changes
    assert (drift.searches[0].total_then, drift.searches[0].total_now) == (3, 3)
    text = drift_text(drift, 80)
    assert "3 works then, 3 now: 1 newly retracted, 1 gone, 1 new." in text
    places = [text.index(name) for name in ("is withdrawn.", "that vanishes.", "is new.", "Searches, then and now")]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 80


def test_a_source_that_fails_by_now_is_no_drift(report: replay.Report, folder: Path) -> None:
    drift = replay.drift_after(folder / "drift", fault="server_error")
    assert len(drift.not_checked) == 3
    assert not drift.has_changes
    assert not drift.is_complete
    assert drift.works_now is None
    assert {(search.status_now, search.reason_now) for search in drift.searches} == {("failed", "pubmed_unreachable")}
    text = " ".join(drift_text(drift, 80).split())
    assert "3 works then; what is found now is not known, no search was answered: 3 not checked." in text
    assert "failed now (pubmed_unreachable)" in text
    assert "Not checked: a source or a search was not answered" in text


def test_what_a_failed_search_does_not_show_is_not_called_unlisted(report: replay.Report, folder: Path) -> None:
    """The records still answer, so what has become of them is known; whether the search still finds them is not."""
    drift = replay.drift_after(folder / "drift", fault="server_error", path="esearch")
    assert drift.works_now is None
    assert (len(drift.newly_retracted), len(drift.gone)) == (1, 1)
    assert not drift.not_listed
    assert [getattr(work, "pmid", None) for work in drift.not_checked] == [str(replay.STAYS), str(replay.IS_RETRACTED)]
    assert not drift.is_complete


def test_a_drift_that_is_stopped_is_not_whole(report: replay.Report, folder: Path) -> None:
    token = CancellationToken()
    token.cancel()
    drift = replay.drift_after(folder / "drift", token=token)
    assert {search.status_now for search in drift.searches} == {None}
    assert drift.works_now is None
    assert not drift.is_complete
    assert not drift.not_listed


def test_a_run_that_differs_is_counted_and_fails_the_trial(report: replay.Report) -> None:
    other = replay.Report(runs=1, same={**report.same, "references": 0}, drift=report.drift)
    assert not other.passed
    assert "references, the same bytes:         0 of 1" in "\n".join(other.lines())


def test_a_trial_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It would pass."""
    with pytest.raises(SystemExit, match="2"):
        replay.main(["--runs", "0"])
    assert "'0' is no whole number of 1 or more" in capsys.readouterr().err


def test_cases_differ_from_each_other() -> None:
    assert len({repr(case) for case in replay.cases(20)}) == 20
