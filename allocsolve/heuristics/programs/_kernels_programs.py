"""Kernels that write the drawn programs of Linnert et al. 2024, and what executions need of any program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.partition._kernels_growth import grow
from allocsolve.heuristics.partition.lattice import distance_along
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.program import COMPUTE, FORK, JOIN, RECEIVE, SEND

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.model import BoolArray, FloatArray, IntArray

__all__ = ["STEPS", "cheapest_seeds", "grown_from", "linked", "waves", "worker_rounds"]

#: Supersteps of kind 1, rounds of kind 2, waves of kind 3.
STEPS: Final = 10

#: Least work of a drawn computation; the most is 1 more.
LEAST_WORK: Final = 0.5

#: Weight of what a worker of kind 2 is given and gives back.
WORKER_WEIGHT: Final = 0.5


@kernel
def worker_rounds(
    draws: FloatArray, num_nodes: int, most: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return a program of kind 2 as offsets, codes, targets and amounts.

    `draws` are uniform on [0, 1): the permutations of all rounds, each by exchanging the last entry with any
    one, then the last but one, and so on; then for each process and round whether there are workers, how many
    and the work of each; then its own work. There are up to `most` workers at a time.
    """
    sources = np.empty((STEPS, num_nodes), dtype=np.int64)
    target = np.empty(num_nodes, dtype=np.int64)
    at = 0
    for step in range(STEPS):
        for i in range(num_nodes):
            target[i] = i
        for i in range(num_nodes - 1, 0, -1):
            j = int(draws[at] * (i + 1))
            at += 1
            target[i], target[j] = target[j], target[i]
        for i in range(num_nodes):
            sources[step, target[i]] = i
    room = num_nodes * STEPS * (2 * most + 3)
    codes, targets = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    amounts = np.zeros(room)
    offsets = np.empty(num_nodes + 1, dtype=np.int64)
    works = np.empty(num_nodes * STEPS * most)
    done = workers = 0
    for i in range(num_nodes):
        offsets[i] = done
        for step in range(STEPS):
            count = 0
            if draws[at] < 0.5:
                at += 1
                count = 1 + int(draws[at] * most)
            at += 1
            for q in range(workers, workers + count):
                works[q] = LEAST_WORK + draws[at]
                at += 1
                codes[done], targets[done], amounts[done] = FORK, num_nodes + q, WORKER_WEIGHT
                done += 1
            codes[done], targets[done], amounts[done] = COMPUTE, -1, LEAST_WORK + draws[at]
            at += 1
            done += 1
            for q in range(workers, workers + count):
                codes[done], targets[done] = JOIN, num_nodes + q
                done += 1
            workers += count
            codes[done], targets[done], amounts[done] = SEND, step * num_nodes + i, 1.0
            codes[done + 1], targets[done + 1] = RECEIVE, step * num_nodes + sources[step, i]
            done += 2
    offsets[num_nodes] = done
    all_offsets = np.empty(num_nodes + workers + 1, dtype=np.int64)
    all_codes, all_targets = (
        np.empty(done + workers, dtype=np.int64),
        np.empty(done + workers, dtype=np.int64),
    )
    all_amounts = np.empty(done + workers)
    all_offsets[: num_nodes + 1] = offsets
    all_codes[:done], all_targets[:done], all_amounts[:done] = codes[:done], targets[:done], amounts[:done]
    for q in range(workers):
        all_offsets[num_nodes + q + 1] = done + q + 1
        all_codes[done + q], all_targets[done + q], all_amounts[done + q] = COMPUTE, -1, works[q]
    return all_offsets, all_codes, all_targets, all_amounts


@inner_kernel
def _node_of_tree(
    codes: IntArray,
    targets: IntArray,
    amounts: FloatArray,
    budgets: IntArray,
    done: int,
    budget: int,
    following: int,
    draw: float,
) -> int:
    """Write the operations of a process with a budget, whose first subtree begins at a process."""
    subtrees = min(budget - 1, 2)
    for k in range(subtrees):
        q = following + k * (budget // 2)
        budgets[q] = (budget - k) // 2
        codes[done + k], targets[done + k], amounts[done + k] = FORK, q, 1.0
        codes[done + subtrees + 1 + k], targets[done + subtrees + 1 + k] = JOIN, q
    codes[done + subtrees], targets[done + subtrees] = COMPUTE, -1
    amounts[done + subtrees] = LEAST_WORK + draw
    return done + 2 * subtrees + 1


@kernel
def waves(draws: FloatArray, sizes: IntArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return a program of kind 3 with waves of these sizes as offsets, codes, targets and amounts.

    `draws` are uniform on [0, 1): the work of each process, wave by wave, parents before their first subtree
    and that before the second, which is also the order of the processes.
    """
    num_processes = 1 + sizes.sum() - len(sizes)
    offsets = np.empty(num_processes + 1, dtype=np.int64)
    room = 3 * num_processes + len(sizes)
    codes, targets = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    amounts = np.zeros(room)
    budgets = np.empty(num_processes, dtype=np.int64)
    offsets[0] = 0
    done, at, following = 0, 0, 1
    for size in sizes:  # the root, whose operations come first
        done = _node_of_tree(codes, targets, amounts, budgets, done, size, following, draws[at])
        at += size
        following += size - 1
    offsets[1] = done
    p, at = 1, 0
    for size in sizes:
        for k in range(1, size):
            done = _node_of_tree(codes, targets, amounts, budgets, done, budgets[p], p + 1, draws[at + k])
            p += 1
            offsets[p] = done
        at += size
    return offsets, codes[:done].copy(), targets[:done].copy(), amounts[:done].copy()


@kernel
def linked(
    offsets: IntArray, code: IntArray, target: IntArray, amount: FloatArray, num_channels: int
) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
    """Return parents and weights of inputs of processes, first messages and receivers of channels.

    The first messages are followed by the number of all messages. Channels are below `num_channels`.
    """
    num_processes = len(offsets) - 1
    parent, weight = np.full(num_processes, -1), np.zeros(num_processes)
    first, receiver = np.zeros(num_channels + 1, dtype=np.int64), np.full(num_channels, -1)
    for p in range(num_processes):
        for at in range(offsets[p], offsets[p + 1]):
            if code[at] == FORK:
                parent[target[at]], weight[target[at]] = p, amount[at]
            elif code[at] == SEND:
                first[target[at] + 1] += 1
            elif code[at] == RECEIVE and receiver[target[at]] < 0:
                receiver[target[at]] = p
    for channel in range(num_channels):
        first[channel + 1] += first[channel]
    return parent, weight, first, receiver


@kernel
def grown_from(lattice: Lattice, free: BoolArray, seed: int, size: int) -> IntArray:
    """Return the set of a size that is grown from a seed."""
    nodes = np.empty(size, dtype=np.int64)
    nodes[0] = seed
    grow(lattice, free, nodes, MAX_INTEGER)
    return nodes


@kernel
def cheapest_seeds(lattice: Lattice, free: BoolArray, most: int) -> IntArray:
    """Return from which node the cheapest set of each size grows, of 1 to `most` nodes; the first on ties.

    A set that grows contains the smaller ones of its seed: one growth from each node does for all sizes.
    """
    shape, wrap, coordinates = lattice.shape, lattice.wrap, lattice.coordinates
    least, seeds = np.full(most, MAX_INTEGER), np.zeros(most, dtype=np.int64)
    nodes = np.empty(most, dtype=np.int64)
    held = np.empty((len(shape), shape.max()), dtype=np.int64)
    for seed in range(len(free)):
        nodes[0] = seed
        grow(lattice, free, nodes, MAX_INTEGER)
        held[:] = 0
        cost = 0
        for k in range(most):
            for axis in range(len(shape)):
                here = coordinates[nodes[k], axis]
                for there in range(shape[axis]):
                    if held[axis, there] > 0:
                        apart = distance_along(here, there, shape[axis], wrap[axis])
                        cost += held[axis, there] * apart
                held[axis, here] += 1
            if cost < least[k]:
                least[k], seeds[k] = cost, seed
    return seeds
