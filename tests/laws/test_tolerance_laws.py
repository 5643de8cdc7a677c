"""The judge of workloads: what breaks a rule, and what does within a tolerance."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import naive_extreme
import naive_workload
import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_workload import violates
from naive_workload_optimum import naive_optimum
from strategies import changing_schedules, workload_problems, workload_schedules

from allocsolve.bounds.workload import makespan_bound
from allocsolve.judge import (
    certified_bound,
    violations,
    window_metrics,
    workload_metrics,
    workload_value,
    workload_violations,
)
from allocsolve.judge.workload.tolerance import rounded_schedule
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Budget,
    Job,
    Phases,
    PowerLaw,
    Profile,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.registry import make_solver
from allocsolve.simulation import Engine, Start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import FloatArray


#: No sum of few of them, times a ratio of speeds, is a millionth of a second.
HAIR = 3.7e-7
#: Between one and the next, all as slow as tables say, and as fast.
SPEEDUPS: tuple[PowerLaw | SpeedupTable, ...] = (
    PowerLaw(1),
    SpeedupTable([(1, 1e6), (2, 7), (4, 1)]),
    SpeedupTable([(1, 10), (2, 5), (4, 1000)]),
)
STALLS = (None, None, Stall(2), Stall(2, holds="larger"))


@st.composite
def malleable_jobs(draw: st.DrawFn) -> Job:
    law = draw(st.sampled_from(SPEEDUPS))
    runtime = 1.0 if isinstance(law, PowerLaw) else dict(law.rows)[4]
    return Job(
        *(draw(st.integers(0, 3)), 4, runtime),
        min_nodes=1,
        max_nodes=4,
        speedup=law,
        kind="malleable",
        points=draw(st.sampled_from([0, 0, 4])),
        reconfiguration=draw(st.sampled_from(STALLS)),
    )


def pieces_of(draw: st.DrawFn, job: Job, start: float) -> list[tuple[float, float, int]]:
    """Return pieces that do all work of a job, but for roundings; a stall is at the begin or at the end."""
    stall, step = job.reconfiguration, 2 if job.points else 1
    cuts = draw(st.sets(st.sampled_from(range(step, 8, step)), max_size=5)) | {8}
    parts = (np.diff([0, *sorted(cuts)]) / 8).tolist()
    sizes = [draw(st.sampled_from([1, 2, 4])) for _ in parts]
    times = (
        WorkloadProblem(4, [job]).run_times(np.array(sizes), np.zeros(len(sizes), dtype=np.int64)).tolist()
    )
    rows: list[tuple[float, float, int]] = []
    for at, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        seconds = part * times[at]
        before, after = sizes[max(at - 1, 0)], sizes[min(at + 1, len(sizes) - 1)]
        if isinstance(stall, Stall):
            ahead = stall.holds == "larger"
            seconds += 2 * (before != size and not (ahead and size < before)) + 2 * (ahead and after < size)
        rows.append((start, start + seconds, size))
        start += seconds
    return rows


@st.composite
def off_by_hairs(draw: st.DrawFn) -> tuple[WorkloadProblem, WorkloadSchedule]:
    """One job after the other; ends of pieces, where the next one begins, are moved by some hairs."""
    jobs = draw(st.lists(malleable_jobs(), min_size=1, max_size=2))
    rows, counts, free = [], [0], 0.0
    for job in jobs:
        pieces = pieces_of(draw, job, max(free, job.submit))
        moves = [HAIR * draw(st.sampled_from([0, 0, 0, 1, -1, 2, -2, 5, -5])) for _ in pieces]
        begin = pieces[0][0] + HAIR * draw(st.sampled_from([0, 0, 0, -1, 3]))
        for (_, end, size), move in zip(pieces, moves, strict=True):
            rows.append((begin, end + move, size))
            begin = end + move
        free = begin + HAIR * draw(st.sampled_from([0, 0, -1, -3, 2]))
        counts.append(len(rows))
    starts, ends, sizes = (np.array(column) for column in zip(*rows, strict=True))
    return WorkloadProblem(4, jobs), WorkloadSchedule(np.array(counts), starts, ends, sizes)


@given(off_by_hairs())
def test_a_schedule_is_right_if_it_is_in_exact_arithmetic(
    case: tuple[WorkloadProblem, WorkloadSchedule],
) -> None:
    assert bool(workload_violations(*case)) == naive_workload.violates(*case)


@given(malleable_jobs(), st.data())
def test_what_is_done_by_the_tolerance_after_the_end_is_all(job: Job, data: st.DataObject) -> None:
    """Whatever the pieces are: on the size that a job has at its end, its work takes no longer than that."""
    job = replace(job, points=0, reconfiguration=None)
    problem = WorkloadProblem(4, [job])
    cuts = data.draw(st.lists(st.sampled_from([HAIR, 0.5, 1.0, 10.0, 1e5, 1e6 - 1]), min_size=1, max_size=5))
    times = float(job.submit) + np.cumsum([0, *cuts])
    sizes = np.array([data.draw(st.sampled_from([1, 2, 4])) for _ in cuts])
    run_times = problem.run_times(sizes, np.zeros(len(sizes), dtype=np.int64))
    # The last piece is as long as the rest of the work takes, less some hairs.
    done = sum(
        (Fraction(cut) / Fraction(time) for cut, time in zip(cuts[:-1], run_times, strict=False)), Fraction(0)
    )
    off = HAIR * data.draw(st.integers(-4, 4))
    times[-1] = times[-2] + max(0.0, float((1 - done) * Fraction(run_times[-1])) + off)
    schedule = WorkloadSchedule(np.array([0, len(cuts)]), times[:-1], times[1:], sizes)
    refused = bool(workload_violations(problem, schedule))
    assert refused == naive_workload.violates(problem, schedule)
    pieces = zip(np.diff(times), run_times, strict=True)
    worked = sum((Fraction(length) / Fraction(time) for length, time in pieces), Fraction(0))
    assert refused or worked + naive_workload.TOLERANCE / Fraction(run_times[-1]) >= 1 - Fraction(1, 10**12)


def of_one_job(edges: FloatArray, sizes: Sequence[int]) -> WorkloadSchedule:
    return WorkloadSchedule(np.array([0, len(sizes)]), edges[:-1], edges[1:], np.array(sizes))


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=6),
    st.sampled_from([1, 1.5, 2]),
    st.data(),
)
def test_steps_of_a_profile_are_short_by_the_tolerance_all_together(
    steps: list[tuple[int, int]], limit: float, data: st.DataObject
) -> None:
    job = Job(
        *(0, steps[0][1] or 1, sum(seconds for seconds, _ in steps)),
        min_nodes=min(nodes for _, nodes in steps) or 1,
        max_nodes=max(nodes for _, nodes in steps) or 1,
        evolution=Profile([(seconds, nodes or 1) for seconds, nodes in steps], limit),
    )
    moves = [HAIR * data.draw(st.sampled_from([0, 0, 0, -1, 1, 2])) for _ in steps]
    edges = np.cumsum([0.5, *((seconds + move) for (seconds, _), move in zip(steps, moves, strict=True))])
    off = Fraction(0)
    for (seconds, _), lasts in zip(steps, np.diff([*map(Fraction, edges.tolist())]), strict=True):
        off += max(0, seconds - lasts, lasts - int(seconds * limit))
    faults = workload_violations(
        WorkloadProblem(4, [job]), of_one_job(edges, [nodes or 1 for _, nodes in steps])
    )
    assert bool(faults) == (off > naive_workload.TOLERANCE)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.sampled_from([0, 2]), st.data())
def test_nodes_are_given_back_early_by_the_tolerance_all_together(
    works: list[int], delay: float, data: st.DataObject
) -> None:
    """Of a job whose phases can use fewer and fewer nodes."""
    count = len(works)
    phases = Phases([(work, count - at) for at, work in enumerate(works)], release_delay=delay)
    runtime = sum(Fraction(work, count - at) for at, work in enumerate(works))
    problem = WorkloadProblem(
        8, [Job(0, count, float(runtime), min_nodes=1, max_nodes=count, evolution=phases)]
    )
    engine = Engine(problem)
    while (view := engine.advance()) is not None:
        engine.apply([Start(int(job), count) for job in view.queue])
    right = engine.result()
    assert workload_violations(problem, right) == ()
    # A piece that takes no time has no end that could be earlier than its begin.
    hairs = np.array([data.draw(st.sampled_from([0, 0, 1, 2])) for _ in right.ends])
    if (right.ends - right.starts > 1e-3).all():
        edges = np.array([right.starts[0], *(right.ends - HAIR * hairs)])
        faults = workload_violations(problem, of_one_job(edges, right.nodes.tolist()))
        assert bool(faults) == (int(hairs.sum()) * HAIR > 1e-6)


def check_certificates(problem: WorkloadProblem, schedule: WorkloadSchedule) -> None:
    """No certificate proves more than a schedule reaches that the judge accepts."""
    metrics = workload_metrics(problem, schedule)
    for rule in ("longest", "area", "wide", makespan_bound(problem).certificate["rule"]):
        certificate = {"kind": "makespan", "rule": rule, "after": 0}
        assert certified_bound(problem, certificate, ("makespan",)) <= metrics.makespan
    for price in (0, 1, 2, 5):
        certificate = {"kind": "time-prices", "term": "turnaround", "unit": 4, "edges": [0, 9, 30]}
        certificate["prices"] = [price, price // 2]
        bound = certified_bound(problem, certificate, ("turnaround",))
        assert bound <= metrics.turnaround


@given(off_by_hairs())
def test_no_certificate_is_above_what_is_accepted(case: tuple[WorkloadProblem, WorkloadSchedule]) -> None:
    if not workload_violations(*case):
        check_certificates(*case)


@given(st.lists(st.floats(0.1, 9), min_size=1, max_size=8), st.sampled_from([0.5, 1.0]))
def test_a_chain_of_jobs_is_early_by_less_than_bounds_are(run_times: list[float], share: float) -> None:
    """Each job ends a hair before its work is done, and the next one begins a hair before that."""
    problem = WorkloadProblem(1, [Job(0, 1, runtime) for runtime in [1 / 3, *run_times]])
    hair = share * 0.99e-6
    starts, ends, now = [], [], 0.0
    for runtime in problem.packed.runtime.tolist():
        starts.append(max(0.0, now - hair))
        ends.append(now := starts[-1] + runtime - hair)
    schedule = WorkloadSchedule.of(problem, starts)
    schedule = replace(schedule, ends=np.array(ends))
    assert not problem.is_exact
    assert workload_violations(problem, schedule) == ()
    assert not naive_workload.violates(problem, schedule)
    check_certificates(problem, schedule)


QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)
#: Policies that take limits for run times, each in its own way.
POLICIES = (
    "conservative(compression=none)",
    "conservative",
    "easy",
    "easy(reservations=2)",
    "easy(like=mjs2023)",
    "slurm-backfill",
)


@st.composite
def exact_workloads(
    draw: st.DrawFn, limits: st.SearchStrategy[float] = QUARTERS, *, max_jobs: int = 8
) -> WorkloadProblem:
    """Rigid jobs with limits, below and above run times; other times are quarters of a second."""
    jobs = [
        Job(draw(QUARTERS) - 0.25, draw(st.integers(1, 4)), draw(QUARTERS), limit=draw(limits))
        for _ in range(draw(st.integers(1, max_jobs)))
    ]
    return WorkloadProblem(4, jobs)


@pytest.mark.parametrize("policy", POLICIES)
@given(problem=exact_workloads())
def test_schedules_of_exact_workloads_are_exact(policy: str, problem: WorkloadProblem) -> None:
    assert problem.is_exact
    schedule = make_solver(policy, problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert (4 * schedule.starts % 1 == 0).all()
    assert workload_violations(problem, schedule) == ()


@pytest.mark.parametrize("policy", POLICIES)
@given(problem=exact_workloads(st.floats(0.1, 20)))
def test_with_any_limits_schedules_are_right(policy: str, problem: WorkloadProblem) -> None:
    """Plans that are made of limits have jobs start at times that are no quarters."""
    assert problem.is_exact
    schedule = make_solver(policy, problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert workload_violations(problem, schedule) == ()


def test_a_limit_alone_makes_times_that_are_no_quarters() -> None:
    problem = WorkloadProblem(2, [Job(0, 2, 1, limit=1.1), Job(0, 2, 1, limit=2)])
    schedule = make_solver("conservative(compression=none)", problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert schedule.starts.tolist() == [0, 1.1]
    assert workload_violations(problem, schedule) == ()


def in_lanes(problem: WorkloadProblem, gaps: Iterator[float]) -> WorkloadSchedule:
    """Return a schedule in which each job takes the nodes that are free first, and starts a gap later."""
    free, starts = [0.0] * problem.num_nodes, []
    for job in problem.jobs:
        free.sort()
        starts.append(max(free[job.nodes - 1], job.submit) + next(gaps))
        free[: job.nodes] = [starts[-1] + job.runtime] * job.nodes
    return WorkloadSchedule.of(problem, starts)


GAPS = st.sampled_from([0.0, 1e-12, 1e-7, 0.1, 0.2499999999, 0.25, 1 / 3]) | st.floats(0, 3)


@given(exact_workloads(), st.data())
def test_any_real_times_are_right(problem: WorkloadProblem, data: st.DataObject) -> None:
    """Sums of starts and run times are rounded, and jobs follow each other all the same."""
    schedule = in_lanes(problem, iter(lambda: data.draw(GAPS), None))
    assert workload_violations(problem, schedule) == ()
    assert not violates(problem, schedule)


SHIFTS = st.sampled_from([0.0, 0.0, -9.3e-7, 9.3e-7, -1.3e-6, 1.3e-6, -1e-15, -0.3, 0.1])


@given(exact_workloads(max_jobs=4), st.data())
def test_no_answer_is_below_the_optimum(problem: WorkloadProblem, data: st.DataObject) -> None:
    """Whatever is a hair early or short is refused, or no better than a schedule in quarters."""
    schedule = in_lanes(problem, iter(lambda: data.draw(st.sampled_from([0.0, 0.0, 0.1, 0.5])), None))
    count = len(problem.jobs)
    moved = np.array([[data.draw(SHIFTS) for _ in range(count)] for _ in range(2)])
    # All jobs start earlier by as much as all before them are short, or only this one does.
    early = -np.cumsum(np.abs(moved[0])) if data.draw(st.booleans()) else moved[0]
    starts = schedule.starts + early
    changed = WorkloadSchedule(
        schedule.offsets, starts, starts + problem.packed.runtime + moved[1], schedule.nodes
    )
    refused = bool(workload_violations(problem, changed))
    assert refused == violates(problem, changed)
    if not refused:
        metrics = workload_metrics(problem, changed)
        for term in ("turnaround", "makespan", "wait"):
            (best,) = naive_optimum(problem, (term,))
            assert getattr(metrics, term) >= best


@given(exact_workloads(), st.integers(2, 6), st.data())
def test_what_was_rounded_is_what_was_meant(
    problem: WorkloadProblem, digits: int, data: st.DataObject
) -> None:
    meant = in_lanes(problem, iter(lambda: data.draw(QUARTERS), None))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    off = rng.uniform(-1, 1, (2, len(problem.jobs))) * 10.0**-digits
    given_as = WorkloadSchedule(meant.offsets, meant.starts + off[0], meant.ends + off[1], meant.nodes)
    assert rounded_schedule(problem, given_as, 10.0**-digits) == meant
    assert violations(problem, given_as, tolerance=10.0**-digits) == ()


def test_a_chain_of_jobs_gains_nothing() -> None:
    """Three jobs of 10 s on one node, each a hair short and a hair early, end before the optimum."""
    problem = WorkloadProblem(1, [Job(0, 1, 10)] * 3)
    starts = np.array([-0.9e-6, 9.9999973, 19.9999955])
    for first in (0, 1):
        short = WorkloadSchedule.of(problem, np.maximum(starts, first - 1.0))
        assert workload_violations(problem, short)
    early = WorkloadSchedule.of(problem, [0, 10 - 0.9e-6, 20 - 1.8e-6])
    (fault,) = workload_violations(problem, early)[:1]
    assert fault.startswith(
        "with times rounded down to quarters of a second, as those of the problem are: from 9.75 s"
    )
    assert Fraction(workload_metrics(problem, WorkloadSchedule.of(problem, [0, 10, 20])).turnaround) == 20


# --- Workload judge -----------------------------------------------------------------------------------

#: Takes lists, too.
PIECES: Any = WorkloadSchedule
REALS = st.floats(0.001, 9, allow_nan=False)


@st.composite
def problems_with_schedules(draw: st.DrawFn) -> tuple[WorkloadProblem, WorkloadSchedule]:
    problem = draw(workload_problems(times=draw(st.sampled_from([None, QUARTERS, REALS]))))
    return problem, draw(workload_schedules(problem))


@given(problems_with_schedules())
def test_violations_are_those_of_the_count(case: tuple[WorkloadProblem, WorkloadSchedule]) -> None:
    problem, schedule = case
    assert bool(workload_violations(problem, schedule)) == naive_workload.violates(problem, schedule)


@given(problems_with_schedules(), st.permutations(WORKLOAD_OBJECTIVES))
def test_values_are_those_of_the_count(
    case: tuple[WorkloadProblem, WorkloadSchedule], objective: list[str]
) -> None:
    problem, schedule = case
    values = workload_value(problem, schedule, tuple(objective))  # type: ignore[arg-type]  # a permutation of the terms
    expected = naive_extreme.workload_values(problem, schedule) if len(problem.jobs) else {}
    assert values == pytest.approx(tuple(expected.get(term, 0) for term in objective), rel=1e-12)


@st.composite
def problems_with_changes(draw: st.DrawFn) -> tuple[WorkloadProblem, WorkloadSchedule]:
    problem = draw(workload_problems(min_jobs=1, max_nodes=8, malleable=True))
    return problem, draw(changing_schedules(problem))


@given(problems_with_changes())
def test_changes_at_points_break_no_rule_but_the_capacity(
    case: tuple[WorkloadProblem, WorkloadSchedule],
) -> None:
    problem, schedule = case
    wide = WorkloadProblem(1000, problem.jobs)
    assert workload_violations(wide, schedule) == ()
    assert not naive_workload.violates(wide, schedule)
    used = naive_workload.most_used(schedule)
    assert used > problem.num_nodes or not workload_violations(problem, schedule)
    metrics = workload_metrics(problem, schedule)
    inner = [np.diff([nodes for _, _, nodes in schedule.pieces(idx)]) for idx in range(len(problem.jobs))]
    changes = np.concatenate(inner)
    assert metrics.resizes == np.count_nonzero(changes)
    assert metrics.resized_nodes == np.abs(changes).sum()
    assert 0 < metrics.useful_share < 1 + 1e-9 or metrics.utilisation == 0


@given(problems_with_changes(), st.data())
def test_any_change_of_a_piece_is_judged_as_counted(
    case: tuple[WorkloadProblem, WorkloadSchedule], data: st.DataObject
) -> None:
    problem, schedule = case
    wide = WorkloadProblem(1000, problem.jobs)
    columns = {name: getattr(schedule, name).copy() for name in ("starts", "ends", "nodes")}
    column = columns[data.draw(st.sampled_from([*columns]))]
    column[data.draw(st.integers(0, len(column) - 1))] += data.draw(st.sampled_from([-1, 1, 2]))
    changed = replace(schedule, **columns)
    assert bool(workload_violations(wide, changed)) == naive_workload.violates(wide, changed)


def test_messages_of_malleable_jobs_name_time_and_value() -> None:
    law = PowerLaw(1)
    job = Job(0, 4, 100, min_nodes=2, max_nodes=8, speedup=law, kind="malleable", points=4)
    problem = WorkloadProblem(8, [job])

    def faults(*pieces: tuple[float, float, int]) -> tuple[str, ...]:
        starts, ends, nodes = zip(*pieces, strict=True)
        return workload_violations(problem, PIECES([0, len(pieces)], starts, ends, nodes))

    assert faults((0, 50, 4), (50, 75, 8)) == ()
    assert faults((0, 25, 4), (25, 50, 4), (50, 75, 8)) == ()
    assert faults((0, 60, 4), (60, 80, 8)) == (
        "job 'j0' changes its size at 60 s, between its points (4 equal parts of its work)",
    )
    assert faults((0, 50, 4), (50, 70, 8)) == ("job 'j0' ends with 0.9 of its work done",)
    assert faults((0, 50, 4), (51, 76, 8)) == (
        "job 'j0' has a piece that ends at 50 s and the next one from 51 s",
    )
    assert faults((0, 50, 4), (50, 250, 1)) == (
        "job 'j0' holds 1 nodes, but needs one of its numbers in 2..8",
    )


@given(workload_problems(min_jobs=1, moldable=False), st.data())
def test_one_wrong_second_is_seen(problem: WorkloadProblem, data: st.DataObject) -> None:
    runtimes = problem.packed.runtime
    starts = np.cumsum(runtimes) - runtimes + problem.packed.submit.max()  # one after the other
    right = WorkloadSchedule.of(problem, starts)
    assert workload_violations(problem, right) == ()
    idx = data.draw(st.integers(0, len(starts) - 1))
    name = problem.jobs.names[idx]
    ends, nodes = right.ends.copy(), right.nodes.copy()
    ends[idx] -= 0.25
    (fault,) = workload_violations(problem, replace(right, ends=ends))
    assert fault.startswith(f"job {name!r} runs for ")
    nodes[idx] += 1
    faults = workload_violations(problem, replace(right, nodes=nodes))
    assert faults[0] == f"job {name!r} holds {nodes[idx]} nodes, but needs {nodes[idx] - 1}"
    early = starts.copy()
    early[idx] = problem.packed.submit[idx] - 1
    faults = workload_violations(problem, WorkloadSchedule.of(problem, early))
    assert any(fault.startswith(f"job {name!r} starts at ") for fault in faults)


def test_messages_name_job_time_and_number() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10, name="wide"), Job(2, 1, 1000)])
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, 95.5, 101])) == (
        "from 95.5 s to 100 s up to 7 nodes are held (first at 95.5 s) on a cluster of 4",
        "from 101 s to 105.5 s up to 5 nodes are held (first at 101 s) on a cluster of 4",
    )
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, 0, 100]))[0] == (
        "job 'wide' starts at 0 s, before its submission at 1 s"
    )
    right = WorkloadSchedule.of(problem, [0, 100, 110])
    assert workload_violations(problem, right) == ()
    pieces = PIECES([0, 1, 1, 3], [0, 110, 120], [100, 120, 1110], [3, 1, 1])
    assert workload_violations(problem, pieces)[:2] == (
        "job 'wide' never runs",
        "job 'j2' runs in 2 pieces, but cannot change its size",
    )
    assert workload_violations(problem, PIECES([0], [], [], [])) == ("0 scheduled jobs for 3 submitted",)


def test_other_times_than_quarters_have_a_tolerance() -> None:
    third = 1 / 3
    problem = WorkloadProblem(1, [Job(0, 1, third), Job(0, 1, third)])
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, third - 1e-9])) == ()
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, third - 1e-5])) != ()
    exact = WorkloadProblem(1, [Job(0, 1, 1), Job(0, 1, 1)])
    assert workload_violations(exact, WorkloadSchedule.of(exact, [0, 0.75])) != ()


def test_metrics_of_a_schedule_by_hand() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 50), Job(3, 4, 5, weight=0)])
    measured = workload_metrics(problem, WorkloadSchedule.of(problem, [0, 100, 2, 110]))
    assert (measured.turnaround, measured.wait, measured.makespan) == ((100 + 109 + 50) / 3, 33, 115)
    assert measured.slowdown == pytest.approx((1 + 10.9 + 1) / 3)
    assert (measured.median_turnaround, measured.p95_turnaround, measured.max_turnaround) == (100, 109, 109)
    assert measured.backfilled_jobs == 1
    assert measured.utilisation == (300 + 40 + 50 + 20) / (4 * 115)
    assert measured.mean_queue_length == (99 + 107) / 115
    assert measured.area_weighted_response == (100 * 300 + 109 * 40 + 50 * 50) / 390
    window = window_metrics(problem, WorkloadSchedule.of(problem, [0, 100, 2, 110]), 1, 110)
    assert (window.jobs, window.turnaround, window.wait) == (2, (109 + 50) / 2, 99 / 2)


def test_no_job_counts_for_nothing() -> None:
    for problem in (WorkloadProblem(3, ()), WorkloadProblem(3, [Job(0, 1, 2, weight=0)])):
        schedule = WorkloadSchedule.of(problem, [0.0] * len(problem.jobs))
        assert workload_violations(problem, schedule) == ()
        assert workload_value(problem, schedule) == 0
        assert math.isfinite(workload_metrics(problem, schedule).utilisation)
