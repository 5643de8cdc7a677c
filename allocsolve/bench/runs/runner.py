"""Runs tasks: every answer goes to the judge, every row to disk as soon as it is there."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from allocsolve.bench.runs.cell import close_all, run_isolated
from allocsolve.bench.runs.store import RecordStore
from allocsolve.bench.runs.tasks import Done, Task, execute
from allocsolve.errors import AllocsolveError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.bench.runs.records import Record

__all__ = ["MEMORY_MB", "Progress", "complete", "run"]

#: Called with the number of runs done, their total and what comes next, or what has just been done.
Progress: TypeAlias = Callable[[int, int, str], None]

#: What a task may hold unless told otherwise, in MB.
MEMORY_MB: Final = 4096.0

#: Tasks that wait at an executor: enough for the workers of a cluster, few enough to be called off.
_AHEAD: Final = 512
#: How often a task is sent out again whose worker has died; then it is left for the next time.
_TRIES: Final = 5


def run(
    tasks: Sequence[Task],
    *,
    store: RecordStore | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Record]:
    """Execute the tasks of which the store has no row, and return all rows, in the order of the tasks.

    Parameters and errors are those of `complete`; without a store nothing is kept.
    """
    store = RecordStore() if store is None else store
    complete(tasks, store, executor=executor, progress=progress)
    return [store[task.key] for task in tasks]


def complete(
    tasks: Sequence[Task],
    store: RecordStore,
    *,
    executor: Executor | None = None,
    memory_mb: float = MEMORY_MB,
    progress: Progress | None = None,
) -> None:
    """Execute the tasks of which the store has no row.

    Parameters
    ----------
    tasks
        See `plan`.
    store
        Where finished rows are found and new ones are kept. A failed row is finished.
    executor
        Where the tasks are run, each in a process of its own that is kept for the next one. None runs them
        in this process: less of a detour, but a solver that hangs or crashes takes everything with it.
    memory_mb
        What a task may hold in MB; it is killed if it exceeds that. Needs an executor.
    progress
        Told after each run, and at the start.

    Raises
    ------
    AllocsolveError
        If workers have died under a task again and again; all other rows are in the store.
    KeyboardInterrupt
        When the user interrupts. Runs in progress are not recorded; all rows before are in the store.
    """
    todo = [task for task in tasks if task.key not in store]
    done = len(tasks) - len(todo)
    if progress:
        progress(done, len(tasks), todo[0].label if todo else "done")
    outcomes = _here(todo) if executor is None else _elsewhere(todo, executor, memory_mb)
    for task, (record, answer) in outcomes:
        store.append(record, task.problem, answer)
        done += 1
        if progress:
            progress(done, len(tasks), task.label)


def _here(tasks: Sequence[Task]) -> Iterator[tuple[Task, Done]]:
    for task in tasks:
        yield task, execute(task)


def _elsewhere(tasks: Sequence[Task], executor: Executor, memory_mb: float) -> Iterator[tuple[Task, Done]]:
    """Yield what was done, as it is done; a few hundred tasks are under way at a time."""
    # Sent by name: a worker has its own copy of this package.
    job = functools.partial(run_isolated, memory_mb=memory_mb, folder=os.getcwd())  # noqa: PTH109 - as sys.path has it
    coming = iter(tasks)
    under_way: dict[Future[Any], tuple[Task, int]] = {}
    lost: list[str] = []

    def send(task: Task, tries: int) -> None:
        under_way[executor.submit(job, task)] = task, tries

    try:
        for task in coming:
            send(task, 1)
            if len(under_way) >= _AHEAD:
                break
        while under_way:
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                task, tries = under_way.pop(future)
                try:
                    outcome = future.result()
                except (Exception, CancelledError) as error:  # noqa: BLE001 - the worker's end, not the solver's
                    if tries < _TRIES:
                        send(task, tries + 1)
                    else:
                        lost.append(f"{task.label}: {' '.join(f'{type(error).__name__}: {error}'.split())}")
                    continue
                yield task, outcome
                if (following := next(coming, None)) is not None:
                    send(following, 1)
    finally:
        for future in under_way:
            future.cancel()
        close_all()
    if lost:
        msg = f"{len(lost)} tasks could not be run, the same command tries again: {lost[0]}"
        raise AllocsolveError(msg)
