"""Whose turn it is at a host, and who holds its job slots: the arithmetic of one row, without store, lock or clock.

Turns are given out in *row time*, which stands still while the host rests (429): whoever waits keeps order and distance
through any rest. `shift` leads from row time to real time, which is what the clock of the store shows.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

MARGIN = 0.94
"""Share of the allowed rate that is used: clocks and networks jitter, and bursts at exactly 3/s still drew 429."""

LEASE_S = 15.0
"""A job slot whose holder has not been heard of for so long is free."""

# Of the time by which turns are further apart than they need be: this much is kept between late ones too, the rest lets
# them catch up.
_KEPT = 0.95

_EARLY_S = 0.001
"""A sleep may end that much too soon."""

# A clock that is behind what a row has seen by less than this is another thread's or machine's; by more, it was set
# back.
_SKEW_S = 1.0


@dataclass(frozen=True)
class Rate:
    """How fast a host may be asked."""

    interval: float
    """Seconds from one turn to the next."""
    count: int
    """Requests that may start in any `window`."""
    window: float
    """Longer than the host's own by most of the margin: so late may one request arrive, and the next ones in time."""

    @classmethod
    def of(cls, per_second: float) -> Self:
        """The rate of a host that allows so many requests in any second (or one in a longer time)."""
        count = max(1, int(per_second))
        allowed, interval = count / per_second, 1 / (per_second * MARGIN)
        return cls(interval, count, allowed + _KEPT * (count * interval - allowed))


@dataclass
class Row:
    """The turns of one host and key. Real times are seconds since the epoch."""

    now: float
    free: float = 0.0
    """Row time of the next turn."""
    reserved: float = 0.0
    """Row time of the last turn that was taken."""
    begun: float = 0.0
    """Row time of the last turn whose holder has started; nobody waits if that is the last one taken."""
    shift: float = 0.0
    """Real time is row time plus this."""
    held: float = 0.0
    """Real time before which nobody starts, because the host has asked for a rest."""
    sent: list[float] = field(default_factory=list)
    """Real times of the last starts, ascending."""

    @classmethod
    def read(cls, text: str | None, now: float) -> Self:
        """The row as it was written, brought to `now`."""
        if not text:
            return cls(now)
        row = cls(**json.loads(text))
        behind = row.now - now
        if behind > _SKEW_S:
            row.shift -= behind
            row.held -= behind
            row.sent = [start - behind for start in row.sent]
            row.now = now
        else:
            row.now = max(row.now, now)
        return row

    def written(self) -> str:
        """What `read` reads."""
        return json.dumps(asdict(self))

    def reserve(self, rate: Rate, within: float | None) -> float:
        """Take the next free time; its row time.

        Raises:
            TimeoutError: it is more than `within` seconds away; nothing was reserved.
        """
        place = max(self.free, max(self.now, self.held) - self.shift)
        if within is not None and place + self.shift - self.now > within:
            raise TimeoutError
        self.free, self.reserved = place + rate.interval, place
        return place

    def start(self, place: float, rate: Rate, instead_of: float | None = None) -> float:
        """Seconds that the holder of `place` must still wait; 0: its start was noted, as of now.

        A holder that comes late must not bunch up with those after it, so what counts is when the last ones really
        started: never more than `rate.count` in `rate.window`, and never two within half an interval. `instead_of` is
        an earlier start of the same holder, which then did not happen.
        """
        if instead_of in self.sent:
            self.sent.remove(instead_of)
        soonest = max(place + self.shift, self.held)
        if self.sent:
            soonest = max(soonest, self.sent[-1] + rate.interval / 2)
        if len(self.sent) >= rate.count:
            soonest = max(soonest, self.sent[-rate.count] + rate.window)
        if soonest - self.now > _EARLY_S:
            return soonest - self.now
        self.sent = [*self.sent, self.now][-rate.count :]
        self.begun = max(self.begun, place)
        return 0.0

    def started_late(self, rate: Rate, instead_of: float | None) -> None:
        """A start that was noted as of `instead_of` really happened now."""
        if instead_of in self.sent:
            self.sent.remove(instead_of)
        self.sent = [*self.sent, self.now][-rate.count :]

    def hold(self, seconds: float) -> None:
        """The host has asked for a rest of so many seconds from now: everybody who waits moves by it."""
        until, here = self.now + seconds, max(self.now, self.held)
        if until > here:
            self.shift += until - here
            self.held = until
            if self.begun >= self.reserved:
                self.free = until - self.shift


@dataclass
class Slots:
    """The job slots of one host and key: tickets in the order they were drawn, the first `limit` of them are in.

    A ticket lapses `LEASE_S` after it was last shown, so that a crashed holder or waiter keeps nobody out.
    """

    now: float
    tickets: list[tuple[str, float]] = field(default_factory=list)
    """Ticket, and real time at which it lapses."""

    @classmethod
    def read(cls, text: str | None, now: float) -> Self:
        """The slots as they were written, without what has lapsed."""
        written: list[Any] = json.loads(text) if text else []
        # One that lapses later than a new one was shown before the clock was set back; its holder will show it again.
        return cls(now, [(ticket, end) for ticket, end in written if now < end <= now + LEASE_S + _SKEW_S])

    def written(self) -> str:
        """What `read` reads."""
        return json.dumps(self.tickets)

    def show(self, ticket: str, limit: int, *, inside: bool = False) -> bool:
        """Draw the ticket or keep it from lapsing; whether it is in. `inside`: it was, and comes first if it lapsed."""
        names = [name for name, _ in self.tickets]
        entry = (ticket, self.now + LEASE_S)
        if ticket in names:
            self.tickets[names.index(ticket)] = entry
        else:
            self.tickets.insert(0 if inside else len(self.tickets), entry)
        return [name for name, _ in self.tickets].index(ticket) < limit

    def drop(self, ticket: str) -> None:
        """Give the slot, or the place in the queue, back."""
        self.tickets = [entry for entry in self.tickets if entry[0] != ticket]
