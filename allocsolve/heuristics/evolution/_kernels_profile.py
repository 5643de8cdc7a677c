"""What a resource profile of a simulator asks of its tree: one application at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics.evolution._kernels_leaves import Tree, first_busy
from allocsolve.heuristics.evolution._kernels_peaks import change
from allocsolve.heuristics.evolution._kernels_windows import compact_in, place_in
from allocsolve.kernels.jit import kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["add", "find", "take_away"]


@kernel
def find(
    tree: Tree,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    num_nodes: int,
    earliest: int,
    compacting: bool,
    table: IntArray,
    work: IntArray,
    starts: IntArray,
) -> None:
    """Write the starts of the steps, shape (steps,): see `_kernels_windows.place_in` and `compact_in`."""
    place_in(tree, durations, nodes, max_durations, num_nodes, earliest, starts, table, work)
    late = work[0, : len(starts)]
    completion = starts[-1] + durations[-1]
    if compacting and compact_in(tree, durations, nodes, max_durations, num_nodes, completion, late):
        starts[:] = late


@kernel
def add(tree: Tree, starts: IntArray, nodes: IntArray, completion: int, num_nodes: int) -> int:
    """Add a placed application and return -1, or return its first step that finds too few free nodes."""
    for i in range(len(starts)):
        end = starts[i + 1] if i + 1 < len(starts) else completion
        if first_busy(tree, starts[i], end, num_nodes - nodes[i]) >= 0:
            return i
    change(tree, starts, nodes, completion, 1)
    return -1


@kernel
def take_away(tree: Tree, starts: IntArray, nodes: IntArray, completion: int) -> None:
    """Take away what was added."""
    change(tree, starts, nodes, completion, -1)
