"""Bad input about partition problems: one line on stderr, exit status 2, nothing on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve.instances import (
    klein2011,
    write_problem,
)
from allocsolve.model import Mesh, PartitionProblem

if TYPE_CHECKING:
    from pathlib import Path

from cli_tools import Capture, refused, run

SQUARE = PartitionProblem.of(Mesh((4, 3)), busy=[5, 8], size=4, name="square")
WORST = ["median-worst-case"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "square.json"
    write_problem(SQUARE, path)
    return path


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--solver", "grwth"], ["'grwth'", "growth"]),
        (["--solver", "noX"], ["unknown partition solver 'noX'"]),
        (
            ["--solver", "growth", "--objective", "makespan"],
            ["unknown objective 'makespan'; known: pairwise"],
        ),
        (["--solver", "growth", "--objective", "pairwize"], ["'pairwize'; did you mean pairwise"]),
        (
            ["--solver", "growth", "--objective", "pairwise,makespan"],
            ["no kind of problems has all of pairwise, makespan"],
        ),
        (["--solver", "growth", "--set", "expand_limit=2"], ["expand_limit=2", "kind partition"]),
        (["--solver", "growth", "--plot", "gone/p.svg"], ["gone/p.svg: cannot be written"]),
    ],
)
def test_bad_options_of_solve(options: list[str], parts: list[str], file: Path, capsys: Capture) -> None:
    err = refused(capsys, "solve", file, *options)
    for part in parts:
        assert part in err


def test_expand_limit_is_refused_by_check_and_score(file: Path, tmp_path: Path, capsys: Capture) -> None:
    message = f"expand_limit=inf does not go with {file}, a problem of the kind partition"
    solution = tmp_path / "s.json"
    run(capsys, "solve", file, "--solver", "growth", "--out", solution)
    assert message in refused(capsys, "check", file, solution, "--set", "expand_limit=inf")
    out = tmp_path / "out"
    args = ("score", file, "--solvers", "growth", "--set", "expand_limit=inf", "--out", out)
    assert message in refused(capsys, *args)
    assert not out.exists()


def test_kinds_do_not_mix(file: Path, tmp_path: Path, capsys: Capture) -> None:
    other, out = tmp_path / "e.json", tmp_path / "out"
    write_problem(klein2011(1), other)
    args = ("score", file, other, "--solvers", "cpsat", "--out", out)
    assert "problems of several kinds cannot be compared: evolution, partition" in refused(capsys, *args)
    err = refused(capsys, "score", file, "--solvers", "growth,rigid", "--out", out)
    assert "unknown partition solver 'rigid'" in err
    err = refused(capsys, "score", file, "--solvers", "growth", "--baseline", "infX", "--out", out)
    assert "unknown partition solver 'infX'" in err
    err = refused(capsys, "score", other, "--solvers", "noX", "--objective", "pairwise", "--out", out)
    assert "unknown objective 'pairwise'" in err
    assert not out.exists()


def test_a_machine_too_large_to_be_drawn(tmp_path: Path, capsys: Capture) -> None:
    file, svg = tmp_path / "p.json", tmp_path / "p.svg"
    write_problem(PartitionProblem.of(Mesh((257, 256)), size=3), file)
    assert "--plot: 65792 nodes" in refused(capsys, "solve", file, "--solver", "gen-alg", "--plot", svg)
    write_problem(klein2011(1, num_apps=(500, 500)), file)
    assert "too many to draw" in refused(capsys, "solve", file, "--solver", "noX", "--plot", svg)
    assert not svg.exists()


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["occupancy", "--shape", "4x0"], ["--shape", "'0' is below 1"]),
        (["occupancy", "--shape", "9999x9999"], ["2^24"]),
        (["occupancy", "--machine", "titen"], ["--machine", "'titen'; did you mean titan"]),
        (["occupancy", "--machine", "titan", "--shape", "4x3"], ["--shape", "--machine"]),
        (["occupancy", "--machine", "titan", "--torus"], ["--machine titan has its own rings"]),
        (["occupancy", "--shape", "4x3", "--wrap", "1"], ["wrap has 1 entries for the 2 axes"]),
        (["occupancy", "--shape", "4x3", "--wrap", "1,1", "--torus"], ["--torus", "--wrap"]),
        (
            ["occupancy", "--shape", "4x3", "--complete", "1,0", "--torus"],
            ["axis 0 is a ring by wrap and complete"],
        ),
        (["occupancy", "--machine", "titan", "--complete", "1,0,0"], ["--machine titan has its own rings"]),
        (["occupancy", "--shape", "4x3", "--box", "2x"], ["--box", "''"]),
        (["occupancy", "--shape", "4x3", "--box", "3x2"], ["box [3, 2] has 6 nodes"]),
        (["occupancy"], ["--machine --shape"]),
        (["occupancy", "--shape", "4x3", "--busy", "1.5"], ["--busy", "1.5 is not in 0..1"]),
        (["occupancy", "--shape", "4x3", "--size", "13"], ["size 13 is above the"]),
        (
            ["churn", "--shape", "4x3", "--allocator", "branch-and-bound"],
            ["--allocator", "'branch-and-bound'"],
        ),
        (["churn", "--shape", "4x3", "--allocator", "noX"], ["--allocator", "'noX'"]),
        (["churn", "--shape", "4x4", "--allocator", "kueue"], ["unknown partition solver 'kueue'"]),
        (["churn", "--machine", "nvl72", "--allocator", "growth"], ["unknown placement solver 'growth'"]),
        (["churn", "--shape", "4x3"], ["--allocator"]),
        (["churn", "--shape", "4x3", "--allocator", "growth", "--jobs", "5-2"], ["--jobs", "5-2"]),
        (["churn", "--shape", "4x3", "--allocator", "growth", "--jobs", "13"], ["13"]),
        ([*WORST, "--distance", "12", "--size", "12"], ["size 12 is not a positive multiple of 8"]),
        ([*WORST, "--distance", "2"], ["distance 2"]),
        (WORST, ["--distance"]),
        ([*WORST, "--distance", "12", "--step", "0"], ["'0' is below 1"]),
    ],
)
def test_bad_options_of_generate(
    options: list[str], parts: list[str], tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "new"
    name, *given = options
    defaults = {} if name == WORST[0] else {"--busy": "0.25", "--size": "4", "--count": "2", "--seed": "1"}
    filled = [part for option, text in defaults.items() if option not in given for part in (option, text)]
    err = refused(capsys, "generate", name, *given, *filled, "--out", out)
    for part in parts:
        assert part in err
    assert not out.exists()
