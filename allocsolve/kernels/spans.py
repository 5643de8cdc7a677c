"""When nodes are closed, as kernels take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ClosedNodes(NamedTuple):
    """Spans in which nodes are closed, by node and time; those of one node do not touch. Read-only."""

    #: Shape (nodes + 1,): the spans of node i are ``first[i]:first[i + 1]``.
    first: NDArray[np.int64]
    #: Shape (spans,), in seconds; the end does not belong to it.
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    #: Shape (distinct ends,), in seconds, rising: when a node opens again.
    opens: NDArray[np.float64]
