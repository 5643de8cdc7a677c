"""Annealing of schedules of malleable jobs by moves of a few jobs each.

The schedule is kept as the pieces of its jobs beside the free nodes over time. So a move takes the time of
the jobs that it removes, not that of all jobs; those that stay keep their pieces, whatever made them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload.list_decoding import new_work, run_earliest, take
from allocsolve.kernels import bisect_right, inner_kernel, kernel, sort_by_keys
from allocsolve.kernels.random import uniform
from allocsolve.model import WorkloadSchedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_serial import Costs
    from allocsolve.heuristics.workload.list_decoding import Decoder, DecoderWork, Listed
    from allocsolve.model import FloatArray, IntArray

#: The largest number of jobs that one move takes out.
MOST_MOVED: Final = 20

#: Shares of the moved jobs with a choice that keep their cap, and that may have all their nodes; the others
#: draw a cap.
_KEEP_CAP, _NO_CAP = 0.6, 0.2


class PiecePlan(NamedTuple):
    """The pieces of all jobs and the number of steps of the free nodes; moves write them."""

    #: Shape (jobs,): the number of pieces of each job, and the row of `Listed` that is its cap.
    pieces: IntArray
    caps: IntArray
    #: Shape (jobs, room): start and end in seconds, nodes.
    starts: FloatArray
    ends: FloatArray
    held: IntArray
    #: Shape (1,): the number of steps.
    steps: IntArray


class PieceMoves(NamedTuple):
    """What moves are drawn from (the plan as it was some moves ago), and arrays for the work of one move."""

    #: Shape (jobs,): the jobs in the order of their starts, and these starts.
    by_start: IntArray
    sorted_starts: FloatArray
    #: Shape (jobs,): running sums, in this order, of the costs of jobs beyond their least costs.
    cumulative: FloatArray
    #: Shape (1,): the state of the random numbers.
    random: NDArray[np.uint64]
    #: Shape (1,): what the plan costs above the least costs.
    cost: FloatArray
    #: Shape (MOST_MOVED,): the jobs that a move takes out and the keys of the order in which they come back.
    jobs: IntArray
    keys: FloatArray
    #: What these jobs had, in the shapes of `PiecePlan`.
    old: PiecePlan


@inner_kernel
def _change(plan: PiecePlan, job: int, sign: int, work: DecoderWork) -> None:
    """Take the nodes of the pieces of a job out of what is free (1), or put them back (-1). O(steps)."""
    pieces = plan.pieces[job]
    for at in range(pieces):
        work.starts[at], work.ends[at] = plan.starts[job, at], plan.ends[job, at]
        work.held[at] = sign * plan.held[job, at]
    count = plan.steps[0]
    first = bisect_right(work.times, count, work.starts[0]) - 1
    last = first
    while last + 1 < count and work.times[last + 1] < work.ends[pieces - 1]:
        last += 1
    plan.steps[0] = take(work, count, pieces, first, last)


@inner_kernel
def _copy(source: PiecePlan, row: int, target: PiecePlan, to: int) -> None:
    """Copy the pieces of a job."""
    target.pieces[to], target.caps[to] = source.pieces[row], source.caps[row]
    for at in range(source.pieces[row]):
        target.starts[to, at], target.ends[to, at] = source.starts[row, at], source.ends[row, at]
        target.held[to, at] = source.held[row, at]


@inner_kernel
def _cost(costs: Costs, plan: PiecePlan, job: int) -> float:
    """Return what a job costs above its least cost."""
    time = plan.ends[job, plan.pieces[job] - 1] if costs.of_end[0] else plan.starts[job, 0]
    cost = max(costs.floor[job], costs.slope[job] * (time - costs.reference[job]))
    return float(cost - costs.least[job])


@inner_kernel
def _draw(listed: Listed, plan: PiecePlan, moves: PieceMoves, limit: int) -> int:
    """Draw a job, and others that run while it waits or runs, into `moves.jobs`; return their number.

    With even chances it is any job or one that costs much, and the others run somewhen between its submission
    and its end, or in a span as long as its own from a random instant of its wait on.
    """
    random, jobs, starts = moves.random, moves.jobs, moves.sorted_starts
    count = len(starts)
    if uniform(random) < 0.5:
        at = bisect_right(moves.cumulative, count, uniform(random) * moves.cumulative[count - 1])
        at = min(at, count - 1)
    else:
        at = int(uniform(random) * count)
    job = moves.by_start[at]
    start, end = plan.starts[job, 0], plan.ends[job, plan.pieces[job] - 1]
    begin = listed.release[job]
    if uniform(random) < 0.5:
        seconds = end - start
        begin += uniform(random) * (start - begin)
        end = begin + seconds
    last = bisect_right(starts, count, end)
    first = bisect_right(starts, count, begin)
    first = max(0, first - (last - first) // 2 - 16)
    jobs[0] = job
    drawn, tries = 1, 0
    limit = min(limit, last - first)
    while drawn < limit and tries < 3 * limit:
        tries += 1
        other = moves.by_start[first + int(uniform(random) * (last - first))]
        if plan.starts[other, 0] >= end or plan.ends[other, plan.pieces[other] - 1] <= begin:
            continue
        known = False
        for idx in range(drawn):
            known = known or jobs[idx] == other
        if not known:
            jobs[drawn] = other
            drawn += 1
    return drawn


@inner_kernel
def _arrange(listed: Listed, costs: Costs, plan: PiecePlan, moves: PieceMoves, count: int) -> None:
    """Sort the jobs of a move into the order in which they come back, one of four kinds, at random."""
    random, jobs, keys = moves.random, moves.jobs, moves.keys
    kind = int(uniform(random) * 4)
    for idx in range(count):
        job = jobs[idx]
        if kind == 0:  # as they started
            keys[idx] = plan.starts[job, 0]
        elif kind == 1:  # at random
            keys[idx] = uniform(random)
        elif kind == 2:  # as they ended
            keys[idx] = plan.ends[job, plan.pieces[job] - 1]
        else:  # jobs that cost much and need little area first, with noise
            cap = plan.caps[job]
            area = listed.nodes[cap] * listed.seconds[cap]
            keys[idx] = area / (costs.slope[job] + 1e-300) * (1.0 + uniform(random))
    if uniform(random) < 0.5:
        keys[0] = -np.inf
    sort_by_keys(jobs, keys, count)


@inner_kernel
def _new_cap(listed: Listed, job: int, cap: int, random: NDArray[np.uint64]) -> int:
    first, last = listed.offsets[job], listed.offsets[job + 1]
    if last - first == 1:
        return cap
    kind = uniform(random)
    if kind < _KEEP_CAP:
        return cap
    if kind < _KEEP_CAP + _NO_CAP:
        return int(first)
    return int(first + int(uniform(random) * (last - first)))


@inner_kernel
def _insert(listed: Listed, job: int, plan: PiecePlan, work: DecoderWork) -> bool:
    """Let a job take nodes as in a list; return False, and change nothing, if its pieces have no room.

    There is always room for the steps: two for each piece that jobs may have.
    """
    pieces, first, last = run_earliest(listed, job, plan.caps[job], work, plan.steps[0])
    if pieces < 0:
        return False
    plan.steps[0] = take(work, plan.steps[0], pieces, first, last)
    plan.pieces[job] = pieces
    for at in range(pieces):
        plan.starts[job, at], plan.ends[job, at] = work.starts[at], work.ends[at]
        plan.held[job, at] = work.held[at]
    return True


@kernel
def move_pieces(
    listed: Listed,
    costs: Costs,
    plan: PiecePlan,
    moves: PieceMoves,
    temperature: float,
    count: int,
    work: DecoderWork,
) -> None:
    """Take a few jobs out and let them take nodes again, `count` times.

    A move stays if the plan costs less than before plus a random amount (Metropolis); so what it may cost is
    known before the jobs come back, and a move ends at the first one with which it costs more.
    """
    random, jobs, old = moves.random, moves.jobs, moves.old
    for _ in range(count):
        most = 1 + int(uniform(random) * uniform(random) * MOST_MOVED)
        moved = _draw(listed, plan, moves, most)
        _arrange(listed, costs, plan, moves, moved)
        before = 0.0
        for idx in range(moved):
            job = jobs[idx]
            before += _cost(costs, plan, job)
            _copy(plan, job, old, idx)
            _change(plan, job, -1, work)
        limit = before - temperature * math.log(1.0 - uniform(random))
        after, inserted = 0.0, 0
        while inserted < moved:
            job = jobs[inserted]
            plan.caps[job] = _new_cap(listed, job, plan.caps[job], random)
            if not _insert(listed, job, plan, work):
                break
            inserted += 1
            after += _cost(costs, plan, job)
            if after > limit:
                break
        if inserted == moved and after <= limit:
            moves.cost[0] += after - before
            continue
        for idx in range(inserted):
            _change(plan, jobs[idx], -1, work)
        for idx in range(moved):
            _copy(old, idx, plan, jobs[idx])
            _change(plan, jobs[idx], 1, work)


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
        listed, costs = self._decoder.listed, self._decoder.costs
        move_pieces(listed, costs, self._plan, self._moves, temperature, moves, self._work)
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
