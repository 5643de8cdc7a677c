"""The judge of partitions: feasibility, the pairwise distance and metrics, from the definitions alone."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.families import Term, imported
from allocsolve.judge.messages import checked_nodes, node_violations
from allocsolve.model import PARTITION_OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, Partition, PartitionProblem, Topology


def partition_violations(problem: PartitionProblem, partition: Partition) -> tuple[str, ...]:
    """Return what is wrong with a partition; empty if it answers the problem.

    It must have `size` nodes of the topology, none twice and none busy. If the problem is contiguous, links
    between its nodes must connect them; if it asks for a box, they must be one. Messages name the node.
    O(nodes * axes) when contiguous.
    """
    topology = problem.topology
    violations, nodes = node_violations(partition.nodes, problem.free, problem.size)
    if problem.contiguous and len(nodes):
        components = component_labels(_mask(topology, nodes), *topology_links(topology))[nodes]
        apart = np.flatnonzero(components != components[0])
        if len(apart):
            violations.append(
                f"node {nodes[apart[0]]} is not connected to node {nodes[0]}: "
                f"the set has {len(np.unique(components))} components"
            )
    if problem.box and len(nodes):
        violations += _faults_of_box(problem, nodes)
    return tuple(violations)


def _faults_of_box(problem: PartitionProblem, nodes: IntArray) -> list[str]:
    """Return why different nodes are no box as the problem asks for one; empty if they are."""
    topology = problem.topology
    sides = []
    for axis, along in enumerate(topology.coordinates(nodes).T):
        taken = len(np.unique(along))
        if _extent(along, topology.shape[axis], ring=topology.wrap[axis], full=False) > taken:
            return [f"the set is no box: its {taken} coordinates along axis {axis} are not consecutive"]
        sides.append(taken)
    volume = int(np.prod(sides))
    if volume > len(nodes):
        return [f"the set is no box: it has {len(nodes)} of the {volume} nodes of one of sides {sides}"]
    if isinstance(problem.box, tuple) and sides != [*problem.box]:
        return [f"the set is a box of sides {sides}, requested are {[*problem.box]}"]
    return []


def partition_value(
    problem: PartitionProblem, partition: Partition, objective: Sequence[str] = PARTITION_OBJECTIVES
) -> int:
    """Return the sum of the hop distances over all pairs of chosen nodes, to be minimised.

    Distances add up over the axes, and along an axis over the cuts between two nodes: a cut with s of the k
    nodes on one side lies between s * (k - s) pairs. On a ring of n nodes, the n arcs of floor(n / 2) nodes
    take the place of cuts: the number of arcs that hold just one of two nodes is twice their distance. On a
    complete axis its layers do: two layers hold just one of two nodes that differ along it, none if they
    agree. O(axes * nodes + sum of sides).
    """
    if tuple(objective) != PARTITION_OBJECTIVES:
        raise UnknownName("objective", ",".join(objective), PARTITION_OBJECTIVES)
    return _total_distance(problem.topology, _coordinates(problem, partition))


#: What can be minimised of a partition.
PARTITION_TERMS: Final[tuple[Term[PartitionProblem], ...]] = (
    Term(
        *("pairwise", "sum of the hop distances over all pairs of nodes", "hops"),
        value=attrgetter("total_distance"),
        bound=imported("allocsolve.bounds:partition_bound"),
    ),
)


@dataclass(frozen=True, slots=True)
class PartitionMetrics:
    """What a partition is worth; distances in hops, sizes in nodes."""

    total_distance: int  #: sum of the hop distances over all pairs
    average_distance: float  #: mean hop distance over all pairs, 0 for a single node
    diameter: int  #: largest hop distance between two of the nodes
    radius: int  #: least over all centres (any node, chosen or not) of the largest hop distance to a node
    box: tuple[
        int, ...
    ]  #: sides of the bounding box; along a ring the smallest arc, of a complete axis layers
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

    `span` and `runs` are counted on `order`, all nodes; by default by node id, the row-major order.

    Notes
    -----
    *Complexity*: O(axes * nodes of the topology * log(longest side)), whatever the number of chosen nodes.
    """
    topology = problem.topology
    coordinates = _coordinates(problem, partition)
    size = len(coordinates)
    members = _mask(topology, partition.nodes)
    unused = problem.free & ~members
    links = topology_links(topology)
    total = _total_distance(topology, coordinates)
    farthest = _farthest(topology, members)
    box = tuple(
        _extent(along, side, ring=ring, full=full)
        for along, side, ring, full in zip(
            coordinates.T, topology.shape, topology.wrap, topology.complete, strict=True
        )
    )
    volume = int(np.prod(box))
    components = _component_sizes(members, links)
    ranks = np.sort(_ranks(topology, order)[partition.nodes])
    left_ends, right_ends = links
    return PartitionMetrics(
        total_distance=total,
        average_distance=total / max(size * (size - 1) // 2, 1),
        diameter=int(farthest[members].max()),
        radius=int(farthest.min()),
        box=box,
        box_volume=volume,
        box_fill=size / volume,
        components=len(components),
        boundary=int(
            ((members[left_ends] & unused[right_ends]) | (unused[left_ends] & members[right_ends])).sum()
        ),
        span=int(ranks[-1] - ranks[0]) + 1,
        runs=int((np.diff(ranks) > 1).sum()) + 1,
        largest_free_component=int(_component_sizes(unused, links).max(initial=0)),
    )


def _coordinates(problem: PartitionProblem, partition: Partition) -> IntArray:
    """Return the coordinates of the chosen nodes, shape (nodes, axes); refuse nodes that have none."""
    nodes = checked_nodes(partition.nodes, problem.topology.num_nodes, "partition")
    return problem.topology.coordinates(nodes)


def _total_distance(topology: Topology, coordinates: IntArray) -> int:
    size = len(coordinates)
    total = 0
    for along, side, ring, full in zip(
        coordinates.T, topology.shape, topology.wrap, topology.complete, strict=True
    ):
        layers = np.bincount(along, minlength=side)
        below = np.concatenate([[0], np.cumsum(layers)])
        if full:
            held = layers
        elif ring:
            around = np.concatenate([below, below[1:] + size])
            held = around[side // 2 : side // 2 + side] - below[:-1]
        else:
            held = below[1:]
        crossing = sum((held * (size - held)).tolist())  # as Python integers: a long axis sums beyond 64 bits
        total += crossing // 2 if ring or full else crossing
    return total


def _mask(topology: Topology, nodes: IntArray) -> BoolArray:
    mask = np.zeros(topology.num_nodes, dtype=np.bool_)
    mask[nodes] = True
    return mask


def topology_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return the two ends of every link, each link once."""
    ids = np.arange(topology.num_nodes).reshape(topology.shape, order="F")
    left, right = [], []
    for axis, (side, ring, full) in enumerate(
        zip(topology.shape, topology.wrap, topology.complete, strict=True)
    ):
        lines = np.moveaxis(ids, axis, 0)
        if full:
            one, other = np.triu_indices(side, 1)
            left.append(lines[one].ravel())
            right.append(lines[other].ravel())
            continue
        left.append(lines[:-1].ravel())
        right.append(lines[1:].ravel())
        if ring and side > 2:  # a ring of two has a single link
            left.append(lines[-1].ravel())
            right.append(lines[0].ravel())
    return np.concatenate(left), np.concatenate(right)


def component_labels(members: BoolArray, left: IntArray, right: IntArray) -> IntArray:
    """Return for each member the least node of its component among `members`, for other nodes themselves.

    `left` and `right` are the ends of each link. Every root joins the least root next to it until no link is
    left between two roots: O(log nodes) rounds.
    """
    within = members[left] & members[right]
    left, right = left[within], right[within]
    root = np.arange(len(members))
    while len(left):
        low, high = np.minimum(root[left], root[right]), np.maximum(root[left], root[right])
        np.minimum.at(root, high, low)
        while not np.array_equal(above := root[root], root):
            root = above
        between = root[left] != root[right]
        left, right = left[between], right[between]
    return root


def _component_sizes(members: BoolArray, links: tuple[IntArray, IntArray]) -> IntArray:
    """Return the size of each component of `members`."""
    return np.unique(component_labels(members, *links)[members], return_counts=True)[1]


def _extent(along: IntArray, side: int, *, ring: bool, full: bool) -> int:
    """Return how many consecutive coordinates of an axis cover all of these; any of a complete axis."""
    taken = np.unique(along)
    if full:
        return len(taken)
    if not ring:
        return int(taken[-1] - taken[0]) + 1
    return side + 1 - int(np.diff(taken, append=taken[0] + side).max())


def _ranks(topology: Topology, order: IntArray | None) -> IntArray:
    """Return the position of each node in the order."""
    nodes = np.arange(topology.num_nodes)
    if order is None:
        return nodes
    order = np.asarray(order)
    if order.shape != nodes.shape or not np.array_equal(np.sort(order), nodes):
        raise InvalidOption(f"order is not a permutation of the {len(nodes)} nodes")
    ranks = np.empty_like(nodes)
    ranks[order] = nodes
    return ranks


def _farthest(topology: Topology, members: BoolArray) -> IntArray:
    """Return for each node the largest hop distance to a member, axis by axis.

    After some axes the entry of a node is the distance to the farthest member that differs from it along
    these axes only.
    """
    far = np.where(members, 0, -(2**40)).reshape(topology.shape, order="F")
    for axis, (side, ring, full) in enumerate(
        zip(topology.shape, topology.wrap, topology.complete, strict=True)
    ):
        lines = np.moveaxis(far, axis, 0)
        if full and side > 1:
            second, first = np.sort(lines, axis=0)[-2:]
            elsewhere = np.where(lines == first, second, first)  # if two are largest, both are the same
            far = np.moveaxis(np.maximum(lines, elsewhere + 1), 0, axis)
            continue
        # The shortest way to the nodes up to `reach` ahead goes forward, to those behind backward.
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
