"""Optima on nodes that are places: those of an enumeration; no policy is below, and no bound above."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings, strategies as st
from naive_places import is_closed, room, schedule_of, shape_of
from place_strategies import place_problems_with_windows
from tiers import examples

from allocsolve.bounds.workload import machine_prices
from allocsolve.exact import WorkloadCpSat
from allocsolve.heuristics import Easy, FirstFit
from allocsolve.judge import violations, workload_value
from allocsolve.model import Budget, Job, NodeType, Status, WorkloadProblem, terms
from allocsolve.simulation.node_choice import NODE_CHOICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from naive_places import Placement

    from allocsolve.model import WorkloadTerm

TERMS: tuple[WorkloadTerm, ...] = ("turnaround", "makespan", "wait", "slowdown")


def placements(job: Job, rooms: list[int]) -> Iterator[Placement]:
    """Yield all ways to put a job on nodes with this room."""
    chunks, _, _, least, _ = shape_of(job)
    for counts in itertools.product(*(range(min(most, chunks) + 1) for most in rooms)):
        spots = {node: count for node, count in enumerate(counts) if count}
        if sum(counts) == chunks and len(spots) >= least:
            yield spots


def enumerated(problem: WorkloadProblem, term: WorkloadTerm) -> float:
    """Return the least value of all schedules in which jobs start in some order, each as early as it can.

    Each on all nodes that it may have then: some optimum is among them, as terms grow with the ends of jobs.
    """
    jobs = list(problem.jobs)

    def least(done: list[tuple[int, float, Placement]], now: float) -> float:
        if len(done) == len(jobs):
            _, starts, where = zip(*sorted(done, key=lambda row: row[0]), strict=True)
            return terms(workload_value(problem, schedule_of(problem, [*starts], [*where]), (term,)))[0]
        best = math.inf
        for idx in {*range(len(jobs))} - {idx for idx, _, _ in done}:
            job = jobs[idx]
            tried: list[Placement] = []
            times = {max(now, job.submit), *(start + jobs[other].runtime for other, start, _ in done)}
            for at in sorted({*times, *(window.end for window in problem.closed)}):
                if at < max(now, job.submit):
                    continue
                running = [row for row in done if row[1] + jobs[row[0]].runtime > at]
                here = [(jobs[other], spots) for other, _, spots in running]
                rooms = [
                    0 if is_closed(problem, node, at, at + job.runtime) else most
                    for node, most in enumerate(room(problem, job, here))
                ]
                for spots in placements(job, rooms):
                    if spots in tried:  # it can be there earlier, as nobody starts in between
                        continue
                    tried.append(spots)
                    best = min(best, least([*done, (idx, at, spots)], at))
        return best

    return least([], 0.0)


@settings(max_examples=examples(200), deadline=None)
@given(problem=place_problems_with_windows(max_jobs=3), term=st.sampled_from(TERMS))
def test_optima_are_those_of_an_enumeration(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    assume(problem.num_nodes <= 3)
    result = WorkloadCpSat((term,))(problem, Budget())
    assert result.answer is not None
    assert violations(problem, result.answer) == ()
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(enumerated(problem, term), rel=1e-9)


@settings(max_examples=examples(200), deadline=None)
@given(problem=place_problems_with_windows(max_jobs=6))
def test_no_policy_is_below_the_optimum_and_no_bound_above(problem: WorkloadProblem) -> None:
    problem = problem.cut_at_limits()
    result = WorkloadCpSat()(problem, Budget())
    assert result.status is Status.OPTIMAL
    optimum = result.objective
    assert isinstance(optimum, float | int)
    assert machine_prices(problem.on_counts(), "turnaround").value <= optimum * (1 + 1e-9)
    for choice in NODE_CHOICES:
        for policy in (FirstFit(choice=choice), Easy(choice=choice)):
            (value,) = terms(workload_value(problem, policy.simulated(problem).schedule))
            assert value >= optimum * (1 - 1e-9)


def test_times_that_are_no_quarters_are_rounded_down() -> None:
    """What is found keeps the rules, and the bound is none above the optimum."""
    jobs = [Job(0, 1, 1.3 + idx / 7, chunks=2, each={"cpus": 3}) for idx in range(3)]
    problem = WorkloadProblem(None, jobs, node_types=[NodeType("node", 2, {"cpus": 4})])
    result = WorkloadCpSat()(problem, Budget())
    optimum = (3 * 1.3 + 2 * (1.3 + 1 / 7) + 1.3 + 2 / 7) / 3
    assert violations(problem, result.answer) == ()
    assert result.objective == pytest.approx(optimum)
    assert terms(result.bound)[0] <= optimum


def test_several_terms_one_after_another() -> None:
    """One job after the other: the makespan is 6 s in any order, and the short job goes first."""
    jobs = [Job(0, 1, 4, chunks=1, each={"cpus": 2}), Job(0, 1, 2, chunks=1, each={"cpus": 2})]
    problem = WorkloadProblem(None, jobs, node_types=[NodeType("node", 1, {"cpus": 3})])
    result = WorkloadCpSat(("makespan", "turnaround"))(problem, Budget())
    assert (result.status, result.objective) == (Status.OPTIMAL, (6, 4))
    large = WorkloadCpSat(max_jobs=1)(problem, Budget())
    assert large.status is Status.FEASIBLE or large.objective == large.bound
