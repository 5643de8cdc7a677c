"""Proofs of makespans, item by item: each learned clause follows from what came before by propagation."""
# ruff: noqa: PLR0911
# Each fault of an item has an outcome of its own.

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.judge._kernels_evolution_bounds import (
    BEGIN,
    BEYOND,
    CLAUSES,
    CONTRADICTION,
    COUNT,
    CRAMPED,
    DEAD,
    DELETED,
    FACTS,
    FIXPOINT,
    HORIZON,
    ITEMS,
    LIST_ROOM,
    NO_ROOM,
    POSITION,
    SLOTS,
    WATCHES,
    Base,
    is_refuted,
    propagate,
    settle,
    take_back,
    want,
    watch,
)
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MORE", "PROVEN", "ROOM", "check_items"]

#: What `check_items` says: all bytes are read that are whole items; the horizon is refuted; the arrays are
#: too short to go on; or what is wrong with an item.
MORE, PROVEN, ROOM, MALFORMED, NOT_LOWER, NO_BLOCK, FITS, NO_FACT, NOT_IMPLIED, NO_CLAUSE = range(10)

#: The last two bits of an item.
_HORIZON_ITEM, _COVER_ITEM, _CLAUSE_ITEM = range(3)


@inner_kernel
def _clean_up(b: Base, n: int) -> None:
    """Drop clauses that were deleted or always hold, and facts that never do; watch the others anew."""
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
    """Add the clause at hand, of `count` facts; an outcome as of a propagation."""
    state, facts, clause = b.state, b.facts, b.clause
    slot, begin, open_facts = state[SLOTS], state[FACTS], 0
    b.place[state[CLAUSES]] = -1
    for at in range(count):
        arc, value = clause[2 * at], clause[2 * at + 1]
        if b.values[arc] >= value:
            return FIXPOINT
        # The open ones first.
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
        b.slot_number[slot] = -1  # of whichever watch it has already
        state[SLOTS] += 1
        return NO_ROOM
    b.place[state[CLAUSES]] = slot
    state[SLOTS] += 1
    state[FACTS] += open_facts
    return FIXPOINT


@inner_kernel
def _follows(b: Base, n: int, count: int) -> int:
    """Propagate the negation of the clause at hand; the outcome."""
    for at in range(count):
        arc, value = b.clause[2 * at], b.clause[2 * at + 1]
        want(b, (arc % n) * n + arc // n, 1 - value)
    outcome = propagate(b, n)
    take_back(b)
    return outcome


@inner_kernel
def _read_number(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return a number >= 0 and the place behind it; -1 if it is not whole, -2 if it has more than 35 bits."""
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
    """Read the blocks of a cover, write its clause; return what is wrong, or MORE, and the place behind."""
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
    for one in range(count):
        for two in range(count):
            if one != two:
                last, first = blocks[3 * one + 2], blocks[3 * two + 1]
                b.clause[to] = b.end[last] * n + b.start[first]
                b.clause[to + 1] = b.end_delay[last] - b.delay[first]
                to += 2
    return MORE, at


@inner_kernel
def _read_clause(b: Base, n: int, data: NDArray[np.uint8], at: int, count: int) -> tuple[int, int]:
    """Read the facts of a clause; return what is wrong, or MORE, and the place behind."""
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
    """Return whether no more than 1 / `part` of the arrays is used, and a clause of all arcs fits."""
    state = b.state
    return bool(
        state[CRAMPED] == 0
        and part * state[WATCHES] < len(b.watches)
        and part * (state[SLOTS] + 1) < len(b.slot_number)
        and part * (state[FACTS] + n * n) < len(b.facts)
    )


@kernel
def check_items(b: Base, n: int, data: NDArray[np.uint8]) -> int:
    """Check the items of a proof that begin in these bytes; return one of the outcomes above.

    ``state[POSITION]`` is the place behind the last item that was checked, ``state[ITEMS]`` their number.
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
            outcome = settle(b, n)
            if outcome != NO_ROOM:
                state[HORIZON] = count
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
        if outcome == NO_ROOM:  # the same item again, after a clean-up
            if cramped_at == state[POSITION]:
                return ROOM
            cramped_at = state[POSITION]
            continue
        state[POSITION] = at
        state[ITEMS] += 1
