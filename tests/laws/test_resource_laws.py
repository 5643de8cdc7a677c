"""Machines with counted resources and closed windows: files, judge, and what does not take them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import naive_resources
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from resource_strategies import general_problems, schedules_of
from strategies import workload_problems
from tiers import examples

from allocsolve.errors import AllocsolveError, UnsupportedProblem
from allocsolve.heuristics.workload.serial import job_sizes
from allocsolve.instances import elastic_workload
from allocsolve.instances.formats.own.envelope import (
    problem_columns,
    problem_from_columns,
)
from allocsolve.instances.generators.examples import random_workload
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.model import Amdahl, Budget, Job, PowerLaw, SpeedupTable, WorkloadProblem, WorkloadSchedule
from allocsolve.model.job_kinds import ALL_SIZES, allowed_sizes
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


MANY_SIZES = 16


def naive_job_sizes(problem: WorkloadProblem, *, every: bool = False) -> list[list[tuple[int, float]]]:
    """Return pairs of nodes and seconds of each job, the fastest first."""
    return [_sizes_of(problem, idx, every=every) for idx in range(len(problem.jobs))]


def _sizes_of(problem: WorkloadProblem, idx: int, *, every: bool) -> list[tuple[int, float]]:
    packed = problem.packed
    nodes, runtime = int(packed.nodes[idx]), float(packed.runtime[idx])
    law = problem.jobs.speedups[idx] if problem.jobs.speedups else None
    if law is None:
        return [(nodes, runtime)]
    least, most, step = int(packed.min_nodes[idx]), int(packed.max_nodes[idx]), int(packed.size_step[idx])
    times: dict[int, float] = {}
    if isinstance(law, SpeedupTable):
        times = dict(law.rows)
        numbers = sorted(times)
    else:
        listed = every or most - least < MANY_SIZES or step != ALL_SIZES
        numbers = list(allowed_sizes(least, most, step)) if listed else []
    if not numbers or (len(numbers) > MANY_SIZES and not every):
        wanted = np.geomspace(least, most, MANY_SIZES)
        allowed = np.array(numbers) if numbers else None
        near = np.rint(wanted) if allowed is None else allowed[np.searchsorted(allowed, wanted - 0.5)]
        numbers = sorted({*near.astype(int).tolist(), nodes})
    rows: list[tuple[int, float]] = []
    for number in numbers:
        if isinstance(law, SpeedupTable):
            seconds = float(times[number])
        elif number == nodes:
            seconds = runtime
        else:
            seconds = runtime * (law.time_ratio(number, nodes))
        if not rows or seconds < rows[-1][1]:
            rows.append((number, seconds))
    return rows[::-1]


def check(problem: WorkloadProblem, *, every: bool) -> None:
    """Compare with the slow twin."""
    sizes = job_sizes(problem, every=every)
    rows = [*zip(sizes.nodes.tolist(), sizes.seconds.tolist(), strict=True)]
    assert len(sizes.offsets) == len(problem.jobs) + 1
    assert sizes.offsets[-1] == len(rows)
    bounds = zip(sizes.offsets[:-1].tolist(), sizes.offsets[1:].tolist(), strict=True)
    assert [rows[start:end] for start, end in bounds] == naive_job_sizes(problem, every=every)
    assert not any(column.flags.writeable for column in sizes)


@given(workload_problems(max_jobs=8, max_nodes=40, times=st.floats(1e-3, 1e6), malleable=True), st.booleans())
def test_sizes_are_those_of_the_slow_twin(problem: WorkloadProblem, every: bool) -> None:
    check(problem, every=every)


@given(st.floats(1e-3, 1e9), st.floats(0, 1), st.sampled_from((1, 2, "powers-of-two")), st.booleans())
def test_of_large_ranges(runtime: float, share: float, size_set: int, every: bool) -> None:
    """Of nearly flat laws, sizes whose times differ by rounding only are left out, too."""
    laws = (Amdahl(share), PowerLaw(share), Amdahl(share * 1e-15), PowerLaw(1e-16))
    jobs = [
        Job(0, 64, runtime * scale, min_nodes=2, max_nodes=512, speedup=law, size_set=size_set)
        for law in laws
        for scale in (1, 1 / 3)
    ]
    table = SpeedupTable([(nodes, 1000 / nodes) for nodes in range(1, 60)])
    jobs.append(Job(0, 8, 125, min_nodes=1, max_nodes=59, speedup=table))
    check(WorkloadProblem(512, [*jobs, Job(1, 5, runtime)]), every=every)


def test_of_a_log_with_some_malleable_jobs() -> None:
    problem = elastic_workload(random_workload(1, 500, 512), share=0.5, seed=1)
    assert len(np.unique(problem.packed.speedup)) == 2
    check(problem, every=False)
