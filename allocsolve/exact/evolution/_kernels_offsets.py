"""Clauses over differences of times: the search's state, its watches, and their propagation.

At least one fact of a clause holds; when all but one are refuted, the last one is raised. Two facts of each
clause that are not refuted are watched. `_kernels_closure` closes paths and holes.
"""
# Kernels take their arguments by position, and each is a single loop.

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.exact.evolution._kernels_closure import (
    ARC,
    BASE,
    CULPRIT,
    HEAD,
    LEVEL,
    NEW,
    OLD,
    PREVIOUS,
    RANGES,
    SHIFT,
    TRAIL,
    WATCHES,
    Arcs,
    raise_arc,
)
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

#: Columns of `Engine.watches`: the value of the fact, the other watched fact, and 2 * clause + the side (0 or
#: 1).
BAR, OTHER_ARC, OTHER_VALUE, WATCH = range(4)

#: Columns of `Engine.buckets`: where the watches of a bucket begin, their number, and the room for them.
BEGIN, COUNT, ROOM = range(3)


class Engine(NamedTuple):
    """The state of a search; every array belongs to one thread."""

    #: The value of each arc, now and before any decision; shape (N * N,).
    values: IntArray
    ground: IntArray
    #: The reverse of each arc, stored because divisions take longer.
    reverses: IntArray
    #: Last trail entry of each arc, or -1.
    latest: IntArray
    #: Shape (entries, 6), see the columns named in `_kernels_closure`. A reason below N is the point that a
    #: path goes through; a reason from N on is the clause ``reason - N``.
    trail: NDArray[np.int32]
    #: Length of the trail before each decision.
    marks: IntArray
    #: The holes of arc a are rows ``hole_offsets[a]:hole_offsets[a + 1]`` of `holes` (first, last value).
    hole_offsets: IntArray
    holes: IntArray
    #: The choices: one of two facts holds, for each hole of a pair of points i < j and for each clause of two
    #: facts; rows (arc, value, arc, value).
    choices: IntArray
    #: The choices that a pair i < j takes part in are rows ``place_offsets[arc]:place_offsets[arc + 1]`` of
    #: `places`: first and last value of the hole between the two sides, perhaps empty, and the choice.
    place_offsets: IntArray
    places: IntArray
    #: How often pairs (on the arc i < j) and choices took part in recent conflicts.
    pair_activity: NDArray[np.float64]
    choice_activity: NDArray[np.float64]
    #: Facts (arc, value) of clause c: rows ``clause_offsets[c]:clause_offsets[c + 1]``. The first two
    #: are watched.
    clause_offsets: IntArray
    clause_facts: NDArray[np.int32]
    #: Decision levels that a learned clause spans (the fewer, the better); 0 for a clause of the problem.
    clause_span: IntArray
    clause_activity: NDArray[np.float64]
    #: The number of each clause in the proof, and the notes for the proof; see `_kernels_proof_log`.
    clause_number: IntArray
    log: NDArray[np.int32]
    #: The watches of an arc and a range of values, a *bucket*, stand together. Like the facts they have 32
    #: bits: reading them is most of the work, and so most of them stay in the cache.
    watches: NDArray[np.int32]
    buckets: NDArray[np.int32]
    #: Work space of the analysis, see `_kernels_conflict`; shape (N * N,).
    needed: IntArray
    needed_at: IntArray
    listed: IntArray
    touched: IntArray
    missing: IntArray
    #: Work space of the closure, see `raise_arc`; shapes (N,), (N,), (N * N,), (N * N,).
    heads: IntArray
    beyond: IntArray
    inside: IntArray
    waits: IntArray
    premise_arcs: IntArray
    premise_values: IntArray
    #: Work space of a clean-up; shape (clauses,).
    ranked: NDArray[np.float64]
    #: Times of the points that decisions lean towards or away from; shape (N - 1,).
    target: IntArray
    #: By how much the activities of pairs and of clauses grow.
    growth: NDArray[np.float64]
    #: Mean span of the clauses learned lately, and of all.
    mean_spans: NDArray[np.float64]
    state: IntArray


@inner_kernel
def arcs_of(e: Engine) -> Arcs:
    """Return the arrays that `raise_arc` takes."""
    return Arcs(
        e.values, e.latest, e.trail, e.hole_offsets, e.holes, e.heads, e.beyond, e.inside, e.waits, e.state
    )


@inner_kernel
def _bucket(state: IntArray, arc: int, value: int) -> int:
    """Return the bucket of the watches of an arc in which `value` is."""
    part = (value + state[BASE]) >> state[SHIFT]
    return int(arc * state[RANGES] + max(0, min(state[RANGES] - 1, part)))


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
    """Append a watch to a bucket; a full bucket moves to a place with twice the room."""
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
            _bucket(e.state, arc, value),
            value,
            facts[begin + 1 - side, 0],
            facts[begin + 1 - side, 1],
            2 * clause + side,
        )


@inner_kernel
def propagate(e: Engine, n: int) -> bool:
    """Close the values under the clauses too (`n` points); return whether there is a conflict.

    Each raise of an arc costs the watches whose facts it refutes.
    """
    values, reverses, trail, state = e.values, e.reverses, e.trail, e.state
    arcs = arcs_of(e)
    facts, clause_offsets = e.clause_facts, e.clause_offsets
    watches, buckets = e.watches, e.buckets
    state[CULPRIT] = -1
    while state[HEAD] < state[TRAIL]:
        entry = state[HEAD]
        state[HEAD] = entry + 1
        arc, value = trail[entry, ARC], trail[entry, NEW]
        # This entry made the facts on the reverse arc with a bound in lowest..highest false.
        reverse = reverses[arc]
        lowest, highest = 1 - value, -trail[entry, OLD]
        for bucket in range(_bucket(state, reverse, lowest), _bucket(state, reverse, highest) + 1):
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
                    if values[reverses[new_arc]] < 1 - new_bar:
                        facts[rest, 0], facts[rest, 1] = facts[begin + side, 0], facts[begin + side, 1]
                        facts[begin + side, 0], facts[begin + side, 1] = new_arc, new_bar
                        end -= 1
                        for column in range(4):
                            watches[at, column] = watches[end, column]
                        buckets[bucket, COUNT] -= 1
                        to = _bucket(state, new_arc, new_bar)
                        _watch(watches, buckets, state, to, new_bar, other_arc, other_bar, watch)
                        moved = True
                        break
                if moved:
                    continue
                at += 1
                if values[reverses[other_arc]] >= 1 - other_bar:
                    state[CULPRIT] = clause
                    return True
                if raise_arc(arcs, n, other_arc, other_bar, n + clause):
                    return True
    return False


@inner_kernel
def undo(e: Engine, level: int) -> None:
    """Undo all decisions above `level`, and their consequences."""
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
