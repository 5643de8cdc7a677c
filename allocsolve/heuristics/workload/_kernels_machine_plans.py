"""Plans on machines with several counted resources: what is free of each over time, and moves in such plans.

What is free is the timetable of the policies on such machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_serial import (
    MAX_REMOVED,
    PUT_EARLIEST,
    TAKE_OUT,
    arrange,
    draw,
    placed_cost,
)
from allocsolve.heuristics.workload._kernels_timetable import earliest_room, put_back, take
from allocsolve.kernels import kernel
from allocsolve.kernels.random import uniform

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_serial import Costs, Moves, Placed, Sizes
    from allocsolve.heuristics.workload._kernels_timetable import Timetable
    from allocsolve.model import FloatArray, IntArray


class Needs(NamedTuple):
    """What jobs need, read-only: of job ``j`` the rows ``offsets[j]:offsets[j + 1]``."""

    offsets: IntArray
    resource: IntArray
    amount: IntArray


@kernel
def change_plan_on_machine(
    table: Timetable,
    needs: Needs,
    seconds: FloatArray,
    release: FloatArray,
    order: IntArray,
    starts: FloatArray,
    what: int,
) -> None:
    """Take jobs out of the plan, or put them into it, as `change_plan` does; write the starts."""
    for job in order:
        start = starts[job]
        if what >= PUT_EARLIEST:
            start = earliest_room(table, needs, job, release[job], seconds[job], np.inf)
            starts[job] = start
        if what == TAKE_OUT:
            put_back(table, needs, job, start, start + seconds[job])
        else:
            take(table, needs, job, start, start + seconds[job])


@kernel
def reinsert_on_machine(
    table: Timetable,
    needs: Needs,
    sizes: Sizes,
    release: FloatArray,
    first: Costs,
    second: Costs,
    placed: Placed,
    moves: Moves,
    count: int,
) -> int:
    """Make moves with jobs of one size, as `reinsert` does; return how many made the plan cost less."""
    better = 0
    jobs, old_starts, starts, seconds = moves.jobs, moves.old_starts, placed.starts, sizes.seconds
    for _ in range(count):
        removed = draw(sizes, release, placed, moves, 2 + int(uniform(moves.random) * (MAX_REMOVED - 1)))
        arrange(sizes, first, placed, moves, removed)
        before, before_2, least_to_come = 0.0, 0.0, 0.0
        for idx in range(removed):
            job = jobs[idx]
            start = starts[job]
            old_starts[idx] = start
            before += placed_cost(first, job, start, seconds[job])
            before_2 += placed_cost(second, job, start, seconds[job])
            least_to_come += first.least[job]
            put_back(table, needs, job, start, start + seconds[job])
        slack = 1e-12 * before  # differences of costs up to this come from rounding
        after, after_2, inserted = 0.0, 0.0, 0
        while inserted < removed:
            job = jobs[inserted]
            start = earliest_room(table, needs, job, release[job], seconds[job], np.inf)
            after += placed_cost(first, job, start, seconds[job])
            after_2 += placed_cost(second, job, start, seconds[job])
            least_to_come -= first.least[job]
            if after + least_to_come > before + slack or start + seconds[job] > moves.latest_end[0]:
                break
            take(table, needs, job, start, start + seconds[job])
            starts[job] = start
            inserted += 1
        less = after < before - slack
        if inserted == removed and (less or after_2 <= before_2 + 1e-12 * before_2):
            better += less or after_2 < before_2 - 1e-12 * before_2
            continue
        for idx in range(inserted):
            job = jobs[idx]
            put_back(table, needs, job, starts[job], starts[job] + seconds[job])
        for idx in range(removed):
            job, start = jobs[idx], old_starts[idx]
            take(table, needs, job, start, start + seconds[job])
            starts[job] = start
    return better
