"""Bounds and schedules of malleable jobs beside the proven optimum, where jobs are few enough for one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from allocsolve.exact import Prices, WorkloadMilp
from allocsolve.families import quick_answers
from allocsolve.heuristics import ListAnnealing
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import Amdahl, Budget, Clock, Job, PowerLaw, Status, WorkloadProblem, terms

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import Result, WorkloadSchedule

#: Relative; the method proves an optimum to a millionth.
NEAR = 2e-6
#: Over the optimum: the bound of `prices`, its schedule, the best policy or rule that does not search, lists.
COLUMNS = ("bound", "prices", "best policy", "list-annealing")
LOADS = (0.6, 0.9, 1.2)
LAWS = (PowerLaw(1), PowerLaw(0.7), PowerLaw(0.5), Amdahl(0.9), Amdahl(0.99))


def few_jobs(seed: int, count: int, load: float) -> WorkloadProblem:
    """Return jobs that change their size at any time, submitted at random to 32 nodes.

    Nodes are log-uniform up to all of them, seconds log-normal with a median of 245; a job may shrink to a
    fifth and grow to four times its nodes. The load is that of the time up to the latest possible submission.
    """
    random = np.random.default_rng(seed)
    nodes = np.floor(2 ** random.uniform(0, 5.001, count)).astype(int)
    runtime = np.ceil(np.clip(random.lognormal(5.5, 1.2, count), 5, 20_000))
    submit = np.floor(random.random(count) * (nodes @ runtime) / (32 * load))
    return WorkloadProblem(
        32,
        [
            Job(
                *(float(submit[job] - submit.min()), int(nodes[job]), float(runtime[job])),
                min_nodes=max(1, int(nodes[job]) // int(random.integers(1, 6))),
                max_nodes=min(32, int(nodes[job] * random.uniform(1, 4))),
                speedup=LAWS[random.integers(len(LAWS))],
                kind="malleable",
            )
            for job in range(count)
        ],
        name=f"{count} jobs, seed {seed}",
    )


def judged(problem: WorkloadProblem, result: Result[WorkloadSchedule]) -> float:
    """Return the mean turnaround of an answer that breaks no rule."""
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    return terms(workload_value(problem, result.answer, ("turnaround",)))[0]


def ratios(problem: WorkloadProblem) -> tuple[float, ...]:
    """Return the columns of a problem, after a check that bound, optimum and schedules are in this order."""
    exact = WorkloadMilp()(problem, Budget(seconds=300))
    assert exact.status is Status.OPTIMAL
    optimum = judged(problem, exact)
    priced = Prices()(problem, Budget(iterations=1000))
    values = [judged(problem, priced)]
    values += [[kept[0] for _, kept in quick_answers(problem, ("turnaround",), Clock(100))][-1]]
    values += [judged(problem, ListAnnealing()(problem, Budget(iterations=20_000)))]
    bound = terms(priced.bound)[0]
    assert bound <= optimum * (1 + NEAR), problem.name
    assert optimum <= min(values) * (1 + NEAR), problem.name
    return bound / optimum, *(value / optimum for value in values)


def shown(rows: dict[tuple[int, float], list[tuple[float, ...]]]) -> list[str]:
    """Return the lines of the table in docs/gap.md: of the bound mean and minimum, of others the maximum."""
    lines = []
    for (count, load), found in rows.items():
        columns = np.array(found)
        worst = (columns[:, 0].min(), *columns[:, 1:].max(axis=0))
        cells = [f"{mean:.3f} ({far:.3f})" for mean, far in zip(columns.mean(axis=0), worst, strict=True)]
        lines.append(f"| {count} | {load:g} | {len(found)} | {' | '.join(cells)} |")
    return lines


def gaps(benchmark: BenchmarkFixture, each: int) -> None:
    rows: dict[tuple[int, float], list[tuple[float, ...]]] = {}

    def solve() -> None:
        for count in (3, 4):
            for nth in range(each):
                load = LOADS[nth % len(LOADS)]
                found = ratios(few_jobs(100_000 * count + nth, count, load))
                rows.setdefault((count, load), []).append(found)

    benchmark.pedantic(solve, rounds=1)
    benchmark.extra_info["over the optimum"] = shown(dict(sorted(rows.items())))
    assert np.mean([row[0] for found in rows.values() for row in found]) > 0.95


def test_gaps_of_a_few_jobs(benchmark: BenchmarkFixture) -> None:
    """12 workloads of three and four jobs."""
    gaps(benchmark, 6)


@pytest.mark.skipif(
    not os.environ.get("ALLOCSOLVE_LONG_BENCHMARKS"),
    reason="takes five minutes: set ALLOCSOLVE_LONG_BENCHMARKS",
)
def test_gaps_of_200_workloads(benchmark: BenchmarkFixture) -> None:
    """100 workloads of three and 100 of four jobs: the table of docs/gap.md."""
    gaps(benchmark, 100)
