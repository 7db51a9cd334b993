"""CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from literature_agent.artifacts import Author, ClinicalTrial
from literature_agent.render.table import COLUMNS, render_csv

from .conftest import article


def _rows(*records: Any) -> list[dict[str, str]]:
    written = render_csv(records)
    return list(csv.DictReader(io.StringIO(written, newline="")))


def test_a_row_holds_what_is_known() -> None:
    (row,) = _rows(
        article(
            1,
            title='A "quoted", comma; title.',
            authors=(Author(family="Roe", initials="J", suffix="Jr"), Author(collective="KDIGO Working Group")),
            published="2021-03",
            pages="737-8",
            correction_status="concern",
            reference="«artifact:link:cite~0000000000»",
        )
    )
    assert {name: value for name, value in row.items() if value} == {
        "number": "1",
        "reference": "«artifact:link:cite~0000000000»",
        "type": "article",
        "authors": "Roe J Jr; KDIGO Working Group",
        "title": 'A "quoted", comma; title',
        "container": "Synthetic Journal of Tests",
        "date": "2021-03",
        "year": "2021",
        "volume": "48",
        "issue": "3",
        "pages": "737-738",
        "doi": "10.5555/synthetic.1",
        "pmid": "90000001",
        "url": "https://doi.org/10.5555/synthetic.1",
        "publication_types": "Journal Article; Randomized Controlled Trial",
        "note": "[CONCERN] [SYNTHETIC - Made up for testing]",
        "abstract": "Finding 1 stands here.",
    }
    assert tuple(row) == COLUMNS


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_no_cell_is_run_as_a_formula(sign: str) -> None:
    attack = sign + 'HYPERLINK("http://evil.example","x")'
    record = article(
        1,
        title=f"\t {attack}",
        journal=attack,
        authors=(Author(collective=attack),),
        keywords=(attack,),
        abstract_text=f"\r\n{attack}",
        volume=attack,
    )
    (row,) = _rows(record)
    for name in ("title", "container", "authors", "keywords", "abstract", "volume"):
        assert row[name] == "'" + attack
    for line in csv.reader(io.StringIO(render_csv([record]), newline="")):
        assert not any(cell.lstrip().startswith(tuple("=+-@＝＋－＠\t\r")) for cell in line)


def test_rows_are_numbered_and_a_trial_is_one_of_them() -> None:
    rows = _rows(article(1), ClinicalTrial(nct_id="NCT01234567", title="A trial"))
    assert [(row["number"], row["type"], row["nct_id"]) for row in rows] == [
        ("1", "article", ""),
        ("2", "trial", "NCT01234567"),
    ]
    assert _rows() == []
