"""Reservation problems and schedules: what is refused, with place and value."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from picture_tools import SVG, axes, parsed
from reservation_strategies import reservation_problems, reservation_schedules

from allocsolve.errors import FormatError, InvalidAnswer, InvalidProblem
from allocsolve.instances import linnert2024
from allocsolve.instances.formats.own import reservation as codec
from allocsolve.instances.formats.own.envelope import parse_problem
from allocsolve.instances.generators.examples import reservation_examples
from allocsolve.judge import reservation_metrics, reservation_violations
from allocsolve.model import (
    CANCELLED,
    SUCCESSFUL,
    DeadlineJob,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
    Topology,
    node_order,
)
from allocsolve.pictures import RESERVATION_VIEW
from allocsolve.pictures.reservation import boxes_within, holders, mesh_strip

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

    from allocsolve.families import Picture


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


EVIL = "</svg><script>alert(1)</script>\u202e&\"'"

#: Seconds from a start to the next in `_one_after_another`.
STEP = 10


def _one_after_another(num_jobs: int, num_nodes: int = 8) -> tuple[ReservationProblem, ReservationSchedule]:
    """Jobs on all nodes but the last, each with its time."""
    runs = [1 + idx % STEP for idx in range(num_jobs)]
    jobs = [DeadlineJob(STEP * idx, num_nodes - 1, run, 2**40) for idx, run in enumerate(runs)]
    problem = ReservationProblem(Mesh((num_nodes,)), tuple(jobs))
    bookings = {idx: (STEP * idx, range(num_nodes - 1)) for idx in range(num_jobs)}
    return problem, ReservationSchedule.of(problem, bookings)


def _executed(schedule: ReservationSchedule, outcome: int) -> ReservationSchedule:
    outcomes = np.where(schedule.outcomes > 0, outcome, 0)
    times = schedule.hold_starts, schedule.hold_ends
    computed = np.zeros(len(outcomes))
    return ReservationSchedule(outcomes, schedule.ends, schedule.offsets, schedule.nodes, *times, computed)


@st.composite
def _answers(draw: st.DrawFn) -> tuple[ReservationProblem, ReservationSchedule]:
    problem = draw(reservation_problems())
    schedule = draw(reservation_schedules(problem))
    if reservation_violations(problem, schedule):
        schedule = ReservationSchedule.of(problem, {})
    return problem, schedule


def _boxes(root: ET.Element) -> dict[str, list[tuple[float, float, float, float]]]:
    """Left, top, right and bottom of the boxes of each job, in pixels, by the text under the mouse."""
    drawn: dict[str, list[tuple[float, float, float, float]]] = {}
    for path in root.iter(f"{SVG}path"):
        if re.match(r"f\d", path.get("class", "")) and len(path):
            shapes = re.findall(r"M(\S+) (\S+)h(\S+)v(\S+)h-\S+z", path.attrib["d"])
            sides = [tuple(map(float, shape)) for shape in shapes]
            drawn.setdefault(path[0].text or "", []).extend((x, y, x + w, y + h) for x, y, w, h in sides)
    return drawn


@given(_answers())
def test_rectangles_hold_as_much_as_the_jobs_and_do_not_overlap(
    answer: tuple[ReservationProblem, ReservationSchedule],
) -> None:
    problem, schedule = answer
    boxes = boxes_within(problem, schedule, (-1.0, 2.0**30))
    held = np.bincount(
        schedule.job_of_hold, schedule.hold_ends - schedule.hold_starts, minlength=len(problem.jobs)
    )
    drawn = np.bincount(
        boxes.job, (boxes.end - boxes.start) * (boxes.high - boxes.low), minlength=len(problem.jobs)
    )
    assert np.allclose(drawn, held)
    rows = list(zip(*(column.tolist() for column in boxes[:5]), strict=True))
    for one, (_, start, end, low, high) in enumerate(rows):
        for _, other_start, other_end, other_low, other_high in rows[:one]:
            assert end <= other_start or other_end <= start or high <= other_low or other_high <= low


@given(_answers(), st.lists(st.integers(0, 24), min_size=1, max_size=4))
def test_a_node_has_the_holder_of_the_instant(
    answer: tuple[ReservationProblem, ReservationSchedule], halves: list[int]
) -> None:
    problem, schedule = answer
    times = [half / 2 for half in halves]
    for node, row in enumerate(
        holders(schedule, np.array(times), np.arange(problem.topology.num_nodes)).tolist()
    ):
        for time, holder in zip(times, row, strict=True):
            holding = [
                job
                for job in range(len(problem.jobs))
                for hold in schedule.holds(job)
                if hold.node == node and hold.start <= time < hold.end
            ]
            assert holding == ([holder] if holder >= 0 else [])


@given(_answers())
def test_jobs_stand_at_their_time_and_rank(answer: tuple[ReservationProblem, ReservationSchedule]) -> None:
    problem, schedule = answer
    root = parsed(RESERVATION_VIEW.plot(problem, schedule))
    frame, drawn = axes(root), _boxes(root)
    assert len(drawn) == len({*schedule.job_of_hold.tolist()})
    first = problem.packed.arrival.min(initial=2**53) if problem.jobs else 0
    last = max(schedule.hold_ends.max(initial=first), first)
    scale = (frame.right - frame.left) / (last - first if last > first else 1)
    rank = np.argsort(node_order(problem.topology, "hilbert", bits=5))
    row = (frame.bottom - frame.top) / problem.topology.num_nodes
    for job in {*schedule.job_of_hold.tolist()}:
        (boxes,) = (boxes for text, boxes in drawn.items() if re.match(rf"j{job}[: ]", text))
        for node, start, end in schedule.holds(job):
            x = frame.left + ((start + end) / 2 - first) * scale
            y = frame.bottom - (rank[node] + 0.5) * row
            assert any(left < x < right and top < y < bottom for left, top, right, bottom in boxes)


def _counted(drawing: Picture) -> int:
    return sum(len(one) for one in _boxes(parsed(drawing)).values())


def test_a_picture_of_many_jobs_is_sampled_and_bounded() -> None:
    few, many = (_one_after_another(count) for count in (1500, 9_000))
    assert not boxes_within(*few, (0.0, 15_000.0)).sampled_s
    boxes = boxes_within(*many, (0.0, 90_000.0))
    assert boxes.sampled_s == 300
    assert len(boxes.job) <= 300
    assert len({*zip(boxes.low, boxes.high, strict=True)}) == 1
    assert boxes.high[0] == 7
    assert len(str(RESERVATION_VIEW.plot(*many))) < 80_000
    texts = [text.text or "" for text in parsed(RESERVATION_VIEW.plot(*many)).iter(f"{SVG}text")]
    assert any("instants 5 min apart" in text for text in texts)


def test_what_a_job_is_shows_under_the_mouse() -> None:
    jobs = (DeadlineJob(0, 3, 90, 100, 2, name="a"), DeadlineJob(5, 1, 5400, 9000))
    problem = ReservationProblem(Mesh((2, 2)), jobs)
    schedule = ReservationSchedule.of(problem, {0: (0, [0, 1, 2]), 1: (5, [3])})
    assert set(_boxes(parsed(RESERVATION_VIEW.plot(problem, schedule)))) == {
        "a of kind 2: 3 nodes for 1.5 min; booked, from 0 s to 90 s; arrived at 0 s, deadline 100 s",
        "j1: 1 node for 1.5 h; booked, from 5 s to 5405 s; arrived at 5 s, deadline 9000 s",
    }


def _classes(drawing: Picture) -> set[str]:
    return {path.get("class", "") for path in parsed(drawing).iter(f"{SVG}path") if len(path)}


def test_cancelled_jobs_are_pale_and_outcomes_are_counted() -> None:
    problem, schedule = _one_after_another(3)
    for outcome, told in (
        (SUCCESSFUL, "3 successful, 0 cancelled"),
        (CANCELLED, "0 successful, 3 cancelled"),
    ):
        drawing = RESERVATION_VIEW.plot(problem, _executed(schedule, outcome))
        assert all(("faded" in one) == (outcome == CANCELLED) for one in _classes(drawing) if one[0] == "f")
        assert told in str(drawing)
    assert "0 of 3 accepted, 3 rejected" in str(
        RESERVATION_VIEW.plot(problem, ReservationSchedule.of(problem, {}))
    )


def test_names_from_outside_stay_texts() -> None:
    problem = ReservationProblem(Mesh((2,)), (DeadlineJob(0, 1, 5, 9, name=EVIL),), name=EVIL)
    schedule = ReservationSchedule.of(problem, {0: (0, [0])})
    for drawing in (RESERVATION_VIEW.plot(problem, schedule), mesh_strip(problem, schedule)):
        assert "<script" not in str(drawing)
        assert "\u202e" not in str(drawing)
        parsed(drawing)


@pytest.mark.parametrize("problem", list(reservation_examples()), ids=lambda problem: problem.name)
def test_every_example_is_drawn_and_described(problem: ReservationProblem) -> None:
    alone = {}
    time = 0
    for idx, job in enumerate(problem.jobs):
        time = max(time, job.arrival)
        if time + job.runtime <= job.deadline:
            alone[idx] = time, node_order(problem.topology, "hilbert", bits=5)[: job.nodes].tolist()
            time += job.runtime
    schedule = ReservationSchedule.of(problem, alone)
    assert not RESERVATION_VIEW.undrawable(problem)
    for drawing in RESERVATION_VIEW.plots(problem, [schedule, ReservationSchedule.of(problem, {})]):
        parsed(drawing)
    fields = RESERVATION_VIEW.metric_fields(problem, reservation_metrics(problem, schedule))
    assert len({name for name, _ in fields}) == len(fields) == 7
    assert RESERVATION_VIEW.describe(problem).startswith(f"{len(problem.jobs)} job")
    assert RESERVATION_VIEW.exhibits is not None
    shown = RESERVATION_VIEW.exhibits(problem, {"a": schedule, "b": _executed(schedule, SUCCESSFUL)}, [], [])
    assert len({one.title for one in shown}) == len(shown) == (4 if alone else 2 if problem.jobs else 0)
    for one in shown:
        parsed(one.drawing)


def _terminal(problem: ReservationProblem, schedule: ReservationSchedule) -> list[str]:
    lines = RESERVATION_VIEW.terminal_picture(problem, schedule, 20)
    return ["".join(text for text, _ in line) for line in lines]


def test_the_terminal_shows_the_busiest_instant() -> None:
    jobs = (DeadlineJob(0, 3, 9, 99), DeadlineJob(0, 2, 9, 99), DeadlineJob(0, 2, 9, 99))
    problem = ReservationProblem(Mesh((3, 2)), jobs)
    schedule = ReservationSchedule.of(problem, {0: (0, [0, 1, 3]), 1: (5, [2, 5]), 2: (9, [0, 1])})
    lines = _terminal(problem, schedule)
    assert lines == ["", "5 of 6 nodes held at 5 s:", "", "a a b", "a . b"]
    assert not RESERVATION_VIEW.terminal_picture(problem, schedule, 4)
    assert not RESERVATION_VIEW.terminal_picture(problem, ReservationSchedule.of(problem, {}), 20)


def test_a_machine_of_three_axes_is_shown_slice_by_slice() -> None:
    problem = ReservationProblem(Mesh((2, 2, 2)), (DeadlineJob(0, 3, 9, 9),))
    schedule = ReservationSchedule.of(problem, {0: (0, [0, 1, 4])})
    lines = _terminal(problem, schedule)
    assert lines[2:] == ["z = 0", "a a", ". .", "z = 1", "a .", ". ."]
    strip = mesh_strip(problem, schedule)
    names = [text.text for text in parsed(strip).iter(f"{SVG}text")]
    assert names[:2] == ["0.8 s, z = 0", "0.8 s, z = 1"]


def test_large_machines_have_no_meshes_and_then_no_picture() -> None:
    problem = ReservationProblem(Mesh((100, 100)), (DeadlineJob(0, 1, 9, 9),))
    schedule = ReservationSchedule.of(problem, {0: (0, [5])})
    assert mesh_strip(problem, schedule) is None
    assert not RESERVATION_VIEW.terminal_picture(problem, schedule, 300)
    assert _counted(RESERVATION_VIEW.plot(problem, schedule)) == 1
    huge = ReservationProblem(Mesh((300, 300)), (DeadlineJob(0, 1, 9, 9),))
    assert "90000 nodes" in RESERVATION_VIEW.undrawable(huge)


def test_problems_are_described() -> None:
    assert RESERVATION_VIEW.describe(linnert2024(0)) == (
        "1000 jobs with deadlines on a 16x8 mesh, arriving over 17 d"
    )
    connected: Any = "connected"
    problem = ReservationProblem(Mesh((2,)), (), connected)
    assert RESERVATION_VIEW.describe(problem) == "0 jobs with deadlines on a 2 mesh, connected"


def test_the_best_the_given_and_the_worst_are_shown() -> None:
    problem, schedule = _one_after_another(3)
    answers = {f"s{idx}": schedule for idx in range(9)}
    assert RESERVATION_VIEW.exhibits is not None
    shown = RESERVATION_VIEW.exhibits(problem, answers, [], ["s4"])
    strips = [one.title for one in shown if one.title.endswith("the machine over time")]
    assert strips == ["s0: the machine over time", "s4: the machine over time"]
    assert all("6 of 9 schedules" in one.note for one in shown[:2])
