"""Compiled, for the judge: what a job with phases costs at least under prices of node-seconds, in floats."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.judge._kernels_work_prices import Slots, slot_at
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray

__all__ = ["PhasedRun", "least_cost_of_phases"]


class PhasedRun(NamedTuple):
    """A job that ends at C costs ``max(floor, slope (C - submit))``, and its nodes."""

    submit: float
    slope: float
    floor: float
    #: Seconds from its start to its end, at least.
    shortest: float
    #: Shape (phases,): in order, how long each is on the most nodes that it uses, and these.
    seconds: FloatArray
    nodes: FloatArray


class _Held(NamedTuple):
    """Prices and lengths of the cheapest seconds of a window, the cheapest first."""

    prices: FloatArray
    lengths: FloatArray


@inner_kernel
def _delay(run: PhasedRun, end: float) -> float:
    return max(run.floor, run.slope * (end - run.submit))


@inner_kernel
def _held_with(held: _Held, count: int, needed: float, price: float, length: float) -> int:
    """Put seconds of one more slot in their place; return how many entries are needed from then on."""
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
    """Return what a node pays for the cheapest seconds below a price, and for how many, at most `needed`."""
    total, paid = 0.0, 0.0
    for k in range(count):
        if held.prices[k] >= below or total >= needed:
            break
        length = min(held.lengths[k], needed - total)
        total += length
        paid += length * held.prices[k]
    return paid, total


@inner_kernel
def _at_once(run: PhasedRun, slots: Slots) -> float:
    """Return what some run costs whose phases follow each other, from the submission or an edge on."""
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
    """Turn the least prices before a phase into those after it, by slots of ends; return the steps left.

    Of the two rows of the tables one is read and the other written.
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
            paid, total = _paid(held, count, needed, inf)
            if total >= needed:
                after[b] = min(after[b], before[a] + nodes * paid)
    for b in range(1, last + 1):
        after[b] = min(after[b], after[b - 1])
    return steps


@inner_kernel
def _end_of_phases(
    run: PhasedRun,
    slots: Slots,
    held: _Held,
    ready: float,
    most: float,
    before: FloatArray,
    steps: int,
) -> tuple[float, int]:
    """Return the least cost of the job from the prices before its last phase, and the steps left."""
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
                # A second more until the end costs as much as one at this price, in place of which it comes.
                paid, total = _paid(held, count, needed, price + run.slope / nodes)
                longer = needed - total
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

    If there are none left on the way, the delay of its shortest run is returned.

    Notes
    -----
    *Proof.* Let the phases of a run end in slots k1 <= k2 <= ... Phase i lies in the window from the begin of
    slot k(i - 1), and from when all before can be done, to the end of slot k(i). It holds at most the nodes
    of this phase usefully, so it takes at least its seconds on these: at least the cheapest seconds of the
    window. The last window ends with the job. There, with the price l, one more second until the end costs
    ``slope`` and makes room for one at l: the cost is convex in the end, and least where all dearer seconds
    than ``l + slope / nodes`` are replaced, if that is in the slot. Else it is at the begin of this slot or a
    later one, which are looked at. The least cost over all k is found phase by phase. Paths that cost more
    than some number are left out, but then that number is a bound on them: here the cost of some run.
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
