"""Who starts now, on bare columns: the rules of the queue policies for programs with a state of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.heuristics.workload._kernels_queue import (
    RESERVING,
    SLURM,
    Blocked,
    Estimates,
    one_pass,
    score_of,
)
from allocsolve.heuristics.workload._kernels_reservations import reserving_pass
from allocsolve.heuristics.workload._kernels_slurm import slurm_pass
from allocsolve.kernels import kernel
from allocsolve.model.packed_jobs import PackedJobs

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import QueueRule
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray
    from allocsolve.simulation.kernels import State

#: A kind of `QueueRule` beside those of the policies: nobody starts, jobs get their scores.
SCORES: Final = -1
#: What `starts_now` returns for columns that are none of a queue.
REFUSED: Final = -1


class Room(NamedTuple):
    """What a call works in, with room for its jobs; made once, and used again and again."""

    state: State
    free: FreeNodes
    #: Shape (jobs,) at least: the scores of jobs, written; what rigid jobs are like, all zeros and all ones.
    scores: FloatArray
    zeros: IntArray
    ones: IntArray


@kernel
def starts_now(
    now: float,
    free: int,
    nodes: IntArray,
    limits: FloatArray,
    submits: FloatArray,
    running_nodes: IntArray,
    running_ends: FloatArray,
    by_end: IntArray,
    rule: QueueRule,
    room: Room,
) -> int:
    """Return how many jobs start, the first of ``room.state.started``, by their places in the queue.

    `by_end` are the running jobs by their expected ends. `REFUSED` if a column has what cannot be.
    """
    state, engine, zeros, most = room.state, room.state.engine, room.zeros, free
    for at in range(len(by_end)):
        held, end = running_nodes[by_end[at]], running_ends[by_end[at]]
        most += held
        if not (held >= 0 and end >= end):  # noqa: PLR0124 - not of NaN
            return REFUSED
        state.held[at].key, state.held[at].job, state.held[at].nodes = end, 0, held
    for job in range(len(nodes)):
        if not (1 <= nodes[job] <= most and limits[job] > 0):
            return REFUSED
        state.queue[job] = job
    if free < 0:
        return REFUSED
    rest = zeros, limits, zeros, zeros, limits, zeros, zeros, room.ones
    jobs = PackedJobs(submits, nodes, nodes, nodes, limits, limits, limits, *rest)
    estimates = Estimates(limits, limits, limits, room.scores, zeros, limits)
    engine.clock, engine.free, engine.ordered = now, free, 1
    engine.first, engine.last, engine.head, engine.tail = 0, len(by_end), 0, len(nodes)
    engine.running = engine.started = engine.completed = engine.submitted = 0
    if rule.kind == SCORES:
        for job in range(len(nodes)):
            room.scores[job] = score_of(jobs, job, limits[job], now, rule.order)
    elif rule.kind == RESERVING:
        reserving_pass(jobs, state, estimates, rule, room.free)
    elif rule.kind == SLURM:
        for job in range(len(nodes)):
            limits[job] = min(limits[job], 2.0**53)  # a plan has whole steps, which infinite times have not
        slurm_pass(jobs, state, estimates, rule, room.free)
    else:
        one_pass(jobs, state, estimates, rule, Blocked(zeros, room.scores, zeros), 0)
    return int(engine.started)
