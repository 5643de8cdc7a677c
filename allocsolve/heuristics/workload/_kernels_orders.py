"""The order of a queue: scores of jobs, the least first; of equal ones the job that was submitted first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model.jobs import FloatArray, PackedJobs
    from allocsolve.simulation.kernels import State

__all__ = ["FIRST_AGING", "ORDER_CODES", "sort_queue"]

#: Codes of the orders; from `FIRST_AGING` on, scores change with time.
ORDER_CODES: Final = {
    "submission": 0,
    "shortest-estimate": 1,
    "smallest-area": 2,
    "largest": 3,
    "smallest": 4,
    "f1": 5,
    "f2": 6,
    "f3": 7,
    "f4": 8,
    "wfp3": 9,
    "unicef": 10,
}
FIRST_AGING: Final = 9


@inner_kernel
def _submission_score(nodes: float, submit: float, estimate: float, order: int) -> float:
    """Return F1 to F4 of Carastan-Santos & de Camargo."""
    since = math.log10(max(submit, 1.0))
    if order == 5:
        return math.log10(estimate) * nodes + 870.0 * since
    if order == 6:
        return math.sqrt(estimate) * nodes + 25600.0 * since
    if order == 7:
        return estimate * nodes + 6860000.0 * since
    return estimate * math.sqrt(nodes) + 530000.0 * since


@inner_kernel
def _aging_score(nodes: float, wait: float, estimate: float, order: int) -> float:
    """Return WFP3, or UNICEF."""
    if order == 9:
        return -((wait / estimate) ** 3) * nodes
    return -math.inf if nodes == 1.0 else -wait / (math.log2(nodes) * estimate)


@inner_kernel
def score_of(jobs: PackedJobs, job: int, estimate: float, now: float, order: int) -> float:
    """Return the score of a queued job; `estimate` is its run time as far as the policy knows, in seconds."""
    nodes = float(jobs.nodes[job])
    if order == 1:
        return estimate
    if order == 2:
        return estimate * nodes
    if order == 3:
        return -nodes
    if order == 4:
        return nodes
    if order < FIRST_AGING:
        return _submission_score(nodes, float(jobs.submit[job]), estimate, order)
    return _aging_score(nodes, now - float(jobs.submit[job]), estimate, order)


@inner_kernel
def sort_queue(
    jobs: PackedJobs, state: State, estimates: FloatArray, scores: FloatArray, order: int, first: int
) -> None:
    """Score the jobs from this place of the queue on, and move them to where they belong.

    By insertion: the queue before is sorted, but for orders that change with time, of which all is sorted
    again; it changes little from event to event. O(queue) where nothing changes.
    """
    now, head, tail = state.engine.clock, state.engine.head, state.engine.tail
    if order >= FIRST_AGING:
        first = head
    queue = state.queue
    for at in range(first, tail):
        job = queue[at]
        scores[job] = score_of(jobs, job, estimates[job], now, order)
    for at in range(first, tail):
        job = queue[at]
        score, submit = scores[job], jobs.submit[job]
        place = at
        while place > head:
            before = queue[place - 1]
            if scores[before] < score or (
                scores[before] == score
                and (jobs.submit[before] < submit or (jobs.submit[before] == submit and before < job))
            ):
                break
            queue[place] = before
            place -= 1
        queue[place] = job
