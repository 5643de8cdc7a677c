"""Tasks: one solver on one problem within one budget."""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from allocsolve import registry
from allocsolve.bench.runs.answers import GivenAnswer
from allocsolve.bench.runs.describe import Description, describe, identity_of, recorded_name
from allocsolve.bench.runs.records import RecordKey
from allocsolve.errors import AllocsolveError, InvalidOption, PluginError, UnknownName
from allocsolve.families import AnyFamily, AnySolver, family_of
from allocsolve.instances import digest
from allocsolve.model import Budget, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.bench.runs.records import Record

__all__ = ["SolverLike", "Task", "again", "check_code", "family_of_all", "plan"]

#: A name, or a solver.
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
    #: All suites with the problem; none where only that of the record is of interest.
    suites: tuple[str, ...] = ()

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
        """Return the solver.

        Raises
        ------
        UnknownName, InvalidOption, PluginError
            If it cannot be made.
        AllocsolveError
            If its code is not that of the key: edited meanwhile, or another version on this machine.
        """
        if self.unnamed is not None:
            return self.unnamed
        solver = registry.make_solver(self.solver, self.problem, self.key.objective)
        check_code(solver, self.solver, self.key.code)
        return solver


def check_code(solver: AnySolver, name: str, planned: str) -> None:
    """Refuse a solver of other code than was planned: edited meanwhile, or another version on this machine.

    Raises
    ------
    AllocsolveError
        That names both.
    """
    code = registry.code_of(solver, name)
    if code != planned:
        msg = f"the code of {name} is {code} here, the run was planned for {planned}"
        raise AllocsolveError(msg)


def plan(
    problems: Iterable[tuple[str, Problem]],
    solvers: Sequence[SolverLike | Description],
    *,
    objective: str | None = None,
    budgets: Sequence[Budget],
) -> list[Task]:
    """Return the tasks of every solver on every problem within every budget, problem by problem.

    Parameters
    ----------
    problems
        All of one kind, each with the name of its suite. Equal ones (the same digest) are run once, and
        counted in all their suites.
    solvers
        Names, or what `describe` returns for them; or solvers, as they are, whose tasks can be run in this
        process only. Plug-ins that are named are not imported in this process.
    objective
        What is minimised and judged; by default what the kind of the problems has as its first objective.
    budgets
        Of single runs; the seed is part of it.

    Raises
    ------
    UnknownName, SolverUnavailable
        If a solver cannot be made.
    InvalidOption
        If the problems are of several kinds, or two different solvers have one name.
    """
    suites_and_problems = list(problems)
    if not suites_and_problems:
        return []
    family = family_of_all([problem for _, problem in suites_and_problems])
    minimised = ",".join(family.parse_objective(objective))
    contestants: dict[str, _Contestant] = {}
    for solver in solvers:
        contestant = _contestant(solver, family, minimised)
        other = contestants.setdefault(contestant.name, contestant)
        if not _are_equal(other, contestant):
            msg = f"two solvers are called {contestant.name}: let the repr of each tell what it is"
            raise InvalidOption(msg)
    version = _version()
    tasks: dict[RecordKey, Task] = {}
    identities = [digest(problem) for _, problem in suites_and_problems]
    suites: dict[str, dict[str, None]] = {}
    for (suite, _), identity in zip(suites_and_problems, identities, strict=True):
        suites.setdefault(identity, {})[suite] = None
    for (suite, problem), identity in zip(suites_and_problems, identities, strict=True):
        named = tuple(suites[identity])
        for budget in budgets:
            spent = float(budget.seconds), budget.iterations, budget.workers, budget.seed
            for name, text, code, unnamed in contestants.values():
                key = RecordKey(identity, text, minimised, *spent, version, code)
                tasks.setdefault(key, Task(suite, problem, name, key, unnamed, named))
    return list(tasks.values())


class _Contestant(NamedTuple):
    """A solver that runs on every problem of a plan."""

    name: str
    text: str  #: its `registry.identity`
    code: str
    unnamed: AnySolver | None  #: the solver itself if it has no name to make it by


def _contestant(solver: SolverLike | Description, family: AnyFamily, objective: str) -> _Contestant:
    if isinstance(solver, str) and not registry.plugin_place(solver):
        name = registry.canonical_name(solver)
        return _Contestant(name, *identity_of(name, family, objective), None)
    if isinstance(solver, str):
        (solver,) = describe([solver], [objective])
    if not isinstance(solver, Description):
        text = registry.identity(solver)
        name = solver.name if isinstance(solver, GivenAnswer) else text
        return _Contestant(name, text, registry.code_of(solver), solver)
    identity = solver.identities.get((family.kind, objective))
    if identity is None:  # asked under other objectives, or for problems of other kinds
        if not registry.plugin_place(solver.name):
            return _contestant(solver.name, family, objective)
        if family.kind not in solver.kinds:
            kinds = " and ".join(solver.kinds)
            raise PluginError(solver.name, f"it solves {kinds} problems, not {family.kind} problems")
        (solver,) = describe([solver.name], [objective])
        identity = solver.identities[family.kind, objective]
    return _Contestant(solver.name, *identity, None)


def _are_equal(one: _Contestant, other: _Contestant) -> bool:
    """Tell whether two solvers of one name are the same, whatever they say of themselves."""
    if one[:3] != other[:3]:
        return False
    if one.unnamed is other.unnamed or one.unnamed == other.unnamed:
        return True
    if one.unnamed is None or other.unnamed is None or inspect.isroutine(one.unnamed):
        return False
    try:  # all that they hold, as copies are made of them
        return bool(one.unnamed.__reduce_ex__(2)[1:] == other.unnamed.__reduce_ex__(2)[1:])
    except (TypeError, ValueError):  # they cannot be copied, or what they hold cannot be compared
        return False


def again(
    tasks: Iterable[Task], records: Iterable[Record], *, solvers: Iterable[str] = (), failed: bool = False
) -> set[RecordKey]:
    """Return the keys of the tasks that are to be run although there are records of them.

    Parameters
    ----------
    tasks
        See `plan`.
    records
        Those that there are.
    solvers
        Names of solvers of the tasks, all of whose runs are made again.
    failed
        Whether the runs that have failed are made again.

    Raises
    ------
    UnknownName
        If a name is that of no task.
    """
    by_solver: dict[str, set[RecordKey]] = {}
    for task in tasks:
        by_solver.setdefault(task.solver, set()).add(task.key)
    keys: set[RecordKey] = set()
    for solver in solvers:
        name = recorded_name(solver)
        if name not in by_solver:
            raise UnknownName("solver of these runs", name, by_solver)
        keys |= by_solver[name]
    if failed:
        planned = set().union(*by_solver.values())
        keys |= {record.key for record in records if record.error and record.key in planned}
    return keys


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
