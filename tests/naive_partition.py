"""Slow obvious twins for meshes and tori: plain Python, hop distances by breadth-first search."""

from __future__ import annotations

import functools
import itertools
import math
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from allocsolve.model import PartitionProblem, Topology

Node: TypeAlias = tuple[int, ...]


@functools.lru_cache(maxsize=64)
def _places(topology: Topology) -> tuple[Node, ...]:
    """Coordinates by node id: the first axis varies fastest."""
    reverse = itertools.product(*(range(side) for side in reversed(topology.shape)))
    return tuple(place[::-1] for place in reverse)


def _axes(topology: Topology) -> list[tuple[int, bool, bool]]:
    """Side of each axis, whether it is a ring, whether it is complete."""
    return list(zip(topology.shape, topology.wrap, topology.complete, strict=True))


@functools.lru_cache(maxsize=64)
def links(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """For each node those one step along one axis away, round the ring if it is one, or any if complete."""
    places = _places(topology)
    ids = {place: node for node, place in enumerate(places)}
    linked: list[set[int]] = []
    for place in places:
        near = set()
        for axis, (side, ring, full) in enumerate(_axes(topology)):
            for step in range(-side, side) if full else (-1, 1):
                to = list(place)
                to[axis] += step
                if ring:
                    to[axis] %= side
                near |= {ids[tuple(to)]} if tuple(to) in ids else set()
        linked.append(near - {ids[place]})
    return tuple(tuple(sorted(near)) for near in linked)


@functools.lru_cache(maxsize=4096)
def distances(topology: Topology, source: int) -> tuple[int, ...]:
    """Hops from one node to every node, by breadth-first search over links."""
    linked = links(topology)
    hops = {source: 0}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for other in linked[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                queue.append(other)
    return tuple(hops[node] for node in range(len(linked)))


def pairwise(topology: Topology, nodes: Iterable[int]) -> int:
    """Sum of the hop distances over all pairs, by definition."""
    return sum(distances(topology, a)[b] for a, b in itertools.combinations(nodes, 2))


def cut_sum(topology: Topology, nodes: Collection[int]) -> int:
    """The same as a sum over cuts: s * (k - s) for each, s the chosen nodes on one side.

    An axis of n without a ring has n - 1 cuts. An even ring has n / 2, each through two opposite places; an
    odd one has n, of floor(n / 2) nodes each, that count half; so do the n layers of a complete axis.
    """
    doubled = 0
    for axis, (side, ring, full) in enumerate(_axes(topology)):
        if full:
            sides = [(1, {at}) for at in range(side)]
        elif not ring:
            sides = [(2, set(range(low))) for low in range(1, side)]
        else:
            half = side // 2
            weight, starts = (2, half) if side % 2 == 0 else (1, side)
            sides = [(weight, {(start + i) % side for i in range(half)}) for start in range(starts)]
        for weight, low_side in sides:
            s = sum(_places(topology)[node][axis] in low_side for node in nodes)
            doubled += weight * s * (len(nodes) - s)
    assert doubled % 2 == 0
    return doubled // 2


def axis_counts_pairwise(topology: Topology, nodes: Collection[int]) -> int:
    """The same from how many nodes have each coordinate, over all pairs of coordinates."""
    total = 0
    for axis, (side, ring, full) in enumerate(_axes(topology)):
        counts = [sum(_places(topology)[node][axis] == at for node in nodes) for at in range(side)]
        for low, high in itertools.combinations(range(side), 2):
            apart = 1 if full else min(high - low, side - high + low) if ring else high - low
            total += counts[low] * counts[high] * apart
    return total


def components(topology: Topology, nodes: Iterable[int]) -> list[set[int]]:
    """The connected parts of a set of nodes, by their least node."""
    left = set(nodes)
    found = []
    while left:
        part = {min(left)}
        while grown := {other for node in part for other in links(topology)[node]} & left - part:
            part |= grown
        left -= part
        found.append(part)
    return found


def is_connected(topology: Topology, nodes: Collection[int]) -> bool:
    """Whether any two of the nodes are joined by links between the nodes; so are none or one."""
    return len(components(topology, nodes)) <= 1


def boxes(topology: Topology, sides: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All boxes of these sides; those on rings may go beyond the end."""
    ids = {place: node for node, place in enumerate(_places(topology))}
    for base in _places(topology):
        along = [
            [(at + i) % side if ring else at + i for i in range(length)]
            for at, length, (side, ring, _) in zip(base, sides, _axes(topology), strict=True)
        ]
        nodes = [ids.get(place) for place in itertools.product(*along)]
        if None not in nodes:
            yield tuple(sorted(node for node in nodes if node is not None))


def boxes_of(problem: PartitionProblem) -> set[tuple[int, ...]]:
    """All boxes that the problem asks for, free or not."""
    shape = problem.topology.shape
    every = itertools.product(*(range(1, side + 1) for side in shape))
    wanted = [problem.box] if isinstance(problem.box, tuple) else every
    return {
        box for sides in wanted if math.prod(sides) == problem.size for box in boxes(problem.topology, sides)
    }


def free_nodes(problem: PartitionProblem) -> list[int]:
    return [node for node, free in enumerate(problem.free.tolist()) if free]


def answers(problem: PartitionProblem) -> Iterator[tuple[int, ...]]:
    """All answers, whatever they are worth."""
    if problem.box:
        free = set(free_nodes(problem))
        yield from (box for box in boxes_of(problem) if free.issuperset(box))
        return
    for nodes in itertools.combinations(free_nodes(problem), problem.size):
        if not problem.contiguous or is_connected(problem.topology, nodes):
            yield nodes


def optimum(problem: PartitionProblem) -> int | None:
    """Least pairwise distance over all answers; None if there is none."""
    return min((pairwise(problem.topology, nodes) for nodes in answers(problem)), default=None)


def violates(problem: PartitionProblem, nodes: Sequence[int]) -> bool:
    """Whether the nodes are no answer to the problem."""
    return (
        len(nodes) != problem.size
        or len(set(nodes)) < len(nodes)
        or not set(nodes) <= set(free_nodes(problem))
        or (problem.contiguous and not is_connected(problem.topology, nodes))
        or (bool(problem.box) and tuple(sorted(nodes)) not in boxes_of(problem))
    )


def diameter(topology: Topology, nodes: Collection[int]) -> int:
    return max(distances(topology, a)[b] for a in nodes for b in nodes)


def radius(topology: Topology, nodes: Collection[int]) -> int:
    """Largest distance from the best centre, which need not be one of the nodes."""
    return min(
        max(distances(topology, centre)[node] for node in nodes) for centre in range(topology.num_nodes)
    )


def bounding_box(topology: Topology, nodes: Collection[int]) -> tuple[int, ...]:
    """Along each axis the length of the shortest stretch (round the ring) that holds all nodes.

    Of a complete axis, any layers do.
    """
    box = []
    for axis, (side, ring, full) in enumerate(_axes(topology)):
        at = {_places(topology)[node][axis] for node in nodes}
        if full:
            box.append(len(at))
            continue
        box.append(
            min(
                length
                for length in range(1, side + 1)
                for start in range(side if ring else side - length + 1)
                if at <= {(start + i) % side for i in range(length)}
            )
        )
    return tuple(box)


def boundary(problem: PartitionProblem, nodes: Collection[int]) -> int:
    """Links between a chosen node and a free one that is not chosen."""
    outside = set(free_nodes(problem)) - set(nodes)
    return sum(len(outside & set(links(problem.topology)[node])) for node in nodes)


def runs(order: Sequence[int], nodes: Collection[int]) -> list[list[int]]:
    """Maximal stretches of the order that are all in `nodes`."""
    return [list(group) for member, group in itertools.groupby(order, key=lambda n: n in nodes) if member]
