"""Compiled, for the judge: what the cheapest window of each job costs under prices, in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import bisect_right, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["cheapest_windows"]


@inner_kernel
def _until(edges: IntArray, prices: IntArray, integral: IntArray, moment: int) -> int:
    """Return what a node costs up to a moment."""
    slot = bisect_right(edges, len(edges), moment) - 1
    if slot < 0:
        return 0
    return int(integral[slot] + prices[slot] * (moment - edges[slot]))


@kernel
def cheapest_windows(
    times: tuple[IntArray, IntArray, IntArray],
    edges: IntArray,
    prices: IntArray,
    integral: IntArray,
    least: IntArray,
) -> None:
    """Fill in the least cost of a node from a start for the run time, within arrival and deadline.

    That of a job that cannot end in time is left as it is. The cost of a window is piecewise linear in its
    start and turns where the window begins or ends at an edge: one of these starts, or the first or the last
    one, is the cheapest. O(jobs * slots * log slots).

    Parameters
    ----------
    times
        Arrivals, run times and deadlines, shape (jobs,) each.
    edges
        Shape (slots + 1,), rising.
    prices, integral
        Shape (slots + 1,): the price of each slot and 0; what a node costs up to each edge.
    least
        Shape (jobs,), written.
    """
    arrivals, runtimes, deadlines = times
    for job in range(len(arrivals)):
        first, length = arrivals[job], runtimes[job]
        last = deadlines[job] - length
        if last < first:
            continue
        best = _until(edges, prices, integral, first + length) - _until(edges, prices, integral, first)
        cost = _until(edges, prices, integral, last + length) - _until(edges, prices, integral, last)
        best = min(best, cost)
        for ends in range(2):
            shift = ends * length
            slot = bisect_right(edges, len(edges), first + shift)
            while slot < len(edges) and edges[slot] - shift < last:
                start = edges[slot] - shift
                later = _until(edges, prices, integral, start + length)
                best = min(best, later - _until(edges, prices, integral, start))
                slot += 1
        least[job] = best
