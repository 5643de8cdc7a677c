"""Kernels that write the drawn programs of Linnert et al. 2024, and link processes and channels of any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from reproductions.linnert2024.programs.program import COMPUTE, FORK, JOIN, RECEIVE, SEND

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray

#: The number of supersteps of kind 1, of rounds of kind 2 and of waves of kind 3: a choice, as the paper
#: describes the kinds in words only.
STEPS: Final = 10

#: The least work of a drawn computation, in units of work; the largest is 1 more, so that the mean is 1.
LEAST_WORK: Final = 0.5

#: The weight of the input and of the result of a worker of kind 2; a message has the weight 1.
WORKER_WEIGHT: Final = 0.5


@kernel
def worker_rounds(
    draws: FloatArray, num_nodes: int, max_workers: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return a program of kind 2 as offsets, codes, targets and amounts.

    `draws` are uniform on [0, 1). The first ones are for the permutations of all rounds: in each, the last
    entry is exchanged with any entry up to it, then the last but one, and so on. Then come, for each process
    and round, whether there are workers, how many, the work of each, and the work of the process. There are
    up to `max_workers` workers at a time.
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
    room = num_nodes * STEPS * (2 * max_workers + 3)
    codes, targets = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    amounts = np.zeros(room)
    offsets = np.empty(num_nodes + 1, dtype=np.int64)
    works = np.empty(num_nodes * STEPS * max_workers)
    done = workers = 0
    for i in range(num_nodes):
        offsets[i] = done
        for step in range(STEPS):
            count = 0
            if draws[at] < 0.5:
                at += 1
                count = 1 + int(draws[at] * max_workers)
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
    for node in range(num_nodes + 1):  # an assignment of arrays would compile the text of its error
        all_offsets[node] = offsets[node]
    for place in range(done):
        all_codes[place], all_targets[place] = codes[place], targets[place]
        all_amounts[place] = amounts[place]
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
    """Write the operations of a process of a tree; return where the next operation goes.

    The process and its subtrees have `budget` processes together; the first subtree begins at the process
    `following`.
    """
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

    `draws` are uniform on [0, 1): the work of each process, wave by wave. In a wave, a parent comes before
    its first subtree, and that before the second one, as in the order of the processes.
    """
    num_processes = 1 + sizes.sum() - len(sizes)
    offsets = np.empty(num_processes + 1, dtype=np.int64)
    room = 3 * num_processes + len(sizes)
    codes, targets = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    amounts = np.zeros(room)
    budgets = np.empty(num_processes, dtype=np.int64)
    offsets[0] = 0
    done, at, following = 0, 0, 1
    for size in sizes:  # the operations of the root come first
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
    """Return the parents and input weights of processes, and the first messages and receivers of channels.

    After the first messages comes the number of all messages. Channels are numbered below `num_channels`.
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
