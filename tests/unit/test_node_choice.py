"""Our allocators for programs that ask with the ids of their free nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from allocsolve.adaptors import node_chooser
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.families import family_of
from allocsolve.model import Mesh, PartitionProblem, PlacementProblem, SwitchTree, Topology
from allocsolve.registry import solver_names

_ALLOCATORS = [
    name for name, row in solver_names(family_of(PartitionProblem)).items() if row.method == "heuristic"
]


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        *((name, Mesh((4, 3))) for name in _ALLOCATORS),
        *((name, SwitchTree.regular((2, 2, 3))) for name in solver_names(family_of(PlacementProblem))),
    ],
)
def test_free_nodes_are_chosen_or_none(name: str, nodes: Topology | SwitchTree) -> None:
    choose = node_chooser(name, nodes)
    free = [0, 1, 2, 4, 5, 6, 9, 11]
    for size in (1, 4, 8):
        chosen = choose(free, size)
        if chosen is not None:
            assert chosen == sorted({*chosen} & {*free})
            assert len(chosen) == size


def test_a_name_is_that_of_a_solver_for_the_machine() -> None:
    tree, free = SwitchTree.regular((2, 3)), [0, 1, 3, 4, 5]
    assert node_chooser("lowest-switch", tree)(free, 2) == [0, 1]
    assert node_chooser("kueue(mode=unconstrained)", tree)(free, 3) == [0, 1, 3]
    assert node_chooser("slurm-block", tree)(free, 3) == [3, 4, 5]
    assert node_chooser("random", tree, seed=1)(free, 5) == free
    for name, nodes in (("growth", tree), ("slurm-tree", Mesh((6,)))):
        with pytest.raises(UnknownName):
            node_chooser(name, nodes)


@pytest.mark.parametrize(
    ("free", "size", "message"),
    [
        ([0, 4], 1, "free node 4 is none of the 4 nodes"),
        (["n1"], 1, "free node 'n1' is none of the 4 nodes"),
        ([1, 1], 1, "free node 1 is there twice"),
        ([0, 1], 3, "3 nodes are asked for, 2 are free"),
        ([0, 1], 0, "0 nodes are asked for, 2 are free"),
        (np.ones(3, dtype=bool), 1, "free is a mask of the shape (3,), not of 4 nodes"),
    ],
)
def test_wrong_questions_are_refused(free: Any, size: int, message: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        node_chooser("growth", 4)(free, size)
    assert str(caught.value) == message


def test_wrong_choosers_are_refused() -> None:
    with pytest.raises(InvalidOption, match="nodes 0"):
        node_chooser("growth", 0)
    with pytest.raises(UnknownName):
        node_chooser("grow", 4)
