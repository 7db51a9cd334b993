"""The fuzzer in small: a few seconds of mutated answers, and proof that it would see a bug."""

from __future__ import annotations

import pytest

from evals import fuzz
from evals.readers import READERS
from literature_agent.transport.messages import Answer


def test_mutated_answers_give_values_or_typed_errors_at_every_parser(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--seconds", "3"]) == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    assert all(name in shown for name in READERS)


def test_half_of_the_mutations_leave_something_to_read() -> None:
    tally = fuzz.run(2, seed=2)
    assert tally.total > 50
    assert tally.read.total() > tally.total * 0.1


def test_an_untyped_exception_is_reported_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def buggy(answer: Answer) -> object:
        return answer.body[1_000_000]

    monkeypatch.setitem(READERS, "pubmed records", buggy)
    tally = fuzz.run(5, seed=3, most_broken=1)
    [(name, origin, body, trace)] = tally.broken
    assert (name, bool(origin), bool(body)) == ("pubmed records", True, True)
    assert "IndexError" in trace


def test_the_checkout_alone_has_seeds_for_every_source() -> None:
    folders = {path.parent.name for path in fuzz.packaged_files()}
    assert {"corpus", "pubmed", "pmc", "europepmc", "biorxiv", "clinicaltrials"} <= folders
