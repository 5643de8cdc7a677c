"""Heaps of jobs by time, for kernels: what comes next is on top, and a job may change its time.

A heap is a list of entries, of which the first `count` count, ordered by (time, job); and an array of places
by job, which is empty if nobody changes or takes out what is not on top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.kernels.records import Records
    from allocsolve.model.arrays import IntArray
    from allocsolve.simulation.state import Entry

__all__ = ["change_time", "lower", "raise_up", "take_out"]


@inner_kernel
def raise_up(heap: Records[Entry], places: IntArray, at: int, time: float, job: int) -> None:
    """Sift an entry up from a vacant place of the heap. O(log entries)."""
    tracked = len(places) > 0
    while at > 0:
        above = (at - 1) >> 1
        if heap[above].time < time or (heap[above].time == time and heap[above].job < job):
            break
        heap[at] = heap[above]
        if tracked:
            places[heap[at].job] = at
        at = above
    heap[at].time, heap[at].job = time, job
    if tracked:
        places[job] = at


@inner_kernel
def lower(heap: Records[Entry], places: IntArray, count: int, at: int, time: float, job: int) -> None:
    """Sift an entry down from a vacant place of the heap. O(log entries)."""
    tracked = len(places) > 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        right = child + 1
        if right < count and (
            heap[right].time < heap[child].time
            or (heap[right].time == heap[child].time and heap[right].job < heap[child].job)
        ):
            child = right
        if time < heap[child].time or (time == heap[child].time and job < heap[child].job):
            break
        heap[at] = heap[child]
        if tracked:
            places[heap[at].job] = at
        at = child
    heap[at].time, heap[at].job = time, job
    if tracked:
        places[job] = at


@inner_kernel
def change_time(heap: Records[Entry], places: IntArray, count: int, job: int, time: float) -> None:
    """Give a job on a heap another time. O(log entries)."""
    at = places[job]
    if time < heap[at].time:
        raise_up(heap, places, at, time, job)
    else:
        lower(heap, places, count, at, time, job)


@inner_kernel
def take_out(heap: Records[Entry], places: IntArray, count: int, job: int) -> None:
    """Take a job off a heap of so many entries, of which there is one less then. O(log entries)."""
    at, last = places[job], count - 1
    places[job] = -1
    if at == last:
        return
    time, mover = heap[last].time, heap[last].job
    above = (at - 1) >> 1
    if at > 0 and (time < heap[above].time or (time == heap[above].time and mover < heap[above].job)):
        raise_up(heap, places, at, time, mover)
    else:
        lower(heap, places, last, at, time, mover)
