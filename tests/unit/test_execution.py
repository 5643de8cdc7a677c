"""Executions: small cases by hand, and options."""

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
    program_of,
)
from allocsolve.judge import reservation_violations
from allocsolve.model import (
    Budget,
    DeadlineJob,
    Hold,
    Mesh,
    Program,
    ReservationProblem,
    ReservationSchedule,
)


def test_a_message_takes_its_time_and_what_is_calibrated_the_rest() -> None:
    """Two nodes apart: the reference is two neighbours, where the messages take a tenth of the time."""
    problem = ReservationProblem(Mesh((5, 1)), (DeadlineJob(0, 2, 100, 200, 0),), leaking=True)
    for far, end in ((1, 100.0), (2, 110.0), (4, 130.0)):
        booked = ReservationSchedule.of(problem, {0: (0, [0, far])})
        assert execute(problem, booked, overrun="grace").ends.tolist() == pytest.approx([end])
    half = ExecutionRules(hop_part=0.5)
    booked = ReservationSchedule.of(problem, {0: (0, [0, 4])})
    assert execute(problem, booked, half, overrun="grace").ends.tolist() == pytest.approx([115.0])


def test_more_processes_than_cores_share_a_node() -> None:
    """Four workers of a process that waits: on one core one after the other would be as long."""

    def root() -> list[tuple[object, ...]]:
        return [*(("fork", q, 0) for q in range(1, 5)), *(("join", q) for q in range(1, 5))]

    program = Program([root(), *([("compute", q)] for q in range(1, 5))])
    jobs = (DeadlineJob(0, 1, 40, 400, "shared"), DeadlineJob(0, 4, 40, 400, "shared"))
    problem = ReservationProblem(Mesh((5, 1)), jobs, programs={"shared": program}, leaking=True)
    booked = ReservationSchedule.of(problem, {0: (0, [0]), 1: (0, [1, 2, 3, 4])})
    for cores, computed in ((4, 40.0), (1, 40.0)):
        done = execute(problem, booked, ExecutionRules(cores=cores, communication=0))
        assert done.ends.tolist() == pytest.approx([40.0, 40.0])
        assert done.computed is not None
        assert done.computed.tolist()[0] == pytest.approx(computed)
        assert done.computed.tolist()[1] == pytest.approx(100.0)  # 1 + 2 + 3 + 4 of 4, each on its node


def test_a_leak_takes_nodes_and_gives_them_back() -> None:
    """One core: the root stays, its child goes to the neighbour for as long as it computes."""
    program = program_of(
        lambda: iter([("compute", 1), ("fork", 1, 0), ("compute", 2), ("join", 1), ("compute", 1)]),
        lambda: iter([("compute", 1)]),
    )
    problem = ReservationProblem(
        Mesh((3, 1)), (DeadlineJob(10, 2, 40, 60, "own"),), programs={"own": program}, leaking=True
    )
    done = execute_leaking(problem, ExecutionRules(cores=1, communication=0))
    assert done.holds(0) == (Hold(0, 10.0, 50.0), Hold(1, 20.0, 30.0))
    assert done.computed is not None
    assert done.computed.tolist() == [50.0]


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
