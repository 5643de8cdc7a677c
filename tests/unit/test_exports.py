"""What is public: names and modules, and that any argument works or gets one line."""

from __future__ import annotations

import csv
import io
import json
import math
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from first_fit import first_fit, in_order
from hypothesis import given, strategies as st
from offenders import all_offenders
from strategies import workload_problems

import allocsolve
from allocsolve import (
    AllocsolveError,
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
    Topology,
    Torus,
    heuristics,
)
from allocsolve.errors import InvalidOption
from allocsolve.heuristics import Fit, PlacedProfile, ResourceProfile
from allocsolve.instances.formats.simulators import foreign as workload_viewers
from allocsolve.instances.formats.simulators.foreign import (
    EVALYS_COLUMNS,
    evalys_rows,
    evalys_text,
    lanes,
    node_intervals,
    perfetto_events,
    perfetto_text,
    pieces_within,
    start_reasons,
)
from allocsolve.instances.generators.examples import random_workload, workload_examples
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import Job, WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Callable


#: Of problems with few jobs, and with many of them on few nodes.
PROBLEMS = st.one_of(
    workload_problems(max_jobs=8), st.builds(random_workload, st.integers(0, 99), st.just(30))
)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9))))
def test_no_two_intervals_of_a_lane_overlap_and_no_lane_is_wasted(spans: list[tuple[int, int]]) -> None:
    spans.sort()
    starts, ends = [start for start, _ in spans], [start + length for start, length in spans]
    given_lanes = lanes(starts, ends)
    for lane in set(given_lanes):
        mine = [idx for idx, other in enumerate(given_lanes) if other == lane]
        assert all(ends[one] <= starts[next_] for one, next_ in pairwise(mine))
    most = max((sum(s <= t < e for s, e in zip(starts, ends, strict=True)) for t in starts), default=0)
    assert len(set(given_lanes)) == most


@given(PROBLEMS)
def test_every_piece_has_as_many_nodes_as_it_holds_and_shares_none(problem: WorkloadProblem) -> None:
    schedule = first_fit(problem)
    pieces, _ = pieces_within(schedule, None)
    held = node_intervals(problem, schedule, pieces)
    numbers = []
    for piece, intervals in zip(pieces.tolist(), held, strict=True):
        assert all(first <= last for first, last in intervals)
        # Canonical: sorted, disjoint, and no interval begins right behind another.
        assert all(last + 1 < first for (_, last), (first, _) in pairwise(intervals))
        numbers.append({node for first, last in intervals for node in range(first, last + 1)})
        assert len(numbers[-1]) == schedule.nodes[piece]
        assert numbers[-1] <= set(range(problem.num_nodes))
    starts, ends = schedule.starts[pieces].tolist(), schedule.ends[pieces].tolist()
    for one in range(len(pieces)):
        for other in range(one):
            if ends[other] > starts[one] + 1e-6:
                assert not numbers[one] & numbers[other]


def test_schedules_of_more_nodes_than_there_are_can_be_seen_too() -> None:
    """A machine that records one node too many, a job that ends before it starts, one that never runs."""
    problem = WorkloadProblem(4, [Job(0, 3, 10), Job(0, 2, 10), Job(20, 4, 5), Job(30, 1, 1), Job(0, 1, 1)])
    offsets, times = np.array([0, 1, 2, 3, 4, 4]), np.array([0.0, 5, 20, 30])
    schedule = WorkloadSchedule(offsets, times, np.array([10.0, 15, 25, 30]), problem.packed.nodes[:4])
    rows = {row["job_id"]: row["allocated_resources"] for row in evalys_rows(problem, schedule)}
    assert rows == {"j0": "0-2", "j1": "3-4", "j2": "0-3"}
    events = json.loads(perfetto_text(problem, schedule))["traceEvents"]
    assert [one["name"] for one in _checked_trace(events)] == ["j0", "j1", "j2"]
    assert min(one["args"]["free nodes"] for one in events if one["name"] == "free nodes") == -1


@given(PROBLEMS, st.booleans())
def test_reasons_agree_with_the_queue_looked_at_job_by_job(problem: WorkloadProblem, overtake: bool) -> None:
    schedule = (first_fit if overtake else in_order)(problem)
    starts, submit = schedule.first_starts.tolist(), problem.packed.submit.tolist()
    reasons = start_reasons(problem, schedule)
    for job, (kind, head) in enumerate(reasons):
        passed = [
            other
            for other in range(len(starts))
            if (submit[other], other) < (submit[job], job) and starts[other] > starts[job]
        ]
        if passed:
            assert (kind, head) == ("backfilled", min(passed, key=lambda other: (submit[other], other)))
        else:
            assert (kind, head) == ("at once" if starts[job] == submit[job] else "in turn", -1)
    if len(starts):
        backfilled = sum(kind == "backfilled" for kind, _ in reasons)
        assert backfilled == workload_metrics(problem, schedule).backfilled_jobs
    assert overtake or not any(kind == "backfilled" for kind, _ in reasons)


def _checked_trace(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Check what the trace event format demands, and return the slices."""
    for event in events:
        assert isinstance(event["name"], str)
        assert event["ph"] in ("X", "i", "C", "M")
        assert type(event["pid"]) is int
        assert event["ph"] == "M" or type(event["ts"]) is int
    slices = [event for event in events if event["ph"] == "X"]
    assert all(type(one["dur"]) is int and one["dur"] >= 0 for one in slices)
    by_thread: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for one in slices:
        by_thread.setdefault((one["pid"], one["tid"]), []).append(one)
    for mine in by_thread.values():
        mine.sort(key=lambda one: one["ts"])
        assert all(one["ts"] + one["dur"] <= other["ts"] for one, other in pairwise(mine))
    return slices


@given(PROBLEMS)
def test_traces_have_each_job_once_on_lanes_that_nest(problem: WorkloadProblem) -> None:
    schedule = first_fit(problem)
    document = json.loads(perfetto_text(problem, schedule))
    assert document == perfetto_events(problem, schedule)
    slices = _checked_trace(document["traceEvents"])
    assert sorted(one["name"] for one in slices) == sorted(problem.jobs.names)
    free = [e["args"]["free nodes"] for e in document["traceEvents"] if e["name"] == "free nodes"]
    assert all(0 <= count <= problem.num_nodes for count in free)
    assert free[-1:] == [problem.num_nodes] * bool(free)
    waiting = [e["args"]["waiting jobs"] for e in document["traceEvents"] if e["name"] == "waiting jobs"]
    assert all(count >= 0 for count in waiting)
    assert waiting[-1:] == [0] * bool(waiting)


def test_a_window_has_the_jobs_that_run_in_it_and_the_counters_from_its_beginning() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 10), Job(0, 1, 30, user="ada"), Job(2, 4, 5, 9), Job(50, 1, 1)])
    schedule = first_fit(problem)
    events = perfetto_events(problem, schedule, (10.0, 32.0))["traceEvents"]
    slices = {one["name"]: one for one in _checked_trace(events)}
    assert set(slices) == {"j1", "j2"}
    assert slices["j2"] == {
        "name": "j2",
        "cat": "in turn",
        "ph": "X",
        "ts": 30_000_000,
        "dur": 5_000_000,
        "pid": 1,
        "tid": 1,
        "args": {"nodes": 4, "submitted_s": 2.0, "waited_s": 28.0, "started": "in turn", "limit_s": 9.0},
    }
    assert slices["j1"]["args"]["user"] == "ada"
    counts = [(e["ts"], e["args"]["free nodes"]) for e in events if e["name"] == "free nodes"]
    assert counts == [(10_000_000, 3), (30_000_000, 0)]
    assert [row["job_id"] for row in evalys_rows(problem, schedule, (10.0, 32.0))] == ["j1", "j2"]


def test_backfilled_jobs_name_whom_they_went_past() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 10), Job(1, 4, 10), Job(2, 1, 100)])
    events = perfetto_events(problem, first_fit(problem))["traceEvents"]
    (late,) = (event for event in events if event.get("cat") == "backfilled")
    assert (late["name"], late["args"]["backfilled_past"]) == ("j2", "j1")


def test_times_may_be_as_long_as_any() -> None:
    problem = WorkloadProblem(2, [Job(2**52, 1, 2**40), Job(2**52 + 1, 2, 1)])
    slices = _checked_trace(perfetto_events(problem, first_fit(problem))["traceEvents"])
    assert [one["ts"] for one in slices] == [2**52 * 10**6, (2**52 + 2**40) * 10**6]
    assert len(evalys_rows(problem, first_fit(problem))) == 2


def test_a_trace_that_no_viewer_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_workload(1, 30)
    monkeypatch.setattr(workload_viewers, "_MOST_PIECES", 29)
    with pytest.raises(InvalidOption, match=r"^30 jobs are more than the 29 .* choose a window$"):
        perfetto_text(problem, first_fit(problem))


TIMES = ("submission", "starting", "execution", "finish")


@given(PROBLEMS)
def test_rows_for_evalys_have_its_columns_and_agree_with_each_other(problem: WorkloadProblem) -> None:
    schedule = first_fit(problem)
    rows = list(csv.DictReader(io.StringIO(evalys_text(problem, schedule))))
    assert sorted(row["job_id"] for row in rows) == sorted(problem.jobs.names)
    for row in rows:
        assert tuple(row) == EVALYS_COLUMNS
        submit, start, lasts, end = (float(row[f"{name}_time"]) for name in TIMES)
        waits, turnaround, stretch = (
            float(row[name]) for name in ("waiting_time", "turnaround_time", "stretch")
        )
        assert 0 <= submit <= start < end
        assert np.allclose([lasts, waits, turnaround], [end - start, start - submit, end - submit])
        assert np.isclose(stretch, turnaround / lasts)
        assert _nodes(row["allocated_resources"]) == int(row["requested_number_of_resources"])
        assert row["workload_name"]
        assert row["success"] == "1"


def _nodes(intervals: str) -> int:
    """Count the nodes of an interval string such as 0-2 5, each number of which stands alone."""
    ends = [tuple(map(int, one.split("-"))) for one in intervals.split(" ")]
    assert all(len(one) == 1 or one[0] < one[1] for one in ends)
    return sum(one[-1] - one[0] + 1 for one in ends)


def test_examples_at_the_edges_are_written() -> None:
    for problem in workload_examples():
        schedule = first_fit(problem)
        _checked_trace(json.loads(perfetto_text(problem, schedule))["traceEvents"])
        assert len(evalys_text(problem, schedule).splitlines()) == 1 + len(problem.jobs)


# --- Wrong types --------------------------------------------------------------------------------------

PROFILE = EvolutionProfile([(3, 2), (2, 1)])
PROBLEM = EvolutionProblem(4, (PROFILE, PROFILE))
MESH = Mesh((4, 2))
FREE = np.ones(8, dtype=np.bool_)
#: Takes part in every call of an allocator.
REQUEST = {"topology": MESH, "free": FREE, "size": 3}


def reserved() -> ResourceProfile:
    profile = ResourceProfile(4)
    profile.reserve(0, PROFILE)
    return profile


def _call(method: str, **arguments: Any) -> Any:
    return getattr(reserved(), method)(**arguments)


METHODS: dict[str, dict[str, Any]] = {
    "earliest_window": {"nodes": 2, "duration": 3, "earliest_start": 1},
    "fit": {"profile": PROFILE, "expand_limit": 2, "compacting": True, "earliest_start": 1},
    "reserve": {"start": 7, "profile": PROFILE},
    "release": {"reservation": 1, "since": 2},
    "forget": {"before": 2},
    "used_at": {"time": 2},
}
#: What allocators take beside a request.
ALLOCATORS: dict[str, dict[str, Any]] = {
    "manhattan_median": {"centres": "all", "last_ring": "greedy", "swaps_from": 1},
    "gen_alg": {},
    "mc1x1": {"last_shell": "greedy"},
    "growth": {"seeds": "all"},
    "multiple_buddy": {},
    "leak": {"contiguous": True, "start_row": 1},
    "submesh": {"choice": "best", "all_shapes": True},
    "paging": {"exponent": 0, "order": "snake"},
    "random_nodes": {"seed": 1},
    "sorted_free_list": {"order": "hilbert", "bits": 5},
    "best_fit_run": {"order": "snake", "fallback": "fail"},
    **{name: {"order": "snake"} for name in ("first_fit_run", "min_span", "largest_runs")},
}
#: Each with arguments that are right. Options of classes of solvers have the contract, see `test_options`.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "EvolutionProfile": (EvolutionProfile, {"steps": [(3, 2)]}),
    "EvolutionProblem": (
        EvolutionProblem,
        {
            "num_nodes": 4,
            "applications": (PROFILE,),
            "releases": (1,),
            "expand_limit": 2,
            "name": "p",
            "application_names": ("a",),
            "meta": {},
        },
    ),
    "EvolutionSchedule": (
        EvolutionSchedule,
        {"starts": [0], "offsets": [0, 1], "durations": [2], "nodes": [1]},
    ),
    "EvolutionSchedule.of": (EvolutionSchedule.of, {"starts": [0], "profiles": [PROFILE]}),
    "Mesh": (Mesh, {"shape": (2, 2)}),
    "Torus": (Torus, {"shape": (2, 2)}),
    "Topology": (Topology, {"shape": (2, 2), "wrap": (True, False)}),
    "PartitionProblem": (PartitionProblem, {**REQUEST, "contiguous": True, "name": "p", "meta": {}}),
    "PartitionProblem.of": (PartitionProblem.of, {"topology": MESH, "busy": [1], "size": 2, "name": "p"}),
    "Partition": (Partition, {"nodes": [1, 2]}),
    "Budget": (Budget, {"seconds": 1, "iterations": 1, "workers": 1, "seed": 1}),
    "solve": (
        allocsolve.solve,
        {"problem": PROBLEM, "solver": "noX", "objective": "waste", "seconds": 5, "workers": 1, "seed": 0},
    ),
    "fit": (
        heuristics.fit,
        {"profile": PROFILE, "occupied": PROFILE, "num_nodes": 4, "expand_limit": 2, "earliest_start": 1},
    ),
    "compact": (
        heuristics.compact,
        {"profile": PROFILE, "occupied": PROFILE, "num_nodes": 4, "placement": PlacedProfile(0, PROFILE)},
    ),
    "list_order": (heuristics.list_order, {"problem": PROBLEM, "order": "random", "seed": 1}),
    "list_starts": (heuristics.list_starts, {"problem": PROBLEM, "order": [1, 0], "fit": Fit()}),
    "Fit": (Fit, {"expand_limit": 2}),
    "ResourceProfile": (ResourceProfile, {"num_nodes": 4, "origin": 1}),
    **{f"ResourceProfile.{name}": (partial(_call, name), given) for name, given in METHODS.items()},
    **{name: (getattr(heuristics, name), {**REQUEST, **more}) for name, more in ALLOCATORS.items()},
}

HUGE = 10**5000
#: What is wrong for most arguments.
WRONG: tuple[Any, ...] = (
    *(None, "x", 1.5, 2.0, -1, HUGE, math.nan, True, [], {}, [[1], [2, 3]], ["x"], [[(1, 1)]], object()),
    *(np.array([[1.5, 2.0]]), np.array([2**63], dtype=np.uint64), PROFILE, MESH),
)

#: Arguments of which every wrong value is tried, by the name of the call.
CASES = [(name, argument) for name, (_, arguments) in CALLS.items() for argument in arguments]


def _refusal(call: Callable[..., Any], arguments: dict[str, Any]) -> str | None:
    """Return what a call says that is refused; None of one that works."""
    try:
        call(**arguments)
    except AllocsolveError as error:
        return str(error)
    return None


def test_wrong_arguments_work_or_get_one_line() -> None:
    with all_offenders() as offender:
        for name, argument in CASES:
            call, arguments = CALLS[name]
            with offender(f"{name}({argument}), right"):
                call(**arguments)
            refused = []
            for value in WRONG:
                with offender(f"{name}({argument}={'10**5000' if value is HUGE else repr(value)})"):
                    text = _refusal(call, {**arguments, argument: value})
                    if text is not None:
                        refused.append(text)
                        assert "\n" not in text
                        assert 0 < len(text) <= 300
            with offender(f"{name}({argument}), whatever is given"):
                assert refused or argument in ("contiguous", "all_shapes", "compacting")


def test_lists_and_whole_floats_are_taken_for_arrays_and_integers() -> None:
    free = [True, False, True, True, True, True, True, True]
    problem = PartitionProblem(MESH, free=free, size=4.0)  # type: ignore[arg-type]  # what people try
    assert problem == PartitionProblem.of(Mesh([4.0, np.int32(2)]), busy=(np.int64(1),), size=np.float32(4))  # type: ignore[list-item,arg-type]  # what data frames hold
    assert type(problem.size) is int
    for allocate in (heuristics.manhattan_median, heuristics.growth, heuristics.min_span):
        chosen = allocate(MESH, free, np.int32(4))  # type: ignore[arg-type]  # other numbers count as these
        assert chosen is not None
        assert len(chosen) == 4
    profile = EvolutionProfile(np.array([[3.0, 2.0], [2.0, 1.0]]))  # type: ignore[arg-type]  # other numbers count as these
    assert profile == PROFILE
    assert EvolutionProblem(4.0, [profile, PROFILE], releases=np.zeros(2)) == PROBLEM  # type: ignore[arg-type]  # other numbers count as these
    assert Partition([1.0, 2.0]) == Partition([1, 2])  # type: ignore[arg-type]  # other numbers count as these
    assert Budget(iterations=5.0, workers=np.int64(2)) == Budget(iterations=5, workers=2)  # type: ignore[arg-type]  # other numbers count as these
    assert heuristics.list_starts(PROBLEM, [1, 0], Fit()).tolist() == [0, 3, 0, 3]  # type: ignore[arg-type]  # other numbers count as these
