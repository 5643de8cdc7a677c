"""A calendar of bookings that can change, as a simulator or a broker needs for its machine."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.heuristics.reservation.shapes import Allocator, rule_of
from allocsolve.heuristics.reservation.timetable import Timetable
from allocsolve.model import MAX_INTEGER, RESERVATION_SHAPES, IntArray, Topology, frozen
from allocsolve.model.arrays import packed_integers
from allocsolve.model.checks import choice, in_range, integer, shown, whole_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, ReservationShape


class Slot(NamedTuple):
    """When and on which nodes a job could run; the arguments of `ReservationCalendar.book`."""

    start: int  #: seconds
    runtime: int  #: seconds
    #: Node ids, increasing; without a mesh, their number.
    nodes: IntArray | int


class ReservationCalendar:
    """The bookings of a machine from now on, which can be made, cancelled and asked about.

    `InvalidProblem` if the machine is neither a topology nor a number, or has no node; `InvalidOption` if the
    origin is negative or no integer; if nodes are counted and either a mesh or a shape is given.

    Parameters
    ----------
    machine
        A mesh or torus, where a booking has a set of nodes; or a number of nodes, 1 to 2^53, where a booking
        has a number of them.
    allocator
        How `ask` chooses nodes: a name or a function as `allocsolve.heuristics.admit` takes it, but not
        ``count``. It is ignored without a mesh, where there is nothing to choose.
    shape
        The sets of nodes that `ask` may choose, see `allocsolve.heuristics.admit`; without a mesh ``any``.
    origin
        The present, in seconds, before which nothing can be asked or booked; `advance` moves it on.

    Notes
    -----
    *Guarantee*: if jobs are asked for and booked in the order of arrival, the decisions are those of
    `allocsolve.heuristics.admit`. An answer depends on the present bookings only, not on how they came about.
    *Complexity*: a search is that of `allocsolve.heuristics.admit`; a change takes O(segments * words). The
    memory is that of the bookings that have not ended.

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
        """The number of nodes of the machine."""
        return self._table.num_nodes

    @property
    def now(self) -> int:
        """The present, in seconds; earlier bookings are forgotten."""
        return self._now

    @property
    def segments(self) -> int:
        """The number of segments of time with the same booked nodes; the last segment has no end."""
        return self._table.segments

    def __len__(self) -> int:
        """Return the number of bookings that have not ended."""
        return len(self._bookings)

    def ask(
        self, nodes: int, runtime: int, deadline: int | None = None, *, earliest_start: int | None = None
    ) -> Slot | None:
        """Return the first slot for a job, without booking it.

        The starts tried are the earliest start and then, in order, the later ends of bookings.

        It starts at `earliest_start`, the present by default, or later, and ends by the deadline, if there is
        one; None if it does not fit. Times are in seconds; ``book(*slot)`` takes the slot. `InvalidProblem`
        if the job is malformed or too large for the machine; `InvalidAnswer` if a function given as the
        allocator does not return that many free nodes.
        """
        size, runtime = self._counted(nodes), in_range("runtime", whole_time("runtime", runtime), 1)
        time = self._now if earliest_start is None else self._time("earliest_start", earliest_start)
        end = MAX_INTEGER if deadline is None else min(whole_time("deadline", deadline), MAX_INTEGER)
        if self._table.topology is None:
            start = self._table.earliest_count(size, time, runtime, end - runtime)
            return None if start is None else Slot(start, runtime, size)
        chosen = self._table.earliest(size, time, runtime, end - runtime)
        return None if chosen is None else Slot(chosen[0], runtime, frozen(np.sort(chosen[1])))

    def book(self, start: int, runtime: int, nodes: Sequence[int] | IntArray | int) -> int:
        """Book nodes from a time on, and return the number of the booking.

        Nodes are ids, a set of any shape; without a mesh, their number. `InvalidProblem` if the run time is
        below 1 s, or a node is not one of the machine; `InvalidOption` if it starts before the present or
        ends after 2^53 s; `InvalidAnswer` if a node is not free throughout: nothing is booked in this case.
        """
        begin, runtime = self._time("start", start), in_range("runtime", whole_time("runtime", runtime), 1)
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
        """Give back the nodes of a booking from the present on, as it is cancelled or ends early.

        It is unknown afterwards. `InvalidOption` if there is no such booking, for instance because it was
        cancelled or has ended.
        """
        slot = self._bookings.pop(integer("booking", booking, InvalidOption), None)
        if slot is None:
            msg = f"booking {shown(booking)} is unknown: never made, cancelled or past"
            raise InvalidOption(msg)
        self._table.give_back(slot.nodes, slot.start, slot.start + slot.runtime, self._now)
        if len(self._ends) > 2 * len(self._bookings) + 16:  # most entries are of cancelled bookings
            self._ends = [(slot.start + slot.runtime, number) for number, slot in self._bookings.items()]
            heapq.heapify(self._ends)

    def advance(self, time: int) -> None:
        """Move the present on to a time; bookings that have ended by then are forgotten."""
        self._now = self._time("time", time)
        self._table.drop_past(self._now)
        while self._ends and self._ends[0][0] <= self._now:
            self._bookings.pop(heapq.heappop(self._ends)[1], None)

    def free(self, start: int, end: int) -> BoolArray | int:
        """Return the nodes that are free throughout a window; without a mesh, their number.

        It is a mask of shape (nodes,), or the least number of nodes that are free at any time of the window.
        `InvalidOption` if the window is empty or begins before the present.
        """
        begin, finish = self._time("start", start), self._time("end", end)
        if finish <= begin:
            msg = f"end {finish} is not after the start {begin}"
            raise InvalidOption(msg)
        if self._table.topology is None:
            return self.num_nodes - self._table.most_busy(begin, finish)
        return self._table.free_nodes(begin, finish)

    def _time(self, what: str, time: int) -> int:
        """Return a time that is not before the present, in seconds."""
        value = whole_time(what, time, InvalidOption)
        where = " (seconds from the present on)"
        return in_range(what, value, self._now, error=InvalidOption, where=where)

    def _counted(self, nodes: object) -> int:
        """Return a number of nodes of the machine."""
        return in_range("nodes", integer("nodes", nodes), 1, self.num_nodes)

    def _set_of(self, nodes: object) -> IntArray:
        """Return a set of at least one node as sorted ids; no id may occur twice."""
        try:
            given = packed_integers(nodes, "nodes")
        except InvalidAnswer as error:
            raise InvalidProblem(str(error)) from None
        ids = np.unique(given)
        if given.shape != ids.shape or not len(ids) or ids[0] < 0 or ids[-1] >= self.num_nodes:
            msg = f"nodes {shown(nodes)} are not some of 0..{self.num_nodes - 1}, each once"
            raise InvalidProblem(msg)
        return frozen(ids)
