"""Compiled, for the judge: proofs of makespans, checked item by item.

Each learned clause has to follow, by propagation, from the items before it.

Variables are the times of N points: starts of steps, then the *origin*, time 0. A fact is "x_j - x_i >= v",
on the *arc* i * N + j; its negation is "x_i - x_j >= 1 - v", on the reverse arc. The value of an arc is the
greatest lower bound of its difference that has been derived: first of what always holds, then under the
negation of the clause that is being checked.
"""

from __future__ import annotations

# ruff: noqa: PLR0911
# Each fault of an item has a return value of its own.
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.judge.evolution._kernels_prices import Prices, find_company, least_length
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

#: Seconds. Values and horizons of proofs are below this, so that sums fit into 64 bits and facts into 32.
BEYOND = 1 << 29
#: Stands for "no value": below every value that an arc can have.
UNSET = -(1 << 62)

#: Entries of `Base.state`: the horizon; the items and the clauses read so far; the lengths of the lists of
#: kept clauses, of their facts and of watches; the kept clauses that were deleted since the last clean-up;
#: whether a watch found no room; the bytes read; the clause deleted last; the lengths of the work lists.
HORIZON, ITEMS, CLAUSES, SLOTS, FACTS, WATCHES, DEAD, CRAMPED = range(8)
POSITION, DELETED, _QUEUED, _CHANGED, _TOUCHED = range(8, 13)
STATE_SIZE = 13

#: Columns of `Base.watches`: the value of the watched fact, the arc and the value of the other watched fact
#: of the clause, and 2 * slot + which of the two it is.
_BAR, _OTHER_ARC, _OTHER_VALUE, _WATCH = range(4)
#: Columns of `Base.lists`: where the watches of an arc begin, how many there are, and how many have room.
BEGIN, COUNT, LIST_ROOM = range(3)

#: Outcomes of a propagation.
FIXPOINT, CONTRADICTION, NO_ROOM = range(3)


class Base(NamedTuple):
    """What is known of the problem and of the proof so far. N points make N * N arcs."""

    #: Value of each arc, closed under paths; shape (N * N,).
    values: IntArray
    ground: IntArray
    #: The value of each arc up to which its watches have been visited.
    seen: IntArray
    #: Holes are differences that no schedule has; those of arc a: rows ``hole_offsets[a]:hole_offsets[a +
    #: 1]``.
    hole_offsets: IntArray
    holes: IntArray
    #: The steps of application a are ``steps[a]:steps[a + 1]``. Nodes are per step, the rest is as in
    #: `Points`.
    steps: IntArray
    nodes: IntArray
    start: IntArray
    delay: IntArray
    end: IntArray
    end_delay: IntArray
    tail: IntArray
    num_nodes: int
    #: Steps that may be expanded: rows (arc, its value without expansion, nodes). The nodes of the machine,
    #: times the horizon, less what is `spent` are the node-seconds that all of them can waste together.
    waste: IntArray
    spent: int
    #: What steps pay.
    prices: Prices
    #: The slot in which each clause is kept, by its number; -1 if it is not kept.
    place: IntArray
    #: By slot: the number of the clause (-1 if deleted) and its rows of `facts`, (arc, value). The first two
    #: facts of a clause are watched.
    slot_number: IntArray
    slot_begin: IntArray
    slot_end: IntArray
    facts: NDArray[np.int32]
    watches: NDArray[np.int32]
    lists: IntArray
    #: The value that each arc has to be raised to, the arcs that have one, and whether an arc is one of them.
    wanted: IntArray
    queue: IntArray
    queued: NDArray[np.bool_]
    #: The arcs whose watches have to be visited, and whether an arc is one of them; the same of the arcs
    #: whose values are above ground.
    changed: IntArray
    is_changed: NDArray[np.bool_]
    touched: IntArray
    is_touched: NDArray[np.bool_]
    #: Work space: points or blocks; the facts of the clause that is being read.
    ends: IntArray
    clause: IntArray
    state: IntArray


@inner_kernel
def want(b: Base, arc: int, value: int) -> None:
    """Note that an arc has to be raised to a value."""
    if value <= b.values[arc] or value <= b.wanted[arc]:
        return
    b.wanted[arc] = value
    if not b.queued[arc]:
        b.queued[arc] = True
        b.queue[b.state[_QUEUED]] = arc
        b.state[_QUEUED] += 1


@inner_kernel
def _hole_end(b: Base, arc: int, value: int) -> int:
    """Return the least difference of at least `value` that is in no hole. O(log holes)."""
    first, last = b.hole_offsets[arc], b.hole_offsets[arc + 1]
    while first < last:
        middle = (first + last) >> 1
        if b.holes[middle, 1] < value:
            first = middle + 1
        else:
            last = middle
    if first < b.hole_offsets[arc + 1] and b.holes[first, 0] <= value:
        return int(b.holes[first, 1]) + 1
    return value


@inner_kernel
def _append_watch(b: Base, arc: int, bar: int, other_arc: int, other_value: int, watch: int) -> bool:
    """Append a watch to the list of an arc; False if there is no room. A full list moves and doubles."""
    lists, watches, state = b.lists, b.watches, b.state
    count = lists[arc, COUNT]
    if count == lists[arc, LIST_ROOM]:
        old, new = lists[arc, BEGIN], state[WATCHES]
        room = 2 * count + 4
        if new + room > len(watches):
            state[CRAMPED] = 1
            return False
        for at in range(count):
            for column in range(4):
                watches[new + at, column] = watches[old + at, column]
        lists[arc, BEGIN], lists[arc, LIST_ROOM] = new, room
        state[WATCHES] = new + room
    at = lists[arc, BEGIN] + count
    watches[at, _BAR] = bar
    watches[at, _OTHER_ARC] = other_arc
    watches[at, _OTHER_VALUE] = other_value
    watches[at, _WATCH] = watch
    lists[arc, COUNT] = count + 1
    return True


@inner_kernel
def _look(b: Base, n: int, arc: int) -> bool:
    """Visit the clauses of which the new value of an arc refutes a watched fact; False without room."""
    values, facts, watches = b.values, b.facts, b.watches
    reverse = (arc % n) * n + arc // n
    lowest, highest = 1 - values[arc], -b.seen[arc]
    at = b.lists[reverse, BEGIN]
    end = at + b.lists[reverse, COUNT]
    while at < end:
        bar = watches[at, _BAR]
        if bar < lowest or bar > highest or values[watches[at, _OTHER_ARC]] >= watches[at, _OTHER_VALUE]:
            at += 1
            continue
        slot, side = watches[at, _WATCH] >> 1, watches[at, _WATCH] & 1
        moved = b.slot_number[slot] < 0
        if not moved:
            begin = b.slot_begin[slot]
            other_arc, other_value = facts[begin + 1 - side, 0], facts[begin + 1 - side, 1]
            watches[at, _OTHER_ARC], watches[at, _OTHER_VALUE] = other_arc, other_value
            if values[other_arc] >= other_value:
                at += 1
                continue
            for rest in range(begin + 2, b.slot_end[slot]):
                new_arc, new_bar = facts[rest, 0], facts[rest, 1]
                if values[(new_arc % n) * n + new_arc // n] < 1 - new_bar:
                    if not _append_watch(b, new_arc, new_bar, other_arc, other_value, 2 * slot + side):
                        return False
                    facts[rest, 0], facts[rest, 1] = facts[begin + side, 0], facts[begin + side, 1]
                    facts[begin + side, 0], facts[begin + side, 1] = new_arc, new_bar
                    moved = True
                    break
        if moved:
            end -= 1
            for column in range(4):
                watches[at, column] = watches[end, column]
            b.lists[reverse, COUNT] -= 1
            continue
        want(b, other_arc, int(other_value))
        at += 1
    b.seen[arc] = values[arc]
    return True


@inner_kernel
def _is_too_much(b: Base, n: int) -> bool:
    """Return whether expanded steps waste more than there is; if not, put what follows into the queue."""
    left = b.num_nodes * b.state[HORIZON] - b.spent
    for arc, least, nodes in b.waste:
        left -= nodes * (b.values[arc] - least)
    if left < 0:
        return True
    for arc, _, nodes in b.waste:
        longest = b.values[arc] + left // nodes
        want(b, (arc % n) * n + arc // n, -longest)
    return False


@inner_kernel
def _is_unpayable(b: Base, n: int) -> bool:
    """Return whether steps cannot be paid for up to the horizon; if not, put what follows into the queue.

    That is how long it takes to pay for the steps before the end, or after the start, of each one.
    """
    prices, values, origin, horizon = b.prices, b.values, n - 1, b.state[HORIZON]
    release = prices.release
    find_company(prices, n, values)
    length = horizon - release
    if length < 1:
        return False
    if least_length(prices, n, values, origin, release, origin, horizon, length) > length:
        return True
    for at in range(len(prices.steps)):
        start, delay, end, end_delay, price = prices.steps[at]
        if price == 0:
            continue
        length = values[origin * n + end] + end_delay - release
        if length > 0:
            longer = least_length(prices, n, values, origin, release, end, end_delay, length)
            want(b, origin * n + end, longer - end_delay + release)
        length = values[start * n + origin] + horizon - delay
        if length > 0:
            longer = least_length(prices, n, values, start, delay, origin, horizon, length)
            want(b, start * n + origin, longer - horizon + delay)
    return False


@inner_kernel
def propagate(b: Base, n: int) -> int:
    """Raise the arcs in the queue and close the values under paths, holes, clauses and what limits sums.

    Returns the outcome.

    Whenever an arc (i, j) is taken from the queue, the values are closed under paths. Raising it changes only
    arcs (k, l) for which the path k, i, j is longer than the arc (k, j) and the path i, j, l longer than the
    arc (i, l): O(N), and one step for each such pair.
    """
    values, state = b.values, b.state
    while True:
        while state[_QUEUED] > 0:
            state[_QUEUED] -= 1
            arc = b.queue[state[_QUEUED]]
            value = _hole_end(b, arc, b.wanted[arc])
            b.queued[arc] = False
            b.wanted[arc] = UNSET
            if value <= values[arc]:
                continue
            i, j = arc // n, arc % n
            if value + values[j * n + i] > 0:
                return CONTRADICTION
            count = 0
            for point in range(n):
                if value + values[j * n + point] > values[i * n + point]:
                    b.ends[count] = point
                    count += 1
            for start in range(n):
                length = values[start * n + i] + value
                if length <= values[start * n + j]:
                    continue
                for at in range(count):
                    point = b.ends[at]
                    path = length + values[j * n + point]
                    raised = start * n + point
                    if path <= values[raised]:
                        continue
                    values[raised] = path
                    if not b.is_touched[raised]:
                        b.is_touched[raised] = True
                        b.touched[state[_TOUCHED]] = raised
                        state[_TOUCHED] += 1
                    if not b.is_changed[raised]:
                        b.is_changed[raised] = True
                        b.changed[state[_CHANGED]] = raised
                        state[_CHANGED] += 1
                    want(b, raised, _hole_end(b, raised, path))
        if state[_CHANGED] == 0:
            if len(b.waste) > 0 and _is_too_much(b, n):
                return CONTRADICTION
            if state[_QUEUED] == 0 and len(b.prices.steps) > 0 and _is_unpayable(b, n):
                return CONTRADICTION
            if state[_QUEUED] == 0:
                return FIXPOINT
            continue
        state[_CHANGED] -= 1
        arc = b.changed[state[_CHANGED]]
        b.is_changed[arc] = False
        if not _look(b, n, arc):
            return NO_ROOM


@inner_kernel
def take_back(b: Base) -> None:
    """Set all values back to ground and empty the work lists."""
    state = b.state
    for at in range(state[_QUEUED]):
        b.queued[b.queue[at]] = False
        b.wanted[b.queue[at]] = UNSET
    for at in range(state[_CHANGED]):
        b.is_changed[b.changed[at]] = False
    for at in range(state[_TOUCHED]):
        arc = b.touched[at]
        b.is_touched[arc] = False
        b.values[arc] = b.seen[arc] = b.ground[arc]
    state[_QUEUED] = state[_CHANGED] = state[_TOUCHED] = 0


@inner_kernel
def settle(b: Base, n: int) -> int:
    """Raise the arcs in the queue and keep the result as ground; return the outcome."""
    outcome = propagate(b, n)
    if outcome == NO_ROOM:
        take_back(b)
    if outcome == FIXPOINT:
        for at in range(b.state[_TOUCHED]):
            arc = b.touched[at]
            b.is_touched[arc] = False
            b.ground[arc] = b.values[arc]
        b.state[_TOUCHED] = 0
    return outcome


@inner_kernel
def is_refuted(b: Base, n: int, arc: int, value: int) -> bool:
    return bool(b.values[(arc % n) * n + arc // n] >= 1 - value)


@inner_kernel
def watch(b: Base, slot: int) -> bool:
    """Watch the first two facts of a clause; False if there is no room."""
    facts, begin = b.facts, b.slot_begin[slot]
    for side in range(2):
        fact, other = begin + side, begin + 1 - side
        if not _append_watch(
            b, facts[fact, 0], facts[fact, 1], facts[other, 0], facts[other, 1], 2 * slot + side
        ):
            return False
    return True


#: What `check_items` returns: all complete items are read; the horizon is refuted; the arrays are too short
#: to go on; or what is wrong with an item.
MORE, PROVEN, ROOM, MALFORMED, NOT_LOWER, NO_BLOCK, FITS, NO_FACT, NOT_IMPLIED, NO_CLAUSE = range(10)

#: Kinds of items: the last two bits of the first number of an item. The fourth kind deletes a clause.
_HORIZON_ITEM, _COVER_ITEM, _CLAUSE_ITEM = range(3)


@inner_kernel
def _clean_up(b: Base, n: int) -> None:
    """Drop deleted clauses, clauses that always hold and facts that never do; watch the others anew."""
    state, facts, lists = b.state, b.facts, b.lists
    kept = stop = 0
    for slot in range(state[SLOTS]):
        number, begin = b.slot_number[slot], stop
        if number < 0:
            continue
        holds = False
        for at in range(b.slot_begin[slot], b.slot_end[slot]):
            arc, value = facts[at, 0], facts[at, 1]
            holds = holds or b.values[arc] >= value
            if not is_refuted(b, n, arc, value):
                facts[stop, 0], facts[stop, 1] = arc, value
                stop += 1
        if holds:
            b.place[number] = -1
            stop = begin
            continue
        b.slot_number[kept], b.slot_begin[kept], b.slot_end[kept] = number, begin, stop
        b.place[number] = kept
        kept += 1
    state[SLOTS], state[FACTS], state[DEAD], state[CRAMPED] = kept, stop, 0, 0
    for arc in range(len(lists)):
        lists[arc, COUNT] = 0
    for slot in range(kept):
        for at in range(b.slot_begin[slot], b.slot_begin[slot] + 2):
            lists[facts[at, 0], COUNT] += 1
    state[WATCHES] = 0
    for arc in range(len(lists)):
        lists[arc, BEGIN] = state[WATCHES]
        lists[arc, LIST_ROOM] = 2 * lists[arc, COUNT]
        state[WATCHES] += lists[arc, LIST_ROOM]
        lists[arc, COUNT] = 0
    for slot in range(kept):
        watch(b, slot)


@inner_kernel
def _add(b: Base, n: int, count: int) -> int:
    """Add the clause just read, of `count` facts; return an outcome as of a propagation."""
    state, facts, clause = b.state, b.facts, b.clause
    slot, begin, open_facts = state[SLOTS], state[FACTS], 0
    b.place[state[CLAUSES]] = -1
    for at in range(count):
        arc, value = clause[2 * at], clause[2 * at + 1]
        if b.values[arc] >= value:
            return FIXPOINT
        # Facts that are not refuted come first.
        facts[begin + at, 0], facts[begin + at, 1] = arc, value
        if not is_refuted(b, n, arc, value):
            for column in range(2):
                facts[begin + at, column] = facts[begin + open_facts, column]
                facts[begin + open_facts, column] = clause[2 * at + column]
            open_facts += 1
    if open_facts == 0:
        return CONTRADICTION
    if open_facts == 1:
        want(b, int(facts[begin, 0]), int(facts[begin, 1]))
        return settle(b, n)
    b.slot_number[slot], b.slot_begin[slot], b.slot_end[slot] = state[CLAUSES], begin, begin + open_facts
    if not watch(b, slot):
        b.slot_number[slot] = -1  # as deleted, for a watch that it may have already
        state[SLOTS] += 1
        return NO_ROOM
    b.place[state[CLAUSES]] = slot
    state[SLOTS] += 1
    state[FACTS] += open_facts
    return FIXPOINT


@inner_kernel
def _follows(b: Base, n: int, count: int) -> int:
    """Propagate the negation of the clause just read, and take it back; return the outcome."""
    for at in range(count):
        arc, value = b.clause[2 * at], b.clause[2 * at + 1]
        want(b, (arc % n) * n + arc // n, 1 - value)
    outcome = propagate(b, n)
    take_back(b)
    return outcome


@inner_kernel
def _read_number(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return a number >= 0 and the place after it; -1 if it is incomplete, -2 if it is beyond 35 bits."""
    number = 0
    for idx in range(5):
        if at + idx >= len(data):
            return -1, at
        number |= int(data[at + idx] & 127) << (7 * idx)
        if data[at + idx] < 128:
            return number, at + idx + 1
    return -2, at


@inner_kernel
def _read_cover(b: Base, n: int, data: NDArray[np.uint8], at: int, count: int) -> tuple[int, int]:
    """Read the blocks of a cover and write its clause; return the fault, or MORE, and the place after it."""
    blocks, total = b.ends, 0
    if count < 2 or 3 * count > len(blocks):
        return NO_BLOCK, at
    before = -1
    for idx in range(count):
        for part in range(3):
            number, at = _read_number(data, at)
            if number < 0:
                return number, at
            blocks[3 * idx + part] = number
        app, first, last = blocks[3 * idx], blocks[3 * idx + 1], blocks[3 * idx + 2]
        if app <= before or app >= len(b.steps) - 1 or first > last:
            return NO_BLOCK, at
        before = app
        first, last = b.steps[app] + first, b.steps[app] + last
        if last >= b.steps[app + 1]:
            return NO_BLOCK, at
        least = b.nodes[first]
        for step in range(first, last + 1):
            least = min(least, b.nodes[step])
        total += least
        blocks[3 * idx + 1], blocks[3 * idx + 2] = first, last
    if total <= b.num_nodes:
        return FITS, at
    to = 0
    for earlier in range(count):
        for later in range(count):
            if earlier != later:
                last, first = blocks[3 * earlier + 2], blocks[3 * later + 1]
                b.clause[to] = b.end[last] * n + b.start[first]
                b.clause[to + 1] = b.end_delay[last] - b.delay[first]
                to += 2
    return MORE, at


@inner_kernel
def _read_clause(b: Base, n: int, data: NDArray[np.uint8], at: int, count: int) -> tuple[int, int]:
    """Read the facts of a clause; return the fault, or MORE, and the place after it."""
    if count > n * n:
        return NO_FACT, at
    before = -1
    for idx in range(count):
        arc, at = _read_number(data, at)
        if arc < 0:
            return arc, at
        coded, at = _read_number(data, at)
        if coded < 0:
            return coded, at
        value = coded >> 1 if coded & 1 == 0 else -(coded >> 1) - 1
        if arc <= before or arc >= n * n or arc % (n + 1) == 0 or not -BEYOND < value < BEYOND:
            return NO_FACT, at
        before = arc
        b.clause[2 * idx], b.clause[2 * idx + 1] = arc, value
    return MORE, at


@inner_kernel
def _has_room(b: Base, n: int, part: int) -> bool:
    """Return whether at most 1 / `part` of the arrays is used and a clause of all arcs still fits."""
    state = b.state
    return bool(
        state[CRAMPED] == 0
        and part * state[WATCHES] < len(b.watches)
        and part * (state[SLOTS] + 1) < len(b.slot_number)
        and part * (state[FACTS] + n * n) < len(b.facts)
    )


@kernel
def check_items(b: Base, n: int, data: NDArray[np.uint8]) -> int:
    """Check the complete items of a proof in these bytes; return MORE, PROVEN, ROOM or the fault of an item.

    ``state[POSITION]`` is the place after the last item that was checked; ``state[ITEMS]`` counts the items
    of all calls.
    """
    state = b.state
    state[POSITION] = 0
    cramped_at = -1
    while True:
        if not _has_room(b, n, 1) or state[DEAD] > 1000 + state[SLOTS] // 2:
            _clean_up(b, n)
            if not _has_room(b, n, 2):
                return ROOM
        if state[CLAUSES] >= len(b.place):
            return ROOM
        head, at = _read_number(data, state[POSITION])
        if head < 0:
            return MORE if head == -1 else MALFORMED
        kind, count = head & 3, head >> 2
        outcome = FIXPOINT
        if kind == _HORIZON_ITEM:
            if count >= state[HORIZON]:
                return NOT_LOWER
            for point in range(n - 1):
                want(b, point * n + n - 1, b.tail[point] - count)
            before, state[HORIZON] = state[HORIZON], count
            outcome = settle(b, n)
            if outcome == NO_ROOM:
                state[HORIZON] = before
        elif kind in (_COVER_ITEM, _CLAUSE_ITEM):
            if kind == _COVER_ITEM:
                fault, at = _read_cover(b, n, data, at, count)
                count *= count - 1
            else:
                fault, at = _read_clause(b, n, data, at, count)
            if fault != MORE:
                return MORE if fault == -1 else MALFORMED if fault == -2 else fault
            if kind == _CLAUSE_ITEM:
                outcome = _follows(b, n, count)
                if outcome == FIXPOINT:
                    return NOT_IMPLIED
            if outcome != NO_ROOM:
                outcome = _add(b, n, count)
            if outcome != NO_ROOM:
                state[CLAUSES] += 1
        else:
            step = count >> 1 if count & 1 == 0 else -(count >> 1) - 1
            number = state[DELETED] + step
            if number < 0 or number >= state[CLAUSES]:
                return NO_CLAUSE
            state[DELETED] = number
            slot = b.place[number]
            if slot >= 0:
                b.slot_number[slot] = b.place[number] = -1
                state[DEAD] += 1
        if outcome == CONTRADICTION:
            return PROVEN
        if outcome == NO_ROOM:  # read the same item again, after a clean-up
            if cramped_at == state[POSITION]:
                return ROOM
            cramped_at = state[POSITION]
            continue
        state[POSITION] = at
        state[ITEMS] += 1
