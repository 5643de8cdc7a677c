"""Executing a task: the solver is called, the judge confirms its result, and a record is made of it."""

from __future__ import annotations

import dataclasses
import math
import pickle
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from allocsolve import judge
from allocsolve.bench.runs.machine import machine
from allocsolve.bench.runs.records import Record
from allocsolve.errors import InvalidAnswer
from allocsolve.families import AnySolver, family_of
from allocsolve.instances import digest
from allocsolve.model import Answer, Limit, Problem, Status, Value, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from allocsolve.bench.runs.tasks import Task

__all__ = ["Outcome", "SolverInterrupted", "execute", "failed_outcome", "metric_numbers"]


class SolverInterrupted(KeyboardInterrupt):
    """A solver has turned an interrupt into a result."""


class Outcome(NamedTuple):
    """What became of a task."""

    record: Record
    answer: Answer | None  #: if the judge has confirmed one
    #: Why the record is a failed one; None if it is not, or if the solver ran in another process.
    cause: BaseException | None = None
    #: From which the judge has recomputed a bound.
    certificate: Mapping[str, Any] | None = None


def execute(
    task: Task,
    solver: AnySolver,
    *,
    restore: Callable[[], Problem] | None = None,
    printed: Callable[[], str] = str,
) -> Outcome:
    """Run a task and judge the answer; whatever the solver does wrong becomes a failed row.

    Parameters
    ----------
    task
        What is to be run.
    solver
        Its solver, made and ready.
    restore
        If the solver may be given the problem itself, returns that problem as it was, for the case that the
        solver changes it. None gives the solver a copy.
    printed
        Returns what the solver has written to stdout: a solver prints nothing.

    Raises
    ------
    KeyboardInterrupt
        When the user interrupts; `SolverInterrupted` if the solver turned that into a result.
    """
    given = _copies.of(task.problem) if restore is None else task.problem
    before = _fingerprint(given)
    printed()  # whatever the warm-up has said
    result: Any = None
    cause: BaseException | None = None
    start = time.perf_counter()
    try:
        result = solver(given, task.budget)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything at all is a failed row
        cause = error
    except BaseException:
        _copies.forget()
        raise
    runtime = time.perf_counter() - start
    # Whether it is a result at all is for the judge to say.
    if getattr(result, "limit", None) is Limit.INTERRUPTED:
        raise SolverInterrupted
    if _fingerprint(given) != before:
        if restore is None:
            _copies.forget()
        else:
            task = dataclasses.replace(task, problem=restore())
        cause = cause or InvalidAnswer("the solver changed the problem that it was given")
    try:
        if cause is not None:
            raise cause
        if text := printed():
            msg = f"the solver printed to stdout: {text[:80]!r}"
            raise InvalidAnswer(msg)
        verdict = judge.assess(task.problem, result, task.objective)
        findings = _Findings(
            status=verdict.result.status,
            limit=verdict.result.limit,
            value=verdict.result.objective,
            bound=_plain(verdict.result.bound),
            certified_bound=_plain(verdict.certified_bound),
            runtime_s=runtime,
            incumbents=verdict.result.incumbents,
            error="",
            metrics={} if verdict.metrics is None else metric_numbers(verdict.metrics),
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything at all is a failed row
        failed = failed_outcome(task, f"{type(error).__name__}: {error}", runtime)
        return failed._replace(cause=error)
    return Outcome(_record(task, findings), verdict.result.answer, certificate=verdict.result.certificate)


def failed_outcome(task: Task, error: str, runtime: float) -> Outcome:
    """Return what becomes of a task that fails, with the reason and the seconds until then."""
    nothing = _Findings(
        status=Status.UNKNOWN,
        limit=None,
        value=None,
        bound=-math.inf,
        certified_bound=-math.inf,
        runtime_s=runtime,
        incumbents=(),
        error=" ".join(error.split()) or "no reason given",
        metrics={},
    )
    return Outcome(_record(task, nothing), None)


class _Copies:
    """The copy of a problem that solvers get, made once: the tasks of one problem come together."""

    def __init__(self) -> None:
        self._last: tuple[Problem, Problem] | None = None

    def of(self, problem: Problem) -> Problem:
        """Return the copy of a problem."""
        if self._last is None or self._last[0] is not problem:
            self._last = problem, pickle.loads(pickle.dumps(problem, pickle.HIGHEST_PROTOCOL))  # noqa: S301 - bytes that were just made here
        return self._last[1]

    def forget(self) -> None:
        """Make a new one the next time: this one may have been changed."""
        self._last = None


_copies = _Copies()


def _fingerprint(problem: Problem) -> Hashable:
    """Return what shows whether a problem was changed, arrays included that do not count for its equality."""
    arrays = [
        array.tobytes()
        for field in dataclasses.fields(problem)
        for array in _arrays(getattr(problem, field.name))
    ]
    try:
        return hash(problem), hash(tuple(arrays))
    except TypeError:  # a family whose problems have no hash
        return digest(problem), hash(tuple(arrays))


def _arrays(value: object) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):  # arrays that belong together
        yield from (item for item in value if isinstance(item, np.ndarray))


class _Findings(TypedDict):
    """What a run adds to its task."""

    status: Status
    limit: Limit | None
    value: Value | None
    bound: Value
    certified_bound: Value
    runtime_s: float
    incumbents: tuple[tuple[float, Value], ...]
    error: str
    metrics: dict[str, float]


def _record(task: Task, findings: _Findings) -> Record:
    family = family_of(task.problem)
    return Record(
        **task.key._asdict(),
        suite=task.suite,
        instance=task.problem.name or task.key.digest[:12],
        kind=family.kind,
        features=family.features(task.problem),
        solver=task.solver,
        combinatorial_bound=_combinatorial_bound(task),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine(),
        **findings,
    )


def metric_numbers(metrics: Any) -> dict[str, float]:  # noqa: ANN401 - each family has its own metrics
    """Return all metrics by name; one with a number per axis as one metric per axis."""
    numbers: dict[str, float] = {}
    for field in dataclasses.fields(metrics):
        value = getattr(metrics, field.name)
        if isinstance(value, tuple):
            numbers |= {f"{field.name}.{axis}": along for axis, along in enumerate(value)}
        else:
            numbers[field.name] = value
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
_bounds: dict[tuple[str, str], Value] = {}


def _combinatorial_bound(task: Task) -> Value:
    """Return a cheap bound on the first term, so that there is a gap without an exact solver."""
    place = task.key.digest, task.key.objective
    if place not in _bounds:
        first, *others = task.objective
        bound = family_of(task.problem).bound(task.problem, first)
        while len(_bounds) >= 64:
            _bounds.pop(next(iter(_bounds)))
        _bounds[place] = _plain((bound,) if others else bound)
    return _bounds[place]
