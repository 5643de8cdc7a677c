"""Static admission with execution: both plain functions after each other, with all of their options."""

from __future__ import annotations

from typing import Any

import pytest

from allocsolve.errors import AllocsolveError
from allocsolve.heuristics import ExecutionRules, Static, StaticExecution, execute
from allocsolve.instances import linnert2024
from allocsolve.judge.reservation.rules import reservation_violations
from allocsolve.model import REJECTED, SUCCESSFUL, Budget

MORE: dict[str, Any] = {"reference": "demand", "synchronous": True, "cores": 2}


@pytest.mark.parametrize(
    ("options", "overrun"), [({}, "end"), ({"allocator": "literal"}, "grace"), (MORE, "end")]
)
def test_it_is_admission_and_then_execution(options: dict[str, Any], overrun: Any) -> None:
    problem = linnert2024(1, gap=1, num_jobs=40)
    result = StaticExecution(**options, overrun=overrun)(problem, Budget())
    rules = {name: value for name, value in options.items() if name != "allocator"}
    booked = Static(options.get("allocator", "hilbert"))(problem, Budget()).answer
    assert booked is not None
    assert result.answer == execute(problem, booked, ExecutionRules(**rules), overrun=overrun)
    assert result.answer is not None
    assert not reservation_violations(problem, result.answer)


def test_jobs_without_programs_end_when_they_are_booked_to() -> None:
    problem = linnert2024(2, num_jobs=30, program=None)
    answer = StaticExecution()(problem, Budget()).answer
    assert answer is not None
    assert {*answer.outcomes.tolist()} == {REJECTED, SUCCESSFUL}


def test_unknown_allocators_are_refused() -> None:
    with pytest.raises(AllocsolveError, match="allocator 'nowhere'"):
        StaticExecution(allocator="nowhere")
