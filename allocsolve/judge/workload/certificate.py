"""Bounds of workloads that the judge recomputes from certificates, in integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import choice, lower_float, malformed, price_list, upper_sum_of_products
from allocsolve.judge.workload._kernels_prices import HIGHEST, Delays, least_costs
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S
from allocsolve.judge.workload.work_prices import (
    LOOSE_STEP_S,
    LOOSE_WORK,
    least_cost_of_evolution,
    least_cost_of_work,
    least_times_and_areas,
)
from allocsolve.model import MALLEABLE, MAX_INTEGER, SLOWDOWN_FLOOR_S, frozen
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.judge.certificates import PriceList, Prices
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem

#: Starts that are compared, of all jobs together: some seconds.
_MAX_STEPS: Final = 10**8
#: Where times are no quarters of a second, a unit of time is the finest power of two, but at least 2^-16 s,
#: in which all times have at most 58 bits: sums of a few times stay below 2^61.
_TIME_BITS: Final = 58
_FINEST_BITS: Final = 16
#: Seconds by which a job may be shorter in a schedule that the judge admits, where times are no quarters: it
#: may end that much before its work is done, and what follows on its nodes that much before its end.
_LOOSE_S: Final = 2 * TIME_TOLERANCE_S


def time_price_bound(problem: WorkloadProblem, certificate: Mapping[str, object], term: str) -> float:
    """Return a lower bound on a weighted mean over the jobs, recomputed from prices of node-seconds.

    *Certificate.* ``edges``, rising integers >= 0, the seconds at which slots begin and end; ``prices``, an
    integer >= 0 for each slot; ``unit`` Q >= 1: a price q is q / Q units of cost per node-second.
    `InvalidAnswer` if it does not have this form.

    Notes
    -----
    *Proof.* In any schedule at most N nodes are in use at any time, so the nodes in use cost at
    most as much as N nodes all the time. Hence the cost of all jobs is at least the sum of the least costs of
    each job alone, its nodes paid for, less the price of N nodes. This holds for any prices >= 0.

    The cost of a job that ends at C, before prices, is max(floor, slope (C - submit)), which never falls.
    With prices the cost is linear in the start except where the job leaves its floor, starts at an edge or
    ends at an edge: so the least cost is at one of these starts or at the submission, and starts whose delay
    alone costs more need not be compared.

    *Numbers.* Times are integers: quarters of a second. Where times are no quarters, or run times follow a
    law, they are rounded down to units of 2^-16 s (longer ones if times are beyond 2^42 s), and run times are
    shortened by 2 more units. This is more than the tolerance of the judge, so the bound holds for every
    schedule that the judge admits. The cost of a job is rounded down to 1 / Q of a unit of time; weights that
    are no integers are rounded down to 1 / Q. Costs beyond 2^61 count as 2^61, and after 10^8 starts a job
    counts with its delay. All of this lowers the bound, and nothing else is rounded but the result, which is
    rounded down. For malleable jobs see the bound on the cost of their work.

    *Malleable jobs* and jobs with requests may, in this bound, stop, and hold any real number of nodes from
    their fewest to their most. Then their work has a price, too, and any such price bounds their least cost;
    the judge searches its own (`allocsolve.judge.workload.work_prices`). For jobs with phases or profiles it
    compares all slots in which these may end.

    *Complexity*: O(jobs * (log slots + edges up to where the delay of a job alone costs more than its best
    start)), for each size of a moldable job.
    """
    if term == "wait" and not problem.is_rigid:
        raise InvalidAnswer("prices do not bound the wait of jobs that are not rigid")
    listed = price_list(certificate)
    per_second, shorter = units_of_time(problem, listed.edges[-1])
    prices = packed_prices(listed, per_second)
    delays, free = delays_of(problem, term, listed.unit, per_second, _rounded_down)
    units = float(per_second), float(shorter)
    high, low = least_costs(problem.packed, delays, free, units, prices, _MAX_STEPS)
    total = (int(high) << 31) + int(low) - problem.num_nodes * int(prices.integral[-1])
    value = Fraction(total, listed.unit * per_second)
    if problem.is_elastic:
        value += least_cost_of_work(problem, term, listed)
    if problem.is_evolving:
        value += least_cost_of_evolution(problem, term, listed)
    return mean_of_costs(problem, value, term)


def units_of_time(problem: WorkloadProblem, last_edge: int) -> tuple[int, int]:
    """Return the units of time in a second where prices end at an edge, and by how many runs are shortened.

    By more than the tolerance and the rounding of submissions together.
    """
    latest = max(math.ceil(problem.horizon), last_edge, 1)
    finest = 1 << max(0, min(_FINEST_BITS, _TIME_BITS - latest.bit_length()))
    return (4, 0) if problem.is_exact else (finest, 2)


def delays_of(
    problem: WorkloadProblem,
    term: str,
    unit: int,
    per_second: int,
    rounded_down: Callable[[FloatArray, int], IntArray],
) -> tuple[Delays, IntArray]:
    """Return what delays cost, in 1 / (unit * per_second), and the latest end that costs the floor.

    `rounded_down` returns products of the weights and a factor.
    """
    packed = problem.jobs.packed
    submit = np.floor(packed.submit * per_second).astype(np.int64)
    divisor, floor, free = np.ones_like(submit), np.zeros_like(submit), submit
    if term == "slowdown":
        seconds = np.maximum(packed.runtime, SLOWDOWN_FLOOR_S)
        divisor = np.ceil(seconds * per_second).astype(np.int64)
        numerator = floor = rounded_down(packed.weight, unit * per_second)
        free = submit + divisor
    else:
        numerator = rounded_down(packed.weight, unit)
    columns = submit, numerator // divisor, numerator % divisor, divisor, floor
    return Delays(*map(frozen, columns)), frozen(free)


def mean_of_costs(problem: WorkloadProblem, value: Fraction, term: str) -> float:
    """Return the mean over the jobs of what they cost together, rounded down."""
    packed = problem.jobs.packed
    if term == "wait":
        value -= upper_sum_of_products(packed.weight, packed.runtime)
    scale = upper_sum_of_products(packed.weight, np.ones(len(packed.weight)))
    return lower_float(value / scale) if value > 0 and scale > 0 else 0.0


def packed_prices(listed: PriceList, per_second: int, of: str = "") -> Prices:
    """Return the prices as arrays; refuse those of which the sum does not fit."""
    if (total := listed.total) * per_second >= HIGHEST:
        last = listed.edges[-1]
        msg = f"edges up to {last} and prices{of} of the certificate, {total} in all, are beyond 2^61 units"
        raise InvalidAnswer(msg)
    return listed.per(per_second)


def _rounded_down(weight: FloatArray, factor: int) -> IntArray:
    """Return weights times a factor, rounded down; products beyond 2^61 are lowered to what fits."""
    highest = HIGHEST // factor
    whole = np.minimum(np.floor(weight), float(min(highest, MAX_INTEGER))).astype(np.int64)
    if factor <= HIGHEST and not (weight % 1).any():
        return whole * factor
    product = weight * float(factor)
    if factor & (factor - 1):  # products with powers of two are exact
        product = np.nextafter(product, 0.0)
    return np.floor(np.minimum(product, float(HIGHEST // 2))).astype(np.int64)


def makespan_rule_bound(problem: WorkloadProblem, certificate: Mapping[str, object], term: str) -> float:
    """Return a lower bound on the makespan by single jobs or by sums over jobs, as a certificate says.

    *Certificate.* ``rule``, one of ``longest``, ``area`` and ``wide``; ``after``, seconds. `InvalidAnswer` if
    it does not have this form.

    Notes
    -----
    *Proof.* ``longest``: a job that is submitted at `after` or later ends no earlier than its
    shortest run after its submission. ``area``: the jobs submitted at `after` or later need at least the sum
    of their least areas, on N nodes. ``wide``: of these, jobs that hold more than N / 2 nodes at every
    instant from their start to their end run one after the other. If all times are whole seconds (quarters of
    a second), some optimum starts jobs at such times only, so the bound is rounded up to one. A malleable job
    does its work in parts on some of its numbers of nodes, so it takes at least the least area and the least
    run time of these; it may end at any time. The same holds for a job with requests. What a job holds at
    every instant is `WorkloadProblem.least_held`: one node of a job with phases, and of a profile the least
    of its steps, which may be none.

    *Complexity*: O(jobs), for each size of a moldable job.
    """
    del term  # the makespan, the only one
    rule, after = choice(certificate, "rule", ("longest", "area", "wide")), certificate.get("after")
    if not isinstance(after, int | float) or isinstance(after, bool) or not 0 <= after <= MAX_INTEGER:
        raise malformed(f"after {shown(after)} of the certificate is not a number in 0..2^53")
    packed, exact = problem.packed, problem.is_exact
    late = packed.submit >= after
    if not late.any():
        return 0.0
    loose = Fraction(0.0 if exact else _LOOSE_S)
    times, areas = least_times_and_areas(problem)
    if problem.is_elastic:
        work = np.where(packed.kind >= MALLEABLE, 1 - LOOSE_WORK, 1.0)
        each = LOOSE_STEP_S * np.diff(problem.jobs.evolving.offsets)
        times = np.maximum(0.0, times * work - each)
        areas = np.maximum(0.0, areas * work - each * packed.max_nodes)
    start = max(Fraction(0), Fraction(after) - loose)
    if rule == "longest":
        value = Fraction(float((packed.submit + times)[late].max())) - loose
    elif rule == "area":
        least_area = _lower_sum(areas[late]) - loose * sum(packed.max_nodes[late].tolist())
        value = start + least_area / problem.num_nodes
    else:
        wide = late & (2 * problem.least_held > problem.num_nodes)
        value = start + _lower_sum(times[wide]) - loose * int(wide.sum())
    if not exact:
        return lower_float(max(Fraction(0), value * (1 - Fraction(1, 2**45))))
    times_in_seconds = (packed.submit, packed.runtime, packed.table_seconds)
    units = 1 if all((column % 1 == 0).all() for column in times_in_seconds) else 4
    return lower_float(Fraction(math.ceil(value * units), units))


def _lower_sum(values: FloatArray) -> Fraction:
    """Return the sum of values >= 0; slightly less if they are no multiples of a quarter, or large."""
    if (4 * values % 1 == 0).all() and values.max(initial=0.0) < 2**50:
        return Fraction(sum((4 * values).astype(np.int64).tolist()), 4)
    return Fraction(math.fsum(values) * (1 - 2.0**-50))
