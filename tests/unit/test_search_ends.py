"""A search ends when its value meets a bound, however much time is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve import Budget, solve
from allocsolve.families import families
from allocsolve.model import (
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Mesh,
    PartitionProblem,
    ReservationProblem,
    Status,
    WorkloadProblem,
)
from allocsolve.registry import make_solver, searches

if TYPE_CHECKING:
    from allocsolve.model import Problem

#: Rectangles that fill 12 nodes for 10 s; nine of them, so that not all of their orders are tried.
SIDES = ((4, 5), (6, 5), (10, 1), (3, 3), (7, 3), (2, 3), (8, 1), (8, 1), (8, 1))
FULL = EvolutionProblem(12, tuple(EvolutionProfile([side]) for side in SIDES), expand_limit=1)
PROBLEMS: dict[str, Problem] = {
    "evolution": FULL,
    "workload": WorkloadProblem(4, [Job(0, 1 + idx % 2 * 2, 10) for idx in range(60)]),
    "reservation": ReservationProblem(Mesh((2, 2)), tuple(DeadlineJob(idx, 2, 10, 400) for idx in range(70))),
    "partition": PartitionProblem.of(Mesh((8, 8)), size=16),
}
HOUR = Budget(seconds=3600)
SEARCHES = [
    (family.kind, row.name)
    for family in families()
    for row in family.solvers
    if family.kind in PROBLEMS and searches(row.name, family) and row.name not in {"market", "milp"}
]


@pytest.mark.parametrize(("kind", "name"), SEARCHES)
def test_a_search_ends_when_its_value_meets_the_bound(kind: str, name: str) -> None:
    problem = PROBLEMS[kind]
    objective = "makespan" if kind in {"evolution", "workload"} else None
    result = solve(problem, name, objective, seconds=HOUR.seconds)
    assert (result.status, result.bound, result.limit) == (Status.OPTIMAL, result.objective, None)


@pytest.mark.parametrize("name", ["annealing", "lns"])
def test_the_answer_does_not_depend_on_the_workers(name: str) -> None:
    """Of several threads that meet the bound, the earliest round has the answer, as with one."""
    budgets = (Budget(iterations=50_000, workers=workers) for workers in (1, 2, 3))
    first, *others = (make_solver(name, FULL)(FULL, budget).answer for budget in budgets)
    assert all(answer == first for answer in others)
