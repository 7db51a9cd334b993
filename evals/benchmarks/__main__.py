"""`python -m evals.benchmarks sources|registry|loop|leaks|mcp [--small]`: a table of ratios; exit code 1 if a goal is
not met."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

NAMES = ("sources", "registry", "loop", "leaks", "mcp")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.benchmarks", description="Speed and memory as ratios.")
    parser.add_argument("names", nargs="+", choices=NAMES, metavar="|".join(NAMES))
    parser.add_argument("--small", action="store_true", help="a short form that shows that the measurement works")
    options = parser.parse_args(argv)
    figures = [
        figure
        for name in options.names
        for figure in import_module(f"evals.benchmarks.{name}").run(small=options.small)
    ]
    missed = [figure for figure in figures if figure.is_met is False]
    print(f"{sum(figure.is_met is True for figure in figures)} goals met, {len(missed)} not met")
    return 1 if missed and not options.small else 0


if __name__ == "__main__":
    sys.exit(main())
