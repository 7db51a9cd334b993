"""Two or three real calls per source, off by default: `pytest -m integration`. No key is needed.

A test is skipped, with the reason, where the network refuses; a service that answers wrongly fails it.
"""

from __future__ import annotations

import datetime
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import pytest

from literature_agent import FetchResult, SearchResult, Settings, SourceError, fetch, read, search
from literature_agent.federation import convert_ids
from literature_agent.settings import load_settings
from literature_agent.transport import Transport

pytestmark = pytest.mark.integration

T = TypeVar("T")
_NETWORK = ("_unreachable", "_timeout", "_blocked")


@pytest.fixture
def live(tmp_path: Path) -> Settings:
    """The real services at their own pace, nothing stored, little patience."""
    return load_settings(
        cache="off", cache_dir=tmp_path, rate_limit_store="memory", retry_attempts=2, retry_max_wait_s=3
    )


async def answered(call: Awaitable[T]) -> T:
    """What the service answers; a network that does not let us through is no fault of ours."""
    try:
        return await call
    except SourceError as error:
        if error.reason.endswith(_NETWORK):
            pytest.skip(f"{error.reason}: {error.message}")
        raise


def check(result: SearchResult) -> None:
    assert result.status == "ok", result
    assert result.total is not None
    assert result.total >= result.returned > 0
    assert all(artifact.title and artifact.url for artifact in result.artifacts)


def check_fetched(result: FetchResult) -> None:
    assert result.failed == {}
    assert len(result.artifacts) == 1
    assert result.artifacts[0].abstract_text


async def test_europepmc_finds_long_covid_treatment(live: Settings) -> None:
    result = await answered(search("europepmc", "long covid treatment", max_results=5, settings=live))
    check(result)
    assert result.total is not None
    assert result.total > 1000
    second = await answered(
        search("europepmc", "long covid treatment", max_results=5, page=result.next_page, settings=live)
    )
    assert {a.copy_id for a in second.artifacts}.isdisjoint(a.copy_id for a in result.artifacts)


async def test_europepmc_fetches_a_record_by_pmid(live: Settings) -> None:
    check_fetched(await answered(fetch("europepmc", "31978945", settings=live)))


async def test_pubmed_finds_long_covid_treatment(live: Settings) -> None:
    check(await answered(search("pubmed", "long covid treatment", max_results=5, settings=live)))


async def test_pubmed_fetches_a_record_and_names_an_unknown_one(live: Settings) -> None:
    result = await answered(fetch("pubmed", ["31978945", "99999999"], settings=live))
    assert [artifact.copy_id for artifact in result.artifacts] == ["pubmed:31978945"]
    assert result.not_found == ("99999999",)


async def test_an_open_article_is_read_in_full(live: Settings) -> None:
    text = await answered(read("PMC7092803", settings=live))
    assert text.available, text.reason


async def test_the_converter_knows_the_pmcid_of_a_pmid(live: Settings) -> None:
    async with Transport(live) as transport:
        (converted,) = await convert_ids(transport, ["31978945"])
    if converted.error is not None and converted.error.reason.endswith(_NETWORK):
        pytest.skip(f"{converted.error.reason}: {converted.error.message}")
    assert (converted.status, converted.pmcid) == ("found", "PMC7092803")


@pytest.mark.parametrize("server", ["biorxiv", "medrxiv"])
async def test_preprints_of_one_day_are_read_and_fetched(live: Settings, server: str) -> None:
    day = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=10)).date()
    while day.weekday() > 3:
        day -= datetime.timedelta(days=1)
    result = await answered(
        search(server, "cell OR patient*", max_results=3, settings=live, date_from=str(day), date_to=str(day))
    )
    check(result)
    assert result.artifacts[0].doi is not None
    check_fetched(await answered(fetch(server, result.artifacts[0].doi, settings=live)))


async def test_trials_are_found_and_fetched(live: Settings) -> None:
    check(await answered(search("clinicaltrials", "long covid", max_results=5, settings=live)))
    result = await answered(fetch("clinicaltrials", "NCT04280705", settings=live))
    assert result.artifacts[0].title
