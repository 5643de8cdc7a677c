"""The light installation for simulators: only what the heuristics need, and one line for what is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from console_tools import matches
from readme_tools import ROOT, trails

from allocsolve import __main__, errors
from allocsolve.errors import SolverUnavailable
from allocsolve.instances import klein2011
from allocsolve.registry import solve, solver_rows

#: What an author of a simulator does first.
SIMULATOR = """
import numpy as np
from allocsolve import EvolutionProblem, EvolutionProfile, PartitionProblem, Torus, solve
from allocsolve.errors import SolverUnavailable
from allocsolve.adaptors import PolicyDriver
from allocsolve.heuristics import ResourceProfile, compact, easy_starts, fit, manhattan_median
from allocsolve.instances import klein2011, read_problem, write_problem

assert easy_starts(1, 1, [4, 1], [10, 50], [3], [100]).tolist() == [1]
assert PolicyDriver("slurm-backfill", 4).decide(0, free=4, queue=()) == []
busy, request = EvolutionProfile([(100, 6), (50, 8)]), EvolutionProfile([(30, 2), (30, 2), (30, 6)])
placed = fit(request, busy, num_nodes=10, earliest_start=20)
assert (placed.start, placed.completion) == (20, 180)
assert compact(request, busy, num_nodes=10, placement=placed).start == 90
cluster = ResourceProfile(10)
cluster.reserve(0, busy)
assert cluster.earliest_window(nodes=5, duration=60) == 150
free = np.ones(32, dtype=bool)
free[[0, 9, 10]] = False
assert manhattan_median(Torus((8, 4)), free, 4).tolist() == [8, 16, 17, 24]
problem = EvolutionProblem(10, (request, busy))
assert solve(problem, "noX").objective == 240
assert solve(PartitionProblem(Torus((8, 4)), free, 4), "branch-and-bound").objective == 8
drawn = klein2011(1, num_apps=(3, 3))
write_problem(drawn, "problem.csv")
assert read_problem("problem.csv").applications == drawn.applications
assert solve(drawn, "annealing", seconds=1).status.value == "feasible"
for solver in ("cpsat", "milp"):
    try:
        solve(problem, solver)
    except SolverUnavailable as error:
        print(error)
"""


@pytest.fixture
def _without(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return None if name in request.param else ModuleSpec(name, None)

    monkeypatch.setattr(errors, "find_spec", find_spec)


@pytest.mark.usefixtures("_without")
@pytest.mark.parametrize("_without", [("ortools",)], indirect=True)
def test_a_missing_backend_is_named_with_what_to_do() -> None:
    with pytest.raises(SolverUnavailable) as refusal:
        solve(klein2011(1, num_apps=(2, 2)), "cpsat")
    assert str(refusal.value) == "cpsat needs ortools, which is not installed: pip install ortools"


@pytest.mark.usefixtures("_without")
@pytest.mark.parametrize("_without", [("psutil", "rich")], indirect=True)
def test_a_command_names_what_it_lacks() -> None:
    with pytest.raises(SystemExit) as refusal:
        __main__.entry()
    missing = "psutil and rich, which are not installed: pip install psutil rich"
    assert refusal.value.code == f"allocsolve: error: the command line needs {missing}"


def test_the_rows_of_solvers_say_which_backends_they_load() -> None:
    """What the modules of a solver import, at whatever place, is what its row says."""
    for family, row in solver_rows():
        solver = row.load()
        file = sys.modules[type(solver).__module__].__file__
        assert file is not None
        source = Path(file).read_text(encoding="utf-8")
        for backend in ("ortools", "pulp"):
            if re.search(rf"(?m)^ *(?:from|import) {backend}\b", source):
                assert backend in row.needs, (family.kind, row.name)


def _run(*argv: str | Path, status: int = 0, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA"))}
    done = subprocess.run(
        [str(arg) for arg in argv],
        cwd=cwd,
        env=clean | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done


def test_the_light_installation_has_what_a_simulator_needs(wheel: Path, tmp_path: Path) -> None:
    _run(sys.executable, "-m", "venv", "env", cwd=tmp_path)
    programs = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    probe = subprocess.run(
        [*map(str, pip), "download", "--quiet", "--no-deps", "--dest", str(tmp_path), "hatchling"],
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip(f"no package index can be reached: {probe.stderr.strip().splitlines()[-1]}")
    _run(*pip, "install", "--quiet", ROOT / "light", cwd=tmp_path)
    _run(*pip, "check", cwd=tmp_path)
    listed = _run(*pip, "list", "--format=freeze", cwd=tmp_path).stdout
    assert {line.partition("==")[0] for line in listed.splitlines()} - {"pip", "setuptools"} == {
        "allocsolve",
        "lazy-loader",
        "llvmlite",
        "numba",
        "numpy",
        "packaging",  # of lazy-loader
    }
    printed = _run(python, "-W", "error", "-c", SIMULATOR, cwd=tmp_path).stdout
    assert printed.splitlines() == [
        "cpsat needs ortools and scipy, which are not installed: pip install ortools scipy",
        "milp needs pulp and scipy, which are not installed: pip install pulp scipy",
    ]
    trail = trails()["simulator"]
    searched = os.pathsep.join([str(programs), os.environ["PATH"]])
    shell = ("bash", "-euo", "pipefail", "-c", trail.commands)
    assert matches(trail.shown, _run(*shell, cwd=tmp_path, PATH=searched).stdout)
    refusal = _run(programs / "allocsolve", "solvers", status=1, cwd=tmp_path).stderr
    assert refusal.count("\n") == 1
    assert "pip install psutil rich" in refusal
    # The whole package takes the place of the light one: then the others are asked for.
    _run(*pip, "install", "--quiet", "--no-deps", "--force-reinstall", wheel, cwd=tmp_path)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"allocsolve {version} requires ortools" in _run(*pip, "check", status=1, cwd=tmp_path).stdout


def test_the_light_project_asks_for_a_part_of_what_the_whole_one_does() -> None:
    whole, light = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, ROOT / "light")
    )
    assert set(light["dependencies"]) < set(whole["dependencies"])
    assert light["scripts"] == whole["scripts"]
    assert light["requires-python"] == whole["requires-python"]
    assert light["name"] == whole["name"]
