"""Kernels that grow a connected set over the links of a topology."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.partition.lattice import COMPLETE, distance_along
from allocsolve.kernels import allocating_kernel, kernel
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.model import BoolArray, IntArray


@allocating_kernel
def grow(lattice: Lattice, free: BoolArray, nodes: IntArray, bound: int) -> int:
    """Fill `nodes` behind its first entry, each time with the cheapest free neighbour; return the cost.

    The component of ``nodes[0]`` must have enough free nodes. On ties the neighbour met first is taken:
    neighbours are met when a node is chosen, by increasing id. Returns `bound` as soon as the cost reaches
    it; `nodes` is then meaningless.

    Per axis, ``rise`` of a coordinate is the sum of distances along the axis from there to the chosen nodes.
    It is kept only for the coordinates of nodes met so far (``active``), as a small set on a large machine
    needs no others. ``held`` counts the chosen nodes at a coordinate.
    """
    shape, wrap, coordinates, offsets, neighbours = lattice
    axes, num_nodes = len(shape), len(free)
    side = 0
    for axis in range(axes):
        side = max(side, shape[axis])
    rise = np.zeros((axes, side), dtype=np.int64)
    held = np.zeros((axes, side), dtype=np.int64)
    active = np.empty((axes, side), dtype=np.int64)
    num_active = np.zeros(axes, dtype=np.int64)
    is_active = np.zeros((axes, side), dtype=np.bool_)
    met = np.zeros(num_nodes, dtype=np.bool_)
    degree = 0
    for axis in range(axes):
        degree += shape[axis] - 1 if wrap[axis] == COMPLETE else 2
    frontier = np.empty(min(num_nodes, degree * len(nodes)), dtype=np.int64)
    waiting = 0
    met[nodes[0]] = True
    cost = 0
    for count in range(1, len(nodes)):
        node = nodes[count - 1]
        for axis in range(axes):
            here = coordinates[node, axis]
            held[axis, here] += 1
            for k in range(num_active[axis]):
                c = active[axis, k]
                rise[axis, c] += distance_along(c, here, shape[axis], wrap[axis])
        for k in range(offsets[node], offsets[node + 1]):
            other = neighbours[k]
            if not free[other] or met[other]:
                continue
            met[other] = True
            frontier[waiting] = other
            waiting += 1
            for axis in range(axes):
                there = coordinates[other, axis]
                if not is_active[axis, there]:
                    is_active[axis, there] = True
                    active[axis, num_active[axis]] = there
                    num_active[axis] += 1
                    for c in range(shape[axis]):
                        if held[axis, c] > 0:
                            apart = distance_along(c, there, shape[axis], wrap[axis])
                            rise[axis, there] += held[axis, c] * apart
        best, least_increase = -1, 0
        for k in range(waiting):
            node = frontier[k]
            increase = 0
            for axis in range(axes):
                increase += rise[axis, coordinates[node, axis]]
            if best < 0 or increase < least_increase:
                best, least_increase = k, increase
        cost += least_increase
        if cost >= bound:
            return bound
        nodes[count] = frontier[best]
        waiting -= 1
        for k in range(best, waiting):
            frontier[k] = frontier[k + 1]
    return cost


@allocating_kernel
def _first_seed(lattice: Lattice, free: BoolArray, size: int) -> int:
    """Return the first free node with at least `size` nodes in its component, -1 if there is none."""
    offsets, neighbours = lattice.offsets, lattice.neighbours
    met = np.zeros(len(free), dtype=np.bool_)
    queue = np.empty(len(free), dtype=np.int64)
    for seed in range(len(free)):
        if met[seed] or not free[seed]:
            continue
        met[seed] = True
        queue[0] = seed
        head, tail = 0, 1
        while head < tail < size:
            node = queue[head]
            head += 1
            for k in range(offsets[node], offsets[node + 1]):
                other = neighbours[k]
                if free[other] and not met[other]:
                    met[other] = True
                    queue[tail] = other
                    tail += 1
        if tail >= size:
            return seed
    return -1


@kernel
def grow_first(lattice: Lattice, free: BoolArray, nodes: IntArray) -> bool:
    """Fill `nodes` from the first free node whose component is large enough; False if there is none."""
    nodes[0] = _first_seed(lattice, free, len(nodes))
    if nodes[0] < 0:
        return False
    grow(lattice, free, nodes, MAX_INTEGER)
    return True


@kernel
def grow_cheapest(lattice: Lattice, free: BoolArray, seeds: IntArray, nodes: IntArray, bound: int) -> int:
    """Grow from each seed; write the first cheapest set to `nodes` if it is below `bound`; return its cost.

    Returns `bound`, and leaves `nodes` alone, if none is.
    """
    trial = np.empty(len(nodes), dtype=np.int64)
    for seed in seeds:
        trial[0] = seed
        cost = grow(lattice, free, trial, bound)
        if cost < bound:
            bound = cost
            for place in range(len(nodes)):  # an assignment of arrays would compile the text of its error
                nodes[place] = trial[place]
    return bound


@kernel
def spread(
    lattice: Lattice, free: BoolArray, order: IntArray, start: int, size: int, contiguous: bool
) -> IntArray:
    """Return the first `size` free nodes met breadth-first from the first free node of `order`.

    Positions of `order` are tried cyclically from `start` on. Where the search ends too early, it goes on
    from the next free node on `order`, or if `contiguous` returns what it has.
    """
    offsets, neighbours = lattice.offsets, lattice.neighbours
    nodes = np.empty(size, dtype=np.int64)  # also the queue
    met = np.zeros(len(free), dtype=np.bool_)
    head = tail = 0
    for step in range(len(order)):
        seed = order[(start + step) % len(order)]
        if met[seed] or not free[seed]:
            continue
        if tail > 0 and contiguous:
            break
        nodes[tail] = seed
        tail += 1
        met[seed] = True
        while head < tail < size:
            node = nodes[head]
            head += 1
            for k in range(offsets[node], offsets[node + 1]):
                other = neighbours[k]
                if free[other] and not met[other] and tail < size:
                    met[other] = True
                    nodes[tail] = other
                    tail += 1
        if tail == size:
            break
    return nodes[:tail]
