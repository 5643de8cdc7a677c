"""Compiled, for the judge: lower bounds, in floats, on the cost of jobs that change their size by a law.

For the proof, and for mu, the price of work, see `allocsolve.judge.workload.certificate`.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import AMDAHL, MALLEABLE, NO_SPEEDUP, OVERHEAD, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, PackedJobs

#: The share of the sum of all its terms by which a bound is lowered: far above the rounding over 10^5 slots.
ROUNDING_MARGIN = 1e-9
#: Prices of work that are tried for a slot, and the relative gain below which no more are tried.
_MAX_TRIALS = 60
_LEAST_GAIN = 1e-11
#: Relative, above the rounding of a few operations.
_ROUNDING = 1e-14


class Slots(NamedTuple):
    """Prices of node-seconds in slots; there are none outside."""

    #: Shape (slots + 2,), rising: the start of each slot, in seconds; the first one is before all slots.
    begins: FloatArray
    #: Shape (slots + 2,): the price of each slot, 0 before the first and after the last.
    prices: FloatArray


class WorkCosts(NamedTuple):
    """The cost of jobs by their end C, ``max(floor, slope (C - submit))``, and their work; shape (jobs,)."""

    slope: FloatArray
    floor: FloatArray
    #: The least share of all work that a job does.
    work: FloatArray


class _Trial(NamedTuple):
    """A bound on the cost of a job that ends in a slot, and the work done by the start and the end of it."""

    bound: float
    by_begin: float
    by_end: float


@inner_kernel
def _seconds(jobs: PackedJobs, j: int, nodes: float) -> float:
    """Return the run time on any real number of nodes, by a law that is not a table."""
    share, given = jobs.parameter[j], float(jobs.nodes[j])
    if jobs.speedup[j] == AMDAHL:
        return float(jobs.runtime[j] * (1 - share + share / nodes) / (1 - share + share / given))
    if jobs.speedup[j] == OVERHEAD:
        return float(jobs.runtime[j] * (1 / nodes + share * nodes) / (1 / given + share * given))
    return float(jobs.runtime[j] * (given / nodes) ** share)


@inner_kernel
def _useful(jobs: PackedJobs, j: int) -> float:
    """Return the most nodes on which a job is faster than on fewer, at least its fewest nodes."""
    useful = float(jobs.max_nodes[j])
    if jobs.speedup[j] == OVERHEAD and jobs.parameter[j] > 0:
        useful = max(float(jobs.min_nodes[j]), min(useful, 1 / sqrt(jobs.parameter[j])))
    return float(useful)


@inner_kernel
def _between_overheads(share: float, price: float, slope: float) -> float:
    """Return the n with the least (slope + price n) (1 / n + share n), for a share and a price above 0.

    Where the derivative is 0, w = 1 / (n sqrt(share)) is the only root above 1 of ``w^3 - w = c``. It is at
    most 1 + c^(1/3), and Newton's method falls from there to the root.
    """
    c = 2 * price / (slope * sqrt(share))
    w = 1 + c ** (1 / 3)
    for _ in range(_MAX_TRIALS):
        lower = w - (w * (w * w - 1) - c) / (3 * w * w - 1)
        if lower >= w * (1 - _ROUNDING):
            break
        w = lower
    return float(1 / (w * sqrt(share)))


@inner_kernel
def _surplus(jobs: PackedJobs, j: int, price: float, mu: float) -> tuple[float, float]:
    """Return the nodes on which a second saves most, if all work is worth mu, and the run time on them.

    A second on n nodes saves mu / (run time on n nodes) - price * n. Laws are concave (with overhead up to
    the fastest n), so at the best n the derivative is 0, or it is the fewest or the most useful nodes.
    """
    fewest, useful = float(jobs.min_nodes[j]), _useful(jobs, j)
    law, share = jobs.speedup[j], jobs.parameter[j]
    if law == SPEEDUP_TABLE:
        saved, at = -inf, jobs.table_offsets[j]
        for row in range(jobs.table_offsets[j], jobs.table_offsets[j + 1]):
            each = mu / jobs.table_seconds[row] - price * jobs.table_nodes[row]
            if each > saved:
                saved, at = each, row
        return float(jobs.table_nodes[at]), jobs.table_seconds[at]
    if share == 0 and law != OVERHEAD:
        return fewest, _seconds(jobs, j, fewest)
    alone = _seconds(jobs, j, 1.0)  # the run time on one node
    nodes = useful
    if law == OVERHEAD:
        alone /= 1 + share  # without overhead
        if price * alone >= mu:
            nodes = fewest
        elif price > 0 and share > 0:
            # With s = share n^2 the rate is n / (alone (1 + s)), its derivative (1 - s) / (alone (1 + s)^2).
            c = price * alone / mu
            nodes = sqrt(2 * (1 - c) / (1 + 2 * c + sqrt(1 + 8 * c)) / share)
    elif price > 0 and share == 1:
        nodes = useful if mu > price * alone else fewest
    elif price > 0 and law == AMDAHL:
        # The rate is n / (alone (n (1 - share) + share)).
        nodes = (sqrt(mu * share / (price * alone)) - share) / (1 - share)
    elif price > 0:
        nodes = (mu * share / (price * alone)) ** (1 / (1 - share))
    nodes = min(max(nodes, fewest), useful)
    return nodes, _seconds(jobs, j, nodes)


@inner_kernel
def _balanced(jobs: PackedJobs, j: int, price: float, slope: float) -> float:
    """Return the least mu at which running a second longer never pays.

    It is the minimum over n of (slope + price n) * run time on n.
    """
    fewest, useful = float(jobs.min_nodes[j]), _useful(jobs, j)
    law, share = jobs.speedup[j], jobs.parameter[j]
    if law == SPEEDUP_TABLE:
        mu = inf
        for row in range(jobs.table_offsets[j], jobs.table_offsets[j + 1]):
            mu = min(mu, (slope + price * jobs.table_nodes[row]) * jobs.table_seconds[row])
        return mu
    nodes = fewest if share == 0 and law != OVERHEAD else useful
    if law == OVERHEAD and share > 0 and price > 0:
        nodes = min(max(_between_overheads(share, price, slope), fewest), useful)
    elif 0 < share < 1 and price > 0 and law != OVERHEAD:
        ratio = slope * share / (price * (1 - share))
        nodes = min(max(sqrt(ratio) if law == AMDAHL else ratio, fewest), useful)
    return (slope + price * nodes) * _seconds(jobs, j, nodes)


@inner_kernel
def slot_at(slots: Slots, moment: float) -> int:
    """Return the slot that holds a moment; a slot holds its start."""
    low, high = 0, len(slots.begins)
    while high - low > 1:
        middle = (low + high) >> 1
        if slots.begins[middle] <= moment:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def _trial(
    jobs: PackedJobs, costs: WorkCosts, slots: Slots, j: int, span: tuple[int, int, float], mu: float
) -> _Trial:
    """Return what a price of work proves for all ends in a slot.

    `span` is the slot of the submission, the slot of the end, and the first end in that slot.
    """
    first, slot, begin = span
    submit, slope, floor, work = jobs.submit[j], costs.slope[j], costs.floor[j], costs.work[j]
    saved, done, terms = 0.0, 0.0, 0.0
    at = submit
    for k in range(first, slot + 1):
        until = begin if k == slot else slots.begins[k + 1]
        nodes, seconds = _surplus(jobs, j, slots.prices[k], mu)
        gross, paid = mu / seconds, slots.prices[k] * nodes
        if gross > paid:
            saved += (gross - paid) * (until - at)
            terms += (gross + paid) * (until - at)
            done += (until - at) / seconds
        at = until
    nodes, seconds = _surplus(jobs, j, slots.prices[slot], mu)
    each, rate = mu / seconds - slots.prices[slot] * nodes, 1 / seconds
    if each <= 0:
        each, rate = 0.0, 0.0
    delay = max(floor, slope * (begin - submit))
    bound = delay + mu * work - saved
    terms += delay + mu * work
    if slot + 1 == len(slots.begins):
        # The slot has no end: if a second saves more than it costs, nothing is proven.
        if each > slope * (1 + ROUNDING_MARGIN / 1000):
            bound = -inf
        return _Trial(bound - ROUNDING_MARGIN * terms, done, inf)
    length = slots.begins[slot + 1] - begin
    late = max(floor, slope * (slots.begins[slot + 1] - submit))
    # The cost is linear in between: the floor is left before `begin`.
    bound = min(bound, bound - delay + late - each * length)
    terms += late + (each + 2 * slots.prices[slot] * nodes) * length
    return _Trial(bound - ROUNDING_MARGIN * terms, done, done + rate * length)


@inner_kernel
def _proven(
    jobs: PackedJobs, costs: WorkCosts, slots: Slots, j: int, span: tuple[int, int, float], goal: float
) -> tuple[float, float, int]:
    """Return a bound on the cost of a job that ends in a slot, its mu, and the number of mu tried.

    The best mu is searched until the bound reaches the goal. At the first mu the values at both ends of the
    slot are equal. If the work done by the start of the slot is too much, a better mu is lower; if the work
    done by its end is too little, a better mu is higher.
    """
    work = costs.work[j]
    mu = _balanced(jobs, j, slots.prices[span[1]], costs.slope[j])
    trial = _trial(jobs, costs, slots, j, span, mu)
    bound, best = trial.bound, mu
    rising = trial.by_begin > work
    if bound >= goal or (not rising and trial.by_end >= work):
        return bound, best, 1
    # The bound is a concave function of mu: its points and derivatives on both sides of the maximum.
    low, high = 0.0, mu
    delay = max(costs.floor[j], costs.slope[j] * (span[2] - jobs.submit[j]))
    at_low, at_high = delay * (1 - ROUNDING_MARGIN), trial.bound
    up = work
    down = work - (trial.by_begin if rising else trial.by_end)
    if not rising:
        low, at_low, up = mu, trial.bound, down
        high, at_high, down = inf, -inf, 0.0
    for tried in range(1, _MAX_TRIALS):
        if high == inf:
            mu = 2 * low
        elif tried % 3 == 1 and at_low > -inf and at_high > -inf:
            mu = (at_high - at_low + up * low - down * high) / (up - down)
        elif tried % 3 == 2:
            mu = low + (high - low) * up / (up - down)
        else:
            mu = (low + high) / 2
        if not low < mu < high:
            mu = (low + high) / 2
        trial = _trial(jobs, costs, slots, j, span, mu)
        if trial.bound > bound:
            bound, best = trial.bound, mu
        if bound >= goal:
            break
        derivative = work - (trial.by_begin if rising else trial.by_end)
        if derivative >= 0:
            low, at_low, up = mu, trial.bound, derivative
        else:
            high, at_high, down = mu, trial.bound, derivative
        if at_low > -inf and at_high > -inf and up > down:
            meet = (at_high - at_low + up * low - down * high) / (up - down)
            if at_low + up * (meet - low) - bound <= _LEAST_GAIN * abs(bound):
                break
    return bound, best, tried + 1


@inner_kernel
def _with_earlier(
    jobs: PackedJobs, costs: WorkCosts, slots: Slots, j: int, run: tuple[int, int, int], best: float
) -> tuple[float, int]:
    """Return the lesser of `best` and the bounds on some earlier slots, and the steps taken.

    `run` is the slot of the submission, the first of the slots, and the one after the last.
    """
    first, begin, end = run
    free = jobs.submit[j] + costs.floor[j] / costs.slope[j]
    steps = 0
    for k in range(begin, end):
        opens = max(slots.begins[k], free, jobs.submit[j])
        bound, _, tried = _proven(jobs, costs, slots, j, (first, k, opens), best)
        best = min(best, bound)
        steps += tried * (k - first + 1)
    return best, steps


@inner_kernel
def _least(
    jobs: PackedJobs, costs: WorkCosts, slots: Slots, j: int, shortest: float, steps: int
) -> tuple[float, int]:
    """Return a bound on the cost of a job, and the steps that are left."""
    submit, slope, floor, work = jobs.submit[j], costs.slope[j], costs.floor[j], costs.work[j]
    alone = max(floor, slope * work * shortest * (1 - ROUNDING_MARGIN))
    free = submit + floor / slope
    earliest = submit + work * shortest * (1 - ROUNDING_MARGIN)
    last = len(slots.begins) - 1
    first = slot_at(slots, submit)
    k = slot_at(slots, max(earliest, free))
    best, unproven = inf, k
    carried, at_carried = -1.0, 0.0
    while k <= last:
        begin = max(slots.begins[k], free, submit)
        if max(floor, slope * (begin - submit)) >= best:
            break
        price = slots.prices[k]
        if carried >= 0:
            # Keep the mu that proved an earlier slot: what a later end costs more, less what it saves.
            nodes, seconds = _surplus(jobs, j, price, carried)
            gross, paid = carried / seconds, price * nodes
            each = slope - max(0.0, gross - paid)
            length = slots.begins[k + 1] - begin if k < last else (0.0 if each >= 0 else inf)
            each -= (slope + gross + paid) * _ROUNDING
            if at_carried + min(0.0, each * length) >= best:
                at_carried += each * length
                k += 1
                unproven = k
                continue
            carried = -1.0
        steps -= k - first + 1
        if steps < 0:
            return alone, steps
        mu = _balanced(jobs, j, price, slope)
        trial = _trial(jobs, costs, slots, j, (first, k, begin), mu)
        if trial.by_end < work:
            k += 1  # a later end is better: try that first
            continue
        bound = trial.bound
        if trial.by_begin > work and bound < best:
            bound, mu, tried = _proven(jobs, costs, slots, j, (first, k, begin), best)
            steps -= tried * (k - first + 1)
        best = min(best, bound)
        best, taken = _with_earlier(jobs, costs, slots, j, (first, unproven, k), best)
        steps -= taken
        if bound >= best:
            carried, at_carried = mu, bound
        k += 1
        unproven = k
    best, taken = _with_earlier(jobs, costs, slots, j, (first, unproven, k), best)
    steps -= taken
    return max(alone, best), steps


@kernel
def least_work_costs(
    jobs: PackedJobs, costs: WorkCosts, slots: Slots, shortest: FloatArray, steps: int, out: FloatArray
) -> None:
    """Write a lower bound on the cost, nodes included, of each job that changes its size by a law; else 0.

    `shortest`, shape (jobs,), are the least seconds on any number of nodes. After so many slots have been
    visited, for all jobs and ends together, a job counts with its delay alone.
    """
    for j in range(len(out)):
        out[j] = 0.0
        if jobs.kind[j] < MALLEABLE or jobs.speedup[j] == NO_SPEEDUP:
            continue
        if costs.slope[j] == 0:
            out[j] = costs.floor[j]
        elif steps < 0:
            alone = costs.slope[j] * costs.work[j] * shortest[j] * (1 - ROUNDING_MARGIN)
            out[j] = max(costs.floor[j], alone)
        else:
            out[j], steps = _least(jobs, costs, slots, j, shortest[j], steps)
