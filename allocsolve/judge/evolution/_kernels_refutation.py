"""Compiled: the reasons of a replay are written as a refutation.

It consists of lines of the format LRAT: a clause, and as hints the clauses that become units one after the
other if none of its facts holds. A clause is a line before it or an *axiom*: one that holds for every
schedule and whose kind says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.judge.evolution._kernels_proof import _read_number
from allocsolve.judge.evolution._kernels_reasons import (
    ARC,
    ASSUMED,
    AXIOMS,
    BEFORE,
    BLOCKS,
    CLAUSES,
    CONFLICT,
    CONFLICT_CLAUSE,
    DELETED,
    FACTS,
    FIRST_ENTRY,
    FIXPOINT,
    GROUND,
    HINTS,
    HOLE,
    IMPLIED,
    KNOWN,
    LINES,
    LITERALS,
    NOT_REFUTED,
    ONE,
    PATH,
    POSITION,
    REASON,
    REFUTED,
    ROOM,
    SECOND_ENTRY,
    STAMP,
    STARTED,
    STATE_SIZE,
    TRAIL,
    TWO,
    VALUE,
    WINDOW,
    Replay,
    is_refuted,
    literal_of,
    propagate,
    swap_facts,
    take_back,
    value_of,
    want,
    watch_clause,
)
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

#: Kinds of axioms: facts whose negations form a cycle; the two blocks of a hole; windows; covers.
CYCLE, TWO_BLOCKS, RELEASE, DEADLINE, COVER = range(5)


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
            return int(at)
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
    while r.known_stamps[place] == r.state[STAMP]:
        if r.known[place] == literal:
            return True
        place = (place + 1) & mask
    r.known[place] = literal
    r.known_stamps[place] = r.state[STAMP]
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
def _first(r: Replay, entry: int, value: int) -> int:
    """Return the first entry of the arc of an entry, up to that one, with at least a value."""
    while r.trail[entry, BEFORE] >= 0 and r.trail[r.trail[entry, BEFORE], VALUE] >= value:
        entry = r.trail[entry, BEFORE]
    return int(entry)


@inner_kernel
def _premise(r: Replay, fact: int, before: int) -> int:
    """Return the first entry, of those before another one, that refutes a fact of a clause."""
    entry = r.current[r.reverses[r.facts[fact, 0]]]
    while entry >= before:
        entry = r.trail[entry, BEFORE]
    return _first(r, entry, 1 - r.facts[fact, 1])


@inner_kernel
def _shown(r: Replay, n: int, entry: int) -> int:
    """Return the literal by which an entry of the trail is known."""
    return literal_of(n, r.trail[entry, ARC], r.shown[entry])


@inner_kernel
def _weaken(r: Replay, n: int, entry: int, value: int) -> bool:
    """Make an entry of the trail known for a lower value; False without room."""
    literal = literal_of(n, r.trail[entry, ARC], value)
    if _is_known(r, literal):
        return True
    return _axiom_hint(r, CYCLE, -_shown(r, n, entry), literal, 0, 0, 0)


@inner_kernel
def _refute_facts(r: Replay, n: int, clause: int, arc: int, value: int, before: int) -> bool:
    """Make all facts of a clause but one known as refuted, by entries before one; False without room."""
    for fact in range(r.clause_begin[clause], r.clause_end[clause]):
        if r.facts[fact, 0] == arc and r.facts[fact, 1] == value:
            continue
        if not _weaken(r, n, _premise(r, fact, before), 1 - r.facts[fact, 1]):
            return False
    return True


@inner_kernel
def _explain(r: Replay, n: int, entry: int) -> bool:
    """Append the hints by which an entry follows from entries that are known; False without room."""
    row = r.trail[entry]
    literal = _shown(r, n, entry)
    reason, one, two = row[REASON], row[ONE], row[TWO]
    if reason == PATH:
        return _axiom_hint(r, CYCLE, -_shown(r, n, one), -_shown(r, n, two), literal, 0, 0)
    if reason == HOLE:
        low = r.holes[two, 1]
        if not _weaken(r, n, one, low):
            return False
        premise = -literal_of(n, row[ARC], low)
        return _axiom_hint(r, TWO_BLOCKS, premise, literal, 0, two, 0)
    if reason == IMPLIED:
        return _refute_facts(r, n, one, row[ARC], row[VALUE], entry) and _hint(r, r.clause_hints[one])
    if reason == WINDOW:
        i, j = row[ARC] // n, row[ARC] % n
        if i == n - 1:
            return _axiom_hint(r, RELEASE, literal, 0, 0, j, 0)
        return _axiom_hint(r, DEADLINE, literal, 0, 0, i, 0)
    return True


@inner_kernel
def _need(r: Replay, entry: int, value: int, count: int) -> int:
    """Mark an entry that needs to be known for a value; return how many are marked.

    Only a path may be shown to be shorter than it is.
    """
    if entry < r.state[GROUND] or r.trail[entry, REASON] != PATH:
        value = r.trail[entry, VALUE]
    if r.marks[entry] == r.state[STAMP]:
        r.shown[entry] = max(r.shown[entry], value)
        return count
    r.marks[entry] = r.state[STAMP]
    r.shown[entry] = value
    r.marked[count] = entry
    return count + 1


@inner_kernel
def _mark(r: Replay, entry: int, count: int) -> int:
    """Mark an entry as it is; return how many are marked."""
    return _need(r, entry, r.trail[entry, VALUE], count)


@inner_kernel
def _share(r: Replay, one: int, two: int, sum_needed: int) -> tuple[int, int, int, int]:
    """Return two entries and their values, of which the sum is no more than needed.

    One of the entries takes all that is too much; if it can be an earlier one then, so much the better.
    """
    first, second = r.trail[one, VALUE], r.trail[two, VALUE]
    slack = first + second - sum_needed
    earlier_one, earlier_two = _first(r, one, first - slack), _first(r, two, second - slack)
    is_one, is_two = earlier_one < one, earlier_two < two
    if (is_one and not is_two) or (is_one == is_two and one > two):
        return earlier_one, first - slack, _first(r, two, second), second
    return _first(r, one, first), first, earlier_two, second - slack


@inner_kernel
def _needed(r: Replay, count: int) -> int:
    """Mark all that the marked entries follow from, down to what always holds; return how many are marked.

    What an entry is needed for is known before its own reason is looked at: reasons are earlier.
    """
    for entry in range(r.state[TRAIL] - 1, r.state[GROUND] - 1, -1):
        if r.marks[entry] != r.state[STAMP]:
            continue
        row = r.trail[entry]
        if row[REASON] == PATH:
            one, first, two, second = _share(r, row[ONE], row[TWO], r.shown[entry])
            row[ONE], row[TWO] = one, two
            count = _need(r, one, first, count)
            count = _need(r, two, second, count)
        elif row[REASON] == HOLE:
            low = r.holes[row[TWO], 1]
            row[ONE] = _first(r, row[ONE], low)
            count = _need(r, row[ONE], low, count)
        elif row[REASON] == IMPLIED:
            for fact in range(r.clause_begin[row[ONE]], r.clause_end[row[ONE]]):
                if r.facts[fact, 0] != row[ARC] or r.facts[fact, 1] != row[VALUE]:
                    count = _need(r, _premise(r, fact, entry), 1 - r.facts[fact, 1], count)
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
    r.state[STAMP] += 1
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
        if not _line_literal(r, literal_of(n, r.facts[fact, 0], r.facts[fact, 1])):
            return False
    count, clause = 0, state[CONFLICT_CLAUSE]
    if clause >= 0:
        for fact in range(r.clause_begin[clause], r.clause_end[clause]):
            count = _need(r, _premise(r, fact, state[TRAIL]), 1 - r.facts[fact, 1], count)
    else:
        one, first, two, second = _share(r, state[FIRST_ENTRY], state[SECOND_ENTRY], 1)
        state[FIRST_ENTRY], state[SECOND_ENTRY] = one, two
        count = _need(r, one, first, count)
        count = _need(r, two, second, count)
    count = _needed(r, count)
    _sort(r.marked, count)
    for at in range(count):
        entry = r.marked[at]
        if _is_known(r, _shown(r, n, entry)):
            continue
        if not (_hint(r, r.entry_hints[entry]) if entry < state[GROUND] else _explain(r, n, entry)):
            return False
    if clause >= 0:
        if not (_refute_facts(r, n, clause, -1, 0, state[TRAIL]) and _hint(r, r.clause_hints[clause])):
            return False
    else:
        literal, other = _shown(r, n, state[FIRST_ENTRY]), _shown(r, n, state[SECOND_ENTRY])
        if literal != -other and not _axiom_hint(r, CYCLE, -literal, -other, 0, 0, 0):
            return False
    return _end_line(r)


@inner_kernel
def _settle(r: Replay, n: int) -> bool:
    """Write a line for each new entry, which holds without assumptions; False without room."""
    state = r.state
    for entry in range(state[GROUND], state[TRAIL]):
        row = r.trail[entry]
        r.shown[entry] = row[VALUE]
        literal = literal_of(n, row[ARC], row[VALUE])
        _begin_line(r)
        if row[REASON] == WINDOW:
            if not _explain(r, n, entry):
                return False
            state[HINTS] -= 1
            r.entry_hints[entry] = r.hints[state[HINTS]]
            continue
        if not _line_literal(r, literal):
            return False
        count = 0
        if row[REASON] == IMPLIED:
            for fact in range(r.clause_begin[row[ONE]], r.clause_end[row[ONE]]):
                if r.facts[fact, 0] != row[ARC] or r.facts[fact, 1] != row[VALUE]:
                    count = _mark(r, _premise(r, fact, entry), count)
        else:
            count = _mark(r, row[ONE], count)
            if row[REASON] == PATH:
                count = _mark(r, row[TWO], count)
        for at in range(count):
            premise = r.marked[at]
            if not _is_known(r, _shown(r, n, premise)) and not _hint(r, r.entry_hints[premise]):
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
    open_facts = 0
    for fact in range(begin, state[FACTS]):
        if value_of(r, r.facts[fact, 0]) >= r.facts[fact, 1]:
            r.is_dead[clause] = True
            return FIXPOINT
        if not is_refuted(r, fact):
            swap_facts(r, begin + open_facts, fact)
            open_facts += 1
    if open_facts == 0:
        state[CONFLICT_CLAUSE] = clause
        return CONFLICT
    if open_facts == 1:
        r.is_dead[clause] = True
        if not want(r, r.facts[begin, 0], r.facts[begin, 1], IMPLIED, clause, 0):
            return ROOM
        outcome = propagate(r, n)
        if outcome == FIXPOINT and not _settle(r, n):
            return ROOM
        return outcome
    return FIXPOINT if watch_clause(r, clause) else ROOM


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
        state[CONFLICT_CLAUSE] = -1
        for fact in range(begin, state[FACTS]):
            arc = r.reverses[r.facts[fact, 0]]
            if not want(r, arc, 1 - r.facts[fact, 1], ASSUMED, 0, 0):
                return ROOM
        outcome = propagate(r, n)
        if outcome != CONFLICT:
            return NOT_REFUTED if outcome == FIXPOINT else ROOM
        if not _conflict_line(r, n, begin, state[FACTS]):
            return ROOM
        hint = -state[LINES]
        take_back(r)
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
        if not want(r, i * n + j, r.windows[at, 2], WINDOW, 0, 0):
            return ROOM
    outcome = propagate(r, n)
    if outcome == FIXPOINT and not _settle(r, n):
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
        outcome, started = FIXPOINT, state[STARTED]
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
                    state[DELETED] += count >> 1 if count & 1 == 0 else -(count >> 1) - 1
                    r.is_dead[state[DELETED]] = True
                state[POSITION] = at
        if outcome == CONFLICT:
            outcome = REFUTED if _conflict_line(r, n, 0, 0) else ROOM
        if outcome == ROOM:
            for at in range(STATE_SIZE):
                r.peak[at] = state[at]
            take_back(r)
            state[CLAUSES], state[FACTS], state[LINES], state[LITERALS] = clauses, facts, lines, literals
            state[HINTS], state[BLOCKS], state[POSITION] = hints, blocks, position
            state[STARTED] = started
            return ROOM
        if outcome != FIXPOINT:
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
def literals_of(facts: NDArray[np.int32], literals: IntArray, n: int) -> None:
    """Write facts, rows (arc, value), as literals."""
    for at in range(len(facts)):
        literals[at] = literal_of(n, facts[at, 0], facts[at, 1])
