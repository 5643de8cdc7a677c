"""Laws of trees of dates: whatever cuts and prices, the bound holds, and the judge agrees with its twin."""

from __future__ import annotations

import copy
import random as plain
from typing import TYPE_CHECKING, Any

import naive_date_tree as naive
import naive_job_prices
import numpy as np
import pytest
from date_tree_draws import LAST, holds, problem_of, walls
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.workload.certificate import workload_certified_bound
from allocsolve.judge.workload.date_trees import date_trees_bound, tree_totals
from allocsolve.model import Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import WorkloadTerm

MEANS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown", "wait"])


def price_list(random: np.random.Generator, jobs: int, slots: int, parent: int, unit: int) -> dict[str, Any]:
    """What a list adds to its parent, which has at least `unit` everywhere if it is not -1."""
    own = np.arange(jobs) if parent < 0 else np.flatnonzero(random.random(jobs) < 0.5)
    first = np.zeros(len(own), dtype=int) if parent < 0 else random.integers(0, slots + 1, len(own))
    counts = np.array([slots - at if parent < 0 else random.integers(0, slots - at + 1) for at in first], int)
    low = unit if parent < 0 else -unit
    return {
        "parent": parent,
        "jobs": own.tolist(),
        "first_slots": first.tolist(),
        "offsets": [0, *np.cumsum(counts).tolist()],
        "differences": random.integers(low, 2 * unit + 1, int(counts.sum())).tolist(),
    }


def certificate_of(problem: WorkloadProblem, seed: int, term: str = "turnaround") -> dict[str, Any]:
    """Any tree with any prices, its totals filled in by the judge."""
    random = np.random.default_rng(seed)
    edges = np.cumsum(random.integers(1, 7, int(random.integers(2, 8)))) - 3
    unit, lists = int(random.choice([1, 7, 10])), []
    for number in range(int(random.integers(1, 4))):
        parent = -1 if random.random() < 0.3 else min(number - 1, 0)
        lists.append(price_list(random, len(problem.jobs), len(edges) - 1, parent, unit))
    jobs, cuts = naive.tree(random, len(problem.jobs), len(lists), 4, LAST)
    certificate = {
        "kind": "date-tree",
        "term": term,
        "edges": edges.tolist(),
        "nodes": int(random.choice([1, 1, 1, 2])),
        "unit": unit,
        "lists": lists,
        "jobs": jobs,
        "cuts": cuts,
    }
    return {**certificate, "totals": tree_totals(problem, certificate, term)[0]}


@settings(deadline=None)
@given(st.integers(0, 2**30), st.integers(0, 2**30))
def test_the_judge_finds_the_totals_of_the_twin(first: int, second: int) -> None:
    problem = problem_of(first, 4)
    certificate = certificate_of(problem, second)
    assert certificate["totals"] == naive.totals(problem, certificate)


@settings(deadline=None)
@given(st.integers(0, 2**30), st.integers(0, 2**30), st.randoms(use_true_random=False))
def test_a_leaf_is_never_above_a_schedule_in_it(first: int, second: int, random: plain.Random) -> None:
    problem = problem_of(first, 7)
    certificate = certificate_of(problem, second)
    order = list(range(len(problem.jobs)))
    random.shuffle(order)
    starts = naive.placed(problem, order)
    value = naive.cost(problem, starts) * certificate["unit"]
    met = 0
    for (_, path), total in zip(naive.leaves(certificate), certificate["totals"], strict=True):
        if holds(path, starts):
            met += 1
            assert total is not None
            assert total <= value
    assert met >= 1


@settings(deadline=None)
@given(st.integers(0, 2**30), st.integers(0, 2**30), MEANS)
def test_whatever_cuts_and_prices_the_bound_is_below_the_optimum(
    first: int, second: int, term: WorkloadTerm
) -> None:
    problem = problem_of(first)
    certificate = certificate_of(problem, second, term)
    bound = date_trees_bound(problem, certificate, term)
    assert bound <= naive_job_prices.optimum(problem, term)
    assert bound == workload_certified_bound(problem, certificate, (term,))


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**30), st.integers(0, 2**30), st.floats(0.01, 0.99))
def test_times_that_are_no_quarters(first: int, second: int, shift: float) -> None:
    problem = problem_of(first)
    moved = WorkloadProblem(
        problem.num_nodes,
        [
            Job(job.submit + shift, job.nodes, job.runtime + shift / 3, weight=job.weight)
            for job in problem.jobs
        ],
    )
    certificate = certificate_of(moved, second)
    bound = date_trees_bound(moved, certificate, "turnaround")
    assert bound <= naive_job_prices.optimum(moved, "turnaround")


def leaf_about(random: np.random.Generator, problem: WorkloadProblem, starts: list[int]) -> dict[str, Any]:
    """A path of cuts to a leaf about the starts of two jobs, with any prices; all others are leaves, too."""
    width = int(random.choice([1, 2, 4, 8]))
    jobs: list[int] = []
    cuts: list[int] = []
    for job, start in enumerate(starts[:2]):
        low, high = start - int(random.integers(0, width)), start + int(random.integers(0, width))
        jobs += [job, -1, job]
        cuts += [max(low, 0), 0, high]
    edges = np.arange(0, LAST)
    prices = price_list(random, len(problem.jobs), len(edges) - 1, -1, 3)
    prices["differences"] = [max(0, price - 2) for price in prices["differences"]]
    return {
        "kind": "date-tree",
        "term": "turnaround",
        "edges": edges.tolist(),
        "nodes": 1,
        "unit": 3,
        "lists": [prices],
        "jobs": [*jobs, -1, -1, -1],
        "cuts": [*cuts, 0, 0, 0],
    }


@pytest.mark.parametrize("seeds", [range(6), range(60)])
def test_leaves_that_hold_an_optimum_are_never_above_it(seeds: range) -> None:
    for seed in seeds:
        problem, random = walls(seed), np.random.default_rng(seed)
        starts = naive.optimal_starts(problem)
        for _ in range(4):
            certificate = leaf_about(random, problem, starts)
            totals = tree_totals(problem, certificate, "turnaround")[0]
            own = [
                total
                for (_, path), total in zip(naive.leaves(certificate), totals, strict=True)
                if holds(path, starts)
            ]
            assert own
            assert all(total is not None and total <= 3 * naive.cost(problem, starts) for total in own)


def a_good_one() -> tuple[WorkloadProblem, dict[str, Any]]:
    """A tree with some leaves that have schedules and some that have none."""
    for seed in range(1000):
        problem = walls(seed)
        certificate = certificate_of(problem, seed)
        counts = [total is None for total in certificate["totals"]]
        if len(counts) >= 8 and 2 <= sum(counts) <= len(counts) - 4:
            return problem, certificate
    raise AssertionError


def _another(random: plain.Random, values: list[Any], low: int, high: int) -> None:
    at = random.randrange(len(values))
    values[at] = random.choice([each for each in range(low, high) if each != values[at]])


TAMPERINGS: list[Callable[[dict[str, Any], plain.Random], object]] = [
    lambda one, random: _another(random, one["totals"], -99, 10**6),
    lambda one, random: one["totals"].pop(random.randrange(len(one["totals"]))),
    lambda one, random: _another(random, one["jobs"], -1, 9),
    lambda one, random: one["jobs"].pop(random.randrange(len(one["jobs"]))),
    lambda one, random: one["cuts"].insert(random.randrange(len(one["cuts"])), 3),
    lambda one, _: one["edges"].reverse(),
    lambda one, _: one.update(unit=one["unit"] + 1),
    lambda one, _: one.update(nodes=0),
    lambda one, _: one.update(term="wait"),
    lambda one, _: one["lists"][0]["differences"].pop(),
    lambda one, _: one["lists"][0].update(parent=0),
    lambda one, _: one["lists"][0]["jobs"].reverse(),
    lambda one, random: _another(random, one["lists"][0]["differences"], -9, -1),
    lambda one, _: one["lists"][0]["first_slots"].__setitem__(0, len(one["edges"])),
    lambda one, _: one.update(lists=[]),
    lambda one, random: one.pop(random.choice([*one])),
    lambda one, _: one.update(totals=[None] * len(one["totals"])),
]


def test_tampered_certificates_are_refused_100_of_100() -> None:
    problem, certificate = a_good_one()
    date_trees_bound(problem, certificate, "turnaround")
    for number in range(100):
        tampered = copy.deepcopy(certificate)
        TAMPERINGS[number % len(TAMPERINGS)](tampered, plain.Random(number))
        with pytest.raises(InvalidAnswer):
            workload_certified_bound(problem, tampered, ("turnaround",))
