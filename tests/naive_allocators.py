"""Slow, obvious twins of the node orders and the allocators: sets, lists and hop distances, no kernels."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allocsolve.model import BoolArray, Topology

Point = tuple[int, ...]


def points(shape: Sequence[int]) -> list[Point]:
    """All coordinates by node id."""
    return [p[::-1] for p in itertools.product(*(range(side) for side in reversed(shape)))]


def cost(topology: Topology, nodes: Iterable[int]) -> int:
    return sum(topology.hop_distance(a, b) for a, b in itertools.combinations(nodes, 2))


def component(topology: Topology, members: set[int], node: int) -> set[int]:
    reached, waiting = {node}, [node]
    while waiting:
        for other in topology.neighbours(waiting.pop()):
            if other in members and other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


def is_connected(topology: Topology, nodes: Iterable[int]) -> bool:
    members = set(nodes)
    return component(topology, members, next(iter(members))) == members


def free_nodes(free: BoolArray) -> list[int]:
    return [node for node, is_free in enumerate(free.tolist()) if is_free]


# Node orders -----------------------------------------------------------------------------------------------


def snake_order(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """Sort by the coordinates, slowest of `axes` last; a coordinate counts down when those slower are odd."""

    def key(point: Point) -> list[int]:
        digits: list[int] = []
        position = 0  # of the slower axes on their own snake
        for axis in reversed(axes):
            up = position % 2 == 0
            digits.append(point[axis] if up else shape[axis] - 1 - point[axis])
            position = position * shape[axis] + digits[-1]
        return digits

    everything = points(shape)
    return sorted(range(len(everything)), key=lambda node: key(everything[node]))


def hilbert_index(point: Point, bits: int) -> int:
    """Skilling 2004, AxestoTranspose, as published, on one point; then the bits interleaved."""
    x, n = list(point), len(point)
    m = 1 << (bits - 1)
    q = m
    while q > 1:
        p = q - 1
        for i in range(n):
            if x[i] & q:
                x[0] ^= p
            else:
                t = (x[0] ^ x[i]) & p
                x[0] ^= t
                x[i] ^= t
        q >>= 1
    for i in range(1, n):
        x[i] ^= x[i - 1]
    t = 0
    q = m
    while q > 1:
        if x[n - 1] & q:
            t ^= q - 1
        q >>= 1
    return interleaved([c ^ t for c in x], bits)


def interleaved(digits: Sequence[int], bits: int) -> int:
    text = "".join(f"{digit:0{bits}b}"[level] for level in range(bits) for digit in digits)
    return int(text, 2)


def hilbert_order(shape: Sequence[int], bits: int) -> list[int]:
    everything = points(shape)
    return sorted(range(len(everything)), key=lambda node: hilbert_index(everything[node], bits))


def morton_order(shape: Sequence[int]) -> list[int]:
    everything = points(shape)
    bits = max(1, max(shape).bit_length())
    return sorted(range(len(everything)), key=lambda node: interleaved(everything[node][::-1], bits))


# On a node order -------------------------------------------------------------------------------------------


def runs(order: Sequence[int], free: BoolArray) -> list[list[int]]:
    groups = itertools.groupby(order, key=lambda node: bool(free[node]))
    return [list(group) for is_free, group in groups if is_free]


def sorted_free_list(order: Sequence[int], free: BoolArray, size: int) -> list[int]:
    return [node for node in order if free[node]][:size]


def first_fit_run(order: Sequence[int], free: BoolArray, size: int) -> list[int] | None:
    return next((run[:size] for run in runs(order, free) if len(run) >= size), None)


def best_fit_run(order: Sequence[int], free: BoolArray, size: int) -> list[int] | None:
    fitting = [run for run in runs(order, free) if len(run) >= size]
    return min(fitting, key=len)[:size] if fitting else None


def min_span(order: Sequence[int], free: BoolArray, size: int) -> list[int]:
    listed = [node for node in order if free[node]]
    windows = [listed[i : i + size] for i in range(len(listed) - size + 1)]
    return min(windows, key=lambda window: order.index(window[-1]) - order.index(window[0]))


def largest_runs(order: Sequence[int], free: BoolArray, size: int) -> list[int]:
    left = runs(order, free)
    taken: list[int] = []
    while len(taken) < size:
        need = size - len(taken)
        run = min((run for run in left if len(run) >= need), key=len, default=None)
        if run is None:
            run = max(left, key=len)
        left.remove(run)
        taken += run[:need]
    return taken


# Growing ---------------------------------------------------------------------------------------------------


def grow(topology: Topology, free: BoolArray, size: int, seed: int) -> list[int] | None:
    chosen, met = [seed], [seed]
    while len(chosen) < size:
        met += [other for other in topology.neighbours(chosen[-1]) if free[other] and other not in met]
        candidates = [node for node in met if node not in chosen]
        if not candidates:
            return None
        chosen.append(min(candidates, key=lambda node: cost(topology, [*chosen, node])))
    return chosen


def growth(topology: Topology, free: BoolArray, size: int) -> list[int] | None:
    grown = (grow(topology, free, size, seed) for seed in free_nodes(free))
    return next((nodes for nodes in grown if nodes), None)


def growth_best(topology: Topology, free: BoolArray, size: int) -> list[int] | None:
    grown = (grow(topology, free, size, seed) for seed in free_nodes(free))
    return min((nodes for nodes in grown if nodes), key=lambda nodes: cost(topology, nodes), default=None)


def leak(
    topology: Topology, free: BoolArray, size: int, start_row: int, *, contiguous: bool
) -> list[int] | None:
    snake = snake_order(topology.shape, range(len(topology.shape)))
    start = start_row * topology.shape[0]
    taken: list[int] = []
    for seed in snake[start:] + snake[:start]:
        if not free[seed] or seed in taken:
            continue
        level = [seed]
        while level:
            taken += level
            level = list(
                dict.fromkeys(
                    other
                    for node in level
                    for other in topology.neighbours(node)
                    if free[other] and other not in taken
                )
            )
        if len(taken) >= size:
            return taken[:size]
        if contiguous:
            return None
    return None


# Blocks ----------------------------------------------------------------------------------------------------


def boxes(topology: Topology, sides: Point) -> Iterator[list[int]]:
    """All boxes of these sides, by their bases; the nodes of each by coordinates, first axis fastest."""
    shape = topology.shape
    for base in points(shape):
        ends = [b + side for b, side in zip(base, sides, strict=True)]
        if all(ring or end <= n for end, n, ring in zip(ends, shape, topology.wrap, strict=True)):
            yield [
                topology.node_at([(b + o) % n for b, o, n in zip(base, offset, shape, strict=True)])
                for offset in points(sides)
            ]


def box_contact(topology: Topology, free: BoolArray, box: Sequence[int]) -> int:
    contact = 0
    for node in box:
        for axis, (length, ring) in enumerate(zip(topology.shape, topology.wrap, strict=True)):
            for step in (-1, 1):
                there = topology.coordinates([node])[0].tolist()
                there[axis] += step
                if ring:
                    there[axis] %= length
                if not 0 <= there[axis] < length:
                    contact += 1
                else:
                    other = topology.node_at(there)
                    contact += other not in box and not free[other]
    return contact


def submesh(
    topology: Topology, free: BoolArray, size: int, *, best: bool, all_shapes: bool
) -> list[int] | None:
    ranges = [range(1, side + 1) for side in topology.shape]
    fitting = [sides for sides in itertools.product(*ranges) if math.prod(sides) == size]

    def spread(sides: Point) -> int:
        box = points(sides)
        return sum(
            sum(abs(a - b) for a, b in zip(p, q, strict=True)) for p, q in itertools.combinations(box, 2)
        )

    kinds = sorted({tuple(sorted(sides)) for sides in fitting}, key=lambda kind: (spread(kind), kind))
    for kind in kinds if all_shapes else kinds[:1]:
        free_boxes = [
            box
            for sides in sorted(fitting, reverse=True)
            if tuple(sorted(sides)) == kind
            for box in boxes(topology, sides)
            if all(free[node] for node in box)
        ]
        if free_boxes:
            return (
                max(free_boxes, key=lambda box: box_contact(topology, free, box)) if best else free_boxes[0]
            )
    return None


def multiple_buddy(topology: Topology, free: BoolArray, size: int) -> list[int]:
    shape = [side for side in topology.shape if side > 1] or [1]
    everything = points(shape)
    number = {point: node for node, point in enumerate(everything)}

    def cube(corner: Point, side: int) -> list[int]:
        return [
            number[tuple(c + o for c, o in zip(corner, p, strict=True))] for p in points([side] * len(shape))
        ]

    # The cubes at hand, as (level, base).
    at_hand: list[tuple[int, int]] = []
    covered: set[int] = set()
    for level in reversed(range(min(shape).bit_length())):
        side = 1 << level
        for base, corner in enumerate(everything):
            if any(c % side or c + side > n for c, n in zip(corner, shape, strict=True)):
                continue
            nodes = cube(corner, side)
            if all(free[node] and node not in covered for node in nodes):
                at_hand.append((level, base))
                covered.update(nodes)
    taken: list[int] = []
    for level in reversed(range(min(shape).bit_length())):
        side = 1 << level
        while size - len(taken) >= side ** len(shape):
            large = [item for item in at_hand if item[0] >= level]
            if not large:
                break
            have, base = min(large)
            at_hand.remove((have, base))
            if have == level:
                taken += cube(everything[base], side)
            else:  # into its buddies, one level down
                halves = points([2] * len(shape))
                half = 1 << (have - 1)
                at_hand += [
                    (have - 1, number[tuple(c + half * o for c, o in zip(everything[base], p, strict=True))])
                    for p in halves
                ]
    return taken


def paging(
    topology: Topology, free: BoolArray, size: int, exponent: int, page_order: Sequence[int]
) -> list[int] | None:
    """`page_order` is the node order of the mesh of pages."""
    side = 1 << exponent
    grid = points([math.ceil(n / side) for n in topology.shape])
    taken: list[int] = []
    for page in page_order:
        nodes = [
            node
            for node, point in enumerate(points(topology.shape))
            if tuple(c // side for c in point) == grid[page]
        ]
        if all(free[node] for node in nodes):
            taken += nodes
    return taken[:size] if len(taken) >= size else None
