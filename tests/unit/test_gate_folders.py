"""The regression gate on problems of one's own: a folder of files instead of a suite of the package."""

from __future__ import annotations

import contextlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import refused, run, run_json

from allocsolve import solve
from allocsolve.bench import run_gate
from allocsolve.bench.gate.baseline import read_baseline
from allocsolve.errors import FormatError, UnsupportedProblem
from allocsolve.instances import write_problem
from allocsolve.model import EvolutionProblem, EvolutionProfile, Job, Profile, Status, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of problems of two families; results only are compared."""
    monkeypatch.setattr("allocsolve.bench.gate.timing.timing_problems", lambda _: {})
    monkeypatch.setattr("allocsolve.bench.open_executor", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, problem in PROBLEMS.items():
        write_problem(problem, mine / f"{name}.json")
    return mine


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
