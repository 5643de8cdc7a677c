"""The slow obvious twin of static admission and of calendars: plain Python, from the definitions."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

import naive_nearest
import numpy as np
from naive_allocators import hilbert_order, is_connected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from allocsolve.model import BoolArray, Topology

    Shape = Callable[[Topology, BoolArray, int], Sequence[int] | None]


@cache
def curve(topology: Topology) -> list[int]:
    return hilbert_order(topology.shape, max(5, (max(topology.shape) - 1).bit_length()))


@cache
def _hops(topology: Topology) -> list[list[int]]:
    return [topology.distances_from(node).tolist() for node in range(topology.num_nodes)]


@cache
def _neighbours(topology: Topology) -> list[tuple[int, ...]]:
    return [topology.neighbours(node) for node in range(topology.num_nodes)]


def first_run(topology: Topology, free: BoolArray, size: int) -> list[int] | None:
    order = curve(topology)
    windows = (order[place : place + size] for place in range(len(order) - size + 1))
    return next((window for window in windows if all(free[node] for node in window)), None)


def first_nodes(_: Topology, free: BoolArray, size: int) -> list[int]:
    return [node for node in range(len(free)) if free[node]][:size]


def grown(
    topology: Topology, free: BoolArray, size: int, seed: int, *, busy_too: bool, kind: str = "single"
) -> list[int] | None:
    """Grow from a seed by single nodes, or by all equals (set, exact); busy nodes compete if they may."""
    hops, neighbours = _hops(topology), _neighbours(topology)
    chosen, met, passed = [seed], [seed], set[int]()  # met: in this order
    while len(chosen) < size:
        for node in chosen:
            met += [other for other in neighbours[node] if other not in met]
        around = [n for n in met if n not in chosen and n not in passed and (busy_too or free[n])]
        if not around:
            return None
        increase = {node: sum(hops[node][other] for other in chosen) for node in around}
        best = [node for node in around if increase[node] == min(increase.values())]
        if kind == "single":
            best = best[:1]
        usable = [node for node in best if free[node]]
        if not usable or (kind == "exact" and len(chosen) + len(usable) > size):
            return None
        passed |= {node for node in best if not free[node]}
        chosen = (chosen + usable)[:size]
    return chosen


def seeded(*, busy_too: bool, kind: str = "single", first_only: bool = False) -> Shape:
    def shape(topology: Topology, free: BoolArray, size: int) -> list[int] | None:
        seeds = np.flatnonzero(free).tolist()
        sets = (
            grown(topology, free, size, seed, busy_too=busy_too, kind=kind)
            for seed in (seeds[:1] if first_only else seeds)
        )
        return next((chosen for chosen in sets if chosen), None)

    return shape


def town(topology: Topology, free: BoolArray, size: int) -> list[int] | None:
    hops = _hops(topology)
    sets = [grown(topology, free, size, seed, busy_too=False) for seed in np.flatnonzero(free).tolist()]
    return min(
        (chosen for chosen in sets if chosen),
        key=lambda chosen: sum(hops[one][other] for one, other in itertools.combinations(chosen, 2)),
        default=None,
    )


_SHAPES: dict[str, Shape] = {
    "hilbert": first_run,
    "any": first_nodes,
    "growth": seeded(busy_too=False),
    "growth-one": seeded(busy_too=False, first_only=True),
    "literal": seeded(busy_too=True),
    "literal-one": seeded(busy_too=True, first_only=True),
    "literal-set": seeded(busy_too=True, kind="set"),
    "literal-set-one": seeded(busy_too=True, kind="set", first_only=True),
    "literal-exact": seeded(busy_too=True, kind="exact"),
    "literal-exact-one": seeded(busy_too=True, kind="exact", first_only=True),
    "town": town,
    "manhattan-median": naive_nearest.median,
}


def shape_named(name: str) -> Shape:
    return _SHAPES[name]


def has_shape(topology: Topology, nodes: Iterable[int], shape: str) -> bool:
    if shape == "connected":
        return is_connected(topology, nodes)
    if shape == "run":
        places = sorted(curve(topology).index(node) for node in nodes)
        return places == list(range(places[0], places[0] + len(places)))
    return True


class NaiveCalendar:
    """A list of bookings: their starts, ends and nodes."""

    def __init__(self, topology: Topology, choose: Shape, shape: str = "any", now: int = 0) -> None:
        self.topology, self.choose, self.shape, self.now = topology, choose, shape, now
        self.bookings: list[tuple[int, int, list[int]]] = []

    def free(self, start: int, end: int) -> BoolArray:
        free = np.ones(self.topology.num_nodes, dtype=np.bool_)
        for begin, finish, nodes in self.bookings:
            if begin < end and start < finish:
                free[nodes] = False
        return free

    def ask(
        self, size: int, runtime: int, deadline: float, earliest_start: int | None = None
    ) -> tuple[int, list[int]] | None:
        first = self.now if earliest_start is None else earliest_start
        for start in [first, *sorted({end for _, end, _ in self.bookings if end > first})]:
            free = self.free(start, start + runtime)
            if start + runtime <= deadline and np.count_nonzero(free) >= size:
                nodes = self.choose(self.topology, free, size)
                if nodes is not None and has_shape(self.topology, nodes, self.shape):
                    return start, sorted(nodes)
        return None


def admit(
    topology: Topology, jobs: Iterable[tuple[int, int, int, int]], choose: Shape, shape: str = "any"
) -> list[tuple[int, list[int]] | None]:
    """Of each job (arrival, nodes, run time, deadline) its start and nodes, None if it is rejected."""
    calendar = NaiveCalendar(topology, choose, shape)
    answers = []
    for arrival, size, runtime, deadline in jobs:
        calendar.now = arrival
        answers.append(answer := calendar.ask(size, runtime, deadline))
        if answer:
            calendar.bookings.append((answer[0], answer[0] + runtime, answer[1]))
    return answers


class NaiveCounts:
    """A list of bookings of nodes without identities: their starts, ends and numbers of nodes."""

    def __init__(self, num_nodes: int, now: int = 0) -> None:
        self.num_nodes, self.now = num_nodes, now
        self.bookings: list[tuple[int, int, int]] = []

    def free(self, start: int, end: int) -> int:
        """The fewest free nodes of all times that something begins at, and of the start."""
        times = [start, *(begin for begin, _, _ in self.bookings if start < begin < end)]
        used = (sum(size for begin, finish, size in self.bookings if begin <= t < finish) for t in times)
        return self.num_nodes - max(used)

    def ask(self, size: int, runtime: int, deadline: float, earliest_start: int | None = None) -> int | None:
        first = self.now if earliest_start is None else earliest_start
        for start in [first, *sorted({end for _, end, _ in self.bookings if end > first})]:
            if start + runtime <= deadline and self.free(start, start + runtime) >= size:
                return start
        return None


def count_starts(num_nodes: int, jobs: Iterable[tuple[int, int, int, int]]) -> list[int | None]:
    """Of each job (arrival, nodes, run time, deadline) its start, None if it is rejected."""
    calendar = NaiveCounts(num_nodes)
    answers = []
    for arrival, size, runtime, deadline in jobs:
        calendar.now = arrival
        answers.append(start := calendar.ask(size, runtime, deadline))
        if start is not None:
            calendar.bookings.append((start, start + runtime, size))
    return answers
