"""Kernels for the resource profile of a simulator, on one application at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics._kernels_fit import compact
from allocsolve.heuristics.evolution._kernels_peak_index import PeakIndex, first_busy
from allocsolve.heuristics.evolution._kernels_peaks import change
from allocsolve.heuristics.evolution._kernels_windows import place_in
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.heuristics._kernels_fit import Request
    from allocsolve.model import IntArray


@kernel
def fit_request(
    index: PeakIndex,
    request: Request,
    num_nodes: int,
    earliest: int,
    compacting: bool,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> None:
    """Write the starts of the steps, shape (steps,): see `_kernels_windows.place_in` and `compact`."""
    place_in(index, request, num_nodes, earliest, starts, table, work)
    num_steps = len(starts)
    late = work[0, :num_steps]
    completion = starts[num_steps - 1] + request.durations[num_steps - 1]
    if compacting and compact(index, first_busy, index.origin, request, num_nodes, completion, late):
        for i in range(num_steps):
            starts[i] = late[i]


@kernel
def add(index: PeakIndex, starts: IntArray, nodes: IntArray, completion: int, num_nodes: int) -> int:
    """Add a placed application and return -1, or return its first step for which too few nodes are free."""
    for i in range(len(starts)):
        end = starts[i + 1] if i + 1 < len(starts) else completion
        if first_busy(index, starts[i], end, num_nodes - nodes[i]) >= 0:
            return i
    change(index, starts, nodes, completion, 1)
    return -1


@kernel
def take_away(index: PeakIndex, starts: IntArray, nodes: IntArray, completion: int) -> None:
    """Remove an added application."""
    change(index, starts, nodes, completion, -1)
