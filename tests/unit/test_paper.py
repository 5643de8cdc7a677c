"""What whoever writes a paper takes from here: the gap of each run, and tables that say the same."""

from __future__ import annotations

import csv
import math
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import astuple, fields
from itertools import combinations
from statistics import fmean, median
from typing import TYPE_CHECKING

import pytest
from latex_tools import latex_tables
from readme_tools import ROOT, trails
from study_tools import row, timed_out
from wheel_tools import install

from allocsolve.bench import gap_rows, holm, signed_rank
from allocsolve.bench.scores.catalogue import Catalogue, Reference
from allocsolve.bench.scores.gaps import relative_difference
from allocsolve.bench.scores.summary import GapRow
from allocsolve.pictures.chart import probability, time_text
from allocsolve.report import examine, latex

if TYPE_CHECKING:
    from pathlib import Path


def test_each_run_tells_its_gap_and_who_proved_the_bound() -> None:
    rows = [
        row("a", "x", 120),
        row("a", "y", 100, 100),
        timed_out(row("b", "x", 1)),
        row("b", "y", (50, 7), (40, -math.inf), objective="makespan,waste", combinatorial_bound=(30,)),
        row("c", "x", 90, combinatorial_bound=60, suite=""),
        row("d", "x", 9, 12),  # which it refutes itself
        row("e", "x", 9),
    ]
    known = Catalogue({"digest of a": ("s", "t")}, {("digest of c", "makespan"): Reference(75, 90, "t")})
    told = [astuple(one)[4:12] for one in gap_rows(rows, known)]
    assert told == [
        ("makespan", "s", 120, 100, "y", "claimed", False, 0.2),
        ("makespan", "s", 100, 100, "y", "claimed", True, 0.0),
        ("makespan", "s", None, -math.inf, "", "", False, None),
        ("makespan,waste", "s", (50, 7), (40, -math.inf), "y", "claimed", False, 0.25),
        ("makespan", "s", 90, 75, "t", "stated", False, 0.2),
        ("makespan", "s", 9, -math.inf, "", "", False, None),
        ("makespan", "s", 9, -math.inf, "", "", False, None),
    ]
    assert [one.suite for one in gap_rows(rows, known)] == ["s;t", "s;t", "s", "s", "", "s", "s"]
    (alone,) = gap_rows(rows[4:5], Catalogue())
    assert (alone.best_bound, alone.bound_by, alone.standing) == (60, "allocsolve.bounds", "certified")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert [*pandas.DataFrame(gap_rows(rows)).columns] == [field.name for field in fields(GapRow)]


def test_every_column_is_described_once() -> None:
    page = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?) \|", page.partition("| column | |")[2].partition("\n\n")[0], re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(cells)) == [field.name for field in fields(GapRow)]


EVIL = r"a_b%&#$^~\{[x]}<|>--`*" + '"'


def test_names_stay_text_in_latex() -> None:
    names = (EVIL, "* [y]", "inf")
    rows = [row(place, name, 10 + at, 10, suite=EVIL) for place in "pq" for at, name in enumerate(names)]
    rows += [row("z", "inf", 1, 0, suite=EVIL), row("z", "none", None, suite=EVIL)]
    documents = latex(examine(rows))
    assert [re.sub("[A-Za-z0-9-]", "", name) for name in documents] == ["", ""]
    gaps, pairs = latex_tables("\n".join(documents.values()))
    assert EVIL in gaps.caption
    assert [line[0] for line in gaps.rows] == [EVIL, "* [y]", "inf", "none"]
    assert [line[1:5] for line in gaps.rows[1:]] == [
        ["2", "10.00", "10.00", "10.00"],
        ["3", "inf", "20.00", "inf"],
        ["0", "--", "--", "--"],
    ]
    assert pairs.rows[0] == [EVIL, "* [y]", "2", "2", "0", "0", "-9.09", "0.500", "1.000"]
    assert latex(examine([row("a", "x", 1)])).keys() == {"s-makespan-gaps"}, "one solver has no pair"


STUDY = """
suites = ["klein-5-l1"]
solvers = ["noX", "mine.py:longest_first", "cpsat"]
seeds = [0, 1]
[[budgets]]
seconds = 20.0
"""
COMMANDS = """
allocsolve study run study.toml
allocsolve study export study.sqlite --out runs.csv
allocsolve study report study.sqlite --out report.html --latex tables --figures figures --format pdf
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_stranger_goes_from_a_heuristic_to_the_table_of_a_paper(wheel: Path, tmp_path: Path) -> None:
    """From the wheel in an empty folder; every number of the tables is one of the tidy table.

    What figures show is compared with the tables elsewhere.
    """
    heuristic = trails()["heuristic"].commands.partition("\nallocsolve")[0]
    (tmp_path / "study.toml").write_text(STUDY)
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", heuristic + COMMANDS],  # noqa: S607 - the bash of whoever runs it
        cwd=tmp_path,
        env=install(wheel, tmp_path / "installed", ["plots"]),
        check=True,
    )
    with (tmp_path / "runs.csv").open(newline="", encoding="utf-8") as file:
        runs = [*csv.DictReader(file)]
    assert len(runs) == 60
    files = sorted((tmp_path / "tables").iterdir())
    (gaps,), (pairs,) = (latex_tables(path.read_text(encoding="utf-8")) for path in files)
    assert gaps.heads == ["solver", "n", "mean", "median", "max", "optimal", "time"]
    assert "optimum in % on 10 instances of klein-5-l1, means of 2 seeds each" in gaps.caption
    assert gaps.rows == _gaps(runs)
    assert pairs.heads[2:] == ["n", "wins", "ties", "losses", "median difference, %", "p", "p (Holm)"]
    assert pairs.rows == _pairs(runs)
    drawn = {path.stem: path.read_bytes() for path in (tmp_path / "figures").glob("*.pdf")}
    assert {"klein-5-l1-makespan-gaps", "klein-5-l1-makespan-profile"} <= drawn.keys()
    assert all(document.startswith(b"%PDF-") for document in drawn.values())


def _by_solver(runs: list[dict[str, str]], column: str) -> dict[str, list[float]]:
    """Return the mean over the seeds on each instance, in the order of the instances."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in runs:
        found[one["solver"]][one["instance"]].append(float(one[column]))
    return {solver: [fmean(rows[name]) for name in sorted(rows)] for solver, rows in found.items()}


def _gaps(runs: list[dict[str, str]]) -> list[list[str]]:
    optimal = _by_solver([one | {"optimal": str(int(one["optimal"] == "True"))} for one in runs], "optimal")
    times = _by_solver(runs, "runtime_s")
    ranked = sorted(_by_solver(runs, "gap").items(), key=lambda item: fmean(item[1]))
    return [
        [
            *(solver, str(len(gaps)), *(f"{100 * of(gaps):.2f}" for of in (fmean, median, max))),
            *(str(optimal[solver].count(1)), time_text(fmean(times[solver]), exact=True)),
        ]
        for solver, gaps in ranked
    ]


def _pairs(runs: list[dict[str, str]]) -> list[list[str]]:
    rows = []
    for (one, values), (other, others) in combinations(_by_solver(runs, "value").items(), 2):
        both = [*zip(values, others, strict=True)]
        differences = [relative_difference(a, b) for a, b in both]
        counts = [sum(a < b for a, b in both), sum(a == b for a, b in both), sum(a > b for a, b in both)]
        told = [one, other, *map(str, (len(both), *counts)), f"{100 * median(differences):.2f}"]
        rows.append((told, signed_rank(differences)))
    adjusted = holm([p for _, p in rows])
    return [
        [*told, probability(p), probability(p_holm)] for (told, p), p_holm in zip(rows, adjusted, strict=True)
    ]
