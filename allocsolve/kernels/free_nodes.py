"""Free nodes over time as a step function, for kernels: what is reserved is taken away, and given back.

The steps lie in chunks of up to `CHUNK`, in order of time. Each chunk knows its least and its largest number
of free nodes, so a search passes over it at once, and what is the same for all its steps is written once.
A change costs O(chunks + CHUNK), a search O(chunks + CHUNK) for each step at which it is stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels.jit import inner_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

#: Steps of a chunk: 32 to 128 are equally fast.
CHUNK: Final = 64


class FreeNodes(NamedTuple):
    """Free nodes over time; the arrays are written."""

    #: Shape (chunks, CHUNK): when each step begins, in seconds.
    times: FloatArray
    #: Shape (chunks, CHUNK): free nodes from then on, less the `shift` of the chunk.
    free: IntArray
    #: Shape (chunks,): steps of each chunk.
    lengths: IntArray
    #: Shape (chunks,): to be added to `free`.
    shift: IntArray
    #: Shape (chunks,): least and largest number of free nodes.
    low: IntArray
    high: IntArray
    #: Shape (chunks,): the chunks in order of time, then those without steps.
    order: IntArray
    #: Shape (chunks,): when the chunks begin, in this order.
    begins: FloatArray
    #: One number: chunks that have steps.
    used: IntArray


def new_free_nodes(num_nodes: int, num_jobs: int) -> FreeNodes:
    """Return an idle cluster with room for so many jobs.

    Neighbours have more than half a chunk of steps together, and each job adds two steps at most.
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
def restart(profile: FreeNodes, time: float, nodes: int) -> None:
    """Forget all steps: from `time` on, the the first, there are `nodes` free nodes. O(1)."""
    chunk = profile.order[0]
    profile.times[chunk, 0], profile.free[chunk, 0], profile.shift[chunk] = time, nodes, 0
    profile.low[chunk] = profile.high[chunk] = nodes
    profile.lengths[chunk] = 1
    profile.begins[0] = time
    profile.used[0] = 1


@inner_kernel
def append(profile: FreeNodes, time: float, nodes: int) -> None:
    """Add a last step, which begins after all others: from `time` on, `nodes` nodes are free. O(1)."""
    position = profile.used[0] - 1
    chunk = profile.order[position]
    idx = profile.lengths[chunk]
    if idx == CHUNK:
        position += 1
        chunk, idx = profile.order[position], 0
        profile.shift[chunk] = 0
        profile.low[chunk] = profile.high[chunk] = nodes
        profile.begins[position] = time
        profile.used[0] = position + 1
    profile.times[chunk, idx], profile.free[chunk, idx] = time, nodes - profile.shift[chunk]
    profile.low[chunk] = min(profile.low[chunk], nodes)
    profile.high[chunk] = max(profile.high[chunk], nodes)
    profile.lengths[chunk] = idx + 1


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
    """Move the later half of a full chunk into a new one behind it."""
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
    """Take a chunk out of the order."""
    order, begins = profile.order, profile.begins
    chunk, last = order[position], profile.used[0] - 1
    for at in range(position, last):
        order[at] = order[at + 1]
        begins[at] = begins[at + 1]
    order[last] = chunk
    profile.used[0] = last


@inner_kernel
def _join(profile: FreeNodes, position: int) -> None:
    """Put the chunk behind this one into it, if both fill half a chunk at most."""
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
def _begin_step(profile: FreeNodes, time: float) -> tuple[int, int]:
    """Have a step begin at `time`, with as many free nodes as before.

    Returns the position of its chunk and its place there.
    """
    position = _chunk_at(profile, time)
    chunk = profile.order[position]
    idx = _step_at(profile, chunk, time)
    if profile.times[chunk, idx] == time:
        return position, idx
    if profile.lengths[chunk] == CHUNK:
        _halve(profile, position)
        if idx >= CHUNK // 2:
            idx -= CHUNK // 2
            position += 1
            chunk = profile.order[position]
    times, free = profile.times, profile.free
    for at in range(profile.lengths[chunk], idx + 1, -1):
        times[chunk, at] = times[chunk, at - 1]
        free[chunk, at] = free[chunk, at - 1]
    times[chunk, idx + 1] = time
    free[chunk, idx + 1] = free[chunk, idx]
    profile.lengths[chunk] += 1
    return position, idx + 1


@inner_kernel
def _forget_step(profile: FreeNodes, time: float) -> None:
    """Drop the step that begins at `time` if it has as many free nodes as the one before it."""
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
    """Add so many free nodes from `start` to `end`; a negative number takes them away."""
    if end <= start:
        return
    _begin_step(profile, end)
    position, first = _begin_step(profile, start)
    times, free, used = profile.times, profile.free, profile.used[0]
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
def limit_free(profile: FreeNodes, start: float, end: float, nodes: int) -> None:
    """Have at most `nodes` free nodes from `start` to `end`. O(chunks + steps in between)."""
    if end <= start:
        return
    _begin_step(profile, end)
    position, first = _begin_step(profile, start)
    times, free = profile.times, profile.free
    while position < profile.used[0]:
        chunk = profile.order[position]
        idx, most = first, nodes - profile.shift[chunk]
        while idx < profile.lengths[chunk] and times[chunk, idx] < end:
            free[chunk, idx] = min(free[chunk, idx], most)
            idx += 1
        _measure(profile, chunk)
        position += 1
        first = 0
        if position < profile.used[0] and profile.begins[position] >= end:
            break


@inner_kernel
def earliest(profile: FreeNodes, submit: float, nodes: int, seconds: float) -> float:
    """Return the first time from `submit` on from which `nodes` nodes are free for `seconds`."""
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
def least_free(profile: FreeNodes, start: float, end: float) -> int:
    """Return the least number of nodes that are free at once from `start` to `end`. O(chunks + CHUNK)."""
    times, free, used = profile.times, profile.free, profile.used[0]
    position = _chunk_at(profile, start)
    chunk = profile.order[position]
    first = max(0, _step_at(profile, chunk, start))
    least = free[chunk, first] + profile.shift[chunk]
    first += 1
    while position < used and (first > 0 or profile.begins[position] < end):
        chunk = profile.order[position]
        if first == 0 and position + 1 < used and profile.begins[position + 1] <= end:
            least = min(least, profile.low[chunk])
        else:
            idx, count = first, profile.lengths[chunk]
            while idx < count and times[chunk, idx] < end:
                least = min(least, free[chunk, idx] + profile.shift[chunk])
                idx += 1
        position += 1
        first = 0
    return int(least)
