"""Pictures of workloads, also on machines with resources and windows."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import refused, run
from first_fit import first_fit, in_order
from hypothesis import given, strategies as st
from picture_tools import SVG, axes, parsed
from strategies import workload_problems

from allocsolve import solve
from allocsolve.instances import write_problem
from allocsolve.instances.formats.simulators.foreign import (
    node_intervals,
    perfetto_text,
    pieces_within,
    start_reasons,
)
from allocsolve.instances.generators.examples import random_workload, workload_examples
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import Amdahl, ClosedWindow, Job, Jobs, WorkloadProblem, WorkloadSchedule
from allocsolve.pictures import WORKLOAD_VIEW
from allocsolve.pictures._workload_series import (
    busy_nodes,
    closed_parts,
    node_prices,
    panels,
    use_changes,
    waiting_jobs,
)
from allocsolve.pictures.chart import duration
from allocsolve.pictures.time_axis import binned
from allocsolve.pictures.workload import workload_exhibits

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from pathlib import Path

    from cli_tools import Capture


EVIL = "</svg><script>alert(1)</script>\u202e&\"'"


def _jobs(root: ET.Element) -> dict[str, list[tuple[float, float, float, float]]]:
    """Left, top, right and bottom of the boxes of each job, in pixels, by the text under the mouse."""
    drawn: dict[str, list[tuple[float, float, float, float]]] = {}
    for path in root.iter(f"{SVG}path"):
        if path.get("class", "").startswith("f") and len(path):
            boxes = re.findall(r"M(\S+) (\S+)h(\S+)v(\S+)h-\S+z", path.attrib["d"])
            sides = [tuple(map(float, box)) for box in boxes]
            drawn[path[0].text or ""] = [(x, y, x + w, y + h) for x, y, w, h in sides]
    return drawn


@given(st.builds(random_workload, st.integers(0, 99), st.integers(1, 20), st.just(10)))
def test_jobs_are_boxes_of_their_size_that_do_not_overlap(problem: WorkloadProblem) -> None:
    schedule = first_fit(problem)
    root = parsed(WORKLOAD_VIEW.plot(problem, schedule))
    frame, drawn = axes(root), _jobs(root)
    assert len(drawn) == len(problem.jobs)
    a_node = (frame.bottom - frame.top) / problem.num_nodes
    for job in range(len(problem.jobs)):
        (boxes,) = (boxes for text, boxes in drawn.items() if text.startswith(f"j{job}: "))
        nodes = sum(bottom - top for _, top, _, bottom in boxes) / a_node
        assert abs(nodes - problem.packed.nodes[job]) < 0.05
        for left, top, right, bottom in boxes:
            assert frame.left - 0.1 <= left < right <= frame.right + 0.7
            assert frame.top - 0.1 <= top < bottom <= frame.bottom + 0.1
    boxes_of_all = [(text, box) for text, boxes in drawn.items() for box in boxes]
    for one, (name, a) in enumerate(boxes_of_all):
        for other, b in boxes_of_all[:one]:
            across = min(a[2], b[2]) - max(a[0], b[0])
            up = min(a[3], b[3]) - max(a[1], b[1])
            # The least width of a box may cover a neighbour; a pixel is far less than a node.
            assert name == other or across <= 0.7 or up <= 0.2


def test_what_a_job_is_shows_under_the_mouse() -> None:
    jobs = [Job(0, 3, 100, name="a"), Job(1, 4, 10, name="b"), Job(2, 1, 5400, name="c", user="ada")]
    problem = WorkloadProblem(4, jobs)
    drawn = _jobs(parsed(WORKLOAD_VIEW.plot(problem, first_fit(problem))))
    assert list(drawn) == [
        "a: 3 nodes from 0 s to 100 s (1.7 min); never waited; started on its submission",
        "c of ada: 1 node from 2 s to 5402 s (1.5 h); never waited; backfilled past b",
        "b: 4 nodes from 5402 s to 5412 s (10 s); waited 1.5 h; started as the first of the queue",
    ]


def test_names_from_outside_stay_texts() -> None:
    problem = WorkloadProblem(2, [Job(0, 1, 5, name=EVIL, user=EVIL)], name=EVIL)
    text = str(WORKLOAD_VIEW.plot(problem, first_fit(problem)))
    assert "<script" not in text
    assert "\u202e" not in text
    assert any(one.startswith("</svg><script>alert(1)</script>\\u202e&") for one in _jobs(parsed(text)))


@pytest.mark.parametrize("problem", list(workload_examples()), ids=lambda problem: problem.name)
def test_every_example_is_drawn_and_described(problem: WorkloadProblem) -> None:
    schedule = first_fit(problem)
    assert not WORKLOAD_VIEW.undrawable(problem)
    for drawing in WORKLOAD_VIEW.plots(problem, [schedule, in_order(problem)]):
        parsed(drawing)
    names = [name for name, _ in WORKLOAD_VIEW.metric_fields(problem, workload_metrics(problem, schedule))]
    assert len(names) == len(set(names)) == 8
    assert WORKLOAD_VIEW.describe(problem).startswith(f"{len(problem.jobs)} job")


def test_jobs_are_counted_by_kind() -> None:
    assert WORKLOAD_VIEW.describe(WorkloadProblem(4, [Job(0, 1, 5)])) == "1 job, 4 nodes, submitted over 0 s"
    elastic: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(0.9)}
    jobs = [Job(0, 1, 5), Job(0, 2, 5, **elastic), *[Job(0, 2, 5, **elastic, kind="malleable")] * 2]
    text = "4 jobs, 4 nodes, submitted over 0 s, 1 rigid, 1 moldable, 2 malleable"
    assert WORKLOAD_VIEW.describe(WorkloadProblem(4, jobs)) == text
    assert WORKLOAD_VIEW.describe(WorkloadProblem(4, jobs[2:])).endswith("0 s, 2 malleable")


def test_pictures_of_one_problem_have_one_scale() -> None:
    for count in (30, 600):
        problem = random_workload(3, count)
        drawings = WORKLOAD_VIEW.plots(problem, [first_fit(problem), in_order(problem)])
        first, second = (
            [text.text for text in parsed(one).iter(f"{SVG}text") if text.get("class") == "soft"]
            for one in drawings
        )
        assert first == second


def test_a_picture_of_many_jobs_is_as_small_as_one_of_few() -> None:
    sizes = []
    for count in (1000, 50_000):
        problem = random_workload(1, count, load=0.5)
        starts = problem.packed.submit + 100.0  # whoever has the nodes for it
        sizes.append(len(str(WORKLOAD_VIEW.plot(problem, WorkloadSchedule.of(problem, starts)))))
    assert max(sizes) < 40_000


@given(workload_problems(min_jobs=1, max_jobs=8), st.integers(1, 9))
def test_means_of_bins_add_up_to_all_node_seconds_and_waits(problem: WorkloadProblem, bins: int) -> None:
    schedule = first_fit(problem)
    edges = np.linspace(0, float(schedule.ends.max()), bins + 1)
    busy, waiting = busy_nodes(schedule, edges), waiting_jobs(problem, schedule, edges)
    assert (busy <= problem.num_nodes + 1e-9).all()
    assert np.isclose(busy @ np.diff(edges), ((schedule.ends - schedule.starts) * schedule.nodes).sum())
    waits = (schedule.first_starts - problem.packed.submit).sum()
    assert np.isclose(waiting @ np.diff(edges), waits)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=6), st.integers(1, 7))
def test_bins_have_the_means_of_the_function_second_by_second(
    spans: list[tuple[int, int]], bins: int
) -> None:
    times = np.array([t for start, length in spans for t in (start, start + length)], dtype=float)
    changes = np.array([change for _ in spans for change in (1.0, -1.0)])
    edges = np.array([3.0 * idx for idx in range(bins + 1)])
    means = [
        sum(start <= t < start + length for start, length in spans for t in range(3 * at, 3 * at + 3)) / 3
        for at in range(bins)
    ]
    assert np.allclose(binned(times, changes, edges), means)


def test_prices_are_those_of_the_slots_and_nothing_outside() -> None:
    certificate: dict[str, Any] = {"kind": "time-prices", "edges": [10, 20, 40], "prices": [6, 3], "unit": 2}
    problem = WorkloadProblem(4, [Job(0, 3, 9), Job(0, 2, 9), Job(0, 4, 9)])
    prices = node_prices(problem, certificate, np.array([0.0, 10.0, 15.0, 30.0, 50.0]))
    assert prices is not None
    assert np.allclose(prices, [0, 3, (5 * 3 + 10 * 1.5) / 15, 10 * 1.5 / 20])
    assert node_prices(problem, {"kind": "makespan"}, np.array([0.0, 1.0])) is None


def test_of_prices_of_resources_those_of_nodes_count_where_some_are_open() -> None:
    certificate: dict[str, Any] = {"kind": "machine-prices", "edges": [10, 20, 40], "unit": 2}
    certificate["prices"] = {"gpus": [5, 5], "nodes": [600, 3]}
    problem = WorkloadProblem(4, [Job(0, 3, 9)], resources={"gpus": 2}, closed=[ClosedWindow(10, 20)])
    edges = np.array([0.0, 10.0, 20.0, 40.0, 50.0])
    prices = node_prices(problem, certificate, edges)
    assert prices is not None
    assert np.allclose(prices, [0, 0, 1.5, 0])
    assert node_prices(problem, {**certificate, "prices": {"gpus": [5, 5]}}, edges) is None


def test_of_prices_per_job_those_count_that_pay_most_for_a_node() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 9), Job(0, 2, 9), Job(0, 4, 9)])
    certificate = {"kind": "job-prices", "edges": [0, 10, 20, 30], "unit": 2, "first_slots": [0, 1, 0]}
    certificate |= {"offsets": [0, 2, 3, 3], "prices": [6, 12, 12]}
    prices = node_prices(problem, certificate, np.array([0.0, 10.0, 20.0, 30.0]))
    assert prices is not None
    # One job of 3 nodes; then that of 2 nodes, and two of the three nodes of the other; then none.
    assert np.allclose(prices, [3 / 4, (6 + 6 * 2 / 3) / 4, 0])


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (0.25, "0.2 s"), (59, "59 s"), (3600, "1 h"), (86400 * 30, "30 d")]
)
def test_durations_have_few_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# --- Machine pictures ---------------------------------------------------------------------------------


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
