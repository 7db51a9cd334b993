"""Europe PMC's lists of citing and cited records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from literature_agent.errors import SourceError
from literature_agent.sources.europepmc.citations import Listed, listed, listing_request, parse_listing
from literature_agent.transport import A_DAY, TransientAnswer, Transport, describe


def page(rows: list[dict[str, Any]], *, total: int | None = None) -> str:
    return json.dumps(
        {"version": "6.9", "hitCount": len(rows) if total is None else total, "referenceList": {"reference": rows}}
    )


def test_the_request_names_source_and_record() -> None:
    assert describe(listing_request("citations", "MED", "90000001")) == (
        "GET MED/90000001/citations?page=1&pageSize=1000&format=json"
    )


def test_a_list_is_asked_anew_after_a_day() -> None:
    assert listing_request("citations", "MED", "90000001").max_age_s == A_DAY


def test_records_are_named_as_fetch_takes_them_and_others_are_counted() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "90000002", "source": "MED", "pubYear": 2019},
        {"id": "PPR990001", "source": "PPR", "pubYear": "2021"},
        {"id": "PMC9000001", "source": "PMC"},
        {"id": "IND900001", "source": "AGR", "pubYear": 2001},
        {"title": "A synthetic book", "pubYear": 1999},
        {"id": "90000002", "source": "MED", "pubYear": 2019},
    ]
    listing = parse_listing(page(rows, total=1200).encode(), "references")
    assert listing.records == (
        Listed("90000002", 2019),
        Listed("PPR990001", 2021),
        Listed("PMC9000001"),
        Listed("AGR:IND900001", 2001),
    )
    assert (listing.total, listing.unmatched) == (1200, 1)


def test_none_is_an_answer() -> None:
    assert parse_listing(page([]).encode(), "references").total == 0


@pytest.mark.parametrize("body", ["", "{", '{"version":"6.9"}', '{"hitCount":3,"citationList":{}}', "[]"])
def test_a_broken_list_is_a_passing_fault_and_never_none(body: str) -> None:
    """K050."""
    with pytest.raises(TransientAnswer):
        parse_listing(body.encode(), "citations")


async def test_maintenance_of_this_one_service_is_a_failure(transport: Transport, desk: Any) -> None:
    """Upstream has answered 503 for `/references` alone."""
    desk.answers("references", "This API is temporarily unavailable due to maintenance.", status=503, kind="text/plain")
    with pytest.raises(SourceError) as caught:
        await listed(transport, "references", "MED", "90000001")
    assert (caught.value.reason, caught.value.retryable) == ("europepmc_unreachable", True)


async def test_of_a_long_list_of_citing_records_the_newest_are_read(transport: Transport, desk: Any) -> None:
    for number in (1, 2, 3, 4):
        rows = [{"id": f"9000000{number}", "source": "MED", "pubYear": 2000 + number}]
        body = {"version": "6.9", "hitCount": 3_300, "citationList": {"citation": rows}}
        desk.answers(f"page={number}&", json.dumps(body))
    found = await listed(transport, "citations", "MED", "90000009")
    assert (found.total, found.records) == (3_300, (Listed("90000003", 2003), Listed("90000004", 2004)))
    assert len(desk.sent) == 3


@pytest.mark.parametrize(
    ("file", "total", "rows"),
    [("citations-page1.json", 810, 25), ("citations-last-page33.json", 810, 10), ("citations-none.json", 0, 0)],
)
def test_recorded_answers_are_read(shared_dir: Path, file: str, total: int, rows: int) -> None:
    listing = parse_listing((shared_dir / "recorded" / "europepmc" / file).read_bytes(), "citations")
    assert (listing.total, len(listing.records)) == (total, rows)
    assert all(one.year and one.id_text for one in listing.records)
