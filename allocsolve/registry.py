"""Solvers by name, and the front door `solve`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from allocsolve.errors import UnknownName
from allocsolve.judge import confirm
from allocsolve.model import Budget, EvolutionProblem, Result, parse_evolution_objective

__all__ = ["Entry", "entries", "make_solver", "solve"]

AnySolver = Callable[[Any, Budget], Result[Any]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table of solvers."""

    name: str
    #: The type of problem that it solves.
    problem: type
    method: Literal["heuristic", "exact"]
    summary: str
    #: Imports the backend and makes the solver with its default options.
    load: Callable[[], AnySolver]


def _list_scheduling(expand_limit: float, *, compacting: bool = False) -> AnySolver:
    from allocsolve.heuristics import Fit, ListScheduling  # noqa: PLC0415 - loaded when asked for

    return ListScheduling(Fit(expand_limit, compacting))


def _rigid() -> AnySolver:
    from allocsolve.heuristics import Rigid  # noqa: PLC0415 - as above

    return Rigid()


def _cpsat() -> AnySolver:
    from allocsolve.exact import CpSat  # noqa: PLC0415 - as above

    return CpSat()


def _milp() -> AnySolver:
    from allocsolve.exact import Milp  # noqa: PLC0415 - as above

    return Milp()


_TABLE = (
    Entry("rigid", EvolutionProblem, "heuristic", "peak nodes for the whole duration, CBF-like", _rigid),
    Entry("noX", EvolutionProblem, "heuristic", "base fit without expansion", lambda: _list_scheduling(1)),
    Entry("2X", EvolutionProblem, "heuristic", "base fit, expand limit 2", lambda: _list_scheduling(2)),
    Entry(
        "2X+c",
        EvolutionProblem,
        "heuristic",
        "base fit, expand limit 2, compacting",
        lambda: _list_scheduling(2, compacting=True),
    ),
    Entry(
        "infX", EvolutionProblem, "heuristic", "base fit, no expand limit", lambda: _list_scheduling(math.inf)
    ),
    Entry(
        "infX+c",
        EvolutionProblem,
        "heuristic",
        "base fit, no expand limit, compacting",
        lambda: _list_scheduling(math.inf, compacting=True),
    ),
    Entry("cpsat", EvolutionProblem, "exact", "CP-SAT, order literals and lazy covers", _cpsat),
    Entry("milp", EvolutionProblem, "exact", "time-indexed MILP by CBC, toys only", _milp),
)


def entries() -> tuple[Entry, ...]:
    """Return all registered solvers."""
    return _TABLE


def make_solver(name: str, objective: str | None = None) -> AnySolver:
    """Return the solver of this name.

    A solver that minimises what it is told has a field ``objective``, which is set to `objective` (such as
    ``makespan,waste``); the others ignore it.

    Raises
    ------
    UnknownName
        If there is no such solver (with the nearest names) or no such objective.
    """
    entry = next((entry for entry in _TABLE if entry.name == name), None)
    if entry is None:
        raise UnknownName("solver", name, (entry.name for entry in _TABLE))
    solver: Any = entry.load()
    if objective is not None and hasattr(solver, "objective"):
        solver = dataclasses.replace(solver, objective=parse_evolution_objective(objective))
    return solver  # type: ignore[no-any-return]  # a solver is whatever is called like one


def solve(
    problem: EvolutionProblem,
    solver: str,
    objective: str = "makespan",
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
        ``makespan``, ``completion`` (mean), ``waste``, or several of them, the first first.
    seconds, workers, seed
        The `Budget`.

    Returns
    -------
    Result
        With the objective value found by the judge.

    Raises
    ------
    UnknownName
        If there is no such solver or objective.
    InvalidAnswer
        If the judge does not confirm what the solver claims.

    Examples
    --------
    >>> from allocsolve.model import EvolutionProfile
    >>> problem = EvolutionProblem(4, tuple(EvolutionProfile([(10, n)]) for n in (3, 2, 1)))
    >>> result = solve(problem, "noX")
    >>> result.objective, result.status.value
    (20, 'feasible')
    """
    budget = Budget(seconds=seconds, workers=workers, seed=seed)
    result = make_solver(solver, objective)(problem, budget)
    return confirm(problem, result, parse_evolution_objective(objective))
