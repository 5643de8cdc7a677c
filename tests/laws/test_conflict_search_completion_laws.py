"""Laws of the conflict search for the mean completion time: optima of brute force and CP-SAT, true bounds."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from random_toys import evolution_toy
from strategies import evolution_problems
from tiers import draws, examples

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Status
from allocsolve.exact import EvolutionConflictSearch, EvolutionCpSat
from allocsolve.exact.evolution._kernels_offset_search import ANSWER, NO_ANSWER
from allocsolve.exact.evolution._kernels_sum import MAX_APPS
from allocsolve.exact.evolution._makespan_lanes import FromBelow, LaneParams, TotalKnowledge
from allocsolve.exact.evolution.cpsat import step_starts
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Limit

if TYPE_CHECKING:
    from allocsolve.model import IntArray

rigid_problems = evolution_problems(
    min_apps=2, max_apps=4, max_steps=4, max_nodes=6, expand_limits=(1,), releases=True
)


def known(problem: EvolutionProblem) -> TotalKnowledge:
    """What is known at the beginning: a list schedule."""
    listed = ListScheduling()(problem, Budget()).answer
    assert listed is not None
    return TotalKnowledge(problem, Budget().start(), step_starts(listed))


def least_total(problem: EvolutionProblem) -> int:
    (mean,) = optimum(problem, ("completion",))
    return round(mean * len(problem.applications))


def verdict(problem: EvolutionProblem, total: int, *, slices: int, later: tuple[int, ...] = (0,)) -> int:
    """Whether completions can add up to `total` or less, from the search alone.

    One search for each entry of `later`, the total that it allows beyond `total`; each tells the first one
    what it learns.
    """
    shared = known(problem)
    models = [shared.new_model(total + more, seed) for seed, more in enumerate(later)]
    first = models[0]
    for model, more in itertools.cycle(zip(models, later, strict=True)):
        if first.contradiction:
            break
        if model.contradiction:
            continue
        outcome = model.search(slices)
        if model is not first:
            first.adopt(model.lemmas(total + more, 9))
        if outcome == ANSWER:
            starts, ends = model.read_times()
            covers = model.violated(starts, ends)
            if not covers and model is first:
                assert shared.measure(starts) <= total
                return outcome
            for cover in covers:
                model.exclude(cover)
        elif outcome == NO_ANSWER:
            return outcome
    return NO_ANSWER


def test_two_thousand_toys_have_the_optima_of_brute_force() -> None:
    rng = random.Random(0)
    for number in draws(2000):
        slices = rng.choice((1, 7, 20, 1000))
        problem = evolution_toy(rng, (1,))
        least = least_total(problem)
        assert verdict(problem, least, slices=slices) == ANSWER, (number, problem)
        assert verdict(problem, least - 1, slices=slices) == NO_ANSWER, (number, problem)


@settings(max_examples=examples(60))
@given(rigid_problems, st.integers(0, 3), st.sampled_from((1, 7, 50)))
def test_what_another_search_tells_is_true(problem: EvolutionProblem, more: int, slices: int) -> None:
    least = least_total(problem)
    assert verdict(problem, least, slices=slices, later=(0, 0, more)) == ANSWER
    assert verdict(problem, least - 1, slices=slices, later=(0, 0, more)) == NO_ANSWER


def schedules(problem: EvolutionProblem, total: int) -> list[IntArray]:
    """Every vector of starts, within the horizon, whose completions add up to `total` or less."""
    lengths = np.array([app.duration for app in problem.applications], dtype=np.int64)
    slack = total - int(lengths.sum()) - sum(problem.releases)
    found: list[IntArray] = []
    for delays in itertools.product(range(slack + 1), repeat=len(lengths)):
        starts: IntArray = np.array(delays, dtype=np.int64) + np.array(problem.releases, dtype=np.int64)
        if sum(delays) > slack or int((starts + lengths).max()) > problem.horizon:
            continue
        held = np.zeros(problem.horizon, dtype=np.int64)
        for start, app in zip(starts.tolist(), problem.applications, strict=True):
            nodes = np.repeat(app.nodes, app.durations)
            held[start : start + len(nodes)] += nodes
        if held.max(initial=0) <= problem.num_nodes:
            found.append(starts)
    return found


def latest_start(heads: list[int], least: list[int], app: int, limit: int) -> int:
    """The latest start at which what it moves keeps within the limit, tried one by one."""
    start = heads[app]
    while sum(max(head, start + 1 + gap) for head, gap in zip(heads, least, strict=True)) <= limit:
        start += 1
    return start


@settings(max_examples=examples(60))
@given(
    evolution_problems(min_apps=2, max_apps=3, max_steps=3, max_nodes=4, expand_limits=(1,), releases=True),
    st.integers(0, 4),
)
def test_what_a_limit_implies_cuts_off_no_schedule_and_all_that_one_start_moves_too_far(
    problem: EvolutionProblem, more: int
) -> None:
    """At the root: every schedule within the limit fits the values; latest starts are as of the slow twin."""
    total = least_total(problem) + more
    model = known(problem).new_model(total, 0)
    assert not model.contradiction
    for _ in range(2):  # what the first slice implies is ground of the second
        assert model.search(0) != NO_ANSWER
    n = len(problem.applications) + 1
    values = model.lemmas(total, 0).ground.reshape(n, n)
    for starts in schedules(problem, total):
        times = np.append(starts, 0)
        apart = times[None, :] - times[:, None]
        assert (apart >= values)[~np.eye(n, dtype=bool)].all()
    heads = values[-1, :-1].tolist()
    limit = total - sum(app.duration for app in problem.applications)
    for app in range(n - 1):
        gaps = [0 if other == app else int(values[app, other]) for other in range(n - 1)]
        assert -values[app, -1] <= latest_start(heads, gaps, app, limit)


@pytest.mark.parametrize("lengths", [(1, 1), (3, 5), (7, 2)])
def test_two_applications_that_exclude_each_other_need_no_decision(lengths: tuple[int, int]) -> None:
    """One of them is late whichever comes first; a third one, without nodes, is not."""
    apps = [EvolutionProfile([(length, 2)]) for length in lengths]
    problem = EvolutionProblem(3, (*apps, EvolutionProfile([(4, 0)])), expand_limit=1)
    least = sum(lengths) + min(lengths) + 4
    assert least_total(problem) == least
    model = known(problem).new_model(least - 1, 0)
    assert model.contradiction or (model.search(0) == NO_ANSWER and model.conflicts <= 1)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_from_below_end_at_the_optimum(seed: int) -> None:
    """However steps are shortened on the way, here after a few conflicts already."""
    params = LaneParams(first_steps=4, least_conflicts=10, slice_conflicts=1)
    problem = replace(klein2011([78, seed], num_apps=(8, 8)), expand_limit=1)
    best = EvolutionCpSat(("completion",))(problem, Budget(seconds=600, workers=2))
    assert best.answer is not None
    assert best.status is Status.OPTIMAL
    shared = TotalKnowledge(problem, Budget().start(), step_starts(best.answer), params=params)
    below, bounds = FromBelow(shared, seed), [shared.bound]
    while shared.open:
        below.advance()
        bounds.append(shared.bound)
    assert bounds == sorted(bounds)
    assert len(set(bounds)) > 2
    assert shared.bound == shared.value == int(best.answer.completions.sum())


@settings(max_examples=examples(250))
@given(
    evolution_problems(
        min_apps=4,
        max_apps=7,
        max_steps=5,
        max_duration=9,
        max_nodes=9,
        expand_limits=(1,),
        releases=True,
        max_release=12,
    ),
    st.sampled_from((3, 40, 1000)),
)
def test_the_search_alone_agrees_with_cpsat_on_larger_problems(
    problem: EvolutionProblem, slices: int
) -> None:
    """A dozen conflicts or more, which brute force cannot follow."""
    best = EvolutionCpSat(("completion",))(problem, Budget(seconds=600))
    assert best.answer is not None
    assert best.status is Status.OPTIMAL
    least = int(best.answer.completions.sum())
    assert verdict(problem, least, slices=slices) == ANSWER
    assert verdict(problem, least - 1, slices=slices) == NO_ANSWER


def test_a_problem_with_more_applications_than_bits_gets_a_schedule_and_a_bound() -> None:
    problem = EvolutionProblem(2, (EvolutionProfile([(1, 2), (2, 1)]),) * (MAX_APPS + 1), expand_limit=1)
    result = EvolutionConflictSearch(("completion",), max_applications=100)(problem, Budget(iterations=10))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    confirm(problem, result, ("completion",))
