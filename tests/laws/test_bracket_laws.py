"""Laws of bounds and models of EP: brackets, busy times, CP-SAT."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from itertools import accumulate
from statistics import fmean
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from strategies import EXPAND_LIMITS, evolution_problems, evolution_profiles
from tiers import examples

from allocsolve import judge
from allocsolve.bench.scores.statistics import FEWEST, Bracket, bootstrap_interval, ratio, ratios, sharpened
from allocsolve.bounds import evolution, longest_application, mean_busy_time, total_completion
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import EvolutionCpSat
from allocsolve.exact.evolution.cpsat import EvolutionCpSatParams
from allocsolve.heuristics import Annealing, Fit, ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import confirm
from allocsolve.model import Budget, EvolutionObjective, EvolutionProblem, EvolutionProfile, Status

LIMITS = (1, 1.5, 2, math.inf)
numbers = st.integers(1, 1000)


@st.composite
def around(draw: st.DrawFn, truth: float) -> Bracket:
    """A bracket of a number: exact, open on either side, or without any value."""
    lower = truth - draw(st.integers(0, int(truth)))
    upper = draw(st.just(truth) | st.integers(0, 50).map(lambda more: truth + more) | st.just(math.inf))
    return Bracket(lower, upper)


@st.composite
def optima(draw: st.DrawFn) -> tuple[dict[float, int], dict[float, Bracket]]:
    """Optima that do not increase with the limit, and what is known of them."""
    values = sorted(draw(st.lists(numbers, min_size=len(LIMITS), max_size=len(LIMITS))), reverse=True)
    truth = dict(zip(LIMITS, values, strict=True))
    return truth, {limit: draw(around(value)) for limit, value in truth.items()}


@given(optima())
def test_sharpened_brackets_hold_the_truth_and_are_no_wider(
    drawn: tuple[dict[float, int], dict[float, Bracket]],
) -> None:
    truth, known = drawn
    found = sharpened(known)
    assert list(found) == list(LIMITS)
    for limit, bracket in found.items():
        assert known[limit].lower <= bracket.lower <= truth[limit] <= bracket.upper <= known[limit].upper
    for tighter, looser in itertools.pairwise(found.values()):
        assert tighter.lower >= looser.lower
        assert tighter.upper >= looser.upper
    assert sharpened(found) == found
    assert sharpened(dict(reversed(known.items()))) == found


@given(st.dictionaries(st.sampled_from(LIMITS), st.tuples(numbers, numbers).map(sorted), min_size=1))
def test_sharpening_refuses_just_what_no_optima_can_explain(ends: dict[float, list[int]]) -> None:
    """Optima exist if, from the loosest limit on, the least that are allowed stay below every value."""
    known = {limit: Bracket(*pair) for limit, pair in ends.items()}
    least, possible = 0.0, True
    for limit in sorted(known, reverse=True):
        least = max(least, known[limit].lower)
        possible &= least <= known[limit].upper
    if possible:
        sharpened(known)
    else:
        with pytest.raises(InvalidAnswer, match="contradiction on it: the bound"):
            sharpened(known, "it")


def test_a_contradiction_names_both_limits() -> None:
    known = {1: Bracket(0, 90), 2: Bracket(95, 200), math.inf: Bracket(0, 100)}
    with pytest.raises(InvalidAnswer) as told:
        sharpened(known, "klein-5-00")
    assert str(told.value) == (
        "contradiction on klein-5-00: the bound 95 within limit 2 is above 90, found within limit 1"
    )


@given(optima())
def test_the_bracket_of_a_ratio_holds_it(drawn: tuple[dict[float, int], dict[float, Bracket]]) -> None:
    truth, known = drawn
    found = sharpened(known)
    for limit in LIMITS:
        bracket = ratio(found[limit], found[1], cap=1)
        slack = 1e-12
        assert bracket.lower <= truth[limit] / truth[1] + slack
        assert truth[limit] / truth[1] <= bracket.upper + slack
        assert bracket.upper <= 1
        if found[limit].exact and found[1].exact:
            assert bracket.exact
            assert bracket.lower == truth[limit] / truth[1]


@given(st.data(), numbers, numbers)
def test_knowing_more_never_widens_a_ratio(data: st.DataObject, one: int, other: int) -> None:
    less, that = data.draw(around(one)), data.draw(around(other))
    more = replace(less, lower=(less.lower + one) / 2, upper=one)
    for known in (less, more):
        bracket = ratio(known, that)
        assert bracket.lower <= one / other <= bracket.upper
    assert ratio(less, that).lower <= ratio(more, that).lower
    assert ratio(more, that).upper <= ratio(less, that).upper


@given(st.lists(numbers.flatmap(lambda truth: st.tuples(st.just(truth), around(truth))), min_size=1))
def test_the_mean_of_all_is_within(drawn: list[tuple[int, Bracket]]) -> None:
    found = ratios([bracket for _, bracket in drawn])
    truths = [truth for truth, _ in drawn]
    low, high = found.within
    assert low <= fmean(truths) * (1 + 1e-12)
    assert fmean(truths) <= high * (1 + 1e-12)
    exact = [truth for truth, bracket in drawn if bracket.exact]
    assert (found.count, found.exact) == (len(drawn), len(exact))
    assert (found.low, found.high) == (min(exact, default=None), max(exact, default=None))
    if len(exact) >= FEWEST or len(exact) == len(drawn):
        assert found.mean == fmean(exact)
        assert found.interval == bootstrap_interval(exact, "mean")
    else:
        assert found.mean is None
        assert found.interval is None


def test_ratios_of_nothing() -> None:
    found = ratios([])
    assert (found.count, found.exact, found.mean, found.interval) == (0, 0, None, None)
    assert all(math.isnan(end) for end in found.within)


@pytest.mark.parametrize(("lower", "upper"), [(2, 1), (-1, 3), (math.nan, 1), (1, math.nan)])
def test_no_bracket(lower: float, upper: float) -> None:
    with pytest.raises(InvalidAnswer, match="contradiction"):
        Bracket(lower, upper)


def test_gaps_by_hand() -> None:
    assert (Bracket(4, 5).gap, Bracket(4, 4).gap, Bracket(0, 0).gap) == (0.25, 0, 0)
    assert Bracket(0, 1).gap == Bracket(1, math.inf).gap == math.inf


@settings(max_examples=examples(40), deadline=None)
@given(evolution_problems(max_apps=2))
def test_what_keeps_a_limit_keeps_a_looser_one(problem: EvolutionProblem) -> None:
    """The argument itself, by the judge and by brute force."""
    least = math.inf
    for limit in LIMITS:
        limited = replace(problem, expand_limit=limit)
        answer = ListScheduling(Fit(limit))(limited, Budget()).answer
        assert answer is not None
        for looser in (other for other in LIMITS if other >= limit):
            assert judge.violations(replace(problem, expand_limit=looser), answer) == ()
        (found,) = optimum(limited, ("makespan",))
        assert found <= least
        least = found


# --- Busy time ----------------------------------------------------------------------------------------

TINY = evolution_problems(max_apps=3, max_steps=3, releases=True)
LARGER = evolution_problems(max_apps=8, max_steps=5, max_duration=50, max_nodes=9, releases=True)


def least_total(problem: EvolutionProblem) -> int:
    (mean,) = optimum(problem, ("completion",))
    return round(mean * len(problem.applications))


def problem_of(
    num_nodes: int, *apps: list[tuple[int, int]], releases: tuple[int, ...] = ()
) -> EvolutionProblem:
    return EvolutionProblem(num_nodes, tuple(EvolutionProfile(tuple(app)) for app in apps), releases)


@settings(max_examples=examples(200))
@given(TINY)
def test_never_above_the_optimum(problem: EvolutionProblem) -> None:
    assert mean_busy_time(problem) <= least_total(problem)


@settings(max_examples=examples(60))
@given(problem=TINY, seed=st.integers(0, 99))
def test_the_linear_program_is_not_trusted(problem: EvolutionProblem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    durations = np.array([app.duration for app in problem.applications])
    floors = durations + problem.packed.releases

    def solve(_: object, cuts: list[object], unit: float) -> tuple[object, ...]:
        count = len(cuts)
        completions = floors / unit * rng.uniform(0.5, 3, len(floors))
        return completions, rng.normal(0.5, 1, count), rng.uniform(0, 1e-5, count)

    with mock.patch.object(evolution, "_solve", solve):
        assert mean_busy_time(problem) <= least_total(problem)


@given(LARGER)
def test_at_least_each_application_by_itself(problem: EvolutionProblem) -> None:
    assert mean_busy_time(problem) >= total_completion(problem)
    with mock.patch.object(evolution, "_solve", return_value=None):
        assert mean_busy_time(problem) == total_completion(problem)


@settings(max_examples=examples(30))
@given(LARGER)
def test_expand_limits_do_not_matter(problem: EvolutionProblem) -> None:
    assert len({mean_busy_time(replace(problem, expand_limit=limit)) for limit in EXPAND_LIMITS}) == 1


@given(
    st.lists(evolution_profiles(max_steps=4, max_duration=50, max_nodes=4), min_size=1, max_size=6),
    st.integers(0, 9),
)
def test_tight_if_all_steps_need_more_than_half(chosen: list[EvolutionProfile], release: int) -> None:
    """One application after the other, the shortest first, is best."""
    apps = tuple(EvolutionProfile(tuple((d, 5 + n) for d, n in app.steps)) for app in chosen)
    problem = EvolutionProblem(9, apps, (release,) * len(apps))
    best = sum(release + end for end in accumulate(sorted(app.duration for app in apps)))
    assert mean_busy_time(problem) == best


def test_two_steps_one_after_the_other() -> None:
    assert mean_busy_time(problem_of(4, [(7, 4)], [(3, 4)])) == 3 + 10
    assert mean_busy_time(problem_of(4, [(7, 3)], [(3, 3)])) == 3 + 10
    assert mean_busy_time(problem_of(4, [(7, 2)], [(3, 2)])) == 3 + 7


def test_of_steps_above_a_third_two_run_at_a_time() -> None:
    three = problem_of(9, [(20, 4)], [(20, 4)], [(20, 4)])
    # The middle of all is at 15 s or later if two run at a time, at 13 1/3 s by the area.
    assert mean_busy_time(three) == 3 * 15 + 3 * 10
    assert mean_busy_time(replace(three, num_nodes=12)) == 3 * 20


def test_heads_and_tails_count() -> None:
    # Both wait 5 s for their nodes, and 2 s more come after them.
    assert mean_busy_time(problem_of(2, [(5, 0), (4, 2), (2, 0)], [(5, 0), (4, 2), (2, 0)])) == 11 + 15
    assert mean_busy_time(problem_of(2, [(4, 2)], [(4, 2)], releases=(6, 7))) == 10 + 14


def test_without_contention_it_is_the_trivial_bound() -> None:
    for problem in (
        problem_of(3),
        problem_of(3, [(4, 0)], releases=(9,)),
        problem_of(3, [(4, 1)], [(5, 2)], releases=(0, 20)),
    ):
        assert mean_busy_time(problem) == total_completion(problem)


def test_exact_beyond_doubles() -> None:
    """Masses up to 2^63; a bound that is rounded anywhere would not be odd."""
    size = 2**40
    long = 2**20
    assert mean_busy_time(problem_of(size, [(long, size)], [(long + 1, size)])) == 3 * long + 1
    late = 2**52
    assert mean_busy_time(problem_of(2, [(1, 2)], [(2, 2)], releases=(late, late))) in (
        2 * late + 3,  # the trivial bound
        2 * late + 4,
    )
    assert mean_busy_time(EvolutionProblem(2**53, (EvolutionProfile([(2**9, 2**53)]),))) == 2**9


@pytest.mark.parametrize("seed", [0, 4, 10, 14])
def test_most_of_the_best_known_mean(seed: int) -> None:
    problem = replace(klein2011([12, seed], num_apps=(12, 12)), expand_limit=1)
    found = Annealing(("completion",))(problem, Budget(math.inf, 20_000, seed=1))
    assert isinstance(found.objective, float)
    bound = mean_busy_time(problem) / 12
    assert 0.7 * found.objective <= bound <= found.objective


def test_many_applications_get_fewer_rounds() -> None:
    problem = klein2011([12, 0], num_apps=(2000, 2000))
    assert mean_busy_time(problem) > 10 * total_completion(problem)


# --- Cpsat --------------------------------------------------------------------------------------------

OBJECTIVES: tuple[EvolutionObjective, ...] = (("makespan",), ("completion",), ("makespan", "waste"))


def shares(above: float) -> EvolutionCpSatParams:
    """How much of the time goes into the search from above, whatever the term."""
    return EvolutionCpSatParams(above_share_of_makespan=above, above_share_of_completion=above)


@settings(max_examples=examples(80))
@given(
    evolution_problems(max_nodes=3, max_apps=3, max_steps=2, max_duration=3),
    st.sampled_from(OBJECTIVES),
    st.sampled_from((0.0, 1.0)),
    st.sampled_from((1, 2)),
)
def test_optima_from_either_side_are_those_of_brute_force(
    problem: EvolutionProblem, objective: EvolutionObjective, above: float, workers: int
) -> None:
    # A weak bound, so that something is left to prove.
    with mock.patch("allocsolve.exact.evolution.cpsat.makespan_bound", longest_application):
        result = EvolutionCpSat(objective, params=shares(above))(
            problem, Budget(seconds=600, workers=workers)
        )
    confirm(problem, result, objective)
    assert result.status is Status.OPTIMAL
    found = result.objective if isinstance(result.objective, tuple) else (result.objective,)
    assert found == optimum(problem, objective)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_from_below_is_never_above_the_optimum(limit: float, seed: int) -> None:
    problem = replace(klein2011([78, seed], num_apps=(6, 6)), expand_limit=limit)
    best = EvolutionCpSat()(problem, Budget(seconds=600, workers=2))
    assert best.status is Status.OPTIMAL
    for seconds in (0.3, 1.0, 600.0):
        result = EvolutionCpSat(params=shares(0.0))(problem, Budget(seconds=seconds, workers=2))
        assert result.bound <= best.objective <= result.objective  # type: ignore[operator]  # the value of one term is a number
    assert result.objective == result.bound
