"""Executing a task: the solver is called, the judge confirms its result, and a record is made of it.

A solver is called in this process, or in a *cell*, a process of its own, so that whatever it does costs its
own row only. The process is kept between tasks. Its owner watches the clock and the memory, and starts a
new one when it has to kill it; the reply is read as data and judged here, outside of the process. Each
module of plug-ins has a process that no other solver enters. `multiprocessing` cannot be used: its
processes may not have children of their own, and workers of a cluster are such processes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import pickle
import signal
import subprocess
import tempfile
import threading
import weakref
from datetime import UTC, datetime
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve import judge
from allocsolve.bench.runs.given import GivenAnswer
from allocsolve.bench.runs.records import Record
from allocsolve.bench.runs.reply import call_solver, decoded_reply
from allocsolve.bench.runs.watch import (
    COMPILING,
    DONE,
    GRACE_S,
    LOOK_S,
    POLICY,
    READY,
    REPLY,
    Channel,
    Timing,
    Watch,
    exit_reason,
    held_mb,
    kill,
    packed,
    start,
)
from allocsolve.bench.runs.worker import Order
from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.families import family_of
from allocsolve.model import Answer, Problem, Result, Status, Value, terms
from allocsolve.model.result import POLICY_SECONDS
from allocsolve.registry import announce_once, plugin_place, searches
from allocsolve.version import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from allocsolve.bench.runs.tasks import Task
    from allocsolve.families import AnySolver


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

    Raises `KeyboardInterrupt` when the user interrupts; `SolverInterrupted` if the solver turned that into a
    result.
    """
    call = call_solver(solver, _copies.of(task.problem), task.budget)
    if call.changed or call.cause is not None:
        _copies.forget()
    if call.cause is None:
        tolerance = solver.tolerance if isinstance(solver, GivenAnswer) else 0.0
        return judged_outcome(task, call.result, call.runtime, tolerance)
    if not isinstance(call.cause, Exception | SystemExit):
        raise call.cause
    error = f"{type(call.cause).__name__}: {call.cause}"
    return failed_outcome(task, error, call.runtime, call.traceback)._replace(cause=call.cause)


def judged_outcome(
    task: Task,
    result: Any,  # noqa: ANN401 - whether it is a result is for the judge to say
    runtime: float,
    tolerance: float = 0.0,
) -> Outcome:
    """Have the judge look at what a solver has returned; what it refutes becomes a failed row.

    By `tolerance` seconds times of the answer may be off: of a solver's none.
    """
    try:
        verdict = judge.assess(task.problem, result, task.objective, tolerance=tolerance)
        metrics = {} if verdict.metrics is None else metric_numbers(verdict.metrics)
        record = _record(task, verdict.result, runtime, verdict.certified_bound, metrics)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything at all is a failed row
        return failed_outcome(task, f"{type(error).__name__}: {error}", runtime)._replace(cause=error)
    return Outcome(record, verdict.result.answer, certificate=verdict.result.certificate)


def failed_outcome(task: Task, error: str, runtime: float, traceback: str = "") -> Outcome:
    """Return what becomes of a task that fails.

    The reason is made one line; the runtime is what went by until then, in seconds.
    """
    nothing: Result[Any] = Result(Status.UNKNOWN)
    record = _record(task, nothing, runtime)
    reason = " ".join(_writable(error).split()) or "no reason given"
    return Outcome(dataclasses.replace(record, error=reason, traceback=_writable(traceback)), None)


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


def _record(
    task: Task,
    result: Result[Any],
    runtime: float,
    certified_bound: Value = -math.inf,
    metrics: Mapping[str, float] = MappingProxyType({}),
) -> Record:
    """Return the row of a run with this result."""
    family = family_of(task.problem)
    return Record(
        **task.key._asdict(),
        suite=task.suite,
        instance=task.problem.name or task.key.digest[:12],
        kind=family.kind,
        features=family.features(task.problem),
        solver=task.solver,
        status=result.status,
        limit=result.limit,
        value=result.objective,
        bound=_plain(result.bound),
        certified_bound=_plain(certified_bound),
        combinatorial_bound=_combinatorial_bound(task),
        runtime_s=runtime,
        incumbents=result.incumbents,
        error="",
        metrics=dict(metrics),
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine(),
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
            raise InvalidAnswer(f"the solver claims the bound {bound}")
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


#: How long a solver may compile and load, in seconds: no part of its time limit.
WARM_UP_S: Final = 300.0
#: How long a process may take to send an answer: some seconds, and one for each MB of the problem.
_REPLY_S: Final = 5.0
_BYTES_PER_S: Final = 1e6
#: A reply may have this number of bytes, and this multiple of the bytes of the problem.
_REPLY_BYTES: Final = 1 << 24
_REPLY_FACTOR: Final = 16

#: How many processes of plug-ins a thread keeps; the one that was not used for longest is given up.
_KEPT: Final = 4
#: Signals that may come from outside: a death by them says nothing about a solver. Windows has no SIGKILL.
_FROM_OUTSIDE: Final = {
    -getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGKILL") if hasattr(signal, name)
}


class Conditions(NamedTuple):
    """What is the same for all tasks of a run."""

    memory_mb: float  #: what a process and those that it starts may hold
    folder: str  #: where plug-ins are looked for first, as Python does with the folder of a script
    study: str  #: a name that no other run has
    policy_seconds: float = POLICY_SECONDS  #: what a solver may take that does not search


def run_isolated(
    task: Task, conditions: Conditions, announce: Callable[[str], None] | None = None
) -> Outcome:
    """Execute a task in a cell of this thread.

    What a worker of a cluster returns is made here, from data: no plug-in is ever loaded in its process.
    `announce` is called with a line, once in this process, when kernels are being compiled for longer than a
    moment.
    """
    if _not_ready and (fault := _not_ready.get(_sort(task, conditions))):
        return failed_outcome(task, f"not run, its warm-up failed before: {fault}", 0.0)
    if not hasattr(_local, "cells"):
        _local.cells = _Cells()
    cells: _Cells = _local.cells
    return cells.cell(task.solver, conditions.study).run(task, conditions, announce)


_local = threading.local()
#: All cells with a living process, for `close_all`.
_alive: weakref.WeakSet[Cell] = weakref.WeakSet()
#: Why solvers did not get ready in this process.
_not_ready: dict[Hashable, str] = {}


def _sort(task: Task, conditions: Conditions) -> Hashable:
    """Return what the warm-ups of all tasks of one sort have in common."""
    warm_ups = family_of(task.problem).warm_up(task.problem)
    return conditions.study, task.solver, task.key.objective, warm_ups


def close_all() -> None:
    """Kill all cells of this process; their threads see their tasks fail."""
    for cell in tuple(_alive):
        cell.kill()


class _Cells:
    """The cells of a thread: one for all registered solvers, and one for each module of plug-ins."""

    def __init__(self) -> None:
        self._study = ""
        self._cells: dict[str, Cell] = {}  # the last used one comes last

    def cell(self, solver: str, study: str) -> Cell:
        """Return the cell of a solver; each study loads plug-ins anew, as their files may have changed."""
        if study != self._study:
            self._study = study
            self._give_up([name for name in self._cells if name])
        module = plugin_place(solver).partition(":")[0]
        self._cells[module] = cell = self._cells.pop(module, None) or Cell()
        self._give_up([name for name in self._cells if name][:-_KEPT])
        return cell

    def _give_up(self, modules: list[str]) -> None:
        for module in modules:
            self._cells.pop(module).close()


class Cell:
    """A process that calls solvers one at a time; the first task starts it, or the first after a death."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel
        self._stderr: IO[bytes]
        #: Digest and name of the problem that the process has, and its size in bytes.
        self._sent = "", ""
        self._bytes = 0

    def __del__(self) -> None:
        self.close()

    def kill(self) -> None:
        """Kill the process, if there is one; for other threads than that of the cell, too."""
        process = self._process
        if process is not None:
            kill(process)

    def close(self) -> None:
        """Kill the process, if there is one, and forget it."""
        self.kill()
        process, self._process = self._process, None
        _alive.discard(self)
        if process is not None:
            for pipe in (process.stdin, process.stdout, self._stderr):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()

    def run(
        self, task: Task, conditions: Conditions, announce: Callable[[str], None] | None = None
    ) -> Outcome:
        """Execute a task; a solver that dies, hangs or takes too much memory is a failed row."""
        process = self._started()
        self._channel.send(self._order(task, conditions.folder))
        run = _Run(task, Watch(process.pid, WARM_UP_S), self._bytes, announce, conditions.policy_seconds)
        looked = 0.0
        while True:
            self._channel.exchange(LOOK_S)
            try:
                outcome = run.advanced(self._channel)
            except FormatError as error:
                fault = f"killed: {error}"
            else:
                if outcome is not None:
                    return outcome
                fault = run.overdue()
            now = run.watch.elapsed
            if not fault and not 0 <= now - looked < LOOK_S:
                looked = now
                if (held := held_mb(process.pid)) > conditions.memory_mb:
                    fault = f"killed: held {held:.0f} MB, more than {conditions.memory_mb:.0f} MB"
            by_itself = True
            if fault:
                self.close()
            elif self._channel.ended:
                fault = self._exit_fault(process)
                by_itself = process.returncode not in _FROM_OUTSIDE
            if fault:
                if run.getting_ready and by_itself:
                    _not_ready[_sort(task, conditions)] = fault
                return failed_outcome(task, fault, run.watch.elapsed)

    def _order(self, task: Task, folder: str) -> bytes:
        identity, problem = (task.key.digest, task.problem.name), None
        if identity != self._sent:
            problem = _pickled(task.problem)
            self._sent, self._bytes = identity, len(problem)
        key = task.key
        return packed(Order(task.solver, key.objective, task.budget, key.code, key.digest, problem, folder))

    def _started(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and process.poll() is None:
            self._channel.exchange(0)
            if self._channel.silent and not self._channel.ended:  # else it speaks without having been asked
                return process
        self.close()
        self._sent = "", ""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the cell
        self._process = process = start("allocsolve.bench.runs.worker:main", self._stderr)
        self._channel = Channel(process)
        _alive.add(self)
        return process

    def _exit_fault(self, process: subprocess.Popen[bytes]) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may have closed its end, and live
            process.wait(LOOK_S)
        reason = exit_reason(process, self._stderr)
        self.close()
        return f"the process of the solver died: {reason}"


class _Run:
    """One order, and what its process has said of it so far."""

    def __init__(
        self,
        task: Task,
        watch: Watch,
        size: int,
        announce: Callable[[str], None] | None,
        policy_seconds: float,
    ) -> None:
        self._task, self._announce, self.watch = task, announce, watch
        self._follow: Callable[[str], None] = getattr(announce, "follow", lambda _: None)
        #: Of a plug-in its process says whether it is a policy, which has a limit of its own.
        self._searches = searches(task.solver, family_of(task.problem))
        self._policy_seconds = policy_seconds
        self._largest = _REPLY_BYTES + _REPLY_FACTOR * size
        self._reply_s = _REPLY_S + size / _BYTES_PER_S
        self._state = "not ready"
        self._due = COMPILING + READY + POLICY  #: marks that may come next
        self._timing = Timing(0.0, 0.0)

    @property
    def getting_ready(self) -> bool:
        """Whether the clock of the solver has not been started."""
        return READY in self._due

    def overdue(self) -> str:
        """Return why the process is to be killed; empty if it is not."""
        if not self.watch.overdue:
            return ""
        reason = ""
        if not self._searches and self._due == DONE:
            option = "--policy-seconds, in a study policy_seconds"
            reason = f", more than the {self._policy_seconds:g} s that a policy has ({option})"
        return f"killed: {self._state} after {self.watch.elapsed:.1f} s{reason}"

    def advanced(self, channel: Channel) -> Outcome | None:
        """Take what has come; return what became of the task, None as long as it is not known."""
        self.watch.look()
        while (message := channel.message(self._largest)) is not None:
            mark, reply = message
            if mark not in self._due:
                raise FormatError("reply", [f"the process sent {mark!r}, {self._due!r} was expected"])
            if mark == COMPILING:
                announce_once(self._announce, line := reply.decode(errors="replace"))
                self._follow(line)
            elif mark in READY + POLICY:
                self._follow("")
                self._state, self._due = "still running", DONE
                self._searches &= mark != POLICY
                limit = self._task.key.seconds if self._searches else self._policy_seconds
                self.watch.begin(limit, 0.1 * limit + GRACE_S, self._task.key.workers)
            elif mark == DONE:
                self._state, self._due = "no reply", REPLY
                self._timing = self.watch.timing()
                self.watch.begin(self._reply_s, GRACE_S)
            else:
                return self._outcome(reply)
        return None

    def _outcome(self, reply: bytes) -> Outcome:
        task, timing = self._task, self._timing
        try:
            runtime, result, error, traceback = decoded_reply(reply, task)
        except FormatError:
            raise
        except Exception as fault:  # noqa: BLE001 - a third party's decoder may raise anything
            return failed_outcome(task, f"{type(fault).__name__}: {fault}", timing.seconds)
        if abs(runtime - timing.seconds) > timing.apart:
            clocks = f"{runtime:.3f} s by the clock of the solver's process, {timing.seconds:.3f} s by ours"
            return failed_outcome(task, f"InvalidAnswer: the clocks disagree: {clocks}", timing.seconds)
        if result is None:
            return failed_outcome(task, error, runtime, traceback)
        return judged_outcome(task, result, runtime)


def _pickled(problem: Problem) -> bytes:
    return pickle.dumps(problem, pickle.HIGHEST_PROTOCOL)
