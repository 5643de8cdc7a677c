"""Tasks: one solver on one problem within one budget.

Several runners share one file of records, and each run is made by one of them, which *claims* it: before
the run it writes down until when nobody else may make it, and it extends that time while it works. A claim
is void when its time is over, or at once if it belongs to a process of this machine that has ended. Two
runners that make the same run nevertheless lose time, but no row: the first one is kept.
"""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
import itertools
import json
import os
import platform
import sqlite3
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from allocsolve import registry
from allocsolve.bench.runs.describe import Description, describe, identity_of, recorded_name
from allocsolve.bench.runs.given import GivenAnswer
from allocsolve.bench.runs.records import RecordKey, objective_terms
from allocsolve.errors import AllocsolveError, InvalidOption, PluginError, UnknownName
from allocsolve.families import AnyFamily, AnySolver, family_of
from allocsolve.instances import digest
from allocsolve.model import Budget, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.bench.runs.records import Record

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
        return objective_terms(self.key.objective)

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.solver} on {self.problem.name or self.key.digest[:12]}"

    def make_solver(self) -> AnySolver:
        """Return the solver.

        Raises `AllocsolveError` if its code is not that of the key: edited meanwhile, or another version on
        this machine.
        """
        if self.unnamed is not None:
            return self.unnamed
        solver = registry.make_solver(self.solver, self.problem, self.key.objective)
        check_code(solver, self.solver, self.key.code)
        return solver


def check_code(solver: AnySolver, name: str, planned: str) -> None:
    """Refuse a solver of other code than was planned: edited meanwhile, or another version on this machine.

    The error names both.
    """
    code = registry.code_of(solver, name)
    if code != planned:
        raise AllocsolveError(f"the code of {name} is {code} here, the run was planned for {planned}")


def plan(
    problems: Iterable[tuple[str, Problem]],
    solvers: Sequence[SolverLike | Description],
    *,
    objective: str | None = None,
    budgets: Sequence[Budget],
) -> list[Task]:
    """Return the tasks of every solver on every problem within every budget, problem by problem.

    Raises `InvalidOption` if the problems are of several kinds, or two different solvers have one name.

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


def _are_equal(contestant: _Contestant, other: _Contestant) -> bool:
    """Tell whether two solvers of one name are the same, whatever they say of themselves."""
    if contestant[:3] != other[:3]:
        return False
    if contestant.unnamed is other.unnamed or contestant.unnamed == other.unnamed:
        return True
    if contestant.unnamed is None or other.unnamed is None or inspect.isroutine(contestant.unnamed):
        return False
    try:  # all that they hold, as copies are made of them
        return bool(contestant.unnamed.__reduce_ex__(2)[1:] == other.unnamed.__reduce_ex__(2)[1:])
    except (TypeError, ValueError):  # they cannot be copied, or what they hold cannot be compared
        return False


def again(
    tasks: Iterable[Task], records: Iterable[Record], *, solvers: Iterable[str] = (), failed: bool = False
) -> set[RecordKey]:
    """Return the keys of the tasks that are to be run although there are records of them.

    They are all those of these solvers, and those that have failed if that is asked for.
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

    Raises `InvalidOption` if they are of several kinds.
    """
    families = {family.kind: family for family in map(family_of, problems)}
    if len(families) > 1:
        raise InvalidOption(f"problems of several kinds cannot be compared: {', '.join(sorted(families))}")
    (family,) = families.values()
    return family


#: Seconds after which a claim that is not renewed is void; the clocks of machines must differ by less.
LEASE_S: Final = 90.0
#: How often claims are renewed, in seconds.
_BEAT_S: Final = 15.0
#: Processes that were started within that time of each other, with the same number, are the same one.
_SAME_START_S: Final = 5.0

_numbers = itertools.count()


class Claims:
    """The claims of one runner on one file.

    Claims are made within a transaction of the caller, and renewed by a thread with a connection of its own.
    """

    def __init__(self, base: sqlite3.Connection, source: str) -> None:
        import psutil  # noqa: PLC0415 - only runners need it

        self._base, self._source = base, source
        self._host = _host()
        started = psutil.Process().create_time()
        self._runner = json.dumps([self._host, os.getpid(), started, next(_numbers)])
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()

    def make(self, task: str) -> bool:
        """Claim a task, inside a transaction; False if another runner has it."""
        row = self._base.execute("SELECT runner, until FROM claims WHERE task = ?", (task,)).fetchone()
        if row is not None and row[0] != self._runner and self._holds(*row):
            return False
        claim = task, self._runner, time.time() + LEASE_S
        self._base.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", claim)
        return True

    def holders(self, tasks: Iterable[str]) -> set[str]:
        """Return who has claimed tasks, as people call a process."""
        wanted = {*tasks}
        rows = self._base.execute("SELECT task, runner FROM claims").fetchall()
        return {_shown(runner) for task, runner in rows if task in wanted}

    def release(self) -> None:
        """Give back what is claimed; the claims are of no use any more."""
        self._over.set()
        self._heart.join()
        with suppress(sqlite3.Error):  # then their time will be over some day
            self._base.execute("DELETE FROM claims WHERE runner = ?", (self._runner,))

    def _holds(self, runner: object, until: object) -> bool:
        """Tell whether a claim is one that its maker may still keep."""
        if not isinstance(until, float) or not 0 < until - time.time() < 2 * LEASE_S:
            return False
        host, pid, started = _parsed(runner)
        return host != self._host or _lives(pid, started)

    def _beat(self) -> None:
        base: sqlite3.Connection | None = None
        while not self._over.wait(_BEAT_S):
            with suppress(sqlite3.Error):  # the next beat comes long before the time is over
                base = base or sqlite3.connect(self._source, isolation_level=None, timeout=_BEAT_S)
                until = time.time() + LEASE_S
                base.execute("UPDATE claims SET until = ? WHERE runner = ?", (until, self._runner))
        if base is not None:
            base.close()


def task_text(key: RecordKey, attempt: int) -> str:
    """Return what a task is called in the table of claims."""
    return json.dumps([*key, attempt])


def _host() -> str:
    """Return what tells this machine, and this space of process numbers, from others."""
    space = 0
    with suppress(OSError):
        space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - no path that anybody keeps
    return f"{platform.node()}/{space}"


def _parsed(runner: object) -> tuple[str, int, float]:
    """Return host, process and its start; of what is no runner, those of none."""
    with suppress(ValueError, TypeError, RecursionError):
        host, pid, started, _ = json.loads(str(runner))
        return str(host), int(pid), float(started)
    return "", 0, 0.0


def _shown(runner: object) -> str:
    host, pid, _ = _parsed(runner)
    return f"process {pid} on {host.rsplit('/', 1)[0]}"


def _lives(pid: int, started: float) -> bool:
    import psutil  # noqa: PLC0415 - only runners need it

    try:
        process = psutil.Process(pid)
        dead = process.status() == psutil.STATUS_ZOMBIE
        return not dead and abs(process.create_time() - started) < _SAME_START_S
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return False
    except psutil.Error:  # it lives, but may not be asked
        return True
