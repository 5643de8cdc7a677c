"""Annealing of orders: plans are feasible and never cost more than the first; optima of few jobs are met."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_workload_optimum import workload_optimum
from resource_strategies import general_problems
from tiers import examples

from allocsolve.heuristics.workload.order_search import OrderSearch
from allocsolve.heuristics.workload.serial import Plan, job_sizes
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Budget, ClosedWindow, Job, WorkloadProblem
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from allocsolve.model import WorkloadTerm

TERMS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown", "wait"])


def in_order(problem: WorkloadProblem) -> Plan:
    """The jobs one after the other in order of submission."""
    sizes = job_sizes(problem)
    return Plan.in_order(problem, sizes, sizes.offsets[:-1].copy(), frozen(np.arange(len(problem.jobs))))


def annealed(problem: WorkloadProblem, term: WorkloadTerm, seed: int, moves: int) -> tuple[Plan, float]:
    """Return the best plan that so many moves meet, and the value of the first one."""
    plan = in_order(problem)
    before = plan.values((term,))[0]
    search = OrderSearch(plan, (term,), seed)
    search.run(Budget().start(), moves, lambda: False)
    return search.best(), before


@settings(max_examples=examples(50), deadline=None)
@given(problem=general_problems(min_jobs=1, max_jobs=12), term=TERMS, seed=st.integers(0, 2**30))
def test_plans_are_feasible_and_never_cost_more(
    problem: WorkloadProblem, term: WorkloadTerm, seed: int
) -> None:
    best, before = annealed(problem, term, seed, 100)
    assert best.values((term,))[0] <= before * (1 + 1e-12)
    assert workload_violations(problem, best.schedule()) == ()
    again, _ = annealed(problem, term, seed, 100)
    assert again.placed.starts.tolist() == best.placed.starts.tolist()


@settings(max_examples=examples(50), deadline=None)
@given(problem=general_problems(min_jobs=1, max_jobs=12), term=TERMS, seed=st.integers(0, 2**30))
def test_a_plan_is_that_of_its_order_whatever_moves_were_undone(
    problem: WorkloadProblem, term: WorkloadTerm, seed: int
) -> None:
    search = OrderSearch(in_order(problem), (term,), seed)
    least = [search.plan.values((term,))[0]]
    for moves in (1, 2, 3, 50, 50, 50):
        search.run(Budget().start(), moves, lambda: False)
        plan = search.plan
        again = Plan.in_order(problem, plan.sizes, plan.placed.chosen, frozen(search.order.copy()))
        assert plan.placed.starts.tolist() == again.placed.starts.tolist()
        free = [each.free.tolist() for each in plan.free.steps(-1.0, math.inf, plan.nodes)]
        assert free == [each.free.tolist() for each in again.free.steps(-1.0, math.inf, plan.nodes)]
        least.append(plan.values((term,))[0])
    assert search.best().values((term,))[0] <= min(least) * (1 + 1e-12)


@pytest.mark.parametrize("there", [7, 2**40])
def test_plans_of_many_jobs_are_those_of_their_orders(there: int) -> None:
    """There are fewer lists of what is free than jobs; of large amounts each takes a word."""
    random = np.random.default_rng(3)
    unit = there // 7
    jobs = [
        Job(float(submit), int(nodes) * unit, float(seconds), needs={"a": int(a) * unit, "b": int(b) * unit})
        for submit, nodes, seconds, a, b in random.integers([0, 1, 1, 1, 1], [60, 8, 20, 8, 4], (40, 5))
    ]
    closed = [ClosedWindow(50, 90, {"nodes": 5 * unit, "b": 6 * unit})]
    problem = WorkloadProblem(there, jobs, resources={"a": there, "b": there}, closed=closed)
    search = OrderSearch(in_order(problem), ("turnaround",), 5)
    least = [search.plan.values(("turnaround",))[0]]
    for moves in (1, 30, 300, 300):
        search.run(Budget().start(), moves, lambda: False)
        plan = search.plan
        again = Plan.in_order(problem, plan.sizes, plan.placed.chosen, frozen(search.order.copy()))
        assert plan.placed.starts.tolist() == again.placed.starts.tolist()
        least.append(plan.values(("turnaround",))[0])
    best = search.best()
    assert best.values(("turnaround",))[0] <= min(least) < least[0]
    assert workload_violations(problem, best.schedule()) == ()


@settings(max_examples=examples(20), deadline=None)
@given(problem=general_problems(min_jobs=3, max_jobs=5), seed=st.integers(0, 2**30))
def test_optima_of_few_jobs(problem: WorkloadProblem, seed: int) -> None:
    best, _ = annealed(problem, "turnaround", seed, 600)
    optimum = float(workload_optimum(problem, "turnaround"))
    assert best.values(("turnaround",))[0] == pytest.approx(optimum, rel=1e-9)


def test_it_stops_when_it_is_told() -> None:
    problem = WorkloadProblem(2, [Job(0, 2, seconds) for seconds in (30, 20, 10)])
    plan = in_order(problem)
    search = OrderSearch(plan, ("turnaround",), 1)
    search.run(Budget().start(), math.inf, lambda: True)
    assert search.best().values(("turnaround",)) == plan.values(("turnaround",))
