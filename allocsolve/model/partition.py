"""Partition shaping: compact node sets on a mesh or torus (Bender et al. 2008, Linnert et al. 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.checks import flag, instance, items, shown, whole
from allocsolve.model.problem import KeyedByFields, NodeSet, checked_free, checked_labels, mask_without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model.arrays import BoolArray, IntArray

#: The most nodes of a topology, nodes along an axis, and axes: sums of pairwise distances then fit 64 bits.
MAX_NODES = 2**24
MAX_SIDE = 2**14
MAX_AXES = 32
#: The most links of a topology with a complete axis: those of a node grow with the side.
MAX_LINKS = 2**24


@dataclass(frozen=True, slots=True)
class Topology:
    """A box of nodes in which each is linked to its neighbours along every axis.

    An axis is a line, a ring or *complete*: every two nodes that differ along it only are linked.

    Node (x, y, z, ...) has the id x + y*X + z*X*Y + ...: the first axis varies fastest.

    `InvalidProblem` if a side or the number of axes is out of range, `wrap` or `complete` has another length
    than `shape`, an axis is both, or complete axes have more than 2^24 links.

    Parameters
    ----------
    shape
        Nodes along each of 1 to 32 axes, each 1 to 2^14; at most 2^24 in all.
    wrap
        Whether each axis is a ring; none if empty. On an axis of one or two nodes it makes no difference.
    complete
        Whether each axis is complete; none if empty. No axis is both. On an axis of one or two nodes it makes
        no difference.

    Examples
    --------
    >>> mesh = Mesh((16, 8))
    >>> mesh.num_nodes, mesh.hop_distance(0, 127), Torus((16, 8)).hop_distance(0, 127)
    (128, 22, 2)
    >>> mesh.coordinates([0, 17]).tolist()
    [[0, 0], [1, 1]]
    >>> HyperX((4, 4)).neighbours(0), HyperX((4, 4)).diameter
    ((1, 2, 3, 4, 8, 12), 2)
    """

    shape: tuple[int, ...]
    wrap: tuple[bool, ...] = ()
    complete: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        try:
            shape = tuple(map(whole, self.shape))
        except TypeError:
            raise InvalidProblem(f"shape {shown(self.shape)} is not a sequence of integers") from None
        wrap, complete = (
            tuple(flag(name, value, InvalidProblem) for value in items(name, values)) or (False,) * len(shape)
            for name, values in (("wrap", self.wrap), ("complete", self.complete))
        )
        if not 1 <= len(shape) <= MAX_AXES:
            raise InvalidProblem(f"shape has {len(shape)} axes, not 1 to {MAX_AXES}")
        if min(shape) < 1:
            raise InvalidProblem(f"shape {shown(list(shape))}: side {shown(min(shape))} is below 1")
        if max(shape) > MAX_SIDE:
            raise InvalidProblem(f"shape: side {shown(max(shape))} is above 2^14")
        if math.prod(shape) > MAX_NODES:
            raise InvalidProblem(f"shape {list(shape)} has {math.prod(shape)} nodes, more than 2^24")
        for name, values in (("wrap", wrap), ("complete", complete)):
            if len(values) != len(shape):
                msg = f"{name} has {len(values)} entries for the {len(shape)} axes of shape {list(shape)}"
                raise InvalidProblem(msg)
        both = [axis for axis in range(len(shape)) if wrap[axis] and complete[axis]]
        if both:
            raise InvalidProblem(f"axis {both[0]} is a ring by wrap and complete: it is one of them at most")
        if any(complete):
            degree = sum(side - 1 if full else 2 for side, full in zip(shape, complete, strict=True))
            if math.prod(shape) * degree > 2 * MAX_LINKS:
                raise InvalidProblem(f"shape {list(shape)} with complete axes has more than 2^24 links")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "wrap", wrap)
        object.__setattr__(self, "complete", complete)

    def __repr__(self) -> str:
        """Leave out what no axis is: records name machines so."""
        complete = f", complete={self.complete}" if any(self.complete) else ""
        return f"Topology(shape={self.shape}, wrap={self.wrap}{complete})"

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return math.prod(self.shape)

    @property
    def diameter(self) -> int:
        """Largest hop distance between two nodes."""
        return sum(
            min(side - 1, 1) if full else side // 2 if ring else side - 1
            for side, ring, full in zip(self.shape, self.wrap, self.complete, strict=True)
        )

    def coordinates(self, nodes: Sequence[int] | IntArray) -> IntArray:
        """Return the coordinates of nodes, shape (nodes, axes)."""
        axes = np.unravel_index(np.asarray(nodes, dtype=np.int64), self.shape, order="F")
        return np.stack(axes, axis=-1).astype(np.int64, copy=False)

    def node_at(self, coordinates: Sequence[int]) -> int:
        """Return the node at the given coordinates (not wrapped).

        `IndexError` if there is none.
        """
        if len(coordinates) != len(self.shape) or not all(
            0 <= c < side for c, side in zip(coordinates, self.shape, strict=True)
        ):
            raise IndexError(f"there is no node at {tuple(coordinates)} in shape {self.shape}")
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
        direct = np.where(self.complete, np.minimum(along, 1), along)
        hops: IntArray = np.minimum(direct, around).sum(axis=-1)
        return hops

    def neighbours(self, node: int) -> tuple[int, ...]:
        """Return the nodes at hop distance 1, in increasing order."""
        here = self.coordinates([node])[0].tolist()
        neighbours = set()
        for axis, (side, ring, full) in enumerate(zip(self.shape, self.wrap, self.complete, strict=True)):
            for step in range(1, side) if full else (-1, 1):
                there = here[axis] + step
                if ring or full:
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


def HyperX(shape: Sequence[int]) -> Topology:  # noqa: N802 - reads as the type that it makes
    """Return the topology of this shape in which every axis is complete, as in Ahn et al. 2009 (HyperX).

    One of sides 2 is a hypercube, which is the mesh of this shape, too.
    """
    shape = items("shape", shape)
    return Topology(shape, complete=(True,) * len(shape))


#: What to minimise: ``pairwise``, the sum of the hop distances over all pairs of chosen nodes.
PARTITION_OBJECTIVES: tuple[str, ...] = ("pairwise",)


def checked_request(topology: Topology, free: Sequence[bool] | BoolArray, size: int) -> tuple[BoolArray, int]:
    """Return the mask of free nodes read-only, contiguous and unshared, and the size as an integer."""
    machine = instance("topology", topology, Topology)
    return checked_free(free, size, machine.num_nodes, str(list(machine.shape)))


@dataclass(frozen=True, slots=True, eq=False)
class PartitionProblem(KeyedByFields):
    """Choose `size` free nodes such that the total pairwise hop distance is least.

    `InvalidProblem` if the mask has another length than the topology has nodes, `size` is out of range, or
    the sides of a box do not fit the axes or do not hold `size` nodes.

    Parameters
    ----------
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
    box
        Whether the chosen nodes must be a box: all nodes with one of some consecutive coordinates along each
        axis, on a ring also beyond its end; or the sides of the box, one for each axis. As a box is
        connected, `contiguous` asks for nothing more then. On a complete axis, too, its coordinates are
        consecutive, in the order in which the nodes are numbered.

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
    box: bool | tuple[int, ...] = False

    def __post_init__(self) -> None:
        free, size = checked_request(self.topology, self.free, self.size)
        object.__setattr__(self, "box", _checked_box(self.box, self.topology, size))
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
        box: bool | Sequence[int] = False,
    ) -> PartitionProblem:
        """Build a problem from the busy nodes."""
        free = mask_without(busy, instance("topology", topology, Topology).num_nodes)
        return cls(topology, free, size, contiguous, name, meta or {}, box)  # type: ignore[arg-type]  # made a tuple

    @property
    def answer_type(self) -> type[Partition]:
        """The type of its answers."""
        return Partition

    @property
    def busy(self) -> tuple[int, ...]:
        """The nodes that may not be chosen, in increasing order."""
        return tuple(np.flatnonzero(~self.free).tolist())


def _checked_box(box: object, topology: Topology, size: int) -> bool | tuple[int, ...]:
    """Return whether a box is asked for, or its sides."""
    if isinstance(box, bool | np.bool_):
        return bool(box)
    try:
        sides = tuple(map(whole, box))  # type: ignore[call-overload]  # anything else is refused
    except TypeError:
        raise InvalidProblem(f"box {shown(box)} is neither true, false nor a sequence of integers") from None
    shape = topology.shape
    if len(sides) != len(shape):
        raise InvalidProblem(f"box has {len(sides)} sides for the {len(shape)} axes of shape {list(shape)}")
    for axis, (side, length) in enumerate(zip(sides, shape, strict=True)):
        if not 1 <= side <= length:
            msg = f"box {list(sides)}: side {shown(side)} along axis {axis} is not in 1..{length}"
            raise InvalidProblem(msg)
    if math.prod(sides) != size:
        raise InvalidProblem(f"box {list(sides)} has {math.prod(sides)} nodes, but size is {size}")
    return sides


@dataclass(frozen=True, slots=True, eq=False)
class Partition(NodeSet):
    """A set of nodes of a topology, kept in increasing order."""
