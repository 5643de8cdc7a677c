"""Start differences under propagation: the theory side of the conflict-driven search.

Variables are times x of N = applications + 1 points: the starts of the applications, then the *origin*, time
0. A fact is "x_j - x_i >= v", on the *arc* i * N + j; its negation is
"x_i - x_j >= 1 - v", on the reverse arc. The state is one value per arc, closed under

* paths: value(i, j) >= value(i, k) + value(k, j),
* holes: differences of two starts that no schedule has (two blocks that do not fit together would overlap);
  a value inside a hole is raised to its end,
* clauses: of some facts one holds; when all but one are refuted, the last one is raised.

Every raise is noted on a trail with its reason, so that it can be undone and explained.
"""
# ruff: noqa: PLR0915
# Kernels take their arguments by position, and a call is one loop.

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels.jit import inner_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

__all__ = ["Arcs", "Engine", "arcs_of", "attach", "before_hole", "propagate", "raise_arc", "undo"]

#: Entries of `Engine.state`: lengths of the trail, of its part that is propagated, and of the decisions;
#: number of clauses; why there is a conflict (a clause, or -1: the last raise contradicts the reverse arc);
#: totals of conflicts and restarts; learned clauses to keep at a clean-up; clauses at the last clean-up;
#: conflicts between restarts, times Luby's sequence; length of the list of watches; length of the log, and
#: clauses in it.
TRAIL, HEAD, LEVEL, CLAUSES, CULPRIT, CONFLICTS, RESTARTS, KEEP, CLEANED, PACE, WATCHES = range(11)
LOGGED, NOTED = 11, 12
STATE_SIZE = 13

#: Columns of `Engine.trail`.
ARC, OLD, NEW, PREVIOUS, REASON, DEPTH = range(6)

#: Reason of decisions and of what holds without one. (For a Python integer numba compiles what it is passed
#: to once more, for this one number.)
NO_REASON: int = np.int64(-1)  # type: ignore[assignment]  # kernels take it for an int

#: Columns of `Engine.watches`: the fact's value, the other watched fact, and 2 * clause + which of the two.
BAR, OTHER_ARC, OTHER_VALUE, WATCH = range(4)

#: Columns of `Engine.buckets`: where the watches of a bucket begin, how many there are, and room for them.
BEGIN, COUNT, ROOM = range(3)


class Engine(NamedTuple):
    """State of a search; every array belongs to one thread."""

    #: Value of each arc, and what it was when nothing was decided; shape (N * N,).
    values: IntArray
    ground: IntArray
    #: Last trail entry of each arc, or -1.
    latest: IntArray
    #: Shape (entries, 6), see the names of the columns. A reason below N is the point that a path goes
    #: through, one from N on is clause ``reason - N``.
    trail: IntArray
    #: Length of the trail before each decision.
    marks: IntArray
    #: The holes of arc a are rows ``hole_offsets[a]:hole_offsets[a + 1]`` of `holes` (first, last value).
    hole_offsets: IntArray
    holes: IntArray
    #: How often pairs (on the arc i < j) and holes took part in conflicts lately.
    pair_activity: NDArray[np.float64]
    hole_activity: NDArray[np.float64]
    #: Facts (arc, value) of clause c: rows ``clause_offsets[c]:clause_offsets[c + 1]``. The first two
    #: are watched.
    clause_offsets: IntArray
    clause_facts: NDArray[np.int32]
    #: Decision levels that a learned clause spans (the fewer, the better); 0 for a clause of the problem.
    clause_span: IntArray
    clause_activity: NDArray[np.float64]
    #: What a proof calls a clause, and what is noted for it; see `_kernels_proof_log`.
    clause_number: IntArray
    log: NDArray[np.int32]
    #: The watches of an arc and a range of values (*bucket*) stand together. Like the facts in 32 bits:
    #: reading them is most of the work, and this way most of them stay in the cache.
    watches: NDArray[np.int32]
    buckets: NDArray[np.int32]
    bucket_offsets: IntArray
    bucket_ends: IntArray
    #: Work space of the analysis, see `_kernels_conflict`; shape (N * N,).
    needed: IntArray
    needed_at: IntArray
    listed: IntArray
    touched: IntArray
    premise_arcs: IntArray
    premise_values: IntArray
    #: Work space of a clean-up; shape (clauses,).
    ranked: NDArray[np.float64]
    #: Starts that decisions lean away from; shape (applications,).
    target: IntArray
    #: What the activity of pairs and of clauses grows by.
    growth: NDArray[np.float64]
    state: IntArray


@inner_kernel
def _after_hole(hole_offsets: IntArray, holes: IntArray, arc: int, value: int) -> int:
    """Return the least allowed difference from `value` on. O(log holes)."""
    a, b = hole_offsets[arc], hole_offsets[arc + 1]
    while a < b:
        middle = (a + b) >> 1
        if holes[middle, 1] < value:
            a = middle + 1
        else:
            b = middle
    if a < hole_offsets[arc + 1] and holes[a, 0] <= value:
        return int(holes[a, 1]) + 1
    return value


@inner_kernel
def before_hole(hole_offsets: IntArray, holes: IntArray, arc: int, value: int) -> int:
    """Return the least bound that implies the bound `value`: the first value of its hole, or itself."""
    for hole in range(hole_offsets[arc], hole_offsets[arc + 1]):
        if holes[hole, 0] > value:
            break
        if value <= holes[hole, 1] + 1:
            return int(holes[hole, 0])
    return value


class Arcs(NamedTuple):
    """The arrays of an engine that `raise_arc` reads and writes: few, since all are passed at each call."""

    values: IntArray
    latest: IntArray
    trail: IntArray
    hole_offsets: IntArray
    holes: IntArray
    state: IntArray


@inner_kernel
def arcs_of(e: Engine) -> Arcs:
    """Return what `raise_arc` takes."""
    return Arcs(e.values, e.latest, e.trail, e.hole_offsets, e.holes, e.state)


@inner_kernel
def raise_arc(arcs: Arcs, arc: int, reverse: int, value: int, reason: int) -> bool:
    """Raise an arc to `value` or the next allowed one; tell whether this contradicts the reverse arc."""
    values, latest, trail, hole_offsets, holes, state = arcs
    entry = state[TRAIL]
    if entry == len(trail):
        raise MemoryError("the trail is full")
    value = _after_hole(hole_offsets, holes, arc, value)
    trail[entry, ARC] = arc
    trail[entry, OLD] = values[arc]
    trail[entry, NEW] = value
    trail[entry, PREVIOUS] = latest[arc]
    trail[entry, REASON] = reason
    trail[entry, DEPTH] = state[LEVEL]
    values[arc] = value
    latest[arc] = entry
    state[TRAIL] = entry + 1
    return bool(value + values[reverse] > 0)


@inner_kernel
def _bucket(offsets: IntArray, ends: IntArray, arc: int, value: int) -> int:
    """Return the bucket of the watches of an arc in which `value` is: the first that ends at it or later."""
    a, b = offsets[arc], offsets[arc + 1] - 1
    while a < b:
        middle = (a + b) >> 1
        if ends[middle] < value:
            a = middle + 1
        else:
            b = middle
    return int(a)


@inner_kernel
def _watch(
    watches: NDArray[np.int32],
    buckets: NDArray[np.int32],
    state: IntArray,
    bucket: int,
    bar: int,
    other_arc: int,
    other_value: int,
    watch: int,
) -> None:
    """Append a watch to a bucket; a full one moves to where there is twice the room."""
    count = buckets[bucket, COUNT]
    if count == buckets[bucket, ROOM]:
        old, new = buckets[bucket, BEGIN], state[WATCHES]
        room = 2 * count + 2
        if new + room > len(watches):
            raise MemoryError("the watches are full")
        for at in range(count):
            for column in range(4):
                watches[new + at, column] = watches[old + at, column]
        buckets[bucket, BEGIN] = new
        buckets[bucket, ROOM] = room
        state[WATCHES] = new + room
    at = buckets[bucket, BEGIN] + count
    watches[at, BAR] = bar
    watches[at, OTHER_ARC] = other_arc
    watches[at, OTHER_VALUE] = other_value
    watches[at, WATCH] = watch
    buckets[bucket, COUNT] = count + 1


@inner_kernel
def attach(e: Engine, clause: int) -> None:
    """Watch the first two facts of a clause."""
    begin, facts = e.clause_offsets[clause], e.clause_facts
    for side in range(2):
        arc, value = facts[begin + side, 0], facts[begin + side, 1]
        _watch(
            e.watches,
            e.buckets,
            e.state,
            _bucket(e.bucket_offsets, e.bucket_ends, arc, value),
            value,
            facts[begin + 1 - side, 0],
            facts[begin + 1 - side, 1],
            2 * clause + side,
        )


@inner_kernel
def propagate(e: Engine, n: int) -> bool:
    """Close the values under paths, holes and clauses (`n` points); tell whether there is a conflict.

    Each raise of an arc costs O(n) for the paths, and the watches whose facts it refutes.
    """
    values, latest, trail, state = e.values, e.latest, e.trail, e.state
    arcs = arcs_of(e)
    facts, clause_offsets = e.clause_facts, e.clause_offsets
    watches, buckets = e.watches, e.buckets
    bucket_offsets, bucket_ends = e.bucket_offsets, e.bucket_ends
    state[CULPRIT] = -1
    while state[HEAD] < state[TRAIL]:
        entry = state[HEAD]
        state[HEAD] = entry + 1
        arc, value = trail[entry, ARC], trail[entry, NEW]
        i, j = arc // n, arc % n
        if latest[arc] == entry:  # else a later entry says more
            for k in range(n):
                if k in (i, j):
                    continue
                path = values[k * n + i] + value
                if path > values[k * n + j] and raise_arc(arcs, k * n + j, j * n + k, path, i):
                    return True
                path = value + values[j * n + k]
                if path > values[i * n + k] and raise_arc(arcs, i * n + k, k * n + i, path, j):
                    return True
        # Facts on the reverse arc with a bound in lowest..highest became false by this entry.
        reverse = j * n + i
        lowest, highest = 1 - value, -trail[entry, OLD]
        for bucket in range(
            _bucket(bucket_offsets, bucket_ends, reverse, lowest),
            _bucket(bucket_offsets, bucket_ends, reverse, highest) + 1,
        ):
            at = int(buckets[bucket, BEGIN])
            end = at + int(buckets[bucket, COUNT])
            while at < end:
                bar = watches[at, BAR]
                if (
                    bar < lowest
                    or bar > highest
                    or values[watches[at, OTHER_ARC]] >= watches[at, OTHER_VALUE]
                ):
                    at += 1
                    continue
                watch = watches[at, WATCH]
                clause, side = watch >> 1, watch & 1
                begin = clause_offsets[clause]
                other_arc, other_bar = facts[begin + 1 - side, 0], facts[begin + 1 - side, 1]
                watches[at, OTHER_ARC], watches[at, OTHER_VALUE] = other_arc, other_bar
                if values[other_arc] >= other_bar:
                    at += 1
                    continue
                moved = False
                for rest in range(begin + 2, clause_offsets[clause + 1]):
                    new_arc, new_bar = facts[rest, 0], facts[rest, 1]
                    if values[(new_arc % n) * n + new_arc // n] < 1 - new_bar:
                        facts[rest, 0], facts[rest, 1] = facts[begin + side, 0], facts[begin + side, 1]
                        facts[begin + side, 0], facts[begin + side, 1] = new_arc, new_bar
                        end -= 1
                        for column in range(4):
                            watches[at, column] = watches[end, column]
                        buckets[bucket, COUNT] -= 1
                        to = _bucket(bucket_offsets, bucket_ends, new_arc, new_bar)
                        _watch(watches, buckets, state, to, new_bar, other_arc, other_bar, watch)
                        moved = True
                        break
                if moved:
                    continue
                at += 1
                other_reverse = (other_arc % n) * n + other_arc // n
                if values[other_reverse] >= 1 - other_bar:
                    state[CULPRIT] = clause
                    return True
                if raise_arc(arcs, other_arc, other_reverse, other_bar, n + clause):
                    return True
    return False


@inner_kernel
def undo(e: Engine, level: int) -> None:
    """Take back all decisions above `level`, and what followed from them."""
    state, trail = e.state, e.trail
    if state[LEVEL] <= level:
        return
    end = e.marks[level + 1]
    for entry in range(state[TRAIL] - 1, end - 1, -1):
        arc = trail[entry, ARC]
        e.values[arc] = trail[entry, OLD]
        e.latest[arc] = trail[entry, PREVIOUS]
    state[TRAIL] = end
    state[HEAD] = end
    state[LEVEL] = level
