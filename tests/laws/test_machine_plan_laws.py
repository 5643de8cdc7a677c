"""Laws of clairvoyant plans and exact searches on machines with counted resources and closed windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_resources import available, naive_earliest, needs_of, release_of
from naive_workload_optimum import naive_values, workload_optimum
from resource_strategies import general_problems
from strategies import workload_problems
from tiers import examples

from allocsolve.errors import UnsupportedProblem
from allocsolve.exact import Prices, WorkloadCpSat
from allocsolve.exact.workload import _windows as windows
from allocsolve.heuristics import Reinsertion, SerialGeneration
from allocsolve.heuristics.workload._kernels_serial import PUT_EARLIEST, Placed
from allocsolve.heuristics.workload.free_over_time import FreeOverTime
from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import Plan, job_sizes, serial_order
from allocsolve.judge import certified_bound, workload_violations
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Amdahl,
    Budget,
    Clock,
    ClosedWindow,
    Job,
    Status,
    WorkloadProblem,
    packed_machine,
    parse_objective,
)

if TYPE_CHECKING:
    from allocsolve.model import WorkloadTerm

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
