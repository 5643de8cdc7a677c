"""Laws of annealing over list orders: feasible, seeded, within its budget, no worse than its start."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import naive
import numpy as np
from hypothesis import given, strategies as st
from strategies import evolution_problems

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Result, Status
from allocsolve.bounds.evolution import least_values
from allocsolve.heuristics import ORDERS, Annealing, Fit, ListScheduling, list_order, list_starts
from allocsolve.heuristics.evolution import order_search
from allocsolve.heuristics.evolution.annealing import reported_value
from allocsolve.heuristics.evolution.list_scheduling import Walk, new_walk, schedule_of
from allocsolve.heuristics.evolution.order_search import (
    anneal,
    anneal_waits,
    new_trial,
    staircases,
    starts_value,
)
from allocsolve.instances import klein2011
from allocsolve.judge import confirm, evolution_violations
from allocsolve.model import Limit, terms

if TYPE_CHECKING:
    import pytest

    from allocsolve.model import EvolutionObjective

OBJECTIVES: tuple[EvolutionObjective, ...] = (
    ("makespan",),
    ("completion",),
    ("waste",),
    ("makespan", "waste"),
    ("waste", "completion"),
    ("completion", "makespan", "waste"),
)


@given(
    evolution_problems(min_apps=2, max_apps=5, releases=True),
    st.sampled_from(OBJECTIVES),
    st.sampled_from((Fit(1), Fit(compacting=True))),
)
def test_annealing_is_feasible_seeded_and_no_worse_than_its_start(
    problem: EvolutionProblem, objective: EvolutionObjective, fit: Fit
) -> None:
    runs = [list(anneal(problem, fit, objective, iterations=30, seed=5)) for _ in range(2)]
    assert [tried for tried, _ in runs[0]] == [tried for tried, _ in runs[1]]
    assert sum(tried for tried, _ in runs[0]) == 30
    assert np.array_equal(runs[0][-1][1], runs[1][-1][1])
    starts = runs[0][-1][1]
    found = schedule_of(problem, starts)
    assert not evolution_violations(problem, found)
    judged = confirm(problem, Result(Status.FEASIBLE, found), objective).objective
    assert judged is not None
    values = tuple(
        value / len(problem.applications) if term == "completion" else value
        for term, value in zip(objective, starts_value(problem, starts, objective), strict=True)
    )
    assert terms(judged) == values
    first = starts_value(problem, list_starts(problem, list_order(problem, "largest"), fit), objective)
    if objective[0] != "waste":  # which does not lead the search
        assert starts_value(problem, starts, objective)[0] <= first[0]


@given(evolution_problems(max_apps=5, releases=True), st.sampled_from(OBJECTIVES), st.integers(0, 3000))
def test_the_annealing_solver_is_no_worse_than_sorted_lists(
    problem: EvolutionProblem, objective: EvolutionObjective, iterations: int
) -> None:
    budget = Budget(iterations=len(ORDERS) + iterations, seed=7)
    result, again = Annealing(objective)(problem, budget), Annealing(objective)(problem, budget)
    assert result.answer is not None
    assert result.answer == again.answer
    least = reported_value(least_values(problem, objective), objective, len(problem.applications))
    is_least = result.objective == least
    proven = (Status.OPTIMAL, None) if is_least else (Status.FEASIBLE, Limit.ITERATIONS)
    assert (result.status, result.limit) == proven
    confirm(problem, result, objective)
    assert result.incumbents[-1][1] == result.objective
    assert [value for _, value in result.incumbents] == [value for _, value in again.incumbents]
    for order in ORDERS:
        if order != "random":
            listed = ListScheduling(Fit(1), order)(problem, Budget())
            value = confirm(problem, listed, objective).objective
            assert value is not None
            assert result.objective is not None
            assert terms(result.objective) <= terms(value)


@given(evolution_problems(max_apps=5, releases=True), st.sampled_from(OBJECTIVES), st.integers(2, 4))
def test_the_answer_does_not_depend_on_the_number_of_workers(
    problem: EvolutionProblem, objective: EvolutionObjective, workers: int
) -> None:
    alone = Annealing(objective)(problem, Budget(iterations=500, seed=3))
    many = Annealing(objective)(problem, Budget(iterations=500, seed=3, workers=workers))
    assert (many.answer, many.objective) == (alone.answer, alone.objective)


def test_nor_does_it_in_many_rounds() -> None:
    problem = replace(klein2011(5), expand_limit=1)
    answers = [Annealing()(problem, Budget(iterations=150_000, workers=workers)) for workers in (1, 2, 5)]
    assert answers[0].answer == answers[1].answer == answers[2].answer


def naive_makespan(problem: EvolutionProblem, walk: Walk) -> int:
    """Place the walk's order by the slow fit, each application no earlier than the step that it waits for."""
    offsets, durations, _, _, _ = problem.packed
    occupied = EvolutionProfile()
    ends: dict[int, int] = {}
    for idx in walk.order.tolist():
        app, (step, other) = problem.applications[idx], walk.waits[idx].tolist()
        start = problem.releases[idx]
        if other in ends and step >= 0:
            start = max(start, ends[other] - int(durations[offsets[idx] : step].sum()))
        start = naive.earliest_fit(app, occupied, problem.num_nodes, 1, start).start
        occupied += app.delayed(start)
        held = durations[offsets[idx] : offsets[idx + 1]].cumsum() + start
        ends |= dict(enumerate(held.tolist(), int(offsets[idx])))
    return max(ends.values())


@given(
    evolution_problems(min_apps=2, max_apps=6, max_steps=4, releases=True, expand_limits=(1,)),
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_a_walk_with_waits_is_its_slow_twin_and_the_same_in_pieces(
    problem: EvolutionProblem, pieces: list[int], seed: int
) -> None:
    apps = staircases(problem.packed)
    trial = new_trial(apps)
    whole, cut = (new_walk(list_order(problem), len(apps.durations), seed) for _ in range(2))
    anneal_waits(whole, apps, problem.num_nodes, (1.0, 0.0), (0.5, 0.5), sum(pieces), trial)
    for piece in pieces:
        anneal_waits(cut, apps, problem.num_nodes, (1.0, 0.0), (0.5, 0.5), piece, trial)
        assert cut.costs[0] == naive_makespan(problem, cut)
        found = schedule_of(problem, cut.best_starts)
        assert not evolution_violations(problem, found)
        assert cut.costs[1] == found.completions.max()
    assert all(np.array_equal(one, other) for one, other in zip(whole, cut, strict=True))


def test_many_applications_are_annealed_without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = EvolutionProblem(3, (EvolutionProfile([(1, 2), (2, 1)]),) * 5, expand_limit=1)
    monkeypatch.setattr(order_search, "SEGMENT_LIMIT", 0)
    result = Annealing()(problem, Budget(iterations=100))
    confirm(problem, result, ("makespan",))
    assert result.limit is Limit.ITERATIONS
