"""The one table of families, the solvers by name, and the front door `solve`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import UnknownName
from allocsolve.judge import confirm
from allocsolve.model import Budget, PartitionProblem, Result
from allocsolve.registry.evolution import EVOLUTION
from allocsolve.registry.partition import PARTITION

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import BoolArray, IntArray, Partition, Problem, Topology
    from allocsolve.registry.family import AnySolver, Entry, Family

__all__ = ["FAMILIES", "entries", "family_of", "make_allocator", "make_solver", "solve"]

#: All kinds of problems.
FAMILIES: Final[tuple[Family, ...]] = (EVOLUTION, PARTITION)


def family_of(problem: Problem | type) -> Family:
    """Return the family of a problem, or of a type of problems.

    Raises
    ------
    UnknownName
        If it is of no known kind.
    """
    kind = problem if isinstance(problem, type) else type(problem)
    for family in FAMILIES:
        if issubclass(kind, family.problem):
            return family
    raise UnknownName("type of problem", kind.__name__, (family.problem.__name__ for family in FAMILIES))


def entries() -> tuple[Entry, ...]:
    """Return all registered solvers, family by family."""
    return tuple(entry for family in FAMILIES for entry in family.entries)


def make_solver(name: str, problem: Problem | type, objective: str | None = None) -> AnySolver:
    """Return the solver of this name for problems of this kind.

    A solver that minimises what it is told has a field ``objective``, which is set to `objective` (such as
    ``makespan,waste``); the others ignore it.

    Parameters
    ----------
    name
        A registered name. Solvers of different kinds of problems may share one.
    problem
        The problem, or any other of its kind, or their type.
    objective
        What is minimised; the default of the solver if None.

    Raises
    ------
    UnknownName
        If there is no such solver of this kind of problems (with the nearest names) or no such objective.
    """
    family = family_of(problem)
    entry = next((entry for entry in family.entries if entry.name == name), None)
    if entry is None:
        raise UnknownName(f"{family.kind} solver", name, (entry.name for entry in family.entries))
    terms = family.parse_objective(objective)
    solver: Any = entry.load()
    if objective is not None and hasattr(solver, "objective"):
        solver = dataclasses.replace(solver, objective=terms)
    return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one


def make_allocator(name: str, *, seed: int = 0) -> Callable[[Topology, BoolArray, int], IntArray | None]:
    """Return the solver of partition problems of this name as a function from free nodes to chosen ones.

    That is what `allocsolve.instances.churned_occupancy` takes.

    Parameters
    ----------
    name
        A registered name.
    seed
        Of every call.

    Raises
    ------
    UnknownName
        If there is no such solver of partition problems.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> import numpy as np
    >>> make_allocator("sorted-free-list")(Mesh((3, 2)), np.array([0, 1, 1, 1, 0, 1], dtype=bool), 2).tolist()
    [1, 2]
    """
    solver, budget = make_solver(name, PartitionProblem), Budget(seed=seed)

    def allocate(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
        answer: Partition | None = solver(PartitionProblem(topology, free, size), budget).answer
        return None if answer is None else answer.nodes

    return allocate


def solve(
    problem: Problem,
    solver: str,
    objective: str | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[Any]:
    """Solve a problem by the solver of this name and have the judge confirm the result.

    Parameters
    ----------
    problem
        The problem.
    solver
        A registered name; see ``allocsolve solvers``.
    objective
        For an evolution problem ``makespan`` (the default), ``completion`` (mean), ``waste``, or several of
        them, the first first; for a partition problem ``pairwise``.
    seconds, workers, seed
        The `Budget`.

    Returns
    -------
    Result
        With the objective value found by the judge.

    Raises
    ------
    UnknownName
        If there is no such solver or objective for this kind of problems.
    InvalidAnswer
        If the judge does not confirm what the solver claims.

    Examples
    --------
    >>> from allocsolve.model import EvolutionProblem, EvolutionProfile, Mesh, PartitionProblem
    >>> problem = EvolutionProblem(4, tuple(EvolutionProfile([(10, n)]) for n in (3, 2, 1)))
    >>> result = solve(problem, "noX")
    >>> result.objective, result.status.value
    (20, 'feasible')
    >>> solve(PartitionProblem.of(Mesh((4, 2)), busy=[1, 6], size=4), "branch-and-bound").objective
    11
    """
    family = family_of(problem)
    parsed = family.parse_objective(objective)
    budget = Budget(seconds=seconds, workers=workers, seed=seed)
    result = make_solver(solver, problem, ",".join(parsed))(problem, budget)
    return confirm(problem, result, parsed)
