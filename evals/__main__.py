"""Trials: `python -m evals integrity [--adversarial N]`, `replay [--runs N]`, `durable kill|memory|overhead`."""

from __future__ import annotations

import sys

from evals import replay
from evals.durable import command as durable
from evals.integrity import command as integrity

COMMANDS = {"durable": durable.main, "integrity": integrity.main, "replay": replay.main}


def main(arguments: list[str]) -> int:
    """Run the named trial; its exit code."""
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: python -m evals {{{','.join(COMMANDS)}}} [options]", file=sys.stderr)
        return 2
    return COMMANDS[arguments[0]](arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
