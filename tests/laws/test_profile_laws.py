"""Laws of free nodes over time: the profile of a simulator, and the structure that kernels share."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import naive
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernel_tools import entry
from strategies import EXPAND_LIMITS, evolution_profiles
from tiers import examples

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.heuristics import ResourceProfile
from allocsolve.kernels import bisect_right, kernel, select, sort_by_keys
from allocsolve.kernels.free_nodes import (
    CHUNK,
    FreeNodes,
    append,
    change,
    earliest,
    forget_past,
    free_steps,
    has_room,
    least_free,
    limit_free,
    new_free_nodes,
    restart,
)
from allocsolve.model import EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


ANY = evolution_profiles(min_steps=0, max_steps=6, max_duration=4)
#: Few node counts, so that neighbours and maxima are often equal.
FLAT = evolution_profiles(min_steps=0, max_steps=6, max_duration=4, max_nodes=2)
TIMES = st.integers(-5, 35)


def seconds(profile: EvolutionProfile) -> list[int]:
    """The value during each second from 0 on."""
    return [nodes for duration, nodes in profile.steps for _ in range(duration)]


def at(profile: EvolutionProfile, t: int) -> int:
    values = seconds(profile)
    return values[t] if 0 <= t < len(values) else 0


@st.composite
def stretches(draw: st.DrawFn) -> tuple[EvolutionProfile, EvolutionProfile, float]:
    """A profile, an expansion of it, and a limit that this expansion may or may not respect."""
    profile = draw(evolution_profiles(max_duration=10))
    extra = [draw(st.integers(0, 12)) for _ in profile.steps]
    longer = profile.expanded(
        [duration + more for duration, more in zip(profile.durations, extra, strict=True)]
    )
    return profile, longer, draw(st.sampled_from((*EXPAND_LIMITS, 1.1, 1.7)))


@given(ANY, TIMES)
def test_value_is_that_of_the_second(profile: EvolutionProfile, t: int) -> None:
    assert profile.value(t) == at(profile, t)


@given(ANY)
def test_sizes_are_those_of_the_seconds(profile: EvolutionProfile) -> None:
    values = seconds(profile)
    assert profile.duration == len(values) == sum(profile.durations)
    assert profile.area == sum(values)
    assert profile.peak == max(values, default=0)
    assert tuple(zip(profile.durations, profile.nodes, strict=True)) == profile.steps


@given(st.one_of(ANY, FLAT), TIMES, TIMES)
def test_max_and_its_last_end_by_definition(profile: EvolutionProfile, one: int, other: int) -> None:
    t0, t1 = sorted((one, other))
    values = {t: at(profile, t) for t in range(t0, t1)}
    top = max(values.values(), default=0)
    assert profile.max(t0, t1) == top
    end = max((t + 1 for t, value in values.items() if value == top), default=t1)
    assert profile.last_max_end(t0, t1) == end


@given(ANY, st.integers(0, 9))
def test_delayed_is_the_same_later(profile: EvolutionProfile, delay: int) -> None:
    late = profile.delayed(delay)
    assert seconds(late) == [0] * delay + seconds(profile)
    assert (late.duration, late.area, late.peak) == (profile.duration + delay, profile.area, profile.peak)
    if not delay:
        assert late == profile


@given(stretches())
def test_expanded_keeps_the_nodes(case: tuple[EvolutionProfile, EvolutionProfile, float]) -> None:
    profile, longer, _ = case
    assert longer.nodes == profile.nodes
    assert longer.peak == profile.peak
    held = zip(longer.durations, profile.durations, profile.nodes, strict=True)
    assert longer.area - profile.area == sum((long - short) * nodes for long, short, nodes in held)
    assert longer.is_expansion_of(profile)
    assert profile.is_expansion_of(longer) == (profile == longer)


@given(stretches())
def test_expansion_within_a_limit_by_definition(
    case: tuple[EvolutionProfile, EvolutionProfile, float],
) -> None:
    profile, longer, limit = case
    pairs = list(zip(longer.durations, profile.durations, strict=True))
    if math.isinf(limit):
        assert longer.is_expansion_of(profile, limit)
    else:
        exact = Fraction(round(limit * 10), 10)
        assert longer.is_expansion_of(profile, limit) == all(long <= exact * short for long, short in pairs)


@given(st.integers(1, 10**9), st.integers(10, 99), st.sampled_from((-1, 0, 1)))
def test_a_limit_is_the_decimal_it_prints_as(duration: int, tenths: int, off: int) -> None:
    longest = duration * tenths // 10
    assume(longest + off >= 1)
    request, longer = EvolutionProfile(((duration, 1),)), EvolutionProfile(((longest + off, 1),))
    assert longer.is_expansion_of(request, tenths / 10) == (duration <= longest + off <= longest)


@given(ANY, ANY)
def test_sum_is_that_of_the_functions(one: EvolutionProfile, other: EvolutionProfile) -> None:
    total = one + other
    until = max(one.duration, other.duration)
    expected = [at(one, t) + at(other, t) for t in range(until)]
    assert seconds(total) == expected[: total.duration]
    assert not any(expected[total.duration :])
    assert total == total.canonical()
    assert total.area == one.area + other.area
    assert max(one.peak, other.peak) <= total.peak <= one.peak + other.peak


@given(FLAT)
def test_canonical_is_the_shortest_of_its_function(profile: EvolutionProfile) -> None:
    short = profile.canonical()
    assert short.canonical() == short
    assert seconds(profile)[: short.duration] == seconds(short)
    assert not any(seconds(profile)[short.duration :])
    assert all(left != right for left, right in zip(short.nodes, short.nodes[1:], strict=False))
    assert not short.nodes or short.nodes[-1] > 0


@given(st.one_of(ANY, FLAT), FLAT)
def test_same_function_by_definition(one: EvolutionProfile, other: EvolutionProfile) -> None:
    until = max(one.duration, other.duration)
    same = all(at(one, t) == at(other, t) for t in range(until))
    assert one.same_function(other) == other.same_function(one) == same
    assert (one.canonical() == other.canonical()) == same


@given(FLAT, st.data())
def test_splitting_a_step_keeps_the_function_only(profile: EvolutionProfile, data: st.DataObject) -> None:
    cuttable = [idx for idx, duration in enumerate(profile.durations) if duration > 1]
    if not cuttable:
        return
    idx = data.draw(st.sampled_from(cuttable))
    duration, nodes = profile.steps[idx]
    cut = data.draw(st.integers(1, duration - 1))
    parts = ((cut, nodes), (duration - cut, nodes))
    split = EvolutionProfile((*profile.steps[:idx], *parts, *profile.steps[idx + 1 :]))
    assert split.same_function(profile)
    assert split != profile
    assert not split.is_expansion_of(profile)


@given(ANY, st.integers(-5, 34), st.integers(1, 9))
def test_an_interval_does_not_end_before_it_begins(profile: EvolutionProfile, t0: int, back: int) -> None:
    with pytest.raises(ValueError, match=rf"\[{t0}, {t0 - back}\)"):
        profile.max(t0, t0 - back)
    with pytest.raises(ValueError, match=rf"\[{t0}, {t0 - back}\)"):
        profile.last_max_end(t0, t0 - back)


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


# --- Free nodes ---------------------------------------------------------------------------------------


class FreeBySecond:
    """Free nodes in each second of a span at whose end all nodes are free."""

    def __init__(self, num_nodes: int, seconds: int) -> None:
        self.free = np.full(seconds, num_nodes)

    def change(self, start: int, end: int, nodes: int) -> None:
        """Add free nodes from start to end."""
        self.free[start:end] += nodes

    def earliest(self, submit: int, nodes: int, seconds: int, known: float) -> float:
        """Return the first second from which the nodes are free for this long, or until `known`."""
        start = submit
        while start < known:
            end = int(min(start + seconds, known, len(self.free)))
            if (self.free[start:end] >= nodes).all():
                return start
            start += 1
        return known


change_nodes, earliest_time, forget = entry(change), entry(earliest), entry(forget_past)
begin_again, append_step = entry(restart), entry(append)
least_of, limit_to, room_for = entry(least_free), entry(limit_free), entry(has_room)


def by_second(profile: FreeNodes, seconds: int) -> list[int]:
    """Return the free nodes of each second."""
    free = np.zeros(seconds, dtype=np.int64)
    for chunk in profile.chunks[: profile.numbers["used"]]:
        steps = profile.steps[chunk["first"] : chunk["last"]]
        assert len(steps)
        assert chunk["room"] <= chunk["first"]
        assert chunk["last"] <= chunk["room"] + CHUNK
        assert steps["time"][0] == chunk["begin"]
        if profile.numbers["used"] > 1:
            assert chunk["low"] <= steps["free"].min() + chunk["shift"]
            assert chunk["high"] >= steps["free"].max() + chunk["shift"]
        for step in steps:
            free[int(step["time"]) :] = step["free"] + chunk["shift"]
    return free.tolist()


@given(seed=st.integers(0, 2**32), jobs=st.sampled_from([5, 40, 400]), longest=st.sampled_from([3, 30]))
def test_it_is_the_list_of_seconds(seed: int, jobs: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    num_nodes = int(rng.integers(1, 20))
    horizon = 2 * jobs * longest + longest + 10
    profile, naive = new_free_nodes(num_nodes, jobs), FreeBySecond(num_nodes, horizon)
    now, start = 0, 0
    held: list[tuple[int, int, int]] = []
    for _ in range(2 * jobs):
        kind = rng.random()
        if kind < 0.6 and len(held) < jobs:
            nodes, seconds = int(rng.integers(1, num_nodes + 1)), int(rng.integers(1, longest + 1))
            submit = now if kind < 0.5 else now + int(rng.integers(0, jobs))
            found = earliest_time(profile, submit, nodes, seconds, np.inf)
            assert found == naive.earliest(submit, nodes, seconds, np.inf)
            held.append((int(found), int(found) + seconds, nodes))
            sign = -1
        elif held:
            start, end, nodes = held.pop(int(rng.integers(0, len(held))))
            if kind < 0.8 and start >= now:  # put back at its earliest place
                new = earliest_time(profile, now, nodes, end - start, start)
                assert new == naive.earliest(now, nodes, end - start, start)
                change_nodes(profile, float(start), float(end), nodes)
                naive.change(start, end, nodes)
                end += int(new) - start
                start, sign = int(new), -1
                held.append((start, end, nodes))
            else:
                start, sign = max(start, now), 1
        else:
            continue
        if sign < 0:
            start, end, nodes = held[-1]
        change_nodes(profile, float(start), float(end), sign * nodes)
        naive.change(start, end, sign * nodes)
        if rng.random() < 0.2:
            now += int(rng.integers(0, longest))
            forget(profile, float(now))
        if jobs < CHUNK or rng.random() < 0.05:
            assert by_second(profile, horizon)[now:] == naive.free[now:].tolist()


def test_long_functions_are_cut_and_joined_again() -> None:
    profile = new_free_nodes(1, 2 * CHUNK)
    for second in range(2 * CHUNK):
        change_nodes(profile, 2.0 * second, 2.0 * second + 1, -1)
    assert profile.numbers["used"] > 3
    change_nodes(profile, 0.0, 4.0 * CHUNK, 1)
    assert earliest_time(profile, 0.0, 2, 1.0, np.inf) == 1
    change_nodes(profile, 0.0, 4.0 * CHUNK, -1)
    for second in range(2 * CHUNK):
        change_nodes(profile, 2.0 * second, 2.0 * second + 1, 1)
    assert profile.numbers["used"] == 1


@given(seed=st.integers(0, 2**32), count=st.sampled_from([1, 5, 3 * CHUNK]))
def test_a_plan_that_is_written_anew_is_the_list_of_seconds(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    profile = new_free_nodes(9, 4 * count)
    for _ in range(2):  # the second time over the chunks of the first
        now = int(rng.integers(0, 9))
        times = now + np.cumsum(rng.integers(1, 4, count))
        horizon = int(times[-1]) + 9
        steps = rng.integers(-9, 10, count + 1)
        begin_again(profile, float(now), int(steps[0]))
        free = np.full(horizon, steps[0])
        for time, nodes in zip(times.tolist(), steps[1:].tolist(), strict=True):
            append_step(profile, float(time), nodes)
            free[time:] = nodes
        for _ in range(20):
            start, end = sorted(rng.choice(np.arange(now, horizon), 2, replace=False).tolist())
            least = free[start:end].min()
            assert least_of(profile, float(start), float(end)) == least
            for needed in (int(least), int(least) + 1):
                assert room_for(profile, float(start), float(end), needed) == (needed <= least)
            nodes = int(rng.integers(-9, 10))
            limit_to(profile, float(start), float(end), nodes)
            free[start:end] = np.minimum(free[start:end], nodes)
            assert by_second(profile, horizon)[now:] == free[now:].tolist()


@given(seed=st.integers(0, 2**32), steps=st.sampled_from([1, 3, 64, 65, 300]))
def test_steps_that_are_given_are_those_of_the_list(seed: int, steps: int) -> None:
    """Also after changes, for which there is room."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(1, 4, steps)).astype(np.float64) - 1.0
    times[0] = 0.0
    nodes = np.cumsum(rng.choice([-1, 1], steps)) + steps
    horizon = int(times[-1]) + 50
    profile, naive = free_steps(times, nodes, steps + 20), FreeBySecond(0, horizon)
    for time, free in zip(times.tolist(), nodes.tolist(), strict=True):
        naive.free[int(time) :] = free
    assert by_second(profile, horizon) == naive.free.tolist()
    for _ in range(20):
        start = int(rng.integers(0, horizon - 1))
        end, less = int(rng.integers(start + 1, horizon)), -int(rng.integers(1, 5))
        change_nodes(profile, float(start), float(end), less)
        naive.change(start, end, less)
        assert earliest_time(profile, 0, steps, 3, horizon) == naive.earliest(0, steps, 3, horizon)
    assert by_second(profile, horizon) == naive.free.tolist()


@kernel
def _bisect_right(values: NDArray[np.int64], count: int, value: int) -> int:
    return bisect_right(values, count, value)


@kernel
def _select(values: NDArray[np.float64], count: int, rank: int) -> float:
    return select(values, count, rank)


@kernel
def _sort_by_keys(items: NDArray[np.int64], keys: NDArray[np.float64], count: int) -> None:
    sort_by_keys(items, keys, count)


@given(st.lists(st.integers(-9, 9)), st.integers(0, 5), st.integers(-10, 10))
def test_bisect_right_is_searchsorted(values: list[int], ignored: int, value: int) -> None:
    array = np.array(sorted(values), dtype=np.int64)
    count = max(0, len(array) - ignored)
    assert _bisect_right(array, count, value) == np.searchsorted(array[:count], value, side="right")


@given(st.lists(st.integers(0, 9) | st.floats(0, 1e100), min_size=1), st.data())
def test_select_is_the_sorted_value(values: list[float], data: st.DataObject) -> None:
    array = np.array(values, dtype=np.float64)
    count = data.draw(st.integers(1, len(array)))
    rank = data.draw(st.integers(0, count - 1))
    expected = np.sort(array[:count])[rank]
    rest = array[count:].copy()
    assert _select(array, count, rank) == expected
    assert np.array_equal(array[count:], rest)


@given(st.lists(st.integers(0, 5) | st.floats(-1e100, 1e100)), st.integers(0, 5))
def test_sort_by_keys_is_a_stable_sort(values: list[float], ignored: int) -> None:
    items, keys = np.arange(len(values)), np.array(values, dtype=np.float64)
    count = max(0, len(values) - ignored)
    order = np.argsort(keys[:count], kind="stable")
    expected = [*order.tolist(), *range(count, len(values))]
    sorted_keys = keys[expected]
    _sort_by_keys(items, keys, count)
    assert items.tolist() == expected
    assert np.array_equal(keys, sorted_keys)
