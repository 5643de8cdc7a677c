"""Scores: the arithmetic by hand, and contradictions that nobody may miss."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from study_tools import row

from allocsolve.bench import Gaps, Record, best, gap, solver_scores
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.model import Status

if TYPE_CHECKING:
    from allocsolve.model import Value


def _row(*facts: Any, floor: Value = -math.inf, **fields: Any) -> Record:
    return row(*facts, combinatorial_bound=floor, **fields)


ROWS = (
    _row("a", "fast", 120, runtime=1),
    _row("a", "exact", 100, 100, runtime=7),
    _row("b", "fast", 150, floor=80, runtime=2),
    _row("b", "exact", 160, 100, floor=80, runtime=9),
    _row("c", "fast", 60, runtime=3),
    _row("c", "exact", None, runtime=10),
    _row("d", "fast", 50, floor=50, runtime=2),
    _row("d", "exact", None, error="Boom: x", floor=50, runtime=2),
)


def test_best_by_hand() -> None:
    known = best(ROWS)
    assert [(b.instance, b.value, b.bound, b.proven) for b in known.values()] == [
        ("a", 100, 100, True),
        ("b", 150, 100, False),
        ("c", 60, -math.inf, False),
        ("d", 50, 50, True),
    ]
    assert list(known) == [f"digest of {name}" for name in "abcd"]


def test_scores_by_hand() -> None:
    fast, exact = solver_scores(ROWS)
    assert fast.gap == Gaps(3, statistics.fmean([0.2, 0.5, 0]), 0.2, 0.5)
    assert (fast.optimum_gap, exact.optimum_gap) == (Gaps(2, 0.1, 0.1, 0.2), Gaps(1, 0, 0, 0))
    assert (fast.proven, fast.optimal, fast.best) == (0, 1, 3)
    assert (exact.failed, exact.unanswered, exact.unbounded) == (1, 1, 0)
    assert (fast.mean_runtime_s, fast.max_runtime_s) == (2, 3)
    assert (exact.mean_runtime_s, exact.max_runtime_s) == (7, 10)


def test_nothing_known_is_none() -> None:
    assert solver_scores([]) == ()
    assert best([]) == {}
    (score,) = solver_scores([_row("a", "fast", None, error="Boom: x")])
    assert (score.gap, score.optimum_gap, score.best, score.failed) == (None, None, 0, 1)


def test_gaps_above_zero_are_infinite() -> None:
    assert (gap(0, 0), gap(3, 0)) == (0, math.inf)
    fast, exact = solver_scores([_row("a", "fast", 3), _row("a", "exact", 0, 0)])
    assert fast.gap == fast.optimum_gap == Gaps(1, math.inf, math.inf, math.inf)
    assert exact.gap == Gaps(1, 0, 0, 0)


def test_lexicographic_objectives_compare_whole_and_gap_the_first_term() -> None:
    rows = [
        _row("a", "fast", (10, 7), floor=(8,)),
        _row("a", "exact", (10, 2), (10, -math.inf), floor=(8,)),
    ]
    (known,) = best(rows).values()
    assert (known.value, known.bound, known.proven) == ((10, 2), (10, -math.inf), False)
    fast, exact = solver_scores(rows)
    assert fast.gap == exact.gap == Gaps(1, 0, 0, 0)
    assert (fast.best, exact.best) == (0, 1)
    rows.append(_row("a", "better", (10, 2), (10, 2)))
    fast, exact, better = solver_scores(rows)
    assert (fast.optimal, exact.optimal, better.optimal) == (0, 1, 1)
    assert (fast.proven, exact.proven, better.proven) == (0, 0, 1)
    assert fast.optimum_gap == Gaps(1, 0, 0, 0)
    (score,) = solver_scores([_row("b", "fast", (10, 7))])
    assert (score.unbounded, score.gap) == (1, None)


FAST = _row("a", "fast", 99)


@pytest.mark.parametrize(
    ("rows", "claim"),
    [
        ([FAST, _row("a", "exact", 100, 100)], "exact claims the bound 100, fast found 99"),
        ([FAST, _row("a", "exact", None, 100)], "exact claims the bound 100, fast found 99"),
        ([_row("a", "fast", 99, floor=100)], "allocsolve.bounds claims the bound 100, fast found 99"),
        (
            [_row("a", "fast", (9, 1)), _row("a", "exact", (9, 2), (9, 2))],
            r"exact claims the bound \(9, 2\), fast found \(9, 1\)",
        ),
        (
            [FAST, _row("a", "exact", None, status=Status.INFEASIBLE)],
            "exact claims it is infeasible, fast found 99",
        ),
    ],
)
def test_contradictions_are_refused(rows: list[Record], claim: str) -> None:
    for order in (rows, rows[::-1]):
        with pytest.raises(InvalidAnswer, match=f"^contradiction on a: {claim}$"):
            best(order)
        with pytest.raises(InvalidAnswer, match=claim):
            solver_scores(order)


def test_a_failed_row_contradicts_nobody() -> None:
    (known,) = best([_row("a", "liar", None, error="InvalidAnswer: no"), FAST]).values()
    assert known.value == 99


def test_what_cannot_be_compared_is_refused() -> None:
    for function in (best, solver_scores):
        with pytest.raises(InvalidOption, match="several objectives cannot be compared: makespan; waste"):
            function([FAST, replace(FAST, objective="waste")])
    with pytest.raises(InvalidOption, match="fast has several records of a"):
        solver_scores([FAST, replace(FAST, seed=1)])
