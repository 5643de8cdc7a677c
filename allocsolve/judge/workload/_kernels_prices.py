"""Compiled, for the judge: the least cost of each job under prices."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.judge._kernels_slots import paid_until
from allocsolve.judge.workload._kernels_work_prices import Slots, slot_at
from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.model import AMDAHL, MALLEABLE, OVERHEAD, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.judge.certificates import Prices
    from allocsolve.model import FloatArray, IntArray, PackedJobs

#: Costs above this count as this, which is a lower bound on them; sums of a few such costs fit into 64 bits.
HIGHEST = 2**61


class Delays(NamedTuple):
    """The cost of jobs by the time from submission to end: ``max(floor, numerator * time // divisor)``.

    Shape (jobs,) each; the numerator is ``whole * divisor + rest``.
    """

    #: In units of time.
    submit: IntArray
    whole: IntArray
    rest: IntArray
    divisor: IntArray
    floor: IntArray


@inner_kernel
def _product(a: int, b: int) -> int:
    """Return the product of two integers >= 0, or `HIGHEST` if it is above."""
    return min(a * b, HIGHEST) if float(a) * float(b) < HIGHEST else HIGHEST


@inner_kernel
def _delay_cost(delays: Delays, j: int, time: int) -> int:
    """Return the cost of a job that ends so long after its submission, at most `HIGHEST`."""
    if time <= 0:
        return int(delays.floor[j])
    cost = _product(delays.whole[j], time)
    if float(delays.rest[j]) * float(time) < HIGHEST:
        cost += delays.rest[j] * time // delays.divisor[j]
    return int(max(delays.floor[j], min(cost, HIGHEST)))


@inner_kernel
def _cost(prices: Prices, delays: Delays, j: int, nodes: int, time: int, start: int) -> int:
    used = paid_until(prices, start + time) - paid_until(prices, start)
    return _delay_cost(delays, j, start + time - delays.submit[j]) + _product(nodes, used)


@inner_kernel
def _least(
    prices: Prices, delays: Delays, j: int, held: tuple[int, int, int], least: int, steps: int
) -> tuple[int, int]:
    """Return the lesser of `least` and the least cost of a job on some nodes, and the steps that are left.

    `held` is the number of nodes, the run time, and the latest start whose delay costs the floor.
    Starts are compared at the submission, where the floor is left, at edges, and a run time before edges.
    The search ends when the delay of a start alone costs more, or when no steps are left.
    """
    nodes, time, free = held
    submit, edges = delays.submit[j], prices.edges
    best = min(least, _cost(prices, delays, j, nodes, time, submit))
    if free > submit:
        best = min(best, _cost(prices, delays, j, nodes, time, free))
    for ends in range(2):
        first = submit + ends * time
        for k in range(bisect_right(edges, len(edges), first), len(edges)):
            start = edges[k] - ends * time
            delay = _delay_cost(delays, j, start + time - submit)
            if delay >= best:
                break
            if steps <= 0:
                best = delay
                break
            steps -= 1
            best = min(best, _cost(prices, delays, j, nodes, time, start))
    return best, steps


@inner_kernel
def _speedup_ratio(law: int, parameter: float, nodes: float, reference: float) -> float:
    if law == AMDAHL:
        return (1 - parameter + parameter / nodes) / (1 - parameter + parameter / reference)
    if law == OVERHEAD:
        return (1 / nodes + parameter * nodes) / (1 / reference + parameter * reference)
    return float((reference / nodes) ** parameter)


@kernel
def least_costs(
    jobs: PackedJobs, delays: Delays, free: IntArray, units: tuple[float, float], prices: Prices, steps: int
) -> tuple[int, int]:
    """Return the sum of the least costs of the jobs as ``(high, low)``: ``high * 2^31 + low``.

    Malleable and evolving jobs are skipped. The delay costs the floor up to the end `free`, shape (jobs,), in
    units of time. `units` are those of time in a second, and how many of them each run is shortened by. After
    so many starts have been compared, a job counts with the delay of its next start, which is a lower bound.
    """
    per_second, shorter = units
    high, low = 0, 0
    for j in range(len(free)):
        if jobs.kind[j] >= MALLEABLE:
            continue
        law = jobs.speedup[j]
        first, count = 0, jobs.max_nodes[j] - jobs.min_nodes[j] + 1
        if law == SPEEDUP_TABLE:
            first = jobs.table_offsets[j]
            count = jobs.table_offsets[j + 1] - first
        best = HIGHEST
        for i in range(count):
            # From the largest size down: if larger sizes are faster, the delay without a wait only grows.
            row = count - 1 - i
            if law == SPEEDUP_TABLE:
                nodes, seconds = jobs.table_nodes[first + row], jobs.table_seconds[first + row]
            else:
                nodes, seconds = jobs.min_nodes[j] + row, jobs.runtime[j]
                if count > 1:  # the factor lowers more than rounding can raise
                    seconds *= _speedup_ratio(law, jobs.parameter[j], nodes, jobs.nodes[j]) * (1 - 2.0**-50)
            length = seconds * per_second - shorter
            if length < 0 or (delays.whole[j] == 0 and delays.rest[j] == 0):
                best = min(best, delays.floor[j])
                break
            time = int(length)
            delay = _delay_cost(delays, j, time)
            if steps <= 0:
                best = min(best, delay)
            if delay < best:
                held = (nodes, time, free[j] - time)
                best, steps = _least(prices, delays, j, held, best, steps - 1)
            elif law != SPEEDUP_TABLE and law != OVERHEAD:  # noqa: PLR1714 - smaller sizes may be faster
                break
        high += best >> 31
        low += best & (2**31 - 1)
    return high, low


class JobRows(NamedTuple):
    """Jobs in ticks, read-only: an end at t costs ``slope * max(floor, t - late) / divisor``."""

    submit: IntArray
    runtime: IntArray
    slope: IntArray
    floor: IntArray
    late: IntArray  #: the moment from which on delays are counted
    divisor: IntArray


class WindowPrices(NamedTuple):
    """Prices per tick, read-only: ``prices[offsets[j]:offsets[j + 1]]`` for job j, from ``first[j]`` on."""

    edges: IntArray
    first: IntArray
    offsets: IntArray
    prices: IntArray


class PhasedRun(NamedTuple):
    """A job with phases that costs ``max(floor, slope (C - submit))``, if it ends at C, besides its nodes."""

    submit: float
    slope: float
    floor: float
    #: The least seconds from its start to its end.
    shortest: float
    #: Shape (phases,), in order: the seconds of each phase on the most nodes that it can use, and these
    #: nodes.
    seconds: FloatArray
    nodes: FloatArray


class _Held(NamedTuple):
    """The prices and lengths of the cheapest stretches of time in a window, the cheapest first."""

    prices: FloatArray
    lengths: FloatArray


@inner_kernel
def _delay(run: PhasedRun, end: float) -> float:
    return max(run.floor, run.slope * (end - run.submit))


@inner_kernel
def _held_with(held: _Held, count: int, needed: float, price: float, length: float) -> int:
    """Insert the stretch of one more slot; return how many entries then fill the `needed` seconds."""
    at = count
    while at > 0 and held.prices[at - 1] > price:
        held.prices[at], held.lengths[at] = held.prices[at - 1], held.lengths[at - 1]
        at -= 1
    held.prices[at], held.lengths[at] = price, min(length, needed)
    total = 0.0
    for k in range(count + 1):
        total += held.lengths[k]
        if total >= needed:
            return k + 1
    return count + 1


@inner_kernel
def _paid(held: _Held, count: int, needed: float, below: float) -> tuple[float, float]:
    """Return the cost of the cheapest seconds below a price, at most `needed`, and how many are missing.

    None are missing if there are enough, whatever the rounding of sums.
    """
    missing, paid = needed, 0.0
    for k in range(count):
        if held.prices[k] >= below or missing <= 0:
            break
        length = min(held.lengths[k], missing)
        missing -= length
        paid += length * held.prices[k]
    return paid, missing


@inner_kernel
def _at_once(run: PhasedRun, slots: Slots) -> float:
    """Return the least cost of runs without breaks that start at the submission or at an edge."""
    best = inf
    first = slot_at(slots, run.submit)
    for k in range(first, len(slots.begins)):
        start = max(run.submit, slots.begins[k])
        moment, cost, slot = start, 0.0, k
        for i in range(len(run.seconds)):
            end = moment + run.seconds[i]
            while slot + 1 < len(slots.begins) and slots.begins[slot + 1] < end:
                cost += run.nodes[i] * slots.prices[slot] * (slots.begins[slot + 1] - moment)
                slot += 1
                moment = slots.begins[slot]
            cost += run.nodes[i] * slots.prices[slot] * (end - moment)
            moment = end
        best = min(best, cost + _delay(run, max(moment, start + run.shortest)))
        if _delay(run, start + run.shortest) >= best:
            break
    return best


@inner_kernel
def _after_phase(
    run: PhasedRun,
    slots: Slots,
    held: _Held,
    i: int,
    ready: float,
    most: float,
    tables: FloatArray,
    steps: int,
) -> int:
    """Compute the least price of the phases up to phase i, by the slot of its end; return the steps left.

    The rows of `tables` take turns: one holds the prices up to the phase before, the other is written.
    """
    last = len(slots.begins) - 1
    before, after = tables[i % 2], tables[1 - i % 2]
    needed, nodes = run.seconds[i], run.nodes[i]
    rest = 0.0
    for later in range(i + 1, len(run.seconds)):
        rest += run.seconds[later]
    for b in range(last + 1):
        after[b] = inf
    for a in range(slot_at(slots, run.submit), last + 1):
        if before[a] == inf or (a > 0 and before[a - 1] <= before[a]):
            continue
        start = max(slots.begins[a], ready)
        count = 0
        if steps < 0:
            return steps
        for b in range(a, last + 1):
            begin = max(slots.begins[b], start)
            if before[a] + _delay(run, max(begin, start + needed) + rest) > most:
                break
            end = slots.begins[b + 1] if b < last else inf
            if end > begin:
                count = _held_with(held, count, needed, slots.prices[b], end - begin)
            steps -= count + 1
            paid, missing = _paid(held, count, needed, inf)
            if missing <= 0:
                after[b] = min(after[b], before[a] + nodes * paid)
    for b in range(1, last + 1):
        after[b] = min(after[b], after[b - 1])
    return steps


@inner_kernel
def _end_of_phases(
    run: PhasedRun, slots: Slots, held: _Held, ready: float, most: float, before: FloatArray, steps: int
) -> tuple[float, int]:
    """Return the least cost of the job from the prices up to its last but one phase, and the steps left."""
    last, i = len(slots.begins) - 1, len(run.seconds) - 1
    needed, nodes = run.seconds[i], run.nodes[i]
    soonest = max(run.submit + run.shortest, run.submit + run.floor / run.slope)
    best = most
    for a in range(slot_at(slots, run.submit), last + 1):
        if before[a] == inf or (a > 0 and before[a - 1] <= before[a]):
            continue
        start = max(slots.begins[a], ready)
        earliest = max(soonest, start + needed)
        count = 0
        if steps < 0:
            return best, steps
        for k in range(a, last + 1):
            begin, price = max(slots.begins[k], start), slots.prices[k]
            end = slots.begins[k + 1] if k < last else inf
            if end > earliest:
                opens = max(begin, earliest)
                delay = _delay(run, opens)
                if before[a] + delay >= best:
                    break
                if opens > begin:
                    count = _held_with(held, count, needed, price, opens - begin)
                # A later end replaces the seconds that are dearer than one more second until the end.
                paid, longer = _paid(held, count, needed, price + run.slope / nodes)
                if opens + longer <= end:
                    best = min(best, before[a] + delay + nodes * paid + (run.slope + nodes * price) * longer)
                begin = opens
            if end > begin:
                count = _held_with(held, count, needed, price, end - begin)
            steps -= 2 * count + 1
    return best, steps


@kernel
def least_cost_of_phases(run: PhasedRun, slots: Slots, steps: int) -> tuple[float, int]:
    """Return a lower bound on the cost of a job, its nodes paid for, and the steps that are left.

    If the steps run out, the bound is the delay of the shortest run.

    Notes
    -----
    *Proof.* Let the phases of a run end in slots k1 <= k2 <= ... Phase i lies in a window: from the start of
    slot k(i - 1), but not before all earlier phases can be done, to the end of slot k(i). It can use no more
    than its most nodes, so it takes at least its seconds on these, and costs at least the cheapest such
    seconds of the window. The last window ends with the job. In a slot with the price l, a second more until
    the end costs ``slope`` and makes room for a second at l. So the cost is convex in the end, and least
    where all seconds dearer than ``l + slope / nodes`` are replaced, if that is in the slot; otherwise it is
    least at the start of this slot or in a later one, which are compared, too. The least cost over all k is
    computed phase by phase. Paths that cost more than a limit are dropped, as the limit bounds them: here it
    is the cost of some run.
    """
    alone = _delay(run, run.submit + run.shortest)
    count, size = len(run.seconds), len(slots.begins)
    tables = np.full((2, size), inf)
    held = _Held(np.empty(2 * size), np.empty(2 * size))
    tables[0, slot_at(slots, run.submit) :] = 0.0
    most = _at_once(run, slots)
    ready = run.submit
    for i in range(count - 1):
        steps = _after_phase(run, slots, held, i, ready, most, tables, steps)
        ready += run.seconds[i]
    best, steps = _end_of_phases(run, slots, held, ready, most, tables[(count - 1) % 2], steps)
    return (max(alone, best) if steps >= 0 else alone), steps
