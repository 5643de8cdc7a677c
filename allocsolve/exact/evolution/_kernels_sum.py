"""A limit on the sum of the starts: what follows from it for start differences, with explanations.

Three kinds of facts bound the sum from below: the *heads* h_b (the start of b is at least h_b), the
differences D_cb (the start of b minus that of c is at least D_cb), and holes.

* The start of app at time t moves others: b starts at max(h_b, t + D_app,b) or later. If these times add
  up to more than the limit, app starts before t.
* If h_c - h_a lies in the hole low..high of a and c, one of them is late: c starts at h_a + high + 1 or
  later, or a starts at h_c - low + 1 or later. Either moves others; the lesser of both delays, counted over
  a set of *members*, is added to the sum of the heads. Such *pairs* with disjoint members are added up.

A checker of learned clauses takes the bound behind a conflict or a raise as an axiom: from its premises (only
heads and differences; holes belong to the problem) and, for a raise, from "app starts at t or later", the sum
as in `_total` exceeds the limit. Any choice of pairs and members is valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
    raise_arc,
)
from allocsolve.exact.evolution._kernels_offsets import Engine, arcs_of, undo
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

#: Results of `hold_sum`: nothing new; arcs were raised, which must be propagated; a clause fails.
QUIET, RAISED, CONFLICT = range(3)

#: Entries of `SumLimit.state`: the limit; the number of stored lists of pairs.
LIMIT, _KEPT = range(2)
#: Stands for no limit: above every sum of starts.
UNLIMITED = 1 << 62
#: The most applications: members are bits of a signed integer of 64 bits.
MAX_APPS = 62

#: Columns of `SumLimit.pairs`. A stored list of pairs follows the length of the trail and their number.
_A, _C, _LOW, _HIGH, _MEMBERS, _WIDTH = range(6)
#: Further columns of `SumLimit.candidates`: the delay that counts, and the applications counted in it.
_DELAY, _AMONG, _CANDIDATE_WIDTH = range(5, 8)
#: The most stored lists of pairs: at most one for each decision, and one more.
_ROOM = 4096
#: Halvings in the search for a latest start, and the least seconds by which it must fall to count. Smaller
#: steps would only make it creep.
_HALVINGS, _GAIN = 6, 30
#: Value of `SumLimit.entries` for an arc that is no premise.
_UNLISTED = -2


class SumLimit(NamedTuple):
    """A limit on the sum of all starts, and work space."""

    state: IntArray
    #: Earliest starts; delays in either case of a pair; shape (applications,).
    heads: IntArray
    firsts: IntArray
    seconds: IntArray
    pairs: IntArray
    candidates: IntArray
    #: Lists of pairs that raises on the trail have as their reason.
    lists: IntArray
    #: Values that an explanation needs, and the trail entry of each; shape (points^2,).
    values: IntArray
    entries: IntArray

    @staticmethod
    def none(points: int) -> SumLimit:
        """Return work space without a limit, until `state` is given one."""
        room = (points // 2 + 1) * _WIDTH

        def zeros(*shape: int) -> IntArray:
            return np.zeros(shape, dtype=np.int64)

        return SumLimit(
            state=np.array([UNLIMITED, 0], dtype=np.int64),
            heads=zeros(points),
            firsts=zeros(points),
            seconds=zeros(points),
            pairs=zeros(points // 2 + 1, _WIDTH),
            candidates=zeros(points * points, _CANDIDATE_WIDTH),
            lists=zeros(_ROOM, 2 + room),
            values=zeros(points * points),
            entries=np.full(points * points, _UNLISTED, dtype=np.int64),
        )


@inner_kernel
def _find_heads(values: IntArray, s: SumLimit, n: int, app: int, start: int) -> int:
    """Note the earliest starts if `app` starts at `start` or later (-1: no application); return their sum."""
    heads, origin = s.heads, (n - 1) * n
    total = 0
    for b in range(n - 1):
        head = values[origin + b]
        if b == app:
            head = max(head, start)
        elif app >= 0:
            head = max(head, start + values[app * n + b])
        heads[b] = head
        total += head
    return total


@inner_kernel
def _find_delays(
    values: IntArray, s: SumLimit, n: int, a: int, c: int, low: int, high: int, members: int
) -> tuple[int, int]:
    """Note how much later than its head each member starts in both cases of a pair; return the sums."""
    heads, firsts, seconds = s.heads, s.firsts, s.seconds
    first, second = heads[a] + high + 1, heads[c] - low + 1
    first_total = second_total = 0
    for b in range(n - 1):
        firsts[b] = seconds[b] = 0
        if members >> b & 1:
            firsts[b] = max(0, first + (values[c * n + b] if b != c else 0) - heads[b])
            seconds[b] = max(0, second + (values[a * n + b] if b != a else 0) - heads[b])
        first_total += firsts[b]
        second_total += seconds[b]
    return first_total, second_total


@inner_kernel
def _total(values: IntArray, s: SumLimit, n: int, count: int, app: int, start: int) -> int:
    """Return a lower bound on the sum of starts, from the values of arcs and the first `count` pairs.

    `app` starts at `start` or later; -1: no such assumption. O(applications * pairs).
    """
    pairs = s.pairs
    total = _find_heads(values, s, n, app, start)
    for at in range(count):
        first_total, second_total = _find_delays(
            values, s, n, pairs[at, _A], pairs[at, _C], pairs[at, _LOW], pairs[at, _HIGH], pairs[at, _MEMBERS]
        )
        total += min(first_total, second_total)
    return total


@inner_kernel
def _find_candidates(e: Engine, s: SumLimit, n: int) -> int:
    """List the pairs that cannot both start at their heads; return their number."""
    heads, holes, candidates = s.heads, e.holes, s.candidates
    everyone = (1 << (n - 1)) - 1
    count = 0
    for a in range(n - 2):
        for c in range(a + 1, n - 1):
            difference = heads[c] - heads[a]
            at, end = e.hole_offsets[a * n + c], e.hole_offsets[a * n + c + 1]
            while at < end and holes[at, 1] < difference:
                at += 1
            if at < end and holes[at, 0] <= difference:
                first_total, second_total = _find_delays(
                    e.values, s, n, a, c, holes[at, 0], holes[at, 1], everyone
                )
                candidates[count, _A], candidates[count, _C] = a, c
                candidates[count, _LOW], candidates[count, _HIGH] = holes[at, 0], holes[at, 1]
                candidates[count, _DELAY], candidates[count, _AMONG] = (
                    min(first_total, second_total),
                    everyone,
                )
                count += 1
    return count


@inner_kernel
def _choose_pairs(e: Engine, s: SumLimit, n: int) -> int:
    """Choose pairs with disjoint members, the longest delay first; return their number. Writes the heads.

    O(applications^3).
    """
    candidates, pairs, firsts, seconds = s.candidates, s.pairs, s.firsts, s.seconds
    free = (1 << (n - 1)) - 1
    count, chosen = _find_candidates(e, s, n), 0
    while chosen < len(pairs):
        best, delay = -1, 0
        for at in range(count):
            if candidates[at, _DELAY] > delay:
                best, delay = at, candidates[at, _DELAY]
        if best < 0:
            break
        a, c = candidates[best, _A], candidates[best, _C]
        first_total, second_total = _find_delays(
            e.values, s, n, a, c, candidates[best, _LOW], candidates[best, _HIGH], free
        )
        lesser = min(first_total, second_total)
        if candidates[best, _AMONG] != free:  # it may be less by now, so choose again
            candidates[best, _DELAY], candidates[best, _AMONG] = lesser, free
            continue
        members = 0
        for b in range(n - 1):
            if first_total - firsts[b] >= lesser and second_total - seconds[b] >= lesser:  # b is not needed
                first_total -= firsts[b]
                second_total -= seconds[b]
            else:
                members |= 1 << b
        for column in range(_MEMBERS):
            pairs[chosen, column] = candidates[best, column]
        pairs[chosen, _MEMBERS] = members
        candidates[best, _DELAY] = 0
        free &= ~members
        chosen += 1
    return chosen


@inner_kernel
def _list(e: Engine, s: SumLimit, arc: int, entry: int, count: int) -> int:
    """List an arc as a premise, with its value before a trail entry; return the length of the list."""
    if s.entries[arc] != _UNLISTED:
        return count
    at = e.latest[arc]
    while at >= entry:
        at = e.trail[at, PREVIOUS]
    s.entries[arc] = at
    s.values[arc] = e.trail[at, NEW] if at >= 0 else e.ground[arc]
    e.premise_arcs[count] = arc
    return count + 1


@inner_kernel
def _explain_total(e: Engine, s: SumLimit, n: int, entry: int, count: int, app: int, start: int) -> int:
    """Write premises from before `entry` for which `_total` exceeds the limit; return their number.

    Premises are weakened one by one, the latest first, to values that they had earlier.
    """
    trail, ground, values, pairs = e.trail, e.ground, s.values, s.pairs
    limit = s.state[LIMIT]
    listed = 0
    for b in range(n - 1):
        listed = _list(e, s, (n - 1) * n + b, entry, listed)
        if app >= 0 and b != app:
            listed = _list(e, s, app * n + b, entry, listed)
        for at in range(count):
            if pairs[at, _MEMBERS] >> b & 1:
                if b != pairs[at, _A]:
                    listed = _list(e, s, pairs[at, _A] * n + b, entry, listed)
                if b != pairs[at, _C]:
                    listed = _list(e, s, pairs[at, _C] * n + b, entry, listed)
    # Heads of the pairs themselves are listed above, with all heads.
    if _total(values, s, n, count, app, start) <= limit:
        raise AssertionError("the explanation of a sum does not hold")
    while True:
        arc, latest = -1, -1
        for at in range(listed):
            if s.entries[e.premise_arcs[at]] > latest:
                arc, latest = e.premise_arcs[at], s.entries[e.premise_arcs[at]]
        if arc < 0:
            break
        s.entries[arc] = -1
        last_value = values[arc]
        values[arc] = ground[arc]
        if _total(values, s, n, count, app, start) > limit:
            continue
        while True:
            values[arc] = trail[latest, OLD]
            if _total(values, s, n, count, app, start) <= limit:
                break
            last_value = values[arc]
            latest = trail[latest, PREVIOUS]
        values[arc] = last_value
    num_premises = 0
    for at in range(listed):
        arc = e.premise_arcs[at]
        s.entries[arc] = _UNLISTED
        if values[arc] > ground[arc]:
            e.premise_arcs[num_premises], e.premise_values[num_premises] = arc, values[arc]
            num_premises += 1
    return num_premises


@inner_kernel
def explain_sum(e: Engine, s: SumLimit, n: int, entry: int, value: int) -> int:
    """Write premises that imply that the arc of an entry has `value`, for reasons up to `SUM_REASON`."""
    pairs, lists = s.pairs, s.lists
    place, count = SUM_REASON - e.trail[entry, REASON] - 1, 0
    if place >= 0:
        count = lists[place, 1]
        for at in range(count):
            for column in range(_WIDTH):
                pairs[at, column] = lists[place, 2 + at * _WIDTH + column]
    return _explain_total(e, s, n, entry, count, e.trail[entry, ARC] // n, 1 - value)


@inner_kernel
def write_culprit(e: Engine, count: int) -> int:
    """Write a clause behind all others: not all premises hold; undo decisions that it does not need."""
    state, trail, facts = e.state, e.trail, e.clause_facts
    clause = state[CLAUSES]
    end = e.clause_offsets[clause]
    deepest = 0
    for at in range(count):
        arc, value = e.premise_arcs[at], e.premise_values[at]
        entry = e.latest[arc]
        while trail[entry, OLD] >= value:
            entry = trail[entry, PREVIOUS]
        deepest = max(deepest, trail[entry, DEPTH])
        facts[end, 0], facts[end, 1] = e.reverses[arc], 1 - value
        end += 1
    e.clause_offsets[clause + 1] = end
    undo(e, deepest)
    state[CULPRIT] = clause
    return CONFLICT


@inner_kernel
def _latest_start(values: IntArray, n: int, app: int, last: int, limit: int) -> int:
    """Return the latest start, up to `last`, with which the sum of the starts stays within the limit."""
    while True:  # Newton's method from above: the sum is convex in the start
        total, moved = 0, 0
        for b in range(n - 1):
            head = values[(n - 1) * n + b]
            start = last + values[app * n + b] if b != app else last
            total += max(head, start)
            moved += start > head
        if total <= limit:
            return last
        last -= (total - limit + moved - 1) // moved


@inner_kernel
def _raise_by_pairs(e: Engine, s: SumLimit, n: int, count: int) -> int:
    """Lower latest starts as far as the chosen pairs prove that the sum would be too large."""
    values, state, lists = e.values, e.state, s.lists
    arcs, limit = arcs_of(e), s.state[LIMIT]
    # Lists that belong to undone entries are free again.
    while s.state[_KEPT] > 0 and lists[s.state[_KEPT] - 1, 0] >= state[TRAIL]:
        s.state[_KEPT] -= 1
    place = s.state[_KEPT]
    begin = e.marks[state[LEVEL]] if state[LEVEL] > 0 else 0
    once = place > 0 and lists[place - 1, 0] > begin  # already done on this level: repeated, it would creep
    if count == 0 or once or place == len(lists) or 2 * state[TRAIL] > len(e.trail):
        return QUIET
    lists[place, 0], lists[place, 1] = state[TRAIL], count
    for at in range(count):
        for column in range(_WIDTH):
            lists[place, 2 + at * _WIDTH + column] = s.pairs[at, column]
    for app in range(n - 1):
        arc = app * n + n - 1
        early, last = values[(n - 1) * n + app], -values[arc]
        late = last
        if _total(values, s, n, count, app, late) <= limit:
            continue
        for _ in range(_HALVINGS):
            middle = (early + late) >> 1
            if _total(values, s, n, count, app, middle) > limit:
                late = middle
            else:
                early = middle
        if late + _GAIN <= last:
            s.state[_KEPT] = place + 1
            if raise_arc(arcs, n, arc, 1 - late, SUM_REASON - 1 - place):
                state[CULPRIT] = -1
                return CONFLICT
    return RAISED if s.state[_KEPT] > place else QUIET


@inner_kernel
def hold_sum(e: Engine, s: SumLimit, n: int) -> int:
    """Raise what follows from the limit when all else is propagated; see the module. O(applications^3)."""
    values, state = e.values, e.state
    limit, origin = s.state[LIMIT], (n - 1) * n
    total = _find_heads(values, s, n, -1, 0)
    if total > limit:
        return write_culprit(e, _explain_total(e, s, n, state[TRAIL], 0, -1, 0))
    if 4 * state[TRAIL] > 3 * len(e.trail):
        return QUIET
    arcs = arcs_of(e)
    outcome = QUIET
    for app in range(n - 1):
        arc = app * n + n - 1
        last = min(-values[arc], values[origin + app] + limit - total)
        last = _latest_start(values, n, app, last, limit)
        if -last > values[arc]:
            outcome = RAISED
            if raise_arc(arcs, n, arc, -last, SUM_REASON):
                state[CULPRIT] = -1
                return CONFLICT
            total = _find_heads(values, s, n, -1, 0)
            if total > limit:
                return write_culprit(e, _explain_total(e, s, n, state[TRAIL], 0, -1, 0))
    if outcome == RAISED:
        return outcome
    count = _choose_pairs(e, s, n)
    if _total(values, s, n, count, -1, 0) > limit:
        return write_culprit(e, _explain_total(e, s, n, state[TRAIL], count, -1, 0))
    return _raise_by_pairs(e, s, n, count)
