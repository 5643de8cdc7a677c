"""The slow twins against each other and against plain enumeration."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given, strategies as st
from naive import (
    NaiveFit,
    all_schedules,
    earliest_fit,
    latest_fit,
    longest,
    objective_values,
    violates,
)
from naive_optimum import optimum
from strategies import EXPAND_LIMITS, evolution_problems, evolution_profiles, occupied_profiles

from allocsolve.model import (
    EvolutionObjective,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
)

LIMITS = st.sampled_from(EXPAND_LIMITS)
OBJECTIVES: tuple[EvolutionObjective, ...] = (
    *(("makespan",), ("completion",), ("waste",)),
    *(("makespan", "waste"), ("completion", "makespan"), ("waste", "completion")),
)
NUM_NODES = 4


@st.composite
def fits(
    draw: st.DrawFn, max_steps: int = 5, max_duration: int = 4
) -> tuple[EvolutionProfile, EvolutionProfile, int, float, int]:
    """Arguments of a fit function."""
    return (
        draw(evolution_profiles(max_steps=max_steps, max_duration=max_duration)),
        draw(occupied_profiles(NUM_NODES)),
        NUM_NODES,
        draw(LIMITS),
        draw(st.integers(0, 6)),
    )


def free(occupied: EvolutionProfile, nodes: int, begin: int, end: int) -> bool:
    return all(occupied.value(t) + nodes <= NUM_NODES for t in range(begin, end))


def placements(
    request: EvolutionProfile, occupied: EvolutionProfile, expand_limit: float, first: int, last: int
) -> list[tuple[int, ...]]:
    """All starts of the steps followed by the completion, between two times; any step may be expanded."""
    return [
        times
        for times in itertools.combinations(range(first, last + 1), len(request.steps) + 1)
        if all(
            duration <= end - begin <= longest(duration, expand_limit) and free(occupied, nodes, begin, end)
            for (duration, nodes), (begin, end) in zip(request.steps, itertools.pairwise(times), strict=True)
        )
    ]


def ends(fit: NaiveFit) -> tuple[int, ...]:
    """The starts of the steps followed by the completion."""
    return tuple(itertools.accumulate(fit.durations, initial=fit.start))


# --- fits ----------------------------------------------------------------------------------------------


@given(fits(max_steps=3, max_duration=2))
def test_the_earliest_fit_is_the_least_of_all_placements(
    case: tuple[EvolutionProfile, EvolutionProfile, int, float, int],
) -> None:
    request, occupied, _, limit, first = case
    last = min(max(first, occupied.duration) + request.duration, first + 14)
    every = placements(request, occupied, limit, first, last)
    assume(every)
    least = [min(column) for column in zip(*every, strict=True)]
    fit = earliest_fit(*case)
    assert ends(fit) in every
    assert list(ends(fit)[1:]) == least[1:]
    assert fit.durations[0] == request.durations[0]
    assert fit.durations[-1] == request.durations[-1]


@given(fits(max_steps=3, max_duration=2), st.integers(0, 12))
def test_the_latest_fit_is_the_greatest_of_all_placements(
    case: tuple[EvolutionProfile, EvolutionProfile, int, float, int], length: int
) -> None:
    request, occupied, num_nodes, limit, first = case
    completion = first + length
    every = [
        times
        for times in placements(request, occupied, limit, first, completion)
        if times[-1] == completion and times[-1] - times[-2] == request.durations[-1]
    ]
    if every:
        fit = latest_fit(request, occupied, num_nodes, limit, completion, first)
        assert ends(fit) in every
        assert list(ends(fit)) == [max(column) for column in zip(*every, strict=True)]
        assert fit.durations[0] == request.durations[0]
    else:
        with pytest.raises(ValueError, match=f"ends at {completion}"):
            latest_fit(request, occupied, num_nodes, limit, completion, first)


def test_the_limit_is_read_as_a_decimal() -> None:
    assert longest(10, 1.7) == 17
    assert longest(501, 1.5) == 751
    assert longest(3, 1) == 3
    assert math.isinf(longest(3, math.inf))


# --- schedules -----------------------------------------------------------------------------------------


@given(evolution_problems(max_apps=2, max_steps=2, max_duration=2, max_nodes=3, releases=True))
def test_the_optimum_is_the_least_of_all_schedules(problem: EvolutionProblem) -> None:
    values = [
        objective_values(problem, schedule, ("makespan", "completion", "waste"))
        for schedule in all_schedules(problem)
    ]
    position = {"makespan": 0, "completion": 1, "waste": 2}
    for objective in OBJECTIVES:
        least = min(tuple(value[position[term]] for term in objective) for value in values)
        assert optimum(problem, objective) == least


# --- violations ----------------------------------------------------------------------------------------

PAIR = EvolutionProblem(
    3,
    (EvolutionProfile(((2, 2), (3, 1))), EvolutionProfile(((2, 2),))),
    releases=(1, 0),
    expand_limit=1.5,
)


def scheduled(starts: list[int], *profiles: tuple[tuple[int, int], ...]) -> EvolutionSchedule:
    return EvolutionSchedule.of(starts, [EvolutionProfile(steps) for steps in profiles])


@pytest.mark.parametrize(
    ("schedule", "wrong"),
    [
        (scheduled([1, 3], ((2, 2), (3, 1)), ((2, 2),)), False),
        (scheduled([1, 4], ((3, 2), (4, 1)), ((3, 2),)), False),
        (scheduled([2, 0], ((2, 2), (3, 1)), ((2, 2),)), False),
        (scheduled([1, 4], ((4, 2), (3, 1)), ((2, 2),)), True),  # expanded beyond 3
        (scheduled([1, 4], ((2, 2), (5, 1)), ((2, 2),)), True),  # beyond floor(4.5)
        (scheduled([1, 3], ((2, 2), (2, 1)), ((2, 2),)), True),  # too short
        (scheduled([0, 3], ((2, 2), (3, 1)), ((2, 2),)), True),  # before its release
        (scheduled([1, -2], ((2, 2), (3, 1)), ((2, 2),)), True),
        (scheduled([1, 2], ((2, 2), (3, 1)), ((2, 2),)), True),  # four nodes at second 2
        (scheduled([1, 1], ((2, 2), (3, 1)), ((2, 2),)), True),
        (scheduled([1, 3], ((2, 2), (3, 2)), ((2, 2),)), True),  # other nodes
        (scheduled([1, 3], ((5, 2),), ((2, 2),)), True),  # other steps
        (scheduled([1], ((2, 2), (3, 1))), True),  # an application is missing
        (scheduled([1, 3, 9], ((2, 2), (3, 1)), ((2, 2),), ((1, 1),)), True),
    ],
)
def test_violations(schedule: EvolutionSchedule, wrong: bool) -> None:
    assert violates(PAIR, schedule) is wrong
