"""Prices per job: the bound on workloads of rigid jobs where jobs are wide or few."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload.costs import MEAN_TERMS, job_costs
from allocsolve.bounds.workload.job_price_dual import DualJobs, JobDual
from allocsolve.bounds.workload.job_price_plan import MARGIN, PIECE, Plan, Round, further, plan
from allocsolve.bounds.workload.job_price_rounds import Ascended, ascended, ascended_pieces
from allocsolve.bounds.workload.job_price_windows import JobWindows, read_only
from allocsolve.bounds.workload.price_bound import PriceBound
from allocsolve.errors import InvalidAnswer
from allocsolve.judge.workload_job_prices import job_price_bound
from allocsolve.model import Clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm

__all__ = ["job_prices", "job_prices_of"]

_KIND: Final = "job-prices"

#: Sizes are coarsened such that the cluster has at most so many units.
_CAPACITY: Final = 1024

#: Windows of more prices do not get slots of half the length.
_MOST_HALVED: Final = 1_000_000

#: Relative: less than that is no gain but the rounding of sums.
_NO_GAIN: Final = 1e-10

#: Steps of the ascent at each temperature.
_STEPS: Final = 120

#: The share of the time left that each round but the last may take.
_SHARE: Final = 0.4

#: A price in the middle is so many units, if sums of them leave room in 64 bits; of very many prices fewer,
#: whose roundings cancel: certificates become files.
_MIDDLE, _MIDDLE_OF_MANY, _MANY = 1e5, 1e2, 100_000
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
        The bound from which the ascent starts: by prices that are the same for all jobs, or by prices per
        job, which are improved where they are and on finer slots.
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
    priced = _Priced.of(problem, term)
    search = _Search(priced.jobs, priced.capacity, clock, workers)
    interrupted = start.interrupted
    try:
        search.run(_ahead(problem, priced, start))
    except KeyboardInterrupt:
        interrupted = True
    if search.best is None:
        return replace(start, interrupted=interrupted)
    windows = search.best.windows
    certificate = _certificate(windows, priced, len(problem.jobs), term)
    try:
        value = job_price_bound(problem, certificate, term)
    except InvalidAnswer:  # too large for 64 bits
        return replace(start, interrupted=interrupted)
    if value <= start.value:
        return replace(start, interrupted=interrupted)
    return replace(
        start,
        value=value,
        certificate=certificate,
        starts=_cheapest_starts(start.starts, priced, windows),
        interrupted=interrupted,
    )


def job_prices_of(problem: WorkloadProblem, term: WorkloadTerm, certificate: Mapping[str, Any]) -> PriceBound:
    """Return the bound of a certificate of prices per job; it has no prices of node-seconds.

    Raises
    ------
    InvalidAnswer
        If the judge does not admit the certificate.
    """
    value = job_price_bound(problem, certificate, term)
    nobody = read_only(np.zeros(0))
    starts = problem.packed.submit
    if problem.packed.weight.any():
        priced = _Priced.of(problem, term)
        starts = _cheapest_starts(starts, priced, JobWindows.of_certificate(certificate, priced.counted))
    return PriceBound(
        value, certificate, starts, problem.packed.nodes, read_only(np.zeros(1, dtype=np.int64)), nobody
    )


class _Priced(NamedTuple):
    """The jobs that get prices: those that count."""

    jobs: DualJobs
    #: Their places in the problem.
    counted: IntArray
    #: By what sizes are divided, and what is left of the cluster.
    divisor: int
    capacity: int

    @classmethod
    def of(cls, problem: WorkloadProblem, term: WorkloadTerm) -> _Priced:
        costs, packed = job_costs(problem, term), problem.packed
        counted = np.flatnonzero(costs.slope > 0)
        divisor = _divisor(packed.nodes, problem.num_nodes)
        nodes = read_only(packed.nodes // divisor)
        jobs = DualJobs(packed.submit, packed.runtime, costs.slope, costs.floor, nodes).of(counted)
        return cls(jobs, counted, divisor, problem.num_nodes // divisor)


def _ahead(problem: WorkloadProblem, priced: _Priced, start: PriceBound) -> Plan:
    """Return where to begin: where the given prices are."""
    counted = priced.counted
    if start.certificate.get("kind") == _KIND:
        return further(JobWindows.of_certificate(start.certificate, counted), priced.jobs.submit)
    sizes = problem.packed.nodes[counted].astype(np.float64)
    return plan(priced.jobs, priced.capacity, sizes, start.starts[counted], start)


def _cheapest_starts(others: FloatArray, priced: _Priced, windows: JobWindows) -> FloatArray:
    """Return a cheapest start of each job; of those that do not count, what is given."""
    starts = others.copy()
    dual = JobDual(priced.jobs, priced.capacity, windows)
    _, starts[priced.counted] = dual.cheapest(windows.prices * windows.lengths)
    return read_only(starts)


class _Search:
    """The best prices so far, which Ctrl-C leaves."""

    def __init__(self, jobs: DualJobs, capacity: int, clock: Clock, workers: int) -> None:
        self.jobs, self.capacity, self.clock, self.workers = jobs, capacity, clock, workers
        self.best: Ascended | None = None
        # What is typical of a delay by a second.
        self._slope = float(np.exp(np.log(jobs.slope).mean()))

    def run(self, ahead: Plan) -> None:
        """Go through the rounds."""
        for rounds in ahead.rounds:
            if not self.clock.remaining or self._gained(ahead.windows, rounds):
                return

    def _gained(self, windows: JobWindows, rounds: Sequence[Round]) -> bool:
        """Go through rounds; give up, and say so, where pieces lose: jobs wait from one into the next."""
        divisor = 1
        self._note(self._valued(windows))
        for number, each in enumerate(rounds):
            left = self.clock.remaining
            if not left:
                break
            while divisor < each.divisor:
                if np.diff(windows.edges).min() < 2 or len(windows.prices) > _MOST_HALVED:
                    return True
                windows, divisor = windows.halved(), 2 * divisor
            length = windows.usual_length
            temperatures = [share * length * self._slope for share in each.temperatures]
            own = Clock(left if number + 1 == len(rounds) else _SHARE * left)
            step = self._pieces if each.by_pieces else self._together
            done = step(windows, temperatures, own)
            if each.by_pieces and self.best is not None and done.value < self.best.value:
                return False
            self._note(done)
            windows = done.windows.cut(self.jobs.submit, MARGIN * length)
        return True

    def _together(self, windows: JobWindows, temperatures: Sequence[float], clock: Clock) -> Ascended:
        return ascended(
            self.jobs,
            self.capacity,
            windows,
            temperatures,
            steps=_STEPS,
            clock=clock,
            workers=self.workers,
        )

    def _pieces(self, windows: JobWindows, temperatures: Sequence[float], clock: Clock) -> Ascended:
        order = np.argsort(self.jobs.submit, kind="stable")
        pieces = np.array_split(order, math.ceil(len(order) / PIECE))
        done = ascended_pieces(
            self.jobs,
            self.capacity,
            windows,
            [np.sort(piece) for piece in pieces],
            temperatures,
            steps=_STEPS,
            clock=clock,
            workers=self.workers,
        )
        return self._valued(done)

    def _valued(self, windows: JobWindows) -> Ascended:
        dual = JobDual(self.jobs, self.capacity, windows, self.workers)
        return Ascended(windows, dual.exact(windows.prices * windows.lengths))

    def _note(self, done: Ascended) -> None:
        if self.best is None or done.value - self.best.value > _NO_GAIN * abs(self.best.value):
            self.best = done


def _divisor(nodes: IntArray, num_nodes: int) -> int:
    """Return by what sizes are divided: nothing is lost by what divides all of them."""
    common = int(np.gcd.reduce(nodes))
    return common * max(1, math.ceil(num_nodes / common / _CAPACITY))


def _certificate(
    windows: JobWindows, priced_jobs: _Priced, num_jobs: int, term: WorkloadTerm
) -> dict[str, Any]:
    """Return the prices in integers, of each job from its first to its last one above 0."""
    unit, counted = _price_unit(windows), priced_jobs.counted
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
        "kind": _KIND,
        "term": term,
        "edges": np.rint(windows.edges).astype(np.int64).tolist(),
        "nodes": priced_jobs.divisor,
        "unit": unit,
        "first_slots": first.tolist(),
        "offsets": np.concatenate(([0], np.cumsum(last - first + 1))).tolist(),
        "prices": prices[inside].tolist(),
    }


def _price_unit(windows: JobWindows) -> int:
    """Return a power of ten for which a price in the middle has some digits and sums fit into 64 bits."""
    positive: FloatArray = windows.prices[windows.prices > 0]
    if not len(positive):
        return 1
    paid = np.bincount(windows.owners, windows.prices * windows.lengths)
    fullest = np.bincount(windows.slots, windows.prices)
    middle = _MIDDLE if len(positive) < _MANY else _MIDDLE_OF_MANY
    fine = math.floor(math.log10(middle / float(np.median(positive)))) + 1
    large = math.floor(math.log10(_ROOM / max(float(paid.max()), float(fullest.max()))))
    return int(10 ** max(0, min(fine, large, 15)))
