"""Serial generation on what is free over time, and moves that take jobs out and put them back.

The machine is None if nodes are all that jobs need: closed nodes are not free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_capacity import book, earliest_room
from allocsolve.kernels import bisect_right, inner_kernel, kernel, sort_by_keys
from allocsolve.kernels.random import uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload.resources import Machine
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray


class Sizes(NamedTuple):
    """The sizes on which jobs may run, the fastest first, with the run times in seconds.

    The sizes of job ``j`` are ``offsets[j]:offsets[j + 1]``.
    """

    offsets: IntArray
    nodes: IntArray
    seconds: FloatArray


@inner_kernel
def place(
    profile: FreeNodes,
    sizes: Sizes,
    job: int,
    first: int,
    last: int,
    submit: float,
    machine: Machine | None = None,
) -> tuple[float, int]:
    """Return the start and the index of the size with the earliest completion; ties go to the least area.

    The sizes with indices from `first` to before `last` are tried.
    """
    best_size, start, best_end, best_area = first, 0.0, np.inf, 0.0
    for size in range(first, last):
        nodes, seconds = sizes.nodes[size], sizes.seconds[size]
        if submit + seconds > best_end:
            break
        begin = earliest_room(profile, job, nodes, submit, seconds, np.inf, machine)
        if begin + seconds < best_end or (begin + seconds == best_end and nodes * seconds < best_area):
            best_size, start, best_end, best_area = size, begin, begin + seconds, nodes * seconds
    return start, best_size


#: The largest number of jobs that one move takes out: the drawn job and up to 16 that overlap its wait.
MAX_REMOVED = 17


class Costs(NamedTuple):
    """The cost of each job: job j that ends at C costs ``max(floor_j, slope_j (C - reference_j))``.

    Read-only arrays of shape (jobs,) unless another one is given.
    """

    slope: FloatArray
    floor: FloatArray
    #: Seconds.
    reference: FloatArray
    #: The least possible cost of each job.
    least: FloatArray
    #: Shape (1,): 1 if C is the end of the job, 0 if it is its start.
    of_end: FloatArray


class Placed(NamedTuple):
    """The places of the jobs in a plan; kernels change the arrays."""

    #: Shape (jobs,), seconds.
    starts: FloatArray
    #: Shape (jobs,): the index of each job's size in `Sizes`.
    chosen: IntArray


class Moves(NamedTuple):
    """What moves are drawn from (the plan as it was some moves ago), and arrays for the work of one move."""

    #: Shape (jobs,): the jobs in the order of their starts, and these starts.
    by_start: IntArray
    sorted_starts: FloatArray
    #: Shape (jobs,): running sums of the costs of jobs beyond their least costs.
    cumulative: FloatArray
    #: Shape (1,): the state of the random numbers.
    random: NDArray[np.uint64]
    #: Shape (1,): the time after which no job may end, in seconds.
    latest_end: FloatArray
    #: Shape (MAX_REMOVED,): the jobs that a move takes out, their old starts and sizes, and the keys of the
    #: order in which they are put back.
    jobs: IntArray
    old_starts: FloatArray
    old_chosen: IntArray
    keys: FloatArray


@inner_kernel
def placed_cost(costs: Costs, job: int, start: float, seconds: float) -> float:
    """Return the cost of a job that starts at `start` and runs for `seconds` seconds."""
    time = start + seconds * costs.of_end[0]
    return float(max(costs.floor[job], costs.slope[job] * (time - costs.reference[job])))


#: What `change_plan` does with each job: it takes it out; or it puts it where it already is, at its earliest
#: place on the size that it has, or on the size of its earliest completion.
TAKE_OUT, PUT_BACK, PUT_EARLIEST, PUT_ON_ANY_SIZE = range(4)


@kernel
def change_plan(
    profile: FreeNodes,
    sizes: Sizes,
    submit: FloatArray,
    order: IntArray,
    placed: Placed,
    what: int,
    machine: Machine | None = None,
) -> None:
    """Take the jobs of `order` out of the plan, or put them into it, one after the other; write their places.

    One kernel for all, as most of it is the same machine code.
    """
    for job in order:
        start, size = placed.starts[job], placed.chosen[job]
        if what >= PUT_EARLIEST:
            first, last = size, size + 1
            if what == PUT_ON_ANY_SIZE:
                first, last = sizes.offsets[job], sizes.offsets[job + 1]
            start, size = place(profile, sizes, job, first, last, submit[job], machine)
            placed.starts[job], placed.chosen[job] = start, size
        sign = 1 if what == TAKE_OUT else -1
        book(profile, job, sizes.nodes[size], start, start + sizes.seconds[size], sign, machine)


@inner_kernel
def draw(sizes: Sizes, submit: FloatArray, placed: Placed, moves: Moves, limit: int) -> int:
    """Draw a waiting job, and others that overlap its wait, into `moves.jobs`; return their number.

    With even chances, the others overlap the whole span from submission to end, or the span that the job
    would take from a random instant of its wait on.
    """
    random, jobs = moves.random, moves.jobs
    count = len(moves.by_start)
    sums, mark = moves.cumulative, uniform(random) * moves.cumulative[count - 1]
    at = bisect_right(sums, len(sums), mark)
    job = min(at, count - 1)
    start, seconds = placed.starts[job], sizes.seconds[placed.chosen[job]]
    begin, end = submit[job], start + seconds
    if uniform(random) < 0.5:
        begin += uniform(random) * (start - begin)
        end = begin + seconds
    starts = moves.sorted_starts
    last = bisect_right(starts, len(starts), end)
    first = bisect_right(starts, len(starts), begin)
    first = max(0, first - (last - first) // 2 - 32)
    jobs[0] = job
    drawn, tries = 1, 0
    limit = min(limit, last - first)
    while drawn < limit and tries < 3 * limit:
        tries += 1
        other = moves.by_start[first + int(uniform(random) * (last - first))]
        begun = placed.starts[other]
        if begun >= end or begun + sizes.seconds[placed.chosen[other]] <= begin:
            continue
        known = False
        for idx in range(drawn):
            known = known or jobs[idx] == other
        if not known:
            jobs[drawn] = other
            drawn += 1
    return drawn


@inner_kernel
def arrange(sizes: Sizes, costs: Costs, placed: Placed, moves: Moves, count: int) -> None:
    """Sort the jobs of a move into the order in which they are put back, one of four kinds, at random."""
    random, jobs, keys = moves.random, moves.jobs, moves.keys
    kind = int(uniform(random) * 4)
    for idx in range(count):
        job = jobs[idx]
        if kind == 0:  # the waiting job first, the others as they were
            keys[idx] = placed.starts[job]
        elif kind == 1:  # at random
            keys[idx] = uniform(random)
        else:  # jobs that cost much and need little area first, with noise
            size = placed.chosen[job]
            area = sizes.nodes[size] * sizes.seconds[size]
            keys[idx] = area / (costs.slope[job] + 1e-300) * (1.0 + uniform(random))
    if kind % 2 == 0:
        keys[0] = -1.0
    sort_by_keys(jobs, keys, count)


@kernel
def reinsert(
    profile: FreeNodes,
    sizes: Sizes,
    submit: FloatArray,
    first: Costs,
    second: Costs,
    placed: Placed,
    moves: Moves,
    count: int,
    machine: Machine | None = None,
) -> int:
    """Make `count` moves, each of which stays if the plan costs no more; return how many made it cost less.

    Costs are compared by `first`, then by `second`.
    """
    better = 0
    jobs, old_starts, old_chosen = moves.jobs, moves.old_starts, moves.old_chosen
    for _ in range(count):
        removed = draw(sizes, submit, placed, moves, 2 + int(uniform(moves.random) * (MAX_REMOVED - 1)))
        arrange(sizes, first, placed, moves, removed)
        before, before_2, least_to_come = 0.0, 0.0, 0.0
        for idx in range(removed):
            job = jobs[idx]
            size, start = placed.chosen[job], placed.starts[job]
            old_starts[idx], old_chosen[idx] = start, size
            before += placed_cost(first, job, start, sizes.seconds[size])
            before_2 += placed_cost(second, job, start, sizes.seconds[size])
            least_to_come += first.least[job]
            book(profile, job, sizes.nodes[size], start, start + sizes.seconds[size], 1, machine)
        slack = 1e-12 * before  # differences of costs up to this come from rounding
        after, after_2, inserted = 0.0, 0.0, 0
        while inserted < removed:
            job = jobs[inserted]
            begin, end = sizes.offsets[job], sizes.offsets[job + 1]
            if end - begin > 1:
                kind = uniform(moves.random)
                if kind < 0.4:
                    begin = old_chosen[inserted]
                elif kind < 0.7:
                    begin += int(uniform(moves.random) * (end - begin))
                if kind < 0.7:
                    end = begin + 1
            start, size = place(profile, sizes, job, begin, end, submit[job], machine)
            after += placed_cost(first, job, start, sizes.seconds[size])
            after_2 += placed_cost(second, job, start, sizes.seconds[size])
            least_to_come -= first.least[job]
            if after + least_to_come > before + slack or start + sizes.seconds[size] > moves.latest_end[0]:
                break
            book(profile, job, sizes.nodes[size], start, start + sizes.seconds[size], -1, machine)
            placed.starts[job], placed.chosen[job] = start, size
            inserted += 1
        less = after < before - slack
        if inserted == removed and (less or after_2 <= before_2 + 1e-12 * before_2):
            better += less or after_2 < before_2 - 1e-12 * before_2
            continue
        for idx in range(inserted):
            job = jobs[idx]
            size, start = placed.chosen[job], placed.starts[job]
            book(profile, job, sizes.nodes[size], start, start + sizes.seconds[size], 1, machine)
        for idx in range(removed):
            job, size, start = jobs[idx], old_chosen[idx], old_starts[idx]
            book(profile, job, sizes.nodes[size], start, start + sizes.seconds[size], -1, machine)
            placed.starts[job], placed.chosen[job] = start, size
    return better
