"""Reservation problems and schedules: what is refused, with place and value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from allocsolve.errors import FormatError, InvalidAnswer, InvalidProblem
from allocsolve.instances.formats.own import reservation as codec
from allocsolve.instances.formats.own.envelope import parse_problem, parse_solution
from allocsolve.judge import reservation_metrics, reservation_violations
from allocsolve.model import (
    CANCELLED,
    SUCCESSFUL,
    DeadlineJob,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
    Topology,
)

PROBLEM = ReservationProblem(
    Mesh((4, 2)),
    (DeadlineJob(0, 2, 10, 30, 1), DeadlineJob(5, 3, 10, 20, 2), DeadlineJob(5, 8, 10, 40, name="all")),
)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"arrival": -1}, "arrival -1 is not in 0"),
        ({"nodes": 0}, "nodes 0 is not in 1"),
        ({"runtime": 1.5}, "runtime 1.5 is not an integer"),
        ({"deadline": 2**54}, "deadline 18014398509481984 is not in 0"),
        ({"weight": float("nan")}, "weight nan is not in 0"),
        ({"program": 4}, "program 4 is not a kind in 0..3"),
        ({"name": 3}, "name 3 is not of the type str"),
    ],
)
def test_faulty_jobs(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidProblem, match=fault):
        DeadlineJob(**dict[str, Any](arrival=0, nodes=1, runtime=1, deadline=9) | fields)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"jobs": [DeadlineJob(0, 9, 1, 1)]}, "job 'j0': 9 nodes on a machine of 8"),
        ({"jobs": [DeadlineJob(4, 1, 1, 9), DeadlineJob(3, 1, 1, 9)]}, "job 'j1': arrival 3 is before .* 4"),
        ({"jobs": [DeadlineJob(0, 1, 1, 9, name="j1")] * 2}, "job name 'j1' is used twice"),
        ({"jobs": [7]}, r"jobs\[0\] 7 is not of the type DeadlineJob"),
        ({"jobs": [DeadlineJob(0, 8, 2**51, 2**52)]}, "beyond 2\\^53"),
        ({"shape": "round"}, "round"),
        ({"program_seed": -1}, "program_seed -1"),
    ],
)
def test_faulty_problems(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(Exception, match=fault):
        ReservationProblem(**dict[str, Any](topology=Mesh((4, 2)), jobs=()) | fields)


LEAKING = replace(PROBLEM, leaking=True)
BOOKINGS = {0: (0, (0, 1)), 1: (5, (2, 3, 4)), 2: (15, range(8))}


def booked(bookings: dict[int, Any]) -> ReservationSchedule:
    return ReservationSchedule.of(PROBLEM, bookings)


def executed(**changes: Any) -> ReservationSchedule:
    """Return a schedule of one successful job on two nodes, of which one comes later, and a cancelled one."""
    columns: dict[str, Any] = {
        "outcomes": [SUCCESSFUL, CANCELLED, 0],
        "ends": [9.5, 20, np.nan],
        "offsets": [0, 2, 3, 3],
        "nodes": [0, 1, 4],
        "hold_starts": [0, 2.5, 6],
        "hold_ends": [9.5, 4, 20],
        "computed": [11, 14, 0],
    }
    return ReservationSchedule(**columns | changes)


def test_right_schedules() -> None:
    for schedule in (booked({}), booked(BOOKINGS), booked({2: (30, range(8))})):
        assert reservation_violations(PROBLEM, schedule) == ()
    assert reservation_violations(LEAKING, executed()) == ()


@pytest.mark.parametrize(
    ("schedule", "fault"),
    [
        (booked({0: (0, (0,))}), "job 'j0' books 1 nodes, it asks for 2"),
        (booked({0: (0, (0, 1, 2))}), "job 'j0' books 3 nodes, it asks for 2"),
        (booked({0: (0, (0, 8))}), "job 'j0': node 8 is not in 0..7"),
        (booked({0: (0, (-1, 0))}), "job 'j0': node -1 is not in 0..7"),
        (booked({0: (0, (1, 1))}), "node 1 belongs to jobs 'j0' and 'j0' at 0"),
        (booked({1: (4, (2, 3, 4))}), "job 'j1' starts at 4, before its arrival 5"),
        (booked({1: (11, (2, 3, 4))}), "job 'j1' ends at 21, after its deadline 20"),
        (booked(BOOKINGS | {1: (5, (1, 2, 3))}), "node 1 belongs to jobs 'j0' and 'j1' at 5, .* until 10"),
        (booked(BOOKINGS | {2: (14, range(8))}), "node 2 belongs to jobs 'j1' and 'all' at 14"),
        (executed(outcomes=[0, CANCELLED, 0]), "job 'j0' is rejected and holds nodes"),
        (executed(outcomes=[1, CANCELLED, 0]), "job 'j0' books nodes for different times"),
        (executed(ends=[np.nan, 20, np.nan]), "job 'j0' is accepted and has no end"),
        (executed(ends=[31, 20, np.nan]), "job 'j0' ends at 31, outside of 0 to 30"),
        (executed(ends=[9.5, 5.5, np.nan]), "job 'j1' ends before it starts"),
        (executed(hold_ends=[9.5, 4, 21]), "job 'j1' holds nodes before its arrival or after its deadline"),
        (executed(hold_starts=[0, 2.5, 4.5]), "job 'j1' holds nodes before its arrival"),
        (executed(hold_ends=[9.5, 2.5, 20]), "job 'j0' holds node 1 from 2.5 to 2.5"),
        (executed(nodes=[0, 0, 4]), "node 0 belongs to jobs 'j0' and 'j0' at 2.5"),
        (executed(computed=[11.1, 14, 0]), "job 'j0' computes 11.1 node-seconds and holds 11"),
        (executed(computed=[11, -1, 0]), "job 'j1' computes -1"),
        (executed(computed=[11, 14, 3]), "job 'all' is rejected and computes"),
        (executed(computed=None), "job 'j0' was executed, and the schedule says nothing of its computing"),
        (executed(outcomes=[2, 3, 2], ends=[9.5, 20, 30]), "job 'all' is successful and holds no node"),
        (
            ReservationSchedule.of(ReservationProblem(Mesh((1,)), PROBLEM.jobs[:0]), {}),
            "outcomes of 0 jobs, the problem has 3",
        ),
    ],
)
def test_broken_schedules(schedule: ReservationSchedule, fault: str) -> None:
    for problem in (PROBLEM, LEAKING):
        with pytest.raises(AssertionError, match=fault):
            assert not "; ".join(reservation_violations(problem, schedule))


#: The first job keeps its nodes for longer than its run time of 10: that is allowed.
KEPT: dict[str, Any] = {"outcomes": [SUCCESSFUL, 0, 0], "ends": [9.5, np.nan, np.nan], "computed": [11, 0, 0]}
KEPT |= {"offsets": [0, 2, 2, 2], "nodes": [0, 1], "hold_starts": [0, 0], "hold_ends": [11, 11]}


@pytest.mark.parametrize(
    ("change", "breaks"),
    [
        ({}, False),
        ({"hold_ends": [9.5, 9.5]}, True),
        ({"hold_ends": [11, 10]}, True),
        ({"hold_starts": [0, 0.5]}, True),
        ({"offsets": [0, 1, 1, 1], "nodes": [0], "hold_starts": [0], "hold_ends": [11]}, True),
        ({"nodes": [1, 5]}, False),
    ],
)
def test_a_booking_is_kept_where_jobs_may_not_leak(change: dict[str, Any], *, breaks: bool) -> None:
    schedule = ReservationSchedule(**KEPT | change)
    assert reservation_violations(LEAKING, schedule) == ()
    faults = ("job 'j0' does not keep a booking",) if breaks else ()
    assert reservation_violations(PROBLEM, schedule) == faults


def test_metrics() -> None:
    metrics = reservation_metrics(PROBLEM, executed())
    assert (metrics.rejected, metrics.rejected_area) == (1 / 3, 80 / 130)
    assert (metrics.unsuccessful, metrics.cancelled_share) == (2 / 3, 1 / 2)
    assert (metrics.accepted_jobs, metrics.successful_jobs, metrics.cancelled_jobs) == (2, 1, 1)
    assert (metrics.mean_hops, metrics.mean_wait) == (1, 0.5)
    assert metrics.booked_utilisation == (9.5 + 1.5 + 14) / (8 * 20)
    assert metrics.computing_utilisation == 25 / (8 * 20)
    assert metrics.accepted_by_size == (0, 2 / 3, 0, 0)
    assert metrics.accepted_by_kind == (0, 1, 1, 0)
    assert metrics.cancelled_by_kind == (0, 0, 1, 0)


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"outcomes": [4, 3, 0]}, "outcome 4 is not in 0..3"),
        ({"offsets": [0, 2, 1, 3]}, "offsets must start at 0 and never fall"),
        ({"nodes": [0, 1]}, "columns of holds of the shapes"),
        ({"ends": [1, 2]}, "columns of jobs of the shapes"),
        ({"hold_starts": [0, np.nan, 6]}, "hold_starts .* are not all in"),
        ({"computed": ["much", 1, 2]}, "computed .* are not numbers"),
    ],
)
def test_columns_that_do_not_belong_together(columns: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidAnswer, match=fault):
        executed(**columns)


def test_all_faults_of_a_file_at_once() -> None:
    document: dict[str, Any] = {
        "format": "allocsolve/1",
        "kind": "reservation",
        "topology": {"shape": [4, 2]},
        "jobs": [
            {"arrival": 0, "nodes": 9, "runtime": 1, "deadline": 5},
            {"arrival": 3, "nodes": 1, "runtime": 1, "deadline": 5},
            {"arrival": 2, "nodes": 1, "runtime": 1, "deadline": 5, "program": 1, "name": "j1"},
        ],
    }
    with pytest.raises(FormatError) as error:
        parse_problem(document, "file")
    told = "; ".join(error.value.faults)
    for fault in (
        "jobs[0].nodes: value 9 is above the nodes of the machine 8",
        "jobs[2]: arrival 2 is before that of the job in front of it, 3",
        "jobs[2].name: 'j1' is also that of jobs[1]",
    ):
        assert fault in told


def test_all_faults_of_an_answer_at_once() -> None:
    rows: list[Any] = [
        {"name": "j1", "outcome": "rejected"},
        {"name": "j0", "outcome": "booked", "nodes": [1]},
        {"name": "all", "outcome": "cancelled"},
        {"name": "j3", "outcome": "rejected"},
        {"name": "j1", "outcome": "rejected"},
    ]
    document = {"format": "allocsolve/1", "kind": "reservation-schedule", "jobs": rows}
    with pytest.raises(FormatError) as error:
        parse_solution(document, "file", PROBLEM)
    told = "; ".join(error.value.faults)
    for fault in (
        "jobs[1]: nodes without start and end",
        "jobs[3].name: the problem has no job 'j3'",
        "jobs[4].name: 'j1' stands twice",
    ):
        assert fault in told


def test_programs_run_on_lines_and_rings_only() -> None:
    with pytest.raises(
        InvalidProblem, match="topology: axis 1 is complete, but programs run on lines and rings"
    ):
        ReservationProblem(Topology((2, 4), (True, False), (False, True)), PROBLEM.jobs)
    document = codec.PROBLEM.values(PROBLEM)
    document["topology"] = {"shape": [4, 2], "complete": [True, False]}
    with pytest.raises(FormatError) as error:
        parse_problem({"format": "allocsolve/1", "kind": "reservation", **document}, "file")
    assert error.value.faults == ("topology.complete[0]: programs run on lines and rings only",)
