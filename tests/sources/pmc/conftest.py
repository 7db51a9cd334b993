"""A desk in place of the network: what NCBI would answer, and what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from literature_agent.sources.pmc import PMCClient, PMCTools
from literature_agent.transport import Transport
from tests.desks import PAYLOADS, Desk, Sent, StillClock, bare_settings


@pytest.fixture
def desk() -> Desk:
    return Desk(PAYLOADS / "pmc", otherwise=_unprepared)


def _unprepared(sent: Sent) -> httpx.Response:
    raise AssertionError(f"nothing prepared for {sent.line}")


@pytest.fixture
async def transport(desk: Desk) -> AsyncIterator[Transport]:
    async with Transport(bare_settings(), network=httpx.MockTransport(desk), clock=StillClock()) as opened:
        yield opened


@pytest.fixture
def client(transport: Transport) -> PMCClient:
    return PMCClient(transport)


@pytest.fixture
def tools(client: PMCClient) -> PMCTools:
    return PMCTools(client)
