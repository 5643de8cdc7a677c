"""Laws of the bound on mean completions from falling prices, and of the judge that recomputes it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from strategies import EXPAND_LIMITS, evolution_problems
from tiers import examples

from allocsolve.bounds import evolution_completion, mean_busy_time, strong_completion_bound
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import EvolutionConflictSearch, EvolutionCpSat
from allocsolve.exact.evolution._makespan_lanes import FromBelow, TotalKnowledge
from allocsolve.exact.evolution.cpsat import step_starts
from allocsolve.heuristics import Annealing
from allocsolve.instances import klein2011
from allocsolve.judge import assess, certified_bound
from allocsolve.judge.evolution import falling_prices
from allocsolve.model import Budget, EvolutionObjective, EvolutionProblem, EvolutionProfile, Status

COMPLETION: EvolutionObjective = ("completion",)
TINY = evolution_problems(max_apps=4, max_steps=3, max_nodes=6, releases=True)
LARGER = evolution_problems(min_apps=3, max_apps=5, max_steps=3, max_duration=50, max_nodes=9, releases=True)


def least_total(problem: EvolutionProblem) -> int:
    (mean,) = optimum(problem, COMPLETION)
    return round(mean * len(problem.applications))


def twin(problem: EvolutionProblem, certificate: dict[str, Any]) -> Fraction:
    """Return the bound on the mean as the docstring of the judge says it, by all configurations."""
    unit, times = certificate["unit"], certificate["times"]
    total = Fraction(0)
    paying: list[list[tuple[int, int, int, int]]] = []
    for release, app, prices, falls in zip(
        problem.releases, problem.applications, certificate["prices"], certificate["falls"], strict=True
    ):
        head, charge = release, 0
        paying.append([])
        for (duration, nodes), price, fall in zip(app.steps, prices, falls, strict=True):
            after = release + app.duration - head - Fraction(duration, 2)
            total += duration * price + fall * duration * after
            charge += fall * duration
            paying[-1].append((head, nodes, price, fall))
            head += duration
        total += (unit - charge) * (release + app.duration)
    for earlier, later in itertools.pairwise(times):
        choices = [[(0, 0, 0, 0), *(step for step in steps if step[0] < later)] for steps in paying]
        fitting = [
            chosen
            for chosen in itertools.product(*choices)
            if sum(nodes for _, nodes, _, _ in chosen) <= problem.num_nodes
        ]
        for moment in (earlier, later):
            dearest = max(
                sum(max(0, price - fall * moment) for _, _, price, fall in chosen) for chosen in fitting
            )
            total -= Fraction((later - earlier) * dearest, 2)
    return Fraction(math.ceil(total / unit), len(problem.applications))


@st.composite
def certificates(draw: st.DrawFn, problem: EvolutionProblem) -> dict[str, Any]:
    """Draw prices that the judge takes."""
    falls = [[draw(st.integers(0, 5)) for _ in app.steps] for app in problem.applications]
    times = sorted(draw(st.sets(st.integers(1, 40), min_size=1, max_size=6)))
    prices = [[draw(st.integers(0, fall * times[-1])) for fall in row] for row in falls]
    charges = (
        sum(fall * duration for fall, (duration, _) in zip(row, app.steps, strict=True))
        for row, app in zip(falls, problem.applications, strict=True)
    )
    unit = max(1, *charges) + draw(st.integers(0, 3))
    return {"kind": "falling-prices", "unit": unit, "times": [0, *times], "prices": prices, "falls": falls}


@settings(max_examples=examples(200))
@given(TINY)
def test_never_above_the_optimum_nor_below_mean_busy_times(problem: EvolutionProblem) -> None:
    bound = strong_completion_bound(problem)
    assert mean_busy_time(problem) <= bound.value <= least_total(problem)
    if bound.certificate is not None:
        assert certified_bound(problem, bound.certificate, COMPLETION) == bound.value / len(
            problem.applications
        )


@settings(max_examples=examples(200))
@given(st.data(), TINY)
def test_any_prices_are_recomputed_as_by_all_configurations(
    data: st.DataObject, problem: EvolutionProblem
) -> None:
    certificate = data.draw(certificates(problem))
    bound = certified_bound(problem, certificate, COMPLETION)
    assert bound == float(twin(problem, certificate))
    assert round(bound * len(problem.applications)) <= least_total(problem)


@settings(max_examples=examples(60))
@given(problem=TINY, seed=st.integers(0, 99))
def test_the_linear_program_is_not_trusted(problem: EvolutionProblem, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def solve(program: evolution_completion._Program, _: object) -> object:
        count = len(program.durations)
        weights = rng.uniform(0, 1.5 / count, count) * rng.integers(0, 2, count)
        at_first = rng.uniform(0, 1, count) * weights
        return 1e9, evolution_completion._Prices(at_first, weights)

    with mock.patch.object(evolution_completion, "_master", solve):
        assert strong_completion_bound(problem).value <= least_total(problem)
    with mock.patch.object(evolution_completion, "_master", return_value=None):  # then by areas
        assert mean_busy_time(problem) <= strong_completion_bound(problem).value <= least_total(problem)


@settings(max_examples=examples(10))
@given(LARGER)
def test_expand_limits_do_not_matter(problem: EvolutionProblem) -> None:
    assert (
        len({strong_completion_bound(replace(problem, expand_limit=limit))[0] for limit in EXPAND_LIMITS})
        == 1
    )


def test_steps_that_exclude_each_other_wait_for_each_other() -> None:
    apps = tuple(EvolutionProfile([(7, nodes)]) for nodes in (6, 5, 5, 5))
    problem = EvolutionProblem(10, apps, expand_limit=1)
    strong = strong_completion_bound(problem)
    assert mean_busy_time(problem) < strong.value <= least_total(problem)
    assert strong_completion_bound(problem, seconds=0) == (mean_busy_time(problem), None)


def test_without_steps_or_with_many_it_is_that_of_mean_busy_times() -> None:
    many = klein2011([12, 0], num_apps=(80, 80))
    for problem in (
        EvolutionProblem(3, ()),
        many,
        EvolutionProblem(2**40, (EvolutionProfile([(5, 2**40 - 1)]), EvolutionProfile([(4, 3)]))),
        EvolutionProblem(2, (EvolutionProfile([(1, 2)]),) * 2, (2**52, 2**52)),
    ):
        assert strong_completion_bound(problem) == (mean_busy_time(problem), None)


@pytest.mark.parametrize("scale", [1, 10**6, 10**10])
def test_times_of_any_length(scale: int) -> None:
    apps = tuple(EvolutionProfile([(scale * 7, nodes), (1, 2)]) for nodes in (6, 5, 5, 5))
    problem = EvolutionProblem(10, apps, expand_limit=1)
    assert strong_completion_bound(problem).value > 1.01 * mean_busy_time(problem)


def test_twelve_applications_come_nearer_to_their_optimum() -> None:
    problem = replace(klein2011([12, 0], num_apps=(12, 12)), expand_limit=1)
    strong = strong_completion_bound(problem)
    best = Annealing(COMPLETION)(problem, Budget(math.inf, 2000, seed=1)).objective
    assert isinstance(best, float)
    assert 1.005 * mean_busy_time(problem) < strong.value <= best * 12


def test_the_search_from_below_begins_with_it() -> None:
    problem = replace(klein2011([12, 0], num_apps=(12, 12)), expand_limit=1)
    start = Annealing(COMPLETION)(problem, Budget(math.inf, 2000, seed=1)).answer
    assert start is not None
    known = TotalKnowledge(problem, Budget().start(), step_starts(start))
    assert known.certificate is None
    FromBelow(known, 0).advance()
    assert known.certificate is not None
    assert known.bound >= strong_completion_bound(problem).value
    assert certified_bound(problem, known.certificate, COMPLETION) > mean_busy_time(problem) / 12


@pytest.mark.parametrize("solver", [EvolutionConflictSearch(COMPLETION), EvolutionCpSat(COMPLETION)])
def test_exact_solvers_are_not_misled(solver: Any) -> None:
    problem = replace(klein2011([78, 1], num_apps=(6, 6)), expand_limit=1)
    verdict = assess(problem, solver(problem, Budget(seconds=600)), COMPLETION)
    assert verdict.result.status is Status.OPTIMAL


GOOD = {
    "kind": "falling-prices",
    "unit": 20,
    "times": [0, 10, 20],
    "prices": [[20], [40]],
    "falls": [[1], [2]],
}


def test_a_certificate_by_hand() -> None:
    problem = EvolutionProblem(2, (EvolutionProfile([(20, 2)]), EvolutionProfile([(10, 2)])))
    # Step by step what it pays and what its middle is before its end, less the dearest, which is the second.
    expected = math.ceil((20 * 20 + 20 * 10 + 10 * 40 + 20 * 5 - 10 * (40 + 20) / 2 - 10 * (20 + 0) / 2) / 20)
    assert certified_bound(problem, GOOD, COMPLETION) == expected / 2
    assert float(twin(problem, GOOD)) == expected / 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": 0}, "unit 0 of the certificate is not an integer in 1"),
        ({"unit": 19}, "falls of application 0 of the certificate are together above its unit"),
        ({"times": []}, "times .* are not a list of integers"),
        ({"times": [0, 20.0]}, "times .* are not a list of integers"),
        ({"times": [0, 20, 20]}, "times of the certificate do not rise"),
        ({"times": [1, 20]}, "begin at 1, after a release"),
        ({"times": [0, 19]}, "not down to 0 at 19"),
        ({"times": [0, 2**53], "falls": [[2**10], [0]]}, "more than 64 bits hold"),
        ({"prices": [[1]]}, "prices of the certificate are not one for each step"),
        ({"prices": 7}, "prices 7 of the certificate are not lists of integers"),
        ({"prices": [[-1], [1]]}, "prices .* of the certificate are not lists of integers"),
        ({"falls": [[1], [1, 1]]}, "falls of the certificate are not one for each step"),
    ],
)
def test_malformed_certificates_are_refused(change: dict[str, Any], message: str) -> None:
    problem = EvolutionProblem(2, (EvolutionProfile([(20, 2)]), EvolutionProfile([(10, 2)])))
    with pytest.raises(InvalidAnswer, match=message):
        certified_bound(problem, {**GOOD, **change}, COMPLETION)


def test_the_judge_counts_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = EvolutionProblem(2, (EvolutionProfile([(20, 2)]), EvolutionProfile([(10, 2)])))
    monkeypatch.setattr(falling_prices, "_MOST_CELLS", 10)
    with pytest.raises(InvalidAnswer, match="more than 10 steps times nodes"):
        certified_bound(problem, GOOD, COMPLETION)
    with pytest.raises(InvalidAnswer, match="bound completion, not makespan"):
        certified_bound(problem, GOOD, ("makespan",))
    prices = {"prices": [[2**53]] * 513, "falls": [[1]] * 513, "times": [0, 2**53]}
    with pytest.raises(InvalidAnswer, match="add up to more than 64 bits"):
        certified_bound(
            EvolutionProblem(2, (EvolutionProfile([(1, 2)]),) * 513), {**GOOD, **prices}, COMPLETION
        )


def test_no_applications_complete_at_once() -> None:
    empty = {**GOOD, "prices": [], "falls": [], "times": [0]}
    assert certified_bound(EvolutionProblem(3, ()), empty, COMPLETION) == 0
