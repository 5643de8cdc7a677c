"""Clairvoyant heuristics and exact solvers of workloads: never below the optimum, exact where proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_resources import available, naive_earliest, needs_of, release_of
from naive_workload_optimum import naive_optimum, naive_values, workload_optimum
from resource_strategies import general_problems
from strategies import workload_problems
from tiers import examples

from allocsolve.bounds.workload import time_prices
from allocsolve.bounds.workload.job_prices import job_prices
from allocsolve.errors import UnsupportedProblem
from allocsolve.exact import Prices, WorkloadCpSat
from allocsolve.exact.workload import _windows as windows
from allocsolve.exact.workload._windows import grid_of, search_window, term_slopes, value_step
from allocsolve.exact.workload.chronological import chronological_search
from allocsolve.heuristics import Reinsertion, SerialGeneration
from allocsolve.heuristics.workload._kernels_serial import PUT_EARLIEST, Placed
from allocsolve.heuristics.workload.reinsertion import Reinserter, serial_plans
from allocsolve.heuristics.workload.serial import SERIAL_ORDERS, FreeOverTime, Plan, job_sizes, serial_order
from allocsolve.judge import certified_bound, workload_violations
from allocsolve.judge.workload.rules import workload_value
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Amdahl,
    Budget,
    Clock,
    ClosedWindow,
    Job,
    Jobs,
    SpeedupTable,
    Status,
    WorkloadProblem,
    packed_machine,
    parse_objective,
)
from allocsolve.model.result import terms

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from allocsolve.model import Result, WorkloadObjective, WorkloadSchedule, WorkloadTerm


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


QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)
MEANS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown", "wait"])


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_plans_are_those_of_their_slow_twin(data: st.DataObject) -> None:
    """Each job at its earliest place among those that are there, whatever is taken out in between."""
    times = data.draw(st.sampled_from([None, QUARTERS]))
    problem = data.draw(general_problems(min_jobs=1, max_jobs=9, times=times))
    jobs, count = [*problem.jobs], len(problem.jobs)
    sizes = job_sizes(problem)
    plan = Plan.in_order(problem, sizes, sizes.offsets[:-1], np.zeros(0, dtype=np.int64))
    placed: dict[int, tuple[float, float, dict[str, int]]] = {}
    for idx in data.draw(st.lists(st.integers(0, count - 1), max_size=3 * count)):
        row = np.array([idx])
        if idx in placed:
            plan.take_out(row)
            del placed[idx]
            continue
        needs, seconds = needs_of(jobs[idx]), jobs[idx].runtime
        start = naive_earliest(problem, [*placed.values()], needs, seconds, release_of(jobs[idx]))
        plan.put(row)
        assert plan.placed.starts[idx] == start
        placed[idx] = start, start + seconds, needs
    names = packed_machine(problem).names
    for name, (there, begins, free, demand) in zip(names, plan.free.steps(0.0, 1e9, plan.nodes), strict=True):
        assert demand.tolist() == [needs_of(job).get(name, 0) for job in jobs]
        assert there == {"nodes": problem.num_nodes, **dict(problem.resources)}[name]
        for time, left in zip(begins.tolist(), free.tolist(), strict=True):
            held = sum(needs.get(name, 0) for begin, end, needs in placed.values() if begin <= time < end)
            assert left == available(problem, time)[name] - held


@given(problem=workload_problems(min_jobs=1, max_jobs=9, moldable=False), data=st.data())
def test_resources_that_nobody_needs_change_no_plan(problem: WorkloadProblem, data: st.DataObject) -> None:
    sizes = job_sizes(problem)
    order = np.array(data.draw(st.permutations(range(len(problem.jobs)))), dtype=np.int64)
    more = WorkloadProblem(problem.num_nodes, problem.jobs, resources={"gpus": 3})
    starts = []
    for free in (FreeOverTime(problem), FreeOverTime(more)):
        placed = Placed(np.zeros(len(order)), sizes.offsets[:-1].copy())
        free.change(sizes, order, placed, PUT_EARLIEST)
        starts.append(placed.starts.tolist())
    assert starts[0] == starts[1]
    objective = parse_objective("turnaround,makespan", WORKLOAD_OBJECTIVES)
    both = [Reinsertion(objective)(case, Budget(iterations=200)) for case in (problem, more)]
    assert both[0].objective == both[1].objective
    assert both[0].answer == both[1].answer


@settings(max_examples=examples(150), deadline=None)
@given(problem=general_problems(min_jobs=1, max_jobs=5, max_submit=5), term=MEANS)
def test_searches_are_feasible_and_never_below_the_optimum(
    problem: WorkloadProblem, term: WorkloadTerm
) -> None:
    best = float(workload_optimum(problem, term))
    for solver in (SerialGeneration(), Reinsertion((term,)), Prices((term,))):
        result = solver(problem, Budget(iterations=100))
        assert result.answer is not None
        assert workload_violations(problem, result.answer) == ()
        runs = [*zip(result.answer.first_starts.tolist(), result.answer.last_ends.tolist(), strict=True)]
        (value,) = naive_values(problem, (term,), runs)
        assert value >= best
        if not isinstance(solver, SerialGeneration):
            assert result.objective == pytest.approx(value, rel=1e-12)
        if result.status is Status.OPTIMAL:
            assert result.objective == pytest.approx(best, rel=1e-12, abs=1e-12)


@settings(max_examples=examples(150), deadline=None)
@given(
    problem=general_problems(min_jobs=2, max_jobs=5, max_submit=5),
    text=st.sampled_from(["turnaround", "slowdown", "wait", "makespan"]),
)
def test_cpsat_proves_the_optimum_of_brute_force(problem: WorkloadProblem, text: WorkloadTerm) -> None:
    result = WorkloadCpSat((text,))(problem, Budget(seconds=600))
    best = float(workload_optimum(problem, text))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    if result.certificate is not None:
        certified = certified_bound(problem, result.certificate, (text,))
        assert certified <= best * (1 + 1e-12)


@settings(max_examples=examples(60), deadline=None)
@given(problem=general_problems(min_jobs=2, max_jobs=4, times=st.floats(0.5, 8)))
def test_cpsat_with_times_that_are_no_quarters(problem: WorkloadProblem) -> None:
    result = WorkloadCpSat()(problem, Budget(seconds=600))
    best = float(workload_optimum(problem, "turnaround"))
    assert result.objective is not None
    assert isinstance(result.bound, float)
    assert result.bound <= best * (1 + 1e-9) + 1e-9
    assert result.objective == pytest.approx(best, abs=0.1)


def _crowded(count: int = 60) -> WorkloadProblem:
    rng = np.random.default_rng(5)
    jobs = [
        Job(
            int(rng.integers(0, 300)),
            int(rng.integers(1, 9)),
            int(rng.integers(5, 50)),
            needs={"gpus": int(rng.integers(0, 4))},
        )
        for _ in range(count)
    ]
    closed = [ClosedWindow(100, 160), ClosedWindow(200, 300, {"gpus": 3})]
    return WorkloadProblem(16, jobs, resources={"gpus": 6}, closed=closed)


def test_windows_by_cpsat_keep_the_rules_and_lower_the_cost() -> None:
    problem = _crowded()
    sizes = job_sizes(problem)
    plan = Plan.in_order(problem, sizes, sizes.offsets[:-1], serial_order(problem, "submit"))
    search, random = Reinserter(plan, ("turnaround",), 0), np.random.default_rng(0)
    value = plan.values(("turnaround",))
    for _ in range(3):
        windows.search_window(search, random, Clock(60), lambda: False)
        assert workload_violations(problem, plan.schedule()) == ()
        assert plan.values(("turnaround",)) <= value
    assert plan.values(("turnaround",)) < value


def test_prices_go_on_from_what_they_have_found() -> None:
    problem = _crowded()
    first = Prices()(problem, Budget(iterations=8_000))
    assert isinstance(first.objective, float)
    assert isinstance(first.bound, float)
    assert first.certificate is not None
    assert first.certificate["kind"] == "job-prices"
    assert first.bound <= first.objective <= 1.5 * first.bound
    again = Prices(start=first.answer, certificate=first.certificate)(problem, Budget(iterations=10))
    assert isinstance(again.objective, float)
    assert isinstance(again.bound, float)
    assert again.objective <= first.objective
    assert again.bound >= first.bound
    certified = certified_bound(problem, again.certificate or {}, ("turnaround",))
    assert certified <= again.bound


@pytest.mark.parametrize("solver", [SerialGeneration(), Reinsertion(), Prices(), WorkloadCpSat()], ids=repr)
def test_jobs_that_are_not_rigid_are_refused_by_name(solver: SerialGeneration) -> None:
    job = Job(0, 2, 5, name="a", min_nodes=1, max_nodes=3, speedup=Amdahl(0.5))
    problem = WorkloadProblem(4, [job], closed=[ClosedWindow(5, 6)])
    with pytest.raises(
        UnsupportedProblem, match=r"^job 'a' is moldable: with closed windows jobs must be rigid$"
    ):
        solver(problem, Budget(iterations=1))
