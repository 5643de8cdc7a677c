"""Bad input: exit status 2, one line on stderr that names place and value, nothing on stdout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused

from allocsolve.cli import main
from allocsolve.instances import klein2011, write_problem, write_solution
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule

if TYPE_CHECKING:
    from pathlib import Path


PROBLEM: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "evolution",
    "num_nodes": 10,
    "expand_limit": 2,
    "applications": [{"steps": [[5, 1]]}, {"steps": [[5, 2], [7, 3]]}],
}


SOLVE = ["solve", "x.json", "--solver", "noX"]
TABLES = ["reproduce", "klein2011", "--tests", "3"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A good problem with the expand limit 2."""
    path = tmp_path / "good.json"
    path.write_text(json.dumps(PROBLEM))
    return path


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        (["sovle"], ["sovle", "solve"]),
        (["solve", "x.json"], ["--solver"]),
        (["solve", "x.json", "--solver", "noX", "--fast"], ["--fast"]),
        (["solve", "x.json", "--solver", "cpsta"], ["--solver", "'cpsta'", "did you mean", "cpsat"]),
        ([*SOLVE, "--objective", "makspan"], ["--objective", "'makspan'", "makespan"]),
        ([*SOLVE, "--objective", "waste,waste"], ["--objective", "waste twice"]),
        ([*SOLVE, "--set", "expand_limit=0.5"], ["--set", "expand_limit: 0.5 is below 1"]),
        ([*SOLVE, "--set", "expand_limit=two"], ["--set", "'two'"]),
        (["solve", ".", "--solver", "noX"], [".: "]),
        (["check", "x.json", "y.json", "--set", "expand_limit=nan"], ["--set", "'nan' is not a number"]),
        (["check", "x.json", "y.json", "--set", "limit=2"], ["--set", "no field 'limit'", "expand_limit"]),
        (["check", "x.json", "y.json", "--set", "expand_limit"], ["--set", "not of the form FIELD=VALUE"]),
        ([*SOLVE, "--seconds", "0"], ["--seconds", "0 is not"]),
        ([*SOLVE, "--workers", "0"], ["--workers", "'0' is below 1"]),
        ([*SOLVE, "--plot", "x.png"], ["--plot", "'x.png'", "SVG", "ends in .svg"]),
        (
            ["conformance", "x.json", "y.json", "--claims", "easy", "--picture", "x.png"],
            ["--picture", "'x.png'"],
        ),
        (["solve", "x.json", "--solver", "mine.py"], ["--solver", "'mine.py'", "named as mine:NAME"]),
        (["whatif", "x.swf", "--malleable", "20,120"], ["--malleable", "120 is not in 0..100 per cent"]),
        (["whatif", "x.swf", "--out", "."], [".: cannot be written: is a directory"]),
        ([*SOLVE, "--seed", 2**31], ["--seed", f"is above {2**31 - 1}"]),
        (
            ["solve", "x.json", "--solver", "noX(colour=1)"],
            ["unknown option 'colour'; known: expand_limit, compacting, order\n"],
        ),
        (["score", "tiny"], ["--solvers"]),
        (["score", "tiny", "--solvers", "noX,3X"], ["--solvers", "'3X'", "2X"]),
        (["score", "tiny", "--solvers", "noX,noX"], ["--solvers", "noX is named twice"]),
        (["score", "tiny", "--solvers", "noX", "--baseline", "best"], ["--baseline", "'best'"]),
        (["score", "tyny", "--solvers", "noX"], ["suite", "'tyny'", "tiny"]),
        (["score", "no/tiny", "--solvers", "noX"], ["no/tiny", "No such file"]),
        (["score", "gone.json", "--solvers", "noX"], ["gone.json", "No such file"]),
        (["score", ".", "--solvers", "noX"], [".: there is no .json file"]),
        (["reproduce", "klein2011"], ["--tests is missing"]),
        ([*TABLES, "--seconds", "2"], ["--seconds 2.0", "--optimal only"]),
        ([*TABLES, "--workers", "2"], ["--workers 2", "--optimal only"]),
        ([*TABLES, "--out", "d"], ["--out d", "--optimal only"]),
        ([*TABLES, "--plot", "x.svg"], ["--plot x.svg", "--optimal only"]),
        (
            ["reproduce", "klein2011", "--optimal", "--plot", "no/x.svg"],
            ["no/x.svg", "there is no directory no"],
        ),
        (["reproduce", "klein2012", "--tests", "3"], ["klein2012", "klein2011"]),
        (["import", "swf", "x.swf", "--from-job", "0", "--out", "p"], ["--from-job", "'0'"]),
        (["import", "swf", "gone.swf", "--out", "p"], ["gone.swf", "No such file"]),
        (["generate", "klein2011", "--count", 2, "--out", "p"], ["--seed"]),
    ],
)
def test_bad_command_line(
    argv: list[object], parts: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    err = refused(capsys, *argv)
    for part in parts:
        assert part in err


def test_logs_that_have_seconds_only_take_no_unit_of_times(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "x.swf"
    log.write_text("; MaxNodes: 4\n1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    err = refused(capsys, "whatif", log, "--format", "swf", "--time-unit", "ms")
    assert "--time-unit ms: times of the Standard Workload Format are seconds" in err


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--apps", "20-15"], ["--apps", "20-15"]),
        (["--steps", "0"], ["--steps", "'0' is below 1"]),
        (["--duration", "5-"], ["--duration", "'' is not an integer"]),
        (["--duration", f"5-{2**53 + 1}"], ["--duration", str(2**53 + 1), "2^53"]),
        (["--nodes", "1-75", "--num-nodes", "50"], ["--nodes 1-75", "--num-nodes 50"]),
        (["--count", "9" * 5000], ["--count", "99..."]),
    ],
)
def test_bad_options_of_generate(
    options: list[str], parts: list[str], tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "new"
    args = ["generate", "klein2011", "--count", "2", "--seed", "1", "--out", out]
    err = refused(capsys, *args, *options)
    for part in parts:
        assert part in err
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"num_nodes": 0}, ["num_nodes", "0 is below 1"]),
        (
            {"applications": [{"steps": [[5, 11]]}]},
            ["applications[0].steps[0][1]", "11 is above num_nodes 10"],
        ),
        ({"applications": [{"steps": [[5, 1]], "name": "two\nlines"}] * 2}, ["applications[1].name"]),
    ],
)
def test_bad_problem(change: dict[str, object], parts: list[str], tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM | change))
    for argv in (
        ["solve", path, "--solver", "noX"],
        ["check", path, path],
        ["score", path, "--solvers", "noX", "--seconds", 1, "--out", tmp_path / "out"],
    ):
        err = refused(capsys, *argv)
        for part in [str(path), *parts]:
            assert part in err


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b'{"format": "allocsolve/1",\n "kind": }', "line 2, column 10"),
        (b"", "is empty"),
        (b"[" * 100_000, "nested"),
        (b'{"num_nodes": NaN}', "num_nodes: nan is not a finite number"),
        (None, "No such file or directory"),
    ],
)
def test_unreadable_problem(content: bytes | None, part: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "problem.json"
    if content is not None:
        path.write_bytes(content)
    err = refused(capsys, "solve", path, "--solver", "noX")
    assert str(path) in err
    assert part in err


@pytest.mark.parametrize(
    "command",
    [
        ("solve", "{}", "--solver", "noX"),
        ("check", "{}", "answer.json"),
        ("conformance", "{}", "answer.json", "--claims", "easy"),
        ("convert", "{}", "written.swf"),
        ("evaluate", "easy", "--logs", "{}"),
    ],
)
def test_a_suite_is_no_problem(
    command: tuple[str, ...], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("tiny", "klein-5-l1", "mesh-16x8"):
        said = refused(capsys, *(word.format(name) for word in command))
        assert f"{name}: is a suite of the library, not a problem: allocsolve score {name} --solvers" in said
    said = refused(capsys, *(word.format("klein-9-l9") for word in command))
    assert "klein-9-l9: cannot be read: No such file" in said


@pytest.mark.parametrize("limit", ["3", "inf"])
def test_looser_limit_than_that_of_the_file(limit: str, file: Path, tmp_path: Path, capsys: Capture) -> None:
    message = f"expand_limit={limit} is looser than the expand_limit of {file}"
    args = ["--seconds", 1, "--set", f"expand_limit={limit}"]
    assert message in refused(capsys, "solve", file, "--solver", "noX", *args)
    out = tmp_path / "out"
    assert message in refused(capsys, "score", file, "--solvers", "noX", *args, "--out", out)
    assert not out.exists()


def test_solution_of_another_problem(file: Path, tmp_path: Path, capsys: Capture) -> None:
    other = EvolutionProblem(3, (EvolutionProfile(((1, 1),)),))
    solution = tmp_path / "solution.json"
    write_solution(solution, other, EvolutionSchedule.of([0], other.applications), {})
    err = refused(capsys, "check", file, solution)
    assert f"{solution}: " in err
    assert "another problem" in err


@pytest.mark.parametrize("place", ["gone/solution.json", "."])
def test_unwritable_solution_is_refused_before_solving(
    place: str, file: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allocsolve.registry.solve_and_assess", lambda *_: pytest.fail("it was solved first"))
    out = tmp_path / place
    err = refused(capsys, "solve", file, "--solver", "noX", "--out", out)
    assert f"{out}: cannot be written" in err


def test_unwritable_places(file: Path, tmp_path: Path, capsys: Capture) -> None:
    score = ["score", file, "--solvers", "noX", "--baseline", "noX", "--seconds", 1]
    generate = ["generate", "klein2011", "--count", 1, "--seed", 1]
    for argv in (score, generate):
        assert f"{file}: is not a directory" in refused(capsys, *argv, "--out", file)
        assert str(file / "below") in refused(capsys, *argv, "--out", file / "below")
    swf = ["import", "swf", file]
    assert "gone" in refused(capsys, *swf, "--out", tmp_path / "gone" / "x.json")
    (tmp_path / "out" / "scores.csv").mkdir(parents=True)
    said = refused(capsys, *score, "--out", tmp_path / "out")
    assert "scores.csv: cannot be written: is a directory" in said


@pytest.mark.parametrize("command", ["check", "score", "conformance"])
def test_a_log_is_no_solution(command: str, tmp_path: Path, capsys: Capture) -> None:
    """`solve --swf` writes such a file: whoever has it checked is told what would be read."""
    log, problem = tmp_path / "log.swf", tmp_path / "problem.json"
    log.write_text("; MaxNodes: 2\n1 0 0 5 1 -1 -1 1 9 -1 1 1 -1 -1 -1 -1 -1 -1\n")
    assert main(["import", "swf", str(log), "--out", str(problem)]) == 0
    capsys.readouterr()
    told = "log.swf: is a log (swf), not a solution: allocsolve import swf --recorded makes one of it"
    if command == "score":
        argv = ["score", problem, "--answers", log, "--baseline", "fcfs", "--out", tmp_path / "out"]
        assert main([str(arg) for arg in argv]) == 1
        assert told in capsys.readouterr().out
    else:
        claims = ["--claims", "easy"] if command == "conformance" else []
        assert told in refused(capsys, command, problem, log, *claims)


def test_damaged_records(file: Path, tmp_path: Path, capsys: Capture) -> None:
    records = tmp_path / "records.sqlite"
    records.write_text("{}\n")
    argv = ["score", file, "--solvers", "noX", "--baseline", "noX", "--seconds", 1, "--out", tmp_path]
    err = refused(capsys, *argv)
    assert f"{records}: file is not a database" in err


def test_log_without_a_machine(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "log.swf"
    log.write_text("1 0 0 5 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n")
    argv = ["import", "swf", log, "--out", tmp_path / "out.json"]
    assert f"{log}: " in refused(capsys, *argv, "--jobs", 1)
    err = refused(capsys, *argv, "--jobs", 2, "--nodes", 4)
    assert "1..2" in err
    assert not (tmp_path / "out.json").exists()


def test_a_fault_with_a_line_break_stays_one_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "two\nlines.json"
    write_problem(klein2011(1), path)
    assert "lines.json" in refused(capsys, "check", path, path)


def test_too_little_memory_is_one_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("allocsolve.cli.create.write_problem", write)
    argv = ["generate", "klein2011", "--count", "1", "--seed", "1", "--out", str(tmp_path / "d")]
    assert main(argv) == 1
    assert capsys.readouterr().err == "allocsolve: error: there is not enough memory for this\n"
