"""The conflict-driven search over start differences, in slices: decide, propagate, learn, restart.

A decision chooses one of two facts, such as a side of a hole. When no choice is open, the earliest times are
an answer, unless a clause of the problem fails at them: then one of its facts is decided.
"""
# ruff: noqa: PLR0915
# A call of a kernel is one loop.

from __future__ import annotations

from allocsolve.exact.evolution._kernels_closure import (
    ARC,
    BASE,
    CLAUSES,
    CLEANED,
    CONFLICTS,
    CULPRIT,
    HEAD,
    KEEP,
    LEVEL,
    LOGGED,
    NO_REASON,
    SINCE,
    TOWARDS,
    TRAIL,
    WATCHES,
    WIDEST,
    raise_arc,
)
from allocsolve.exact.evolution._kernels_conflict import learn
from allocsolve.exact.evolution._kernels_limits import Limits, hold_limits
from allocsolve.exact.evolution._kernels_offsets import Engine, arcs_of, attach, propagate, undo
from allocsolve.exact.evolution._kernels_proof_log import note_clause
from allocsolve.exact.evolution._kernels_sum import CONFLICT, RAISED
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.search import select

#: Results of `search`: there is no answer; the values of the arcs from the origin are times that satisfy all
#: clauses; there is more to do.
NO_ANSWER, ANSWER, MORE = range(3)

#: The most levels of a learned clause that is never dropped.
_GLUE = 3
#: The weight of the activity of a pair in a decision, beside that of a choice.
_PAIR = 0.2
#: Where the difference of a pair has a range of a share w of the horizon, the score is multiplied by
#: (this + w) ** -2, so that tight pairs come first; or by this + w, so that wide pairs do.
_WIDTH = 0.05
#: Factors by which activities decay at each conflict: those of pairs and choices, and those of clauses.
_DECAY, _CLAUSE_DECAY = 0.9975, 0.999
#: A restart follows when the mean span of the clauses learned lately exceeds the mean of all by this factor,
#: but not before this number of conflicts.
_WORSE, _PATIENCE = 1.25, 32
#: The clauses over which the two means run, the recent and the long one.
_LATELY, _ALWAYS = 32, 8192


@inner_kernel
def _raise(e: Engine, n: int, arc: int, value: int, reason: int) -> bool:
    return raise_arc(arcs_of(e), n, arc, value, reason)


@kernel
def add_fact(e: Engine, n: int, arc: int, value: int) -> bool:
    """Undo all decisions and raise an arc for good; return whether this is a contradiction by itself."""
    undo(e, 0)
    return value > e.values[arc] and _raise(e, n, arc, value, NO_REASON)


@inner_kernel
def _drop_clauses(e: Engine, n: int) -> bool:
    """Drop satisfied clauses and the less useful learned ones, at level 0; watch the rest.

    Afterwards everything must be propagated, then `_settle` called. Returns whether there is a contradiction.
    """
    state, values = e.state, e.values
    total = state[CLAUSES]
    # When room is short, clauses that span few levels are no longer safe.
    roomy = 2 * e.clause_offsets[total] < len(e.clause_facts) and 2 * total < len(e.clause_span)
    glue = _GLUE if roomy else 0
    activity = e.ranked
    learned = 0
    for clause in range(total):
        if e.clause_span[clause] > glue:
            activity[learned] = e.clause_activity[clause]
            learned += 1
    bar = -1.0
    if learned > state[KEEP]:
        bar = select(activity, learned, learned - state[KEEP] // 2)
    for bucket in range(len(e.buckets)):
        for column in range(3):
            e.buckets[bucket, column] = 0
    state[WATCHES] = 0
    to = begin = end = 0
    for clause in range(total):
        start = end
        end = e.clause_offsets[clause + 1]
        if e.clause_span[clause] > glue and e.clause_activity[clause] < bar:
            continue
        satisfied = False
        for at in range(start, end):
            satisfied = satisfied or values[e.clause_facts[at, 0]] >= e.clause_facts[at, 1]
        if satisfied:
            continue
        stop = begin
        for at in range(start, end):
            arc, value = e.clause_facts[at, 0], e.clause_facts[at, 1]
            if values[e.reverses[arc]] < 1 - value:
                e.clause_facts[stop, 0], e.clause_facts[stop, 1] = arc, value
                stop += 1
        if stop == begin:
            return True
        if stop == begin + 1:
            if _raise(e, n, e.clause_facts[begin, 0], e.clause_facts[begin, 1], NO_REASON):
                return True
            continue
        e.clause_span[to], e.clause_activity[to] = e.clause_span[clause], e.clause_activity[clause]
        e.clause_number[to] = e.clause_number[clause]
        to += 1
        begin = e.clause_offsets[to] = stop
    state[CLAUSES] = state[CLEANED] = to
    for clause in range(to):
        attach(e, clause)
    state[HEAD] = 0
    return False


@inner_kernel
def _settle(e: Engine) -> None:
    """Empty the trail: what holds at level 0 needs no explanation."""
    state = e.state
    for entry in range(state[TRAIL]):
        e.latest[e.trail[entry, ARC]] = -1
    for arc in range(len(e.values)):
        e.ground[arc] = e.values[arc]
    state[TRAIL] = state[HEAD] = 0


@inner_kernel
def _decide(e: Engine, n: int) -> tuple[int, int]:
    """Return a fact (arc, value) of an open choice of high activity and small, or wide, range; or (-1, 0)."""
    values, choices = e.values, e.choices
    pair_activity, choice_activity = e.pair_activity, e.choice_activity
    best, highest = -1, -1.0
    horizon = max(1.0, float(e.state[BASE]))
    for choice in range(len(choices)):
        first, second = choices[choice, 0], choices[choice, 2]
        if values[first] < choices[choice, 1] and values[second] < choices[choice, 3]:
            pair, other = min(first, e.reverses[first]), min(second, e.reverses[second])
            score = choice_activity[choice] + _PAIR * max(pair_activity[pair], pair_activity[other])
            share = _WIDTH - (values[first] + values[e.reverses[first]]) / horizon
            if e.state[WIDEST] == 1:
                score *= share
            else:
                score /= share * share
            if score > highest:
                best, highest = choice, score
    if best < 0:
        return -1, 0
    arc, value = choices[best, 0], choices[best, 1]
    if (e.target[arc % n] - e.target[arc // n] >= value) != (e.state[TOWARDS] == 1):
        return choices[best, 2], choices[best, 3]
    return arc, value


@inner_kernel
def _open_clause(e: Engine, n: int) -> tuple[int, int]:
    """Return an open fact of a clause of the problem that fails at the earliest times; (-1, 0) if none."""
    values, offsets, facts, span = e.values, e.clause_offsets, e.clause_facts, e.clause_span
    times = values[(n - 1) * n :]
    for clause in range(e.state[CLAUSES]):
        if span[clause] > 0:
            continue
        open_at = -1
        for at in range(offsets[clause], offsets[clause + 1]):
            arc, value = facts[at, 0], facts[at, 1]
            i, j = arc // n, arc % n
            if times[j] - times[i] >= value:
                open_at = -2
                break
            if values[j * n + i] < 1 - value:
                open_at = at
        if open_at != -2:
            return facts[open_at, 0], facts[open_at, 1]
    return -1, 0


@inner_kernel
def _note_span(e: Engine, span: int) -> None:
    """Count a learned clause in the mean spans, from which restarts follow."""
    state, means = e.state, e.mean_spans
    state[SINCE] += 1
    means[0] += (span - means[0]) / min(_LATELY, state[CONFLICTS])
    means[1] += (span - means[1]) / min(_ALWAYS, state[CONFLICTS])


@kernel
def search(e: Engine, limits: Limits, n: int, conflicts: int) -> int:
    """Continue the search for up to `conflicts` conflicts, until an answer or a proof that there is none.

    All decisions of an earlier call are undone; clauses and activities stay, and clauses appended since then
    take part. The call ends early when the notes for a proof fill the buffer.
    """
    state = e.state
    undo(e, 0)
    cleaning = True
    last = state[CONFLICTS] + conflicts
    conflict = False
    while True:
        if cleaning and _drop_clauses(e, n):
            return NO_ANSWER
        if conflict:
            state[CULPRIT] = -1
        else:
            conflict = propagate(e, n)  # called at one place only, since its code is long
        if cleaning:
            if conflict:
                return NO_ANSWER
            _settle(e)
            cleaning = False
        if not conflict:
            outcome = hold_limits(e, limits, n)
            if outcome == RAISED:
                continue
            conflict = outcome == CONFLICT
        if conflict:
            state[CONFLICTS] += 1
            if state[LEVEL] == 0:
                return NO_ANSWER
            level = learn(e, limits, n)
            if level < 0:
                return NO_ANSWER
            undo(e, level)
            clause = state[CLAUSES] - 1
            note_clause(e, clause)
            _note_span(e, e.clause_span[clause])
            begin = e.clause_offsets[clause]
            reason = n + clause
            if e.clause_offsets[clause + 1] == begin + 1:
                state[CLAUSES] = clause
                reason = NO_REASON
            else:
                attach(e, clause)
            conflict = _raise(e, n, e.clause_facts[begin, 0], e.clause_facts[begin, 1], reason)
            e.growth[0] /= _DECAY
            e.growth[1] /= _CLAUSE_DECAY
            if e.growth[1] > 1e100:
                for at in range(len(e.clause_activity)):
                    e.clause_activity[at] *= 1e-100
                e.growth[1] *= 1e-100
            continue
        room = len(e.clause_facts) - e.clause_offsets[state[CLAUSES]]
        crowded = (
            state[CLAUSES] - state[CLEANED] > state[KEEP]
            or room < 2 * n * n
            or state[CLAUSES] + 2 > len(e.clause_span)
            or 2 * state[WATCHES] > len(e.watches)
        )
        noted = state[LOGGED] + 2 * n * n >= len(e.log)
        worse = state[SINCE] >= _PATIENCE and e.mean_spans[0] > _WORSE * e.mean_spans[1]
        if worse or state[CONFLICTS] >= last or crowded or noted:
            undo(e, 0)
            if state[CONFLICTS] >= last or noted:
                return MORE
            cleaning = crowded
            state[SINCE] = 0
            continue
        arc, value = _decide(e, n)
        if arc < 0:
            arc, value = _open_clause(e, n)
        if arc < 0:
            return ANSWER
        state[LEVEL] += 1
        e.marks[state[LEVEL]] = state[TRAIL]
        conflict = _raise(e, n, arc, value, NO_REASON)
