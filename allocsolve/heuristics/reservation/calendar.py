"""A calendar of bookings that changes: what a simulator or a broker keeps of its machine."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.heuristics.reservation.shapes import Allocator, rule_of
from allocsolve.heuristics.reservation.timetable import Timetable
from allocsolve.model import MAX_INTEGER, RESERVATION_SHAPES, IntArray, Topology, frozen
from allocsolve.model.arrays import packed_integers
from allocsolve.model.checks import choice, integer, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, ReservationShape

__all__ = ["ReservationCalendar", "Slot"]


class Slot(NamedTuple):
    """When a job could run, and on which nodes: what `ReservationCalendar.book` takes."""

    start: int  #: seconds
    runtime: int  #: seconds
    #: Node ids, increasing; without a mesh how many nodes.
    nodes: IntArray | int


class ReservationCalendar:
    """Which nodes of a machine are booked from now on, as bookings come and go.

    Parameters
    ----------
    machine
        A mesh or torus, of which bookings have sets of nodes; or how many nodes there are, 1 to 2^53, of
        which bookings have so many.
    allocator
        How `ask` chooses nodes: a name or a function as `allocsolve.heuristics.admit` takes it, but not
        ``count``. Without a mesh there is nothing to choose, and it is not read.
    shape
        What sets of nodes `ask` may choose, as `allocsolve.heuristics.admit` has it; without a mesh ``any``.
    origin
        The present, in seconds: nothing is asked or booked before. Moved on by `advance`.

    Raises
    ------
    InvalidProblem
        If there is no machine, or no node.
    InvalidOption
        If the origin is negative or no integer; if nodes are counted and either a mesh or a shape is given.
    UnknownName
        If there is no such allocator or shape.

    Notes
    -----
    *Guarantee*: booked in the order of arrival, what `ask` returns is the decision of
    `allocsolve.heuristics.admit`. On any history of changes the answer depends on the bookings there are.
    *Complexity*: a search as in `allocsolve.heuristics.admit`; a change O(segments * words). The memory is
    that of the bookings that have not ended.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> calendar = ReservationCalendar(Mesh((4, 2)))
    >>> first = calendar.book(0, 100, [0, 1, 2, 4, 5])
    >>> slot = calendar.ask(nodes=4, runtime=50, deadline=200)
    >>> slot.start, slot.nodes.tolist()
    (100, [0, 1, 4, 5])
    >>> second = calendar.book(*slot)
    >>> calendar.advance(60)
    >>> calendar.cancel(first)                # from now on
    >>> calendar.ask(nodes=4, runtime=50, deadline=200).start
    60
    >>> calendar.ask(nodes=5, runtime=50, deadline=199) is None
    True
    >>> counts = ReservationCalendar(10)
    >>> counts.book(0, 30, 6), counts.ask(nodes=5, runtime=10), counts.free(0, 60)
    (1, Slot(start=30, runtime=10, nodes=5), 4)
    """

    def __init__(
        self,
        machine: Topology | int,
        allocator: str | Allocator = "hilbert",
        *,
        shape: ReservationShape = "any",
        origin: int = 0,
    ) -> None:
        topology = machine if isinstance(machine, Topology) else None
        num_nodes = integer("machine", machine) if topology is None else topology.num_nodes
        if not 1 <= num_nodes <= MAX_INTEGER:
            msg = f"machine: {shown(num_nodes)} nodes are not in 1..2^53"
            raise InvalidProblem(msg)
        choice("shape", shape, RESERVATION_SHAPES)
        if topology is not None and allocator == "count":
            msg = "the allocator count chooses no nodes: give the number of nodes instead of a mesh"
            raise InvalidOption(msg)
        if topology is None and shape != "any":
            msg = f"sets of nodes that are {shape!r} need a mesh"
            raise InvalidOption(msg)
        self._now = 0
        self._now = self._time("origin", origin)
        rule = rule_of("count" if topology is None else allocator)
        self._table = Timetable(topology, num_nodes, rule, shape, self._now)
        self._bookings: dict[int, Slot] = {}
        self._ends: list[tuple[int, int]] = []  # heap of (end, booking), cancelled ones included
        self._issued = 0

    @property
    def num_nodes(self) -> int:
        """Nodes of the machine."""
        return self._table.num_nodes

    @property
    def now(self) -> int:
        """The present, in seconds: what lies before is forgotten."""
        return self._now

    @property
    def segments(self) -> int:
        """In how many segments of time, the last without an end, the same nodes are booked."""
        return self._table.segments

    def __len__(self) -> int:
        """Return how many bookings have not ended."""
        return len(self._bookings)

    def ask(
        self, nodes: int, runtime: int, deadline: int | None = None, *, not_before: int | None = None
    ) -> Slot | None:
        """Return the first slot for a job; books nothing.

        Tried are the earliest start and then, in order, the later ends of bookings.

        Parameters
        ----------
        nodes
            How many, 1 to all of the machine.
        runtime
            Seconds, >= 1.
        deadline
            When it has to end, in seconds; None: there is none.
        not_before
            The earliest start, in seconds, from the present on, which is the default.

        Returns
        -------
        Slot or None
            ``book(*slot)`` takes it; None if the job does not fit before its deadline.

        Raises
        ------
        InvalidProblem
            If the job is malformed or too large for the machine.
        InvalidOption
            If `not_before` lies before the present.
        InvalidAnswer
            If the function given as an allocator takes what are not so many free nodes.
        """
        size, runtime = self._counted(nodes), self._runtime(runtime)
        time = self._now if not_before is None else self._time("not_before", not_before)
        end = MAX_INTEGER if deadline is None else min(integer("deadline", deadline), MAX_INTEGER)
        if self._table.topology is None:
            start = self._table.earliest_count(size, time, runtime, end - runtime)
            return None if start is None else Slot(start, runtime, size)
        chosen = self._table.earliest(size, time, runtime, end - runtime)
        return None if chosen is None else Slot(chosen[0], runtime, frozen(np.sort(chosen[1])))

    def book(self, start: int, runtime: int, nodes: Sequence[int] | IntArray | int) -> int:
        """Book nodes from a time on, and return the number of this booking.

        Parameters
        ----------
        start
            Seconds, not before the present.
        runtime
            Seconds, >= 1.
        nodes
            Node ids, of any shape; without a mesh how many.

        Raises
        ------
        InvalidProblem
            If the run time is below 1, or these are no nodes of the machine.
        InvalidOption
            If it starts before the present or ends after 2^53 s.
        InvalidAnswer
            If a node is not free throughout; nothing is booked then.
        """
        begin, runtime = self._time("start", start), self._runtime(runtime)
        end = self._time("end", begin + runtime)
        taken = self._counted(nodes) if self._table.topology is None else self._set_of(nodes)
        if isinstance(taken, int):
            free = self.num_nodes - self._table.most_busy(begin, end)
            fault = f"{free} of {self.num_nodes} nodes are free, not {taken}," if taken > free else ""
        else:
            busy = taken[~self._table.free_nodes(begin, end)[taken]]
            fault = f"node {busy[0]} is not free" if len(busy) else ""
        if fault:
            msg = f"{fault} on [{begin}, {end})"
            raise InvalidAnswer(msg)
        self._table.book(taken, begin, end)
        self._issued += 1
        self._bookings[self._issued] = Slot(begin, runtime, taken)
        heapq.heappush(self._ends, (end, self._issued))
        return self._issued

    def cancel(self, booking: int) -> None:
        """Give back what a booking has from the present on: cancellation, or an early end.

        Parameters
        ----------
        booking
            What `book` returned. It is unknown afterwards.

        Raises
        ------
        InvalidOption
            If there is no such booking, because it was cancelled or has ended.
        """
        slot = self._bookings.pop(integer("booking", booking, InvalidOption), None)
        if slot is None:
            msg = f"booking {shown(booking)} is unknown: never made, cancelled or past"
            raise InvalidOption(msg)
        self._table.give_back(slot.nodes, slot.start, slot.start + slot.runtime, self._now)
        if len(self._ends) > 2 * len(self._bookings) + 16:  # mostly cancelled ones
            self._ends = [(slot.start + slot.runtime, number) for number, slot in self._bookings.items()]
            heapq.heapify(self._ends)

    def advance(self, time: int) -> None:
        """Move the present on: what happened before a time, and bookings that ended by then, are gone.

        Raises
        ------
        InvalidOption
            If the time lies before the present.
        """
        self._now = self._time("time", time)
        self._table.drop_past(self._now)
        while self._ends and self._ends[0][0] <= self._now:
            self._bookings.pop(heapq.heappop(self._ends)[1], None)

    def free(self, start: int, end: int) -> BoolArray | int:
        """Return which nodes are free throughout a window, or without a mesh how many.

        Parameters
        ----------
        start, end
            Seconds, from the present on; the end lies behind the start.

        Returns
        -------
        BoolArray or int
            A mask of shape (nodes,), or the fewest nodes that are free at a time within the window.

        Raises
        ------
        InvalidOption
            If the window is empty or begins before the present.
        """
        begin, finish = self._time("start", start), self._time("end", end)
        if finish <= begin:
            msg = f"end {finish} is not behind the start {begin}"
            raise InvalidOption(msg)
        if self._table.topology is None:
            return self.num_nodes - self._table.most_busy(begin, finish)
        return self._table.free_nodes(begin, finish)

    def _time(self, what: str, time: int) -> int:
        value = integer(what, time, InvalidOption)
        if not self._now <= value <= MAX_INTEGER:
            msg = f"{what} {shown(value)} is not in {self._now}..2^53 (seconds from the present on)"
            raise InvalidOption(msg)
        return value

    def _runtime(self, runtime: int) -> int:
        value = integer("runtime", runtime)
        if not 1 <= value <= MAX_INTEGER:
            msg = f"runtime {shown(value)} is not in 1..2^53"
            raise InvalidProblem(msg)
        return value

    def _counted(self, nodes: object) -> int:
        size = integer("nodes", nodes)
        if not 1 <= size <= self.num_nodes:
            msg = f"nodes {shown(size)} is not in 1..{self.num_nodes}"
            raise InvalidProblem(msg)
        return size

    def _set_of(self, nodes: object) -> IntArray:
        """Return node ids sorted, of which there is one at least and none twice."""
        try:
            given = packed_integers(nodes, "nodes")
        except InvalidAnswer as error:
            raise InvalidProblem(str(error)) from None
        ids = np.unique(given)
        if given.shape != ids.shape or not len(ids) or ids[0] < 0 or ids[-1] >= self.num_nodes:
            msg = f"nodes {shown(nodes)} are not some of 0..{self.num_nodes - 1}, each once"
            raise InvalidProblem(msg)
        return frozen(ids)
