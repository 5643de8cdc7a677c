"""Compiled: the cheapest run of each job with a profile, under the prices of node-seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_prices import Cheapest, PriceList, slot_of
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

__all__ = ["ProfileRows", "Sweep", "cheapest_profiles", "sweep"]


class ProfileRows(NamedTuple):
    """Jobs with profiles; the steps of one are ``offsets[i]:offsets[i + 1]``."""

    #: Shape (profiles,): indices of jobs.
    jobs: IntArray
    #: Shape (profiles,): whether the job may wait after a step.
    waits: IntArray
    #: Shape (profiles + 1,).
    offsets: IntArray
    #: Shape (steps,): seconds from the start of the job to the end of each step if it never waits.
    until: FloatArray
    nodes: FloatArray


class Sweep(NamedTuple):
    """Memory of `cheapest_profiles`, for so many steps of a job."""

    #: Shape (steps + 1,): the slots in which the job starts and its steps end.
    slots: IntArray
    #: Shape (steps + 1,): what a step costs at least, and all before, but for the price until its end.
    least: FloatArray
    #: Shape (steps + 1, steps + 1): the delays of the start and of earlier ends at that cost; the last row is
    #: that of the best run.
    delays: FloatArray


def sweep(num_steps: int) -> Sweep:
    """Return memory for so many steps of a job."""
    shape = num_steps + 1
    return Sweep(np.empty(shape, dtype=np.int64), np.empty(shape), np.empty((shape, shape)))


@inner_kernel
def _until(listed: PriceList, slot: int, moment: float) -> float:
    """Return what a node costs until a moment in a slot."""
    if slot < 0:
        return 0.0
    return float(listed.integral[slot] + listed.prices[slot] * (moment - listed.edges[slot]))


@inner_kernel
def _best_until(listed: PriceList, rows: ProfileRows, at: int, delay: float, memory: Sweep) -> float:
    """Return the least price of a run whose last step ends with this delay; remember its other delays."""
    first, count = rows.offsets[at], rows.offsets[at + 1] - rows.offsets[at]
    waits = rows.waits[at]
    paid, before = 0.0, _until(listed, memory.slots[0], delay)
    for i in range(count):
        nodes = rows.nodes[first + i]
        begun = paid - nodes * before
        if not waits or begun < memory.least[i]:
            memory.least[i] = begun
            for earlier in range(i):
                memory.delays[i, earlier] = memory.delays[i - 1, earlier]
            memory.delays[i, i] = delay
        before = _until(listed, memory.slots[i + 1], delay + rows.until[first + i])
        paid = memory.least[i] + nodes * before
    return paid


@inner_kernel
def _cheapest(
    listed: PriceList, rows: ProfileRows, at: int, submit: float, slope: float, floor: float, memory: Sweep
) -> float:
    """Return the least cost of a job; its delays are left in the last row of the memory."""
    edges, slots = listed.edges, memory.slots
    first, count = rows.offsets[at], rows.offsets[at + 1] - rows.offsets[at]
    runtime = rows.until[first + count - 1]
    free = submit + floor / slope - runtime
    delay = submit
    memory.least[:count] = np.inf
    slots[0] = slot_of(edges, submit)
    for i in range(count):
        slots[i + 1] = slot_of(edges, submit + rows.until[first + i])
    best = np.inf
    while True:
        late = max(floor, slope * (delay + runtime - submit))
        if late >= best:
            return best
        cost = late + _best_until(listed, rows, at, delay, memory)
        if cost < best:
            best = cost
            for i in range(count):
                memory.delays[count, i] = memory.delays[count - 1, i]
            memory.delays[count, count] = delay
        # The next delay with which the start or an end of a step comes to an edge.
        later = free if free > delay else np.inf
        for i in range(count + 1):
            if slots[i] + 1 < len(edges):
                later = min(later, edges[slots[i] + 1] - (rows.until[first + i - 1] if i else 0.0))
        if later == np.inf:
            return best
        delay = max(delay, later)
        for i in range(count + 1):
            if slots[i] + 1 < len(edges):
                slots[i] += edges[slots[i] + 1] - (rows.until[first + i - 1] if i else 0.0) <= delay


@inner_kernel
def _use(listed: PriceList, rows: ProfileRows, at: int, memory: Sweep, usage: FloatArray) -> float:
    """Add what the best run takes; return its mean size."""
    edges = listed.edges
    first, count = rows.offsets[at], rows.offsets[at + 1] - rows.offsets[at]
    delays = memory.delays[count]
    moment, area = delays[0], 0.0
    k = slot_of(edges, moment)
    for i in range(count):
        end = delays[i + 1] + rows.until[first + i]
        area += rows.nodes[first + i] * (end - moment)
        while k + 1 < len(edges) and edges[k + 1] < end:
            usage[k] += rows.nodes[first + i] * (edges[k + 1] - moment)
            k += 1
            moment = edges[k]
        usage[k] += rows.nodes[first + i] * (end - moment)
        moment = end
    return float(area / (moment - delays[0]))


@kernel
def cheapest_profiles(
    submit: FloatArray,
    slope: FloatArray,
    floor: FloatArray,
    rows: ProfileRows,
    listed: PriceList,
    memory: Sweep,
    out: Cheapest,
) -> float:
    """Return the sum of the least costs of jobs with profiles, each alone; write them, and what they use.

    Notes
    -----
    Let the start and the end of each step have a delay against a run from time 0 without waiting. A job waits
    when delays rise from one to the next; they never fall. While no start or end passes an edge or leaves the
    floor, the cost is linear in the delays. So each delay is at best one with which the start or the end of
    a step, of this one or of one with the same delay, comes to an edge, is the submission or leaves the
    floor: one sweep over these, in which the least price of each step so far is carried on, is exact. A job
    that may not wait has one delay.

    *Complexity*: O(steps * slots) delays from the submission to the cheapest end, and O(steps) for each,
    O(steps^2) where prices fall.
    """
    total = 0.0
    for at in range(len(rows.jobs)):
        j = rows.jobs[at]
        if slope[j] == 0:
            out.costs[j], out.starts[j], out.sizes[j] = floor[j], max(submit[j], listed.edges[-1]), 1
        else:
            out.costs[j] = _cheapest(listed, rows, at, submit[j], slope[j], floor[j], memory)
            size = _use(listed, rows, at, memory, out.usage)
            count = rows.offsets[at + 1] - rows.offsets[at]
            out.starts[j], out.sizes[j] = memory.delays[count, 0], int(size + 0.5)
        total += out.costs[j]
    return total
