"""Plans on machines with several counted resources: what is free of each over time, and moves in such plans.

What is free of a resource is a step function as that of nodes (`allocsolve.kernels.free_nodes`): all are used
in turn, until none of them puts a job off.
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
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.free_nodes import FreeNodes, change, earliest
from allocsolve.kernels.random import uniform

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_serial import Costs, Moves, Placed, Sizes
    from allocsolve.kernels.free_nodes import Chunk, FreeNumbers, Step
    from allocsolve.kernels.records import Records
    from allocsolve.model import FloatArray, IntArray


class FreeResources(NamedTuple):
    """What is free of each resource over time: rows of `FreeNodes`, of which all is written."""

    #: Shape (resources,), (resources, chunks) and (resources, steps).
    numbers: Records[FreeNumbers]
    chunks: Records[Records[Chunk]]  # type: ignore[type-var]  # rows of records
    steps: Records[Records[Step]]  # type: ignore[type-var]  # rows of records


class Needs(NamedTuple):
    """What jobs need, read-only: of job ``j`` the rows ``offsets[j]:offsets[j + 1]``."""

    offsets: IntArray
    resource: IntArray
    amount: IntArray


@inner_kernel
def _hold(free: FreeResources, needs: Needs, job: int, start: float, end: float, sign: int) -> None:
    """Take what a job needs from `start` to `end` (sign -1), or give it back (sign 1)."""
    for at in range(needs.offsets[job], needs.offsets[job + 1]):
        row = needs.resource[at]
        change(
            FreeNodes(free.numbers[row], free.chunks[row], free.steps[row]),
            start,
            end,
            sign * needs.amount[at],
        )


@inner_kernel
def _earliest(free: FreeResources, needs: Needs, job: int, release: float, seconds: float) -> float:
    """Return the first instant from the release on from which all that a job needs is free for so long.

    Each resource puts the start off no further than it has to: when none does any more, it is the first one.
    """
    first, count = needs.offsets[job], needs.offsets[job + 1] - needs.offsets[job]
    start, at, agreed = release, 0, 0
    while agreed < count:
        row, amount = needs.resource[first + at], needs.amount[first + at]
        profile = FreeNodes(free.numbers[row], free.chunks[row], free.steps[row])
        found = earliest(profile, start, amount, seconds, np.inf)
        agreed = agreed + 1 if found <= start else 1
        start = max(start, found)
        at = at + 1 if at + 1 < count else 0
    return start


@kernel
def change_plan_on_machine(
    free: FreeResources,
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
            start = _earliest(free, needs, job, release[job], seconds[job])
            starts[job] = start
        _hold(free, needs, job, start, start + seconds[job], 1 if what == TAKE_OUT else -1)


@kernel
def reinsert_on_machine(
    free: FreeResources,
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
            _hold(free, needs, job, start, start + seconds[job], 1)
        slack = 1e-12 * before  # differences of costs up to this come from rounding
        after, after_2, inserted = 0.0, 0.0, 0
        while inserted < removed:
            job = jobs[inserted]
            start = _earliest(free, needs, job, release[job], seconds[job])
            after += placed_cost(first, job, start, seconds[job])
            after_2 += placed_cost(second, job, start, seconds[job])
            least_to_come -= first.least[job]
            if after + least_to_come > before + slack or start + seconds[job] > moves.latest_end[0]:
                break
            _hold(free, needs, job, start, start + seconds[job], -1)
            starts[job] = start
            inserted += 1
        less = after < before - slack
        if inserted == removed and (less or after_2 <= before_2 + 1e-12 * before_2):
            better += less or after_2 < before_2 - 1e-12 * before_2
            continue
        for idx in range(inserted):
            job = jobs[idx]
            _hold(free, needs, job, starts[job], starts[job] + seconds[job], 1)
        for idx in range(removed):
            job, start = jobs[idx], old_starts[idx]
            _hold(free, needs, job, start, start + seconds[job], -1)
            starts[job] = start
    return better
