"""Offline solvers of reservations by example."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.bounds.reservation import PriceAscent, node_prices
from allocsolve.errors import InvalidAnswer
from allocsolve.exact.reservation import ReservationCpSat, ReservationPrices
from allocsolve.exact.reservation._model import connected_sets, scaled_term
from allocsolve.instances import shape_counterexamples
from allocsolve.instances.generators.examples import random_reservations, reservation_examples
from allocsolve.judge import certified_bound, reservation_violations
from allocsolve.model import (
    SUCCESSFUL,
    Budget,
    DeadlineJob,
    Limit,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
    Status,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = tuple(reservation_examples())
CROWDED = random_reservations(3, 200, Mesh((8, 4)), load=4.0)
CERTIFICATE: dict[str, Any] = {"method": "prices", "edges": [0, 10], "prices": [3], "unit": 10}


@pytest.mark.parametrize("case", shape_counterexamples(), ids=lambda case: case.name)
def test_a_contiguous_shape_costs_a_job(case: ReservationProblem) -> None:
    result = ReservationCpSat()(case, Budget(seconds=60))
    assert result.status is Status.OPTIMAL
    accepted = case.meta["accepted"]
    assert isinstance(accepted, int)
    assert result.objective == (7 - accepted) / 7
    assert result.answer is not None
    assert reservation_violations(case, result.answer) == ()


def test_equal_terms_are_proven_together() -> None:
    problem = EXAMPLES[6]
    for objective in (("rejected", "unsuccessful"), ("unsuccessful", "rejected-area", "rejected")):
        result = ReservationCpSat(objective)(problem, Budget())
        assert result.status is Status.OPTIMAL


def test_a_run_goes_on_from_an_earlier_one() -> None:
    first = ReservationPrices()(CROWDED, Budget(iterations=2000))
    again = ReservationPrices(start=first.answer, certificate=first.certificate)(
        CROWDED, Budget(iterations=10)
    )
    assert first.objective is not None
    assert again.objective is not None
    assert terms(again.objective) <= terms(first.objective)
    assert terms(again.bound) >= terms(first.bound)
    assert first.limit is Limit.ITERATIONS
    assert list(again.incumbents) == sorted(again.incumbents)


def test_what_cannot_be_gone_on_from_is_refused() -> None:
    problem = ReservationProblem(Mesh((2,)), (DeadlineJob(0, 2, 5, 5),))
    outside = ReservationSchedule.of(problem, {0: (1, [0, 1])})
    with pytest.raises(InvalidAnswer, match="not feasible"):
        ReservationPrices(start=outside)(problem, Budget())
    outcome, holds = (np.array([SUCCESSFUL]), np.array([4.0])), (np.array([0, 2]), np.array([0, 1]))
    executed = ReservationSchedule(*outcome, *holds, np.zeros(2), np.full(2, 5.0), np.array([8.0]))
    with pytest.raises(InvalidAnswer, match="executed"):
        ReservationCpSat(start=executed)(problem, Budget())
    with pytest.raises(InvalidAnswer, match="method"):
        ReservationPrices(certificate={"method": "luck"})(problem, Budget())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"edges": [10, 0]}, "edges of the certificate: 0 after 10, at position 1"),
        ({"prices": [1, 1]}, "2 prices between 2 edges"),
        ({"edges": [0, 2**52], "prices": [2**52]}, "too high"),
    ],
)
def test_certificates_of_no_form_are_refused(change: dict[str, Any], told: str) -> None:
    problem = ReservationProblem(Mesh((2,)), (DeadlineJob(0, 2, 5, 5),))
    with pytest.raises(InvalidAnswer, match=told):
        certified_bound(problem, {**CERTIFICATE, **change}, ("rejected",))
    with pytest.raises(InvalidAnswer, match="not turnaround"):
        certified_bound(problem, CERTIFICATE, ("turnaround",))


def test_a_bound_by_hand() -> None:
    jobs = (DeadlineJob(0, 2, 10, 10), DeadlineJob(0, 2, 10, 10), DeadlineJob(0, 2, 10, 20))
    problem = ReservationProblem(Mesh((2,)), jobs)
    price = {"method": "prices", "edges": [0, 10], "prices": [1], "unit": 20}
    assert certified_bound(problem, price, ("rejected",)) == pytest.approx(1 / 3)
    assert node_prices(problem, "rejected").value == pytest.approx(1 / 3)


def test_weights_that_no_power_of_two_divides_are_bounded_with_care() -> None:
    jobs = tuple(DeadlineJob(0, 1, 10, 10, weight=weight) for weight in (0.1, 0.2, 0.3, 1e-300))
    problem = ReservationProblem(Mesh((2,)), jobs)
    result = ReservationCpSat()(problem, Budget())
    assert result.objective == pytest.approx(1 / 6)
    assert isinstance(result.bound, float)
    assert isinstance(result.objective, float)
    assert 1 / 6 - 1e-9 < result.bound <= result.objective
    assert scaled_term(problem, "rejected").rounding == 4


def test_large_problems_are_not_modelled() -> None:
    result = ReservationCpSat(max_jobs=10)(CROWDED, Budget())
    assert result.status is Status.FEASIBLE
    assert result.limit is Limit.SIZE
    far = ReservationProblem(Mesh((600,)), (DeadlineJob(2**52, 400, 9, 2**52 + 9),) * 3)
    assert ReservationCpSat()(far, Budget()).status is Status.OPTIMAL  # by prices alone


def test_connected_sets_are_counted() -> None:
    sets = connected_sets(Mesh((3, 3)), set(range(1, 10)), 1000)
    assert sets is not None
    assert [len(sets[size]) for size in range(1, 10)] == [9, 12, 22, 36, 49, 48, 32, 9, 1]
    assert connected_sets(Mesh((3, 3)), {5}, 40) is None


def test_prices_rise_with_time() -> None:
    values = []
    for seconds in (1e-6, math.inf):
        ascent = PriceAscent(CROWDED, "rejected")
        ascent.climb(Budget(seconds=seconds).start())
        values.append(ascent.bound().value)
    assert values[0] <= values[1]
    assert values[1] > 0


def test_ctrl_c_ends_the_search(press_ctrl_c: Callable[[], None]) -> None:
    ReservationPrices()(CROWDED, Budget(iterations=100))  # compiled
    press_ctrl_c()
    result = ReservationPrices()(CROWDED, Budget(seconds=120))
    assert result.limit is Limit.INTERRUPTED
    assert result.answer is not None
    assert reservation_violations(CROWDED, result.answer) == ()
    assert result.runtime < 100
