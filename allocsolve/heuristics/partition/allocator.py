"""A topology as the arrays that kernels take, and the common parts of all allocators."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import Budget, Clock, Partition, Result, Status, frozen
from allocsolve.model.options import Options
from allocsolve.model.partition import checked_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allocsolve.model import BoolArray, IntArray, Limit, PartitionProblem, Topology

#: The number of a complete axis in `Lattice.wrap`.
COMPLETE: Final = 2


class Lattice(NamedTuple):
    """Read-only arrays; node ids as in `allocsolve.model.Topology`."""

    #: Shape (axes,).
    shape: IntArray
    #: Shape (axes,): 0 for a line, 1 for a ring, 2 for a complete axis of more than two nodes.
    wrap: IntArray
    #: Shape (nodes, axes).
    coordinates: IntArray
    #: Shape (nodes + 1,): the neighbours of a node are ``neighbours[offsets[node]:offsets[node + 1]]``.
    offsets: IntArray
    #: Sorted for each node.
    neighbours: IntArray


@lru_cache(maxsize=8)
def lattice(topology: Topology) -> Lattice:
    """Return the arrays of a topology; those used last are cached. O(nodes * axes)."""
    nodes = np.arange(topology.num_nodes, dtype=np.int64)
    coordinates, count = topology.coordinates(nodes), topology.num_nodes
    strides = np.cumprod([1, *topology.shape[:-1]])
    pairs = []
    kinds = [
        COMPLETE if full and side > 2 else int(ring)
        for side, ring, full in zip(topology.shape, topology.wrap, topology.complete, strict=True)
    ]
    for axis, (side, kind) in enumerate(zip(topology.shape, kinds, strict=True)):
        here = coordinates[:, axis]
        for step in range(1, side) if kind == COMPLETE else (-1, 1):
            there = (here + step) % side if kind and side > 2 else here + step
            linked = (there >= 0) & (there < side) & (there != here)
            pairs.append((nodes * count + nodes + (there - here) * strides[axis])[linked])
    links = np.sort(np.concatenate(pairs))
    offsets = np.searchsorted(links, np.arange(count + 1) * count)
    return Lattice(
        frozen(np.array(topology.shape, dtype=np.int64)),
        frozen(np.array(kinds, dtype=np.int64)),
        frozen(np.ascontiguousarray(coordinates)),
        frozen(offsets.astype(np.int64)),
        frozen(links % count),
    )


def nodes_at(shape: Sequence[int], coordinates: Iterable[IntArray]) -> IntArray:
    """Return the nodes with one of these coordinates along each axis, the first axis fastest."""
    nodes = np.zeros(1, dtype=np.int64)
    stride = 1
    for side, along in zip(shape, coordinates, strict=True):
        nodes = np.add.outer(along * stride, nodes).ravel()
        stride *= side
    return nodes


@inner_kernel
def distance_along(first: int, second: int, side: int, ring: int) -> int:
    """Return the distance of two coordinates along an axis."""
    direct = abs(first - second)
    if ring == 0:
        return direct
    return min(direct, side - direct) if ring == 1 else min(direct, 1)


@inner_kernel
def hops(lattice: Lattice, first: int, second: int) -> int:
    """Return the hop distance of two nodes."""
    total = 0
    for axis in range(len(lattice.shape)):
        here, there = lattice.coordinates[first, axis], lattice.coordinates[second, axis]
        total += distance_along(here, there, lattice.shape[axis], lattice.wrap[axis])
    return total


@inner_kernel
def line_cost(counts: IntArray, start: int, side: int, ring: int, size: int) -> int:
    """Return the sum of distances over all pairs of `size` points along an axis, ``counts[start + c]`` at c.

    Each place between two coordinates is crossed by the pairs with a point on either side. A ring is cut in
    two places: the number of its arcs of half a ring that hold just one of two points is twice their
    distance. On a complete axis, so is the number of coordinates that just one of them has.
    """
    held = cost = 0
    if ring == COMPLETE:
        for c in range(side):
            cost += counts[start + c] * (size - counts[start + c])
        return cost // 2
    half = side // 2 if ring else 0
    for c in range(half):
        held += counts[start + c]
    for c in range(side):
        if ring:
            held += counts[start + (c + half) % side] - counts[start + c]
        else:
            held += counts[start + c]
        cost += held * (size - held)
    return cost // 2 if ring else cost


@inner_kernel
def total_distances(counts: IntArray, start: int, side: int, ring: int, totals: IntArray) -> None:
    """Write the total distance of each coordinate of an axis to all points; counts as in `line_cost`."""
    if ring == COMPLETE:
        everything = 0
        for c in range(side):
            everything += counts[start + c]
        for c in range(side):
            totals[start + c] = everything - counts[start + c]
        return
    half = side // 2 if ring else side
    total = size = ahead = 0  # the next step brings points up to half a ring ahead nearer
    for c in range(side):
        size += counts[start + c]
        total += counts[start + c] * distance_along(0, c, side, ring)
        if 1 <= c <= half:
            ahead += counts[start + c]
    for c in range(side):
        totals[start + c] = total
        opposite = counts[start + (c + half + 1) % side] if ring else 0
        total += size - 2 * ahead
        if ring and side % 2:
            total -= opposite  # these stay as far as before
        if c + 1 < side:
            ahead += opposite - counts[start + c + 1]


@kernel
def pairwise_distance(shape: IntArray, wrap: IntArray, coordinates: IntArray, nodes: IntArray) -> int:
    """Return the sum of hop distances over all pairs of the nodes, O(axes * nodes + sum of sides).

    It is computed per axis from the counts of nodes at each coordinate, since distances add up over axes.
    """
    total = 0
    for axis in range(len(shape)):
        counts = np.zeros(shape[axis], dtype=np.int64)
        for node in nodes:
            counts[coordinates[node, axis]] += 1
        total += line_cost(counts, 0, shape[axis], wrap[axis], len(nodes))
    return total


def pairwise_cost(topology: Topology, nodes: Sequence[int] | IntArray) -> int:
    """Return the sum of hop distances over all pairs of the nodes."""
    arrays = lattice(topology)
    chosen = frozen(np.array(nodes, dtype=np.int64))
    return int(pairwise_distance(arrays.shape, arrays.wrap, arrays.coordinates, chosen))


@kernel
def component_sizes(offsets: IntArray, neighbours: IntArray, members: BoolArray) -> IntArray:
    """Return for each node the size of its connected component within `members`, 0 for other nodes."""
    num_nodes = len(members)
    sizes = np.zeros(num_nodes, dtype=np.int64)
    queue = np.empty(num_nodes, dtype=np.int64)
    for seed in range(num_nodes):
        if not members[seed] or sizes[seed] > 0:
            continue
        head, tail = 0, 1
        queue[0] = seed
        sizes[seed] = 1  # this also marks it as met
        while head < tail:
            node = queue[head]
            head += 1
            for k in range(offsets[node], offsets[node + 1]):
                other = neighbours[k]
                if members[other] and sizes[other] == 0:
                    sizes[other] = 1
                    queue[tail] = other
                    tail += 1
        for k in range(tail):
            sizes[queue[k]] = tail
    return sizes


def refuse_boxes(problem: PartitionProblem) -> None:
    """Raise `UnsupportedProblem` if a problem asks for a box."""
    if problem.box:
        msg = "the problem asks for a box, which only branch-and-bound and submesh look for"
        raise UnsupportedProblem(msg)


#: About how many seconds a piece takes: short against any budget, long against a look at the clock.
_PACE = 0.01


def pieces(count: int, clock: Clock) -> Iterator[slice]:
    """Yield slices that make up ``range(count)``: the first in any case, others while there is time.

    Their lengths follow from the times of those before. Without a limit there is one slice.
    """
    started, done = clock.elapsed, 0
    length = 1 if math.isfinite(clock.remaining) else count
    while done < count and (clock.remaining or not done):
        end = min(done + length, count)
        yield slice(done, end)
        done = end
        length = 1 + int(_PACE * done / (clock.elapsed - started + 1e-9))


class Request(NamedTuple):
    """A job that asks for nodes of a mesh."""

    topology: Topology
    #: Which nodes may be taken, shape (nodes,), read-only.
    free: BoolArray
    #: How many to take.
    size: int
    #: The time that a search has.
    clock: Clock
    #: Of allocators that draw: the same seed gives the same nodes.
    seed: int = 0
    #: The sides of the box that the nodes must be.
    box: tuple[int, ...] | None = None

    @classmethod
    def of(cls, topology: Topology, free: BoolArray, size: int, *, seed: int = 0) -> Self:
        """Return a request for free nodes: what the plain functions of all allocators take.

        The mask `free`, shape (nodes,), is not changed. The seed is that of allocators that draw.
        """
        return cls(topology, *checked_request(topology, free, size), Clock(math.inf), Budget(seed=seed).seed)


class Allocator(Options):
    """The base of allocators: one adds its options as fields, and `take`, or `search` if it needs time."""

    __slots__ = ()

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes, shape (size,), in the order in which they are taken; None if it fails."""
        return self.search(request)[0]

    def search(self, request: Request) -> tuple[IntArray | None, Limit | None]:
        """Return the nodes that are best until the clock of the request runs out, and whether it did."""
        return self.take(request), None

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Allocate; of the budget the clock is used, by those that search to stop, and the seed to draw.

        A problem that asks for a connected set has no answer if the nodes are not connected, and is
        infeasible if no component of free nodes is large enough.

        `UnsupportedProblem` if it asks for a box, of all allocators but `Submesh`.
        """
        clock = budget.start()
        box = self._box(problem)
        nodes, limit = self.search(
            Request(problem.topology, problem.free, problem.size, clock, budget.seed, box)
        )
        if problem.contiguous:
            if _largest_component(problem, problem.free) < problem.size:
                return Result(Status.INFEASIBLE, runtime=clock.elapsed)
            if nodes is not None and not _is_connected(problem, nodes):
                nodes = None
        if nodes is None:
            return Result(Status.UNKNOWN, limit=limit, runtime=clock.elapsed)
        return Result(Status.FEASIBLE, Partition(nodes), limit=limit, runtime=clock.elapsed)

    def _box(self, problem: PartitionProblem) -> tuple[int, ...] | None:
        """Return the sides of the box that a problem asks for."""
        refuse_boxes(problem)
        return None


def _largest_component(problem: PartitionProblem, members: BoolArray) -> int:
    arrays = lattice(problem.topology)
    return int(component_sizes(arrays.offsets, arrays.neighbours, members).max())


def _is_connected(problem: PartitionProblem, nodes: IntArray) -> bool:
    members = np.zeros(problem.topology.num_nodes, dtype=np.bool_)
    members[nodes] = True
    members.setflags(write=False)  # like the free nodes, else the kernel is compiled once more
    return _largest_component(problem, members) == len(nodes)
