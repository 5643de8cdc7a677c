"""Laws of list scheduling: Algorithm 1 step by step, orders, and what a list cannot find."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_optimum import optimum
from strategies import evolution_problems

from allocsolve import Budget, EvolutionProblem, EvolutionProfile
from allocsolve.errors import UnknownName
from allocsolve.heuristics import ORDERS, Fit, Order, Rigid, list_order, list_starts
from allocsolve.heuristics.evolution.list_scheduling import schedule_of
from allocsolve.heuristics.evolution.order_search import anneal, mirrored, mirrored_starts
from allocsolve.judge import evolution_violations

problems = evolution_problems(max_apps=5, max_steps=4, releases=True)


@given(problems, st.randoms(use_true_random=False))
def test_every_order_gives_the_schedule_of_algorithm_1(problem: EvolutionProblem, random: object) -> None:
    order = list(range(len(problem.applications)))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis hands out a random.Random
    starts = list_starts(problem, np.array(order), Fit())
    assert schedule_of(problem, starts) == naive.list_schedule(problem, order)


@given(evolution_problems(max_apps=5, releases=True, expand_limits=(1,)))
def test_the_rigid_rectangles_fit_as_well(problem: EvolutionProblem) -> None:
    answer = Rigid()(problem, Budget()).answer
    assert answer is not None
    rectangles = replace(
        problem,
        applications=tuple(EvolutionProfile([(app.duration, app.peak)]) for app in problem.applications),
    )
    rigid = naive.list_schedule(rectangles, list_order(problem).tolist())
    assert answer.starts.tolist() == rigid.starts.tolist()


@given(problems, st.sampled_from(ORDERS), st.integers(0, 99))
def test_orders_are_permutations_sorted_by_release(
    problem: EvolutionProblem, order: Order, seed: int
) -> None:
    found = list_order(problem, order, seed)
    assert sorted(found.tolist()) == list(range(len(problem.applications)))
    releases = [problem.releases[app] for app in found]
    assert releases == sorted(releases)


def test_orders_sort_by_what_they_are_named_after() -> None:
    apps = [EvolutionProfile([(5, 1), (5, 2)]), EvolutionProfile([(2, 9)]), EvolutionProfile([(12, 1)])]
    problem = EvolutionProblem(9, tuple(apps))  # areas 15, 18, 12; durations 10, 2, 12; peaks 2, 9, 1
    found = {order: list_order(problem, order).tolist() for order in ORDERS}
    assert found.pop("random") in [list(order) for order in permutations(range(3))]
    assert found == {
        "submission": [0, 1, 2],
        "largest": [1, 0, 2],
        "smallest": [2, 0, 1],
        "longest": [2, 0, 1],
        "shortest": [1, 0, 2],
        "highest": [1, 0, 2],
    }


def test_an_unknown_order_is_named() -> None:
    problem = EvolutionProblem(1, (EvolutionProfile([(1, 1)]),))
    with pytest.raises(UnknownName, match="unknown order 'larges'; did you mean largest"):
        list_order(problem, "larges")  # type: ignore[arg-type]  # what a typo does


#: Optimum 6, but every list needs 7 (forward).
COUNTEREXAMPLE = EvolutionProblem(
    3,
    (EvolutionProfile([(1, 2), (2, 2), (2, 3)]), EvolutionProfile([(2, 1)]), EvolutionProfile([(2, 1)])),
    expand_limit=1,
)


def test_no_list_order_need_be_optimal() -> None:
    lists = [
        int(
            schedule_of(
                COUNTEREXAMPLE, list_starts(COUNTEREXAMPLE, np.array(order), Fit(1))
            ).completions.max()
        )
        for order in permutations(range(3))
    ]
    assert min(lists) == 7
    assert optimum(COUNTEREXAMPLE, ("makespan",)) == (6,)


def test_lists_in_mirrored_time_find_what_forward_lists_miss() -> None:
    image = mirrored(COUNTEREXAMPLE)
    found = min(
        (mirrored_starts(COUNTEREXAMPLE, list_starts(image, np.array(order), Fit(1)))).max()
        for order in permutations(range(3))
    )
    *_, (_, backward) = anneal(image, Fit(1), ("makespan",), iterations=100, seed=0)
    starts = mirrored_starts(COUNTEREXAMPLE, backward)
    schedule = schedule_of(COUNTEREXAMPLE, starts)
    assert not evolution_violations(COUNTEREXAMPLE, schedule)
    assert schedule.completions.max() == 6
    assert found == 4  # the last step, of two seconds, starts at 4


@given(evolution_problems(max_apps=4, max_steps=4), st.sampled_from((Fit(1), Fit(), Fit(compacting=True))))
def test_a_mirrored_schedule_is_a_schedule(problem: EvolutionProblem, fit: Fit) -> None:
    image = mirrored(problem)
    starts = mirrored_starts(problem, list_starts(image, list_order(image), fit))
    assert not evolution_violations(problem, schedule_of(problem, starts))
