"""Pictures show what is in the answers: exactly while the units suffice, in scale beyond."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st
from picture_tools import SVG, axes, boxes, parsed, skylines, squares, visible
from strategies import evolution_problems, partition_problems, partitions

from allocsolve.families import View
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
)
from allocsolve.pictures import EVOLUTION_VIEW, PARTITION_VIEW, Drawing

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


@st.composite
def _schedules(draw: st.DrawFn, *, answers: int = 1) -> tuple[EvolutionProblem, list[EvolutionSchedule]]:
    """Schedules with any starts and expansions: a picture need not be of a feasible one."""
    problem = draw(evolution_problems(max_apps=5))
    schedules = []
    for _ in range(answers):
        starts = [draw(st.integers(0, 20)) for _ in problem.applications]
        profiles = [
            EvolutionProfile([(duration * draw(st.integers(1, 3)), nodes) for duration, nodes in app.steps])
            for app in problem.applications
        ]
        schedules.append(EvolutionSchedule.of(starts, profiles))
    return problem, schedules


def _held(schedule: EvolutionSchedule, app: int) -> Counter[int]:
    """By second, how many nodes an application holds."""
    held: Counter[int] = Counter()
    time = int(schedule.starts[app])
    for duration, nodes in schedule.profile(app).steps:
        held |= Counter(dict.fromkeys(range(time, time + duration), nodes))
        time += duration
    return held


@given(_schedules())
def test_each_application_is_seen_where_it_holds_nodes(
    case: tuple[EvolutionProblem, list[EvolutionSchedule]],
) -> None:
    problem, (schedule,) = case
    root = parsed(EVOLUTION_VIEW.plot(problem, schedule))
    held = {name: _held(schedule, app) for app, name in enumerate(problem.application_names)}
    assert visible(skylines(root)) == {name: seconds for name, seconds in held.items() if seconds}
    frame = axes(root)
    for label, plane, heights in skylines(root):
        assert (plane.x, plane.y) == pytest.approx((frame.left, frame.bottom)), label
        assert plane.x_unit * (max(heights) + 1) <= frame.right - frame.left + 0.01


@given(st.integers(1, 10**9), st.integers(1, 10**6), st.integers(1, 3))
def test_large_numbers_are_drawn_to_scale(second: int, nodes: int, expansion: int) -> None:
    problem = EvolutionProblem(
        3 * nodes,
        (EvolutionProfile([(second, nodes), (second, 2 * nodes)]), EvolutionProfile([(second, nodes)])),
    )
    schedule = EvolutionSchedule.of(
        [0, second], [problem.applications[0], EvolutionProfile([(second * expansion, nodes)])]
    )
    root = parsed(EVOLUTION_VIEW.plot(problem, schedule))
    second_one, first = skylines(root)
    frame = axes(root)
    (capacity,) = (path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("class") == "line")
    full = frame.bottom - float(capacity.split()[-1])
    for skyline, tops in ((first, [1, 2]), (second_one, [3] + [1] * (expansion - 1))):
        area = sum(skyline.heights.values()) * skyline.plane.x_unit * -skyline.plane.y_unit
        width = len(skyline.heights) * skyline.plane.x_unit / len(tops)
        assert area == pytest.approx(sum(tops) * width * full / 3, rel=0.01)
    ends = [max(skyline.heights) + 1 for skyline in (first, second_one)]
    assert ends[1] / ends[0] == pytest.approx((1 + expansion) / 2, rel=0.01)


@given(_schedules(answers=3))
def test_schedules_side_by_side_have_one_scale(
    case: tuple[EvolutionProblem, list[EvolutionSchedule]],
) -> None:
    problem, schedules = case
    roots = [parsed(drawing) for drawing in EVOLUTION_VIEW.plots(problem, schedules)]

    def ticks(root: Element) -> list[str | None]:
        # Those of the axes; what stands at the head begins at the left.
        texts = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") is not None]
        return [text.text for text in texts if text.get("class") == "soft"]

    assert all(ticks(root) == ticks(roots[0]) for root in roots)
    assert len({skyline.plane for root in roots for skyline in skylines(root)}) <= 1
    longest = max(schedules, key=lambda schedule: int(schedule.completions.max()))
    alone = EVOLUTION_VIEW.plot(problem, longest)
    assert str(alone) == str(EVOLUTION_VIEW.plots(problem, schedules)[schedules.index(longest)])


@given(partition_problems(max_nodes=24, max_axes=5).flatmap(lambda p: st.tuples(st.just(p), partitions(p))))
def test_every_node_has_its_square(case: tuple[PartitionProblem, Partition]) -> None:
    problem, partition = case
    drawing = PARTITION_VIEW.plot(problem, partition)
    root = parsed(drawing)
    free, busy, chosen = (squares(root, kind) for kind in ("free", "busy", "chosen"))
    assert len({*free}) == len(free) == problem.topology.num_nodes  # node by node: the others are on top
    assert sorted(chosen) == sorted(free[node] for node in partition.nodes.tolist())
    assert sorted(busy) == sorted(free[node] for node in problem.busy)
    width, height = drawing.size
    for left, top, right, bottom in boxes(root, "free"):
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
    _about, *names = (text for text in root.iter(f"{SVG}text") if text.get("class") == "soft")
    others = problem.topology.shape[2:]
    assert len(names) == (math.prod(others) if others else 0)


@given(
    partition_problems(max_nodes=24, max_axes=4).flatmap(lambda p: st.tuples(st.just(p), partitions(p))),
    st.integers(1, 60),
)
def test_a_picture_for_a_terminal_fits_it(case: tuple[PartitionProblem, Partition], width: int) -> None:
    problem, partition = case
    lines = [
        "".join(text for text, _ in pieces)
        for pieces in PARTITION_VIEW.terminal_picture(problem, partition, width)
    ]
    if not lines:
        columns = problem.topology.shape[0]
        assert 2 * columns - 1 > width or len(problem.topology.shape) > 2
        return
    *picture, blank, legend = lines
    assert (blank, legend) == ("", "# chosen, . free, x busy")
    assert max(map(len, picture)) <= width
    letters = Counter("".join(line for line in picture if not re.search("[a-z] = |axis", line)))
    free = problem.topology.num_nodes - len(problem.busy) - problem.size
    assert {letter: letters[letter] for letter in "x.#"} == {
        "x": len(problem.busy),
        ".": free,
        "#": problem.size,
    }


def test_a_large_machine_is_drawn_small() -> None:
    problem = PartitionProblem.of(Mesh((256, 256)), size=3)
    assert not PARTITION_VIEW.undrawable(problem)
    drawing = PARTITION_VIEW.plot(problem, Partition(np.array([0, 1, 257])))
    assert drawing.size[0] < 1000
    assert len(str(drawing)) < 20_000
    assert len(squares(parsed(drawing), "free")) == 256 * 256


def test_a_view_may_leave_out_what_it_has_not() -> None:
    view: View[int, int] = View(
        describe=str,
        undrawable=lambda problem: "too long" if problem > 9 else "",
        plot=lambda problem, answer: Drawing(problem, answer, "a number"),
        metric_fields=lambda problem, metrics: [("ratio", f"{metrics / problem:.2f}")],
    )
    assert view.terminal_picture(1, 2, 80) == []
    assert [drawing.size for drawing in view.plots(3, [4, 5])] == [(3, 4), (3, 5)]
