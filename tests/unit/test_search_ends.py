"""A search ends when its value meets a bound, however much time is left."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from allocsolve import Budget, solve
from allocsolve.exact import EvolutionConflictSearch
from allocsolve.families import families
from allocsolve.heuristics import Annealing
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.kernels.threads import run_in_threads
from allocsolve.model import (
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Limit,
    Mesh,
    PartitionProblem,
    ReservationProblem,
    Status,
    WorkloadProblem,
)
from allocsolve.registry import make_solver, ready, searches

if TYPE_CHECKING:
    from collections.abc import Callable

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


def test_a_fault_in_one_stops_the_others_and_is_raised() -> None:
    stop, stopped = threading.Event(), []

    def fails() -> None:
        msg = "broken"
        raise ArithmeticError(msg)

    def waits() -> None:
        stopped.append(stop.wait(60))

    with pytest.raises(ArithmeticError, match="broken"):
        run_in_threads([waits, fails, waits], stop)
    assert stopped == [True, True]


@pytest.mark.parametrize("solver", [Annealing(), EvolutionConflictSearch()])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_the_search_with_what_is_known(
    solver: Annealing | EvolutionConflictSearch, workers: int, press_ctrl_c: Callable[[], None]
) -> None:
    problem = replace(klein2011([2011, 18]), expand_limit=1)
    ready(solver, problem)
    press_ctrl_c()
    result = solver(problem, Budget(seconds=120, workers=workers))
    assert result.limit is Limit.INTERRUPTED
    confirm(problem, result, ("makespan",))
    assert result.runtime < 60
