"""Laws of exact placement: equal to all sets of nodes, to CP-SAT, and to the program of the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import naive_placement as naive
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from placement_strategies import placement_problems, switch_trees
from tiers import examples

from allocsolve.bounds import placement_bound
from allocsolve.exact import PlacementCpSat, TreeKnapsack
from allocsolve.exact.placement import tree_knapsack
from allocsolve.judge import confirm
from allocsolve.judge.placement.certificate import least_placement
from allocsolve.model import PLACEMENT_OBJECTIVES, Budget, PlacementProblem, Result, Status, SwitchTree, terms

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from allocsolve.model import Placement

#: Several terms in any order of importance.
orders = st.permutations(PLACEMENT_OBJECTIVES).flatmap(
    lambda names: st.integers(2, 4).map(lambda count: tuple(names[:count]))
)


@st.composite
def half_hop_problems(draw: DrawFn) -> PlacementProblem:
    """Problems on trees of any form, in which links may weigh half a hop more than whole hops."""
    tree = draw(switch_trees(max_nodes=9))
    bits = draw(st.lists(st.integers(0, 1), min_size=tree.num_switches, max_size=tree.num_switches))
    parity = np.where(tree.level > 1, bits, 0)  # of the way from a switch down to its leaves
    odd = np.where(tree.parent >= 0, (parity + parity[tree.parent]) % 2, 0)
    asked = draw(placement_problems(max_nodes=9))
    halved = SwitchTree(tree.parent, tree.switch, tree.weight + odd, tree.node_weight, tree.capacity)
    busy = [node for node in asked.busy if node < tree.num_nodes][: tree.num_nodes - 1]
    size = draw(st.integers(1, tree.num_nodes - len(busy)))
    segment = draw(st.sampled_from([0, *(part for part in range(1, size + 1) if size % part == 0)]))
    return PlacementProblem.of(
        halved,
        busy=busy,
        size=size,
        within=asked.within,
        segment=segment,
        segment_level=asked.segment_level,
        balanced=asked.balanced,
    )


problems = st.one_of(placement_problems(max_nodes=9), half_hop_problems())


def solved(problem: PlacementProblem, *objective: str) -> Result[Placement]:
    """Solve, and let the judge check all claims and the certificate."""
    return confirm(problem, TreeKnapsack(objective)(problem, Budget()), objective)


# --- Optima ---


@settings(max_examples=examples(600))
@given(problems, orders)
def test_the_optimum_is_that_of_all_sets(problem: PlacementProblem, order: tuple[str, ...]) -> None:
    sets = naive.feasible_sets(problem)
    every = {nodes: naive.values(problem, nodes) for nodes in sets}
    for objective in [*((term,) for term in PLACEMENT_OBJECTIVES), order]:
        result = solved(problem, *objective)
        if not sets:
            assert (result.status, result.certificate) == (Status.INFEASIBLE, None)
            assert least_placement(problem, objective[0]) is None
            continue
        assert result.status is Status.OPTIMAL
        assert result.answer is not None
        assert result.objective is not None
        assert terms(result.objective) == naive.best([*every.values()], objective)
        mine = every[tuple(result.answer.nodes.tolist())]
        assert terms(result.objective) == tuple(mine[term] for term in objective)
        assert least_placement(problem, objective[0]) == terms(result.objective)[0]


def large_problem(seed: int) -> PlacementProblem:
    """Hundreds of nodes on a tree of any form, some of whose leaf switches are alike."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(20, 60))
    parent = np.array([-1, *(int(rng.integers(at // 8, at // 4 + 1)) for at in range(1, count))])
    parent[1] = rng.integers(-1, 1)  # a second root, or not
    leaves = np.setdiff1d(np.arange(count), parent)
    tree = SwitchTree(
        parent,
        rng.choice(leaves, int(rng.integers(100, 400))),
        2 * rng.integers(0, 3, count),
        2,
        rng.integers(1, 4, count),
    )
    free = rng.random(tree.num_nodes) < rng.choice([0.3, 0.6, 0.9])
    size = 4 * int(rng.integers(1, free.sum() // 10))
    segment, level = int(rng.choice([0, 0, 2, 4, size // 4])), int(rng.integers(1, tree.height + 1))
    within, balanced = int(rng.choice([0, 0, tree.height - 1])), bool(rng.random() < 0.2)
    return PlacementProblem(tree, free, size, within, segment, level, balanced)


@settings(max_examples=examples(200))
@given(st.integers(0, 2**31), st.sampled_from(PLACEMENT_OBJECTIVES))
def test_solver_and_judge_find_the_same_optimum_on_hundreds_of_nodes(seed: int, term: str) -> None:
    problem = large_problem(seed)
    result = solved(problem, term)
    assert result.objective == least_placement(problem, term)
    assert result.status is (Status.INFEASIBLE if result.objective is None else Status.OPTIMAL)
    if result.objective is not None:
        assert placement_bound(problem, term) <= terms(result.objective)[0]


@settings(max_examples=examples(100))
@given(st.one_of(problems, st.integers(0, 2**31).map(large_problem)), orders)
@example(large_problem(1), ("domains", "pairwise"))
@example(large_problem(2), ("domains", "leftover", "pairwise"))
@example(large_problem(3), ("pairwise", "leftover"))
@example(large_problem(6), ("leftover", "pairwise", "domains"))
def test_words_of_a_few_bits_and_many_short_steps_change_nothing(
    problem: PlacementProblem, order: tuple[str, ...]
) -> None:
    expected = solved(problem, *order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_knapsack, "_MAX_WORD", 1000)
        patch.setattr(tree_knapsack, "_STEPS", 7)
        result = solved(problem, *order)
    assert (result.status, result.objective) == (expected.status, expected.objective)


@settings(max_examples=examples(50))
@given(placement_problems(max_nodes=60), orders)
def test_cpsat_finds_the_same_optimum(problem: PlacementProblem, order: tuple[str, ...]) -> None:
    pytest.importorskip("ortools")
    for objective in order[:1], order[:2]:
        result, other = solved(problem, *objective), PlacementCpSat(objective)(problem, Budget(seconds=600))
        assert (result.status, result.objective) == (other.status, other.objective)
        confirm(problem, other, objective)


@settings(max_examples=examples(100))
@given(problems, orders)
def test_no_time_makes_no_false_claims(problem: PlacementProblem, order: tuple[str, ...]) -> None:
    optimum = solved(problem, *order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_knapsack, "_STEPS", 1)
        result = TreeKnapsack(order)(problem, Budget(seconds=1e-9))
    if optimum.status is Status.INFEASIBLE:
        assert result.status is Status.INFEASIBLE  # no tables are needed to see that
        return
    assert optimum.objective is not None
    assert terms(result.bound) <= terms(optimum.objective)
    assert confirm(problem, result, order).answer is not None


@pytest.mark.parametrize("term", PLACEMENT_OBJECTIVES)
@settings(max_examples=examples(200))
@given(problems)
def test_the_cheap_bound_is_no_higher_than_the_optimum(term: str, problem: PlacementProblem) -> None:
    optimum = least_placement(problem, term)
    assert optimum is None or placement_bound(problem, term) <= optimum


# --- Named instances ---


def free_nodes(text: str, k: int) -> PlacementProblem:
    """Free nodes by rack, with / between pods; hops 2, 4 and 6."""
    pods = [[int(free) for free in pod.split(",")] for pod in text.split("/")]
    parent, switch = [-1, *(0 for _ in pods)], []
    for pod, racks in enumerate(pods, start=1):
        for free in racks:
            switch += [len(parent)] * free
            parent.append(pod)
    return PlacementProblem.of(SwitchTree(np.array(parent), np.array(switch)), size=k)


@pytest.mark.parametrize(
    ("free", "k", "optimum", "cost"),
    [
        ("2,3", 4, [1, 3], 18),
        ("1,1/2", 3, [1, 2], 14),
        ("2/1,1,1", 3, [1, 1, 1], 12),
        ("1/1,1/2", 3, [1, 2], 14),
        ("2/1,1", 3, [1, 2], 14),
        ("1,1,2", 3, [1, 2], 10),
        ("1/1,1", 2, [1, 1], 4),
        ("1,1/2", 2, [2], 2),
    ],
)
def test_smallest_instances_on_which_rules_of_schedulers_fail(
    free: str, k: int, optimum: list[int], cost: int
) -> None:
    problem = free_nodes(free, k)
    result = solved(problem, "pairwise")
    assert result.objective == cost
    assert result.answer is not None
    counts = np.bincount(problem.tree.switch[result.answer.nodes])
    assert sorted(counts[counts > 0].tolist()) == optimum


def test_fewest_domains_then_least_leftover_opposes_distance() -> None:
    racks = free_nodes("19,10,10", 20)
    assert solved(racks, "domains", "leftover").objective == (2, 0)
    assert solved(racks, "leftover", "domains").objective == (0, 2)
    # 19 + 1 has 19 distant pairs, 10 + 10 has 100.
    assert solved(racks, "domains", "leftover", "pairwise").objective == (2, 0, 190 * 2 + 2 * 100)
    assert solved(racks, "pairwise").objective == 190 * 2 + 2 * 19
