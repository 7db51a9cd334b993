"""A desk in place of the network: what Europe PMC would answer, and what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import pytest

from literature_agent.sources.europepmc.client import EuropePMCClient
from literature_agent.sources.europepmc.tools import EuropePMCTools
from literature_agent.transport import Transport
from tests import desks
from tests.desks import Desk, StillClock, bare_settings

PAYLOADS = desks.PAYLOADS / "europepmc"


@pytest.fixture
def desk() -> Desk:
    return Desk(PAYLOADS, cut="/europepmc/webservices/rest/")


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def transport(desk: Desk, clock: StillClock) -> AsyncIterator[Transport]:
    async with Transport(bare_settings(), network=httpx.MockTransport(desk), clock=clock) as opened:
        yield opened


@pytest.fixture
def tools(transport: Transport) -> EuropePMCTools:
    return EuropePMCTools(EuropePMCClient(transport))


@pytest.fixture
def payload() -> Callable[[str], bytes]:
    return lambda name: (PAYLOADS / name).read_bytes()


@pytest.fixture
def rows() -> Callable[..., dict[str, Any]]:
    """Builds a page of plain records: `rows(["90000001", "PPR990001"], total=2, cursor=None)`."""

    def build(ids: Sequence[str], *, total: int, cursor: str | None = None, **more: Any) -> dict[str, Any]:
        results = [
            {
                "id": name,
                "source": "PPR" if name.startswith("PPR") else "MED",
                "title": f"Synthetic {name}",
                "pubTypeList": {"pubType": ["Preprint" if name.startswith("PPR") else "Journal Article"]},
                **more,
            }
            for name in ids
        ]
        page: dict[str, Any] = {"version": "6.9", "hitCount": total, "resultList": {"result": results}}
        return page if cursor is None else {**page, "nextCursorMark": cursor}

    return build
