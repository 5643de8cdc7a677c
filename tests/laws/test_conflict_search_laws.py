"""Laws of the conflict search: its optima are those of brute force and of CP-SAT, its bounds are bounds."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from random_toys import evolution_toy
from strategies import evolution_problems
from tiers import draws, examples

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Status
from allocsolve.exact import EvolutionConflictSearch, EvolutionCpSat
from allocsolve.exact.evolution._expansion import LATEST, expansion_order
from allocsolve.exact.evolution._kernels_offset_search import ANSWER, NO_ANSWER
from allocsolve.exact.evolution._makespan_lanes import Beside, FromAbove, FromBelow, Knowledge, LaneParams
from allocsolve.exact.evolution._offset_model import OffsetModel
from allocsolve.exact.evolution.cpsat import step_starts
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Limit

if TYPE_CHECKING:
    from allocsolve.model import EvolutionObjective, EvolutionTerm

rigid_problems = evolution_problems(
    min_apps=2, max_apps=4, max_steps=4, max_nodes=6, expand_limits=(1,), releases=True
)
OBJECTIVES: tuple[EvolutionObjective, ...] = (
    *(("makespan",), ("makespan", "waste"), ("waste", "makespan")),
    *(("completion",), ("completion", "waste"), ("completion", "makespan"), ("makespan", "completion")),
)


def verdict(problem: EvolutionProblem, by: int, *, slices: int, later: tuple[int, ...] = (0,)) -> int:
    """Whether there is a schedule that ends by then, from the search alone: no annealing, no other bound.

    One search for each entry of `later`, the time that it allows beyond `by`; each tells the first one what
    it learns, as soon as it learns it.
    """
    models = [OffsetModel(problem, by + more, Budget().start(), seed=seed) for seed, more in enumerate(later)]
    first = models[0]
    for model, more in itertools.cycle(zip(models, later, strict=True)):
        if first.contradiction:
            break
        if model.contradiction:
            continue
        outcome = model.search(slices)
        if model is not first:
            first.adopt(model.lemmas(by + more, 9))
        if outcome == ANSWER:
            starts, ends = model.read_times()
            covers = model.violated(starts, ends)
            if not covers and model is first:
                assert ends.max() <= by
                return outcome
            for cover in covers:
                model.exclude(cover)
        elif outcome == NO_ANSWER:
            return outcome
    return NO_ANSWER


@pytest.mark.parametrize("limits", [(1,), (1.3, 1.5, 2, 3, math.inf)], ids=["rigid", "expansion"])
def test_two_thousand_toys_have_the_optima_of_brute_force(limits: tuple[float, ...]) -> None:
    rng = random.Random(0)
    for number in draws(2000):
        slices = rng.choice((1, 7, 20, 1000))
        problem = evolution_toy(rng, limits)
        (least,) = optimum(problem, ("makespan",))
        assert verdict(problem, int(least), slices=slices) == ANSWER, (number, problem)
        assert verdict(problem, int(least) - 1, slices=slices) == NO_ANSWER, (number, problem)


@given(evolution_problems(max_apps=1, max_steps=8, max_nodes=4))
def test_only_valleys_are_expanded_without_limit(problem: EvolutionProblem) -> None:
    """A step needs to be expanded only if the profile falls before it and rises after it."""
    unlimited = replace(problem, expand_limit=math.inf)
    (order,) = expansion_order(unlimited)
    nodes = list(problem.applications[0].nodes)
    for step, full in enumerate(order):
        left = next((n for n in reversed(nodes[:step]) if n != nodes[step]), -1)
        right = next((n for n in nodes[step + 1 :] if n != nodes[step]), -1)
        leftmost = step > 0 and nodes[step - 1] != nodes[step]
        assert (full is not None) == (leftmost and left > nodes[step] < right)
        assert not full


@pytest.mark.parametrize(
    ("limit", "seed"), [(limit, seed) for limit in (1.5, 2, math.inf) for seed in range(3)]
)
def test_both_exact_methods_agree_with_expansion(limit: float, seed: int) -> None:
    """Enough conflicts to learn, forget and restart."""
    problem = replace(klein2011([79, seed], num_apps=(6, 8)), expand_limit=limit)
    clauses = EvolutionConflictSearch()(problem, Budget(seconds=600, workers=2))
    cpsat = EvolutionCpSat()(problem, Budget(seconds=600, workers=2))
    for result in (clauses, cpsat):
        confirm(problem, result, ("makespan",))
        assert result.status is Status.OPTIMAL
    assert clauses.objective == cpsat.objective


@settings(max_examples=examples(100))
@given(rigid_problems, st.integers(0, 3), st.sampled_from((1, 7, 50)))
def test_what_another_search_tells_is_true(problem: EvolutionProblem, more: int, slices: int) -> None:
    (least,) = optimum(problem, ("makespan",))
    assert verdict(problem, int(least), slices=slices, later=(0, 0, more)) == ANSWER
    assert verdict(problem, int(least) - 1, slices=slices, later=(0, 0, more)) == NO_ANSWER


@pytest.mark.parametrize("seed", range(4))
def test_searches_that_tell_each_other_agree_with_cpsat(seed: int) -> None:
    """Hundreds of conflicts, thousands of lemmas."""
    problem = replace(klein2011([77, seed], num_apps=(10, 10)), expand_limit=1)
    best = EvolutionCpSat()(problem, Budget(seconds=600, workers=2))
    assert isinstance(best.objective, int)
    for later in ((0, 0), (0, 1000)):
        assert verdict(problem, best.objective, slices=50, later=later) == ANSWER
        assert verdict(problem, best.objective - 1, slices=50, later=later) == NO_ANSWER


@pytest.mark.parametrize("seed", range(3))
def test_bounds_from_below_end_at_the_optimum(seed: int) -> None:
    """However steps are shortened on the way, here after a few conflicts already."""
    params = LaneParams(first_steps=1, least_conflicts=10, slice_conflicts=1)
    problem = replace(klein2011([78, seed], num_apps=(12, 12)), expand_limit=1)
    best = EvolutionCpSat()(problem, Budget(seconds=600, workers=2))
    assert best.answer is not None
    known = Knowledge(problem, Budget().start(), step_starts(best.answer), params=params)
    below, tried, bounds = FromBelow(known, seed), [], [known.bound]
    while known.open:
        below.advance()
        tried.append(below.time)
        bounds.append(known.bound)
    assert bounds == sorted(bounds)
    assert known.bound == best.objective
    assert any(later < earlier for earlier, later in itertools.pairwise(tried))


@dataclass
class HandSet:
    """A clock that is set by hand."""

    elapsed: float
    remaining: float

    @property
    def divisible(self) -> float:
        return self.remaining


def test_search_from_below_yields_to_a_short_proof() -> None:
    """It makes up for it later, and does not wait for longer than a quarter of the time limit."""
    params = LaneParams(slice_conflicts=1, alone_conflicts=60)
    problem = replace(klein2011([78, 0], num_apps=(12, 12)), expand_limit=1)
    start = ListScheduling()(problem, Budget()).answer
    assert start is not None

    def conflicts(elapsed: float, turns: int) -> tuple[int, int]:
        known = Knowledge(problem, Budget().start(), step_starts(start), params=params)
        known.clock = HandSet(elapsed, 100 - elapsed)  # type: ignore[assignment]  # a stand-in with what lanes read
        below, above = FromBelow(known, 0), FromAbove(known, 0, known.new_log())
        lane = Beside(known, below, above)
        for _ in range(turns):
            lane.advance()
        return below.conflicts, above.model.conflicts

    below, above = conflicts(0, 2)
    assert below == 0 < above < 60
    below, above = conflicts(0, 40)
    assert 60 <= above < 2 * below
    below, above = conflicts(26, 1)
    assert above == 0 < below


@settings(max_examples=examples(120))
@given(rigid_problems, st.sampled_from(OBJECTIVES), st.sampled_from((1, 2, 3)))
def test_optima_are_those_of_brute_force(
    problem: EvolutionProblem, objective: EvolutionObjective, workers: int
) -> None:
    result = EvolutionConflictSearch(objective)(problem, Budget(seconds=600, workers=workers))
    confirm(problem, result, objective)
    assert result.status is Status.OPTIMAL
    found = result.objective if isinstance(result.objective, tuple) else (result.objective,)
    assert found == optimum(problem, objective)


@pytest.mark.parametrize(
    ("term", "seed"),
    [*(("makespan", seed) for seed in range(12)), *(("completion", seed) for seed in range(6))],
)
def test_both_exact_methods_agree(term: EvolutionTerm, seed: int) -> None:
    """Enough conflicts to learn, forget and restart."""
    problem = replace(klein2011([77, seed], num_apps=(6, 9)), expand_limit=1)
    clauses = EvolutionConflictSearch((term,))(problem, Budget(seconds=600))
    cpsat = EvolutionCpSat((term,))(problem, Budget(seconds=600, workers=2))
    assert (clauses.status, cpsat.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert clauses.objective == cpsat.objective


def test_a_horizon_may_be_lowered_between_slices() -> None:
    """What is learned under one horizon stays true under an earlier one."""
    problem = replace(klein2011([77, 3], num_apps=(8, 8)), expand_limit=1)
    best = EvolutionCpSat()(problem, Budget(seconds=600, workers=2))
    greedy = ListScheduling()(problem, Budget()).answer
    assert isinstance(best.objective, int)
    assert greedy is not None
    by = int(greedy.completions.max())
    model = OffsetModel(problem, by, Budget().start(), seed=0)
    while not model.contradiction:
        outcome = model.search(50)
        if outcome == NO_ANSWER:
            break
        if outcome == ANSWER:
            starts, ends = model.read_times()
            covers = model.violated(starts, ends)
            for cover in covers:
                model.exclude(cover)
            if not covers:
                by = int(ends.max()) - 1
                model.must_end_by(by)
    assert by == best.objective - 1


@pytest.mark.parametrize("term", ["makespan", "completion"])
def test_same_seed_same_answer_with_one_worker(term: EvolutionTerm) -> None:
    problem = replace(klein2011([77, 5], num_apps=(9, 9)), expand_limit=1)
    results = [EvolutionConflictSearch((term,))(problem, Budget(seed=4)) for _ in range(2)]
    assert results[0].answer == results[1].answer
    assert [value for _, value in results[0].incumbents] == [value for _, value in results[1].incumbents]


def test_a_tiny_budget_is_a_result() -> None:
    result = EvolutionConflictSearch(("makespan", "waste"))(
        replace(klein2011(1), expand_limit=1), Budget(seconds=1e-9)
    )
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert isinstance(result.bound, tuple)
    assert result.bound[0] > 0
    assert result.bound[1] == -math.inf


def test_a_problem_that_is_too_large_gets_a_schedule_and_a_bound() -> None:
    problem = replace(klein2011(1), expand_limit=1)
    result = EvolutionConflictSearch(max_applications=5)(problem, Budget())
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)


def test_times_beyond_32_bits_are_handed_to_cpsat() -> None:
    long = EvolutionProfile([(LATEST, 2), (LATEST, 1)])
    problem = EvolutionProblem(3, (long, long, EvolutionProfile([(LATEST, 1)])), expand_limit=1)
    result = EvolutionConflictSearch()(problem, Budget(seconds=600))
    assert result.status is Status.OPTIMAL
    assert result.objective == 3 * LATEST  # the steps on two nodes do not overlap
