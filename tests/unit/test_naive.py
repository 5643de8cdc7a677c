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
    list_schedule,
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
    EvolutionTerm,
)

LIMITS = st.sampled_from(EXPAND_LIMITS)
OBJECTIVES: tuple[EvolutionObjective, ...] = (
    ("makespan",),
    ("completion",),
    ("waste",),
    ("makespan", "waste"),
    ("completion", "makespan"),
    ("waste", "completion"),
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


def test_a_step_that_may_not_be_held_waits_for_the_next_gap() -> None:
    """Both nodes are free during [0, 1), [3, 4) and from 6 on, one node in between."""
    occupied = EvolutionProfile(((1, 0), (2, 1), (1, 0), (2, 1)))
    request = EvolutionProfile(((1, 2), (1, 1), (1, 2)))
    assert earliest_fit(request, occupied, 2, 1) == (6, (1, 1, 1))
    assert earliest_fit(request, occupied, 2, 1.5) == (6, (1, 1, 1))
    assert earliest_fit(request, occupied, 2, 2) == (0, (1, 2, 1))
    assert latest_fit(request, occupied, 2, 2, 7) == (3, (1, 2, 1))


def test_the_first_step_is_delayed_and_the_others_are_expanded() -> None:
    """One node is always there, two only from second 6 on."""
    occupied = EvolutionProfile(((6, 1),))
    request = EvolutionProfile(((1, 1), (1, 1), (1, 2)))
    assert earliest_fit(request, occupied, 2, math.inf) == (0, (1, 5, 1))
    assert latest_fit(request, occupied, 2, math.inf, 7) == (4, (1, 1, 1))
    assert earliest_fit(request, occupied, 2, 3) == (2, (1, 3, 1))
    assert earliest_fit(request, occupied, 2, 1) == (4, (1, 1, 1))
    assert earliest_fit(EvolutionProfile(((1, 1), (1, 2))), occupied, 2, math.inf) == (5, (1, 1))


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


@given(evolution_problems(max_apps=2, max_steps=2, max_duration=2, max_nodes=3, releases=True))
def test_more_time_than_the_horizon_is_of_no_use(problem: EvolutionProblem) -> None:
    assume(problem.horizon <= 7)
    for objective in OBJECTIVES:
        least = min(
            objective_values(problem, schedule, objective)
            for schedule in all_schedules(problem, problem.horizon + 2)
        )
        assert optimum(problem, objective) == least


@given(evolution_problems(max_steps=2, releases=True), st.data())
def test_list_schedules_are_schedules_and_no_better_than_the_optimum(
    problem: EvolutionProblem, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(problem.applications))))
    schedule = list_schedule(problem, order)
    assert not violates(problem, schedule)
    for objective in OBJECTIVES:
        assert optimum(problem, objective) <= objective_values(problem, schedule, objective)


@given(evolution_problems(max_apps=2))
def test_waste_alone_is_always_avoidable(problem: EvolutionProblem) -> None:
    assert optimum(problem, ("waste",)) == (0,)
    assert optimum(problem, ("waste", "makespan"))[0] == 0


def test_optima_by_hand() -> None:
    up, down = EvolutionProfile(((1, 1), (1, 2))), EvolutionProfile(((3, 1),))
    rigid = EvolutionProblem(2, (up, down), expand_limit=1)
    assert optimum(rigid, ("makespan",)) == (4,)
    assert optimum(rigid, ("completion",)) == (3.5,)
    assert optimum(rigid, ("completion", "makespan")) == (3.5, 4)
    three = EvolutionProblem(2, (EvolutionProfile(((1, 1), (1, 1), (1, 2))), EvolutionProfile(((4, 1),))))
    assert optimum(three, ("makespan", "waste")) == (5, 0)
    empty = EvolutionProblem(1, ())
    assert optimum(empty, ("makespan", "completion", "waste")) == (0, 0, 0)


def test_expansion_can_be_worth_its_waste() -> None:
    """The first application stretches its valley so that the second fits into it."""
    long_valley, short_valley = (
        EvolutionProfile(((1, 2), (2, 1), (1, 2))),
        EvolutionProfile(((1, 2), (1, 1), (1, 2))),
    )
    filler = EvolutionProfile(((4, 1),))

    def best(valley: EvolutionProfile, limit: float, *objective: EvolutionTerm) -> tuple[float, ...]:
        return optimum(EvolutionProblem(2, (valley, filler), expand_limit=limit), objective)

    limits = (1, 1.5, 2, math.inf)
    assert [best(long_valley, limit, "makespan", "waste") for limit in limits] == [
        (8, 0),
        (8, 0),
        (6, 2),
        (6, 2),
    ]
    assert [best(short_valley, limit, "makespan", "waste") for limit in limits] == [
        (7, 0),
        (7, 0),
        (7, 0),
        (6, 3),
    ]
    assert best(long_valley, math.inf, "waste", "makespan") == (0, 8)


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
