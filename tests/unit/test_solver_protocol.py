"""Every registered class of solvers is an `allocsolve.model.Solver`: mypy checks the annotations here."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

import pytest

from allocsolve import exact, heuristics
from allocsolve.families import family_of
from allocsolve.model import EvolutionProblem, PartitionProblem, Solver

if TYPE_CHECKING:
    from allocsolve.model import Budget, EvolutionSchedule, Partition, Result

EVOLUTION_SOLVERS: Final[tuple[type[Solver[EvolutionProblem, EvolutionSchedule]], ...]] = (
    heuristics.ListScheduling,
    heuristics.Rigid,
    heuristics.Annealing,
    exact.EvolutionCpSat,
    exact.EvolutionConflictSearch,
    exact.EvolutionLns,
    exact.EvolutionMilp,
)
PARTITION_SOLVERS: Final[tuple[type[Solver[PartitionProblem, Partition]], ...]] = (
    heuristics.ManhattanMedian,
    heuristics.GenAlg,
    heuristics.Mc1x1,
    heuristics.Growth,
    heuristics.Leak,
    heuristics.CurveFit,
    heuristics.Submesh,
    heuristics.MultipleBuddy,
    heuristics.Paging,
    heuristics.RandomNodes,
    exact.PartitionBranchAndBound,
    exact.PartitionCpSat,
    exact.PartitionMilp,
)


@pytest.mark.parametrize(
    ("problem", "solvers"), [(EvolutionProblem, EVOLUTION_SOLVERS), (PartitionProblem, PARTITION_SOLVERS)]
)
def test_every_registered_class_is_checked_here(problem: type, solvers: tuple[type, ...]) -> None:
    assert {type(row.load()) for row in family_of(problem).solvers} == set(solvers)


@pytest.mark.parametrize("solver", [*EVOLUTION_SOLVERS, *PARTITION_SOLVERS])
def test_a_solver_is_called_as_the_protocol_says(solver: type) -> None:
    own, described = (inspect.signature(called.__call__).parameters for called in (solver, Solver))
    required = [one.name for one in own.values() if one.default is one.empty]
    assert required == list(described)


def _with_a_number(problem: EvolutionProblem, budget: float) -> Result[EvolutionSchedule]:
    raise NotImplementedError


def _of_partitions(problem: EvolutionProblem, budget: Budget) -> Result[Partition]:
    raise NotImplementedError


#: Unlike the protocol: without these two comments mypy fails.
_FIRST: Solver[EvolutionProblem, EvolutionSchedule] = _with_a_number  # type: ignore[assignment]  # a budget is no number
_SECOND: Solver[EvolutionProblem, EvolutionSchedule] = _of_partitions  # type: ignore[assignment]  # another answer
