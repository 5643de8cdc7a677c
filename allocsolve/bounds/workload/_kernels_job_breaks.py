"""What a job pays under prices of its own, at every start that can be the cheapest one.

The price of a job is constant on each slot of its window and 0 outside; its *levels* are what it pays for
the whole of a slot. So the cost of a start is piecewise linear: it turns at the submission, where the start
or the end meets an edge of a slot of the window, and where the cost of an end leaves its floor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

__all__ = ["Breaks", "PricedJobs", "break_points", "cheapest_starts", "new_breaks"]


class PricedJobs(NamedTuple):
    """Jobs and the windows of slots in which they may have a price; one row a job, read-only."""

    submit: FloatArray
    runtime: FloatArray
    slope: FloatArray  #: what the job's end costs per second, > 0
    floor: FloatArray  #: what it costs at least
    nodes: IntArray  #: nodes, or units of the capacity
    first: IntArray  #: the first slot of the window
    offsets: IntArray  #: shape (jobs + 1,): where the slots of each window begin among those of all


class Breaks(NamedTuple):
    """The starts of one job at which its cost can turn, and where the start and the end lie in the window.

    A slot is counted within the window: -1 stands for all before it, its number of slots for all behind it.
    """

    cost: FloatArray
    start: FloatArray
    from_slot: IntArray
    from_share: FloatArray  #: the share of that slot before the start
    to_slot: IntArray
    to_share: FloatArray
    paid: FloatArray  #: the levels of all slots before each slot of the window


@allocating_kernel
def new_breaks(slots: int) -> Breaks:
    """Return room for windows of up to `slots` slots."""
    room = 2 * slots + 4
    return Breaks(
        np.empty(room),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room),
        np.empty(slots + 1),
    )


@inner_kernel
def _meet(
    jobs: PricedJobs,
    edges: FloatArray,
    levels: FloatArray,
    breaks: Breaks,
    job: int,
    row: int,
    start: float,
    held: int,
    freed: int,
) -> None:
    """Fill in a row: the start lies in the slot `held` of the window and the end in the slot `freed`."""
    first, base = jobs.first[job], jobs.offsets[job]
    count = jobs.offsets[job + 1] - base
    end = start + jobs.runtime[job]
    cost = max(jobs.floor[job], jobs.slope[job] * (end - jobs.submit[job]))
    from_share, to_share = 0.0, 0.0
    if held >= count:
        cost -= breaks.paid[count]
    elif held >= 0:
        edge = edges[first + held]
        from_share = (start - edge) / (edges[first + held + 1] - edge)
        cost -= breaks.paid[held] + from_share * levels[base + held]
    if freed >= count:
        cost += breaks.paid[count]
    elif freed >= 0:
        edge = edges[first + freed]
        to_share = (end - edge) / (edges[first + freed + 1] - edge)
        cost += breaks.paid[freed] + to_share * levels[base + freed]
    breaks.cost[row] = cost
    breaks.start[row] = start
    breaks.from_slot[row] = held
    breaks.from_share[row] = from_share
    breaks.to_slot[row] = freed
    breaks.to_share[row] = to_share


@inner_kernel
def break_points(jobs: PricedJobs, edges: FloatArray, levels: FloatArray, breaks: Breaks, job: int) -> int:
    """Fill in the rows of a job and return their number; the first one is the start at submission.

    Behind the window no start is cheaper than at its last edge.
    """
    first, base = jobs.first[job], jobs.offsets[job]
    count = jobs.offsets[job + 1] - base
    submit, runtime = jobs.submit[job], jobs.runtime[job]
    breaks.paid[0] = 0.0
    for slot in range(count):
        breaks.paid[slot + 1] = breaks.paid[slot] + levels[base + slot]
    rows = 0
    held, freed = -1, -1
    while held < count and edges[first + held + 1] <= submit:
        held += 1
    while freed < count and edges[first + freed + 1] <= submit + runtime:
        freed += 1
    _meet(jobs, edges, levels, breaks, job, rows, submit, held, freed)
    rows += 1
    ahead = held
    if jobs.floor[job] > 0:
        start = submit + jobs.floor[job] / jobs.slope[job] - runtime
        if start > submit:
            late = freed
            while ahead < count and edges[first + ahead + 1] <= start:
                ahead += 1
            while late < count and edges[first + late + 1] <= start + runtime:
                late += 1
            _meet(jobs, edges, levels, breaks, job, rows, start, ahead, late)
            rows += 1
    for slot in range(held + 1, count + 1):  # it starts at an edge
        start = edges[first + slot]
        while freed < count and edges[first + freed + 1] <= start + runtime:
            freed += 1
        _meet(jobs, edges, levels, breaks, job, rows, start, slot, freed)
        rows += 1
    for slot in range(count + 1):  # it ends at an edge
        start = edges[first + slot] - runtime
        if start > submit:
            while held < count and edges[first + held + 1] <= start:
                held += 1
            _meet(jobs, edges, levels, breaks, job, rows, start, held, slot)
            rows += 1
    return rows


@kernel
def cheapest_starts(
    jobs: PricedJobs,
    edges: FloatArray,
    levels: FloatArray,
    costs: FloatArray,
    starts: FloatArray,
    jobs_from: int,
    jobs_to: int,
) -> None:
    """Fill in the least cost of each job and a start that has it. O(slots of the windows)."""
    longest = 0
    for job in range(jobs_from, jobs_to):
        longest = max(longest, jobs.offsets[job + 1] - jobs.offsets[job])
    breaks = new_breaks(longest)
    for job in range(jobs_from, jobs_to):
        best = 0
        for row in range(break_points(jobs, edges, levels, breaks, job)):
            if breaks.cost[row] < breaks.cost[best]:
                best = row
        costs[job] = breaks.cost[best]
        starts[job] = breaks.start[best]
