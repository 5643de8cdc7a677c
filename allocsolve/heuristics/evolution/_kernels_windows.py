"""A resource profile in leaves with an index of window peaks, and kernels that place one application on it.

The least feasible vector of step starts is the least fixpoint of operators that only raise bounds (see
`_kernels_fit` beside this module), so they may come in any order. Here they are windows: a table of
(variable, offset, capacity, duration), each of which says that from ``starts[variable] + offset`` on at most
`capacity` nodes may be busy for `duration` seconds. An unexpanded application has one variable, its start;
otherwise there is one for each step.

The index of window peaks excludes windows of a duration and capacity for whole stretches of time. For every
leaf and class of durations it knows a lower bound on the least peak of a window of that duration that begins
in the leaf (windows belong to the leaf where they begin, so a stretch of leaves has the minimum of theirs).
With durations rounded down to a class, a bound above the capacity proves that no window begins there. Added
usage leaves every bound valid: the leaves are marked, and recomputed when a search has looked into one in
vain (lazy repair). Usage that is taken away lowers the bounds by as much at once.

Time from `origin` on is cut into leaves of ``2**shift`` seconds. A leaf owns its segments: each has a time
and a usage that lasts until the time of the next segment or the end of the leaf; the first begins with the
leaf. Usage of a whole leaf is added to the leaf (``LAZY``) and not to its segments. Beyond the last leaf the
cluster is idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from allocsolve.kernels import bisect_right, inner_kernel

if TYPE_CHECKING:
    from allocsolve.heuristics._kernels_fit import Request
    from allocsolve.model import IntArray

SmallArray: TypeAlias = NDArray[np.int16]

#: Columns of `PeakIndex.leaves`: the first segment, the number of segments, the room for segments, the usage
#: to add to each, the largest usage (the lazy one included), and whether bounds of window peaks may be too
#: low.
BASE, SIZE, ROOM, LAZY, PEAK, STALE = range(6)
#: Columns of `PeakIndex.segments`: the begin in seconds, and the busy nodes without the lazy usage.
TIME, USED = range(2)
#: Entries of `PeakIndex.state`: the segments in use, the segments handed out (room included), the most
#: segments that the pool can hold however they are spread, and the last busy second (or a later one).
COUNT, POOL, LIMIT, END = range(4)


class PeakIndex(NamedTuple):
    """A resource profile with its index of window peaks; made by `make_index`."""

    #: Where leaf 0 begins, seconds.
    origin: int
    #: A leaf lasts ``2**shift`` seconds.
    shift: int
    #: Peaks are stored in units of ``2**scale`` nodes, rounded down.
    scale: int
    #: See `COUNT`, `POOL`.
    state: IntArray
    #: Shape (leaves, 6), see `BASE`. The number of leaves is a multiple of 16.
    leaves: IntArray
    #: Shape (pool, 2), see `TIME`: the segments of a leaf are neighbours.
    segments: IntArray
    #: Shape (classes,): durations of windows, seconds; increasing from 1.
    classes: IntArray
    #: Shape (blocks, classes, 16): entry k of a block of level 0 is a lower bound on ``min over starts in
    #: the leaf of max usage on the window`` of leaf ``16 * block + k``; on level l + 1 it is the minimum of
    #: block k of level l.
    peaks: SmallArray
    #: Shape (levels + 1,): the first block of each level.
    levels: IntArray


@inner_kernel
def has_room(index: PeakIndex, earliest: int, duration: int, num_steps: int) -> bool:
    """Return whether an application can be placed from `earliest` on and be added, wherever it lies."""
    last = max(index.state[END], earliest) + duration
    count = index.state[COUNT] + num_steps
    return bool((last < index.origin + (len(index.leaves) << index.shift)) & (count < index.state[LIMIT]))


@inner_kernel
def segment_at(index: PeakIndex, leaf: int, time: int) -> int:
    """Return the segment of the leaf that holds `time`, which lies in the leaf. O(log segments)."""
    low = int(index.leaves[leaf, BASE])
    high = low + index.leaves[leaf, SIZE]
    while high - low > 1:
        middle = (low + high) >> 1
        if index.segments[middle, TIME] <= time:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def first_free(index: PeakIndex, start: int, duration: int, capacity: int) -> int:
    """Return the earliest begin >= `start` of a free window, if it lies in the leaf of `start`.

    Otherwise return a time in a later leaf before which no such window begins. Free means: at most
    `capacity` nodes are busy on ``[begin, begin + duration)``.
    """
    leaf = (start - index.origin) >> index.shift
    leaf_end = index.origin + ((leaf + 1) << index.shift)
    limit = leaf_end
    k = segment_at(index, leaf, start)
    while True:
        size = index.leaves[leaf, SIZE]
        if index.leaves[leaf, PEAK] > capacity:
            last = index.leaves[leaf, BASE] + size - 1
            free = capacity - index.leaves[leaf, LAZY]
            while k <= last:
                if index.segments[k, TIME] >= start + duration:
                    return start
                if index.segments[k, USED] > free:
                    start = index.segments[k + 1, TIME] if k < last else leaf_end
                    if start >= limit:
                        return start
                k += 1
        leaf += 1
        if leaf == len(index.leaves) or leaf_end >= start + duration:
            return start
        leaf_end += 1 << index.shift
        k = index.leaves[leaf, BASE]


@inner_kernel
def first_busy(index: PeakIndex, begin: int, end: int, capacity: int) -> int:
    """Return where the first segment with more than `capacity` busy nodes that meets ``[begin, end)`` begins.

    That may be before `begin`; it is -1 if there is none.
    """
    if begin >= end:
        return -1
    leaf = (begin - index.origin) >> index.shift
    last_leaf = min((end - 1 - index.origin) >> index.shift, len(index.leaves) - 1)
    while leaf <= last_leaf:
        if index.leaves[leaf, PEAK] > capacity:
            base = index.leaves[leaf, BASE]
            stop = base + index.leaves[leaf, SIZE]
            free = capacity - index.leaves[leaf, LAZY]
            for k in range(base, stop):
                if index.segments[k, TIME] >= end:
                    break
                if index.segments[k, USED] > free and (k + 1 == stop or index.segments[k + 1, TIME] > begin):
                    return int(index.segments[k, TIME])
        leaf += 1
    return -1


@inner_kernel
def last_busy(index: PeakIndex, begin: int, end: int, capacity: int) -> int:
    """Return where the last segment with more than `capacity` busy nodes that meets ``[begin, end)`` ends.

    That may be after `end`; it is -1 if there is none.
    """
    if begin >= end:
        return -1
    leaf = min((end - 1 - index.origin) >> index.shift, len(index.leaves) - 1)
    first_leaf = (begin - index.origin) >> index.shift
    while leaf >= first_leaf:
        if index.leaves[leaf, PEAK] > capacity:
            base = index.leaves[leaf, BASE]
            free = capacity - index.leaves[leaf, LAZY]
            segment_end = index.origin + ((leaf + 1) << index.shift)
            for k in range(base + index.leaves[leaf, SIZE] - 1, base - 1, -1):
                if segment_end <= begin:
                    return -1
                if index.segments[k, USED] > free and index.segments[k, TIME] < end:
                    return segment_end
                segment_end = index.segments[k, TIME]
        leaf -= 1
    return -1


@inner_kernel
def cut(index: PeakIndex, time: int) -> None:
    """Make a segment begin at `time`. A full leaf moves to a place with twice the room; O(its segments)."""
    leaf = (time - index.origin) >> index.shift
    k = segment_at(index, leaf, time)
    if index.segments[k, TIME] < time:
        base, size = index.leaves[leaf, BASE], index.leaves[leaf, SIZE]
        if size == index.leaves[leaf, ROOM]:
            fresh = index.state[POOL]
            for idx in range(size):
                index.segments[fresh + idx, TIME] = index.segments[base + idx, TIME]
                index.segments[fresh + idx, USED] = index.segments[base + idx, USED]
            index.leaves[leaf, BASE] = fresh
            index.leaves[leaf, ROOM] = 2 * size
            index.state[POOL] += 2 * size
            k += fresh - base
            base = fresh
        for idx in range(base + size, k + 1, -1):
            index.segments[idx, TIME] = index.segments[idx - 1, TIME]
            index.segments[idx, USED] = index.segments[idx - 1, USED]
        index.segments[k + 1, TIME] = time
        index.segments[k + 1, USED] = index.segments[k, USED]
        index.leaves[leaf, SIZE] = size + 1
        index.state[COUNT] += 1


@inner_kernel
def add_step(index: PeakIndex, begin: int, end: int, nodes: int) -> None:
    """Add `nodes` (or take them away) on ``[begin, end)``, where segments begin at both. O(leaves met)."""
    leaf = (begin - index.origin) >> index.shift
    leaf_begin = index.origin + (leaf << index.shift)
    while leaf_begin < end:
        leaf_end = leaf_begin + (1 << index.shift)
        if begin <= leaf_begin and leaf_end <= end:
            index.leaves[leaf, LAZY] += nodes
            index.leaves[leaf, PEAK] += nodes
        else:
            k = index.leaves[leaf, BASE]
            stop = k + index.leaves[leaf, SIZE]
            peak = index.segments[k, USED] + min(nodes, 0)  # negative if the lazy usage is larger
            while k < stop:
                index.segments[k, USED] += nodes if begin <= index.segments[k, TIME] < end else 0
                peak = max(peak, index.segments[k, USED])
                k += 1
            index.leaves[leaf, PEAK] = peak + index.leaves[leaf, LAZY]
        leaf += 1
        leaf_begin = leaf_end


#: The least mean number of segments per leaf when the index is full, a balance of longer scans and more
#: leaves; the same while the index fits the cache of the processor; and the most segments with which it does.
_SEGMENTS, _FEW_SEGMENTS, _FEW = 12, 6, 200_000

#: The padding of the index, above every stored peak, so that no window begins there.
_NEVER = np.iinfo(np.int16).max


def duration_classes(windows: IntArray, spans: IntArray) -> IntArray:
    """Return durations of windows, in seconds, for which the index keeps peaks: increasing from 1.

    Any choice gives right answers. These are quantiles of the expected windows and, since composites of
    several steps are tested too, some more up to the 90 % quantile of the spans of whole applications.
    """
    windows, spans = (np.sort(each[:: max(1, len(each) // 4096)]) for each in (windows, spans))
    longest = max(int(windows[-1]), int(spans[int(0.9 * (len(spans) - 1))]))
    chosen = [
        np.ones(1, dtype=np.int64),
        windows[np.linspace(0, len(windows) - 1, 16).astype(np.int64)],
        np.geomspace(int(windows[-1]), longest, 9)[1:].astype(np.int64),
    ]
    return np.unique(np.concatenate(chosen))


def make_index(
    times: IntArray, used: IntArray, *, num_nodes: int, until: int, segments: int, classes: IntArray
) -> PeakIndex:
    """Return an index of a flat profile, with room to grow.

    ``used[k]`` nodes are busy from ``times[k]`` on, the last of them, which must be 0, for ever; times
    increase, and the first one is the origin. The index reaches beyond `until`, in seconds, and has room for
    so many segments; for `classes` see `duration_classes`.
    """
    origin = int(times[0])
    wanted = max(segments // (_FEW_SEGMENTS if segments < _FEW else _SEGMENTS), 16)
    shift = ((until - origin) // wanted).bit_length()  # this makes wanted / 2 to wanted leaves
    num_leaves = (((until - origin) >> shift) // 16 + 1) * 16
    begins = origin + (np.arange(num_leaves, dtype=np.int64) << shift)
    cuts = np.union1d(begins, times)
    sizes = np.bincount((cuts - origin) >> shift, minlength=num_leaves)
    values = used[np.searchsorted(times, cuts, side="right") - 1]
    first = np.cumsum(sizes) - sizes
    leaves = np.zeros((num_leaves, 6), dtype=np.int64)
    leaves[:, SIZE] = sizes
    leaves[:, ROOM] = 2 * sizes + 4
    leaves[:, BASE] = np.cumsum(leaves[:, ROOM]) - leaves[:, ROOM]
    leaves[:, STALE] = len(times) > 1
    leaves[:, PEAK] = np.maximum.reduceat(values, first)
    handed_out = int(leaves[:, ROOM].sum())
    # A leaf that moves takes less than four times its final size.
    pool = handed_out + 4 * (segments + num_leaves)
    index = PeakIndex(
        origin,
        shift,
        max(num_nodes.bit_length() - 15, 0),  # stored peaks stay below _NEVER
        np.array([len(cuts), handed_out, segments + num_leaves, times[-1]], dtype=np.int64),
        leaves,
        np.empty((pool, 2), dtype=np.int64),
        classes,
        *_idle_peaks(num_leaves, len(classes)),
    )
    where = np.repeat(leaves[:, BASE] - first, sizes) + np.arange(len(cuts))
    index.segments[where, TIME] = cuts
    index.segments[where, USED] = values
    return index


def _idle_peaks(num_leaves: int, num_classes: int) -> tuple[NDArray[np.int16], IntArray]:
    """Return `PeakIndex.peaks` and `PeakIndex.levels` of an idle cluster: every bound is 0."""
    entries = [num_leaves]
    while entries[-1] > 16:
        entries.append(-(-entries[-1] // 16))
    blocks = [-(-count // 16) for count in entries]
    levels = np.cumsum([0, *blocks], dtype=np.int64)
    peaks = np.zeros((int(levels[-1]), num_classes, 16), dtype=np.int16)
    for end, count in zip(levels[1:].tolist(), entries, strict=True):
        if count % 16:
            peaks[end - 1, :, count % 16 :] = _NEVER
    return peaks, levels


def flat(index: PeakIndex, since: int) -> tuple[IntArray, IntArray]:
    """Return (times, used) from `since` on, as `make_index` takes them; neighbours differ."""
    sizes = index.leaves[:, SIZE]
    where = np.repeat(index.leaves[:, BASE] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    times = index.segments[where, TIME]
    used = index.segments[where, USED] + np.repeat(index.leaves[:, LAZY], sizes)
    first = np.searchsorted(times, since, side="right") - 1
    times, used = times[first:], used[first:]
    times[0] = since
    differs = np.diff(used, prepend=-1) != 0
    return times[differs], used[differs]


#: More nodes than are ever busy.
_ABOVE_ALL = 1 << 62


@inner_kernel
def class_of(index: PeakIndex, duration: int) -> int:
    """Return the class of a duration >= 1: the largest class that is not longer."""
    return bisect_right(index.classes, len(index.classes), duration) - 1


@inner_kernel
def rules_out(index: PeakIndex, leaf: int, duration_class: int, capacity: int) -> bool:
    """Return whether the index proves that no window begins in the leaf."""
    return bool(index.peaks[leaf >> 4, duration_class, leaf & 15] > (capacity >> index.scale))


@inner_kernel
def next_leaf(index: PeakIndex, leaf: int, duration_class: int, capacity: int) -> int:
    """Return the first leaf from `leaf` on that the index does not rule out. O(log leaves).

    There is always one, since the cluster is idle at the end of the last leaf.
    """
    free = capacity >> index.scale
    level = 0
    while True:
        block = index.levels[level] + (leaf >> 4)
        k = leaf & 15
        while k < 16 and index.peaks[block, duration_class, k] > free:
            k += 1
        if k < 16:
            break
        leaf = (leaf >> 4) + 1
        level += 1
    leaf = (leaf & ~15) | k
    while level > 0:
        level -= 1
        block = index.levels[level] + leaf
        k = 0
        while index.peaks[block, duration_class, k] > free:
            k += 1
        leaf = (leaf << 4) | k
    return leaf


@inner_kernel
def _store(index: PeakIndex, leaf: int, duration_class: int, value: int) -> None:
    """Store a bound of a leaf, and the minima above it that change."""
    for level in range(len(index.levels) - 1):
        block = index.levels[level] + (leaf >> 4)
        if value == index.peaks[block, duration_class, leaf & 15]:
            return
        index.peaks[block, duration_class, leaf & 15] = value
        lowest = index.peaks[block, duration_class, 0]
        for k in range(1, 16):
            lowest = min(lowest, index.peaks[block, duration_class, k])
        value = lowest
        leaf >>= 4


@inner_kernel
def repair(index: PeakIndex, leaf: int, best: IntArray) -> None:
    """Recompute the bounds of a leaf. `best` is work space, shape (classes,).

    The peak of a window that begins with a segment is no higher than those of windows that begin later in the
    segment, nor than those of windows that begin in the next segment if as many nodes or more are busy there.
    O(segments of the leaf x leaves and segments within the longest class), usually much less.
    """
    classes = index.classes
    num_classes = len(classes)
    for j in range(num_classes):
        best[j] = _ABOVE_ALL
    width = 1 << index.shift
    first = index.leaves[leaf, BASE]
    for begin in range(first, first + index.leaves[leaf, SIZE]):
        if begin > first and index.segments[begin - 1, USED] <= index.segments[begin, USED]:
            continue
        start = index.segments[begin, TIME]
        top = 0
        j = 0
        at = leaf
        at_end = index.origin + ((leaf + 1) << index.shift)
        k = begin
        while j < num_classes and top < best[num_classes - 1]:
            if at == len(index.leaves):  # idle from here on
                at_end = start + classes[-1]
            elif k == index.leaves[at, BASE] and classes[j] > at_end - start:  # window j covers the leaf
                top = max(top, index.leaves[at, PEAK])
            elif index.leaves[at, PEAK] > top:
                stop = index.leaves[at, BASE] + index.leaves[at, SIZE]
                lazy = index.leaves[at, LAZY]
                while k < stop and j < num_classes:
                    top = max(top, index.segments[k, USED] + lazy)
                    k += 1
                    end = index.segments[k, TIME] if k < stop else at_end
                    while j < num_classes and classes[j] <= end - start:
                        best[j] = min(best[j], top)
                        j += 1
            while j < num_classes and classes[j] <= at_end - start:
                best[j] = min(best[j], top)
                j += 1
            at += 1
            at_end += width
            if at < len(index.leaves):
                k = index.leaves[at, BASE]
    for j in range(num_classes):
        _store(index, leaf, j, best[j] >> index.scale)
    index.leaves[leaf, STALE] = 0


@inner_kernel
def change(index: PeakIndex, starts: IntArray, nodes: IntArray, completion: int, sign: int) -> None:
    """Add (sign 1) or remove (-1) a placed application: step i holds its nodes from ``starts[i]`` on."""
    cut(index, completion)
    for i in range(len(starts)):
        cut(index, starts[i])
    for i in range(len(starts)):
        add_step(index, starts[i], starts[i + 1] if i + 1 < len(starts) else completion, sign * nodes[i])
    index.state[END] = max(index.state[END], completion)
    # Every window of a class that meets the application begins in these leaves.
    first = max(starts[0] - index.classes[-1] - index.origin, 0) >> index.shift
    last = (completion - 1 - index.origin) >> index.shift
    for leaf in range(first, last + 1):
        index.leaves[leaf, STALE] = 1
    if sign < 0:
        peak = nodes[0]
        for i in range(1, len(nodes)):
            peak = max(peak, nodes[i])
        _lower(index, first, last, peak)


@inner_kernel
def _lower(index: PeakIndex, first: int, last: int, nodes: int) -> None:
    """Lower the bounds of the leaves by the nodes taken away; O(leaves x classes)."""
    drop = (nodes >> index.scale) + 1 if index.scale else nodes  # rounded values fall by at most one more
    for leaf in range(first, last + 1):
        for j in range(len(index.classes)):
            _store(index, leaf, j, max(index.peaks[leaf >> 4, j, leaf & 15] - drop, 0))


#: Columns of the table of windows. EXACT is 0 for a composite, which only the index tests. VERIFIED is the
#: time at which the window was last seen free, FIRST the first leaf that the index allows. Column RANK does
#: not belong to the row: in row r it has the row of the window of rank r.
VARIABLE, OFFSET, CAPACITY, DURATION, CLASS, EXACT, VERIFIED, FIRST, RANK = range(9)
TABLE_COLUMNS = 9


@inner_kernel
def _fill(row: IntArray, variable: int, offset: int, capacity: int, duration: int) -> None:
    row[VARIABLE] = variable
    row[OFFSET] = offset
    row[CAPACITY] = capacity
    row[DURATION] = duration
    row[EXACT] = 1
    row[VERIFIED] = -1


@inner_kernel
def _windows(durations: IntArray, nodes: IntArray, num_nodes: int, elastic: bool, table: IntArray) -> int:
    """Fill the table; return the number of windows, at most three per step.

    However the steps are expanded, a run of them holds its least nodes from ``durations[i]`` before step i +
    1 on, for the sum of its durations. A composite is the longest run on at least the nodes of a step.
    """
    num_steps = len(durations)
    count = 0
    begin = 0  # the begin of step i, from the first step on
    for i in range(num_steps):
        free = num_nodes - nodes[i]
        if i > 0 or not elastic:
            _fill(table[count], i if elastic else 0, 0 if elastic else begin, free, durations[i])
            count += 1
        if elastic and i + 1 < num_steps:  # step i holds its nodes when step i + 1 begins
            _fill(table[count], i + 1, -durations[i], free, durations[i])
            count += 1
        left = i
        offset = begin
        while left > 0 and nodes[left - 1] > nodes[i]:  # of equal runs, the first stands for all
            left -= 1
            offset -= durations[left]
        right = i + 1
        length = begin + durations[i] - offset
        while right < num_steps and nodes[right] >= nodes[i]:
            length += durations[right]
            right += 1
        if right - left > 1 and (left == 0 or nodes[left - 1] < nodes[i]):
            _fill(
                table[count],
                left + 1 if elastic else 0,
                -durations[left] if elastic else offset,
                free,
                length,
            )
            table[count, EXACT] = 0
            count += 1
        begin += durations[i]
    return count


@inner_kernel
def _raise(starts: IntArray, variable: int, value: int, request: Request) -> None:
    """Raise a bound, and the bounds of other steps as far as durations and limits require it."""
    durations, _, longest = request
    starts[variable] = value
    for i in range(variable + 1, len(starts)):
        earliest = starts[i - 1] + durations[i - 1]
        if starts[i] >= earliest:
            break
        starts[i] = earliest
    for i in range(variable - 1, -1, -1):
        earliest = starts[i + 1] - (longest[i] if i > 0 else durations[0])
        if starts[i] >= earliest:
            break
        starts[i] = earliest


@inner_kernel
def _ranked(index: PeakIndex, table: IntArray, count: int, starts: IntArray, request: Request) -> None:
    """Raise the bounds to those of the index and rank the windows by them, the latest first."""
    for c in range(count):
        table[c, CLASS] = class_of(index, table[c, DURATION])
        at = starts[table[c, VARIABLE]] + table[c, OFFSET]
        leaf = (at - index.origin) >> index.shift
        first = next_leaf(index, leaf, table[c, CLASS], table[c, CAPACITY])
        table[c, FIRST] = first
        if first > leaf:
            value = index.origin + (first << index.shift) - table[c, OFFSET]
            _raise(starts, table[c, VARIABLE], value, request)
        k = c
        while k > 0 and table[table[k - 1, RANK], FIRST] < first:
            table[k, RANK] = table[k - 1, RANK]
            k -= 1
        table[k, RANK] = c


@inner_kernel
def _ruled_out(index: PeakIndex, table: IntArray, count: int, starts: IntArray) -> int:
    """Return a window that the index rules out at its place, -1 if none. Its FIRST gets the next leaf.

    A window that fails moves forward by one rank: it is likely to fail again.
    """
    k = 0
    failing = -1
    while k < count and failing < 0:
        c = table[k, RANK]
        leaf = (starts[table[c, VARIABLE]] + table[c, OFFSET] - index.origin) >> index.shift
        if rules_out(index, leaf, table[c, CLASS], table[c, CAPACITY]):
            table[c, FIRST] = next_leaf(index, leaf + 1, table[c, CLASS], table[c, CAPACITY])
            if k > 0:
                table[k, RANK] = table[k - 1, RANK]
                table[k - 1, RANK] = c
            failing = c
        k += 1
    return failing


@inner_kernel
def _blocked(index: PeakIndex, table: IntArray, count: int, starts: IntArray) -> int:
    """Return a window that is not free at its place, -1 if all are. Its VERIFIED says where to look next.

    It looks at one leaf for each window.
    """
    k = 0
    failing = -1
    while k < count and failing < 0:
        c = table[k, RANK]
        at = starts[table[c, VARIABLE]] + table[c, OFFSET]
        if table[c, EXACT] and table[c, VERIFIED] != at:
            table[c, VERIFIED] = first_free(index, at, table[c, DURATION], table[c, CAPACITY])
            if table[c, VERIFIED] > at:
                failing = c
        k += 1
    return failing


@inner_kernel
def _hold(index: PeakIndex, starts: IntArray, request: Request, num_nodes: int, held: IntArray) -> bool:
    """Raise the bounds of steps that cannot hold their nodes until the next begins; return whether any rose.

    It goes once from the last step to the first. The windows at both ends of a step cover its hold if that is
    at most twice its duration. Up to ``held[i]`` its nodes were seen free, as bounds only rise.
    """
    raised = False
    for i in range(len(starts) - 2, 0, -1):
        end = starts[i + 1]
        if end - starts[i] > 2 * request.durations[i]:
            to = last_busy(index, max(starts[i], held[i]), end, num_nodes - request.nodes[i])
            held[i] = end
            if to >= 0:
                _raise(starts, i, to, request)
                raised = True
    return raised


@inner_kernel
def place_in(
    index: PeakIndex,
    request: Request,
    num_nodes: int,
    earliest: int,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> None:
    """Write the least feasible vector into `starts`, as `_kernels_fit.place` does.

    The index must reach beyond its last busy second and beyond `earliest`, each plus the sum of durations.
    Work space: `table`, shape (>= 3 * steps, `TABLE_COLUMNS`), and `work`, shape (2, >= steps and >=
    classes).
    """
    durations, nodes, max_durations = request
    num_steps = len(durations)
    starts[0] = earliest
    for i in range(1, num_steps):
        starts[i] = starts[i - 1] + durations[i - 1]
    elastic = _is_elastic(durations, max_durations)
    variables = starts if elastic else starts[:1]
    count = _windows(durations, nodes, num_nodes, elastic, table)
    _ranked(index, table, count, variables, request)
    for i in range(num_steps):
        work[0, i] = -1
    while True:
        c = _ruled_out(index, table, count, variables)
        if c >= 0:
            to = index.origin + (table[c, FIRST] << index.shift)
        elif elastic and _hold(index, starts, request, num_nodes, work[0]):
            continue
        else:
            c = _blocked(index, table, count, variables)
            if c < 0:
                break
            to = table[c, VERIFIED]
            leaf = (variables[table[c, VARIABLE]] + table[c, OFFSET] - index.origin) >> index.shift
            if (to - index.origin) >> index.shift > leaf:
                table[c, VERIFIED] = -1
                if index.leaves[leaf, STALE]:
                    repair(index, leaf, work[1, : len(index.classes)])
        _raise(variables, table[c, VARIABLE], to - table[c, OFFSET], request)
    for i in range(1, num_steps):
        starts[i] = max(starts[i], starts[i - 1] + durations[i - 1])


@inner_kernel
def _is_elastic(durations: IntArray, max_durations: IntArray) -> bool:
    """Return whether any step may be expanded; the first and the last never are."""
    elastic = False
    for i in range(1, len(durations) - 1):
        elastic = elastic or max_durations[i] > durations[i]
    return elastic
