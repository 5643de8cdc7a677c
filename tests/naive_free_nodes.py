"""Free nodes over time as what they are: one number for each second."""

from __future__ import annotations

import numpy as np


class FreeBySecond:
    """Free nodes in each second of a span at whose end all nodes are free."""

    def __init__(self, num_nodes: int, seconds: int) -> None:
        self.free = np.full(seconds, num_nodes)

    def change(self, start: int, end: int, nodes: int) -> None:
        """Add free nodes from start to end."""
        self.free[start:end] += nodes

    def earliest(self, submit: int, nodes: int, seconds: int, known: float) -> float:
        """Return the first second from which the nodes are free for this long, or until `known`."""
        start = submit
        while start < known:
            end = int(min(start + seconds, known, len(self.free)))
            if (self.free[start:end] >= nodes).all():
                return start
            start += 1
        return known
