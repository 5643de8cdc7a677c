"""Compiled: a proof of a makespan is replayed with the reasons of all that follows.

The replay writes the refutation as lines of the format LRAT: a clause, and as hints the clauses that become
units one after the other if none of its facts holds. A clause is a line before it or an *axiom*: one that
holds for every schedule and whose kind says why.

Facts, arcs and points are those of `allocsolve.judge.evolution._kernels_proof`. A *literal* is a fact on an
arc (i, j) with i < j, as a positive number, or the negation of one, as a negative number.
"""

from __future__ import annotations

# ruff: noqa: PLR1714
# A step of the replay has many outcomes, an entry of the trail has many columns, and numbers are compared
# one by one, not with a tuple.
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.judge.evolution._kernels_proof import _read_number
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

#: Stands for "no value": below every value, and sums of a few stay so.
_UNSET = -(1 << 40)
#: A literal is the arc times 2^31, plus the value, which is made positive by this much.
VALUE_BITS, VALUE_SHIFT = 31, 1 << 30

#: Entries of `Replay.state`: lengths of the lists of the same names; the entries of the trail that hold
#: without assumptions; the first and the last of the two work lists; what conflicts: two entries of the trail
#: or a clause; the bytes read; the clause deleted last; the last stamp; the literals known under it.
TRAIL, CLAUSES, FACTS, LINES, LITERALS, HINTS, AXIOMS, BLOCKS = range(8)
GROUND, _WANTS_HEAD, WANTS, _TODO_HEAD, TODO, _FIRST, _SECOND, _CLAUSE = range(8, 16)
POSITION, _DELETED, _STAMP, KNOWN, STARTED = range(16, 21)
STATE_SIZE = 21

#: Columns of the trail: an arc and its new value, the entry that had the value before, and the reason with up
#: to two entries, or with an entry and the lower end of a hole, or with a clause.
_ARC, _VALUE, _BEFORE, _REASON, _ONE, _TWO = range(6)
#: Reasons: an assumption, a path of two entries, a hole, a clause, a window.
_ASSUMED, _PATH, _HOLE, _IMPLIED, _WINDOW = range(5)

#: Kinds of axioms: facts whose negations form a cycle; the two steps of a hole; windows; covers.
CYCLE, TWO_STEPS, RELEASE, DEADLINE, COVER = range(5)

#: Outcomes: nothing follows any more; a conflict; the arrays are too short. Of the replay: a learned clause
#: does not follow, or the log is over and nothing is refuted.
_FIXPOINT, _CONFLICT, ROOM, REFUTED, NOT_REFUTED = range(5)


class Replay(NamedTuple):
    """What has been derived, and why. N points make N * N arcs."""

    #: For each arc its last entry of the trail, -1 without one, and the value up to which its watches have
    #: been visited.
    current: IntArray
    seen: IntArray
    #: See the columns above.
    trail: IntArray
    #: For entries that hold without assumptions: what proves them, as a hint.
    entry_hints: IntArray
    #: Differences that no schedule has: rows (lowest, highest, step of i, step of j), those of arc a from
    #: ``hole_offsets[a]`` on.
    hole_offsets: IntArray
    holes: IntArray
    #: Rows (point, point, value) that always hold: the windows under the horizon.
    windows: IntArray
    #: The steps of application a are ``steps[a]:steps[a + 1]``; for each step the seconds from the start of
    #: its application to its own start and to its end.
    steps: IntArray
    begins: IntArray
    ends: IntArray
    #: Facts to be raised, as entries of the trail without the column of the entry before, and entries whose
    #: watches are to be visited.
    wants: IntArray
    todo: IntArray
    #: Clauses: rows ``begin:end`` of the facts (arc, value), what proves them, the two watched facts.
    clause_begin: IntArray
    clause_end: IntArray
    clause_hints: IntArray
    is_dead: NDArray[np.bool_]
    watched: IntArray
    facts: IntArray
    #: The watches of an arc as a list: the first one, and the one after each; watch 2 c + s is the watch s of
    #: clause c.
    first_watch: IntArray
    next_watch: IntArray
    #: Lines: the literals and the hints of line l end at ``literal_ends[l]`` and ``hint_ends[l]``. A hint is
    #: an axiom, or -1 minus a line.
    literals: IntArray
    literal_ends: IntArray
    hints: IntArray
    hint_ends: IntArray
    #: Rows (kind, up to three literals, two numbers): the steps of the two points of a hole; the first block
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
    state: IntArray
    #: The state when there was no room.
    peak: IntArray


@inner_kernel
def _value(r: Replay, arc: int) -> int:
    at = r.current[arc]
    return _UNSET if at < 0 else int(r.trail[at, _VALUE])


@inner_kernel
def _reverse(n: int, arc: int) -> int:
    return (arc % n) * n + arc // n


@inner_kernel
def _literal(n: int, arc: int, value: int) -> int:
    i, j = arc // n, arc % n
    if i < j:
        return (arc << VALUE_BITS) + value + VALUE_SHIFT
    return -(((j * n + i) << VALUE_BITS) + 1 - value + VALUE_SHIFT)


@inner_kernel
def _want(r: Replay, arc: int, value: int, reason: int, one: int, two: int) -> bool:
    """Note that an arc has to be raised; False without room."""
    at = r.state[WANTS]
    if at == len(r.wants):
        return False
    r.wants[at, 0], r.wants[at, 1], r.wants[at, 2], r.wants[at, 3], r.wants[at, 4] = (
        arc,
        value,
        reason,
        one,
        two,
    )
    r.state[WANTS] += 1
    return True


@inner_kernel
def _put(r: Replay, n: int, arc: int, value: int, reason: int, one: int, two: int) -> int:
    """Give an arc a higher value; return the outcome."""
    state = r.state
    if value <= _value(r, arc):
        return _FIXPOINT
    at = state[TRAIL]
    if at == len(r.trail) or state[TODO] == len(r.todo):
        return ROOM
    row = r.trail[at]
    row[_ARC], row[_VALUE], row[_BEFORE] = arc, value, r.current[arc]
    row[_REASON], row[_ONE], row[_TWO] = reason, one, two
    r.current[arc] = at
    state[TRAIL] += 1
    r.todo[state[TODO]] = at
    state[TODO] += 1
    back = r.current[_reverse(n, arc)]
    if back >= 0 and r.trail[back, _VALUE] + value > 0:
        state[_FIRST], state[_SECOND], state[_CLAUSE] = at, back, -1
        return _CONFLICT
    low, high = 0, _UNSET
    for hole in range(r.hole_offsets[arc], r.hole_offsets[arc + 1]):
        if r.holes[hole, 0] <= value <= r.holes[hole, 1] and r.holes[hole, 1] > high:
            low, high = r.holes[hole, 0], r.holes[hole, 1]
    if high > _UNSET and not _want(r, arc, high + 1, _HOLE, at, low):
        return ROOM
    return _FIXPOINT


@inner_kernel
def _raise(r: Replay, n: int, want: int) -> int:
    """Raise an arc as it is wanted and close the values under paths; return the outcome."""
    arc, value = r.wants[want, 0], r.wants[want, 1]
    if value <= _value(r, arc):
        return _FIXPOINT
    i, j = arc // n, arc % n
    outcome = _put(r, n, arc, value, r.wants[want, 2], r.wants[want, 3], r.wants[want, 4])
    if outcome != _FIXPOINT:
        return outcome
    entry = r.current[arc]
    for last in range(n):
        beyond = _value(r, j * n + last)
        if last not in (i, j) and beyond > _UNSET and value + beyond > _value(r, i * n + last):
            outcome = _put(r, n, i * n + last, value + beyond, _PATH, entry, r.current[j * n + last])
            if outcome != _FIXPOINT:
                return outcome
    for start in range(n):
        before = _value(r, start * n + i)
        if start in (i, j) or before == _UNSET or before + value <= _value(r, start * n + j):
            continue
        outcome = _put(r, n, start * n + j, before + value, _PATH, r.current[start * n + i], entry)
        if outcome != _FIXPOINT:
            return outcome
        longer = r.current[start * n + j]
        length = r.trail[longer, _VALUE]
        for last in range(n):
            # The arc from i was raised above if this path can be longer than the arc from the start.
            beyond = _value(r, j * n + last)
            if last in (i, j, start) or beyond == _UNSET:
                continue
            if value + beyond < _value(r, i * n + last):
                continue
            if length + beyond > _value(r, start * n + last):
                outcome = _put(
                    r, n, start * n + last, length + beyond, _PATH, longer, r.current[j * n + last]
                )
                if outcome != _FIXPOINT:
                    return outcome
    return _FIXPOINT


@inner_kernel
def _is_refuted(r: Replay, n: int, fact: int) -> bool:
    return _value(r, _reverse(n, r.facts[fact, 0])) >= 1 - r.facts[fact, 1]


@inner_kernel
def _watch(r: Replay, watch: int, arc: int) -> None:
    r.next_watch[watch] = r.first_watch[arc]
    r.first_watch[arc] = watch


@inner_kernel
def _visit(r: Replay, n: int, arc: int) -> int:
    """Visit the clauses of which the value of an arc refutes a watched fact; return the outcome."""
    reverse = _reverse(n, arc)
    lowest, highest = 1 - _value(r, arc), -r.seen[arc]
    before, watch = -1, r.first_watch[reverse]
    while watch >= 0:
        following = r.next_watch[watch]
        clause, side = watch >> 1, watch & 1
        fact, other = r.watched[clause, side], r.watched[clause, 1 - side]
        is_moved = r.is_dead[clause]
        is_near = not is_moved and lowest <= r.facts[fact, 1] <= highest
        if is_near and _value(r, r.facts[other, 0]) < r.facts[other, 1]:
            for rest in range(r.clause_begin[clause], r.clause_end[clause]):
                if rest != fact and rest != other and not _is_refuted(r, n, rest):
                    r.watched[clause, side] = rest
                    is_moved = True
                    break
            if not is_moved:
                if _is_refuted(r, n, other):
                    r.state[_CLAUSE] = clause
                    return _CONFLICT
                if not _want(r, r.facts[other, 0], r.facts[other, 1], _IMPLIED, clause, 0):
                    return ROOM
        if is_moved:
            if before < 0:
                r.first_watch[reverse] = following
            else:
                r.next_watch[before] = following
            if not r.is_dead[clause]:
                _watch(r, watch, r.facts[r.watched[clause, side], 0])
        else:
            before = watch
        watch = following
    r.seen[arc] = _value(r, arc)
    return _FIXPOINT


@inner_kernel
def _propagate(r: Replay, n: int) -> int:
    """Raise what is wanted and what follows, first in, first out; return the outcome."""
    state = r.state
    while True:
        while state[_WANTS_HEAD] < state[WANTS]:
            state[_WANTS_HEAD] += 1
            outcome = _raise(r, n, state[_WANTS_HEAD] - 1)
            if outcome != _FIXPOINT:
                return outcome
        state[_WANTS_HEAD] = state[WANTS] = 0
        if state[_TODO_HEAD] == state[TODO]:
            state[_TODO_HEAD] = state[TODO] = 0
            return _FIXPOINT
        entry = r.todo[state[_TODO_HEAD]]
        state[_TODO_HEAD] += 1
        arc = r.trail[entry, _ARC]
        if r.current[arc] == entry:
            outcome = _visit(r, n, arc)
            if outcome != _FIXPOINT:
                return outcome


@inner_kernel
def _take_back(r: Replay) -> None:
    """Forget all that needs an assumption, and empty the work lists."""
    state = r.state
    while state[TRAIL] > state[GROUND]:
        state[TRAIL] -= 1
        row = r.trail[state[TRAIL]]
        r.current[row[_ARC]] = row[_BEFORE]
        value = _value(r, row[_ARC])
        r.seen[row[_ARC]] = min(r.seen[row[_ARC]], value)
    state[_WANTS_HEAD] = state[WANTS] = state[_TODO_HEAD] = state[TODO] = 0


@inner_kernel
def _place(one: int, two: int, three: int) -> int:
    mixed = one * 0x9E3779B1 + two * 0x85EBCA77 + three * 0xC2B2AE3D
    return mixed ^ (mixed >> 29) ^ (mixed >> 47)


@inner_kernel
def _axiom(r: Replay, kind: int, one: int, two: int, three: int, x: int, y: int) -> int:
    """Return the number of an axiom, an old one if it is there; -1 without room."""
    state, mask = r.state, len(r.axiom_table) - 1
    place = _place(one, two, three) & mask
    while r.axiom_table[place] != 0:
        at = r.axiom_table[place] - 1
        if r.axioms[at, 1] == one and r.axioms[at, 2] == two and r.axioms[at, 3] == three:
            return at
        place = (place + 1) & mask
    at = state[AXIOMS]
    if at == len(r.axioms) or 2 * at > mask:
        return -1
    r.axiom_table[place] = at + 1
    row = r.axioms[at]
    row[0], row[1], row[2], row[3], row[4], row[5] = kind, one, two, three, x, y
    state[AXIOMS] += 1
    return int(at)


@kernel
def fill_axiom_table(r: Replay) -> None:
    """Enter all axioms into a table that is empty."""
    mask = len(r.axiom_table) - 1
    for at in range(r.state[AXIOMS]):
        row = r.axioms[at]
        if row[0] != COVER:
            place = _place(row[1], row[2], row[3]) & mask
            while r.axiom_table[place] != 0:
                place = (place + 1) & mask
            r.axiom_table[place] = at + 1


@inner_kernel
def _is_known(r: Replay, literal: int) -> bool:
    """Return whether a literal is known in this line; if not, it is now. A full table takes it for known."""
    mask = len(r.known) - 1
    place = _place(literal, 0, 0) & mask
    while r.known_stamps[place] == r.state[_STAMP]:
        if r.known[place] == literal:
            return True
        place = (place + 1) & mask
    r.known[place] = literal
    r.known_stamps[place] = r.state[_STAMP]
    r.state[KNOWN] += 1
    return False


@inner_kernel
def _hint(r: Replay, hint: int) -> bool:
    """Append a hint to the line that is being written; False without room."""
    at = r.state[HINTS]
    if at == len(r.hints) or 2 * r.state[KNOWN] > len(r.known):
        return False
    r.hints[at] = hint
    r.state[HINTS] += 1
    return True


@inner_kernel
def _axiom_hint(r: Replay, kind: int, one: int, two: int, three: int, x: int, y: int) -> bool:
    axiom = _axiom(r, kind, one, two, three, x, y)
    return axiom >= 0 and _hint(r, axiom)


@inner_kernel
def _premise(r: Replay, n: int, fact: int, before: int) -> int:
    """Return the first entry, of those before another one, that refutes a fact of a clause."""
    need = 1 - r.facts[fact, 1]
    entry, found = r.current[_reverse(n, r.facts[fact, 0])], -1
    while entry >= before:
        entry = r.trail[entry, _BEFORE]
    while entry >= 0 and r.trail[entry, _VALUE] >= need:
        found = entry
        entry = r.trail[entry, _BEFORE]
    return int(found)


@inner_kernel
def _weaken(r: Replay, n: int, entry: int, value: int) -> bool:
    """Make an entry of the trail known for a lower value; False without room."""
    arc = r.trail[entry, _ARC]
    literal = _literal(n, arc, value)
    if _is_known(r, literal):
        return True
    return _axiom_hint(r, CYCLE, -_literal(n, arc, r.trail[entry, _VALUE]), literal, 0, 0, 0)


@inner_kernel
def _refute_facts(r: Replay, n: int, clause: int, arc: int, value: int, before: int) -> bool:
    """Make all facts of a clause but one known as refuted, by entries before one; False without room."""
    for fact in range(r.clause_begin[clause], r.clause_end[clause]):
        if r.facts[fact, 0] == arc and r.facts[fact, 1] == value:
            continue
        if not _weaken(r, n, _premise(r, n, fact, before), 1 - r.facts[fact, 1]):
            return False
    return True


@inner_kernel
def _explain(r: Replay, n: int, entry: int) -> bool:
    """Append the hints by which an entry follows from entries that are known; False without room."""
    row = r.trail[entry]
    literal = _literal(n, row[_ARC], row[_VALUE])
    reason, one, two = row[_REASON], row[_ONE], row[_TWO]
    if reason == _PATH:
        first = -_literal(n, r.trail[one, _ARC], r.trail[one, _VALUE])
        second = -_literal(n, r.trail[two, _ARC], r.trail[two, _VALUE])
        return _axiom_hint(r, CYCLE, first, second, literal, 0, 0)
    if reason == _HOLE:
        if not _weaken(r, n, one, two):
            return False
        return _hole_hint(r, n, row[_ARC], two, row[_VALUE] - 1, literal)
    if reason == _IMPLIED:
        return _refute_facts(r, n, one, row[_ARC], row[_VALUE], entry) and _hint(r, r.clause_hints[one])
    if reason == _WINDOW:
        i, j = row[_ARC] // n, row[_ARC] % n
        if i == n - 1:
            return _axiom_hint(r, RELEASE, literal, 0, 0, j, 0)
        return _axiom_hint(r, DEADLINE, literal, 0, 0, i, 0)
    return True


@inner_kernel
def _hole_hint(r: Replay, n: int, arc: int, low: int, high: int, literal: int) -> bool:
    for hole in range(r.hole_offsets[arc], r.hole_offsets[arc + 1]):
        if r.holes[hole, 0] == low and r.holes[hole, 1] == high:
            x, y, premise = r.holes[hole, 2], r.holes[hole, 3], -_literal(n, arc, low)
            return _axiom_hint(r, TWO_STEPS, premise, literal, 0, x, y)
    return False


@inner_kernel
def _need(r: Replay, entry: int, count: int) -> int:
    """Mark an entry; return how many are."""
    if r.marks[entry] == r.state[_STAMP]:
        return count
    r.marks[entry] = r.state[_STAMP]
    r.marked[count] = entry
    return count + 1


@inner_kernel
def _needed(r: Replay, n: int, count: int) -> int:
    """Mark all that the marked entries follow from, down to what always holds; return how many are marked."""
    at = 0
    while at < count:
        entry = r.marked[at]
        at += 1
        if entry < r.state[GROUND]:
            continue
        row = r.trail[entry]
        if row[_REASON] == _PATH:
            count = _need(r, row[_ONE], count)
            count = _need(r, row[_TWO], count)
        elif row[_REASON] == _HOLE:
            count = _need(r, row[_ONE], count)
        elif row[_REASON] == _IMPLIED:
            for fact in range(r.clause_begin[row[_ONE]], r.clause_end[row[_ONE]]):
                if r.facts[fact, 0] != row[_ARC] or r.facts[fact, 1] != row[_VALUE]:
                    count = _need(r, _premise(r, n, fact, entry), count)
    return count


@inner_kernel
def _end_line(r: Replay) -> bool:
    """End the line whose literals and hints were appended; False without room."""
    at = r.state[LINES]
    if at == len(r.hint_ends):
        return False
    r.literal_ends[at], r.hint_ends[at] = r.state[LITERALS], r.state[HINTS]
    r.state[LINES] += 1
    return True


@inner_kernel
def _begin_line(r: Replay) -> None:
    r.state[_STAMP] += 1
    r.state[KNOWN] = 0


@inner_kernel
def _line_literal(r: Replay, literal: int) -> bool:
    """Append a literal to the line; its negation is known. False without room."""
    if r.state[LITERALS] == len(r.literals):
        return False
    r.literals[r.state[LITERALS]] = literal
    r.state[LITERALS] += 1
    _is_known(r, -literal)
    return True


@inner_kernel
def _sort(values: IntArray, count: int) -> None:
    """Sort the first values, in place: Shell's method, with gaps that shrink by 2.25."""
    gap = count
    while gap > 1:
        gap = max(1, gap * 4 // 9)
        for at in range(gap, count):
            value, to = values[at], at
            while to >= gap and values[to - gap] > value:
                values[to] = values[to - gap]
                to -= gap
            values[to] = value


@inner_kernel
def _conflict_line(r: Replay, n: int, begin: int, end: int) -> bool:
    """Write the line of a clause whose negation has led to the conflict; False without room."""
    state = r.state
    _begin_line(r)
    for fact in range(begin, end):
        if not _line_literal(r, _literal(n, r.facts[fact, 0], r.facts[fact, 1])):
            return False
    count, clause = 0, state[_CLAUSE]
    if clause >= 0:
        for fact in range(r.clause_begin[clause], r.clause_end[clause]):
            count = _need(r, _premise(r, n, fact, state[TRAIL]), count)
    else:
        count = _need(r, state[_FIRST], count)
        count = _need(r, state[_SECOND], count)
    count = _needed(r, n, count)
    _sort(r.marked, count)
    for at in range(count):
        entry = r.marked[at]
        if _is_known(r, _literal(n, r.trail[entry, _ARC], r.trail[entry, _VALUE])):
            continue
        if not (_hint(r, r.entry_hints[entry]) if entry < state[GROUND] else _explain(r, n, entry)):
            return False
    if clause >= 0:
        if not (_refute_facts(r, n, clause, -1, 0, state[TRAIL]) and _hint(r, r.clause_hints[clause])):
            return False
    else:
        first = _literal(n, r.trail[state[_FIRST], _ARC], r.trail[state[_FIRST], _VALUE])
        second = _literal(n, r.trail[state[_SECOND], _ARC], r.trail[state[_SECOND], _VALUE])
        if first != -second and not _axiom_hint(r, CYCLE, -first, -second, 0, 0, 0):
            return False
    return _end_line(r)


@inner_kernel
def _settle(r: Replay, n: int) -> bool:
    """Write a line for each new entry, which holds without assumptions; False without room."""
    state = r.state
    for entry in range(state[GROUND], state[TRAIL]):
        row = r.trail[entry]
        literal = _literal(n, row[_ARC], row[_VALUE])
        _begin_line(r)
        if row[_REASON] == _WINDOW:
            if not _explain(r, n, entry):
                return False
            state[HINTS] -= 1
            r.entry_hints[entry] = r.hints[state[HINTS]]
            continue
        if not _line_literal(r, literal):
            return False
        count = 0
        if row[_REASON] == _IMPLIED:
            for fact in range(r.clause_begin[row[_ONE]], r.clause_end[row[_ONE]]):
                if r.facts[fact, 0] != row[_ARC] or r.facts[fact, 1] != row[_VALUE]:
                    count = _need(r, _premise(r, n, fact, entry), count)
        else:
            count = _need(r, row[_ONE], count)
            if row[_REASON] == _PATH:
                count = _need(r, row[_TWO], count)
        for at in range(count):
            premise = r.marked[at]
            is_known = _is_known(r, _literal(n, r.trail[premise, _ARC], r.trail[premise, _VALUE]))
            if not is_known and not _hint(r, r.entry_hints[premise]):
                return False
        if not (_explain(r, n, entry) and _end_line(r)):
            return False
        r.entry_hints[entry] = -state[LINES]
    state[GROUND] = state[TRAIL]
    return True


@inner_kernel
def _read_blocks(r: Replay, n: int, data: NDArray[np.uint8], at: int, count: int) -> int:
    """Read a cover and append the facts of its clause; return the place after it, -1 without room."""
    state = r.state
    first, begin = state[BLOCKS], state[FACTS]
    if first + count > len(r.blocks) or begin + count * count > len(r.facts):
        return -1
    for block in range(first, first + count):
        app, at = _read_number(data, at)
        low, at = _read_number(data, at)
        high, at = _read_number(data, at)
        r.blocks[block, 0], r.blocks[block, 1], r.blocks[block, 2] = app, low, high - low + 1
    for one in range(first, first + count):
        for two in range(first, first + count):
            if one != two:
                app, other = r.blocks[one, 0], r.blocks[two, 0]
                end = r.ends[r.steps[app] + r.blocks[one, 1] + r.blocks[one, 2] - 1]
                start = r.begins[r.steps[other] + r.blocks[two, 1]]
                r.facts[state[FACTS], 0], r.facts[state[FACTS], 1] = app * n + other, end - start
                state[FACTS] += 1
    state[BLOCKS] += count
    return at


@inner_kernel
def _read_facts(r: Replay, data: NDArray[np.uint8], at: int, count: int) -> int:
    """Read the facts of a learned clause; return the place after it, -1 without room."""
    state = r.state
    if state[FACTS] + count > len(r.facts):
        return -1
    for _ in range(count):
        arc, at = _read_number(data, at)
        coded, at = _read_number(data, at)
        value = coded >> 1 if coded & 1 == 0 else -(coded >> 1) - 1
        r.facts[state[FACTS], 0], r.facts[state[FACTS], 1] = arc, value
        state[FACTS] += 1
    return at


@inner_kernel
def _add_clause(r: Replay, n: int, begin: int, hint: int) -> int:
    """Add the clause of the facts from `begin` on; return an outcome."""
    state = r.state
    clause = state[CLAUSES]
    r.clause_begin[clause], r.clause_end[clause], r.clause_hints[clause] = begin, state[FACTS], hint
    r.is_dead[clause] = False
    state[CLAUSES] += 1
    open_facts, one, two = 0, -1, -1
    for fact in range(begin, state[FACTS]):
        if _value(r, r.facts[fact, 0]) >= r.facts[fact, 1]:
            r.is_dead[clause] = True
            return _FIXPOINT
        if not _is_refuted(r, n, fact):
            open_facts += 1
            if one < 0:
                one = fact
            elif two < 0:
                two = fact
    if open_facts == 0:
        state[_CLAUSE] = clause
        return _CONFLICT
    if open_facts == 1:
        r.is_dead[clause] = True
        if not _want(r, r.facts[one, 0], r.facts[one, 1], _IMPLIED, clause, 0):
            return ROOM
        outcome = _propagate(r, n)
        if outcome == _FIXPOINT and not _settle(r, n):
            return ROOM
        return outcome
    r.watched[clause, 0], r.watched[clause, 1] = one, two
    _watch(r, 2 * clause, r.facts[one, 0])
    _watch(r, 2 * clause + 1, r.facts[two, 0])
    return _FIXPOINT


@inner_kernel
def _take_clause(r: Replay, n: int, data: NDArray[np.uint8], at: int, kind: int, count: int) -> int:
    """Read a clause and add it, a learned one with its line; return an outcome."""
    state = r.state
    begin, block = state[FACTS], state[BLOCKS]
    if state[CLAUSES] == len(r.clause_begin):
        return ROOM
    at = _read_blocks(r, n, data, at, count) if kind == 1 else _read_facts(r, data, at, count)
    if at < 0:
        return ROOM
    if kind == 1:
        hint = state[AXIOMS]
        if hint == len(r.axioms):
            return ROOM
        row = r.axioms[hint]
        row[0], row[1], row[2], row[3], row[4], row[5] = COVER, state[CLAUSES], 0, -1, block, count
        state[AXIOMS] += 1
    else:
        state[_CLAUSE] = -1
        for fact in range(begin, state[FACTS]):
            arc = _reverse(n, r.facts[fact, 0])
            if not _want(r, arc, 1 - r.facts[fact, 1], _ASSUMED, 0, 0):
                return ROOM
        outcome = _propagate(r, n)
        if outcome != _CONFLICT:
            return NOT_REFUTED if outcome == _FIXPOINT else ROOM
        if not _conflict_line(r, n, begin, state[FACTS]):
            return ROOM
        hint = -state[LINES]
        _take_back(r)
    outcome = _add_clause(r, n, begin, hint)
    if outcome == ROOM:
        return ROOM
    state[POSITION] = at
    return outcome


@inner_kernel
def _start(r: Replay, n: int) -> int:
    """Raise the windows under the horizon; return an outcome."""
    for at in range(len(r.windows)):
        i, j = r.windows[at, 0], r.windows[at, 1]
        if not _want(r, i * n + j, r.windows[at, 2], _WINDOW, 0, 0):
            return ROOM
    outcome = _propagate(r, n)
    if outcome == _FIXPOINT and not _settle(r, n):
        return ROOM
    return outcome


@kernel
def replay(r: Replay, n: int, data: NDArray[np.uint8]) -> int:
    """Replay the items of a log from ``state[POSITION]`` on; return REFUTED, NOT_REFUTED, or ROOM.

    After ROOM the arrays may be made longer, and the call be repeated: an item is taken whole or not at all.
    """
    state = r.state
    while True:
        clauses, facts, lines, literals = state[CLAUSES], state[FACTS], state[LINES], state[LITERALS]
        hints, blocks, position = state[HINTS], state[BLOCKS], state[POSITION]
        outcome, started = _FIXPOINT, state[STARTED]
        if started == 0:
            outcome = _start(r, n)
            if outcome != ROOM:
                state[STARTED] = 1
        else:
            head, at = _read_number(data, state[POSITION])
            if head < 0:
                return NOT_REFUTED
            kind, count = head & 3, head >> 2
            if kind in (1, 2):
                outcome = _take_clause(r, n, data, at, kind, count)
            else:
                if kind == 3:
                    state[_DELETED] += count >> 1 if count & 1 == 0 else -(count >> 1) - 1
                    r.is_dead[state[_DELETED]] = True
                state[POSITION] = at
        if outcome == _CONFLICT:
            outcome = REFUTED if _conflict_line(r, n, 0, 0) else ROOM
        if outcome == ROOM:
            for at in range(STATE_SIZE):
                r.peak[at] = state[at]
            _take_back(r)
            state[CLAUSES], state[FACTS], state[LINES], state[LITERALS] = clauses, facts, lines, literals
            state[HINTS], state[BLOCKS], state[POSITION] = hints, blocks, position
            state[STARTED] = started
            return ROOM
        if outcome != _FIXPOINT:
            return outcome


@kernel
def find_used(r: Replay, lines: NDArray[np.bool_], axioms: NDArray[np.bool_]) -> None:
    """Set which lines and axioms the last line follows from."""
    lines[r.state[LINES] - 1] = True
    for line in range(r.state[LINES] - 1, -1, -1):
        if lines[line]:
            for at in range(r.hint_ends[line - 1] if line else 0, r.hint_ends[line]):
                if r.hints[at] < 0:
                    lines[-1 - r.hints[at]] = True
                else:
                    axioms[r.hints[at]] = True


@kernel
def literals_of(facts: IntArray, literals: IntArray, n: int) -> None:
    """Write facts, rows (arc, value), as literals."""
    for at in range(len(facts)):
        literals[at] = _literal(n, facts[at, 0], facts[at, 1])
