"""What compiled policies use of the engine: its state, and the kernels that change it.

States are made from a view, too, in which policies then decide; these hold the jobs of the view only.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import numbers, records
from allocsolve.model import PackedJobs, frozen
from allocsolve.simulation._kernels_events import begin, leave_queue
from allocsolve.simulation._kernels_loop import advance, has_room
from allocsolve.simulation._kernels_resizes import (
    answer,
    largest_size,
    largest_start,
    promise,
    resize,
    run_time,
    start_promised,
    take_in,
    take_running,
    time_ratio,
    work_left,
)
from allocsolve.simulation.decisions import Reason, Start
from allocsolve.simulation.state import Resizing, State, initial_resizing, initial_state, roomier
from allocsolve.simulation.view import JobColumns, shown_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem
    from allocsolve.simulation.node_choice import Pieces
    from allocsolve.simulation.view import QueueView

__all__ = ["NOBODY", "Continuation", "Resizing", "Restart", "Started", "State"]
__all__ += ["initial_resizing", "initial_state", "roomier"]
__all__ += [
    "packed_jobs",
    "queue_state",
    "renumbered",
    "resizing_of_view",
    "start_of",
    "state_of_view",
    "waiting_state",
]
__all__ += ["advance", "answer", "begin", "has_room", "leave_queue", "promise", "resize", "start_promised"]
__all__ += ["largest_size", "largest_start", "run_time", "take_in", "take_running", "time_ratio", "work_left"]


class Started(NamedTuple):
    """Jobs that run when a loop of events begins, by (start, job); read-only arrays of shape (running,)."""

    jobs: IntArray
    #: Seconds.
    starts: FloatArray


#: Nobody runs when a whole workload begins.
NOBODY: Final = Started(frozen(np.empty(0, dtype=np.int64)), frozen(np.empty(0)))


class Continuation(NamedTuple):
    """The jobs of a workload at a moment at which some of them run."""

    started: Started
    #: Shape (waiting,): the other jobs, in the order in which they come to the queue.
    waiting: IntArray
    #: Shape (waiting,), seconds: when they come. Who has been submitted comes when the policy is called
    #: first: now, or an instant later if a job has started now.
    arrivals: FloatArray

    @classmethod
    def of(cls, problem: WorkloadProblem, running: IntArray, now: float) -> Continuation:
        """Return where a policy goes on if the jobs `running` started at their submissions. O(n log n)."""
        submit = problem.jobs.packed.submit
        by_start = running[np.lexsort((running, submit[running]))]
        starts = submit[by_start]
        first_call = math.nextafter(now, math.inf) if (starts == now).any() else now
        waits = np.ones(len(submit), dtype=np.bool_)
        waits[running] = False
        waiting = np.flatnonzero(waits)
        waiting = waiting[np.argsort(submit[waiting], kind="stable")]
        arrivals = np.maximum(submit[waiting], first_call)
        return cls(Started(frozen(by_start), frozen(starts)), frozen(waiting), frozen(arrivals))

    def state(self, problem: WorkloadProblem, *, ordered: bool | None) -> State:
        """Return the state in which kernels place the running jobs first; see `initial_state`."""
        packed = problem.jobs.packed
        state = initial_state(problem.num_nodes, self.arrivals, ordered=ordered, num_jobs=len(packed.submit))
        arrivals = records(Entry, len(self.arrivals), frozen=True, time=self.arrivals, item=self.waiting)
        state.job["size"][self.started.jobs] = packed.nodes[self.started.jobs]
        return state._replace(arrivals=arrivals)


class Restart:
    """Lets kernels run again and again from the same state: what they write is put back before each run.

    `written` are arrays and tuples of them, as they are before the first run; read-only arrays are left out.
    Of a state, its first two fields are enough: they say that its lists are empty.
    """

    def __init__(self, *written: Any) -> None:  # noqa: ANN401 - arrays, in tuples or not
        self._kept = [(array, array.copy()) for array in _writable(written)]

    def __call__(self) -> None:
        """Put back what was written."""
        for array, first in self._kept:
            np.copyto(array, first)


def _writable(arrays: tuple[Any, ...]) -> Iterator[NDArray[Any]]:
    for array in arrays:
        if isinstance(array, tuple):
            yield from _writable(array)
        elif isinstance(array, np.void):  # a single record
            yield from _writable((array.base,))
        elif isinstance(array, np.ndarray) and array.flags.writeable:
            yield array


def renumbered(view: QueueView) -> tuple[QueueView, IntArray]:
    """Return a view of only the jobs that wait or run, and the original index of each of them.

    The jobs keep their order. The cost of a decision on this view depends on the number of these jobs, not on
    the length of the workload. The view shows neither jobs that have just completed nor profiles. O(n log n)
    with n such jobs. `UnsupportedProblem` if its nodes are places.
    """
    _check_counted(view)
    listed = np.concatenate((view.queue, view.running, view.promises))
    listed.sort()
    lists = {name: getattr(view, name) for name in ("queue", "running", "promises", "requests")}
    places: dict[str, Any] = {
        name: frozen(listed.searchsorted(jobs)) for name, jobs in lists.items() if len(jobs)
    }
    nothing = view.completed[:0]
    return dataclasses.replace(
        view,
        completed=nothing,
        submitted=nothing,
        resized=nothing,
        profiles={},
        jobs=_columns(view.jobs, listed),
        **places,
    ), listed


def _check_counted(view: QueueView) -> None:
    """Refuse a view of nodes that are places."""
    if view.places is not None:
        raise UnsupportedProblem("the policy counts nodes, and here they are places (node_types)")


def _columns(jobs: JobColumns, listed: IntArray) -> JobColumns:
    """Return the columns of some jobs."""
    taken = {name: frozen(getattr(jobs, name)[listed]) for name in _BY_JOB}
    if not len(jobs.table_nodes):
        return jobs._replace(**taken, table_offsets=jobs.table_offsets[: len(listed) + 1])
    first, last = jobs.table_offsets[listed], jobs.table_offsets[listed + 1]
    offsets = np.zeros(len(listed) + 1, dtype=np.int64)
    np.cumsum(last - first, out=offsets[1:])
    # the old place of each row: as far from the first row of its job as the new place is
    rows = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], last - first)
    return jobs._replace(
        **taken,
        table_offsets=frozen(offsets),
        table_nodes=frozen(jobs.table_nodes[rows]),
        table_seconds=frozen(jobs.table_seconds[rows]),
    )


def packed_jobs(jobs: JobColumns) -> PackedJobs:
    """Return jobs as kernels take them."""
    columns: Any = jobs[: len(PackedJobs._fields)]
    return PackedJobs(*columns)


class QueueState(NamedTuple):
    """What a queue policy decides on: the jobs that wait or run, numbered in their order."""

    jobs: PackedJobs
    #: Before the running jobs were started.
    state: State
    #: Running jobs by (start, job), and their starts in seconds.
    running: IntArray
    starts: FloatArray
    #: The original index of each job.
    listed: IntArray


def queue_state(view: QueueView) -> QueueState:
    """Return what a view shows to a policy that changes no sizes. O(n log n) with n jobs that wait or run.

    The kernels of these policies need about half of the columns that `renumbered` gathers.
    """
    columns = view.jobs
    listed = np.concatenate((view.queue, view.running))
    listed.sort()
    places: Any = listed.searchsorted
    starts = columns.start[view.running]
    by_start = np.lexsort((view.running, starts))
    running = places(view.running)
    state = _state(view, len(listed), places(view.queue), running, starts, resizable=False)
    return QueueState(_packed(columns, listed), state, running[by_start], starts[by_start], listed)


def waiting_state(view: QueueView) -> State:
    """Return the state of the engine with those jobs only that wait, numbered by their places in the queue.

    For policies that plan with the nodes that are free over time. O(queue). `UnsupportedProblem` if nodes are
    places.
    """
    _check_counted(view)
    count = len(view.queue)
    state = initial_state(view.num_nodes, _NO_ARRIVALS, ordered=None, num_jobs=count)
    engine = state.engine
    engine["clock"], engine["tail"], engine["free"] = view.now, count, view.free
    state.queue[:] = np.arange(count)
    return state


def _packed(columns: JobColumns, listed: IntArray) -> PackedJobs:
    """Return some jobs as kernels take them."""
    if len(columns.table_nodes):
        return packed_jobs(_columns(columns, listed))
    jobs = packed_jobs(columns)
    taken: Any = [frozen(column[listed]) for column in (*jobs[: _TABLES.start], *jobs[_TABLES.stop :])]
    taken[_TABLES.start : _TABLES.start] = jobs.table_offsets[: len(listed) + 1], *jobs[_TABLES][1:]
    return PackedJobs(*taken)


def state_of_view(view: QueueView, *, resizable: bool) -> State:
    """Return the state of the engine that a view shows, before its running jobs were started.

    O(all jobs of the view, with those that neither wait nor run); `renumbered` leaves these out.
    `UnsupportedProblem` if nodes are places.
    """
    _check_counted(view)
    running = view.running
    return _state(
        view, len(view.jobs.submit), view.queue, running, view.jobs.start[running], resizable=resizable
    )


def _state(
    view: QueueView, num_jobs: int, queue: IntArray, running: IntArray, starts: FloatArray, *, resizable: bool
) -> State:
    """Return the state of the engine that a view shows, in other numbers of its jobs."""
    state = initial_state(view.num_nodes, _NO_ARRIVALS, ordered=True, resizable=resizable, num_jobs=num_jobs)
    engine = state.engine
    engine["clock"], engine["tail"] = view.now, len(queue)
    engine["free"] = view.free + int(view.held.sum())
    state.queue[: len(queue)] = queue
    state.job["size"][running] = view.held
    state.job["start"][running] = starts
    return state


def resizing_of_view(view: QueueView) -> Resizing:
    """Return the state of changes that a view shows, before its running jobs were started."""
    jobs, promises, requests = view.jobs, view.promises, view.requests
    resizing = initial_resizing(jobs.estimate, shown_plan(jobs), changes_per_job=1)
    resizing.ledger["requests"], resizing.requests[: len(requests)] = len(requests), requests
    resizing.job["request"][requests] = view.requested_nodes
    resizing.job["target"][view.running] = view.targets
    resizing.ledger["pool"], resizing.ledger["last_promise"] = view.pool, len(promises)
    resizing.promises[: len(promises)] = promises
    resizing.job["promise"][promises] = view.promised_nodes
    return resizing


def start_of(
    state: State, job: int, listed: IntArray, nodes: int | None = None, pieces: Pieces | None = None
) -> Start:
    """Return the decision to start a job that a kernel started in a renumbered view.

    `job` is its number in the view, and `listed` the original index of each of its jobs, see `renumbered`. It
    starts on `nodes`; on those that it holds now, after the kernel, if left out. Where nodes are places,
    `pieces` says where the jobs of the view are.
    """
    row = numbers(state.job[job])
    blocked = None if row.blocked < 0 else int(listed[row.blocked])
    size, places = row.size if nodes is None else nodes, None if pieces is None else pieces.pairs(job)
    return Start(int(listed[job]), size, Reason(row.reason), blocked, places)


#: Columns with one number per job: all but the tables of speedup.
_BY_JOB: Final = tuple(name for name in JobColumns._fields if not name.startswith("table_"))

#: The places of the tables of speedup among the columns of `PackedJobs`.
_TABLES: Final = slice(PackedJobs._fields.index("table_offsets"), PackedJobs._fields.index("kind"))

_NO_ARRIVALS: Final = frozen(np.empty(0))
