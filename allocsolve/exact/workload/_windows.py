"""The parts that exact solvers of workloads share: windows by CP-SAT, bounds, earlier results, time grids.

A window frees a waiting job and some jobs that overlap its wait, and keeps all others where they are. Bounds
are those that need no model. An earlier run leaves a schedule and a certificate, judged before anything
builds on them. A grid turns times into integers, for solvers that know no others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload import (
    MEAN_TERMS,
    machine_prices,
    makespan_bound,
    shortest_run_times,
    time_prices,
)
from allocsolve.bounds.workload.job_prices import job_prices, job_prices_of, root_prices
from allocsolve.bounds.workload.machine_job_prices import machine_job_prices, machine_job_prices_of
from allocsolve.errors import InvalidAnswer
from allocsolve.families import quick_answers
from allocsolve.heuristics.workload.serial import plan_costs, plan_values
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import OVERHEAD, SLOWDOWN_FLOOR_S, Budget, Clock, Status, shown_values, terms
from allocsolve.model.options import Params
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ortools.sat.python import cp_model

    from allocsolve.bounds.workload import PriceBound
    from allocsolve.heuristics.workload.reinsertion import Reinserter
    from allocsolve.heuristics.workload.serial import Sizes
    from allocsolve.model import (
        IntArray,
        Limit,
        Result,
        WorkloadObjective,
        WorkloadProblem,
        WorkloadSchedule,
        WorkloadTerm,
    )
    from allocsolve.model.search import Best

#: Relative; values that differ by less count as equal, as when the harness compares claims.
TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class WindowParams(Params):
    """The numbers of a search in windows by CP-SAT."""

    #: The jobs that are free in a window.
    free_jobs: int = 40
    #: Its effort in CP-SAT's deterministic seconds.
    effort_s: float = 1.0
    #: The share of windows that have the jobs around an instant of a wait; others have any that overlap it.
    short_share: float = 0.5
    #: The most changes of the free nodes in a window; windows with more are skipped, as they take too long.
    most_steps: int = 3_000
    #: Grid points per second: quarters are exact, other times are rounded up.
    ticks: int = 4
    #: The cost of a second of the dearest job in the objective of the model: weights are scaled to it.
    dearest: int = 1_000


def search_window(
    search: Reinserter,
    random: np.random.Generator,
    clock: Clock,
    stop: Callable[[], bool],
    params: WindowParams = WindowParams(),
) -> None:
    """Search a window and put its jobs back in the best order met, if the plan is no worse then.

    Jobs keep their sizes. In the order of the starts of a feasible schedule no job is put back later than it
    starts there, so the plan is feasible in spite of rounding.
    """
    plan = search.plan
    jobs = _window(search, random, params)
    if len(jobs) < 2:
        return
    before, starts = search.cost_of(jobs), plan.placed.starts[jobs].copy()
    plan.take_out(jobs)
    order = _searched(search, jobs, clock, stop, params)
    plan.put(jobs[order])
    if search.cost_of(jobs) > before:
        plan.take_out(jobs)
        plan.placed.starts[jobs] = starts
        plan.put(jobs, where_they_are=True)


def _window(search: Reinserter, random: np.random.Generator, params: WindowParams) -> IntArray:
    """Return a waiting job, drawn in proportion to the cost of its wait, and jobs that overlap its wait."""
    plan, excess = search.plan, search.excess()
    total = excess.sum()
    if not total > 0:
        return np.zeros(0, dtype=np.int64)
    job = int(random.choice(len(excess), p=excess / total))
    starts = plan.placed.starts
    ends = starts + plan.seconds
    release = plan.free.release
    near = np.flatnonzero((starts < ends[job]) & (ends > release[job]))
    others = near[near != job]
    if len(others) > params.free_jobs:
        if random.random() < params.short_share:
            instant = random.uniform(release[job], ends[job])
            distance = np.maximum(starts[others] - instant, instant - ends[others])
            others = others[np.argsort(distance, kind="stable")[: params.free_jobs]]
        else:
            others = random.choice(others, params.free_jobs, replace=False)
    return np.concatenate([[job], others])


def _searched(
    search: Reinserter, jobs: IntArray, clock: Clock, stop: Callable[[], bool], params: WindowParams
) -> IntArray:
    """Return the order of the starts of the jobs in the best answer of CP-SAT."""
    from ortools.sat.python import cp_model  # noqa: PLC0415 - slow to import

    from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

    plan = search.plan
    starts, seconds, release = plan.placed.starts[jobs], plan.seconds[jobs], plan.free.release[jobs]
    order: IntArray = np.argsort(starts, kind="stable")
    origin, until = float(release.min()), float((starts + seconds).max() + seconds.max())
    listed = plan.free.steps(origin, until, plan.nodes)
    if max(len(steps.times) for steps in listed) > params.most_steps:
        return order

    def tick(second: float) -> int:
        return math.ceil((second - origin) * params.ticks)

    model = cp_model.CpModel()
    horizon = tick(until)
    variables, intervals, objective = [], [], []
    slopes = search.slopes(jobs)
    scale = params.dearest / max(float(slopes.max()), 1e-300)
    for idx in range(len(jobs)):
        length = math.ceil(float(seconds[idx]) * params.ticks)
        earliest = tick(float(release[idx]))
        start = model.new_int_var(earliest, max(earliest, horizon - length), "")
        model.add_hint(start, tick(float(starts[idx])))
        variables.append(start)
        intervals.append(model.new_fixed_size_interval_var(start, length, ""))
        objective.append(round(float(slopes[idx]) * scale) * start)
    for steps in listed:
        held, demands = [*intervals], steps.demand[jobs].tolist()
        ends, wanted = [*steps.times[1:].tolist(), until], sum(demands)
        for begin, end, left in zip(steps.times.tolist(), ends, steps.free.tolist(), strict=True):
            if left < wanted and end > begin:
                first = tick(max(begin, origin))
                held.append(model.new_fixed_size_interval_var(first, tick(end) - first, ""))
                demands.append(steps.there - left)
        model.add_cumulative(held, demands, steps.there)
    model.minimize(cp_model.LinearExpr.sum(objective))
    best: list[int] = []

    def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
        best[:] = [value(start) for start in variables]
        return True

    left = clock.stage(most=5 * params.effort_s)
    outcome = run_cpsat(model, Budget(), left, take, linear=True, effort=params.effort_s, stop=stop)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return np.argsort(best, kind="stable") if best else order


#: The most jobs that get prices of their own in any case.
ALWAYS_BY_JOB = 100


class _Priced(NamedTuple):
    """The bounds by prices that know a sort of machines."""

    by_time: Callable[..., PriceBound]
    #: Called with a problem, a term, a bound to start with, a clock and the number of workers.
    by_jobs: Callable[[WorkloadProblem, WorkloadTerm, PriceBound, Clock, int], PriceBound]
    of_certificate: Callable[[WorkloadProblem, WorkloadTerm, Mapping[str, object]], PriceBound]
    #: The most jobs that get prices of their own.
    most_jobs: float


_PLAIN: Final = _Priced(
    time_prices,
    lambda problem, term, start, clock, workers: job_prices(
        problem, term, start, clock=clock, workers=workers
    ),
    job_prices_of,
    math.inf,
)
_GENERAL: Final = _Priced(
    machine_prices,
    lambda problem, term, start, clock, _: machine_job_prices(problem, term, start, clock=clock),
    machine_job_prices_of,
    1_200,
)


def _priced(problem: WorkloadProblem) -> _Priced:
    """Return the bounds that know the machine of a problem."""
    return _PLAIN if problem.is_plain else _GENERAL


@dataclass(frozen=True, slots=True)
class TermBound:
    """A lower bound on a term."""

    value: float
    #: The certificate for the judge; None if there is none.
    certificate: Mapping[str, object] | None = None
    #: The prices, if there are any.
    prices: PriceBound | None = None
    #: Whether the clock ended the ascent of the prices, which might have gone further.
    timed_out: bool = False


def bound_of_jobs_alone(problem: WorkloadProblem, term: WorkloadTerm, sizes: Sizes | None) -> float:
    """Return the term as if each job had the cluster to itself, rounded like the values of plans.

    `sizes` is None for evolving jobs, which have none.
    """
    packed = problem.jobs.packed
    release = problem.jobs.requirements.release(packed.submit)
    if sizes is None or (packed.speedup == OVERHEAD).any():  # not all sizes are listed
        fastest = shortest_run_times(problem)
    else:
        fastest = sizes.seconds[sizes.offsets[:-1]]
    return plan_values(problem, (term,), release, release + fastest)[0]


def bound_of_certificate(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: Mapping[str, object]
) -> TermBound:
    """Return the bound that the judge computes from a certificate; those by time are for `bound_by_time`."""
    if certificate.get("kind") == "job-prices":
        prices = _priced(problem).of_certificate(problem, term, certificate)
        return TermBound(prices.value, certificate, prices)
    if certificate.get("kind") in ("date-tree", "date-trees"):
        value = certified_bound(problem, certificate, (term,))
        roots = _priced(problem).of_certificate(problem, term, root_prices(problem, certificate))
        return TermBound(value, certificate, roots)
    return TermBound(certified_bound(problem, certificate, (term,)), certificate)


def bound_by_time(
    problem: WorkloadProblem,
    term: WorkloadTerm,
    sizes: Sizes | None,
    clock: Clock,
    start: Mapping[str, object] | None = None,
) -> TermBound:
    """Return the bound by prices of node-seconds, or the combinatorial one on the makespan.

    `start` is a certificate of earlier prices, from which the ascent goes on.
    """
    alone = bound_of_jobs_alone(problem, term, sizes)
    if term == "makespan":
        makespan = makespan_bound(problem.on_plain_machine())
        return TermBound(max(makespan.value, alone), makespan.certificate if problem.is_plain else None)
    if term not in MEAN_TERMS or (term == "wait" and not problem.is_rigid) or not len(problem.jobs):
        return TermBound(alone)
    limit = None if clock.remaining == math.inf else clock
    prices = _priced(problem).by_time(problem, term, clock=limit, start=start)
    if prices.interrupted:
        raise KeyboardInterrupt
    return TermBound(max(prices.value, alone), prices.certificate, prices, clock.remaining == 0)


def bound_by_jobs(
    problem: WorkloadProblem, term: WorkloadTerm, start: TermBound, clock: Clock, workers: int
) -> TermBound:
    """Return the bound by prices per job, which begins with those of node-seconds and is never worse.

    It knows rigid jobs; of others, and of many on a machine that is not plain, the given bound is returned.
    """
    priced = _priced(problem)
    if start.prices is None or not problem.is_rigid or len(problem.jobs) > priced.most_jobs:
        return start
    prices = priced.by_jobs(problem, term, start.prices, clock, workers)
    if prices.interrupted:
        raise KeyboardInterrupt
    timed_out = start.timed_out or clock.remaining == 0
    return TermBound(max(prices.value, start.value), prices.certificate, prices, timed_out)


class Earlier(NamedTuple):
    """A schedule and a bound from which a run goes on; its own are never worse."""

    problem: WorkloadProblem
    objective: WorkloadObjective
    schedule: WorkloadSchedule | None
    #: The bound on the first term.
    bound: TermBound | None
    #: Of a schedule that this run itself has met: when, in seconds since it began.
    met: float | None = None

    @classmethod
    def judged(
        cls,
        problem: WorkloadProblem,
        objective: WorkloadObjective,
        schedule: WorkloadSchedule | None,
        certificate: Mapping[str, object] | None,
    ) -> Earlier:
        """Return a schedule and the bound of a certificate after the judge has checked both.

        `InvalidAnswer` if the schedule is not feasible, or the certificate is not one of the problem and
        objective.
        """
        faults = () if schedule is None else workload_violations(problem, schedule)
        if faults:
            raise InvalidAnswer(f"the schedule to start from is not feasible: {faults[0]}")
        bound = None if certificate is None else bound_of_certificate(problem, objective[0], certificate)
        return cls(problem, objective, schedule, bound)

    def or_quick(self, clock: Clock, seed: int) -> Earlier:
        """Return the same with the best schedule of the quick solvers in place of a worse one."""
        value: tuple[float, ...] = self.values
        best = self
        for schedule, values in quick_answers(self.problem, self.objective, clock, seed=seed):
            if not value or values < value:
                best = self._replace(schedule=schedule, met=clock.elapsed)
        return best

    @property
    def values(self) -> tuple[float, ...]:
        """The terms of the schedule; empty without one."""
        if self.schedule is None:
            return ()
        return terms(workload_value(self.problem, self.schedule, self.objective))

    @property
    def unbroken(self) -> WorkloadSchedule | None:
        """The schedule if each job runs in one piece, as in a plan; otherwise None."""
        schedule, count = self.schedule, len(self.problem.jobs)
        return schedule if schedule is not None and len(schedule.starts) == count else None

    def or_better(self, result: Result[WorkloadSchedule]) -> Result[WorkloadSchedule]:
        """Return the result, with the earlier schedule or certificate in place of worse ones."""
        if result.objective is None or result.answer is None:
            return result
        return self._closed(self._bounded(self._answered(result, result.answer)))

    def _answered(
        self, result: Result[WorkloadSchedule], answer: WorkloadSchedule
    ) -> Result[WorkloadSchedule]:
        if self.schedule is None:
            return result
        own = self.values
        if self.met is not None:
            met = self.met
            later = ((max(met, when), value) for when, value in result.incumbents if terms(value) < own)
            result = replace(result, incumbents=((met, shown_values(own)), *later))
        # The plan that repeats a schedule may be later, within the tolerance of the judge.
        other = terms(workload_value(self.problem, answer, self.objective))
        if result.status is Status.OPTIMAL or own >= other:
            return result
        value = shown_values(own)
        return replace(
            result, answer=self.schedule, objective=value, bound=min(result.bound, value, key=terms)
        )

    def _bounded(self, result: Result[WorkloadSchedule]) -> Result[WorkloadSchedule]:
        if self.bound is None:
            return result
        certificate, certified = result.certificate, -math.inf
        if certificate is self.bound.certificate:
            certified = self.bound.value
        elif certificate is not None:
            certified = certified_bound(self.problem, certificate, self.objective)
        if certified < self.bound.value:
            certificate = self.bound.certificate
        (lower, *others), (value, *_) = terms(result.bound), terms(result.objective or 0.0)
        lower = max(lower, min(self.bound.value, value))
        return replace(result, certificate=certificate, bound=(lower, *others) if others else lower)

    def _closed(self, result: Result[WorkloadSchedule]) -> Result[WorkloadSchedule]:
        """Return the result as optimal if its value and bound meet."""
        if result.objective != result.bound:
            return result
        return replace(result, status=Status.OPTIMAL, limit=None)


#: Grid points per second where times are not multiples of a quarter.
_FINE = 1024
#: Seconds up to which sums of quarters are exact in doubles.
_MOST_SECONDS = 2.0**50


class Grid(NamedTuple):
    """Times as integers: (seconds - origin) / unit, rounded down where they are not multiples of the unit."""

    origin: Fraction
    unit: Fraction
    #: Whether nothing is rounded.
    exact: bool

    def down(self, seconds: float) -> int:
        """Return a duration in units, rounded down."""
        return math.floor(Fraction(seconds) / self.unit)

    def point(self, seconds: float) -> int:
        """Return an instant in units from the origin, rounded down."""
        return math.floor((Fraction(seconds) - self.origin) / self.unit)

    def seconds(self, point: int) -> float:
        """Return an instant in seconds."""
        return float(self.origin + point * self.unit)


def grid_of(problem: WorkloadProblem, sizes: Sizes) -> Grid:
    """Return the coarsest grid on which some optimal schedule lies.

    In some optimal schedule of each term a job starts when it is submitted (or eligible), when another one
    ends or when a capacity changes, so all starts are such instants plus sums of run times. Where these are
    not multiples of a quarter of a second the grid is fine and rounds down: what is optimal on it is a lower
    bound, since every schedule stays one when jobs come earlier and run for less, and the edges of windows
    are rounded as the starts and the ends are.
    """
    packed = problem.jobs.packed
    if not len(packed.submit):
        return Grid(Fraction(0), Fraction(1), exact=True)
    origin = Fraction(float(packed.submit.min()))
    edges = [edge for window in problem.closed for edge in (window.start, window.end)]
    instants = np.concatenate([packed.submit, problem.jobs.requirements.release(packed.submit), edges])
    # Run times by a law may be quarters, too, so this demands less than `WorkloadProblem.is_exact`.
    exact = all(bool((4 * times % 1 == 0).all()) for times in (instants, sizes.seconds))
    if not exact or problem.horizon > _MOST_SECONDS:
        return Grid(Fraction(math.floor(origin)), Fraction(1, _FINE), exact=False)
    quarters = [SLOWDOWN_FLOOR_S * 4]
    quarters += [
        int(np.gcd.reduce((4 * times).astype(np.int64)))
        for times in (instants - float(origin), sizes.seconds)
    ]
    return Grid(origin, Fraction(math.gcd(*quarters), 4), exact=True)


def term_slopes(problem: WorkloadProblem, term: WorkloadTerm, grid: Grid) -> list[Fraction]:
    """Return by how much a mean over the jobs grows when each job is a unit of the grid later, exactly."""
    packed = problem.jobs.packed
    weights = [Fraction(weight) for weight in packed.weight.tolist()]
    total = sum(weights) or Fraction(1)
    slopes = [weight * grid.unit / total for weight in weights]
    if term == "slowdown":
        runtimes = packed.runtime.tolist()
        slopes = [
            slope / max(Fraction(runtime), Fraction(SLOWDOWN_FLOOR_S))
            for slope, runtime in zip(slopes, runtimes, strict=True)
        ]
    return slopes


def value_step(slopes: list[Fraction]) -> Fraction:
    """Return the greatest number that divides all slopes: values of a term differ by multiples of it."""
    slopes = [slope for slope in slopes if slope]
    if not slopes:
        return Fraction(1)
    return Fraction(
        math.gcd(*(slope.numerator for slope in slopes)), math.lcm(*(slope.denominator for slope in slopes))
    )


def latest_ends(
    problem: WorkloadProblem, term: WorkloadTerm, sizes: Sizes, grid: Grid, value: float
) -> list[int]:
    """Return the latest end of each job in a schedule of no larger value, in units of the grid."""
    horizon = grid.point(problem.horizon) + 1
    if term == "makespan":
        return [min(horizon, grid.point(value) + 1)] * len(problem.jobs)
    costs = plan_costs(problem, term, sizes)
    slack = value * float(problem.jobs.packed.weight.sum()) - float(costs.least.sum())
    allowed = (slack + costs.least) * (1 + 1e-9) + 1e-9 * abs(value)
    longest = sizes.seconds[sizes.offsets[1:] - 1] * (1 - costs.of_end[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = costs.reference + np.where(costs.slope > 0, allowed / costs.slope, np.inf) + longest
    return [horizon if end == np.inf else min(horizon, grid.point(end) + 1) for end in ends.tolist()]


def bounded_result(
    best: Best[WorkloadSchedule], bound: TermBound, limit: Limit | None, clock: Clock
) -> Result[WorkloadSchedule]:
    """Return the best schedule of one that was found before the time was over, and the bound on its value."""
    assert best.answer is not None
    bounds = (min(bound.value, best.values[0]),)
    return search_result(
        best.answer, best.values, bounds, limit, clock, best.incumbents, certificate=bound.certificate
    )
