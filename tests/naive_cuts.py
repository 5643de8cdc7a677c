"""Slow obvious twins of the cut model and its programs: all counts of an axis, one by one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
