"""Laws of trees of dates: whatever cuts and prices, the bound holds, and the judge agrees with its twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import naive_date_tree as naive
import numpy as np
from date_tree_draws import LAST, holds, problem_of, walls
from hypothesis import given, settings, strategies as st
from tiers import draws

from allocsolve.judge.workload.date_trees import tree_totals
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    import random as plain

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


def test_leaves_that_hold_an_optimum_are_never_above_it() -> None:
    for seed in draws(60):
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
