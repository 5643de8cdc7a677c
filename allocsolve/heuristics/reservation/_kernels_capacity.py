"""Free nodes over time, by count: where a job fits, and putting jobs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray, PackedDeadlineJobs

__all__ = ["REJECTED_START", "Capacity", "book", "earliest_start", "fits", "new_capacity", "place_in_order"]

#: The start of a rejected job.
REJECTED_START = -1


class Capacity(NamedTuple):
    """Steps of the free nodes; written. The last step never ends, and there is nothing booked in it."""

    times: IntArray  #: when each step begins; the first at 0
    free: IntArray  #: nodes in each step
    used: IntArray  #: one number: how many steps there are


def new_capacity(num_nodes: int, num_jobs: int) -> Capacity:
    """Return free nodes over time with nothing booked, with room for so many jobs."""
    times, free = np.zeros(2 * num_jobs + 3, dtype=np.int64), np.zeros(2 * num_jobs + 3, dtype=np.int64)
    free[0] = num_nodes
    return Capacity(times, free, np.ones(1, dtype=np.int64))


@inner_kernel
def _step(capacity: Capacity, moment: int) -> int:
    """Return the step of a moment."""
    low, high = 0, capacity.used[0]
    while low < high:
        middle = (low + high) >> 1
        if capacity.times[middle] <= moment:
            low = middle + 1
        else:
            high = middle
    return low - 1


@inner_kernel
def earliest_start(capacity: Capacity, first: int, last: int, length: int, nodes: int) -> int:
    """Return the earliest start, from the first to the last, at which nodes are free for a time; or -1."""
    times, free, used = capacity.times, capacity.free, capacity.used[0]
    step, start = _step(capacity, first), first
    while start <= last:
        if free[step] < nodes:  # the last step has all nodes
            step += 1
            while free[step] < nodes:
                step += 1
            start = times[step]
        elif step + 1 >= used or times[step + 1] >= start + length:
            return int(start)
        else:
            step += 1
    return REJECTED_START


@inner_kernel
def fits(capacity: Capacity, start: int, length: int, nodes: int) -> bool:
    """Return whether nodes are free from a start for a time."""
    step = _step(capacity, start)
    while step < capacity.used[0] and capacity.times[step] < start + length:
        if capacity.free[step] < nodes:
            return False
        step += 1
    return True


@inner_kernel
def _cut(capacity: Capacity, moment: int) -> int:
    """Make a step begin at a moment; return it."""
    times, free = capacity.times, capacity.free
    step = _step(capacity, moment)
    if times[step] == moment:
        return step
    for later in range(capacity.used[0], step + 1, -1):
        times[later], free[later] = times[later - 1], free[later - 1]
    times[step + 1], free[step + 1] = moment, free[step]
    capacity.used[0] += 1
    return step + 1


@inner_kernel
def _join(capacity: Capacity, step: int) -> None:
    """Join a step to the one before if both have the same free nodes."""
    times, free = capacity.times, capacity.free
    if step == 0 or free[step] != free[step - 1]:
        return
    for later in range(step + 1, capacity.used[0]):
        times[later - 1], free[later - 1] = times[later], free[later]
    capacity.used[0] -= 1


@inner_kernel
def book(capacity: Capacity, start: int, length: int, nodes: int) -> None:
    """Take nodes from a start for a time, or give them back if their number is negative."""
    begin = _cut(capacity, start)
    end = _cut(capacity, start + length)
    for step in range(begin, end):
        capacity.free[step] -= nodes
    _join(capacity, end)
    _join(capacity, begin)


@kernel
def place_in_order(
    jobs: PackedDeadlineJobs, order: IntArray, num_nodes: int, capacity: Capacity, starts: IntArray
) -> None:
    """Empty a capacity, and put each job of an order in at its earliest start; fill in all starts.

    O(jobs * steps).
    """
    capacity.times[0], capacity.free[0], capacity.used[0] = 0, num_nodes, 1
    for job in range(len(starts)):
        starts[job] = REJECTED_START
    for at in range(len(order)):
        job = order[at]
        nodes, length = jobs.nodes[job], jobs.runtime[job]
        start = earliest_start(capacity, jobs.arrival[job], jobs.deadline[job] - length, length, nodes)
        if start >= 0:
            starts[job] = start
            book(capacity, start, length, nodes)
