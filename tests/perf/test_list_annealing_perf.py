"""Lists of malleable jobs: lists a second, and gaps to the bound on random workloads."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.bounds.workload import time_prices
from allocsolve.families import quick_answers
from allocsolve.heuristics import ListAnnealing, Market, Reinsertion, SrptArea
from allocsolve.heuristics.workload.list_decoding import Decoder, ListAnnealer
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import Amdahl, Budget, Clock, Job, PowerLaw, WorkloadProblem, WorkloadSchedule, terms

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

LAWS = (PowerLaw(1), PowerLaw(0.7), PowerLaw(0.5), Amdahl(0.9), Amdahl(0.99), Amdahl(1))
LOADS = (0.6, 0.9, 1.2)
#: Numbers of jobs, and how many random workloads of each: 27 in all, the loads in turn.
SUITE = [(count, nth) for count, most in ((2, 6), (5, 6), (10, 6), (40, 6), (150, 3)) for nth in range(most)]


def malleable_workload(seed: int, count: int, load: float) -> WorkloadProblem:
    """Malleable jobs without points that arrive at random on 16, 32 or 64 nodes.

    Nodes are log-uniform, seconds log-normal with a median of 245; jobs may grow up to four times and shrink
    to a fifth.
    """
    random = np.random.default_rng(seed)
    num_nodes = int(random.choice([16, 32, 64]))
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        law = LAWS[random.integers(len(LAWS))]
        nodes = int(np.clip(2 ** random.uniform(0, np.log2(num_nodes)), 1, num_nodes))
        most = int(min(num_nodes, max(nodes, round(nodes * random.uniform(1, 4)))))
        least = max(1, nodes // int(random.integers(1, 6)))
        runtime = float(np.ceil(np.clip(random.lognormal(5.5, 1.2), 5, 20_000)))
        row = {"nodes": nodes, "runtime": runtime, "min_nodes": least, "max_nodes": most, "speedup": law}
        rows.append({**row, "kind": "malleable"})
    area = sum(row["nodes"] * row["runtime"] for row in rows)
    submit = np.sort(np.floor(random.random(count) * (area / (num_nodes * load))))
    times = (submit - submit[0]).tolist()
    return WorkloadProblem(num_nodes, [Job(at, **row) for at, row in zip(times, rows, strict=True)])


def workload_of(count: int, nth: int) -> WorkloadProblem:
    return malleable_workload(1000 * count + nth, count, LOADS[nth % 3])


def bound_of(problem: WorkloadProblem) -> float:
    return time_prices(problem, "turnaround", clock=Clock(60)).value


def turnaround(problem: WorkloadProblem, schedule: WorkloadSchedule) -> float:
    return terms(workload_value(problem, schedule, ("turnaround",)))[0]


def shown(gaps: dict[tuple[int, int], float]) -> dict[str, float]:
    """Return the mean gaps in percent by number of jobs, and of all."""
    counts = sorted({count for count, _ in gaps})
    means = {str(count): float(np.mean([gaps[at] for at in gaps if at[0] == count])) for count in counts}
    return {key: round(mean, 2) for key, mean in {**means, "all": float(np.mean([*gaps.values()]))}.items()}


@pytest.mark.parametrize("count", [10, 40, 150])
def test_lists(benchmark: BenchmarkFixture, count: int) -> None:
    """10,000 lists: .005, .03 and .2 s of CPU."""
    problem = workload_of(count, 0)
    decoder = Decoder(problem, "turnaround")
    schedule = SrptArea()(problem, Budget()).answer
    assert schedule is not None
    start = decoder.lists_of(schedule)[0]

    def anneal() -> ListAnnealer:
        search = ListAnnealer(decoder, start, 1)
        search.run(decoder.cost(start) / count, 10_000)
        return search

    search = benchmark.pedantic(anneal, rounds=3, warmup_rounds=1)
    found = decoder.schedule(search.best())
    assert found is not None
    assert workload_violations(problem, found) == ()
    assert search.best_cost <= decoder.cost(start)


def test_gaps_of_small_workloads(benchmark: BenchmarkFixture) -> None:
    """18 workloads of 2 to 10 jobs, 20,000 lists each; certified bounds by prices of node-seconds."""
    problems = {at: workload_of(*at) for at in SUITE if at[0] <= 10}
    bounds = {at: bound_of(problem) for at, problem in problems.items()}
    gaps: dict[tuple[int, int], float] = {}

    def solve() -> None:
        for at, problem in problems.items():
            result = ListAnnealing()(problem, Budget(iterations=20_000))
            assert result.answer is not None
            assert workload_violations(problem, result.answer) == ()
            gaps[at] = 100 * (terms(result.objective or 0.0)[0] / bounds[at] - 1)

    benchmark.pedantic(solve, rounds=1)
    benchmark.extra_info["gaps in %"] = shown(gaps)
    assert min(gaps.values()) >= -1e-6
    assert np.mean([*gaps.values()]) < 2.5


@pytest.mark.skipif(
    not os.environ.get("ALLOCSOLVE_LONG_BENCHMARKS"),
    reason="takes ten minutes: set ALLOCSOLVE_LONG_BENCHMARKS",
)
@pytest.mark.parametrize("budget", [Budget(seconds=5), Budget(iterations=200_000)], ids=["5s", "200000"])
def test_gaps_under_load(benchmark: BenchmarkFixture, budget: Budget) -> None:
    """27 workloads, 5 s or 200,000 lists each: a mean gap of at most 5.5 % is aimed at.

    5.3 % in 5 s, of which a busy machine gave 1.5 to workloads of 40 and 150 jobs; 5.2 % with 200,000 lists,
    1.1 and 6.6 s of CPU.
    """
    gaps: dict[tuple[int, int], float] = {}
    spent: dict[tuple[int, int], float] = {}
    worse: set[tuple[int, int]] = set()

    def solve() -> None:
        for at, problem in ((at, workload_of(*at)) for at in SUITE):
            began = time.process_time()
            result = ListAnnealing()(problem, budget)
            spent[at] = time.process_time() - began
            assert result.answer is not None
            assert workload_violations(problem, result.answer) == ()
            value = terms(result.objective or 0.0)[0]
            gaps[at] = 100 * (value / bound_of(problem) - 1)
            for answer, values in quick_answers(problem, ("turnaround",), Clock(100)):
                assert not workload_violations(problem, answer)
                assert value <= values[0] * (1 + 1e-9)
            for searching in (Market(), Reinsertion()):  # in all of the time, not in a part of it
                answer = searching(problem, Budget(seconds=5)).answer
                assert answer is not None
                worse.update([at] if value > turnaround(problem, answer) * (1 + 1e-9) else [])

    benchmark.pedantic(solve, rounds=1)
    benchmark.extra_info["gaps in %"] = shown(gaps)
    benchmark.extra_info["CPU"] = shown(spent)
    benchmark.extra_info["market or reinsertion is better"] = sorted(worse)
    assert np.mean([*gaps.values()]) < 6
