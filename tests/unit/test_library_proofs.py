"""Optima of the library's partition problems are checked: the judge confirms each from its certificate."""

from __future__ import annotations

import pytest
from tiers import before_a_release

from allocsolve.bench import suite
from allocsolve.exact import PartitionBranchAndBound
from allocsolve.judge import assess
from allocsolve.model import Budget, PartitionProblem, Status

#: Without the tori, some of which take long; the first one is that of `make score`.
SUITES = ["mesh-16x8", "towns", "counterexamples", "mesh-16x16", "mesh-32x32", "median-worst-case"]
SUITES += ["mesh-8x8x8"] * before_a_release()


@pytest.mark.parametrize("name", SUITES)
def test_each_optimum_of_a_suite_is_confirmed_by_its_certificate(name: str) -> None:
    problems = [problem for problem in suite(name) if isinstance(problem, PartitionProblem)]
    assert problems
    for problem in problems:
        verdict = assess(problem, PartitionBranchAndBound()(problem, Budget()), ("pairwise",))
        assert verdict.result.status is Status.OPTIMAL
        assert verdict.certified_bound == verdict.result.objective, problem.name
