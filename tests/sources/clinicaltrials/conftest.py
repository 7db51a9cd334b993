"""A desk in place of the network: what ClinicalTrials.gov would answer, and what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from literature_agent.sources.clinicaltrials.client import ClinicalTrialsClient
from literature_agent.sources.clinicaltrials.tools import ClinicalTrialsTools
from literature_agent.transport import Transport
from tests import desks
from tests.desks import Desk, Sent, StillClock, bare_settings

PAYLOADS = desks.PAYLOADS / "clinicaltrials"


@pytest.fixture
def desk() -> Desk:
    return Desk(PAYLOADS, cut="/api/v2/", otherwise=_unknown)


def _unknown(_: Sent) -> httpx.Response:
    return httpx.Response(404, content=b"NCT number not found", headers={"content-type": "text/plain"})


@pytest.fixture
async def transport(desk: Desk) -> AsyncIterator[Transport]:
    async with Transport(bare_settings(), network=httpx.MockTransport(desk), clock=StillClock()) as opened:
        yield opened


@pytest.fixture
def tools(transport: Transport) -> ClinicalTrialsTools:
    return ClinicalTrialsTools(ClinicalTrialsClient(transport))


@pytest.fixture
def payload() -> Callable[[str], bytes]:
    return lambda name: (PAYLOADS / name).read_bytes()


@pytest.fixture
def studies() -> Callable[..., dict[str, Any]]:
    """Builds a page of plain studies: `studies(1, 2, total=5, token="t")`."""

    def build(*numbers: int, total: int | None = None, token: str | None = None) -> dict[str, Any]:
        rows = [
            {
                "protocolSection": {
                    "identificationModule": {"nctId": f"NCT{90000000 + n}", "briefTitle": f"Synthetic {n}"}
                }
            }
            for n in numbers
        ]
        page: dict[str, Any] = {"studies": rows}
        if total is not None:
            page["totalCount"] = total
        if token is not None:
            page["nextPageToken"] = token
        return page

    return build
