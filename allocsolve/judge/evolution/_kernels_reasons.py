"""Compiled: a proof of a makespan is replayed, and what it derives keeps its reasons.

Facts, arcs and points are those of `allocsolve.judge.evolution._kernels_proof`. A *literal* is a fact on an
arc (i, j) with i < j, as a positive number, or the negation of one, as a negative number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

#: Stands for "no value": below every value, and sums of a few stay so.
UNSET = -(1 << 40)
#: A literal is the arc times 2^31, plus the value, which is made positive by this much.
VALUE_BITS, VALUE_SHIFT = 31, 1 << 30

#: Entries of `Replay.state`: lengths of the lists of the same names; the entries of the trail that hold
#: without assumptions; the first and the last of the two work lists; what conflicts: two entries of the trail
#: or a clause; the bytes read; the clause deleted last; the last stamp; the literals known under it; whether
#: the windows are raised; the length of the list of watches.
TRAIL, CLAUSES, FACTS, LINES, LITERALS, HINTS, AXIOMS, BLOCKS = range(8)
GROUND, _WANTS_HEAD, WANTS, _TODO_HEAD, TODO, FIRST_ENTRY, SECOND_ENTRY, CONFLICT_CLAUSE = range(8, 16)
POSITION, DELETED, STAMP, KNOWN, STARTED, WATCHES = range(16, 22)
STATE_SIZE = 22

#: Columns of `Replay.watches`: the value of the watched fact, the arc and the value of the other watched fact
#: of the clause, and 2 * clause + which of the two it is.
_BAR, _OTHER_ARC, _OTHER_VALUE, _WATCH = range(4)
#: Columns of `Replay.lists`: where the watches of an arc begin, how many there are, and how many have room.
_BEGIN, _COUNT, _LIST_ROOM = range(3)

#: Columns of the trail: an arc and its new value, the entry that had the value before, and the reason with up
#: to two entries, or with an entry and a hole, or with a clause.
ARC, VALUE, BEFORE, REASON, ONE, TWO = range(6)
#: Reasons: an assumption, a path of two entries, a hole, a clause, a window.
ASSUMED, PATH, HOLE, IMPLIED, WINDOW = range(5)

#: Outcomes: nothing follows any more; a conflict; the arrays are too short. Of the replay: a learned clause
#: does not follow, or the log is over and nothing is refuted.
FIXPOINT, CONFLICT, ROOM, REFUTED, NOT_REFUTED = range(5)


class Replay(NamedTuple):
    """What has been derived, and why. N points make N * N arcs."""

    #: For each arc its value, its last entry of the trail, -1 without one, and the value up to which its
    #: watches have been visited.
    values: IntArray
    current: IntArray
    seen: IntArray
    #: The reverse of each arc, stored because divisions take longer.
    reverses: IntArray
    #: See the columns above.
    trail: IntArray
    #: For entries that hold without assumptions: what proves them, as a hint.
    entry_hints: IntArray
    #: Differences that no schedule has, those of arc a from ``hole_offsets[a]`` on: rows (the lowest of a
    #: hole, rising; of the holes up to there, the one that ends last: its lowest and its highest
    #: difference, the first step and the number of steps of the block of i, those of the block of j).
    hole_offsets: IntArray
    holes: IntArray
    #: Rows (point, point, value) that always hold: the windows under the horizon.
    windows: IntArray
    #: The steps of application a are ``steps[a]:steps[a + 1]``; for each step the seconds from the start of
    #: its application to its own start and to its end.
    steps: IntArray
    begins: IntArray
    ends: IntArray
    #: Facts to be raised, as entries of the trail without the column of the entry before; for each arc the
    #: one that waits, or -1; and entries whose watches are to be visited.
    wants: IntArray
    wanted: IntArray
    todo: IntArray
    #: Clauses: rows ``begin:end`` of the facts (arc, value), of which the first two are watched; what proves
    #: them.
    clause_begin: IntArray
    clause_end: IntArray
    clause_hints: IntArray
    is_dead: NDArray[np.bool_]
    facts: NDArray[np.int32]
    #: The watches of an arc stand together: reading them is most of the work, and so most of them stay in the
    #: cache.
    watches: NDArray[np.int32]
    lists: IntArray
    #: Lines: the literals and the hints of line l end at ``literal_ends[l]`` and ``hint_ends[l]``. A hint is
    #: an axiom, or -1 minus a line.
    literals: IntArray
    literal_ends: IntArray
    hints: IntArray
    hint_ends: IntArray
    #: Rows (kind, up to three literals, two numbers): a hole; the first block
    #: and the number of blocks of a cover, whose literals are the facts of the clause in column 1.
    axioms: IntArray
    #: Hash table of the axioms but covers: 1 + axiom, 0 where it is free.
    axiom_table: IntArray
    #: Rows (application, first step, number of steps).
    blocks: IntArray
    #: Hash table of the literals that are known in a line, and the stamps under which they are.
    known: IntArray
    known_stamps: IntArray
    #: The stamp under which an entry is needed, and a list of those that are.
    marks: IntArray
    marked: IntArray
    #: The value for which an entry is made known, no more than its own: as much as is needed.
    shown: IntArray
    state: IntArray
    #: The state when there was no room.
    peak: IntArray


@inner_kernel
def value_of(r: Replay, arc: int) -> int:
    return int(r.values[arc])


@inner_kernel
def literal_of(n: int, arc: int, value: int) -> int:
    i, j = arc // n, arc % n
    if i < j:
        return (arc << VALUE_BITS) + value + VALUE_SHIFT
    return -(((j * n + i) << VALUE_BITS) + 1 - value + VALUE_SHIFT)


@inner_kernel
def want(r: Replay, arc: int, value: int, reason: int, one: int, two: int) -> bool:
    """Note that an arc has to be raised, by its highest value only; False without room."""
    at = r.wanted[arc]
    if at >= 0 and value <= r.wants[at, 1]:
        return True
    if at < 0:
        at = r.state[WANTS]
        if at == len(r.wants):
            return False
        r.state[WANTS] += 1
        r.wanted[arc] = at
    r.wants[at, 0], r.wants[at, 1], r.wants[at, 2], r.wants[at, 3], r.wants[at, 4] = (
        arc,
        value,
        reason,
        one,
        two,
    )
    return True


@inner_kernel
def _hole_at(r: Replay, arc: int, value: int) -> int:
    """Return the hole with a value that ends last, -1 if there is none. O(log holes)."""
    first, last = r.hole_offsets[arc], r.hole_offsets[arc + 1]
    low = first
    while first < last:
        middle = (first + last) >> 1
        if r.holes[middle, 0] <= value:
            first = middle + 1
        else:
            last = middle
    return int(first - 1) if first > low and r.holes[first - 1, 2] >= value else -1


@inner_kernel
def _enter(r: Replay, arc: int, value: int, reason: int, one: int, two: int) -> int:
    """Give an arc a higher value; return the outcome."""
    state = r.state
    if value <= value_of(r, arc):
        return FIXPOINT
    at = state[TRAIL]
    if at == len(r.trail) or state[TODO] == len(r.todo):
        return ROOM
    row = r.trail[at]
    row[ARC], row[VALUE], row[BEFORE] = arc, value, r.current[arc]
    row[REASON], row[ONE], row[TWO] = reason, one, two
    r.current[arc], r.values[arc] = at, value
    state[TRAIL] += 1
    r.todo[state[TODO]] = at
    state[TODO] += 1
    reverse = r.reverses[arc]
    if value_of(r, reverse) + value > 0:
        state[FIRST_ENTRY], state[SECOND_ENTRY], state[CONFLICT_CLAUSE] = at, r.current[reverse], -1
        return CONFLICT
    return FIXPOINT


@inner_kernel
def _put(r: Replay, arc: int, value: int, reason: int, one: int, two: int) -> int:
    """Give an arc a higher value, which may be in a hole; return the outcome."""
    outcome = _enter(r, arc, value, reason, one, two)
    if outcome != FIXPOINT:
        return outcome
    at, hole = r.current[arc], _hole_at(r, arc, value)
    if hole >= 0 and not want(r, arc, r.holes[hole, 2] + 1, HOLE, at, hole):
        return ROOM
    return FIXPOINT


@inner_kernel
def _raise(r: Replay, n: int, want: int) -> int:
    """Raise an arc as it is wanted and close the values under paths; return the outcome."""
    arc, value = r.wants[want, 0], r.wants[want, 1]
    if value <= value_of(r, arc):
        return FIXPOINT
    i, j = arc // n, arc % n
    outcome = _enter(r, arc, value, r.wants[want, 2], r.wants[want, 3], r.wants[want, 4])
    hole = _hole_at(r, arc, value)
    while outcome == FIXPOINT and hole >= 0:  # out of all holes, before other arcs follow
        value = r.holes[hole, 2] + 1
        outcome = _enter(r, arc, value, HOLE, r.current[arc], hole)
        hole = _hole_at(r, arc, value)
    if outcome != FIXPOINT:
        return outcome
    entry = r.current[arc]
    for last in range(n):
        beyond = value_of(r, j * n + last)
        if last not in (i, j) and beyond > UNSET and value + beyond > value_of(r, i * n + last):
            outcome = _put(r, i * n + last, value + beyond, PATH, entry, r.current[j * n + last])
            if outcome != FIXPOINT:
                return outcome
    for start in range(n):
        before = value_of(r, start * n + i)
        if start in (i, j) or before == UNSET or before + value <= value_of(r, start * n + j):
            continue
        outcome = _put(r, start * n + j, before + value, PATH, r.current[start * n + i], entry)
        if outcome != FIXPOINT:
            return outcome
        longer = r.current[start * n + j]
        length = r.trail[longer, VALUE]
        for last in range(n):
            # The arc from i was raised above if this path can be longer than the arc from the start.
            beyond = value_of(r, j * n + last)
            if last in (i, j, start) or beyond == UNSET:
                continue
            if value + beyond < value_of(r, i * n + last):
                continue
            if length + beyond > value_of(r, start * n + last):
                outcome = _put(r, start * n + last, length + beyond, PATH, longer, r.current[j * n + last])
                if outcome != FIXPOINT:
                    return outcome
    return FIXPOINT


@inner_kernel
def is_refuted(r: Replay, fact: int) -> bool:
    return bool(value_of(r, r.reverses[r.facts[fact, 0]]) >= 1 - r.facts[fact, 1])


@inner_kernel
def _append_watch(r: Replay, fact: int, other: int, watch: int) -> bool:
    """Append a watch to the list of its arc; False without room. A full list moves and doubles."""
    lists, watches, state, arc = r.lists, r.watches, r.state, r.facts[fact, 0]
    count = lists[arc, _COUNT]
    if count == lists[arc, _LIST_ROOM]:
        old, new = lists[arc, _BEGIN], state[WATCHES]
        room = 2 * count + 4
        if new + room > len(watches):
            return False
        for at in range(count):
            for column in range(4):
                watches[new + at, column] = watches[old + at, column]
        lists[arc, _BEGIN], lists[arc, _LIST_ROOM] = new, room
        state[WATCHES] = new + room
    at = lists[arc, _BEGIN] + count
    watches[at, _BAR], watches[at, _WATCH] = r.facts[fact, 1], watch
    watches[at, _OTHER_ARC], watches[at, _OTHER_VALUE] = r.facts[other, 0], r.facts[other, 1]
    lists[arc, _COUNT] = count + 1
    return True


@inner_kernel
def swap_facts(r: Replay, one: int, two: int) -> None:
    for column in range(2):
        r.facts[one, column], r.facts[two, column] = r.facts[two, column], r.facts[one, column]


@inner_kernel
def watch_clause(r: Replay, clause: int) -> bool:
    """Watch the first two facts of a clause; False without room."""
    begin = r.clause_begin[clause]
    if not _append_watch(r, begin, begin + 1, 2 * clause):
        return False
    if not _append_watch(r, begin + 1, begin, 2 * clause + 1):
        r.lists[r.facts[begin, 0], _COUNT] -= 1
        return False
    return True


@inner_kernel
def _visit(r: Replay, arc: int) -> int:
    """Visit the clauses of which the value of an arc refutes a watched fact; return the outcome."""
    values, facts, watches, lists = r.values, r.facts, r.watches, r.lists
    reverse = r.reverses[arc]
    lowest, highest = 1 - values[arc], -r.seen[arc]
    at = lists[reverse, _BEGIN]
    end = at + lists[reverse, _COUNT]
    while at < end:
        bar = watches[at, _BAR]
        if bar < lowest or bar > highest or values[watches[at, _OTHER_ARC]] >= watches[at, _OTHER_VALUE]:
            at += 1
            continue
        clause, side = watches[at, _WATCH] >> 1, watches[at, _WATCH] & 1
        is_moved = r.is_dead[clause]
        if not is_moved:
            fact = r.clause_begin[clause] + side
            other = r.clause_begin[clause] + 1 - side
            watches[at, _OTHER_ARC], watches[at, _OTHER_VALUE] = facts[other, 0], facts[other, 1]
            if values[facts[other, 0]] >= facts[other, 1]:
                at += 1
                continue
            for rest in range(r.clause_begin[clause] + 2, r.clause_end[clause]):
                if not is_refuted(r, rest):
                    if not _append_watch(r, rest, other, 2 * clause + side):
                        return ROOM
                    swap_facts(r, fact, rest)
                    is_moved = True
                    break
            if not is_moved:
                if is_refuted(r, other):
                    r.state[CONFLICT_CLAUSE] = clause
                    return CONFLICT
                if not want(r, facts[other, 0], facts[other, 1], IMPLIED, clause, 0):
                    return ROOM
        if is_moved:
            end -= 1
            for column in range(4):
                watches[at, column] = watches[end, column]
            lists[reverse, _COUNT] -= 1
        else:
            at += 1
    r.seen[arc] = values[arc]
    return FIXPOINT


@inner_kernel
def propagate(r: Replay, n: int) -> int:
    """Raise what is wanted and what follows, first in, first out; return the outcome."""
    state = r.state
    while True:
        while state[_WANTS_HEAD] < state[WANTS]:
            r.wanted[r.wants[state[_WANTS_HEAD], 0]] = -1
            state[_WANTS_HEAD] += 1
            outcome = _raise(r, n, state[_WANTS_HEAD] - 1)
            if outcome != FIXPOINT:
                return outcome
        state[_WANTS_HEAD] = state[WANTS] = 0
        if state[_TODO_HEAD] == state[TODO]:
            state[_TODO_HEAD] = state[TODO] = 0
            return FIXPOINT
        entry = r.todo[state[_TODO_HEAD]]
        state[_TODO_HEAD] += 1
        arc = r.trail[entry, ARC]
        if r.current[arc] == entry:
            outcome = _visit(r, arc)
            if outcome != FIXPOINT:
                return outcome


@inner_kernel
def take_back(r: Replay) -> None:
    """Forget all that needs an assumption, and empty the work lists."""
    state = r.state
    while state[TRAIL] > state[GROUND]:
        state[TRAIL] -= 1
        row = r.trail[state[TRAIL]]
        before = row[BEFORE]
        value = UNSET if before < 0 else int(r.trail[before, VALUE])
        r.current[row[ARC]], r.values[row[ARC]] = before, value
        r.seen[row[ARC]] = min(r.seen[row[ARC]], value)
    for at in range(state[_WANTS_HEAD], state[WANTS]):
        r.wanted[r.wants[at, 0]] = -1
    state[_WANTS_HEAD] = state[WANTS] = state[_TODO_HEAD] = state[TODO] = 0
