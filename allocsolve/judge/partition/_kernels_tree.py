"""Compiled, for the judge: whether a tree of splits and multipliers closes all of its branches.

A *branch* is a set of node sets: an interval for each count and a state for each cell (free node). Open
branches are kept by depth, one at each depth. The next steps belong to the deepest one.

The layers of an axis enter and leave a window one at a time; a *count* is the number of chosen nodes in the
window at one moment. A *walk* is a count for each moment: from one to the next it changes by the nodes of one
layer. On complete axes it is these changes that cost something, elsewhere the counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import BoolArray, IntArray

#: States of a cell: it is in no set of the branch, in some of them, or in all.
OUT, OPEN, FORCED = 0, 1, 2

#: A cost above all others; the sum of a few of them still fits into 64 bits.
NEVER: Final = 2**60


class Windows(NamedTuple):
    """The axes, the main axis first. The layers of all axes are numbered through, and so are the counts."""

    #: Shape (axes + 1,): where the layers and the counts of each axis begin; the last entry is their number.
    layers: IntArray
    counts: IntArray
    #: Shape (counts,): units that a pair of nodes costs if just one of them is in the window of the count.
    price: IntArray
    #: Shape (layers,): the layer that enters or leaves the window between the first and the second count of
    #: the axis, between the second and the third, and so on.
    passed: IntArray
    #: Shape (layers,): a layer is in the windows of the counts enter, ..., leave - 1.
    enter: IntArray
    leave: IntArray
    #: Shape (layers,): units that a pair of nodes costs if just one of them is in the layer.
    apart: IntArray
    #: Shape (cells, axes): the layer of each cell.
    layer_of: IntArray


class Branch(NamedTuple):
    """The sets that are still possible: an interval for each count and a state for each cell."""

    low: IntArray
    high: IntArray
    status: NDArray[np.int8]


class Tables(NamedTuple):
    """Memory that is written again and again; node sets have `size` nodes."""

    #: Shape (counts, size + 1): the least cost of a walk up to a count, and of one from that count on.
    ahead: IntArray
    behind: IntArray
    #: Shape (layers,): how many cells of a layer must be chosen, and how many may be.
    least: IntArray
    greatest: IntArray
    #: Layer j with q nodes costs ``costs[offsets[j] + q]``.
    costs: IntArray
    offsets: IntArray
    #: Shape (counts,): the multiplier of each count. Shape (counts + 1,): the sums of the first ones.
    paid: IntArray
    sums: IntArray
    #: Shape (cells,): the weight of each cell; the cells sorted by the layers of the main axis, of which
    #: layer j begins at ``begins[j]``.
    weights: IntArray
    order: IntArray
    begins: IntArray
    #: Shape (layers of the main axis, size + 1): the least cost of a walk with this number of nodes in a
    #: layer.
    through: IntArray
    #: Shape (axes,): the least cost of a walk.
    bests: IntArray


@inner_kernel
def _cost(windows: Windows, tables: Tables, size: int, p: int, count: int) -> int:
    return int(windows.price[p] * count * (size - count) - tables.paid[p] * count)


@inner_kernel
def forward(windows: Windows, branch: Branch, tables: Tables, size: int, t: int) -> int:
    """Fill the table of walks up to each count of axis t; return the least cost, about NEVER without a walk.

    O(sum over the layers of counts * choices).
    """
    low, high = branch.low, branch.high
    start, end = windows.counts[t], windows.counts[t + 1]
    for s in range(low[start], high[start] + 1):
        tables.ahead[start, s] = _cost(windows, tables, size, start, s)
    for p in range(start, end - 1):
        here, there = tables.ahead[p], tables.ahead[p + 1]
        for s in range(low[p + 1], high[p + 1] + 1):
            there[s] = NEVER
        layer = windows.passed[windows.layers[t] + p - start]
        sign = 1 if windows.enter[layer] == p + 1 else -1
        for q in range(tables.least[layer], min(tables.greatest[layer], size) + 1):
            cost = windows.apart[layer] * q * (size - q)
            if t == 0:
                cost += tables.costs[tables.offsets[layer] + q]
            move = sign * q
            for s in range(max(low[p], low[p + 1] - move), min(high[p], high[p + 1] - move) + 1):
                there[s + move] = min(there[s + move], here[s] + cost)
        for s in range(low[p + 1], high[p + 1] + 1):
            there[s] += _cost(windows, tables, size, p + 1, s)
    best = NEVER
    for s in range(low[end - 1], high[end - 1] + 1):
        best = min(best, tables.ahead[end - 1, s])
    return best


@inner_kernel
def backward(windows: Windows, branch: Branch, tables: Tables, size: int, t: int) -> None:
    """Fill the table of walks from each count of axis t on, the cost of that count included."""
    low, high = branch.low, branch.high
    start, end = windows.counts[t], windows.counts[t + 1]
    for s in range(low[end - 1], high[end - 1] + 1):
        tables.behind[end - 1, s] = _cost(windows, tables, size, end - 1, s)
    for p in range(end - 2, start - 1, -1):
        here, there = tables.behind[p], tables.behind[p + 1]
        for s in range(low[p], high[p] + 1):
            here[s] = NEVER
        layer = windows.passed[windows.layers[t] + p - start]
        sign = 1 if windows.enter[layer] == p + 1 else -1
        for q in range(tables.least[layer], min(tables.greatest[layer], size) + 1):
            cost = windows.apart[layer] * q * (size - q)
            if t == 0:
                cost += tables.costs[tables.offsets[layer] + q]
            move = sign * q
            for s in range(max(low[p], low[p + 1] - move), min(high[p], high[p + 1] - move) + 1):
                here[s] = min(here[s], there[s + move] + cost)
        for s in range(low[p], high[p] + 1):
            here[s] += _cost(windows, tables, size, p, s)


@inner_kernel
def least_through(windows: Windows, branch: Branch, tables: Tables, size: int) -> None:
    """Fill the table of walks along the main axis by the number of nodes in each layer."""
    low, high = branch.low, branch.high
    for layer in range(windows.layers[1]):
        for q in range(tables.least[layer], min(tables.greatest[layer], size) + 1):
            best = NEVER
            for s in range(max(low[layer], low[layer + 1] - q), min(high[layer], high[layer + 1] - q) + 1):
                best = min(best, tables.ahead[layer, s] + tables.behind[layer + 1, s + q])
            tables.through[layer, q] = best + tables.costs[tables.offsets[layer] + q]


@inner_kernel
def trim(windows: Windows, branch: Branch, tables: Tables, size: int, t: int, limit: int) -> bool:
    """Narrow the intervals to the counts of walks that cost at most the limit; False if there are none."""
    for p in range(windows.counts[t], windows.counts[t + 1]):
        first, last = branch.low[p], branch.high[p]
        ahead, behind = tables.ahead[p], tables.behind[p]
        while first <= last and ahead[first] + behind[first] - _cost(windows, tables, size, p, first) > limit:
            first += 1
        while first <= last and ahead[last] + behind[last] - _cost(windows, tables, size, p, last) > limit:
            last -= 1
        if first > last:
            return False
        branch.low[p], branch.high[p] = first, last
    return True


#: Kinds of steps: a branch ends, multipliers narrow it, connectivity narrows it, or it is split by a count
#: (the lower or the upper part first) or by a cell.
LEAF, NARROW, REACH, LOWER_FIRST, UPPER_FIRST, CELL = range(6)


@inner_kernel
def _count(windows: Windows, branch: Branch, tables: Tables, size: int) -> bool:
    """Count the cells of each layer and narrow the counts to what these allow; False if no set is left."""
    least, greatest, layers, counts = tables.least, tables.greatest, windows.layers, windows.counts
    for j in range(layers[-1]):
        least[j] = greatest[j] = 0
    forced, present = 0, 0
    for cell in range(len(branch.status)):
        if branch.status[cell] != OUT:
            sure = int(branch.status[cell] == FORCED)
            present += 1
            forced += sure
            for t in range(windows.layer_of.shape[1]):
                j = windows.layer_of[cell, t]
                greatest[j] += 1
                least[j] += sure
    if forced > size or present < size:
        return False
    for t in range(len(layers) - 1):
        must, may = 0, 0
        for j in range(layers[t], layers[t + 1]):
            if windows.enter[j] == counts[t]:
                must += least[j]
                may += greatest[j]
        for p in range(counts[t], counts[t + 1]):
            if p > counts[t]:
                j = windows.passed[layers[t] + p - counts[t] - 1]
                sign = 1 if windows.enter[j] == p else -1
                must += sign * least[j]
                may += sign * greatest[j]
            branch.low[p] = max(branch.low[p], must, size - (present - may))
            branch.high[p] = min(branch.high[p], may, size - (forced - must))
            if branch.low[p] > branch.high[p]:
                return False
    return True


@inner_kernel
def _weigh(windows: Windows, branch: Branch, tables: Tables) -> None:
    """Weigh each cell by the multipliers, and sort the cells of each layer of the main axis by weight.

    Cells that are in all sets come first, cells that are in none come last.
    """
    paid, sums = tables.paid, tables.sums
    for p in range(len(paid)):
        sums[p + 1] = sums[p] + paid[p]
    for cell in range(len(branch.status)):
        weight = 0
        for t in range(1, windows.layer_of.shape[1]):
            j = windows.layer_of[cell, t]
            weight += sums[windows.leave[j]] - sums[windows.enter[j]]
        tables.weights[cell] = weight
    order, begins = tables.order, tables.begins
    for j in range(windows.layers[1]):
        for i in range(begins[j] + 1, begins[j + 1]):  # insertion sort: they are nearly sorted
            cell = order[i]
            state, weight = branch.status[cell], tables.weights[cell]
            at = i
            while at > begins[j]:
                other = order[at - 1]
                if branch.status[other] > state:
                    break
                if branch.status[other] == state and tables.weights[other] <= weight:
                    break
                order[at] = other
                at -= 1
            order[at] = cell
        total = 0
        for q in range(tables.greatest[j]):
            tables.costs[tables.offsets[j] + q] = total
            total += tables.weights[order[begins[j] + q]]
        tables.costs[tables.offsets[j] + tables.greatest[j]] = total


@inner_kernel
def _decide(windows: Windows, branch: Branch, tables: Tables, size: int, limit: int) -> bool:
    """Decide the cells for which one choice costs more than the limit; False if both choices of a cell do."""
    for j in range(windows.layers[1]):
        first, num, fewest = tables.begins[j], tables.greatest[j], tables.least[j]
        for r in range(fewest, num):
            cell = tables.order[first + r]
            weight = tables.weights[cell]
            within, without = NEVER, NEVER
            for q in range(fewest, min(num, size) + 1):
                cost = tables.through[j, q]
                if cost > limit:
                    continue
                if r < q:
                    within = min(within, cost)
                    if q < num:  # the next cell is chosen instead
                        without = min(without, cost - weight + tables.weights[tables.order[first + q]])
                else:
                    without = min(without, cost)
                    if q > fewest:  # it is chosen instead of the heaviest cell that may be left out
                        within = min(within, cost + weight - tables.weights[tables.order[first + q - 1]])
            if within > limit and without > limit:
                return False
            if within > limit:
                branch.status[cell] = OUT
            elif without > limit:
                branch.status[cell] = FORCED
    return True


@inner_kernel
def _relax(windows: Windows, branch: Branch, tables: Tables, multipliers: IntArray, size: int) -> int:
    """Return a lower bound on the cost of all sets of the branch; NEVER if it has none."""
    if not _count(windows, branch, tables, size):
        return NEVER
    first = windows.counts[1]
    for i in range(len(multipliers)):
        tables.paid[first + i] = multipliers[i]
    _weigh(windows, branch, tables)
    total = 0
    for t in range(len(windows.layers) - 1):
        tables.bests[t] = forward(windows, branch, tables, size, t)
        if tables.bests[t] >= NEVER // 2:
            return NEVER
        total += tables.bests[t]
    return total


@inner_kernel
def _narrow(
    windows: Windows, branch: Branch, tables: Tables, multipliers: IntArray, size: int, target: int
) -> bool:
    """Exclude what costs more than the target by these multipliers; False if no set is left."""
    total = _relax(windows, branch, tables, multipliers, size)
    if total > target:
        return False
    for t in range(len(windows.layers) - 1):
        limit = tables.bests[t] + target - total
        backward(windows, branch, tables, size, t)
        if t == 0:
            least_through(windows, branch, tables, size)
            if not _decide(windows, branch, tables, size, limit):
                return False
        if not trim(windows, branch, tables, size, t, limit):
            return False
    return True


@allocating_kernel
def _reach(links: tuple[IntArray, IntArray], status: NDArray[np.int8], size: int, source: int) -> bool:
    """Exclude cells that are in no connected set of the branch; False if one of them is in all sets.

    With a `source`, a cell that is in all sets: the cells to which every path from it takes more open cells
    than are left to choose. With the source -1: the cells in components of fewer than `size` cells.
    """
    offsets, ends = links
    num = len(status)
    forced = 0
    for cell in range(num):
        forced += int(status[cell] == FORCED)
    seen = np.zeros(num, dtype=np.bool_)
    kept = np.zeros(num, dtype=np.bool_)
    queue = np.empty(num, dtype=np.int64)
    later = np.empty(num, dtype=np.int64)
    for seed in range(num):
        if seen[seed] or status[seed] == OUT or (source >= 0 and seed != source):
            continue
        seen[seed] = True
        queue[0] = seed
        head, tail, waiting, steps = 0, 1, 0, 0
        while True:
            while head < tail:
                for e in range(offsets[queue[head]], offsets[queue[head] + 1]):
                    other = ends[e]
                    if seen[other] or status[other] == OUT:
                        continue
                    seen[other] = True
                    if source < 0 or status[other] == FORCED:
                        queue[tail] = other
                        tail += 1
                    else:
                        later[waiting] = other
                        waiting += 1
                head += 1
            if waiting == 0 or steps >= size - forced:
                break
            steps += 1
            for i in range(waiting):
                queue[tail] = later[i]
                tail += 1
            waiting = 0
        if source >= 0 or tail >= size:
            for i in range(tail):
                kept[queue[i]] = True
    for cell in range(num):
        if not kept[cell] and status[cell] != OUT:
            if status[cell] == FORCED:
                return False
            status[cell] = OUT
    return True


@inner_kernel
def _copy(branches: Branch, source: int, target: int) -> None:
    for p in range(branches.low.shape[1]):
        branches.low[target, p] = branches.low[source, p]
        branches.high[target, p] = branches.high[source, p]
    for cell in range(branches.status.shape[1]):
        branches.status[target, cell] = branches.status[source, cell]


@inner_kernel
def _take(branch: Branch, kind: int, first: int, second: int, turn: int) -> bool:
    """Narrow a branch to the first (turn 0) or the second part of a split; False if that is empty."""
    if kind == CELL:
        wanted = FORCED if turn == 0 else OUT
        other = OUT if turn == 0 else FORCED
        if branch.status[first] == other:
            return False
        branch.status[first] = wanted
        return True
    if (turn == 0) == (kind == LOWER_FIRST):
        branch.high[first] = min(branch.high[first], second)
    else:
        branch.low[first] = max(branch.low[first], second + 1)
    return bool(branch.low[first] <= branch.high[first])


@kernel
def open_leaf(
    windows: Windows,
    branches: Branch,
    tables: Tables,
    links: tuple[IntArray, IntArray],
    steps: IntArray,
    multipliers: IntArray,
    size: int,
    target: int,
    closed: BoolArray,
) -> int:
    """Return the first step that ends a branch in which sets may be left; -1 if no step does.

    `branches` has one row for each depth of the tree, row 0 all sets. `links` are the neighbours of the cells
    as (offsets, neighbours), none if sets need not be connected. `steps` and `multipliers` are a complete
    tree, see `allocsolve.judge.partition.certificate.partition_tree_bound`; `target` is the largest cost in
    question, in units. Whether the branch at each depth is empty is written to `closed`.
    """
    depth = 0
    closed[0] = False
    for row in range(len(steps)):
        kind, first, second = steps[row, 0], steps[row, 1], steps[row, 2]
        branch = Branch(branches.low[depth], branches.high[depth], branches.status[depth])
        if kind == LEAF:
            if not closed[depth] and _count(windows, branch, tables, size):
                return row
            depth -= 1
        elif kind == NARROW:
            if not closed[depth]:
                closed[depth] = not _narrow(windows, branch, tables, multipliers[first], size, target)
        elif kind == REACH:
            known = first < 0 or branch.status[first] == FORCED
            if not closed[depth] and known and len(links[1]) > 0:
                closed[depth] = not _reach(links, branch.status, size, first)
        else:
            closed[depth + 1] = closed[depth]
            if not closed[depth]:
                _copy(branches, depth, depth + 1)
                ahead = Branch(branches.low[depth + 1], branches.high[depth + 1], branches.status[depth + 1])
                closed[depth + 1] = not _take(ahead, kind, first, second, 0)
                closed[depth] = not _take(branch, kind, first, second, 1)
            depth += 1
    return -1


@kernel
def relaxed_cost(windows: Windows, branch: Branch, tables: Tables, multipliers: IntArray, size: int) -> int:
    """Return a lower bound on the cost, in units, of all sets of a branch; NEVER if it has none.

    O(sum over the layers of counts * choices).
    """
    return _relax(windows, branch, tables, multipliers, size)
