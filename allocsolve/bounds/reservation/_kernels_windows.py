"""The windows of jobs under prices: the cheapest one, and a smooth gain with its gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import allocating_kernel, bisect_right, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

#: In temperatures: a window that is farther behind the best has no share, as exp(-40) is lost in a double.
_FAR = 40.0


class PricedJobs(NamedTuple):
    """Jobs that can end in time; shape (jobs,) each, read-only."""

    arrival: FloatArray  #: seconds
    runtime: FloatArray  #: seconds
    deadline: FloatArray  #: seconds
    share: FloatArray  #: of the machine that a job books
    weight: FloatArray


class _Windows(NamedTuple):
    """Windows of one job, one of which is cheapest; written by the kernels."""

    start: FloatArray
    price: FloatArray  #: of the whole machine
    from_slot: IntArray  #: the slots of start and end
    to_slot: IntArray


@allocating_kernel
def _new_windows(slots: int) -> _Windows:
    room = 2 * slots + 4
    return _Windows(np.empty(room), np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64))


@inner_kernel
def _slot(edges: FloatArray, moment: float) -> int:
    """Return the slot of a moment not before the first edge; the slot behind the last edge has no end."""
    return bisect_right(edges, len(edges), moment) - 1


@inner_kernel
def _later_slot(edges: FloatArray, slot: int, moment: float) -> int:
    """Return the slot of a moment that is not before this slot."""
    while slot + 1 < len(edges) and edges[slot + 1] <= moment:
        slot += 1
    return slot


@inner_kernel
def _paid_until(edges: FloatArray, levels: FloatArray, until: FloatArray, slot: int, moment: float) -> float:
    if slot >= len(levels):
        return float(until[slot])
    part = (moment - edges[slot]) / (edges[slot + 1] - edges[slot])
    return float(until[slot] + levels[slot] * part)


@inner_kernel
def _list_windows(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, until: FloatArray, job: int, windows: _Windows
) -> int:
    """Fill in the windows at which the price of a job may be least; return their number.

    The price is piecewise linear in the start, and turns where the window begins or ends at an edge.
    """
    first, length = jobs.arrival[job], jobs.runtime[job]
    last = jobs.deadline[job] - length
    count = 0
    windows.start[count] = first
    count += 1
    for ends in range(2):
        shift = ends * length
        ahead = _slot(edges, first + shift) + 1
        while ahead < len(edges) and edges[ahead] - shift < last:
            windows.start[count] = edges[ahead] - shift
            count += 1
            ahead += 1
    windows.start[count] = last
    count += 1
    begin, end = _slot(edges, first), _slot(edges, first + length)
    for row in range(count):
        start = windows.start[row]
        if row and start < windows.start[row - 1]:
            begin, end = _slot(edges, start), _slot(edges, start + length)
        begin, end = _later_slot(edges, begin, start), _later_slot(edges, end, start + length)
        windows.from_slot[row], windows.to_slot[row] = begin, end
        paid = _paid_until(edges, levels, until, end, start + length)
        windows.price[row] = paid - _paid_until(edges, levels, until, begin, start)
    return count


@inner_kernel
def _add_up(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, until: FloatArray, job: int
) -> tuple[int, int]:
    """Fill in the sums of the levels from the slot of the arrival to that of the deadline; return both."""
    first, last = _slot(edges, jobs.arrival[job]), _slot(edges, jobs.deadline[job])
    until[first] = 0.0
    for slot in range(first, min(last + 1, len(levels))):
        until[slot + 1] = until[slot] + levels[slot]
    return first, last


@kernel
def cheapest_windows(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, prices: FloatArray, starts: FloatArray
) -> None:
    """Fill in the least price of each job, and a start that has it. O(jobs * slots).

    `edges`, shape (slots + 1,), are rising seconds, the first not after any arrival; `levels`, shape
    (slots,), are the price of the whole machine for the whole slot. `prices` and `starts`, shape (jobs,), are
    written.
    """
    windows, until = _new_windows(len(levels)), np.empty(len(levels) + 1)
    for job in range(len(jobs.arrival)):
        _add_up(jobs, edges, levels, until, job)
        count = _list_windows(jobs, edges, levels, until, job, windows)
        best = 0
        for row in range(1, count):
            if windows.price[row] < windows.price[best]:
                best = row
        prices[job] = windows.price[best] * jobs.share[job]
        starts[job] = windows.start[best]


@kernel
def soft_gains(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, temperature: float, gradient: FloatArray
) -> float:
    """Return a smooth sum of what the jobs gain, their weights less their prices; fill in its gradient.

    A job gains nothing if it is rejected. The sum tends to that of the greatest gains as the temperature (in
    units of weight) falls. Arguments as in `cheapest_windows`; O(jobs * slots).
    """
    slots = len(levels)
    windows, until = _new_windows(slots), np.empty(slots + 1)
    begun = np.zeros(slots + 2)
    gradient[:] = 0.0
    total = 0.0
    for job in range(len(jobs.arrival)):
        first, last = _add_up(jobs, edges, levels, until, job)
        count = _list_windows(jobs, edges, levels, until, job, windows)
        share, weight, length = jobs.share[job], jobs.weight[job], jobs.runtime[job]
        greatest = 0.0
        for row in range(count):
            greatest = max(greatest, weight - share * windows.price[row])
        mass = math.exp(-greatest / temperature)
        for row in range(count):
            depth = (greatest - weight + share * windows.price[row]) / temperature
            windows.price[row] = math.exp(-depth) if depth < _FAR else 0.0
            mass += windows.price[row]
        total += greatest + temperature * math.log(mass)
        for row in range(count):
            part = share * windows.price[row] / mass
            if part > 0.0:
                begin, end = windows.from_slot[row], windows.to_slot[row]
                start = windows.start[row]
                begun[begin] -= part
                begun[end] += part
                if end < slots:
                    gradient[end] -= part * (start + length - edges[end]) / (edges[end + 1] - edges[end])
                if begin < slots:
                    gradient[begin] += part * (start - edges[begin]) / (edges[begin + 1] - edges[begin])
        held = 0.0  # the share of windows that end behind the slot, less that of those that begin there
        for slot in range(min(last, slots), first - 1, -1):
            if slot < slots:
                gradient[slot] -= held
            held += begun[slot]
            begun[slot] = 0.0
    return total
