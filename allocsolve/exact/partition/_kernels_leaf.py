"""Kernels for what the counts leave open: whether cells with these counts exist, and are connected."""
# ruff: noqa: SIM110
# A kernel is a single loop: a function per branch costs time and hides the invariant. Numba does not compile
# generators in all().

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.exact.partition._kernels_relaxation import FORCED, OPEN, OUT
from allocsolve.kernels import allocating_kernel

if TYPE_CHECKING:
    from allocsolve.exact.partition._kernels_relaxation import States
    from allocsolve.model import BoolArray, IntArray


@allocating_kernel
def fill(status: States, ends: IntArray, demands: IntArray, chosen: IntArray, scarce: BoolArray) -> bool:
    """Choose cells such that each layer of both axes gets its demand, if that is possible.

    `status` is OUT, OPEN or FORCED for each cell, `ends`, shape (cells, 2), its layer on the first and on the
    second axis, numbered across both. `demands`, shape (layers of both axes,), is changed; `chosen` holds the
    cells if the answer is True. When the search for one more cell fails, it marks in `scarce`, all False
    before, the layers that it reached: those of the first axis demand more cells than those of the second
    allow.

    Notes
    -----
    A maximum flow from the layers of the first axis through cells to those of the second one, by
    breadth-first augmenting paths. O(demand * cells * layers).
    """
    num_layers = len(demands)
    used = np.zeros(len(status), dtype=np.bool_)
    first_side = np.zeros(num_layers, dtype=np.bool_)
    for i in range(len(status)):
        first_side[ends[i, 0]] = True
        if status[i] == FORCED:
            demands[ends[i, 0]] -= 1
            demands[ends[i, 1]] -= 1
    excess = 0
    for layer in range(num_layers):
        if demands[layer] < 0:
            return False
        excess += demands[layer] if first_side[layer] else -demands[layer]
    if excess != 0:
        return False
    came_by = np.empty(num_layers, dtype=np.int64)
    for source in range(num_layers):
        while first_side[source] and demands[source] > 0:
            for layer in range(num_layers):
                came_by[layer] = -2
            came_by[source] = -1
            sink = -1
            grown = True
            while grown and sink < 0:
                grown = False
                for i in range(len(status)):
                    if status[i] != OPEN:
                        continue
                    a, b = (ends[i, 1], ends[i, 0]) if used[i] else (ends[i, 0], ends[i, 1])
                    if came_by[a] != -2 and came_by[b] == -2:
                        came_by[b] = i
                        grown = True
                        if not used[i] and demands[b] > 0:
                            sink = b
                            break
            if sink < 0:
                for layer in range(num_layers):
                    scarce[layer] = came_by[layer] != -2
                return False
            demands[source] -= 1
            demands[sink] -= 1
            layer = sink
            while layer != source:
                i = came_by[layer]
                layer = ends[i, 0] if layer == ends[i, 1] else ends[i, 1]
                used[i] = not used[i]
    num = 0
    for i in range(len(status)):
        if status[i] == FORCED or used[i]:
            chosen[num] = i
            num += 1
    for layer in range(num_layers):
        if demands[layer] > 0:
            return False
    return True


@allocating_kernel
def least_component(offsets: IntArray, links: IntArray, members: IntArray) -> IntArray:
    """Return the smallest connected component of `members` (distinct cells)."""
    inside = np.zeros(len(offsets) - 1, dtype=np.bool_)
    inside[members] = True
    queue = np.empty(len(members), dtype=np.int64)
    smallest = members
    for seed in members:
        if not inside[seed]:
            continue
        inside[seed] = False
        queue[0] = seed
        head, tail = 0, 1
        while head < tail:
            for e in range(offsets[queue[head]], offsets[queue[head] + 1]):
                if inside[links[e]]:
                    inside[links[e]] = False
                    queue[tail] = links[e]
                    tail += 1
            head += 1
        if tail < len(smallest):
            smallest = queue[:tail].copy()
    return smallest


@allocating_kernel
def is_connected(offsets: IntArray, links: IntArray, members: IntArray) -> bool:
    """Return whether the cells are connected by links between them."""
    return len(least_component(offsets, links, members)) == len(members)


@allocating_kernel
def keep_reachable(offsets: IntArray, links: IntArray, status: States, size: int, root: int) -> int:
    """Exclude open cells that are in no connected set of `size` cells with all forced ones.

    With a forced cell `root`, these are the cells whose way from it needs more open cells than are left to
    choose; without one (-1), the cells in components below `size`. Returns the number of excluded cells, or
    -1 if no set is left. O(cells + links).
    """
    num_cells = len(status)
    far = num_cells + 1
    forced, gone = 0, 0
    for i in range(num_cells):
        forced += status[i] == FORCED
    away = np.empty(num_cells, dtype=np.int64)
    for i in range(num_cells):
        away[i] = far
    deque = np.empty(2 * num_cells + 1, dtype=np.int64)
    present = 0
    for seed in range(num_cells):
        if status[seed] == OUT or away[seed] < far or (root >= 0 and seed != root):
            continue
        head = tail = num_cells  # the queue grows at both ends, as forced cells cost nothing
        deque[tail] = seed
        tail += 1
        away[seed] = 0 if root >= 0 else 1
        reached = 1
        while head < tail:
            cell = deque[head]
            head += 1
            for e in range(offsets[cell], offsets[cell + 1]):
                other = links[e]
                if status[other] == OUT or away[other] < far:
                    continue
                reached += 1
                if status[other] == FORCED:
                    away[other] = away[cell]
                    head -= 1
                    deque[head] = other
                else:
                    away[other] = away[cell] + 1
                    deque[tail] = other
                    tail += 1
        if root >= 0:
            break
        if reached < size:
            gone += reached
            for e in range(num_cells, tail):
                status[deque[e]] = OUT
        else:
            present += reached
    if root >= 0:
        for i in range(num_cells):
            if status[i] != OUT and away[i] > size - forced:
                if status[i] == FORCED:
                    return -1
                status[i] = OUT
                gone += 1
            present += status[i] != OUT
    return gone if present >= size else -1
