"""The event loop: time goes on to the next event, jobs start; no policy in it.

Events at one instant come in one order: completions (by job), then submissions (by job).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model.arrays import frozen
from allocsolve.simulation._kernels_heap import lower, raise_up

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray

__all__ = [
    "ARRIVED",
    "COMPLETED",
    "FIRST",
    "FREE",
    "HEAD",
    "LAST",
    "ORDERED",
    "RUNNING",
    "STARTED",
    "SUBMITTED",
    "TAIL",
    "State",
    "advance",
    "begin",
    "close_gaps",
    "complete",
    "initial_state",
    "leave_queue",
    "next_event",
    "put_in_order",
    "submit_now",
    "take_out_of_order",
    "to_next_event",
]

#: Places in `State.counts`: free nodes; jobs that have been submitted; the queue is ``queue[head:tail]``;
#: running jobs; jobs that completed and that were submitted in the last advance; jobs that have started;
#: whether running jobs are also held in the order of their keys, and between which places then.
FREE: Final = 0
ARRIVED: Final = 1
HEAD: Final = 2
TAIL: Final = 3
RUNNING: Final = 4
COMPLETED: Final = 5
SUBMITTED: Final = 6
STARTED: Final = 7
ORDERED: Final = 8
FIRST: Final = 9
LAST: Final = 10

#: The list of running jobs is made dense when it has more gaps than jobs and so many.
_GAPS: Final = 64


class State(NamedTuple):
    """Everything that changes while a workload runs.

    Shape (jobs,) but for the first two. What is known of single jobs is by job; the others are lists.
    """

    #: Shape (1,): now, in seconds.
    clock: FloatArray
    #: Shape (11,), see `FREE` and the constants after it.
    counts: IntArray
    #: Jobs in the order of their submission, and when they are submitted.
    arrivals: IntArray
    arrival_times: FloatArray
    #: Submitted jobs that wait, from ``HEAD`` to ``TAIL``.
    queue: IntArray
    #: Heap of running jobs by (end, job): what comes next.
    end_times: FloatArray
    end_jobs: IntArray
    #: Where each running job is on that heap; empty if no job changes its end.
    end_places: IntArray
    #: Running jobs by (key, start), the key being when a policy expects them to end, and their nodes: from
    #: ``FIRST`` to ``LAST``, with gaps where jobs have ended: job -1, no nodes.
    ordered_keys: FloatArray
    ordered_jobs: IntArray
    ordered_nodes: IntArray
    #: Jobs that completed in the last advance, then jobs that were submitted in it.
    events: IntArray
    #: Jobs in the order in which they started.
    started: IntArray
    #: By job, NaN before it starts, in seconds.
    start: FloatArray
    end: FloatArray
    #: When it is expected to end, and its key among the running jobs.
    expected: FloatArray
    key: FloatArray
    #: By job: the nodes that it holds.
    size: IntArray
    #: By job: the code of the reason why it started, and the job that it was started before, or -1.
    reason: IntArray
    blocked: IntArray


def initial_state(
    num_nodes: int,
    submit: FloatArray,
    *,
    ordered: bool,
    resizable: bool = False,
    num_jobs: int | None = None,
) -> State:
    """Return the state before the first event.

    Parameters
    ----------
    num_nodes
        Nodes of the cluster.
    submit
        Of the jobs that are to come, seconds.
    num_jobs
        Jobs that there is room for; those that are to come if left out.
    ordered
        Whether running jobs are held in the order of their keys, which costs O(running jobs) a start.
    resizable
        Whether running jobs may change their sizes, and so their ends.
    """
    count = len(submit) if num_jobs is None else num_jobs
    arrivals = np.argsort(submit, kind="stable")
    arrival_times = submit[arrivals]
    arrival_times.setflags(write=False)
    counts = np.zeros(11, dtype=np.int64)
    counts[FREE], counts[ORDERED] = num_nodes, ordered
    return State(
        clock=np.zeros(1),
        counts=counts,
        arrivals=frozen(arrivals),
        arrival_times=arrival_times,
        queue=np.empty(count, dtype=np.int64),
        end_times=np.empty(count),
        end_jobs=np.empty(count, dtype=np.int64),
        end_places=np.empty(count if resizable else 0, dtype=np.int64),
        ordered_keys=np.empty(count),
        ordered_jobs=np.empty(count, dtype=np.int64),
        ordered_nodes=np.empty(count, dtype=np.int64),
        events=np.empty(count, dtype=np.int64),
        started=np.empty(count, dtype=np.int64),
        start=np.full(count, np.nan),
        end=np.full(count, np.nan),
        expected=np.full(count, np.nan),
        key=np.empty(count),
        size=np.zeros(count, dtype=np.int64),
        reason=np.zeros(count, dtype=np.int64),
        blocked=np.full(count, -1, dtype=np.int64),
    )


@inner_kernel
def _push_end(state: State, time: float, job: int) -> None:
    """Put a running job on the heap of ends. O(log running)."""
    raise_up(state.end_times, state.end_jobs, state.end_places, state.counts[RUNNING], time, job)
    state.counts[RUNNING] += 1


@inner_kernel
def _pop_end(state: State) -> int:
    """Take the running job that ends first off the heap. O(log running)."""
    times, jobs = state.end_times, state.end_jobs
    first = jobs[0]
    state.counts[RUNNING] -= 1
    count = state.counts[RUNNING]
    lower(times, jobs, state.end_places, count, 0, times[count], jobs[count])
    return int(first)


@inner_kernel
def _after(keys: FloatArray, low: int, high: int, key: float) -> int:
    """Return the first of the places from `low` to `high`, whose keys are sorted, with a larger key."""
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def _move(state: State, source: int, target: int) -> None:
    """Move a running job in the order of keys."""
    state.ordered_keys[target] = state.ordered_keys[source]
    state.ordered_jobs[target] = state.ordered_jobs[source]
    state.ordered_nodes[target] = state.ordered_nodes[source]


@inner_kernel
def _close_up(state: State, dense: int) -> None:
    """Make the list of running jobs dense, from this place on. O(running jobs and gaps)."""
    first, last = state.counts[FIRST], state.counts[LAST]
    state.counts[FIRST] = dense
    for at in range(first, last):
        if state.ordered_jobs[at] >= 0:
            _move(state, at, dense)
            dense += 1
    state.counts[LAST] = dense


@inner_kernel
def close_gaps(state: State) -> None:
    """Make the list of running jobs dense where it is."""
    _close_up(state, state.counts[FIRST])


@inner_kernel
def put_in_order(state: State, job: int, nodes: int, key: float) -> None:
    """Put a running job where its key belongs: those between there and the nearest gap move."""
    counts, jobs = state.counts, state.ordered_jobs
    if counts[LAST] == len(jobs):
        _close_up(state, 0)
    first, last = counts[FIRST], counts[LAST]
    place = _after(state.ordered_keys, first, last, key)
    left, right = place - 1, place
    while True:
        if right == last or jobs[right] < 0:
            counts[LAST] = max(last, right + 1)
            for at in range(right, place, -1):
                _move(state, at - 1, at)
            break
        right += 1
        if left >= 0:
            if left < first or jobs[left] < 0:
                counts[FIRST] = min(first, left)
                place -= 1
                for at in range(left, place):
                    _move(state, at + 1, at)
                break
            left -= 1
    state.ordered_keys[place], jobs[place], state.ordered_nodes[place] = key, job, nodes


@inner_kernel
def take_out_of_order(state: State, job: int) -> None:
    """Leave a gap where a running job was. O(log running) on average."""
    counts, jobs = state.counts, state.ordered_jobs
    first, last = counts[FIRST], counts[LAST]
    at = _after(state.ordered_keys, first, last, state.key[job]) - 1
    while jobs[at] != job:
        at -= 1
    jobs[at], state.ordered_nodes[at] = -1, 0
    while first < last and jobs[first] < 0:
        first += 1
    while first < last and jobs[last - 1] < 0:
        last -= 1
    counts[FIRST], counts[LAST] = first, last
    if last - first > 2 * counts[RUNNING] + _GAPS:
        close_gaps(state)


@inner_kernel
def begin(
    state: State, job: int, nodes: int, run_time: float, estimate: float, key: float, why: int, blocked: int
) -> None:
    """Start a job now; whoever calls takes it out of the queue.

    It runs for `run_time`, is expected to run for `estimate` (seconds), and stands at `key` among the running
    jobs.
    """
    now, counts = state.clock[0], state.counts
    end = now + run_time
    if counts[ORDERED]:
        put_in_order(state, job, nodes, key)
    _push_end(state, end, job)
    counts[FREE] -= nodes
    state.start[job] = now
    state.end[job] = end
    state.expected[job] = now + estimate
    state.key[job] = key
    state.size[job] = nodes
    state.reason[job] = why
    state.blocked[job] = blocked
    state.started[counts[STARTED]] = job
    counts[STARTED] += 1


@inner_kernel
def complete(state: State) -> int:
    """Take the job that ends first off the nodes."""
    counts = state.counts
    job = _pop_end(state)
    counts[FREE] += state.size[job]
    if counts[ORDERED]:
        take_out_of_order(state, job)
    return job


@inner_kernel
def next_event(state: State, wake: float) -> float:
    """Return when the next job ends or is submitted, or somebody wants to be called; infinite for never."""
    counts = state.counts
    now = wake
    if counts[RUNNING] and state.end_times[0] < now:
        now = state.end_times[0]
    if counts[ARRIVED] < len(state.arrivals) and state.arrival_times[counts[ARRIVED]] < now:
        now = state.arrival_times[counts[ARRIVED]]
    return float(now)


@inner_kernel
def submit_now(state: State, most: int) -> None:
    """Put jobs that are submitted now into the queue, at most so many, and note them after those that end."""
    counts, count, submitted = state.counts, len(state.arrivals), 0
    while submitted < most and counts[ARRIVED] < count:
        if state.arrival_times[counts[ARRIVED]] != state.clock[0]:
            break
        job = state.arrivals[counts[ARRIVED]]
        state.queue[counts[TAIL]] = job
        state.events[counts[COMPLETED] + submitted] = job
        submitted += 1
        counts[ARRIVED] += 1
        counts[TAIL] += 1
    counts[SUBMITTED] = submitted


@inner_kernel
def advance(state: State, wake: float, coalesce: bool) -> bool:
    """Go on to the next event, or to all events of the next instant; False if there is none.

    `wake` is when somebody wants to be called, infinite for never.
    """
    counts, count = state.counts, len(state.arrivals)
    now = next_event(state, wake)
    if now == np.inf:
        return False
    state.clock[0] = now
    completed = 0
    while counts[RUNNING] and state.end_times[0] == now and (coalesce or not completed):
        state.events[completed] = complete(state)
        completed += 1
    counts[COMPLETED] = completed
    submit_now(state, count if coalesce else 1 - completed)
    return True


@inner_kernel
def leave_queue(state: State, at: int) -> None:
    """Take the job at this place out of the queue: those before it move up."""
    head = state.counts[HEAD]
    while at > head:
        state.queue[at] = state.queue[at - 1]
        at -= 1
    state.counts[HEAD] += 1


@kernel
def to_next_event(arrays: tuple[Any, ...], wake: float, coalesce: bool) -> bool:
    """Advance, for a driver in Python, and close the gaps in the list of running jobs.

    False if no job waits, runs or is to come, whoever wants to be called. The state comes as a plain tuple,
    here and in `start_job`: numba takes it apart in half the time of a named one, most of a call from Python.
    """
    state = State(*arrays)
    counts = state.counts
    waits = counts[TAIL] > counts[HEAD]
    if not (waits or counts[RUNNING] or counts[ARRIVED] < len(state.arrivals)):
        return False
    called = advance(state, wake, coalesce)
    close_gaps(state)
    return called


@kernel
def start_job(
    arrays: tuple[Any, ...], job: int, nodes: int, run_time: float, estimate: float, why: int, blocked: int
) -> None:
    """Take a job out of the queue and start it, for a driver in Python. O(queued and running jobs)."""
    state = State(*arrays)
    at = state.counts[HEAD]
    while state.queue[at] != job:
        at += 1
    leave_queue(state, at)
    begin(state, job, nodes, run_time, estimate, state.clock[0] + estimate, why, blocked)
