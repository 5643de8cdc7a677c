"""A window of a schedule: which pieces are in it, on which nodes they run, and why each job started.

A schedule says how many nodes a job has, not which. Pictures and files of other tools want them by number:
they are given out here, to each piece as few intervals of numbers as a greedy rule achieves.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.judge.workload import TIME_TOLERANCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import IntArray, WorkloadProblem, WorkloadSchedule

__all__ = ["StartReason", "lanes", "node_intervals", "pieces_within", "start_reasons"]


class StartReason(NamedTuple):
    """What the start of a job looks like from outside, whoever made the schedule."""

    #: ``at once``: on its submission; ``in turn``: the first of the queue; ``backfilled``: before the first.
    kind: str
    #: The first of the queue when the job was backfilled; -1 for the other kinds.
    head: int


def pieces_within(
    schedule: WorkloadSchedule, window: tuple[float, float] | None
) -> tuple[IntArray, IntArray]:
    """Return the pieces that lie in a window of time at least in part, in order of their starts.

    Parameters
    ----------
    schedule
        Of any jobs; pieces that end no later than they start are left out.
    window
        First and last instant in seconds; None for all pieces.

    Returns
    -------
    tuple
        Index and job of each piece, both of the shape (pieces,).
    """
    jobs = np.repeat(np.arange(len(schedule.offsets) - 1), np.diff(schedule.offsets))
    there = schedule.ends > schedule.starts
    if window is not None:
        there &= (schedule.ends > window[0]) & (schedule.starts < window[1])
    inside = np.flatnonzero(there)
    inside = inside[np.lexsort((jobs[inside], schedule.starts[inside]))]
    return inside, jobs[inside]


def lanes(starts: Sequence[float], ends: Sequence[float]) -> list[int]:
    """Give each interval a lane such that no two in one lane overlap: the lowest that is free.

    Parameters
    ----------
    starts, ends
        Of the intervals, by increasing start. One may begin where another ends.

    Returns
    -------
    list
        A lane for each, from 0.

    Notes
    -----
    *Complexity*: O(n log n). *Guarantee*: as many lanes as intervals overlap at the worst instant, the least
    possible number.
    """
    running: list[tuple[float, int]] = []
    free: list[int] = []
    given, count = [], 0
    for start, end in zip(starts, ends, strict=True):
        while running and running[0][0] <= start:
            heappush(free, heappop(running)[1])
        if free:
            lane = heappop(free)
        else:
            lane, count = count, count + 1
        given.append(lane)
        heappush(running, (end, lane))
    return given


def node_intervals(
    problem: WorkloadProblem, schedule: WorkloadSchedule, pieces: IntArray
) -> list[tuple[tuple[int, int], ...]]:
    """Give each piece nodes of its own, by number.

    A piece takes the smallest interval of free nodes that suffices, the lowest of these; if none does, the
    lowest free nodes. Where a schedule holds more nodes than there are, as those that machines record may,
    the numbers go on.

    Parameters
    ----------
    problem
        The problem.
    schedule
        Of its jobs.
    pieces
        As `pieces_within` returns them.

    Returns
    -------
    list
        Of each piece the first and last number of each interval of nodes: disjoint, sorted, none beside
        another. Nodes are numbered from 0.

    Notes
    -----
    *Complexity*: O(pieces times free intervals).
    """
    exact = bool((4 * schedule.starts % 1 == 0).all() and (4 * schedule.ends % 1 == 0).all())
    tolerance = 0.0 if exact else TIME_TOLERANCE_S  # as the judge has it
    free = _FreeNodes(problem.num_nodes)
    running: list[tuple[float, int]] = []
    held: list[tuple[tuple[int, int], ...]] = []
    rows = zip(
        schedule.starts[pieces].tolist(),
        schedule.ends[pieces].tolist(),
        schedule.nodes[pieces].tolist(),
        strict=True,
    )
    for idx, (start, end, nodes) in enumerate(rows):
        while running and running[0][0] <= start + tolerance:
            free.give_back(held[heappop(running)[1]])
        held.append(free.take(nodes))
        heappush(running, (end, idx))
    return held


class _FreeNodes:
    """The free nodes of a cluster as sorted intervals, none beside another."""

    def __init__(self, num_nodes: int) -> None:
        self._firsts, self._lasts = [0], [num_nodes - 1]
        self._count = self._highest = num_nodes

    def take(self, nodes: int) -> tuple[tuple[int, int], ...]:
        """Return the intervals of as many nodes as wanted, which are free no more."""
        if nodes > self._count:
            missing = nodes - self._count
            self.give_back(((self._highest, self._highest + missing - 1),))
            self._highest += missing
        self._count -= nodes
        firsts, lasts = self._firsts, self._lasts
        sizes = [last - first + 1 for first, last in zip(firsts, lasts, strict=True)]
        at = min((idx for idx, size in enumerate(sizes) if size >= nodes), key=sizes.__getitem__, default=-1)
        taken = []
        while nodes:
            place = max(at, 0)
            first = firsts[place]
            last = min(lasts[place], first + nodes - 1)
            taken.append((first, last))
            nodes -= last - first + 1
            if last == lasts[place]:
                del firsts[place], lasts[place]
            else:
                firsts[place] = last + 1
        return tuple(taken)

    def give_back(self, intervals: tuple[tuple[int, int], ...]) -> None:
        """Take intervals back that were taken."""
        firsts, lasts = self._firsts, self._lasts
        for first, last in intervals:
            self._count += last - first + 1
            at = bisect_left(firsts, first)
            begin, end = first, last
            if at < len(firsts) and firsts[at] == last + 1:
                end = lasts[at]
                del firsts[at], lasts[at]
            if at and lasts[at - 1] == first - 1:
                begin, at = firsts[at - 1], at - 1
                del firsts[at], lasts[at]
            firsts.insert(at, begin)
            lasts.insert(at, end)


def start_reasons(problem: WorkloadProblem, schedule: WorkloadSchedule) -> list[StartReason]:
    """Tell of each job why it started when it did, as far as the schedule shows it.

    The queue is in order of submission; a job is *backfilled* if one that came before it starts later. The
    first such job is the head that it was backfilled past.

    Returns
    -------
    list
        One reason for each job.

    Notes
    -----
    *Complexity*: O(n log n).
    """
    starts, submit = schedule.first_starts, problem.packed.submit
    queue = np.argsort(submit, kind="stable")
    # The first job of the queue that starts after an instant: the latest starts so far never fall.
    latest = np.fmax.accumulate(starts[queue]) if len(queue) else starts
    heads = np.searchsorted(latest, starts[queue], side="right")
    reasons = [StartReason("in turn", -1)] * len(queue)
    at_once = (starts <= submit).tolist()
    for place, (job, head) in enumerate(zip(queue.tolist(), heads.tolist(), strict=True)):
        if head < place:
            reasons[job] = StartReason("backfilled", int(queue[head]))
        elif at_once[job]:
            reasons[job] = StartReason("at once", -1)
    return reasons
