"""Laws of the resource profile that changes: any history of calls against every second for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import naive
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from strategies import EXPAND_LIMITS, evolution_profiles
from tiers import examples

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.heuristics import ResourceProfile
from allocsolve.model import EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Iterator


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


NODES = 5
requests = evolution_profiles(max_steps=4, max_duration=6, max_nodes=NODES)
limits = st.sampled_from((*EXPAND_LIMITS, 5))
delays = st.integers(0, 12)


class Histories(RuleBasedStateMachine):
    """Reserve, release, forget and search, in any order."""

    @initialize(origin=st.sampled_from((0, 3, 10**9, 2**52)), scale=st.sampled_from((1, 1, 20_001)))
    def start(self, origin: int, scale: int) -> None:
        # Large clusters round the bounds of the index; usage comes in multiples of the scale.
        self.scale = scale
        self.profile, self.naive = ResourceProfile(NODES * scale, origin=origin), NaiveProfile(NODES, origin)
        self.keys: list[int] = []

    def scaled(self, profile: EvolutionProfile) -> EvolutionProfile:
        return EvolutionProfile(tuple((duration, nodes * self.scale) for duration, nodes in profile.steps))

    @rule(request=requests, limit=limits, delay=delays, compacting=st.booleans(), times=st.integers(1, 6))
    def place(
        self, request: EvolutionProfile, limit: float, delay: int, compacting: bool, times: int
    ) -> None:
        for _ in range(times):
            earliest = self.naive.origin + delay
            found = self.profile.fit(
                self.scaled(request), limit, compacting=compacting, earliest_start=earliest
            )
            expected = self.naive.fit(request, limit, earliest, compacting=compacting)
            assert (found.start, found.profile.durations) == expected
            key = self.profile.reserve(*found)
            assert self.naive.reserve(key, found.start, request.expanded(found.profile.durations))
            self.keys.append(key)

    @rule(request=requests, delay=delays)
    def reserve(self, request: EvolutionProfile, delay: int) -> None:
        start = self.naive.origin + delay
        before = self.profile.occupied()
        try:
            key = self.profile.reserve(start, self.scaled(request))
        except InvalidAnswer as error:
            assert not self.naive.reserve(-1, start, request)
            assert "nodes are free on [" in str(error)  # noqa: PT017 - both refuse, or none
            assert self.profile.occupied() == before
        else:
            assert self.naive.reserve(key, start, request)
            self.keys.append(key)

    @precondition(lambda self: self.keys)
    @rule(choice=st.integers(0), delay=delays, whole=st.booleans())
    def release(self, choice: int, delay: int, whole: bool) -> None:
        key = self.keys.pop(choice % len(self.keys))
        since = self.naive.origin + (0 if whole else delay)
        if key in self.naive.held:
            self.profile.release(key, since=None if whole else since)
            self.naive.release(key, since)
        with pytest.raises(InvalidOption, match=f"reservation {key} is unknown"):
            self.profile.release(key)

    @rule(delay=delays)
    def forget(self, delay: int) -> None:
        self.profile.forget(self.naive.origin + delay)
        self.naive.forget(self.naive.origin + delay)
        assert self.profile.origin == self.naive.origin

    @rule(nodes=st.integers(0, NODES), duration=st.integers(1, 15), delay=delays)
    def search(self, nodes: int, duration: int, delay: int) -> None:
        earliest = self.naive.origin + delay
        found = self.profile.earliest_window(nodes * self.scale, duration, earliest_start=earliest)
        assert found == self.naive.earliest_window(nodes, duration, earliest)

    @invariant()
    def the_functions_of_time_are_the_same(self) -> None:
        occupied = self.profile.occupied()
        assert occupied == self.scaled(self.naive.occupied())
        origin = self.naive.origin
        for time in range(origin, origin + 25):
            assert self.profile.used_at(time) == self.naive.used_at(time) * self.scale
            assert self.profile.used_at(time) + self.profile.free_at(time) == self.profile.num_nodes


Histories.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
TestHistories = Histories.TestCase
