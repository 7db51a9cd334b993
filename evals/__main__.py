"""`python -m evals COMMAND`: `run`, `compare`, `list`, and trials of single promises."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = {
    "run": "evals.command:run_main",
    "compare": "evals.command:compare_main",
    "list": "evals.command:list_main",
    "durable": "evals.durable.command:main",
    "integrity": "evals.integrity.command:main",
    "limiter": "evals.limiter.command:main",
    "replay": "evals.replay:main",
}
"""Each command's function, which takes its arguments and gives the exit code; loaded when it is asked for."""


def main(arguments: list[str]) -> int:
    """Run the named command; its exit code."""
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: python -m evals {{{','.join(COMMANDS)}}} [options]", file=sys.stderr)
        return 2
    module, _, name = COMMANDS[arguments[0]].partition(":")
    code: int = getattr(import_module(module), name)(arguments[1:])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
