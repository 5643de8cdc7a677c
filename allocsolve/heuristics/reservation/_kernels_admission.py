"""Kernels of static admission: each job gets the first start at which there are nodes for it.

The module also holds what follows admission: sorting the nodes of jobs, and labelling the nodes of jobs that
were accepted by count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.reservation._kernels_shapes import (
    COUNT_ONLY,
    choose,
    has_shape,
    write_bits,
    write_free,
)
from allocsolve.heuristics.reservation._kernels_timeline import (
    BOOKING,
    FREE,
    add_booking,
    drop_past,
    earliest_count,
    has_room,
    next_window,
    open_window,
    trailing_zeros,
)
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.heuristics.reservation._kernels_shapes import Machine
    from allocsolve.heuristics.reservation._kernels_timeline import Timeline
    from allocsolve.model import IntArray


class Requests(NamedTuple):
    """Jobs that ask for nodes, as read-only arrays of shape (jobs,).

    Sizes are in nodes, times in seconds. Jobs are in the order of their arrivals.
    """

    arrival: IntArray
    size: IntArray
    runtime: IntArray
    deadline: IntArray


@kernel
def earliest_start(
    timeline: Timeline,
    machine: Machine,
    rule: int,
    first_only: bool,
    shape: int,
    time: int,
    runtime: int,
    latest: int,
    nodes: IntArray,
) -> int:
    """Return the first start at which a rule finds nodes of a shape, and fill `nodes`; -1 if there is none.

    The starts tried are `time` and the later ends of bookings up to `latest`. With `COUNT_ONLY`, only the
    length of `nodes` matters.
    """
    if time > latest:
        return -1
    everything, size = machine.everything, len(nodes)
    if rule == COUNT_ONLY:
        num_nodes: int = np.int64(everything[0])  # type: ignore[assignment]  # signed
        return earliest_count(timeline, time, runtime, latest, num_nodes - size)
    open_window(timeline, time)
    start = next_window(timeline, everything, time, runtime, latest, size)
    while start >= 0:
        if choose(machine, rule, first_only, timeline.rows[FREE], nodes) and has_shape(machine, shape, nodes):
            return start
        start = next_window(timeline, everything, -1, runtime, latest, size)
    return -1


@kernel
def move_on(timeline: Timeline, machine: Machine, time: int, runtime: int, latest: int, size: int) -> int:
    """Return the first start with enough free nodes, and write these to the mask; -1 if there is none.

    The starts tried are `time` and the later ends of bookings; if `time` is -1, those after the last result.
    """
    if time > latest:
        return -1
    if time >= 0:
        open_window(timeline, time)
    start = next_window(timeline, machine.everything, time, runtime, latest, size)
    if start >= 0:
        write_free(machine, timeline.rows[FREE])
    return start


@kernel
def admit_jobs(
    timeline: Timeline,
    machine: Machine,
    rule: int,
    first_only: bool,
    shape: int,
    requests: Requests,
    first: int,
    last: int,
    starts: IntArray,
    offsets: IntArray,
    nodes: IntArray,
) -> int:
    """Admit the jobs from `first` to before `last`; return the first job for which the timeline is too small.

    The start of a rejected job becomes -1; the nodes of job j are ``nodes[offsets[j]:offsets[j + 1]]``.
    """
    for job in range(first, last):
        if not has_room(timeline):
            return job
        time, runtime = requests.arrival[job], requests.runtime[job]
        drop_past(timeline, time)
        chosen = nodes[offsets[job] : offsets[job] + requests.size[job]]
        latest = requests.deadline[job] - runtime
        start = earliest_start(timeline, machine, rule, first_only, shape, time, runtime, latest, chosen)
        starts[job] = start
        offsets[job + 1] = offsets[job]
        if start >= 0:
            offsets[job + 1] += requests.size[job]
            if rule == COUNT_ONLY:
                timeline.rows[BOOKING, 0] = np.uint64(len(chosen))
            else:
                write_bits(machine, chosen, timeline.rows[BOOKING])
            add_booking(timeline, start, start + runtime)
    return last


@kernel
def sort_sets(num_nodes: int, offsets: IntArray, nodes: IntArray) -> None:
    """Sort the nodes of each job."""
    words = np.zeros((num_nodes + 63) >> 6, dtype=np.uint64)
    for job in range(len(offsets) - 1):
        for k in range(offsets[job], offsets[job + 1]):
            words[nodes[k] >> 6] |= np.uint64(1) << np.uint64(nodes[k] & 63)
        word, k = 0, offsets[job]
        while k < offsets[job + 1]:
            while words[word] == 0:
                word += 1
            nodes[k] = 64 * word + trailing_zeros(words[word])
            words[word] &= words[word] - np.uint64(1)
            k += 1


@kernel
def label_nodes(
    by_start: IntArray,
    by_end: IntArray,
    times: tuple[IntArray, IntArray],
    offsets: IntArray,
    num_nodes: int,
    nodes: IntArray,
) -> None:
    """Write the nodes of each job: by start, jobs get the nodes that became free last. O(nodes of all jobs).

    Accepted jobs are sorted by start and by end, in seconds, shape (jobs,); at no time do they hold more than
    all nodes. Job j gets ``nodes[offsets[j]:offsets[j + 1]]``, which is written.
    """
    starts, ends = times
    free = np.arange(num_nodes - 1, -1, -1)
    count, left = num_nodes, 0
    for at in range(len(by_start)):
        job = by_start[at]
        while left < len(by_end) and ends[by_end[left]] <= starts[job]:
            over = by_end[left]
            for row in range(offsets[over], offsets[over + 1]):
                free[count] = nodes[row]
                count += 1
            left += 1
        for row in range(offsets[job], offsets[job + 1]):
            count -= 1
            nodes[row] = free[count]
