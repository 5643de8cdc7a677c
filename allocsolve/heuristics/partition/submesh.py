"""Allocation of submeshes: boxes of free nodes, first fit and best fit.

Plain functions for other simulators, which return the nodes by id from the base of the box on, first axis
fastest, and the solver over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from allocsolve.heuristics.partition.allocator import Allocator, Request, nodes_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import BoolArray, IntArray, PartitionProblem, Topology

#: Which of the free boxes of the most compact sides is taken.
SubmeshChoice: TypeAlias = Literal[
    "first",  # by orientation, then by base
    "best",  # with most contact to walls and busy nodes
]


Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Submesh(Allocator):
    """Take a box of free nodes, of the most compact sides that `size` has: the first, or the best to fit.

    The sides are those of least total pairwise distance among the factorisations of `size` that fit the
    machine, in all their orientations (longest along the first axis first); distances are those of lines. For
    each orientation, the bases (least corners) are tried by node id. On a ring, a box may wrap.

    The nodes come by id from the base of the box on, the first axis fastest. It fails if there is no such
    box; a prime `size` above all sides has none at all. If a problem asks for a box of certain sides, these
    are the only ones.

    Parameters
    ----------
    choice
        ``first``: the first free box. ``best``: the one with most contact, the first on ties. Contact is the
        number of links from nodes of the box that lead to busy nodes outside, or would lead beyond a wall.
    all_shapes
        Whether to go on with less compact sides when no box is free.

    Notes
    -----
    *Guarantee*: connected; fails only if no box of the allowed sides is free. None on distances.
    *Complexity*: O(shapes * nodes * axes), ``best`` O(shapes * nodes * axes^2).

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> free = np.ones(16, dtype=np.bool_)
    >>> free[1] = False
    >>> submesh(Mesh((4, 4)), free, 4).tolist()
    [2, 3, 6, 7]
    """

    choice: SubmeshChoice = "first"
    all_shapes: bool = False

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes of the box."""
        topology, free, size = request.topology, request.free, request.size
        shapes = ((request.box,),) if request.box else _box_shapes(topology.shape, size, self.all_shapes)
        return _chosen_box(topology, free, shapes, self.choice)

    def _box(self, problem: PartitionProblem) -> tuple[int, ...] | None:
        return problem.box if isinstance(problem.box, tuple) else None


def submesh(
    topology: Topology,
    free: BoolArray,
    size: int,
    *,
    choice: SubmeshChoice = "first",
    all_shapes: bool = False,
) -> IntArray | None:
    """Take nodes by `Submesh`; see `Request.of` for the arguments."""
    return Submesh(choice, all_shapes).take(Request.of(topology, free, size))


def _chosen_box(
    topology: Topology, free: BoolArray, shapes: tuple[tuple[Shape, ...], ...], choice: SubmeshChoice
) -> IntArray | None:
    """Return the nodes of the box that is chosen among those of the first group of sides with a free one."""
    busy = _busy_grid(topology, free)
    choose = _first_box if choice == "first" else _best_box
    for orientations in shapes:
        box = choose(topology, busy, orientations)
        if box is not None:
            return _box_nodes(topology, *box)
    return None


def _first_box(
    topology: Topology, busy: IntArray, orientations: tuple[Shape, ...]
) -> tuple[Shape, int] | None:
    """Return the sides and the base of the first free box."""
    for sides in orientations:
        bases = np.flatnonzero(_box_sums(topology, busy, sides).ravel(order="F") == 0)
        if len(bases):
            return sides, int(bases[0])
    return None


def _best_box(
    topology: Topology, busy: IntArray, orientations: tuple[Shape, ...]
) -> tuple[Shape, int] | None:
    """Return the sides and the base of the free box with most contact."""
    best, most_contact = None, -1
    for sides in orientations:
        is_free = _box_sums(topology, busy, sides) == 0
        contact = np.where(is_free, _contact(topology, busy, sides), -1).ravel(order="F")
        base = int(contact.argmax())
        if contact[base] > most_contact:
            best, most_contact = (sides, base), int(contact[base])
    return best


@lru_cache(maxsize=1024)
def _box_shapes(shape: Shape, size: int, all_shapes: bool) -> tuple[tuple[Shape, ...], ...]:  # noqa: FBT001 - private
    """Return the sides of boxes of `size` nodes that fit, the most compact first, grouped by orientation."""

    def by_compactness(sides: Shape) -> tuple[int, Shape]:
        return _total_distance(sides), tuple(sorted(sides))

    fitting = sorted(_factorisations(shape, size), reverse=True)
    groups = groupby(sorted(fitting, key=by_compactness), key=by_compactness)
    shapes = tuple(tuple(group) for _, group in groups)
    return shapes if all_shapes else shapes[:1]


def _factorisations(shape: Shape, size: int) -> Iterator[Shape]:
    if len(shape) == 1:
        if size <= shape[0]:
            yield (size,)
        return
    for side in range(1, min(shape[0], size) + 1):
        if size % side == 0:
            yield from ((side, *rest) for rest in _factorisations(shape[1:], size // side))


def _total_distance(sides: Shape) -> int:
    """Return the sum of pairwise hop distances in a box of a mesh: along an axis, that of a line, crossed."""
    size = math.prod(sides)
    return sum((size // side) ** 2 * (side**3 - side) // 6 for side in sides)


def _busy_grid(topology: Topology, free: BoolArray) -> IntArray:
    """Return 1 for busy and 0 for free nodes, in the shape of the machine."""
    return (~free).astype(np.int64).reshape(topology.shape, order="F")


def _window_sums(grid: IntArray, axis: int, length: int, ring: bool) -> IntArray:  # noqa: FBT001 - private
    """Return the sums over `length` successive entries along an axis, per first entry; a ring goes round."""
    grid = np.swapaxes(grid, 0, axis)
    around = grid[: length - 1] if ring else grid[:0]
    sums = np.cumsum(np.concatenate([np.zeros_like(grid[:1]), grid, around]), axis=0)
    return np.swapaxes(sums[length:] - sums[:-length], 0, axis)


def _box_sums(topology: Topology, busy: IntArray, sides: Shape, skip: int = -1) -> IntArray:
    """Return the number of busy nodes in the box at each base; the axis `skip` has sides of 1."""
    for axis, (side, ring) in enumerate(zip(sides, topology.wrap, strict=True)):
        if axis != skip and side > 1:
            busy = _window_sums(busy, axis, side, ring)
    return busy


def _contact(topology: Topology, busy: IntArray, sides: Shape) -> IntArray:
    """Return the contact of the box at each base, right for free boxes: one that goes round meets itself."""
    contact = np.zeros((), dtype=np.int64)
    for axis, side in enumerate(sides):
        layers = np.swapaxes(_box_sums(topology, busy, sides, skip=axis), 0, axis)
        if not topology.wrap[axis]:
            wall = np.full_like(layers[:1], math.prod(sides) // side)
            layers = np.concatenate([wall, layers, wall])
            faces = layers[: -side - 1] + layers[side + 1 :]
        else:
            faces = np.roll(layers, 1, axis=0) + np.roll(layers, -side, axis=0)
        contact = contact + np.swapaxes(faces, 0, axis)
    return contact


def _box_nodes(topology: Topology, sides: Shape, base: int) -> IntArray:
    """Return the nodes of a box; `base` counts the bases as `_box_sums` has them, first axis fastest."""
    coordinates = []
    for side, length, ring in zip(sides, topology.shape, topology.wrap, strict=True):
        base, corner = divmod(base, length if ring else length - side + 1)
        coordinates.append((corner + np.arange(side)) % length)
    return nodes_at(topology.shape, coordinates)
