"""The fixture of the gate in somebody else's test suite."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
from dataclasses import dataclass, replace
from allocsolve import EvolutionProblem
from allocsolve.heuristics import ListScheduling

@dataclass(frozen=True)
class MySolver:
    def __call__(self, problem: EvolutionProblem, budget):
        return ListScheduling()(problem, budget)

def test_gate(allocsolve_gate):
    allocsolve_gate(solvers=[MySolver(), "rigid"], suite="tiny", baseline="gate.json")
"""
#: The same solver, a second later.
WORSE = SUITE.replace(
    "return ListScheduling()(problem, budget)",
    """result = ListScheduling()(problem, budget)
        answer = result.answer
        late = type(answer)(answer.starts + 1, answer.offsets, answer.durations, answer.nodes)
        return replace(result, answer=late)""",
)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with one test, where the plugin is installed by the entry point of ours."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [f"{name} = {module}" for name, module in config["project"]["entry-points"]["pytest11"].items()]
    info = pytester.mkdir("allocsolve_plugin-1.dist-info")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: allocsolve-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    pytester.syspathinsert()
    (pytester.path / "checks").mkdir()
    write(pytester, SUITE)
    return pytester


def write(project: pytest.Pytester, text: str) -> None:
    (project.path / "checks" / "test_mine.py").write_text(text, encoding="utf-8")


def run(project: pytest.Pytester, *argv: str) -> pytest.RunResult:
    # Each in a process of its own: plugins and modules are loaded anew.
    return project.runpytest_subprocess("-p", "no:cacheprovider", "checks", *argv)


def test_the_whole_story(project: pytest.Pytester) -> None:
    first = run(project)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*there is no baseline *gate.json: write it with*--allocsolve-update-gate*"])
    run(project, "--allocsolve-update-gate").assert_outcomes(passed=1)
    baseline = project.path / "checks" / "gate.json"
    text = baseline.read_text(encoding="utf-8")
    assert '"solver": "MySolver()"' in text
    assert text.count('"time_factor": 1.5') == 1
    # Times are not what this is about: the machine may be busy.
    baseline.write_text(text.replace('"time_factor": 1.5', '"time_factor": 1e6'), encoding="utf-8")
    run(project).assert_outcomes(passed=1)
    write(project, WORSE)
    worse = run(project)
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["*changed from *gate.json:", "*worse: MySolver() on *(+0.0? %)*"])
    worse.stdout.no_fnmatch_line("*rigid*")
    worse.stdout.no_fnmatch_line("*run_gate*")  # no traceback through our code


def test_bad_input_is_one_line(project: pytest.Pytester) -> None:
    write(project, SUITE.replace('"tiny"', '"tinny"'))
    result = run(project, "--allocsolve-update-gate")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unknown suite 'tinny'; did you mean tiny*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_the_plugin_is_light_and_nothing_else_needs_pytest() -> None:
    """Every run of pytest loads it, wherever allocsolve is installed."""

    def loaded(modules: str) -> set[str]:
        code = f"import sys, {modules}; print(*sys.modules)"
        return {*subprocess.check_output([sys.executable, "-c", code], text=True).split()}

    heavy = {"numba", "scipy", "ortools", "pulp", "rich", "allocsolve.bench", "allocsolve.heuristics"}
    assert not heavy & loaded("allocsolve.testing.gate")
    assert not {"pytest", "_pytest"} & loaded("allocsolve.testing, allocsolve.cli.parser")
