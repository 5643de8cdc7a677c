"""Laws of the conflict search, for both terms: optima of brute force and of CP-SAT, true bounds."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from random_toys import evolution_toy, wide_toy
from strategies import evolution_problems
from tiers import draws, examples

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Status
from allocsolve.bounds import makespan_bound, step_prices, strong_makespan_bound
from allocsolve.exact import EvolutionConflictSearch, EvolutionCpSat
from allocsolve.exact.evolution._expansion import LATEST, expansion_order
from allocsolve.exact.evolution._kernels_offset_search import ANSWER, NO_ANSWER
from allocsolve.exact.evolution._kernels_sum import MAX_APPS
from allocsolve.exact.evolution._makespan_lanes import (
    Beside,
    FromAbove,
    FromBelow,
    Knowledge,
    LaneParams,
    TotalKnowledge,
)
from allocsolve.exact.evolution._offset_model import OffsetModel
from allocsolve.exact.evolution._segments import segments_of
from allocsolve.exact.evolution.cpsat import step_starts
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Limit

if TYPE_CHECKING:
    from allocsolve.bounds.evolution import StepPrices
    from allocsolve.exact.evolution._segments import Fact
    from allocsolve.model import EvolutionObjective, EvolutionTerm, IntArray

rigid_problems = evolution_problems(
    min_apps=2, max_apps=4, max_steps=4, max_nodes=6, expand_limits=(1,), releases=True
)
OBJECTIVES: tuple[EvolutionObjective, ...] = (
    *(("makespan",), ("makespan", "waste"), ("waste", "makespan")),
    *(("completion",), ("completion", "waste"), ("completion", "makespan"), ("makespan", "completion")),
)
TERMS: st.SearchStrategy[EvolutionTerm] = st.sampled_from(["makespan", "makespan", "completion"])


def known(problem: EvolutionProblem) -> TotalKnowledge:
    """What is known of the sum of completions at the beginning: a list schedule."""
    listed = ListScheduling()(problem, Budget()).answer
    assert listed is not None
    return TotalKnowledge(problem, Budget().start(), step_starts(listed))


def least_of(problem: EvolutionProblem, term: EvolutionTerm) -> int:
    """Return the least makespan, or the least sum of completions."""
    (least,) = optimum(problem, (term,))
    return round(least * (len(problem.applications) if term == "completion" else 1))


def verdict(
    problem: EvolutionProblem,
    limit: int,
    *,
    term: EvolutionTerm = "makespan",
    slices: int,
    later: tuple[int, ...] = (0,),
    prices: StepPrices | None = None,
) -> int:
    """Whether a schedule ends by then, or its completions add up to no more, from the search alone.

    No annealing, no other bound: one search for each entry of `later`, which it allows beyond the limit; each
    tells the first one what it learns, as soon as it learns it. Those for the makespan know the prices, and
    decide on wide pairs first if there are any.
    """
    shared = known(problem)

    def model_of(seed: int, limit: int) -> OffsetModel:
        if term == "completion":
            return shared.new_model(limit, seed)
        model = OffsetModel(problem, limit, Budget().start(), seed=seed, prices=prices)
        if prices:
            model.widest_first()
        return model

    models = [model_of(seed, limit + more) for seed, more in enumerate(later)]
    first = models[0]
    for model, more in itertools.cycle(zip(models, later, strict=True)):
        if first.contradiction:
            break
        if model.contradiction:
            continue
        outcome = model.search(slices)
        if model is not first:
            first.adopt(model.lemmas(limit + more, 9))
        if outcome == ANSWER:
            starts, ends = model.read_times()
            covers = model.violated(starts, ends)
            if not covers and model is first:
                assert (ends.max() if term == "makespan" else shared.measure(starts)) <= limit
                return outcome
            for cover in covers:
                model.exclude(cover)
        elif outcome == NO_ANSWER:
            return outcome
    return NO_ANSWER


@pytest.mark.parametrize(
    ("term", "limits"),
    [("makespan", (1,)), ("makespan", (1.3, 1.5, 2, 3, math.inf)), ("completion", (1,))],
    ids=["rigid", "expansion", "completion"],
)
def test_two_thousand_toys_have_the_optima_of_brute_force(
    term: EvolutionTerm, limits: tuple[float, ...]
) -> None:
    rng = random.Random(0)
    for number in draws(2000):
        slices = rng.choice((1, 7, 20, 1000))
        is_wide = term == "makespan" and rng.random() < 0.3
        problem = wide_toy(rng, limits) if is_wide else evolution_toy(rng, limits)
        least = least_of(problem, term)
        rows = [[rng.randint(0, 3) for _ in app.steps] for app in problem.applications]
        if is_wide and rng.random() < 0.7:
            rows = [[int(2 * n > problem.num_nodes) for _, n in app.steps] for app in problem.applications]
        prices = step_prices(problem, rows) if rng.random() < 0.5 else None
        found = verdict(problem, least, term=term, slices=slices, prices=prices)
        assert found == ANSWER, (number, problem, prices)
        found = verdict(problem, least - 1, term=term, slices=slices, prices=prices)
        assert found == NO_ANSWER, (number, problem, prices)


@settings(max_examples=examples(100))
@given(
    evolution_problems(
        min_apps=2, max_apps=3, max_steps=5, max_nodes=6, expand_limits=(1, 1.5, math.inf), releases=True
    ),
    st.integers(0, 4),
)
def test_there_is_time_to_pay_for_all_steps_before_and_after_each_one(
    problem: EvolutionProblem, more: int
) -> None:
    """At the root, with prices by nodes: what must be over by the end of a step fits before it."""
    time = least_of(problem, "makespan") + more
    prices = step_prices(problem, [[nodes for _, nodes in app.steps] for app in problem.applications])
    model = OffsetModel(problem, time, Budget().start(), seed=0, prices=prices)
    before = None
    while True:  # what a slice implies is ground of the next one, until nothing follows any more
        assert model.search(0) != NO_ANSWER
        values = model.lemmas(time, 0).ground.copy().reshape(model.points, model.points)
        if before is not None and (values == before).all():
            break
        before = values
    segments, origin, release = segments_of(problem), model.points - 1, min(problem.releases)
    steps = [
        (start, end, price)
        for times, row in zip(segments.times, prices.of_steps, strict=True)
        for start, end, price in zip(times, times[1:], row, strict=False)
        if price  # others have no windows
    ]

    def apart(first: tuple[int, int], second: tuple[int, int]) -> int:
        return int(values[first[0], second[0]]) + second[1] - first[1]

    for start, end, _ in steps:
        for left, right in (((origin, release), end), (start, (origin, time))):
            paid = sum(
                price * max(0, min(apart(a, b), apart(left, b), apart(a, right))) for a, b, price in steps
            )
            assert paid <= prices.most * apart(left, right)


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


@settings(max_examples=examples(160))
@given(rigid_problems, TERMS, st.integers(0, 3), st.sampled_from((1, 7, 50)))
def test_what_another_search_tells_is_true(
    problem: EvolutionProblem, term: EvolutionTerm, more: int, slices: int
) -> None:
    least, later = least_of(problem, term), (0, 0, more)
    assert verdict(problem, least, term=term, slices=slices, later=later) == ANSWER
    assert verdict(problem, least - 1, term=term, slices=slices, later=later) == NO_ANSWER


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
    total = least_of(problem, "completion") + more
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


@settings(max_examples=examples(100))
@given(
    evolution_problems(
        min_apps=2, max_apps=3, max_steps=6, max_nodes=6, expand_limits=(1.5, 2, math.inf), releases=True
    ),
    st.integers(0, 4),
)
def test_no_step_wastes_more_than_all_others_leave(problem: EvolutionProblem, more: int) -> None:
    """At the root: what is held for nothing fits between the areas and the node-seconds there are."""
    time = least_of(problem, "makespan") + more
    model = OffsetModel(problem, time, Budget().start(), seed=0)
    for _ in range(2):  # what the first slice implies is ground of the second
        assert model.search(0) != NO_ANSWER
    values = model.lemmas(time, 0).ground.reshape(model.points, model.points)
    budget = problem.num_nodes * (time - min(problem.releases)) - problem.area
    wasted = {
        fact: nodes * (values[fact.before, fact.after] - fact.seconds) for fact, nodes in wasteful(problem)
    }
    assert sum(wasted.values()) <= budget
    for fact, nodes in wasteful(problem):
        rest = budget - sum(wasted.values()) + wasted[fact]
        assert -values[fact.after, fact.before] <= fact.seconds + rest // nodes


def wasteful(problem: EvolutionProblem) -> list[tuple[Fact, int]]:
    """The steps that may hold nodes for nothing: from which point to which, unexpanded, and their nodes."""
    return [(fact, nodes) for fact, nodes in segments_of(problem).holds if nodes]


def test_near_the_area_the_budget_for_waste_refutes() -> None:
    """Without it more than 368,000 conflicts refute nothing here."""
    problem = replace(klein2011([2011, 3]), expand_limit=math.inf)
    model = OffsetModel(problem, 1012 * makespan_bound(problem) // 1000, Budget().start(), seed=0)
    assert model.search(10_000) == NO_ANSWER


def test_where_large_steps_exclude_each_other_prices_refute() -> None:
    """In slices of 10,000 conflicts, as the solver searches; without prices it takes eight of them."""
    problem = replace(klein2011([12, 0], num_apps=(12, 12)), expand_limit=math.inf)
    strong = strong_makespan_bound(problem)
    prices = step_prices(problem, strong.certificate["prices"])
    model = OffsetModel(problem, strong.value + 76, Budget().start(), seed=0, prices=prices)
    assert NO_ANSWER in [model.search(10_000) for _ in range(3)]


def test_with_prices_deciding_on_wide_pairs_first_refutes_more() -> None:
    """Where tight pairs first take some hundred thousand conflicts."""
    problem = replace(klein2011([12, 0], num_apps=(12, 12)), expand_limit=math.inf)
    strong = strong_makespan_bound(problem)
    prices = step_prices(problem, strong.certificate["prices"])
    model = OffsetModel(problem, strong.value + 1676, Budget().start(), seed=0, prices=prices)
    model.widest_first()
    assert model.search(10_000) == NO_ANSWER


def test_a_budget_beyond_64_bits_is_left_out() -> None:
    steps = [(1, 2**40), (1, 1), (1, 2**40)]
    problem = EvolutionProblem(2**40, (EvolutionProfile(steps),) * 2, expand_limit=math.inf)
    assert EvolutionConflictSearch()(problem, Budget()).objective == 6


@pytest.mark.parametrize("lengths", [(1, 1), (3, 5), (7, 2)])
def test_two_applications_that_exclude_each_other_need_no_decision(lengths: tuple[int, int]) -> None:
    """One of them is late whichever comes first; a third one, without nodes, is not."""
    apps = [EvolutionProfile([(length, 2)]) for length in lengths]
    problem = EvolutionProblem(3, (*apps, EvolutionProfile([(4, 0)])), expand_limit=1)
    least = sum(lengths) + min(lengths) + 4
    assert least_of(problem, "completion") == least
    model = known(problem).new_model(least - 1, 0)
    assert model.contradiction or (model.search(0) == NO_ANSWER and model.conflicts <= 1)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_the_sum_from_below_end_at_the_optimum(seed: int) -> None:
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
    assert verdict(problem, least, term="completion", slices=slices) == ANSWER
    assert verdict(problem, least - 1, term="completion", slices=slices) == NO_ANSWER


def test_a_problem_with_more_applications_than_bits_gets_a_schedule_and_a_bound() -> None:
    problem = EvolutionProblem(2, (EvolutionProfile([(1, 2), (2, 1)]),) * (MAX_APPS + 1), expand_limit=1)
    result = EvolutionConflictSearch(("completion",), max_applications=100)(problem, Budget(iterations=10))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    confirm(problem, result, ("completion",))
