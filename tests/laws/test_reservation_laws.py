"""Model, files and judge of reservations against the definitions."""

from __future__ import annotations

import naive_reservation as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from reservation_strategies import reservation_problems, reservation_schedules

from allocsolve.bounds.reservation_capacity import reservation_capacity_bound
from allocsolve.judge import reservation_metrics, reservation_value, reservation_violations
from allocsolve.model import RESERVATION_OBJECTIVES, ReservationProblem, ReservationSchedule


@st.composite
def cases(draw: st.DrawFn) -> tuple[ReservationProblem, ReservationSchedule]:
    problem = draw(reservation_problems(may_leak=True))
    return problem, draw(reservation_schedules(problem))


@given(cases())
def test_the_judge_is_its_definition(case: tuple[ReservationProblem, ReservationSchedule]) -> None:
    problem, schedule = case
    faults = reservation_violations(problem, schedule)
    assert (faults == ()) == naive.is_feasible(problem, schedule), faults
    for term in RESERVATION_OBJECTIVES:
        expected = naive.value(problem, schedule, term)
        assert reservation_value(problem, schedule, [term]) == pytest.approx(expected, rel=1e-12)


@given(cases())
def test_mean_hops_are_over_all_pairs(case: tuple[ReservationProblem, ReservationSchedule]) -> None:
    problem, schedule = case
    sets = [{hold.node for hold in schedule.holds(idx)} for idx in range(len(problem.jobs))]
    expected = [naive.mean_hops(problem.topology, nodes) for nodes in sets if len(nodes) > 1]
    measured = reservation_metrics(problem, schedule).mean_hops
    assert measured == pytest.approx(np.mean(expected) if expected else 0)


@given(cases())
def test_the_capacity_bound_is_below_every_schedule(
    case: tuple[ReservationProblem, ReservationSchedule],
) -> None:
    problem, schedule = case
    if naive.is_feasible(problem, schedule):
        for term in RESERVATION_OBJECTIVES:
            assert reservation_capacity_bound(problem, term) <= naive.value(problem, schedule, term)
