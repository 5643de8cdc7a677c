from __future__ import annotations

import dataclasses
import math
import time
from typing import Any

import pytest

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.model import Budget, Limit, Result, Status

# --- budgets -------------------------------------------------------------------------------------------


def test_a_budget_is_unlimited_by_default() -> None:
    budget = Budget()
    assert (budget.seconds, budget.iterations, budget.workers, budget.seed) == (math.inf, None, 1, 0)
    assert math.isinf(budget.start().remaining)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seconds": 0}, ("seconds", "0")),
        ({"seconds": -1.5}, ("seconds", "-1.5")),
        ({"seconds": math.nan}, ("seconds", "nan")),
        ({"iterations": -1}, ("iterations", "-1")),
        ({"workers": 0}, ("workers", "0")),
        ({"workers": -2}, ("workers", "-2")),
        ({"seed": -1}, ("seed", "-1")),
        ({"seed": 2**31}, ("seed", str(2**31))),
    ],
)
def test_what_is_wrong_with_a_budget_is_named(options: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidOption) as caught:
        Budget(**options)
    for word in words:
        assert word in str(caught.value)


def test_the_edges_of_a_budget_are_allowed() -> None:
    budget = Budget(seconds=1e-9, iterations=0, workers=1, seed=2**31 - 1)
    assert dataclasses.replace(budget, workers=2) == Budget(1e-9, 0, 2, 2**31 - 1)
    assert hash(budget) == hash(dataclasses.replace(budget))
    with pytest.raises(dataclasses.FrozenInstanceError):
        budget.seed = 3  # type: ignore[misc]  # the test is that it is refused


def test_the_clock_runs_from_its_start() -> None:
    clock = Budget(seconds=0.02).start()
    first = clock.elapsed
    assert first >= 0
    assert clock.remaining <= 0.02
    time.sleep(0.03)
    assert clock.elapsed >= first + 0.02
    assert clock.remaining == 0
    assert Budget(seconds=60).start().remaining > 30


# --- results -------------------------------------------------------------------------------------------


#: What an answer claims.
UNKNOWN, NONE = {"status": Status.UNKNOWN}, {"status": Status.INFEASIBLE}
FEASIBLE, OPTIMAL = ({"status": status, "answer": "a"} for status in (Status.FEASIBLE, Status.OPTIMAL))
TIMED: dict[str, Any] = {**FEASIBLE, "objective": 3.0, "bound": 3.0, "limit": Limit.TIME}


@pytest.mark.parametrize(
    "claims",
    [
        UNKNOWN,
        {**UNKNOWN, "limit": Limit.TIME, "bound": 3.0},
        {**UNKNOWN, "limit": Limit.SIZE},
        NONE,
        FEASIBLE,
        {**FEASIBLE, "objective": 3.0},
        {**FEASIBLE, "bound": 3.0},
        TIMED,
        {**FEASIBLE, "objective": (3.0, 1.0), "bound": (2.0, 9.0)},
        {**FEASIBLE, "objective": (3.0, 1.0), "bound": 3.0},
        {**FEASIBLE, "objective": (3.0, 1.0)},
        {**OPTIMAL, "objective": 3, "bound": 3.0},
        {**OPTIMAL, "objective": 0.0, "bound": 0.0},
        {**OPTIMAL, "objective": (3.0, 1.0), "bound": (3.0, 1.0)},
    ],
)
def test_claims_that_go_together(claims: Any) -> None:
    result: Result[str] = Result(**claims)
    assert dataclasses.replace(result, runtime=2.5).runtime == 2.5
    assert dataclasses.replace(result) == result


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"status": Status.OPTIMAL, "objective": 3, "bound": 3}, ("optimal", "without an answer")),
        ({"status": Status.FEASIBLE}, ("feasible", "without an answer")),
        ({**NONE, "answer": "a"}, ("infeasible", "with an answer")),
        ({**UNKNOWN, "answer": "a"}, ("unknown", "with an answer")),
        ({**UNKNOWN, "objective": 3}, ("objective 3", "without an answer")),
        ({**NONE, "objective": 3}, ("objective 3", "without an answer")),
        ({**FEASIBLE, "objective": 3, "bound": 4}, ("bound 4", "objective 3")),
        ({**FEASIBLE, "objective": (3, 1), "bound": (3, 2)}, ("bound (3, 2)", "objective (3, 1)")),
        (OPTIMAL, ("optimal", "None", "-inf")),
        ({**OPTIMAL, "objective": 3}, ("optimal", "3", "-inf")),
        ({**OPTIMAL, "objective": 3, "bound": 2}, ("optimal", "3", "2")),
        ({**OPTIMAL, "objective": (3, 1), "bound": (3, 0)}, ("optimal", "(3, 1)", "(3, 0)")),
        ({**OPTIMAL, "objective": math.nan, "bound": math.nan}, ("nan",)),
        ({**TIMED, "status": Status.OPTIMAL}, ("optimal", "time")),
        ({**NONE, "limit": Limit.INTERRUPTED}, ("infeasible", "interrupted")),
        ({**UNKNOWN, "incumbents": ((2.0, 7), (1.0, 6))}, ("(1.0, 6)", "(2.0, 7)")),
        ({**UNKNOWN, "incumbents": ((1.0, (7, 2)), (2.0, (7, 2)))}, ("(2.0, (7, 2))",)),
    ],
)
def test_contradictions_are_named(claims: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidAnswer, match="contradictory") as caught:
        Result(**claims)
    for word in words:
        assert word in str(caught.value)


def test_no_bound_is_minus_infinity_and_no_answer_is_none() -> None:
    result: Result[str] = Result(Status.UNKNOWN)
    assert result.bound == -math.inf
    assert result.answer is None
    assert result.objective is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.bound = 0  # type: ignore[misc]  # the test is that it is refused


def test_statuses_and_limits_are_their_words() -> None:
    assert [str(status) for status in Status] == ["optimal", "feasible", "infeasible", "unknown"]
    assert Status("optimal") is Status.OPTIMAL
    assert {str(limit) for limit in Limit} == {"time", "iterations", "size", "rounding", "interrupted"}
