"""Allocation by buddies and by pages, and random nodes as the baseline.

Plain functions for other simulators, which return the nodes in the order in which they take them, and the
solvers over them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.heuristics.partition.allocator import Allocator, Request, nodes_at
from allocsolve.model import Mesh, NodeOrder, frozen, node_order
from allocsolve.model.options import Within

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray, Topology

#: A page of 2^24 nodes a side holds any machine.
_MAX_EXPONENT = 24


@dataclass(frozen=True, slots=True)
class MultipleBuddy(Allocator):
    """Take cubes of 2^i nodes a side, large ones first (octets and their like in 3-D).

    The free nodes are cut into the largest aligned free cubes. From the largest i down, as many cubes of
    2^i nodes a side are taken as fit into what is still needed: the digits of `size` to the base 2^axes.
    If a level has none, the smallest larger cube is split; if there is no larger one either,
    smaller cubes are taken. Cubes of a level are taken by increasing base. Axes of one node do not count.

    The nodes come cube by cube, each by id.

    Notes
    -----
    *Guarantee*: never fails; in general not connected; none on distances.
    *Complexity*: O(nodes * log(side) + cubes * log(cubes)).

    References
    ----------
    Lo, Windisch, Liu & Nitzberg, "Noncontiguous processor allocation algorithms for mesh-connected
    multicomputers", IEEE Transactions on Parallel and Distributed Systems 8(7), 1997, pp. 712-726 (the
    multiple buddy strategy, MBS). There the free cubes stay from one allocation to the next, split as they
    were; here they follow from the mask.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> free = np.ones(16, dtype=np.bool_)
    >>> free[0] = False
    >>> multiple_buddy(Mesh((4, 4)), free, 5).tolist()
    [2, 3, 6, 7, 1]
    """

    def take(self, request: Request) -> IntArray:
        """Return the nodes in the order in which they are taken."""
        topology, free, size = request.topology, request.free, request.size
        sides = tuple(side for side in topology.shape if side > 1) or (1,)
        cubes = _free_cubes(sides, free)
        nodes: list[IntArray] = []
        needed = size
        for level in range(len(cubes) - 1, -1, -1):
            volume = 1 << level * len(sides)
            while needed >= volume and (base := _take_cube(sides, cubes, level)) is not None:
                nodes.append(base + _cube(sides, 1 << level))
                needed -= volume
        return np.concatenate(nodes)


def multiple_buddy(topology: Topology, free: BoolArray, size: int) -> IntArray:
    """Take nodes by `MultipleBuddy`; see `Request.of` for the arguments."""
    return MultipleBuddy().take(Request.of(topology, free, size))


@lru_cache(maxsize=256)
def _cube(sides: tuple[int, ...], side: int, step: int = 1) -> IntArray:
    """Return the nodes (every `step`-th on each axis) of the cube at node 0, first axis fastest."""
    return frozen(nodes_at(sides, [np.arange(0, side, step)] * len(sides)))


def _free_cubes(sides: tuple[int, ...], free: BoolArray) -> list[list[int]]:
    """Return per level i the bases, increasing, of aligned free cubes 2^i a side inside no larger one."""
    left = free.reshape(sides[::-1]).copy()  # axes are reversed, so that the flat index is the node id
    ids = np.arange(free.size).reshape(left.shape)
    cubes = []
    for level in range(min(sides).bit_length() - 1, -1, -1):
        side = 1 << level
        whole = tuple(slice(length // side * side) for length in left.shape)
        split = tuple(n for length in left.shape for n in (length // side, side))
        inner = tuple(range(1, 2 * len(sides), 2))
        blocks = left[whole].reshape(split)
        is_free = blocks.all(axis=inner)
        cubes.append(ids[whole][(slice(None, None, side),) * len(sides)][is_free].tolist())
        left[whole] = (blocks & ~np.expand_dims(is_free, inner)).reshape(left[whole].shape)
    return cubes[::-1]


def _take_cube(sides: tuple[int, ...], cubes: list[list[int]], level: int) -> int | None:
    """Take the first cube of a level out of the heaps, splitting the smallest larger one if need be."""
    source = next((larger for larger in range(level, len(cubes)) if cubes[larger]), None)
    if source is None:
        return None
    base = heapq.heappop(cubes[source])
    for below in range(source - 1, level - 1, -1):
        for buddy in _cube(sides, 2 << below, 1 << below)[1:].tolist():
            heapq.heappush(cubes[below], base + buddy)
    return base


@dataclass(frozen=True, slots=True)
class Paging(Allocator):
    """Take the first free pages: aligned cubes of 2^exponent nodes a side, all of whose nodes are free.

    The nodes come page by page, each by id; of the last page only those still needed.

    Parameters
    ----------
    exponent
        0 to 24. With 0 this is the sorted free list. Pages at the high rim may be cut off by it.
    order
        The order of the pages, see `allocsolve.model.node_order`.

    Notes
    -----
    *Guarantee*: fails only if the free pages have too few nodes; none on distances. *Complexity*: O(nodes).

    References
    ----------
    Lo, Windisch, Liu & Nitzberg, "Noncontiguous processor allocation algorithms for mesh-connected
    multicomputers", IEEE Transactions on Parallel and Distributed Systems 8(7), 1997, pp. 712-726 (paging).

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> free = np.ones(16, dtype=np.bool_)
    >>> free[0] = False
    >>> paging(Mesh((4, 4)), free, 5).tolist()
    [2, 3, 6, 7, 8]
    """

    exponent: Annotated[int, Within(0, _MAX_EXPONENT)] = 1
    order: NodeOrder = "row-major"

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes in the order in which they are taken."""
        topology, free, size = request.topology, request.free, request.size
        visit, page = _pages(topology, self.exponent, self.order)
        is_free = np.ones(len(visit), dtype=np.bool_)
        is_free[page[~free[visit]]] = False
        nodes = visit[is_free[page]]
        return nodes[:size] if len(nodes) >= size else None


def paging(
    topology: Topology, free: BoolArray, size: int, *, exponent: int = 1, order: NodeOrder = "row-major"
) -> IntArray | None:
    """Take nodes by `Paging`; see `Request.of` for the arguments."""
    return Paging(exponent, order).take(Request.of(topology, free, size))


@lru_cache(maxsize=32)
def _pages(topology: Topology, exponent: int, order: NodeOrder) -> tuple[IntArray, IntArray]:
    """Return the nodes page by page, and the number of the page of each of these."""
    grid = Mesh([(side - 1 >> exponent) + 1 for side in topology.shape])
    number = np.empty(grid.num_nodes, dtype=np.int64)
    number[node_order(grid, order)] = np.arange(grid.num_nodes)
    coordinates = topology.coordinates(np.arange(topology.num_nodes)) >> exponent
    page = number[np.ravel_multi_index(tuple(coordinates.T), grid.shape, order="F")]
    visit = np.argsort(page, kind="stable")
    return frozen(visit), frozen(page[visit])


@dataclass(frozen=True, slots=True)
class RandomNodes(Allocator):
    """Take free nodes at random, each set equally likely.

    Notes
    -----
    *Guarantee*: never fails; none on distances. *Complexity*: O(nodes).
    """

    def take(self, request: Request) -> IntArray:
        """Return the nodes in the order in which they are drawn."""
        nodes = np.flatnonzero(request.free)
        return np.random.default_rng(request.seed).choice(nodes, request.size, replace=False)


def random_nodes(topology: Topology, free: BoolArray, size: int, *, seed: int) -> IntArray:
    """Take nodes by `RandomNodes`; see `Request.of` for the arguments."""
    return RandomNodes().take(Request.of(topology, free, size, seed=seed))
