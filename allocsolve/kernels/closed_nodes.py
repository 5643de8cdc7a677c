"""Nodes that are places and closed for a time, for kernels: nobody may be there then.

Nothing is compiled of it where no node is closed: then `ClosedNodes` is None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.search import bisect_right

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.closed_nodes import ClosedNodes


@inner_kernel
def is_closed(closed: ClosedNodes | None, node: int, begin: float, end: float) -> bool:
    """Return whether a node is closed at an instant, or from then until another one. O(spans of the node)."""
    if closed is None:
        return False
    for span in range(closed.first[node], closed.first[node + 1]):
        if closed.start[span] <= begin < closed.end[span] or begin < closed.start[span] < end:
            return True
    return False


@inner_kernel
def keep_open(closed: ClosedNodes | None, room: IntArray, begin: float, end: float) -> None:
    """Take the room off all nodes that are closed between two instants. O(nodes + spans)."""
    if closed is None:
        return
    for node in range(len(room)):
        if room[node] and is_closed(closed, node, begin, end):
            room[node] = 0


@inner_kernel
def next_opening(closed: ClosedNodes | None, time: float) -> float:
    """Return when the next node opens after an instant; infinite for never. O(log openings)."""
    if closed is None:
        return np.inf
    at = bisect_right(closed.opens, len(closed.opens), time)
    return float(closed.opens[at]) if at < len(closed.opens) else np.inf
