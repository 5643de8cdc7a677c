"""What several families say in the same words: times, and when more nodes are held than there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model.columns import plain

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray


def shown_seconds(seconds: float) -> str:
    """Return a time as people write it: a whole number without a point."""
    return str(plain(seconds))


def overloads(moments: IntArray | FloatArray, held: IntArray, num_nodes: int) -> list[str]:
    """Return a line for each span of time in which more than all nodes are held.

    `moments` rise, in seconds, and nothing changes in between; `held`, of the same shape, are the nodes that
    are held from each moment on, 0 from the last one on.
    """
    over = held > num_nodes
    lines = []
    for first in np.flatnonzero(over & ~np.concatenate([[False], over[:-1]])).tolist():
        until = first + int(np.argmin(over[first:]))
        peak = first + int(np.argmax(held[first:until]))
        lines.append(
            f"from {shown_seconds(moments[first])} s to {shown_seconds(moments[until])} s "
            f"up to {held[peak]} nodes are held (first at {shown_seconds(moments[peak])} s) "
            f"on a cluster of {num_nodes}"
        )
    return lines
