"""Executions: options, and what they refuse."""

from __future__ import annotations

from typing import Literal

import pytest

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import (
    ExecutionRules,
    LeakRules,
    ReservationLeak,
    execute,
    execute_leaking,
    linnert_program,
)
from allocsolve.judge import reservation_violations
from allocsolve.model import Budget, DeadlineJob, Mesh, ReservationProblem, ReservationSchedule


def test_a_solver_is_its_rules() -> None:
    jobs = tuple(DeadlineJob(3 * k, 1 + k % 4, 20, 3 * k + 50, k % 4) for k in range(12))
    problem = ReservationProblem(Mesh((4, 2)), jobs, leaking=True)
    rules = ExecutionRules(cores=2, synchronous=True)
    leak = LeakRules(contiguous=False, waiting="reject")
    solver = ReservationLeak(contiguous=False, waiting="reject", cores=2, synchronous=True)
    assert (solver.rules, solver.leak_rules) == (rules, leak)
    answer = solver(problem, Budget()).answer
    assert answer == execute_leaking(problem, rules, leak)
    assert answer is not None
    assert reservation_violations(problem, answer) == ()
    empty = ReservationProblem(Mesh((4, 2)), (), leaking=True)
    assert len(execute_leaking(empty).outcomes) == 0
    assert len(execute(empty, ReservationSchedule.of(empty, {})).outcomes) == 0


@pytest.mark.parametrize("wrong", [{"kind": 4}, {"nodes": 0}, {"job_idx": -1}, {"seed": -1}, {"kind": 0.5}])
def test_programs_are_of_four_kinds(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidOption, match=next(iter(wrong))):
        linnert_program(**({"kind": 0, "nodes": 2, "job_idx": 0} | wrong))


@pytest.mark.parametrize(("shape", "contiguous"), [("run", True), ("connected", False)])
def test_a_leak_refuses_shapes_that_it_does_not_keep_to(
    shape: Literal["run", "connected"], contiguous: bool
) -> None:
    problem = ReservationProblem(Mesh((4, 2)), (DeadlineJob(0, 2, 5, 9, 0),), shape, leaking=True)
    with pytest.raises(InvalidOption, match=shape):
        execute_leaking(problem, leak=LeakRules(contiguous=contiguous))
