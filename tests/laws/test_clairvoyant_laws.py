"""Clairvoyant heuristics and exact solvers of workloads: never below the optimum, exact where proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_resources import naive_earliest
from naive_workload_optimum import naive_optimum, naive_values
from tiers import examples

from allocsolve.bounds.workload import time_prices
from allocsolve.bounds.workload.job_prices import job_prices
from allocsolve.exact.workload import Prices, WorkloadCpSat
from allocsolve.exact.workload._windows import grid_of, search_window, term_slopes, value_step
from allocsolve.exact.workload.chronological import chronological_search
from allocsolve.heuristics.workload import Reinsertion, SerialGeneration
from allocsolve.heuristics.workload.reinsertion import Reinserter, serial_plans
from allocsolve.heuristics.workload.serial import SERIAL_ORDERS, Plan, job_sizes
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Amdahl,
    Budget,
    Clock,
    Job,
    Jobs,
    SpeedupTable,
    Status,
    WorkloadProblem,
    parse_objective,
)
from allocsolve.model.result import terms

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from allocsolve.model import Result, WorkloadObjective, WorkloadSchedule

OBJECTIVES = (
    "turnaround",
    "slowdown",
    "wait",
    "makespan",
    "makespan,turnaround",
    "slowdown,makespan",
    "wait,slowdown",
)


@st.composite
def workloads(
    draw: DrawFn, *, max_jobs: int = 4, moldable: bool = True, real: bool = False
) -> WorkloadProblem:
    """Workloads of a few jobs; times are multiples of a quarter unless `real`."""
    num_nodes = draw(st.integers(1, 5))
    jobs = []
    for _ in range(draw(st.integers(1, max_jobs))):
        nodes = draw(st.integers(1, num_nodes))
        unit = draw(st.sampled_from((1, 3, 0.25)))
        runtime = unit * draw(st.integers(1, 30))
        row: dict[str, Any] = {}
        if moldable and draw(st.booleans()):
            rows = {size: unit * draw(st.integers(1, 30)) for size in range(1, num_nodes + 1)}
            rows[nodes] = runtime
            row = {"speedup": SpeedupTable(tuple(rows.items())), "min_nodes": 1, "max_nodes": num_nodes}
        if real:
            runtime /= 3
            row = {
                "speedup": Amdahl(draw(st.sampled_from((0.0, 0.5, 0.9, 1.0)))),
                "min_nodes": 1,
                "max_nodes": num_nodes,
            }
        weight = draw(st.sampled_from((1, 1, 1, 0, 2, 0.5)))
        jobs.append(Job(draw(st.integers(0, 12)), nodes, runtime, weight=weight, **row))
    return WorkloadProblem(num_nodes, jobs)


def check(
    problem: WorkloadProblem, result: Result[WorkloadSchedule], objective: WorkloadObjective
) -> tuple[float, ...]:
    """Check a result by the judge; return its value."""
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    value = workload_value(problem, result.answer, objective)
    if result.objective is not None:
        assert terms(result.objective) == pytest.approx(terms(value), rel=1e-9)
    assert terms(result.bound) <= terms(value)
    return terms(value)


def not_below(value: tuple[float, ...], optimum: tuple[float, ...]) -> bool:
    """Compare lexicographically, up to rounding."""
    for mine, best in zip(value, optimum, strict=True):
        if mine != pytest.approx(best, rel=1e-9, abs=1e-9):
            return mine > best
    return True


@given(workloads(max_jobs=6), st.sampled_from(SERIAL_ORDERS), st.sampled_from((None, 1.0, 4.0)))
def test_serial_generation_places_each_job_as_early_as_it_can(
    problem: WorkloadProblem, order: Any, window: float | None
) -> None:
    answer = SerialGeneration(order, window)(problem, Budget()).answer
    assert answer is not None
    assert workload_violations(problem, answer) == ()
    runs = list(zip(answer.starts.tolist(), answer.ends.tolist(), answer.nodes.tolist(), strict=True))
    for idx, (start, end, nodes) in enumerate(runs):
        others = [(*run[:2], {"nodes": run[2]}) for run in runs[:idx] + runs[idx + 1 :]]
        submit = float(problem.packed.submit[idx])
        assert start == naive_earliest(problem, others, {"nodes": nodes}, end - start, submit)


@pytest.mark.parametrize("seed", range(6))
def test_free_nodes_are_those_of_a_slow_twin(seed: int) -> None:
    """Jobs in and out in random order, enough of them that chunks are halved, joined and dropped."""
    random = np.random.default_rng(seed)
    count, num_nodes = 150, 12
    jobs = Jobs(
        random.integers(0, 400, count) / 4,
        random.integers(1, num_nodes + 1, count),
        random.integers(1, 60, count) / 4,
    )
    problem = WorkloadProblem(num_nodes, jobs)
    sizes = job_sizes(problem)
    plan = Plan.in_order(problem, sizes, np.arange(count), np.zeros(0, dtype=np.int64))
    placed: dict[int, tuple[float, float, int]] = {}
    for _ in range(900):
        job = int(random.integers(count))
        row = np.array([job])
        if job in placed:
            plan.take_out(row)
            del placed[job]
            continue
        nodes, seconds = int(jobs.packed.nodes[job]), float(jobs.packed.runtime[job])
        others = [(begin, end, {"nodes": held}) for begin, end, held in placed.values()]
        start = naive_earliest(problem, others, {"nodes": nodes}, seconds, float(jobs.packed.submit[job]))
        plan.put(row)
        assert plan.placed.starts[job] == start
        placed[job] = start, start + seconds, nodes
    ((_, times, free, _),) = plan.free.steps(0.0, 1e9, plan.nodes)
    assert len(set(times.tolist())) == len(times) <= 2 * len(placed) + 1
    for time, left in zip(times.tolist(), free.tolist(), strict=True):
        assert left == num_nodes - sum(held for begin, end, held in placed.values() if begin <= time < end)


@settings(max_examples=examples(40))
@given(workloads(), st.sampled_from(OBJECTIVES))
def test_reinsertion_is_feasible_and_never_below_the_optimum(problem: WorkloadProblem, text: str) -> None:
    objective = parse_objective(text, WORKLOAD_OBJECTIVES)
    result = Reinsertion(objective)(problem, Budget(iterations=300))
    value = check(problem, result, objective)
    assert not_below(value, naive_optimum(problem, objective))
    assert value <= min(terms(plan.values(objective)) for plan in serial_plans(problem))


@settings(max_examples=examples(40))
@given(workloads(), st.sampled_from(OBJECTIVES))
def test_cpsat_is_brute_force(problem: WorkloadProblem, text: str) -> None:
    objective = parse_objective(text, WORKLOAD_OBJECTIVES)
    result = WorkloadCpSat(objective)(problem, Budget())
    value = check(problem, result, objective)
    assert result.status is Status.OPTIMAL
    assert value == pytest.approx(naive_optimum(problem, objective), rel=1e-9)


@settings(max_examples=examples(25))
@given(workloads(max_jobs=3, real=True), st.sampled_from(OBJECTIVES))
def test_cpsat_bounds_real_times(problem: WorkloadProblem, text: str) -> None:
    objective = parse_objective(text, WORKLOAD_OBJECTIVES)
    result = WorkloadCpSat(objective)(problem, Budget())
    value = check(problem, result, objective)
    optimum = naive_optimum(problem, objective)
    assert not_below(value, optimum)
    assert terms(result.bound)[0] <= optimum[0] * (1 + 1e-9)
    assert terms(result.bound)[0] >= optimum[0] * (1 - 1e-2) - 1e-2


@settings(max_examples=examples(25))
@given(workloads(), st.sampled_from(OBJECTIVES))
def test_prices_encloses_the_optimum(problem: WorkloadProblem, text: str) -> None:
    objective = parse_objective(text, WORKLOAD_OBJECTIVES)
    result = Prices(objective)(problem, Budget(iterations=200))
    value = check(problem, result, objective)
    optimum = naive_optimum(problem, objective)
    assert not_below(value, optimum)
    assert terms(result.bound)[0] <= optimum[0] * (1 + 1e-9)


@settings(max_examples=examples(25))
@given(workloads(max_jobs=6, moldable=False), st.integers(0, 100))
def test_a_window_never_makes_a_plan_worse(problem: WorkloadProblem, seed: int) -> None:
    plan = next(iter(serial_plans(problem)))
    before = plan.values(("turnaround",))
    search = Reinserter(plan, ("turnaround",), seed)
    search_window(search, np.random.default_rng(seed), Clock(60), lambda: False)
    schedule = plan.schedule()
    assert workload_violations(problem, schedule) == ()
    runs = list(zip(schedule.starts.tolist(), schedule.ends.tolist(), strict=True))
    assert naive_values(problem, ("turnaround",), runs) == pytest.approx(plan.values(("turnaround",)))
    assert plan.values(("turnaround",)) <= before


@settings(max_examples=examples(60))
@given(workloads(max_jobs=4), st.sampled_from(("turnaround", "slowdown")), st.booleans())
def test_the_search_in_order_of_starts_proves_the_optimum(
    problem: WorkloadProblem, term: Any, by_jobs: bool
) -> None:
    """From nothing: no best schedule is known, and prices are those of node-seconds, or per job."""
    sizes = job_sizes(problem, every=True)
    grid = grid_of(problem, sizes)
    prices = time_prices(problem, term)
    if by_jobs:
        prices = job_prices(problem, term, prices, clock=Clock(60))
    outcome = chronological_search(
        problem,
        term,
        sizes,
        grid,
        prices,
        latest=[grid.point(problem.horizon)] * len(problem.jobs),
        value=1e6,
        gain=float(value_step(term_slopes(problem, term, grid))),
        clock=Clock(60),
    )
    if not problem.packed.weight.any():
        assert not outcome.proven
        return
    assert outcome.proven
    assert outcome.order is not None
    assert outcome.chosen is not None
    plan = Plan.in_order(problem, sizes, outcome.chosen, outcome.order)
    assert plan.values((term,)) == pytest.approx(naive_optimum(problem, (term,)), rel=1e-9)
