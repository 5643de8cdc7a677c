"""Executing a task: the solver is called, the judge confirms its result, and a record is made of it."""

from __future__ import annotations

import dataclasses
import math
import pickle
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from allocsolve import judge
from allocsolve.bench.runs.machine import machine
from allocsolve.bench.runs.records import Record
from allocsolve.bench.runs.reply import SolverInterrupted, call_solver
from allocsolve.errors import InvalidAnswer
from allocsolve.families import family_of
from allocsolve.model import Answer, Limit, Problem, Status, Value, terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.bench.runs.tasks import Task
    from allocsolve.families import AnySolver

__all__ = [
    "Outcome",
    "SolverInterrupted",
    "execute",
    "failed_outcome",
    "judged_outcome",
    "metric_numbers",
]


class Outcome(NamedTuple):
    """What became of a task."""

    record: Record
    answer: Answer | None  #: if the judge has confirmed one
    #: Why the record is a failed one; None if it is not, or if the solver ran in another process.
    cause: BaseException | None = None
    #: From which the judge has recomputed a bound.
    certificate: Mapping[str, Any] | None = None


def execute(task: Task, solver: AnySolver) -> Outcome:
    """Run a task in this process, on a copy of its problem; what the solver does wrong becomes a failed row.

    Parameters
    ----------
    task
        What is to be run.
    solver
        Its solver, made and ready.

    Raises
    ------
    KeyboardInterrupt
        When the user interrupts; `SolverInterrupted` if the solver turned that into a result.
    """
    call = call_solver(solver, _copies.of(task.problem), task.budget)
    if call.changed or call.cause is not None:
        _copies.forget()
    if call.cause is None:
        return judged_outcome(task, call.result, call.runtime)
    if not isinstance(call.cause, Exception | SystemExit):
        raise call.cause
    error = f"{type(call.cause).__name__}: {call.cause}"
    return failed_outcome(task, error, call.runtime, call.traceback)._replace(cause=call.cause)


def judged_outcome(task: Task, result: Any, runtime: float) -> Outcome:  # noqa: ANN401 - whether it is a result is for the judge to say
    """Have the judge look at what a solver has returned; what it refutes becomes a failed row.

    Parameters
    ----------
    task
        What was run.
    result
        What the solver has returned.
    runtime
        Seconds of the call.
    """
    try:
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
        return failed_outcome(task, f"{type(error).__name__}: {error}", runtime)._replace(cause=error)
    return Outcome(_record(task, findings), verdict.result.answer, certificate=verdict.result.certificate)


def failed_outcome(task: Task, error: str, runtime: float, traceback: str = "") -> Outcome:
    """Return what becomes of a task that fails.

    Parameters
    ----------
    task
        What was run.
    error
        The reason; made one line.
    runtime
        Seconds until then.
    traceback
        Of what the solver raised; empty if it raised nothing.
    """
    nothing = _Findings(
        status=Status.UNKNOWN,
        limit=None,
        value=None,
        bound=-math.inf,
        certified_bound=-math.inf,
        runtime_s=runtime,
        incumbents=(),
        error=" ".join(_writable(error).split()) or "no reason given",
        metrics={},
    )
    return Outcome(_record(task, nothing, _writable(traceback)), None)


def _writable(text: str) -> str:
    """Return a text that can be stored and shown: half surrogate pairs cannot be written in UTF-8."""
    return text.encode(errors="replace").decode()


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


def _record(task: Task, findings: _Findings, traceback: str = "") -> Record:
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
        traceback=traceback,
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


#: Bounds of the last problems: the tasks of one come together. Several threads look here.
_bounds: dict[tuple[str, str], Value] = {}


def _combinatorial_bound(task: Task) -> Value:
    """Return a cheap bound on the first term, so that there is a gap without an exact solver."""
    place = task.key.digest, task.key.objective
    known = _bounds.get(place)
    if known is None:
        first, *others = task.objective
        bound = family_of(task.problem).bound(task.problem, first)
        known = _plain((bound,) if others else bound)
        if len(_bounds) >= 64:
            _bounds.clear()
        _bounds[place] = known
    return known
