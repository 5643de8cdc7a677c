"""The value of prices of node-seconds, and its gradient."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.bounds.workload._kernels_malleable_prices import CheapestWork, cheapest_work
from allocsolve.bounds.workload._kernels_phase_prices import cheapest_phases, phased
from allocsolve.bounds.workload._kernels_prices import Cheapest, cheapest, price_list
from allocsolve.bounds.workload._kernels_profile_prices import cheapest_profiles, sweep
from allocsolve.bounds.workload.evolving_rows import phase_rows, profile_rows
from allocsolve.model import MALLEABLE, NO_SPEEDUP

if TYPE_CHECKING:
    from allocsolve.bounds.workload.costs import JobCosts
    from allocsolve.model import Clock, FloatArray, IntArray, WorkloadProblem

__all__ = ["TimeDual"]

#: Of jobs that change their size, what the certificate takes at the end, the judge included, in evaluations.
_CERTIFYING: Final = 8


class TimeDual:
    """The value of prices, as a function on slots: the sum of least costs, less what all nodes cost."""

    def __init__(self, problem: WorkloadProblem, costs: JobCosts, slack: float) -> None:
        self.problem, self.costs, self.slack = problem, costs, slack
        self._elastic = problem.is_elastic
        packed = problem.packed
        self._with_work = bool(((packed.kind >= MALLEABLE) & (packed.speedup != NO_SPEEDUP)).any())
        self._phases, self._profiles = phase_rows(problem), profile_rows(problem)
        self.has_phases = bool(len(self._phases.jobs))
        self._sweep = sweep(_longest(self._profiles.offsets))

    def on(self, edges: IntArray) -> None:
        """Take these slots."""
        num_jobs, num_slots = len(self.costs.slope), len(edges) - 1
        self.widths = np.diff(edges).astype(np.float64)
        self._edges = edges
        self._lasted = math.inf
        self.out = Cheapest(
            np.empty(num_jobs),
            np.empty(num_jobs),
            np.empty(num_jobs, dtype=np.int64),
            np.empty(num_slots + 1),
            np.empty(num_slots + 2),
        )
        ends, work_prices = np.zeros(num_jobs), np.zeros(num_jobs)
        costs, starts, sizes, usage, _ = self.out
        self.work = CheapestWork(costs, starts, sizes, ends, work_prices, usage)
        self._memory = phased(_longest(self._phases.offsets), num_slots)

    def __call__(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and, per second of each slot, what is used beyond all nodes: its gradient."""
        began = time.perf_counter()
        listed = price_list(self._edges, prices)
        slope, floor, *_ = self.costs
        total = cheapest(self.problem.packed, slope, floor, self.slack, listed, self.out)
        if self._with_work:
            total += cheapest_work(self.problem.packed, slope, floor, listed, self.work)
        submit = self.problem.packed.submit
        if self.has_phases:
            total += cheapest_phases(submit, slope, floor, self._phases, listed, self._memory, self.out)
        if len(self._profiles.jobs):
            total += cheapest_profiles(submit, slope, floor, self._profiles, listed, self._sweep, self.out)
        num_nodes = self.problem.num_nodes
        self._lasted = min(self._lasted, time.perf_counter() - began)
        return float(total - num_nodes * listed.integral[-1]), self.out.usage[:-1] / self.widths - num_nodes

    def has_time(self, clock: Clock | None) -> bool:
        """Return whether there is time for an evaluation, and for the certificate at the end."""
        if clock is None:
            return True
        own = _CERTIFYING * self._lasted if self._elastic and self._lasted < math.inf else 0.0
        return clock.remaining > own


def _longest(offsets: IntArray) -> int:
    """Return the most rows of a job."""
    return int(np.diff(offsets).max(initial=1))
