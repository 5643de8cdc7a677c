"""Laws of calendars of bookings: any history of calls against a list of bookings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from naive_admission import NaiveCalendar, NaiveCounts, admit, shape_named

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem, UnknownName
from allocsolve.heuristics.reservation.calendar import ReservationCalendar
from allocsolve.model import RESERVATION_SHAPES, Mesh, ReservationShape, Topology, Torus

if TYPE_CHECKING:
    from collections.abc import Callable

MACHINES = (Mesh((4, 3)), Torus((5, 3)), Mesh((9, 8)))
ORIGINS = (0, 3, 10**9, 2**52)

delays = st.integers(0, 12)
runtimes = st.integers(1, 9)


class Bookings(RuleBasedStateMachine):
    """What is booked is cancelled and gets past, in a calendar and in its slow twin."""

    calendar: ReservationCalendar
    naive: Any
    numbers: list[int]

    @precondition(lambda self: self.numbers)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.numbers) - 1))
        self.naive.bookings.pop(place)
        number = self.numbers.pop(place)
        self.calendar.cancel(number)
        with pytest.raises(InvalidOption, match="unknown"):
            self.calendar.cancel(number)

    @rule(delay=delays)
    def advance(self, delay: int) -> None:
        self.naive.now += delay
        self.calendar.advance(self.naive.now)
        rows = zip(self.numbers, self.naive.bookings, strict=True)
        living = [(number, booking) for number, booking in rows if booking[1] > self.naive.now]
        self.numbers = [number for number, _ in living]
        self.naive.bookings = [booking for _, booking in living]


class Histories(Bookings):
    """Ask, book, cancel and advance, in any order, on nodes with identities."""

    @initialize(
        topology=st.sampled_from(MACHINES),
        name=st.sampled_from(("hilbert", "any", "growth", "literal", "literal-set")),
        shape=st.sampled_from(RESERVATION_SHAPES),
        origin=st.sampled_from(ORIGINS),
    )
    def start(self, topology: Topology, name: str, shape: ReservationShape, origin: int) -> None:
        self.calendar = ReservationCalendar(topology, name, shape=shape, origin=origin)
        self.naive = NaiveCalendar(topology, shape_named(name), shape, origin)
        self.numbers: list[int] = []  # in the order of the naive bookings

    def note(self, number: int, start: int, runtime: int, nodes: list[int]) -> None:
        self.numbers.append(number)
        self.naive.bookings.append((start, start + runtime, nodes))

    @rule(data=st.data(), runtime=runtimes, slack=st.none() | delays, delay=st.none() | delays)
    def ask_and_book(self, data: st.DataObject, runtime: int, slack: int | None, delay: int | None) -> None:
        size = data.draw(st.integers(1, self.naive.topology.num_nodes))
        earliest = None if delay is None else self.naive.now + delay
        deadline = None if slack is None else self.naive.now + (delay or 0) + runtime + slack
        slot = self.calendar.ask(size, runtime, deadline, earliest_start=earliest)
        limit = float("inf") if deadline is None else deadline
        expected = self.naive.ask(size, runtime, limit, earliest)
        if slot is None:
            assert expected is None
            return
        nodes: list[int] = np.asarray(slot.nodes).tolist()
        assert (slot.start, nodes) == expected
        self.note(self.calendar.book(*slot), slot.start, runtime, nodes)

    @rule(data=st.data(), runtime=runtimes, delay=delays)
    def book(self, data: st.DataObject, runtime: int, delay: int) -> None:
        """Nodes of anybody's choice, which may be taken."""
        places = st.integers(0, self.naive.topology.num_nodes - 1)
        nodes = data.draw(st.lists(places, min_size=1, max_size=6, unique=True))
        start = self.naive.now + delay
        if self.naive.free(start, start + runtime)[nodes].all():
            self.note(self.calendar.book(start, runtime, nodes), start, runtime, sorted(nodes))
        else:
            with pytest.raises(InvalidAnswer, match=r"node \d+ is not free on \["):
                self.calendar.book(start, runtime, nodes)

    @rule(delay=delays, length=st.integers(1, 20))
    def look(self, delay: int, length: int) -> None:
        start = self.naive.now + delay
        free = self.calendar.free(start, start + length)
        assert np.asarray(free).tolist() == self.naive.free(start, start + length).tolist()

    @invariant()
    def nothing_else_is_remembered(self) -> None:
        assert len(self.calendar) == len(self.naive.bookings)
        assert self.calendar.now == self.naive.now
        times = {time for start, end, _ in self.naive.bookings for time in (start, end)}
        assert self.calendar.segments <= len(times) + 1


class CountHistories(Bookings):
    """The same where nodes are counted."""

    @initialize(
        num_nodes=st.integers(1, 9), scale=st.sampled_from((1, 1, 10**9)), origin=st.sampled_from(ORIGINS)
    )
    def start(self, num_nodes: int, scale: int, origin: int) -> None:
        self.scale = scale
        self.calendar = ReservationCalendar(num_nodes * scale, origin=origin)
        self.naive = NaiveCounts(num_nodes, origin)
        self.numbers: list[int] = []

    @rule(data=st.data(), runtime=runtimes, slack=delays, delay=st.none() | delays)
    def ask_and_book(self, data: st.DataObject, runtime: int, slack: int, delay: int | None) -> None:
        size = data.draw(st.integers(1, self.naive.num_nodes))
        earliest = None if delay is None else self.naive.now + delay
        deadline = self.naive.now + (delay or 0) + runtime + slack
        slot = self.calendar.ask(size * self.scale, runtime, deadline, earliest_start=earliest)
        assert (slot and slot.start) == self.naive.ask(size, runtime, deadline, earliest)
        if slot is not None:
            assert slot[1:] == (runtime, size * self.scale)
            self.numbers.append(self.calendar.book(*slot))
            self.naive.bookings.append((slot.start, slot.start + runtime, size))

    @rule(data=st.data(), runtime=runtimes, delay=delays)
    def book(self, data: st.DataObject, runtime: int, delay: int) -> None:
        size, start = data.draw(st.integers(1, self.naive.num_nodes)), self.naive.now + delay
        free = self.naive.free(start, start + runtime)
        assert self.calendar.free(start, start + runtime) == free * self.scale
        if size <= free:
            self.numbers.append(self.calendar.book(start, runtime, size * self.scale))
            self.naive.bookings.append((start, start + runtime, size))
        else:
            with pytest.raises(InvalidAnswer, match="nodes are free, not"):
                self.calendar.book(start, runtime, size * self.scale)


TestHistories = Histories.TestCase
TestHistories.settings = settings(deadline=None, stateful_step_count=30)
TestCountHistories = CountHistories.TestCase
TestCountHistories.settings = settings(deadline=None, stateful_step_count=30)


def test_jobs_that_are_booked_as_they_arrive_are_admitted() -> None:
    rng = np.random.default_rng(3)
    calendar, jobs, answers = ReservationCalendar(Mesh((4, 3))), [], []
    for arrival in np.cumsum(rng.integers(0, 4, 60)).tolist():
        size, runtime, slack = rng.integers(1, [8, 10, 20]).tolist()
        jobs.append((arrival, size, runtime, arrival + runtime + slack))
        calendar.advance(arrival)
        slot = calendar.ask(size, runtime, arrival + runtime + slack)
        answers.append(slot and (slot.start, np.asarray(slot.nodes).tolist()))
        if slot:
            calendar.book(*slot)
    assert answers == admit(Mesh((4, 3)), jobs, shape_named("hilbert"))
    assert {answer is None for answer in answers} == {True, False}


def test_bookings_that_are_cancelled_leave_nothing_behind() -> None:
    calendar = ReservationCalendar(Mesh((4, 3)))
    for round_ in range(500):
        for number in [calendar.book(10**6 + 7 * round_ + k, 5, [0]) for k in (0, 100)]:
            calendar.cancel(number)
    assert calendar.segments == 1
    assert len(calendar) == 0


def test_what_is_cancelled_now_is_not_joined_to_the_past() -> None:
    """Two bookings are given back at an instant at which the second one begins."""
    calendar = ReservationCalendar(Mesh((4, 3)))
    earlier = calendar.book(0, 2, [0])
    calendar.advance(1)
    later = calendar.book(1, 1, [4])
    for number in (earlier, later):
        calendar.cancel(number)
    assert np.asarray(calendar.free(1, 2)).all()


MESH = Mesh((4, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ReservationCalendar(0), InvalidProblem, "machine: 0 nodes are not in"),
        (lambda: ReservationCalendar(MESH, "count"), InvalidOption, "count chooses no nodes"),
        (lambda: ReservationCalendar(MESH, "hilber"), UnknownName, "hilbert"),
        (lambda: ReservationCalendar(9, shape="run"), InvalidOption, "need a mesh"),
        (lambda: ReservationCalendar(MESH, origin=-1), InvalidOption, "origin -1"),
        (lambda: ReservationCalendar(MESH).ask(13, 1), InvalidProblem, r"nodes 13 is not in 1\.\.12"),
        (lambda: ReservationCalendar(MESH).ask(1, 0), InvalidProblem, "runtime 0"),
        (
            lambda: ReservationCalendar(MESH, origin=5).ask(1, 1, earliest_start=4),
            InvalidOption,
            "earliest_start 4",
        ),
        (lambda: ReservationCalendar(MESH).book(0, 1, [0, 0]), InvalidProblem, "each once"),
        (lambda: ReservationCalendar(MESH).book(0, 1, []), InvalidProblem, "each once"),
        (lambda: ReservationCalendar(MESH).book(0, 1, [12]), InvalidProblem, "each once"),
        (lambda: ReservationCalendar(MESH).book(0, 1, np.array([0.5])), InvalidProblem, "not integers"),
        (lambda: ReservationCalendar(MESH).book(1, 2**53, [0]), InvalidOption, "end"),
        (lambda: ReservationCalendar(MESH).cancel(1), InvalidOption, "booking 1 is unknown"),
        (lambda: ReservationCalendar(MESH).free(3, 3), InvalidOption, "end 3 is not after the start 3"),
        (lambda: ReservationCalendar(MESH, origin=5).advance(4), InvalidOption, "time 4"),
        (
            lambda: ReservationCalendar(MESH, lambda *_: np.array([0, 0])).ask(2, 1),
            InvalidAnswer,
            r"took \[0, 0\], which are not 2 free nodes",
        ),
    ],
)
def test_faults_are_named(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
