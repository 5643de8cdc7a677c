"""Laws of the profile algebra, each against the list of values per second."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, strategies as st
from strategies import EXPAND_LIMITS, evolution_profiles

from allocsolve.model import EvolutionProfile

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
