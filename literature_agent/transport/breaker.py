"""Leaves a service alone that has failed repeatedly, so that nobody waits for what will not come.

A failed call is one whose last attempt got no answer: no connection, a broken one, no answer in time, 500, 502, 503 or
504. Any other answer, a refusal or 429 too, shows that the service is there. The state belongs to the process and is
shared by its threads and event loops; times are seconds of a monotonic clock, given by the caller.
"""

from __future__ import annotations

import threading

FAILURES = 3
"""Failed calls in a row, each with all its attempts, after which a service is left alone."""
IN_A_ROW_S = 300.0
"""Longest time between two of them; a call that ends by timeouts alone takes three minutes."""
FIRST_PAUSE_S = 30.0
LONGEST_PAUSE_S = 300.0
"""Each pause after a trial that failed is twice as long as the one before, up to this."""
TRIAL_S = 10.0
"""After a pause one request is let through; if it has no outcome after so long, another one is."""
HANGING_S = 10.0
"""A request that the deadline ended counts as failed if it was on the wire for so long."""


class LeftAlone(Exception):  # a signal to the transport, never seen by a caller
    """The service is not to be asked for another `seconds`."""

    def __init__(self, seconds: float, failures: int, fault: str) -> None:
        super().__init__(fault)
        self.seconds = seconds
        self.failures = failures
        self.fault = fault


class Breaker:
    """The state of one service."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._last_failure = 0.0
        self._fault = ""
        self._pause = 0.0
        self._until: float | None = None
        self._on_trial = False

    def admit(self, now: float) -> bool:
        """Whether the request that now goes out is the one trial after a pause.

        Raises:
            LeftAlone: it must not go out.
        """
        with self._lock:
            if self._until is None:
                return False
            if now < self._until:
                raise LeftAlone(self._until - now, self._failures, self._fault)
            self._until, self._on_trial = now + TRIAL_S, True
            return True

    def answered(self) -> None:
        """The service is there."""
        with self._lock:
            self._failures, self._until, self._on_trial = 0, None, False

    def failed(self, now: float, fault: str) -> None:
        """A call failed, or a trial did. `fault` says how."""
        with self._lock:
            if self._until is not None and not self._on_trial:
                return  # it went out before the pause
            in_a_row = self._on_trial or now - self._last_failure <= IN_A_ROW_S
            self._failures = self._failures + 1 if in_a_row else 1
            self._last_failure, self._fault = now, fault
            if self._on_trial:
                self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
            elif self._failures >= FAILURES:
                self._pause = FIRST_PAUSE_S
            else:
                return
            self._until, self._on_trial = now + self._pause, False


class Breakers:
    """The breakers of all services and of their parts that fail by themselves, by service, address and part."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._breakers: dict[tuple[str, str, str], Breaker] = {}

    def of(self, service: str, base_url: str, part: str = "") -> Breaker:
        with self._lock:
            return self._breakers.setdefault((service, base_url, part), Breaker())


BREAKERS_OF_THIS_PROCESS = Breakers()
"""Outlives each client: one-shot calls that follow each other meet the same service."""
