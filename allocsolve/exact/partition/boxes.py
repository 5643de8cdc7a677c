"""Boxes of free nodes of least total pairwise distance, by looking at all sides, the cheapest first."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.heuristics.partition.lattice import nodes_at
from allocsolve.model import Clock, Limit, Partition, PartitionProblem, Result, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import BoolArray, Budget, IntArray, Topology

#: The side of a box along each axis.
Sides: TypeAlias = tuple[int, ...]

#: Nodes times different sides: the judge looks at no more.
_MAX_WORK: Final = 2**32


def cheapest_box(
    topology: Topology, free: BoolArray, size: int, *, sides: Sides | None = None
) -> IntArray | None:
    """Take the box of free nodes whose total pairwise distance is least.

    `InvalidProblem` if `free` is not a mask over the nodes, `size` is below 1 or above the number of free
    nodes, or the sides do not fit the machine or do not hold `size` nodes.

    Parameters
    ----------
    free
        Which nodes may be taken, shape (nodes,); not changed.
    size
        How many to take.
    sides
        The sides of the box, one for each axis, which hold `size` nodes; any if None.

    Returns
    -------
    IntArray or None
        Shape (size,), increasing; None if no box is free.

    Notes
    -----
    *Method.* Boxes of the same sides cost the same: on an axis with a side of a, the sum of distances of its
    a coordinates times (k / a)^2. All sides of volume k are taken in ascending order of this cost; the first
    of which a box is free has an optimum. Which boxes are free is computed for all places at once: a mask
    with a bit for each node, and with itself, moved along an axis by 1, 2, 4, ... nodes, says where 2, 4, 8,
    ... nodes in a row are free.

    *Guarantee*: an optimum among boxes. On ties the least sides, the first axis first, then the least node at
    their corner.
    *Complexity*: O(sides * axes * log(side) * nodes / word), memory O(nodes) for each side of the first axis.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> free = np.ones(16, dtype=np.bool_)
    >>> free[[5, 6]] = False
    >>> cheapest_box(Mesh((4, 4)), free, 4).tolist()
    [8, 9, 12, 13]
    """
    problem = PartitionProblem(topology, free, size, box=True if sides is None else sides)
    every = [problem.box] if isinstance(problem.box, tuple) else every_sides(topology, problem.size)
    return _search(topology, problem.free, every, Clock(math.inf)).nodes


class _Found(NamedTuple):
    """A cheapest box, or none; what is proven if the time was up."""

    nodes: IntArray | None
    cost: int  #: of the box; or a lower bound on that of all, if the time was up
    ended: bool


def solve_boxes(problem: PartitionProblem, budget: Budget) -> Result[Partition]:
    """Solve a problem that asks for a box: see `cheapest_box`.

    Of the budget the clock is used. "optimal" and "infeasible" are proofs; the certificate of an optimum says
    that there is no cheaper box, which the judge finds out by itself. The limit is SIZE if there are more
    sides than 2^32 by the number of nodes.
    """
    clock, topology, size = budget.start(), problem.topology, problem.size
    trivial = size * (size - 1) // 2
    if isinstance(problem.box, tuple):
        every = [problem.box]
    elif number_of_sides(topology, size) * topology.num_nodes > _MAX_WORK:
        return Result(Status.UNKNOWN, bound=trivial, limit=Limit.SIZE, runtime=clock.elapsed)
    else:
        every = every_sides(topology, size)
    try:
        nodes, cost, ended = _search(topology, problem.free, every, clock)
    except KeyboardInterrupt:
        return Result(Status.UNKNOWN, bound=trivial, limit=Limit.INTERRUPTED, runtime=clock.elapsed)
    if nodes is not None:
        certificate = {"kind": "boxes", "bound": cost}
        met = ((clock.elapsed, cost),)
        return Result(Status.OPTIMAL, Partition(nodes), cost, cost, None, clock.elapsed, met, certificate)
    if ended:
        return Result(Status.INFEASIBLE, runtime=clock.elapsed)
    return Result(Status.UNKNOWN, bound=cost, limit=Limit.TIME, runtime=clock.elapsed)


def _search(topology: Topology, free: BoolArray, every: list[Sides], clock: Clock) -> _Found:
    """Return a box of the cheapest sides of which one is free."""
    ranked = sorted((box_cost(topology, sides), sides) for sides in every)
    mask = int.from_bytes(np.packbits(free, bitorder="little").tobytes(), "little")
    begun: dict[int, int] = {}  # by the side of the first axis
    for cost, sides in ranked:
        if not clock.remaining:
            return _Found(None, cost, ended=False)
        if sides[0] not in begun:
            begun[sides[0]] = _in_a_row(topology, mask, 0, sides[0])
        corners = begun[sides[0]]
        for axis in range(1, len(sides)):
            if not corners:
                break
            corners = _in_a_row(topology, corners, axis, sides[axis])
        if corners:
            return _Found(_nodes_of(topology, sides, (corners & -corners).bit_length() - 1), cost, ended=True)
    return _Found(None, 0, ended=True)


def _nodes_of(topology: Topology, sides: Sides, corner: int) -> IntArray:
    """Return the nodes of a box, increasing."""
    places = topology.coordinates([corner])[0].tolist()
    axes = zip(places, sides, topology.shape, strict=True)
    return np.sort(nodes_at(topology.shape, [(at + np.arange(side)) % length for at, side, length in axes]))


def _in_a_row(topology: Topology, mask: int, axis: int, length: int) -> int:
    """Return the nodes from which on `length` nodes along an axis are in the mask."""
    reach = 1
    while reach < length:
        step = min(reach, length - reach)
        mask &= _moved(topology, mask, axis, step)
        reach += step
    return mask


def _moved(topology: Topology, mask: int, axis: int, step: int) -> int:
    """Return the nodes that are in the mask if moved on by `step` along an axis."""
    side, stride = topology.shape[axis], math.prod(topology.shape[:axis])
    before = _first_layers(topology.shape, axis, side - step)
    moved = mask >> step * stride & before
    if topology.wrap[axis]:
        moved |= mask << (side - step) * stride & ~before & (1 << topology.num_nodes) - 1
    return moved


@lru_cache(maxsize=1024)
def _first_layers(shape: Sides, axis: int, layers: int) -> int:
    """Return the mask of the nodes in the first layers of an axis."""
    stride = math.prod(shape[:axis])
    mask, blocks = (1 << layers * stride) - 1, 1
    total = math.prod(shape[axis + 1 :])
    while blocks < total:
        more = min(blocks, total - blocks)
        mask |= mask << more * stride * shape[axis]
        blocks += more
    return mask


def box_cost(topology: Topology, sides: Sides) -> int:
    """Return the total pairwise distance of a box of these sides."""
    size = math.prod(sides)
    return sum(
        _distances(length, side, ring, full) * (size // side) ** 2
        for length, side, ring, full in zip(
            topology.shape, sides, topology.wrap, topology.complete, strict=True
        )
    )


@lru_cache(maxsize=4096)
def _distances(length: int, side: int, ring: bool, full: bool) -> int:  # noqa: FBT001 - private
    """Return the sum of distances of `side` consecutive coordinates of an axis."""
    if full:
        return side * (side - 1) // 2
    if ring:
        return sum((side - apart) * min(apart, length - apart) for apart in range(1, side))
    return (side**3 - side) // 6


def number_of_sides(topology: Topology, size: int) -> int:
    """Return how many different sides boxes of `size` nodes have."""
    return _ways(topology.shape, size)


@lru_cache(maxsize=2**16)
def _ways(shape: Sides, size: int) -> int:
    if not shape:
        return int(size == 1)
    return sum(_ways(shape[1:], size // side) for side in _divisors(size, shape[0]))


@lru_cache(maxsize=4096)
def _divisors(size: int, most: int) -> tuple[int, ...]:
    return tuple(side for side in range(1, min(size, most) + 1) if size % side == 0)


def every_sides(topology: Topology, size: int) -> list[Sides]:
    """Return the sides of all boxes of `size` nodes that fit the machine."""

    def of(shape: Sides, left: int) -> Iterator[Sides]:
        if not shape:
            yield ()
            return
        for side in _divisors(left, shape[0]):
            if _ways(shape[1:], left // side):
                yield from ((side, *rest) for rest in of(shape[1:], left // side))

    return list(of(topology.shape, size)) if _ways(topology.shape, size) else []
