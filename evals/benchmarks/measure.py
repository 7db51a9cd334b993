"""How the benchmarks measure and how they print: best of several rounds, the rivals in turn, a table of ratios."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Figure:
    """One measured figure; `goal` is a bound in its direction, None where it is told only."""

    name: str
    value: float
    unit: str = ""
    goal: float | None = None
    direction: Literal["at least", "at most"] = "at most"

    @property
    def is_met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.direction == "at least" else self.value <= self.goal

    def line(self) -> str:
        shown = f"{self.value:,.2f}" if self.value < 1000 else f"{self.value:,.0f}"
        if self.goal is None:
            return f"{self.name:<66}{shown:>12} {self.unit}".rstrip()
        met = "met" if self.is_met else "NOT MET"
        return f"{self.name:<66}{shown:>12} {self.unit:<10} goal {self.direction} {self.goal:g}: {met}"


def show(title: str, figures: Iterable[Figure]) -> list[Figure]:
    """Print the figures and give them back."""
    listed = list(figures)
    print(title)
    for figure in listed:
        print(f"  {figure.line()}")
    return listed


def best(rivals: Mapping[str, Callable[[], object]], rounds: int = 3) -> dict[str, float]:
    """Least CPU seconds of this process for each rival. They take turns, so that a busy minute strikes all of them."""
    least = dict.fromkeys(rivals, float("inf"))
    for _ in range(rounds):
        for name, work in rivals.items():
            began = time.process_time()
            kept = work()
            least[name] = min(least[name], time.process_time() - began)
            del kept
    return least


def best_of_processes(commands: Mapping[str, Sequence[str]], rounds: int = 5) -> dict[str, float]:
    """Least CPU seconds of a fresh process for each command, in turns."""
    least = dict.fromkeys(commands, float("inf"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LITERATURE_AGENT_")}
    for _ in range(rounds):
        for name, command in commands.items():
            process = subprocess.Popen(
                [sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
            least[name] = min(least[name], usage.ru_utime + usage.ru_stime)
    return least
