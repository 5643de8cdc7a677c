"""`place` in Python: the best nodes for a job and what rules take."""

from __future__ import annotations

import numpy as np
import pytest

from allocsolve import place
from allocsolve.errors import InvalidProblem, UnknownName
from allocsolve.model import Mesh, Status, SwitchTree

#: Two pods; in the first, racks with two and one free nodes, in the second three racks with one each: Slurm's
#: rule for trees leaves the pod.
PODS = SwitchTree(np.array([-1, 0, 0, 1, 1, 2, 2]), np.repeat([3, 5, 6, 4], [2, 1, 1, 1]))


def test_the_best_nodes_beside_those_of_rules() -> None:
    placed = place(PODS, [True] * 5, 3, rules=["slurm-tree", "first-free"])
    assert placed.best.status is Status.OPTIMAL
    assert placed.best.objective == 2 + 4 + 4
    assert [choice.rule for choice in placed.choices] == ["slurm-tree", "first-free"]
    for choice in placed.choices:
        assert choice.nodes is not None
        assert isinstance(choice.value, int)  # one term
        assert choice.gap == (choice.value - 10) / 10


def test_several_terms_are_compared_by_the_first_that_differs() -> None:
    free = np.array([1, 1, 1, 1, 1, 0, 1, 1, 1], dtype=np.bool_)
    racks = SwitchTree.regular((3, 3))
    placed = place(racks, free, 2, objective="domains,leftover", rules=["first-free"])
    assert placed.best.objective == (1, 0)
    assert placed.best.answer is not None
    assert placed.best.answer.nodes.tolist() == [3, 4]
    (choice,) = placed.choices
    assert (choice.value, choice.gap, choice.worse_term) == ((1, 1), float("inf"), "leftover")


def test_a_rule_that_waits_and_one_that_does_not_know_what_is_asked() -> None:
    placed = place(PODS, [True] * 5, 4, segment=2, rules=["slurm-block(block_sizes='2')", "first-free"])
    waits, unknowing = placed.choices
    assert waits.nodes is None
    assert unknowing.refusal == "first-free does not know what segment 2 asks for"


def test_boxes_have_no_rules_but_a_best_set() -> None:
    placed = place(Mesh((4, 2)), [True] * 8, 4)
    assert (placed.best.status, placed.best.objective, placed.choices) == (Status.OPTIMAL, 8, ())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="size 6 is above the 5 free nodes"):
        place(PODS, [True] * 5, 6)
    with pytest.raises(UnknownName, match="nearest-first"):
        place(PODS, [True] * 5, 3, rules=["nearest-first"])
