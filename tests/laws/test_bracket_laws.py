"""Laws of brackets: they hold the truth whatever is known of it, sharpening included."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from strategies import evolution_problems
from tiers import examples

from allocsolve import judge
from allocsolve.bench.scores.statistics import FEWEST, Bracket, bootstrap_interval, ratio, ratios, sharpened
from allocsolve.errors import InvalidAnswer
from allocsolve.heuristics import Fit, ListScheduling
from allocsolve.model import Budget, EvolutionProblem

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
