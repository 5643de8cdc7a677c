"""When which nodes are closed, where nodes are places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.machine import ClosedWindow


class ClosedNodes(NamedTuple):
    """Spans in which nodes are closed, by node and time; those of one node do not touch. Read-only."""

    #: Shape (nodes + 1,): the spans of node i are ``first[i]:first[i + 1]``.
    first: IntArray
    #: Shape (spans,), in seconds; the end does not belong to it.
    start: FloatArray
    end: FloatArray
    #: Shape (distinct ends,), in seconds, rising: when a node opens again.
    opens: FloatArray


def closed_nodes(windows: Sequence[ClosedWindow], num_nodes: int) -> ClosedNodes:
    """Return when nodes that are places are closed; a window without ids closes all. O(spans log spans)."""
    said = [
        (node, window.start, window.end) for window in windows for node in window.node_ids or range(num_nodes)
    ]
    spans: list[tuple[int, float, float]] = []
    for span in sorted(said):
        if spans and spans[-1][0] == span[0] and span[1] <= spans[-1][2]:
            spans[-1] = (*spans[-1][:2], max(spans[-1][2], span[2]))
        else:
            spans.append(span)
    nodes = np.array([span[0] for span in spans], dtype=np.int64)
    start, end = (np.array([span[at] for span in spans], dtype=np.float64) for at in (1, 2))
    first = np.searchsorted(nodes, np.arange(num_nodes + 1))
    return ClosedNodes(frozen(first), frozen(start), frozen(end), frozen(np.unique(end)))


def closed_by_type(closed: ClosedNodes, type_of_node: IntArray) -> tuple[FloatArray, IntArray]:
    """Return at which times other nodes are closed, shape (times,), and how many of each type from then on.

    The counts have shape (times, types); at the last of the times all nodes are open.
    """
    kinds = np.repeat(type_of_node, np.diff(closed.first))
    times = np.unique(np.concatenate([closed.start, closed.end]))
    change = np.zeros((len(times), int(type_of_node.max()) + 1), dtype=np.int64)
    np.add.at(change, (np.searchsorted(times, closed.start), kinds), 1)
    np.subtract.at(change, (np.searchsorted(times, closed.end), kinds), 1)
    return times, np.cumsum(change, axis=0)
