"""Slow obvious twins of the nearest family and of optimal towns: plain Python, from the definitions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from allocsolve.model import BoolArray, Topology

Place: TypeAlias = tuple[int, ...]


def places(topology: Topology, free: BoolArray) -> dict[Place, int]:
    """Node ids of free nodes by their coordinates, which are in canonical order."""
    ids = {}
    for node in range(topology.num_nodes):
        rest, place = node, []
        for side in topology.shape:
            place.append(rest % side)
            rest //= side
        if free[node]:
            ids[tuple(place)] = node
    return dict(sorted(ids.items()))


def _along(topology: Topology, one: Place, other: Place) -> list[int]:
    steps = []
    for axis, side in enumerate(topology.shape):
        step = abs(one[axis] - other[axis])
        if topology.complete[axis]:
            step = min(step, 1)
        steps.append(min(step, side - step) if topology.wrap[axis] else step)
    return steps


def hops(topology: Topology, one: Place, other: Place) -> int:
    return sum(_along(topology, one, other))


def shell(topology: Topology, one: Place, other: Place) -> int:
    return max(_along(topology, one, other))


def cost(topology: Topology, chosen: Iterable[Place]) -> int:
    return sum(hops(topology, one, other) for one, other in itertools.combinations(chosen, 2))


def centres(topology: Topology, among: Sequence[Place], choice: str) -> list[Place]:
    if choice == "free":
        return sorted(among)
    if choice == "all":
        return list(itertools.product(*(range(side) for side in topology.shape)))
    return list(
        itertools.product(*(sorted({place[a] for place in among}) for a in range(len(topology.shape))))
    )


def _gathered(
    topology: Topology,
    among: Sequence[Place],
    size: int,
    centre: Place,
    metric: Callable[[Topology, Place, Place], int],
    last: str,
) -> list[Place]:
    near = sorted(among, key=lambda place: (metric(topology, centre, place), place))
    if last == "first":
        return near[:size]
    radius = metric(topology, centre, near[size - 1])
    chosen = [place for place in near if metric(topology, centre, place) < radius]
    ring = [place for place in near if metric(topology, centre, place) == radius]
    while len(chosen) < size:
        best = min(ring, key=lambda place: (sum(hops(topology, place, other) for other in chosen), place))
        ring.remove(best)
        chosen.append(best)
    return chosen


def median_set(
    topology: Topology, among: Sequence[Place], size: int, centre: Place, last: str
) -> list[Place]:
    return sorted(_gathered(topology, among, size, centre, hops, last))


def median(
    topology: Topology, free: BoolArray, size: int, choice: str = "grid", last: str = "first"
) -> list[int]:
    among = places(topology, free)
    sets = [
        median_set(topology, list(among), size, centre, last)
        for centre in centres(topology, list(among), choice)
    ]
    return sorted(among[place] for place in min(sets, key=lambda chosen: cost(topology, chosen)))


def descend(topology: Topology, among: Sequence[Place], chosen: Sequence[Place]) -> list[Place]:
    """Make the best swap (least cost, then first in, then first out) as long as it lowers the cost."""
    here = sorted(chosen)
    while True:
        swaps = [
            (cost(topology, [new, *(place for place in here if place != old)]), new, old)
            for new in among
            if new not in here
            for old in here
        ]
        least, new, old = min(swaps, default=(cost(topology, here), (), ()))
        if least >= cost(topology, here):
            return here
        here = sorted([new, *(place for place in here if place != old)])


def median_swaps(topology: Topology, free: BoolArray, size: int, starts: int, alike: int) -> list[int]:
    """Descend from the cheapest greedy sets, at most `alike` of the same cost, the first ones on ties.

    Then from the cheapest set of the plain method, if nothing as cheap as that came out.
    """
    among = places(topology, free)
    by_cost: dict[int, list[list[Place]]] = {}
    for centre in centres(topology, list(among), "all"):
        chosen = median_set(topology, list(among), size, centre, "greedy")
        by_cost.setdefault(cost(topology, chosen), []).append(chosen)
    best = [chosen for value in sorted(by_cost) for chosen in by_cost[value][:alike]][:starts]
    descents = [descend(topology, list(among), chosen) for chosen in best]
    cheapest = min(descents, key=lambda chosen: cost(topology, chosen))
    ids = set(median(topology, free, size, "all"))
    plain = [place for place, node in among.items() if node in ids]
    if cost(topology, plain) < cost(topology, cheapest):
        cheapest = descend(topology, list(among), plain)
    return sorted(among[place] for place in cheapest)


def mc1x1(topology: Topology, free: BoolArray, size: int, last: str = "first") -> list[int]:
    among = places(topology, free)
    sets = {centre: _gathered(topology, list(among), size, centre, shell, last) for centre in sorted(among)}
    best = min(sets, key=lambda centre: sum(shell(topology, centre, place) for place in sets[centre]))
    return sorted(among[place] for place in sets[best])


def optimum(topology: Topology, free: BoolArray, size: int) -> int:
    return min(cost(topology, chosen) for chosen in itertools.combinations(places(topology, free), size))


def least_star(topology: Topology, free: BoolArray, size: int, choice: str) -> int:
    """Least total distance from a centre to its nearest free nodes."""
    among = list(places(topology, free))
    return min(
        sum(sorted(hops(topology, centre, place) for place in among)[:size])
        for centre in centres(topology, among, choice)
    )


def partitions(size: int, most_parts: int, largest: int) -> Iterator[list[int]]:
    """All decreasing lists of integers from 1 to `largest` that add up to `size`."""
    if size == 0:
        yield []
    elif most_parts > 0:
        for first in range(min(size, largest), 0, -1):
            for rest in partitions(size - first, most_parts - 1, first):
                yield [first, *rest]


def town(size: int, width: int, height: int) -> int:
    """The formula, with the organ pipes laid out and their pairs added up."""

    def organ_pipe_cost(counts: Sequence[int]) -> int:
        laid_out: list[int] = []
        for rank, count in enumerate(counts):
            laid_out = [*laid_out, count] if rank % 2 else [count, *laid_out]
        return sum(
            laid_out[i] * laid_out[j] * (j - i) for i, j in itertools.combinations(range(len(laid_out)), 2)
        )

    return min(
        organ_pipe_cost(columns) + organ_pipe_cost([sum(c > t for c in columns) for t in range(columns[0])])
        for columns in partitions(size, width, height)
    )
