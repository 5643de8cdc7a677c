"""The front door: a problem is solved by the name of a solver."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allocsolve.families import family_of
from allocsolve.judge import confirm
from allocsolve.model import Budget, Result
from allocsolve.registry.readiness import ready
from allocsolve.registry.table import make_solver

if TYPE_CHECKING:
    from allocsolve.model import Problem

__all__ = ["solve"]


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

    The clock starts when the solver is `ready`.

    Parameters
    ----------
    problem
        The problem.
    solver
        A registered name, see ``allocsolve solvers``, or ``package.module:object``; either may have options,
        as in ``curve-fit(method=first-fit, order=snake)``.
    objective
        A term of the family's `objectives`, such as ``makespan``, or several separated by commas, the first
        first; by default the first of the family.
    seconds, workers, seed
        The `Budget`.

    Returns
    -------
    Result
        With the objective value found by the judge, and the seconds of the call as `runtime`: without
        compiling, loading and judging.

    Raises
    ------
    UnknownName, InvalidOption, PluginError
        If there is no such solver, option or objective for this kind of problems.
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
    made = make_solver(solver, problem, ",".join(parsed))
    ready(made, problem)
    clock = budget.start()
    result = made(problem, budget)
    runtime = clock.elapsed
    return replace(confirm(problem, result, parsed), runtime=runtime)
