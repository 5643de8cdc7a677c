"""Each counterexample of networks: every rule takes what is said, and the optimum is what is said."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from allocsolve import judge, solve
from allocsolve.heuristics import slurm_block
from allocsolve.instances import network_counterexamples
from allocsolve.model import Placement, PlacementProblem, SwitchTree

CASES = {problem.name: problem for problem in network_counterexamples()}


def expected(problem: PlacementProblem) -> dict[str, Any]:
    return dict(problem.meta)


RUNS = [(name, rule) for name, problem in CASES.items() for rule in expected(problem)["takes"]]


def test_each_has_a_reason_and_another_name() -> None:
    assert len(CASES) == len(network_counterexamples()) == 10
    for problem in CASES.values():
        assert str(problem.meta["reason"]).endswith(".")
        assert problem.meta["case"] == problem.name


@pytest.mark.parametrize(("name", "rule"), RUNS)
def test_a_rule_takes_what_is_said_at_the_cost_that_is_said(name: str, rule: str) -> None:
    problem = CASES[name]
    said = expected(problem)
    answer = solve(problem, rule, seed=said.get("seed", 0)).answer
    if said["takes"][rule] is None:
        assert answer is None
        assert said["cost"] is None
        return
    assert answer is not None
    racks = np.flatnonzero(problem.tree.level == 1)
    taken = np.bincount(problem.tree.switch[answer.nodes], minlength=problem.tree.num_switches)
    assert taken[racks].tolist() == said["takes"][rule]
    assert judge.value(problem, answer, ("pairwise",)) == said["cost"] > said["optimum"]


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_what_is_said(name: str) -> None:
    """By all choices of how many nodes each rack gives; of the large machine by the sizes of its pods."""
    problem = CASES[name]
    tree, size = problem.tree, problem.size
    free = np.bincount(tree.switch[problem.free], minlength=tree.num_switches)
    racks = np.flatnonzero(free)
    if name == "stall":
        # One pod gives all its 15 free racks. Of the other 30 nodes 18 are of one rack, 12 of another one: a
        # rack may be split only if no other is, and the largest first is best (Schur-concavity of s (k - s)).
        shares: Any = [[18] * 15 + [0] * 15 + [18, 12] + [0] * (len(racks) - 32)]
    else:
        every = itertools.product(*(range(free[rack] + 1) for rack in racks))
        shares = (share for share in every if sum(share) == size)
    best = min(judge.value(problem, _placement(problem, racks, share), ("pairwise",)) for share in shares)
    assert best == expected(problem)["optimum"]


def _placement(problem: PlacementProblem, racks: np.ndarray[Any, Any], share: Any) -> Placement:
    nodes: list[int] = []
    for rack, count in zip(racks, share, strict=True):
        nodes += np.flatnonzero(problem.free & (problem.tree.switch == rack))[:count].tolist()
    return Placement(np.array(nodes))


def test_a_job_of_300_nodes_waits_while_2160_are_free() -> None:
    problem = CASES["stall"]
    tree, free = problem.tree, problem.free
    assert (tree.num_nodes, int(free.sum())) == (2304, 2160)
    regular = SwitchTree.regular((8, 16, 18))
    assert Counter(regular.nodes_below(free).tolist()) == Counter(tree.nodes_below(free).tolist())
    assert slurm_block(tree, free, 300) is None
    # A job that one pod holds is placed, and so is one of 300 where no rack is without free nodes.
    for size, mask in ((270, free), (300, np.ones(2304, dtype=bool))):
        nodes = slurm_block(tree, mask, size)
        assert nodes is not None
        assert mask[nodes].all()
