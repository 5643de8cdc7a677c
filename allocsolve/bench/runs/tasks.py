"""Tasks: one solver on one problem within one budget."""

from __future__ import annotations

import functools
import importlib.metadata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from allocsolve import registry
from allocsolve.bench.runs.records import RecordKey
from allocsolve.errors import InvalidOption
from allocsolve.families import AnyFamily, AnySolver, family_of
from allocsolve.instances import digest
from allocsolve.model import Budget, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["SolverLike", "Task", "family_of_all", "plan"]

#: A registered name, or a solver.
SolverLike: TypeAlias = str | AnySolver


@dataclass(frozen=True, slots=True)
class Task:
    """One run that is to be made."""

    suite: str  #: that the problem is of; empty for a file
    problem: Problem
    solver: str  #: registered name; what a solver without one is called
    key: RecordKey
    #: A solver without a registered name; None makes it by its name. Such a task stays in its process.
    unnamed: AnySolver | None = field(default=None, compare=False)

    @property
    def budget(self) -> Budget:
        """Of the run."""
        key = self.key
        return Budget(seconds=key.seconds, iterations=key.iterations, workers=key.workers, seed=key.seed)

    @property
    def objective(self) -> tuple[str, ...]:
        """The terms that are minimised and judged."""
        return tuple(self.key.objective.split(","))

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.solver} on {self.problem.name or self.key.digest[:12]}"

    def make_solver(self) -> AnySolver:
        """Return the solver."""
        if self.unnamed is not None:
            return self.unnamed
        return registry.make_solver(self.solver, self.problem, self.key.objective)


def plan(
    problems: Iterable[tuple[str, Problem]],
    solvers: Sequence[SolverLike],
    *,
    objective: str | None = None,
    budgets: Sequence[Budget],
) -> list[Task]:
    """Return the tasks of every solver on every problem within every budget, problem by problem.

    Parameters
    ----------
    problems
        All of one kind, each with the name of its suite. Equal ones (the same digest) are run once.
    solvers
        Registered names; or solvers, as they are, whose tasks can be run in this process only.
    objective
        What is minimised and judged; by default what the kind of the problems has as its first objective.
    budgets
        Of single runs; the seed is part of it.

    Raises
    ------
    UnknownName, SolverUnavailable
        If a solver cannot be made.
    InvalidOption
        If the problems are of several kinds.
    """
    suites_and_problems = list(problems)
    if not suites_and_problems:
        return []
    family = family_of_all([problem for _, problem in suites_and_problems])
    minimised = ",".join(family.parse_objective(objective))
    contestants: list[tuple[str, str, AnySolver | None]] = []
    for solver in solvers:
        if isinstance(solver, str):
            name = registry.canonical_name(solver)
            made = registry.make_solver(name, family.problem, minimised)
            contestants.append((name, registry.identity(made), None))
        else:
            contestants.append((registry.identity(solver), registry.identity(solver), solver))
    version = _version()
    tasks: dict[RecordKey, Task] = {}
    for suite, problem in suites_and_problems:
        identity = digest(problem)
        for budget in budgets:
            spent = float(budget.seconds), budget.iterations, budget.workers, budget.seed
            for name, text, unnamed in contestants:
                key = RecordKey(identity, text, minimised, *spent, version)
                tasks.setdefault(key, Task(suite, problem, name, key, unnamed))
    return list(tasks.values())


@functools.cache
def _version() -> str:
    return importlib.metadata.version("allocsolve")


def family_of_all(problems: Sequence[Problem]) -> AnyFamily:
    """Return the family of some problems, at least one.

    Raises
    ------
    InvalidOption
        If they are of several kinds.
    """
    families = {family.kind: family for family in map(family_of, problems)}
    if len(families) > 1:
        msg = f"problems of several kinds cannot be compared: {', '.join(sorted(families))}"
        raise InvalidOption(msg)
    (family,) = families.values()
    return family
