"""Kernels: the cheapest start and size of each job, or run of its profile, under prices of node-seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.search import bisect_right
from allocsolve.model import MALLEABLE, NO_SPEEDUP, OVERHEAD, SPEEDUP_TABLE
from allocsolve.model.speedup import time_factor

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedJobs


class PriceList(NamedTuple):
    """What a node-second costs: nothing outside the slots."""

    #: Shape (slots + 1,), increasing, seconds.
    edges: FloatArray
    #: Shape (slots + 1,): the price in each slot, and 0 after the last.
    prices: FloatArray
    #: Shape (slots + 1,): the cost of a node from the first edge to each edge.
    integral: FloatArray


def price_list(edges: IntArray, prices: FloatArray) -> PriceList:
    """Return prices, shape (slots,), with their sums."""
    integral = np.zeros(len(edges))
    np.cumsum(prices * np.diff(edges), out=integral[1:])
    columns = (edges.astype(np.float64), np.append(prices, 0.0), integral)
    for column in columns:
        column.setflags(write=False)
    return PriceList(*columns)


class Cheapest(NamedTuple):
    """Where `cheapest` writes."""

    #: Shape (jobs,).
    costs: FloatArray
    starts: FloatArray
    sizes: IntArray
    #: Shape (slots + 1,): node-seconds used in each slot; one entry for the rest of the time.
    usage: FloatArray
    #: Shape (slots + 2,), work space of the kernel.
    steps: FloatArray


class Run(NamedTuple):
    """A job on one of its sizes."""

    submit: float
    slope: float
    floor: float
    nodes: int
    run_time: float


@inner_kernel
def slot_of(edges: FloatArray, moment: float) -> int:
    """Return the slot of a moment: the number of edges up to it, less one; -1 before the first edge."""
    return bisect_right(edges, len(edges), moment) - 1


@inner_kernel
def _paid(listed: PriceList, slot: int, moment: float) -> float:
    """Return the cost of a node until a moment, which lies in the slot."""
    if slot < 0:
        return 0.0
    paid: float = listed.integral[slot] + listed.prices[slot] * (moment - listed.edges[slot])
    return paid


@inner_kernel
def paid_until(listed: PriceList, moment: float) -> float:
    """Return the cost of a node until a moment."""
    return _paid(listed, slot_of(listed.edges, moment), moment)


@inner_kernel
def _best_start(listed: PriceList, run: Run, least_cost: float) -> tuple[float, float]:
    """Return the least cost of a run and its start; `least_cost` if none is below it.

    The cost is linear in the start between those where the job starts or ends at an edge or leaves its
    floor. Its minimum is at the submission, or where its slope rises: where the job leaves the floor, starts
    at an edge at which the price falls, or ends at one at which it rises.
    """
    submit, slope, floor, nodes, run_time = run
    best, start = least_cost, submit
    paid = paid_until(listed, submit + run_time) - paid_until(listed, submit)
    cost = max(floor, slope * run_time) + nodes * paid
    best = min(best, cost)
    if slope == 0:
        if floor < best:
            best, start = floor, max(submit, listed.edges[-1])
        return best, start
    free = submit + floor / slope - run_time
    if free > submit and floor < best:
        cost = floor + nodes * (paid_until(listed, free + run_time) - paid_until(listed, free))
        if cost < best:
            best, start = cost, free
    best, start = _best_at_edge(listed, run, best, start)
    return _best_until_edge(listed, run, best, start)


@inner_kernel
def _best_at_edge(listed: PriceList, run: Run, best: float, start: float) -> tuple[float, float]:
    """Return the lower of the best cost and that of a start at an edge at which the price falls."""
    edges, prices = listed.edges, listed.prices
    submit, slope, floor, nodes, run_time = run
    last = len(edges) - 1
    until = slot_of(edges, submit + run_time)
    for k in range(slot_of(edges, submit) + 1, last + 1):
        delayed = max(floor, slope * (edges[k] + run_time - submit))
        if delayed >= best:
            break
        if k > 0 and prices[k] < prices[k - 1]:
            end = edges[k] + run_time
            while until < last and edges[until + 1] <= end:
                until += 1
            cost = delayed + nodes * (_paid(listed, until, end) - listed.integral[k])
            if cost < best:
                best, start = cost, edges[k]
    return best, start


@inner_kernel
def _best_until_edge(listed: PriceList, run: Run, best: float, start: float) -> tuple[float, float]:
    """Return the lower of the best cost and that of an end at an edge at which the price rises."""
    edges, prices = listed.edges, listed.prices
    submit, slope, floor, nodes, run_time = run
    at = slot_of(edges, submit)
    for k in range(slot_of(edges, submit + run_time) + 1, len(edges)):
        delayed = max(floor, slope * (edges[k] - submit))
        if delayed >= best:
            break
        if k == 0 or prices[k] > prices[k - 1]:
            begin = edges[k] - run_time
            while at < len(edges) - 1 and edges[at + 1] <= begin:
                at += 1
            cost = delayed + nodes * (listed.integral[k] - _paid(listed, at, begin))
            if cost < best:
                best, start = cost, begin
    return best, start


_time_factor = inner_kernel(time_factor)


@inner_kernel
def _largest(jobs: PackedJobs, j: int) -> int:
    """Return the most nodes on which a job may be best, by its law: on more it is not faster."""
    low, high, parameter = jobs.min_nodes[j], jobs.max_nodes[j], jobs.parameter[j]
    if jobs.speedup[j] == OVERHEAD:
        if parameter > 0:
            high = min(high, int(min(np.ceil(1 / np.sqrt(parameter)), 2.0**53)))
        return int(max(low, high))
    return int(high if parameter != 0 else low)


@kernel
def cheapest(
    jobs: PackedJobs, slope: FloatArray, floor: FloatArray, slack: float, listed: PriceList, out: Cheapest
) -> float:
    """Return the sum of the least costs of the jobs, each by itself; write the costs, and what the jobs use.

    Malleable and evolving jobs are left out. `slope` and `floor`, shape (jobs,), say what a job costs by its
    end, see `JobCosts`; run times are taken shorter by `slack` seconds.

    Notes
    -----
    *Complexity*: for each job and each of its sizes O(log slots + edges until its delay alone costs more than
    its best start). Sizes of a table with a smaller one that is as fast are left out; of a law, all from the
    fastest on down until one costs more than the best by its run time alone.
    """
    edges, steps, usage = listed.edges, out.steps, out.usage
    last = len(edges) - 1
    steps[:] = 0
    usage[:] = 0
    total = 0.0
    for j in range(len(slope)):
        if jobs.kind[j] >= MALLEABLE:
            continue
        law, parameter = jobs.speedup[j], jobs.parameter[j]
        high = _largest(jobs, j)
        first, count = 0, high - jobs.min_nodes[j] + 1
        if law == SPEEDUP_TABLE:
            first = jobs.table_offsets[j]
            count = jobs.table_offsets[j + 1] - first
        reference = 1.0 if law == NO_SPEEDUP else _time_factor(law, parameter, jobs.nodes[j])
        best, start, size, length, fastest = np.inf, 0.0, 0, 0.0, np.inf
        for i in range(count):
            if law == SPEEDUP_TABLE:
                nodes, run_time = jobs.table_nodes[first + i], jobs.table_seconds[first + i]
                if run_time >= fastest:
                    continue
                fastest = run_time
            else:
                nodes, run_time = high - i, jobs.runtime[j]
                if nodes != jobs.nodes[j]:
                    run_time *= _time_factor(law, parameter, nodes) / reference
            run_time = max(0.0, run_time - slack)
            if max(floor[j], slope[j] * run_time) >= best:
                if law == SPEEDUP_TABLE:
                    continue
                break
            run = Run(jobs.submit[j], slope[j], floor[j], nodes, run_time)
            cost, begin = _best_start(listed, run, best)
            if cost < best:
                best, start, size, length = cost, begin, nodes, run_time
        out.costs[j], out.starts[j], out.sizes[j] = best, start, size
        total += best
        at, until = slot_of(edges, start), slot_of(edges, start + length)
        if at == until:
            usage[at] += size * length
        else:
            usage[at] += size * (edges[at + 1] - start)
            usage[until] += size * (start + length - edges[max(until, 0)])
            steps[at + 1] += size
            steps[until] -= size
    level = 0.0
    for k in range(last):
        level += steps[k]
        usage[k] += level * (edges[k + 1] - edges[k])
    return total


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
    """Work space of `cheapest_profiles`, for the steps of one job."""

    #: Shape (steps + 1,): the slots in which the job starts and its steps end.
    slots: IntArray
    #: Shape (steps + 1,): the least cost of a step and all before it, without the price until its end.
    least: FloatArray
    #: Shape (steps + 1, steps + 1): the delays of the start and of earlier ends at that cost; the last row is
    #: that of the best run.
    delays: FloatArray


def sweep(num_steps: int) -> Sweep:
    """Return work space for a job of `num_steps` steps."""
    shape = num_steps + 1
    return Sweep(np.empty(shape, dtype=np.int64), np.empty(shape), np.empty((shape, shape)))


@inner_kernel
def _best_until(listed: PriceList, rows: ProfileRows, at: int, delay: float, memory: Sweep) -> float:
    """Return the least price of a run whose last step ends with this delay; remember its other delays."""
    first, count = rows.offsets[at], rows.offsets[at + 1] - rows.offsets[at]
    waits = rows.waits[at]
    paid, before = 0.0, _paid(listed, memory.slots[0], delay)
    for i in range(count):
        nodes = rows.nodes[first + i]
        begun = paid - nodes * before
        if not waits or begun < memory.least[i]:
            memory.least[i] = begun
            for earlier in range(i):
                memory.delays[i, earlier] = memory.delays[i - 1, earlier]
            memory.delays[i, i] = delay
        before = _paid(listed, memory.slots[i + 1], delay + rows.until[first + i])
        paid = memory.least[i] + nodes * before
    return paid


@inner_kernel
def _cheapest(
    listed: PriceList, rows: ProfileRows, at: int, submit: float, slope: float, floor: float, memory: Sweep
) -> float:
    """Return the least cost of a job; its delays are left in the last row of the work space."""
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
        # The next delay with which the start or the end of a step reaches an edge.
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
    """Return the sum of the least costs of jobs with profiles, each by itself; write costs and usage.

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
