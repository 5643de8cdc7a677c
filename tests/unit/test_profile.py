"""None"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.errors import AllocsolveError, InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.heuristics import ResourceProfile
from allocsolve.model import MAX_INTEGER, UNLIMITED, EvolutionProblem, EvolutionProfile
from allocsolve.model.profile import expand_ratio, max_expanded_duration

if TYPE_CHECKING:
    from collections.abc import Callable


#: 5 nodes during [0, 3), 10 during [3, 5), 10 again during [5, 6), 2 during [6, 10).
PROFILE = EvolutionProfile(((3, 5), (2, 10), (1, 10), (4, 2)))


def test_the_example_of_the_paper() -> None:
    request = EvolutionProfile(((500, 5), (3600, 10)))
    scheduled = request.expanded((515, 3600)).delayed(2000)
    assert scheduled == EvolutionProfile(((2000, 0), (515, 5), (3600, 10)))
    assert (request.duration, request.peak, request.area) == (4100, 10, 38500)
    assert scheduled.area - request.area == 15 * 5


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (((1, 1), (0, 2)), ("step 1", "duration 0")),
        (((-7, 1),), ("step 0", "duration -7")),
        (((1, -2),), ("step 0", "nodes -2")),
        (((1, 1), (1, 1), (2**53 + 1, 1)), ("step 2", f"duration {2**53 + 1}")),
        (((1, 2**53 + 1),), ("step 0", f"nodes {2**53 + 1}")),
        (((1, 1), (1.1, 2)), ("step 1", "(1.1, 2)")),
        (((1, 2.5),), ("step 0", "(1, 2.5)")),
        (((1, "2"),), ("step 0", "(1, '2')")),
        (((1, None),), ("step 0", "(1, None)")),
        (((1, 2, 3),), ("step 0", "(1, 2, 3)")),
        (((1,),), ("step 0", "(1,)")),
        ((5,), ("step 0", "5")),
        (((math.nan, 1),), ("step 0", "(nan, 1)")),
    ],
)
def test_a_malformed_step_is_named(steps: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidProblem) as caught:
        EvolutionProfile(steps)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    assert isinstance(caught.value, AllocsolveError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "steps",
    [
        [(1, 2), (3, 4)],
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]]),
        ((duration, duration + 1) for duration in (1, 3)),
        zip(np.array([1, 3], dtype=np.uint8), np.array([2, 4]), strict=True),
    ],
)
def test_any_sequence_of_pairs_becomes_plain_integers(steps: Any) -> None:
    profile = EvolutionProfile(steps)
    assert profile.steps == ((1, 2), (3, 4))
    assert all(type(number) is int for step in profile.steps for number in step)
    assert hash(profile) == hash(EvolutionProfile(((1, 2), (3, 4))))


def test_the_input_is_neither_kept_nor_frozen() -> None:
    steps: Any = np.array([[1, 2], [3, 4]])
    profile = EvolutionProfile(steps)
    steps[0, 0] = 99
    assert profile.steps == ((1, 2), (3, 4))
    rows: Any = [[1, 2]]
    profile = EvolutionProfile(rows)
    rows[0][0] = 99
    rows.append([1, 1])
    assert profile.steps == ((1, 2),)


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PROFILE.steps = ()  # type: ignore[misc]  # the test is that it is refused
    anything: Any = PROFILE
    with pytest.raises((AttributeError, TypeError)):
        anything.note = "no"


def test_expanded_refuses_to_shrink_or_to_miscount() -> None:
    with pytest.raises(ValueError, match=r"step 2: duration 0 .* 1"):
        PROFILE.expanded((3, 2, 0, 4))
    with pytest.raises(ValueError, match="3 durations for 4 steps"):
        PROFILE.expanded((3, 2, 1))
    with pytest.raises(ValueError, match="-1"):
        PROFILE.delayed(-1)


@pytest.mark.parametrize(
    ("limit", "duration", "longest"),
    [
        (1, 10, 10),
        (1.5, 501, 751),
        (1.7, 10, 17),  # the double 1.7 is below 17/10
        (np.float64(1.7), 10, 17),
        (1.1, 10, 11),
        (2.3, 100, 230),
        (1.15, 100, 115),
        (1.1, 3 * 10**15, 33 * 10**14),
        (2, 7, 14),
        (3, 10**15, 3 * 10**15),
        (2**53, 10**15, UNLIMITED),
        (math.inf, 1, UNLIMITED),
    ],
)
def test_longest_expansion(limit: float, duration: int, longest: int) -> None:
    assert max_expanded_duration(duration, expand_ratio(limit)) == longest
    request = EvolutionProfile(((duration, 1),))
    if longest < MAX_INTEGER:
        assert EvolutionProfile(((longest, 1),)).is_expansion_of(request, limit)
        assert not EvolutionProfile(((longest + 1, 1),)).is_expansion_of(request, limit)


@pytest.mark.parametrize("limit", [0.99, 0, -1, -math.inf, math.nan])
def test_a_limit_below_one_is_named(limit: float) -> None:
    with pytest.raises(InvalidProblem, match="expand limit") as caught:
        expand_ratio(limit)
    assert repr(limit) in str(caught.value)
    with pytest.raises(InvalidProblem, match="expand limit"):
        PROFILE.is_expansion_of(PROFILE, limit)

    for large in (2.0**53 + 2, 1e308, 2**60):
        with pytest.raises(InvalidProblem, match="beyond 2\\^53; no limit is inf"):
            EvolutionProblem(10, (PROFILE,), expand_limit=large)


ONE = EvolutionProfile([(10, 3), (20, 6)])


def busy() -> ResourceProfile:
    """8 nodes; reservation 1 holds 3 of them on [105, 115) and 6 on [115, 135)."""
    cluster = ResourceProfile(8, origin=100)
    cluster.reserve(105, ONE)
    return cluster


FRACTION = "is not an integer: times are whole, so that sums are exact; "
FRACTION += "round them up, or count all in milliseconds"
EARLY = "is not in 100..2^53 (seconds from the origin on)"
#: Calls that are refused, with what is said of them, by the kind of error.
BAD: dict[type[AllocsolveError], list[tuple[Callable[[Any], object], str]]] = {
    InvalidProblem: [
        (lambda _: ResourceProfile(0), "num_nodes 0 is not in 1..2^53"),
        (lambda _: ResourceProfile(2**53 + 1), "num_nodes 9007199254740993 is not in 1..2^53"),
        (lambda it: it.reserve(100, EvolutionProfile([(1, 9)])), "step 0: 9 nodes on a cluster of 8"),
        (lambda it: it.reserve(100, EvolutionProfile()), "the requested profile has no steps"),
        (lambda it: it.earliest_window(9, 1), "step 0: 9 nodes on a cluster of 8"),
        (lambda it: it.earliest_window(-1, 1), "step 0: nodes -1 is not in 0..2^53"),
        (lambda it: it.earliest_window(1, 0), "step 0: duration 0 is not in 1..2^53"),
        (lambda it: it.earliest_window(1, 1.5), f"duration 1.5 {FRACTION}"),
        (lambda it: it.fit(ONE, 0.5), "expand limit 0.5 is below 1"),
    ],
    InvalidAnswer: [
        (lambda it: it.reserve(100, ONE), "step 1: fewer than 6 of 8 nodes are free on [110, 130)")
    ],
    InvalidOption: [
        (lambda _: ResourceProfile(1.5), "num_nodes 1.5 is not an integer"),  # type: ignore[arg-type]  # without types
        (lambda _: ResourceProfile(1, origin=-1), "origin -1 is not in 0..2^53 (seconds from the origin on)"),
        (lambda it: it.reserve(99, ONE), f"start 99 {EARLY}"),
        (lambda it: it.reserve(2**53 - 29, ONE), f"completion 9007199254740993 {EARLY}"),
        (lambda it: it.reserve(0.5, ONE), f"start 0.5 {FRACTION}"),
        (lambda it: it.earliest_window(1, 1, earliest_start=3), f"earliest_start 3 {EARLY}"),
        (lambda it: it.earliest_window(1, 1, earliest_start=100.5), f"earliest_start 100.5 {FRACTION}"),
        (lambda it: it.used_at(100.5), f"time 100.5 {FRACTION}"),
        (lambda it: it.fit(ONE, earliest_start=-2), f"earliest_start -2 {EARLY}"),
        (lambda it: it.release(2), "reservation 2 is unknown: never made, released or past"),
        (lambda it: it.release(1, since=7), f"since 7 {EARLY}"),
        (lambda it: it.used_at(99), f"time 99 {EARLY}"),
        (lambda it: it.forget(99), f"before 99 {EARLY}"),
    ],
}


@pytest.mark.parametrize(
    ("error", "call", "message"), [(error, *case) for error, cases in BAD.items() for case in cases]
)
def test_bad_calls_are_named_and_change_nothing(
    error: type[AllocsolveError], call: Callable[[ResourceProfile], object], message: str
) -> None:
    cluster = busy()
    before = cluster.occupied()
    with pytest.raises(error) as caught:
        call(cluster)
    assert str(caught.value) == message
    assert cluster.occupied() == before
    cluster.release(1)  # it is still known
    assert cluster.occupied() == EvolutionProfile()


def test_searches_at_the_end_of_time_are_answered() -> None:
    cluster = ResourceProfile(1)
    last = 2**53 - 1
    assert cluster.earliest_window(1, 1, earliest_start=last) == last
    cluster.reserve(last, EvolutionProfile([(1, 1)]))
    assert cluster.used_at(last) == 1
    assert cluster.earliest_window(1, 5) == 0
    assert cluster.free_at(2**53) == 1


def test_a_long_simulation_keeps_the_profile_small() -> None:
    cluster = ResourceProfile(4)
    for now in range(0, 200_000, 10):
        cluster.forget(now)
        cluster.reserve(*cluster.fit(EvolutionProfile([(15, 1 + now // 10 % 2)])))
    assert len(cluster._index.leaves) < 1000
    assert len(cluster._reservations) < 10
