"""Bad input to every tool: one sentence that shows the value and says what to do, and nothing is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from literature_agent.errors import InvalidInputError
from literature_agent.federation import convert_ids, find_related, match_citations, read_full_text
from literature_agent.results import SearchResult
from literature_agent.sources import find_source
from literature_agent.sources.pmc.client import PMCClient
from literature_agent.sources.pmc.tools import PMCTools
from literature_agent.sources.pubmed.mesh import lookup_mesh
from literature_agent.transport import Transport
from tests.desks import Desk

_SEARCHED = ("pubmed", "europepmc", "biorxiv", "medrxiv", "clinicaltrials")
_WINDOW = {"date_from": "2024-01-01", "date_to": "2024-01-31"}
_NUMBER_OF_IDS = 10_000

# What is wrong, the query or filter that has it, and what the sentence must hold: the value and the fix.
_BAD_SEARCHES: list[tuple[str, str, dict[str, Any], Sequence[str]]] = [
    ("empty", "  ", {}, ("'  '", "write at least one search term")),
    ("only unseen characters", "\u200b\u2060", {}, (r"\u200b\u2060", "write at least one search term")),
    ("huge", "x" * 30_000, {}, ("30,000", "split it")),
    ("control character", "met\x00formin", {}, ("U+0000", "character 4", "remove it")),
    ("lone surrogate", "met\ud800formin", {}, ("U+D800", "character 4", "remove it")),
    ("reversed dates", "x", {"date_from": "2024-02-01", "date_to": "2023"}, ("'2024-02-01'", "'2023'", "exchange")),
    ("words for a date", "x", {"date_from": "last spring"}, ("'last spring'", "write YYYY, YYYY-MM or YYYY-MM-DD")),
    ("no day of the calendar", "x", {"date_to": "2023-02-30"}, ("'2023-02-30'", "a month and day that exist")),
    ("no results wanted", "x", {"max_results": 0}, ("max_results=0", "1")),
    ("a page of nobody's", "x", {"page": "\x07abc"}, (r"\x07abc", "next_page")),
]


@pytest.mark.parametrize("source", _SEARCHED)
@pytest.mark.parametrize(
    ("query", "filters", "parts"), [c[1:] for c in _BAD_SEARCHES], ids=[c[0] for c in _BAD_SEARCHES]
)
async def test_a_search_that_cannot_be_sent_is_refused_in_a_sentence_with_value_and_fix(
    transport: Transport, desk: Desk, source: str, query: str, filters: dict[str, Any], parts: Sequence[str]
) -> None:
    given = {"max_results": 10, "page": None, **(_WINDOW if "rxiv" in source else {}), **filters}
    with pytest.raises(InvalidInputError) as refused:
        await find_source(source, transport.settings).build(transport).search(query, **given)
    _says(refused.value, parts)
    assert refused.value.reason == f"{source}_invalid_input"
    assert desk.sent == []


@pytest.mark.parametrize("source", _SEARCHED)
async def test_a_window_in_the_future_is_searched_and_said_to_be_one(
    transport: Transport, desk: Desk, source: str
) -> None:
    desk.answers("esearch", '{"esearchresult": {"count": "0", "idlist": []}}')
    desk.answers("espell", "<eSpellResult><CorrectedQuery/><ERROR/></eSpellResult>", kind="text/xml")
    desk.answers("europepmc", '{"version": "6.9", "hitCount": 0, "resultList": {"result": []}}')
    desk.answers("details", '{"messages": [{"status": "no posts found"}], "collection": []}')
    desk.answers("studies", '{"totalCount": 0, "studies": []}')
    tools = find_source(source, transport.settings).build(transport)
    result: SearchResult = await tools.search("x", max_results=10, page=None, date_from="2039-01", date_to="2039-01-20")
    assert result.status == "empty"
    assert any("date_from=" in text and "2039-01" in text and "future" in text for text in result.warnings)


_WRONG_KIND = {
    "pubmed": ("NCT01234567", "fetch it from clinicaltrials"),
    "europepmc": ("NCT01234567", "fetch it from clinicaltrials"),
    "biorxiv": ("90000101", "give one such as 10.1101/"),
    "medrxiv": ("10.5281/zenodo.1", "fetch it from pubmed or europepmc"),
    "clinicaltrials": ("10.5555/x", "use pubmed or europepmc"),
    "pmc": ("90000101", "write PMC and the digits"),
}
_MANY = {
    "biorxiv": "10.1101/2024.01.01.{:06d}",
    "medrxiv": "10.1101/2024.01.01.{:06d}",
    "clinicaltrials": "NCT{:08d}",
    "pmc": "PMC{}",
}


@pytest.mark.parametrize("source", _WRONG_KIND)
@pytest.mark.parametrize("fault", ["empty", "blank", "huge", "control character", "wrong kind", "ten thousand"])
async def test_identifiers_that_cannot_be_fetched_are_refused_in_a_sentence_with_value_and_fix(
    transport: Transport, desk: Desk, source: str, fault: str
) -> None:
    many = _MANY.get(source, "{}")
    wrong, fix = _WRONG_KIND[source]
    ids, parts = {
        "empty": ([""], ("''", "such as")),
        "blank": (["  "], ("'  '", "such as")),
        "huge": (["x" * 30_000], ("'xxxx", "…'", "such as")),
        "control character": (["900\x00101"], (r"'900\x00101'", "such as")),
        "wrong kind": ([wrong], (wrong, fix)),
        "ten thousand": ([many.format(90_000_000 + n) for n in range(_NUMBER_OF_IDS)], ("10,000", "at most")),
    }[fault]
    with pytest.raises(InvalidInputError) as refused:
        await _fetcher(source, transport)(ids)
    _says(refused.value, parts)
    assert desk.sent == []


@pytest.mark.parametrize("source", _WRONG_KIND)
async def test_no_identifiers_are_no_request(transport: Transport, desk: Desk, source: str) -> None:
    """K013."""
    result = await _fetcher(source, transport)([])
    assert (result.artifacts, result.not_found, result.failed) == ((), (), {})
    assert desk.sent == []


def _fetcher(source: str, transport: Transport) -> Callable[[list[str]], Awaitable[Any]]:
    if source == "pmc":
        return PMCTools(PMCClient(transport)).fetch
    return find_source(source, transport.settings).build(transport).fetch


# What names no work, and what the sentence must hold.
_NO_WORK: list[tuple[str, str, Sequence[str]]] = [
    ("empty", "", ("''",)),
    ("huge", "9" * 30_000, ("'9999", "…'")),
    ("control character", "PMC9\x000000101", (r"'PMC9\x000000101'",)),
    ("several in one", "PMC1," * 10_000, ("'PMC1,PMC1", "…'")),
    ("a reference of nobody's", "«artifact:link:cite~K7QX2MDA4T»", ("K7QX2MDA4T",)),
]


@pytest.mark.parametrize(("text", "parts"), [case[1:] for case in _NO_WORK], ids=[case[0] for case in _NO_WORK])
async def test_what_names_no_work_is_refused_by_reading_conversion_and_related_works(
    transport: Transport, desk: Desk, text: str, parts: Sequence[str]
) -> None:
    with pytest.raises(InvalidInputError) as unread:
        await read_full_text(transport, text)
    with pytest.raises(InvalidInputError) as unrelated:
        await find_related(transport, text, "similar")
    (converted,) = await convert_ids(transport, [text])
    for refused in (unread.value, unrelated.value):
        _says(refused, (*parts, "PMID", "DOI"))
    assert converted.status == "invalid"
    assert converted.error is not None
    assert all(part in f"{converted.error.message} {converted.error.recovery}" for part in (*parts, "PMID", "DOI"))
    assert desk.sent == []


async def test_a_trial_has_no_full_text_and_no_similar_works_and_the_sentence_names_it(
    transport: Transport, desk: Desk
) -> None:
    with pytest.raises(InvalidInputError) as unread:
        await read_full_text(transport, "NCT01234567")
    _says(unread.value, ("NCT01234567", "Fetch it from clinicaltrials"))
    with pytest.raises(InvalidInputError) as unrelated:
        await find_related(transport, "NCT01234567", "similar")
    _says(unrelated.value, ("NCT01234567", "Start from another work"))
    assert desk.sent == []


async def test_limits_and_kinds_out_of_bounds_are_refused_by_name(transport: Transport, desk: Desk) -> None:
    calls: list[tuple[Awaitable[Any], Sequence[str]]] = [
        (find_related(transport, "1", "friends"), ("'friends'", "similar, cited_by, references, linked")),  # type: ignore[arg-type]
        (find_related(transport, "1", "similar", max_results=0), ("max_results=0", "from 1 to 200")),
        (read_full_text(transport, "PMC1", max_characters=-1), ("max_characters=-1", "give at least 1")),
        (lookup_mesh(transport, "asthma", max_results=0), ("max_results=0", "from 1 to 50")),
        (lookup_mesh(transport, " "), ("' '", "write at least one search term")),
        (lookup_mesh(transport, "asth\x00ma"), ("U+0000", "remove it")),
        (lookup_mesh(transport, "x" * 30_000), ("30,000", "at most")),
        (match_citations(transport, ["x"] * _NUMBER_OF_IDS), ("10,000", "at most 200")),
    ]
    for call, parts in calls:
        with pytest.raises(InvalidInputError) as refused:
            await call
        _says(refused.value, parts)
    assert desk.sent == []


async def test_citations_in_which_nothing_can_be_read_are_unknown_and_say_what_to_give(
    transport: Transport, desk: Desk
) -> None:
    matches = await match_citations(transport, ["", "9" * 30_000, "\x00\x01"])
    assert [match.status for match in matches] == ["unknown"] * 3
    assert all("give authors, year and title, or an identifier" in (match.note or "") for match in matches)
    assert desk.sent == []


def _says(error: InvalidInputError, parts: Sequence[str]) -> None:
    said = f"{error.message} {error.recovery}"
    assert [part for part in parts if part not in said] == []
    assert len(said) < 600
    assert said.isprintable()
