"""Conflict analysis: from a contradiction to a clause that would have prevented it (first implication point).

A *premise* is a fact [arc >= v] that holds. Always the weakest fact that suffices is explained, and slack in
a sum along a path goes to the premise that then holds since an earlier decision. The learned clause says that
not all premises hold. It follows from the clauses of the problem, the holes and the ground facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.exact.evolution._kernels_closure import (
    ARC,
    CLAUSES,
    CULPRIT,
    DEPTH,
    LEVEL,
    NEW,
    OLD,
    PREVIOUS,
    REASON,
    SUM_REASON,
    TRAIL,
    before_hole,
)
from allocsolve.exact.evolution._kernels_limits import Limits, explain_limit
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.exact.evolution._kernels_offsets import Engine

#: Value of `Engine.needed` for an arc that is no premise.
UNNEEDED = -(1 << 62)

#: The most reasons that are examined before a premise counts as needed.
_REASONS = 40


@inner_kernel
def _bump(e: Engine, n: int, arc: int, value: int) -> None:
    """Raise the activity of a pair, and that of its choice nearest to the fact."""
    i, j = arc // n, arc % n
    if i > j:
        i, j, value = j, i, 1 - value
    pair = i * n + j
    growth = e.growth[0]
    places = e.places
    e.pair_activity[pair] += growth
    nearest, distance = -1, 1 << 62
    for place in range(e.place_offsets[pair], e.place_offsets[pair + 1]):
        away = max(places[place, 0] - value, value - places[place, 1] - 1, 0)
        if away < distance:
            nearest, distance = places[place, 2], away
    if nearest >= 0:
        e.choice_activity[nearest] += growth
    if e.pair_activity[pair] > 1e100:
        for at in range(len(e.pair_activity)):
            e.pair_activity[at] *= 1e-100
        for at in range(len(e.choice_activity)):
            e.choice_activity[at] *= 1e-100
        e.growth[0] *= 1e-100


@inner_kernel
def _since(trail: NDArray[np.int32], entry: int, value: int) -> int:
    """Return the first entry of an arc, searched back from `entry`, with at least `value`; -1: always."""
    while entry >= 0 and trail[entry, OLD] >= value:
        entry = trail[entry, PREVIOUS]
    return entry


@inner_kernel
def _need(e: Engine, arc: int, value: int, listed: int, here: int) -> tuple[int, int]:
    """Add a premise; return the length of the list of premises and that of its part on the current level."""
    needed, needed_at = e.needed, e.needed_at
    if needed[arc] >= value:
        return listed, here
    trail, level = e.trail, e.state[LEVEL]
    entry = _since(trail, e.latest[arc], value)
    if entry < 0 or trail[entry, DEPTH] == 0:
        return listed, here
    if trail[entry, DEPTH] == level and (needed[arc] == UNNEEDED or trail[needed_at[arc], DEPTH] < level):
        here += 1
    if e.touched[arc] == 0:
        e.touched[arc] = 1
        e.listed[listed] = arc
        listed += 1
    needed[arc] = value
    needed_at[arc] = entry
    return listed, here


@inner_kernel
def _explain(e: Engine, limits: Limits, n: int, entry: int, value: int) -> int:
    """Write premises, all from before `entry`, that imply that its arc has `value`; return their number."""
    trail, latest = e.trail, e.latest
    premise_arcs, premise_values = e.premise_arcs, e.premise_values
    arc, reason = trail[entry, ARC], trail[entry, REASON]
    if reason >= n:
        clause = reason - n
        e.clause_activity[clause] += e.growth[1]
        facts = e.clause_facts
        count = 0
        for at in range(e.clause_offsets[clause], e.clause_offsets[clause + 1]):
            other = facts[at, 0]
            if other != arc:
                premise_arcs[count] = e.reverses[other]
                premise_values[count] = 1 - facts[at, 1]
                count += 1
        return count
    if reason <= SUM_REASON:
        return explain_limit(e, limits, n, entry, value)
    first, second = (arc // n) * n + reason, reason * n + arc % n
    first_entry, second_entry = latest[first], latest[second]
    while first_entry >= entry:
        first_entry = trail[first_entry, PREVIOUS]
    while second_entry >= entry:
        second_entry = trail[second_entry, PREVIOUS]
    first_value = trail[first_entry, NEW] if first_entry >= 0 else e.ground[first]
    second_value = trail[second_entry, NEW] if second_entry >= 0 else e.ground[second]
    slack = first_value + second_value - before_hole(e.hole_offsets, e.holes, arc, value)
    first_earlier = _since(trail, first_entry, first_value - slack) < first_entry
    second_earlier = _since(trail, second_entry, second_value - slack) < second_entry
    if (first_earlier and not second_earlier) or (
        first_earlier == second_earlier and first_entry > second_entry
    ):
        first_value -= slack
    else:
        second_value -= slack
    premise_arcs[0], premise_values[0] = first, first_value
    premise_arcs[1], premise_values[1] = second, second_value
    return 2


@inner_kernel
def _is_implied(e: Engine, limits: Limits, n: int, own: int, levels: int) -> bool:
    """Return whether a premise follows from the others: by paths of two arcs, or through reasons.

    Reasons are earlier than what they explain, so nothing is its own reason. `levels` has a bit for each
    level of a premise; reasons of other levels lead nowhere.
    """
    needed, ground, trail = e.needed, e.ground, e.trail
    arcs, values = e.inside, e.missing
    arcs[0], values[0] = own, needed[own]
    missing, reasons = 1, 0
    while missing > 0:
        missing -= 1
        arc, value = arcs[missing], values[missing]
        if arc != own and needed[arc] >= value:
            continue
        entry = _since(trail, e.latest[arc], value)
        if entry < 0 or trail[entry, DEPTH] == 0:
            continue
        i, j = arc // n, arc % n
        needed_value = before_hole(e.hole_offsets, e.holes, arc, value)
        is_path = False
        for k in range(n):
            first, second = i * n + k, k * n + j
            first_value = ground[first] if first == own else max(needed[first], ground[first])
            second_value = ground[second] if second == own else max(needed[second], ground[second])
            if k not in (i, j) and first_value + second_value >= needed_value:
                is_path = True
                break
        if is_path:
            continue
        reasons += 1
        if reasons > _REASONS or trail[entry, REASON] < 0 or (levels >> _bit(trail[entry, DEPTH])) & 1 == 0:
            return False
        count = _explain(e, limits, n, entry, value)
        if missing + count > len(arcs):
            return False
        for at in range(count):
            arcs[missing], values[missing] = e.premise_arcs[at], e.premise_values[at]
            missing += 1
    return True


@inner_kernel
def _bit(level: int) -> int:
    """Return the bit of a level in a set of levels; all deep levels share the last bit."""
    return min(int(level), 62)


@inner_kernel
def learn(e: Engine, limits: Limits, n: int) -> int:
    """Append the clause learned from the current conflict; return the level at which it acts, -1 if empty.

    Its first fact holds from that level on; the second one was refuted last. Needs a level above 0 and room
    for n * n facts. O(trail of the level * (n + clause)).
    """
    state, trail = e.state, e.trail
    listed, here = 0, 0
    if state[CULPRIT] < 0:
        # The last raise contradicts the reverse arc: explain it as far as the contradiction needs it.
        entry = state[TRAIL] - 1
        arc = trail[entry, ARC]
        reverse = e.reverses[arc]
        value = 1 - e.values[reverse]
        for at in range(_explain(e, limits, n, entry, value)):
            listed, here = _need(e, e.premise_arcs[at], e.premise_values[at], listed, here)
            _bump(e, n, e.premise_arcs[at], e.premise_values[at])
        listed, here = _need(e, reverse, 1 - value, listed, here)
        _bump(e, n, arc, value)
    else:
        clause = state[CULPRIT]
        e.clause_activity[clause] += e.growth[1]
        for at in range(e.clause_offsets[clause], e.clause_offsets[clause + 1]):
            arc = e.clause_facts[at, 0]
            reverse = e.reverses[arc]
            listed, here = _need(e, reverse, 1 - e.clause_facts[at, 1], listed, here)
            _bump(e, n, reverse, 1 - e.clause_facts[at, 1])
    entry = state[TRAIL]
    pivot = -1
    while here > 0:
        entry -= 1
        arc = trail[entry, ARC]
        if e.needed[arc] == UNNEEDED or e.needed_at[arc] != entry:
            continue
        if here == 1:
            pivot = arc
            break
        value = e.needed[arc]
        e.needed[arc] = UNNEEDED
        here -= 1
        for at in range(_explain(e, limits, n, entry, value)):
            listed, here = _need(e, e.premise_arcs[at], e.premise_values[at], listed, here)
            _bump(e, n, e.premise_arcs[at], e.premise_values[at])
    return _write_clause(e, limits, n, listed, pivot)


@inner_kernel
def _write_clause(e: Engine, limits: Limits, n: int, listed: int, pivot: int) -> int:
    """Append the negated premises, without those that follow from others; clear the work space."""
    state, trail = e.state, e.trail
    clause = state[CLAUSES]
    begin = e.clause_offsets[clause]
    end = begin
    if pivot >= 0:
        e.clause_facts[end, 0] = e.reverses[pivot]
        e.clause_facts[end, 1] = 1 - e.needed[pivot]
        end += 1
    level, span, second = 0, 1, -1
    levels = 0
    for at in range(listed):
        if e.needed[e.listed[at]] != UNNEEDED:
            levels |= 1 << _bit(trail[e.needed_at[e.listed[at]], DEPTH])
    for at in range(listed):
        arc = e.listed[at]
        e.touched[arc] = 0
        if arc == pivot or e.needed[arc] == UNNEEDED:
            continue
        if _is_implied(e, limits, n, arc, levels):
            e.needed[arc] = UNNEEDED
            continue
        e.clause_facts[end, 0] = e.reverses[arc]
        e.clause_facts[end, 1] = 1 - e.needed[arc]
        depth = trail[e.needed_at[arc], DEPTH]
        new = True
        for before in range(begin + 1, end):
            other = e.clause_facts[before, 0]
            new = new and trail[e.needed_at[e.reverses[other]], DEPTH] != depth
        span += new
        if depth > level:
            level, second = depth, end
        end += 1
    for at in range(listed):
        e.needed[e.listed[at]] = UNNEEDED
    if end == begin:
        return -1
    if second > begin + 1:
        facts = e.clause_facts
        for column in range(2):
            facts[second, column], facts[begin + 1, column] = facts[begin + 1, column], facts[second, column]
    e.clause_offsets[clause + 1] = end
    e.clause_span[clause] = span
    e.clause_activity[clause] = e.growth[1]
    state[CLAUSES] = clause + 1
    return level
