"""The benchmarks in small: each measures what it says and prints its table; no goal of speed is asserted here."""

from __future__ import annotations

import re
from socket import socket
from threading import Event, Thread

import pytest

from evals.benchmarks import leaks
from evals.benchmarks.__main__ import main
from evals.benchmarks.measure import Figure
from evals.benchmarks.sources import compare, pubmed_file
from literature_agent.sources.pubmed.parse import parse_articles


def _printed(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    """Figures of the printed table."""
    assert main([name, "--small"]) == 0
    out = capsys.readouterr().out
    assert re.match(rf"{name}\b", out)
    assert re.search(r"^\d+ goals met, \d+ not met$", out, re.M)
    rows = re.findall(r"^  (\S.*?) {2,}([\d,.]+)(?: |$)", out, re.M)
    return {row: float(value.replace(",", "")) for row, value in rows}


def test_sources_are_measured_against_other_readers_of_the_same_file(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pubmed_parser", reason="the extra `bench` is not installed")
    pytest.importorskip("Bio", reason="the extra `bench` is not installed")
    figures = _printed("sources", capsys)
    assert figures["records, each compared with the XML in ten fields"] == 200
    assert figures["fields that differ from the XML"] == 0
    assert 0.01 < figures["against bare lxml"] < 1
    assert figures["requests of a first query on 1,200 preprints"] == 40
    assert figures["requests of a second query on the same window"] == 0
    assert figures["difference of the two"] < 40


def test_registry_is_measured_at_two_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    figures = _printed("registry", capsys)
    ratios = [value for name, value in figures.items() if name.endswith("time against half of it")]
    assert len(ratios) == 4
    assert all(0.5 < ratio < 8 for ratio in ratios), figures
    assert figures["resolve 20,000 references"] > 1000


def test_loop_is_measured_against_the_bare_loop_and_imports(capsys: pytest.CaptureFixture[str]) -> None:
    figures = _printed("loop", capsys)
    assert figures["requests on the wire of a run"] >= 12
    assert figures["spans of a run"] > 12
    assert figures["events of a run"] > 12
    assert figures["run against bare loop and raw requests"] > 1
    assert 0 < figures["literature-agent --help"] < 5
    assert 100 < figures["characters of a hit as the model sees it"] <= 650
    assert figures["against JSON of the same hits"] <= 45


def test_runs_leave_nothing_open_also_where_some_are_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    """K091."""
    figures = _printed("leaks", capsys)
    assert figures["runs that ended in an answer"] + figures["runs whose task was cancelled"] == 8
    assert figures["of these cancelled by a token"] == 1
    assert figures["runs whose task was cancelled"] == 1
    left = {name: value for name, value in figures.items() if name.endswith("left open")}
    assert len(left) == 4
    assert set(left.values()) == {0}, left


def test_what_was_open_before_the_runs_and_closes_hides_nothing_that_they_leave() -> None:
    ends = Event()
    earlier = Thread(target=ends.wait)
    earlier.start()
    with socket():
        before = leaks.opened()
    ends.set()
    earlier.join()
    assert leaks.left_since(before) == {"threads": 0, "sockets": 0, "other file handles": 0}
    with socket():
        assert leaks.left_since(before, patience=0) == {"threads": 0, "sockets": 1, "other file handles": 0}


def test_calls_over_mcp_are_measured_against_the_same_calls_made_directly(capsys: pytest.CaptureFixture[str]) -> None:
    figures = _printed("mcp", capsys)
    assert figures["errors"] == 0
    rate, direct = figures["over MCP"], figures["the same through search()"]
    assert rate > 0
    # Ten calls that wait for a turn each, at three a second, would take three seconds.
    assert direct > 10 / 3
    assert figures["over MCP / through search()"] == pytest.approx(rate / direct, abs=0.02)
    assert figures["slowest call / median, worst round"] >= 1


def test_a_field_that_was_read_wrongly_is_seen_by_the_comparison() -> None:
    body = pubmed_file(20)
    articles = parse_articles(body)
    assert compare(body, articles) == []
    articles[3] = articles[3].model_copy(update={"journal": "Another Journal", "authors": ()})
    wrong = compare(body, articles)
    assert [line.split(":")[0].split(" ")[1] for line in wrong] == ["journal", "authors"]
    assert len(compare(body, articles[:19])) == 3


def test_a_goal_is_a_bound_in_its_direction() -> None:
    assert Figure("x", 2, "x", 1.5).is_met is False
    assert Figure("x", 2, "x", 1.5, "at least").is_met is True
    assert Figure("x", 2).is_met is None
