"""The gate by its command, in folders, by the action of GitHub, and as a fixture of pytest."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cli_tools import Capture, in_this_process, refused, run, run_json
from gate_tools import TINY, Delayed
from process_tools import python

from allocsolve import solve
from allocsolve.bench import run_gate
from allocsolve.bench.gate.baseline import read_baseline
from allocsolve.errors import FormatError, UnsupportedProblem
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import write_problem
from allocsolve.model import EvolutionProblem, EvolutionProfile, Job, Profile, Status, WorkloadProblem
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugin_tools import Site

    from allocsolve.families import AnySolver


#: A solver of somebody else.
MINE = """
from dataclasses import dataclass, replace
from allocsolve import EvolutionProblem
from allocsolve.heuristics import ListScheduling

@dataclass(frozen=True)
class Mine:
    def __call__(self, problem: EvolutionProblem, budget):
        return ListScheduling()(problem, budget)
"""


@pytest.fixture(autouse=True)
def untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have results only compared: times have tests of their own."""
    monkeypatch.setattr("allocsolve.bench.gate.timing.timing_problems", lambda _: {})


@pytest.fixture
def baseline(tmp_path: Path, capsys: Capture) -> Iterator[Path]:
    """A baseline of results, made in this process."""
    path = tmp_path / "gate.json"
    with in_this_process():
        out = run(capsys, "gate", "--baseline", path, "--update", "--solvers", "noX,rigid")
        counts = f"{len(TINY)} problems, 2 solvers, 0 of them timed"
        assert out == f"tiny: {counts}; 0 changes, written to {path}\n"
        yield path


def worse(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(name: str, *args: object) -> AnySolver:
        solver = make_solver(name, *args)  # type: ignore[arg-type]  # as they come
        return Delayed(solver) if name == "noX" else solver

    monkeypatch.setattr("allocsolve.registry.make_solver", make)


def test_passing(capsys: Capture, baseline: Path) -> None:
    count = len(TINY)
    expected = f"tiny: {count} problems, 2 solvers, 0 of them timed; as in {baseline}\n"
    assert run(capsys, "gate", "--baseline", baseline) == expected
    document = run_json(capsys, "gate", "--baseline", baseline, "--suite", "tiny", "--solvers", "noX")
    counts = {"problems": count, "solvers": 1, "timed": 0, "time_factor": 1.5, "changes": [], "faster": []}
    where = {"baseline": str(baseline), "suite": "tiny"}
    assert document == {"passed": True, "updated": False, **where, **counts}


def test_failing_and_updating(capsys: Capture, baseline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worse(monkeypatch)
    before = baseline.read_bytes()
    out = run(capsys, "gate", "--baseline", baseline, status=1)
    assert out.startswith("what ")
    for problem in TINY:
        assert re.search(rf"^worse +evolution +noX +{re.escape(problem.name)} ", out, re.MULTILINE)
    assert "+1.00 %" in out
    assert re.search(r"^mean gap +evolution +noX +- ", out, re.MULTILINE)
    assert " rigid " not in out
    assert "accept them with --update" in out
    document = run_json(capsys, "gate", "--baseline", baseline, status=1)
    assert not document["passed"]
    assert len(document["changes"]) == len(TINY) + 1
    assert baseline.read_bytes() == before
    out = run(capsys, "gate", "--baseline", baseline, "--update")
    assert f"{len(TINY) + 1} changes, written to" in out
    assert "as in" in run(capsys, "gate", "--baseline", baseline)


def test_failures_are_told_below_the_table(
    capsys: Capture, baseline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        msg = "out of order"
        raise RuntimeError(msg)

    monkeypatch.setattr(ListScheduling, "__call__", broken)
    before = baseline.read_bytes()
    for update in [], ["--update"]:
        out = run(capsys, "gate", "--baseline", baseline, *update, status=1)
        assert f"failed: noX on {TINY[0].name}: RuntimeError: out of order\n" in out
    assert baseline.read_bytes() == before


def test_what_the_project_file_says(capsys: Capture, third: Site) -> None:
    assert "there is neither --baseline nor a baseline in [tool.allocsolve.gate]" in refused(capsys, "gate")
    solver = "plugin_of_a_project:Mine"
    third.module("plugin_of_a_project", MINE, head="")
    for name, count in (("few", 2), ("other", 1)):
        (third.folder / name).mkdir()
        for problem in TINY[:count]:
            write_problem(problem, third.folder / name / f"{problem.name}.json")
    project = third.folder / "pyproject.toml"
    project.write_text(
        f"""[project]
name = "mine"
[tool.allocsolve.gate]
baseline = "held.json"
suite = "few"
solvers = ["{solver}", "rigid"]
""",
        encoding="utf-8",
    )
    assert run(capsys, "gate", "--update").startswith("few: 2 problems, 2 solvers")
    document = json.loads((third.folder / "held.json").read_text(encoding="utf-8"))
    assert document["solvers_asked"] == [solver, "rigid"]
    with in_this_process():
        assert run_json(capsys, "gate")["solvers"] == 2
        run(capsys, "gate", "--baseline", "other.json", "--suite", "other", "--solvers", "noX", "--update")
    assert (third.folder / "other.json").exists()
    project.write_text(project.read_text(encoding="utf-8").replace('"rigid"', '"noX"'), encoding="utf-8")
    assert "noX is not in the baseline held.json" in refused(capsys, "gate")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[tool.allocsolve.gate]\nsolver = []", "unknown field 'solver'; did you mean solvers?"),
        (
            "[tool.allocsolve.gate]\nsolvers = 'noX'",
            "tool.allocsolve.gate.solvers: 'noX' is not a list of names",
        ),
        ("[tool.allocsolve.gate]\nsolvers = [1]", "tool.allocsolve.gate.solvers: [1] is not a list of names"),
        ("[tool.allocsolve.gate]\nsuite = 1979-05-27", "tool.allocsolve.gate.suite: "),
        ("[tool]\nallocsolve = 3", "allocsolve: 3 is not a table"),
        ("[tool", "pyproject.toml: "),
        (f"a = {'9' * 5000}", "pyproject.toml: "),
        (f"a = {'[' * 5000}", "pyproject.toml: "),
        ("a = '\ud800'", "pyproject.toml: "),
    ],
)
def test_a_bad_project_file_is_one_line(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_bytes(text.encode(errors="surrogatepass"))
    assert fault in refused(capsys, "gate", "--baseline", "gate.json", "--update")


def test_bad_input(capsys: Capture, baseline: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    assert "cannot be written: is a directory" in refused(capsys, "gate", "--baseline", tmp_path, "--update")
    lost = tmp_path / "no" / "gate.json"
    assert "there is no directory" in refused(capsys, "gate", "--baseline", lost, "--update")
    new = ("gate", "--baseline", missing, "--update")
    assert "noX is named twice" in refused(capsys, *new, "--solvers", "noX,noX")
    document = json.loads(baseline.read_text(encoding="utf-8"))
    baseline.write_text(json.dumps({**document, "format": "allocsolve-gate/9"}), encoding="utf-8")
    for update in [], ["--update"]:
        said = refused(capsys, "gate", "--baseline", baseline, *update)
        assert "format: must be 'allocsolve-gate/1', not 'allocsolve-gate/9'" in said
    baseline.write_text("{]", encoding="utf-8")
    assert "gate.json: line 1, column 2" in refused(capsys, "gate", "--baseline", baseline)
    assert not missing.exists()


# --- Folders ------------------------------------------------------------------------------------------


STEPS = EvolutionProfile([(10, 2), (5, 3)])
PROBLEMS: dict[str, Any] = {
    "apps": EvolutionProblem(4, (STEPS, STEPS), name="the same name"),
    "rigid": WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 50)], name="the same name"),
    "evolving": WorkloadProblem(
        4, [Job(0, 2, 15, min_nodes=2, max_nodes=3, evolution=Profile(STEPS))], name="the same name"
    ),
}
SOLVERS = "noX,easy,evolv-easyback"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of problems of two families."""
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, problem in PROBLEMS.items():
        write_problem(problem, mine / f"{name}.json")
    with in_this_process():
        yield mine


def written(capsys: Capture, baseline: object, suite: object = "mine") -> str:
    return run(capsys, "gate", "--suite", suite, "--baseline", baseline, "--solvers", SOLVERS, "--update")


@pytest.mark.parametrize("place", ["held.json", "deep/held.json", "mine/held.json"])
def test_both_may_move_together(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    home, count = folder.parent, "3 problems, 3 solvers, 0 of them timed"
    (home / "deep").mkdir()
    assert written(capsys, place) == f"mine: {count}; 0 changes, written to {place}\n"
    held = read_baseline(home / place)
    assert {row.problem for row in held.problems} == {*PROBLEMS}
    assert "/" in held.suite
    assert run(capsys, "gate", "--baseline", place).endswith(f"{count}; as in {place}\n")
    assert run(capsys, "gate", "--baseline", place, "--suite", folder).startswith(f"{folder}: {count}; as in")
    moved = home / "elsewhere"
    moved.mkdir()
    for name in ("mine", "deep"):
        shutil.move(home / name, moved / name)
    if place == "held.json":
        shutil.move(home / place, moved / place)
    monkeypatch.chdir(home / "elsewhere" / "mine")
    assert run_json(capsys, "gate", "--baseline", moved / place)["passed"]


def test_a_solver_that_is_not_made_for_a_problem_has_no_answer(folder: Path, capsys: Capture) -> None:
    written(capsys, "held.json")
    by = {(row.problem, row.solver): row for row in read_baseline("held.json").results}
    assert by["evolving", "easy"].status is Status.UNKNOWN
    assert by["evolving", "easy"].value is None
    assert by["evolving", "evolv-easyback"].value == 15
    assert by["rigid", "easy"].value is not None
    assert {row.problem for row in read_baseline("held.json").problems} == {
        path.stem for path in folder.glob("*.json")
    }


@pytest.mark.parametrize("solver", ["easy", "serial-generation", "malleable-min", "static-price", "prices"])
def test_who_is_not_made_for_a_problem_says_so_in_one_way(solver: str) -> None:
    """Those that take evolving jobs have an answer; the others raise what is no failure."""
    with contextlib.suppress(UnsupportedProblem):
        assert solve(PROBLEMS["evolving"], solver).answer is not None


def test_problems_that_come_go_and_change(folder: Path, capsys: Capture) -> None:
    written(capsys, "held.json")
    (folder / "apps.json").rename(folder / "other.json")
    write_problem(WorkloadProblem(5, [Job(0, 3, 100)]), folder / "rigid.json")
    told = run_json(capsys, "gate", "--baseline", "held.json", status=1)
    changes = {(change["what"], change["problem"]) for change in told["changes"]}
    assert changes == {("problem gone", "apps"), ("problem new", "other"), ("problem changed", "rigid")}
    assert "3 changes, written to held.json" in run(capsys, "gate", "--baseline", "held.json", "--update")
    file = folder / "rigid.json"  # a new name in it changes nothing
    file.write_text(json.dumps({**json.loads(file.read_text()), "name": "renamed", "meta": {"a": 1}}))
    assert "; as in held.json" in run(capsys, "gate", "--baseline", "held.json")


def test_bad_folders_are_one_line(folder: Path, capsys: Capture) -> None:
    def says(*options: object) -> str:
        return refused(capsys, "gate", "--baseline", "held.json", *options)

    assert "held.json: cannot be read: No such file or directory; an update writes it" in says()
    update = ("--solvers", SOLVERS, "--update")
    (folder.parent / "empty").mkdir()
    assert "empty: there is no .json file in this directory" in says("--suite", "empty", *update)
    assert "no/where: there is no such directory" in says("--suite", "no/where", *update)
    assert "mine/apps.json: is a file, not a directory of problems" in says(
        "--suite", "mine/apps.json", *update
    )
    assert "unknown suite 'mein'" in says("--suite", "mein", *update)
    written(capsys, "held.json")
    assert "held.json is a baseline of the suite mine, not tiny" in says("--suite", "tiny")
    assert "held.json is a baseline of the suite mine, not empty" in says("--suite", "empty")
    broken = folder / "broken.json"
    for text, fault in (("{", "line 1, column 2"), ("[]", "must be an object"), ("{}", "format: missing")):
        broken.write_text(text)
        assert f"{broken.relative_to(folder.parent)}: {fault}" in says()
    broken.unlink()
    folder.rename(folder.parent / "away")
    assert "held.json: suite: there is no directory mine" in says()


def test_a_folder_goes_before_a_suite_of_its_name(folder: Path, capsys: Capture) -> None:
    folder.rename(folder.parent / "tiny")
    assert written(capsys, "held.json", "tiny").startswith("tiny: 3 problems")
    assert read_baseline("held.json").suite == "./tiny"
    with pytest.raises(FormatError, match=r"there is no such directory"):
        run_gate("held.json", suite=folder)


# --- Elsewhere ----------------------------------------------------------------------------------------


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

SUITE = f"""{MINE}
def test_gate(allocsolve_gate):
    allocsolve_gate(solvers=[Mine(), "rigid"], suite="tiny", baseline="gate.json")
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


def run_pytest(project: pytest.Pytester, *argv: str) -> pytest.RunResult:
    # Each in a process of its own: plugins and modules are loaded anew.
    return project.runpytest_subprocess("-p", "no:cacheprovider", "checks", *argv)


def test_the_whole_story(project: pytest.Pytester) -> None:
    first = run_pytest(project)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*there is no baseline *gate.json: write it with*--allocsolve-update-gate*"])
    run_pytest(project, "--allocsolve-update-gate").assert_outcomes(passed=1)
    baseline = project.path / "checks" / "gate.json"
    text = baseline.read_text(encoding="utf-8")
    assert '"solver": "Mine()"' in text
    assert text.count('"time_factor": 1.5') == 1
    # Times are not what this is about: the machine may be busy.
    baseline.write_text(text.replace('"time_factor": 1.5', '"time_factor": 1e6'), encoding="utf-8")
    run_pytest(project).assert_outcomes(passed=1)
    write(project, WORSE)
    worse = run_pytest(project)
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["*changed from *gate.json:", "*worse: Mine() on *(+0.0? %)*"])
    worse.stdout.no_fnmatch_line("*rigid*")
    worse.stdout.no_fnmatch_line("*run_gate*")  # no traceback through our code


def test_bad_input_is_one_line(project: pytest.Pytester) -> None:
    write(project, SUITE.replace('"tiny"', '"tinny"'))
    result = run_pytest(project, "--allocsolve-update-gate")
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
