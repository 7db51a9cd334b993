"""ECitMatch: candidates for citations, joined to them by a key of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from literature_agent.errors import SourceError
from literature_agent.sources.pubmed.citmatch import BATCH, Located, Locator, locate, locate_request, read_lines
from literature_agent.transport import A_DAY, Answer, TransientAnswer, Transport

ONE = Locator("Synthetic J", "48", "201", "2021", "Lindqvist")


def raw(body: str | bytes, status: int = 200, kind: str = "text/plain") -> Answer:
    return Answer(status, body.encode() if isinstance(body, str) else body, kind)


def bdata(sent: Any) -> list[str]:
    return [row for row in sent.fields["bdata"].split("\r") if row]


def test_a_line_is_built_of_the_fields_and_our_key() -> None:
    request = locate_request({3: Locator("A | B\r\nC", "1", "2")})
    assert dict(request.params)["bdata"] == "A B C||1|2||lacit3x|"
    assert request.max_age_s == A_DAY


def test_many_citations_go_as_a_form() -> None:
    """K011."""
    assert locate_request(dict.fromkeys(range(BATCH), ONE)).form is not None


def test_outcomes_are_told_apart_and_a_pmid_is_all_digits() -> None:
    """K007: the key never lands in the PMID."""
    body = (
        "synthetic j|2021|48|201|lindqvist|lacit0x|90000101\r\n"
        "fake|2000|1|1||lacit1x|NOT_FOUND;INVALID_JOURNAL\n"
        "some|2000|1|1||lacit2x|AMBIGUOUS (3 citations)\n"
        "some|2000|1|1||lacit3x|AMBIGUOUS 90000102,90000103\n"
        "some|2000|1|1||lacit4x|NOT_FOUND|\n"
        "some|2000|1|1||lacit5x|\n"
        "some|2000|1|1||stranger|90000104\n"
        "nonsense\n"
    )
    assert read_lines(raw(body), range(6)) == {
        0: Located(("90000101",)),
        1: Located(),
        2: Located(is_ambiguous=True),
        3: Located(("90000102", "90000103"), is_ambiguous=True),
        4: Located(),
    }


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ("", 200, "text/plain"),
        ("\r\n", 200, "text/plain"),
        ("<html>Service Temporarily Unavailable</html>", 200, "text/html"),
        ('{"error":"API rate limit exceeded","count":"4","limit":"3"}', 200, "application/json"),
        ("NCBI C++ Exception: TXCLIENT EOF", 200, "text/plain"),
    ],
)
def test_an_answer_without_lines_is_a_fault_and_not_unknown(body: str, status: int, kind: str) -> None:
    """K095."""
    with pytest.raises(TransientAnswer):
        read_lines(raw(body, status, kind), [0])


async def test_a_citation_that_a_batch_leaves_out_is_asked_by_itself(transport: Transport, desk: Any) -> None:
    """K008: a line that cannot be read ends the batch upstream; N in, N out."""

    def reply(sent: Any) -> httpx.Response:
        lines = []
        for row in bdata(sent):
            if row.startswith("Bad"):
                if len(bdata(sent)) > 1:
                    break
                lines.append(f"{row}NOT_FOUND")
            else:
                lines.append(f"{row}90000101")
        return httpx.Response(200, text="\n".join(lines), headers={"content-type": "text/plain"})

    desk.answers_by("ecitmatch.cgi", reply)
    lines = await locate(transport, [ONE, Locator("Bad", "1", "1"), ONE, Locator("Bad", "2", "2"), ONE])
    assert lines.failed == {}
    assert [lines.located[place].pmids for place in range(5)] == [
        ("90000101",), (), ("90000101",), (), ("90000101",)
    ]  # fmt: skip


async def test_a_batch_that_fails_costs_no_other(transport: Transport, desk: Any) -> None:
    def reply(sent: Any) -> httpx.Response:
        rows = bdata(sent)
        if any("lacit0x" in row for row in rows):
            return httpx.Response(503)
        return httpx.Response(200, text="\n".join(f"{row}90000101" for row in rows))

    desk.answers_by("ecitmatch.cgi", reply)
    lines = await locate(transport, [ONE] * (BATCH + 2))
    assert sorted(lines.failed) == list(range(BATCH))
    assert sorted(lines.located) == [BATCH, BATCH + 1]


async def test_citations_that_never_get_a_line_have_failed(transport: Transport, desk: Any) -> None:
    desk.answers("ecitmatch.cgi", "", kind="text/plain")
    lines = await locate(transport, [ONE, ONE])
    assert {place: error.reason for place, error in lines.failed.items()} == {
        0: "pubmed_invalid_response",
        1: "pubmed_invalid_response",
    }
    assert isinstance(lines.failed[0], SourceError)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("ecitmatch-found.txt", {"Art1": "2014248", "Art2": "3026048"}),
        ("ecitmatch-mixed-not-found.txt", {"Art1": "2014248", "ref2": None, "Art4": "31978945"}),
    ],
)
def test_recorded_answers_are_read(shared_dir: Path, file: str, expected: dict[str, str | None]) -> None:
    body = (shared_dir / "recorded" / "eutils" / file).read_text(encoding="utf-8")
    for place, key in enumerate(expected):
        body = body.replace(f"|{key}|", f"|lacit{place}x|")
    found = read_lines(raw(body), range(len(expected)))
    assert {key: next(iter(found[place].pmids), None) for place, key in enumerate(expected)} == expected
