"""What a run is doing, on a terminal: one line for each source and step, those still running below the ended ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from literature_agent.render import one_line

if TYPE_CHECKING:
    from literature_agent.custody import Event

_SOURCE_WIDTH, _TIME_WIDTH = 18, 6
_SIGNS = {"ok": ("✓", "green"), "empty": ("○", "yellow"), "partial": ("◐", "yellow"), "failed": ("✗", "red")}
_ASCII = {"✓": "+", "○": "o", "◐": "~", "✗": "x", "·": "-"}


@dataclass
class _Running:
    """A search that has not ended."""

    source: str
    query: str
    step: str = "asked"


@dataclass
class LiveView:
    """A listener of events. Text in them is never read as markup and never leaves its line."""

    console: Console
    notes: list[str]
    """Said before the first event: a run that is refused at once says only why."""
    _began: float = field(default_factory=time.monotonic, init=False)
    _running: dict[str, _Running] = field(default_factory=dict, init=False)
    _step: str = field(default="Starting", init=False)
    _spinner: Spinner = field(init=False)

    def __post_init__(self) -> None:
        self._spinner = Spinner("line" if self.console.options.ascii_only else "dots")

    @contextmanager
    def shown(self) -> Iterator[LiveView]:
        """Live until left; what ran then is wiped, what ended stays."""
        with Live(
            console=self.console,
            get_renderable=self._below,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as self._live:
            yield self

    def __call__(self, event: Event) -> None:
        # A line printed while the thread of `Live` draws would leave one behind that nothing wipes: `print` works out
        # what to wipe under this lock, but writes after it.
        with self._live._lock:
            self._tell(event)
            self._live.refresh()

    def _tell(self, event: Event) -> None:
        while self.notes:
            self.console.print(Text(one_line(self.notes.pop(0))))
        text = one_line(event.text)
        search_id = event.search_id or ""
        if event.kind == "search_started":
            source, _, query = text.partition(": ")
            self._running[search_id] = _Running(source, query)
        elif event.kind == "search_progress" and search_id in self._running:
            self._running[search_id].step = text
        elif event.kind in ("search_finished", "source_failed"):
            asked = self._running.pop(search_id, None)
            source, _, ended = text.partition(": ")
            sign, colour = _SIGNS.get(event.status or "failed", _SIGNS["failed"])
            # A failure says why; a hit count leaves room for the query.
            told = ended if event.kind == "source_failed" or asked is None else f"{ended}  {asked.query}"
            self._print(sign, colour, source.removesuffix(" failed"), told)
        else:
            source, _, rest = text.partition(": ") if event.source else ("", "", text)
            self._print("·", "blue", source, rest)
            self._step = text if event.kind in ("started", "repair_asked") else self._step

    def _print(self, sign: str, colour: str, source: str, told: str) -> None:
        self.console.print(self._line(Text(self._sign(sign), style=colour), source, told, self._elapsed()))

    def _below(self) -> Group:
        """The searches that run, and a line that says that something does."""
        lines = [self._line(self._spinner, r.source, f"{r.step}  {r.query}", "") for r in self._running.values()]
        # Never more than the screen holds: the rest could not be wiped.
        del lines[max(1, self.console.height - 3) :]
        return Group(*lines, self._line(self._spinner, "", self._step, self._elapsed()))

    def _line(self, sign: Text | Spinner, source: str, told: str, at: str) -> Table:
        line = Table.grid(padding=(0, 1), expand=True)
        line.add_column(width=1)
        if source:
            line.add_column(width=_SOURCE_WIDTH, no_wrap=True, overflow="ellipsis")
        line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        line.add_column(width=_TIME_WIDTH, justify="right", no_wrap=True)
        line.add_row(sign, *([Text(source, style="bold")] if source else []), Text(told), Text(at, style="dim"))
        return line

    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._began:.1f} s"

    def _sign(self, sign: str) -> str:
        return _ASCII[sign] if self.console.options.ascii_only else sign
