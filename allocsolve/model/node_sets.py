"""What problems that choose nodes have in common: which nodes are free, and the set of the chosen ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model.arrays import IntArray, array_of, frozen, packed_integers
from allocsolve.model.checks import integer, items, shown
from allocsolve.model.keyed import OfArrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model.arrays import BoolArray


def checked_free(
    free: Sequence[bool] | BoolArray, size: int, num_nodes: int, machine: str
) -> tuple[BoolArray, int]:
    """Return the mask of free nodes read-only, contiguous and unshared, and the size as an integer.

    `InvalidProblem` if `free` is not a mask over the nodes, or the size is below 1 or above the number of
    free nodes; messages call the machine by the noun `machine`.
    """
    mask = free if isinstance(free, np.ndarray) else array_of(free)
    if mask.dtype != np.bool_ or mask.shape != (num_nodes,):
        msg = (
            f"free is {mask.dtype} of shape {mask.shape}, not a mask over the {num_nodes} nodes of {machine}"
        )
        raise InvalidProblem(msg)
    size = integer("size", size)
    if size < 1:
        msg = f"size {shown(size)} is below 1"
        raise InvalidProblem(msg)
    if size > (num_free := int(np.count_nonzero(mask))):
        msg = f"size {shown(size)} is above the {num_free} free nodes"
        raise InvalidProblem(msg)
    if mask.flags.writeable or not mask.flags.c_contiguous:
        mask = np.array(mask, order="C")
        mask.setflags(write=False)
    return mask, size


def mask_without(busy: Sequence[int], num_nodes: int) -> BoolArray:
    """Return the mask of the nodes that are not busy, shape (nodes,)."""
    free = np.ones(num_nodes, dtype=np.bool_)
    for node in (integer("busy node", node) for node in items("busy", busy)):
        if not 0 <= node < num_nodes:
            msg = f"busy node {shown(node)} is not in 0..{num_nodes - 1}"
            raise InvalidProblem(msg)
        if not free[node]:
            msg = f"busy node {node} is named twice"
            raise InvalidProblem(msg)
        free[node] = False
    return free


@dataclass(frozen=True, slots=True, eq=False)
class NodeSet(OfArrays):
    """A set of nodes, kept in increasing order."""

    nodes: IntArray

    def __post_init__(self) -> None:
        nodes = packed_integers(self.nodes, "nodes")
        if nodes.ndim != 1:
            msg = f"nodes of shape {nodes.shape} are not a list of integers"
            raise InvalidAnswer(msg)
        # A stable sort: the default has vector instructions that take eight times as long on some processors.
        object.__setattr__(self, "nodes", frozen(np.sort(nodes, kind="stable")))
