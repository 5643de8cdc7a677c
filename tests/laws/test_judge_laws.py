"""The judge against a second-by-second simulation, and its messages."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import evolution_problems, evolution_schedules

from allocsolve import EvolutionProblem, EvolutionProfile, EvolutionSchedule, Result, Status
from allocsolve.errors import InvalidAnswer
from allocsolve.judge import (
    application_metrics,
    confirm,
    evolution_metrics,
    evolution_value,
    evolution_violations,
)
from allocsolve.model import EVOLUTION_OBJECTIVES


@st.composite
def problems_with_schedules(draw: st.DrawFn) -> tuple[EvolutionProblem, EvolutionSchedule]:
    """Any schedule with the right number of steps: mostly wrong, sometimes by one second."""
    problem = draw(evolution_problems(max_apps=3, releases=True))
    return problem, draw(evolution_schedules(problem))


@given(problems_with_schedules())
def test_violations_are_those_of_the_simulation(case: tuple[EvolutionProblem, EvolutionSchedule]) -> None:
    problem, schedule = case
    assert bool(evolution_violations(problem, schedule)) == naive.violates(problem, schedule)


@given(problems_with_schedules(), st.permutations(EVOLUTION_OBJECTIVES))
def test_values_are_those_of_the_simulation(
    case: tuple[EvolutionProblem, EvolutionSchedule], objective: list[str]
) -> None:
    problem, schedule = case
    terms = tuple(objective)
    found = evolution_value(problem, schedule, terms)  # type: ignore[arg-type]  # a permutation of the terms
    assert found == naive.objective_values(problem, schedule, terms)  # type: ignore[arg-type]  # a permutation of the terms


PROBLEM = EvolutionProblem(
    10,
    (EvolutionProfile([(10, 4), (20, 8)]), EvolutionProfile([(30, 3)])),
    releases=(5, 0),
    expand_limit=1.5,
    application_names=("climate", "mesh"),
)


@pytest.mark.parametrize(
    ("starts", "profiles", "message"),
    [
        (
            [4, 35],
            [[(10, 4), (20, 8)], [(30, 3)]],
            "application 'climate' starts at 4 s, before its release at 5 s",
        ),
        (
            [5, 36],
            [[(16, 4), (20, 8)], [(30, 3)]],
            "application 'climate', step 0 is expanded from 10 s to 16 s, beyond the limit of 1.5",
        ),
        (
            [5, 35],
            [[(10, 4), (19, 8)], [(30, 3)]],
            "application 'climate', step 1 lasts 19 s, requested are 20 s",
        ),
        (
            [5, 35],
            [[(10, 4), (20, 7)], [(30, 3)]],
            "application 'climate', step 1 holds 7 nodes, requested are 8",
        ),
        ([5, 35], [[(30, 8)], [(30, 3)]], "application 'climate' has 1 steps, requested are 2"),
        (
            [5, 0],
            [[(10, 4), (20, 8)], [(30, 3)]],
            "from 15 s to 30 s up to 11 nodes are held (first at 15 s) on a cluster of 10",
        ),
        ([5], [[(10, 4), (20, 8)]], "1 scheduled applications for 2 requested"),
    ],
)
def test_messages_name_application_step_time_and_value(
    starts: list[int], profiles: list[list[tuple[int, int]]], message: str
) -> None:
    schedule = EvolutionSchedule.of(starts, [EvolutionProfile(steps) for steps in profiles])
    assert message in evolution_violations(PROBLEM, schedule)


def test_metrics_by_hand() -> None:
    schedule = EvolutionSchedule.of(
        [5, 38], [EvolutionProfile([(13, 4), (20, 8)]), EvolutionProfile([(30, 3)])]
    )
    assert not evolution_violations(PROBLEM, schedule)
    found = evolution_metrics(PROBLEM, schedule)
    assert (found.makespan, found.mean_completion, found.mean_turnaround) == (68, 53.0, 50.5)
    assert (found.mean_waiting, found.total_waste, found.useful_area) == (19.0, 12, 290)
    assert found.allocated_area == 302
    assert found.waste == 12 / 290
    assert found.effective_utilisation == 290 / 680
    assert found.expanded == 0.5
    assert math.isclose(found.max_expansion, 0.1)
    assert found.max_application_waste == 12 / 200
    rigid = evolution_metrics(PROBLEM, schedule, rigid=True)
    assert rigid.allocated_area == 8 * 33 + 90
    assert application_metrics(PROBLEM, schedule).waiting.tolist() == [0, 38]


def test_sums_beyond_64_bits_are_refused() -> None:
    schedule = EvolutionSchedule(
        np.array([0, 0]), np.array([0, 2, 3]), np.array([2**62, 2**62, 1]), np.array([4, 8, 3])
    )
    with pytest.raises(InvalidAnswer, match=r"times of the schedule add up to 9\.22e\+18, beyond 2\^62"):
        evolution_violations(PROBLEM, schedule)


class TestConfirm:
    """Claims that the judge does not confirm are refused; a bound that is met is a proof."""

    answer = EvolutionSchedule.of(
        [5, 35], [EvolutionProfile([(10, 4), (20, 8)]), EvolutionProfile([(30, 3)])]
    )

    def test_fills_in_the_value(self) -> None:
        found = confirm(PROBLEM, Result(Status.FEASIBLE, self.answer), ("makespan", "waste"))
        assert (found.objective, found.status) == ((65, 0), Status.FEASIBLE)

    def test_a_met_bound_is_a_proof(self) -> None:
        found = confirm(PROBLEM, Result(Status.FEASIBLE, self.answer, bound=65), ("makespan",))
        assert found.status is Status.OPTIMAL

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            (Result(Status.FEASIBLE, answer, 64), "claims makespan 64, the judge finds 65"),
            (Result(Status.FEASIBLE, answer, bound=66), "claims the bound 66, its own answer has 65"),
            (
                Result(Status.FEASIBLE, EvolutionSchedule.of([0, 0], [answer.profile(0), answer.profile(1)])),
                r"not feasible: application 'climate' starts at 0 s, .* \(and 1 more\)",
            ),
        ],
    )
    def test_refuses(self, result: Result[EvolutionSchedule], message: str) -> None:
        with pytest.raises(InvalidAnswer, match=message):
            confirm(PROBLEM, result, ("makespan",))
