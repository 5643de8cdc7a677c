"""The exact method for a few malleable jobs: optima are those of brute force, and bounds are below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from naive_malleable_optimum import optimum
from tiers import examples

from allocsolve import Budget, Status, solve
from allocsolve.errors import InvalidOption, UnsupportedProblem
from allocsolve.exact import Prices, WorkloadMilp
from allocsolve.families import family_of
from allocsolve.judge import value
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Amdahl,
    Job,
    Limit,
    Overhead,
    PowerLaw,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    terms,
)
from allocsolve.registry import make_solver, solver_names

if TYPE_CHECKING:
    from allocsolve.model import WorkloadTerm

few = settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow])
#: Relative; twice the difference to which the method proves.
NEAR = 2e-6
LAWS = (PowerLaw(1), PowerLaw(0.5), Amdahl(0.9), Amdahl(1), Overhead(0.1))


@st.composite
def free_problems(draw: st.DrawFn, *, most: int, num_nodes: int) -> WorkloadProblem:
    """Jobs that change their size at any time and at no cost, beside rigid ones."""
    jobs = []
    for _ in range(draw(st.integers(1, most))):
        low = draw(st.integers(1, num_nodes))
        high = draw(st.integers(low, num_nodes))
        job: dict[str, Any] = {}
        if high > low or draw(st.booleans()):
            law = draw(st.sampled_from(LAWS))
            job = {"min_nodes": low, "max_nodes": high, "speedup": law, "kind": "malleable"}
        nodes = draw(st.integers(low, high)) if job else low
        weight = draw(st.sampled_from([1, 1, 2]))
        jobs.append(Job(draw(st.integers(0, 20)), nodes, draw(st.integers(1, 40)), weight=weight, **job))
    return WorkloadProblem(num_nodes, jobs)


@few
@given(problem=free_problems(most=3, num_nodes=3), term=st.sampled_from(WORKLOAD_OBJECTIVES))
def test_optima_are_those_of_brute_force(problem: WorkloadProblem, term: WorkloadTerm) -> None:
    result = WorkloadMilp((term,))(problem, Budget(seconds=300))
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(value(problem, result.answer, (term,)), rel=1e-9)
    assert result.objective == pytest.approx(optimum(problem, term), rel=NEAR, abs=NEAR)


@few
@given(problem=free_problems(most=4, num_nodes=6))
def test_the_optimum_is_between_the_bound_of_prices_and_every_heuristic(problem: WorkloadProblem) -> None:
    result = WorkloadMilp()(problem, Budget(seconds=300))
    best = terms(result.objective or 0)[0]
    priced = Prices()(problem, Budget(iterations=1000))
    assert terms(priced.bound)[0] <= best * (1 + NEAR)
    assert result.status is Status.OPTIMAL
    for name, row in solver_names(family_of(problem)).items():
        if row.method == "heuristic":
            try:
                answer = make_solver(name, problem)(problem, Budget(iterations=1000)).answer
            except InvalidOption:
                continue
            assert terms(value(problem, answer, ("turnaround",)))[0] >= best * (1 - NEAR), name


def test_two_jobs_by_hand() -> None:
    """The first takes all that it can use, the second the rest, and more after the end of the first."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 30, "speedup": PowerLaw(1), "kind": "malleable"}
    problem = WorkloadProblem(50, [Job(0, 30, 400, **job), Job(20, 30, 400, **job)])
    result = solve(problem, "milp", seconds=300)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx((400 + 380 + (12000 - 20 * 380) / 30) / 2, rel=1e-6)
    assert solve(problem, "milp", "makespan", seconds=300).objective == pytest.approx(
        20 + (24000 - 20 * 30) / 50, rel=1e-6
    )


def test_shares_of_time_between_two_sizes() -> None:
    """Three jobs of at most two nodes on four: none ends before the area allows, so sizes change in turn."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 2, "speedup": PowerLaw(1), "kind": "malleable"}
    problem = WorkloadProblem(4, [Job(0, 2, 60, **job) for _ in range(3)])
    result = solve(problem, "milp", "makespan", seconds=300)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(90)
    assert result.answer is not None
    assert np.diff(result.answer.offsets).max() > 1


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"points": 3}, "changes its size at points only"),
        ({"reconfiguration": Stall(fixed=3)}, "pays for changes of its size"),
        ({"size_set": 2}, r"may not have every number of nodes in 2\.\.4"),
        ({"kind": "moldable"}, "is moldable"),
        ({"speedup": SpeedupTable([(2, 10), (3, 9), (4, 1)])}, "its speed is not concave"),
    ],
)
def test_what_it_does_not_know_is_refused(fields: dict[str, Any], fault: str) -> None:
    job: dict[str, Any] = {
        "min_nodes": 2,
        "max_nodes": 4,
        "speedup": PowerLaw(1),
        "kind": "malleable",
        **fields,
    }
    with pytest.raises(UnsupportedProblem, match=f"^job 'j1':? {fault}"):
        WorkloadMilp()(WorkloadProblem(4, [Job(0, 1, 5), Job(0, 2, 10, **job)]), Budget())


def test_more_jobs_get_a_schedule_and_the_bound_of_prices() -> None:
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(0.9), "kind": "malleable"}
    problem = WorkloadProblem(6, [Job(idx, 2, 50 + idx, **job) for idx in range(6)])
    result = WorkloadMilp()(problem, Budget(iterations=200))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert 0 < terms(result.bound)[0] < terms(result.objective or 0)[0]
    stopped = WorkloadMilp(max_jobs=6)(problem, Budget(seconds=1e-3))
    assert (stopped.status, stopped.limit) == (Status.FEASIBLE, Limit.TIME)


def test_of_several_terms_the_first_is_bounded() -> None:
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 30, "speedup": PowerLaw(1), "kind": "malleable"}
    problem = WorkloadProblem(50, [Job(0, 30, 400, **job), Job(20, 30, 400, **job)])
    result = WorkloadMilp(("turnaround", "makespan"))(problem, Budget(seconds=300))
    assert result.status is Status.FEASIBLE
    assert terms(result.bound)[0] == terms(result.objective or 0)[0]
