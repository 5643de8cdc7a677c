"""Bounds of workloads that the judge recomputes from certificates, in integers.

Bounds on what jobs that change their size cost under prices of node-seconds are in floats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import choice, lower_float, malformed, price_list, upper_sum_of_products
from allocsolve.judge.workload._kernels_prices import (
    HIGHEST,
    Delays,
    PhasedRun,
    least_cost_of_phases,
    least_costs,
)
from allocsolve.judge.workload._kernels_work_prices import ROUNDING_MARGIN, Slots, WorkCosts, least_work_costs
from allocsolve.judge.workload.rules import least_areas_by_law
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S
from allocsolve.model import (
    MALLEABLE,
    MAX_INTEGER,
    NO_SPEEDUP,
    OVERHEAD,
    PROFILE,
    REACTIVE,
    SLOWDOWN_FLOOR_S,
    SPEEDUP_TABLE,
    frozen,
)
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from allocsolve.judge.certificates import PriceList, Prices
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem

#: Slots that are visited for all jobs, ends and trials together: some 10 s.
_MAX_VISITS: Final = 10**9
#: The share of its work that a job may leave out in a schedule that the judge admits, as shares are rounded:
#: far more than sums over its pieces are off by.
LOOSE_WORK: Final = 2e-9
#: The seconds by which such a schedule may shorten a job, a phase or a step: a job may end that much early
#: twice, in its work and in what follows on its nodes, and as much again for what is rounded.
LOOSE_STEP_S: Final = 4 * TIME_TOLERANCE_S


def least_cost_of_work(problem: WorkloadProblem, term: str, listed: PriceList) -> Fraction:
    """Return a lower bound on the cost, nodes included, of each malleable job and job with requests alone.

    The term is ``turnaround`` or ``slowdown``; other jobs are skipped.

    Notes
    -----
    *Proof.* A job that is submitted at r and ends at C has done its work W: the integral from r to C of the
    rate at which it works on the nodes that it holds. For any mu >= 0, the *price of work*, its nodes cost at
    least

        mu W + integral from r to C of min(0, min over n of [price n - mu rate(n)]),

    since mu times the work done is mu W, and a second in which it holds no node costs nothing. Together with
    the cost of its end, within a slot and after the floor of the slowdown, this is linear in C: so the lesser
    of the values at both ends of a slot bounds every end in it. The bound on a job is the least of the bounds
    on all slots, each with a mu of its own. Points, sets of sizes, requests and stalls are ignored: without
    them more is allowed. For a table of speedups the inner minimum is over its rows, which holds for any
    mixture of them in time.

    *Which mu.* In a slot with price l, the values at both of its ends are equal if mu = min over n of (slope
    + l n) / rate(n). If under this mu the job does too much of its work by the start of the slot, or too
    little by its end, a better mu is searched between points at which the derivative by mu, W less the work
    done, has opposite signs. This is done only for slots whose bound is below those of the others. After the
    last edge mu is at most slope / (greatest rate).

    *Numbers.* Floats: each bound is lowered by 10^-9 of the sum of all its terms, far more than rounding
    amounts to. W is 1 less the tolerance of the judge of schedules. After 10^9 steps a job counts with the
    delay of its shortest run.

    *Complexity*: O(s^2) for each job with s slots from its submission to its cheapest end.
    """
    packed = problem.packed
    slope, floor = _delays(problem, term)
    shortest = np.where(packed.speedup == NO_SPEEDUP, packed.runtime, least_seconds(problem))
    work = np.maximum(0.0, 1 - LOOSE_WORK - LOOSE_STEP_S / shortest)
    bounds = np.empty(len(slope))
    costs = WorkCosts(*map(frozen, (slope, floor, work)))
    least_work_costs(packed, costs, _slots(listed), frozen(shortest), _MAX_VISITS, bounds)
    return _lower_float_sum(bounds)


def _delays(problem: WorkloadProblem, term: str) -> tuple[FloatArray, FloatArray]:
    """Return the slope and the floor of each job: an end at C costs max(floor, slope (C - submit))."""
    packed = problem.packed
    if term == "slowdown":
        return packed.weight / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S), packed.weight.copy()
    return packed.weight.copy(), np.zeros(len(packed.weight))


def _slots(listed: PriceList) -> Slots:
    return Slots(
        frozen(np.array([-1, *listed.edges], dtype=np.float64)),
        frozen(np.array([0, *listed.prices, 0], dtype=np.float64) / listed.unit),
    )


def _lower_float_sum(bounds: Iterable[float]) -> Fraction:
    """Return the sum of bounds that are >= 0, or slightly less: `fsum` rounds once, by less than 2^-50."""
    return Fraction(math.fsum(bounds)) * (1 - Fraction(1, 2**50))


def least_seconds(problem: WorkloadProblem) -> FloatArray:
    """Return the least run time of jobs with a law, shape (jobs,), in seconds; any numbers for other jobs.

    More nodes are faster, except in tables, and with overhead above some number. The time is convex in the
    nodes then, so of all integers one of the two next to that number is fastest.
    """
    packed = problem.packed
    times = problem.run_times(packed.max_nodes)
    for j in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        times[j] = packed.table_seconds[packed.table_offsets[j] : packed.table_offsets[j + 1]].min()
    for j in np.flatnonzero((packed.speedup == OVERHEAD) & (packed.parameter > 0)).tolist():
        share, given = float(packed.parameter[j]), float(packed.nodes[j])
        fastest = 1 / math.sqrt(share)
        beside = np.clip([math.floor(fastest), math.ceil(fastest)], packed.min_nodes[j], packed.max_nodes[j])
        least = (1 / beside + share * beside).min()
        times[j] = packed.runtime[j] * least / (1 / given + share * given)
    return times


def least_phases(problem: WorkloadProblem, j: int) -> list[tuple[float, float]]:
    """Return the phases of a job in order: the least node-seconds, and the most nodes that they can use.

    The start of the job, which makes no progress, is a first phase on the fewest nodes that it may hold then:
    it may give back those that the next phase cannot use. Neighbours that use equally many nodes are joined.
    """
    evolving, max_nodes = problem.jobs.evolving, int(problem.packed.max_nodes[j])
    rows = range(evolving.offsets[j], evolving.offsets[j + 1])
    phases = [(float(evolving.amounts[row]), min(int(evolving.nodes[row]), max_nodes)) for row in rows]
    fewest = min(int(problem.packed.min_nodes[j]), phases[0][1])
    phases.insert(0, (float(evolving.join_start[j]) * fewest, fewest))
    return [
        (math.fsum(work for work, _ in same), float(nodes))
        for nodes, same in groupby((phase for phase in phases if phase[0] > 0), key=lambda phase: phase[1])
    ]


def least_times_and_areas(problem: WorkloadProblem) -> tuple[FloatArray, FloatArray]:
    """Return the least seconds and the least node-seconds of each job, shape (jobs,) each."""
    evolving = problem.jobs.evolving
    times, areas = least_seconds(problem), least_areas_by_law(problem)
    for j in np.flatnonzero(evolving.reading == REACTIVE).tolist():
        phases = least_phases(problem, j)
        times[j] = math.fsum(work / nodes for work, nodes in phases)
        areas[j] = math.fsum(work for work, _ in phases)
    for j in np.flatnonzero(evolving.reading == PROFILE).tolist():
        rows = slice(evolving.offsets[j], evolving.offsets[j + 1])
        times[j] = math.fsum(evolving.amounts[rows])
        areas[j] = math.fsum(evolving.amounts[rows] * evolving.nodes[rows])
    return times, areas


def least_cost_of_evolution(problem: WorkloadProblem, term: str, listed: PriceList) -> Fraction:
    """Return a lower bound on the cost of jobs with phases or profiles, each alone, with its nodes paid for.

    The term is ``turnaround`` or ``slowdown``; other jobs are skipped.

    Notes
    -----
    *Phases.* A node that is held but not useful, or that the phase cannot use, only adds to the price. So the
    job may be taken to hold a node just while it works there, and a phase takes at least its node-seconds
    divided by the most nodes that it can use, in seconds. For the costs see `least_cost_of_phases`. The
    greater of two bounds counts: phase by phase, and all work in any order on the most nodes of any phase. In
    both the job may stop, and hold nodes only as long as they work. Joining and leaving nodes cost nothing,
    except at the start.

    *Profiles.* A job holds the nodes of each step from its start to the start of the next step. Compare it
    with a run at time 0 without waiting: each start and end of a step has a delay, and delays never fall from
    one to the next. Any such delays are allowed, whatever the limit of expansion is; only if no step may be
    expanded, all delays are equal. The cost is linear in each delay, except where a start or an end comes to
    an edge or the job leaves its floor. So the cost is least if each delay is one of these or that of a start
    at the submission.

    *Numbers.* Floats, as for malleable jobs: each bound is lowered by 10^-9 of the sum of its terms, work by
    the tolerance of the judge of schedules, and steps by `LOOSE_STEP_S`. For the gaps that may lie between
    the pieces of a profile, the price of 2 * 10^-6 s on the nodes of each step is subtracted. After 10^9
    steps of the search a job with phases counts with the delay of its shortest run.
    """
    packed, reading = problem.packed, problem.jobs.evolving.reading
    slope, floor = _delays(problem, term)
    slots = _slots(listed)
    loose = LOOSE_STEP_S + 4 * float(np.spacing(max(problem.horizon, *listed.edges, 1.0)))
    bounds = [float(floor[j]) for j in np.flatnonzero((slope == 0) & (reading >= REACTIVE))]
    steps = _MAX_VISITS
    for j in np.flatnonzero((slope > 0) & (reading == REACTIVE)).tolist():
        costs = float(packed.submit[j]), float(slope[j]), float(floor[j])
        bound, steps = _bound_of_phases(least_phases(problem, j), costs, loose, slots, steps)
        bounds.append(bound)
    for j in np.flatnonzero((slope > 0) & (reading == PROFILE)).tolist():
        costs = float(packed.submit[j]), float(slope[j]), float(floor[j])
        bounds.append(_bound_of_profile(problem, j, costs, loose, slots))
    return _lower_float_sum(bounds)


def _bound_of_phases(
    phases: list[tuple[float, float]],
    costs: tuple[float, float, float],
    loose: float,
    slots: Slots,
    steps: int,
) -> tuple[float, int]:
    """Return the greater of both bounds on the cost of a job with phases, and the steps that are left."""
    seconds = [max(0.0, work * (1 - LOOSE_WORK) / nodes - loose) for work, nodes in phases]
    sizes = [nodes for _, nodes in phases]
    shortest = math.fsum(seconds)
    largest = max(sizes)
    together = math.fsum(length * nodes for length, nodes in zip(seconds, sizes, strict=True)) / largest
    readings = [(seconds, sizes), ([together], [largest])]
    best = 0.0
    for lengths, nodes in readings[len(phases) == 1 :]:
        columns = (frozen(np.array(column, dtype=np.float64)) for column in (lengths, nodes))
        bound, steps = least_cost_of_phases(PhasedRun(*costs, shortest, *columns), slots, steps)
        best = max(best, bound)
    return best * (1 - ROUNDING_MARGIN), steps


def _bound_of_profile(
    problem: WorkloadProblem, j: int, costs: tuple[float, float, float], loose: float, slots: Slots
) -> float:
    """Return a lower bound on the cost of a job with a profile."""
    submit, slope, floor = costs
    evolving = problem.jobs.evolving
    rows = slice(evolving.offsets[j], evolving.offsets[j + 1])
    nodes, given = evolving.nodes[rows], evolving.amounts[rows]
    ends = np.array([0.0, *np.cumsum(np.maximum(0.0, given - loose))])
    edges, prices = slots.begins, slots.prices
    paid = np.array([0.0, *np.cumsum(prices[:-1] * np.diff(edges))])

    def least(delays: FloatArray) -> tuple[float, float]:
        """Return the least cost of a run with delays among these, which rise, and the sum of its terms."""
        until = [np.interp(delays + end, edges, paid) for end in ends]
        total: FloatArray = np.zeros(len(delays))
        for step, held in enumerate(nodes.tolist()):
            begun = total - held * until[step]
            total = (np.minimum.accumulate(begun) if waits else begun) + held * until[step + 1]
        late = np.maximum(floor, slope * (delays + ends[-1] - submit))
        at = int(np.argmin(total + late))
        return float(total[at] + late[at]), float(2 * nodes.sum() * until[-1][at] + late[at])

    waits = bool((np.floor(given * evolving.expand_limit[j] * (1 + ROUNDING_MARGIN)) > given).any())
    soonest, _ = least(np.array([submit]))
    latest = submit + soonest / slope
    near = edges[(edges > submit) & (edges < latest)]
    free = submit + floor / slope - ends[-1]
    kinks = np.concatenate([[submit, free], *(near - end for end in ends)])
    bound, terms = least(np.unique(kinks[kinks >= submit]))
    between = 2 * TIME_TOLERANCE_S * float(nodes.sum()) * float(prices.max())
    alone = max(floor, slope * float(ends[-1]))
    return max(alone * (1 - ROUNDING_MARGIN), min(bound, soonest) - ROUNDING_MARGIN * terms - between)


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
    the judge searches its own (`least_cost_of_work`). For jobs with phases or profiles it
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
