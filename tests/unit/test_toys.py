"""A new policy, solver and format of logs: what one touches is enough, as CONTRIBUTING lists it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import toy_log
import toy_policy
import toy_solver
from cli_tools import Capture, run, run_json
from first_fit import first_fit

from allocsolve import PartitionProblem, Torus, registry, solve
from allocsolve.families import table
from allocsolve.instances import LOG_TABLES, read_problem, write_problem
from allocsolve.instances.generators.examples import random_workload
from allocsolve.judge import workload_value
from allocsolve.registry import partition, workload
from allocsolve.testing import check_solver
from allocsolve.testing.policies import check_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
WORKLOAD = random_workload(5, 60, 16, load=1.5)
PARTITION = PartitionProblem(Torus((4, 4)), np.arange(16) % 3 > 0, size=4, name="a third is busy")


@pytest.fixture(autouse=True)
def contributed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more line in three tables: of the solvers of two families, and of the formats of logs."""
    with monkeypatch.context() as patched:
        for module, name, row in (
            (workload, "WORKLOAD", toy_policy.ROW),
            (partition, "PARTITION", toy_solver.ROW),
        ):
            family: Any = getattr(module, name)
            patched.setattr(module, name, replace(family, solvers=(*family.solvers, row)))
        formats = MappingProxyType({**LOG_TABLES, toy_log.TABLE.name: toy_log.TABLE})
        for place in ("instances.formats.logs.tables", "instances.formats.logs.jobs", "cli.import_file"):
            patched.setattr(f"allocsolve.{place}.LOG_TABLES", formats)
        _forget()
        yield
    _forget()


def _forget() -> None:
    table._loaded.cache_clear()
    registry.plugins.cache_clear()


def test_a_policy_keeps_the_contract_of_policies() -> None:
    policy = toy_policy.ShortestFirst()
    check_policy(policy, starts_head=True, order=policy.order)


def test_a_policy_is_a_solver_like_any_other(tmp_path: Path, capsys: Capture) -> None:
    check_solver(toy_policy.ShortestFirst())
    check_solver(toy_solver.FirstFree())
    path = tmp_path / "jobs.json"
    write_problem(WORKLOAD, path)
    told = run_json(capsys, "solve", path, "--solver", "shortest", "--objective", "wait")
    assert told["objective"] == solve(WORKLOAD, "shortest(longest=False)", "wait").objective
    assert told["objective"] != workload_value(WORKLOAD, first_fit(WORKLOAD), ("wait",))


@pytest.mark.usefixtures("in_process")
def test_a_policy_of_somebody_else_is_scored_by_its_place(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "jobs.json"
    write_problem(WORKLOAD, path)
    names = ["toy_policy:ShortestFirst", "toy_policy:ShortestFirst(longest=True)"]
    options = ("--solvers", ",".join(names), "--baseline", "fcfs", "--out", tmp_path / "out")
    scores = run_json(capsys, "score", path, *options)["scores"]
    gaps = {row["solver"]: row["gap"]["mean"] for row in scores}
    assert gaps.keys() == {"fcfs", *names}
    assert gaps[names[0]] < gaps[names[1]]


def test_a_solver_is_found_by_its_name(tmp_path: Path, capsys: Capture) -> None:
    answer = solve(PARTITION, "first-free").answer
    assert answer is not None
    assert answer.nodes.tolist() == [1, 2, 4, 5]
    path = tmp_path / "partition.json"
    write_problem(PARTITION, path)
    told = run_json(capsys, "solve", path, "--solver", "first-free(last=True)")
    assert told["solution"]["nodes"] == [10, 11, 13, 14]
    assert "the free nodes with the least numbers" in run(capsys, "solvers")


def test_a_format_of_logs_is_one_value(tmp_path: Path, capsys: Capture) -> None:
    log, problem = tmp_path / "toy.csv", tmp_path / "jobs.json"
    log.write_text(toy_log.LOG)
    recorded = tmp_path / "recorded.json"
    told = run_json(capsys, "import", log, "--nodes", "4", "--out", problem, "--recorded", recorded)
    assert told["problem"] == str(problem)
    jobs: Any = read_problem(problem)
    assert [(job.nodes, job.runtime, job.limit) for job in jobs.jobs] == [(3, 300, 600), (4, 60, 1200)]
    assert "feasible" in run(capsys, "check", problem, recorded)


def test_contributing_names_files_that_there_are() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## What a new one touches")[2].partition("\n## ")[0]
    files = re.findall(r"`([\w./]+\.\w+)`", section)
    named = [name for name in files if "NAME" not in name and "FAMILY" not in name]
    missing = [name for name in named if not any((ROOT / at / name).is_file() for at in ("", "allocsolve"))]
    assert len(named) >= 8
    assert not missing, "\n".join(missing)
