"""Partition shaping: compact node sets on a mesh or torus (Bender et al. 2008, Linnert et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model.arrays import IntArray, array_of, frozen, packed_integers
from allocsolve.model.checks import flag, instance, integer, items, shown
from allocsolve.model.problem import checked_labels
from allocsolve.model.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model.arrays import BoolArray

__all__ = ["PARTITION_OBJECTIVES", "Partition", "PartitionProblem", "checked_request"]

#: What to minimise: ``pairwise``, the sum of the hop distances over all pairs of chosen nodes.
PARTITION_OBJECTIVES: tuple[str, ...] = ("pairwise",)


def checked_request(topology: Topology, free: Sequence[bool] | BoolArray, size: int) -> tuple[BoolArray, int]:
    """Return the mask of free nodes read-only, contiguous and unshared, and the size as an integer.

    Raises
    ------
    InvalidProblem
        If there is no topology or no mask over its nodes, or the size is below 1 or above the number of free
        nodes.
    """
    num_nodes = instance("topology", topology, Topology).num_nodes
    mask = free if isinstance(free, np.ndarray) else array_of(free)
    if mask.dtype != np.bool_ or mask.shape != (num_nodes,):
        msg = (
            f"free is {mask.dtype} of shape {mask.shape}, "
            f"not a mask over the {num_nodes} nodes of {list(topology.shape)}"
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


@dataclass(frozen=True, slots=True, eq=False)
class PartitionProblem:
    """Choose `size` free nodes such that the total pairwise hop distance is least.

    Parameters
    ----------
    topology
        The machine.
    free
        Which nodes may be chosen: a mask, shape (nodes,). `PartitionProblem.of` takes the busy nodes instead.
    size
        How many nodes to choose, from 1 to the number of free ones.
    contiguous
        Whether the chosen nodes must be connected by links between them. Such a problem may have no answer,
        which is for a solver to find out: it is not an error.
    name
        For people; two problems that differ in name only have the same digest.
    meta
        Where the problem comes from: carried along, never read by a solver.

    Raises
    ------
    InvalidProblem
        If the mask has another length than the topology has nodes, or `size` is out of range.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> problem = PartitionProblem.of(Mesh((4, 2)), busy=[1, 6], size=3)
    >>> problem.busy, int(problem.free.sum())
    ((1, 6), 6)
    """

    topology: Topology
    free: BoolArray
    size: int
    contiguous: bool = False
    name: str = ""
    meta: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        free, size = checked_request(self.topology, self.free, self.size)
        object.__setattr__(self, "free", free)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "contiguous", flag("contiguous", self.contiguous, InvalidProblem))
        object.__setattr__(self, "meta", checked_labels(self.name, self.meta))

    @classmethod
    def of(
        cls,
        topology: Topology,
        *,
        busy: Sequence[int] = (),
        size: int,
        contiguous: bool = False,
        name: str = "",
        meta: Mapping[str, object] | None = None,
    ) -> PartitionProblem:
        """Build a problem from the busy nodes.

        Raises
        ------
        InvalidProblem
            If a busy node is no integer, out of range or named twice; also as the constructor.
        """
        free = np.ones(instance("topology", topology, Topology).num_nodes, dtype=np.bool_)
        for node in (integer("busy node", node) for node in items("busy", busy)):
            if not 0 <= node < topology.num_nodes:
                msg = f"busy node {shown(node)} is not in 0..{topology.num_nodes - 1}"
                raise InvalidProblem(msg)
            if not free[node]:
                msg = f"busy node {node} is named twice"
                raise InvalidProblem(msg)
            free[node] = False
        return cls(topology, free, size, contiguous, name, meta or {})

    @property
    def answer_type(self) -> type[Partition]:
        """The type of its answers."""
        return Partition

    @property
    def busy(self) -> tuple[int, ...]:
        """The nodes that may not be chosen, in increasing order."""
        return tuple(np.flatnonzero(~self.free).tolist())

    def _key(self) -> tuple[object, ...]:
        return self.topology, self.free.tobytes(), self.size, self.contiguous, self.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionProblem):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by construction: the mask stays read-only."""
        return type(self), (
            self.topology,
            self.free,
            self.size,
            self.contiguous,
            self.name,
            dict(self.meta),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A set of nodes, kept in increasing order.

    Raises
    ------
    InvalidAnswer
        If the nodes are not integers. Whether they answer a problem is for the judge to say.
    """

    nodes: IntArray

    def __post_init__(self) -> None:
        nodes = packed_integers(self.nodes, "nodes")
        if nodes.ndim != 1:
            msg = f"nodes of shape {nodes.shape} are not a list of integers"
            raise InvalidAnswer(msg)
        # Stable: the default has vector instructions that take eight times as long on some processors.
        object.__setattr__(self, "nodes", frozen(np.sort(nodes, kind="stable")))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return NotImplemented
        return np.array_equal(self.nodes, other.nodes)

    def __hash__(self) -> int:
        return hash(self.nodes.tobytes())

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by construction: the nodes stay read-only."""
        return type(self), (self.nodes,)
