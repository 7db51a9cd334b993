"""Whose turn it is: the arithmetic, without store, lock or clock."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.transport.turns import LEASE_S, MARGIN, Rate, Row, Slots

NOW = 1_000_000.0


def later(row: Row, seconds: float) -> Row:
    """The row as the next one finds it."""
    return Row.read(row.written(), row.now + seconds)


@given(
    st.sampled_from([1.0, 3.0, 10.0]),
    st.lists(st.tuples(st.floats(0, 2), st.floats(0, 0.5)), min_size=5, max_size=60),
)
def test_however_late_the_waiting_come_no_second_sees_more_than_the_host_allows(
    rate: float, calls: list[tuple[float, float]]
) -> None:
    """K110: a late one does not bunch up with those after it. A call: seconds to the next one, how late it wakes."""
    limit, allowed = Rate.of(rate), max(1, int(rate)) / rate
    row, starts, waiting = Row(NOW), [], []
    for gap, late in calls:
        place = row.reserve(limit, None)
        waiting.append((place + row.shift + late, place))
        row = later(row, gap / rate)
        due = sorted(entry for entry in waiting if entry[0] <= row.now)
        for entry in due:
            waiting.remove(entry)
            if wait := row.start(entry[1], limit):
                waiting.append((row.now + wait, entry[1]))
            else:
                starts.append(row.now)
    while waiting:
        waiting.sort()
        at, place = waiting.pop(0)
        row = Row.read(row.written(), max(at, row.now))
        if wait := row.start(place, limit):
            waiting.append((row.now + wait, place))
        else:
            starts.append(row.now)
    assert len(starts) == len(calls)
    for first, last in zip(starts, starts[limit.count :], strict=False):
        assert last - first > allowed
    for first, last in itertools.pairwise(starts):
        assert last - first >= limit.interval / 2 - 0.002


def test_those_who_are_in_time_use_all_of_the_rate_but_the_margin() -> None:
    limit, row, starts = Rate.of(10), Row(NOW), []
    for _ in range(50):
        place = row.reserve(limit, None)
        row = Row.read(row.written(), place + row.shift)
        assert row.start(place, limit) == 0
        starts.append(row.now)
    assert (len(starts) - 1) / (starts[-1] - starts[0]) == pytest.approx(10 * MARGIN, rel=1e-3)


def test_a_start_that_did_not_happen_then_counts_when_it_did() -> None:
    limit, row = Rate.of(1), Row(NOW)
    place = row.reserve(limit, None)
    assert row.start(place, limit) == 0
    first, row = row.now, later(row, 0.4)
    assert row.start(place, limit, instead_of=first) == 0
    assert row.sent == [NOW + 0.4]
    second = row.reserve(limit, None)
    row = later(row, second + row.shift - row.now)
    assert row.start(second, limit) == pytest.approx(limit.window - (row.now - NOW - 0.4))


def test_a_rest_moves_all_who_wait_and_keeps_their_order_and_distance() -> None:
    limit, row = Rate.of(3), Row(NOW)
    places = [row.reserve(limit, None) for _ in range(4)]
    assert row.start(places[0], limit) == 0
    before = [place + row.shift for place in places[1:]]
    row = later(row, 0.1)
    row.hold(5)
    row = later(row, 0.1)
    row.hold(2)  # ends before the first one: nothing changes
    newcomer = row.reserve(limit, None)
    after = [place + row.shift for place in places[1:]]
    assert [b - a for a, b in zip(before, after, strict=True)] == pytest.approx([5.0] * 3)
    assert newcomer + row.shift == pytest.approx(after[-1] + limit.interval)
    row.hold(10)
    assert [place + row.shift - NOW for place in places[1:]] == pytest.approx([b - NOW + 10.1 for b in before])


def test_one_who_should_have_gone_before_the_rest_does_not_go_during_it() -> None:
    limit, row = Rate.of(3), Row(NOW)
    first, second = row.reserve(limit, None), row.reserve(limit, None)
    row.start(first, limit)
    row = later(row, 1)  # the second one has overslept
    row.hold(5)
    assert row.start(second, limit) == pytest.approx(5)


def test_a_clock_that_was_set_back_stalls_nobody_and_lets_nobody_run() -> None:
    limit, row = Rate.of(3), Row(NOW)
    places = [row.reserve(limit, None) for _ in range(4)]
    assert row.start(places[0], limit) == 0
    row = later(row, -3600)
    assert [row.start(place, limit) for place in places[1:]] == pytest.approx([limit.interval * n for n in (1, 2, 3)])
    assert row.reserve(limit, 10.0) + row.shift - row.now == pytest.approx(limit.interval * 4)


def test_a_clock_that_was_set_back_leaves_a_rest_as_long_as_it_was() -> None:
    limit, row = Rate.of(3), Row(NOW)
    row.hold(30)
    row = later(row, -86_400)
    assert row.reserve(limit, None) + row.shift - row.now == pytest.approx(30)


def test_a_clock_a_little_behind_is_another_machines() -> None:
    limit, row = Rate.of(3), Row(NOW)
    first, second = row.reserve(limit, None), row.reserve(limit, None)
    assert row.start(first, limit) == 0
    row = later(row, -0.5)
    assert row.now == NOW
    assert row.start(second, limit) == pytest.approx(limit.interval)


def shown(slots: Slots, seconds: float = 0) -> Slots:
    return Slots.read(slots.written(), slots.now + seconds)


def test_slots_are_given_in_the_order_of_the_tickets() -> None:
    slots = Slots(NOW)
    assert [slots.show(name, 2) for name in "abcd"] == [True, True, False, False]
    slots = shown(slots)
    slots.drop("a")
    assert [slots.show(name, 2) for name in "dc"] == [False, True]


def test_the_slot_of_a_crashed_holder_is_free_after_a_while_and_of_a_crashed_waiter_too() -> None:
    slots = Slots(NOW)
    for name in ("crashed", "crashed in the queue", "waiting"):
        slots.show(name, 1)
    slots = shown(slots, LEASE_S / 2)
    assert not slots.show("waiting", 1)
    slots = shown(slots, LEASE_S / 2)
    assert slots.show("waiting", 1)


def test_a_holder_that_shows_its_ticket_keeps_its_slot_and_gets_it_back_when_it_came_too_late() -> None:
    slots = Slots(NOW)
    slots.show("holder", 1)
    for _ in range(5):
        slots = shown(slots, LEASE_S * 0.9)
        assert slots.show("holder", 1, inside=True)
        assert not slots.show("other", 1)
    slots = shown(slots, LEASE_S * 2)
    assert slots.show("other", 1)
    assert slots.show("holder", 1, inside=True)
    assert not slots.show("other", 1)


def test_tickets_from_the_future_were_shown_before_the_clock_was_set_back() -> None:
    slots = Slots(NOW)
    slots.show("crashed", 1)
    slots = shown(slots, -3600)
    assert slots.show("other", 1)
