"""`python -m evals.mcp --fuzz 2000`: every tool with so many allowed and so many broken inputs."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile

from evals.mcp.fuzz import fuzz
from literature_agent.mcp_server.policy import EXPOSABLE
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import load_settings


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fuzz every tool of the MCP server over the sandbox.")
    parser.add_argument("--fuzz", type=int, default=2000, metavar="N", help="inputs of each kind for each tool")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--tools", default="", metavar="A,B", help="only these tools")
    options = parser.parse_args(arguments)
    with SandboxServer() as sandbox, tempfile.TemporaryDirectory() as folder:
        settings = load_settings(
            **sandbox.settings_overrides(),
            cache_dir=folder,
            cache="off",
            pace="off",
            rate_limit_store="memory",
            retry_max_wait_s=0.01,
        )
        outcomes = []
        # One tool after the other, each told when it is done: a long trial that is stopped has still said something.
        for tool in options.tools.split(",") if options.tools else EXPOSABLE:
            (outcome,) = asyncio.run(fuzz(settings, options.fuzz, tools=[tool], seed=options.seed))
            outcomes.append(outcome)
            counts = ", ".join(f"{count} {reason}" for reason, count in outcome.calls.most_common())
            print(f"{outcome.tool}: {counts}", flush=True)
            for fault in outcome.faults[:5]:
                print(f"  FAULT {fault}", flush=True)
    faults = sum(len(outcome.faults) for outcome in outcomes)
    print(f"{sum(outcome.calls.total() for outcome in outcomes)} calls, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
