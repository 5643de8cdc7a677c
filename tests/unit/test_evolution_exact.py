"""What only the neighbourhood search, and what only CP-SAT has among solvers of evolution problems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from naive_optimum import optimum
from strategies import evolution_problems
from tiers import examples

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, EvolutionSchedule, Status
from allocsolve.backends.cpsat import run_cpsat
from allocsolve.bounds import makespan_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import EvolutionCpSat, EvolutionLns, pairs_relaxation
from allocsolve.exact.evolution._conflicts import blocks_of, violated_covers
from allocsolve.exact.evolution._order_model import OrderModel
from allocsolve.heuristics import Annealing, ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Limit, terms

if TYPE_CHECKING:
    from collections.abc import Callable

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


# --- CP-SAT -------------------------------------------------------------------------------------------


@given(evolution_problems(min_apps=2, max_apps=4, max_steps=4, max_nodes=6))
def test_covers_are_found_if_and_only_if_the_cluster_is_exceeded(problem: EvolutionProblem) -> None:
    offsets, durations, nodes, _, _ = problem.packed
    starts = np.concatenate([np.cumsum([0, *app.durations[:-1]]) for app in problem.applications])
    ends = starts + durations
    covers = violated_covers(blocks_of(problem), problem.num_nodes, starts, ends)
    peak = max(int(nodes[(starts <= t) & (t < ends)].sum()) for t in starts.tolist())
    assert bool(covers) == (peak > problem.num_nodes)
    for cover in covers:
        assert sum(block.nodes for block in cover) > problem.num_nodes
        begins = [int(starts[offsets[b.app] + b.first]) for b in cover]
        stops = [int(ends[offsets[b.app] + b.last]) for b in cover]
        assert max(begins) < min(stops)  # the answer violates the clause: all blocks overlap


def test_the_cutoffs_of_one_term_do_not_bind_the_next() -> None:
    """The makespan 6 is proven by finding nothing below it; then the least completion is at 6, not below."""
    problem = EvolutionProblem(
        4,
        (
            EvolutionProfile([(1, 2), (2, 1), (2, 3)]),
            EvolutionProfile([(2, 3), (2, 1)]),
            EvolutionProfile([(1, 1)]),
        ),
        releases=(0, 0, 1),
        expand_limit=1,
    )
    result = EvolutionCpSat(("makespan", "completion"))(problem, Budget(seconds=600))
    assert result.objective == (6, 14 / 3)


def test_a_warm_start_is_kept_or_improved() -> None:
    problem = klein2011(3, num_apps=(6, 6))
    start = ListScheduling()(problem, Budget()).answer
    assert start is not None
    result = EvolutionCpSat(start=start)(problem, Budget(seconds=600, workers=2))
    confirm(problem, result, ("makespan",))
    assert isinstance(result.objective, int)
    assert result.objective <= start.completions.max()
    assert "start" not in repr(EvolutionCpSat(start=start))


def test_an_infeasible_warm_start_is_refused() -> None:
    problem = EvolutionProblem(1, (EvolutionProfile([(2, 1)]),) * 2)
    wrong = EvolutionSchedule.of([0, 1], problem.applications)
    with pytest.raises(InvalidAnswer, match="the start schedule is not a feasible schedule"):
        EvolutionCpSat(start=wrong)(problem, Budget())


def test_a_problem_that_is_too_large_gets_a_schedule_and_a_bound() -> None:
    problem = klein2011(1, num_apps=(30, 30))
    result = EvolutionCpSat(max_applications=20)(problem, Budget())
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert result.bound == makespan_bound(problem)
    assert pairs_relaxation(EvolutionProblem(1, ())) == 0


def test_a_tiny_budget_is_a_result() -> None:
    problem = klein2011(1)
    result = EvolutionCpSat(("makespan", "waste"))(problem, Budget(seconds=1e-9))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.bound == (makespan_bound(problem), -math.inf)
    confirm(problem, result, ("makespan", "waste"))


def test_ctrl_c_ends_the_search_with_what_is_known(press_ctrl_c: Callable[[], None]) -> None:
    problem = klein2011(2, num_apps=(20, 20))
    EvolutionCpSat()(klein2011(2, num_apps=(2, 2)), Budget())  # compiled before the clock matters
    press_ctrl_c()
    result = EvolutionCpSat()(problem, Budget(seconds=120, workers=1))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    confirm(problem, result, ("makespan",))
    assert result.runtime < 60


@settings(max_examples=examples(20))
@given(evolution_problems(min_apps=2, max_apps=3, releases=True))
def test_the_pairs_relaxation_is_a_bound_and_exact_for_two(problem: EvolutionProblem) -> None:
    bound = pairs_relaxation(problem)
    optimum = EvolutionCpSat()(problem, Budget(seconds=600)).objective
    assert isinstance(optimum, int)
    assert makespan_bound(problem) <= bound <= optimum
    if len(problem.applications) == 2:
        assert bound == optimum
