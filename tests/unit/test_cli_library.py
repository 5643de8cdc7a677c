"""The commands on the instance library by calling `main`: what they print, write and return."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from cli_tools import Capture, refused, run, run_json
from library_tools import small_library

from allocsolve.bench.library import design
from allocsolve.cli import main
from allocsolve.errors import UnsupportedProblem
from allocsolve.exact import EvolutionCpSat
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import PACKAGED, Library

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from allocsolve.instances import Suite
    from allocsolve.model import EvolutionProblem


def test_list_of_the_packaged_library(capsys: Capture) -> None:
    found = run_json(capsys, "library", "list")
    assert found["library"] == str(PACKAGED)
    assert [suite["name"] for suite in found["suites"]] == list(Library())
    for suite in found["suites"]:
        assert suite["instances"] == len(Library()[suite["name"]].members)
    text = run(capsys, "library", "list")
    for suite in found["suites"]:
        (line,) = (line for line in text.splitlines() if line.startswith(f"{suite['name']} "))
        objective, counts = next(iter(suite["objectives"].items()))
        numbers = [str(suite["instances"]), objective, str(counts["optimal"]), str(counts["open"])]
        assert line.split()[1:5] == numbers
        assert line.endswith(suite["summary"])


def test_list_verify_and_improve(tmp_path: Path, capsys: Capture) -> None:
    small_library(tmp_path)
    where = ("--library", tmp_path)
    rows = [line.split() for line in run(capsys, "library", "list", *where).splitlines()]
    assert rows[2:] == [
        ["klein", "2", "-", "0", "0", "three", "applications"],
        ["mesh", "1", "-", "0", "0", "a", "small", "mesh"],
        ["both", "2", "-", "0", "0", "of", "both", "kinds"],
    ]
    text = run(capsys, "library", "verify", *where, status=1)
    assert "best_known.json: cannot be read: No such file or directory" in text
    assert text.splitlines()[-1] == "3 instances: 2 faults"
    text = run(capsys, "library", "improve", "both", "--seconds", 600, "--workers", 1, *where)
    lines = text.splitlines()
    assert lines[0] == "mesh-0: branch-and-bound: pairwise 8; bound 8, optimal"
    assert lines[-1] == "2 runs: 2 better solutions, 2 better bounds, 2 proven optimal, 0 refused"
    found = run_json(capsys, "library", "improve", "klein", "both", "--solver", "noX", *where)
    (change,) = found["changes"]
    assert (change["instance"], change["solver"], change["optimal"]) == ("klein-0", "cpsat", True)
    assert [entry["kind"] for entry in change["entries"]] == ["solution", "bound"]
    assert change["lower"] == change["upper"] == change["entries"][0]["value"]
    told = {"library": str(tmp_path), "instances": 3, "bounds": 3, "bounds_claimed": 1, "faults": []}
    assert run_json(capsys, "library", "verify", *where) == told
    assert run(capsys, "library", "verify", "klein", *where).splitlines() == [
        "2 instances: all that is stated holds",
        "2 lower bounds: 1 recomputed, 1 as claimed by exact solvers",
    ]
    (suite,) = (s for s in run_json(capsys, "library", "list", *where)["suites"] if s["name"] == "both")
    proven = {"optimal": 1, "open": 0}
    assert suite["objectives"] == {"pairwise": proven, "makespan": proven}
    text = run(capsys, "library", "improve", "klein", "--objective", "completion", *where)
    assert len(re.findall(r"klein-\d: cpsat: completion \d+(\.\d)?; bound \d+(\.\d)?, optimal\n", text)) == 2
    rows = [line.split() for line in run(capsys, "library", "list", *where).splitlines()]
    assert rows[2] == ["klein", "2", "completion", "2", "0", "three", "applications"]
    assert rows[3] == ["makespan", "2", "0"]
    (tmp_path / "mesh" / "solutions" / "mesh-0.pairwise.json").unlink()
    found = run_json(capsys, "library", "verify", *where, status=1)
    assert len(found["faults"]) == 1, "the instance is in two suites"


def test_claims_that_are_refused_and_solvers_that_do_not_apply_are_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_library(tmp_path)
    raised: list[type[Exception]] = [RuntimeError]

    def broken(_: object, problem: EvolutionProblem, __: object) -> Any:
        raise raised[0](f"{problem.name} brings no luck")

    monkeypatch.setattr(ListScheduling, "__call__", broken)
    monkeypatch.setattr(EvolutionCpSat, "__call__", broken)
    # In this process, where the solvers are broken.
    monkeypatch.setattr("allocsolve.bench.open_executor", lambda *_, **__: nullcontext())
    args = ("library", "improve", "klein", "--solver", "noX", "--library", tmp_path)
    runs = [(f"klein-{i}", name) for i in (0, 1) for name in ("cpsat", "noX")]
    nothing = "4 runs: 0 better solutions, 0 better bounds, 0 proven optimal, "
    text = run(capsys, *args, status=1)
    assert text.splitlines() == [
        *(f"{one}: {name} refused: RuntimeError: {one} brings no luck" for one, name in runs),
        f"{nothing}4 refused",
    ]
    raised[0] = UnsupportedProblem
    assert run(capsys, *args).splitlines() == [
        *(f"{one}: {name} does not apply: {one} brings no luck" for one, name in runs),
        f"{nothing}0 refused, 4 of a solver that does not apply",
    ]
    changes = run_json(capsys, *args)["changes"]
    told = {(change["error"], change["unsupported"]) for change in changes}
    assert told == {("", f"klein-{i} brings no luck") for i in (0, 1)}


def test_interrupted(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    small_library(tmp_path)

    def improve(suites: list[Suite], *_: object, **__: object) -> Any:
        assert suites
        raise KeyboardInterrupt

    monkeypatch.setattr("allocsolve.bench.improve_suites", improve)
    assert main(["library", "improve", "klein", "--library", str(tmp_path)]) == 130
    kept = f"interrupted; what the 0 runs before found is in {tmp_path}, the same command goes on from there"
    assert capsys.readouterr().err == f"allocsolve: {kept}\n"


def test_a_library_that_is_read_only(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_library(tmp_path)
    access = os.access  # root may write anywhere
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    err = refused(capsys, "library", "improve", "mesh", "--library", tmp_path)
    assert err == f"allocsolve: error: {tmp_path}/mesh: cannot be written: permission denied\n"


def test_build(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [suite for suite in design.DESIGN if suite.name in {"towns", "median-worst-case"}]
    monkeypatch.setattr(design, "DESIGN", few)
    monkeypatch.setattr(design, "SELECTIONS", ())
    where = ("--library", tmp_path / "new")
    assert run(capsys, "library", "build", *where) == f"11 problems written to {tmp_path / 'new'}\n"
    assert run_json(capsys, "library", "build", *where)["written"] == 0
    assert list(Library(tmp_path / "new")) == ["median-worst-case", "towns"]
