"""Kernels: the cheapest end and sizes of jobs that change their size, under the prices of node-seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_phase_prices import WorkLaw, held_nodes, level_price, work_law
from allocsolve.bounds.workload._kernels_prices import PriceList, slot_of
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import MALLEABLE, NO_SPEEDUP

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedJobs

#: The most steps of the search for a work price at an edge.
_MOST_STEPS = 60
#: The relative gap that ends the search: far below the tolerance of the judge.
_GAP = 1e-11


class CheapestWork(NamedTuple):
    """Arrays that `cheapest_work` writes, for malleable jobs and those with requests only."""

    #: Shape (jobs,).
    costs: FloatArray
    #: When a job first holds nodes, and its mean size while it holds any.
    starts: FloatArray
    sizes: IntArray
    ends: FloatArray
    #: What the work of a job costs at its cheapest end.
    work_prices: FloatArray
    #: Shape (slots + 1,): the node-seconds used are added to it.
    usage: FloatArray


class Held(NamedTuple):
    """How a job is cheapest with a given end, by two work prices around its own; without the cost."""

    end: float
    #: The slot of the end.
    slot: int
    low: float
    high: float
    #: The weight of the nodes held under `high`; those held under `low` have the rest of 1.
    part: float


@inner_kernel
def _sums(
    jobs: PackedJobs,
    job: WorkLaw,
    listed: PriceList,
    slots: tuple[int, int],
    end: float,
    work_price: float,
) -> tuple[float, float]:
    """Return the gain of a work price from the submission to an end, which is negative, and the work done."""
    gain, work = 0.0, 0.0
    if work_price <= 0:
        return gain, work
    edges, prices = listed.edges, listed.prices
    first, until = slots
    begin = job.submit
    for k in range(first, until + 1):
        stop = end if k == until else edges[k + 1]
        price = prices[k] if k >= 0 else 0.0
        nodes, rate = held_nodes(jobs, job, price, work_price)
        each = price * nodes - work_price * rate
        if each < 0:
            gain += each * (stop - begin)
            work += rate * (stop - begin)
        begin = stop
    return gain, work


@inner_kernel
def _at_end(
    jobs: PackedJobs,
    job: WorkLaw,
    listed: PriceList,
    slots: tuple[int, int],
    end: float,
    between: tuple[float, float],
    least_cost: float,
) -> tuple[float, float, Held]:
    """Return the least cost of the work until an end, the cost under the lower work price, and the holding.

    The dual function is concave in the work price, and its maximum lies between two prices. Its tangents at
    both meet above it: the next price is where they meet or, in every other step, where the slope would
    vanish. If the cost is above `least_cost`, any value above that is returned.
    """
    low, high = between
    gain, work = _sums(jobs, job, listed, slots, end, low)
    at_low, slope_low = low + gain, 1 - work
    gain, work = _sums(jobs, job, listed, slots, end, high)
    at_high, slope_high = high + gain, 1 - work
    for step in range(_MOST_STEPS):
        best = max(at_low, at_high)
        if best >= least_cost or slope_low <= 0 or slope_high >= 0:
            break
        meet = (at_high - at_low + slope_low * low - slope_high * high) / (slope_low - slope_high)
        if at_low + slope_low * (meet - low) - best <= _GAP * abs(best):
            break
        if step % 2:
            meet = low + (high - low) * slope_low / (slope_low - slope_high)
        if not low < meet < high:
            meet = (low + high) / 2
        gain, work = _sums(jobs, job, listed, slots, end, meet)
        if work <= 1:
            low, at_low, slope_low = meet, meet + gain, 1 - work
        else:
            high, at_high, slope_high = meet, meet + gain, 1 - work
    part = slope_low / (slope_low - slope_high) if slope_low > slope_high else 1.0
    return max(at_low, at_high), at_low, Held(end, slots[1], low, high, min(max(part, 0.0), 1.0))


@inner_kernel
def _per_second(
    jobs: PackedJobs, job: WorkLaw, slope: float, price: float, work_price: float
) -> tuple[float, float]:
    """Return the cost of another second until the end under a work price, and the work done in it."""
    nodes, rate = held_nodes(jobs, job, price, work_price)
    if price * nodes < work_price * rate:
        return slope + price * nodes - work_price * rate, rate
    return slope, 0.0


@inner_kernel
def _carried_on(
    jobs: PackedJobs,
    job: WorkLaw,
    slope: float,
    price: float,
    length: float,
    carried: float,
    cost: float,
    best: float,
) -> float:
    """Return the cost under a work price at the end of a slot, from that at its beginning; or -1.

    It is -1 if the work price does not prove that no end in the slot costs less than the best.
    """
    change, _ = _per_second(jobs, job, slope, price, carried)
    if change != 0:
        change *= length
    return cost + change if cost + min(0.0, change) >= best * (1 - _GAP) else -1.0


@inner_kernel
def _cheapest(
    jobs: PackedJobs, job: WorkLaw, listed: PriceList, slope: float, floor: float
) -> tuple[float, Held]:
    """Return the least cost of a job, and how it is reached."""
    edges, last, submit = listed.edges, len(listed.edges) - 1, job.submit
    first = slot_of(edges, submit)
    _, fastest = level_price(jobs, job, 1.0, 0.0)
    free = submit + floor / slope
    earliest = slot_of(edges, max(free, submit + (1 - 1e-9) / fastest))
    best, held = np.inf, Held(submit, earliest, 0.0, 0.0, 1.0)
    # The cost as a function of the end: whether it falls just before this slot; the level of the slot
    # before; an upper bound on the work prices of all later ends, where one is known.
    falling, before, highest = True, 0.0, np.inf
    # A work price below those of all ends so far, and the work done under it when the slot begins.
    # Further, a work price (0: none) under which no end in the slot before costs less than the best, and the
    # cost under it of an end at the beginning of this slot.
    probe, done, carried, at_carried = 0.0, 0.0, 0.0, 0.0
    for k in range(earliest, last + 1):
        begin = max(edges[k] if k >= 0 else submit, free, submit)
        until = edges[k + 1] if k < last else np.inf
        delay = max(floor, slope * (begin - submit))
        if delay >= best:
            break
        price = listed.prices[k] if k >= 0 else 0.0
        if carried > 0:
            at_carried = _carried_on(jobs, job, slope, price, until - begin, carried, at_carried, best)
            if at_carried > 0:
                falling = False
                continue
        carried = 0.0
        level, rate = level_price(jobs, job, slope, price)
        if falling and level <= probe and k < last:
            _, probed = _per_second(jobs, job, slope, price, probe)
            done += probed * (until - begin)
            if done < 1:  # the cost falls in the whole slot, as under a lower work price
                before = level
                continue
        if falling or level < highest:
            gain, work = _sums(jobs, job, listed, (first, k), begin, level)
            carried, at_carried = level, delay + level + gain
            end = begin + (1 - work) / rate
            if work <= 1 and end > until:
                falling, probe, done = True, level, work + rate * (until - begin)
            elif work <= 1:
                falling, highest = False, level
                if at_carried < best:
                    best, held = at_carried, Held(end, k, level, level, 1.0)
            elif falling:
                cost, lower, at = _at_end(jobs, job, listed, (first, k), begin, (before, level), best - delay)
                if delay + cost < best:
                    best, held = delay + cost, at
                change, _ = _per_second(jobs, job, slope, price, at.low)
                if k < last and change >= 0:
                    carried, at_carried = at.low, delay + lower + change * (until - begin)
            if work > 1:
                falling, highest = False, min(highest, level)
            if at_carried < best * (1 - _GAP):
                carried = 0.0
        before = level
    return best, held


@inner_kernel
def _use(
    jobs: PackedJobs, job: WorkLaw, listed: PriceList, held: Held, usage: FloatArray
) -> tuple[float, float]:
    """Add what a job holds; return when it begins, and its mean size while it holds nodes."""
    edges, prices = listed.edges, listed.prices
    begin, start, area, lasted = job.submit, held.end, 0.0, 0.0
    for k in range(slot_of(edges, begin), held.slot + 1):
        stop = held.end if k == held.slot else edges[k + 1]
        price = prices[k] if k >= 0 else 0.0
        for side in range(2):
            part = held.part if side else 1 - held.part
            work_price = held.high if side else held.low
            if part <= 0 or work_price <= 0:
                continue
            nodes, rate = held_nodes(jobs, job, price, work_price)
            if price * nodes < work_price * rate:
                length = part * (stop - begin)
                # Times before the first slot and behind the last one share an entry.
                usage[k] += nodes * length
                area += nodes * length
                lasted += length
                start = min(start, begin)
        begin = stop
    return start, area / lasted if lasted > 0 else job.low


@kernel
def cheapest_work(
    jobs: PackedJobs, slope: FloatArray, floor: FloatArray, listed: PriceList, out: CheapestWork
) -> float:
    """Return the sum of the least costs of jobs that change their size by a law, each by itself.

    These are malleable jobs and those with requests. The costs, and what the jobs use, are written.

    `slope` and `floor`, shape (jobs,), say what a job costs by its end, see `JobCosts`.

    Notes
    -----
    A job may hold no nodes, or any real number from its fewest to its most (of a table: one of its rows), and
    change that at any time. If its end C is given, its nodes cost the greatest value over work prices m of

        D(m) = m + integral from submission to C of min(0, min over n of price * n - m * rate(n)).

    In a slot with price l the derivative of the cost by C is slope + min over n of (l n - m rate(n)), which
    is 0 at the price m = min over n of (slope + l n) / rate(n), the level of the slot, and rises with C, as
    the work price falls. So the least cost in a slot is inside if at its level the work done is at most 1 at
    its begin and at least 1 at its end, and then it is of closed form. Else it is at an edge where the level,
    so the price, rises, between the levels of its sides: there the work price is searched.

    Any work price bounds the cost of any end. One that proves a slot dearer than the best is carried on to
    the next slots in constant time, as is one that proves that later ends are cheaper.

    *Complexity*: for each job O(slots from its submission to its cheapest end, squared), at worst.
    """
    total = 0.0
    for j in range(len(slope)):
        if jobs.kind[j] < MALLEABLE or jobs.speedup[j] == NO_SPEEDUP:
            continue
        job = work_law(jobs, j)
        if slope[j] == 0:  # the job does not count, and takes nodes that cost nothing
            cost, held = (
                floor[j],
                Held(max(job.submit, listed.edges[-1]), len(listed.edges) - 1, 0.0, 0.0, 1.0),
            )
        else:
            cost, held = _cheapest(jobs, job, listed, slope[j], floor[j])
        start, size = _use(jobs, job, listed, held, out.usage)
        out.costs[j], out.starts[j], out.sizes[j] = cost, start, int(size + 0.5)
        out.ends[j], out.work_prices[j] = held.end, held.low + held.part * (held.high - held.low)
        total += cost
    return total
