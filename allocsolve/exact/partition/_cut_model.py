"""The cut model of a mesh or torus: what the branch-and-bound search knows of a topology.

On a mesh the sum of pairwise distances is, summed over the axes and over the n - 1 cuts of each, s(k - s)
with s the chosen nodes on the low side. On an even ring the n/2 half rings take the place of the low sides
(two nodes at ring distance d are told apart by exactly d of them); on an odd ring the n windows of (n -
1)/2 layers do, each with weight 1/2.

On every axis the count of the first p layers, 0 <= p <= n, is that of a *position*; a ring is unrolled to
that end, at a layer of our choice, and has its windows, the *stages* of `_kernels_ring`, after its
positions.

*Medians*. Every set has a least star, per axis: a layer m from which the sum of distances to its nodes is
least. Moving from m to a neighbour does not lower that sum, which bounds the counts next to m: with h =
ceil(k/2), on a mesh at most h - 1 nodes lie below m (the lowest such layer) and at least h up to m; on a
ring at least h lie in the half ring that begins at m (odd rings: one layer more) and at most k - h in the
one that begins at m + 1. So the search may treat every m on its own, each with narrow intervals for the
counts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.model import Topology, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import BoolArray, IntArray

__all__ = ["Case", "CutModel", "Walks", "cases"]


class Walks(NamedTuple):
    """The axes as kernels take them, one after the other; axis 0 here is the main axis."""

    #: Shape (axes,), 1 for a ring.
    ring: IntArray
    #: Shape (axes + 1,): layers of axis t are ``layers[t]..layers[t + 1] - 1``.
    layers: IntArray
    #: Shape (axes + 1,): positions, and then stages, of axis t are ``positions[t]..positions[t + 1] - 1``.
    positions: IntArray
    #: Shape (positions and stages,): weight of a count, in halves.
    halves: IntArray
    #: Shape (cells, axes): layer of each cell.
    layer_of: IntArray


@dataclass(frozen=True, slots=True)
class CutModel:
    """Axes in the order in which the search takes them, cells (free nodes) in increasing order of node.

    The first axis is the main one, whose walk is solved together with the choice of the cells: a mesh axis
    if there is one, since its walk cannot miss the number of nodes to choose.
    """

    size: int
    nodes: IntArray  #: shape (cells,)
    layers: IntArray  #: shape (cells, axes)
    sides: tuple[int, ...]
    rings: tuple[bool, ...]
    axes: tuple[int, ...]  #: the axes of the topology, in the order of the search

    @property
    def parity(self) -> int:
        """What divides every cost: s(k - s) is even for odd k; odd rings halve it."""
        odd_ring = any(ring and side % 2 for ring, side in zip(self.rings, self.sides, strict=True))
        return 2 if self.size % 2 and not odd_ring else 1

    def walks(self, medians: tuple[int, ...]) -> Walks:
        """Return the axes, rings unrolled a quarter before the median layer."""
        halves, layer_of = [], self.layers.copy()
        for t, (side, ring, m) in enumerate(zip(self.sides, self.rings, medians, strict=True)):
            if ring:
                layer_of[:, t] = (self.layers[:, t] - m + side // 4) % side
                halves.append(np.array([*([1] * side if side % 2 else [2, 0] * (side // 2)), 0]))
            else:
                halves.append(np.array([0, *[2] * (side - 1), 0]))
        layers = np.concatenate([[0], np.cumsum(self.sides)]).astype(np.int64)
        return Walks(
            frozen(np.array(self.rings, dtype=np.int64)),
            frozen(layers),
            frozen(np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)),
            frozen(np.concatenate(halves).astype(np.int64)),
            frozen(layer_of + layers[:-1]),
        )

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many positions and stages each axis has."""
        return tuple(side + 1 for side in self.sides)

    def intervals(self, medians: tuple[int | None, ...]) -> tuple[IntArray, IntArray]:
        """Return the least and greatest counts of sets with these medians (None: any).

        Of rings: of wide sets.
        """
        k = self.size
        h = (k + 1) // 2
        lows, highs = [], []
        for side, ring, m, length in zip(self.sides, self.rings, medians, self.lengths, strict=True):
            low, high = np.zeros(length, dtype=np.int64), np.full(length, k, dtype=np.int64)
            if ring:
                stage = 2 * (side // 4)  # its window begins at m
                low[stage + side % 2] = h
                high[stage + 2] = k - h
                lows.append(low)
                highs.append(high)
                continue
            high[0], low[side] = 0, k
            if m is not None:
                high[1 : m + 1] = np.minimum(high[1 : m + 1], h - 1)
                low[m + 1 :] = np.maximum(low[m + 1 :], h)
            lows.append(low)
            highs.append(high)
        return np.concatenate(lows), np.concatenate(highs)

    def multipliers(self, medians: tuple[int | None, ...], scale: int) -> IntArray:
        """Return what makes the weight of a cell about k/2 times its distance from the medians."""
        k = self.size
        h = (k + 1) // 2
        parts = []
        for side, ring, m, length in zip(self.sides, self.rings, medians, self.lengths, strict=True):
            slopes = np.zeros(length, dtype=np.int64)
            if ring:
                middle = side // 4
                for r in range(side):
                    inside = r // 2 <= middle < side // 2 + (r + 1) // 2
                    weight = (-(k - h + 1) if inside else h) * scale
                    slopes[r] = weight // 2 if side % 2 else weight * (r % 2 == 0)
            elif m is not None:
                slopes[1 : m + 1] = (k - h + 1) * scale
                slopes[m + 1 : side] = -h * scale
            parts.append(slopes)
        return np.concatenate(parts)

    @property
    def on_ring(self) -> BoolArray:
        """Which positions and stages are those of rings."""
        return np.repeat(np.array(self.rings, dtype=np.bool_), self.lengths)


class Case(NamedTuple):
    """Sets of which each ring axis is cut open, or the set is wide on it."""

    model: CutModel
    #: The topology, the rings cut open that are; the free nodes on it, and their ids on the one given.
    topology: Topology
    free: BoolArray
    origin: IntArray
    #: Whether the problem has a ring, cut open here or not.
    on_rings: bool


def cases(topology: Topology, free: BoolArray, size: int) -> Iterator[Case]:
    """Yield cases that every set of `size` free nodes belongs to at least one of.

    A set that some n // 2 + 1 successive layers of a ring hold has the same distances on a line: the ring
    cut open in front of layer 0 or of layer n // 2, whichever is not between them. Else it is *wide*: no
    such layers hold it. On a line all distances are at least those on the ring, so a case may contain other
    sets as well without harm.
    """
    if all(wrap and side > 2 for wrap, side in zip(topology.wrap, topology.shape, strict=True)):
        topology = Topology((*topology.shape, 1), (*topology.wrap, False))
    yield _case(topology, free, size, {})


def _case(topology: Topology, free: BoolArray, size: int, starts: dict[int, int]) -> Case:
    origin = np.arange(topology.num_nodes, dtype=np.int64).reshape(topology.shape, order="F")
    for axis, start in starts.items():
        origin = np.roll(origin, -start, axis=axis)
    origin = origin.ravel(order="F")
    wrap = tuple(wrap and t not in starts and topology.shape[t] > 2 for t, wrap in enumerate(topology.wrap))
    opened = Topology(topology.shape, wrap)
    here = free[origin]
    here.setflags(write=False)
    model = _cut_model(opened, here, size)
    on_rings = any(model.rings) or bool(starts)
    return Case(model, opened, here, origin, on_rings)


def _cut_model(topology: Topology, free: BoolArray, size: int) -> CutModel:
    """Return the cut model of choosing `size` nodes among the free ones."""
    # on a side of one or two layers a ring is a line
    rings = [wrap and side > 2 for wrap, side in zip(topology.wrap, topology.shape, strict=True)]
    axes = sorted(range(len(rings)), key=lambda t: (rings[t], -topology.shape[t]))
    nodes = np.flatnonzero(free).astype(np.int64)
    return CutModel(
        size,
        frozen(nodes),
        frozen(np.ascontiguousarray(topology.coordinates(nodes)[:, axes])),
        tuple(topology.shape[t] for t in axes),
        tuple(rings[t] for t in axes),
        tuple(axes),
    )
