"""Every recorded answer goes through the parser that would get it: values, or the typed error that it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.sweep import Swept, sweep


@pytest.fixture(scope="module")
def swept(shared_dir: Path) -> list[Swept]:
    return sweep(shared_dir / "recorded")


def test_every_file_is_in_the_manifest_and_goes_through_a_parser(swept: list[Swept], shared_dir: Path) -> None:
    folder = shared_dir / "recorded"
    present = {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != "MANIFEST.tsv"
    }
    assert {one.file for one in swept} >= present
    assert all(one.outcomes for one in swept)


def test_answers_are_read_by_the_parser_that_would_get_them(swept: list[Swept]) -> None:
    unread = {one.file: one.outcomes for one in swept if one.expected == "read" and "read" not in one.outcomes.values()}
    assert unread == {}


def test_errors_yield_the_typed_error_at_every_parser(swept: list[Swept]) -> None:
    taken = {
        one.file: one.outcomes for one in swept if one.expected == "typed error" and "read" in one.outcomes.values()
    }
    assert taken == {}
