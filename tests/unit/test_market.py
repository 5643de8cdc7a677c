"""`Market` ends at Ctrl-C, also while it finds prices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from allocsolve.bounds import workload as bounds
from allocsolve.heuristics import Market
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Amdahl, Budget, Job, Limit, WorkloadProblem


def problem() -> WorkloadProblem:
    """Two malleable jobs."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 6, "speedup": Amdahl(0.9), "kind": "malleable"}
    return WorkloadProblem(6, [Job(0, 2, 110, **job), Job(40, 2, 110, **job)])


def interrupt(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Let the ascent of prices be interrupted when it is made for the `at`-th time, counted from 0."""
    calls = iter(range(100))
    found = bounds.time_prices

    def prices(*args: Any, **kwargs: Any) -> Any:
        return replace(found(*args, **kwargs), interrupted=next(calls) == at)

    monkeypatch.setattr(bounds, "time_prices", prices)


def test_without_prices_there_is_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        Market()(problem(), Budget(seconds=60))


def test_the_first_market_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, 1)
    result = Market()(problem(), Budget(seconds=60))
    assert result.limit is Limit.INTERRUPTED
    assert result.answer is not None
    assert workload_violations(problem(), result.answer) == ()
