"""What only the CP-SAT solver has: covers, warm starts, limits, and its relaxation as a bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import evolution_problems
from tiers import examples

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, EvolutionSchedule, Status
from allocsolve.bounds import makespan_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import EvolutionCpSat, pairs_relaxation
from allocsolve.exact.evolution._conflicts import blocks_of, violated_covers
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Limit

if TYPE_CHECKING:
    from collections.abc import Callable


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
