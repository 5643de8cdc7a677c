"""Speed of the bounds by prices: one evaluation of the dual, and the judge, on a generated month.

Fixed work: 20,000 jobs on 256 nodes, one seed, hourly slots with random prices.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.bounds.workload import job_costs, time_prices
from allocsolve.bounds.workload.time_prices import TimeDual
from allocsolve.judge.workload.certificate import workload_certified_bound
from allocsolve.model import Amdahl, Budget, Job, Jobs, Join, Phases, Profile, WorkloadProblem, frozen

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

JOBS = 20_000
HOUR = 3600
HOURS = 30 * 24


@pytest.fixture(scope="module")
def month() -> WorkloadProblem:
    rng = np.random.default_rng(13)
    submit = np.sort(rng.integers(0, HOURS * HOUR, JOBS))
    nodes = 2 ** rng.integers(0, 7, JOBS)
    runtime = np.ceil(rng.lognormal(6.5, 1.5, JOBS))
    return WorkloadProblem(256, Jobs(submit, nodes, runtime))


@pytest.fixture(scope="module")
def hourly() -> dict[str, Any]:
    rng = np.random.default_rng(13)
    prices = np.where(rng.random(HOURS) < 0.3, rng.integers(0, 100, HOURS), 0)
    edges = (np.arange(HOURS + 1) * HOUR).tolist()
    return {
        "kind": "time-prices",
        "term": "turnaround",
        "edges": edges,
        "prices": prices.tolist(),
        "unit": 1000,
    }


@pytest.fixture(scope="module")
def malleable_month(month: WorkloadProblem) -> WorkloadProblem:
    packed = month.packed
    jobs = Jobs(
        packed.submit,
        packed.nodes,
        packed.runtime,
        min_nodes=np.maximum(1, packed.nodes // 4),
        max_nodes=np.minimum(256, 2 * packed.nodes),
        speedups=[Amdahl(0.98)] * JOBS,
        kinds=["malleable"] * JOBS,
    )
    return WorkloadProblem(256, jobs)


@pytest.fixture(scope="module")
def evolving() -> WorkloadProblem:
    """A queue of 200 jobs on 64 nodes, half of them with phases and half with profiles."""
    rng = np.random.default_rng(15)
    jobs = []
    for submit, log_nodes in zip(np.sort(rng.integers(0, 1600, 200)), rng.integers(0, 5, 200), strict=True):
        k = int(2**log_nodes)
        if rng.random() < 0.5:
            phases, join = Phases([(50 * k, None), (100, 1), (50 * k, None)]), Join(4)
            row = Job(
                int(submit),
                k,
                4 + phases.run_time(k),
                min_nodes=max(1, k // 2),
                max_nodes=2 * k,
                evolution=phases,
                reconfiguration=join,
            )
        else:
            steps = [(int(rng.integers(10, 60)), int(rng.integers(1, k + 1))) for _ in range(8)]
            nodes = [size for _, size in steps]
            row = Job(
                int(submit),
                nodes[0],
                sum(t for t, _ in steps),
                min_nodes=min(nodes),
                max_nodes=max(nodes),
                evolution=Profile(steps),
            )
        jobs.append(row)
    return WorkloadProblem(64, jobs)


@pytest.fixture(scope="module")
def falling() -> dict[str, Any]:
    """Slots of 10 s whose prices fall."""
    edges, prices = list(range(0, 2001, 10)), list(range(200, 0, -1))
    return {"kind": "time-prices", "term": "turnaround", "edges": edges, "prices": prices, "unit": 1000}


KINDS = {
    "rigid": ("month", "hourly"),
    "malleable": ("malleable_month", "hourly"),
    "evolving": ("evolving", "falling"),
}


@pytest.fixture(params=[*KINDS.values()], ids=[*KINDS])
def priced(request: pytest.FixtureRequest) -> tuple[WorkloadProblem, dict[str, Any]]:
    """A workload and prices for it."""
    problem, certificate = map(request.getfixturevalue, request.param)
    return problem, certificate


def test_one_evaluation(benchmark: BenchmarkFixture, priced: tuple[WorkloadProblem, dict[str, Any]]) -> None:
    problem, certificate = priced
    dual = TimeDual(problem, job_costs(problem, "turnaround"), 0.0)
    dual.on(frozen(np.array(certificate["edges"])))
    prices = np.array(certificate["prices"]) / certificate["unit"]
    first = dual(prices)
    again = benchmark(dual, prices)
    assert again[0] == first[0]


def test_judge(benchmark: BenchmarkFixture, priced: tuple[WorkloadProblem, dict[str, Any]]) -> None:
    problem, certificate = priced
    first = workload_certified_bound(problem, certificate, ("turnaround",))
    assert benchmark(workload_certified_bound, problem, certificate, ("turnaround",)) == first


def test_ascent_on_coarse_slots(
    benchmark: BenchmarkFixture, month: WorkloadProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_prices(month, clock=Budget(seconds=1e-9).start())
    # The function has the name of its module.
    monkeypatch.setattr(import_module("allocsolve.bounds.workload.time_prices"), "_MOST_WIDTHS", 2)
    benchmark.pedantic(time_prices, (month,), rounds=3)
