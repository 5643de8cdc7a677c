"""The gate in somebody else's project: the action of GitHub, and the fixture of pytest."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from process_tools import python

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
(WORKFLOW,) = re.findall(
    r"^```{code-block} yaml\n:caption: \S+\n\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)

#: A program that writes down its arguments.
SHIM = """#!/bin/sh
for argument in "$0" "$@"; do printf '%s\\n' "${argument##*/}"; done >> "$CALLED"
exit "${STATUS:-0}"
"""


def run_steps(folder: Path, status: str = "0", **inputs: str) -> tuple[int, list[list[str]]]:
    """Run the shell steps of the action as GitHub does; return the last exit status and what was called."""
    given = {name: entry["default"] for name, entry in ACTION["inputs"].items()} | inputs
    values = {f"inputs.{name}": value for name, value in given.items()} | {
        "github.action_path": "/the/action"
    }
    for name in "python", "allocsolve":
        path = folder / name
        path.write_text(SHIM, encoding="utf-8")
        path.chmod(0o755)
    called, calls, code = folder / "called", [], 0
    for step in ACTION["runs"]["steps"]:
        if "run" not in step:
            continue
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "what a caller gives is no code"
        env = {
            name: re.sub(r"\${{ (\S+) }}", lambda found: values[found[1]], text)
            for name, text in step["env"].items()
        }
        env |= {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "CALLED": str(called), "STATUS": status}
        called.unlink(missing_ok=True)
        code = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],  # noqa: S607 - as GitHub
            env=env,
            check=False,
        ).returncode
        calls.append(called.read_text(encoding="utf-8").splitlines())
        if code:
            break
    return code, calls


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        ({}, []),
        ({"baseline": "my gate.json"}, ["--baseline", "my gate.json"]),
        (
            {"baseline": "g", "solvers": "mine:S(a=1, b=2),noX", "suite": "tiny"},
            ["--baseline", "g", "--solvers", "mine:S(a=1, b=2),noX", "--suite", "tiny"],
        ),
        (
            {"update": "true", "suite": "$(touch hacked); '\""},
            ["--suite", "$(touch hacked); '\"", "--update"],
        ),
    ],
)
def test_the_steps_install_and_run_the_gate(
    tmp_path: Path, inputs: dict[str, str], options: list[str]
) -> None:
    code, calls = run_steps(tmp_path, **inputs)
    assert code == 0
    assert calls == [["python", "-m", "pip", "install", "action"], ["allocsolve", "gate", *options]]


def test_a_failing_gate_fails_the_step(tmp_path: Path) -> None:
    assert run_steps(tmp_path, status="1")[0] == 1


def test_the_action_is_one() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert set(ACTION["inputs"]) >= {"baseline", "solvers", "suite", "python-version"}
    for entry in ACTION["inputs"].values():
        assert entry["description"]
        assert isinstance(entry["default"], str)
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert [name.partition("@")[0] for name in used] == ["actions/setup-python"]
    known = {f"inputs.{name}" for name in ACTION["inputs"]} | {"github.action_path"}
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"\${{ (\S+) }}", text)) <= known
    assert "://" not in text


def test_the_workflow_of_the_page_uses_it() -> None:
    workflow = yaml.safe_load(WORKFLOW)
    # YAML 1.1 takes "on" for a truth value.
    assert set(workflow[True]) == {"pull_request", "workflow_dispatch"}
    checkout, step, upload = workflow["jobs"]["gate"]["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert re.fullmatch(r"OWNER/allocsolve@\w+", step["uses"])
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert upload["with"]["path"] == step["with"]["baseline"]
    rows = re.findall(r"^\| (`[^|]+`) \|", PAGE[PAGE.index("| input |") :].split("\n\n", 1)[0], re.MULTILINE)
    assert set(re.findall(r"`([a-z-]+)`", " ".join(rows))) == set(ACTION["inputs"])


# --- The fixture --------------------------------------------------------------------------------------


pytest_plugins = ["pytester"]

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
        return {*python("-c", f"import sys, {modules}; print(*sys.modules)")[0].split()}

    heavy = {"numba", "scipy", "ortools", "pulp", "rich", "allocsolve.bench", "allocsolve.heuristics"}
    assert not heavy & loaded("allocsolve.testing.gate")
    assert not {"pytest", "_pytest"} & loaded("allocsolve.testing, allocsolve.cli.parser")
