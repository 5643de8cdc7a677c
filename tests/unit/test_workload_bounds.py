"""Bounds and models of workloads: by hand, and what they refuse."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

from allocsolve.bench.runs.execution import execute
from allocsolve.bench.runs.tasks import plan
from allocsolve.bounds.workload import (
    least_areas,
    makespan_bound,
    shortest_run_times,
    time_prices,
    workload_bound,
)
from allocsolve.bounds.workload.time_prices import TimeDual
from allocsolve.errors import InvalidAnswer, InvalidOption, UnsupportedProblem
from allocsolve.exact import Prices, WorkloadCpSat
from allocsolve.instances.formats.logs.swf import read_swf_log
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    Amdahl,
    Budget,
    Job,
    Jobs,
    Limit,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from allocsolve.model import FloatArray, WorkloadTerm


#: One job after the other, the shortest first, is best: turnarounds 1, 3, 6.
QUEUE = WorkloadProblem(4, [Job(0, 4, 1), Job(0, 4, 2), Job(0, 4, 3)])
SMALL = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
TABLE = SpeedupTable([(1, 12), (2, 8), (4, 6)])
ROWS = [
    Job(0, 2, runtime, min_nodes=1, max_nodes=4, speedup=law)
    for runtime, law in ((8, TABLE), (10, Amdahl(1)), (16, PowerLaw(0.5)))
]
MOLDABLE = WorkloadProblem(4, ROWS[:2])
MALLEABLE = WorkloadProblem(4, [*(replace(job, kind="malleable") for job in ROWS), Job(0, 3, 5)])
GOOD: dict[str, Any] = {"kind": "time-prices", "term": "turnaround", "unit": 8, "edges": [0, 4, 6]}
GOOD["prices"] = [3, 1]


def certified(
    problem: WorkloadProblem, certificate: Mapping[str, object], term: WorkloadTerm = "turnaround"
) -> float:
    return certified_bound(problem, certificate, (term,))


def test_tight_where_jobs_run_one_after_the_other() -> None:
    bound = time_prices(QUEUE)
    assert 3.33 < bound.value <= certified(QUEUE, dict(bound.certificate)) <= 10 / 3
    assert json.loads(json.dumps(bound.certificate)) == bound.certificate
    assert bound.sizes.tolist() == [4, 4, 4]
    assert not any(array.flags.writeable for array in (bound.starts, bound.sizes, bound.edges, bound.prices))


def test_without_any_wait_there_are_no_prices() -> None:
    problem = WorkloadProblem(4, [Job(0, 2, 5), Job(1, 2, 6)])
    bound = time_prices(problem)
    assert bound.certificate["prices"] == []
    assert bound.starts.tolist() == [0, 1]
    assert certified(problem, dict(bound.certificate)) == workload_bound(problem, "turnaround") == 5.5


@pytest.mark.parametrize("weight", [0, 1])
def test_nothing_to_do(weight: int) -> None:
    jobs = [Job(0, 1, 5, weight=0)] * weight
    problem = WorkloadProblem(4, jobs)
    for term in ("turnaround", "slowdown", "wait"):
        bound = time_prices(problem, term)
        assert bound.value == certified(problem, dict(bound.certificate), term) == 0
    assert makespan_bound(problem).value == 5 * weight
    assert certified(problem, dict(makespan_bound(problem).certificate), "makespan") == 5 * weight


def test_of_moldable_jobs() -> None:
    assert shortest_run_times(MOLDABLE).tolist() == [6, 5]
    assert least_areas(MOLDABLE).tolist() == [12, 20]
    assert workload_bound(MOLDABLE, "turnaround") == pytest.approx(5.5)
    assert workload_bound(MOLDABLE, "slowdown") == 1
    bound = time_prices(MOLDABLE)
    assert 6.5 < bound.value <= 9
    with pytest.raises(InvalidAnswer, match="wait of jobs that are not rigid"):
        certified(MOLDABLE, {**GOOD, "term": "wait"}, "wait")


def test_of_malleable_jobs() -> None:
    least = np.array([6, 5, 16 / 2**0.5, 5])
    assert shortest_run_times(MALLEABLE).tolist() == pytest.approx(least.tolist())
    assert least_areas(MALLEABLE).tolist() == pytest.approx([12, 20, 16 * 2**0.5, 15])
    assert workload_bound(MALLEABLE, "turnaround") == pytest.approx(least.mean())
    bound = time_prices(MALLEABLE)
    assert 9 < bound.value == certified(MALLEABLE, dict(bound.certificate)) < 14
    assert (bound.starts >= 0).all()
    assert ((bound.sizes >= 1) & (bound.sizes <= 4)).all()
    assert makespan_bound(MALLEABLE).value == pytest.approx((12 + 20 + 16 * 2**0.5 + 15) / 4)
    with pytest.raises(InvalidAnswer, match="wait of jobs that are not rigid"):
        certified(MALLEABLE, {**GOOD, "term": "wait"}, "wait")
    with pytest.raises(InvalidOption, match="wait of jobs that are not rigid"):
        time_prices(MALLEABLE, "wait")


def test_a_malleable_job_that_mixes_sizes_ends_between_seconds() -> None:
    """4 s on one node and 3 on two: with one of them free until 2 s, it ends at 3.5 s, not at 4."""
    law = SpeedupTable([(1, 4), (2, 3)])
    problem = WorkloadProblem(
        2, [Job(0, 1, 4, min_nodes=1, max_nodes=2, speedup=law, kind="malleable"), Job(0, 1, 2)]
    )
    for term in ("makespan", "turnaround"):
        bound = makespan_bound(problem) if term == "makespan" else time_prices(problem)
        value = certified(problem, dict(bound.certificate), term)
        assert bound.value <= value <= (3.5 if term == "makespan" else 2.75)


def test_jobs_that_hold_no_nodes_for_a_while_may_overlap() -> None:
    """Both hold the node for 10 s, and none for 10 s more: the second one starts at 10 s and ends at 30 s."""
    job = Job(0, 1, 20, evolution=Profile([(10, 1), (10, 0)]))
    problem = WorkloadProblem(1, [job, job])
    assert problem.least_held.tolist() == [0, 0]
    wide = {"kind": "makespan", "rule": "wide", "after": 0}
    assert certified(problem, wide, "makespan") == 0
    bound = makespan_bound(problem)
    assert bound.value <= certified(problem, dict(bound.certificate), "makespan") <= 20
    result = Prices(("makespan",))(problem, Budget(iterations=20))
    assert result.objective == pytest.approx(30)
    assert terms(result.bound)[0] <= 20


def test_what_jobs_surely_hold() -> None:
    phases, law = Phases([(8, None), (1, 1)]), PowerLaw(0.5)
    jobs = [
        Job(0, 3, 5),
        Job(0, 2, 8, min_nodes=2, max_nodes=4, speedup=law),
        Job(0, 2, 8, min_nodes=2, max_nodes=4, speedup=law, kind="malleable"),
        Job(0, 2, 8, min_nodes=2, max_nodes=4, speedup=law, evolution=Requests([(0.5, 1)])),
        Job(0, 3, phases.run_time(3), min_nodes=3, max_nodes=4, evolution=phases),
        Job(0, 4, 5, evolution=Profile([(2, 4), (3, 2)])),
        Job(0, 1, 5, evolution=Profile([(2, 0), (3, 2)])),
    ]
    assert WorkloadProblem(4, jobs).least_held.tolist() == [3, 2, 2, 2, 1, 2, 0]


def test_a_moldable_job_whose_fewest_nodes_are_the_fastest() -> None:
    """With such an overhead one node is faster than the two of the job, on which its run time is stated."""
    job = Job(0, 2, 5, min_nodes=1, max_nodes=2, speedup=Overhead(0.9))
    problem = WorkloadProblem(2, [job])
    (alone,) = shortest_run_times(problem)
    assert alone == pytest.approx(3.25)
    bound = time_prices(problem)
    assert bound.value <= certified(problem, dict(bound.certificate), "turnaround") <= alone
    for solver in (Prices(), WorkloadCpSat()):
        result = solver(problem, Budget(iterations=20))
        assert result.objective == pytest.approx(alone)
        assert terms(result.bound)[0] <= alone * (1 + 1e-12)


def test_makespan_rules() -> None:
    longest, area, wide = (
        WorkloadProblem(4, [Job(3, 1, 10)]),
        WorkloadProblem(4, [Job(2, 1, 5)] * 1 + [Job(2, 2, 5), Job(2, 2, 5), Job(7, 1, 1)]),
        WorkloadProblem(4, [Job(5, 3, 5), Job(5, 3, 5.5, 6), Job(0, 1, 10)]),
    )
    values = []
    for problem, rule in ((longest, "longest"), (area, "area"), (wide, "wide")):
        value, certificate = makespan_bound(problem)
        assert certificate["rule"] == rule
        assert certified(problem, dict(certificate), "makespan") == value
        values.append(value)
    assert values == [13, 9, 15.5]  # the area alone: 8.5


@pytest.mark.parametrize("calls", [1, 2, 40])
def test_ctrl_c_returns_the_best_prices(calls: int) -> None:
    """Whenever the key is pressed, what is returned is a certified bound."""
    made, original = [], TimeDual.__call__

    def evaluated(dual: TimeDual, prices: FloatArray) -> tuple[float, FloatArray]:
        made.append(1)
        if len(made) == calls:
            raise KeyboardInterrupt
        return original(dual, prices)

    with mock.patch.object(TimeDual, "__call__", evaluated):
        bound = time_prices(QUEUE)
    assert bound.interrupted
    assert len(made) > calls
    assert workload_bound(QUEUE, "turnaround") * (1 - 1e-12) <= bound.value
    assert bound.value <= certified(QUEUE, dict(bound.certificate)) <= 10 / 3
    assert not time_prices(QUEUE).interrupted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"term": "slowdown"}, "bounds 'slowdown', not turnaround"),
        ({"edges": [0, 4, 4]}, "4 after 4, at position 2"),
        ({"edges": [0, 6, 4]}, "4 after 6"),
        ({"edges": []}, "2 prices between 0 edges"),
        ({"edges": [0, 4]}, "2 prices between 2 edges"),
        ({"prices": [2**53, 2**53], "edges": [0, 2**30, 2**40]}, "beyond 2.61"),
        ({"prices": [3]}, "1 prices between 3 edges"),
    ],
)
def test_malformed_certificates_are_refused(change: dict[str, Any], message: str) -> None:
    assert certified(SMALL, GOOD) > 370
    assert certified(MALLEABLE, GOOD) > 5
    for problem in (SMALL, MALLEABLE):
        with pytest.raises(InvalidAnswer, match=message):
            certified(problem, {**GOOD, **change})


@pytest.mark.parametrize("term", ["turnaround", "slowdown", "wait"])
def test_extreme_numbers(term: WorkloadTerm) -> None:
    """Weights and times up to 2^53: the bound is low at worst, and never above the optimum."""
    for weight, runtime in ((2**53, 1), (1, 2**50), (2**50, 2**40), (1e-300, 1), (1e-12, 2**45)):
        problem = WorkloadProblem(2, [Job(0, 2, runtime, weight=weight), Job(0, 2, runtime, weight=weight)])
        optimum = {"turnaround": 1.5 * runtime, "slowdown": max(1, 1.5 * runtime / max(runtime, 10))}
        best = {**optimum, "wait": runtime / 2}[term]
        bound = time_prices(problem, term)
        assert 0 <= bound.value <= best * (1 + 1e-12)
        for unit in (1, 2**53):
            certificate = {**GOOD, "term": term, "unit": unit}
            assert certified(problem, certificate, term) <= best * (1 + 1e-12)
        assert certified(problem, dict(bound.certificate), term) <= best * (1 + 1e-12)


def test_wide_ranges_of_sizes_end() -> None:
    """A job that may run on up to 2^40 nodes, and gains little: the judge looks at a part of its sizes."""
    job = Job(0, 2**39, 1000.0, min_nodes=1, max_nodes=2**40, speedup=Amdahl(0.5))
    problem = WorkloadProblem(2**40, [job, Job(0, 2**40, 5000.0)])
    with mock.patch("allocsolve.judge.workload.certificate._MAX_STEPS", 10**5):
        bound = certified(problem, {**GOOD, "prices": [1, 1]})
    assert 0 <= bound <= 5500


def test_limits_of_time() -> None:
    rng = np.random.default_rng(13)
    jobs = Jobs(rng.integers(0, 2000, 100), rng.integers(1, 9, 100), rng.integers(1, 500, 100))
    problem = WorkloadProblem(8, jobs)
    cheap = workload_bound(problem, "turnaround")
    none = time_prices(problem, clock=Budget(seconds=1e-9).start())
    full = time_prices(problem)
    assert none.value == pytest.approx(cheap)
    assert none.value <= full.value
    assert full.value > 1.5 * cheap
    assert certified(problem, dict(full.certificate)) == pytest.approx(full.value, rel=1e-12)


def test_kth_log(traces: Path) -> None:
    """Prices on coarse slots are worth more than 4 % over the run times alone."""
    log = read_swf_log(traces / "KTH-SP2-1996-2.1-cln.swf.gz")
    problem = WorkloadProblem(log.num_nodes, Jobs(log.submits - log.submits.min(), log.nodes, log.runs))
    assert workload_bound(problem, "turnaround") == pytest.approx(8874.657)
    # The function has the name of its module.
    with mock.patch.object(import_module("allocsolve.bounds.workload.time_prices"), "_MOST_WIDTHS", 0):
        bound = time_prices(problem)  # coarse slots only: fixed work
    assert bound.value > 9270
    assert bound.value <= certified(problem, dict(bound.certificate)) <= bound.value * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["job-prices", "date-tree", "date-trees"])
def test_a_kind_for_rigid_jobs_and_means_is_refused_to_others_by_its_name(kind: str) -> None:
    certificates = f"certificates of the kind {kind}"
    faults: dict[WorkloadTerm, str] = {
        "turnaround": f"the workload has jobs that are not rigid, of which {certificates} know nothing",
        "makespan": f"{certificates} bound turnaround, slowdown, wait, not makespan",
    }
    for term, fault in faults.items():
        with pytest.raises(InvalidAnswer, match=fault):
            certified_bound(MOLDABLE, {"kind": kind, "term": term}, (term,))


# --- Workload cpsat -----------------------------------------------------------------------------------

#: The first job waits best: the wide one goes first.
PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])


def random_problem(seed: int, count: int) -> WorkloadProblem:
    """Lognormal run times, powers of two up to the machine, load 1.2."""
    random = np.random.default_rng(seed)
    nodes = 2 ** random.integers(0, 5, count)
    runtime = np.maximum(1, np.rint(random.lognormal(4, 1, count)))
    span = (nodes * runtime).sum() / (16 * 1.2)
    return WorkloadProblem(16, Jobs(np.floor(np.sort(random.random(count)) * span), nodes, runtime))


@pytest.mark.parametrize(
    ("objective", "value"),
    [
        ("turnaround", (111 + 10 + 1009) / 3),
        ("makespan", 1011.0),
        ("makespan,turnaround", (1011.0, (111 + 10 + 1009) / 3)),
        ("wait,makespan", ((11 + 0 + 9) / 3, 1011.0)),
    ],
)
def test_known_optimum(objective: str, value: float | tuple[float, ...]) -> None:
    result = WorkloadCpSat(objective)(PROBLEM, Budget())  # type: ignore[arg-type]  # texts are read
    assert result.status is Status.OPTIMAL
    assert result.limit is None
    assert result.objective == result.bound == pytest.approx(value)


def test_jobs_that_do_not_count() -> None:
    problem = WorkloadProblem(2, [Job(0, 2, 5, weight=0), Job(0, 2, 7, weight=0)])
    result = WorkloadCpSat()(problem, Budget())
    assert (result.status, result.objective) == (Status.OPTIMAL, 0.0)


def test_a_start_is_improved_and_its_order_taken() -> None:
    start = WorkloadSchedule.of(PROBLEM, [5000, 2000, 0])
    assert not workload_violations(PROBLEM, WorkloadSchedule.of(PROBLEM, [5000, 2000, 2]))
    result = WorkloadCpSat(start=start)(PROBLEM, Budget())
    assert result.status is Status.OPTIMAL
    with pytest.raises(InvalidAnswer, match="1 pieces for 3 jobs"):
        WorkloadCpSat(start=WorkloadSchedule.of(WorkloadProblem(4, [Job(0, 1, 1)]), [0]))(PROBLEM, Budget())


def test_too_many_jobs_get_a_schedule_and_the_bound_by_prices() -> None:
    problem = random_problem(0, 30)
    result = WorkloadCpSat(max_jobs=5)(problem, Budget())
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert result.certificate is not None
    assert isinstance(result.bound, float)
    assert isinstance(result.objective, float)
    assert 0.8 * result.objective < result.bound < result.objective


def test_twenty_jobs_are_proven() -> None:
    problem = random_problem(1, 20)
    result = WorkloadCpSat()(problem, Budget(seconds=600))
    assert result.status is Status.OPTIMAL
    assert result.answer is not None
    assert workload_value(problem, result.answer) == result.objective


def test_real_times_are_bounded_but_not_proven() -> None:
    problem = WorkloadProblem(2, [Job(0, 2, 1 / 3), Job(0.1, 1, math.pi), Job(0.2, 2, 1.7)])
    result = WorkloadCpSat()(problem, Budget())
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.ROUNDING)
    assert isinstance(result.bound, float)
    assert isinstance(result.objective, float)
    assert result.objective * 0.999 < result.bound < result.objective


def test_every_size_of_a_moldable_job_is_tried() -> None:
    wide = Job(0, 1, 100, min_nodes=1, max_nodes=50, speedup=Amdahl(1.0))
    result = WorkloadCpSat()(WorkloadProblem(50, [wide, Job(0, 1, 10)]), Budget())
    assert result.answer is not None
    assert sorted(result.answer.nodes.tolist()) in ([1, 49], [1, 50])


def test_numbers_beyond_64_bits_have_no_model() -> None:
    problem = WorkloadProblem(2**53, [Job(0, 2**53, 1e9), Job(0, 2**52, 3e9), Job(0, 2**52, 5)])
    result = WorkloadCpSat()(problem, Budget())
    assert result.limit in (Limit.SIZE, None)
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()


@pytest.mark.parametrize("kind", ["malleable", "evolving"])
def test_what_has_no_model_is_refused_by_name(kind: str) -> None:
    """It is not called too large: a budget of any size would not help."""
    job: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(0.9)}
    changing = {"kind": "malleable"} if kind == "malleable" else {"evolution": Requests([(0.5, 1)])}
    problem = WorkloadProblem(
        4, [Job(0, 2, 100, name="plain"), Job(0, 2, 100, name="two", **job, **changing)]
    )
    with pytest.raises(UnsupportedProblem, match=f"^job 'two' is {kind}: this solver plans jobs that keep"):
        WorkloadCpSat()(problem, Budget())
    (task,) = plan([("", problem)], ["cpsat"], budgets=[Budget()])
    assert execute(task, WorkloadCpSat()).record.error.startswith(f"UnsupportedProblem: job 'two' is {kind}")
