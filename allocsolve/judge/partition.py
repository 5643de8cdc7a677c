"""The judge of partitions: feasibility, the pairwise distance and metrics, from the definitions alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName
from allocsolve.judge._kernels_partition_tree import OPEN, Branch, Tables, Windows
from allocsolve.model import PARTITION_OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, Partition, PartitionProblem, Topology

__all__ = [
    "Medians",
    "PartitionAxes",
    "PartitionMetrics",
    "checked_axes",
    "checked_sums",
    "component_labels",
    "is_ring",
    "partition_metrics",
    "partition_value",
    "partition_violations",
    "stars",
    "topology_links",
    "value_of_partition_metrics",
]


def partition_violations(problem: PartitionProblem, partition: Partition) -> tuple[str, ...]:
    """Return what is wrong with a partition; empty if it answers the problem.

    It must have `size` nodes of the topology, none twice and none busy, and be connected by links between
    them if the problem is contiguous. Messages name the node. O(nodes * axes) when contiguous.
    """
    topology = problem.topology
    nodes, counts = np.unique(partition.nodes, return_counts=True)
    inside = (nodes >= 0) & (nodes < topology.num_nodes)
    violations = []
    if len(partition.nodes) != problem.size:
        violations.append(f"{len(partition.nodes)} nodes are chosen, requested are {problem.size}")
    violations += [
        f"node {node} is chosen {count} times"
        for node, count in zip(nodes[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True)
    ]
    violations += [f"node {node} is not in 0..{topology.num_nodes - 1}" for node in nodes[~inside].tolist()]
    nodes = nodes[inside]
    violations += [f"node {node} is busy" for node in nodes[~problem.free[nodes]].tolist()]
    if problem.contiguous and len(nodes):
        components = component_labels(_mask(topology, nodes), *topology_links(topology))[nodes]
        apart = np.flatnonzero(components != components[0])
        if len(apart):
            violations.append(
                f"node {nodes[apart[0]]} is not connected to node {nodes[0]}: "
                f"the set has {len(np.unique(components))} components"
            )
    return tuple(violations)


def partition_value(
    problem: PartitionProblem, partition: Partition, objective: Sequence[str] = PARTITION_OBJECTIVES
) -> int:
    """Return the sum of the hop distances over all pairs of chosen nodes, to be minimised.

    Distances add up over axes, and along an axis over the cuts that they cross: a cut with s of the k nodes
    on one side is crossed by s * (k - s) pairs. A ring is cut in two places: of its n arcs of floor(n / 2)
    nodes, as many as twice the distance of two nodes hold just one of them. O(axes * nodes + sum of sides).

    Raises
    ------
    InvalidAnswer
        If a node is not of the topology or chosen twice, or there is none.
    UnknownName
        If the objective is another than ``pairwise``, the only one of this family.
    """
    _check_objective(objective)
    return _total_distance(problem.topology, _coordinates(problem, partition))


def value_of_partition_metrics(metrics: PartitionMetrics, objective: Sequence[str]) -> int:
    """Return the objective value of a partition with these metrics; see `partition_value`."""
    _check_objective(objective)
    return metrics.total_distance


def _check_objective(objective: Sequence[str]) -> None:
    if tuple(objective) != PARTITION_OBJECTIVES:
        raise UnknownName("objective", ",".join(objective), PARTITION_OBJECTIVES)


@dataclass(frozen=True, slots=True)
class PartitionMetrics:
    """What a partition is worth; distances in hops, sizes in nodes."""

    total_distance: int  #: sum of the hop distances over all pairs
    average_distance: float  #: mean hop distance over all pairs, 0 for a single node
    diameter: int  #: largest hop distance between two of the nodes
    radius: int  #: least over all centres (any node, chosen or not) of the largest hop distance to a node
    box: tuple[int, ...]  #: sides of the bounding box; along a ring, the smallest arc
    box_volume: int  #: nodes in the bounding box
    box_fill: float  #: chosen nodes / nodes in the bounding box
    components: int  #: connected parts
    boundary: int  #: links between a chosen node and a free one that is not chosen
    span: int  #: from the first to the last on the order, both included; the size at best
    runs: int  #: stretches of consecutive nodes on the order
    largest_free_component: int  #: largest connected part of the free nodes that are left, 0 if none


def partition_metrics(
    problem: PartitionProblem, partition: Partition, *, order: IntArray | None = None
) -> PartitionMetrics:
    """Return all metrics of a partition. It need not be feasible, but its nodes must be of the topology.

    Parameters
    ----------
    problem, partition
        The answer and what it answers.
    order
        All nodes, shape (nodes,), on which `span` and `runs` are counted; by default by node id, the
        row-major order.

    Raises
    ------
    InvalidAnswer
        If a node is not of the topology or chosen twice, or there is none.
    InvalidOption
        If `order` is not a permutation of the nodes.

    Notes
    -----
    *Complexity*: O(axes * nodes of the topology * log(longest side)), whatever the number of chosen nodes.
    """
    topology = problem.topology
    coordinates = _coordinates(problem, partition)
    size = len(coordinates)
    members = _mask(topology, partition.nodes)
    left = problem.free & ~members
    links = topology_links(topology)
    total = _total_distance(topology, coordinates)
    farthest = _farthest(topology, members)
    box = tuple(
        _extent(along, side, ring=ring)
        for along, side, ring in zip(coordinates.T, topology.shape, topology.wrap, strict=True)
    )
    volume = int(np.prod(box))
    components = _component_sizes(members, links)
    ranks = np.sort(_ranks(topology, order)[partition.nodes])
    one, other = links
    return PartitionMetrics(
        total_distance=total,
        average_distance=total / max(size * (size - 1) // 2, 1),
        diameter=int(farthest[members].max()),
        radius=int(farthest.min()),
        box=box,
        box_volume=volume,
        box_fill=size / volume,
        components=len(components),
        boundary=int(((members[one] & left[other]) | (left[one] & members[other])).sum()),
        span=int(ranks[-1] - ranks[0]) + 1,
        runs=int((np.diff(ranks) > 1).sum()) + 1,
        largest_free_component=int(_component_sizes(left, links).max(initial=0)),
    )


def _coordinates(problem: PartitionProblem, partition: Partition) -> IntArray:
    """Return the coordinates of the chosen nodes, shape (nodes, axes), if they have any to speak of."""
    nodes, num_nodes = partition.nodes, problem.topology.num_nodes
    if not len(nodes):
        msg = "the partition has no nodes"
        raise InvalidAnswer(msg)
    outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if len(outside):
        msg = f"node {outside[0]} of the partition is not in 0..{num_nodes - 1}"
        raise InvalidAnswer(msg)
    twice = nodes[1:][nodes[1:] == nodes[:-1]]
    if len(twice):
        msg = f"node {twice[0]} of the partition is chosen twice"
        raise InvalidAnswer(msg)
    return problem.topology.coordinates(nodes)


def _total_distance(topology: Topology, coordinates: IntArray) -> int:
    size = len(coordinates)
    total = 0
    for along, side, ring in zip(coordinates.T, topology.shape, topology.wrap, strict=True):
        below = np.concatenate([[0], np.cumsum(np.bincount(along, minlength=side))])
        if ring:
            around = np.concatenate([below, below[1:] + size])
            held = around[side // 2 : side // 2 + side] - below[:-1]
        else:
            held = below[1:]
        crossing = sum((held * (size - held)).tolist())  # as Python integers: a long axis sums beyond 64 bits
        total += crossing // 2 if ring else crossing
    return total


def _mask(topology: Topology, nodes: IntArray) -> BoolArray:
    mask = np.zeros(topology.num_nodes, dtype=np.bool_)
    mask[nodes] = True
    return mask


def topology_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return the two ends of every link, each link once."""
    ids = np.arange(topology.num_nodes).reshape(topology.shape, order="F")
    one, other = [], []
    for axis, (side, ring) in enumerate(zip(topology.shape, topology.wrap, strict=True)):
        lines = np.moveaxis(ids, axis, 0)
        one.append(lines[:-1].ravel())
        other.append(lines[1:].ravel())
        if ring and side > 2:  # a ring of two has a single link
            one.append(lines[-1].ravel())
            other.append(lines[0].ravel())
    return np.concatenate(one), np.concatenate(other)


def component_labels(members: BoolArray, one: IntArray, other: IntArray) -> IntArray:
    """Return for each node the least node of its component within `members`; itself outside.

    Every root joins the least root next to it until no link is left between two: O(log nodes) rounds.
    """
    within = members[one] & members[other]
    one, other = one[within], other[within]
    root = np.arange(len(members))
    while len(one):
        low, high = np.minimum(root[one], root[other]), np.maximum(root[one], root[other])
        np.minimum.at(root, high, low)
        while not np.array_equal(above := root[root], root):
            root = above
        between = root[one] != root[other]
        one, other = one[between], other[between]
    return root


def _component_sizes(members: BoolArray, links: tuple[IntArray, IntArray]) -> IntArray:
    """Return the size of each component of `members`."""
    return np.unique(component_labels(members, *links)[members], return_counts=True)[1]


def _extent(along: IntArray, side: int, *, ring: bool) -> int:
    """Return how many consecutive coordinates cover all of these."""
    taken = np.unique(along)
    if not ring:
        return int(taken[-1] - taken[0]) + 1
    return side + 1 - int(np.diff(taken, append=taken[0] + side).max())


def _ranks(topology: Topology, order: IntArray | None) -> IntArray:
    """Return the position of each node on the order."""
    nodes = np.arange(topology.num_nodes)
    if order is None:
        return nodes
    order = np.asarray(order)
    if order.shape != nodes.shape or not np.array_equal(np.sort(order), nodes):
        msg = f"order is not a permutation of the {len(nodes)} nodes"
        raise InvalidOption(msg)
    ranks = np.empty_like(nodes)
    ranks[order] = nodes
    return ranks


def _farthest(topology: Topology, members: BoolArray) -> IntArray:
    """Return for each node the largest hop distance to a member, axis by axis.

    Once the axes before are done, a node knows the farthest member that differs from it along those only.
    """
    far = np.where(members, 0, -(2**40)).reshape(topology.shape, order="F")
    for axis, (side, ring) in enumerate(zip(topology.shape, topology.wrap, strict=True)):
        lines = np.moveaxis(far, axis, 0)
        # From x, the nodes up to `reach` ahead are nearest going forward, and the same backward.
        reach = side // 2 if ring else side - 1
        lines = np.maximum(_ahead(lines, reach, ring=ring), _ahead(lines[::-1], reach, ring=ring)[::-1])
        far = np.moveaxis(lines, 0, axis)
    return far.ravel(order="F")


def _ahead(lines: IntArray, reach: int, *, ring: bool) -> IntArray:
    """Return the largest lines[x + i] + i over 0 <= i <= reach, along the first axis."""
    side = len(lines)
    beyond = lines if ring else np.full_like(lines, -(2**40))
    rise = np.arange(2 * side).reshape(-1, *(1,) * (lines.ndim - 1))
    best = np.concatenate([lines, beyond]) + rise
    width = 1  # best[x] is the largest of `width` entries from x on
    while 2 * width <= reach + 1:
        best = np.maximum(best[:-width], best[width:])
        width *= 2
    last = reach + 1 - width
    return np.maximum(best[:side], best[last : last + side]) - rise[:side]


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
