"""What tests wait for in place of an amount of time: a slow machine is slow, not wrong."""

from __future__ import annotations

import asyncio
from collections import Counter

from literature_agent.sandbox import SandboxServer

PATIENCE_S = 60.0
"""After so long what a test waits for has not happened."""


async def asked(sandbox: SandboxServer, *wanted: str) -> None:
    """Wait until these requests are made, each as often as it is named, and what is not slow is answered; without
    names until any is made. What was asked before counts too: clear it first."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            made = [each.path.rpartition("/")[2].partition(".")[0] for each in list(sandbox.requests)]
            if made and not Counter(wanted) - Counter(made):
                break
            await asyncio.sleep(0.01)
    # Many short ones: on a slow machine they last longer, as the answers do.
    for _ in range(30 if wanted else 0):
        await asyncio.sleep(0.01)


def pass_time(seconds: float) -> None:
    """The running loop's timers are due that much sooner; those set afterwards take their usual time."""
    loop = asyncio.get_running_loop()
    earlier = loop.time
    loop.time = lambda: earlier() + seconds  # type: ignore[method-assign]
