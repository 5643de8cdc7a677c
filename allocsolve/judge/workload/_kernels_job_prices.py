"""Compiled, for the judge: prices per job on machines of one or several resources, and what is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.judge.workload._kernels_dates import (
    OPEN,
    Machine,
    _least,
    _Spans,
    fits,
    fullest_set,
    surely_nowhere,
)
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.judge.workload._kernels_prices import JobRows, WindowPrices
    from allocsolve.model import BoolArray, IntArray


@kernel
def least_job_costs(
    jobs: JobRows,
    prices: WindowPrices,
    needs: IntArray,
    room: IntArray,
    barred: BoolArray,
    costs: IntArray,
) -> None:
    """Fill in the least cost of each job, its prices included, rounded down.

    A job runs in no slot in which it needs more of a resource than is there, which only `barred` jobs do;
    shape (jobs,). `needs` and `room` have the shapes (jobs, resources) and (slots, resources).
    O(barred jobs * slots + prices * log slots).
    """
    edges, slots = prices.edges, len(room)
    longest = 0
    for job in range(len(needs)):
        longest = max(longest, prices.offsets[job + 1] - prices.offsets[job])
    paid = np.zeros(longest + 1, np.int64)
    nothing = np.zeros(len(prices.prices), np.int64)
    spans = _Spans(np.empty(slots + 1, np.int64), np.empty(slots + 1, np.int64))
    surely = surely_nowhere(Machine(needs, room))
    for job in range(len(needs)):
        earliest, runtime, found = jobs.submit[job], jobs.runtime[job], 0
        # A run that was rounded to nothing meets nothing.
        for slot in range(slots if barred[job] and runtime > 0 else 0):
            if edges[slot + 1] > earliest and not fits(needs, room, job, slot):
                if earliest <= edges[slot] - runtime:
                    spans.low[found], spans.high[found] = earliest, edges[slot] - runtime
                    found += 1
                earliest = edges[slot + 1]
        spans.low[found], spans.high[found] = earliest, OPEN
        costs[job] = _least(jobs, prices, nothing, surely, spans, found + 1, paid, job)


@kernel
def fullest_sets(
    prices: WindowPrices, needs: IntArray, room: IntArray, table: int, fullest: IntArray
) -> None:
    """Fill in for each slot the greatest sum of prices of jobs that fit at once, resource by resource.

    `table` is the most that the product of one more than the room of each resource is in any slot.
    O(prices * table).
    """
    slots = len(room)
    begins = np.zeros(slots + 1, np.int64)
    for filling in range(2):
        filled = begins.copy()
        if not filling:
            jobs_of, gains = np.empty(0, np.int64), np.empty(0, np.int64)
        else:
            jobs_of, gains = np.empty(begins[slots], np.int64), np.empty(begins[slots], np.int64)
        for job in range(len(needs)):
            shift = prices.first[job] - prices.offsets[job]
            for entry in range(prices.offsets[job], prices.offsets[job + 1]):
                slot = shift + entry
                if prices.prices[entry] > 0 and fits(needs, room, job, slot):
                    if filling:
                        jobs_of[filled[slot]], gains[filled[slot]] = job, prices.prices[entry]
                        filled[slot] += 1
                    else:
                        begins[slot + 1] += 1
        if not filling:
            for slot in range(slots):
                begins[slot + 1] += begins[slot]
    best = np.zeros(table, np.int64)
    for slot in range(slots):
        fullest[slot] = fullest_set(needs, room, slot, (jobs_of, gains), begins[slot], begins[slot + 1], best)
