"""Laws of the mean-busy-time bound: never above brute force, never below the trivial one, tight on chains."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from strategies import EXPAND_LIMITS, evolution_problems, evolution_profiles
from tiers import examples

from allocsolve.bounds import evolution, mean_busy_time, total_completion
from allocsolve.heuristics import Annealing
from allocsolve.instances import klein2011
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile

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
