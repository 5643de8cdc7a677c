"""Integer sums of the bound that prices per job give: nothing here may overflow, which the caller checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["JobRows", "WindowPrices", "fullest_sets", "least_costs"]


class JobRows(NamedTuple):
    """Jobs in ticks: an end at t costs ``slope * max(floor, t - late) / divisor``; read-only."""

    submit: IntArray
    runtime: IntArray
    slope: IntArray
    floor: IntArray
    late: IntArray  #: from when on an end is counted
    divisor: IntArray


class WindowPrices(NamedTuple):
    """Prices per tick: those of job j are of the slots from ``first[j]`` on; read-only."""

    edges: IntArray
    first: IntArray
    offsets: IntArray
    prices: IntArray


@kernel
def least_costs(jobs: JobRows, windows: WindowPrices, costs: IntArray) -> None:
    """Fill in the least cost of each job, prices included, rounded down. O(prices)."""
    edges, prices = windows.edges, windows.prices
    longest = 0
    for job in range(len(jobs.submit)):
        longest = max(longest, windows.offsets[job + 1] - windows.offsets[job])
    paid = np.zeros(longest + 1, np.int64)
    for job in range(len(jobs.submit)):
        base, first = windows.offsets[job], windows.first[job]
        count = windows.offsets[job + 1] - base
        for slot in range(count):
            paid[slot + 1] = paid[slot] + prices[base + slot] * (
                edges[first + slot + 1] - edges[first + slot]
            )
        submit, runtime = jobs.submit[job], jobs.runtime[job]
        slope, floor, late, divisor = jobs.slope[job], jobs.floor[job], jobs.late[job], jobs.divisor[job]
        best = np.int64(2**63 - 1)
        # The start is at the submission, where the cost leaves its floor, at an edge, or a run before one.
        for kind in range(3):
            held, freed = 0, 0  # the slots of the window at or before the start and the end
            for at in range(count + 1 if kind else 2):
                if kind == 0:
                    start = submit if at == 0 else max(submit, late + floor - runtime)
                elif kind == 1:
                    start = edges[first + at]
                else:
                    start = edges[first + at] - runtime
                if start < submit or (kind and not count):
                    continue
                end = start + runtime
                while held < count and edges[first + held + 1] <= start:
                    held += 1
                while freed < count and edges[first + freed + 1] <= end:
                    freed += 1
                cost = paid[freed] - paid[held]
                if freed < count:
                    cost += prices[base + freed] * max(0, end - edges[first + freed])
                if held < count:
                    cost -= prices[base + held] * max(0, start - edges[first + held])
                best = min(best, slope * max(floor, end - late) + divisor * cost)
        costs[job] = best // divisor


@kernel
def fullest_sets(windows: WindowPrices, nodes: IntArray, capacity: int, fullest: IntArray) -> None:
    """Fill in for each slot the greatest sum of prices of jobs that fit together. O(prices * capacity)."""
    slots = len(fullest)
    begins = np.zeros(slots + 1, np.int64)
    for job in range(len(nodes)):
        shift = windows.first[job] - windows.offsets[job]
        for entry in range(windows.offsets[job], windows.offsets[job + 1]):
            if windows.prices[entry] > 0:
                begins[shift + entry + 1] += 1
    for slot in range(slots):
        begins[slot + 1] += begins[slot]
    filled = begins.copy()
    sizes, prices = np.empty(begins[slots], np.int64), np.empty(begins[slots], np.int64)
    for job in range(len(nodes)):
        shift = windows.first[job] - windows.offsets[job]
        for entry in range(windows.offsets[job], windows.offsets[job + 1]):
            if windows.prices[entry] > 0:
                at = filled[shift + entry]
                sizes[at], prices[at] = nodes[job], windows.prices[entry]
                filled[shift + entry] += 1
    best, ahead = np.zeros(capacity + 1, np.int64), np.zeros(capacity + 1, np.int64)
    for slot in range(slots):
        held, paid = 0, 0
        for at in range(begins[slot], begins[slot + 1]):
            held += sizes[at]
            paid += prices[at]
        if held <= capacity:
            fullest[slot] = paid
            continue
        best[:] = 0
        for at in range(begins[slot], begins[slot + 1]):
            wide, price = sizes[at], prices[at]
            for size in range(wide):
                ahead[size] = best[size]
            for size in range(wide, capacity + 1):
                ahead[size] = max(best[size], best[size - wide] + price)
            best, ahead = ahead, best
        fullest[slot] = best[capacity]
