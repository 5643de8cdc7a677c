"""Slow obvious twins of the cut model and its programs: all counts of an axis, one by one, and their laws."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hypothesis.strategies import DrawFn

    from allocsolve.model import IntArray

Cell: TypeAlias = tuple[int, int]


class Axis(NamedTuple):
    """One axis: intervals for its counts (and windows), what positions pay and layers cost, in units."""

    side: int
    ring: bool
    low: Sequence[int]
    high: Sequence[int]
    multipliers: Sequence[int]
    least: Sequence[int]
    greatest: Sequence[int]
    #: Cost of q nodes in a layer.
    costs: Sequence[Sequence[int]]
    complete: bool = False


class Walk(NamedTuple):
    """Nodes per layer, the counts of positions (and windows), and the cost."""

    held: tuple[int, ...]
    counts: tuple[int, ...]
    cost: int


def windows(held: Sequence[int]) -> list[int]:
    """Nodes within n // 2 layers from a layer on, and within those and one more, in turns."""
    side = len(held)
    half = side // 2
    totals = []
    for stage in range(side + 1):
        first, length = stage // 2, half + stage % 2
        totals.append(sum(held[layer] for layer in range(first, first + length)))
    return totals


def all_walks(axis: Axis, size: int, scale: int) -> Iterator[Walk]:
    """All ways to spread `size` nodes over the layers that the intervals allow.

    On a ring: all ways to go from window to window, whatever the first one holds.
    """
    for held in itertools.product(*(range(a, b + 1) for a, b in zip(axis.least, axis.greatest, strict=True))):
        for first in range(size + 1) if axis.ring else (0,):
            if axis.ring:
                counts = [first]
                for stage in range(axis.side):
                    ahead, behind = axis.side // 2 + stage // 2, stage // 2
                    counts.append(counts[-1] + (-held[behind] if stage % 2 else held[ahead]))
                half_weights = [1] * axis.side if axis.side % 2 else [2, 0] * (axis.side // 2)
                cost = (
                    sum(w * s * (size - s) for w, s in zip(half_weights, counts, strict=False)) * scale // 2
                )
            elif sum(held) == size:
                counts = [sum(held[:p]) for p in range(axis.side + 1)]
                cost = scale * sum(
                    held[i] * held[j] * (1 if axis.complete else j - i)
                    for i, j in itertools.combinations(range(axis.side), 2)
                )
            else:
                continue
            if any(not a <= s <= b for a, s, b in zip(axis.low, counts, axis.high, strict=True)):
                continue
            paid = sum(m * s for m, s in zip(axis.multipliers, counts, strict=True))
            charged = sum(costs[q] for costs, q in zip(axis.costs, held, strict=True))
            yield Walk(held, tuple(counts), cost - paid + charged)


def fillings(cells: Sequence[Cell], demands: Sequence[int]) -> list[set[int]]:
    """All sets of cells that give each layer what it demands."""
    sets = []
    for mask in itertools.product((False, True), repeat=len(cells)):
        chosen = {i for i, taken in enumerate(mask) if taken}
        ends = [end for i in chosen for end in cells[i]]
        if all(ends.count(layer) == demand for layer, demand in enumerate(demands)):
            sets.append(chosen)
    return sets


#: Above the cost of every walk.
_NO_WALK = 2**58


@st.composite
def axes(draw: DrawFn, *, ring: bool, complete: bool = False) -> tuple[Axis, int]:
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
    return Axis(side, ring, low, high, multipliers, least, greatest, costs, complete), size


def assert_through(axis: Axis, walks: list[Walk], through: IntArray) -> None:
    """Each entry is the least cost of the walks with so many nodes in the layer."""
    for layer in range(axis.side):
        for q in range(axis.least[layer], axis.greatest[layer] + 1):
            costs = [walk.cost for walk in walks if walk.held[layer] == q]
            if costs:
                assert through[layer, q] == min(costs)
            else:
                assert through[layer, q] > _NO_WALK


def assert_trimmed(
    axis: Axis,
    walks: list[Walk],
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
