"""Pictures and files of schedules on machines that are not plain: closed parts, and the use of resources."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING

import numpy as np
from cli_tools import refused, run
from hypothesis import given, strategies as st

from allocsolve import solve
from allocsolve.instances import write_problem
from allocsolve.instances.formats.simulators.foreign import (
    node_intervals,
    perfetto_text,
    pieces_within,
    start_reasons,
)
from allocsolve.model import ClosedWindow, Jobs, WorkloadProblem, WorkloadSchedule
from allocsolve.pictures._workload_series import closed_parts, panels, use_changes
from allocsolve.pictures.time_axis import binned
from allocsolve.pictures.workload import WORKLOAD_VIEW, workload_exhibits

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture


def easy(problem: WorkloadProblem) -> WorkloadSchedule:
    answer = solve(problem, "easy").answer
    assert isinstance(answer, WorkloadSchedule)
    return answer


def alone(starts: list[float]) -> WorkloadSchedule:
    """Jobs of 9 s on a node each, from these starts on."""
    begins = np.array(starts)
    return WorkloadSchedule(np.arange(len(starts) + 1), begins, begins + 9, np.ones(len(starts), np.int64))


def machine(count: int = 12) -> WorkloadProblem:
    rng = np.random.default_rng(7)
    nodes, runs = rng.integers(1, 5, count), rng.integers(1, 9, count)
    return WorkloadProblem(
        8,
        Jobs(np.arange(count), nodes, runs, runs, needs=[{"gpus": int(size)} for size in nodes]),
        name="m",
        resources={"gpus": 6, "cfd": 2},
        closed=[ClosedWindow(10, 20), ClosedWindow(15, 40, {"nodes": 3, "gpus": 1})],
    )


WINDOWS = st.lists(
    st.builds(
        lambda start, length, amounts: ClosedWindow(start, start + length, amounts),
        st.integers(0, 15),
        st.integers(1, 9),
        st.dictionaries(st.sampled_from(["nodes", "gpus"]), st.integers(1, 4)),
    ),
    max_size=4,
)


@given(windows=WINDOWS)
def test_closed_parts_are_those_of_each_second(windows: list[ClosedWindow]) -> None:
    problem = WorkloadProblem(4, Jobs([], [], []), resources={"gpus": 5}, closed=windows)
    for name, whole in (("nodes", 4), ("gpus", 5)):
        parts = closed_parts(problem, name)
        for second in range(30):
            there = [
                dict(one.amounts) or {"nodes": 4, "gpus": 5}
                for one in windows
                if one.start <= second < one.end
            ]
            closed = min(sum(amounts.get(name, 0) for amounts in there), whole)
            assert sum(part.closed for part in parts if part.start <= second < part.end) == closed
        for one, other in itertools.pairwise(parts):
            assert one.end < other.start or one.closed != other.closed


@given(windows=WINDOWS, data=st.data())
def test_closed_nodes_are_held_by_no_job(windows: list[ClosedWindow], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 8))
    drawn = [
        data.draw(st.tuples(st.integers(0, 20), st.integers(1, 4), st.integers(1, 6))) for _ in range(count)
    ]
    submits, nodes, runs = ([row[column] for row in drawn] for column in range(3))
    problem = WorkloadProblem(4, Jobs(submits, nodes, runs, runs), resources={"gpus": 5}, closed=windows)
    schedule = easy(problem)
    pieces, _ = pieces_within(schedule, None)
    parts = closed_parts(problem)
    held = node_intervals(problem, schedule, pieces, [(one.start, one.end, one.closed) for one in parts])
    spans = [
        *((one.start, one.end) for one in parts),
        *zip(schedule.starts[pieces].tolist(), schedule.ends[pieces].tolist(), strict=True),
    ]
    sizes = [*(one.closed for one in parts), *schedule.nodes[pieces].tolist()]
    for intervals, size in zip(held, sizes, strict=True):
        assert sum(last - first + 1 for first, last in intervals) == size
    for second in range(80):
        taken = [
            node
            for (start, end), intervals in zip(spans, held, strict=True)
            if start <= second < end
            for first, last in intervals
            for node in range(first, last + 1)
        ]
        assert len(taken) == len({*taken})
        assert all(0 <= node < 4 for node in taken)


def test_use_is_that_of_each_second() -> None:
    problem = machine()
    schedule = easy(problem)
    edges = np.arange(0.0, 61.0)
    use = binned(*use_changes(problem, schedule, "gpus"), edges)
    needs = problem.jobs.packed.nodes
    for second in range(60):
        running = (schedule.starts <= second) & (schedule.ends > second)
        assert use[second] == needs[running].sum()
    assert not binned(*use_changes(problem, schedule, "cfd"), edges).any()


def test_pictures_shade_and_have_a_panel_for_each_resource() -> None:
    problem = machine()
    small = str(WORKLOAD_VIEW.plot(problem, easy(problem)))
    for said in ("gpus of 6", "cfd of 2", "grey is closed"):
        assert said in small
    tips = re.findall(r"<title>(closed from [^<]*)</title>", small)
    assert sorted(tips) == [
        "closed from 10 s to 20 s (10 s): 2 of 2 cfd",
        "closed from 10 s to 20 s (10 s): 6 of 6 gpus",
        "closed from 10 s to 20 s (10 s): 8 of 8 nodes",
        "closed from 20 s to 40 s (20 s): 1 of 6 gpus",
        "closed from 20 s to 40 s (20 s): 3 of 8 nodes",
    ]
    large = machine(500)
    timeline = str(WORKLOAD_VIEW.plot(large, easy(large)))
    assert "busy nodes [%]" in timeline
    assert "gpus of 6" in timeline
    assert "closed from 20 s to 40 s (20 s): 3 of 8 nodes" in timeline
    notes = [exhibit.note for exhibit in workload_exhibits(large, {"easy": easy(large)}, [])]
    assert sum("rey" in note for note in notes) == 2


def test_of_many_resources_the_scarcest_are_drawn() -> None:
    names = [f"r{idx}" for idx in range(12)]
    jobs = Jobs([0] * 12, [1] * 12, [9] * 12, needs=[{name: 1} for name in names])
    problem = WorkloadProblem(12, jobs, resources={name: 20 - idx for idx, name in enumerate(names)})
    assert [name for name, _ in panels(problem)] == sorted(names[-8:])
    note = workload_exhibits(problem, {"easy": easy(problem)}, [])[0].note
    assert "Of 12 resources the 8 scarcest have a panel." in note


def test_reasons_follow_the_queue() -> None:
    """By submission minus head start; who was not eligible is nobody's head."""
    jobs = Jobs([0, 1, 2, 3], [1, 1, 1, 1], [9] * 4, boost=[0, 0, 5, 0], eligible=[0, 30, 0, 0])
    problem = WorkloadProblem(1, jobs)
    schedule = alone([14.0, 40.0, 5.0, 23.0])
    kinds = [reason.kind for reason in start_reasons(problem, schedule)]
    assert kinds == ["in turn", "in turn", "in turn", "in turn"]
    schedule = alone([9.0, 30.0, 20.0, 3.0])
    assert [(reason.kind, reason.head) for reason in start_reasons(problem, schedule)] == [
        ("backfilled", 2),
        ("at once", -1),
        ("in turn", -1),
        ("backfilled", 2),
    ]


def test_files_say_what_they_can(tmp_path: Path, capsys: Capture) -> None:
    problem = machine()
    events = json.loads(perfetto_text(problem, easy(problem), None))
    listed = events["traceEvents"] if isinstance(events, dict) else events
    free = {event["ts"]: event["args"]["free nodes"] for event in listed if event["name"] == "free nodes"}
    assert free[10_000_000] == 0
    assert min(free.values()) >= 0
    path = tmp_path / "p.json"
    write_problem(problem, path)
    made = ("--plot", tmp_path / "x.svg", "--out", tmp_path / "s.json")
    run(capsys, "solve", path, "--solver", "easy", *made)
    shown = ("--solution", tmp_path / "s.json", "--window", "0:99", "--format")
    run(capsys, "convert", path, tmp_path / "x.json", *shown, "perfetto")
    for name in ("evalys", "swf"):
        said = refused(capsys, "convert", path, tmp_path / "x.out", *shown, name)
        assert f"--format {name}: the problem has closed windows and counted resources, for which" in said
    for to in ("x.swf", "x.csv"):
        refused(capsys, "convert", path, tmp_path / to)
    for name in ("batsim", "elastisim"):
        refused(capsys, "convert", path, tmp_path / name, "--format", name)
