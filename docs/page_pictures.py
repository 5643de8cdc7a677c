"""Draw the pictures of the pages from the inputs that the pages show; each build of the site does so.

Run ``python docs/page_pictures.py``: it writes ``docs/pictures``, which git ignores.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import (
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Mesh,
    ReservationProblem,
    WorkloadProblem,
    place,
    plot,
    solve,
)
from allocsolve.instances import (
    SWITCH_TREES,
    network_problem,
    read_free_nodes,
    read_network,
    uniform_occupancy,
)
from allocsolve.model import Placement, PlacementProblem
from allocsolve.pictures import Drawing
from allocsolve.pictures.chart import Axis, Chart, rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Problem

DOCS = Path(__file__).parent
OUT = DOCS / "pictures"

#: Pixels: the side of the mark of a gap.
DOT = 8.0


def inputs_of(page: str, folder: Path) -> None:
    """Write the files that a page shows, each a block with a caption, into a folder."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(
        r"^```\{code-block\} \S+\n:caption: (\S+)\n\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    for name, content in blocks:
        (folder / name).write_text(content, encoding="utf-8")


def below(drawings: Sequence[Drawing], title: str) -> Drawing:
    """Return drawings one below the other."""
    heights = [drawing.size[1] for drawing in drawings]
    whole = Drawing(max(drawing.size[0] for drawing in drawings), sum(heights), title)
    for idx, drawing in enumerate(drawings):
        whole.place(drawing, 0, sum(heights[:idx]))
    return whole


def solved(problem: Problem, solver: str) -> Drawing:
    """Return the drawing of what a solver finds."""
    drawing = plot(problem, solve(problem, solver))
    assert isinstance(drawing, Drawing)
    return drawing


def evolution_problem() -> Drawing:
    """Draw the three applications of the page of the library, scheduled optimally."""
    climate = EvolutionProfile([(1200, 6), (900, 5), (300, 3)])
    mesh = EvolutionProfile([(900, 10), (900, 6), (900, 8)])
    post = EvolutionProfile([(600, 5), (600, 9)])
    named = {"climate": climate, "mesh": mesh, "post": post}
    problem = EvolutionProblem(
        12, tuple(named.values()), name="Three applications", application_names=tuple(named)
    )
    return solved(problem, "cpsat")


def partition_problem() -> Drawing:
    """Draw 12 of the free nodes of a mesh, the nearest ones."""
    mesh = Mesh((16, 8))
    drawn = uniform_occupancy(mesh, 0.5, 12, 1)
    return solved(replace(drawn, name="Twelve nodes of a mesh"), "branch-and-bound")


def workload_problem() -> Drawing:
    """Draw some hours of rigid jobs under EASY backfilling."""
    rows = [
        *[(0, 5, 100), (5, 4, 60), (10, 8, 40), (15, 2, 80), (20, 1, 150), (40, 6, 50), (60, 3, 90)],
        *[(90, 1, 40), (120, 2, 70), (150, 7, 40), (160, 1, 30), (200, 4, 80), (230, 2, 40), (240, 8, 30)],
    ]  # minutes of submission, nodes, minutes of run time
    jobs = [Job(60 * submit, nodes, 60 * run, limit=60 * run) for submit, nodes, run in rows]
    return solved(WorkloadProblem(8, jobs, name="Fourteen jobs under EASY"), "easy")


def reservation_problem() -> Drawing:
    """Draw a stream of jobs with deadlines, booked on a mesh."""
    rng = np.random.default_rng(5)
    arrivals = np.sort(rng.integers(0, 480, 40)).tolist()
    nodes, minutes = (2 ** rng.integers(2, 7, 40)).tolist(), rng.integers(30, 180, 40).tolist()
    jobs = [
        DeadlineJob(60 * arrival, count, 60 * run, 60 * (arrival + 2 * run))
        for arrival, count, run in zip(arrivals, nodes, minutes, strict=True)
    ]
    return solved(ReservationProblem(Mesh((16, 8)), tuple(jobs), name="Forty jobs with deadlines"), "static")


def placement_problem() -> Drawing:
    """Draw 40 of the free nodes below a tree of switches, the nearest ones."""
    tree = SWITCH_TREES["nvl72"]
    drawn = uniform_occupancy(tree, 0.7, 200, 1)
    return solved(replace(drawn, name="Two hundred nodes of a tree"), "tree-knapsack")


def network_example(folder: Path) -> Drawing:
    """Draw the nearest nodes of the example network, and what Slurm's tree would take beside them."""
    inputs_of("networks", folder)
    network = read_network(folder / "topology.conf")
    free = network.mask(read_free_nodes(folder / "free.txt").free)
    problem = network_problem(network, free, 6)
    assert isinstance(problem, PlacementProblem)
    placed = place(problem.tree, problem.free, 6, rules=["slurm-tree"])
    (taken,) = placed.choices
    assert taken.nodes is not None
    answers = {
        f"nearest: {placed.best.objective} hops": placed.best,
        f"slurm-tree: {taken.value} hops": Placement(taken.nodes),
    }
    pictures = [plot(replace(problem, name=name), answer) for name, answer in answers.items()]
    return below([picture for picture in pictures if isinstance(picture, Drawing)], "; ".join(answers))


def gaps_of_policies() -> Drawing:
    """Draw the first table of the page of gaps: a dot for each policy and trace."""
    text = (DOCS / "gap.md").read_text(encoding="utf-8")
    head, _, *rows = text[text.index("| policy |") :].split("\n\n")[0].splitlines()
    cells = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in (head, *rows)]
    gaps = {name: [float(cell) for cell in row] for name, *row in cells[1:]}
    everything = [gap for row in gaps.values() for gap in row]
    x = Axis.around("mean turnaround above the certified bound [%]", everything, log=True)
    title = "Gaps of policies on four traces"
    chart = Chart(title, x, rows=[*gaps], legend=cells[0][1:], marks="solid", pitch=20, width=640)
    for idx, row in enumerate(gaps.values()):
        for trace, gap in enumerate(row):
            box = chart.x(gap) - DOT / 2, chart.row(idx) - DOT / 2, DOT, DOT
            chart.drawing.rectangles(f"f{trace}", [box], f"{gap} %")
    return chart.drawing


def start_times(folder: Path) -> Drawing:
    """Draw the intervals of the example queue, in hours from the moment at which it was printed."""
    inputs_of("when", folder)
    answer = json.loads(printed(folder, "when", "queue.txt", "--log", "jobs.txt", "--nodes", "4", "--json"))
    jobs = [job for job in answer["jobs"] if job["earliest"] is not None]
    ends = ("earliest", "median", "latest", "by_limits")
    hours = {job["job"]: [max(job[end] - answer["now"], 0) / 3600 for end in ends] for job in jobs}
    x = Axis.around("hours from now", [max(row) for row in hours.values()])
    chart = Chart("When queued jobs start", x, rows=[f"job {name}" for name in hours], pitch=34)
    for idx, row in enumerate(hours.values()):
        first, middle, last, by_limits = (chart.x(hour) for hour in row)
        y = chart.row(idx)
        chart.drawing.rectangles("box", [(first, y - 6, max(last - first, 1), 12)], "nine chances in ten")
        chart.drawing.line((middle, y - 9), (middle, y + 9), kind="median", label="as likely before as after")
        chart.drawing.line(
            (by_limits, y - 9), (by_limits, y + 9), kind="mean", label="if all run to their limits"
        )
    return chart.drawing


def whatif_example(folder: Path) -> dict[str, str]:
    """Return the page of the example trace, and its first two pictures."""
    inputs_of("whatif", folder)
    printed(folder, "whatif", "jobs.txt", "--nodes", "4", "--out", "whatif.html")
    page = (folder / "whatif.html").read_text(encoding="utf-8")
    pictures = [*pictures_of(page).values()]
    return {"whatif.html": page, "whatif-waits.svg": pictures[0], "whatif-time.svg": pictures[1]}


def report_example(folder: Path) -> dict[str, str]:
    """Return the report of a small study, and two of its figures."""
    printed(folder, "score", "tiny", "--solvers", "rigid,noX,infX+c", "--out", "score")
    printed(folder, "study", "report", "score/records.sqlite", "--out", "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    by_kind = {title.rpartition(": ")[2]: picture for title, picture in pictures_of(page).items()}
    shown = {"gaps": by_kind["gaps"], "profile": by_kind["performance profile"]}
    return {"report.html": page, **{f"report-{name}.svg": text for name, text in shown.items()}}


def pictures_of(page: str) -> dict[str, str]:
    """Return the pictures of a page by their titles, each as a document of its own."""
    found = re.findall(r"(<svg [^\n]*)\n(<title>([^<]*)</title>.*?</svg>)", page, re.DOTALL)
    return {title: f"{head}\n<style>{rules()}</style>\n{rest}\n" for head, rest, title in found}


def printed(folder: Path, *command: str) -> str:
    """Return what a command prints that runs in a folder."""
    argv = [sys.executable, "-m", "allocsolve", *command]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path) for path in sys.path if path])}
    done = subprocess.run(  # noqa: S603 - our own command line
        argv, cwd=folder, env=where, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    return done.stdout


def documents() -> dict[str, str]:
    """Return all pictures and example pages, by the names of their files."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        drawings = {
            "evolution": evolution_problem(),
            "partition": partition_problem(),
            "workload": workload_problem(),
            "reservation": reservation_problem(),
            "placement": placement_problem(),
            "networks": network_example(folder),
            "gaps": gaps_of_policies(),
            "when": start_times(folder),
        }
        pages = {**whatif_example(folder), **report_example(folder)}
    return {**{f"{name}.svg": str(drawing) for name, drawing in drawings.items()}, **pages}


def write() -> None:
    """Write all of them; a file that has not changed keeps its time."""
    OUT.mkdir(exist_ok=True)
    for name, text in documents().items():
        path = OUT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
