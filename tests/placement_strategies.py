"""Switch trees and placement problems, small enough to look at every pair of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from allocsolve.model import Placement, PlacementProblem, SwitchTree

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@st.composite
def regular_trees(draw: DrawFn, *, max_nodes: int = 12) -> SwitchTree:
    """Trees of one to three levels, with equal numbers of children on each."""
    sizes: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        sizes.append(draw(st.integers(1, max(1, max_nodes // int(np.prod(sizes, dtype=np.int64))))))
    rises = draw(st.lists(st.integers(0, 3), min_size=len(sizes), max_size=len(sizes)))
    capacities = draw(st.lists(st.integers(1, 4), min_size=len(sizes) - 1, max_size=len(sizes) - 1))
    return SwitchTree.regular(sizes, np.cumsum(rises).tolist(), capacities)


@st.composite
def switch_trees(draw: DrawFn, *, max_nodes: int = 12, max_switches: int = 8) -> SwitchTree:
    """Trees of any form, also with several roots and with switches without nodes.

    Weights are whole hops, or half hops of which two lie between any two nodes: then all leaves are equally
    deep in them.
    """
    count = draw(st.integers(1, max_switches))
    parent = [draw(st.integers(-1, switch - 1)) for switch in range(count)]
    order = draw(st.permutations(range(count)))  # a parent may come after its children
    shuffled = np.full(count, -1)
    for switch, above in enumerate(parent):
        shuffled[order[switch]] = order[above] if above >= 0 else -1
    leaves = sorted(set(range(count)) - set(shuffled.tolist()))
    nodes = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=max_nodes))
    halves = draw(st.lists(st.integers(0, 6), min_size=count, max_size=count))
    capacity = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    whole = 2 * (np.array(halves) // 2)
    node_weight = draw(st.integers(0, 3))
    return SwitchTree(shuffled, np.array(nodes), whole, node_weight, np.array(capacity))


@st.composite
def placement_problems(draw: DrawFn, *, max_nodes: int = 10, asked: bool = True) -> PlacementProblem:
    """Problems on trees of both kinds; with `asked`, they may ask for a level, segments and balance."""
    tree = draw(st.one_of(regular_trees(max_nodes=max_nodes), switch_trees(max_nodes=max_nodes)))
    busy = draw(st.sets(st.sampled_from(range(tree.num_nodes)), max_size=tree.num_nodes - 1))
    size = draw(st.integers(1, tree.num_nodes - len(busy)))
    if not asked:
        return PlacementProblem.of(tree, busy=sorted(busy), size=size)
    divisors = [0, *(part for part in range(1, size + 1) if size % part == 0)]
    return PlacementProblem.of(
        tree,
        busy=sorted(busy),
        size=size,
        within=draw(st.integers(0, tree.height + 1)),
        segment=draw(st.sampled_from(divisors)),
        segment_level=draw(st.integers(1, tree.height + 1)),
        balanced=draw(st.booleans()),
    )


@st.composite
def placements(draw: DrawFn, problem: PlacementProblem) -> Placement:
    """Any `size` distinct free nodes, whatever the problem asks for besides."""
    free = st.permutations(np.flatnonzero(problem.free).tolist())
    return Placement(np.array(draw(free)[: problem.size], dtype=np.int64))
