"""A lower bound from prices of node-seconds: the Lagrangian dual of the capacity, in continuous time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from allocsolve.bounds.workload._kernels_malleable_prices import CheapestWork, cheapest_work
from allocsolve.bounds.workload._kernels_phase_prices import cheapest_phases, phased
from allocsolve.bounds.workload._kernels_prices import (
    Cheapest,
    cheapest,
    cheapest_profiles,
    price_list,
    sweep,
)
from allocsolve.bounds.workload.combinatorial import in_quarters, makespan_bound, shortest_run_times
from allocsolve.bounds.workload.costs import JobCosts, job_costs, phase_rows, profile_rows
from allocsolve.judge import certified_bound
from allocsolve.model import (
    MALLEABLE,
    NO_SPEEDUP,
    SLOWDOWN_FLOOR_S,
    WORKLOAD_OBJECTIVES,
    BoolArray,
    FloatArray,
    IntArray,
    frozen,
    parse_objective,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from allocsolve.model import Clock, WorkloadProblem, WorkloadTerm


def work_prices(problem: WorkloadProblem, bound: PriceBound) -> FloatArray:
    """Return the price of all the work of each job that changes its size by a law, at its cheapest end.

    It is the marginal price; such jobs are malleable jobs and those with requests.

    The bound is one of the problem by `time_prices`. Shape (jobs,), read-only, in the units of the cost of a
    job (see `JobCosts`); 0 for jobs of other kinds and for those that do not count.

    Notes
    -----
    At its cheapest end a job with the work price m holds at each instant, with l the price of a node-second
    then, the number of nodes n that maximises ``m / run time on n nodes - l n``. O(jobs * slots of a job^2).

    Examples
    --------
    >>> from allocsolve.bounds.workload import time_prices
    >>> from allocsolve.model import Amdahl, Job, WorkloadProblem
    >>> law = Amdahl(0.9)
    >>> job = Job(0, 2, 60, min_nodes=1, max_nodes=4, speedup=law, kind="malleable")
    >>> problem = WorkloadProblem(4, [job, job, Job(0, 1, 9)])
    >>> work_prices(problem, time_prices(problem)).round(1).tolist()
    [35.5, 35.5, 0.0]
    """
    (term,) = parse_objective(str(bound.certificate["term"]), WORKLOAD_OBJECTIVES)
    costs = job_costs(problem, term)
    count = len(problem.jobs)
    least_costs, starts, ends, prices = (np.zeros(count) for _ in range(4))
    sizes, usage = np.zeros(count, dtype=np.int64), np.zeros(len(bound.prices) + 1)
    out = CheapestWork(least_costs, starts, sizes, ends, prices, usage)
    cheapest_work(problem.packed, costs.slope, costs.floor, price_list(bound.edges, bound.prices), out)
    prices.setflags(write=False)
    return prices


#: Evaluations that the certificate of jobs that change their size takes at the end, the judge included.
_CERTIFYING: Final = 8


class SlotDual(Protocol):
    """A value of prices on slots that an ascent raises."""

    problem: WorkloadProblem
    costs: JobCosts
    #: Shape of the prices, seconds.
    widths: FloatArray
    #: Shape (resources, slots): whether there is something of each resource in each slot.
    is_open: BoolArray
    #: Whether all slots are halved if none has a price.
    halves_unpriced: bool
    #: The relative gain up to which an ascent climbs on no more, neither on these slots nor on finer ones,
    #: and the most climbs on the same slots.
    least_gain: float
    most_rounds: int

    def on(self, edges: IntArray) -> None:
        """Take these slots."""

    def __call__(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient."""

    def has_time(self, clock: Clock | None) -> bool:
        """Return whether there is time for an evaluation."""


class TimeDual:
    """The value of prices on slots: the sum of the least costs of jobs, less the price of all nodes."""

    halves_unpriced = True

    def __init__(self, problem: WorkloadProblem, costs: JobCosts, slack: float) -> None:
        self.problem, self.costs, self.slack = problem, costs, slack
        self._elastic = problem.is_elastic
        packed = problem.packed
        self._with_work = bool(((packed.kind >= MALLEABLE) & (packed.speedup != NO_SPEEDUP)).any())
        self._phases, self._profiles = phase_rows(problem), profile_rows(problem)
        self.has_phases = bool(len(self._phases.jobs))
        self._sweep = sweep(_longest(self._profiles.offsets))
        self.least_gain, self.most_rounds = _LEAST_GAIN, 1
        if self._elastic:
            self.least_gain = _LEAST_GAIN_OF_WORK
        if self.has_phases:
            self.least_gain, self.most_rounds = _LEAST_GAIN_OF_PHASES, _MOST_ROUNDS_OF_PHASES

    def on(self, edges: IntArray) -> None:
        """Take these slots."""
        num_jobs, num_slots = len(self.costs.slope), len(edges) - 1
        self.widths = np.diff(edges).astype(np.float64)
        self.is_open = np.ones((1, num_slots), dtype=np.bool_)
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
        """Return the value and its gradient: per second of each slot, the nodes used beyond all nodes."""
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


@dataclass(frozen=True, slots=True, eq=False)
class PriceBound:
    """A lower bound on a term of a workload, with the prices that prove it.

    The arrays are read-only.
    """

    #: In units of the term, never above what the judge recomputes from the certificate.
    value: float
    #: JSON data, for `allocsolve.judge`.
    certificate: Mapping[str, object]
    #: Shape (jobs,), seconds: a cheapest start of each job under the prices.
    starts: FloatArray
    #: Shape (jobs,): the nodes of each job at that start; of a malleable job, the rounded mean.
    sizes: IntArray
    #: Shape (slots + 1,), increasing whole seconds; there are no prices outside.
    edges: IntArray
    #: Shape (slots,): the price of a node-second in each slot, in units of the cost of a job (see
    #: `JobCosts`). By `machine_prices`, shape (resources, slots): the price of a second of each resource.
    prices: FloatArray
    #: Whether the search for prices was ended by Ctrl-C.
    interrupted: bool = False


#: The fewest slots at the start.
_FEWEST_SLOTS: Final = 16
#: The most slots at the start: more would slow down the coarse steps.
_MOST_AT_START: Final = 4096
#: At most 256 + 2 slots per job, never above 50,000; more raise the bound by .01 %.
_SLOTS_OF_A_JOB: Final = 2
_FREE_SLOTS: Final = 256
_MOST_SLOTS: Final = 50_000
#: Ascent steps at the first width of slots and at each later one.
_FIRST_STEPS: Final = 150
_STEPS: Final = 80
#: The share of the last direction in the next one.
_MOMENTUM: Final = 0.8
#: Steps without gain after which the aim is lowered.
_PATIENCE: Final = 8
#: The share of the highest price up to which the last price counts as low: the slots reach far enough.
_LATE_PRICE: Final = 1e-3
#: How far above the best value the ascent aims at first (relative), by which factor the aim rises at a new
#: width of slots, and the least relative aim there.
_FIRST_AIM: Final = 0.01
_RAISED_AIM: Final = 20.0
_LEAST_AIM: Final = 1e-6
#: The most widths of slots, and the relative gain up to which two widths in a row end the ascent.
_MOST_WIDTHS: Final = 16
_LEAST_GAIN: Final = 1e-6
#: Bits of the sum of all prices, in units of prices and time, and bits of the cost of a job: sums fit 64
#: bits.
_BITS_OF_PRICES: Final = 52
_BITS_OF_A_JOB: Final = 58
#: Relative; above the rounding of the cost of a job and of a few sums.
_ROUNDING: Final = 2.0**-49
#: Relative loss of slowdowns if times are not multiples of a quarter: the judge rounds run times, of at least
#: 10 s, up to 2^-16 s.
_LOSS_OF_SLOWDOWN: Final = 4e-6
#: The most slots and the least gain with elastic jobs, whose time grows with the square of their slots.
_MOST_SLOTS_OF_WORK: Final = 2_500
_LEAST_GAIN_OF_WORK: Final = 2e-5
#: The least gain with jobs with phases, and the most climbs at a width of slots. Their bounds rise as slots
#: get shorter, so it pays to climb on for a while before slots are halved.
_LEAST_GAIN_OF_PHASES: Final = 2e-3
_MOST_ROUNDS_OF_PHASES: Final = 6
#: Prices below this share of the highest one count as 0.
_NO_PRICE: Final = 1e-6


class BestPrices(NamedTuple):
    """The best prices so far, one for each slot."""

    edges: IntArray
    prices: FloatArray
    value: float


@dataclass(slots=True)
class Ascent:
    """The ascent. `best` changes as a whole, so it can be taken after an interruption at any time."""

    best: BestPrices
    #: How far above the best value the next steps aim.
    aim: float = 0.0

    def climb(self, dual: SlotDual, steps: int, clock: Clock | None) -> None:
        """Take subgradient steps in the L2 norm over time.

        The step lengths are Polyak's for a value that is `aim` above the best; the aim is doubled when it is
        half reached, and halved, going back to the best prices, after some steps without gain. The direction
        is an average over past ones, which damps the zigzag between vertices.
        """
        prices = self.best.prices
        value, gradient = dual(prices)
        best_gradient = gradient
        direction = gradient
        without_gain = 0
        for _ in range(steps):
            if not dual.has_time(clock):
                return
            direction = _MOMENTUM * direction + (1 - _MOMENTUM) * gradient
            move = np.where((prices <= 0) & (direction < 0), 0.0, direction)
            norm = float((move * move * dual.widths).sum())
            if norm == 0:
                return
            prices = np.maximum(0.0, prices + (self.best.value + self.aim - value) / norm * move)
            value, gradient = dual(prices)
            if value > self.best.value:
                if value - self.best.value > self.aim / 2:
                    self.aim *= 2
                self.best = BestPrices(self.best.edges, prices, value)
                best_gradient = gradient
                without_gain = 0
                continue
            without_gain += 1
            if without_gain == _PATIENCE:
                self.aim /= 2
                prices, value = self.best.prices, self.best.value
                gradient = direction = best_gradient
                without_gain = 0

    def lengthen(self) -> bool:
        """Double the span of the slots if the last has a price; return whether it has."""
        edges, prices, value = self.best
        if not len(prices) or prices[-1] <= _LATE_PRICE * prices.max():
            return False
        width = max(1, 2 * int(edges[-1] - edges[0]) // _FEWEST_SLOTS)
        later = edges[-1] + width * np.arange(1, _FEWEST_SLOTS // 2 + 1)
        prices = np.append(prices, np.zeros(len(later)))
        self.best = BestPrices(frozen(np.concatenate([edges, later])), prices, value)
        return True

    def refine(self, dual: SlotDual, most_slots: int) -> None:
        """Halve the slots in which something has a price, or that touch one; add one if the last has one.

        Where none has a price, all are halved if the dual asks for it: a short queue may not fill slots so
        long. The price of what is closed is free and does not count, and where all is closed no slot is
        halved. No slot is halved when there would be more than `most_slots`.
        """
        edges, flat, value = self.best
        prices = flat.reshape(dual.is_open.shape)
        counted = np.where(dual.is_open, prices, 0.0)
        priced = (counted > _NO_PRICE * counted.max(initial=0.0)).any(axis=0)
        near = ~priced if dual.halves_unpriced and not priced.any() else priced.copy()
        near[1:] |= priced[:-1]
        near[:-1] |= priced[1:]
        near &= (edges[1:] - edges[:-1] >= 2) & dual.is_open.any(axis=0)
        if len(edges) > most_slots:
            near[:] = False
        middles = (edges[:-1] + edges[1:])[near] // 2
        prices = np.repeat(prices, 1 + near, axis=1)
        if priced[-1]:
            middles = np.append(middles, edges[-1] + max(1, (edges[-1] - edges[0]) // 8))
            prices = np.append(prices, np.zeros((len(prices), 1)), axis=1)
        self.best = BestPrices(frozen(np.sort(np.concatenate([edges, middles]))), prices.ravel(), value)


def time_prices(
    problem: WorkloadProblem,
    term: WorkloadTerm = "turnaround",
    *,
    clock: Clock | None = None,
    start: Mapping[str, Any] | None = None,
) -> PriceBound:
    """Bound a term that is a mean over the jobs by prices of node-seconds.

    The term is ``turnaround``, ``slowdown``, or, of rigid jobs, ``wait``; jobs may be of any kind. When the
    time of the clock is over, or at Ctrl-C, which is noted in the bound, the best prices so far are taken.
    The ascent ends by itself when slots were halved 16 times, or finer ones gain no more than 10^-6 (with
    malleable jobs 2 * 10^-5, with phases 2 * 10^-3). It goes on from the prices of `start`, a certificate of
    such prices that the judge admits.

    Notes
    -----
    *Proof.* Let l(t) >= 0 be the price of a node-second at t. In any schedule at most N nodes are in use at
    any time, so the integral of l over all node-seconds in use is at most N times the integral of l. Hence

        sum_j f_j(C_j)  >=  sum_j min over starts and sizes of job j of
                            [ f_j(C) + nodes * integral of l from start to end C ]  -  N * integral of l.

    The prices are constant on slots. They are found by subgradient steps (the nodes that the cheapest starts
    use in excess of N nodes is a subgradient) on coarse slots first; then slots that have a price, or touch
    one, are halved. At last they are rounded to integers, for which the value is taken.

    A malleable job may here stop for a while, and hold any real number of nodes from its fewest to its most
    (of a table, one of its rows), which it may change at any time. Its least cost under the prices is then of
    closed form except for the choice of the slot in which it ends (see the kernel); points, size sets and
    stalls only add to it. Of *evolving* jobs, each alone with its own best behaviour,

    * one with requests is taken for a malleable one: it may change its size at any time, for nothing;
    * one with phases holds only useful nodes, any real number of them up to the most of the phase, and may
      stop for a while; the costs of joining and leaving nodes are left out, except for the start, which is a
      phase of its own on the fewest nodes. Two bounds, of which the greater counts: phase by phase, where
      each may use all of the slots in which it begins and ends, so that this bound rises as slots get
      shorter; and all the work in any order, on the most nodes of any phase;
    * one with a profile holds the nodes of each step until the next one begins. If any step may be longer,
      each may, without limit; else the cost is exact.

    The value of the certificate is that of the judge, who takes a margin for rounding.

    *Complexity*: a step takes O(jobs * sizes * (log slots + edges that a job looks at)); 1 to 3 ms for 40,000
    rigid jobs; for each malleable job O(slots from submission to end, squared), 10 to 70 ms for as many; for
    one with phases that for each phase, 1 ms for 20 jobs of 3 phases on 120 slots; for one with a profile
    O(steps^2 * slots).
    *Guarantee*: at least the job bound, the value without any prices; at best the value of the
    linear relaxation that is indexed by time. It is weak where jobs are wide, or few.

    References
    ----------
    Step lengths: Polyak, "Minimization of unsmooth functionals", USSR Computational Mathematics and
    Mathematical Physics 9, 1969. Averaged directions: Camerini, Fratta & Maffioli, "On improving relaxation
    methods by modified gradient techniques", Mathematical Programming Study 3, 1975.
    """
    costs = job_costs(problem, term)
    per_second = time_units(problem)
    dual = TimeDual(problem, costs, 0.0 if in_quarters(problem) else 4 / per_second)
    ascent = Ascent(_first_prices(problem, start))
    interrupted = not climbed(dual, ascent, clock)
    return _certified(dual, ascent.best, term, per_second, interrupted=interrupted)


def climbed(dual: SlotDual, ascent: Ascent, clock: Clock | None) -> bool:
    """Climb until finer slots gain no more or the time is over; return False at Ctrl-C."""
    if dual.costs.slope.any():
        try:
            _climb_slots(dual, ascent, clock)
        except KeyboardInterrupt:
            return False
    return True


def _climb_slots(dual: SlotDual, ascent: Ascent, clock: Clock | None) -> None:
    """Climb on coarse slots, then on finer ones."""
    dual.on(ascent.best.edges)
    ascent.best = ascent.best._replace(value=dual(ascent.best.prices)[0])
    ascent.aim = _FIRST_AIM * ascent.best.value
    ascent.climb(dual, _FIRST_STEPS, clock)
    if dual.problem.is_elastic:
        # The first slots follow from least areas, those on the fewest nodes, which say little about the ends.
        for _ in range(_MOST_WIDTHS):
            if not dual.has_time(clock) or not ascent.lengthen():
                break
            dual.on(ascent.best.edges)
            ascent.aim = max(_RAISED_AIM * ascent.aim, _FIRST_AIM * ascent.best.value)
            ascent.climb(dual, _STEPS, clock)
    least_gain, rounds = dual.least_gain, dual.most_rounds
    limit = _MOST_SLOTS_OF_WORK if dual.problem.is_elastic else _MOST_SLOTS
    most_slots = min(limit, _FREE_SLOTS + _SLOTS_OF_A_JOB * len(dual.costs.slope))
    idle = 0
    for _ in range(_MOST_WIDTHS):
        if idle == 2 or not dual.has_time(clock):
            return
        before = ascent.best.value
        ascent.refine(dual, most_slots)
        dual.on(ascent.best.edges)
        for _ in range(rounds if len(ascent.best.edges) <= most_slots else 1):
            value = ascent.best.value
            ascent.aim = max(_RAISED_AIM * ascent.aim, _LEAST_AIM * before)
            ascent.climb(dual, _STEPS, clock)
            if ascent.best.value - value <= least_gain * value:
                break
        idle = idle + 1 if ascent.best.value - before <= least_gain * before else 0


def _first_edges(problem: WorkloadProblem) -> IntArray:
    """Return slots of about two mean run times, from the first submission on."""
    run_times = shortest_run_times(problem)
    if not len(run_times):
        return frozen(np.zeros(1, dtype=np.int64))
    first = math.floor(problem.packed.submit.min())
    last = max(first + 1, math.ceil(makespan_bound(problem).value))
    return slots_between(first, last, float(run_times.mean()))


def slots_between(first: int, last: int, run_time: float) -> IntArray:
    """Return slots of about two run times (s), from one whole second to a later one."""
    wanted = math.ceil((last - first) / (2 * run_time))
    count = min(last - first, max(_FEWEST_SLOTS, min(wanted, _MOST_AT_START)))
    return frozen(first + np.arange(count + 1) * (last - first) // count)


def _first_prices(problem: WorkloadProblem, start: Mapping[str, Any] | None) -> BestPrices:
    """Return prices on slots that span all jobs: 0, or those of a certificate."""
    edges = _first_edges(problem)
    if start is None:
        return BestPrices(edges, np.zeros(len(edges) - 1), 0.0)
    known = np.array(start["edges"], dtype=np.int64)
    # The last entry, without a price, also stands for the time before the first edge.
    prices = np.append(np.array(start["prices"], dtype=np.float64) / start["unit"], 0.0)
    edges = frozen(np.union1d(edges, known))
    return BestPrices(edges, prices[np.searchsorted(known, edges[:-1], side="right") - 1], 0.0)


def time_units(problem: WorkloadProblem) -> int:
    """Return the units of a second in which the judge counts: 4, or as many as surely fit."""
    if in_quarters(problem):
        return 4
    return 1 << min(16, 56 - max(1, math.ceil(problem.horizon)).bit_length())


def _certified(
    dual: TimeDual, best: BestPrices, term: WorkloadTerm, per_second: int, *, interrupted: bool
) -> PriceBound:
    """Return the bound of the prices rounded to integers."""
    problem, costs = dual.problem, dual.costs
    weight, scale = problem.packed.weight, costs.scale
    dual.on(best.edges)
    dual(best.prices)
    in_integers = dual.out.costs[problem.packed.kind < MALLEABLE]
    unit = _price_unit(per_second, float(best.prices @ dual.widths), in_integers.max(initial=0.0))
    edges, prices = best.edges, np.round(best.prices * unit)
    if not dual.has_phases:  # bounds of phases depend on where slots end
        edges, prices = on_few_slots(edges, prices)
    # The judge rounds weights that are not integers down to units of prices.
    if term == "slowdown":
        floor = np.floor(weight * (unit * per_second)) / per_second
        slope = floor / np.maximum(problem.packed.runtime, SLOWDOWN_FLOOR_S)
    else:
        floor, slope = np.zeros(len(weight)), np.floor(weight * unit)
    dual.costs = JobCosts(frozen(slope), frozen(floor), costs.offset, scale)
    dual.on(edges)
    dual(prices)
    whole = prices.astype(np.int64).tolist()
    price_of_a_node = sum(price * width for price, width in zip(whole, np.diff(edges).tolist(), strict=True))
    if price_of_a_node * per_second >= 1 << _BITS_OF_A_JOB:  # it is beyond what the judge accepts
        return _certified(
            dual, BestPrices(edges[:1], prices[:0], 0.0), term, per_second, interrupted=interrupted
        )
    # The judge accepts no cost of a job with more than 61 bits.
    spent = math.fsum(np.minimum(dual.out.costs, 2.0**60 / per_second)) / unit
    total = spent - problem.num_nodes * price_of_a_node / unit
    # The rounding here, and that of the cost of each job by the judge.
    total -= _ROUNDING * (2 * spent + costs.offset)
    if term == "slowdown":
        total -= len(weight) / (unit * per_second)
        if not in_quarters(problem):
            total -= _LOSS_OF_SLOWDOWN * spent
    value = max(0.0, (1 - _ROUNDING) * (total - costs.offset) / scale)
    certificate = {
        "kind": "time-prices",
        "term": term,
        "edges": edges.tolist(),
        "prices": whole,
        "unit": unit,
    }
    if problem.is_elastic:
        # The judge searches for work prices of its own, so only the judge knows the value.
        value = certified_bound(problem, certificate, (term,))
    return PriceBound(
        value=value,
        certificate=certificate,
        starts=frozen(dual.out.starts),
        sizes=frozen(dual.out.sizes),
        edges=edges,
        prices=frozen(prices / unit),
        interrupted=interrupted,
    )


def _price_unit(per_second: int, price_of_a_node: float, dearest_job: float) -> int:
    """Return the units of a price: as fine as sums within 64 and within 53 bits allow."""
    bits = _BITS_OF_A_JOB - math.ceil(math.log2(per_second * max(1.0, dearest_job)))
    if price_of_a_node > 0:
        bits = min(bits, _BITS_OF_PRICES - math.ceil(math.log2(per_second * price_of_a_node)))
    return 1 << max(0, min(bits, _BITS_OF_PRICES))


def on_few_slots(edges: IntArray, prices: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return prices, shape (..., slots), on as few slots as possible, with none of price 0 at the ends."""
    steps = (np.diff(prices, prepend=0.0, append=0.0) != 0).reshape(-1, len(edges)).any(axis=0)
    if not steps.any():
        return frozen(edges[:1].copy()), prices[..., :0]
    return frozen(edges[steps]), prices[..., steps[:-1]][..., : int(steps.sum()) - 1]
