from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from naive import longest
from strategies import evolution_problems

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model import (
    EVOLUTION_OBJECTIVES,
    MAX_INTEGER,
    UNLIMITED,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    parse_objective,
)

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
