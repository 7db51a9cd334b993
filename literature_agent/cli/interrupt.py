"""Ctrl-C during a run: once for a partial answer, twice to stop at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from literature_agent.cli.screen import Screen

if TYPE_CHECKING:
    from pydantic_ai import CancellationToken


@contextmanager
def cancel_on_interrupt(screen: Screen) -> Iterator[CancellationToken]:
    """A token that the first Ctrl-C cancels; the second one interrupts as usual."""
    from pydantic_ai import CancellationToken

    token = CancellationToken()
    if threading.current_thread() is not threading.main_thread():
        yield token
        return
    before = signal.getsignal(signal.SIGINT)

    def cancel(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        screen.note("Stopping; press Ctrl-C again to stop at once.")
        # From another thread the token wakes the event loop; from this one the loop would sleep on.
        threading.Thread(target=token.cancel, daemon=True).start()

    signal.signal(signal.SIGINT, cancel)
    try:
        yield token
    finally:
        signal.signal(signal.SIGINT, before)
