"""Each counterexample does what its reason says."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from naive import TooManyLoops, published_fit
from naive_optimum import optimum

from allocsolve import judge, solve
from allocsolve.heuristics.evolution.list_scheduling import Fit, list_starts, schedule_of
from allocsolve.instances import counterexamples
from allocsolve.model import EvolutionProblem, EvolutionProfile

CASES: dict[str, Any] = {problem.name: problem for problem in counterexamples()}


def in_order(problem: EvolutionProblem, fit: Fit) -> tuple[int, list[int]]:
    """Return start and durations of the second application, placed after the first."""
    schedule = schedule_of(problem, list_starts(problem, np.arange(2), fit))
    begin = problem.packed.offsets[1]
    return int(schedule.starts[1]), schedule.durations[begin:].tolist()


def test_each_has_a_reason_and_another_name() -> None:
    assert len(CASES) == len(counterexamples())
    for problem in CASES.values():
        assert str(problem.meta["reason"]).endswith(".")
        assert problem.meta["case"] == problem.name


def test_list_scheduling_is_incomplete() -> None:
    problem = CASES["list-scheduling-incomplete"]
    lists = [list_starts(problem, np.array(order), Fit(1)) for order in permutations(range(3))]
    assert min(schedule_of(problem, starts).completions.max() for starts in lists) == 7
    assert optimum(problem, ("makespan",)) == (6,)


def test_the_published_recursion_is_exponential() -> None:
    problem = CASES["published-recursion-exponential"]
    busy, request = problem.applications
    loops = []
    for leading in range(1, 5):
        fewer = EvolutionProfile(((20, 1),) * leading + tuple(request.steps[-3:]))
        loops.append(published_fit(fewer, busy, 2, problem.expand_limit).loops)
    assert all(after > 2.5 * before for before, after in pairwise(loops[1:]))
    with pytest.raises(TooManyLoops):
        published_fit(request, busy, 2, problem.expand_limit, max_loops=2 * loops[-1])
    assert published_fit(request, busy, 2, math.inf).loops < 50


def test_the_first_step_is_delayed() -> None:
    problem = CASES["misprint-line-17"]
    assert in_order(problem, Fit()) == (5, [1, 1])


def test_the_gap_is_on_the_left() -> None:
    problem = CASES["compacting-gap-is-left"]
    assert in_order(problem, Fit()) == (0, [2, 6, 2])
    assert in_order(problem, Fit(compacting=True)) == (2, [2, 4, 2])
    assert problem.applications[0].value(6) + problem.applications[1].steps[2][1] > problem.num_nodes


def test_compacting_can_waste() -> None:
    problem = CASES["compacting-wastes"]
    wastes = []
    for name in ("infX", "infX+c"):
        answer = solve(problem, name).answer
        wastes.append(judge.value(problem, answer, ("waste",)))
    assert wastes == [1, 2]


def test_expansion_pays() -> None:
    problem = CASES["expansion-pays"]
    assert optimum(problem, ("makespan", "waste")) == (6, 2)
    assert optimum(replace(problem, expand_limit=1), ("makespan",)) == (8,)


def test_the_limit_is_floored() -> None:
    problem = CASES["limit-is-floored"]
    assert optimum(problem, ("makespan",)) == (5,)
    assert optimum(replace(problem, expand_limit=2), ("makespan",)) == (4,)


@pytest.mark.parametrize(
    ("name", "solver", "cost", "best"),
    [
        ("median-is-not-optimal", "manhattan-median", 26, 22),
        ("growth-is-not-median", "growth", 35, 25),
        ("shells-are-not-hops", "mc1x1", 14, 8),
        ("runs-scatter", "hilbert-best-fit+largest-runs", 28, 10),
    ],
)
def test_heuristics_miss_the_optimum(name: str, solver: str, cost: int, best: int) -> None:
    problem = CASES[name]
    assert solve(problem, solver).objective == cost
    assert solve(problem, "cpsat").bound == best == solve(problem, "branch-and-bound").objective


def test_no_run_suffices() -> None:
    problem = CASES["runs-scatter"]
    assert problem.free.sum() == 13
    assert solve(problem, "hilbert-first-fit").answer is None


def test_connected_sets_cost_more() -> None:
    problem = CASES["connected-costs-more"]
    assert problem.contiguous
    for solver in ("cpsat", "branch-and-bound"):
        assert solve(problem, solver).bound == 76
        assert solve(replace(problem, contiguous=False), solver).bound == 62
