"""The Lagrangian relaxation of the cut model: one bound, one candidate set, one subgradient per evaluation.

The choice of cells is solved exactly together with the walk of the main axis; each other axis has a walk of
its own. The multipliers, one per position of the other axes, charge the cells for the counts that they cause
and pay the walks for the counts that they assume. Whatever the multipliers, the sum of the least costs is a
lower bound on every set within the intervals (weak duality), here in whole units of 1/SCALE hops: no
rounding anywhere.

The counts of a walk are constrained jointly, so the bound is that of the convex hull of whole walks, not of
single cuts. The walk of an axis is found by a dynamic program over its cut counts.

*No ring*. Layers are the nodes that share a coordinate; position p has the count of chosen nodes in the first
p layers, which goes from 0 at position 0 to k at position n. Layer j holds q nodes, ``least[j] <= q <=
greatest[j]``. Position p costs ``halves[p] / 2 * s * (k - s) - multipliers[p] * s`` at count s, layer j
with q nodes ``costs[offsets[j] + q]``.

All costs are integers in units of 1/SCALE hops, so that every bound is exact. Rows of the tables:
positions; columns: counts 0..k. Entries outside ``low[p]..high[p]`` are never read.

*Rings*, over windows of half a ring. The ring is unrolled at some layer. Two pointers go along it together,
half a ring (h = n // 2 layers) apart: at stage r, 0 <= r <= n, the layers between them, the *window*, are
r // 2 .. h + (r + 1) // 2 - 1. Step r takes in the layer ahead if r is even and takes out the one behind if r
is odd, so that every layer is passed once. Stages 0..n - 1 see every half ring once (odd rings: every one of
h layers, or its complement), and the window of stage n is what that of stage 0 leaves.

The distances on a ring depend only on the counts of its windows: a walk is the count of the window, stage by
stage. The cells ensure that the last count is k less the first, and that all layers together hold k nodes; a
walk need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

    #: OUT, OPEN or FORCED for each cell.
    States: TypeAlias = NDArray[np.int8]

#: Units of cost per hop. Even, so that the half weights of odd rings are whole.
SCALE = 64

#: Above every sum of costs; sums of a few such values still fit 64 bits.
INFINITE = 2**60


class Axis(NamedTuple):
    """One axis of a node of the search: which walks along it are allowed, and what they cost."""

    #: Shape (positions,): least and greatest count, of a ring by stage.
    low: IntArray
    high: IntArray
    #: Shape (positions,): the weight of a count in halves, and the payment per node of it in 1/SCALE hops.
    halves: IntArray
    multipliers: IntArray
    #: Shape (layers,): least and greatest number of nodes.
    least: IntArray
    greatest: IntArray
    #: Layer j with q nodes costs ``costs[offsets[j] + q]``.
    costs: IntArray
    offsets: IntArray
    #: The number of nodes to choose.
    size: int


@inner_kernel
def price(halves: int, multiplier: int, size: int, count: int) -> int:
    """Return the cost of a count at a position."""
    return halves * count * (size - count) * (SCALE // 2) - multiplier * count


@inner_kernel
def forward(table: IntArray, axis: Axis) -> int:
    """Write the least cost of reaching each count into `table` and return the least of all walks.

    O(sum of counts times choices of q).
    """
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    for s in range(low[0], high[0] + 1):
        table[0, s] = price(halves[0], multipliers[0], size, s)
    for j in range(num):
        here, there = table[j], table[j + 1]
        a, b = low[j + 1], high[j + 1]
        for s in range(a, b + 1):
            there[s] = INFINITE
        for q in range(least[j], greatest[j] + 1):
            cost = costs[offsets[j] + q]
            for s in range(max(low[j], a - q), min(high[j], b - q) + 1):
                there[s + q] = min(there[s + q], here[s] + cost)
        for s in range(a, b + 1):
            there[s] += price(halves[j + 1], multipliers[j + 1], size, s)
    return table[num, size] if low[num] <= size <= high[num] else INFINITE


@inner_kernel
def backward(table: IntArray, axis: Axis) -> None:
    """Write the least cost of going on from each count, its own position included, into `table`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    for j in range(num, -1, -1):
        here = table[j]
        if j < num:
            there = table[j + 1]
            a, b = low[j + 1], high[j + 1]
            for s in range(low[j], high[j] + 1):
                here[s] = INFINITE
            for q in range(least[j], greatest[j] + 1):
                cost = costs[offsets[j] + q]
                for s in range(max(low[j], a - q), min(high[j], b - q) + 1):
                    here[s] = min(here[s], there[s + q] + cost)
        else:
            for s in range(low[j], high[j] + 1):
                here[s] = 0
        for s in range(low[j], high[j] + 1):
            here[s] += price(halves[j], multipliers[j], size, s)


@inner_kernel
def trace(table: IntArray, axis: Axis, counts: IntArray) -> None:
    """Write the counts of a least walk into `counts`, shape (positions,), from the table of `forward`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    s = size
    counts[num] = s
    for j in range(num - 1, -1, -1):
        rest = table[j + 1, s] - price(halves[j + 1], multipliers[j + 1], size, s)
        for q in range(least[j], greatest[j] + 1):
            t = s - q
            if low[j] <= t <= high[j] and table[j, t] + costs[offsets[j] + q] == rest:
                s = t
                break
        counts[j] = s


@inner_kernel
def trim(ahead: IntArray, behind: IntArray, axis: Axis, limit: int) -> int:
    """Narrow intervals to counts on walks of at most `limit`; return the number dropped, or -1 for all."""
    low, high, halves, multipliers, size = axis.low, axis.high, axis.halves, axis.multipliers, axis.size
    removed = 0
    for p in range(len(low)):
        a, b = low[p], high[p]
        while a <= b and ahead[p, a] + behind[p, a] - price(halves[p], multipliers[p], size, a) > limit:
            a += 1
        while b >= a and ahead[p, b] + behind[p, b] - price(halves[p], multipliers[p], size, b) > limit:
            b -= 1
        if a > b:
            return -1
        removed += a - low[p] + high[p] - b
        low[p], high[p] = a, b
    return removed


@inner_kernel
def pass_through(ahead: IntArray, behind: IntArray, axis: Axis, through: IntArray) -> None:
    """Write the least cost of all walks with q nodes in layer j into ``through[j, q]``."""
    low, high, least, greatest = axis.low, axis.high, axis.least, axis.greatest
    for j in range(len(least)):
        for q in range(least[j], greatest[j] + 1):
            best = INFINITE
            for s in range(max(low[j], low[j + 1] - q), min(high[j], high[j + 1] - q) + 1):
                best = min(best, ahead[j, s] + behind[j + 1, s + q])
            through[j, q] = best + axis.costs[axis.offsets[j] + q]


@inner_kernel
def _passed(r: int, num: int) -> tuple[int, int]:
    """Return the layer that step r passes, and 1 if it is taken in, -1 if it is taken out."""
    if r % 2 == 0:
        return num // 2 + r // 2, 1
    return r // 2, -1


@inner_kernel
def forward_ring(table: IntArray, axis: Axis) -> int:
    """Write the least cost of reaching each count into `table` and return the least of all walks.

    O(sum of counts times choices of q).
    """
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, size = axis.least, axis.greatest, axis.size
    num = len(least)
    for s in range(low[0], high[0] + 1):
        table[0, s] = price(halves[0], multipliers[0], size, s)
    for r in range(num):
        here, there = table[r], table[r + 1]
        a, b = low[r + 1], high[r + 1]
        for s in range(a, b + 1):
            there[s] = INFINITE
        layer, sign = _passed(r, num)
        for q in range(least[layer], greatest[layer] + 1):
            move = sign * q
            for s in range(max(low[r], a - move), min(high[r], b - move) + 1):
                there[s + move] = min(there[s + move], here[s])
        for s in range(a, b + 1):
            there[s] += price(halves[r + 1], multipliers[r + 1], size, s)
    best = INFINITE
    for s in range(low[num], high[num] + 1):
        best = min(best, table[num, s])
    return best


@inner_kernel
def backward_ring(table: IntArray, axis: Axis) -> None:
    """Write the least cost of going on from each count, its own stage included, into `table`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, size = axis.least, axis.greatest, axis.size
    num = len(least)
    for s in range(low[num], high[num] + 1):
        table[num, s] = price(halves[num], multipliers[num], size, s)
    for r in range(num - 1, -1, -1):
        here, there = table[r], table[r + 1]
        a, b = low[r + 1], high[r + 1]
        for s in range(low[r], high[r] + 1):
            here[s] = INFINITE
        layer, sign = _passed(r, num)
        for q in range(least[layer], greatest[layer] + 1):
            move = sign * q
            for s in range(max(low[r], a - move), min(high[r], b - move) + 1):
                here[s] = min(here[s], there[s + move])
        for s in range(low[r], high[r] + 1):
            here[s] += price(halves[r], multipliers[r], size, s)


@inner_kernel
def trace_ring(table: IntArray, axis: Axis, counts: IntArray) -> None:
    """Write the counts of a least walk into `counts`, shape (stages,), from the table of `forward_ring`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, size = axis.least, axis.greatest, axis.size
    num = len(least)
    s = low[num]
    for t in range(low[num], high[num] + 1):
        if table[num, t] < table[num, s]:
            s = t
    counts[num] = s
    for r in range(num - 1, -1, -1):
        rest = table[r + 1, s] - price(halves[r + 1], multipliers[r + 1], size, s)
        layer, sign = _passed(r, num)
        for q in range(least[layer], greatest[layer] + 1):
            t = s - sign * q
            if low[r] <= t <= high[r] and table[r, t] == rest:
                s = t
                break
        counts[r] = s


#: States of a cell: excluded, undecided, or in every set of the node.
OUT, OPEN, FORCED = 0, 1, 2


class Walks(NamedTuple):
    """The axes as kernels take them, one after the other; axis 0 here is the main axis."""

    #: Shape (axes,), 1 for a ring, 2 for a complete axis.
    ring: IntArray
    #: Shape (axes + 1,): layers of axis t are ``layers[t]..layers[t + 1] - 1``.
    layers: IntArray
    #: Shape (axes + 1,): counts of axis t are ``positions[t]..positions[t + 1] - 1``.
    positions: IntArray
    #: Shape (positions,): weight of a count, in halves.
    halves: IntArray
    #: Shape (cells, axes): layer of each cell.
    layer_of: IntArray


class Node(NamedTuple):
    """A node of the search."""

    #: Shape (positions,): least and greatest count.
    low: IntArray
    high: IntArray
    #: Shape (positions,), 1/SCALE hops per node of the count.
    multipliers: IntArray
    #: Shape (cells,): OUT, OPEN or FORCED.
    status: States


class Work(NamedTuple):
    """The work space of the kernels, with their results for the current node."""

    #: Shape (positions, k + 1): tables of `forward` and `backward`.
    ahead: IntArray
    behind: IntArray
    #: Shape (positions,): the counts of the least walks, and the counts of the chosen cells.
    counts: IntArray
    actual: IntArray
    #: Shape (layers,): the least and greatest number of cells in a layer, and the charge of each cell.
    least: IntArray
    greatest: IntArray
    charges: IntArray
    #: The cells that may be chosen, by layer of the main axis and then by weight, and where each layer
    #: begins.
    order: IntArray
    starts: IntArray
    #: Shape (cells,): weight of each cell.
    weights: IntArray
    #: Cost of the q cells of least weight: layer by layer of the main axis, from ``offsets``.
    prefix: IntArray
    offsets: IntArray
    zeros: IntArray
    #: Shape (k + 1,): the cost of q nodes in a layer of a complete axis.
    shares: IntArray
    #: Shape (cells,): the first k are the chosen ones.
    chosen: IntArray
    #: Shape (axes,): least cost of the walk of each axis.
    bests: IntArray
    #: Shape (layers of the main axis, k + 1): least cost of its walks with q cells in a layer.
    through: IntArray
    #: The multipliers of the walks: those of the node, with 0 on the main axis.
    multipliers: IntArray


def new_work(num_cells: int, sides: tuple[int, ...], size: int) -> Work:
    """Return work space for a search over `num_cells` cells."""

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    layers = sum(sides)
    positions = layers + len(sides)
    longest = max(sides)
    return Work(
        ahead=ints(positions, size + 1),
        behind=ints(positions, size + 1),
        counts=ints(positions),
        actual=ints(positions),
        least=ints(layers),
        greatest=ints(layers),
        charges=ints(layers),
        order=ints(num_cells),
        starts=ints(sides[0] + 1),
        weights=ints(num_cells),
        prefix=ints(num_cells + sides[0]),
        offsets=ints(sides[0]),
        zeros=ints(max(longest, size + 1)),
        shares=SCALE // 2 * np.arange(size + 1) * (size - np.arange(size + 1)),
        chosen=ints(num_cells),
        bests=ints(len(sides)),
        through=ints(longest + 1, size + 1),
        multipliers=ints(positions),
    )


@inner_kernel
def copy(source: NDArray[np.integer], target: NDArray[np.integer]) -> None:
    """Write one array into another, which it does not overlap."""
    for i in range(len(source)):
        target[i] = source[i]


@inner_kernel
def sort_cells(walks: Walks, node: Node, work: Work, size: int) -> bool:
    """List the cells that may be chosen, by layer; False if the forced or open cells cannot make `size`."""
    layer_of, status = walks.layer_of, node.status
    num_layers = walks.layers[1]
    for j in range(walks.layers[-1]):
        work.least[j] = work.greatest[j] = 0
    forced, present = 0, 0
    for i in range(len(status)):
        if status[i] != OUT:
            present += 1
            for t in range(layer_of.shape[1]):
                work.greatest[layer_of[i, t]] += 1
            if status[i] == FORCED:
                forced += 1
                for t in range(layer_of.shape[1]):
                    work.least[layer_of[i, t]] += 1
    if forced > size or present < size:
        return False
    work.starts[0] = 0
    for j in range(num_layers):
        work.starts[j + 1] = work.starts[j] + work.greatest[j]
        work.offsets[j] = work.starts[j] + j
    for i in range(len(status)):
        if status[i] != OUT:
            j = layer_of[i, 0]
            work.order[work.starts[j]] = i
            work.starts[j] += 1
    for j in range(num_layers, 0, -1):
        work.starts[j] = work.starts[j - 1]
    work.starts[0] = 0
    for j in range(walks.layers[-1]):
        work.greatest[j] = min(work.greatest[j], size)
    return True


@inner_kernel
def _charge_windows(multipliers: IntArray, charges: IntArray) -> None:
    """Write the charge of each layer of a ring: the sum over the windows that contain it."""
    num = len(charges)
    half = num // 2
    total = 0
    for j in range(half):  # it lies in the windows of stages 0..2 j + 1
        total += multipliers[2 * j] + multipliers[2 * j + 1]
        charges[j] = total
    total = 0
    for j in range(num - 1, half - 1, -1):  # it lies in the windows of stages 2 (j - half) + 1..num
        r = 2 * (j - half) + 1
        total += multipliers[r]
        if r < num:
            total += multipliers[r + 1]
        charges[j] = total


@inner_kernel
def _weigh(walks: Walks, node: Node, work: Work) -> None:
    """Sort the cells of each layer of the main axis by the charges of the other axes; write prefix sums."""
    layers, charges = walks.layers, work.charges
    for t in range(1, len(walks.ring)):
        total = 0
        if walks.ring[t] == 1:
            _charge_windows(
                node.multipliers[walks.positions[t] : walks.positions[t + 1]],
                charges[layers[t] : layers[t + 1]],
            )
            continue
        p = walks.positions[t] - layers[t] + 1
        for j in range(layers[t + 1] - 1, layers[t] - 1, -1):  # a layer counts at all positions behind it
            total += node.multipliers[p + j]
            charges[j] = total
    for j in range(layers[1]):
        a, b = work.starts[j], work.starts[j + 1]
        for i in range(a, b):
            cell = work.order[i]
            weight = 0
            for t in range(1, len(walks.ring)):
                weight += charges[walks.layer_of[cell, t]]
            work.weights[cell] = weight
        for i in range(a + 1, b):  # insertion: the order changes little from one evaluation to the next
            cell = work.order[i]
            weight = work.weights[cell]
            forced = node.status[cell] == FORCED
            p = i
            while p > a:
                other = work.order[p - 1]
                before = node.status[other] == FORCED
                if before and not forced:
                    break
                if before == forced and work.weights[other] <= weight:
                    break
                work.order[p] = other
                p -= 1
            work.order[p] = cell
        total = 0
        work.prefix[work.offsets[j]] = 0
        for i in range(a, b):
            total += work.weights[work.order[i]]
            work.prefix[work.offsets[j] + i - a + 1] = total


@inner_kernel
def _choose(walks: Walks, work: Work) -> None:
    """Choose the cells of the least walk of the main axis; write their counts on every axis."""
    held = work.charges
    for j in range(walks.layers[-1]):
        held[j] = 0
    num = 0
    for j in range(walks.layers[1]):
        for i in range(work.starts[j], work.starts[j] + work.counts[j + 1] - work.counts[j]):
            cell = work.order[i]
            work.chosen[num] = cell
            num += 1
            for t in range(len(walks.ring)):
                held[walks.layer_of[cell, t]] += 1
    for t in range(len(walks.ring)):
        count = 0
        p = walks.positions[t]
        num = walks.layers[t + 1] - walks.layers[t]
        actual = work.actual[p : walks.positions[t + 1]]
        here = held[walks.layers[t] : walks.layers[t + 1]]
        if walks.ring[t] == 1:
            for j in range(num // 2):
                count += here[j]
            actual[0] = count
            for r in range(num):
                count += here[num // 2 + r // 2] if r % 2 == 0 else -here[r // 2]
                actual[r + 1] = count
            continue
        actual[0] = 0
        for j in range(num):
            count += here[j]
            actual[j + 1] = count


@inner_kernel
def _axis(walks: Walks, node: Node, work: Work, size: int, t: int) -> Axis:
    """Return an axis, after `sort_cells`; the main axis, t = 0, has the costs of the cells.

    On complete axes layers cost something, too.
    """
    a, b = walks.layers[t], walks.layers[t + 1]
    p, r = walks.positions[t], walks.positions[t + 1]
    costs, offsets = (work.prefix, work.offsets) if t == 0 else (work.zeros, work.zeros)
    if walks.ring[t] == 2:
        costs = work.shares
    return Axis(
        node.low[p:r],
        node.high[p:r],
        walks.halves[p:r],
        work.multipliers[p:r],
        work.least[a:b],
        work.greatest[a:b],
        costs,
        offsets,
        size,
    )


@inner_kernel
def evaluate(walks: Walks, node: Node, work: Work, size: int) -> int:
    """Return the bound of the relaxation at the multipliers of the node, after `sort_cells`.

    Writes the tables, the counts of the walks, the chosen cells and their counts into `work`. Returns
    INFINITE if the intervals allow no set.
    """
    _weigh(walks, node, work)
    total = 0
    for t in range(len(walks.ring)):
        p, r = walks.positions[t], walks.positions[t + 1]
        axis = _axis(walks, node, work, size, t)
        if t > 0:
            copy(node.multipliers[p:r], axis.multipliers)
        line = walks.ring[t] != 1
        best = forward(work.ahead[p:r], axis) if line else forward_ring(work.ahead[p:r], axis)
        if best >= INFINITE // 2:
            return INFINITE
        if line:
            trace(work.ahead[p:r], axis, work.counts[p:r])
        else:
            trace_ring(work.ahead[p:r], axis, work.counts[p:r])
        work.bests[t] = best
        total += best
    _choose(walks, work)
    return total


@inner_kernel
def restrict(walks: Walks, node: Node, work: Work, size: int, slack: int) -> int:
    """Narrow the node to sets whose bound is at most `slack` above that of the last `evaluate`.

    Returns the number of counts and cells dropped, or -1 if no set is left.
    """
    removed = 0
    for t in range(len(walks.ring)):
        p, r = walks.positions[t], walks.positions[t + 1]
        axis = _axis(walks, node, work, size, t)
        limit = work.bests[t] + slack
        if walks.ring[t] != 1:
            backward(work.behind[p:r], axis)
        else:
            backward_ring(work.behind[p:r], axis)
        if t == 0:
            pass_through(work.ahead[p:r], work.behind[p:r], axis, work.through)
            removed += _restrict_cells(walks, node, work, limit)
        gone = trim(work.ahead[p:r], work.behind[p:r], axis, limit)
        if gone < 0:
            return -1
        removed += gone
    return removed


@inner_kernel
def estimated_work(walks: Walks, node: Node, work: Work, size: int) -> int:
    """Return about how many nanoseconds `evaluate` takes."""
    total = 3000
    for t in range(len(walks.ring)):
        axis = _axis(walks, node, work, size, t)
        for j in range(len(axis.least)):
            total += (axis.high[j] - axis.low[j]) * (axis.greatest[j] - axis.least[j])
    return total


@inner_kernel
def _restrict_cells(walks: Walks, node: Node, work: Work, limit: int) -> int:
    """Fix the cells whose other choice makes the main walk cost more than `limit`; return their number."""
    changed = 0
    for j in range(walks.layers[1]):
        a = work.starts[j]
        num = work.starts[j + 1] - a
        if num == 0:
            continue
        greatest = work.greatest[j]
        for r in range(work.least[j], num):
            cell = work.order[a + r]
            weight = work.weights[cell]
            taken, left = INFINITE, INFINITE
            for q in range(work.least[j], greatest + 1):
                cost = work.through[j, q]
                if r < q:
                    taken = min(taken, cost)
                    if q < num:  # the next cell takes its place
                        left = min(left, cost + work.weights[work.order[a + q]] - weight)
                else:
                    left = min(left, cost)
                    if q > work.least[j]:  # it takes the place of the last cell that is not forced
                        taken = min(taken, cost + weight - work.weights[work.order[a + q - 1]])
            if taken > limit:
                node.status[cell] = OUT
                changed += 1
            elif left > limit:
                node.status[cell] = FORCED
                changed += 1
    return changed
