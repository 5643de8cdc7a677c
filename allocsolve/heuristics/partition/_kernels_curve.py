"""Kernels that choose nodes on a node order.

`order` is a permutation of the node ids, `free` the mask over node ids. Positions are indices into `order`;
a run is a maximal stretch of positions whose nodes are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray

#: What `fit` does when no run suffices; with FAIL it returns no nodes.
FAIL, MIN_SPAN, LARGEST_RUNS = range(3)


@kernel
def collect(order: IntArray, free: BoolArray, start: int, size: int) -> IntArray:
    """Return the first `size` free nodes from position `start` on; there must be enough."""
    nodes = np.empty(size, dtype=np.int64)
    count = 0
    position = start
    while count < size:
        if free[order[position]]:
            nodes[count] = order[position]
            count += 1
        position += 1
    return nodes


@kernel
def sufficient_run(order: IntArray, free: BoolArray, size: int, smallest: bool) -> int:
    """Return where the first or the smallest run of at least `size` nodes starts, -1 if there is none."""
    start, shortest = -1, len(order) + 1
    length = 0
    for position in range(len(order) + 1):
        if position < len(order) and free[order[position]]:
            length += 1
            continue
        if size <= length < shortest:
            start, shortest = position - length, length
            if not smallest:
                break
        length = 0
    return start


@kernel
def least_span(order: IntArray, free: BoolArray, size: int) -> int:
    """Return where the first of the shortest stretches with `size` free nodes starts."""
    first = 0  # position of the first free node of the window
    while not free[order[first]]:
        first += 1
    count = 0
    start, shortest = -1, len(order) + 1
    for position in range(first, len(order)):
        if not free[order[position]]:
            continue
        count += 1
        if count < size:
            continue
        if position - first < shortest:
            start, shortest = first, position - first
        first += 1
        count -= 1
        while first < len(order) and not free[order[first]]:
            first += 1
    return start


@kernel
def largest_runs(order: IntArray, free: BoolArray, size: int) -> IntArray:
    """Return `size` nodes from few runs: each time the smallest run that suffices, else the largest run.

    On ties the first run is taken; the last run gives its low end. There is a list of runs for each length,
    so all takes O(nodes).
    """
    num_nodes = len(order)
    head = np.full(num_nodes + 1, -1, dtype=np.int64)  # per length, the start of the first run
    following = np.empty(
        num_nodes, dtype=np.int64
    )  # per start of a run, the start of the next run of equal length
    length = 0
    for position in range(num_nodes - 1, -2, -1):
        if position >= 0 and free[order[position]]:
            length += 1
        elif length > 0:
            following[position + 1] = head[length]
            head[length] = position + 1
            length = 0
    nodes = np.empty(size, dtype=np.int64)
    count = 0
    largest = num_nodes
    while count < size:
        while head[largest] < 0:
            largest -= 1
        length = largest
        if largest >= size - count:
            length = size - count
            while head[length] < 0:
                length += 1
        start = head[length]
        head[length] = following[start]
        for position in range(start, start + min(length, size - count)):
            nodes[count] = order[position]
            count += 1
    return nodes


@kernel
def fit(order: IntArray, free: BoolArray, size: int, smallest: bool, fallback: int) -> IntArray:
    """Return the low end of the first or the smallest run that suffices, else the nodes of the `fallback`.

    A single kernel has all fallbacks, so that none is left to be compiled when it is first needed.
    """
    start = sufficient_run(order, free, size, smallest)
    if start < 0 and fallback == FAIL:
        return np.empty(0, dtype=np.int64)
    if start < 0 and fallback == LARGEST_RUNS:
        return largest_runs(order, free, size)
    if start < 0:
        start = least_span(order, free, size)
    return collect(order, free, start, size)
