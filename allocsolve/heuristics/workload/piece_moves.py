"""Annealing of schedules of malleable jobs by moves of a few jobs each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_piece_moves import MOST_MOVED, PieceMoves, PiecePlan
from allocsolve.heuristics.workload.list_decoding import new_work
from allocsolve.model import WorkloadSchedule

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.list_decoding import Decoder
    from allocsolve.model import FloatArray, IntArray

#: So many pieces a job may get in a move, or as many as any job has to begin with, if that is more.
_PIECES = 64


class PieceAnnealer:
    """The state of simulated annealing on the pieces of a schedule.

    A move takes up to 20 jobs out that run at about the same time, and lets them take nodes again one after
    the other, as in a list (`Decoder`), in another order or with other caps. The other jobs keep their
    pieces, whatever made them.

    The term of the decoder must be a mean; the schedule to begin with is feasible. The same seed gives the
    same moves.

    Notes
    -----
    *Complexity*: O(steps between the submission and the end of a job) for each job that moves.
    """

    def __init__(self, decoder: Decoder, schedule: WorkloadSchedule, seed: int) -> None:
        self._decoder = decoder
        pieces = np.diff(schedule.offsets)
        count, width = len(pieces), max(_PIECES, int(pieces.max(initial=0)))
        self._plan = plan = _empty_plan(count, width)
        plan.pieces[:] = pieces
        plan.caps[:] = decoder.lists_of(schedule)[0].caps
        at = _places(schedule.offsets)
        plan.starts[at], plan.ends[at], plan.held[at] = schedule.starts, schedule.ends, schedule.nodes
        self._work = new_work(2 * count * width + 2, width)
        times, free = decoder.free_steps(schedule)
        plan.steps[0] = len(times)
        self._work.times[: len(times)], self._work.free[: len(times)] = times, free
        self._moves = PieceMoves(
            by_start=np.zeros(count, dtype=np.int64),
            sorted_starts=np.zeros(count),
            cumulative=np.zeros(count),
            random=np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1),
            cost=np.zeros(1),
            jobs=np.zeros(MOST_MOVED, dtype=np.int64),
            keys=np.zeros(MOST_MOVED),
            old=_empty_plan(MOST_MOVED, width),
        )
        self._draw_from(self._costs())

    @property
    def cost(self) -> float:
        """What the present schedule costs above the least cost of each job."""
        return float(self._moves.cost[0])

    def schedule(self) -> WorkloadSchedule:
        """Return the present schedule."""
        plan = self._plan
        offsets = np.concatenate([[0], np.cumsum(plan.pieces)])
        at = _places(offsets)
        return WorkloadSchedule(offsets, plan.starts[at], plan.ends[at], plan.held[at])

    def run(self, temperature: float, moves: int) -> None:
        """Make moves at a temperature, in the unit of costs."""
        self._decoder.move(self._plan, self._moves, temperature, moves, self._work)
        self._draw_from(self._costs())

    def _costs(self) -> FloatArray:
        plan = self._plan
        ends = plan.ends[np.arange(len(plan.pieces)), plan.pieces - 1]
        return self._decoder.costs_above_least(plan.starts[:, 0], ends)

    def _draw_from(self, costs: FloatArray) -> None:
        """Draw the next moves by the present starts and costs."""
        moves, starts = self._moves, self._plan.starts[:, 0]
        order = np.argsort(starts, kind="stable")
        moves.by_start[:], moves.sorted_starts[:] = order, starts[order]
        np.cumsum(costs[order], out=moves.cumulative)
        moves.cost[0] = costs.sum()


def _places(offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows and columns of all pieces, job after job."""
    pieces = np.diff(offsets)
    rows = np.repeat(np.arange(len(pieces)), pieces)
    return rows, np.arange(len(rows)) - np.repeat(offsets[:-1], pieces)


def _empty_plan(jobs: int, width: int) -> PiecePlan:
    pieces, caps = np.zeros((2, jobs), dtype=np.int64)
    starts, ends = np.zeros((2, jobs, width))
    held, steps = np.zeros((jobs, width), dtype=np.int64), np.zeros(1, dtype=np.int64)
    return PiecePlan(pieces, caps, starts, ends, held, steps)
