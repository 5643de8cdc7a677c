"""Tasks: one solver on one problem within one budget; executing one makes a judged record."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.metadata
import math
import os
import platform
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from allocsolve import judge, registry
from allocsolve.bench.runs.records import Record, RecordKey
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import AnyFamily, AnySolver, family_of
from allocsolve.instances import digest
from allocsolve.model import Answer, Budget, Limit, Problem, Result, Status, Value, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Done", "Task", "execute", "failed", "family_of_all", "plan", "prepare", "warm_up"]

#: Compiling may take up the time of a call, and what the solver calls next is compiled in the call after it.
_WARM_UPS = 5

#: Solvers (by their repr) and sorts of problems for which this process has compiled what it needs.
_warm: set[tuple[str, Problem]] = set()


@dataclass(frozen=True, slots=True)
class Task:
    """One run that is to be made; it can be sent to another process."""

    suite: str  #: that the problem is of; empty for a file
    problem: Problem
    solver: str  #: registered name
    key: RecordKey

    @property
    def budget(self) -> Budget:
        """Of the run."""
        key = self.key
        return Budget(seconds=key.seconds, iterations=key.iterations, workers=key.workers, seed=key.seed)

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.solver} on {self.problem.name or self.key.digest[:12]}"


class Done(NamedTuple):
    """A task that was executed: the row, and the answer if the judge has confirmed one."""

    record: Record
    answer: Answer | None


def plan(
    problems: Iterable[tuple[str, Problem]],
    solvers: Sequence[str],
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
        Registered names.
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
    named = list(problems)
    if not named:
        return []
    family = family_of_all([problem for _, problem in named])
    parsed = family.parse_objective(objective)
    told = ",".join(parsed)
    names = list(dict.fromkeys(map(registry.canonical_name, solvers)))
    reprs = {name: registry.identity(registry.make_solver(name, family.problem, told)) for name in names}
    version = importlib.metadata.version("allocsolve")
    tasks: dict[RecordKey, Task] = {}
    for suite, problem in named:
        known_by = digest(problem)
        for budget in budgets:
            spent = float(budget.seconds), budget.iterations, budget.workers, budget.seed
            for name, text in reprs.items():
                key = RecordKey(known_by, text, told, *spent, version)
                tasks.setdefault(key, Task(suite, problem, name, key))
    return list(tasks.values())


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


def prepare(task: Task) -> AnySolver:
    """Return the solver of a task, ready: kernels are compiled and backends loaded for problems of its sort.

    Compiling is no part of a run; a process does it once.
    """
    family = family_of(task.problem)
    solver = registry.make_solver(task.solver, task.problem, task.key.objective)
    tiny = family.warm_up(task.problem)
    if (task.key.solver_repr, tiny) not in _warm:
        _warm.add((task.key.solver_repr, tiny))
        warm_up(solver, tiny)
    return solver


def warm_up(solver: AnySolver, tiny: Problem) -> None:
    """Have a solver compile its kernels and load its backend on a tiny problem, whatever comes of it."""
    # A run that counts will fail in the same way, and say so.
    with contextlib.suppress(Exception, SystemExit):
        for _ in range(_WARM_UPS):
            if _call(solver, tiny, Budget(seconds=1, iterations=1)).limit is not Limit.TIME:
                break


def execute(task: Task, *, printed: Callable[[], str] = str) -> Done:
    """Run a task and judge the answer; whatever the solver does wrong becomes a failed row.

    Parameters
    ----------
    task
        What is to be run.
    printed
        Returns what the solver has written to stdout: a solver prints nothing.

    Raises
    ------
    KeyboardInterrupt
        When the user interrupts, also if the solver turned that into a result.
    """
    solver = prepare(task)
    given = copy.deepcopy(task.problem)  # the judge keeps the original
    printed()  # whatever the warm-up has said
    start = time.perf_counter()
    try:
        try:
            result = _call(solver, given, task.budget)
        finally:
            runtime = time.perf_counter() - start
        text = printed()
        if text:
            msg = f"the solver printed to stdout: {text[:80]!r}"
            raise InvalidAnswer(msg)
        if digest(given) != task.key.digest:
            msg = "the solver changed the problem that it was given"
            raise InvalidAnswer(msg)
        result = judge.confirm(task.problem, result, tuple(task.key.objective.split(",")))
        outcome = _Outcome(
            status=result.status,
            limit=result.limit,
            value=result.objective,
            bound=_plain(result.bound),
            runtime_s=runtime,
            incumbents=result.incumbents,
            error="",
            metrics={} if result.answer is None else _numbers(judge.metrics(task.problem, result.answer)),
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything at all is a failed row
        return failed(task, f"{type(error).__name__}: {error}", runtime)
    return Done(_record(task, outcome, _combinatorial_bound(task)), result.answer)


def failed(task: Task, error: str, runtime: float) -> Done:
    """Return the failed row of a task."""
    nothing = _Outcome(
        status=Status.UNKNOWN,
        limit=None,
        value=None,
        bound=-math.inf,
        runtime_s=runtime,
        incumbents=(),
        error=" ".join(error.split()) or "no reason given",
        metrics={},
    )
    return Done(_record(task, nothing, _combinatorial_bound(task)), None)


class _Outcome(TypedDict):
    """What a run adds to its task."""

    status: Status
    limit: Limit | None
    value: Value | None
    bound: Value
    runtime_s: float
    incumbents: tuple[tuple[float, Value], ...]
    error: str
    metrics: dict[str, float]


def _record(task: Task, outcome: _Outcome, floor: Value) -> Record:
    family = family_of(task.problem)
    return Record(
        **task.key._asdict(),
        suite=task.suite,
        instance=task.problem.name or task.key.digest[:12],
        kind=family.kind,
        features=family.features(task.problem),
        solver=task.solver,
        combinatorial_bound=floor,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=_machine(),
        **outcome,
    )


def _call(solver: AnySolver, problem: Problem, budget: Budget) -> Result[Any]:
    result = solver(problem, budget)
    # Whether it is a result at all is for the judge to say.
    if getattr(result, "limit", None) is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _numbers(worth: Any) -> dict[str, float]:  # noqa: ANN401 - each family has its own metrics
    """Return all metrics by name; one with a number per axis as one metric per axis."""
    numbers: dict[str, float] = {}
    for name, value in asdict(worth).items():
        if isinstance(value, tuple):
            numbers |= {f"{name}.{axis}": along for axis, along in enumerate(value)}
        else:
            numbers[name] = value
    return numbers


def _plain(bound: Value) -> Value:
    """Return a bound as Python numbers; refuse what cannot bound anything."""
    plain: list[float] = []
    for term in terms(bound):
        if not term < math.inf:
            msg = f"the solver claims the bound {bound}"
            raise InvalidAnswer(msg)
        exact = term if term == -math.inf else int(term)
        plain.append(exact if exact == term else float(term))
    return tuple(plain) if isinstance(bound, tuple) else plain[0]


#: Bounds of the last problems: the tasks of one come together.
_floors: dict[tuple[str, str], Value] = {}


def _combinatorial_bound(task: Task) -> Value:
    """Return a cheap bound on the first term, so that there is a gap without an exact solver."""
    place = task.key.digest, task.key.objective
    if place not in _floors:
        first, *others = task.key.objective.split(",")
        bound = family_of(task.problem).bound(task.problem, first)
        while len(_floors) >= 64:
            _floors.pop(next(iter(_floors)))
        _floors[place] = _plain((bound,) if others else bound)
    return _floors[place]


@functools.cache
def _machine() -> dict[str, str | int | None]:
    facts: dict[str, str | int | None] = {
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    for package in ("numpy", "scipy", "numba", "ortools", "pulp"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            facts[package] = importlib.metadata.version(package)
    return facts


def _processor() -> str:
    """Return the model of the processor as Linux names it; elsewhere what `platform` knows."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - one line of many
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
