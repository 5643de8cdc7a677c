"""A lower bound from prices of counted resources, whose capacity changes over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.bounds.workload._kernels_machine_prices import (
    CheapestStarts,
    MachinePriceList,
    RigidJobs,
    cheapest_on_machine,
)
from allocsolve.bounds.workload.combinatorial import in_quarters, makespan_bound
from allocsolve.bounds.workload.costs import job_costs
from allocsolve.bounds.workload.time_prices import (
    Ascent,
    BestPrices,
    PriceBound,
    climbed,
    on_few_slots,
    slots_between,
    time_units,
)
from allocsolve.errors import UnsupportedProblem
from allocsolve.judge import certified_bound
from allocsolve.model import RIGID, frozen, packed_machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.bounds.workload.costs import JobCosts
    from allocsolve.model import Clock, FloatArray, IntArray, PackedMachine, WorkloadProblem, WorkloadTerm

#: Prices below this share of the highest one count as 0.
_NO_PRICE: Final = 1e-6
#: Bits of the sum of all prices of a resource, and of the cost of a job, in units of prices and time: both
#: are less than the judge takes. No price has more bits than the judge takes either.
_BITS: Final = 58
_BITS_OF_A_PRICE: Final = 52
#: Bits of the sum of the first prices of what is closed: the more these take, the coarser all prices are.
_BITS_OF_CLOSED: Final = 42
#: The least gain, and the most climbs on the same slots: prices of several resources settle slowly, and that
#: costs least on coarse slots.
_LEAST_GAIN: Final = 2e-5
_MOST_ROUNDS: Final = 6


class MachineDual:
    """The value of prices on slots: the sum of the least costs of jobs, less what the whole machine earns.

    Prices are one row for each resource, all in one vector, each times the most that is there of it: so a
    step of an ascent means the same for resources of all sizes. Where a resource is closed for a slot its
    price is free.
    """

    least_gain, most_rounds = _LEAST_GAIN, _MOST_ROUNDS
    halves_unpriced = False

    def __init__(self, problem: WorkloadProblem, costs: JobCosts, slack: float) -> None:
        self.problem, self.costs, self._slack = problem, costs, slack
        self.machine = packed_machine(problem)
        packed, machine = problem.jobs.packed, self.machine
        #: Shape (resources, 1).
        self.most = np.array([problem.num_nodes, *(amount for _, amount in problem.resources)])[:, None]
        self._jobs = RigidJobs(
            packed.submit,
            machine.release,
            packed.runtime,
            costs.slope,
            costs.floor,
            *(machine.offsets, machine.resource, machine.amount),
        )

    def on(self, edges: IntArray) -> None:
        """Take these slots."""
        jobs, slots, resources = len(self.costs.slope), len(edges) - 1, len(self.most)
        self._edges = edges
        self._slots = np.diff(edges).astype(np.float64)
        self.widths = np.tile(self._slots, resources)
        self._capacity = mean_capacity(self.machine, edges)
        self.is_open = self._capacity > 0
        self.out = CheapestStarts(
            np.empty(jobs),
            np.empty(jobs),
            np.empty((resources, slots + 1)),
            np.empty((resources, slots + 2)),
            np.empty((2, slots + 1)),
        )

    def __call__(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient: per second of each slot, what is used beyond what is there."""
        rows = self.rows(prices)
        total = cheapest_on_machine(_price_list(self._edges, rows), self._jobs, self._slack, self.out)
        beyond = self.out.usage[:, :-1] / self._slots - self._capacity
        earned = float((rows * self._capacity * self._slots).sum())
        return float(total) - earned, (beyond / self.most).ravel()

    def rows(self, prices: FloatArray) -> FloatArray:
        """Return the prices of each resource, shape (resources, slots)."""
        rows: FloatArray = prices.reshape(len(self.most), -1) / self.most
        return rows

    def has_time(self, clock: Clock | None) -> bool:
        """Return whether there is time for an evaluation."""
        return clock is None or clock.remaining > 0


def mean_capacity(machine: PackedMachine, edges: IntArray) -> FloatArray:
    """Return how much of each resource is there in each slot, shape (resources, slots); exact if constant."""
    times, capacity = machine.times, machine.capacity
    moments = np.union1d(edges.astype(np.float64), times)
    there = capacity[np.maximum(np.searchsorted(times, moments[:-1], side="right") - 1, 0)]
    slot = np.searchsorted(edges, moments[:-1], side="right") - 1
    inside = (slot >= 0) & (slot < len(edges) - 1)
    area = np.zeros((len(edges) - 1, capacity.shape[1]))
    np.add.at(area, slot[inside], (there * np.diff(moments)[:, None])[inside])
    mean: FloatArray = (area / np.diff(edges)[:, None]).T
    return mean


def _price_list(edges: IntArray, rows: FloatArray) -> MachinePriceList:
    """Return prices, shape (resources, slots), with their sums."""
    prices, integral = np.zeros((2, len(rows), len(edges)))
    prices[:, :-1] = rows
    np.cumsum(rows * np.diff(edges), axis=1, out=integral[:, 1:])
    return MachinePriceList(*map(frozen, (edges.astype(np.float64), prices, integral)))


def machine_prices(
    problem: WorkloadProblem,
    term: WorkloadTerm = "turnaround",
    *,
    clock: Clock | None = None,
    start: Mapping[str, Any] | None = None,
) -> PriceBound:
    """Bound a mean over rigid jobs by prices of counted resources, on machines that need not be plain.

    `UnsupportedProblem` if a job is not rigid.

    The term is ``turnaround``, ``slowdown`` or ``wait``; clock and `start` are as for `time_prices`, and the
    value is that of the judge.

    Notes
    -----
    *Method*: the Lagrangian relaxation of all capacities, as in `time_prices`, with a price l_r(t) for each
    resource r. Let c_r(t) be how much of it is there. A job that needs n_r of each pays the *composite*
    price, the sum of n_r l_r. Running jobs need at most c_r(t), so that

        sum_j f_j(C_j)  >=  sum_j min over starts of job j of [ f_j(C) + integral of its composite price ]
                            -  sum_r integral of l_r c_r.

    Nothing is asked of c_r. Slots end where a capacity changes, to whole seconds. Where a resource is closed
    its price earns nothing, so it begins so high that it pays for each job to wait until the window is over
    (as far as the integers of the judge allow). The ascent is in prices times the most that there is of each
    resource: so one step fits nodes and gigabytes. Head starts order queues, and do not matter here.

    *Complexity*: a step takes O(jobs * needs * (log slots + edges that a job looks at)).
    *Guarantee*: at least the bound of each job alone; at best the value of the linear relaxation that is
    indexed by time, with one row for each resource and instant.

    References
    ----------
    See `time_prices`; with several resources: Möhring, Schulz, Stork & Uetz, "Solving project scheduling
    problems by minimum cut computations", Management Science 49(3), 2003 (Lagrangian relaxation of resources
    in time-indexed formulations).
    """
    if not problem.is_rigid:
        idx = int(np.argmax(problem.jobs.packed.kind != RIGID))
        job = problem.jobs[idx]
        msg = f"job {job.name!r} is {job.kind}: prices of resources bound rigid jobs only"
        raise UnsupportedProblem(msg)
    costs = job_costs(problem, term)
    per_second = time_units(problem)
    dual = MachineDual(problem, costs, 0.0 if in_quarters(problem) else 4 / per_second)
    ascent = Ascent(_first_prices(dual, start))
    interrupted = not climbed(dual, ascent, clock)
    return _certified(dual, ascent.best, term, per_second, interrupted=interrupted)


def _first_prices(dual: MachineDual, start: Mapping[str, Any] | None) -> BestPrices:
    """Return prices on slots that span all jobs: high ones where a resource is closed, others 0.

    Those of a certificate are taken where it has slots.
    """
    edges = _first_edges(dual)
    known = np.zeros(0, dtype=np.int64) if start is None else np.array(start["edges"], dtype=np.int64)
    edges = frozen(np.union1d(edges, known))
    prices = np.where(mean_capacity(dual.machine, edges) > 0, 0.0, _high_prices(dual, edges))
    if start is not None and len(known) > 1:
        slot = np.searchsorted(known, edges[:-1], side="right") - 1
        inside = (slot >= 0) & (slot < len(known) - 1)
        for row, name in enumerate(dual.machine.names):
            listed = start["prices"].get(name, [0] * (len(known) - 1))
            prices[row, inside] = np.array(listed, dtype=np.float64)[slot[inside]] / start["unit"]
    return BestPrices(edges, (prices * dual.most).ravel(), 0.0)


def _first_edges(dual: MachineDual) -> IntArray:
    """Return slots of about two mean run times from the first release on, ended where capacities change."""
    problem, machine = dual.problem, dual.machine
    runtime = problem.jobs.packed.runtime
    if not len(runtime):
        return frozen(np.zeros(1, dtype=np.int64))
    first = math.floor(problem.jobs.packed.submit.min())
    latest = max(makespan_bound(problem.on_plain_machine()).value, float((machine.release + runtime).max()))
    for window in problem.closed:  # what is closed before the end puts it off
        if window.start < latest:
            closed = dict(window.amounts).get("nodes", 0) if window.amounts else problem.num_nodes
            latest += min(closed / problem.num_nodes, 1.0) * (window.end - max(window.start, first))
    slots = slots_between(first, max(first + 1, math.ceil(latest)), float(runtime.mean()))
    changes = machine.times[(machine.times >= first) & (machine.times <= latest)]
    whole = np.concatenate([np.floor(changes), np.ceil(changes)]).astype(np.int64)
    return frozen(np.union1d(slots, whole))


def _high_prices(dual: MachineDual, edges: IntArray) -> FloatArray:
    """Return prices with which each job waits rather than hold a resource while it is closed.

    Shape (resources, slots). The lowest such price is the cost of the whole wait over the seconds in which
    the job would hold it. Windows are few; what is closed for longer than the bits of the judge allow gets
    less.
    """
    machine, slope = dual.machine, dual.costs.slope
    closed = mean_capacity(machine, edges) <= 0
    widths = np.diff(edges).astype(np.float64)
    job = np.repeat(np.arange(len(slope)), np.diff(machine.offsets))
    runtime = dual.problem.jobs.packed.runtime[job]
    high = np.zeros(closed.shape)
    for row in range(len(closed)):
        mine = (machine.resource == row) & (machine.amount > 0)
        if not mine.any() or not closed[row].any():
            continue
        per_held = float((slope[job] / (machine.amount * np.maximum(runtime, 1e-3)))[mine].max())
        flips = np.flatnonzero(np.diff(closed[row], prepend=False, append=False))
        for begin, end in flips.reshape(-1, 2).tolist():
            lasts = widths[begin:end].sum()
            high[row, begin:end] = max(per_held * lasts, float(slope.max()))
        total = float((high[row] * widths).sum())
        high[row] *= min(1.0, 2.0**_BITS_OF_CLOSED / total) if total > 0 else 1.0
    return high


def _certified(
    dual: MachineDual, best: BestPrices, term: WorkloadTerm, per_second: int, *, interrupted: bool
) -> PriceBound:
    """Return the bound of the prices rounded to integers, as the judge computes it."""
    problem, edges = dual.problem, best.edges
    dual.on(edges)
    dual(best.prices)
    rows = dual.rows(best.prices)
    totals = (rows * np.diff(edges)).sum(axis=1)
    bits = [
        _BITS - math.ceil(math.log2(per_second * max(1.0, value)))
        for value in (float(dual.out.costs.max(initial=0.0)), float(totals.max(initial=0.0)))
    ]
    bits.append(_BITS_OF_A_PRICE - math.ceil(math.log2(max(1.0, float(rows.max(initial=0.0))))))
    unit = 1 << max(0, min(*bits, _BITS_OF_A_PRICE))
    whole = np.round(rows * unit)
    if float((whole * np.diff(edges)).sum(axis=1).max(initial=0.0)) * per_second >= 2.0**60:
        whole[:] = 0.0  # they are beyond what the judge accepts
    edges, whole = on_few_slots(edges, whole)
    listed = zip(dual.machine.names, whole.astype(np.int64).tolist(), strict=True)
    certificate = {
        "kind": "machine-prices",
        "term": term,
        "edges": edges.tolist(),
        "prices": {name: prices for name, prices in listed if any(prices)},
        "unit": unit,
    }
    value = certified_bound(problem, certificate, (term,))
    return PriceBound(
        value=value,
        certificate=certificate,
        starts=frozen(dual.out.starts),
        sizes=problem.jobs.packed.nodes,
        edges=edges,
        prices=frozen(whole / unit),
        interrupted=interrupted,
    )
