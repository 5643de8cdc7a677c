"""List scheduling of many applications, on a resource profile in leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics.evolution._kernels_leaves import Tree, has_room
from allocsolve.heuristics.evolution._kernels_peaks import change
from allocsolve.heuristics.evolution._kernels_windows import compact_in, place_in
from allocsolve.kernels.jit import kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["place_next"]


@kernel
def place_next(
    tree: Tree,
    position: int,
    order: IntArray,
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> int:
    """Place applications from this position of the order on, as long as the tree has room.

    Writes `starts`, shape (steps,); returns the position of the first application that was not placed.
    """
    while position < len(order):
        app = order[position]
        a, b = offsets[app], offsets[app + 1]
        ds, ns, ls, placed = durations[a:b], nodes[a:b], max_durations[a:b], starts[a:b]
        span = ds.sum()
        if not has_room(tree, releases[app], span, b - a):
            break
        place_in(tree, ds, ns, ls, num_nodes, releases[app], placed, table, work)
        completion = placed[-1] + ds[-1]
        late = work[0, : b - a]
        if (
            compacting
            and completion - placed[0] > span
            and compact_in(tree, ds, ns, ls, num_nodes, completion, late)
        ):
            placed[:] = late
        change(tree, placed, ns, completion, 1)
        position += 1
    return position
