"""The one table of families, the solvers by name, and the front door `solve`."""

from __future__ import annotations

import dataclasses
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import PluginError, UnknownName
from allocsolve.judge import confirm
from allocsolve.model import Budget, PartitionProblem, Result
from allocsolve.registry.evolution import EVOLUTION
from allocsolve.registry.partition import PARTITION
from allocsolve.registry.plugins import GROUP, is_reference, load, plugins, problem_types, provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allocsolve.model import BoolArray, IntArray, Partition, Problem, Topology
    from allocsolve.registry.family import AnySolver, Entry, Family

__all__ = [
    "FAMILIES",
    "check_name",
    "entries",
    "families_named",
    "families_solved",
    "family_of",
    "load_plugin",
    "make_allocator",
    "make_solver",
    "solve",
    "with_objective",
]

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


def families_solved(solver: AnySolver) -> tuple[Family, ...]:
    """Return the families whose problems a solver takes, by the annotation of its first parameter.

    Raises
    ------
    ValueError
        If it has none, or one that names no known type of problem.
    """
    named = problem_types(solver)
    found = tuple(family for family in FAMILIES if family.problem in named)
    if not found:
        known = " or ".join(family.problem.__name__ for family in FAMILIES)
        msg = f"annotate its first parameter with what it solves: {known}"
        raise ValueError(msg)
    return found


def load_plugin(name: str) -> tuple[AnySolver, tuple[Family, ...]]:
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
    if any(entry.name == name for entry in entries()):
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


def families_named(name: str) -> tuple[Family, ...]:
    """Return the families that have a solver of this name; a plug-in is imported to find out.

    Raises
    ------
    UnknownName
        If there is none, with the nearest names.
    PluginError
        If the plug-in of this name cannot be used.
    """
    check_name("solver", name, (entry.name for entry in entries()))
    found = tuple(family for family in FAMILIES if any(entry.name == name for entry in family.entries))
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
    registered = {entry.name: entry for entry in family.entries}
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


def make_allocator(name: str, *, seed: int = 0) -> Callable[[Topology, BoolArray, int], IntArray | None]:
    """Return the solver of partition problems of this name as a function from free nodes to chosen ones.

    That is what `allocsolve.instances.churned_occupancy` takes.

    Parameters
    ----------
    name
        As `make_solver` takes it.
    seed
        Of every call.

    Raises
    ------
    UnknownName, PluginError
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
        A registered name, see ``allocsolve solvers``, or ``package.module:object``.
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
