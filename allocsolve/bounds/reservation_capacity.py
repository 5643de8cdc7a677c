"""A bound on what is rejected that asks only for the area of the machine."""

from __future__ import annotations

import math
import operator
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allocsolve.model import ReservationProblem, ReservationTerm


def reservation_capacity_bound(problem: ReservationProblem, term: ReservationTerm) -> float:
    """Return a lower bound on a term: jobs that end in time at all share the area of the machine.

    The area is that from the first arrival to the last deadline. The jobs with the most weight per area
    are taken first, and of the last one a part (a fractional knapsack).

    Notes
    -----
    0 where jobs may leak: a job that books nothing needs no area to be accepted, and less to be successful.
    *Complexity*: O(jobs log jobs). *Guarantee*: never above the term of any schedule, except for rounding,
    for which it is lowered by one part in 10^12.
    """
    jobs = problem.packed
    area = jobs.nodes.astype(np.float64) * jobs.runtime
    weight = jobs.weight * area if term == "rejected-area" else jobs.weight
    total = math.fsum(weight.tolist())
    possible = np.flatnonzero((jobs.arrival + jobs.runtime <= jobs.deadline) & (weight > 0))
    if not total or problem.leaking:
        return 0.0
    if not len(possible):
        return 1.0
    span = int(jobs.deadline[possible].max() - jobs.arrival[possible].min())
    order = possible[np.argsort(-weight[possible] / area[possible], kind="stable")]
    areas = [job.area for job in map(problem.jobs.__getitem__, order.tolist())]
    room = accumulate(areas, operator.sub, initial=problem.topology.num_nodes * span)  # exact, as integers
    part = np.clip([left / mine for left, mine in zip(room, areas, strict=False)], 0, 1)
    accepted = math.fsum((part * weight[order]).tolist())
    return max(0.0, 1 - accepted / total * (1 + 1e-12))
