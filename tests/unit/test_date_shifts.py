"""Shifts of dates: plans stay feasible and never cost more; wide jobs move by hours."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.heuristics.workload.date_shifts import DateShifts
from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import Plan, job_sizes
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Jobs, WorkloadProblem
from allocsolve.model.arrays import frozen


def log(count: int, seed: int) -> WorkloadProblem:
    """A busy log with some wide jobs."""
    random = np.random.default_rng(seed)
    nodes = np.where(np.arange(count) % 7 == 3, 16, random.integers(1, 6, count))
    runtime = np.maximum(5, np.rint(random.lognormal(4, 1, count)))
    span = (nodes * runtime).sum() / 16
    return WorkloadProblem(16, Jobs(np.floor(np.sort(random.random(count)) * span), nodes, runtime))


def in_order(problem: WorkloadProblem) -> Plan:
    """The jobs one after the other in order of submission."""
    sizes = job_sizes(problem)
    return Plan.in_order(problem, sizes, sizes.offsets[:-1].copy(), frozen(np.arange(len(problem.jobs))))


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(1, 40), st.integers(0, 2**30))
def test_plans_stay_feasible_and_never_cost_more(count: int, seed: int) -> None:
    problem = log(count, seed)
    plan = in_order(problem)
    search = DateShifts(plan, ("turnaround",), seed)
    before = plan.values(("turnaround",))
    for _ in range(5):
        search.run(2)
        after = plan.values(("turnaround",))
        assert after[0] <= before[0] * (1 + 1e-9)
        assert workload_violations(problem, plan.schedule()) == ()
        before = after
    # What is free is what the jobs leave: all come to the same places once more.
    assert Plan(problem, plan.sizes, plan.placed.starts, plan.placed.chosen).values(("turnaround",)) == before


def test_shifts_find_what_reinsertion_does_not() -> None:
    better = 0
    for seed in range(4):
        problem = log(150, seed)
        plan = in_order(problem)
        Reinserter(plan, ("turnaround",), seed).run(15_000)
        alone = Plan(problem, plan.sizes, plan.placed.starts, plan.placed.chosen)
        Reinserter(alone, ("turnaround",), seed).run(30_000)
        DateShifts(plan, ("turnaround",), seed).run(50)
        better += plan.values(("turnaround",)) < alone.values(("turnaround",))
    assert better >= 3


def test_nothing_to_shift() -> None:
    problem = WorkloadProblem(4, Jobs(np.array([0.0, 99.0]), np.array([4, 4]), np.array([9.0, 9.0])))
    assert not DateShifts(in_order(problem), ("turnaround",), 0).run(1)
    assert not DateShifts(in_order(WorkloadProblem(4, [])), ("turnaround",), 0).run(1)


def test_moves_about_some_jobs_only() -> None:
    problem = log(60, 1)
    plan = in_order(problem)
    search = Reinserter(plan, ("turnaround",), 0)
    search.only(np.zeros(0, dtype=np.int64))
    assert not search.run(10)
    search.only(np.arange(60))
    assert search.run(10)
