"""Kernels of prices per job with starts in windows: what surely runs, which starts are left, what they cost.

A job with its start in [a, b] surely runs from b to a plus its run time. There it has no price, others share
what it leaves, and jobs that do not fit beside it cannot run: that bars starts.
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


class Dates(NamedTuple):
    """When jobs may start, and what surely runs; kernels change the arrays."""

    #: Shape (jobs,) each, seconds; infinity for a job that may wait for ever.
    earliest: FloatArray
    latest: FloatArray
    #: Shape (jobs,) each: from which slot and to before which one a job surely runs; equal if nowhere.
    begin: IntArray
    end: IntArray
    #: Shape (slots,): the nodes that such jobs hold.
    held: IntArray
    #: Shape (slots,), of which the first ``number[0]`` count: the slots in which they hold some, rising.
    busy: IntArray
    number: IntArray


class Spans(NamedTuple):
    """The closed spans of starts (s) that each job may take; job j has ``offsets[j]:offsets[j + 1]``."""

    offsets: IntArray
    low: FloatArray
    high: FloatArray


@inner_kernel
def _hold(jobs: PricedJobs, edges: FloatArray, dates: Dates) -> int:
    """Fill in what surely runs; return the most nodes that it holds."""
    dates.held[:] = 0
    most, slots = 0, len(edges) - 1
    for job in range(len(jobs.nodes)):
        until = dates.earliest[job] + jobs.runtime[job]
        dates.begin[job] = dates.end[job] = 0
        if dates.latest[job] < until:
            slot = bisect_right(edges, len(edges), dates.latest[job])
            if slot and edges[slot - 1] == dates.latest[job]:
                slot -= 1
            dates.begin[job] = slot
            while slot < slots and edges[slot + 1] <= until:
                dates.held[slot] += jobs.nodes[job]
                most = max(most, dates.held[slot])
                slot += 1
            dates.end[job] = slot
    dates.number[0] = 0
    for slot in range(slots):
        if dates.held[slot]:
            dates.busy[dates.number[0]] = slot
            dates.number[0] += 1
    return most


@inner_kernel
def _spans(
    jobs: PricedJobs, edges: FloatArray, capacity: int, dates: Dates, job: int, spans: Spans, at: int
) -> int:
    """Return how many spans of starts a job has; they are filled in from `at` on if there is room."""
    earliest, latest, runtime = dates.earliest[job], dates.latest[job], jobs.runtime[job]
    fill, count = at < len(spans.low), 0
    first = bisect_right(edges, len(edges), earliest) - 1
    for index in range(bisect_right(dates.busy, dates.number[0], first - 1), dates.number[0]):
        slot = dates.busy[index]
        if edges[slot] - runtime >= latest:
            break
        own = dates.begin[job] <= slot < dates.end[job]
        if not own and jobs.nodes[job] > capacity - dates.held[slot]:
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
def settle_dates(jobs: PricedJobs, edges: FloatArray, capacity: int, dates: Dates, offsets: IntArray) -> bool:
    """Narrow the windows of all jobs; fill in where the spans of each begin; return whether all have some."""
    slots = len(edges) - 1
    room = Spans(offsets, np.empty(slots + 1), np.empty(slots + 1))
    for _ in range(_ROUNDS):
        if _hold(jobs, edges, dates) > capacity:
            return False
        narrower = False
        for job in range(len(jobs.nodes)):
            found = _spans(jobs, edges, capacity, dates, job, room, 0)
            if not found:
                return False
            low, high = room.low[0], room.high[found - 1]
            narrower |= low > dates.earliest[job] or high < dates.latest[job]
            dates.earliest[job], dates.latest[job] = low, high
            offsets[job + 1] = offsets[job] + found
        if not narrower:
            return True
    for job in range(len(jobs.nodes)):
        found = _spans(jobs, edges, capacity, dates, job, room, 0)
        offsets[job + 1] = offsets[job] + found
    return True


@kernel
def list_spans(jobs: PricedJobs, edges: FloatArray, capacity: int, dates: Dates, spans: Spans) -> None:
    """Fill in the spans of all jobs."""
    for job in range(len(jobs.nodes)):
        _spans(jobs, edges, capacity, dates, job, spans, spans.offsets[job])


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
