"""One contract for every registered solver of evolution problems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import naive
import pytest
from hypothesis import HealthCheck, given, settings
from naive_optimum import optimum
from strategies import evolution_problems
from tiers import examples, some

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Result, Status, solve
from allocsolve.families import family_of
from allocsolve.instances import klein2011
from allocsolve.judge import confirm, violations
from allocsolve.model import EVOLUTION_OBJECTIVES, Limit, parse_objective, terms
from allocsolve.registry import make_solver, solver_names

ROWS = solver_names(family_of(EvolutionProblem))
EXACT = [name for name in ROWS if ROWS[name].method == "exact"]
OBJECTIVES = ("makespan", "completion", "waste", "makespan,waste")

solvers = pytest.mark.parametrize("name", list(ROWS))
exact = pytest.mark.parametrize("name", EXACT)
few = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])


def _judged(name: str, problem: EvolutionProblem, objective: str, **budget: Any) -> Result[Any]:
    return solve(problem, name, objective, **{"seconds": 20, **budget})


@solvers
@few
@given(problem=evolution_problems(max_apps=3, releases=True))
def test_answers_are_feasible_and_bounded(name: str, problem: EvolutionProblem) -> None:
    for objective in OBJECTIVES:
        result = make_solver(name, problem, objective)(problem, Budget(seconds=20))
        assert result.answer is not None
        assert not violations(problem, result.answer)
        assert not naive.violates(problem, result.answer)
        judged = confirm(problem, result, parse_objective(objective, EVOLUTION_OBJECTIVES))
        assert judged.objective is not None
        assert terms(judged.bound) <= terms(judged.objective)


@exact
def test_what_time_or_size_has_stopped_says_so(name: str) -> None:
    """Without time nothing is proven, but there is a bound, and an answer unless the model is too large."""
    problem = klein2011(8)
    result = make_solver(name, problem)(problem, Budget(seconds=1e-9, workers=2))
    confirm(problem, result, ("makespan",))
    assert terms(result.bound)[0] > 0
    if name == "milp":  # has no start schedule
        assert (result.status, result.limit, result.answer) == (Status.UNKNOWN, Limit.SIZE, None)
    else:
        assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
        assert result.answer is not None


@solvers
def test_many_small_applications(name: str) -> None:
    problem = EvolutionProblem(100, tuple(EvolutionProfile([(5, 1), (5, 2)]) for _ in range(40)))
    result = make_solver(name, problem)(problem, Budget(seconds=20, iterations=1000))
    assert confirm(problem, result, ("makespan",)).objective == 10


@exact
@few
@given(problem=evolution_problems(max_apps=3, max_steps=3, max_duration=2, releases=True))
def test_optima_are_those_of_brute_force(name: str, problem: EvolutionProblem) -> None:
    for objective in (*OBJECTIVES, "makespan,completion", "completion,waste", "waste,makespan"):
        result = _judged(name, problem, objective)
        assert result.status is Status.OPTIMAL
        assert result.objective is not None
        assert terms(result.objective) == optimum(problem, parse_objective(objective, EVOLUTION_OBJECTIVES))


def test_the_exact_methods_agree() -> None:
    for seed in some(range(3)):
        for limit in (1, 1.5, 2, math.inf):
            problem = klein2011(
                seed, num_apps=(4, 4), num_steps=(1, 3), duration=(1, 5), num_nodes=8, nodes=(1, 7)
            )
            problem = replace(problem, expand_limit=limit)
            for objective in ("makespan", "completion", "makespan,waste"):
                results = [_judged(name, problem, objective, seconds=60) for name in EXACT]
                assert [result.status for result in results] == [Status.OPTIMAL] * len(EXACT)
                assert len({result.objective for result in results}) == 1
