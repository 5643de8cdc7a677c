"""Kernels of prices per job with starts in windows: what surely runs, which starts are left, what they cost.

A job with its start in [a, b] surely runs from b to a plus its run time. There it has no price, others share
what it leaves of each resource, and jobs that do not fit beside it cannot run, nor do they where too much is
closed: that bars starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_job_prices import PricedJobs, break_points, meet, new_breaks, soften
from allocsolve.kernels import bisect_right, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.bounds.workload._kernels_job_prices import Breaks
    from allocsolve.model import FloatArray, IntArray

#: How often windows are narrowed by what surely runs in others.
_ROUNDS = 8


class Rooms(NamedTuple):
    """What jobs need of a machine and what is there, in units of each resource; read-only."""

    needs: IntArray  #: shape (jobs, resources)
    room: IntArray  #: shape (slots, resources): the most that is there within each slot


class Dates(NamedTuple):
    """When jobs may start, and what surely runs; kernels change the arrays."""

    #: Shape (jobs,) each, seconds; infinity for a job that may wait for ever.
    earliest: FloatArray
    latest: FloatArray
    #: Shape (jobs,) each: from which slot and to before which one a job surely runs; equal if nowhere.
    begin: IntArray
    end: IntArray
    #: Shape (slots, resources): what such jobs leave.
    left: IntArray
    #: Shape (slots,), of which the first ``number[0]`` count: the slots in which some job does not fit into
    #: that, rising.
    full: IntArray
    number: IntArray


class Spans(NamedTuple):
    """The closed spans of starts (s) that each job may take; job j has ``offsets[j]:offsets[j + 1]``."""

    offsets: IntArray
    low: FloatArray
    high: FloatArray


@inner_kernel
def _fits(rooms: Rooms, left: IntArray, job: int, slot: int) -> bool:
    inside = True
    for resource in range(left.shape[1]):
        inside = inside and rooms.needs[job, resource] <= left[slot, resource]
    return inside


@inner_kernel
def _hold(jobs: PricedJobs, edges: FloatArray, rooms: Rooms, most: IntArray, dates: Dates) -> bool:
    """Fill in what surely runs; return whether all of it fits. `most` is the most that a job needs."""
    slots, resources = rooms.room.shape
    for slot in range(slots):
        for resource in range(resources):
            dates.left[slot, resource] = rooms.room[slot, resource]
    for job in range(len(rooms.needs)):
        until = dates.earliest[job] + jobs.runtime[job]
        dates.begin[job] = dates.end[job] = 0
        if dates.latest[job] < until:
            slot = bisect_right(edges, len(edges), dates.latest[job])
            if slot and edges[slot - 1] == dates.latest[job]:
                slot -= 1
            dates.begin[job] = slot
            while slot < slots and edges[slot + 1] <= until:
                for resource in range(resources):
                    dates.left[slot, resource] -= rooms.needs[job, resource]
                slot += 1
            dates.end[job] = slot
    dates.number[0] = 0
    for slot in range(slots):
        some = False
        for resource in range(resources):
            if dates.left[slot, resource] < 0:
                return False
            some = some or dates.left[slot, resource] < most[resource]
        if some:
            dates.full[dates.number[0]] = slot
            dates.number[0] += 1
    return True


@inner_kernel
def _spans(
    jobs: PricedJobs, edges: FloatArray, rooms: Rooms, dates: Dates, job: int, spans: Spans, at: int
) -> int:
    """Return how many spans of starts a job has; they are filled in from `at` on if there is room."""
    earliest, latest, runtime = dates.earliest[job], dates.latest[job], jobs.runtime[job]
    fill, count = at < len(spans.low), 0
    first = bisect_right(edges, len(edges), earliest) - 1
    for index in range(bisect_right(dates.full, dates.number[0], first - 1), dates.number[0]):
        slot = dates.full[index]
        if edges[slot] - runtime >= latest:
            break
        own = dates.begin[job] <= slot < dates.end[job]
        if not own and not _fits(rooms, dates.left, job, slot):
            if earliest <= edges[slot] - runtime:
                if fill:
                    spans.low[at + count], spans.high[at + count] = earliest, edges[slot] - runtime
                count += 1
            earliest = max(earliest, edges[slot + 1])
    if earliest <= latest:
        if fill:
            spans.low[at + count], spans.high[at + count] = earliest, latest
        count += 1
    return count


@kernel
def settle_dates(
    jobs: PricedJobs, edges: FloatArray, rooms: Rooms, most: IntArray, dates: Dates, offsets: IntArray
) -> bool:
    """Narrow the windows of all jobs; fill in where the spans of each begin; return whether all have some.

    `most` is the most that a job needs of each resource; shape (resources,).
    """
    slots, count = len(rooms.room), len(rooms.needs)
    room = Spans(offsets, np.empty(slots + 1), np.empty(slots + 1))
    for _ in range(_ROUNDS):
        if not _hold(jobs, edges, rooms, most, dates):
            return False
        narrower = False
        for job in range(count):
            found = _spans(jobs, edges, rooms, dates, job, room, 0)
            if not found:
                return False
            low, high = room.low[0], room.high[found - 1]
            narrower |= low > dates.earliest[job] or high < dates.latest[job]
            dates.earliest[job], dates.latest[job] = low, high
            offsets[job + 1] = offsets[job] + found
        if not narrower:
            return True
    for job in range(count):
        found = _spans(jobs, edges, rooms, dates, job, room, 0)
        offsets[job + 1] = offsets[job] + found
    return True


@kernel
def list_spans(jobs: PricedJobs, edges: FloatArray, rooms: Rooms, dates: Dates, spans: Spans) -> None:
    """Fill in the spans of all jobs."""
    for job in range(len(rooms.needs)):
        _spans(jobs, edges, rooms, dates, job, spans, spans.offsets[job])


@inner_kernel
def _slot_in_window(edges: FloatArray, first: int, count: int, time: float) -> int:
    slot = bisect_right(edges, len(edges), time) - 1 - first
    return max(-1, min(slot, count))


@inner_kernel
def _rows_in_spans(
    jobs: PricedJobs, edges: FloatArray, levels: FloatArray, breaks: Breaks, job: int, spans: Spans
) -> int:
    """Fill in the rows of a job, only those of starts in its spans, and the ends of the spans."""
    rows = break_points(jobs, edges, levels, breaks, job)
    begin, end = spans.offsets[job], spans.offsets[job + 1]
    if end == begin + 1 and spans.low[begin] == jobs.submit[job] and spans.high[begin] == np.inf:
        return rows
    kept = 0
    for row in range(rows):
        inside = False
        for span in range(begin, end):
            inside = inside or spans.low[span] <= breaks.start[row] <= spans.high[span]
        if inside:
            breaks.cost[kept], breaks.start[kept] = breaks.cost[row], breaks.start[row]
            breaks.from_slot[kept], breaks.from_share[kept] = breaks.from_slot[row], breaks.from_share[row]
            breaks.to_slot[kept], breaks.to_share[kept] = breaks.to_slot[row], breaks.to_share[row]
            kept += 1
    first = jobs.first[job]
    count = jobs.offsets[job + 1] - jobs.offsets[job]
    for span in range(begin, end):
        for side in range(2):
            start = spans.low[span] if side == 0 else spans.high[span]
            if start == np.inf or (side == 1 and start == spans.low[span]):
                continue
            slot = _slot_in_window(edges, first, count, start)
            freed = _slot_in_window(edges, first, count, start + jobs.runtime[job])
            meet(jobs, edges, levels, breaks, job, kept, start, slot, freed)
            kept += 1
    return kept


@kernel
def costs_in_spans(
    jobs: PricedJobs,
    edges: FloatArray,
    levels: FloatArray,
    spans: Spans,
    temperature: float,
    gradient: FloatArray,
    costs: FloatArray,
    starts: FloatArray,
) -> float:
    """Return the sum of the soft least costs of the jobs, and fill in its derivative by each level.

    At the temperature 0 it is the sum of the least costs; these and starts that have them are filled in.
    """
    longest, most = 0, 0
    for job in range(len(jobs.nodes)):
        longest = max(longest, jobs.offsets[job + 1] - jobs.offsets[job])
        most = max(most, spans.offsets[job + 1] - spans.offsets[job])
    breaks = new_breaks(longest + most + 1)
    passed = np.empty(longest + 1)
    total = 0.0
    for job in range(len(jobs.nodes)):
        base = jobs.offsets[job]
        rows = _rows_in_spans(jobs, edges, levels, breaks, job, spans)
        if temperature > 0:
            count = jobs.offsets[job + 1] - base
            total += soften(breaks, rows, temperature, passed, gradient, base, count)
            continue
        best = 0
        for row in range(rows):
            if breaks.cost[row] < breaks.cost[best]:
                best = row
        costs[job], starts[job] = breaks.cost[best], breaks.start[best]
        total += costs[job]
    return total
