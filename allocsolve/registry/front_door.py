"""The front door: a problem is solved by a solver, or by the name of one."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from allocsolve.errors import AllocsolveError, InvalidOption
from allocsolve.families import family_of
from allocsolve.judge import assess
from allocsolve.model import Budget, Result
from allocsolve.model.checks import shown
from allocsolve.registry.plugins import identity
from allocsolve.registry.readiness import ready
from allocsolve.registry.table import families_solved, make_solver, with_objective

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.families import AnyFamily, AnySolver
    from allocsolve.judge import Verdict
    from allocsolve.model import Answerable, Problem, Solver

__all__ = ["solve", "solve_and_assess"]

P = TypeVar("P", bound="Problem")
A = TypeVar("A")


@overload
def solve(
    problem: P,
    solver: Solver[P, A] | Callable[[], Solver[P, A]],
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[A]: ...
@overload
def solve(
    problem: Answerable[A],
    solver: str,
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[A]: ...
@overload
def solve(
    problem: Problem,
    solver: str,
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[Any]: ...
def solve(
    problem: Problem,
    solver: str | AnySolver | Callable[[], AnySolver],
    objective: str | Sequence[str] | None = None,
    *,
    seconds: float = 60.0,
    workers: int = 1,
    seed: int = 0,
) -> Result[Any]:
    """Solve a problem by a solver, or the one of this name, and have the judge confirm the result.

    The clock starts when the solver is `ready`.

    Parameters
    ----------
    problem
        The problem.
    solver
        A registered name, see ``allocsolve solvers``, or ``package.module:object``; either may have options,
        as in ``curve-fit(method=first-fit, order=snake)``. Or a solver itself, such as those of
        `allocsolve.exact`, or a class that makes one without arguments.
    objective
        A term of the family's `objectives`, such as ``makespan``, or several, the first first: a text in
        which commas part them, or a sequence. By default that of the solver, else the first of the family.
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
    >>> from allocsolve.exact import EvolutionCpSat
    >>> from allocsolve.model import EvolutionProblem, EvolutionProfile, Mesh, PartitionProblem
    >>> problem = EvolutionProblem(4, tuple(EvolutionProfile([(10, n)]) for n in (3, 2, 1)))
    >>> result = solve(problem, "noX")
    >>> result.objective, result.status.value
    (20, 'feasible')
    >>> solve(problem, EvolutionCpSat(), ("makespan", "waste")).objective
    (20, 0)
    >>> solve(PartitionProblem.of(Mesh((4, 2)), busy=[1, 6], size=4), "branch-and-bound").objective
    11
    """
    budget = Budget(seconds=seconds, workers=workers, seed=seed)
    return solve_and_assess(problem, solver, objective, budget).result


def solve_and_assess(
    problem: Problem,
    solver: str | AnySolver | Callable[[], AnySolver],
    objective: str | Sequence[str] | None,
    budget: Budget,
) -> Verdict:
    """Solve a problem as `solve` does, and return all that the judge says of the result."""
    family = family_of(problem)
    if isinstance(solver, str):
        terms = family.parse_objective(objective)
        made = make_solver(solver, problem, terms)
    else:
        made = _solver_of(solver, family)
        terms = family.parse_objective(getattr(made, "objective", None) if objective is None else objective)
        made = with_objective(made, terms)
    ready(made, problem)
    clock = budget.start()
    result = made(problem, budget)
    runtime = clock.elapsed
    verdict = assess(problem, result, terms)
    return verdict._replace(result=replace(verdict.result, runtime=runtime))


def _solver_of(solver: Any, family: AnyFamily) -> AnySolver:  # noqa: ANN401 - also what is no solver
    """Return a solver of problems of this family, instantiated if it is a class.

    Raises
    ------
    InvalidOption
        If it is none.
    """
    if isinstance(solver, type):
        try:
            solver = solver()
        except AllocsolveError:
            raise
        except Exception as error:
            msg = f"{solver.__name__}() raised {type(error).__name__}: {error}"
            raise InvalidOption(msg) from error
    try:
        inspect.signature(solver).bind(None, None)
    except (TypeError, ValueError):
        msg = f"solver {shown(solver)} is no name and not called with a problem and a budget"
        raise InvalidOption(msg) from None
    try:
        solved = families_solved(solver)
    except ValueError:  # not annotated: it is for the caller to know
        return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one
    if family not in solved:
        kinds = " and ".join(one.kind for one in solved)
        msg = f"{identity(solver)} solves {kinds} problems, not {family.kind} problems"
        raise InvalidOption(msg)
    return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one
