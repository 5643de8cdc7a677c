"""The verified checker, and problems small enough that all of their schedules can be tried."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from allocsolve.exact.evolution.conflict_search import EvolutionConflictSearch
from allocsolve.instances import write_certificate, write_problem, write_solution
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile

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


def random_rows(draw: random.Random, num_nodes: int) -> list[Row]:
    """Return two to four small jobs, of which one has a weight at least."""
    count = draw.randint(2, 4)
    rows = [
        (draw.randint(0, 4), draw.randint(1, 5), draw.randint(1, num_nodes), draw.randint(0, 3))
        for _ in range(count)
    ]
    return rows if any(weight for *_, weight in rows) else [(*rows[0][:3], 1), *rows[1:]]


def least_mean(num_nodes: int, rows: list[Row], *, wait: bool) -> Fraction:
    """Return the least mean turnaround or wait of all schedules that start at whole seconds."""
    last = 5 + sum(runtime for _, runtime, _, _ in rows)
    used = [0] * (2 * last)

    def least(job: int) -> int:
        if job == len(rows):
            return 0
        submit, runtime, nodes, weight = rows[job]
        totals = []
        for start in range(submit, last):
            if all(used[at] + nodes <= num_nodes for at in range(start, start + runtime)):
                for at in range(start, start + runtime):
                    used[at] += nodes
                totals.append(weight * (start + (0 if wait else runtime) - submit) + least(job + 1))
                for at in range(start, start + runtime):
                    used[at] -= nodes
        return min(totals, default=10**9)

    return Fraction(least(0), sum(weight for *_, weight in rows))


def workload_lines(num_nodes: int, rows: list[Row], ticks: int = 1) -> list[list[object]]:
    """Return the lines of a problem, number by number."""
    jobs: list[list[object]] = [[*row] for row in rows]
    return [["rigid-workload", num_nodes, len(rows), ticks], *jobs]


def random_job_prices(draw: random.Random, rows: list[Row], term: str) -> list[list[object]]:
    """Return the lines of random prices per job and slot."""
    unit, divisor, at = draw.randint(1, 5), draw.randint(1, 2), 0
    slots: list[list[object]] = []
    while at < 5 + sum(runtime for _, runtime, _, _ in rows):
        at += draw.randint(0, 2)
        length = draw.randint(1, 4)
        jobs = sorted(draw.sample(range(len(rows)), draw.randint(1, len(rows))))
        items = [(job + 1, rows[job][2] // divisor, draw.randint(0, 3 * unit)) for job in jobs]
        slots.append([at, length, len(items), *(number for item in items for number in item)])
        at += length
    return [["job-prices", term, unit, divisor, len(slots)], *slots]


def random_time_prices(draw: random.Random, rows: list[Row], term: str) -> list[list[object]]:
    """Return the lines of one random price list."""
    unit, count = draw.randint(1, 5), draw.randint(1, 3 * len(rows))
    slots: list[list[object]] = [[draw.randint(1, 4), draw.randint(0, 2 * unit)] for _ in range(count)]
    return [["time-prices", term, unit, draw.randint(0, 5), len(slots)], *slots]


def joined(lines: list[list[object]]) -> str:
    """Return the text of lines of numbers and words."""
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def random_profiles(draw: random.Random) -> EvolutionProblem:
    """Return three or four small applications that are not expanded."""
    num_nodes = draw.randint(2, 5)
    profiles = [
        EvolutionProfile(
            [(draw.randint(1, 4), draw.randint(1, num_nodes)) for _ in range(draw.randint(1, 3))]
        )
        for _ in range(draw.randint(3, 4))
    ]
    releases = [draw.randint(0, 3) for _ in profiles]
    return EvolutionProblem(num_nodes, (*profiles,), expand_limit=1, releases=(*releases,))


def least_makespan(problem: EvolutionProblem) -> int:
    """Return the optimum of a small problem, by trying all starts."""
    lengths = [sum(seconds for seconds, _ in profile.steps) for profile in problem.applications]
    for makespan in itertools.count(max(map(int.__add__, problem.releases, lengths))):
        choices = [
            range(release, makespan - length + 1)
            for release, length in zip(problem.releases, lengths, strict=True)
        ]
        for starts in itertools.product(*choices):
            used = [0] * makespan
            for start, profile in zip(starts, problem.applications, strict=True):
                at = start
                for seconds, nodes in profile.steps:
                    for second in range(at, at + seconds):
                        used[second] += nodes
                    at += seconds
            if max(used) <= problem.num_nodes:
                return makespan
    raise AssertionError


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
