"""A driver in Python that has malleable jobs: time goes on, and what was decided is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from allocsolve.kernels import kernel
from allocsolve.model.jobs import PackedJobs
from allocsolve.simulation._kernels_events import begin, close_gaps, leave_queue
from allocsolve.simulation._kernels_evolving import answer
from allocsolve.simulation._kernels_resizes import (
    advance_resizing,
    promise,
    resize,
    start_promised,
    take_in,
)
from allocsolve.simulation._kernels_sizes import run_time, time_ratio
from allocsolve.simulation.state import Resizing, State

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray

__all__ = ["ANSWER", "ORDER_COLUMNS", "PROMISE", "RESIZE", "START", "carry_out", "to_next_resizing_event"]

#: Codes of orders. An order is a row of integers: code, job, nodes; of a resize the nodes that are promised
#: to others, of a promise the nodes that come from the free ones; reason and blocked job of a start. An
#: answer has 1 instead of nodes if it grants what a job asked for, else 0.
START: Final = 0
RESIZE: Final = 1
PROMISE: Final = 2
ANSWER: Final = 3
ORDER_COLUMNS: Final = 6


@kernel
def to_next_resizing_event(
    columns: tuple[Any, ...], arrays: tuple[Any, ...], changes: tuple[Any, ...], wake: float, coalesce: bool
) -> bool:
    """Advance and close the gaps in the list of running jobs.

    False if no job waits, runs or is to come, whoever wants to be called. Jobs, state and resizing come as
    plain tuples, which numba takes apart faster than named ones.
    """
    jobs, state, resizing = PackedJobs(*columns), State(*arrays), Resizing(*changes)
    engine = state.engine
    waits = engine.tail > engine.head
    if not (waits or engine.running or engine.arrived < len(state.arrivals)):
        return False
    called = advance_resizing(jobs, state, resizing, wake, coalesce)
    close_gaps(state)
    return called


@kernel
def carry_out(
    columns: tuple[Any, ...], arrays: tuple[Any, ...], changes: tuple[Any, ...], orders: IntArray
) -> None:
    """Do what was decided in one call, in this order; jobs start as soon as their promises can be kept.

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
