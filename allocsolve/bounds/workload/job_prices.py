"""Prices per job: the bound on workloads of rigid jobs where jobs are wide or few."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.bounds.workload.costs import MEAN_TERMS, job_costs
from allocsolve.bounds.workload.job_price_dual import DualJobs, JobDual
from allocsolve.bounds.workload.job_price_plan import PIECE, Plan, Round, plan
from allocsolve.bounds.workload.job_price_rounds import Ascended, ascended, ascended_pieces
from allocsolve.bounds.workload.job_price_windows import JobWindows, read_only
from allocsolve.errors import InvalidAnswer
from allocsolve.judge.workload_job_prices import job_price_bound
from allocsolve.model import Clock

if TYPE_CHECKING:
    from typing import Any

    from allocsolve.bounds.workload.price_bound import PriceBound
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm

__all__ = ["job_prices"]

#: Sizes are coarsened such that the cluster has at most so many units.
_CAPACITY: Final = 1024

#: Steps of the ascent at each temperature.
_STEPS: Final = 120

#: The share of the time left that each round but the last may take.
_SHARE: Final = 0.4

#: Slots that a window reaches behind its last price after a round.
_MARGIN: Final = 2

#: A price in the middle is so many units, if sums of them leave room in 64 bits.
_MIDDLE: Final = 1e5
_ROOM: Final = 2.0**58


def job_prices(
    problem: WorkloadProblem, term: WorkloadTerm, start: PriceBound, *, clock: Clock, workers: int = 1
) -> PriceBound:
    """Return a lower bound by prices that differ from job to job, never below the given one.

    Parameters
    ----------
    problem
        Rigid jobs. For moldable ones the bound is returned as it was given.
    term
        What is bounded: a mean over the jobs. For other terms the bound is returned as it was given.
    start
        The bound by prices that are the same for all jobs, from which the ascent starts.
    clock
        When it runs out, or at Ctrl-C, the best bound so far is returned.
    workers
        Threads, >= 1.

    Notes
    -----
    With a price list w_j(t) >= 0 for each job, the cost of any schedule is at least the sum over the jobs of
    the least f_j(end) + (integral of w_j while the job runs), less the integral over t of the greatest sum of
    w_j(t) over jobs that fit into the cluster together. Prices per node-second are the special case
    w_j = nodes_j * price; they charge for the whole cluster even where no set of jobs fills it, and let a
    wide job run at a fraction of its size beside long narrow ones. Prices per job know both.

    The prices are constant on slots within a window of each job. Both minima are smoothed (entropy), which
    gives a concave function with an exact gradient; the temperature falls, slots are halved. Logs are priced
    in pieces of consecutive jobs before all together. Certificates hold integers: see `job_price_bound`.

    *Complexity* of a step: O(prices * nodes). Clusters beyond 1024 nodes are coarsened, which costs quality,
    not validity.
    """
    if not problem.is_rigid or term not in MEAN_TERMS or not problem.packed.weight.any():
        return start
    costs, packed = job_costs(problem, term), problem.packed
    counted = np.flatnonzero(costs.slope > 0)
    divisor = _divisor(packed.nodes, problem.num_nodes)
    nodes = read_only(packed.nodes // divisor)
    jobs = DualJobs(packed.submit, packed.runtime, costs.slope, costs.floor, nodes).of(counted)
    search = _Search(jobs, problem.num_nodes // divisor, clock, workers)
    interrupted = start.interrupted
    try:
        sizes = packed.nodes[counted].astype(np.float64)
        search.run(plan(jobs, search.capacity, sizes, start.starts[counted], start))
    except KeyboardInterrupt:
        interrupted = True
    if search.best is None:
        return replace(start, interrupted=interrupted)
    windows = search.best.windows
    certificate = _certificate(windows, counted, len(problem.jobs), divisor, term)
    try:
        value = job_price_bound(problem, certificate, term)
    except InvalidAnswer:  # too large for 64 bits
        return replace(start, interrupted=interrupted)
    if value <= start.value:
        return replace(start, interrupted=interrupted)
    starts = start.starts.copy()
    _, starts[counted] = JobDual(jobs, search.capacity, windows).cheapest(windows.prices * windows.lengths)
    return replace(
        start, value=value, certificate=certificate, starts=read_only(starts), interrupted=interrupted
    )


class _Search:
    """The best prices so far, which Ctrl-C leaves."""

    def __init__(self, jobs: DualJobs, capacity: int, clock: Clock, workers: int) -> None:
        self.jobs, self.capacity, self.clock, self.workers = jobs, capacity, clock, workers
        self.best: Ascended | None = None
        # What is typical of a delay by a second.
        self._slope = float(np.exp(np.log(jobs.slope).mean()))

    def run(self, ahead: Plan) -> None:
        """Go through the rounds."""
        windows, divisor = ahead.windows, 1
        for number, each in enumerate(ahead.rounds):
            if not self.clock.remaining:
                return
            while divisor < each.divisor:
                windows, divisor = windows.halved(), 2 * divisor
            left = self.clock.remaining
            own = Clock(left if number + 1 == len(ahead.rounds) else _SHARE * left)
            windows = (
                self._pieces(windows, each, own) if each.by_pieces else self._together(windows, each, own)
            )
            length = float(windows.edges[1] - windows.edges[0])
            windows = windows.cut(self.jobs.submit, _MARGIN * length)

    def _temperatures(self, windows: JobWindows, each: Round) -> list[float]:
        length = float(windows.edges[1] - windows.edges[0])
        return [share * length * self._slope for share in each.temperatures]

    def _together(self, windows: JobWindows, each: Round, clock: Clock) -> JobWindows:
        done = ascended(
            self.jobs,
            self.capacity,
            windows,
            self._temperatures(windows, each),
            steps=_STEPS,
            clock=clock,
            workers=self.workers,
        )
        self._note(done)
        return done.windows

    def _pieces(self, windows: JobWindows, each: Round, clock: Clock) -> JobWindows:
        order = np.argsort(self.jobs.submit, kind="stable")
        pieces = np.array_split(order, math.ceil(len(order) / PIECE))
        windows = ascended_pieces(
            self.jobs,
            self.capacity,
            windows,
            [np.sort(piece) for piece in pieces],
            self._temperatures(windows, each),
            steps=_STEPS,
            clock=clock,
            workers=self.workers,
        )
        dual = JobDual(self.jobs, self.capacity, windows, self.workers)
        self._note(Ascended(windows, dual.exact(windows.prices * windows.lengths)))
        return windows

    def _note(self, done: Ascended) -> None:
        if self.best is None or done.value > self.best.value:
            self.best = done


def _divisor(nodes: IntArray, num_nodes: int) -> int:
    """Return by what sizes are divided: nothing is lost by what divides all of them."""
    common = int(np.gcd.reduce(nodes))
    return common * max(1, math.ceil(num_nodes / common / _CAPACITY))


def _certificate(
    windows: JobWindows, counted: IntArray, num_jobs: int, divisor: int, term: WorkloadTerm
) -> dict[str, Any]:
    """Return the prices in integers, of each job from its first to its last one above 0."""
    unit = _price_unit(windows)
    prices = np.rint(windows.prices * unit).astype(np.int64)
    owners, slots = windows.owners, windows.slots
    priced = np.flatnonzero(prices)
    first, last = np.zeros(num_jobs, dtype=np.int64), np.full(num_jobs, -1)
    if len(priced):
        jobs, begins = np.unique(owners[priced], return_index=True)
        ends = np.append(begins[1:], len(priced)) - 1
        first[counted[jobs]], last[counted[jobs]] = slots[priced[begins]], slots[priced[ends]]
    inside = (slots >= first[counted][owners]) & (slots <= last[counted][owners])
    return {
        "kind": "job-prices",
        "term": term,
        "edges": np.rint(windows.edges).astype(np.int64).tolist(),
        "nodes": divisor,
        "unit": unit,
        "first_slots": first.tolist(),
        "offsets": np.concatenate(([0], np.cumsum(last - first + 1))).tolist(),
        "prices": prices[inside].tolist(),
    }


def _price_unit(windows: JobWindows) -> int:
    """Return a power of ten for which a price in the middle has five digits and sums fit into 64 bits."""
    positive: FloatArray = windows.prices[windows.prices > 0]
    if not len(positive):
        return 1
    paid = np.bincount(windows.owners, windows.prices * windows.lengths)
    fullest = np.bincount(windows.slots, windows.prices)
    fine = math.floor(math.log10(_MIDDLE / float(np.median(positive)))) + 1
    large = math.floor(math.log10(_ROOM / max(float(paid.max()), float(fullest.max()))))
    return int(10 ** max(0, min(fine, large, 15)))
