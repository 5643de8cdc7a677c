"""What several families say in the same words: of times, of sets of nodes, of too many nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.model.columns import plain

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray, IntArray


def shown_seconds(seconds: float) -> str:
    """Return a time as people write it: a whole number without a point."""
    return str(plain(seconds))


def overloads(moments: IntArray | FloatArray, held: IntArray, num_nodes: int) -> list[str]:
    """Return a line for each span of time in which more than all nodes are held.

    `moments` rise, in seconds, and nothing changes in between; `held`, of the same shape, are the nodes that
    are held from each moment on, 0 from the last one on.
    """
    over = held > num_nodes
    lines = []
    for first in np.flatnonzero(over & ~np.concatenate([[False], over[:-1]])).tolist():
        until = first + int(np.argmin(over[first:]))
        peak = first + int(np.argmax(held[first:until]))
        lines.append(
            f"from {shown_seconds(moments[first])} s to {shown_seconds(moments[until])} s "
            f"up to {held[peak]} nodes are held (first at {shown_seconds(moments[peak])} s) "
            f"on a cluster of {num_nodes}"
        )
    return lines


def node_violations(nodes: IntArray, free: BoolArray, size: int) -> tuple[list[str], IntArray]:
    """Return what is wrong with a set of nodes as such, and those of its nodes that there are, each once.

    There must be `size` nodes, none twice and all free; `free` is a mask over all nodes.
    """
    distinct, counts = np.unique(nodes, return_counts=True)
    inside = (distinct >= 0) & (distinct < len(free))
    violations = []
    if len(nodes) != size:
        violations.append(f"{len(nodes)} nodes are chosen, requested are {size}")
    violations += [
        f"node {node} is chosen {count} times"
        for node, count in zip(distinct[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True)
    ]
    violations += [f"node {node} is not in 0..{len(free) - 1}" for node in distinct[~inside].tolist()]
    distinct = distinct[inside]
    violations += [f"node {node} is busy" for node in distinct[~free[distinct]].tolist()]
    return violations, distinct


def checked_nodes(nodes: IntArray, num_nodes: int, answer: str) -> IntArray:
    """Return rising node ids as they are.

    `InvalidAnswer` if there is none, one is not in 0..`num_nodes` - 1, or one is there twice; the message
    calls them by the noun `answer`.
    """
    if not len(nodes):
        raise InvalidAnswer(f"the {answer} has no nodes")
    outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if len(outside):
        raise InvalidAnswer(f"node {outside[0]} of the {answer} is not in 0..{num_nodes - 1}")
    twice = nodes[1:][nodes[1:] == nodes[:-1]]
    if len(twice):
        raise InvalidAnswer(f"node {twice[0]} of the {answer} is chosen twice")
    return nodes
