"""Where a compiled policy goes on: jobs run, others wait or will be submitted, and time begins now."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import records
from allocsolve.model.arrays import frozen
from allocsolve.simulation.state import initial_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem
    from allocsolve.simulation.state import State


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
