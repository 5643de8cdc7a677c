"""The event loop: time goes on to the next event. It contains no policy.

Beside it are the kernels that a driver in Python calls, which advances and carries out decisions by them.

Events at one instant are handled in a fixed order: completions, events within running jobs, submissions; each
by job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model.packed_jobs import PackedJobs
from allocsolve.simulation._kernels_events import (
    begin,
    close_gaps,
    complete,
    leave_queue,
    next_event,
    submit_now,
)
from allocsolve.simulation._kernels_resizes import (
    answer,
    complete_elastic,
    happen,
    promise,
    resize,
    run_time,
    start_promised,
    take_in,
    time_ratio,
)
from allocsolve.simulation.state import Resizing, State

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray


@inner_kernel
def advance(
    state: State,
    wake: float,
    coalesce: bool,
    jobs: PackedJobs | None = None,
    resizing: Resizing | None = None,
) -> bool:
    """Go on to the next event, or to all events of the next instant; False if there is none.

    `wake` is the instant at which the policy asked to be called, infinite for never.

    `jobs` and `resizing` are given if jobs may change their sizes: their branches are not compiled otherwise.
    Then jobs with promised nodes start after all events, and an instant is skipped if no job ends, is
    submitted, asks for nodes or changes its size at it. The log must have room, see `has_room`.
    """
    engine, count = state.engine, len(state.arrivals)
    completed = resized = 0
    noticed = False
    while not noticed:
        now = next_event(state, wake)
        if resizing is not None and resizing.ledger.waiting and resizing.points[0].time < now:
            now = resizing.points[0].time
        if now == np.inf:
            return False
        engine.clock = now
        happened = 0
        while engine.running and state.ends[0].time == now and (coalesce or not completed):
            if jobs is None or resizing is None:
                state.events[completed] = complete(state)
            else:
                state.events[completed] = complete_elastic(jobs, state, resizing)
            completed += 1
        engine.completed = completed
        noticed = completed > 0 or now == wake
        if jobs is not None and resizing is not None:
            while (
                resizing.ledger.waiting
                and resizing.points[0].time == now
                and (coalesce or not completed + happened)
            ):
                job = resizing.points[0].item
                before = state.job[job].size
                asks = happen(jobs, state, resizing, job)
                happened += 1
                changes = state.job[job].size != before
                noticed = noticed or asks or changes
                # Several events of one job may happen now, one after the other.
                if changes and (resized == 0 or resizing.resized[resized - 1] != job):
                    resizing.resized[resized] = job
                    resized += 1
            resizing.ledger.resized = resized
        submit_now(state, count if coalesce else 1 - completed - happened)
        noticed = noticed or engine.submitted > 0
    if jobs is not None and resizing is not None:
        resizing.ledger.calls += 1
        if resizing.ledger.first_promise < resizing.ledger.last_promise:
            start_promised(jobs, state, resizing)
    return True


@inner_kernel
def has_room(state: State, resizing: Resizing) -> bool:
    """Return whether the log has room for the changes of an advance.

    At the instant reached, each running job may log two changes: its stall ends and it changes again. At the
    instants skipped before it, each may log one more as it begins to stall, besides the steps of profiles
    that keep their number of nodes.
    """
    needed = resizing.ledger.logged + 3 * state.engine.running + len(resizing.rows)
    return bool(needed <= len(resizing.log))


@kernel
def to_next_event(arrays: tuple[Any, ...], wake: float, coalesce: bool) -> bool:
    """Advance, for a driver in Python, and close the gaps in the list of running jobs.

    False if no job waits, runs or is still to be submitted, even if a policy asked to be called. The state is
    passed as a plain tuple, here and in the other entry kernels: unpacking it is most of the cost of a call
    from Python, and numba unpacks a plain tuple in half the time of a named one.
    """
    state = State(*arrays)
    called = _is_left(state) and advance(state, wake, coalesce)
    close_gaps(state)
    return called


@kernel
def to_next_resizing_event(
    columns: tuple[Any, ...], arrays: tuple[Any, ...], changes: tuple[Any, ...], wake: float, coalesce: bool
) -> bool:
    """Advance as `to_next_event` does, where jobs change their sizes."""
    jobs, state, resizing = PackedJobs(*columns), State(*arrays), Resizing(*changes)
    called = _is_left(state) and advance(state, wake, coalesce, jobs, resizing)
    close_gaps(state)
    return called


@inner_kernel
def _is_left(state: State) -> bool:
    """Return whether a job waits, runs or is still to be submitted."""
    engine = state.engine
    waits = engine.tail > engine.head
    return bool(waits or engine.running or engine.arrived < len(state.arrivals))


@kernel
def start_job(
    arrays: tuple[Any, ...], job: int, nodes: int, run_time: float, estimate: float, why: int, blocked: int
) -> None:
    """Take a job out of the queue and start it, for a driver in Python. O(queued and running jobs)."""
    state = State(*arrays)
    at = state.engine.head
    while state.queue[at] != job:
        at += 1
    leave_queue(state, at)
    begin(state, job, nodes, run_time, estimate, state.engine.clock + estimate, why, blocked)


#: Codes of orders. An order is a row of six integers: code; job; nodes; the nodes promised to others (of a
#: resize) or taken from the free ones (of a promise); the reason and the blocked job (of a start). In the
#: place of nodes, an answer has 1 if it grants the request of the job, else 0.
START: Final = 0
RESIZE: Final = 1
PROMISE: Final = 2
ANSWER: Final = 3


@kernel
def carry_out(
    columns: tuple[Any, ...], arrays: tuple[Any, ...], changes: tuple[Any, ...], orders: IntArray
) -> None:
    """Carry out the decisions of one call in their order; jobs start as soon as their promises can be met.

    O(queued and running jobs) for each order.
    """
    jobs, state, resizing = PackedJobs(*columns), State(*arrays), Resizing(*changes)
    for row in range(len(orders)):
        code, job, nodes, part = orders[row, 0], orders[row, 1], orders[row, 2], orders[row, 3]
        if code == RESIZE:
            resize(jobs, state, resizing, job, nodes, part)
            continue
        if code == ANSWER:
            answer(jobs, state, resizing, job, nodes == 1)
            continue
        at = state.engine.head
        while state.queue[at] != job:
            at += 1
        leave_queue(state, at)
        if code == PROMISE:
            promise(state, resizing, job, nodes, part)
            start_promised(jobs, state, resizing)
        else:
            estimate = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
            key = state.engine.clock + estimate
            seconds = run_time(jobs, job, nodes)
            begin(state, job, nodes, seconds, estimate, key, orders[row, 4], orders[row, 5])
            take_in(jobs, state, resizing)
