"""The cut model of a mesh or torus: what the branch-and-bound search knows of a topology.

On a mesh the sum of pairwise distances is, summed over the axes and over the n - 1 cuts of each, s(k - s)
with s the chosen nodes on the low side. On an even ring the n/2 half rings take the place of the low sides
(two nodes at ring distance d are told apart by exactly d of them); on an odd ring the n windows of (n -
1)/2 layers do, each with weight 1/2.

On an axis that is a line the count of the first p layers, 0 <= p <= n, is that of a *position*. A ring is
unrolled at a layer of our choice and has as many counts, those of its *windows*, see `_kernels_ring`.

*Medians*. Every set has a least star, per axis: a layer m from which the sum of distances to its nodes is
least. Moving from m to a neighbour does not lower that sum, which bounds the counts next to m: with h =
ceil(k/2), on a line at most h - 1 nodes lie below m (the lowest such layer) and at least h up to m; on a
ring at least h lie in the half ring that begins at m (odd rings: one layer more) and at most k - h in the
one that begins at m + 1. So the search may treat every m on its own, each with narrow intervals for the
counts. With rings: no node of a set has a smaller sum of distances than the medians, so the set costs at
least k/2 times theirs. Below a given cost theirs is bounded, and with it the count of each window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.model import Topology, frozen

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray

__all__ = ["CutModel", "Walks", "cut_model", "with_line"]


class Walks(NamedTuple):
    """The axes as kernels take them, one after the other; axis 0 here is the main axis."""

    #: Shape (axes,), 1 for a ring.
    ring: IntArray
    #: Shape (axes + 1,): layers of axis t are ``layers[t]..layers[t + 1] - 1``.
    layers: IntArray
    #: Shape (axes + 1,): counts of axis t are ``positions[t]..positions[t + 1] - 1``.
    positions: IntArray
    #: Shape (positions,): weight of a count, in halves.
    halves: IntArray
    #: Shape (cells, axes): layer of each cell.
    layer_of: IntArray


@dataclass(frozen=True, slots=True)
class CutModel:
    """Axes in the order in which the search takes them, cells (free nodes) in increasing order of node.

    The first axis is the main one, whose walk is solved together with the choice of the cells: a line, whose
    walk cannot miss the number of nodes to choose.
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
        """How many counts each axis has."""
        return tuple(side + 1 for side in self.sides)

    def intervals(self, medians: tuple[int | None, ...]) -> tuple[IntArray, IntArray]:
        """Return the least and greatest counts of sets with these medians (None: any)."""
        k = self.size
        h = (k + 1) // 2
        lows, highs = [], []
        for side, ring, m, length in zip(self.sides, self.rings, medians, self.lengths, strict=True):
            low, high = np.zeros(length, dtype=np.int64), np.full(length, k, dtype=np.int64)
            if ring:
                stage = 2 * (side // 4)  # its window begins at m
                low[stage + side % 2] = h
                high[stage + 2] = k - h
            else:
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

    def windows_within(self, medians: tuple[int, ...], longest: int) -> tuple[IntArray, IntArray]:
        """Return the least and greatest counts of sets whose sum of distances from the medians is bounded.

        Of each window alone: the c cells in it and the k - c beyond it that are nearest to the medians must
        not be farther than `longest` in total. Counts of lines are left as they are. O(cells * counts).
        """
        k, walks = self.size, self.walks(medians)
        low = np.zeros(walks.positions[-1], dtype=np.int64)
        high = np.full(walks.positions[-1], k, dtype=np.int64)
        away = np.zeros(len(self.nodes), dtype=np.int64)
        for t, (side, ring, m) in enumerate(zip(self.sides, self.rings, medians, strict=True)):
            along = np.abs(self.layers[:, t] - m)
            away += np.minimum(along, side - along) if ring else along
        order = np.argsort(away, kind="stable")
        away = away[order]
        for t, (side, ring) in enumerate(zip(self.sides, self.rings, strict=True)):
            if not ring:
                continue
            layer = walks.layer_of[order, t] - walks.layers[t]
            for r in range(side + 1):
                inside = (layer >= r // 2) & (layer < side // 2 + (r + 1) // 2)
                near, beyond = _sums(away[inside], k), _sums(away[~inside], k)
                counts = np.arange(max(0, k + 1 - len(beyond)), len(near))
                counts = counts[near[counts] + beyond[k - counts] <= longest]
                p = walks.positions[t] + r
                low[p], high[p] = (counts[0], counts[-1]) if len(counts) else (1, 0)
        return low, high

    @property
    def on_ring(self) -> BoolArray:
        """Which counts are those of rings."""
        return np.repeat(np.array(self.rings, dtype=np.bool_), self.lengths)


def with_line(topology: Topology) -> Topology:
    """Return the topology, with one more axis of a single node if all of its axes are rings.

    On that axis all cells are one layer: what is left of the main walk is the number of nodes to choose.
    """
    if all(wrap and side > 2 for wrap, side in zip(topology.wrap, topology.shape, strict=True)):
        return Topology((*topology.shape, 1), (*topology.wrap, False))
    return topology


def cut_model(topology: Topology, free: BoolArray, size: int) -> CutModel:
    """Return the cut model of choosing `size` nodes among the free ones of a topology that has a line."""
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


def _sums(distances: IntArray, most: int) -> IntArray:
    """Return the sums of the first 0, 1, .. `most` distances, as far as there are so many."""
    return np.concatenate([[0], np.cumsum(distances[:most])]).astype(np.int64)
