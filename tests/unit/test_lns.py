"""What only the neighbourhood search has: neighbourhoods of a schedule, proofs by freeing all, budgets."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from naive_optimum import optimum
from strategies import evolution_problems
from tiers import examples

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Status
from allocsolve.backends.cpsat import run_cpsat
from allocsolve.exact import EvolutionLns
from allocsolve.exact.evolution._order_model import OrderModel
from allocsolve.heuristics import Annealing, ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Limit, terms

if TYPE_CHECKING:
    from allocsolve.model import EvolutionObjective


@settings(max_examples=examples(25))
@given(evolution_problems(min_apps=2, max_apps=3, max_duration=2, releases=True))
def test_with_all_applications_free_it_proves_the_optimum(problem: EvolutionProblem) -> None:
    for objective in (("makespan",), ("makespan", "waste")):
        result = EvolutionLns(objective)(problem, Budget(iterations=60))
        confirm(problem, result, objective)
        assert result.status is Status.OPTIMAL
        assert result.objective is not None
        assert terms(result.objective) == optimum(problem, objective)


@settings(max_examples=examples(25))
@given(evolution_problems(min_apps=2, max_apps=4, max_duration=3))
def test_the_orders_of_a_schedule_hold_in_it(problem: EvolutionProblem) -> None:
    """With all orders kept, the model still has an answer that is no worse than the schedule."""
    answer = ListScheduling()(problem, Budget()).answer
    assert answer is not None
    before = answer.durations.cumsum() - answer.durations
    starts = before + (answer.starts - before[answer.offsets[:-1]]).repeat(
        answer.offsets[1:] - answer.offsets[:-1]
    )
    clock = Budget().start()
    model = OrderModel(problem, problem.horizon, clock, largest_cover=3)
    model.model.add_bool_and(
        model.orders(starts, starts + answer.durations, list(range(len(problem.applications))))
    )
    model.model.add(model.term("makespan") <= int(answer.completions.max()))
    assert run_cpsat(model.model, Budget(), clock, lambda _: False).infeasible is False


@pytest.mark.parametrize("limit", [1, 2, math.inf])
def test_it_is_no_worse_than_annealing_and_repeats_itself(limit: float) -> None:
    problem = replace(klein2011([3, 1], num_apps=(8, 8)), expand_limit=limit)
    results = [EvolutionLns()(problem, Budget(iterations=4, seed=2)) for _ in range(2)]
    assert results[0].answer == results[1].answer
    confirm(problem, results[0], ("makespan",))
    annealed = Annealing()(problem, Budget(iterations=64_000, seed=2)).objective
    assert isinstance(annealed, int)
    assert isinstance(results[0].objective, int)
    assert results[0].objective <= annealed
    assert results[0].incumbents[-1][1] == results[0].objective


@pytest.mark.parametrize("objective", [("waste", "makespan"), ("makespan", "waste")])
@pytest.mark.parametrize("release", [10**6, 2**50])
def test_no_waste_is_refuted_whatever_the_horizon(objective: EvolutionObjective, release: int) -> None:
    """Less than none was once looked for second by second: minutes, and all memory."""
    late = EvolutionProfile([(3, 3)])
    long = EvolutionProfile([(10, 5), (10, 3), (10, 1), (1, 0)])
    problem = EvolutionProblem(5, (late, long), releases=(release, 0), expand_limit=2)
    result = EvolutionLns(objective)(problem, Budget(iterations=20))
    assert result.status is Status.OPTIMAL
    assert confirm(problem, result, objective).objective == tuple(
        0 if term == "waste" else release + 3 for term in objective
    )


def test_limits_are_told() -> None:
    problem = klein2011(1)
    assert EvolutionLns()(problem, Budget(seconds=1e-9)).limit is Limit.TIME
    assert EvolutionLns(max_applications=3)(problem, Budget()).limit is Limit.SIZE
    assert EvolutionLns()(klein2011(1, num_apps=(9, 9)), Budget(iterations=1)).limit is Limit.ITERATIONS
