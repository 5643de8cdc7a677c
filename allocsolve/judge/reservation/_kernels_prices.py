"""Compiled, for the judge: what the cheapest window of each job costs under prices, in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.judge._kernels_slots import paid_until
from allocsolve.kernels import bisect_right, kernel

if TYPE_CHECKING:
    from allocsolve.judge.certificates import Prices
    from allocsolve.model import IntArray


@kernel
def cheapest_windows(
    times: tuple[IntArray, IntArray, IntArray],
    prices: Prices,
    least: IntArray,
) -> None:
    """Fill in for each job the least cost of a node for the run time, between arrival and deadline.

    Jobs that cannot end in time are skipped. The cost is piecewise linear in the start and bends where the
    run begins or ends at an edge: so the cheapest start is one of these, the first or the last possible one.
    O(jobs * slots * log slots).

    `times` are arrivals, run times and deadlines, shape (jobs,) each, `prices` those of a node per second;
    `least`, shape (jobs,), is written.
    """
    arrivals, runtimes, deadlines = times
    edges = prices.edges
    for job in range(len(arrivals)):
        first, length = arrivals[job], runtimes[job]
        last = deadlines[job] - length
        if last < first:
            continue
        best = paid_until(prices, first + length) - paid_until(prices, first)
        cost = paid_until(prices, last + length) - paid_until(prices, last)
        best = min(best, cost)
        for ends in range(2):
            shift = ends * length
            slot = bisect_right(edges, len(edges), first + shift)
            while slot < len(edges) and edges[slot] - shift < last:
                start = edges[slot] - shift
                later = paid_until(prices, start + length)
                best = min(best, later - paid_until(prices, start))
                slot += 1
        least[job] = best
