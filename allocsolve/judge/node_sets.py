"""What the judge says of a set of nodes, whatever links them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidAnswer

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray


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
        msg = f"the {answer} has no nodes"
        raise InvalidAnswer(msg)
    outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if len(outside):
        msg = f"node {outside[0]} of the {answer} is not in 0..{num_nodes - 1}"
        raise InvalidAnswer(msg)
    twice = nodes[1:][nodes[1:] == nodes[:-1]]
    if len(twice):
        msg = f"node {twice[0]} of the {answer} is chosen twice"
        raise InvalidAnswer(msg)
    return nodes
