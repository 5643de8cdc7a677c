"""Prices per job on machines that are not plain: sets of jobs fit by each resource, and what is closed bars.

The ascent goes in rounds, as that of plain machines: temperatures fall, windows are cut, slots are halved.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_dates import Spans, costs_in_spans
from allocsolve.bounds.workload._kernels_job_prices import PricedJobs
from allocsolve.bounds.workload._kernels_machine_jobs import (
    MachineEntries,
    fullest_slots_on_machine,
    soft_slots_on_machine,
)
from allocsolve.bounds.workload.costs import MEAN_TERMS, job_costs
from allocsolve.bounds.workload.job_price_dual import PRIOR, DualJobs, JobWindows, climb, slots_of
from allocsolve.bounds.workload.job_prices import PricedWorkload, price_certificate
from allocsolve.bounds.workload.time_prices import PriceBound
from allocsolve.errors import InvalidAnswer
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.model import frozen, packed_machine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from allocsolve.model import Clock, FloatArray, IntArray, PackedMachine, WorkloadProblem, WorkloadTerm

#: The most cells of the table of a slot: amounts are coarsened to them, since time grows with their number.
_MOST_CELLS: Final = 1 << 16
#: The most cells times jobs times slots of a job, of which there are about so many, with and without a limit
#: of time: about a second for a step, and a tenth of that.
_SLOTS_OF_A_JOB: Final = 60
_WORK, _WORK_UNLIMITED = 3e8, 3e7

#: The ascent begins without resources of which a share is wanted that is below this part of the largest one.
#: Of 120 jobs, one of .34 of it cost nothing, and one of .67 a twentieth of the bound.
_SCARCE: Final = 0.5

#: The length of a slot at first, as a share of the mean run time, and the most slots that are made at once.
_LENGTH, _MOST_SLOTS = 1 / 6, 2_000

#: A window of prices reaches up to where its job waits for so many times of what it pays, and further by so
#: many slots: what it pays rises.
_RISE, _MARGIN = 1.5, 4
#: How often slots are added behind the last one for what is closed then.
_EXTENSIONS: Final = 20


class _Round(NamedTuple):
    """An ascent: how often slots are halved before, and temperatures, in costs of a delay by a slot."""

    halvings: int
    temperatures: tuple[float, ...]


_ROUNDS: Final = (
    _Round(0, (0.2, 0.06)),
    _Round(0, (0.1, 0.03)),
    _Round(1, (0.05, 0.015)),
    _Round(1, (0.05, 0.015)),
)
#: The round by all resources, where others come before by scarce ones alone.
_LAST_ROUND: Final = _Round(0, (0.03, 0.015))
#: Those from prices per job on.
_FURTHER_ROUNDS: Final = (_Round(0, (0.05, 0.015)), _Round(1, (0.05, 0.015)))
#: Steps at each temperature.
_STEPS: Final = 100
#: The share of the time left that each round but the last may take.
_SHARE: Final = 0.4

#: Seconds by which what is closed ends earlier for the judge, where times are no quarters of a second.
_EARLIER_S: Final = 2 / 1024


class MachineJobs(NamedTuple):
    """The jobs that count and get prices, and what they need of a machine in units."""

    priced: PricedWorkload
    machine: PackedMachine
    #: Shape (jobs,), seconds.
    release: FloatArray
    #: Shape (jobs, resources), in the order of the machine, in units of each resource.
    needs: IntArray
    #: Shape (resources,): the units.
    units: IntArray
    #: Shape (resources,): what there is of each resource while nothing is closed.
    whole: IntArray
    #: Shape (steps,), seconds: from when on there are the capacities of `machine`.
    times: FloatArray
    #: Seconds: some optimum ends by then.
    horizon: float
    #: The resources of which not much less is wanted than of the one that is wanted most.
    scarce: IntArray

    @classmethod
    def of(cls, problem: WorkloadProblem, term: WorkloadTerm, most_cells: float = _MOST_CELLS) -> MachineJobs:
        """Return the jobs of a problem with their costs under a term, in units for so many cells."""
        costs, packed, machine = job_costs(problem, term), problem.jobs.packed, packed_machine(problem)
        counted = np.flatnonzero(costs.slope > 0)
        needs = np.zeros((len(packed.submit), len(machine.names)), dtype=np.int64)
        needs[np.repeat(np.arange(len(needs)), np.diff(machine.offsets)), machine.resource] = machine.amount
        units = _units(needs, machine.capacity.max(axis=0), min(most_cells, _MOST_CELLS))
        jobs = DualJobs(
            packed.submit, packed.runtime, costs.slope, costs.floor, frozen(needs[:, 0] // units[0])
        )
        priced = PricedWorkload(jobs.of(counted), counted, int(units[0]), problem.num_nodes // int(units[0]))
        times = machine.times
        if not problem.is_exact:
            opens = np.concatenate([[False], (np.diff(machine.capacity, axis=0) > 0).any(axis=1)])
            times = np.maximum.accumulate(times - _EARLIER_S * opens)
        release, needs = machine.release[counted], needs[counted] // units
        wanted = (needs * priced.jobs.runtime[:, None]).sum(axis=0)
        scarce = _scarce(wanted, machine.capacity.max(axis=0) // units)
        whole = np.array([problem.num_nodes, *dict(problem.resources).values()], dtype=np.int64)
        return cls(priced, machine, release, needs, units, whole, times, problem.horizon, scarce)

    def units_of_others(self, problem: WorkloadProblem) -> dict[str, int]:
        """Return the units of the resources other than nodes that count, by name."""
        there = dict(problem.resources)
        others = zip(self.machine.names[1:], self.units[1:].tolist(), strict=True)
        return {name: unit for name, unit in others if unit <= there[name]}

    def room(self, edges: FloatArray) -> IntArray:
        """Return the units that are there in each slot, the most where that changes; (slots, resources)."""
        first = np.maximum(np.searchsorted(self.times, edges[:-1], side="right") - 1, 0)
        last = np.maximum(np.searchsorted(self.times, edges[1:], side="left") - 1, first)
        room = np.array(
            [
                self.machine.capacity[low : high + 1].max(axis=0)
                for low, high in zip(first.tolist(), last.tolist(), strict=True)
            ]
        ).reshape(len(first), len(self.units))
        room[edges[:-1] < 0] = self.whole  # nothing is closed before times begin, as for the judge
        units: IntArray = room // self.units
        return units


def _units(needs: IntArray, most: IntArray, cells: float) -> IntArray:
    """Return by what to divide amounts: a common divisor, with which nothing is lost, or more.

    Of what nobody needs one unit is more than there is.
    """
    common: IntArray = np.gcd.reduce(needs, axis=0)
    units = np.where(common > 0, common, most + 1)
    while math.prod((most // units + 1).tolist()) > max(cells, 1):
        units[int(np.argmax(most // units))] *= 2
    return units


def _scarce(wanted: FloatArray, most: IntArray) -> IntArray:
    """Return the resources of which large shares are wanted, rising."""
    shares = wanted / np.maximum(most, 1)
    return np.flatnonzero(shares >= _SCARCE * shares.max())


class MachineJobDual:
    """The dual function on windows of prices, on a machine.

    It is that of `JobDual`, where sets of jobs fit by each resource, and no job runs where it does not fit.
    Levels are prices times the seconds of their slot. With some of the resources only it is a lower bound,
    too, and its steps are faster.
    """

    def __init__(
        self, jobs: MachineJobs, windows: JobWindows, resources: IntArray | slice = slice(None)
    ) -> None:
        self.windows, self._jobs = windows, jobs
        room = jobs.room(windows.edges)
        self._priced = PricedJobs(*jobs.priced.jobs, windows.first, windows.offsets)
        fits: NDArray[np.bool_] = np.all(jobs.needs[:, None] <= room[None], axis=2)
        self._spans = self._starts(fits)
        slots, owners = windows.slots, windows.owners
        #: The levels that count: those of slots in which the job fits.
        self.free = np.flatnonzero(fits[owners, slots])
        entries = self.free[np.argsort(slots[self.free], kind="stable")]
        offsets = np.concatenate(([0], np.cumsum(np.bincount(slots[entries], minlength=len(room)))))
        needs = np.ascontiguousarray(jobs.needs[owners[entries]][:, resources])
        room = np.ascontiguousarray(room[:, resources])
        self._entries = MachineEntries(*map(frozen, (offsets, entries, needs, room)))

    def _starts(self, fits: NDArray[np.bool_]) -> Spans:
        """Return the spans of starts with which each job runs in no slot in which it does not fit."""
        edges, runtimes = self.windows.edges, self._jobs.priced.jobs.runtime
        lows: list[float] = []
        highs: list[float] = []
        offsets = [0]
        for job, release in enumerate(self._jobs.release.tolist()):
            earliest, runtime = release, float(runtimes[job])
            for slot in np.flatnonzero(~fits[job] & (edges[1:] > earliest)).tolist():
                if earliest <= edges[slot] - runtime:
                    lows.append(earliest)
                    highs.append(float(edges[slot]) - runtime)
                earliest = float(edges[slot + 1])
            lows.append(earliest)
            highs.append(math.inf)
            offsets.append(len(lows))
        return Spans(np.array(offsets), np.array(lows), np.array(highs))

    def exact(self, levels: FloatArray) -> float:
        """Return the bound that levels >= 0 give, apart from the rounding of doubles."""
        costs, _ = self.cheapest(levels)
        return float(costs.sum()) - fullest_slots_on_machine(self._entries, frozen(levels))

    def cheapest(self, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least cost of each job, prices included, and a start that has it."""
        costs, starts = np.empty(len(self._jobs.release)), np.empty(len(self._jobs.release))
        costs_in_spans(
            *(self._priced, self.windows.edges, frozen(levels), self._spans, 0.0),
            *(np.empty(0), costs, starts),
        )
        return costs, starts

    def soft(self, levels: FloatArray, temperature: float) -> tuple[float, FloatArray]:
        """Return a smooth concave function of the levels and its gradient, as `JobDual.soft`."""
        gradient, none = np.zeros(len(levels)), np.empty(0)
        frozen(levels)
        value = costs_in_spans(
            *(self._priced, self.windows.edges, levels, self._spans, temperature), *(gradient, none, none)
        )
        return value - soft_slots_on_machine(self._entries, levels, temperature, PRIOR, gradient), gradient


def machine_job_prices(
    problem: WorkloadProblem, term: WorkloadTerm, start: PriceBound, *, clock: Clock
) -> PriceBound:
    """Return a lower bound by prices per job on any machine, never below the given one.

    Parameters
    ----------
    problem
        Rigid jobs. For others the bound is returned as it was given.
    term
        What is bounded: a mean over the jobs. For other terms the bound is returned as it was given.
    start
        The bound from which the ascent starts: by prices of resources, or by prices per job.
    clock
        When it runs out, or at Ctrl-C, the best bound so far is returned.

    Notes
    -----
    The bound is that of `job_prices`, with two more things known. Jobs that run at once fit by each resource,
    so what the machine earns in a slot is a knapsack of several resources; and a job runs in no slot in which
    it needs more than is there, which bars starts before windows that are closed to it.

    *Complexity* of a step: O(prices * product of what is there of each resource); that product is coarsened
    to at most 65,536, and less for more jobs or without a limit of time, which costs quality, not validity.
    The ascent first knows only the resources of which large shares are wanted.
    """
    if not problem.is_rigid or term not in MEAN_TERMS or not problem.jobs.packed.weight.any():
        return start
    jobs = machine_jobs(problem, term, _WORK if clock.divisible < math.inf else _WORK_UNLIMITED)
    interrupted = start.interrupted
    windows = _first_windows(jobs, start)
    best: tuple[float, JobWindows] | None = None
    try:
        rounds = _rounds(jobs, further=start.certificate.get("kind") == "job-prices")
        for number, (each, resources) in enumerate(rounds):
            for _ in range(each.halvings):
                windows = _halved(windows)
            if number:
                windows = _widened(jobs, windows)
            own = clock.stage(1.0 if number + 1 == len(rounds) else _SHARE)
            value, windows = _climbed(jobs, windows, resources, each.temperatures, own)
            if best is None or value > best[0]:
                best = value, windows
            if not clock.remaining:
                break
    except KeyboardInterrupt:
        interrupted = True
    return _certified(problem, term, jobs, start, best, interrupted=interrupted)


def machine_jobs(problem: WorkloadProblem, term: WorkloadTerm, work: float = _WORK) -> MachineJobs:
    """Return the jobs of a problem in units with which a step of an ascent is about so much work."""
    return MachineJobs.of(problem, term, work / (_SLOTS_OF_A_JOB * len(problem.jobs)))


def machine_job_prices_of(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: Mapping[str, Any]
) -> PriceBound:
    """Return the bound of a certificate of prices per job; it has no prices of resources.

    Raises
    ------
    InvalidAnswer
        If the judge does not admit the certificate.
    """
    value = job_price_bound(problem, certificate, term)
    jobs = MachineJobs.of(problem, term)
    windows = JobWindows.of_certificate(certificate, jobs.priced.counted)
    starts = _cheapest_starts(jobs, windows, packed_machine(problem).release)
    none = frozen(np.zeros((len(jobs.units), 0)))
    return PriceBound(
        value, certificate, starts, problem.jobs.packed.nodes, frozen(np.zeros(1, dtype=np.int64)), none
    )


def _rounds(jobs: MachineJobs, *, further: bool) -> list[tuple[_Round, IntArray | slice]]:
    """Return the rounds, each with the resources by which it goes."""
    every = slice(None)
    if further:
        return [(each, every) for each in _FURTHER_ROUNDS]
    rounds: list[tuple[_Round, IntArray | slice]] = [(each, jobs.scarce) for each in _ROUNDS]
    if len(jobs.scarce) < len(jobs.units):
        rounds.append((_LAST_ROUND, every))
    return rounds


def _climbed(
    jobs: MachineJobs,
    windows: JobWindows,
    resources: IntArray | slice,
    temperatures: tuple[float, ...],
    clock: Clock,
) -> tuple[float, JobWindows]:
    """Return the value and the prices after an ascent."""
    dual = MachineJobDual(jobs, windows, resources)
    lengths = windows.lengths
    levels = np.zeros(len(windows.prices))
    levels[dual.free] = (windows.prices * lengths)[dual.free]
    slope = float(np.exp(np.log(jobs.priced.jobs.slope).mean()))
    levels, value = climb(
        dual,
        levels,
        [each * windows.usual_length * slope for each in temperatures],
        steps=_STEPS,
        stop=lambda: not clock.remaining,
        free=dual.free,
    )
    return value, windows.with_prices(levels / lengths)


def _first_windows(jobs: MachineJobs, start: PriceBound) -> JobWindows:
    """Return windows with the prices of a bound, on slots that end where capacities change.

    Windows begin as wide as all slots.
    """
    counted, runtime = jobs.priced.counted, jobs.priced.jobs.runtime
    if start.certificate.get("kind") == "job-prices":
        return _widened(jobs, JobWindows.of_certificate(start.certificate, counted))
    paid = np.zeros((len(jobs.units), len(start.edges)))
    np.cumsum(start.prices * np.diff(start.edges), axis=1, out=paid[:, 1:])
    needs = jobs.needs * jobs.units  # rounded down to units, as in the knapsacks
    low = math.floor(jobs.release.min())
    latest = max(float((jobs.release + runtime).max()), float(start.edges[-1]))
    length = max(1.0, round(max(_LENGTH * float(runtime.mean()), (latest - low) / _MOST_SLOTS)))
    edges = _extended(jobs, np.array([float(low)]), latest, length)
    every = np.zeros(len(counted), dtype=np.int64)
    windows = JobWindows.empty(edges, every, every + len(edges) - 2)
    prices = np.zeros(len(windows.prices))
    for row, until in enumerate(paid):
        price = np.diff(np.interp(edges, start.edges, until)) / np.diff(edges)
        prices += price[windows.slots] * needs[windows.owners, row]
    # What nobody can have is priced as high as one likes, and jobs are barred from it.
    return _widened(jobs, windows.with_prices(prices))


def _extended(jobs: MachineJobs, edges: FloatArray, until: float, length: float) -> FloatArray:
    """Return edges up to an instant at least, and up to one at which all jobs fit."""
    most = (jobs.needs * jobs.units).max(axis=0)
    step = max(0, int(np.searchsorted(jobs.times, until, side="right")) - 1)
    while step + 1 < len(jobs.times) and (jobs.machine.capacity[step] < most).any():
        step += 1
        until = max(until, float(jobs.times[step]))
    count = max(1, math.ceil((until - edges[-1]) / length))
    more = edges[-1] + length * np.arange(1, min(count, _MOST_SLOTS) + 1)
    if count > _MOST_SLOTS:  # one long slot, until something is open again
        more = np.append(more, math.ceil(until))
    changes = np.concatenate([np.floor(jobs.times), np.ceil(jobs.times)])
    between: FloatArray = changes[(changes > edges[-1]) & (changes < more[-1])]
    return np.union1d(edges, np.concatenate([more, between]))


def _widened(jobs: MachineJobs, windows: JobWindows) -> JobWindows:
    """Return windows up to where each job would rather pay than wait; slots are added as they need.

    Behind that end the delay alone costs more than the job pays now, so prices there say nothing. Up to it a
    job without a price would have a cheaper start.
    """
    length, submit, slope = windows.usual_length, jobs.priced.jobs.submit, jobs.priced.jobs.slope
    for _ in range(_EXTENSIONS):
        costs, _ = MachineJobDual(jobs, windows).cheapest(windows.prices * windows.lengths)
        ends = np.minimum(submit + _RISE * costs / slope, math.ceil(jobs.horizon)) + _MARGIN * length
        if float(ends.max()) <= windows.edges[-1]:
            break
        edges = _extended(jobs, windows.edges, float(ends.max()), length)
        windows = JobWindows(edges, windows.first, windows.offsets, windows.prices)
    edges = windows.edges
    return windows.onto(
        JobWindows.empty(edges, slots_of(edges, jobs.release), slots_of(edges, ends - 1e-6 * length))
    )


def _halved(windows: JobWindows) -> JobWindows:
    """Return the same prices on slots of half the length, in whole seconds, where that is one at least."""
    old = windows.edges
    middles = np.floor(0.5 * (old[:-1] + old[1:]))
    edges = np.union1d(old, middles[np.diff(old) >= 2])
    at = np.searchsorted(edges, old)
    ends = windows.first + np.diff(windows.offsets)
    return windows.onto(JobWindows.empty(edges, at[windows.first], at[ends] - 1))


def _cheapest_starts(jobs: MachineJobs, windows: JobWindows, others: FloatArray) -> FloatArray:
    """Return a cheapest start of each job; jobs that do not count keep the given start."""
    starts = others.copy()
    _, starts[jobs.priced.counted] = MachineJobDual(jobs, windows).cheapest(windows.prices * windows.lengths)
    return frozen(starts)


def _certified(
    problem: WorkloadProblem,
    term: WorkloadTerm,
    jobs: MachineJobs,
    start: PriceBound,
    best: tuple[float, JobWindows] | None,
    *,
    interrupted: bool,
) -> PriceBound:
    """Return the better of the bound of some prices, as the judge computes it, and the one before."""
    before = replace(start, interrupted=interrupted)
    if best is None:
        return before
    certificate = price_certificate(best[1], jobs.priced, len(problem.jobs), term)
    certificate["units"] = jobs.units_of_others(problem)
    try:
        value = job_price_bound(problem, certificate, term)
    except InvalidAnswer:  # it is too large for 64 bits
        return before
    if value <= start.value:
        return before
    starts = _cheapest_starts(jobs, best[1], start.starts)
    return replace(before, value=value, certificate=certificate, starts=starts)
