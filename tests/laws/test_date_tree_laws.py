"""Laws of trees of dates: whatever cuts and prices, the bound holds, and the judge agrees with its twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import naive_date_tree as naive
import numpy as np
from hypothesis import given, settings, strategies as st
from naive_date_tree import LAST, holds, problem_of

from allocsolve.judge.workload.date_tree import leaf_totals

if TYPE_CHECKING:
    import random as plain

    from allocsolve.model import WorkloadProblem


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
    return {**certificate, "totals": leaf_totals(problem, certificate, term)}


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
