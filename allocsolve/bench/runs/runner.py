"""Runs tasks, here or elsewhere: every answer goes to the judge, every row to disk as soon as it is there.

Elsewhere are processes of this machine, the workers of a Dask cluster, or the ranks of an MPI program.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import itertools
import os
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from allocsolve.bench.runs.execution import Conditions, Outcome, close_all, execute, run_isolated
from allocsolve.bench.runs.store import RecordStore
from allocsolve.bench.scores.catalogue import Catalogue
from allocsolve.errors import AllocsolveError, InvalidOption, SolverUnavailable
from allocsolve.model.result import POLICY_SECONDS
from allocsolve.registry import ready

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.families import AnySolver

#: Called with the number of runs done, their total and what comes next, or what has just been done.
Progress: TypeAlias = Callable[[int, int, str], None]
#: Called, once in a process, when kernels are being compiled for longer than a moment.
Announce: TypeAlias = Callable[[str], None]

#: What a task may hold unless told otherwise, in MB.
MEMORY_MB: Final = 4096.0

#: Tasks that wait at an executor: enough for the workers of a cluster, few enough to be called off.
AHEAD: Final = 512
#: How many times a task is sent out again if its worker has died; then it is left to the next run.
_TRIES: Final = 5
#: How often runners look for what others have done, in seconds.
_MOMENT_S: Final = 0.5


def run(
    tasks: Sequence[Task],
    *,
    store: RecordStore | None = None,
    again: Collection[RecordKey] = (),
    executor: Executor | None = None,
    policy_seconds: float = POLICY_SECONDS,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> list[Record]:
    """Execute the tasks of which the store has no record, and return all records, in the order of the tasks.

    Parameters and errors are those of `run_missing`; without a store nothing is kept.
    """
    store = RecordStore() if store is None else store
    records: dict[int, Record] = {}  # by row: a run that is made again has another one
    for task in tasks:  # a row that is damaged is found out when it is read
        with suppress(KeyError):
            record = store[task.key]
            records[store.row(task.key)] = record
    run_missing(
        tasks,
        store,
        again=again,
        executor=executor,
        policy_seconds=policy_seconds,
        progress=progress,
        announce=announce,
    )
    return [records.get(store.row(task.key)) or store[task.key] for task in tasks]


def run_missing(
    tasks: Sequence[Task],
    store: RecordStore,
    *,
    again: Collection[RecordKey] = (),
    executor: Executor | None = None,
    memory_mb: float = MEMORY_MB,
    policy_seconds: float = POLICY_SECONDS,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> None:
    """Execute the tasks of which the store has no record.

    Several runners may work on one file: each run is made by one of them, and all wait for the last.

    Parameters
    ----------
    tasks
        See `plan`.
    store
        Where finished runs are found and new ones are kept. A failed run is finished.
    again
        Keys of tasks that are run although there is a record; see `allocsolve.bench.runs.tasks.again`.
    executor
        Where the tasks are run, each in a process of its own that is kept for the next one. None runs them
        in this process: less of a detour, but a solver that hangs or crashes takes everything with it.
    memory_mb
        What a task may hold in MB; it is killed if it exceeds that. Needs an executor.
    policy_seconds
        What a registered solver that does not search may take, whatever its budget: policies and most
        heuristics are done when they are done. It is killed if it exceeds that. Needs an executor.
    announce
        Called with a line when kernels are being compiled for long, if the tasks are run on this machine.
    progress
        Told after each run, and at the start.

    Raises
    ------
    InvalidOption
        If there is an executor, and a solver without a registered name.
    AllocsolveError
        If workers have died under a task again and again; all other rows are in the store.
    KeyboardInterrupt
        When the user interrupts. Runs in progress are not recorded; all rows before are in the store.
    """
    store.add_catalogue(Catalogue({task.key.digest: task.suites for task in tasks}))
    todo = {
        task.key: (task, store.attempts(task.key) + 1)
        for task in tasks
        if task.key in again or task.key not in store
    }
    total = len({task.key for task in tasks})

    def tell(what: str) -> None:
        if progress:
            progress(total - len(todo), total, what)

    tell(next(iter(todo.values()))[0].label if todo else "done")
    # Few are taken ahead where a process takes the next one at once: the rest is for other runners.
    ahead = 2 * executor._max_workers if isinstance(executor, ThreadPoolExecutor) else AHEAD  # noqa: SLF001 - there is no other way to ask
    gc.freeze()  # problems may be millions of objects: not to be looked through for every reply that is read
    try:
        while todo:
            runs = outcomes(
                _claimed(todo, store),
                executor=executor,
                memory_mb=memory_mb,
                policy_seconds=policy_seconds,
                ahead=ahead,
                announce=announce,
            )
            for task, outcome in runs:
                _, attempt = todo.pop(task.key)
                record = dataclasses.replace(outcome.record, attempt=attempt)
                store.append(record, task.problem, outcome.answer, outcome.certificate)
                tell(task.label)
            _await_others(todo, store, tell)
    finally:
        gc.unfreeze()
        store.release()


#: A task, and which attempt of it is to be made, by key.
_Todo: TypeAlias = dict["RecordKey", tuple["Task", int]]


def _claimed(todo: _Todo, store: RecordStore) -> Iterator[Task]:
    """Yield the tasks that no other runner makes or has made, and claim them."""
    for key, (task, attempt) in tuple(todo.items()):
        if store.claim(key, attempt):
            yield task


def _await_others(todo: _Todo, store: RecordStore, tell: Callable[[str], None]) -> None:
    """Wait a moment for what other runners have claimed, and cross out what they have done."""
    holders = store.holders((key, attempt) for key, (_, attempt) in todo.items())
    if holders:
        tell(f"waiting for {' and '.join(sorted(holders))}")
        time.sleep(_MOMENT_S)
    store.refresh()
    for key, (task, attempt) in tuple(todo.items()):
        if store.attempts(key) >= attempt:
            del todo[key]
            tell(task.label)


def outcomes(
    tasks: Iterable[Task],
    *,
    executor: Executor | None = None,
    memory_mb: float = MEMORY_MB,
    policy_seconds: float = POLICY_SECONDS,
    ahead: int = AHEAD,
    announce: Announce | None = None,
) -> Iterator[tuple[Task, Outcome]]:
    """Execute tasks and yield what becomes of each, as it is done.

    Options and errors are those of `run_missing`. `ahead` tasks may be under way; with 1, a task is taken
    when what became of the one before was dealt with.
    """
    if executor is None:
        return _here(tasks, announce)
    # Sent by name: a worker has its own copy of this package.
    folder = os.getcwd()  # noqa: PTH109 - a text, as the entries of sys.path are
    conditions = Conditions(memory_mb, folder, uuid.uuid4().hex, policy_seconds)
    return _elsewhere(tasks, executor, conditions, ahead, announce)


def _here(tasks: Iterable[Task], announce: Announce | None) -> Iterator[tuple[Task, Outcome]]:
    solvers: dict[tuple[str, type, str], AnySolver] = {}
    for task in tasks:
        what = task.solver, type(task.problem), task.key.objective
        solver = task.unnamed
        if solver is None:
            solver = solvers[what] = solvers.get(what) or task.make_solver()
        ready(solver, task.problem, announce=announce)
        yield task, execute(task, solver)


def _elsewhere(
    tasks: Iterable[Task], executor: Executor, conditions: Conditions, ahead: int, announce: Announce | None
) -> Iterator[tuple[Task, Outcome]]:
    job = functools.partial(run_isolated, conditions=conditions)
    if isinstance(executor, ThreadPoolExecutor):  # a function of this process cannot be sent to another
        job = functools.partial(job, announce=announce)
    coming = iter(tasks)
    sent = _Sent(executor, job)
    try:
        for task in itertools.islice(coming, ahead):
            sent.send(task)
        while sent.under_way:
            for task, outcome in sent.wait():
                if outcome is not None:
                    yield task, outcome
                for following in itertools.islice(coming, 1):
                    sent.send(following)
    finally:
        sent.call_off()
    if sent.lost:
        msg = f"{len(sent.lost)} tasks could not be run, the same command tries again: {sent.lost[0]}"
        raise AllocsolveError(msg)


class _Sent:
    """The tasks that are under way at an executor."""

    def __init__(self, executor: Executor, job: Callable[[Task], Outcome]) -> None:
        self._executor, self._job = executor, job
        #: With the number of times that each was sent.
        self.under_way: dict[Future[Outcome], tuple[Task, int]] = {}
        #: What happened to tasks whose workers have died again and again.
        self.lost: list[str] = []

    def send(self, task: Task, tries: int = 1) -> None:
        """Send a task."""
        if task.unnamed is not None:
            msg = f"{task.solver} has no registered name by which another process could make it"
            raise InvalidOption(msg)
        self.under_way[self._executor.submit(self._job, task)] = task, tries

    def wait(self) -> Iterator[tuple[Task, Outcome | None]]:
        """Yield the tasks that are done next, with what became of them; None of a lost one."""
        for future in wait(self.under_way, return_when=FIRST_COMPLETED).done:
            task, tries = self.under_way.pop(future)
            outcome = None
            try:
                outcome = future.result()
            except (Exception, CancelledError) as error:  # noqa: BLE001 - however a worker ends, its task becomes a failed row
                if tries < _TRIES:
                    self.send(task, tries + 1)
                    continue
                text = f"{type(error).__name__}: {error}"
                self.lost.append(f"{task.label}: {' '.join(text.split())}")
            yield task, outcome

    def call_off(self) -> None:
        """Stop what nobody waits for any more."""
        for future in self.under_way:
            future.cancel()
        if self.under_way:
            close_all()


@contextmanager
def open_executor(where: str, jobs: int) -> Iterator[Executor]:
    """Open an executor for tasks that are run in cells, and close it at the end.

    Raises `InvalidOption` if there is no such place, nothing answers at the address, or the program was not
    started like that.

    Parameters
    ----------
    where
        ``local``; ``dask:ADDRESS`` of a running scheduler; ``mpi`` in a program that was started by
        ``mpiexec -n N python -m mpi4py.futures -m allocsolve ...``.
    jobs
        Tasks at a time, >= 1; the others have their own numbers of workers.
    """
    check_executor(where)
    if where == "local":
        # Each thread only watches a process of its own.
        executor: Executor = ThreadPoolExecutor(jobs)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            close_all()
    else:
        with _mpi() if where == "mpi" else _dask(where.removeprefix("dask:")) as executor:
            yield executor


def check_executor(where: str) -> None:
    """Raise `InvalidOption` if there is no such place for `open_executor`."""
    if where not in {"local", "mpi"} and not (where.startswith("dask:") and where != "dask:"):
        raise InvalidOption(f"executor {where!r} is not local, dask:ADDRESS or mpi")


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # noqa: PLC0415 - an optional dependency
    except ImportError:
        msg = "--executor dask needs dask.distributed: pip install 'allocsolve[dask]'"
        raise SolverUnavailable(msg) from None
    try:
        client = Client(address, timeout=15)
    except (OSError, ValueError, TimeoutError) as error:
        msg = f"no Dask scheduler answers at {address}: {' '.join(str(error).split())}"
        raise InvalidOption(msg) from None
    with client:
        # Not pure: two tasks are never the same task to us, whatever their arguments hash to.
        executor: Executor = client.get_executor(pure=False)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)


@contextmanager
def _mpi() -> Iterator[Executor]:
    # Else it would start ranks by itself, which few systems allow, and wait for them for ever.
    if "mpi4py.futures" not in sys.orig_argv:
        msg = "--executor mpi goes with: mpiexec -n N python -m mpi4py.futures -m allocsolve ..."
        raise InvalidOption(msg)
    try:
        from mpi4py.futures import MPIPoolExecutor  # noqa: PLC0415 - an optional dependency
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        msg = f"--executor mpi needs mpi4py and an MPI: pip install 'allocsolve[mpi]' ({reason})"
        raise SolverUnavailable(msg) from None
    executor = MPIPoolExecutor()
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
