"""Kernels on a timeline of bookings: the busy nodes in each segment of time.

Segment s lies between the breakpoints s and s + 1; the last segment has no end, and nothing is busy in it.
Busy nodes are words of 64 bits, with a bit for each node; or, if nodes are only counted, one word with their
number. As bookings never share a node, a booking is added and subtracted like a number in both cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

    WordArray: TypeAlias = NDArray[np.uint64]

#: Entries of `Timeline.state`: the first segment and the one after the last; for a window, its first segment,
#: the segment from which on `BACK` has the busy nodes, and the one after its last segment; the number of
#: entries.
FIRST, COUNT, HERE, MIDDLE, REACH, NUM_STATE = range(6)

#: Columns of `Timeline.edges`: bookings that begin and that end.
BEGINS, ENDS = range(2)

#: Rows of `Timeline.rows`: the nodes that are busy in the later part of a window, the nodes that are free
#: throughout the window, and the nodes of a booking.
BACK, FREE, BOOKING = range(3)

#: A single bit, and the masks of `count_bits` for pairs of bits, groups of four, and bytes; the last one adds
#: the bytes of a word.
_ONE = np.uint64(1)
_PAIRS = np.uint64(0x5555555555555555)
_QUADS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)


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
def count_bits(word: np.uint64) -> int:
    """Return the number of bits of a word that are set."""
    pairs = word - ((word >> _ONE) & _PAIRS)
    quads = (pairs & _QUADS) + ((pairs >> np.uint64(2)) & _QUADS)
    return np.int64((((quads + (quads >> np.uint64(4))) & _BYTES) * _SUM) >> np.uint64(56))  # type: ignore[return-value]  # signed, else sums with int are floats


@inner_kernel
def trailing_zeros(word: np.uint64) -> int:
    """Return the place of the lowest bit that is set; 64 if no bit is."""
    return count_bits(~word & (word - _ONE))


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
