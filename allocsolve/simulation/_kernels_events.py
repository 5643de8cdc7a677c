"""Events of the engine: jobs are submitted, start and end, and the running ones are kept in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import BY_ITEM, lower, raise_up

if TYPE_CHECKING:
    from allocsolve.kernels.records import Records
    from allocsolve.simulation.state import Held, State

#: The list of running jobs is made dense when it has this many more gaps than jobs, so that the cost of
#: moving the jobs is spread over many completions.
_GAPS: Final = 64


@inner_kernel
def _push_end(state: State, time: float, job: int) -> None:
    """Put a running job on the heap of ends. O(log running)."""
    raise_up(state.ends, state.end_places, BY_ITEM, state.engine.running, time, job)
    state.engine.running += 1


@inner_kernel
def _pop_end(state: State) -> int:
    """Take the running job that ends first off the heap. O(log running)."""
    first = state.ends[0].item
    state.engine.running -= 1
    count = state.engine.running
    lower(state.ends, state.end_places, BY_ITEM, count, 0, state.ends[count].time, state.ends[count].item)
    return first


@inner_kernel
def _after(held: Records[Held], low: int, high: int, key: float) -> int:
    """Return the first place from `low` to `high`, where keys are sorted, whose key is larger than `key`."""
    while low < high:
        middle = (low + high) >> 1
        if held[middle].key <= key:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def _close_up(state: State, dense: int) -> None:
    """Move the running jobs together, so that their list starts at `dense`. O(running jobs and gaps)."""
    engine, held = state.engine, state.held
    first, last = engine.first, engine.last
    engine.first = dense
    for at in range(first, last):
        if held[at].job >= 0:
            held[dense] = held[at]
            dense += 1
    engine.last = dense


@inner_kernel
def close_gaps(state: State) -> None:
    """Remove the gaps from the list of running jobs without moving its start."""
    _close_up(state, state.engine.first)


@inner_kernel
def put_in_order(state: State, held: Records[Held] | None, job: int, nodes: int, key: float) -> None:
    """Insert a running job by its key, if the list `state.held` is kept.

    The jobs between its place and the nearest gap move by one place.
    """
    engine = state.engine
    if held is None or not engine.ordered:
        return
    if engine.last == len(held):
        _close_up(state, 0)
    first, last = engine.first, engine.last
    place = _after(held, first, last, key)
    left, right = place - 1, place
    while True:
        if right == last or held[right].job < 0:
            engine.last = max(last, right + 1)
            for at in range(right, place, -1):
                held[at] = held[at - 1]
            break
        right += 1
        if left >= 0:
            if left < first or held[left].job < 0:
                engine.first = min(first, left)
                place -= 1
                for at in range(left, place):
                    held[at] = held[at + 1]
                break
            left -= 1
    held[place].key, held[place].job, held[place].nodes = key, job, nodes


@inner_kernel
def take_out_of_order(state: State, held: Records[Held] | None, job: int) -> None:
    """Remove a running job from the list, if it is kept, and leave a gap. O(log running) on average."""
    engine = state.engine
    if held is None or not engine.ordered:
        return
    first, last = engine.first, engine.last
    at = _after(held, first, last, state.job[job].key) - 1
    while held[at].job != job:
        at -= 1
    held[at].job, held[at].nodes = -1, 0
    while first < last and held[first].job < 0:
        first += 1
    while first < last and held[last - 1].job < 0:
        last -= 1
    engine.first, engine.last = first, last
    if last - first > 2 * engine.running + _GAPS:
        close_gaps(state)


@inner_kernel
def begin(
    state: State, job: int, nodes: int, run_time: float, estimate: float, key: float, why: int, blocked: int
) -> None:
    """Start a job now; the caller takes it out of the queue.

    The job runs for `run_time` seconds and is expected to run for `estimate` seconds; `key` is its place in
    the order of the running jobs.
    """
    engine, row = state.engine, state.job[job]
    now = engine.clock
    end = now + run_time
    put_in_order(state, state.held, job, nodes, key)
    _push_end(state, end, job)
    engine.free -= nodes
    row.start, row.end, row.expected, row.key = now, end, now + estimate, key
    row.size, row.reason, row.blocked = nodes, why, blocked
    state.started[engine.started] = job
    engine.started += 1


@inner_kernel
def complete(state: State) -> int:
    """Complete the job that ends first: its nodes become free. Return the job."""
    engine = state.engine
    job = _pop_end(state)
    engine.free += state.job[job].size
    take_out_of_order(state, state.held, job)
    return job


@inner_kernel
def next_event(state: State, wake: float) -> float:
    """Return the next instant at which a job ends or is submitted, at most `wake`; infinite for never."""
    engine = state.engine
    now = wake
    if engine.running and state.ends[0].time < now:
        now = state.ends[0].time
    if engine.arrived < len(state.arrivals) and state.arrivals[engine.arrived].time < now:
        now = state.arrivals[engine.arrived].time
    return float(now)


@inner_kernel
def submit_now(state: State, limit: int) -> None:
    """Put at most `limit` jobs that are submitted now into the queue; list them after the completed ones."""
    engine, count, submitted = state.engine, len(state.arrivals), 0
    while submitted < limit and engine.arrived < count:
        if state.arrivals[engine.arrived].time != engine.clock:
            break
        job = state.arrivals[engine.arrived].item
        state.queue[engine.tail] = job
        state.events[engine.completed + submitted] = job
        submitted += 1
        engine.arrived += 1
        engine.tail += 1
    engine.submitted = submitted


@inner_kernel
def leave_queue(state: State, at: int) -> None:
    """Take the job at the place `at` out of the queue: the jobs before it move back by one place."""
    head = state.engine.head
    while at > head:
        state.queue[at] = state.queue[at - 1]
        at -= 1
    state.engine.head += 1
