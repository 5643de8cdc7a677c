"""The branch-and-bound search over cut counts, in slices.

A node is bounded by a few subgradient steps, narrowed by what its bound rules out, and split at the
position where the mix of counts that attains the bound is cheapest compared with any single count. A call of
a kernel does a given amount of work and returns, so that its caller can look at the clock.

The log of a search has its steps and multipliers, from which the judge recomputes the proof. A step is three
integers. Steps are in the order of the search, which is depth-first: those of a node, then those of its first
child and all below it, then those of the second child. The judge says what each step proves: see
`allocsolve.judge.partition.certificate.partition_tree_bound`.

What the counts of a node leave open, whether cells with these counts exist and are connected, comes first.
"""

from __future__ import annotations

# ruff: noqa: PLR0915, SIM110
# Kernels take their arguments by position, and each is a single loop. Numba compiles no generators in all().
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.exact.partition._kernels_relaxation import (
    FORCED,
    INFINITE,
    OPEN,
    OUT,
    SCALE,
    Work,
    copy,
    estimated_work,
    evaluate,
    restrict,
    sort_cells,
)
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.exact.partition._kernels_relaxation import Node, States, Walks
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


#: Entries of `Search.state`.
TOP, ACTIVE, ROUND, BEST, NODES, BOUND, LEVEL, STALLED, FINAL, ROOT, SPENT = range(11)


class Search(NamedTuple):
    """The state of the search between two calls."""

    #: Shape (10,): see the names above.
    state: IntArray
    #: The current node; the stack of open nodes, one row each, and their bounds in 1/SCALE hops.
    node: Node
    stack: Node
    bounds: IntArray
    #: The row of the multipliers of each open node in the log; -1 if they are not in it.
    origins: IntArray
    #: The multipliers of the best bound of the current node.
    multipliers: IntArray
    #: Averages of the counts and of their s(k - s) over the last evaluations; shape (positions,).
    mean_counts: NDArray[np.float64]
    mean_values: NDArray[np.float64]
    #: The average of q(k - q) over the last evaluations for the layer before each count of complete axes.
    mean_held: NDArray[np.float64]
    #: The multipliers of the last node without a parent, with which the next one begins.
    root_multipliers: IntArray
    #: The last move of the multipliers; shape (1,): its length compared with Polyak's.
    direction: NDArray[np.float64]
    pace: NDArray[np.float64]
    #: The best cells so far, shape (k,).
    cells: IntArray
    #: The log, which makes the proof.
    log: Log


#: Kinds of steps: a node ends without children; multipliers narrow it; connected sets cannot reach cells from
#: a cell; a node is split at a count (in either order) or at a cell.
LEAF, NARROW, REACH, LOWER_FIRST, UPPER_FIRST, CELL = range(6)

#: Entries of `Log.state`: whether there is a log; the numbers of its steps and multipliers; the rows of the
#: current multipliers and of the best ones of the node, -1 if it has none.
ON, STEPS, KEPT, CURRENT, BEST_OF_NODE = range(5)


class Log(NamedTuple):
    """The log of one node without a parent and of all below it."""

    #: Shape (5,): see the names above.
    state: IntArray
    #: Shape (any, 3): the kind of a step, and its two numbers.
    steps: IntArray
    #: Shape (any, counts of all axes but the main one).
    multipliers: IntArray


def new_log(width: int) -> Log:
    """Return an empty log with `width` multipliers per node."""
    state = np.array([1, 0, 0, -1, -1], dtype=np.int64)
    return Log(state, np.zeros((64, 3), dtype=np.int64), np.zeros((32, width), dtype=np.int64))


@inner_kernel
def has_room(log: Log) -> bool:
    """Return whether there is room for what the search writes between two such checks."""
    state = log.state
    return bool(state[STEPS] + 16 <= len(log.steps) and state[KEPT] + 4 <= len(log.multipliers))


@inner_kernel
def note(log: Log, kind: int, first: int, second: int) -> None:
    """Write a step."""
    state = log.state
    if state[ON] == 1:
        row = state[STEPS]
        log.steps[row, 0] = kind
        log.steps[row, 1] = first
        log.steps[row, 2] = second
        state[STEPS] = row + 1


@inner_kernel
def note_multipliers(log: Log, multipliers: IntArray) -> None:
    """Write that the current multipliers narrow the node; they are stored if they are new."""
    state = log.state
    if state[ON] == 1:
        if state[CURRENT] < 0:
            copy(multipliers, log.multipliers[state[KEPT]])
            state[CURRENT] = state[KEPT]
            state[KEPT] += min(1, len(multipliers))  # with a single axis there are none
        note(log, NARROW, state[CURRENT], 0)


#: Results of `search`: nothing is left; work is left; there is no room for more nodes.
DONE, MORE, FULL = 0, 1, 2

#: The evaluations for a node, and those for a node without a parent.
ROUNDS, ROOT_ROUNDS = 10, 15

#: The largest multiplier: with the tables of `_cut_search`, no sum of charges then comes near 2^60.
_MOST = 2.0**30


@inner_kernel
def _push(search: Search, bound: int) -> None:
    top = search.state[TOP]
    copy(search.node.low, search.stack.low[top])
    copy(search.node.high, search.stack.high[top])
    copy(search.node.multipliers, search.stack.multipliers[top])
    copy(search.node.status, search.stack.status[top])
    search.bounds[top] = bound
    search.origins[top] = search.log.state[CURRENT]
    search.state[TOP] += 1


@inner_kernel
def _pop(search: Search) -> None:
    search.state[TOP] -= 1
    top = search.state[TOP]
    copy(search.stack.low[top], search.node.low)
    copy(search.stack.high[top], search.node.high)
    copy(search.stack.multipliers[top], search.node.multipliers)
    copy(search.stack.status[top], search.node.status)
    state = search.state
    state[ACTIVE] = 1
    state[ROUND] = 0
    state[STALLED] = 0
    state[FINAL] = 0
    state[NODES] += 1
    state[BOUND] = search.bounds[top]
    state[LEVEL] = -INFINITE
    search.log.state[CURRENT] = search.log.state[BEST_OF_NODE] = search.origins[top]
    copy(search.node.multipliers, search.multipliers)
    for p in range(len(search.direction)):
        search.direction[p] = 0
    search.pace[0] = 1.0


@inner_kernel
def _anchor(status: States) -> int:
    """Return the last forced cell, -1 if there is none."""
    for cell in range(len(status) - 1, -1, -1):
        if status[cell] == FORCED:
            return cell
    return -1


@inner_kernel
def _tidy(walks: Walks, search: Search, work: Work, links: tuple[IntArray, IntArray], size: int) -> bool:
    """Exclude cells that no set can have, and list the others; False if no set is left."""
    if len(links[1]) > 0:
        anchor = _anchor(search.node.status)
        gone = keep_reachable(links[0], links[1], search.node.status, size, anchor)
        if gone != 0:
            note(search.log, REACH, anchor, 0)
        if gone < 0:
            return False
    return sort_cells(walks, search.node, work, size)


@inner_kernel
def _value(walks: Walks, counts: IntArray, size: int) -> int:
    total = 0
    for p in range(len(counts)):
        total += walks.halves[p] * counts[p] * (size - counts[p])
    for t in range(1, len(walks.ring)):
        if walks.ring[t] == 2:
            for p in range(walks.positions[t] + 1, walks.positions[t + 1]):
                held = counts[p] - counts[p - 1]
                total += held * (size - held)
    return total // 2


@inner_kernel
def _offer(search: Search, cells: IntArray, value: int, links: tuple[IntArray, IntArray]) -> None:
    """Keep the cells if they are an answer and better than the best."""
    if value < search.state[BEST] and (len(links[1]) == 0 or is_connected(links[0], links[1], cells)):
        search.state[BEST] = value
        copy(cells, search.cells)


@inner_kernel
def _average(walks: Walks, search: Search, work: Work, size: int) -> None:
    rate = max(1.0 / (1.0 + search.state[ROUND]), 0.12)
    for p in range(len(work.counts)):
        s = work.counts[p]
        search.mean_counts[p] += rate * (s - search.mean_counts[p])
        search.mean_values[p] += rate * (s * (size - s) - search.mean_values[p])
    for t in range(1, len(walks.ring)):
        if walks.ring[t] == 2:
            for p in range(walks.positions[t] + 1, walks.positions[t + 1]):
                held = work.counts[p] - work.counts[p - 1]
                search.mean_held[p] += rate * (held * (size - held) - search.mean_held[p])


@inner_kernel
def _step(walks: Walks, search: Search, work: Work, gap: int) -> None:
    """Move the multipliers by the step that would close the gap if the bound were linear (Polyak).

    The direction is the subgradient and half of the last direction.
    """
    norm = 0.0
    for t in range(1, len(walks.ring)):
        p = walks.positions[t]
        for i in range(p, walks.positions[t + 1]):
            search.direction[i] = work.actual[i] - work.counts[i] + 0.5 * search.direction[i]
            norm += search.direction[i] ** 2
    if norm > 0:
        length = search.pace[0] * gap / norm
        for i in range(walks.positions[1], walks.positions[-1]):
            moved = search.node.multipliers[i] + length * search.direction[i]
            search.node.multipliers[i] = round(min(max(moved, -_MOST), _MOST))
    search.log.state[CURRENT] = -1


@inner_kernel
def _note_narrowing(walks: Walks, search: Search) -> None:
    """Write into the log that the current multipliers narrow the node."""
    note_multipliers(search.log, search.node.multipliers[walks.positions[1] :])
    if search.state[STALLED] == 0:  # they are the best of the node
        search.log.state[BEST_OF_NODE] = search.log.state[CURRENT]


@inner_kernel
def _discard(search: Search) -> None:
    """End the current node, of which no set is left."""
    search.state[ACTIVE] = 0
    note(search.log, LEAF, 0, 0)


@allocating_kernel
def _solve_leaf(
    walks: Walks, search: Search, work: Work, size: int, links: tuple[IntArray, IntArray], target: int
) -> None:
    """Look for cells with the counts of two axes, which are all fixed.

    If there are none, some layers of the first axis demand more cells than those of the second allow:
    multipliers that charge these layers prove it. If all multipliers are 0, they prove the value of the
    counts.
    """
    low = search.node.low
    demands = np.zeros(walks.layers[2], dtype=np.int64)
    for t in range(2):
        p = walks.positions[t] - walks.layers[t]
        for j in range(walks.layers[t], walks.layers[t + 1]):
            demands[j] = low[p + j + 1] - low[p + j]
    scarce = np.zeros(walks.layers[2], dtype=np.bool_)
    value = _value(walks, low, size)
    if fill(search.node.status, walks.layer_of, demands, work.chosen, scarce):
        _offer(search, work.chosen[:size], value, links)
    charge = max(target - value * SCALE, 0) + 1
    p = walks.positions[1] - walks.layers[1]
    search.node.multipliers[p + walks.layers[1]] = 0
    for j in range(walks.layers[1], walks.layers[2]):
        ahead = scarce[j + 1] if j + 1 < walks.layers[2] else False
        search.node.multipliers[p + j + 1] = charge * (int(scarce[j]) - int(ahead))
    search.log.state[CURRENT] = -1
    _note_narrowing(walks, search)
    note(search.log, LEAF, 0, 0)


@inner_kernel
def _split_position(walks: Walks, search: Search, work: Work, size: int) -> tuple[int, int]:
    """Return the position to split and the greatest count of its lower part; -1 if all counts are fixed."""
    low, high = search.node.low, search.node.high
    at, widest_gap = -1, 1e-6
    for p in range(len(low)):
        if low[p] < high[p]:
            mean = search.mean_counts[p]
            gap = walks.halves[p] * (mean * (size - mean) - search.mean_values[p])
            if gap > widest_gap:
                at, widest_gap = p, gap
    for t in range(1, len(walks.ring)):
        if walks.ring[t] == 2:
            for p in range(walks.positions[t] + 1, walks.positions[t + 1]):
                mean = search.mean_counts[p] - search.mean_counts[p - 1]
                gap = mean * (size - mean) - search.mean_held[p]
                if gap > widest_gap and (low[p] < high[p] or low[p - 1] < high[p - 1]):
                    at, widest_gap = p if low[p] < high[p] else p - 1, gap
    if at >= 0:
        return at, min(max(int(search.mean_counts[at]), low[at]), high[at] - 1)
    widest = 0
    for p in range(len(low)):
        width = high[p] - low[p]
        if width > 0 and work.counts[p] != work.actual[p]:
            width += size
        if width > widest:
            at, widest = p, width
    if at < 0:
        return -1, 0
    return at, min(max(work.actual[at], low[at]), high[at] - 1)


@allocating_kernel
def _split_cell(search: Search, work: Work, size: int, links: tuple[IntArray, IntArray]) -> int:
    """Return an open cell to split at, from the smallest component of the chosen cells if any; -1 if none."""
    status = search.node.status
    chosen = work.chosen[:size]
    if len(links[1]) > 0:
        for cell in least_component(links[0], links[1], chosen):
            if status[cell] == OPEN:
                return int(cell)
    for cell in chosen:
        if status[cell] == OPEN:
            return int(cell)
    for cell in range(len(status)):
        if status[cell] == OPEN:
            return cell
    return -1


@inner_kernel
def _branch(
    walks: Walks, search: Search, work: Work, size: int, links: tuple[IntArray, IntArray], target: int
) -> None:
    node, state = search.node, search.state
    bound = state[BOUND]
    agreed = True
    for p in range(len(node.low)):
        agreed = agreed and work.actual[p] == work.counts[p]
    at, value = -1, 0
    if not agreed:
        at, value = _split_position(walks, search, work, size)
        if at < 0 and len(walks.ring) == 2 and walks.ring[1] == 0 and len(links[1]) == 0:
            _solve_leaf(walks, search, work, size, links, target)
            return
    if at >= 0:
        low, high = node.low[at], node.high[at]
        upper_first = work.actual[at] > value
        note(search.log, UPPER_FIRST if upper_first else LOWER_FIRST, at, value)
        for turn in range(2):
            upper = (turn == 1) == upper_first
            node.low[at] = value + 1 if upper else low
            node.high[at] = high if upper else value
            _push(search, bound)
        return
    cell = _split_cell(search, work, size, links)
    if cell < 0:  # all cells are decided, and their set was offered
        if len(links[1]) > 0:
            note(search.log, REACH, _anchor(node.status), 0)
        _note_narrowing(walks, search)
        note(search.log, LEAF, 0, 0)
        return
    note(search.log, CELL, cell, 0)
    node.status[cell] = OUT
    _push(search, bound)
    node.status[cell] = FORCED
    _push(search, bound)


@kernel
def search(
    walks: Walks,
    memory: Search,
    work: Work,
    size: int,
    parity: int,
    links: tuple[IntArray, IntArray],
    budget: int,
) -> int:
    """Work on the open nodes until none is left or about `budget` nanoseconds are spent.

    `parity` is a divisor of every cost. `links` are the neighbours of the cells as (offsets, neighbours),
    none if the set need not be connected.
    """
    state, node = memory.state, memory.node
    until = state[SPENT] + budget
    while state[SPENT] < until:
        target = (state[BEST] - 1) // parity * parity * SCALE
        if not has_room(memory.log):
            return FULL
        if state[ACTIVE] == 0:
            if state[TOP] == 0:
                return DONE
            _pop(memory)
            state[SPENT] += 1000
            if state[BOUND] > target or not _tidy(walks, memory, work, links, size):
                _discard(memory)
                continue
        state[SPENT] += estimated_work(walks, node, work, size)
        bound = evaluate(walks, node, work, size)
        if bound > target:
            _note_narrowing(walks, memory)
            _discard(memory)
            continue
        _offer(memory, work.chosen[:size], _value(walks, work.actual, size), links)
        target = (state[BEST] - 1) // parity * parity * SCALE
        if bound > target:
            _note_narrowing(walks, memory)
            _discard(memory)
            continue
        if bound > state[LEVEL]:  # the bound of these multipliers; that of the parent may be better
            state[LEVEL] = bound
            state[BOUND] = max(bound, state[BOUND])
            copy(node.multipliers, memory.multipliers)
            state[STALLED] = 0
            memory.log.state[BEST_OF_NODE] = memory.log.state[CURRENT]
            if state[ROOT] == 1:
                copy(node.multipliers, memory.root_multipliers)
        else:
            state[STALLED] += 1
            if state[STALLED] % 3 == 0:
                memory.pace[0] *= 0.6
        last = ROUNDS if state[ROOT] == 0 else ROOT_ROUNDS
        if state[FINAL] == 0:
            _average(walks, memory, work, size)
            state[ROUND] += 1
            if state[ROUND] % 3 == 0 and state[ROUND] < last:
                gone = restrict(walks, node, work, size, target - bound)
                if gone != 0:
                    _note_narrowing(walks, memory)
                if gone < 0 or (gone > 0 and not _tidy(walks, memory, work, links, size)):
                    _discard(memory)
                    continue
            if state[ROUND] < last:
                _step(walks, memory, work, target + SCALE - bound)
            else:
                copy(memory.multipliers, node.multipliers)
                memory.log.state[CURRENT] = memory.log.state[BEST_OF_NODE]
                state[FINAL] = 1
            continue
        if state[TOP] + 2 > len(memory.bounds):
            return FULL
        state[ACTIVE] = 0
        state[ROOT] = 0
        gone = restrict(walks, node, work, size, target - bound)
        _note_narrowing(walks, memory)
        if gone < 0:
            note(memory.log, LEAF, 0, 0)
            continue
        _branch(walks, memory, work, size, links, target)
    return MORE
