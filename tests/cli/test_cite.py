"""`cite`, and bibliographies of `run`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import rispy

from literature_agent.cli import main
from literature_agent.registry import Reference
from literature_agent.sandbox import SandboxServer

from .conftest import Run

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"
UNKNOWN = "99999998"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved run over the packaged corpus."""
    folder = tmp_path_factory.mktemp("run")
    file = folder / "run.json"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("LITERATURE_AGENT_", "NCBI_", "EUROPEPMC_"))]:
            patch.delenv(name)
        patch.setenv("XDG_CACHE_HOME", str(folder))
        assert main(["run", QUESTION, "--sandbox", "--output", str(file), "--quiet"]) == 0
    return file


def _titles(ris: str) -> list[str]:
    return [entry["title"] for entry in rispy.loads(ris)]


def test_identifiers_of_every_kind_are_cited_in_the_order_asked(cli: Run, server: SandboxServer) -> None:
    """Papers from PubMed, preprints from Europe PMC, the trial from its registry."""
    ids = ("PPR900001", "90000102", "10.5555/synthetic.90000103", "PMC90000101", "PPR:PPR900002", "nct90000001")
    done = cli("cite", *ids, "--format", "ris", "--json")
    assert done.code == 0
    assert done.document["numbers"] == {name: number for number, name in enumerate(ids, start=1)}
    entries = rispy.loads(done.document["bibliography"])
    assert [entry["type_of_reference"] for entry in entries] == ["UNPB", "JOUR", "JOUR", "JOUR", "UNPB", "ELEC"]
    numbers = [entry.get("accession_number") for entry in entries]
    assert numbers[1:4] == ["90000102", "90000103", "90000101"]
    assert numbers[5] == "NCT90000001"
    assert (done.document["format"], done.document["not_found"], done.document["failed"]) == ("ris", [], {})


def test_one_work_asked_twice_is_one_entry(cli: Run, server: SandboxServer) -> None:
    """K082."""
    done = cli("cite", "90000101", "90000102", "https://doi.org/10.5555/synthetic.90000101", "--json")
    assert done.document["numbers"] == {
        "90000101": 1,
        "90000102": 2,
        "https://doi.org/10.5555/synthetic.90000101": 1,
    }
    assert len(done.document["bibliography"].splitlines()) == 2


def test_the_usual_form_is_a_numbered_list(cli: Run, server: SandboxServer) -> None:
    done = cli("cite", "90000101", "90000701")
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first.startswith("[1] Lindqvist ÅM, Nair PR, ")
    assert first.endswith("[SYNTHETIC - Made up for testing]")
    assert second.startswith("[2] ")
    assert "[RETRACTED]" in second
    assert done.err == ""


@pytest.mark.parametrize("name", ["bibtex", "csl-json", "nbib", "csv", "markdown", "vancouver", "apa", "the-lancet"])
def test_each_format_is_printed(cli: Run, server: SandboxServer, name: str) -> None:
    done = cli("cite", "90000101", "--format", name)
    assert done.code == 0
    assert "double-blind" in done.out
    if name == "csl-json":
        assert json.loads(done.out)[0]["PMID"] == "90000101"


def test_what_is_not_found_is_named_and_the_rest_is_cited(cli: Run, server: SandboxServer) -> None:
    done = cli("cite", "90000101", UNKNOWN)
    assert done.code == 3
    assert len(done.out.splitlines()) == 1
    assert done.err == f"Not found: {UNKNOWN}\n"
    assert cli("cite", "90000101", UNKNOWN, "--quiet").err == done.err
    document = cli("cite", "90000101", UNKNOWN, "--json").document
    assert (document["numbers"], document["not_found"]) == ({"90000101": 1}, [UNKNOWN])


def test_a_doi_that_no_source_knows_is_not_found_and_refuses_nothing_else(cli: Run, server: SandboxServer) -> None:
    """Preprint servers refuse DOIs of others."""
    done = cli("cite", "10.1000/unknown", "90000101", "10.1000/unknown2", "--json")
    assert done.code == 3
    assert done.document["numbers"] == {"90000101": 1}
    assert done.document["not_found"] == ["10.1000/unknown", "10.1000/unknown2"]
    assert cli("cite", "10.1000/unknown").code == 1


@pytest.mark.parametrize(
    "wrong", ["not an id", "cite~0000000000", "NBK900001", "«artifact:link:cite~K7QX2MDA4U»", "PMID"]
)
def test_what_is_no_identifier_is_named_and_the_rest_is_cited(cli: Run, server: SandboxServer, wrong: str) -> None:
    for order in (("90000101", wrong), (wrong, "90000101")):
        done = cli("cite", *order)
        assert done.code == 3
        assert len(done.out.splitlines()) == 1
        assert done.err.startswith(f"Failed: {wrong}: ")
        assert done.err.count("\n") == 1
        document = cli("cite", *order, "--json").document
        assert document["numbers"] == {"90000101": 1}
        assert document["failed"][wrong]["reason"] == "request_invalid_input"
        assert document["failed"][wrong]["recovery"]


@pytest.mark.parametrize("wrong", ["not an id", "«artifact:link:cite~K7QX2MDA4U»", UNKNOWN])
def test_a_wrong_reference_beside_one_of_the_run_is_named_and_the_rest_is_cited(
    cli: Run, saved: Path, server: SandboxServer, wrong: str
) -> None:
    good = json.loads(saved.read_text(encoding="utf-8"))["relevant_articles"][0]["reference"]
    done = cli("cite", "--from", str(saved), good, wrong)
    assert (done.code, len(done.out.splitlines())) == (3, 1)
    assert f": {wrong}" in done.err
    document = cli("cite", "--from", str(saved), wrong, good, "--json").document
    assert document["numbers"] == {good: 1}
    assert wrong in (*document["failed"], *document["not_found"])


def test_a_mistyped_reference_of_the_run_is_answered_with_the_one_that_is_meant(cli: Run, saved: Path) -> None:
    good = json.loads(saved.read_text(encoding="utf-8"))["relevant_articles"][0]["reference"]
    other = "7" if good[-2] != "7" else "8"
    done = cli("cite", "--from", str(saved), good[:-2] + other + "»")
    assert (done.code, done.out) == (2, "")
    assert f"Did you mean {good}?" in done.err


def test_nothing_found_is_an_error(cli: Run, server: SandboxServer) -> None:
    done = cli("cite", UNKNOWN)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: Nothing found to cite: {UNKNOWN}. ")
    assert cli("cite", UNKNOWN, "--json").document["error"]["reason"] == "request_not_found"


def test_a_source_that_fails_is_not_nothing_found(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 4; what another source knows is cited all the same."""
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    server.faults.set("eutils", "server_error")
    done = cli("cite", "90000101", UNKNOWN, "--json")
    assert done.code == 3
    assert done.document["numbers"] == {"90000101": 1}
    assert done.document["not_found"] == []
    assert done.document["failed"][UNKNOWN]["reason"] == "pubmed_unreachable"
    refused = cli("cite", UNKNOWN, "--json")
    assert refused.code == 1
    assert refused.document["error"]["reason"] == "pubmed_unreachable"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Nothing to cite."),
        (("not an id",), "'not an id' is neither an identifier nor a reference."),
        (("cite~0000000000",), "is a reference, which names a work only within its run."),
        (("90000101", "--format", "pdf"), "There is no citation format 'pdf'."),
        (("90000101", "--from", "/no/such/run.json"), "The run '/no/such/run.json' can't be read: No such file"),
        (("NBK900001",), "No source that is switched on gives records by an identifier like 'NBK900001'."),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    cli: Run, server: SandboxServer, arguments: tuple[str, ...], said: str
) -> None:
    """K120."""
    done = cli("cite", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    as_json = cli("cite", *arguments, "--json")
    assert as_json.code == 2
    assert said in as_json.document["error"]["message"]
    assert not server.requests


def test_without_the_extra_a_style_is_refused_before_anything_is_asked(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "citeproc", None)
    done = cli("cite", "90000101", "--format", "apa")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "Error: The citation style 'apa' needs packages that are not installed. "
        "Install them: pip install 'literature-agent[citations]'.\n"
    )
    assert not server.requests


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"registry": null}', '{"registry": {"works": 1}}', "\x00\xff", "[" * 100_000]
)
def test_a_file_that_is_no_run_is_refused(cli: Run, tmp_path: Path, content: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content, encoding="latin-1")
    done = cli("cite", "--from", str(file))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Error: The run {str(file)!r} can't be read: it holds no saved run. ")


def test_a_saved_run_is_cited_whole_with_its_own_numbers(cli: Run, saved: Path, server: SandboxServer) -> None:
    """K082. No source is asked: the file holds the records."""
    run = json.loads(saved.read_text(encoding="utf-8"))
    document = cli("cite", "--from", str(saved), "--format", "ris", "--json").document
    listed = {article["reference"]: article["title"].removesuffix(".") for article in run["relevant_articles"]}
    assert document["numbers"].keys() == listed.keys()
    assert [listed[reference] for reference in document["numbers"]] == _titles(document["bibliography"])
    assert list(document["numbers"].values()) == list(range(1, len(listed) + 1))
    assert not server.requests


def test_references_and_identifiers_of_a_saved_run_are_cited_in_any_spelling(cli: Run, saved: Path) -> None:
    run = json.loads(saved.read_text(encoding="utf-8"))
    second, first = run["relevant_articles"][1], run["relevant_articles"][0]
    key = Reference.parse(second["reference"])
    assert key is not None
    spelled = (f"cite~{key.key.lower()}", first["reference"], second["doi"], key.key)
    document = cli("cite", *spelled, "--from", str(saved), "--json", "--format", "ris").document
    assert list(document["numbers"].values()) == [1, 2, 1, 1]
    assert _titles(document["bibliography"]) == [second["title"].removesuffix("."), first["title"].removesuffix(".")]


def test_a_reference_that_the_run_does_not_hold_is_not_found(cli: Run, saved: Path) -> None:
    stranger = str(Reference.for_identity("doi:10.5555/never.seen"))
    run = json.loads(saved.read_text(encoding="utf-8"))
    known = run["relevant_articles"][0]["reference"]
    document = cli("cite", known, stranger, "--from", str(saved), "--json").document
    assert (document["numbers"], document["not_found"]) == ({known: 1}, [stranger])
    assert cli("cite", stranger, "--from", str(saved)).code == 1


def test_an_identifier_beside_a_run_is_fetched(cli: Run, saved: Path, server: SandboxServer) -> None:
    done = cli("cite", "90000501", "--from", str(saved))
    assert done.code == 0
    assert "CRISPR" in done.out


def test_the_packaged_sandbox_can_be_asked_directly(cli: Run) -> None:
    done = cli("cite", "90000101", "--sandbox")
    assert done.code == 0
    assert "invented papers" in done.err


@pytest.mark.parametrize(("name", "opening"), [("ris", "TY  - JOUR\n"), ("nbib", "PMID- 9")])
def test_run_prints_the_bibliography_of_its_answer(cli: Run, server: SandboxServer, name: str, opening: str) -> None:
    done = cli("run", QUESTION, "--format", name, "--quiet")
    assert done.code == 0
    assert done.out.startswith(opening)
    assert done.err == ""


@pytest.mark.parametrize(("suffix", "opening"), [(".bib", "@article{"), (".csl.json", "[")])
def test_the_suffix_of_the_output_file_names_the_format(
    cli: Run, server: SandboxServer, tmp_path: Path, suffix: str, opening: str
) -> None:
    file = tmp_path / f"answer{suffix}"
    done = cli("run", QUESTION, "--output", str(file), "--quiet")
    assert (done.code, done.out) == (0, "")
    assert file.read_text(encoding="utf-8").startswith(opening)


def test_a_bibliography_of_a_failed_run_says_so(
    cli: Run, server: SandboxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_RETRY_ATTEMPTS", "1")
    server.faults.set("all", "server_error")
    done = cli("run", QUESTION, "--format", "ris", "--quiet")
    assert done.code == 1
    assert done.out.strip() == ""
    assert done.err.startswith("Error: ")
