"""`search` and `fetch`."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from literature_agent.artifacts import Artifact, CitationArtifact
from literature_agent.results import FetchResult, SearchResult
from literature_agent.sandbox import SandboxServer

from .conftest import Run

ARTIFACT: TypeAdapter[CitationArtifact] = TypeAdapter(Artifact)


def test_search_prints_what_was_understood_and_an_entry_for_each_hit(cli: Run, server: SandboxServer) -> None:
    done = cli("search", "pubmed", "metformin cognition", "--max-results", "2")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("PubMed: ok, 2 of ")
    assert lines[1] == "Query: metformin cognition"
    assert any(line.startswith("Interpreted as: ") for line in lines)
    assert any(line.startswith("1. ") for line in lines)
    assert any(line.startswith("2. ") for line in lines)
    assert "Synthetic" in done.out
    assert done.err == ""


def test_the_next_page_continues_after_the_last_hit(cli: Run, server: SandboxServer) -> None:
    for source in ("pubmed", "europepmc"):
        all_hits = cli("search", source, "metformin", "--json", "--max-results", "4").document["artifacts"]
        first = cli("search", source, "metformin", "--json", "--max-results", "2").document
        second = cli("search", source, "metformin", "--json", "--max-results", "2", "--page", first["next_page"])
        pages = [*first["artifacts"], *second.document["artifacts"]]
        assert [hit["title"] for hit in pages] == [hit["title"] for hit in all_hits]


def test_search_json_reads_back_as_the_result(cli: Run, server: SandboxServer) -> None:
    result = SearchResult.model_validate(cli("search", "europepmc", "metformin", "--json").document)
    assert result.status == "ok"
    assert result.returned == len(result.artifacts) > 0


def test_jsonl_is_one_artifact_a_line_and_nothing_else(cli: Run, server: SandboxServer) -> None:
    done = cli("search", "pubmed", "metformin", "--jsonl", "--max-results", "3")
    assert done.code == 0
    hits = [ARTIFACT.validate_json(line) for line in done.out.splitlines()]
    assert [hit.kind for hit in hits] == ["link:cite:pubmed:full"] * 3
    assert "ok, 3 of " in done.err
    assert "Next page: --page 3" in done.err
    assert cli("search", "pubmed", "zzqxblorptine", "--jsonl").out == ""


def test_in_jsonl_an_error_is_a_line_too(cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """K120."""
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    server.faults.set("eutils", "server_error")
    done = cli("search", "pubmed", "metformin", "--jsonl")
    assert done.code == 1
    assert done.out.count("\n") == 1
    assert done.document["error"]["reason"] == "pubmed_unreachable"


def test_nothing_found_is_done(cli: Run, server: SandboxServer) -> None:
    done = cli("search", "pubmed", "zzqxblorptine", "--json")
    assert done.code == 0
    assert done.document["status"] == "empty"


def test_filters_reach_the_source(cli: Run, server: SandboxServer) -> None:
    done = cli("search", "pubmed", "metformin", "--since", "2024", "--json", "--languages", "eng", "--sort", "pub_date")
    assert {hit["year"] >= 2024 for hit in done.document["artifacts"]} == {True}
    assert done.document["applied_filters"]["date_from"] == "2024"


def test_fetch_prints_whole_records_and_what_is_missing(cli: Run, server: SandboxServer) -> None:
    done = cli("fetch", "pubmed", "90000101", "99999999")
    assert done.code == 3
    assert done.out.startswith("1. Lindqvist ÅM, ")
    assert "\n\nCONCLUSIONS: Two years of metformin" in done.out
    assert done.out.endswith("Not found: 99999999\n")


@pytest.mark.parametrize(
    ("source", "good"), [("pubmed", "90000101"), ("europepmc", "90000101"), ("clinicaltrials", "NCT90000001")]
)
def test_fetch_names_what_is_no_identifier_and_prints_the_rest(
    cli: Run, server: SandboxServer, source: str, good: str
) -> None:
    done = cli("fetch", source, "not an id", good)
    assert done.code == 3
    assert done.out.startswith("1. ")
    assert "Failed: not an id: 'not an id' is no " in done.out
    document = cli("fetch", source, good, "not an id", "--json").document
    assert len(document["artifacts"]) == 1
    assert list(document["failed"]) == ["not an id"]
    assert cli("fetch", source, "not an id").code == 2


def test_fetch_and_cite_agree_on_what_no_source_knows(cli: Run, server: SandboxServer) -> None:
    """Exit code 1 where nothing was found, 3 where some was: a script sees it without reading the text."""
    for command in (("fetch", "pubmed"), ("cite",)):
        assert cli(*command, "90000101").code == 0
        assert cli(*command, "90000101", "99999999").code == 3
        none = cli(*command, "99999999", "99999998")
        assert (none.code, none.out) == (1, "")
        assert "99999999, 99999998" in none.err
        error = cli(*command, "99999999", "--json").document["error"]
        assert error["reason"].endswith("_not_found")
        assert not error["retryable"]


def test_fetch_of_nothing_names_what_failed_before_what_is_missing(cli: Run, server: SandboxServer) -> None:
    done = cli("fetch", "pubmed", "not an id", "99999999")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: 'not an id' is no ")
    assert "PubMed has no record of 99999999." in done.err


def test_fetch_json_reads_back_as_the_result(cli: Run, server: SandboxServer) -> None:
    result = FetchResult.model_validate(cli("fetch", "pubmed", "90000101", "99999999", "--json").document)
    assert [artifact.kind for artifact in result.artifacts] == ["link:cite:pubmed:full"]
    assert result.not_found == ("99999999",)


def test_the_packaged_sandbox_can_be_asked_directly(cli: Run) -> None:
    done = cli("search", "pubmed", "metformin", "--sandbox")
    assert done.code == 0
    assert "invented papers" in done.err
    assert cli("fetch", "pubmed", "90000101", "--sandbox", "--quiet").err == ""


@pytest.mark.parametrize("command", [("search", "pubmed", "metformin"), ("fetch", "pubmed", "90000101")])
def test_a_failing_source_is_one_sentence_and_exit_code_1(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """K120."""
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    server.faults.set("eutils", "server_error")
    done = cli(*command)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    as_json = cli(*command, "--json")
    assert as_json.code == 1
    assert as_json.document["error"]["reason"] == "pubmed_unreachable"
    assert as_json.document["error"]["retryable"] is True
    assert as_json.err == ""
