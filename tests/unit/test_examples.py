"""The examples, run as a user runs them."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import allocsolve
from allocsolve import Jobs, WorkloadProblem, solve
from allocsolve.adaptors import named_policy
from allocsolve.instances import lublin1999, read_problem, write_problem
from allocsolve.simulation import simulate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _output(*argv: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    where = {"PYTHONPATH": str(Path(allocsolve.__file__).parents[1]), **(env or {})}
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, **where}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _shown(name: str, cwd: Path, *argv: str) -> str:
    return _output(sys.executable, "-W", "error", str(EXAMPLES / name), *argv, cwd=cwd)


def _percents(line: str) -> list[float]:
    return [float(found) for found in re.findall(r"([\d.]+)%", line)]


def test_each_is_run_here_and_named_in_the_readme() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    here = set(re.findall(r'"(\w+\.py)"', Path(__file__).read_text(encoding="utf-8")))
    assert scripts <= here | {"backfilling.py"}, "that one has a module of tests"
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(\w+\.py)`", text)) == scripts


def test_my_heuristic_is_between_the_optimum_and_the_published_one(tmp_path: Path) -> None:
    first, _, *table = _shown("my_heuristic.py", tmp_path).splitlines()
    assert first == "LongestFirst keeps the contract of solvers."
    gaps = {line.split()[0]: _percents(line) for line in table}
    assert gaps["cpsat"] == [0, 0]
    assert 0 < gaps["my_heuristic:LongestFirst"][0] < gaps["noX"][0]


def test_the_heuristic_is_scored_by_name(tmp_path: Path) -> None:
    name = "examples.my_heuristic:LongestFirst"
    program = (sys.executable, "-P", "-c", "from allocsolve.cli import entry; entry()")
    command = ("score", "tiny", "--solvers", f"noX,{name}", "--out", str(tmp_path))
    table = _output(*program, *command, cwd=EXAMPLES.parent)
    assert f"\n{name}" in table
    assert "Baseline cpsat: 11 of 11 optima proven." in table


def test_event_loop_trades_waste_for_waiting(tmp_path: Path) -> None:
    lines = _shown("event_loop.py", tmp_path).splitlines()
    assert re.match(r" *\d+ s  job 0 arrives, starts in 0 s", lines[0])
    rows = [line.split() for line in lines[-4:]]
    assert [row[0] for row in rows] == ["1", "1.5", "2", "inf"]
    wasted = [_percents(row[-1])[0] for row in rows]
    assert wasted[0] == 0 < wasted[1] < wasted[2] < wasted[3]
    assert float(rows[2][1]) < float(rows[0][1])


def test_who_knows_more_of_the_future_waits_less(tmp_path: Path) -> None:
    options = ("--jobs", "40", "--loads", "0.8", "--seconds", "0.5")
    head, *rows, proven = _shown("knowing.py", tmp_path, *options).splitlines()
    assert head.endswith("of 1 problems")
    assert proven.startswith("0 of 1 ")
    seconds = {row[:24].strip(): float(row[24:].split()[0]) for row in rows}
    reserved, following, planned = (
        seconds[name] for name in ("reserved, no step", "reserved, next step", "planned, all steps")
    )
    assert seconds["bound"] < min(seconds["offline"], planned) <= planned < following < reserved
    assert seconds["safe, all steps"] < reserved


def test_bounds_are_below_the_optimum_and_schedules_above(tmp_path: Path) -> None:
    options = ("--jobs", "6", "--nodes", "8", "--loads", "1.2", "--walls", "0", "0.3", "--seeds", "1")
    head, _, *rows, versions = _shown("gap_to_optimum.py", tmp_path, *options).splitlines()
    names = [name.strip() for name in head.strip("|").split("|")][1:]
    assert [row.split("|")[1].strip() for row in rows] == ["1.2, 0%", "1.2, 30%"]
    for row in rows:
        for name, cell in zip(names, row.strip("|").split("|")[1:], strict=True):
            mean, worst = (float(part.strip(" ()")) for part in cell.split("("))
            assert worst <= mean <= 1 if name.startswith("bound") else 1 <= mean <= worst
    assert "ortools" in versions


def test_bounds_on_machines_are_below_the_optimum_and_schedules_above(tmp_path: Path) -> None:
    options = ("--jobs", "6", "--nodes", "8", "--loads", "1.2", "--resources", "1", "2", "--windows", "2")
    head, _, *rows, _ = _shown("gap_to_optimum.py", tmp_path, *options, "--seeds", "1").splitlines()
    names = [name.strip() for name in head.strip("|").split("|")][1:]
    assert [row.split("|")[1].strip() for row in rows] == ["1, 2, 1.2", "2, 2, 1.2"]
    for row in rows:
        for name, cell in zip(names, row.strip("|").split("|")[1:], strict=True):
            worst = float(cell.split("(")[1].strip(" )"))
            assert worst <= 1 if name.startswith("bound") else worst >= 1


def test_no_rule_is_nearer_than_the_nearest_nodes(tmp_path: Path) -> None:
    options = ("--machines", "nvl72", "--occupancies", "u.5", "--snapshots", "3", "--turnovers", "2")
    gaps, *left, domains, dragonflies = _shown("placement_rules.py", tmp_path, *options).strip().split("\n\n")
    rows = {row[:26].strip(): row[26:].split() for row in gaps.splitlines()[2:]}
    assert float(rows["random"][0]) > float(rows["lowest switch, best fit"][0]) >= 0
    assert all(float(mean) >= 0 for mean, *_ in rows.values() if mean != "all")
    assert len(left) == 2
    for table in left:
        for row in table.splitlines()[2:]:
            share, *costs = row[26:].split()
            assert share.endswith("%")
            assert all(float(cost) >= 1 for cost in costs)
    assert len(domains.splitlines()) == 6
    assert all(float(row.split("mean ")[1].split()[0]) >= 0 for row in dragonflies.splitlines()[1:])


def test_an_allocator_by_distance_has_closer_jobs(tmp_path: Path) -> None:
    head, *rows = _shown("simulator_mask.py", tmp_path).splitlines()
    assert "mean pairwise distance" in head
    listed, nearest = (float(re.findall(r"([\d.]+) hops", row)[0]) for row in rows)
    assert 0 < nearest < listed
    assert _percents(rows[0]) == _percents(rows[1])


def test_an_agent_learns_and_is_judged_on_later_jobs(tmp_path: Path) -> None:
    """The same weights each time; on jobs that it has not seen it is better than the head and EASY."""
    lines = _shown("learning.py", tmp_path, "--ppo", "0").splitlines()
    assert [line.split(":")[0] for line in lines[:8]] == [f"generation {one}" for one in range(1, 9)]
    assert lines[8].startswith("weights: nodes ")
    assert lines[9] == "MaskablePPO: skipped, no steps"
    assert lines[10].startswith("jobs 1500 to 1999: ")
    bound = float(re.findall(r"below (\d+) s", lines[10])[0])
    values = {row[:14].strip(): float(row[14:].split()[0]) for row in lines[11:]}
    assert bound < values["linear agent"] < min(values[name] for name in ("fcfs", "first-fit", "easy"))


def test_a_search_finds_a_policy(tmp_path: Path) -> None:
    """It begins at the best of the known ones, and what it writes can be evaluated again."""
    options = ("--generations", "1", "--windows", "2", "--jobs", "50", "--held-out", "2")
    first, *generations, heads, found, easy, _, _, _, f2, _, _ = _shown(
        "evolve_policy.py", tmp_path, *options
    ).splitlines()
    assert first.startswith("begins at easy(order=")
    assert [line.split(":")[0] for line in generations] == ["generation 1"]
    assert heads.startswith("on 2 held-out windows")
    assert (found.split()[0], easy.split()[0], f2.split()[0]) == ("best_policy.py", "easy", "easy(order=f2)")
    assert 0 < float(found.split()[1]) <= 1
    assert re.search(r"[012] of 2 +\S+$", f2)
    assert "LIMIT, NODES, AGE, TRUST = " in (tmp_path / "best_policy.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("order", ["f2", "f3", "f4", "shortest-estimate", "smallest-area"])
def test_the_formula_holds_known_policies(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The points at which the search may begin decide as the policies that they are said to be."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    evolved, evolve = (importlib.import_module(name) for name in ("evolved_policy", "evolve_policy"))
    name = f"easy(order={order})"
    for constant, value in zip(("LIMIT", "NODES", "AGE", "TRUST"), evolve.POINTS[name], strict=True):
        monkeypatch.setattr(evolved, constant, value)
    rng = np.random.default_rng(1)
    runtimes = rng.integers(10, 5000, 150)
    log = WorkloadProblem(
        16, Jobs(np.cumsum(rng.integers(0, 500, 150)), rng.integers(1, 17, 150), runtimes, 2 * runtimes)
    )
    found = simulate(log, evolved.policy)
    assert found.starts.tolist() == simulate(log, named_policy(name)).starts.tolist()
    assert found.starts.tolist() != simulate(log, named_policy("easy")).starts.tolist()


def test_a_search_for_programs_is_given_numbers(tmp_path: Path) -> None:
    """Without OpenEvolve they come as the dict that it takes as well."""
    (tmp_path / "logs").mkdir()
    write_problem(lublin1999(1, num_jobs=2400), tmp_path / "logs" / "log.json")
    program = (sys.executable, str(EXAMPLES / "openevolve_evaluator.py"), str(EXAMPLES / "evolved_policy.py"))
    metrics = ast.literal_eval(_output(*program, cwd=tmp_path, env={"POLICY_LOGS": str(tmp_path / "logs")}))
    assert 0 < metrics["worst_window"] <= metrics["combined_score"] <= 1 == metrics["finished"]


@pytest.mark.skipif(importlib.util.find_spec("sb3_contrib") is not None, reason="sb3-contrib is installed")
def test_without_a_learner_the_example_says_so(tmp_path: Path) -> None:
    sys.path.insert(0, str(EXAMPLES))
    code = "import learning; print(learning.network(None, 9))"
    printed = _output(sys.executable, "-c", code, cwd=tmp_path, env={"PYTHONPATH": os.pathsep.join(sys.path)})
    expected = "MaskablePPO: skipped, sb3-contrib is not installed (pip install sb3-contrib)"
    assert printed.splitlines() == [expected, "None"]


def test_simpy_starts_jobs_when_the_engine_does(tmp_path: Path) -> None:
    first, second = _shown("simpy_cluster.py", tmp_path).splitlines()
    assert first.startswith("500 jobs, mean wait ")
    assert second == "500 start when they do in the engine under 'conservative'"


def test_a_broker_that_gives_nodes_back_refuses_fewer(tmp_path: Path) -> None:
    kept, given_back = (
        [int(number) for number in re.findall(r"(\d+) ", line)]
        for line in _shown("simpy_broker.py", tmp_path).splitlines()
    )
    assert sum(kept) == sum(given_back) == 1000
    assert given_back[0] > kept[0]
    assert given_back[2] < kept[2]


def test_a_person_in_the_loop_shortens_the_longest_wait(tmp_path: Path) -> None:
    *steps, _, _, impatient, _, _, alone = _shown("engine_steps.py", tmp_path).splitlines()
    assert len(steps) == 6
    assert all(re.search(r" s  \d+ wait, \d+ nodes are free: start \[", step) for step in steps)
    shown = [
        [float(number) for number in re.findall(r"([\d.]+) [sh]", row[8:])] for row in (impatient, alone)
    ]
    assert shown[0][0] > shown[1][0]
    assert shown[0][1] < shown[1][1]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no Rscript")
def test_r_gets_a_schedule_back(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "allocsolve"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m allocsolve "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    where = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    printed = _output("Rscript", str(EXAMPLES / "schedule.R"), cwd=tmp_path, env=where)
    assert printed.splitlines()[:2] == ["noX makespan 6300 s", "cpsat makespan 5100 s"]


def test_the_table_of_the_r_example_is_read(tmp_path: Path) -> None:
    """The columns that R writes, as far as they can be known without it."""
    text = (EXAMPLES / "schedule.R").read_text(encoding="utf-8")
    frame = text[text.index("data.frame(") : text.index("write.csv")]
    columns = {
        name: [cell.strip(' "') for cell in cells.split(",")]
        for name, cells in re.findall(r"(\w+) = c\(([^)]*)\)", frame)
    }
    assert "num_nodes = 12" in frame
    rows = [",".join([*cells, "12"]) for cells in zip(*columns.values(), strict=True)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([",".join([*columns, "num_nodes"]), *rows]), encoding="utf-8")
    assert solve(read_problem(path), "noX").objective == 6300
