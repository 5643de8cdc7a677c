"""One call of conservative backfilling on what a view tells, with the reservations of the last call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_conservative import (
    COMPRESS,
    REPLAN,
    Free,
    QueuedJobs,
    Waiting,
    _change,
    _compress,
    _is_late,
    _replan,
    _reserve,
)
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray, IntArray

__all__ = ["conservative_call"]


@kernel
def conservative_call(
    now: float,
    num_free: int,
    ends: FloatArray,
    held: IntArray,
    nodes: IntArray,
    lengths: FloatArray,
    reserved: FloatArray,
    early: bool,
    compression: int,
    starts: BoolArray,
) -> None:
    """Write which jobs of the queue start now, and the reservations of all.

    Running jobs hold `held` nodes until `ends`. Jobs are numbered in queue order: they need `nodes` for
    `lengths` seconds; those that are new have the reservation NaN. `early` says that a job has ended before
    its expected end since the last call.
    """
    count = len(nodes)
    room = 4 * (count + len(held)) + 16
    free = Free(np.zeros(room), np.empty(room, dtype=np.int64), np.zeros(2, dtype=np.int64))
    free.times[0], free.nodes[0], free.range[1] = now, num_free + held.sum(), 1
    for k in range(len(held)):
        _change(free, now, ends[k], -held[k])
    jobs = QueuedJobs(lengths, nodes, lengths, lengths)
    waiting = Waiting(np.empty(count, dtype=np.int64), np.zeros(1, dtype=np.int64), reserved)
    for job in range(count):
        if not np.isnan(reserved[job]):
            _change(free, max(now, reserved[job]), reserved[job] + lengths[job], -nodes[job])
            waiting.jobs[waiting.in_use[0]] = job
            waiting.in_use[0] += 1
    if _is_late(waiting, now) or (early and compression == REPLAN):
        _replan(free, jobs, waiting, now)
    elif early and compression == COMPRESS:
        _compress(free, jobs, waiting)
    for job in range(count):
        if np.isnan(reserved[job]):
            _reserve(free, jobs, waiting, job)
    idle = num_free
    for job in range(count):
        starts[job] = reserved[job] <= now and nodes[job] <= idle
        if starts[job]:
            idle -= nodes[job]
