"""The slow obvious twin of `ResourceProfile`: how many nodes are busy in each second, in a dict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import naive

from allocsolve.model import EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NaiveProfile"]


class NaiveProfile:
    """Every second for itself; a reservation is the list of (second, nodes) that it still holds."""

    def __init__(self, num_nodes: int, origin: int = 0) -> None:
        self.num_nodes, self.origin = num_nodes, origin
        self.busy: dict[int, int] = {}
        self.held: dict[int, list[tuple[int, int]]] = {}

    def used_at(self, time: int) -> int:
        return self.busy.get(time, 0)

    def occupied(self) -> EvolutionProfile:
        last = max((time for time, nodes in self.busy.items() if nodes), default=self.origin)
        seconds = range(self.origin, last + 1)
        return EvolutionProfile(tuple((1, self.used_at(time)) for time in seconds)).canonical()

    def earliest_window(self, nodes: int, duration: int, earliest_start: int) -> int:
        time = earliest_start
        while any(self.used_at(second) + nodes > self.num_nodes for second in range(time, time + duration)):
            time += 1
        return time

    def fit(
        self, request: EvolutionProfile, expand_limit: float, earliest: int, *, compacting: bool
    ) -> tuple[int, tuple[int, ...]]:
        occupied = self.occupied()
        start = earliest - self.origin
        found = naive.earliest_fit(request, occupied, self.num_nodes, expand_limit, start)
        if compacting:
            completion = found.start + sum(found.durations)
            found = naive.latest_fit(request, occupied, self.num_nodes, expand_limit, completion, start)
        return found.start + self.origin, found.durations

    def reserve(self, key: int, start: int, profile: EvolutionProfile) -> bool:
        """Tell whether there are nodes enough, and let them be held if so."""
        held = list(_seconds(start, profile))
        if any(self.used_at(time) + nodes > self.num_nodes for time, nodes in held):
            return False
        for time, nodes in held:
            self.busy[time] = self.used_at(time) + nodes
        self.held[key] = held
        return True

    def release(self, key: int, since: int) -> None:
        for time, nodes in self.held.pop(key):
            if time >= since:
                self.busy[time] -= nodes

    def forget(self, before: int) -> None:
        self.origin = before
        self.busy = {time: nodes for time, nodes in self.busy.items() if time >= before}
        self.held = {key: held for key, held in self.held.items() if held[-1][0] >= before}


def _seconds(start: int, profile: EvolutionProfile) -> Iterator[tuple[int, int]]:
    for duration, nodes in profile.steps:
        for _ in range(duration):
            yield start, nodes
            start += 1
