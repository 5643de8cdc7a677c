"""Pictures of placements: every node has its area, and texts find room."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from placement_strategies import placement_problems, placements

from allocsolve.instances import SWITCH_TREES
from allocsolve.model import Placement, PlacementProblem, SwitchTree
from allocsolve.pictures.placement import PLACEMENT_VIEW


def areas(picture: str) -> dict[str, float]:
    """Return the area of each kind of nodes, in pixels."""
    found = {}
    for kind, path in re.findall(r'<path class="(\w+)-area" d="([^"]*)"', picture):
        boxes = re.findall(r"h([\d.]+)v([\d.]+)h-", path)
        found[kind] = sum(float(width) * float(height) for width, height in boxes)
    return found


@settings(deadline=None)
@given(st.data(), placement_problems())
def test_the_areas_are_those_of_the_nodes(data: st.DataObject, problem: PlacementProblem) -> None:
    placement = data.draw(placements(problem))
    left = int(problem.free.sum()) - problem.size
    counts = {"chosen": problem.size, "free": left, "busy": len(problem.busy)}
    found = areas(str(PLACEMENT_VIEW.plot(problem, placement)))
    unit = found["chosen"] / problem.size
    assert unit == pytest.approx(round(unit**0.5) ** 2)
    assert {kind: count * unit for kind, count in counts.items() if count} == found
    text = "".join(
        piece for line in PLACEMENT_VIEW.terminal_picture(problem, placement, 80) for piece, _ in line
    )
    told = re.findall(r"(\d+) chosen, (\d+) left", text)
    assert sum(int(chosen) for chosen, _ in told) == problem.size
    assert sum(int(left) for _, left in told) == counts["free"]


@pytest.mark.parametrize("name", [*SWITCH_TREES])
def test_named_machines_are_drawn_within_the_width(name: str) -> None:
    tree = SWITCH_TREES[name]
    problem = PlacementProblem.of(tree, busy=range(0, tree.num_nodes, 2), size=300)
    drawing = PLACEMENT_VIEW.plot(problem, Placement(np.flatnonzero(problem.free)[:300]))
    width = drawing.size[0]
    for path in re.findall(r'<path class="\w+-area" d="([^"]*)"', str(drawing)):
        for left, box in re.findall(r"M([\d.]+) [\d.]+h([\d.]+)v", path):
            assert float(left) + float(box) <= width


def test_a_machine_of_too_many_nodes_is_not_drawn() -> None:
    problem = PlacementProblem.of(SwitchTree.regular((1024, 256)), size=5)
    assert PLACEMENT_VIEW.undrawable(problem) == "262144 nodes are more than the 131072 that can be drawn"


def test_names_of_switches_stand_below_their_groups() -> None:
    names = ["top", "east", "west", *(f"rack{number}" for number in range(16))]
    tree = SwitchTree.regular((2, 8, 3))
    problem = PlacementProblem.of(tree, busy=[0], size=4, meta={"switches": names})
    picture = str(PLACEMENT_VIEW.plot(problem, Placement(np.array([1, 2, 3, 4]))))
    assert ">east: 4 chosen<" in picture
    assert "west" not in picture
