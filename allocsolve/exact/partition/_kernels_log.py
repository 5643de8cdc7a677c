"""The log of a search: its steps and multipliers, from which the judge recomputes the proof.

A step is three integers. Steps are in the order of the search, which goes into depth first: those of a node,
then those of its first child and all below it, then those of the second one. The judge says what each of them
proves: see `allocsolve.judge.partition_tree.partition_tree_bound`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.exact.partition._kernels_relaxation import copy
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = [
    "BEST_OF_NODE",
    "CELL",
    "CURRENT",
    "KEPT",
    "LEAF",
    "LOWER_FIRST",
    "NARROW",
    "ON",
    "REACH",
    "STEPS",
    "UPPER_FIRST",
    "Log",
    "has_room",
    "new_log",
    "note",
    "note_multipliers",
]

#: What a step may be: the end of a node without children; what multipliers exclude; what connected sets
#: cannot reach from a cell; a node split at a count or at a cell.
LEAF, NARROW, REACH, LOWER_FIRST, UPPER_FIRST, CELL = range(6)

#: Entries of `Log.state`: whether there is a log; how many steps and multipliers it has; the row of the
#: multipliers at hand and that of the best ones of the node, -1 if it has none.
ON, STEPS, KEPT, CURRENT, BEST_OF_NODE = range(5)


class Log(NamedTuple):
    """The log of one node without a parent and of all below it."""

    #: Shape (5,): see the names above.
    state: IntArray
    #: Shape (any, 3): what it is, and what belongs to it.
    steps: IntArray
    #: Shape (any, counts of all axes but the main one).
    multipliers: IntArray


def new_log(width: int) -> Log:
    """Return an empty log for so many multipliers a node."""
    state = np.array([1, 0, 0, -1, -1], dtype=np.int64)
    return Log(state, np.zeros((64, 3), dtype=np.int64), np.zeros((32, width), dtype=np.int64))


@inner_kernel
def has_room(log: Log) -> bool:
    """Return whether there is room for all that the search writes between two looks."""
    state = log.state
    return bool(state[STEPS] + 16 <= len(log.steps) and state[KEPT] + 4 <= len(log.multipliers))


@inner_kernel
def note(log: Log, kind: int, first: int, second: int) -> None:
    """Write a step."""
    state = log.state
    if state[ON] == 1:
        row = state[STEPS]
        log.steps[row, 0] = kind
        log.steps[row, 1] = first
        log.steps[row, 2] = second
        state[STEPS] = row + 1


@inner_kernel
def note_multipliers(log: Log, multipliers: IntArray) -> None:
    """Write that the node is narrowed by these multipliers, those at hand, which are kept if they are new."""
    state = log.state
    if state[ON] == 1:
        if state[CURRENT] < 0:
            copy(multipliers, log.multipliers[state[KEPT]])
            state[CURRENT] = state[KEPT]
            state[KEPT] += min(1, len(multipliers))  # of a single axis there are none
        note(log, NARROW, state[CURRENT], 0)
