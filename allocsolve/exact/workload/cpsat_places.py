"""Workloads on nodes that are places by CP-SAT, with a proof where the budget allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.backends.cpsat import run_cpsat
from allocsolve.exact.workload._places_model import PlacesModel
from allocsolve.exact.workload._windows import Earlier, grid_of, latest_ends
from allocsolve.exact.workload.place_policies import best_on_places
from allocsolve.heuristics.workload.serial import job_sizes, plan_values
from allocsolve.model import Limit, WorkloadSchedule, packed_places, terms
from allocsolve.model.closed_nodes import closed_nodes
from allocsolve.model.search import Best, search_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ortools.sat.python import cp_model

    from allocsolve.model import Budget, IntArray, Result, WorkloadObjective, WorkloadProblem

#: The share of the time for the schedule and the bound to begin with; of this, that of the bound.
_FIRST_SHARE: Final = 0.2
_PRICES_SHARE: Final = 0.5


def solve_on_places(
    problem: WorkloadProblem,
    objective: WorkloadObjective,
    start: WorkloadSchedule | None,
    budget: Budget,
    most_sizes: int,
    max_jobs: int,
) -> Result[WorkloadSchedule]:
    """Minimise on nodes that are places: chunks on nodes, an interval for each job and node.

    `max_jobs` and `most_sizes` are the most jobs, and pairs of a job and a node, for which a model is built.
    *Guarantee*: as `WorkloadCpSat`. *Complexity*: exponential; 16 jobs on 8 nodes take seconds.
    """
    clock = budget.start()
    earlier = Earlier.judged(problem, objective, start, None)
    first = earlier.or_better(best_on_places(earlier, budget, clock.stage(_FIRST_SHARE), _PRICES_SHARE))
    if first.answer is None:
        return first
    best: Best[WorkloadSchedule] = Best(clock)
    best.incumbents += first.incumbents[:-1]
    best.keep(first.answer, _values(problem, objective, first.answer))
    bounds = [min(terms(first.bound)[0], best.values[0])]
    limit = first.limit
    places = packed_places(problem)
    pairs = ((places.most > 0) @ np.diff(places.first_node))[places.shape]
    if limit is not Limit.INTERRUPTED and tuple(bounds) != best.values:
        limit = Limit.SIZE
        if len(problem.jobs) <= max_jobs and int(pairs.sum()) <= most_sizes:
            sizes = job_sizes(problem)
            grid = grid_of(problem, sizes)
            latest = latest_ends(problem, objective[0], sizes, grid, best.values[0])
            model = PlacesModel(problem, sizes, grid, latest)
            limit = _minimise(model, objective, budget, best, bounds)
    assert best.answer is not None
    return search_result(
        best.answer, best.values, bounds, limit, clock, best.incumbents, certificate=first.certificate
    )


def _minimise(
    model: PlacesModel,
    objective: WorkloadObjective,
    budget: Budget,
    best: Best[WorkloadSchedule],
    bounds: list[float],
) -> Limit | None:
    """Close the gaps of the terms one after another; return what ended the search if one stays open."""
    for idx, term in enumerate(objective):
        if idx:
            bounds.append(0.0)
        scaled = model.term(term)
        if bounds[idx] < best.values[idx]:
            assert best.answer is not None
            model.model.clear_hints()  # type: ignore[no-untyped-call]  # ortools
            model.hint_places(best.answer)
            model.model.minimize(scaled.expression)
            model.model.add(scaled.expression >= scaled.at_least(bounds[idx]))
            reached = [2**62]

            def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
                schedule = _as_early_as_possible(model.problem, *model.read_places(value))
                best.keep(schedule, _values(model.problem, objective, schedule))
                reached[0] = min(reached[0], value(scaled.expression))  # noqa: B023 - called in this round
                return True

            outcome = run_cpsat(model.model, budget, best.clock, take, linear=term != "makespan")
            if not outcome.infeasible:
                bounds[idx] = scaled.proven(outcome, reached[0], best.values[idx], bounds[idx])
            if outcome.interrupted:
                return Limit.INTERRUPTED
        if bounds[idx] < best.values[idx]:
            return Limit.TIME if scaled.exact or not best.clock.remaining else Limit.ROUNDING
        model.model.add(scaled.expression <= scaled.at_most(best.values[idx]))
    return None


def _values(
    problem: WorkloadProblem, objective: WorkloadObjective, schedule: WorkloadSchedule
) -> tuple[float, ...]:
    return plan_values(problem, objective, schedule.first_starts, schedule.last_ends)


def _as_early_as_possible(
    problem: WorkloadProblem, starts: Sequence[float], where: Sequence[dict[int, int]]
) -> WorkloadSchedule:
    """Return a schedule of jobs on these nodes, in the order of these starts, none later than that.

    So starts that were rounded down become feasible. O(jobs^3 x nodes x resources).
    """
    places, jobs = packed_places(problem), problem.jobs.packed
    closed = closed_nodes(problem.closed, problem.num_nodes)
    release = problem.jobs.requirements.release(jobs.submit)
    begun: dict[int, float] = {}

    def taken(job: int, node: int) -> IntArray:
        each: IntArray = places.each[places.shape[job]]
        return where[job][node] * each

    def fits(job: int, at: float) -> bool:
        end = at + jobs.runtime[job]
        for node in where[job]:
            spans = slice(closed.first[node], closed.first[node + 1])
            if ((closed.start[spans] < end) & (closed.end[spans] > at)).any():
                return False
            others = [
                other
                for other, then in begun.items()
                if node in where[other] and then < end and then + jobs.runtime[other] > at
            ]
            if any(places.exclusive[places.shape[one]] for one in (job, *others)) and others:
                return False
            for moment in (at, *(begun[other] for other in others if begun[other] > at)):
                there = [one for one in others if begun[one] <= moment < begun[one] + jobs.runtime[one]]
                total = sum((taken(one, node) for one in there), taken(job, node))
                if (total > places.has[places.type_of_node[node]]).any():
                    return False
        return True

    for job in np.argsort(starts, kind="stable").tolist():
        ends = [then + float(jobs.runtime[other]) for other, then in begun.items()]
        moments = {float(release[job]), *(time for time in (*ends, *closed.end) if time > release[job])}
        begun[job] = next(at for at in sorted(moments) if fits(job, at))
    offsets = np.cumsum([0, *map(len, where)])
    pairs = [pair for spots in where for pair in sorted(spots.items())]
    nodes, chunks = (np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1))
    return WorkloadSchedule.on_places(
        problem, [begun[job] for job in range(len(starts))], offsets, nodes, chunks
    )
