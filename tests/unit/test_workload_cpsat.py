"""`WorkloadCpSat` by example."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from allocsolve.bench.runs.execution import execute
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import InvalidAnswer, UnsupportedProblem
from allocsolve.exact.workload import WorkloadCpSat
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    Amdahl,
    Budget,
    Job,
    Jobs,
    Limit,
    Requests,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
)

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
