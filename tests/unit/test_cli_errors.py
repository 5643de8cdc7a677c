"""Bad input: exit status 2, one line on stderr that names place and value, nothing on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_tools import Capture, refused, run
from offenders import all_offenders

from allocsolve.cli import main
from allocsolve.instances import klein2011, log_problem, read_swf_log, write_problem, write_solution
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule, Mesh, PartitionProblem

GOOD: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "evolution",
    "num_nodes": 10,
    "expand_limit": 2,
    "applications": [{"steps": [[5, 1]]}, {"steps": [[5, 2], [7, 3]]}],
}
MACHINE = "; MaxNodes: 4\n"
JOB = "1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"
#: What there is where a command is given, beside a partition problem, and a workload: what `log.swf` has.
FILES: dict[str, str] = {
    "good.json": json.dumps(GOOD),
    "none.json": json.dumps(GOOD | {"num_nodes": 0}),
    "wide.json": json.dumps(GOOD | {"applications": [{"steps": [[5, 11]]}]}),
    "twice.json": json.dumps(GOOD | {"applications": [{"steps": [[5, 1]], "name": "two\nlines"}] * 2}),
    "broken.json": '{"format": "allocsolve/1",\n "kind": }',
    "empty.json": "",
    "deep.json": "[" * 100_000,
    "nan.json": '{"num_nodes": NaN}',
    "log.swf": MACHINE + JOB,
    "bare.swf": JOB,
    "records/records.sqlite": "{}\n",
    "full/scores.csv/some": "",
    "nothing/log.swf": "",
}
#: Faults of problems.
FAULTY = {
    "none.json": ("num_nodes", "0 is below 1"),
    "wide.json": ("applications[0].steps[0][1]", "11 is above num_nodes 10"),
    "twice.json": ("applications[1].name",),
    "broken.json": ("line 2, column 10",),
    "empty.json": ("is empty",),
    "deep.json": ("nested",),
    "nan.json": ("num_nodes: nan is not a finite number",),
    "gone.json": ("No such file or directory",),
}
#: Commands on a problem.
ON_PROBLEMS = (
    *("solve {} --solver noX", "check {} answer.json", "score {} --solvers noX --seconds 1"),
    *("check {} answer.json --claims easy", "convert {} written.swf", "evaluate easy --log {}"),
)
LOG = "log.swf: is a log (swf), not a solution: allocsolve import --recorded makes one of it"

SOLVE = "solve x.json --solver noX"
SQUARE = "solve square.json --solver"
SCORE = "score tiny --solvers"
TABLES = "reproduce klein2011 --count 3"
DRAW = "--count 2 --seed 1 --out new"
KLEIN = f"generate klein2011 {DRAW}"
OCCUPANCY, CHURN = (f"generate {name} {DRAW} --busy .25 --size 4" for name in ("occupancy", "churn"))
MESH, TITAN = f"{OCCUPANCY} --machine 4x3", f"{OCCUPANCY} --machine titan"
GROWTH = f"{CHURN} --machine 4x3 --allocator growth"
WORST = "generate median-worst-case --out new"

SCORED = "score good.json --solvers noX --baseline noX --seconds 1 --out"
MADE = "generate klein2011 --count 1 --seed 1 --out"

#: A command line, and what is said.
BAD: list[tuple[str, ...]] = [
    ("sovle", "sovle", "solve"),
    ("solve x.json", "--solver"),
    (f"{SOLVE} --fast", "--fast"),
    ("solve x.json --solver cpsta", "--solver", "'cpsta'", "did you mean", "cpsat"),
    (f"{SOLVE} --objective makspan", "--objective", "'makspan'", "makespan"),
    (f"{SOLVE} --objective waste,waste", "--objective", "waste twice"),
    (f"{SOLVE} --expand-limit 0.5", "--expand-limit: 0.5 is below 1"),
    (f"{SOLVE} --expand-limit two", "--expand-limit", "'two'"),
    ("solve . --solver noX", ".: "),
    ("check x.json y.json --expand-limit nan", "--expand-limit", "'nan' is not a number"),
    ("check x.json y.json --expand_limit 2", "'--expand_limit'; did you mean --expand-limit"),
    (f"{SOLVE} --seconds 0", "--seconds", "0 is not"),
    (f"{SOLVE} --workers 0", "--workers", "'0' is below 1"),
    (f"{SOLVE} --seed {2**31}", "--seed", f"is above {2**31 - 1}"),
    (f"{SOLVE} --plot x.png", "--plot", "'x.png'", "SVG", "ends in .svg"),
    ("check x.json y.json --claims easy --plot x.png", "--plot", "'x.png'"),
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
    (f"{SQUARE} growth --expand-limit 2", "expand_limit=2", "kind partition"),
    (f"{SQUARE} growth --plot gone/p.svg", "gone/p.svg: cannot be written"),
    ("score square.json --solvers growth,rigid", "unknown partition solver 'rigid'"),
    ("score square.json --solvers growth --baseline infX", "unknown partition solver 'infX'"),
    (
        "score square.json --solvers growth --expand-limit inf",
        "expand_limit=inf does not go with square.json",
    ),
    ("score tiny", "--solvers"),
    (f"{SCORE} noX,3X", "--solvers", "'3X'", "2X"),
    (f"{SCORE} noX,noX", "--solvers", "noX is named twice"),
    (f"{SCORE} noX --baseline best", "--baseline", "'best'"),
    ("score tyny --solvers noX", "suite", "'tyny'", "tiny"),
    ("score no/tiny --solvers noX", "no/tiny", "No such file"),
    ("score gone.json --solvers noX", "gone.json", "No such file"),
    ("score nothing --solvers noX", "nothing: there is no .json file"),
    ("reproduce klein2011", "--count is missing"),
    (f"{TABLES} --seconds 2", "--seconds 2.0", "--optimal only"),
    (f"{TABLES} --workers 2", "--workers 2", "--optimal only"),
    (f"{TABLES} --out d", "--out d", "--optimal only"),
    (f"{TABLES} --plot x.svg", "--plot x.svg", "--optimal only"),
    ("reproduce klein2011 --optimal --plot no/x.svg", "no/x.svg", "there is no directory no"),
    ("reproduce klein2012 --count 3", "klein2012", "klein2011"),
    ("import x.swf --from-job 0 --out p", "--from-job", "'0'"),
    ("import gone.swf --out p", "gone.swf", "No such file"),
    ("library list --library gone", "gone/library.json", "cannot be read: No such file"),
    ("library verify tyny", "unknown suite 'tyny'; did you mean tiny"),
    ("library improve klein-5", "unknown suite 'klein-5'", "klein-5-l1"),
    ("library improve", "SUITE"),
    ("library improve tiny --solvers best", "--solvers", "'best'"),
    ("library improve tiny --seconds 0", "--seconds", "0 is not"),
    ("library improve tiny --objective cost", "--objective", "'cost'"),
    ("library improve towns --objective makespan", "no instance has the objective makespan"),
    ("library improve towns --solvers noX", "unknown solver of these instances 'noX'"),
    ("library check", "check", "verify"),
    ("generate klein2011 --count 2", "--out"),
    (f"{KLEIN} --num-jobs 20-15", "--num-jobs", "20-15"),
    (f"{KLEIN} --steps 0", "--steps", "'0' is below 1"),
    (f"{KLEIN} --duration 5-", "--duration", "'' is not an integer"),
    (f"{KLEIN} --duration 5-{2**53 + 1}", "--duration", str(2**53 + 1), "2^53"),
    (f"{KLEIN} --job-nodes 1-75 --nodes 50", "--job-nodes 1-75", "--nodes 50"),
    (f"{KLEIN} --count {'9' * 5000}", "--count", "99..."),
    (f"{OCCUPANCY} --machine 4x0", "--machine", "'0' is below 1"),
    (f"{OCCUPANCY} --machine 9999x9999", "2^24"),
    (f"{OCCUPANCY} --machine titen", "--machine", "'titen'; did you mean titan"),
    (OCCUPANCY, "--machine"),
    (f"{TITAN} --wrap all", "--machine titan has its own rings"),
    (f"{TITAN} --complete 1,0,0", "--machine titan has its own rings"),
    (f"{MESH} --wrap 1", "wrap has 1 entries for the 2 axes"),
    (f"{MESH} --complete 1,0 --wrap all", "axis 0 is a ring by wrap and complete"),
    (f"{MESH} --box 2x", "--box", "''"),
    (f"{MESH} --box 3x2", "box [3, 2] has 6 nodes"),
    (f"{MESH} --busy 1.5", "--busy", "1.5 is not in 0..1"),
    (f"{MESH} --size 13", "size 13 is above the"),
    (f"{CHURN} --machine 4x3 --allocator branch-and-bound", "--allocator", "'branch-and-bound'"),
    (f"{CHURN} --machine 4x3 --allocator noX", "--allocator", "'noX'"),
    (f"{CHURN} --machine 4x4 --allocator kueue", "unknown partition solver 'kueue'"),
    (f"{CHURN} --machine nvl72 --allocator growth", "unknown placement solver 'growth'"),
    (f"{CHURN} --machine 4x3", "--allocator"),
    (f"{GROWTH} --job-nodes 5-2", "--job-nodes", "5-2"),
    (f"{GROWTH} --job-nodes 13", "13"),
    (f"{WORST} --distance 12 --size 12", "size 12 is not a multiple of 8"),
    (f"{WORST} --distance 2", "distance 2"),
    (WORST, "--distance"),
    (f"{WORST} --distance 12,0", "'0' is below 1"),
    *((word.format(name), name, *said) for name, said in FAULTY.items() for word in ON_PROBLEMS[:3]),
    *(
        (
            word.format(name),
            f"{name}: is a suite of the library, not a problem: allocsolve score {name} --solvers",
        )
        for name in ("tiny", "klein-5-l1", "mesh-16x8")
        for word in ON_PROBLEMS
        if not word.startswith("score")
    ),
    *((word.format("klein-9-l9"), "klein-9-l9: cannot be read: No such file") for word in ON_PROBLEMS[:2]),
    *(
        (
            f"{command} --seconds 1 --expand-limit {limit}",
            f"expand_limit={limit} is looser than the expand_",
        )
        for command in ("solve good.json --solver noX", "score good.json --solvers noX")
        for limit in ("3", "inf")
    ),
    ("check good.json solution.json", "solution.json: ", "another problem"),
    ("solve good.json --solver noX --out gone/solution.json", "gone/solution.json: cannot be written"),
    ("solve good.json --solver noX --out .", ".: cannot be written"),
    *((f"{command} good.json", "good.json: is not a directory") for command in (SCORED, MADE)),
    *((f"{command} good.json/below", "good.json/below") for command in (SCORED, MADE)),
    (f"{SCORED} full", "scores.csv: cannot be written: is a directory"),
    (f"{SCORED} records", "records/records.sqlite: file is not a database"),
    ("import log.swf --out gone/x.json", "gone"),
    ("import good.json --out x.json", "good.json: "),
    ("import bare.swf --out p --num-jobs 1", "bare.swf: "),
    ("import bare.swf --out p --num-jobs 2 --nodes 4", "1..2"),
    ("whatif log.swf --format swf --time-unit ms", "ms: times of the Standard Workload Format are seconds"),
    ("check workload.json log.swf", LOG),
    ("check workload.json log.swf --claims easy", LOG),
    ("check workload.json log.swf --claims easy --verified", "--verified is about bounds"),
    ("import log.swf --size 3 --nodes 4 --out p", "--nodes is for logs"),
    ("import log.swf --free x --out p", "--free is for networks"),
    ("import log.swf bare.swf --out p", "bare.swf is a second one"),
]


@pytest.mark.parametrize("word", sorted({command.partition(" ")[0] for command, *_ in BAD}))
def test_bad_command_lines(
    word: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written, and nothing solved."""
    monkeypatch.setattr("allocsolve.registry.solve_and_assess", lambda *_: pytest.fail("it was solved first"))
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    write_problem(PartitionProblem.of(Mesh((4, 3)), busy=[5, 8], size=4), "square.json")
    write_problem(log_problem(read_swf_log("log.swf")), "workload.json")
    other = EvolutionProblem(3, (EvolutionProfile(((1, 1),)),))
    write_solution("solution.json", other, EvolutionSchedule.of([0], other.applications), {})
    before = {*tmp_path.rglob("*")}
    with all_offenders() as offender:
        for command, *parts in (row for row in BAD if row[0].partition(" ")[0] == word):
            with offender(command[:200]):
                said = refused(capsys, *command.split(" "))
                assert [part for part in parts if part not in said] == []
    assert {*tmp_path.rglob("*")} == before


def test_a_log_is_no_answer_to_score(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(FILES["log.swf"])
    write_problem(log_problem(read_swf_log("log.swf")), "workload.json")
    argv = ("score", "workload.json", "--solution", "log.swf", "--baseline", "fcfs", "--out", "out")
    assert LOG in run(capsys, *argv, status=1)


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
