"""Heaps of jobs by time, for kernels: what comes next is on top, and a job may change its time.

A heap is two arrays, times and jobs, of which the first `count` entries count, ordered by (time, job); and an
array of places by job, which is empty if nobody changes or takes out what is not on top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray

__all__ = ["change_time", "lower", "raise_up", "take_out"]


@inner_kernel
def raise_up(times: FloatArray, jobs: IntArray, places: IntArray, at: int, time: float, job: int) -> None:
    """Sift an entry up from a vacant place of the heap. O(log entries)."""
    tracked = len(places) > 0
    while at > 0:
        parent = (at - 1) >> 1
        if times[parent] < time or (times[parent] == time and jobs[parent] < job):
            break
        times[at], jobs[at] = times[parent], jobs[parent]
        if tracked:
            places[jobs[at]] = at
        at = parent
    times[at], jobs[at] = time, job
    if tracked:
        places[job] = at


@inner_kernel
def lower(
    times: FloatArray, jobs: IntArray, places: IntArray, count: int, at: int, time: float, job: int
) -> None:
    """Sift an entry down from a vacant place of the heap. O(log entries)."""
    tracked = len(places) > 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        right = child + 1
        if right < count and (
            times[right] < times[child] or (times[right] == times[child] and jobs[right] < jobs[child])
        ):
            child = right
        if time < times[child] or (time == times[child] and job < jobs[child]):
            break
        times[at], jobs[at] = times[child], jobs[child]
        if tracked:
            places[jobs[at]] = at
        at = child
    times[at], jobs[at] = time, job
    if tracked:
        places[job] = at


@inner_kernel
def change_time(
    times: FloatArray, jobs: IntArray, places: IntArray, count: int, job: int, time: float
) -> None:
    """Give a job on a heap another time. O(log entries)."""
    at = places[job]
    if time < times[at]:
        raise_up(times, jobs, places, at, time, job)
    else:
        lower(times, jobs, places, count, at, time, job)


@inner_kernel
def take_out(times: FloatArray, jobs: IntArray, places: IntArray, count: int, job: int) -> None:
    """Take a job off a heap of so many entries, of which there is one less then. O(log entries)."""
    at, last = places[job], count - 1
    places[job] = -1
    if at == last:
        return
    time, mover = times[last], jobs[last]
    parent = (at - 1) >> 1
    if at > 0 and (time < times[parent] or (time == times[parent] and mover < jobs[parent])):
        raise_up(times, jobs, places, at, time, mover)
    else:
        lower(times, jobs, places, last, at, time, mover)
