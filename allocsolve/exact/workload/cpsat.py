"""Workloads by CP-SAT: rigid and moldable jobs, every term, with a proof where the budget allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.bounds.workload import workload_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.exact.workload._windows import (
    ALWAYS_BY_JOB,
    TOLERANCE,
    TermBound,
    bound_by_jobs,
    bound_by_time,
    bound_of_jobs_alone,
    grid_of,
    latest_ends,
    term_slopes,
    value_step,
)
from allocsolve.exact.workload.chronological import ChronologicalParams, chronological_search
from allocsolve.families import quick_answers
from allocsolve.heuristics.workload.reinsertion import improve, serial_plans
from allocsolve.heuristics.workload.resources import check_rigid
from allocsolve.heuristics.workload.serial import BestPlan, Plan, job_sizes
from allocsolve.model import (
    MALLEABLE,
    Clock,
    Limit,
    Result,
    Status,
    WorkloadObjective,
    WorkloadSchedule,
    shown_values,
)
from allocsolve.model.options import Options, Params, Within
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ortools.sat.python import cp_model

    from allocsolve.bounds.workload import PriceBound
    from allocsolve.exact.workload._model import ScaledTerm, WorkloadModel
    from allocsolve.exact.workload._windows import Grid
    from allocsolve.model import Budget, WorkloadProblem


@dataclass(frozen=True, slots=True)
class WorkloadCpSatParams(Params):
    """The numbers of `WorkloadCpSat`."""

    #: The share of the time for the search before the model, its moves for each job, and the most jobs that
    #: count for these.
    search_share: float = 0.1
    moves_per_job: int = 1_000
    most_moved_jobs: int = 1_000
    #: The shares of the time for prices of node-seconds and per job.
    time_prices_share: float = 0.05
    job_prices_share: float = 0.2
    #: The share of the time after that for branch and bound in order of starts.
    chronological_share: float = 0.6
    #: Those of this branch and bound.
    chronological: ChronologicalParams = ChronologicalParams()
    #: The most sizes of all jobs together; larger models are not built.
    most_sizes: int = 20_000


@dataclass(frozen=True, slots=True)
class WorkloadCpSat(Options):
    """Minimise by CP-SAT, with a proof: an interval for each job and size, a constraint for each resource.

    `UnsupportedProblem` when called, if a job is malleable or evolving: the model knows jobs that keep their
    size; or if one is not rigid on a machine that is not plain.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them, lexicographic: each is
        minimised among the schedules that are optimal in those before it.
    start
        A feasible schedule to improve on; the solver finds one itself in any case.
    max_jobs
        Larger problems get a schedule of the heuristics and the bound by prices only (limit ``size``).

    Notes
    -----
    *Method*: a schedule by serial generation and reinsertion; the bound by prices per job
    (`allocsolve.bounds.workload`); for up to 62 jobs a branch and bound over schedules in order of starts,
    whose states these prices bound, in 60 % of the time. What is still open CP-SAT gets, with the schedule as
    a hint and the bound, which is above what CP-SAT proves by itself; no job may end so late that it alone
    makes the schedule worse than the best known one.
    On a machine that is not plain there are no prices per job and no branch and bound, what is closed is an
    interval of the model, and the bound is that by prices of resources. Where nodes are places, the model
    says how many chunks of a job are on which node, and schedule and bound to begin with are those of
    `Prices`.
    Times are integers: multiples of the greatest common divisor of all. Where they are no multiples of a
    quarter of a second they are rounded down, so the bound holds, but is never met (limit ``rounding``).
    *Guarantee*: ``optimal`` is a proof, to a relative difference of 1e-9 for slowdowns and weights whose sums
    have no small common denominator; the bound holds at any time.
    *Complexity*: exponential. 20 jobs on 16 or 64 nodes take seconds, 40 jobs sometimes a minute.
    """

    objective: WorkloadObjective = ("turnaround",)
    start: WorkloadSchedule | None = field(default=None, repr=False)
    max_jobs: Annotated[int, Within(0)] = 200
    params: WorkloadCpSatParams = field(default=WorkloadCpSatParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Solve within the budget; workers are CP-SAT's threads."""
        check_rigid(problem)
        why = "is malleable: this solver plans jobs that keep the size on which they start"
        problem.jobs.refuse(problem.jobs.packed.kind == MALLEABLE, why)
        if not len(problem.jobs):
            zeros = shown_values((0.0,) * len(self.objective))
            return Result(Status.OPTIMAL, WorkloadSchedule.of(problem, []), zeros, zeros)
        if problem.node_types:
            from allocsolve.exact.workload.cpsat_places import solve_on_places  # noqa: PLC0415 - imports ortools

            limits = (self.params.most_sizes, self.max_jobs)
            return solve_on_places(problem, self.objective, self.start, budget, *limits)
        search = _Search(problem, self.objective, budget, self.params)
        try:
            search.find_start(self.start)
            search.run(small=len(problem.jobs) <= self.max_jobs)
        except KeyboardInterrupt:
            if not search.best.values:
                raise
            search.limit = Limit.INTERRUPTED
        return search.result()


class _Search:
    """The state of a solve: the best plan and, term by term, the proven bounds."""

    def __init__(
        self,
        problem: WorkloadProblem,
        objective: WorkloadObjective,
        budget: Budget,
        params: WorkloadCpSatParams,
    ) -> None:
        self.problem, self.objective, self.budget, self.params = problem, objective, budget, params
        self.clock = budget.start()
        self.limit: Limit | None = None
        self.sizes = job_sizes(problem, every=True)
        self.best = BestPlan(problem, objective, self.clock)
        self.bounds: list[float] = []  # proven, for the terms treated so far
        self.certificate: Mapping[str, object] | None = None

    def find_start(self, start: WorkloadSchedule | None) -> None:
        """Offer the caller's schedule, and plans of the heuristics in a small part of the time."""
        for plan in serial_plans(self.problem, self.sizes):
            self.best.offer(plan)
        if start is not None:
            self.best.offer(self._plan_of(start))
        else:
            for schedule, _ in quick_answers(self.problem, self.objective, self.clock, seed=self.budget.seed):
                if len(schedule.starts) == len(self.problem.jobs):
                    self.best.offer(self._plan_of(schedule))
        moves = self.params.moves_per_job * min(len(self.problem.jobs), self.params.most_moved_jobs)
        least = -math.inf
        if len(self.objective) == 1:
            least = workload_bound(self.problem.on_plain_machine(), self.objective[0])
        improve(self.best, moves, self.budget.seed, self.clock.stage(self.params.search_share), least=least)

    def _plan_of(self, start: WorkloadSchedule) -> Plan:
        """Return the plan with the order and the sizes of a schedule."""
        if start.starts.shape != self.problem.jobs.packed.submit.shape:
            msg = f"the start schedule has {len(start.starts)} pieces for {len(self.problem.jobs)} jobs"
            raise InvalidAnswer(msg)
        return Plan.repeating(self.problem, self.sizes, start)

    def run(self, *, small: bool) -> None:
        """Bound and minimise term by term, as far as the time allows."""
        from allocsolve.exact.workload._model import WorkloadModel  # noqa: PLC0415 - imports ortools

        grid = grid_of(self.problem, self.sizes)
        model: WorkloadModel | None = None
        for idx, term in enumerate(self.objective):
            lower = self._lower(idx)
            if idx == 0:
                self.certificate = lower.certificate
            self.bounds.append(min(lower.value, self.best.values[idx]))
            if not small or not self._fits(grid):
                if self.bounds[idx] < self.best.values[idx]:
                    self.limit = Limit.TIME if lower.timed_out else Limit.SIZE
                    return
                continue
            plain = self.problem.is_plain  # which is all that the search in order knows
            if idx == 0 and plain and lower.prices is not None and self.bounds[0] < self.best.values[0]:
                self._search_in_order(grid, lower.prices)
                if self.bounds == [*self.best.values]:
                    return
            if model is None:
                model = WorkloadModel(self.problem, self.sizes, grid, self._latest(grid))
            scaled = model.term(term)
            if self.bounds[idx] < self.best.values[idx]:
                self._minimise(idx, model, scaled)
            if self.bounds[idx] < self.best.values[idx]:
                self.limit = self.limit or (
                    Limit.TIME if scaled.exact or not self.clock.remaining else Limit.ROUNDING
                )
                return
            model.model.add(scaled.expression <= scaled.at_most(self.best.values[idx]))

    def _fits(self, grid: Grid) -> bool:
        """Return whether the model is small enough and its sums fit 64 bits."""
        horizon = grid.point(self.problem.horizon) + 1
        most = max(self.problem.num_nodes, *(amount for _, amount in self.problem.resources), 1)
        return len(self.sizes.nodes) <= self.params.most_sizes and horizon * most < 2**60

    def _lower(self, idx: int) -> TermBound:
        """Return the bound on a term by prices, or a cheap bound if the best plan meets it."""
        term = self.objective[idx]
        alone = bound_of_jobs_alone(self.problem, term, self.sizes)
        if alone >= self.best.values[idx]:
            return TermBound(alone)
        by_time = bound_by_time(
            self.problem, term, self.sizes, self.clock.stage(self.params.time_prices_share)
        )
        if by_time.value >= self.best.values[idx] or len(self.problem.jobs) > ALWAYS_BY_JOB:
            return by_time
        return bound_by_jobs(
            self.problem, term, by_time, self.clock.stage(self.params.job_prices_share), self.budget.workers
        )

    def _latest(self, grid: Grid) -> list[int]:
        """Return the latest end of each job in a schedule as good as the best one, in units of the grid."""
        return latest_ends(self.problem, self.objective[0], self.sizes, grid, self.best.values[0])

    def _search_in_order(self, grid: Grid, prices: PriceBound) -> None:
        """Branch over the first term in order of starts, for a share of the time."""
        term, value = self.objective[0], self.best.values[0]
        step = float(value_step(term_slopes(self.problem, term, grid)))
        outcome = chronological_search(
            self.problem,
            term,
            self.sizes,
            grid,
            prices,
            latest=self._latest(grid),
            value=value,
            gain=max(step, TOLERANCE * value),
            clock=Clock(self.params.chronological_share * self.clock.remaining),
            params=self.params.chronological,
        )
        if outcome.order is not None and outcome.chosen is not None:
            self.best.offer(Plan.in_order(self.problem, self.sizes, outcome.chosen, outcome.order))
        if outcome.proven:
            self.bounds[0] = self.best.values[0]

    def _minimise(self, idx: int, model: WorkloadModel, scaled: ScaledTerm) -> None:
        """Close the gap between the bound and the best value of a term, as far as the time allows."""
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        model.model.clear_hints()  # type: ignore[no-untyped-call]  # ortools
        model.hint(*self.best.placed(self.sizes))
        model.model.minimize(scaled.expression)
        model.model.add(scaled.expression >= scaled.at_least(self.bounds[idx]))
        reached = [2**62]

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            starts, chosen = model.read(value)
            order = np.argsort(starts, kind="stable")
            self.best.offer(Plan.in_order(self.problem, self.sizes, chosen, order))
            reached[0] = min(reached[0], value(scaled.expression))
            return True

        outcome = run_cpsat(
            model.model, self.budget, self.clock, take, linear=self.objective[idx] != "makespan"
        )
        if outcome.interrupted:
            self.limit = Limit.INTERRUPTED
        if outcome.infeasible:
            return
        self.bounds[idx] = scaled.proven(outcome, reached[0], self.best.values[idx], self.bounds[idx])

    def result(self) -> Result[WorkloadSchedule]:
        """Return the best schedule and what is proven."""
        return search_result(
            self.best.schedule(),
            self.best.values,
            self.bounds,
            self.limit or Limit.TIME,
            self.clock,
            self.best.incumbents,
            certificate=self.certificate,
        )
