"""What the branch-and-bound search over cut counts remembers between two calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.exact.partition._kernels_log import Log
    from allocsolve.exact.partition._kernels_relaxation import Node
    from allocsolve.model import IntArray

__all__ = [
    "ACTIVE",
    "BEST",
    "BOUND",
    "FINAL",
    "LEVEL",
    "NODES",
    "ROOT",
    "ROUND",
    "STALLED",
    "TOP",
    "Search",
]

#: Entries of `Search.state`.
TOP, ACTIVE, ROUND, BEST, NODES, BOUND, LEVEL, STALLED, FINAL, ROOT = range(10)


class Search(NamedTuple):
    """All that the search remembers between two calls."""

    #: Shape (10,): see the names above.
    state: IntArray
    #: The node at hand; the stack of open nodes, one row each, and their bounds in 1/SCALE hops.
    node: Node
    stack: Node
    bounds: IntArray
    #: The multipliers of each open node in the log, -1 if they are not there.
    origins: IntArray
    #: Multipliers of the best bound of the node at hand.
    multipliers: IntArray
    #: Averages over the last evaluations: counts, and their s(k - s); shape (positions,).
    mean_counts: NDArray[np.float64]
    mean_values: NDArray[np.float64]
    #: The same of the last node without a parent, for the next one to begin with.
    root_multipliers: IntArray
    #: The last move of the multipliers; shape (1,): its length compared with Polyak's.
    direction: NDArray[np.float64]
    pace: NDArray[np.float64]
    #: The best cells so far, shape (k,).
    cells: IntArray
    #: What makes the proof.
    log: Log
