"""The choices of the conflict search: one of two facts holds, at each hole and for each clause of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from allocsolve.exact.evolution._segments import Fact

#: First and last value of each hole of the difference of two points, in order, for both arcs of the pair.
Holes: TypeAlias = "dict[tuple[int, int], list[tuple[int, int]]]"


def merged_holes(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the holes of one difference in order; those that overlap or touch are one."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(holes):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def choices_of(num_points: int, holes: Holes, pairs: list[list[Fact]]) -> list[tuple[int, int, int, int]]:
    """Return the two facts (arc, value) of each hole of a pair, then those of each clause of two."""
    n = num_points
    sides = [
        (i * n + j, high + 1, j * n + i, 1 - low)
        for (i, j), own in sorted(holes.items())
        if i < j
        for low, high in own
    ]
    return sides + [
        (first.before * n + first.after, first.seconds, second.before * n + second.after, second.seconds)
        for first, second in pairs
    ]


def places_of(holes: Holes, pairs: list[list[Fact]]) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
    """Return the choices of each pair of points, by place: first and last value of a hole, and the choice.

    A clause of two facts has a place at each of them: an empty hole.
    """
    places: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    count = 0
    for (i, j), own in sorted(holes.items()):
        if i < j:
            for low, high in own:
                places.setdefault((i, j), []).append((low, high, count))
                count += 1
    for number, facts in enumerate(pairs, count):
        for before, after, seconds in facts:
            if before < after:
                places.setdefault((before, after), []).append((seconds, seconds - 1, number))
            else:
                places.setdefault((after, before), []).append((1 - seconds, -seconds, number))
    return places
