"""Laws of switch trees, of the judge of placements, and of their files."""

from __future__ import annotations

import itertools
import pickle
from typing import TYPE_CHECKING

import naive_placement as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from placement_strategies import placement_problems, placements, regular_trees, switch_trees

from allocsolve.errors import InvalidProblem
from allocsolve.judge import placement_metrics, placement_value, placement_violations
from allocsolve.model import PLACEMENT_OBJECTIVES, Placement, PlacementProblem, SwitchTree

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


@given(switch_trees())
def test_distances_are_those_of_the_way_along_links(tree: SwitchTree) -> None:
    for one, other in itertools.product(range(tree.num_nodes), repeat=2):
        hops = naive.distance(tree, one, other)
        if hops is None:
            with pytest.raises(ValueError, match="no switch is above"):
                tree.hop_distance(one, other)
        else:
            assert tree.hop_distance(one, other) == hops


@given(st.data(), placement_problems())
def test_metrics_are_those_of_all_pairs(data: DataObject, problem: PlacementProblem) -> None:
    placement = data.draw(placements(problem))
    nodes, tree = placement.nodes.tolist(), problem.tree
    metrics = placement_metrics(problem, placement)
    hops = [naive.distance(tree, one, other) for one, other in itertools.combinations(nodes, 2)]
    assert metrics.total_distance == naive.pairwise(tree, nodes)
    assert metrics.diameter == max((way for way in hops if way is not None), default=0)
    assert metrics.domains == tuple(naive.domains(tree, nodes, level) for level in range(1, tree.height + 1))
    assert metrics.leftover == naive.leftover(problem, nodes)
    assert metrics.bottleneck == float(naive.bottleneck(tree, nodes))
    values = placement_value(problem, placement, PLACEMENT_OBJECTIVES)
    assert values == tuple(placement_value(problem, placement, [term]) for term in PLACEMENT_OBJECTIVES)
    assert isinstance(values, tuple)
    assert values[0] == metrics.total_distance


@given(st.data(), placement_problems())
def test_what_breaks_a_demand_is_found(data: DataObject, problem: PlacementProblem) -> None:
    placement = data.draw(placements(problem))
    assert (not placement_violations(problem, placement)) == naive.is_feasible(
        problem, placement.nodes.tolist()
    )


@given(st.data(), placement_problems())
def test_what_is_no_set_of_free_nodes_is_found(data: DataObject, problem: PlacementProblem) -> None:
    nodes = data.draw(placements(problem)).nodes.tolist()
    for wrong in (nodes[1:], [*nodes, nodes[0]], [*nodes[1:], problem.tree.num_nodes], [*nodes[1:], -1]):
        assert placement_violations(problem, Placement(np.array(wrong, dtype=np.int64)))
    busy = np.flatnonzero(~problem.free).tolist()
    if busy:
        fault = f"node {busy[0]} is busy"
        assert fault in placement_violations(problem, Placement(np.array([*nodes[1:], busy[0]])))


@given(regular_trees())
def test_a_regular_tree_is_told_from_its_switches(tree: SwitchTree) -> None:
    form = tree.regular_form()
    assert form is not None
    assert SwitchTree.regular(*form) == tree


@given(switch_trees())
def test_the_regular_form_is_that_of_the_tree_or_none(tree: SwitchTree) -> None:
    form = tree.regular_form()
    assert form is None or SwitchTree.regular(*form) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree  # noqa: S301 - made in the line itself


@pytest.mark.parametrize("levels", [16, 17])
def test_a_tree_of_too_many_levels_is_refused(levels: int) -> None:
    parent, switch = np.arange(-1, levels - 1), np.array([levels - 1])
    if levels <= 16:
        assert SwitchTree(parent, switch).height == levels
    else:
        with pytest.raises(InvalidProblem, match="more than 16 levels"):
            SwitchTree(parent, switch)
