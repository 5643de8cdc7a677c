"""Lists of malleable and of evolving jobs: lists and moves a second, and gaps to the bound."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve import solve
from allocsolve.bounds.workload import time_prices
from allocsolve.exact import Prices, WorkloadMilp
from allocsolve.families import quick_answers
from allocsolve.heuristics import EvolvingAnnealing, ListAnnealing, Market, Reinsertion
from allocsolve.instances import evotree_batch, klein2011, workload_of_evolution
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    Amdahl,
    Budget,
    Clock,
    Job,
    PowerLaw,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import EvolutionProblem, Result, Solver


LAWS = (PowerLaw(1), PowerLaw(0.7), PowerLaw(0.5), Amdahl(0.9), Amdahl(0.99), Amdahl(1))
LOADS = (0.6, 0.9, 1.2)
#: Numbers of jobs, and how many random workloads of each: 27 in all, the loads in turn.
SUITE = [(count, nth) for count, most in ((2, 6), (5, 6), (10, 6), (40, 6), (150, 3)) for nth in range(most)]


#: `prices` may find a schedule that is better by this factor.
BY_CHANCE = 1.005
#: Workloads with points 10 s apart: seed, jobs, nodes, the share of jobs that are malleable (the others are
#: rigid), and the load. Policies leave 30, 21 and 36 % to the bound; how much they leave differs by the seed.
WITH_POINTS = [(1, 150, 64, 1.0, 0.9), (1, 400, 96, 0.5, 0.45), (3, 300, 48, 0.8, 0.9)]


def malleable_workload(
    seed: int, count: int, load: float, num_nodes: int = 0, share: float | None = None, points_s: int = 0
) -> WorkloadProblem:
    """Jobs that arrive at random on some nodes (else 16, 32 or 64); a share of them is malleable (else all).

    Nodes are log-uniform, seconds log-normal with a median of 245; malleable jobs may grow up to four times
    and shrink to a fifth, at any time or at points about `points_s` seconds apart.
    """
    random = np.random.default_rng(seed)
    num_nodes = num_nodes or int(random.choice([16, 32, 64]))
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        law = LAWS[random.integers(len(LAWS))]
        nodes = int(np.clip(2 ** random.uniform(0, np.log2(num_nodes)), 1, num_nodes))
        most = int(min(num_nodes, max(nodes, round(nodes * random.uniform(1, 4)))))
        least = max(1, nodes // int(random.integers(1, 6)))
        runtime = float(np.ceil(np.clip(random.lognormal(5.5, 1.2), 5, 20_000)))
        row: dict[str, Any] = {"nodes": nodes, "runtime": runtime}
        if share is None or random.random() < share:
            points = int(np.ceil(runtime / points_s)) if points_s else 0
            row |= {"min_nodes": least, "max_nodes": most, "speedup": law, "points": points}
            row["kind"] = "malleable"
        rows.append(row)
    area = sum(row["nodes"] * row["runtime"] for row in rows)
    submit = np.sort(np.floor(random.random(count) * (area / (num_nodes * load))))
    times = (submit - submit[0]).tolist()
    return WorkloadProblem(num_nodes, [Job(at, **row) for at, row in zip(times, rows, strict=True)])


def workload_of(count: int, nth: int) -> WorkloadProblem:
    return malleable_workload(1000 * count + nth, count, LOADS[nth % 3])


def workload_with_points(seed: int, count: int, num_nodes: int, share: float, load: float) -> WorkloadProblem:
    return malleable_workload(seed, count, load, num_nodes, share, 10)


@pytest.fixture
def cpu_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the seconds of budgets be those of CPU, of one thread as of several."""
    monkeypatch.setattr("allocsolve.model.result.time", SimpleNamespace(perf_counter=time.process_time))


def bound_of(problem: WorkloadProblem) -> float:
    return time_prices(problem, "turnaround", clock=Clock(60)).value


def turnaround(problem: WorkloadProblem, schedule: WorkloadSchedule) -> float:
    return terms(workload_value(problem, schedule, ("turnaround",)))[0]


def shown(gaps: dict[tuple[int, int], float]) -> dict[str, float]:
    """Return the mean gaps in percent by number of jobs, and of all."""
    counts = sorted({count for count, _ in gaps})
    means = {str(count): float(np.mean([gaps[at] for at in gaps if at[0] == count])) for count in counts}
    return {key: round(mean, 2) for key, mean in {**means, "all": float(np.mean([*gaps.values()]))}.items()}


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


needs_minutes = pytest.mark.skipif(
    not os.environ.get("ALLOCSOLVE_LONG_BENCHMARKS"), reason="takes minutes: set ALLOCSOLVE_LONG_BENCHMARKS"
)


def others_of(problem: WorkloadProblem, seconds: float) -> dict[str, float]:
    """Return the mean turnarounds of the best policy or rule, and of other searches in as many seconds."""
    policies = [values[0] for _, values in quick_answers(problem, ("turnaround",), Clock(100))]
    searches: dict[str, Solver[WorkloadProblem, WorkloadSchedule]] = {
        "market": Market(),
        "reinsertion": Reinsertion(),
        "prices": Prices(),
    }
    found = {"policies and rules": min(policies)}
    for name, solver in searches.items():
        answer = solver(problem, Budget(seconds=seconds)).answer
        assert answer is not None
        assert workload_violations(problem, answer) == ()
        found[name] = turnaround(problem, answer)
    return found


@needs_minutes
@pytest.mark.usefixtures("cpu_seconds")
@pytest.mark.parametrize("count", [2, 5, 10, 40, 150])
def test_gaps_under_load(benchmark: BenchmarkFixture, count: int) -> None:
    """27 workloads in all, 5 s of CPU each: never worse than another heuristic or policy in 5 s.

    5.5 % are aimed at as the mean gap of all. `prices` anneals in a part of its time, too, and from another
    start: chance decides which of the two is better, by up to `BY_CHANCE`.
    """
    suite = {at: workload_of(*at) for at in SUITE if at[0] == count}
    values: dict[tuple[int, int], float] = {}
    spent: dict[tuple[int, int], float] = {}

    def solve() -> None:
        for at, problem in suite.items():
            began = time.process_time()
            result = ListAnnealing()(problem, Budget(seconds=5))
            spent[at] = time.process_time() - began
            assert result.answer is not None
            assert workload_violations(problem, result.answer) == ()
            values[at] = turnaround(problem, result.answer)

    benchmark.pedantic(solve, rounds=1)
    worse = []
    for at, problem in suite.items():
        bound, others = bound_of(problem), others_of(problem, 5)
        best = min(others, key=others.__getitem__)
        mine = 100 * (values[at] / bound - 1)
        line = f"{mine:.2f}, best of the others {100 * (others[best] / bound - 1):.2f} ({best})"
        benchmark.extra_info[f"{at[0]} jobs, {at[1]}"] = f"{line}; {spent[at]:.1f} s of CPU"
        searched = others.pop("prices")
        if values[at] > min(*others.values(), searched * BY_CHANCE) * (1 + 1e-9):
            worse.append(f"{at}: {line}")
    assert worse == []


@needs_minutes
@pytest.mark.usefixtures("cpu_seconds")
@pytest.mark.parametrize("drawn", WITH_POINTS, ids=str)
def test_gaps_with_points(benchmark: BenchmarkFixture, drawn: tuple[int, int, int, float, float]) -> None:
    """60 s of CPU: 10.9 and 16.5 % of the first and the last; 14.4, 14.9 and 22.8 % in 20 s."""
    problem = workload_with_points(*drawn)
    result = benchmark.pedantic(ListAnnealing(), args=(problem, Budget(seconds=60)), rounds=1)
    bound = bound_of(problem)
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    gap = 100 * (turnaround(problem, result.answer) / bound - 1)
    history = {round(at): 100 * (terms(value)[0] / bound - 1) for at, value in result.incumbents}
    benchmark.extra_info["gaps in % by second"] = {at: round(gap, 1) for at, gap in history.items()}
    assert gap < {150: 14, 400: 17, 300: 25}[drawn[1]]


#: Relative; the method proves an optimum to a millionth.
NEAR = 2e-6
#: Over the optimum: the bound of `prices`, its schedule, the best policy or rule that does not search, lists.
COLUMNS = ("bound", "prices", "best policy", "list-annealing")
FEW_LOADS = (0.6, 0.9, 1.2)
FEW_LAWS = (PowerLaw(1), PowerLaw(0.7), PowerLaw(0.5), Amdahl(0.9), Amdahl(0.99))


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
                speedup=FEW_LAWS[random.integers(len(FEW_LAWS))],
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


def shown_rows(rows: dict[tuple[int, float], list[tuple[float, ...]]]) -> list[str]:
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
                load = FEW_LOADS[nth % len(FEW_LOADS)]
                found = ratios(few_jobs(100_000 * count + nth, count, load))
                rows.setdefault((count, load), []).append(found)

    benchmark.pedantic(solve, rounds=1)
    benchmark.extra_info["over the optimum"] = shown_rows(dict(sorted(rows.items())))
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


# --- Evolving annealing perf --------------------------------------------------------------------------

BATCHES = (42, 43, 44, 45, 46)


def few_applications(count: int, nth: int, load: float) -> EvolutionProblem:
    """Return applications of up to five steps, submitted at random to 100 nodes."""
    drawn = klein2011([count, nth], num_apps=(count, count), num_steps=(1, 5), duration=(50, 360))
    area = sum(seconds * nodes for one in drawn.applications for seconds, nodes in one.steps)
    releases = np.floor(np.random.default_rng([count, nth]).random(count) * area / (100 * load))
    return replace(drawn, releases=tuple((releases - releases.min()).astype(int).tolist()))


def evolving_ratios(problem: EvolutionProblem) -> tuple[float, ...]:
    """Return the bound, the best list and the best policy over the optimum, after a check of their order."""
    exact = solve(problem, "cpsat", "completion", seconds=300)
    assert exact.status is Status.OPTIMAL
    optimum = terms(exact.objective or 0)[0] - float(np.mean(problem.releases))
    workload = workload_of_evolution(problem)
    bound = time_prices(workload, "turnaround", clock=Clock(60)).value
    answer = EvolvingAnnealing()(workload, Budget(iterations=20_000)).answer
    assert answer is not None
    assert workload_violations(workload, answer) == ()
    best = terms(workload_value(workload, answer, ("turnaround",)))[0]
    policy = [kept[0] for _, kept in quick_answers(workload, ("turnaround",), Clock(100))][-1]
    assert bound <= optimum * (1 + 1e-9)
    assert optimum <= best * (1 + 1e-9)
    return bound / optimum, best / optimum, policy / optimum


def test_gaps_of_batches(benchmark: BenchmarkFixture) -> None:
    """The five evolving batches of Posner 2024, 20,000 lists each: at most 30 % is aimed at.

    29.2 %, 27.4 with 200,000 lists; `static-price`, the best policy, has 43.9 %.
    """
    values, bounds = [], []

    def solve() -> None:
        for seed in BATCHES:
            problem = evotree_batch(seed)
            answer = EvolvingAnnealing()(problem, Budget(iterations=20_000)).answer
            assert answer is not None
            assert workload_violations(problem, answer) == ()
            values.append(terms(workload_value(problem, answer, ("turnaround",)))[0])
            bounds.append(time_prices(problem, "turnaround", clock=Clock(60)).value)

    benchmark.pedantic(solve, rounds=1)
    gap = 100 * (np.mean(values) / np.mean(bounds) - 1)
    benchmark.extra_info["gap in %"] = round(gap, 1)
    benchmark.extra_info["gap of each in %"] = [
        round(100 * (value / bound - 1), 1) for value, bound in zip(values, bounds, strict=True)
    ]
    assert gap < 30


def test_gaps_where_the_truth_is_known(benchmark: BenchmarkFixture) -> None:
    """40 workloads of three to six jobs with profiles, of which `cpsat` proves the optimum: docs/gap.md."""
    rows: dict[int, list[tuple[float, ...]]] = {}

    def solve_all() -> None:
        for count in (3, 4, 5, 6):
            problems = [few_applications(count, nth, LOADS[nth % 3]) for nth in range(10)]
            rows[count] = [evolving_ratios(problem) for problem in problems]

    benchmark.pedantic(solve_all, rounds=1)
    lines = []
    for count, found in rows.items():
        columns = np.array(found)
        worst = (columns[:, 0].min(), *columns[:, 1:].max(axis=0))
        cells = [f"{mean:.3f} ({far:.3f})" for mean, far in zip(columns.mean(axis=0), worst, strict=True)]
        lines.append(f"| {count} | {len(found)} | {' | '.join(cells)} |")
    benchmark.extra_info["over the optimum"] = lines
    assert np.mean([row[0] for found in rows.values() for row in found]) > 0.8
