"""Draw the first picture of the README: a published heuristic beside the proven optimum of the same problem.

Run ``python docs/first_picture.py``: it writes ``docs/_static/first-picture.svg``.
"""

from __future__ import annotations

from pathlib import Path

from allocsolve import Result, solve
from allocsolve.families import family_of
from allocsolve.instances import Library
from allocsolve.pictures import Drawing
from allocsolve.pictures.chart import percent

OUT = Path(__file__).parent / "_static" / "first-picture.svg"
SUITE, INSTANCE = "klein-8-l1", "klein-8-l1-09"
SOLVERS = ("noX", "cpsat")

#: Height of the line above each schedule, and where it begins, in pixels.
LINE, MARGIN = 26.0, 16.0


def caption(solver: str, result: Result[object], optimum: int) -> str:
    """Return what a schedule is, in a line."""
    makespan = int(str(result.objective))
    if makespan == optimum:
        return f"{solver}: {makespan} s, proven optimal"
    return f"{solver}: {makespan} s, {percent(makespan / optimum - 1, 0)} above the optimum"


def draw() -> Drawing:
    """Return the schedules of all solvers, side by side on the same axes."""
    suite = Library()[SUITE]
    problem = next(suite.problem(one) for one in suite.members if one.instance == INSTANCE)
    results = [solve(problem, solver, seconds=60) for solver in SOLVERS]
    optimum = int(str(results[-1].objective))
    assert results[-1].status.value == "optimal"
    plots = family_of(problem).view.plots(problem, [result.answer for result in results])
    captions = [caption(*pair, optimum) for pair in zip(SOLVERS, results, strict=True)]
    height = LINE + max(plot.size[1] for plot in plots)
    whole = Drawing(sum(plot.size[0] for plot in plots), height, "; ".join(captions))
    left = 0.0
    for text, plot in zip(captions, plots, strict=True):
        assert isinstance(plot, Drawing)
        whole.text(left + MARGIN, 18, text)
        whole.place(plot, left, LINE)
        left += plot.size[0]
    return whole


if __name__ == "__main__":
    OUT.write_text(str(draw()), encoding="utf-8")
