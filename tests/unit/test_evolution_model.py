"""Profiles, evolution problems, schedules and the resource profile: what they hold and refuse."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from naive import longest
from strategies import evolution_problems

from allocsolve.errors import AllocsolveError, InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.heuristics import ResourceProfile
from allocsolve.model import (
    EVOLUTION_OBJECTIVES,
    MAX_INTEGER,
    UNLIMITED,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    parse_objective,
)
from allocsolve.model.profile import expand_ratio, max_expanded_duration

if TYPE_CHECKING:
    from collections.abc import Callable


ONE = EvolutionProfile(((3, 5), (2, 8)))
TWO = EvolutionProfile(((4, 1),))
PROBLEM = EvolutionProblem(8, (ONE, TWO), releases=(0, 7), expand_limit=1.5, name="small")
SCHEDULE = EvolutionSchedule.of([2, 7], [ONE.expanded((4, 2)), TWO])


def make(**changes: Any) -> EvolutionProblem:
    """The problem with some fields changed, whatever their types."""
    fields: dict[str, Any] = {"num_nodes": 8, "applications": (ONE, TWO)}
    return EvolutionProblem(**fields | changes)


PROBLEM_FIELDS = {field.name for field in dataclasses.fields(EvolutionProblem)}


def arrays(**changes: Any) -> dict[str, Any]:
    return {"starts": [2, 7], "offsets": [0, 2, 3], "durations": [4, 2, 4], "nodes": [5, 8, 1]} | changes


# --- problems ------------------------------------------------------------------------------------------


def test_defaults() -> None:
    problem = make()
    assert (problem.releases, problem.application_names, problem.meta) == ((0, 0), ("a0", "a1"), {})
    assert (problem.horizon, problem.area, problem.expand_limit) == (9, 35, math.inf)
    empty = make(applications=())
    assert (empty.horizon, empty.area, empty.releases) == (0, 0, ())
    assert [len(array) for array in empty.packed] == [1, 0, 0, 0, 0]


@given(evolution_problems(max_apps=4, max_duration=9, releases=True))
def test_packed_says_the_same_as_the_profiles(problem: EvolutionProblem) -> None:
    packed = problem.packed
    assert packed.releases.tolist() == list(problem.releases)
    assert len(packed.offsets) == len(problem.applications) + 1
    for idx, app in enumerate(problem.applications):
        steps = slice(packed.offsets[idx], packed.offsets[idx + 1])
        assert packed.durations[steps].tolist() == list(app.durations)
        assert packed.nodes[steps].tolist() == list(app.nodes)
        most = [min(longest(duration, problem.expand_limit), UNLIMITED) for duration in app.durations]
        assert packed.max_durations[steps].tolist() == most
    assert len(packed.durations) == len(packed.nodes) == len(packed.max_durations) == packed.offsets[-1]
    for array in packed:
        assert array.dtype == np.int64
        assert not array.flags.writeable


@pytest.mark.parametrize(
    "changes",
    [
        {"num_nodes": 9},
        {"applications": (TWO, ONE)},
        {"releases": (0, 8)},
        {"expand_limit": 2},
        {"name": "other"},
        {"application_names": ("x", "y")},
    ],
)
def test_replace_and_inequality(changes: Any) -> None:
    other = dataclasses.replace(PROBLEM, **changes)
    assert other != PROBLEM
    for name, value in changes.items():
        assert getattr(other, name) == value
    fields = ("num_nodes", "applications", "releases", "expand_limit", "name", "application_names")
    fresh = EvolutionProblem(*(getattr(other, name) for name in fields))
    assert fresh == other
    for mine, theirs in zip(other.packed, fresh.packed, strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_nodes": 0}, ("num_nodes", "0")),
        ({"num_nodes": -3}, ("num_nodes", "-3")),
        ({"num_nodes": 2**53 + 1}, ("num_nodes", str(2**53 + 1))),
        ({"num_nodes": math.nan}, ("num_nodes", "nan")),
        ({"num_nodes": 7}, ("'a0'", "step 1", "8 nodes", "7")),
        ({"num_nodes": 7, "application_names": ("big", "b")}, ("'big'", "step 1", "8 nodes", "7")),
        ({"applications": (ONE, EvolutionProfile())}, ("'a1'", "no steps")),
        ({"releases": (1,)}, ("1 releases", "2 applications")),
        ({"releases": (1, 2, 3)}, ("3 releases", "2 applications")),
        ({"releases": (0, -5)}, ("'a1'", "release -5")),
        ({"releases": (2**53 + 1, 0)}, ("'a0'", f"release {2**53 + 1}")),
        ({"application_names": ("x",)}, ("1 application names", "2 applications")),
        ({"application_names": ("x", "x")}, ("'x'", "twice")),
        ({"expand_limit": 0.5}, ("expand limit", "0.5")),
        ({"expand_limit": math.nan}, ("expand limit", "nan")),
        ({"expand_limit": -math.inf}, ("expand limit", "-inf")),
        ({"releases": (0, MAX_INTEGER)}, (str(MAX_INTEGER + 9), "2^53")),
        (
            {"num_nodes": 2**20, "applications": (EvolutionProfile(((2**43, 1),)),)},
            (str(2**43), str(2**20), "2^62"),
        ),
        ({"starts": [2]}, ("starts", "(1,)", "(3,)")),
        ({"starts": [[2, 7]]}, ("starts", "(1, 2)", "(3,)")),
        ({"starts": 2}, ("starts", "()", "(3,)")),
        ({"offsets": []}, ("starts", "(2,)", "(0,)")),
        ({"offsets": [[0, 2, 3]]}, ("offsets", "(2,)", "(1, 3)")),
        ({"offsets": [1, 2, 3]}, ("offsets",)),
        ({"offsets": [0, 0, 3]}, ("offsets",)),
        ({"offsets": [0, 3, 2]}, ("offsets",)),
        ({"durations": [4, 2]}, ("(2,) durations", "3 steps")),
        ({"nodes": [5, 8, 1, 1]}, ("(4,) nodes", "3 steps")),
        ({"offsets": [0, 2, 4]}, ("(3,) durations", "(3,) nodes", "4 steps")),
    ],
)
def test_what_is_wrong_is_named(changes: Any, words: tuple[str, ...]) -> None:
    with pytest.raises((InvalidProblem, InvalidAnswer)) as caught:
        _ = make(**changes) if {*changes} <= PROBLEM_FIELDS else EvolutionSchedule(**arrays(**changes))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_limits_of_size_are_allowed() -> None:
    problem = make(num_nodes=2**20, applications=(EvolutionProfile(((2**42, 2**20),)),))
    assert problem.area == problem.horizon * problem.num_nodes == 2**62
    assert make(num_nodes=512, applications=(EvolutionProfile(((2**53, 1),)),)).horizon == MAX_INTEGER


def test_numpy_integers_become_plain_ones() -> None:
    numbers = {"num_nodes": np.int64(8), "releases": np.array([0, 7]), "expand_limit": np.float64(1.5)}
    problem = make(**numbers, name="small")
    assert problem == PROBLEM
    assert hash(problem) == hash(PROBLEM)
    assert type(problem.num_nodes) is int
    assert all(type(release) is int for release in problem.releases)


def test_any_sequence_will_do_and_is_not_kept() -> None:
    apps, names, releases = [ONE, TWO], ["x", "y"], [1, 2]
    problem = make(applications=apps, application_names=names, releases=releases)
    apps.pop()
    names[0] = "z"
    releases[0] = 99
    assert problem.applications == (ONE, TWO)
    assert problem.application_names == ("x", "y")
    assert problem.releases == (1, 2)
    assert hash(problem)


# --- objectives ----------------------------------------------------------------------------------------


def test_objectives_are_read() -> None:
    for text, objective in {
        "waste": ("waste",),
        "makespan,waste": ("makespan", "waste"),
        "waste, makespan , completion": ("waste", "makespan", "completion"),
    }.items():
        assert parse_objective(text, EVOLUTION_OBJECTIVES) == objective


# --- schedules -----------------------------------------------------------------------------------------


def test_a_schedule_reads_back() -> None:
    assert SCHEDULE.starts.tolist() == [2, 7]
    assert SCHEDULE.offsets.tolist() == [0, 2, 3]
    assert SCHEDULE.durations.tolist() == [4, 2, 4]
    assert SCHEDULE.nodes.tolist() == [5, 8, 1]
    assert SCHEDULE.completions.tolist() == [8, 11]
    assert SCHEDULE.profile(0) == ONE.expanded((4, 2))
    assert SCHEDULE.scheduled(0).steps == ((2, 0), (4, 5), (2, 8))
    assert SCHEDULE.scheduled(1).steps == ((7, 0), (4, 1))


def test_equality_and_hash_are_those_of_the_contents() -> None:
    twin = EvolutionSchedule(**arrays())
    assert twin == SCHEDULE
    assert hash(twin) == hash(SCHEDULE)
    assert len({twin, SCHEDULE}) == 1
    assert SCHEDULE != "schedule"
    assert EvolutionSchedule.of([], []) == EvolutionSchedule.of([], []) != SCHEDULE
    different = {"starts": [2, 8], "durations": [4, 2, 5], "nodes": [5, 8, 2], "offsets": [0, 1, 3]}
    for name, values in different.items():
        assert EvolutionSchedule(**arrays(**{name: values})) != SCHEDULE


def test_input_arrays_stay_free() -> None:
    given_arrays = {name: np.array(values) for name, values in arrays().items()}
    schedule = EvolutionSchedule(**given_arrays)
    for array in given_arrays.values():
        assert array.flags.writeable
        array[...] = 99
    assert schedule == SCHEDULE


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    for starts, apps in (([1], [ONE, TWO]), ([1, 2], [ONE, EvolutionProfile()])):
        with pytest.raises(InvalidAnswer):
            EvolutionSchedule.of(starts, apps)


@pytest.mark.parametrize("name", ["starts", "durations"])
def test_times_are_never_rounded_in_silence(name: str) -> None:
    values = [float(value) + 0.5 for value in arrays()[name]]
    with pytest.raises((InvalidAnswer, TypeError)):
        EvolutionSchedule(**arrays(**{name: values}))


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


RESERVED = EvolutionProfile([(10, 3), (20, 6)])


def busy() -> ResourceProfile:
    """8 nodes; reservation 1 holds 3 of them on [105, 115) and 6 on [115, 135)."""
    cluster = ResourceProfile(8, origin=100)
    cluster.reserve(105, RESERVED)
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
        (lambda it: it.fit(RESERVED, 0.5), "expand limit 0.5 is below 1"),
    ],
    InvalidAnswer: [
        (lambda it: it.reserve(100, RESERVED), "step 1: fewer than 6 of 8 nodes are free on [110, 130)")
    ],
    InvalidOption: [
        (lambda _: ResourceProfile(1.5), "num_nodes 1.5 is not an integer"),  # type: ignore[arg-type]  # without types
        (lambda _: ResourceProfile(1, origin=-1), "origin -1 is not in 0..2^53 (seconds from the origin on)"),
        (lambda it: it.reserve(99, RESERVED), f"start 99 {EARLY}"),
        (lambda it: it.reserve(2**53 - 29, RESERVED), f"completion 9007199254740993 {EARLY}"),
        (lambda it: it.reserve(0.5, RESERVED), f"start 0.5 {FRACTION}"),
        (lambda it: it.earliest_window(1, 1, earliest_start=3), f"earliest_start 3 {EARLY}"),
        (lambda it: it.earliest_window(1, 1, earliest_start=100.5), f"earliest_start 100.5 {FRACTION}"),
        (lambda it: it.used_at(100.5), f"time 100.5 {FRACTION}"),
        (lambda it: it.fit(RESERVED, earliest_start=-2), f"earliest_start -2 {EARLY}"),
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
