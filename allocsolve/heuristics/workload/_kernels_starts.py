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
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model.packed_jobs import PackedJobs

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import QueueRule
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray
    from allocsolve.simulation.kernels import State

#: What `starts_now` and `queue_places` return for columns that are none of a queue.
REFUSED: Final = -1


class Room(NamedTuple):
    """What a call works in, with room for its jobs; made once, and used again and again."""

    state: State
    free: FreeNodes
    #: Shape (jobs,) at least: written, and what rigid jobs are like, all zeros and all ones.
    scores: FloatArray
    zeros: IntArray
    ones: IntArray


@inner_kernel
def _rigid(nodes: IntArray, limits: FloatArray, submits: FloatArray, room: Room) -> PackedJobs:
    """Return the columns of rigid jobs, of which a decision reads no others than these."""
    zeros, ones = room.zeros, room.ones
    tables = zeros, zeros, limits
    return PackedJobs(
        *(submits, nodes, nodes, nodes, limits, limits, limits, zeros, limits),
        *tables,
        *(zeros, zeros, ones),
    )


@inner_kernel
def _are_jobs(nodes: IntArray, limits: FloatArray, most: int) -> bool:
    """Return whether each job asks for 1 to `most` nodes, for more than no time."""
    right = 0
    for job in range(len(nodes)):
        right += 1 <= nodes[job] <= most and limits[job] > 0
    return right == len(nodes)


@kernel
def starts_now(
    now: float,
    free: int,
    nodes: IntArray,
    limits: FloatArray,
    running_nodes: IntArray,
    running_ends: FloatArray,
    by_end: IntArray,
    rule: QueueRule,
    room: Room,
) -> int:
    """Return how many jobs start, the first of ``room.state.started``, by their places in the queue.

    `by_end` are the running jobs by their expected ends. `REFUSED` if a column has what cannot be.
    """
    state, engine, most = room.state, room.state.engine, free
    for at in range(len(by_end)):
        held = running_nodes[by_end[at]]
        most += held
        if not (held >= 0 and running_ends[by_end[at]] == running_ends[by_end[at]]):
            return REFUSED
        state.held[at].key, state.held[at].job, state.held[at].nodes = running_ends[by_end[at]], 0, held
    if free < 0 or not _are_jobs(nodes, limits, most):
        return REFUSED
    engine.clock, engine.free, engine.ordered = now, free, 1
    engine.first, engine.last = 0, len(by_end)
    engine.head, engine.tail, engine.running, engine.started = 0, len(nodes), 0, 0
    engine.completed = engine.submitted = 0
    for job in range(len(nodes)):
        state.queue[job] = job
    jobs = _rigid(nodes, limits, limits, room)
    estimates = Estimates(limits, limits, limits, room.scores, room.zeros, limits)
    if rule.kind == RESERVING:
        reserving_pass(jobs, state, estimates, rule, room.free)
    elif rule.kind == SLURM:
        for job in range(len(nodes)):
            limits[job] = min(limits[job], 2.0**53)  # a plan has whole steps, which infinite times have not
        slurm_pass(jobs, state, estimates, rule, room.free)
    else:
        one_pass(jobs, state, estimates, rule, Blocked(room.zeros, room.scores, room.zeros), 0)
    return int(engine.started)


@kernel
def queue_scores(
    now: float, nodes: IntArray, limits: FloatArray, submits: FloatArray, order: int, room: Room
) -> int:
    """Write the scores of queued jobs into ``room.scores``: the least comes first. Return how many there are.

    `REFUSED` if a column has what cannot be.
    """
    if not _are_jobs(nodes, limits, 2**62):
        return REFUSED
    jobs = _rigid(nodes, limits, submits, room)
    for job in range(len(nodes)):
        room.scores[job] = score_of(jobs, job, limits[job], now, order)
    return len(nodes)
