"""Draw the pictures of the page on figures for print.

Run ``python docs/print_figures.py``: it writes ``docs/_static/figure-KIND.svg``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from allocsolve import Job, WorkloadProblem, bench, solve
from allocsolve.figures import plot
from allocsolve.instances import elastic_workload
from allocsolve.model import Budget

OUT = Path(__file__).parent / "_static"
SUITE, SOLVERS = "klein-5-inf", ("rigid", "noX", "2X+c", "infX+c")
POLICIES = ("easy", "malleable-min")


def records() -> list[bench.Record]:
    """Return what heuristics reach on a suite whose optima the library states."""
    problems = [(suite, problem) for suite, _, problem in bench.problems_of(SUITE)]
    solvers = bench.describe(SOLVERS)
    return bench.run(bench.plan(problems, solvers, objective="makespan", budgets=[Budget(seconds=10)]))


def workload() -> WorkloadProblem:
    """Return jobs that wait for each other; most of them are malleable."""
    draw = np.random.default_rng(7)
    submits, nodes, times = (draw.integers(*ends, 14) for ends in ((0, 5000), (4, 33), (300, 3600)))
    jobs = [Job(*row) for row in zip(np.sort(submits).tolist(), nodes.tolist(), times.tolist(), strict=True)]
    return elastic_workload(WorkloadProblem(64, jobs, name="mine"), share=0.6, seed=1)


def draw() -> dict[str, Figure]:
    """Return the pictures by their kinds."""
    study, problem = records(), workload()
    answers = {policy: solve(problem, policy) for policy in POLICIES}
    drawn = {kind: Figure() for kind in ("gaps", "profile", "gantt", "use")}
    for kind in ("gaps", "profile"):
        plot(study, kind=kind, ax=drawn[kind])
    plot(problem, answers[POLICIES[-1]], kind="gantt", ax=drawn["gantt"])
    plot(problem, answers, kind="use", ax=drawn["use"])
    return drawn


if __name__ == "__main__":
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "allocsolve"}):
        for name, figure in draw().items():
            figure.savefig(OUT / f"figure-{name}.svg", metadata={"Date": None})
