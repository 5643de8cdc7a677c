"""Plans of whole workloads: free nodes over time, serial generation, and the moves of a local search.

Free nodes are a step function of time, into which jobs are put and out of which they are taken. Its steps lie
in chunks of up to `CHUNK`, in order of time. Each chunk has its least and its largest number of free nodes,
so that a search can skip it as a whole, and a shift, so that a change of all its steps is written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray

__all__ = [
    "MAX_REMOVED",
    "Costs",
    "FreeNodes",
    "Moves",
    "Placed",
    "Sizes",
    "change",
    "earliest",
    "fill",
    "new_free_nodes",
    "place",
    "put",
    "reinsert",
    "serial_schedule",
    "take_out",
]

#: The most steps of a chunk; values from 32 to 128 are equally fast.
CHUNK = 64


class FreeNodes(NamedTuple):
    """Free nodes over time; kernels change the arrays."""

    #: Shape (chunks, CHUNK): when each step begins, in seconds.
    times: FloatArray
    #: Shape (chunks, CHUNK): the free nodes of each step, less the `shift` of the chunk.
    free: IntArray
    #: Shape (chunks,): the number of steps of each chunk.
    lengths: IntArray
    #: Shape (chunks,): the number to add to `free`.
    shift: IntArray
    #: Shape (chunks,): the least and the largest number of free nodes, with the shift.
    low: IntArray
    high: IntArray
    #: Shape (chunks,): the chunks in order of time, then those without steps.
    order: IntArray
    #: Shape (chunks,): when the chunks begin, in the order of `order`, in seconds.
    begins: FloatArray
    #: Shape (1,): the number of chunks that have steps.
    used: IntArray


class Sizes(NamedTuple):
    """The sizes on which jobs may run, the fastest first, with the run times in seconds.

    The sizes of job ``j`` are ``offsets[j]:offsets[j + 1]``.
    """

    offsets: IntArray
    nodes: IntArray
    seconds: FloatArray


def new_free_nodes(num_nodes: int, num_jobs: int) -> FreeNodes:
    """Return an idle cluster with room for `num_jobs` jobs.

    Two neighbouring chunks have more than half a chunk of steps together, and each job adds at most two
    steps.
    """
    chunks = 4 * (2 * num_jobs + 4) // CHUNK + 8
    made = FreeNodes(
        times=np.zeros((chunks, CHUNK)),
        free=np.zeros((chunks, CHUNK), dtype=np.int64),
        lengths=np.zeros(chunks, dtype=np.int64),
        shift=np.zeros(chunks, dtype=np.int64),
        low=np.zeros(chunks, dtype=np.int64),
        high=np.zeros(chunks, dtype=np.int64),
        order=np.arange(chunks),
        begins=np.zeros(chunks),
        used=np.ones(1, dtype=np.int64),
    )
    made.free[0, 0] = made.low[0] = made.high[0] = num_nodes
    made.lengths[0] = 1
    return made


@inner_kernel
def _chunk_at(profile: FreeNodes, time: float) -> int:
    """Return the position of the last chunk that begins by `time`."""
    low, high = 0, profile.used[0]
    while high - low > 1:
        middle = (low + high) >> 1
        if profile.begins[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def _step_at(profile: FreeNodes, chunk: int, time: float) -> int:
    """Return the last step of a chunk that begins by `time`; -1 if there is none."""
    times = profile.times
    low, high = -1, profile.lengths[chunk]
    while high - low > 1:
        middle = (low + high) >> 1
        if times[chunk, middle] <= time:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def _measure(profile: FreeNodes, chunk: int) -> None:
    """Set the least and the largest number of free nodes of a chunk."""
    free = profile.free
    low = high = free[chunk, 0]
    for idx in range(1, profile.lengths[chunk]):
        value = free[chunk, idx]
        low = min(low, value)
        high = max(high, value)
    profile.low[chunk] = low + profile.shift[chunk]
    profile.high[chunk] = high + profile.shift[chunk]


@inner_kernel
def _halve(profile: FreeNodes, position: int) -> None:
    """Move the later half of a full chunk into a new chunk behind it."""
    order, begins = profile.order, profile.begins
    chunk, used = order[position], profile.used[0]
    new, half = order[used], CHUNK // 2
    for at in range(used, position + 1, -1):
        order[at] = order[at - 1]
        begins[at] = begins[at - 1]
    for idx in range(half, CHUNK):
        profile.times[new, idx - half] = profile.times[chunk, idx]
        profile.free[new, idx - half] = profile.free[chunk, idx]
    profile.lengths[chunk] = half
    profile.lengths[new] = CHUNK - half
    profile.shift[new] = profile.shift[chunk]
    order[position + 1] = new
    begins[position + 1] = profile.times[new, 0]
    profile.used[0] = used + 1
    _measure(profile, chunk)
    _measure(profile, new)


@inner_kernel
def _drop_chunk(profile: FreeNodes, position: int) -> None:
    """Remove a chunk from the order."""
    order, begins = profile.order, profile.begins
    chunk, last = order[position], profile.used[0] - 1
    for at in range(position, last):
        order[at] = order[at + 1]
        begins[at] = begins[at + 1]
    order[last] = chunk
    profile.used[0] = last


@inner_kernel
def _join(profile: FreeNodes, position: int) -> None:
    """Move the steps of the next chunk into this one if together they fill at most half a chunk."""
    if position < 0 or position + 1 >= profile.used[0]:
        return
    chunk, behind = profile.order[position], profile.order[position + 1]
    count = profile.lengths[chunk]
    if count + profile.lengths[behind] > CHUNK // 2:
        return
    more = profile.shift[behind] - profile.shift[chunk]
    for idx in range(profile.lengths[behind]):
        profile.times[chunk, count + idx] = profile.times[behind, idx]
        profile.free[chunk, count + idx] = profile.free[behind, idx] + more
    profile.lengths[chunk] = count + profile.lengths[behind]
    _drop_chunk(profile, position + 1)
    _measure(profile, chunk)


@inner_kernel
def _begin_step(profile: FreeNodes, time: float) -> None:
    """Split the step at `time` so that a step begins there; the free nodes do not change."""
    position = _chunk_at(profile, time)
    chunk = profile.order[position]
    idx = _step_at(profile, chunk, time)
    if profile.times[chunk, idx] == time:
        return
    if profile.lengths[chunk] == CHUNK:
        _halve(profile, position)
        if idx >= CHUNK // 2:
            idx -= CHUNK // 2
            chunk = profile.order[position + 1]
    times, free = profile.times, profile.free
    for at in range(profile.lengths[chunk], idx + 1, -1):
        times[chunk, at] = times[chunk, at - 1]
        free[chunk, at] = free[chunk, at - 1]
    times[chunk, idx + 1] = time
    free[chunk, idx + 1] = free[chunk, idx]
    profile.lengths[chunk] += 1


@inner_kernel
def _forget_step(profile: FreeNodes, time: float) -> None:
    """Drop the step that begins at `time` if it has as many free nodes as the step before it."""
    position = _chunk_at(profile, time)
    chunk = profile.order[position]
    idx = _step_at(profile, chunk, time)
    if profile.times[chunk, idx] != time or (position == 0 and idx == 0):
        return
    value = profile.free[chunk, idx] + profile.shift[chunk]
    if idx > 0:
        before = profile.free[chunk, idx - 1] + profile.shift[chunk]
    else:
        earlier = profile.order[position - 1]
        before = profile.free[earlier, profile.lengths[earlier] - 1] + profile.shift[earlier]
    if before != value:
        return
    times, free = profile.times, profile.free
    last = profile.lengths[chunk] - 1
    for at in range(idx, last):
        times[chunk, at] = times[chunk, at + 1]
        free[chunk, at] = free[chunk, at + 1]
    profile.lengths[chunk] = last
    if last == 0:
        _drop_chunk(profile, position)
    else:
        profile.begins[position] = times[chunk, 0]
        _measure(profile, chunk)
        _join(profile, position)
    _join(profile, position - 1)


@inner_kernel
def change(profile: FreeNodes, start: float, end: float, nodes: int) -> None:
    """Add `nodes` free nodes from `start` to `end`; a negative number takes them away."""
    if end <= start:
        return
    _begin_step(profile, end)
    _begin_step(profile, start)
    times, free, used = profile.times, profile.free, profile.used[0]
    position = _chunk_at(profile, start)
    first = _step_at(profile, profile.order[position], start)
    while position < used:
        chunk = profile.order[position]
        if first == 0 and position + 1 < used and profile.begins[position + 1] <= end:
            profile.shift[chunk] += nodes
            profile.low[chunk] += nodes
            profile.high[chunk] += nodes
        else:
            idx, count = first, profile.lengths[chunk]
            while idx < count and times[chunk, idx] < end:
                free[chunk, idx] += nodes
                idx += 1
            _measure(profile, chunk)
        position += 1
        first = 0
        if position < used and profile.begins[position] >= end:
            break
    if nodes > 0:
        _forget_step(profile, end)
        _forget_step(profile, start)


@inner_kernel
def earliest(profile: FreeNodes, submit: float, nodes: int, seconds: float) -> float:
    """Return the first time, not before `submit`, from which `nodes` nodes are free for `seconds` seconds."""
    times, free, used = profile.times, profile.free, profile.used[0]
    position = _chunk_at(profile, submit)
    first = max(0, _step_at(profile, profile.order[position], submit))
    start, end, blocked = submit, submit + seconds, False
    while position < used:
        chunk = profile.order[position]
        passed = profile.high[chunk] < nodes if blocked else profile.low[chunk] >= nodes
        if not passed:
            needed = nodes - profile.shift[chunk]
            for idx in range(first, profile.lengths[chunk]):
                if blocked:
                    if free[chunk, idx] >= needed:
                        start, blocked = times[chunk, idx], False
                        end = start + seconds
                elif times[chunk, idx] >= end:
                    return start
                elif free[chunk, idx] < needed:
                    blocked = True
        position += 1
        first = 0
        if not blocked and (position == used or profile.begins[position] >= end):
            return start
    return start


@inner_kernel
def place(profile: FreeNodes, sizes: Sizes, first: int, last: int, submit: float) -> tuple[float, int]:
    """Return the start and the index of the size with the earliest completion; ties go to the least area.

    The sizes with indices from `first` to before `last` are tried.
    """
    best_size, start, best_end, best_area = first, 0.0, np.inf, 0.0
    for size in range(first, last):
        nodes, seconds = sizes.nodes[size], sizes.seconds[size]
        if submit + seconds > best_end:
            break
        begin = earliest(profile, submit, nodes, seconds)
        if begin + seconds < best_end or (begin + seconds == best_end and nodes * seconds < best_area):
            best_size, start, best_end, best_area = size, begin, begin + seconds, nodes * seconds
    return start, best_size


@kernel
def serial_schedule(
    profile: FreeNodes,
    sizes: Sizes,
    order: IntArray,
    submit: FloatArray,
    starts: FloatArray,
    chosen: IntArray,
) -> None:
    """Place the jobs in the given order, each where it ends earliest; write `starts` and `chosen`."""
    for job in order:
        start, size = place(profile, sizes, sizes.offsets[job], sizes.offsets[job + 1], submit[job])
        change(profile, start, start + sizes.seconds[size], -sizes.nodes[size])
        starts[job] = start
        chosen[job] = size


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
def _uniform(random: NDArray[np.uint64]) -> float:
    """Return a random number in [0, 1), by xorshift64* (Vigna, ACM Trans. Math. Software 42(4), 2016)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0


@inner_kernel
def _count_upto(values: FloatArray, value: float) -> int:
    """Return how many of the sorted values are at most `value`."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def _cost(costs: Costs, job: int, start: float, seconds: float) -> float:
    """Return the cost of a job that starts at `start` and runs for `seconds` seconds."""
    time = start + seconds * costs.of_end[0]
    return float(max(costs.floor[job], costs.slope[job] * (time - costs.reference[job])))


@kernel
def fill(profile: FreeNodes, sizes: Sizes, order: IntArray, placed: Placed) -> None:
    """Put the jobs of `order` into the plan at the places that they already have."""
    for job in order:
        size = placed.chosen[job]
        change(profile, placed.starts[job], placed.starts[job] + sizes.seconds[size], -sizes.nodes[size])


@kernel
def take_out(profile: FreeNodes, sizes: Sizes, order: IntArray, placed: Placed) -> None:
    """Take the jobs of `order` out of the plan."""
    for job in order:
        size = placed.chosen[job]
        change(profile, placed.starts[job], placed.starts[job] + sizes.seconds[size], sizes.nodes[size])


@kernel
def put(profile: FreeNodes, sizes: Sizes, submit: FloatArray, order: IntArray, placed: Placed) -> None:
    """Put the jobs of `order` at their earliest places, each on the size that it has."""
    for job in order:
        size = placed.chosen[job]
        start, _ = place(profile, sizes, size, size + 1, submit[job])
        change(profile, start, start + sizes.seconds[size], -sizes.nodes[size])
        placed.starts[job] = start


@inner_kernel
def _draw(sizes: Sizes, submit: FloatArray, placed: Placed, moves: Moves, limit: int) -> int:
    """Draw a waiting job, and others that overlap its wait, into `moves.jobs`; return their number.

    With even chances, the others overlap the whole span from submission to end, or the span that the job
    would take from a random instant of its wait on.
    """
    random, jobs = moves.random, moves.jobs
    count = len(moves.by_start)
    at = _count_upto(moves.cumulative, _uniform(random) * moves.cumulative[count - 1])
    job = min(at, count - 1)
    start, seconds = placed.starts[job], sizes.seconds[placed.chosen[job]]
    begin, end = submit[job], start + seconds
    if _uniform(random) < 0.5:
        begin += _uniform(random) * (start - begin)
        end = begin + seconds
    last = _count_upto(moves.sorted_starts, end)
    first = _count_upto(moves.sorted_starts, begin)
    first = max(0, first - (last - first) // 2 - 32)
    jobs[0] = job
    drawn, tries = 1, 0
    limit = min(limit, last - first)
    while drawn < limit and tries < 3 * limit:
        tries += 1
        other = moves.by_start[first + int(_uniform(random) * (last - first))]
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
def _arrange(sizes: Sizes, costs: Costs, placed: Placed, moves: Moves, count: int) -> None:
    """Sort the jobs of a move into the order in which they are put back, one of four kinds, at random."""
    random, jobs, keys = moves.random, moves.jobs, moves.keys
    kind = int(_uniform(random) * 4)
    for idx in range(count):
        job = jobs[idx]
        if kind == 0:  # the waiting job first, the others as they were
            keys[idx] = placed.starts[job]
        elif kind == 1:  # at random
            keys[idx] = _uniform(random)
        else:  # jobs that cost much and need little area first, with noise
            size = placed.chosen[job]
            area = sizes.nodes[size] * sizes.seconds[size]
            keys[idx] = area / (costs.slope[job] + 1e-300) * (1.0 + _uniform(random))
    if kind % 2 == 0:
        keys[0] = -1.0
    for idx in range(1, count):
        job, key = jobs[idx], keys[idx]
        at = idx
        while at > 0 and keys[at - 1] > key:
            jobs[at], keys[at] = jobs[at - 1], keys[at - 1]
            at -= 1
        jobs[at], keys[at] = job, key


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
) -> int:
    """Make `count` moves, each of which stays if the plan costs no more; return how many made it cost less.

    Costs are compared by `first`, then by `second`.
    """
    better = 0
    jobs, old_starts, old_chosen = moves.jobs, moves.old_starts, moves.old_chosen
    for _ in range(count):
        removed = _draw(sizes, submit, placed, moves, 2 + int(_uniform(moves.random) * (MAX_REMOVED - 1)))
        _arrange(sizes, first, placed, moves, removed)
        before, before_2, least_to_come = 0.0, 0.0, 0.0
        for idx in range(removed):
            job = jobs[idx]
            size, start = placed.chosen[job], placed.starts[job]
            old_starts[idx], old_chosen[idx] = start, size
            before += _cost(first, job, start, sizes.seconds[size])
            before_2 += _cost(second, job, start, sizes.seconds[size])
            least_to_come += first.least[job]
            change(profile, start, start + sizes.seconds[size], sizes.nodes[size])
        slack = 1e-12 * before  # differences of costs up to this come from rounding
        after, after_2, inserted = 0.0, 0.0, 0
        while inserted < removed:
            job = jobs[inserted]
            begin, end = sizes.offsets[job], sizes.offsets[job + 1]
            if end - begin > 1:
                kind = _uniform(moves.random)
                if kind < 0.4:
                    begin = old_chosen[inserted]
                elif kind < 0.7:
                    begin += int(_uniform(moves.random) * (end - begin))
                if kind < 0.7:
                    end = begin + 1
            start, size = place(profile, sizes, begin, end, submit[job])
            after += _cost(first, job, start, sizes.seconds[size])
            after_2 += _cost(second, job, start, sizes.seconds[size])
            least_to_come -= first.least[job]
            if after + least_to_come > before + slack or start + sizes.seconds[size] > moves.latest_end[0]:
                break
            change(profile, start, start + sizes.seconds[size], -sizes.nodes[size])
            placed.starts[job], placed.chosen[job] = start, size
            inserted += 1
        less = after < before - slack
        if inserted == removed and (less or after_2 <= before_2 + 1e-12 * before_2):
            better += less or after_2 < before_2 - 1e-12 * before_2
            continue
        for idx in range(inserted):
            job = jobs[idx]
            size, start = placed.chosen[job], placed.starts[job]
            change(profile, start, start + sizes.seconds[size], sizes.nodes[size])
        for idx in range(removed):
            job, size, start = jobs[idx], old_chosen[idx], old_starts[idx]
            change(profile, start, start + sizes.seconds[size], -sizes.nodes[size])
            placed.starts[job], placed.chosen[job] = start, size
    return better
