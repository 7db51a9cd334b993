"""How far this machine's clock is from those of the services; loaded only when `doctor` asks them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx


class TimedNetwork(httpx.AsyncBaseTransport):
    """A network that notes how far this machine's clock is ahead of those that answer, in seconds."""

    def __init__(self, network: httpx.AsyncBaseTransport) -> None:
        self.ahead: list[float] = []
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._network.handle_async_request(request)
        with suppress(ValueError):
            there = parsedate_to_datetime(response.headers.get("date", ""))
            self.ahead.append((datetime.now(UTC) - there).total_seconds())
        return response

    async def aclose(self) -> None:
        await self._network.aclose()
