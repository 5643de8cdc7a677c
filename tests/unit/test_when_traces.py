"""Answers of the past on real logs: nine of ten intervals hold, and half the error of the plan by limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from when_tools import easy_history, measured, plan_errors

if TYPE_CHECKING:
    from pathlib import Path


def test_kth_under_easy(traces: Path) -> None:
    """Questions at submissions, of jobs that wait; docs/when.md has more of them, and other logs."""
    history = easy_history(traces, "KTH")
    simulation, analogues = measured(history, "submission", 500)
    assert simulation.questions == 500 - 2 * 100
    assert 0.84 <= simulation.coverage <= 0.95
    assert simulation.score < analogues.score
    by_limits, _ = plan_errors(history, "submission", 500, 50)
    assert simulation.error <= by_limits / 2
