"""The verified checker, and problems small enough that all of their schedules can be tried."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from naive_optimum import optimum
from naive_workload_optimum import workload_optimum

from allocsolve.exact.evolution.conflict_search import EvolutionConflictSearch
from allocsolve.instances import write_certificate, write_problem, write_solution
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile, Job, SpeedupTable, WorkloadProblem

if TYPE_CHECKING:
    import random

    from allocsolve.model import EvolutionSchedule, Result

ROOT = Path(__file__).resolve().parents[1]
CHECKER = shutil.which(ROOT / "verified" / "build" / "allocsolve-verified")

needs_checker = pytest.mark.skipif(CHECKER is None, reason="the verified checker is not built: make verify")

#: Submission, run time, nodes, weight.
Row = tuple[int, int, int, int]


def proven(text: str, folder: Path) -> Fraction | None:
    """Return the bound that the verified checker proves from a text; None if it refuses."""
    file = folder / "proof"
    file.write_text(text, encoding="ascii")
    assert CHECKER is not None
    done = subprocess.run([CHECKER, str(file)], capture_output=True, text=True, check=False)
    found = re.search(r"^verified \w+ >?= (-?\d+)(?: / (\d+))?$", done.stdout, re.MULTILINE)
    assert (found is not None) is (done.returncode == 0), done
    return None if found is None else Fraction(int(found[1]), int(found[2] or 1))


def random_rows(draw: random.Random, num_nodes: int, longest: int = 5) -> list[Row]:
    """Return two to four small jobs, of which one has a weight at least."""
    count = draw.randint(2, 4)
    rows = [
        (draw.randint(0, 4), draw.randint(1, longest), draw.randint(1, num_nodes), draw.randint(0, 3))
        for _ in range(count)
    ]
    return rows if any(weight for *_, weight in rows) else [(*rows[0][:3], 1), *rows[1:]]


def random_moldable(draw: random.Random, num_nodes: int) -> list[list[Row]]:
    """Return small jobs, each with one size or more: the submission and the weight are the same."""
    return [
        [
            row,
            *(
                (row[0], draw.randint(1, 6), draw.randint(1, num_nodes), row[3])
                for _ in range(draw.choice([0, 1, 2]))
            ),
        ]
        for row in random_rows(draw, num_nodes)
    ]


def least_value(num_nodes: int, moldable: list[list[Row]], term: str) -> Fraction:
    """Return the least mean turnaround, wait or slowdown, or the least makespan, of all schedules."""
    jobs = []
    for sizes in moldable:
        seconds = {nodes: min(row[1] for row in sizes if row[2] == nodes) for _, _, nodes, _ in sizes}
        submit, _, nodes, weight = sizes[0]
        law = SpeedupTable(sorted(seconds.items())) if len(seconds) > 1 else None
        jobs.append(Job(submit, nodes, seconds[nodes], weight=weight, speedup=law))
    return workload_optimum(WorkloadProblem(num_nodes, jobs), term)


def workload_lines(num_nodes: int, rows: list[Row], ticks: int = 1) -> list[list[object]]:
    """Return the lines of a problem, number by number."""
    jobs: list[list[object]] = [[*row] for row in rows]
    return [["rigid-workload", num_nodes, len(rows), ticks], *jobs]


def moldable_lines(num_nodes: int, moldable: list[list[Row]]) -> list[list[object]]:
    """Return the lines of a problem of moldable jobs."""
    jobs: list[list[object]] = [
        [sizes[0][0], sizes[0][3], len(sizes), *(number for row in sizes for number in row[1:3])]
        for sizes in moldable
    ]
    return [["moldable-workload", num_nodes, len(moldable), 1], *jobs]


def _prices_of(draw: random.Random, term: str, most: int) -> tuple[int, int]:
    """Return a unit of prices and the highest price; delays of slowdowns cost less."""
    if term == "slowdown":
        return draw.randint(20, 60), most
    unit = draw.randint(1, 5)
    return unit, most * unit


def random_job_prices(draw: random.Random, rows: list[Row], term: str) -> list[list[object]]:
    """Return the lines of random prices per job and slot."""
    unit, highest = _prices_of(draw, term, 3)
    divisor, at = draw.randint(1, 2), 0
    slots: list[list[object]] = []
    while at < 5 + sum(runtime for _, runtime, _, _ in rows):
        at += draw.randint(0, 2)
        length = draw.randint(1, 4)
        jobs = sorted(draw.sample(range(len(rows)), draw.randint(1, len(rows))))
        items = [(job + 1, rows[job][2] // divisor, draw.randint(0, highest)) for job in jobs]
        slots.append([at, length, len(items), *(number for item in items for number in item)])
        at += length
    return [["job-prices", term, unit, divisor, len(slots)], *slots]


def random_time_prices(draw: random.Random, rows: list[Row], term: str) -> list[list[object]]:
    """Return the lines of one random price list."""
    (unit, highest), count = _prices_of(draw, term, 2), draw.randint(1, 3 * len(rows))
    slots: list[list[object]] = [[draw.randint(1, 4), draw.randint(0, highest)] for _ in range(count)]
    return [["time-prices", term, unit, draw.randint(0, 5), len(slots)], *slots]


def random_rule(draw: random.Random, rows: list[Row]) -> list[list[object]]:
    """Return the line of a rule of makespans."""
    after = draw.choice(rows)[0] - draw.choice([0, 0, 1])
    return [["last-end", draw.choice(["longest", "area", "wide"]), after]]


class Case(NamedTuple):
    """A small problem and a certificate of some kind."""

    problem: list[list[object]]
    certificate: list[list[object]]
    optimum: Fraction

    @property
    def text(self) -> str:
        return joined([*self.problem, *self.certificate])


#: Kinds of certificates of workloads, and what they bound.
KINDS: Final = (
    *itertools.product(("job-prices", "time-prices"), ("turnaround", "wait", "slowdown")),
    ("time-prices", "moldable"),
    ("last-end", "makespan"),
    ("last-end", "moldable"),
)


def random_case(draw: random.Random, kind: str, term: str) -> Case:
    """Return a random problem and a random certificate of a kind."""
    num_nodes = draw.randint(2, 5)
    if term == "moldable":
        moldable = random_moldable(draw, num_nodes)
        rows, problem = [row for row, *_ in moldable], moldable_lines(num_nodes, moldable)
        term = "makespan" if kind == "last-end" else "turnaround"
    else:
        rows = random_rows(draw, num_nodes, 25 if term == "slowdown" else 5)
        moldable, problem = [[row] for row in rows], workload_lines(num_nodes, rows)
    if kind == "last-end":
        certificate = random_rule(draw, rows)
    elif kind == "job-prices":
        certificate = random_job_prices(draw, rows, term)
    else:
        certificate = random_time_prices(draw, rows, term)
    return Case(problem, certificate, least_value(num_nodes, moldable, term))


def joined(lines: list[list[object]]) -> str:
    """Return the text of lines of numbers and words."""
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def random_profiles(draw: random.Random) -> EvolutionProblem:
    """Return three or four small applications that are not expanded; steps may hold no nodes."""
    num_nodes = draw.randint(2, 5)
    profiles = [
        EvolutionProfile(
            [(draw.randint(1, 4), draw.randint(0, num_nodes)) for _ in range(draw.randint(1, 3))]
        )
        for _ in range(draw.randint(3, 4))
    ]
    releases = [draw.randint(0, 3) for _ in profiles]
    return EvolutionProblem(num_nodes, (*profiles,), expand_limit=1, releases=(*releases,))


def least_makespan(problem: EvolutionProblem) -> int:
    """Return the optimum of a small problem, by brute force."""
    return int(optimum(problem, ("makespan",))[0])


def solved_makespan(problem: EvolutionProblem) -> Result[EvolutionSchedule]:
    return EvolutionConflictSearch()(problem, Budget(seconds=60, workers=1))


def makespan_proof_files(folder: Path, problem: EvolutionProblem) -> list[Path]:
    result = solved_makespan(problem)
    assert result.certificate is not None
    files = [folder / name for name in ("problem.json", "answer.json", "bound.json")]
    write_problem(problem, files[0])
    write_solution(files[1], problem, result.answer, {})
    write_certificate(files[2], problem, ("makespan",), result.certificate)
    return files


def fake_checker(path: Path, text: str) -> Path:
    """Write a program that says this, in place of the checker: none has to be built."""
    path.write_text(f"#!/bin/sh\nprintf '{text}'\n", encoding="ascii")
    path.chmod(0o755)
    return path
