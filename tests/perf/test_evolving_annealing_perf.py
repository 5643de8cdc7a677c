"""Evolving jobs served in the order of a list: lists a second, and gaps to the bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import solve
from allocsolve.bounds.workload import time_prices
from allocsolve.families import quick_answers
from allocsolve.heuristics import EvolvingAnnealing
from allocsolve.instances import evotree_batch, klein2011, workload_of_evolution
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import Budget, Clock, Status, terms

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import EvolutionProblem

BATCHES = (42, 43, 44, 45, 46)
LOADS = (0.6, 0.9, 1.2)


def few_applications(count: int, nth: int, load: float) -> EvolutionProblem:
    """Return applications of up to five steps, submitted at random to 100 nodes."""
    drawn = klein2011([count, nth], num_apps=(count, count), num_steps=(1, 5), duration=(50, 360))
    area = sum(seconds * nodes for one in drawn.applications for seconds, nodes in one.steps)
    releases = np.floor(np.random.default_rng([count, nth]).random(count) * area / (100 * load))
    return replace(drawn, releases=tuple((releases - releases.min()).astype(int).tolist()))


def ratios(problem: EvolutionProblem) -> tuple[float, ...]:
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
            rows[count] = [ratios(problem) for problem in problems]

    benchmark.pedantic(solve_all, rounds=1)
    lines = []
    for count, found in rows.items():
        columns = np.array(found)
        worst = (columns[:, 0].min(), *columns[:, 1:].max(axis=0))
        cells = [f"{mean:.3f} ({far:.3f})" for mean, far in zip(columns.mean(axis=0), worst, strict=True)]
        lines.append(f"| {count} | {len(found)} | {' | '.join(cells)} |")
    benchmark.extra_info["over the optimum"] = lines
    assert np.mean([row[0] for found in rows.values() for row in found]) > 0.8
