"""A resource profile in leaves: how it is made, read, and made anew when it is full.

Time from `origin` on is cut into leaves of ``2**shift`` seconds. A leaf owns its segments: each has a time
and a usage that lasts until the time of the next segment or the end of the leaf; the first begins with the
leaf. Usage of a whole leaf is added to the leaf (``LAZY``) and not to its segments. Beyond the last leaf the
cluster is idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
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
    """A resource profile with its index of window peaks; made by `_peak_index` beside this module."""

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
