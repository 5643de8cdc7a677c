"""A resource profile in leaves: how it is made, read, and made anew when it is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.evolution import _kernels_peak_index as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

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
) -> kernels.PeakIndex:
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
    leaves[:, kernels.SIZE] = sizes
    leaves[:, kernels.ROOM] = 2 * sizes + 4
    leaves[:, kernels.BASE] = np.cumsum(leaves[:, kernels.ROOM]) - leaves[:, kernels.ROOM]
    leaves[:, kernels.STALE] = len(times) > 1
    leaves[:, kernels.PEAK] = np.maximum.reduceat(values, first)
    handed_out = int(leaves[:, kernels.ROOM].sum())
    # A leaf that moves takes less than four times its final size.
    pool = handed_out + 4 * (segments + num_leaves)
    index = kernels.PeakIndex(
        origin,
        shift,
        max(num_nodes.bit_length() - 15, 0),  # stored peaks stay below _NEVER
        np.array([len(cuts), handed_out, segments + num_leaves, times[-1]], dtype=np.int64),
        leaves,
        np.empty((pool, 2), dtype=np.int64),
        classes,
        *_idle_peaks(num_leaves, len(classes)),
    )
    where = np.repeat(leaves[:, kernels.BASE] - first, sizes) + np.arange(len(cuts))
    index.segments[where, kernels.TIME] = cuts
    index.segments[where, kernels.USED] = values
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


def flat(index: kernels.PeakIndex, since: int) -> tuple[IntArray, IntArray]:
    """Return (times, used) from `since` on, as `make_index` takes them; neighbours differ."""
    sizes = index.leaves[:, kernels.SIZE]
    where = np.repeat(index.leaves[:, kernels.BASE] - np.cumsum(sizes) + sizes, sizes) + np.arange(
        sizes.sum()
    )
    times = index.segments[where, kernels.TIME]
    used = index.segments[where, kernels.USED] + np.repeat(index.leaves[:, kernels.LAZY], sizes)
    first = np.searchsorted(times, since, side="right") - 1
    times, used = times[first:], used[first:]
    times[0] = since
    differs = np.diff(used, prepend=-1) != 0
    return times[differs], used[differs]
