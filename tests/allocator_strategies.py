"""Hypothesis strategies for machines with busy nodes, tiny by default so that the slow twins can follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from allocsolve.model import Topology

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from allocsolve.model import BoolArray


def shapes(max_nodes: int = 30, max_axes: int = 3, max_side: int = 8) -> SearchStrategy[tuple[int, ...]]:
    sides = st.lists(st.integers(1, max_side), min_size=1, max_size=max_axes).map(tuple)
    return sides.filter(lambda shape: math.prod(shape) <= max_nodes)


@st.composite
def topologies(draw: DrawFn, max_nodes: int = 30) -> Topology:
    shape = draw(shapes(max_nodes))
    kinds = [draw(st.sampled_from(("line", "ring", "complete"))) for _ in shape]
    return Topology(
        shape, tuple(kind == "ring" for kind in kinds), tuple(kind == "complete" for kind in kinds)
    )


@st.composite
def requests(draw: DrawFn, max_nodes: int = 30) -> tuple[Topology, BoolArray, int]:
    """A topology, a mask with a free node at least, and a size up to the number of free nodes."""
    topology = draw(topologies(max_nodes))
    num_nodes = topology.num_nodes
    busy = draw(st.sets(st.integers(0, num_nodes - 1), max_size=num_nodes - 1))
    free = np.array([node not in busy for node in range(num_nodes)])
    return topology, free, draw(st.integers(1, num_nodes - len(busy)))


@st.composite
def roomy_requests(draw: DrawFn) -> tuple[Topology, BoolArray, int]:
    """A machine of two axes with a free row, and mostly a size that boxes of different sides have."""
    shape = draw(st.tuples(st.integers(3, 6), st.integers(3, 6)))
    topology = Topology(shape, draw(st.tuples(st.booleans(), st.booleans())))
    free = np.array(draw(st.lists(st.booleans(), min_size=topology.num_nodes, max_size=topology.num_nodes)))
    free[: shape[0]] = True  # a line, if nothing better
    return topology, free, draw(st.sampled_from([size for size in (4, 6) if size <= free.sum()] or [3]))
