"""Bad input: exit status 2, one line on stderr that names place and value, nothing on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_tools import Capture, refused
from offenders import all_offenders

from allocsolve.cli import main
from allocsolve.instances import klein2011, write_problem, write_solution
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule, Mesh, PartitionProblem

PROBLEM: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "evolution",
    "num_nodes": 10,
    "expand_limit": 2,
    "applications": [{"steps": [[5, 1]]}, {"steps": [[5, 2], [7, 3]]}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A good problem with the expand limit 2."""
    path = tmp_path / "good.json"
    path.write_text(json.dumps(PROBLEM))
    return path


SOLVE = "solve x.json --solver noX"
SQUARE = "solve square.json --solver"
SCORE = "score tiny --solvers"
TABLES = "reproduce klein2011 --tests 3"
DRAW = "--count 2 --seed 1 --out new"
KLEIN = f"generate klein2011 {DRAW}"
OCCUPANCY, CHURN = (f"generate {name} {DRAW} --busy .25 --size 4" for name in ("occupancy", "churn"))
MESH, TITAN = f"{OCCUPANCY} --shape 4x3", f"{OCCUPANCY} --machine titan"
GROWTH = f"{CHURN} --shape 4x3 --allocator growth"
WORST = "generate median-worst-case --out new"

#: A command line, given where there is a partition problem `square.json` and nothing else, and what is said.
BAD: list[tuple[str, *tuple[str, ...]]] = [
    ("sovle", "sovle", "solve"),
    ("solve x.json", "--solver"),
    (f"{SOLVE} --fast", "--fast"),
    ("solve x.json --solver cpsta", "--solver", "'cpsta'", "did you mean", "cpsat"),
    (f"{SOLVE} --objective makspan", "--objective", "'makspan'", "makespan"),
    (f"{SOLVE} --objective waste,waste", "--objective", "waste twice"),
    (f"{SOLVE} --set expand_limit=0.5", "--set", "expand_limit: 0.5 is below 1"),
    (f"{SOLVE} --set expand_limit=two", "--set", "'two'"),
    ("solve . --solver noX", ".: "),
    ("check x.json y.json --set expand_limit=nan", "--set", "'nan' is not a number"),
    ("check x.json y.json --set limit=2", "--set", "no field 'limit'", "expand_limit"),
    ("check x.json y.json --set expand_limit", "--set", "not of the form FIELD=VALUE"),
    (f"{SOLVE} --seconds 0", "--seconds", "0 is not"),
    (f"{SOLVE} --workers 0", "--workers", "'0' is below 1"),
    (f"{SOLVE} --seed {2**31}", "--seed", f"is above {2**31 - 1}"),
    (f"{SOLVE} --plot x.png", "--plot", "'x.png'", "SVG", "ends in .svg"),
    ("conformance x.json y.json --claims easy --picture x.png", "--picture", "'x.png'"),
    ("solve x.json --solver mine.py", "--solver", "'mine.py'", "named as mine:NAME"),
    (
        "solve x.json --solver noX(colour=1)",
        "unknown option 'colour'; known: expand_limit, compacting, order\n",
    ),
    ("whatif x.swf --malleable 20,120", "--malleable", "120 is not in 0..100 per cent"),
    ("whatif x.swf --out .", ".: cannot be written: is a directory"),
    (f"{SQUARE} grwth", "'grwth'", "growth"),
    (f"{SQUARE} noX", "unknown partition solver 'noX'"),
    (f"{SQUARE} growth --objective makespan", "unknown objective 'makespan'; known: pairwise"),
    (f"{SQUARE} growth --objective pairwize", "'pairwize'; did you mean pairwise"),
    (f"{SQUARE} growth --objective pairwise,makespan", "no kind of problems has all of pairwise, makespan"),
    (f"{SQUARE} growth --set expand_limit=2", "expand_limit=2", "kind partition"),
    (f"{SQUARE} growth --plot gone/p.svg", "gone/p.svg: cannot be written"),
    ("score square.json --solvers growth,rigid", "unknown partition solver 'rigid'"),
    ("score square.json --solvers growth --baseline infX", "unknown partition solver 'infX'"),
    (
        "score square.json --solvers growth --set expand_limit=inf",
        "expand_limit=inf does not go with square.json",
    ),
    ("score tiny", "--solvers"),
    (f"{SCORE} noX,3X", "--solvers", "'3X'", "2X"),
    (f"{SCORE} noX,noX", "--solvers", "noX is named twice"),
    (f"{SCORE} noX --baseline best", "--baseline", "'best'"),
    ("score tyny --solvers noX", "suite", "'tyny'", "tiny"),
    ("score no/tiny --solvers noX", "no/tiny", "No such file"),
    ("score gone.json --solvers noX", "gone.json", "No such file"),
    ("score empty --solvers noX", "empty: there is no .json file"),
    ("reproduce klein2011", "--tests is missing"),
    (f"{TABLES} --seconds 2", "--seconds 2.0", "--optimal only"),
    (f"{TABLES} --workers 2", "--workers 2", "--optimal only"),
    (f"{TABLES} --out d", "--out d", "--optimal only"),
    (f"{TABLES} --plot x.svg", "--plot x.svg", "--optimal only"),
    ("reproduce klein2011 --optimal --plot no/x.svg", "no/x.svg", "there is no directory no"),
    ("reproduce klein2012 --tests 3", "klein2012", "klein2011"),
    ("import swf x.swf --from-job 0 --out p", "--from-job", "'0'"),
    ("import swf gone.swf --out p", "gone.swf", "No such file"),
    ("library list --library gone", "gone/library.json", "cannot be read: No such file"),
    ("library verify tyny", "unknown suite 'tyny'; did you mean tiny"),
    ("library improve klein-5", "unknown suite 'klein-5'", "klein-5-l1"),
    ("library improve", "SUITE"),
    ("library improve tiny --solver best", "--solver", "'best'"),
    ("library improve tiny --seconds 0", "--seconds", "0 is not"),
    ("library improve tiny --objective cost", "--objective", "'cost'"),
    ("library improve towns --objective makespan", "no instance has the objective makespan"),
    ("library improve towns --solver noX", "unknown solver of these instances 'noX'"),
    ("library check", "check", "verify"),
    ("generate klein2011 --count 2 --out p", "--seed"),
    (f"{KLEIN} --apps 20-15", "--apps", "20-15"),
    (f"{KLEIN} --steps 0", "--steps", "'0' is below 1"),
    (f"{KLEIN} --duration 5-", "--duration", "'' is not an integer"),
    (f"{KLEIN} --duration 5-{2**53 + 1}", "--duration", str(2**53 + 1), "2^53"),
    (f"{KLEIN} --nodes 1-75 --num-nodes 50", "--nodes 1-75", "--num-nodes 50"),
    (f"{KLEIN} --count {'9' * 5000}", "--count", "99..."),
    (f"{OCCUPANCY} --shape 4x0", "--shape", "'0' is below 1"),
    (f"{OCCUPANCY} --shape 9999x9999", "2^24"),
    (f"{OCCUPANCY} --machine titen", "--machine", "'titen'; did you mean titan"),
    (OCCUPANCY, "--machine --shape"),
    (f"{TITAN} --shape 4x3", "--shape", "--machine"),
    (f"{TITAN} --torus", "--machine titan has its own rings"),
    (f"{TITAN} --complete 1,0,0", "--machine titan has its own rings"),
    (f"{MESH} --wrap 1", "wrap has 1 entries for the 2 axes"),
    (f"{MESH} --wrap 1,1 --torus", "--torus", "--wrap"),
    (f"{MESH} --complete 1,0 --torus", "axis 0 is a ring by wrap and complete"),
    (f"{MESH} --box 2x", "--box", "''"),
    (f"{MESH} --box 3x2", "box [3, 2] has 6 nodes"),
    (f"{MESH} --busy 1.5", "--busy", "1.5 is not in 0..1"),
    (f"{MESH} --size 13", "size 13 is above the"),
    (f"{CHURN} --shape 4x3 --allocator branch-and-bound", "--allocator", "'branch-and-bound'"),
    (f"{CHURN} --shape 4x3 --allocator noX", "--allocator", "'noX'"),
    (f"{CHURN} --shape 4x4 --allocator kueue", "unknown partition solver 'kueue'"),
    (f"{CHURN} --machine nvl72 --allocator growth", "unknown placement solver 'growth'"),
    (f"{CHURN} --shape 4x3", "--allocator"),
    (f"{GROWTH} --jobs 5-2", "--jobs", "5-2"),
    (f"{GROWTH} --jobs 13", "13"),
    (f"{WORST} --distance 12 --size 12", "size 12 is not a positive multiple of 8"),
    (f"{WORST} --distance 2", "distance 2"),
    (WORST, "--distance"),
    (f"{WORST} --distance 12 --step 0", "'0' is below 1"),
]


def test_bad_command_lines(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written."""
    monkeypatch.chdir(tmp_path)
    write_problem(PartitionProblem.of(Mesh((4, 3)), busy=[5, 8], size=4), "square.json")
    (tmp_path / "empty").mkdir()
    with all_offenders() as offender:
        for command, *parts in BAD:
            with offender(command[:200]):
                said = refused(capsys, *command.split(" "))
                assert [part for part in parts if part not in said] == []
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "square.json"]


def test_logs_that_have_seconds_only_take_no_unit_of_times(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "x.swf"
    log.write_text("; MaxNodes: 4\n1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    err = refused(capsys, "whatif", log, "--format", "swf", "--time-unit", "ms")
    assert "--time-unit ms: times of the Standard Workload Format are seconds" in err


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


TESTS = Path(__file__).resolve().parents[1]
CASES, SLICE = 2000, 1000
SLICES = range(0, CASES, SLICE)
#: What the process of a slice may hold, with all libraries, in MB.
MEMORY_MB = 500


@pytest.mark.parametrize("first", SLICES)
def test_broken_input_is_refused_in_one_line(first: int, tmp_path: Path) -> None:
    command = [sys.executable, str(TESTS / "fuzz_worker.py"), str(first), str(first + SLICE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [case for case in told if case["faults"]]
    assert not faulty, "\n".join(f"case {case['case']}: {case['argv']}\n{case['faults']}" for case in faulty)
    assert done.returncode == 0, f"after case {told[-1:]}:\n{done.stderr}"
    assert [case["case"] for case in told] == [*range(first, first + SLICE)]
    assert max(case["peak_mb"] for case in told) <= MEMORY_MB
    statuses = {case["status"] for case in told}
    assert {0, 1, 2} <= statuses, "some changes do no harm, and some make an answer wrong"
