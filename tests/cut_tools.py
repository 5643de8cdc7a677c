"""Axes of the cut model as tests draw them, and what the programs of their walks must say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import naive_cuts
import numpy as np
from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from allocsolve.model import IntArray

#: Above the cost of every walk.
_NO_WALK = 2**58


@st.composite
def axes(draw: DrawFn, *, ring: bool, complete: bool = False) -> tuple[naive_cuts.Axis, int]:
    side = draw(st.integers(3, 6) if ring else st.integers(1, 5))
    size = draw(st.integers(1, 6))
    length = side + 1
    small = st.integers(0, size)
    # mostly loose
    low = [max(0, draw(small) - draw(st.sampled_from((0, size)))) for _ in range(length)]
    high = [min(size, draw(small) + draw(st.sampled_from((0, size)))) for _ in range(length)]
    if not ring:
        low[0] = high[0] = 0
        low[side] = high[side] = size
    least = [draw(st.integers(0, 1)) for _ in range(side)]
    greatest = [draw(st.integers(a, max(size, a))) for a in least]
    prices = st.integers(-300, 300)
    costs = [[0 if ring or complete else draw(prices) for _ in range(b + 1)] for b in greatest]
    multipliers = [draw(prices) for _ in range(side + 1)]
    return naive_cuts.Axis(side, ring, low, high, multipliers, least, greatest, costs, complete), size


def assert_through(axis: naive_cuts.Axis, walks: list[naive_cuts.Walk], through: IntArray) -> None:
    """Each entry is the least cost of the walks with so many nodes in the layer."""
    for layer in range(axis.side):
        for q in range(axis.least[layer], axis.greatest[layer] + 1):
            costs = [walk.cost for walk in walks if walk.held[layer] == q]
            if costs:
                assert through[layer, q] == min(costs)
            else:
                assert through[layer, q] > _NO_WALK


def assert_trimmed(
    axis: naive_cuts.Axis,
    walks: list[naive_cuts.Walk],
    limit: int,
    low: IntArray,
    high: IntArray,
    removed: int,
) -> None:
    """The intervals are the hull of the counts of the walks within the limit."""
    within = np.array([walk.counts for walk in walks if walk.cost <= limit])
    assert low.tolist() == within.min(axis=0).tolist()
    assert high.tolist() == within.max(axis=0).tolist()
    assert removed == (low - axis.low + axis.high - high).sum()
