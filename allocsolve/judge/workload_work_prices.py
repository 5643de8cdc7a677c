"""What jobs that change their size by a law cost at least under prices of node-seconds, for the judge."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.judge._kernels_work_prices import Slots, WorkCosts, least_work_costs
from allocsolve.model import NO_SPEEDUP, OVERHEAD, SLOWDOWN_FLOOR_S, SPEEDUP_TABLE
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import FloatArray, WorkloadProblem

__all__ = ["LOOSE_WORK", "least_cost_of_work", "least_seconds"]

#: Slots that are looked at, of all jobs, ends and trials together: some 10 s.
_MOST_STEPS: Final = 10**9
#: Share of the work, and seconds of it, that a valid schedule may leave out: the tolerances of the judge of
#: schedules at the start and at the end, and what pieces overlap in rounded times.
LOOSE_WORK: Final = 2e-9
_LOOSE_S: Final = 4e-6


def least_cost_of_work(
    problem: WorkloadProblem, term: str, edges: Sequence[int], prices: Sequence[int], unit: int
) -> Fraction:
    """Return a lower bound on the cost of malleable jobs and of those with requests, each alone.

    Their nodes are paid for.

    Parameters
    ----------
    problem
        The problem; other jobs are passed over.
    term
        ``turnaround`` or ``slowdown``.
    edges, prices, unit
        Prices q / unit of a node-second in slots, as certificates hold them.

    Notes
    -----
    *Proof.* A job that is submitted at r and ends at C has done its work W: the integral from r to C of the
    rate at which it works on the nodes that it holds. For any mu >= 0 its nodes cost at least

        mu W + integral from r to C of min(0, min over n of [price n - mu rate(n)]),

    as mu times the work done is mu W and a second in which it holds no node costs nothing. Plus the cost of
    its end this is convex in C within a slot and behind the slowdown's floor linear: the lesser of the values
    at both ends of a slot bounds every end in it. The bound on a job is the least of the bounds on all slots,
    for each of which mu may be any number. Points, size sets, requests and stalls play no part: more is
    allowed without them. In a table of speedups the inner minimum is over its rows, which holds for any
    mixture of them in time.

    *Which mu.* In a slot with price l, both ends of it bound alike if mu = min over n of (slope + l n) /
    rate(n). If the job does too much of its work by the begin of the slot under this mu, or too little by the
    end, a better one is searched between points where the derivative by mu, W less the work done, has both
    signs. That is done only for slots whose bound is below that of the others. Behind the last edge mu is at
    most slope / (greatest rate).

    *Numbers.* Floats: each bound is lowered by 10^-9 of the sum of all its terms, far more than what is
    rounded. W is 1 less the tolerance of the judge of schedules. Beyond 10^9 steps a job counts with the
    delay of its shortest run.

    *Complexity*: O(slots from the submission to the cheapest end, squared), for each job.
    """
    packed = problem.packed
    slope, floor = packed.weight.copy(), np.zeros(len(packed.weight))
    if term == "slowdown":
        slope, floor = slope / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S), packed.weight.copy()
    shortest = np.where(packed.speedup == NO_SPEEDUP, packed.runtime, least_seconds(problem))
    work = np.maximum(0.0, 1 - LOOSE_WORK - _LOOSE_S / shortest)
    slots = Slots(
        frozen(np.array([-1, *edges], dtype=np.float64)),
        frozen(np.array([0, *prices, 0], dtype=np.float64) / unit),
    )
    bounds = np.empty(len(slope))
    costs = WorkCosts(*map(frozen, (slope, floor, work)))
    least_work_costs(packed, costs, slots, frozen(shortest), _MOST_STEPS, bounds)
    # Sums of floats by `fsum` are rounded once.
    return Fraction(math.fsum(bounds)) * (1 - Fraction(1, 2**50))


def least_seconds(problem: WorkloadProblem) -> FloatArray:
    """Return the least run time of jobs with a law, shape (jobs,), in seconds; any numbers for other jobs.

    More nodes are faster, but for tables, and for overhead beyond a number, which need not be an integer.
    """
    packed = problem.packed
    times = problem.run_times(packed.max_nodes)
    for j in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        times[j] = packed.table_seconds[packed.table_offsets[j] : packed.table_offsets[j + 1]].min()
    for j in np.flatnonzero((packed.speedup == OVERHEAD) & (packed.parameter > 0)).tolist():
        share, given = float(packed.parameter[j]), float(packed.nodes[j])
        fastest = min(max(1 / math.sqrt(share), float(packed.min_nodes[j])), float(packed.max_nodes[j]))
        times[j] = packed.runtime[j] * (1 / fastest + share * fastest) / (1 / given + share * given)
    return times
