"""Partition shaping: compact node sets on a mesh or torus (Bender et al. 2008, Linnert et al. 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.checks import flag, instance, items, shown, whole
from allocsolve.model.node_sets import NodeSet, checked_free, mask_without
from allocsolve.model.problem import checked_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model.arrays import BoolArray, IntArray

#: The most nodes of a topology, nodes along an axis, and axes: sums of pairwise distances then fit 64 bits.
MAX_NODES = 2**24
MAX_SIDE = 2**14
MAX_AXES = 32


@dataclass(frozen=True, slots=True)
class Topology:
    """A box of nodes in which each is linked to its neighbours along every axis.

    Node (x, y, z, ...) has the id x + y*X + z*X*Y + ...: the first axis varies fastest.

    Parameters
    ----------
    shape
        Nodes along each of 1 to 32 axes, each 1 to 2^14; at most 2^24 in all.
    wrap
        Whether each axis is a ring; none if empty. On an axis of one or two nodes it makes no difference.

    Raises
    ------
    InvalidProblem
        If a side or the number of axes is out of range, or `wrap` has another length than `shape`.

    Examples
    --------
    >>> mesh = Mesh((16, 8))
    >>> mesh.num_nodes, mesh.hop_distance(0, 127), Torus((16, 8)).hop_distance(0, 127)
    (128, 22, 2)
    >>> mesh.coordinates([0, 17]).tolist()
    [[0, 0], [1, 1]]
    """

    shape: tuple[int, ...]
    wrap: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        try:
            shape = tuple(map(whole, self.shape))
        except TypeError:
            msg = f"shape {shown(self.shape)} is not a sequence of integers"
            raise InvalidProblem(msg) from None
        wrap = tuple(flag("wrap", ring, InvalidProblem) for ring in items("wrap", self.wrap))
        wrap = wrap or (False,) * len(shape)
        if not 1 <= len(shape) <= MAX_AXES:
            msg = f"shape has {len(shape)} axes, not 1 to {MAX_AXES}"
            raise InvalidProblem(msg)
        if min(shape) < 1:
            msg = f"shape {shown(list(shape))}: side {shown(min(shape))} is below 1"
            raise InvalidProblem(msg)
        if max(shape) > MAX_SIDE:
            msg = f"shape: side {shown(max(shape))} is above 2^14"
            raise InvalidProblem(msg)
        if math.prod(shape) > MAX_NODES:
            msg = f"shape {list(shape)} has {math.prod(shape)} nodes, more than 2^24"
            raise InvalidProblem(msg)
        if len(wrap) != len(shape):
            msg = f"wrap has {len(wrap)} entries for the {len(shape)} axes of shape {list(shape)}"
            raise InvalidProblem(msg)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "wrap", wrap)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return math.prod(self.shape)

    @property
    def diameter(self) -> int:
        """Largest hop distance between two nodes."""
        return sum(side // 2 if wrap else side - 1 for side, wrap in zip(self.shape, self.wrap, strict=True))

    def coordinates(self, nodes: Sequence[int] | IntArray) -> IntArray:
        """Return the coordinates of nodes, shape (nodes, axes)."""
        axes = np.unravel_index(np.asarray(nodes, dtype=np.int64), self.shape, order="F")
        return np.stack(axes, axis=-1).astype(np.int64, copy=False)

    def node_at(self, coordinates: Sequence[int]) -> int:
        """Return the node at the given coordinates (not wrapped).

        Raises
        ------
        IndexError
            If there is none.
        """
        if len(coordinates) != len(self.shape) or not all(
            0 <= c < side for c, side in zip(coordinates, self.shape, strict=True)
        ):
            msg = f"there is no node at {tuple(coordinates)} in shape {self.shape}"
            raise IndexError(msg)
        return int(np.ravel_multi_index(tuple(coordinates), self.shape, order="F"))

    def hop_distance(self, one: int, other: int) -> int:
        """Return the least number of links between two nodes."""
        a, b = self.coordinates([one, other])
        return int(self._hops(a, b))

    def distances_from(self, node: int) -> IntArray:
        """Return the hop distance of every node from one, shape (nodes,)."""
        everything = self.coordinates(np.arange(self.num_nodes))
        return self._hops(everything, self.coordinates([node]))

    def _hops(self, a: IntArray, b: IntArray) -> IntArray:
        along = np.abs(a - b)
        around = np.where(self.wrap, np.array(self.shape) - along, along)
        hops: IntArray = np.minimum(along, around).sum(axis=-1)
        return hops

    def neighbours(self, node: int) -> tuple[int, ...]:
        """Return the nodes at hop distance 1, in increasing order."""
        here = self.coordinates([node])[0].tolist()
        neighbours = set()
        for axis, (side, wrap) in enumerate(zip(self.shape, self.wrap, strict=True)):
            for step in (-1, 1):
                there = here[axis] + step
                if wrap:
                    there %= side
                if 0 <= there < side and there != here[axis]:
                    neighbours.add(self.node_at([*here[:axis], there, *here[axis + 1 :]]))
        return tuple(sorted(neighbours))


def Mesh(shape: Sequence[int]) -> Topology:  # noqa: N802 - reads as the type that it makes
    """Return the topology of this shape without rings."""
    return Topology(items("shape", shape))


def Torus(shape: Sequence[int]) -> Topology:  # noqa: N802 - reads as the type that it makes
    """Return the topology of this shape with a ring along every axis."""
    shape = items("shape", shape)
    return Topology(shape, (True,) * len(shape))


#: What to minimise: ``pairwise``, the sum of the hop distances over all pairs of chosen nodes.
PARTITION_OBJECTIVES: tuple[str, ...] = ("pairwise",)


def checked_request(topology: Topology, free: Sequence[bool] | BoolArray, size: int) -> tuple[BoolArray, int]:
    """Return the mask of free nodes read-only, contiguous and unshared, and the size as an integer.

    Raises
    ------
    InvalidProblem
        If there is no topology, `free` is not a mask over its nodes, or the size is below 1 or above the
        number of free nodes.
    """
    machine = instance("topology", topology, Topology)
    return checked_free(free, size, machine.num_nodes, str(list(machine.shape)))


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
            If a busy node is not an integer, out of range or named twice; also as the constructor.
        """
        free = mask_without(busy, instance("topology", topology, Topology).num_nodes)
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
class Partition(NodeSet):
    """A set of nodes of a topology, kept in increasing order.

    Raises
    ------
    InvalidAnswer
        If the nodes are not integers. Whether they answer a problem is for the judge to say.
    """
