"""CP-SAT: optima proven on the suites, with two workers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from allocsolve import Budget, EvolutionProblem, Status
from allocsolve.bench import suite
from allocsolve.exact import EvolutionCpSat
from allocsolve.judge import confirm

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

#: (suite, expand limit) -> optimal makespans of its first problems.
OPTIMA: dict[tuple[str, float], tuple[int, ...]] = {
    ("klein-5", 1): (38135, 33551, 29762, 40611, 26991),
    ("klein-8", 1): (51642, 44407, 49281, 54959, 51106),
    ("klein-10", 1): (68822, 85489, 79110, 59216, 50540),
    ("klein-12", 1): (76374, 66992, 76126, 77091, 51988),
    ("klein-8", math.inf): (41240, 35812, 47052, 49951, 41888),
}


@pytest.mark.parametrize(("name", "limit"), OPTIMA)
def test_proven_optima(benchmark: BenchmarkFixture, name: str, limit: float) -> None:
    optima = OPTIMA[name, limit]
    problems = [
        replace(problem, expand_limit=limit)
        for problem in suite(f"{name}-inf")[: len(optima)]
        if isinstance(problem, EvolutionProblem)
    ]

    def solve_all() -> list[tuple[Status, object]]:
        results = [EvolutionCpSat()(problem, Budget(seconds=60, workers=2)) for problem in problems]
        judged = [confirm(p, r, ("makespan",)) for p, r in zip(problems, results, strict=True)]
        benchmark.extra_info["longest_s"] = max(result.runtime for result in results)
        return [(result.status, result.objective) for result in judged]

    outcomes = benchmark.pedantic(solve_all, rounds=1)
    assert outcomes == [(Status.OPTIMAL, optimum) for optimum in optima]
