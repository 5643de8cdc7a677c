"""What every allocator checks before it looks at a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidProblem

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, Topology

__all__ = ["checked_mask"]


def checked_mask(topology: Topology, free: BoolArray, size: int) -> BoolArray:
    """Return the mask of free nodes read-only and contiguous, as the kernels take it: a copy if need be.

    Raises
    ------
    InvalidProblem
        If it is not a mask over the nodes, or `size` is below 1 or above the number of free nodes.
    """
    if free.dtype != np.bool_ or free.shape != (topology.num_nodes,):
        msg = (
            f"free is {free.dtype} of shape {free.shape}, "
            f"not a mask over the {topology.num_nodes} nodes of {list(topology.shape)}"
        )
        raise InvalidProblem(msg)
    if size < 1:
        msg = f"size {size} is below 1"
        raise InvalidProblem(msg)
    if size > (num_free := np.count_nonzero(free)):
        msg = f"size {size} is above the {num_free} free nodes"
        raise InvalidProblem(msg)
    if free.flags.writeable or not free.flags.c_contiguous:
        free = np.array(free, order="C")
        free.setflags(write=False)
    return free
