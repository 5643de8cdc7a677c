"""Laws of trees of dates, of all jobs or of stretches: whatever they are, the bound holds, as by the twin.

Machines are plain, or have counted resources and closed windows.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import naive_date_tree as naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_date_tree import LAST, holds, problem_of, walls
from naive_workload_optimum import workload_optimum
from resource_strategies import general_problems
from tiers import draws, examples

from allocsolve.bounds.workload import machine_prices
from allocsolve.bounds.workload.job_prices import root_prices
from allocsolve.bounds.workload.machine_job_prices import machine_job_prices, machine_job_prices_of
from allocsolve.errors import InvalidAnswer
from allocsolve.exact.workload import _date_forest
from allocsolve.exact.workload._date_forest import DateForest
from allocsolve.exact.workload._date_tree import DateTreeParams
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.date_trees import tree_totals
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.model import Budget, ClosedWindow, Job, WorkloadProblem

if TYPE_CHECKING:
    import random as plain

    from allocsolve.exact.workload._date_forest import Stretch
    from allocsolve.exact.workload._date_tree import Leaf

TERM: Final = "turnaround"
NO_PRICES: Final = {"parent": -1, "jobs": [], "first_slots": [], "offsets": [0], "differences": []}


def lists_of(random: np.random.Generator, jobs: int, slots: int, parent: int, unit: int) -> dict[str, Any]:
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


def units_of(problem: WorkloadProblem, random: np.random.Generator) -> dict[str, Any]:
    """Any units of each resource, of which some may not count."""
    counted = {
        name: int(random.choice([1, 1, 1, 2])) for name, _ in problem.resources if random.random() < 0.9
    }
    return {"nodes": int(random.choice([1, 1, 1, 2])), **({"units": counted} if counted else {})}


def tree_of(problem: WorkloadProblem, seed: int, term: str = TERM) -> dict[str, Any]:
    """Any tree with any prices, its totals filled in by the judge."""
    random = np.random.default_rng(seed)
    edges = np.cumsum(random.integers(1, 7, int(random.integers(2, 8)))) - 3
    unit, lists = int(random.choice([1, 7, 10])), []
    for number in range(int(random.integers(1, 4))):
        parent = -1 if random.random() < 0.3 else min(number - 1, 0)
        lists.append(lists_of(random, len(problem.jobs), len(edges) - 1, parent, unit))
    jobs, cuts = naive.tree(random, len(problem.jobs), len(lists), 4, LAST)
    certificate = {
        "kind": "date-tree",
        "term": term,
        "edges": edges.tolist(),
        **units_of(problem, random),
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
    certificate = tree_of(problem, second)
    assert certificate["totals"] == naive.totals(problem, certificate)


@settings(deadline=None)
@given(st.integers(0, 2**30), st.integers(0, 2**30), st.randoms(use_true_random=False))
def test_a_leaf_is_never_above_a_schedule_in_it(first: int, second: int, random: plain.Random) -> None:
    problem = problem_of(first, 7)
    certificate = tree_of(problem, second)
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


def price_list(random: np.random.Generator, jobs: int, slots: int, unit: int) -> dict[str, Any]:
    """Prices of some jobs in some slots."""
    first = random.integers(0, slots + 1, jobs)
    counts = np.array([random.integers(0, slots - at + 1) for at in first], dtype=int)
    return {
        "first_slots": first.tolist(),
        "offsets": [0, *np.cumsum(counts).tolist()],
        "prices": random.integers(0, 2 * unit + 1, int(counts.sum())).tolist(),
    }


def certificate_of(problem: WorkloadProblem, seed: int, term: str = TERM) -> dict[str, Any]:
    """Any stretches with any trees and any prices, their totals filled in by the judge."""
    random = np.random.default_rng(seed)
    edges = np.cumsum(random.integers(1, 7, int(random.integers(3, 8)))) - 3
    count, slots, unit = len(problem.jobs), len(edges) - 1, int(random.choice([1, 7]))
    number = int(random.integers(1, 4))
    owner = random.integers(0, number, count)
    shared = price_list(random, count, slots, unit)
    trees = []
    for each in range(number):
        own = np.flatnonzero(owner == each)
        priced = [job for job in own if shared["offsets"][job] < shared["offsets"][job + 1]]
        low = min([int(random.integers(slots)), *(shared["first_slots"][job] for job in priced)])
        ends = [
            shared["first_slots"][job] + shared["offsets"][job + 1] - shared["offsets"][job] for job in priced
        ]
        high = max([int(random.integers(low + 1, slots + 1)), *ends])
        lists = []
        for _ in range(int(random.integers(1, 3))):
            one = price_list(random, len(own), high - low, unit)
            one["differences"] = one.pop("prices")
            lists.append({"parent": -1, "jobs": [*range(len(own))], **one})
        jobs, cuts = [-1], [0]
        if len(own):
            jobs, cuts = naive.tree(random, len(own), len(lists), 3, LAST)
        trees.append({"slots": [low, high], "lists": lists, "jobs": jobs, "cuts": cuts})
    certificate = {
        "kind": "date-trees",
        "term": term,
        "edges": edges.tolist(),
        **units_of(problem, random),
        "unit": unit,
        "shared": shared,
        "stretches": owner.tolist(),
        "trees": trees,
    }
    for tree, totals in zip(trees, tree_totals(problem, certificate, term), strict=True):
        tree["totals"] = totals
    return certificate


def judged_as_by_the_twin(problem: WorkloadProblem, certificate: dict[str, Any]) -> None:
    """Check the totals of each stretch, and the bound that follows from their least ones."""
    total = -naive.earned(problem, certificate)
    parts = naive.stretches(problem, certificate)
    for (_, alone, tree, shared), found in zip(parts, certificate["trees"], strict=True):
        assert found["totals"] == naive.totals(alone, tree, shared)
        total += min(each for each in found["totals"] if each is not None)
    weight = int(problem.jobs.packed.weight.sum())
    bound = certified_bound(problem, certificate, (TERM,))
    assert bound == pytest.approx(total / (certificate["unit"] * weight) if weight else 0.0)


@settings(deadline=None)
@given(st.integers(0, 2**30), st.integers(0, 2**30))
def test_the_judge_finds_the_totals_and_the_bound_of_the_twin(first: int, second: int) -> None:
    problem = problem_of(first, 4)
    judged_as_by_the_twin(problem, certificate_of(problem, second))


@settings(deadline=None)
@given(st.integers(0, 2**30), st.integers(0, 2**30), st.randoms(use_true_random=False))
def test_a_leaf_is_never_above_what_its_jobs_cost_and_pay(
    first: int, second: int, random: plain.Random
) -> None:
    problem = problem_of(first, 7)
    certificate = certificate_of(problem, second)
    order = [*range(len(problem.jobs))]
    random.shuffle(order)
    starts = naive.placed(problem, order)
    held = _leaves_that_hold(problem, certificate, starts)
    assert all(held)
    for totals, most in zip(held, _most(problem, certificate, starts), strict=True):
        assert all(total is not None and total <= most for total in totals)


def _leaves_that_hold(
    problem: WorkloadProblem, certificate: dict[str, Any], starts: list[int]
) -> list[list[int | None]]:
    """Of each tree the totals of its leaves in which these starts lie."""
    return [
        [
            total
            for (_, path), total in zip(naive.leaves(tree), tree["totals"], strict=True)
            if holds(path, [starts[job] for job in own])
        ]
        for own, _, tree, _ in naive.stretches(problem, certificate)
    ]


def _most(problem: WorkloadProblem, certificate: dict[str, Any], starts: list[int]) -> list[int]:
    """Of each stretch what its jobs cost and pay of shared prices with these starts."""
    paid = naive.shared_paid(certificate, starts, [int(job.runtime) for job in problem.jobs])
    return [
        certificate["unit"] * naive.cost(alone, [starts[job] for job in own]) + sum(paid[job] for job in own)
        for own, alone, *_ in naive.stretches(problem, certificate)
    ]


#: With them six jobs are one stretch, or two or three.
STRETCHES = {
    "one": DateTreeParams(margin_slots=30),
    "some": DateTreeParams(one_tree_jobs=1, fewest_jobs=2, most_jobs=4, margin_slots=30),
}
stretches = pytest.mark.parametrize("params", STRETCHES.values(), ids=STRETCHES)


def forest_of(problem: WorkloadProblem, seed: int, params: DateTreeParams) -> DateForest:
    """Trees that begin with prices of node-seconds, higher at first."""
    random = np.random.default_rng(seed)
    slots = LAST - 1
    first = problem.packed.submit.astype(int).tolist()
    until = int(random.integers(8, 25))
    prices = [
        [int(job.nodes * max(0, until - slot) * random.integers(20, 40)) for slot in range(begin, slots)]
        for begin, job in zip(first, problem.jobs, strict=True)
    ]
    certificate = {
        "kind": "job-prices",
        "term": TERM,
        "edges": [*range(LAST)],
        "nodes": 1,
        "unit": 1000,
        "first_slots": first,
        "offsets": [0, *np.cumsum([*map(len, prices)]).tolist()],
        "prices": [price for row in prices for price in row],
    }
    forest = DateForest(problem, TERM, certificate, params)
    for each in forest.stretches:
        each.tree.value(each.tree.root)
    roots = sum(each.tree.root.bound for each in forest.stretches) - forest.earned
    assert roots / len(problem.jobs) == pytest.approx(job_price_bound(problem, certificate, TERM))
    return forest


def grown(stretch: Stretch, most: float, steps: int) -> list[Leaf]:
    """The leaves of a tree after some ascents and splits."""
    tree = stretch.tree
    for _ in range(steps):
        leaf = min(tree.root.leaves(), key=lambda leaf: leaf.bound)
        if leaf.bound >= most:
            break
        if not leaf.valued:
            tree.value(leaf)
        elif not tree.is_climbed(leaf):
            tree.climb(leaf, lambda: False)
        elif not tree.split(leaf, most):
            break
    return [*tree.root.leaves()]


@stretches
def test_leaves_that_hold_an_optimum_are_never_above_it(params: DateTreeParams) -> None:
    """Many of the other leaves are: that is what trees are for."""
    off = above = 0
    for seed in draws(40):
        problem = walls(seed)
        starts = naive.optimal_starts(problem)
        best = naive.cost(problem, starts)
        forest = forest_of(problem, seed, params)
        assert len(forest.stretches) in ((1,) if params is STRETCHES["one"] else (2, 3))
        costs = forest.shared_costs(np.array(starts, dtype=float))
        leaves = [grown(each, 3 * float(costs[each.rows].sum()), 60) for each in forest.stretches]
        certificate, bound = forest.certificate()
        certificate = json.loads(json.dumps(certificate))
        assert certified_bound(problem, certificate, (TERM,)) == bound
        assert bound <= best / len(problem.jobs)
        most = _most(problem, certificate, starts)
        assert [float(costs[each.rows].sum()) * 1000 for each in forest.stretches] == pytest.approx(most)
        parts = naive.stretches(problem, certificate)
        for (own, _, tree, _), its, limit in zip(parts, leaves, most, strict=True):
            held = 0
            for leaf, (_, path), total in zip(its, naive.leaves(tree), tree["totals"], strict=True):
                if holds(path, [starts[job] for job in own]):
                    held += 1
                    assert leaf.bound * 1000 <= limit * (1 + 1e-9)
                    assert total is not None
                    assert total <= limit
                else:
                    off += 1
                    above += leaf.bound * 1000 > limit
            assert held
    assert above > 0.2 * off


@stretches
@pytest.mark.parametrize("seed", range(6))
def test_trees_go_on_from_their_certificate(seed: int, params: DateTreeParams) -> None:
    problem = walls(seed)
    forest = forest_of(problem, seed, params)
    costs = forest.shared_costs(np.array(naive.placed(problem, range(6)), dtype=float))
    for each in forest.stretches:
        grown(each, 2 * float(costs[each.rows].sum()), 20)
    certificate, bound = forest.certificate()
    again = DateForest(problem, TERM, certificate, params)
    for each in again.stretches:
        for leaf in each.tree.root.leaves():
            each.tree.value(leaf)
    repeated, same = again.certificate()
    assert same == pytest.approx(bound, rel=1e-5)
    assert certified_bound(problem, repeated, (TERM,)) == same
    assert repeated.get("stretches") == certificate.get("stretches")
    parts = [naive.stretches(problem, each) for each in (repeated, certificate)]
    assert [tree["jobs"] for _, _, tree, _ in parts[0]] == [tree["jobs"] for _, _, tree, _ in parts[1]]
    roots = job_price_bound(problem, root_prices(problem, certificate), TERM)
    assert roots <= bound * (1 + 1e-9)


def test_stretches_are_cut_where_the_least_is_lost() -> None:
    random = np.random.default_rng(0)
    for _ in range(40):
        lost = random.random(11)

        def cheapest(begin: int, lost: Any = lost) -> tuple[float, list[int]]:
            if begin == 12:
                return 0.0, []
            ends = [end for end in range(begin + 2, min(begin + 5, 12) + 1) if end == 12 or end <= 10]
            found = [(cheapest(end), end) for end in ends]
            return min(
                ((0.0 if end == 12 else lost[end - 1]) + cost, [] if end == 12 else [end, *cuts])
                for (cost, cuts), end in found
            )

        assert _date_forest._cheapest_cuts(lost, 2, 5).tolist() == cheapest(0)[1]


def a_good_one() -> tuple[WorkloadProblem, dict[str, Any]]:
    """Two trees at least, with leaves that have schedules and some that have none."""
    for seed in range(1000):
        problem = walls(seed)
        certificate = certificate_of(problem, seed)
        counts = [len(tree["totals"]) for tree in certificate["trees"]]
        if len(counts) >= 2 and min(counts) >= 2 and any(certificate["shared"]["prices"]):
            return problem, certificate
    raise AssertionError


def test_shared_prices_outside_of_the_slots_of_a_tree_are_refused() -> None:
    problem, certificate = a_good_one()
    priced = [
        job
        for job, (begin, end) in enumerate(
            zip(certificate["shared"]["offsets"][:-1], certificate["shared"]["offsets"][1:], strict=True)
        )
        if end - begin >= 2
    ]
    tree = certificate["trees"][certificate["stretches"][priced[0]]]
    first = certificate["shared"]["first_slots"][priced[0]]
    tree["slots"] = [first, first + 1]
    with pytest.raises(InvalidAnswer, match=r"job \d has shared prices outside of the slots"):
        certified_bound(problem, certificate, (TERM,))


def test_shared_prices_whose_sum_does_not_fit_are_refused() -> None:
    """Each job's own costs fit, and so do the prices of each stretch: the sum of all would be negative."""
    count, number = 1200, 2
    problem = WorkloadProblem(count, [Job(0, 1, 1)] * count)
    tree = {"slots": [0, 1], "lists": [NO_PRICES], "jobs": [-1], "cuts": [0], "totals": [0]}
    certificate: dict[str, Any] = {
        "kind": "date-trees",
        "term": TERM,
        "edges": [0, 1],
        "nodes": 1,
        "unit": 1,
        "shared": {"first_slots": [0] * count, "offsets": [*range(count + 1)], "prices": [2**53 - 1] * count},
        "stretches": [job % number for job in range(count)],
        "trees": [tree] * number,
    }
    with pytest.raises(InvalidAnswer, match=r"prices in slot 0 of the certificate sum up to more than 2\^62"):
        tree_totals(problem, certificate, TERM)


# --- Machines that are not plain ---

MACHINES: Final = general_problems(min_jobs=1, max_jobs=4, max_submit=5).filter(lambda toy: not toy.is_plain)
REALS: Final = general_problems(
    min_jobs=3,
    max_jobs=4,
    times=st.floats(0.5, 12) | st.integers(1, 40).map(lambda n: n / 4) | st.just(1 / 3),
).filter(lambda toy: not toy.is_plain)
MEANS: Final[st.SearchStrategy[Any]] = st.sampled_from(["turnaround", "slowdown", "wait"])
SEEDS: Final = st.integers(0, 2**30)


@settings(deadline=None, max_examples=examples(300))
@given(problem=MACHINES, seed=SEEDS)
def test_on_machines_the_judge_finds_what_the_twin_finds(problem: WorkloadProblem, seed: int) -> None:
    certificate = tree_of(problem, seed)
    assert certificate["totals"] == naive.totals(problem, certificate)
    judged_as_by_the_twin(problem, certificate_of(problem, seed))


@settings(deadline=None, max_examples=examples(1000))
@given(problem=MACHINES, seed=SEEDS, term=MEANS)
def test_on_machines_no_trees_are_above_the_optimum(problem: WorkloadProblem, seed: int, term: Any) -> None:
    best = workload_optimum(problem, term)
    for certificate in (tree_of(problem, seed, term), certificate_of(problem, seed, term)):
        assert certified_bound(problem, certificate, (term,)) <= best


@settings(deadline=None, max_examples=examples(300))
@given(problem=REALS, seed=SEEDS, term=MEANS)
def test_on_machines_no_trees_of_real_times_are_above(problem: WorkloadProblem, seed: int, term: Any) -> None:
    best = workload_optimum(problem, term) + Fraction(1, 10**9)
    for certificate in (tree_of(problem, seed, term), certificate_of(problem, seed, term)):
        assert certified_bound(problem, certificate, (term,)) <= best


def on_machine(problem: WorkloadProblem, term: Any, steps: int) -> tuple[float, float]:
    """The bound by prices per job, and that of a tree that grows from it."""
    start = machine_prices(problem, term)
    first = machine_job_prices(problem, term, start, clock=Budget().start())
    if first.certificate["kind"] != "job-prices":
        return first.value, first.value
    forest = DateForest(problem, term, first.certificate)
    tree = forest.stretches[0].tree
    tree.value(tree.root)
    grown(forest.stretches[0], tree.root.bound + 4 * problem.horizon, steps)
    certificate, bound = forest.certificate()
    certificate = json.loads(json.dumps(certificate))
    assert certified_bound(problem, certificate, (term,)) == bound
    again = DateForest(problem, term, certificate).stretches[0].tree
    assert [leaf.earliest.tolist() for leaf in again.root.leaves()] == [
        leaf.earliest.tolist() for leaf in tree.root.leaves()
    ]
    roots = machine_job_prices_of(problem, term, root_prices(problem, certificate))
    assert roots.value <= bound + 1e-9 * abs(bound)
    return first.value, bound


@settings(deadline=None, max_examples=examples(300))
@given(problem=MACHINES, term=MEANS)
def test_on_machines_a_grown_tree_is_not_above_the_optimum(problem: WorkloadProblem, term: Any) -> None:
    if not problem.jobs.packed.weight.any():
        return
    first, bound = on_machine(problem, term, 12)
    assert bound <= workload_optimum(problem, term)
    assert bound >= first - 1e-6 * max(1.0, abs(first))


def test_a_tree_knows_what_runs_before_a_window_and_what_after() -> None:
    """All is closed from 12 s to 100 s, and of the three jobs only two have their place before."""
    jobs = [Job(0, 3, 6), Job(0, 3, 6), Job(0, 3, 6), Job(0, 1, 11, needs={"gpus": 2})]
    problem = WorkloadProblem(4, jobs, resources={"gpus": 2}, closed=[ClosedWindow(12, 100)])
    best = float(workload_optimum(problem, TERM))
    first, bound = on_machine(problem, TERM, 60)
    assert first <= bound <= best
    assert bound > 0.99 * best
