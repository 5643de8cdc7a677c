"""`solve`: what it takes for a solver and an objective, what it returns, and one line for what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_type

import pytest

from allocsolve import (
    AllocsolveError,
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
    solve,
)
from allocsolve.exact import EvolutionCpSat, PartitionBranchAndBound
from allocsolve.heuristics import Annealing, GenAlg, ListScheduling, Submesh

if TYPE_CHECKING:
    from allocsolve.model import Problem

PROBLEM = EvolutionProblem(4, tuple(EvolutionProfile([(10, n), (5, 1)]) for n in (3, 2, 1)))
MACHINE = PartitionProblem.of(Mesh((4, 2)), busy=[1, 6], size=4)


def greedy(problem: EvolutionProblem, budget: Budget) -> Result[EvolutionSchedule]:
    return ListScheduling()(problem, budget)


@dataclass(frozen=True)
class Named:
    """A solver of a third party: its class needs an argument."""

    name: str

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        return GenAlg()(problem, budget)


def test_results_are_typed_by_the_problem_or_the_solver() -> None:
    assert_type(solve(PROBLEM, "noX"), Result[EvolutionSchedule])
    assert_type(solve(MACHINE, "gen-alg"), Result[Partition])
    assert_type(solve(PROBLEM, EvolutionCpSat()), Result[EvolutionSchedule])
    assert_type(solve(PROBLEM, EvolutionCpSat), Result[EvolutionSchedule])
    assert_type(solve(MACHINE, Named("mine")), Result[Partition])
    assert_type(solve(PROBLEM, greedy), Result[EvolutionSchedule])
    answer = solve(MACHINE, "gen-alg").answer
    assert answer is not None
    assert_type(answer, Partition)
    some: Problem = MACHINE
    assert_type(solve(some, "gen-alg"), Result[Any])


@pytest.mark.parametrize(
    "solver", ["cpsat", EvolutionCpSat(), EvolutionCpSat, "allocsolve.exact:EvolutionCpSat"]
)
def test_a_solver_is_a_name_an_instance_or_a_class(solver: Any) -> None:
    result = solve(PROBLEM, solver)
    assert (result.status, result.objective) == (Status.OPTIMAL, 25)


@pytest.mark.parametrize("objective", ["makespan,waste", ("makespan", "waste"), ["makespan", " waste"]])
def test_an_objective_is_a_text_or_a_sequence(objective: Any) -> None:
    values = {solve(PROBLEM, solver, objective).objective for solver in ("cpsat", EvolutionCpSat(("waste",)))}
    assert values == {(25, 0)}
    assert EvolutionCpSat(objective) == EvolutionCpSat(("makespan", "waste"))


def test_the_objective_of_a_solver_stays_unless_another_is_given() -> None:
    assert solve(PROBLEM, Annealing(("waste",))).objective == 0
    assert solve(PROBLEM, Annealing(("waste",)), "makespan").objective == 25
    assert Annealing("makespan,waste").objective == ("makespan", "waste")  # type: ignore[arg-type]  # as a text


@pytest.mark.parametrize(
    ("problem", "solver", "objective", "message"),
    [
        (PROBLEM, PartitionBranchAndBound(), None, "solves partition problems, not evolution problems"),
        (MACHINE, EvolutionCpSat, None, "solves evolution problems, not partition problems"),
        (MACHINE, Named, None, r"Named\(\) raised TypeError"),
        (PROBLEM, None, None, "solver None is no name and not called with a problem and a budget"),
        (PROBLEM, len, None, "is no name and not called with a problem and a budget"),
        (PROBLEM, Submesh(), ("makespan",), "solves partition problems"),
        (PROBLEM, "noX", (), "the objective has no terms"),
        (PROBLEM, "noX", 7, "objective 7 is not a sequence"),
        (PROBLEM, "noX", (7,), "unknown objective '7'"),
        (PROBLEM, "noX", ("waste", "waste"), "objective 'waste,waste' names waste twice"),
        (PROBLEM, EvolutionCpSat(), "wast", "unknown objective 'wast'; did you mean waste"),
        ("problem.json", "noX", None, "unknown type of problem 'str'"),
    ],
)
def test_what_is_refused_gets_one_line(problem: Any, solver: Any, objective: Any, message: str) -> None:
    with pytest.raises(AllocsolveError, match=message) as caught:
        solve(problem, solver, objective)
    assert "\n" not in str(caught.value)
