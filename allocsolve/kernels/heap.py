"""Heaps of what is to come, for kernels: the first entry is on top, and entries may change their times.

A heap is a list of entries, of which the first `count` count, ordered by (time, item). Where an entry stands
is noted in `places` at ``item & mask``; no place is noted if `places` is empty, and then nobody may change or
take out what is not on top. Items may so carry more than what tells entries apart. After Williams, Algorithm
232, Communications of the ACM 7(6), 1964; each function is O(log entries).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.kernels.jit import inner_kernel
from allocsolve.kernels.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.kernels.records import Records

#: The mask of a heap whose places are noted by the items themselves.
BY_ITEM: Final = -1


class Entry(Record):
    """What comes, and when. Of a heap, or of a list in the order of time."""

    time: float
    item: int


@inner_kernel
def raise_up(
    heap: Records[Entry], places: NDArray[np.int64], mask: int, at: int, time: float, item: int
) -> None:
    """Sift an entry up from a vacant place of the heap: from its end, to add it."""
    noted = len(places) > 0
    while at > 0:
        above = (at - 1) >> 1
        if heap[above].time < time or (heap[above].time == time and heap[above].item < item):
            break
        heap[at] = heap[above]
        if noted:
            places[heap[at].item & mask] = at
        at = above
    heap[at].time, heap[at].item = time, item
    if noted:
        places[item & mask] = at


@inner_kernel
def lower(
    heap: Records[Entry], places: NDArray[np.int64], mask: int, count: int, at: int, time: float, item: int
) -> None:
    """Sift an entry down from a vacant place of the heap."""
    noted = len(places) > 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        right = child + 1
        if right < count and (
            heap[right].time < heap[child].time
            or (heap[right].time == heap[child].time and heap[right].item < heap[child].item)
        ):
            child = right
        if time < heap[child].time or (time == heap[child].time and item < heap[child].item):
            break
        heap[at] = heap[child]
        if noted:
            places[heap[at].item & mask] = at
        at = child
    heap[at].time, heap[at].item = time, item
    if noted:
        places[item & mask] = at


@inner_kernel
def change(
    heap: Records[Entry], places: NDArray[np.int64], mask: int, count: int, at: int, time: float, item: int
) -> None:
    """Put another entry at the place of one."""
    if time < heap[at].time or (time == heap[at].time and item < heap[at].item):
        raise_up(heap, places, mask, at, time, item)
    else:
        lower(heap, places, mask, count, at, time, item)


@inner_kernel
def take_out(heap: Records[Entry], places: NDArray[np.int64], mask: int, count: int, at: int) -> None:
    """Take the entry at a place off a heap of `count` entries, of which there is one less then."""
    places[heap[at].item & mask] = -1
    last = count - 1
    if at < last:
        change(heap, places, mask, last, at, heap[last].time, heap[last].item)
