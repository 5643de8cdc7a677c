"""Figures of reports are drawn to scale, and hold what can be told apart."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, strategies as st
from picture_tools import SVG, parsed
from study_tools import MemoryStudy, row

from allocsolve.model import EvolutionProblem, EvolutionProfile
from allocsolve.pictures.chart import Axis
from allocsolve.report import examine, figures, html


def test_more_solvers_than_colours_are_chosen_by_their_gaps() -> None:
    problem = EvolutionProblem(4, (EvolutionProfile([(10, 2)]),))
    bounds = [100, *[-math.inf] * 14]
    rows = [row(name, f"s{idx}", 100 + idx, bounds[idx]) for idx in range(15) for name in "ab"]
    found = figures(examine(rows))
    texts = {node.text for node in parsed(found["s-makespan-profile"]).iter(f"{SVG}text")}
    assert {f"s{idx}" for idx in range(10)} <= texts
    assert "s10" not in texts
    assert "Of 15 solvers the 10 with most answers" in html(
        examine(rows), MemoryStudy(rows, {f"digest of {name}": problem for name in "ab"})
    )


def test_dots_that_cover_each_other_are_drawn_once() -> None:
    rows = [row(f"i{idx}", "x", 150, 100, runtime=1 + idx / 1e6) for idx in range(500)]
    document = figures(examine(rows))["s-makespan-time-gap"]
    dots = [path for path in parsed(document).iter(f"{SVG}path") if path.attrib["class"] == "d0"]
    assert [path.attrib["d"].count("M") for path in dots] == [1, 1]  # the legend, and all of them


@given(st.lists(st.floats(1e-7, 1e7), min_size=1, max_size=20), st.booleans())
def test_axes_hold_their_values_and_have_ticks(values: list[float], log: bool) -> None:
    axis = Axis.around("", values, log=log)
    places = [axis.fraction(value) for value in sorted(values)]
    assert places == sorted(places)
    assert places[0] >= -1e-6
    assert places[-1] <= 1 + 1e-6
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(-1e-6 <= axis.fraction(tick) <= 1 + 1e-6 for tick in ticks)
    assert len({axis.write(tick) for tick in ticks}) == len(ticks)


def _drawn(document: str, kind: str) -> list[list[tuple[float, float]]]:
    """The points of each shape of a class."""
    root = parsed(document)
    paths = [path.attrib["d"] for path in root.iter(f"{SVG}path") if path.get("class") == kind]
    return [[(float(x), float(y)) for x, y in re.findall(r"[ML](\S+?) (\d+\.?\d*)", d)] for d in paths]


def test_a_performance_profile_is_drawn_to_scale() -> None:
    rows = [row("a", "x", 100), row("b", "x", 100), row("a", "y", 110), row("b", "y", 120)]
    document = figures(examine(rows))["s-makespan-profile"]
    (((left, top), (_, bottom), (right, _)),) = _drawn(document, "axis")
    legend, curve = _drawn(document, "s1")
    assert len(legend) == 2
    middle, half = (left + right) / 2, (top + bottom) / 2
    steps = [(left, bottom), (middle, bottom), (middle, half), (right, half), (right, top)]
    assert curve == [pytest.approx(point, abs=0.06) for point in steps]


def test_a_box_is_drawn_to_scale() -> None:
    gaps = (5, 20, 20, 30, 30, 40, 65, 200)
    rows = [row(f"i{idx}", "x", 100 + gap, 100) for idx, gap in enumerate(gaps)]
    document = figures(examine(rows))["s-makespan-gaps"]
    (((left, _), _, (right, _)),) = _drawn(document, "axis")

    def percent(x: float) -> float:
        return 200 * (x - left) / (right - left)

    whisker, *_ = _drawn(document, "whisker")
    assert [percent(x) for x, _ in whisker] == pytest.approx([5, 65], abs=0.05)
    ((corner,),) = _drawn(document, "box")
    assert percent(corner[0]) == pytest.approx(20, abs=0.05)
    ((median, _),) = _drawn(document, "median")
    assert percent(median[0]) == pytest.approx(30, abs=0.05)
    ((mean, _),) = _drawn(document, "mean")
    assert percent(mean[0]) == pytest.approx(sum(gaps) / 8, abs=0.05)
    ((outlier,),) = _drawn(document, "outlier")
    assert percent(outlier[0]) == pytest.approx(200, abs=0.05)
