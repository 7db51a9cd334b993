"""`python -m evals.mcp --fuzz 2000`: every tool with so many allowed and so many broken inputs.

Prints a line for each tool, its progress on stderr; exit status 1 if an answer was not as it must be.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence

from evals.benchmarks.served import sandbox_process
from evals.mcp.fuzz import Outcome, fuzz
from evals.numbers import positive
from literature_agent.mcp_server.policy import EXPOSABLE
from literature_agent.settings import load_settings

_TOLD_EVERY_S = 5.0
_COLUMNS = "{:<26}{:>9}{:>9}{:>10}{:>14}{:>16}{:>14}{:>11}"
_TITLES = ("tool", "allowed", "broken", "answered", "typed errors", "untyped errors", "stack traces", "oversized")


class Progress:
    """Says on stderr how far the trial is, every few seconds."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._done = 0
        self._began = self._told = time.monotonic()

    def heard(self, outcome: Outcome) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._told >= _TOLD_EVERY_S:
            self._told = now
            rate = self._done / (now - self._began)
            left = (self._calls - self._done) / rate
            print(
                f"{outcome.tool}: {outcome.inputs.total():,} inputs; {self._done:,} of {self._calls:,} in all, "
                f"{rate:.0f} a second, about {left / 60:.0f} min to go",
                file=sys.stderr,
                flush=True,
            )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.mcp", description="Fuzz every tool of the MCP server over the sandbox."
    )
    parser.add_argument(
        "--fuzz", type=positive, default=2000, metavar="N", help="inputs of each kind for each tool (2000)"
    )
    parser.add_argument("--seed", default="1", help="of the random choices (1)")
    parser.add_argument("--tools", default="", metavar="A,B", help="only these tools")
    options = parser.parse_args(arguments)
    tools = options.tools.split(",") if options.tools else EXPOSABLE
    progress = Progress(2 * options.fuzz * len(tools))
    outcomes: list[Outcome] = []
    with sandbox_process() as (places, _), tempfile.TemporaryDirectory() as folder:
        settings = load_settings(
            **places,
            cache_dir=folder,
            cache="off",
            pace="off",
            rate_limit_store="memory",
            retry_max_wait_s=0.01,
        )
        print(_COLUMNS.format(*_TITLES), flush=True)
        # One tool after the other, each told when it is done: a long trial that is stopped has still said something.
        for tool in tools:
            (outcome,) = asyncio.run(
                fuzz(settings, options.fuzz, tools=[tool], seed=options.seed, heard=progress.heard)
            )
            outcomes.append(outcome)
            print(_line(outcome.tool, [outcome]), flush=True)
            for fault in outcome.faults[:5]:
                print(f"  FAULT {fault}", flush=True)
    print(_line("all", outcomes))
    return 1 if any(outcome.faults for outcome in outcomes) else 0


def _line(name: str, outcomes: Sequence[Outcome]) -> str:
    figures = (
        sum(outcome.inputs["allowed"] for outcome in outcomes),
        sum(outcome.inputs["broken"] for outcome in outcomes),
        sum(outcome.answered.total() for outcome in outcomes),
        sum(outcome.errors.total() for outcome in outcomes),
        sum(len(outcome.untyped) for outcome in outcomes),
        sum(len(outcome.traces) for outcome in outcomes),
        sum(len(outcome.oversized) for outcome in outcomes),
    )
    return _COLUMNS.format(name, *(f"{figure:,}" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
