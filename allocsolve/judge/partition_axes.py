"""What the judge knows of the axes of a mesh or torus: windows of layers, stars, sets with given medians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge._kernels_partition_walks import OPEN, Branch, Tables, Windows
from allocsolve.judge.partition import component_labels, topology_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, PartitionProblem

__all__ = ["Medians", "PartitionAxes", "checked_axes", "checked_sums", "is_ring", "stars"]

#: Entries of a table at most; all sums stay below.
_MAX_TABLE: Final = 2**26
_MAX_UNITS: Final = 2**58

#: One layer for each axis; without rings for each but the main one.
Medians: TypeAlias = tuple[int, ...]


def is_ring(problem: PartitionProblem) -> list[bool]:
    """Return which axes differ from lines: wrapped, and of more than two layers."""
    topology = problem.topology
    return [wrap and side > 2 for side, wrap in zip(topology.shape, topology.wrap, strict=True)]


@dataclass(frozen=True, slots=True)
class PartitionAxes:
    """The axes in some order, and the cells: the free nodes that may be in an answer."""

    size: int
    scale: int  #: units of a hop
    parity: int  #: what divides every cost
    sides: tuple[int, ...]
    rings: tuple[bool, ...]
    cells: IntArray  #: nodes, shape (cells,)
    places: IntArray  #: shape (cells, axes)
    links: tuple[IntArray, IntArray]  #: neighbours of cells as (offsets, cells); none if sets may be apart
    first_median: int  #: the first axis with a median: not the main one without rings, nor that of one layer

    @classmethod
    def of(cls, problem: PartitionProblem, axes: Sequence[int], scale: int) -> PartitionAxes:
        """Take a problem and its axes, the main one first; before a ring comes a line of one layer."""
        topology, wrapped = problem.topology, is_ring(problem)
        members, ends = problem.free, topology_links(topology)
        if problem.contiguous:
            component = component_labels(members, *ends)
            sizes = np.bincount(component[members], minlength=len(members))
            members = members & (sizes[component] >= problem.size)
        cells = np.flatnonzero(members)
        sides, rings = [topology.shape[axis] for axis in axes], [wrapped[axis] for axis in axes]
        places = topology.coordinates(cells)[:, axes]
        first_median = 0 if any(rings) else 1
        if rings[0]:
            first_median = 1
            sides, rings = [1, *sides], [False, *rings]
            places = np.concatenate([np.zeros((len(cells), 1), dtype=np.int64), places], axis=1)
        odd_ring = any(ring and side % 2 for side, ring in zip(sides, rings, strict=True))
        return cls(
            problem.size,
            scale,
            2 if problem.size % 2 and not odd_ring else 1,
            tuple(sides),
            tuple(rings),
            cells,
            places,
            _neighbours(members, ends) if problem.contiguous else _neighbours(members, ([], [])),
            first_median,
        )

    @property
    def layers(self) -> IntArray:
        """Where the layers of each axis begin, numbered through, and how many there are."""
        return np.cumsum([0, *self.sides])

    @property
    def counts(self) -> IntArray:
        """Where the counts of each axis begin, numbered through, and how many there are."""
        return np.cumsum([0, *(side + 1 for side in self.sides)])

    def stars(self) -> list[tuple[Medians, int]]:
        """Return the least sum of distances from a node with these medians to cells, for all medians."""
        totals = stars(self.sides, self.rings, self.places, self.size)
        if self.first_median == 1:
            totals = totals.min(axis=0)
        return [(tuple(map(int, medians)), int(star)) for medians, star in np.ndenumerate(totals)]

    def least_cost(self, star: int) -> int:
        """Return what sets cost at least from whose medians the sum of distances is `star` or more."""
        return -(-self.size * star // 2) if any(self.rings) else (self.size + 1) // 2 * star

    def layers_from(self, medians: Medians) -> IntArray:
        """Return the layer of each cell, shape (cells, axes), rings unrolled a quarter before the median."""
        layer_of = self.places + self.layers[:-1]
        for t, m in enumerate(medians, start=self.first_median):
            if self.rings[t]:
                unrolled = (self.places[:, t] - m + self.sides[t] // 4) % self.sides[t]
                layer_of[:, t] = unrolled + self.layers[t]
        return np.ascontiguousarray(layer_of)

    def windows(self, layer_of: IntArray) -> Windows:
        """Return the axes as kernels take them."""
        layers, counts = self.layers, self.counts
        price, passed = np.zeros(counts[-1], dtype=np.int64), np.zeros(layers[-1], dtype=np.int64)
        enter, leave = np.zeros((2, layers[-1]), dtype=np.int64)
        for t, (side, ring) in enumerate(zip(self.sides, self.rings, strict=True)):
            begin = counts[t]
            if not ring:
                price[begin : begin + side] = self.scale  # the first count is 0
            elif side % 2:
                price[begin : begin + side] = self.scale // 2
            else:
                price[begin : begin + side : 2] = self.scale
            for j in range(side):
                first, end = (j + 1, side + 1) if not ring else _stay(j, side)
                layer = layers[t] + j
                enter[layer], leave[layer] = begin + first, begin + end
                if first > 0:
                    passed[layers[t] + first - 1] = layer
                if end <= side:
                    passed[layers[t] + end - 1] = layer
        return Windows(layers, counts, price, passed, enter, leave, layer_of)

    def first_branch(self, counts: tuple[IntArray, IntArray], depth: int) -> Branch:
        """Return room for the branches of so many depths, the first of which has these counts."""
        low, high = np.zeros((2, depth, int(self.counts[-1])), dtype=np.int64)
        low[0], high[0] = counts
        return Branch(low, high, np.full((depth, len(self.cells)), OPEN, dtype=np.int8))

    def tables(self) -> Tables:
        """Return memory for kernels."""
        layers, counts, num = int(self.layers[-1]), int(self.counts[-1]), len(self.cells)
        begins = np.searchsorted(np.sort(self.places[:, 0]), np.arange(self.sides[0] + 1))

        def ints(*shape: int) -> IntArray:
            return np.zeros(shape, dtype=np.int64)

        return Tables(
            ahead=ints(counts, self.size + 1),
            behind=ints(counts, self.size + 1),
            least=ints(layers),
            greatest=ints(layers),
            costs=ints(num + self.sides[0]),
            offsets=begins[:-1] + np.arange(self.sides[0]),
            paid=ints(counts),
            sums=ints(counts + 1),
            weights=ints(num),
            order=np.argsort(self.places[:, 0], kind="stable"),
            begins=begins,
            through=ints(self.sides[0], self.size + 1),
            bests=ints(len(self.sides)),
        )

    def first_counts(
        self, medians: Medians, windows: Windows, target: int | None
    ) -> tuple[IntArray, IntArray] | None:
        """Return the least and greatest counts of sets with these medians and a cost of at most `target`.

        None if there is no such set. Without a target, those of all sets with these medians.
        """
        k, h = self.size, (self.size + 1) // 2
        low, high = np.zeros((2, self.counts[-1]), dtype=np.int64)
        high[:] = k
        for t, (side, ring) in enumerate(zip(self.sides, self.rings, strict=True)):
            m = medians[t - self.first_median] if t >= self.first_median else None
            begin = self.counts[t]
            if ring:
                here = begin + 2 * (side // 4)
                low[here + side % 2] = h
                high[here + 2] = k - h
                continue
            if m is not None:
                high[begin : begin + m + 1] = h - 1
                low[begin + m + 1 : begin + side + 1] = h
            high[begin], low[begin + side] = 0, k
        if target is None or not any(self.rings):
            return low, high
        away = self._away(medians)
        for t, ring in enumerate(self.rings):
            for p in range(self.counts[t], self.counts[t + 1]) if ring else ():
                layer = windows.layer_of[:, t]
                inside = (windows.enter[layer] <= p) & (p < windows.leave[layer])
                near, beyond = _nearest(away[inside], k), _nearest(away[~inside], k)
                count = np.arange(max(0, k + 1 - len(beyond)), len(near))
                count = count[k * (near[count] + beyond[k - count]) <= 2 * target]
                if not len(count):
                    return None
                low[p], high[p] = max(low[p], count[0]), min(high[p], count[-1])
        return low, high

    def _away(self, medians: Medians) -> IntArray:
        """Return the distance of each cell from the node at the medians."""
        away = np.zeros(len(self.cells), dtype=np.int64)
        for t, m in enumerate(medians, start=self.first_median):
            along = np.abs(self.places[:, t] - m)
            away += np.minimum(along, self.sides[t] - along) if self.rings[t] else along
        return away


def _stay(j: int, side: int) -> tuple[int, int]:
    """Return the first count of a ring whose window layer j is in, and the first one after these."""
    half = side // 2
    return max(0, 2 * (j - half) + 1), min(side, 2 * j + 1) + 1


def _nearest(distances: IntArray, most: int) -> IntArray:
    """Return the sums of the 0, 1, .. `most` least distances, as far as there are so many."""
    return np.cumsum([0, *np.sort(distances)[:most]])


def _neighbours(
    members: BoolArray, ends: tuple[Sequence[int] | IntArray, Sequence[int] | IntArray]
) -> tuple[IntArray, IntArray]:
    """Return for each member where its neighbours begin, and all neighbours, as numbers of members."""
    number = np.cumsum(members) - 1
    one, other = (np.asarray(each, dtype=np.int64) for each in ends)
    within = members[one] & members[other]
    one, other = number[one[within]], number[other[within]]
    sources, targets = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.argsort(sources, kind="stable")
    return np.searchsorted(sources[order], np.arange(members.sum() + 1)), targets[order]


def stars(shape: Sequence[int], rings: Sequence[bool], places: IntArray, size: int) -> IntArray:
    """Return for each node of a machine the least sum of distances to `size` of the nodes at these places."""
    free = np.zeros(tuple(shape), dtype=np.int64)
    free[tuple(places.T)] = 1
    reach = 1  # how far the nearest are away, doubled until all nodes have enough of them
    while (shells := _shells(free, rings, reach)).sum(axis=0).min() < size:
        reach *= 2
    within = np.minimum(np.cumsum(shells, axis=0), size)
    # Whoever is not within a distance is further away by one, at least.
    totals: IntArray = (size - within).sum(axis=0)
    return totals


def _shells(free: IntArray, rings: Sequence[bool], reach: int) -> IntArray:
    """Return how many free nodes are 0, 1, ..., `reach` hops from each node, on the first axis."""
    shells = np.zeros((reach + 1, *free.shape), dtype=np.int64)
    shells[0] = free
    for axis, ring in enumerate(rings):
        before = np.moveaxis(shells, axis + 1, 1)
        shells = np.zeros_like(shells)
        after = np.moveaxis(shells, axis + 1, 1)
        side = free.shape[axis]
        for step in range(min(reach, side // 2 if ring else side - 1) + 1):
            come = before[: reach + 1 - step]
            if ring:
                after[step:] += np.roll(come, step, axis=1)
                if 0 < 2 * step < side:
                    after[step:] += np.roll(come, -step, axis=1)
                continue
            after[step:, step:] += come[:, : side - step]
            if step:
                after[step:, :-step] += come[:, step:]
    return shells


def checked_axes(problem: PartitionProblem, axes: object) -> list[int]:
    """Return the axes that a certificate gives, all of them, a line first if there is one.

    Raises
    ------
    InvalidAnswer
        If they are not.
    """
    rings = is_ring(problem)
    if (
        not isinstance(axes, list)
        or not all(type(axis) is int for axis in axes)
        or sorted(axes) != list(range(len(rings)))
        or rings[axes[0]] > min(rings)
    ):
        msg = f"axes {axes} of the certificate are not those of {problem.topology}, a line first"
        raise InvalidAnswer(msg)
    return axes


def checked_sums(axes: PartitionAxes, multipliers: IntArray, name: str) -> None:
    """Refuse multipliers, shape (..., counts), with which the tables or the sums of costs would be too large.

    Raises
    ------
    InvalidAnswer
        That says of what.
    """
    counts = int(axes.counts[-1])
    if counts * (axes.size + 1) > _MAX_TABLE:
        msg = f"{axes.size} nodes on sides of {[*axes.sides]} are too many for {name}"
        raise InvalidAnswer(msg)
    most, least = int(multipliers.max(initial=0)), int(multipliers.min(initial=0))
    paid = 2 * axes.size * multipliers.shape[-1] * max(most, -least)
    if paid + axes.scale * axes.size**2 * counts >= _MAX_UNITS:
        msg = f"multipliers or scale of {name} are too large for sums of 64 bits"
        raise InvalidAnswer(msg)
