"""Runs solvers on problems: every answer goes to the judge, every row to disk before the next run."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import inspect
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

from allocsolve import judge, registry
from allocsolve.bench.records import Record, RecordKey, RecordStore
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.instances import digest
from allocsolve.model import Budget, Limit, Result, Status, Value, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Problem

__all__ = ["Progress", "family_of_all", "run", "warm_up"]

#: Called with the number of runs done, their total and what comes next.
Progress: TypeAlias = Callable[[int, int, str], None]

#: Compiling may take up the time of a call, and what the solver calls next is compiled in the call after it.
_WARM_UPS = 5


class _Task(NamedTuple):
    problem: Problem
    name: str
    solver: registry.AnySolver


def run(
    problems: Sequence[Problem],
    solvers: Sequence[str],
    *,
    objective: str | None = None,
    budget: Budget,
    store: RecordStore | None = None,
    progress: Progress | None = None,
) -> list[Record]:
    """Run every solver on every problem, except where the store has the row, and return all rows.

    Parameters
    ----------
    problems
        All of one kind. Equal ones (the same digest) are run once.
    solvers
        Registered names.
    objective
        What is minimised and judged; by default what the kind of the problems has as its first objective.
    budget
        Of each single run.
    store
        Where finished rows are found and new ones are kept. A failed row is finished. None keeps nothing.
    progress
        Told before each run, and once at the end.

    Returns
    -------
    list of Record
        One row per problem and solver, problem by problem.

    Raises
    ------
    UnknownName, SolverUnavailable
        Before anything is run, if a solver cannot be made.
    InvalidOption
        If the problems are of several kinds.
    KeyboardInterrupt
        When the user interrupts, also if the solver turned that into a result. The run in progress is not
        recorded; all rows before it are in the store.
    """
    if not problems:
        return []
    family = family_of_all(problems)
    parsed = family.parse_objective(objective)
    made = {name: registry.make_solver(name, family.problem, ",".join(parsed)) for name in solvers}
    store = RecordStore() if store is None else store
    plan: dict[RecordKey, _Task] = {}
    for problem in problems:
        for name, solver in made.items():
            plan.setdefault(_key(problem, solver, parsed, budget), _Task(problem, name, solver))
    todo = {key: task for key, task in plan.items() if key not in store}
    tiny = {(key.solver_repr, family.tiny(task.problem)): task.solver for key, task in todo.items()}
    for (_, problem), solver in tiny.items():
        warm_up(solver, problem)
    floors: dict[str, Value] = {}
    done = len(plan) - len(todo)
    for key, (problem, name, solver) in todo.items():
        if progress:
            progress(done, len(plan), f"{name} on {problem.name or key.digest[:12]}")
        outcome = _attempt(problem, solver, parsed, budget)
        if key.digest not in floors:
            floors[key.digest] = _combinatorial_bound(family, problem, parsed)
        store.append(
            Record(
                **key._asdict(),
                suite="",
                instance=problem.name or key.digest[:12],
                kind=family.kind,
                features=family.features(problem),
                solver=name,
                combinatorial_bound=floors[key.digest],
                when=datetime.now(UTC).isoformat(timespec="seconds"),
                machine=_machine(),
                **outcome,
            )
        )
        done += 1
    if progress:
        progress(done, len(plan), "done")
    return [store[key] for key in plan]


def family_of_all(problems: Sequence[Problem]) -> registry.Family:
    """Return the family of some problems, at least one.

    Raises
    ------
    InvalidOption
        If they are of several kinds.
    """
    families = {family.kind: family for family in map(registry.family_of, problems)}
    if len(families) > 1:
        msg = f"problems of several kinds cannot be compared: {', '.join(sorted(families))}"
        raise InvalidOption(msg)
    (family,) = families.values()
    return family


def warm_up(solver: registry.AnySolver, tiny: Problem) -> None:
    """Have a solver compile its kernels and load its backend on a tiny problem, whatever comes of it."""
    # The run that counts will fail in the same way, and say so.
    with contextlib.suppress(Exception):
        for _ in range(_WARM_UPS):
            if _call(solver, tiny, Budget(seconds=1, iterations=1)).limit is not Limit.TIME:
                break


def _call(solver: registry.AnySolver, problem: Problem, budget: Budget) -> Result[Any]:
    result = solver(problem, budget)
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _key(
    problem: Problem, solver: registry.AnySolver, objective: tuple[str, ...], budget: Budget
) -> RecordKey:
    # The repr of a function is its address.
    is_function = inspect.isfunction(solver)
    return RecordKey(
        digest=digest(problem),
        solver_repr=f"{solver.__module__}.{solver.__qualname__}" if is_function else repr(solver),
        objective=",".join(objective),
        seconds=float(budget.seconds),
        iterations=budget.iterations,
        workers=budget.workers,
        seed=budget.seed,
        version=importlib.metadata.version("allocsolve"),
    )


class _Outcome(TypedDict):
    """What a run adds to its key."""

    status: Status
    limit: Limit | None
    value: Value | None
    bound: Value
    runtime_s: float
    incumbents: tuple[tuple[float, Value], ...]
    error: str
    metrics: dict[str, float]


def _attempt(
    problem: Problem, solver: registry.AnySolver, objective: tuple[str, ...], budget: Budget
) -> _Outcome:
    """Run and judge; whatever the solver does wrong becomes a failed row."""
    start = time.perf_counter()
    try:
        try:
            result = _call(solver, problem, budget)
        finally:
            runtime = time.perf_counter() - start
        result = judge.confirm(problem, result, objective)
        return _Outcome(
            status=result.status,
            limit=result.limit,
            value=result.objective,
            bound=_plain(result.bound),
            runtime_s=runtime,
            incumbents=result.incumbents,
            error="",
            metrics={} if result.answer is None else _numbers(judge.metrics(problem, result.answer)),
        )
    except Exception as error:  # noqa: BLE001 - anything at all is a failed row
        return _Outcome(
            status=Status.UNKNOWN,
            limit=None,
            value=None,
            bound=-math.inf,
            runtime_s=runtime,
            incumbents=(),
            error=" ".join(f"{type(error).__name__}: {error}".split()),
            metrics={},
        )


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


def _combinatorial_bound(family: registry.Family, problem: Problem, objective: tuple[str, ...]) -> Value:
    """Return a cheap bound on the first term, so that there is a gap without an exact solver."""
    first = family.bound(problem, objective[0])
    return _plain(first if len(objective) == 1 else (first,))


@functools.cache
def _machine() -> dict[str, str | int | None]:
    facts: dict[str, str | int | None] = {
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    for package in ("numpy", "numba", "ortools"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            facts[package] = importlib.metadata.version(package)
    return facts
