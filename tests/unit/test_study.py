"""Studies: the TOML file, the tasks that it stands for, the commands."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run

from allocsolve.bench import RecordStore, read_study
from allocsolve.instances import klein2011, uniform_occupancy, write_problem
from allocsolve.model import Budget, Mesh

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

SMALL = 'suites = ["problems"]\nsolvers = ["noX", "growth"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with problems of both kinds."""
    problems = tmp_path / "problems"
    problems.mkdir()
    for idx in range(2):
        write_problem(klein2011([1, idx], num_apps=(3, 3)), problems / f"klein-{idx}.json")
    write_problem(uniform_occupancy(Mesh((6, 5)), 0.3, 6, 1), problems / "mesh.json")
    return tmp_path


def _study(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_every_solver_runs_on_the_problems_of_its_family(folder: Path) -> None:
    text = """
        suites = ["problems"]
        solvers = ["noX", "growth", "cpsat"]
        seeds = [0, 4]
        set = { expand_limit = [1, "inf"] }
        memory_mb = 900
        policy_seconds = 30
        [objectives]
        evolution = "completion"
        [[budgets]]
        seconds = 2
        workers = 2
        [[budgets]]
        iterations = 100
    """
    study = read_study(_study(folder, text))
    assert (study.memory_mb, study.policy_seconds) == (900, 30)
    assert study.budgets == (Budget(seconds=2.0, workers=2), Budget(iterations=100))
    tasks = study.tasks()
    # 2 problems at 2 limits for two solvers, 1 mesh for two solvers, 2 seeds, 2 budgets.
    assert len(tasks) == len({task.key for task in tasks}) == (2 * 2 * 2 + 2) * 2 * 2
    found = {f"{task.solver} {task.key.objective}" for task in tasks}
    assert found == {"noX completion", "cpsat completion", "growth pairwise", "cpsat pairwise"}
    assert {task.key.seed for task in tasks} == {0, 4}


def test_solvers_with_options(folder: Path) -> None:
    text = """
        suites = ["problems"]
        solvers = ["noX(order=longest)", "curve-fit(order = snake, method=first-fit)", "cpsat(max_nodes=9)"]
    """
    tasks = read_study(_study(folder, text)).tasks()
    assert {(task.solver, task.key.solver_repr) for task in tasks} == {
        (
            "list-scheduling(expand_limit=1, order=longest)",
            "ListScheduling(fit=Fit(expand_limit=1, compacting=False), order='longest')",
        ),
        (
            "curve-fit(method=first-fit, order=snake)",
            "CurveFit(method='first-fit', order='snake', bits=None, fallback='min-span')",
        ),
        ("cpsat(max_nodes=9)", "PartitionCpSat(max_nodes=9)"),
    }


def test_defaults_and_whole_numbers_with_a_point(folder: Path) -> None:
    study = read_study(_study(folder, SMALL))
    assert (study.seeds, study.budgets, dict(study.objectives)) == ((0,), (Budget(seconds=10.0),), {})
    assert [name for name, _ in study.problems] == [""] * 3
    tiny = read_study(_study(folder, 'suites=["tiny"]\nsolvers=["noX"]')).problems
    assert {name for name, _ in tiny} == {"tiny"}
    text = f"{SMALL}seeds = [0, 1.0]\n[[budgets]]\nworkers = 2.0\niterations = 1e2"
    study = read_study(_study(folder, text))
    assert (study.seeds, study.budgets) == ((0, 1), (Budget(workers=2, iterations=100),))
    assert all(type(number) is int for number in (*study.seeds, study.budgets[0].workers))


@pytest.mark.usefixtures("in_process")
def test_a_study_is_reported_on(folder: Path, capsys: Capture) -> None:
    path = _study(folder, SMALL)
    run(capsys, "study", "run", path)
    records, page = path.with_suffix(".sqlite"), folder / "page.html"
    before = records.read_bytes()
    more = ("--out", folder / "tables.md", "--figures", folder / "figures")
    assert "\nReport of 3 records: " in run(capsys, "study", "report", records, "--out", page, *more)
    assert "noX" in page.read_text(encoding="utf-8")
    assert "noX" in (folder / "tables.md").read_text(encoding="utf-8")
    assert {file.suffix for file in (folder / "figures").iterdir()} == {".svg"}
    assert records.read_bytes() == before
    assert "there is no such file" in refused(
        capsys, "study", "report", folder / "x.sqlite", "--out", page, "--force"
    )
    lost = folder / "no" / "page.html"
    assert "there is no directory" in refused(capsys, "study", "report", records, "--out", lost)


def test_more_of_a_study_adds_rows(folder: Path, capsys: Capture) -> None:
    path = _study(folder, SMALL)
    run(capsys, "study", "run", path)
    path = _study(folder, SMALL + "seeds = [0, 1]")
    assert json.loads(run(capsys, "study", "run", path, "--json", "-j", 2))["run"] == 3
    assert len(RecordStore(path.with_suffix(".sqlite"))) == 6


def test_executors_and_files_that_will_not_do(folder: Path, capsys: Capture) -> None:
    path = _study(folder, SMALL)
    for name, fault in (
        ("slurm", "executor 'slurm' is not local, dask:ADDRESS or mpi"),
        ("dask:tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0"),
    ):
        assert fault in refused(capsys, "study", "run", path, "--executor", name)
    base = sqlite3.connect(path.with_suffix(".sqlite"))
    base.execute("PRAGMA user_version = 5")
    base.close()
    assert "records of format 5" in refused(capsys, "study", "run", path)


def test_a_read_only_folder(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _study(folder, SMALL)
    # The tests may run as root, whom no permission stops.
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "cannot be written: permission denied" in refused(capsys, "study", "run", path)
