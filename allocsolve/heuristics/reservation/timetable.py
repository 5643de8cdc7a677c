"""Bookings on a timeline, and a rule that chooses nodes: the base of admission and of calendars.

Segment s lies between the breakpoints s and s + 1; the last segment has no end, and nothing is busy in it.
Busy nodes are words of 64 bits, with a bit for each node; or, if nodes are only counted, one word with their
number. As bookings never share a node, a booking is added and subtracted like a number in both cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.heuristics.partition.allocator import lattice
from allocsolve.heuristics.reservation.shapes import (
    COUNT_ONLY,
    LITERAL,
    RUN,
    Machine,
    choose,
    count_bits,
    has_shape,
    trailing_zeros,
    write_bits,
    write_free,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import RESERVATION_SHAPES, Mesh, frozen, node_order
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from allocsolve.heuristics.reservation.shapes import Rule, WordArray
    from allocsolve.model import BoolArray, IntArray, ReservationShape, Topology

#: Entries of `Timeline.state`: the first segment and the one after the last; for a window, its first segment,
#: the segment from which on `BACK` has the busy nodes, and the one after its last segment; the number of
#: entries.
FIRST, COUNT, HERE, MIDDLE, REACH, NUM_STATE = range(6)

#: Columns of `Timeline.edges`: bookings that begin and that end.
BEGINS, ENDS = range(2)

#: Rows of `Timeline.rows`: the nodes that are busy in the later part of a window, the nodes that are free
#: throughout the window, and the nodes of a booking.
BACK, FREE, BOOKING = range(3)


class Timeline(NamedTuple):
    """A timeline as arrays that kernels change; rows from ``state[COUNT]`` on have no meaning."""

    #: Shape (capacity,): the breakpoints in seconds, increasing.
    times: IntArray
    #: Shape (capacity, words): the busy nodes of each segment.
    busy: WordArray
    #: Shape (capacity, 2): the numbers of bookings that begin and end at each breakpoint.
    edges: IntArray
    #: Shape (capacity, words): the nodes busy from a segment of a window up to its `MIDDLE`.
    suffixes: WordArray
    #: Shape (3, words): see `BACK`, `FREE` and `BOOKING`.
    rows: WordArray
    #: Shape (NUM_STATE,): see `FIRST` and the constants after it.
    state: IntArray


@inner_kernel
def segment_at(timeline: Timeline, time: int) -> int:
    """Return the segment that contains a time, which must not be before the first segment."""
    low: int = timeline.state[FIRST]
    high: int = timeline.state[COUNT]
    while high - low > 1:
        middle = (low + high) // 2
        if timeline.times[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def _copy_segment(timeline: Timeline, source: int, target: int) -> None:
    """Copy a segment and its breakpoint to another place."""
    timeline.times[target] = timeline.times[source]
    timeline.edges[target, BEGINS] = timeline.edges[source, BEGINS]
    timeline.edges[target, ENDS] = timeline.edges[source, ENDS]
    for word in range(timeline.busy.shape[1]):
        timeline.busy[target, word] = timeline.busy[source, word]


@kernel
def has_room(timeline: Timeline) -> bool:
    """Return whether a booking can be added; drop the rows of the past if they are at least half of all."""
    first, count = timeline.state[FIRST], timeline.state[COUNT]
    if count + 2 <= len(timeline.times):
        return True
    if 2 * first < count or first < 2:
        return False
    for segment in range(first, count):
        _copy_segment(timeline, segment, segment - first)
    timeline.state[FIRST], timeline.state[COUNT] = 0, count - first
    return True


@kernel
def drop_past(timeline: Timeline, now: int) -> None:
    """Make the segment that contains the present the first one."""
    first, count = timeline.state[FIRST], timeline.state[COUNT]
    while first + 1 < count and timeline.times[first + 1] <= now:
        first += 1
    timeline.state[FIRST] = first


@inner_kernel
def _breakpoint(timeline: Timeline, time: int) -> int:
    """Return the segment that begins at a time; split the one that contains it if there is none."""
    here = segment_at(timeline, time)
    if timeline.times[here] == time:
        return here
    count = timeline.state[COUNT]
    for segment in range(count - 1, here, -1):
        _copy_segment(timeline, segment, segment + 1)
    _copy_segment(timeline, here, here + 1)
    timeline.times[here + 1] = time
    timeline.edges[here + 1, BEGINS] = timeline.edges[here + 1, ENDS] = 0
    timeline.state[COUNT] = count + 1
    return here + 1


@kernel
def add_booking(timeline: Timeline, start: int, end: int) -> None:
    """Make the nodes of the row `BOOKING`, which must be free, busy from `start` to `end`.

    The timeline must have room for two breakpoints.
    """
    first = _breakpoint(timeline, start)
    last = _breakpoint(timeline, end)
    timeline.edges[first, BEGINS] += 1
    timeline.edges[last, ENDS] += 1
    for segment in range(first, last):
        for word in range(timeline.busy.shape[1]):
            timeline.busy[segment, word] += timeline.rows[BOOKING, word]


@inner_kernel
def _drop_breakpoint(timeline: Timeline, segment: int) -> None:
    """Join a segment to the one before it if no booking begins or ends between them."""
    if segment == timeline.state[FIRST] or timeline.edges[segment, BEGINS] + timeline.edges[segment, ENDS]:
        return
    for later in range(segment + 1, timeline.state[COUNT]):
        _copy_segment(timeline, later, later - 1)
    timeline.state[COUNT] -= 1


@kernel
def take_booking_away(timeline: Timeline, start: int, end: int, now: int) -> None:
    """Free the nodes of the row `BOOKING`, booked from `start` to `end`, from now on.

    `now` must be the present, before the end and in the first segment: see `drop_past`.
    """
    first = segment_at(timeline, max(start, now))
    last = segment_at(timeline, end)
    for segment in range(first, last):
        for word in range(timeline.busy.shape[1]):
            timeline.busy[segment, word] -= timeline.rows[BOOKING, word]
    timeline.edges[last, ENDS] -= 1
    _drop_breakpoint(timeline, last)
    if timeline.times[first] == start:
        timeline.edges[first, BEGINS] -= 1
        _drop_breakpoint(timeline, first)


@inner_kernel
def open_window(timeline: Timeline, time: int) -> None:
    """Set the window that starts at a time as the first one of `next_window`."""
    here = segment_at(timeline, time)
    timeline.state[HERE] = timeline.state[MIDDLE] = timeline.state[REACH] = here
    timeline.rows[BACK, :] = np.uint64(0)


@inner_kernel
def _move_window(timeline: Timeline, here: int, end: int) -> None:
    """Move the window so that it begins with a segment and reaches to a time.

    The busy nodes of a window are kept as in a queue of two stacks. For each segment before `MIDDLE`, the
    nodes busy from it up to `MIDDLE` are stored; the nodes busy from `MIDDLE` on are combined in one row.
    When the first part is used up, the whole window becomes the first part.
    """
    times, busy, _, suffixes, rows, state = timeline
    words, count, reach = busy.shape[1], state[COUNT], max(state[REACH], here)
    if here > state[MIDDLE]:
        while reach < count and times[reach] < end:
            reach += 1
        for word in range(words):
            suffixes[reach - 1, word] = busy[reach - 1, word]
            rows[BACK, word] = 0
        for segment in range(reach - 2, here - 1, -1):
            for word in range(words):
                suffixes[segment, word] = suffixes[segment + 1, word] | busy[segment, word]
        state[MIDDLE] = reach
    else:
        while reach < count and times[reach] < end:
            for word in range(words):
                rows[BACK, word] |= busy[reach, word]
            reach += 1
    state[HERE], state[REACH] = here, reach


@inner_kernel
def next_window(
    timeline: Timeline, everything: WordArray, time: int, runtime: int, latest: int, size: int
) -> int:
    """Move the window on to the next start with enough free nodes, and return the start; -1 if there is none.

    The row `FREE` of the timeline becomes the nodes that are free throughout the window. `time` is that of
    `open_window` for the first window; -1 for the next windows, which start where bookings end, `latest` at
    the latest. `size` nodes have to be free for `runtime` seconds; `everything` are the words of the whole
    machine.
    """
    times, _, edges, suffixes, rows, state = timeline
    here, count = state[HERE], state[COUNT]
    while True:
        if time < 0:
            here += 1
            while here < count and edges[here, ENDS] == 0:
                here += 1
            if here >= count:
                return -1
            time = times[here]
        if time > latest:
            return -1
        _move_window(timeline, here, time + runtime)
        free = 0
        for word in range(len(everything)):
            taken = rows[BACK, word]
            if here < state[MIDDLE]:
                taken |= suffixes[here, word]
            rows[FREE, word] = everything[word] & ~taken
            free += count_bits(rows[FREE, word])
        if free >= size:
            return time
        time = -1


@kernel
def earliest_count(timeline: Timeline, time: int, runtime: int, latest: int, limit: int) -> int:
    """Return the first time from `time` to `latest` from which at most `limit` nodes are busy; or -1.

    If a window is blocked, the next possible window begins after the block, where a booking ends.
    O(segments).
    """
    times, busy, count = timeline.times, timeline.busy, timeline.state[COUNT]
    segment = segment_at(timeline, time)
    while time <= latest:
        while segment < count and times[segment] < time + runtime and np.int64(busy[segment, 0]) <= limit:
            segment += 1
        if segment == count or times[segment] >= time + runtime:
            return time
        while np.int64(busy[segment, 0]) > limit:
            segment += 1
        time = times[segment]
    return -1


@kernel
def busy_within(timeline: Timeline, start: int, end: int, counting: bool) -> None:
    """Write the nodes that are busy within a window to the row `BACK`; their largest number if counted."""
    segment = segment_at(timeline, start)
    timeline.rows[BACK, :] = np.uint64(0)
    while segment < timeline.state[COUNT] and timeline.times[segment] < end:
        for word in range(timeline.busy.shape[1]):
            if counting:
                timeline.rows[BACK, word] = max(timeline.rows[BACK, word], timeline.busy[segment, word])
            else:
                timeline.rows[BACK, word] |= timeline.busy[segment, word]
        segment += 1


class Requests(NamedTuple):
    """Jobs that ask for nodes, as read-only arrays of shape (jobs,).

    Sizes are in nodes, times in seconds. Jobs are in the order of their arrivals.
    """

    arrival: IntArray
    size: IntArray
    runtime: IntArray
    deadline: IntArray


@kernel
def earliest_start(
    timeline: Timeline,
    machine: Machine,
    rule: int,
    first_only: bool,
    shape: int,
    time: int,
    runtime: int,
    latest: int,
    nodes: IntArray,
) -> int:
    """Return the first start at which a rule finds nodes of a shape, and fill `nodes`; -1 if there is none.

    The starts tried are `time` and the later ends of bookings up to `latest`. With `COUNT_ONLY`, only the
    length of `nodes` matters.
    """
    if time > latest:
        return -1
    everything, size = machine.everything, len(nodes)
    if rule == COUNT_ONLY:
        num_nodes: int = np.int64(everything[0])  # type: ignore[assignment]  # signed
        return earliest_count(timeline, time, runtime, latest, num_nodes - size)
    open_window(timeline, time)
    start = next_window(timeline, everything, time, runtime, latest, size)
    while start >= 0:
        if choose(machine, rule, first_only, timeline.rows[FREE], nodes) and has_shape(machine, shape, nodes):
            return start
        start = next_window(timeline, everything, -1, runtime, latest, size)
    return -1


@kernel
def move_on(timeline: Timeline, machine: Machine, time: int, runtime: int, latest: int, size: int) -> int:
    """Return the first start with enough free nodes, and write these to the mask; -1 if there is none.

    The starts tried are `time` and the later ends of bookings; if `time` is -1, those after the last result.
    """
    if time > latest:
        return -1
    if time >= 0:
        open_window(timeline, time)
    start = next_window(timeline, machine.everything, time, runtime, latest, size)
    if start >= 0:
        write_free(machine, timeline.rows[FREE])
    return start


@kernel
def admit_jobs(
    timeline: Timeline,
    machine: Machine,
    rule: int,
    first_only: bool,
    shape: int,
    requests: Requests,
    first: int,
    last: int,
    starts: IntArray,
    offsets: IntArray,
    nodes: IntArray,
) -> int:
    """Admit the jobs from `first` to before `last`; return the first job for which the timeline is too small.

    The start of a rejected job becomes -1; the nodes of job j are ``nodes[offsets[j]:offsets[j + 1]]``.
    """
    for job in range(first, last):
        if not has_room(timeline):
            return job
        time, runtime = requests.arrival[job], requests.runtime[job]
        drop_past(timeline, time)
        chosen = nodes[offsets[job] : offsets[job] + requests.size[job]]
        latest = requests.deadline[job] - runtime
        start = earliest_start(timeline, machine, rule, first_only, shape, time, runtime, latest, chosen)
        starts[job] = start
        offsets[job + 1] = offsets[job]
        if start >= 0:
            offsets[job + 1] += requests.size[job]
            if rule == COUNT_ONLY:
                timeline.rows[BOOKING, 0] = np.uint64(len(chosen))
            else:
                write_bits(machine, chosen, timeline.rows[BOOKING])
            add_booking(timeline, start, start + runtime)
    return last


@kernel
def sort_sets(num_nodes: int, offsets: IntArray, nodes: IntArray) -> None:
    """Sort the nodes of each job."""
    words = np.zeros((num_nodes + 63) >> 6, dtype=np.uint64)
    for job in range(len(offsets) - 1):
        for k in range(offsets[job], offsets[job + 1]):
            words[nodes[k] >> 6] |= np.uint64(1) << np.uint64(nodes[k] & 63)
        word, k = 0, offsets[job]
        while k < offsets[job + 1]:
            while words[word] == 0:
                word += 1
            nodes[k] = 64 * word + trailing_zeros(words[word])
            words[word] &= words[word] - np.uint64(1)
            k += 1


@kernel
def label_nodes(
    by_start: IntArray,
    by_end: IntArray,
    times: tuple[IntArray, IntArray],
    offsets: IntArray,
    num_nodes: int,
    nodes: IntArray,
) -> None:
    """Write the nodes of each job: by start, jobs get the nodes that became free last. O(nodes of all jobs).

    Accepted jobs are sorted by start and by end, in seconds, shape (jobs,); at no time do they hold more than
    all nodes. Job j gets ``nodes[offsets[j]:offsets[j + 1]]``, which is written.
    """
    starts, ends = times
    free = np.arange(num_nodes - 1, -1, -1)
    count, left = num_nodes, 0
    for at in range(len(by_start)):
        job = by_start[at]
        while left < len(by_end) and ends[by_end[left]] <= starts[job]:
            over = by_end[left]
            for row in range(offsets[over], offsets[over + 1]):
                free[count] = nodes[row]
                count += 1
            left += 1
        for row in range(offsets[job], offsets[job + 1]):
            count -= 1
            nodes[row] = free[count]


#: The number of breakpoints that there is room for at first; the room doubles when it is full.
_ROOM: Final = 64

#: The largest number of entries of the table of paths (nodes times their lengths): 1 GiB.
_PATHS: Final = 2**27


class Timetable:
    """Bookings from the present on; the caller has to check that requests fit the machine and the present.

    Without a topology nodes are only counted. `rule` says how nodes are chosen, `shape` which sets of them
    may be booked; `origin` is the present, in seconds.
    """

    def __init__(
        self, topology: Topology | None, num_nodes: int, rule: Rule, shape: ReservationShape, origin: int
    ) -> None:
        self.topology = topology
        self.num_nodes = num_nodes
        self.rule = rule
        self._shape = RESERVATION_SHAPES.index(shape)
        self.machine = _machine(Mesh((1,)) if topology is None else topology, num_nodes, rule)
        self.timeline = _timeline(_ROOM, len(self.machine.everything))
        self.timeline.times[0] = origin
        self.timeline.state[COUNT] = 1

    @property
    def segments(self) -> int:
        """The number of segments of time."""
        return int(self.timeline.state[COUNT] - self.timeline.state[FIRST])

    def admit(
        self, requests: Requests, piece: slice, starts: IntArray, offsets: IntArray, nodes: IntArray
    ) -> None:
        """Admit the jobs of a slice as they arrive, see the kernel `admit_jobs`."""
        number, first_only, allocate = self.rule
        self._keep_paths(int(requests.size.max(initial=1)))
        job = piece.start
        while job < piece.stop:
            if allocate is None:
                job = admit_jobs(
                    self.timeline,
                    self.machine,
                    *(number, first_only, self._shape),
                    requests,
                    *(job, piece.stop),
                    *(starts, offsets, nodes),
                )
                if job < piece.stop:
                    self._make_room()
                continue
            now, size = int(requests.arrival[job]), int(requests.size[job])
            runtime = int(requests.runtime[job])
            self.drop_past(now)
            chosen = self.earliest(size, now, runtime, int(requests.deadline[job]) - runtime)
            starts[job], offsets[job + 1] = -1, offsets[job]
            if chosen is not None:
                starts[job], offsets[job + 1] = chosen[0], offsets[job] + size
                nodes[offsets[job] : offsets[job + 1]] = chosen[1]
                self.book(chosen[1], chosen[0], chosen[0] + runtime)
            job += 1

    def earliest(self, size: int, time: int, runtime: int, latest: int) -> tuple[int, IntArray] | None:
        """Return the first start from `time` to `latest` and the nodes chosen for it; None if there is none.

        `InvalidAnswer` if an allocator does not return `size` free nodes.
        """
        if self.rule.allocate is not None:
            return self._asked(size, time, runtime, latest)
        self._keep_paths(size)
        nodes = np.zeros(size, dtype=np.int64)
        number, first_only, _ = self.rule
        start = earliest_start(
            self.timeline, self.machine, number, first_only, self._shape, time, runtime, latest, nodes
        )
        return None if start < 0 else (start, nodes)

    def _asked(self, size: int, time: int, runtime: int, latest: int) -> tuple[int, IntArray] | None:
        """Return the result of `earliest` for a rule that calls an allocator."""
        start = move_on(self.timeline, self.machine, time, runtime, latest, size)
        while start >= 0:
            free = frozen(self.machine.free.copy())
            answer = self.rule.allocate(self.topology, free, size)  # type: ignore[misc, arg-type]  # never None here
            if answer is not None:
                nodes = _checked(answer, free, size)
                if has_shape(self.machine, self._shape, nodes):
                    return start, nodes
            start = move_on(self.timeline, self.machine, -1, runtime, latest, size)
        return None

    def earliest_count(self, size: int, time: int, runtime: int, latest: int) -> int | None:
        """Return the first start from `time` to `latest` if nodes are counted; None if there is none."""
        start = earliest_count(self.timeline, time, runtime, latest, self.num_nodes - size)
        return None if start < 0 else start

    def book(self, nodes: IntArray | int, start: int, end: int) -> None:
        """Book free nodes, or a number of nodes if they are counted."""
        self._make_room()
        self._write(nodes)
        add_booking(self.timeline, start, end)

    def give_back(self, nodes: IntArray | int, start: int, end: int, now: int) -> None:
        """Undo a booking from now on; `now` is the present and before the end of the booking."""
        self._write(nodes)
        # A segment that begins now must not be joined to the past, where other nodes may be busy.
        drop_past(self.timeline, now)
        take_booking_away(self.timeline, start, end, now)

    def _write(self, nodes: IntArray | int) -> None:
        """Write the nodes of a booking to the row `BOOKING`."""
        if isinstance(nodes, int):
            self.timeline.rows[BOOKING] = nodes
        else:
            write_bits(self.machine, frozen(nodes), self.timeline.rows[BOOKING])

    def drop_past(self, now: int) -> None:
        """Move the present on."""
        drop_past(self.timeline, now)

    def free_nodes(self, start: int, end: int) -> BoolArray:
        """Return the mask of the nodes that are free throughout a window."""
        busy_within(self.timeline, start, end, counting=False)
        words = self.machine.everything & ~self.timeline.rows[BACK]
        write_free(self.machine, words)
        return self.machine.free.copy()

    def most_busy(self, start: int, end: int) -> int:
        """Return the largest number of busy nodes within a window, if nodes are counted."""
        busy_within(self.timeline, start, end, counting=True)
        return int(self.timeline.rows[BACK, 0])

    def _make_room(self) -> None:
        """Enlarge the timeline if there is no room for another booking."""
        if has_room(self.timeline):
            return
        old, live = self.timeline, slice(int(self.timeline.state[FIRST]), int(self.timeline.state[COUNT]))
        new = _timeline(2 * len(old.times), old.busy.shape[1])
        count = live.stop - live.start
        for name in ("times", "busy", "edges"):
            getattr(new, name)[:count] = getattr(old, name)[live]
        new.state[COUNT] = count
        self.timeline = new

    def _keep_paths(self, size: int) -> None:
        """Make room for paths of `size` nodes if the rule follows paths."""
        paths, num_nodes = self.machine.paths, len(self.machine.free)
        width = min(size, max(1, _PATHS // num_nodes))
        if self.rule.number == LITERAL and paths.shape[1] < width:
            # Pages that are never written take no memory.
            wider = np.empty((num_nodes, min(num_nodes, 2 * width)), dtype=np.int64)
            lengths = np.ones(num_nodes, dtype=np.int64)
            wider[:, 0] = np.arange(num_nodes)
            self.machine = self.machine._replace(
                paths=wider, lengths=lengths, blocks=np.zeros(num_nodes, dtype=np.int64)
            )


def _timeline(capacity: int, words: int) -> Timeline:
    """Return an empty timeline with room for `capacity` breakpoints."""
    return Timeline(
        np.zeros(capacity, dtype=np.int64),
        np.zeros((capacity, words), dtype=np.uint64),
        np.zeros((capacity, 2), dtype=np.int64),
        np.zeros((capacity, words), dtype=np.uint64),
        np.zeros((3, words), dtype=np.uint64),
        np.zeros(NUM_STATE, dtype=np.int64),
    )


def _machine(topology: Topology, num_nodes: int, rule: Rule) -> Machine:
    """Return the arrays of a machine; bits are in the order of the Hilbert curve if the rule takes runs."""
    curve = node_order(topology, "hilbert")
    node_of = curve if rule.number == RUN else frozen(np.arange(topology.num_nodes))
    counting = rule.number == COUNT_ONLY
    return Machine(
        lattice(topology),
        np.array([num_nodes], dtype=np.uint64) if counting else _words(num_nodes),
        node_of,
        frozen(np.argsort(node_of)),
        frozen(np.argsort(curve)),
        np.ones(topology.num_nodes, dtype=np.bool_),
        np.ones(topology.num_nodes, dtype=np.bool_),
        paths=np.empty((topology.num_nodes, 0), dtype=np.int64),
        lengths=np.ones(topology.num_nodes, dtype=np.int64),
        blocks=np.zeros(topology.num_nodes, dtype=np.int64),
    )


def _words(num_nodes: int) -> WordArray:
    """Return words of which the first `num_nodes` bits are set."""
    words = np.full(-(-num_nodes // 64), 2**64 - 1, dtype=np.uint64)
    words[-1] >>= np.uint64(-num_nodes % 64)
    return words


def _checked(answer: object, free: BoolArray, size: int) -> IntArray:
    """Return the nodes that an allocator chose, which must be `size` different free nodes."""
    nodes = np.array(answer, dtype=np.int64)
    taken = np.zeros(len(free), dtype=np.bool_)
    if nodes.shape == (size,) and nodes.min() >= 0 and nodes.max() < len(free):
        taken[nodes] = True
    if np.count_nonzero(taken & free) != size:
        raise InvalidAnswer(f"the allocator took {shown(nodes.tolist())}, which are not {size} free nodes")
    return nodes


def labelled_nodes(starts: IntArray, runtimes: IntArray, offsets: IntArray, num_nodes: int) -> IntArray:
    """Return nodes for jobs that were accepted by count: in order of starts, those that were left last.

    Starts and run times are in seconds, shape (jobs,), and a rejected job has a negative start; the nodes of
    job ``j`` are those from ``offsets[j]`` to ``offsets[j + 1]``.
    """
    accepted, times = np.flatnonzero(starts >= 0), (frozen(starts), frozen(starts + runtimes))
    by_start, by_end = (frozen(accepted[np.argsort(column[accepted], kind="stable")]) for column in times)
    nodes = np.empty(int(offsets[-1]), dtype=np.int64)
    label_nodes(by_start, by_end, times, frozen(offsets), num_nodes, nodes)
    return nodes
