"""The solvers by name, and the front door `solve`."""

from __future__ import annotations

import dataclasses
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from allocsolve.errors import PluginError, UnknownName
from allocsolve.families import families, family_of
from allocsolve.judge import confirm
from allocsolve.model import Budget, Problem, Result
from allocsolve.registry.plugins import GROUP, is_reference, load, plugins, problem_types, provider

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.families import AnyFamily, AnySolver, SolverRow

__all__ = [
    "check_name",
    "families_named",
    "families_solved",
    "load_plugin",
    "make_solver",
    "solve",
    "solver_rows",
    "with_objective",
]


def solver_rows() -> tuple[tuple[AnyFamily, SolverRow], ...]:
    """Return all registered solvers, family by family."""
    return tuple((family, row) for family in families() for row in family.solvers)


def families_solved(solver: AnySolver) -> tuple[AnyFamily, ...]:
    """Return the families whose problems a solver takes, by the annotation of its first parameter.

    `allocsolve.model.Problem` stands for the problems of every family.

    Raises
    ------
    ValueError
        If it has none, or one that names no known type of problem.
    """
    named = problem_types(solver)
    if Problem in named:
        return families()
    found = tuple(family for family in families() if family.problem in named)
    if not found:
        known = " or ".join(family.problem.__name__ for family in families())
        msg = f"annotate its first parameter with what it solves: {known}"
        raise ValueError(msg)
    return found


def load_plugin(name: str) -> tuple[AnySolver, tuple[AnyFamily, ...]]:
    """Return the solver of a third party, and the families whose problems it takes.

    Parameters
    ----------
    name
        That of an entry point of the group ``allocsolve.solvers``, or ``package.module:object``. The object
        is a solver, or a class that makes one without arguments.

    Raises
    ------
    UnknownName
        If no entry point has this name.
    PluginError
        If it cannot be loaded or is no solver, if its name is that of a registered solver, or if several
        distributions use it.
    """
    if is_reference(name):
        found: tuple[EntryPoint, ...] = (EntryPoint(name, name, GROUP),)
    elif name in plugins():
        found = plugins()[name]
    else:
        raise UnknownName("plug-in", name, plugins())
    rivals = [provider(entry) for entry in found]
    if any(row.name == name for _, row in solver_rows()):
        rivals.insert(0, "allocsolve itself")
    if len(rivals) > 1:
        instead = " or ".join(entry.value for entry in found)
        raise PluginError(name, f"{' and '.join(rivals)} have a solver of this name; name it as {instead}")
    solver = load(found[0])
    try:
        return solver, families_solved(solver)
    except ValueError as error:
        raise PluginError(name, str(error)) from error


def check_name(what: str, name: str, registered: Iterable[str]) -> None:
    """Refuse a name that is neither one of these, nor an entry point, nor ``package.module:object``.

    Raises
    ------
    UnknownName
        With the nearest names of those that there are.
    """
    known = dict.fromkeys([*registered, *plugins()])
    if name not in known and not is_reference(name):
        raise UnknownName(what, name, known)


def families_named(name: str) -> tuple[AnyFamily, ...]:
    """Return the families that have a solver of this name; a plug-in is imported to find out.

    Raises
    ------
    UnknownName
        If there is none, with the nearest names.
    PluginError
        If the plug-in of this name cannot be used.
    """
    check_name("solver", name, (row.name for _, row in solver_rows()))
    found = tuple(family for family in families() if any(row.name == name for row in family.solvers))
    return found if found and name not in plugins() else load_plugin(name)[1]


def make_solver(name: str, problem: Problem | type, objective: str | None = None) -> AnySolver:
    """Return the solver of this name for problems of this kind.

    Parameters
    ----------
    name
        A registered name (solvers of different kinds of problems may share one) or that of a plug-in, as
        `load_plugin` takes it. Plug-ins are imported here, and none but the one that is asked for.
    problem
        The problem, or any other of its kind, or their type.
    objective
        What is minimised, as `with_objective`; the default of the solver if None.

    Raises
    ------
    UnknownName
        If there is no such solver of this kind of problems (with the nearest names) or no such objective.
    PluginError
        If the plug-in of this name cannot be used, or does not solve this kind of problems.
    """
    family = family_of(problem)
    registered = {row.name: row for row in family.solvers}
    check_name(f"{family.kind} solver", name, registered)
    terms = family.parse_objective(objective)
    if name in registered and name not in plugins():
        solver = registered[name].load()
    else:
        solver, solved = load_plugin(name)
        if family not in solved:
            kinds = " and ".join(one.kind for one in solved)
            raise PluginError(name, f"it solves {kinds} problems, not {family.kind} problems")
    return solver if objective is None else with_objective(solver, terms)


def with_objective(solver: AnySolver, objective: tuple[str, ...]) -> AnySolver:
    """Return the solver that minimises these terms.

    A solver that minimises what it is told is a dataclass with a field ``objective``, a tuple of terms; any
    other is returned as it is.
    """
    told: Any = solver
    if dataclasses.is_dataclass(told) and any(
        field.name == "objective" for field in dataclasses.fields(told)
    ):
        told = dataclasses.replace(told, objective=objective)  # type: ignore[type-var]  # not a class
    return told  # type: ignore[no-any-return]  # a solver is whatever is called like one


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
        A registered name, see ``allocsolve solvers``, or ``package.module:object``.
    objective
        A term of the family's `objectives`, such as ``makespan``, or several separated by commas, the first
        first; by default the first of the family.
    seconds, workers, seed
        The `Budget`.

    Returns
    -------
    Result
        With the objective value found by the judge.

    Raises
    ------
    UnknownName, PluginError
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
