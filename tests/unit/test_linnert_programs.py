"""The simulator of programs that Linnert et al. 2024 ask for: options, solvers, and what is refused."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from allocsolve.errors import AllocsolveError, InvalidOption, InvalidProblem
from allocsolve.heuristics import Static
from allocsolve.instances import linnert2024
from allocsolve.judge import reservation_violations
from allocsolve.model import (
    REJECTED,
    SUCCESSFUL,
    Budget,
    DeadlineJob,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
)
from allocsolve.testing import check_solver
from reproductions.linnert2024.programs import (
    ExecutionRules,
    LeakRules,
    Program,
    ReservationLeak,
    StaticExecution,
    execute,
    execute_leaking,
    linnert_program,
)

MORE: dict[str, Any] = {"reference": "demand", "synchronous": True, "cores": 2}


@pytest.mark.parametrize("solver", [StaticExecution("literal"), ReservationLeak(contiguous=False)])
def test_they_keep_the_contract_of_solvers(solver: StaticExecution | ReservationLeak) -> None:
    check_solver(solver)


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


def test_a_leak_is_its_rules() -> None:
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


@pytest.mark.parametrize(("shape", "contiguous"), [("run", True), ("connected", False)])
def test_a_leak_refuses_shapes_that_it_does_not_keep_to(
    shape: Literal["run", "connected"], contiguous: bool
) -> None:
    problem = ReservationProblem(Mesh((4, 2)), (DeadlineJob(0, 2, 5, 9, 0),), shape, leaking=True)
    with pytest.raises(InvalidOption, match=shape):
        execute_leaking(problem, leak=LeakRules(contiguous=contiguous))


@pytest.mark.parametrize("wrong", [{"kind": 4}, {"nodes": 0}, {"job_idx": -1}, {"seed": -1}, {"kind": 0.5}])
def test_programs_are_of_four_kinds(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidOption, match=next(iter(wrong))):
        linnert_program(**({"kind": 0, "nodes": 2, "job_idx": 0} | wrong))


@pytest.mark.parametrize(
    ("processes", "fault"),
    [
        ([], "every process is forked by another one"),
        ([[("rest", 1)]], r"processes\[0\]\[0\] 'rest' is none of compute"),
        ([[("compute",)]], "has 1 entries, compute has 2"),
        ([[("compute", -1)]], r"processes\[0\]\[0\]\[1\] -1.0 is not a finite number >= 0"),
        ([[("join", 1)], []], "process 1 is not forked here before"),
        ([[("fork", 2, 1)], []], "there is no other process 2 among 2"),
        ([[("fork", 1, 1), ("fork", 1, 1)], []], "process 1 is forked twice"),
        ([[("fork", 1, 1), ("join", 1), ("join", 1)], []], "joined twice"),
        ([[("receive", 4)]], "channel 4: 1 more messages are received than sent"),
        ([[("send", -2, 1)]], r"processes\[0\]\[0\]\[1\] -2"),
    ],
)
def test_faulty_programs(processes: Any, fault: str) -> None:
    with pytest.raises(InvalidProblem, match=fault):
        Program(processes)
