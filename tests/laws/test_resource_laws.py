"""Machines with counted resources and closed windows: files, judge, and what does not take them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import naive_resources
import pytest
from hypothesis import given, settings, strategies as st
from resource_strategies import general_problems, schedules_of
from tiers import examples

from allocsolve.errors import AllocsolveError, UnsupportedProblem
from allocsolve.instances.formats.own.envelope import (
    problem_columns,
    problem_from_columns,
)
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.model import Budget, WorkloadProblem, WorkloadSchedule
from allocsolve.registry.workload import WORKLOAD

if TYPE_CHECKING:
    from allocsolve.families.contract import SolverRow
    from allocsolve.model import Result

QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)


@st.composite
def judged(draw: st.DrawFn) -> tuple[WorkloadProblem, WorkloadSchedule]:
    times = draw(st.sampled_from([None, QUARTERS]))
    problem = draw(general_problems(times=times))
    return problem, draw(schedules_of(problem, st.integers(0, 20).map(float) if times is None else QUARTERS))


@settings(max_examples=examples(1000))
@given(judged())
def test_violations_are_those_of_the_count(case: tuple[WorkloadProblem, WorkloadSchedule]) -> None:
    problem, schedule = case
    broken = naive_resources.naive_breaks(problem, schedule.first_starts.tolist())
    assert bool(workload_violations(problem, schedule)) == broken


@given(general_problems())
def test_problems_come_back_from_tables(problem: WorkloadProblem) -> None:
    assert replace(problem, jobs=problem.jobs[:]) == problem
    if problem.closed or not len(problem.jobs):
        with pytest.raises(AllocsolveError, match=r"has no place in a table|without jobs"):
            problem_columns(problem)
    else:
        assert problem_from_columns(problem_columns(problem)) == problem


@given(general_problems())
def test_what_a_plain_machine_allows_is_a_relaxation(problem: WorkloadProblem) -> None:
    plain = problem.on_plain_machine()
    assert plain.is_plain
    assert (plain is problem) == problem.is_plain
    starts = [naive_resources.release_of(job) for job in problem.jobs]
    order = sorted(range(len(starts)), key=lambda idx: starts[idx])
    latest = max([0, *starts, *(window.end for window in problem.closed)])
    for idx in order:  # one after the other, when all is open
        starts[idx], latest = latest, latest + problem.jobs[idx].runtime
    schedule = WorkloadSchedule.of(problem, starts)
    assert workload_violations(problem, schedule) == ()
    assert workload_violations(plain, schedule) == ()
    assert schedule.last_ends.max(initial=0) <= problem.horizon
    if len(problem.jobs):
        value = workload_metrics(problem, schedule).turnaround
        assert value == workload_metrics(plain, schedule).turnaround
        assert WORKLOAD.bound(problem, "turnaround") <= value


@settings(max_examples=examples(400), deadline=None)
@given(
    row=st.sampled_from(WORKLOAD.solvers),
    problem=general_problems(min_jobs=1, max_jobs=4, max_nodes=3).filter(lambda drawn: not drawn.is_plain),
)
def test_no_solver_answers_another_problem(row: SolverRow, problem: WorkloadProblem) -> None:
    try:
        result: Result[WorkloadSchedule] = row.load()(problem, Budget(seconds=2, iterations=20))
    except UnsupportedProblem as error:
        told = str(error)
    else:
        assert result.answer is not None
        assert workload_violations(problem, result.answer) == ()
        return
    assert "\n" not in told
