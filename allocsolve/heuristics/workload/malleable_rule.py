"""What a policy that resizes running jobs does, as kernels take it, and the room that they need for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels.records import records
from allocsolve.simulation.state import Entry

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import QueueRule
    from allocsolve.kernels.records import Records
    from allocsolve.model.arrays import IntArray

__all__ = [
    "ABOVE_MIN",
    "ABOVE_PREFERRED",
    "FOR_NOBODY",
    "PROMISED_NODES",
    "SHARE_ABOVE_MIN",
    "SHARE_ABOVE_PREFERRED",
    "STARTED_NOW",
    "MalleableRule",
    "Scratch",
    "initial_scratch",
]

#: Codes of `MalleableRule.measure`: nodes above the fewest or the preferred ones, also as shares of the range
#: from there to the most; with shares jobs shrink and grow node by node, all together.
ABOVE_MIN: Final = 0
ABOVE_PREFERRED: Final = 1
SHARE_ABOVE_MIN: Final = 2
SHARE_ABOVE_PREFERRED: Final = 3

#: What notes of decisions say instead of whom a resize is for.
FOR_NOBODY: Final = -1
PROMISED_NODES: Final = -2
STARTED_NOW: Final = -3


class MalleableRule(NamedTuple):
    """What a policy does, as kernels take it."""

    queue: QueueRule
    measure: int
    #: Whether a waiting job asks for its preferred nodes, and running jobs keep their preferred ones for it.
    needs_preferred: bool
    keeps_preferred: bool
    #: Whether it then asks for its fewest nodes, at last of jobs down to their fewest ones.
    relaxes: bool
    fresh: bool
    combine: bool
    protect_head: bool


class Scratch(NamedTuple):
    """Room for one call. Shape (jobs,) or as said."""

    #: By job: the size that it will have, and the call in which it was shrunk last.
    level: IntArray
    victim: IntArray
    #: A heap of jobs by measure, which stands where times do; without places.
    heap: Records[Entry]
    places: IntArray
    #: Jobs whose sizes change.
    touched: IntArray


def initial_scratch(count: int) -> Scratch:
    """Return the room for so many jobs."""
    return Scratch(
        level=np.zeros(count, dtype=np.int64),
        victim=np.full(count, -1, dtype=np.int64),
        heap=records(Entry, count),
        places=np.zeros(0, dtype=np.int64),
        touched=np.zeros(count, dtype=np.int64),
    )
