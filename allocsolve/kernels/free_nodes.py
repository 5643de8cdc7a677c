"""Free nodes over time as a step function, for kernels: what is reserved is taken away, and given back.

The steps lie in chunks of up to `CHUNK`, in order of time; a short function is a single chunk, a plain list.
If there are more, each chunk knows bounds of its numbers of free nodes, so that a search passes over it at
once, and a change of all its steps is written once. A change costs O(chunks + CHUNK), a search O(chunks +
CHUNK) for each chunk at which it is stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.kernels.jit import inner_kernel
from allocsolve.kernels.records import Record, Records, record, records

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Steps of a chunk.
CHUNK: Final = 128


class FreeNumbers(Record):
    """The single number of `FreeNodes`."""

    #: Chunks that have steps.
    used: int


class Step(Record):
    """From `time` (s) on, `free` nodes are free, plus the `shift` of its chunk."""

    time: float
    free: int


class Chunk(Record):
    """Neighbouring steps, ``steps[first:last]``."""

    #: When the first step begins, in seconds.
    begin: float
    first: int
    last: int
    #: The first of the `CHUNK` places that the chunk may fill.
    room: int
    #: To be added to the free nodes of each step.
    shift: int
    #: No step has fewer and none has more free nodes. Often bounds that are not met: changes widen them and
    #: searches narrow them. Not kept up while there is only one chunk.
    low: int
    high: int


class FreeNodes(NamedTuple):
    """Free nodes over time; all is written."""

    numbers: FreeNumbers
    #: The chunks in order of time, then those without steps.
    chunks: Records[Chunk]
    steps: Records[Step]


def new_free_nodes(num_nodes: int, num_jobs: int) -> FreeNodes:
    """Return an idle cluster with room for the steps of `num_jobs` jobs.

    Neighbours have more than half a chunk of steps together, and each job adds two steps at most.
    """
    count = 4 * (2 * num_jobs + 4) // CHUNK + 8
    numbers, steps = record(FreeNumbers), records(Step, count * CHUNK)
    chunks = records(Chunk, count, room=np.arange(0, count * CHUNK, CHUNK))
    numbers["used"] = chunks[0]["last"] = 1
    steps[0]["free"] = num_nodes
    return FreeNodes(numbers, chunks, steps)


def free_steps(times: NDArray[np.float64], nodes: NDArray[np.int64], num_jobs: int) -> FreeNodes:
    """Return a cluster on which so many nodes are free from each time on, with room as `new_free_nodes` has.

    Each time counts as a job in that.

    Parameters
    ----------
    times, nodes
        Shape (steps,): seconds, rising, and nodes, each number another than the one before it.
    """
    free = new_free_nodes(0, num_jobs)
    for used, first in enumerate(range(0, len(times), CHUNK // 2)):
        chunk, part = free.chunks[used], slice(first, first + CHUNK // 2)
        count, room = len(times[part]), chunk["room"]
        steps: Any = free.steps[room : room + count]
        steps["time"], steps["free"] = times[part], nodes[part]
        chunk["begin"], chunk["first"], chunk["last"] = times[first], room, room + count
        chunk["low"], chunk["high"] = nodes[part].min(), nodes[part].max()
        free.numbers["used"] = used + 1
    return free


@inner_kernel
def restart(profile: FreeNodes, time: float, nodes: int) -> None:
    """Forget all steps: from `time` on, which is the first, `nodes` nodes are free. O(1)."""
    chunk, steps = profile.chunks[0], profile.steps
    steps[chunk.room].time, steps[chunk.room].free = time, nodes
    chunk.begin, chunk.shift = time, 0
    chunk.first, chunk.last = chunk.room, chunk.room + 1
    profile.numbers.used = 1


@inner_kernel
def append(profile: FreeNodes, time: float, nodes: int) -> None:
    """Add a last step, which begins after all others: from `time` on, `nodes` nodes are free.

    O(1), O(CHUNK) once a chunk.
    """
    chunks, steps, used = profile.chunks, profile.steps, profile.numbers.used
    chunk = chunks[used - 1]
    if _is_full(chunk):
        _measure(chunk, steps)
        chunk = chunks[used]
        chunk.begin, chunk.shift, chunk.low, chunk.high = time, 0, nodes, nodes
        chunk.first, chunk.last = chunk.room, chunk.room
        profile.numbers.used = used + 1
    steps[chunk.last].time, steps[chunk.last].free = time, nodes - chunk.shift
    chunk.last += 1
    chunk.low, chunk.high = min(chunk.low, nodes), max(chunk.high, nodes)


@inner_kernel
def _chunk_at(profile: FreeNodes, time: float) -> int:
    """Return the last chunk that begins by `time`, or the first one."""
    chunks = profile.chunks
    low, high = 0, profile.numbers.used
    while high - low > 1:
        middle = (low + high) >> 1
        if chunks[middle].begin <= time:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def _step_at(steps: Records[Step], first: int, last: int, time: float) -> int:
    """Return the last step in ``first:last`` that begins by `time`, or the first one."""
    low, high = first, last
    while high - low > 1:
        middle = (low + high) >> 1
        if steps[middle].time <= time:
            low = middle
        else:
            high = middle
    return low


@inner_kernel
def _measure(chunk: Chunk, steps: Records[Step]) -> None:
    """Set the bounds of the free nodes of a chunk. O(CHUNK)."""
    low = high = steps[chunk.first].free
    for at in range(chunk.first + 1, chunk.last):
        low = min(low, steps[at].free)
        high = max(high, steps[at].free)
    chunk.low, chunk.high = low + chunk.shift, high + chunk.shift


@inner_kernel
def _is_full(chunk: Chunk) -> bool:
    """Return whether a chunk has no room for two more steps."""
    return chunk.last + 2 > chunk.room + CHUNK


@inner_kernel
def _shift(steps: Records[Step], first: int, last: int, places: int) -> None:
    """Move the steps ``first:last`` by `places` places, back if negative."""
    old, new = steps[first:last], steps[first + places : last + places]
    if places < 0:
        for k in range(len(old)):
            new[k] = old[k]
    else:
        for k in range(len(old) - 1, -1, -1):
            new[k] = old[k]


@inner_kernel
def _make_room(profile: FreeNodes, at: int) -> bool:
    """Make room in a full chunk; return whether its later half had to go to a new one."""
    chunks, steps = profile.chunks, profile.steps
    chunk = chunks[at]
    first, last, room = chunk.first, chunk.last, chunk.room
    if 4 * (first - room) >= CHUNK:  # a quarter is free before the steps: to move them is paid for by that
        _shift(steps, first, last, room - first)
        chunk.first, chunk.last = room, room + last - first
        return False
    used = profile.numbers.used
    new = chunks[used].room
    for k in range(used, at + 1, -1):
        chunks[k] = chunks[k - 1]
    middle = (first + last) >> 1
    _shift(steps, middle, last, new - middle)
    chunk.last = middle
    behind = chunks[at + 1]
    behind.begin, behind.shift = steps[new].time, chunk.shift
    behind.room, behind.first, behind.last = new, new, new + last - middle
    profile.numbers.used = used + 1
    _measure(chunk, steps)
    _measure(behind, steps)
    return True


@inner_kernel
def _drop_chunk(profile: FreeNodes, at: int) -> None:
    """Take a chunk out of the order. O(chunks)."""
    chunks, last = profile.chunks, profile.numbers.used - 1
    room = chunks[at].room
    for k in range(at, last):
        chunks[k] = chunks[k + 1]
    chunks[last].room = room
    profile.numbers.used = last


@inner_kernel
def _join(profile: FreeNodes, at: int) -> None:
    """Put the chunk behind this one into it, if both fill half a chunk at most."""
    if at < 0 or at + 1 >= profile.numbers.used:
        return
    steps = profile.steps
    chunk, behind = profile.chunks[at], profile.chunks[at + 1]
    count, more = chunk.last - chunk.first, behind.last - behind.first
    if count + more > CHUNK // 2:
        return
    _shift(steps, chunk.first, chunk.last, chunk.room - chunk.first)
    chunk.first = chunk.room
    shift = behind.shift - chunk.shift
    for k in range(more):
        steps[chunk.room + count + k].time = steps[behind.first + k].time
        steps[chunk.room + count + k].free = steps[behind.first + k].free + shift
    chunk.last = chunk.room + count + more
    _drop_chunk(profile, at + 1)
    _measure(profile.chunks[at], steps)


@inner_kernel
def _change_within(  # noqa: C901, PLR0912 - in one pass, as this is where policies with plans spend their time
    steps: Records[Step], chunk: Chunk, start: float, end: float, nodes: int, until_time: float
) -> tuple[int, int]:
    """Add nodes from `start` to `end` in a chunk that lasts until `until_time`, with room for two more steps.

    Steps that begin or no longer have a reason to begin move the later ones, in one go.
    Return the range of the steps that have other free nodes now.
    """
    head, last = chunk.first, chunk.last
    first = _step_at(steps, head, last, start)
    begins = steps[first].time < start
    if begins:
        first += 1
    until = first
    while until < last and steps[until].time < end:
        until += 1
    ends = (steps[until].time if until < last else until_time) != end
    before = steps[max(first - 1, head)].free
    # where the changed steps and those after them move
    middle = 0
    if begins:
        middle = 1
    elif first > head and steps[first].free + nodes == before:
        middle = -1
    at_end = steps[until - 1].free  # that of the step before `first` if no step lies between
    tail, rest = middle, until
    if ends:
        tail += 1
    elif until < last and at_end + nodes == steps[until].free:
        tail -= 1
        rest += 1
    if tail > 0:
        _shift(steps, until, last, tail)
    if middle > 0:
        for k in range(until - 1, first - 1, -1):
            steps[k + 1].time = steps[k].time
            steps[k + 1].free = steps[k].free + nodes
        steps[first].time, steps[first].free = start, before + nodes
    elif middle < 0:
        for k in range(first + 1, until):
            steps[k - 1].time = steps[k].time
            steps[k - 1].free = steps[k].free + nodes
    else:
        for k in range(first, until):
            steps[k].free += nodes
    if ends:
        steps[until + middle].time, steps[until + middle].free = end, at_end
    if tail < 0:
        _shift(steps, rest, last, tail)
    chunk.last = last + tail
    return first, until + middle


@inner_kernel
def _change_chunk(
    steps: Records[Step], chunk: Chunk, start: float, end: float, nodes: int, until_time: float
) -> None:
    """Do the same to one chunk of several: its bounds are widened to hold for what has changed."""
    first, last = _change_within(steps, chunk, start, end, nodes, until_time)
    low, high = chunk.low - chunk.shift, chunk.high - chunk.shift
    for k in range(first, last):
        low, high = min(low, steps[k].free), max(high, steps[k].free)
    chunk.low, chunk.high = low + chunk.shift, high + chunk.shift


@inner_kernel
def _join_neighbours(profile: FreeNodes, at: int) -> None:
    """Join a chunk with its neighbours if they are short."""
    _join(profile, at)
    _join(profile, at - 1)


@inner_kernel
def change(profile: FreeNodes, start: float, end: float, nodes: int) -> None:
    """Add `nodes` free nodes from `start` to `end`; a negative number takes them away."""
    if end <= start:
        return
    chunks, steps = profile.chunks, profile.steps
    at = _chunk_at(profile, start)
    if _is_full(chunks[at]) and _make_room(profile, at):
        at = _chunk_at(profile, start)
    if profile.numbers.used == 1:
        _change_within(steps, chunks[0], start, end, nodes, np.inf)
        return
    behind = chunks[at + 1].begin if at + 1 < profile.numbers.used else np.inf
    if end <= behind:
        _change_chunk(steps, chunks[at], start, end, nodes, behind)
        _join_neighbours(profile, at)
        return
    until = _chunk_at(profile, end)
    if _is_full(chunks[until]) and _make_room(profile, until):
        until = _chunk_at(profile, end)
    _change_chunk(steps, chunks[at], start, behind, nodes, behind)
    for between in range(at + 1, until):
        chunk = chunks[between]
        chunk.shift += nodes
        chunk.low += nodes
        chunk.high += nodes
    if chunks[until].begin < end:
        behind = chunks[until + 1].begin if until + 1 < profile.numbers.used else np.inf
        _change_chunk(steps, chunks[until], chunks[until].begin, end, nodes, behind)
    _join_neighbours(profile, until)
    _join_neighbours(profile, at)


@inner_kernel
def limit_free(profile: FreeNodes, start: float, end: float, nodes: int) -> None:
    """Have at most `nodes` free nodes from `start` to `end`. O(chunks + CHUNK) for each step in between."""
    chunks, steps = profile.chunks, profile.steps
    while start < end:
        at = _chunk_at(profile, start)
        chunk = chunks[at]
        k = _step_at(steps, chunk.first, chunk.last, start)
        surplus, until = steps[k].free + chunk.shift - nodes, end
        if k + 1 < chunk.last:
            until = min(end, steps[k + 1].time)
        elif at + 1 < profile.numbers.used:
            until = min(end, chunks[at + 1].begin)
        if surplus > 0:
            change(profile, start, until, -surplus)
        start = until


@inner_kernel
def earliest(  # noqa: C901, PLR0912 - in one pass, as `_change_within`
    profile: FreeNodes, submit: float, nodes: int, seconds: float, known: float
) -> float:
    """Return the first time from `submit` on from which `nodes` nodes are free for `seconds`, or `known`.

    From `known` on, infinite for never, they are free anyway: the answer is not later.
    """
    chunks, steps, used = profile.chunks, profile.steps, profile.numbers.used
    # Places have no sign here: of each signed one, numba asks whether it counts from the end.
    at, one = 0, np.uint64(1)
    k: Any = np.uint64(chunks[0].first)
    if submit > chunks[0].begin:
        at = _chunk_at(profile, submit)
        k = np.uint64(_step_at(steps, chunks[at].first, chunks[at].last, submit))
    start, end, blocked = submit, min(submit + seconds, known), False
    while True:
        chunk = chunks[at]
        if used == 1 or (chunk.high >= nodes if blocked else chunk.low < nodes):
            needed, last, whole = nodes - chunk.shift, np.uint64(chunk.last), k == np.uint64(chunk.first)
            while True:
                if blocked:
                    while k < last and steps[k].free < needed:
                        k += one
                    if k == last:
                        if whole:  # nothing here is enough
                            chunk.high = nodes - 1
                        break
                    start, blocked = steps[k].time, False
                    if start >= known:
                        return known
                    end = min(start + seconds, known)
                else:
                    while k < last and steps[k].free >= needed and steps[k].time < end:
                        k += one
                    if k == last:
                        if whole:  # all here is enough
                            chunk.low = nodes
                        break
                    if steps[k].time >= end:
                        return start
                    blocked = True
                k += one
                whole = False
        at += 1
        until = known if blocked else end
        if at == used or chunks[at].begin >= until:
            return known if blocked else start
        k = np.uint64(chunks[at].first)


@inner_kernel
def least_free(profile: FreeNodes, start: float, end: float) -> int:
    """Return the least number of nodes that are free at once from `start` to `end`. O(chunks + CHUNK)."""
    chunks, steps, used = profile.chunks, profile.steps, profile.numbers.used
    at = _chunk_at(profile, start)
    k = _step_at(steps, chunks[at].first, chunks[at].last, start)
    least = steps[k].free + chunks[at].shift
    while True:
        chunk = chunks[at]
        if used == 1 or chunk.low < least:
            shift, last = chunk.shift, chunk.last
            while k < last and steps[k].time < end:
                least = min(least, steps[k].free + shift)
                k += 1
        at += 1
        if at == used or chunks[at].begin >= end:
            return int(least)
        k = chunks[at].first


@inner_kernel
def has_room(profile: FreeNodes, start: float, end: float, nodes: int) -> bool:
    """Return whether so many nodes are free from `start` to `end`. O(chunks + CHUNK), less where not."""
    chunks, steps, used = profile.chunks, profile.steps, profile.numbers.used
    at = _chunk_at(profile, start)
    k = _step_at(steps, chunks[at].first, chunks[at].last, start)
    while True:
        chunk = chunks[at]
        if used == 1 or chunk.low < nodes:
            needed, last = nodes - chunk.shift, chunk.last
            while k < last and steps[k].time < end:
                if steps[k].free < needed:
                    return False
                k += 1
        at += 1
        if at == used or chunks[at].begin >= end:
            return True
        k = chunks[at].first


@inner_kernel
def forget_past(profile: FreeNodes, now: float) -> None:
    """Let the first step begin now. O(chunks) for each chunk that is over, O(1) for each step."""
    while profile.numbers.used > 1 and profile.chunks[1].begin <= now:
        _drop_chunk(profile, 0)
    steps, chunk = profile.steps, profile.chunks[0]
    first, last = chunk.first, chunk.last
    while first + 1 < last and steps[first + 1].time <= now:
        first += 1
    steps[first].time = now
    chunk.begin, chunk.first = now, first
