"""Kernels that look for nodes: where a leaking job starts, and where a forked process goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics.partition.lattice import distance_along
from allocsolve.heuristics.reservation._kernels_machine import (
    CONTIGUOUS,
    CORES,
    FREE,
    OWN_FIRST,
    OWNER,
    TENANTS,
)
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.heuristics.reservation._kernels_machine import Machine, State
    from allocsolve.model import IntArray

__all__ = ["drop", "hops", "room", "room_in_partition"]


@inner_kernel
def hops(shape: IntArray, wrap: IntArray, coordinates: IntArray, one: int, other: int) -> int:
    """Return the hop distance of two nodes."""
    total = 0
    for axis in range(len(shape)):
        total += distance_along(coordinates[one, axis], coordinates[other, axis], shape[axis], wrap[axis])
    return total


@inner_kernel
def drop(machine: Machine, state: State, row: int, first: int, wanted: int) -> int:
    """Write up to `wanted` free nodes to `State.spot` and return how many, those of least curve place first.

    They are met breadth-first from the first free node on the snake from the beginning of a row, or from a
    given node.
    """
    lattice, node, met, spot = machine.lattice, state.node, state.met, state.spot
    num_nodes = len(met)
    contiguous = machine.rules[CONTIGUOUS] == 1
    for at in range(num_nodes):
        met[at] = 0
    start = row * lattice.shape[0]
    if first >= 0:
        start = machine.snake_place[first]
    head = tail = 0
    for step in range(num_nodes):
        seed = machine.snake[(start + step) % num_nodes]
        if node[seed, OWNER] >= 0 or met[seed] == 1:
            continue
        if tail > 0 and contiguous:
            break
        met[seed] = 1
        spot[tail] = seed
        tail += 1
        while head < tail < wanted:
            here = spot[head]
            head += 1
            for k in range(lattice.offsets[here], lattice.offsets[here + 1]):
                other = lattice.neighbours[k]
                if node[other, OWNER] < 0 and met[other] == 0 and tail < wanted:
                    met[other] = 1
                    spot[tail] = other
                    tail += 1
        if tail >= wanted:
            break
    count = 0
    for at in range(num_nodes):
        here = machine.curve[at]
        if met[here] == 1:
            spot[count] = here
            count += 1
    return count


@inner_kernel
def room_in_partition(lattice: Lattice, state: State, nodes: IntArray, parent: int) -> int:
    """Return the least loaded of some nodes, of these the nearest to the parent's, of these the first."""
    best, least, nearest = -1, 0, 0
    for node in nodes:
        load = state.node[node, TENANTS]
        if best >= 0 and load > least:
            continue
        far = hops(lattice.shape, lattice.wrap, lattice.coordinates, parent, node)
        if best < 0 or load < least or far < nearest or (far == nearest and node < best):
            best, least, nearest = int(node), load, far
    return best


@inner_kernel
def _free_neighbour(offsets: IntArray, neighbours: IntArray, node: IntArray, here: int) -> int:
    for k in range(offsets[here], offsets[here + 1]):
        other: int = neighbours[k]
        if node[other, OWNER] < 0:
            return other
    return -1


@inner_kernel
def room(machine: Machine, state: State, job: int, parent: int) -> int:
    """Return where a process goes that a leaking job forks on a node."""
    rules, node, met, spot = machine.rules, state.node, state.met, state.spot
    offsets, neighbours = machine.lattice.offsets, machine.lattice.neighbours
    if rules[OWN_FIRST] == 1 and node[parent, TENANTS] < rules[CORES]:
        return parent
    if state.counts[FREE] == 0:
        return parent
    free = _free_neighbour(offsets, neighbours, node, parent)
    if free >= 0:
        return free
    num_nodes = len(met)
    for at in range(num_nodes):
        met[at] = 0
    met[parent] = 1
    spot[0] = parent
    head, tail = 0, 1
    while head < tail:
        here = spot[head]
        head += 1
        for k in range(offsets[here], offsets[here + 1]):
            other = neighbours[k]
            if node[other, OWNER] == job and met[other] == 0:
                free = _free_neighbour(offsets, neighbours, node, other)
                if free >= 0:
                    return free
                met[other] = 1
                spot[tail] = other
                tail += 1
    for other in range(num_nodes):
        if node[other, OWNER] == job and met[other] == 0:
            free = _free_neighbour(offsets, neighbours, node, other)
            if free >= 0:
                return free
    if rules[CONTIGUOUS] == 0:
        for step in range(num_nodes):
            at = (machine.snake_place[parent] + step) % num_nodes
            free = int(machine.snake[at])
            if node[free, OWNER] < 0:
                return free
    return parent
