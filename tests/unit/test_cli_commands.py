"""The commands about problems and `score` by calling `main`: what they print, write and return."""

from __future__ import annotations

import csv
import itertools
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from latex_tools import latex_tables

from allocsolve.bench import RecordStore, suite
from allocsolve.cli import main
from allocsolve.families import families
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import digest, klein2011, read_problem, read_solution, write_problem, write_solution
from allocsolve.judge import Verdict, metrics, value, violations
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Limit,
    PartitionProblem,
    Result,
    Status,
)
from allocsolve.registry import solver_rows
from allocsolve.registry.table import registered_names

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def problem_file(tmp_path: Path) -> Path:
    """Five applications: noX, 2X and the optimum differ."""
    path = tmp_path / "problem.json"
    write_problem(klein2011(1, num_apps=(5, 5)), path)
    return path


def test_generate_interrupted_says_what_is_there(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(problem: EvolutionProblem, path: Path) -> None:
        if path.name.endswith("2.json"):
            raise KeyboardInterrupt
        write_problem(problem, path)

    monkeypatch.setattr("allocsolve.cli.create.write_problem", write)
    args = ["generate", "klein2011", "--count", "5", "--seed", "1", "--out", str(tmp_path / "p")]
    assert main(args) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"allocsolve: interrupted; 2 of 5 problems are in {tmp_path / 'p'}\n"


def test_solve_json_is_confirmed_by_the_judge(problem_file: Path, capsys: Capture, tmp_path: Path) -> None:
    problem = read_problem(problem_file)
    found = run_json(capsys, "solve", problem_file, "--solver", "infX+c", "--seed", 3)
    expected = {"solver": "infX+c", "objective_name": "makespan", "status": "feasible", "bound": None}
    assert found.items() >= {**expected, "limit": None}.items()
    assert found["runtime_s"] > 0
    document = tmp_path / "found.json"
    document.write_text(json.dumps(found["solution"]))
    answer = read_solution(document, problem)
    assert not violations(problem, answer)
    assert found["objective"] == value(problem, answer, ("makespan",)) == found["metrics"]["makespan"]
    assert found["solution"]["meta"]["seed"] == 3
    args = ("solve", problem_file, "--solver", "2X", "--objective", "completion,waste")
    found = run_json(capsys, *args)
    assert found["objective_name"] == "completion,waste"
    assert found["objective"] == [found["metrics"]["mean_completion"], found["metrics"]["total_waste"]]


def test_solve_writes_what_json_shows_and_check_accepts_it(
    problem_file: Path, capsys: Capture, tmp_path: Path
) -> None:
    out = tmp_path / "solution.json"
    found = run_json(capsys, "solve", problem_file, "--solver", "2X", "--expand-limit", "2", "--out", out)
    assert json.loads(out.read_text()) == found["solution"]
    meta = found["solution"]["meta"]
    assert (meta["solver"], meta["expand_limit"], meta["objective"]) == ("2X", 2, found["objective"])
    problem = read_problem(problem_file)
    assert found["solution"]["problem"] == digest(problem)
    judged = run_json(capsys, "check", problem_file, out, "--expand-limit", "2")
    expected = {"feasible": True, "violations": [], "metrics": found["metrics"]}
    assert judged.items() >= expected.items()
    assert run(capsys, "check", problem_file, out).startswith("feasible")


@pytest.mark.parametrize("with_answer", [True, False])
def test_solve_interrupted_shows_what_there_is(
    *, with_answer: bool, problem_file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(problem: EvolutionProblem, *_: object) -> Verdict:
        result: Result[Any] = Result(Status.UNKNOWN, bound=(120.5, -math.inf), limit=Limit.INTERRUPTED)
        if with_answer:
            starts = [sum(app.duration for app in problem.applications[:idx]) for idx in range(5)]
            answer = EvolutionSchedule.of(starts, problem.applications)
            result = replace(result, status=Status.FEASIBLE, answer=answer, objective=(200, 0))
        measures = metrics(problem, result.answer) if with_answer else None
        return Verdict(result, measures, (-math.inf,))

    monkeypatch.setattr("allocsolve.registry.solve_and_assess", interrupted)
    out = tmp_path / "solution.json"
    args = ["solve", str(problem_file), "--solver", "cpsat", "--objective", "makespan,waste"]
    assert main([*args, "--out", str(out)]) == 130
    text, err = capsys.readouterr()
    assert err.startswith("allocsolve: interrupted; ")
    assert err.count("\n") == 1
    assert out.exists() == with_answer
    assert ", interrupted" in text
    assert ("bound 120.5 s, gap 66.0 %" if with_answer else "was not written") in text
    assert main([*args, "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert found["bound"] == [120.5, None]
    assert (found["solution"] is None) != with_answer


def test_solve_without_an_answer_writes_nothing(
    problem_file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result: Result[Any] = Result(Status.UNKNOWN, limit=Limit.SIZE)
    verdict = Verdict(result, None, -math.inf)
    monkeypatch.setattr("allocsolve.registry.solve_and_assess", lambda *_: verdict)
    out = tmp_path / "solution.json"
    text = run(capsys, "solve", problem_file, "--solver", "milp", "--out", out)
    assert "unknown, the problem is too large" in text
    assert "no answer, no bound" in text
    assert f"{out} was not written" in text
    found = run_json(capsys, "solve", problem_file, "--solver", "milp", "--out", out)
    assert (found["objective"], found["metrics"], found["solution"]) == (None, None, None)
    assert not out.exists()


def wrong_answer(_: object, problem: EvolutionProblem, *__: object) -> Result[EvolutionSchedule]:
    """All applications at once."""
    answer = EvolutionSchedule.of([0] * len(problem.applications), problem.applications)
    return Result(Status.FEASIBLE, answer)


def broken(*_: object) -> None:
    raise IndexError("two\nlines")


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (wrong_answer, "the answer is not feasible: from 0 s to "),
        (broken, "noX failed: IndexError: two lines; -v shows the traceback\n"),
    ],
)
def test_solve_with_a_wrong_or_broken_solver(
    solver: Any, said: str, problem_file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ListScheduling, "__call__", solver)
    out = problem_file.with_name("solution.json")
    assert main(["solve", str(problem_file), "--solver", "noX", "--out", str(out)]) == 1
    text, err = capsys.readouterr()
    assert text == ""
    assert err.startswith(f"allocsolve: error: {said}")
    assert err.count("\n") == 1
    assert not out.exists()


def test_check_names_violations(tmp_path: Path, capsys: Capture) -> None:
    problem = EvolutionProblem(4, tuple(EvolutionProfile(((10, 3),)) for _ in range(50)), expand_limit=1)
    file, solution = tmp_path / "p.json", tmp_path / "s.json"
    write_problem(problem, file)
    expanded = tuple(EvolutionProfile(((20, 3),)) for _ in range(50))
    write_solution(solution, problem, EvolutionSchedule.of([0] * 50, expanded), {})
    text = run(capsys, "check", file, solution, status=1)
    assert text.startswith("not feasible, 51 violations:\n")
    assert "application 'a0', step 0 is expanded from 10 s to 20 s" in text
    assert "and 31 more" in text
    found = run_json(capsys, "check", file, solution, "--expand-limit", "inf", status=1)
    assert found["expand_limit"] is None
    assert found["violations"] == [
        "from 0 s to 20 s up to 150 nodes are held (first at 0 s) on a cluster of 4"
    ]
    assert found["metrics"]["total_waste"] == 50 * 30


def test_check_of_times_that_cannot_be_added(tmp_path: Path, capsys: Capture) -> None:
    problem = EvolutionProblem(1, tuple(EvolutionProfile(((1, 1),)) for _ in range(600)))
    file, solution = tmp_path / "p.json", tmp_path / "s.json"
    write_problem(problem, file)
    long = tuple(EvolutionProfile(((2**53, 1),)) for _ in range(600))
    write_solution(solution, problem, EvolutionSchedule.of([0] * 600, long), {})
    found = run_json(capsys, "check", file, solution, status=1)
    assert "beyond 2^62" in found["violations"][0]
    assert found["metrics"] is None
    assert "1 violation:" in run(capsys, "check", file, solution, status=1)


def test_solvers(capsys: Capture) -> None:
    known = [(row.name, family.kind) for family, row in solver_rows()]
    assert len(set(known)) == len(known)
    rows = run_json(capsys, "solvers")["solvers"]
    assert [(row["name"], row["kind"]) for row in rows] == known
    text = run(capsys, "solvers")
    assert [tuple(line.split()[:2]) for line in text.splitlines()[2 : len(known) + 2]] == known
    assert max(map(len, text.splitlines())) <= 100
    # A line for each class of solvers, each pattern of aliases and each word in one; four heads, the advice.
    aliases = [alias for family in families() for alias in family.aliases]
    words = {word for alias in aliases for word in alias.words}
    assert len(text.splitlines()) <= len(known) + len(aliases) + len(words) + 8


def test_the_aliases_that_are_listed(capsys: Capture) -> None:
    rows = run_json(capsys, "solvers")["aliases"]
    names = {(row["name"], row["kind"]) for row in rows}
    assert len(names) == len(rows)
    for family in families():
        aliases = {name for name, kind in names if kind == family.kind}
        assert aliases | {row.name for row in family.solvers} == {*registered_names(family)}
    lines = [" ".join(line.split()) for line in run(capsys, "solvers").splitlines()]
    assert "noX list-scheduling(expand_limit=1)" in lines
    assert "ORDER-first-fit curve-fit(method=first-fit, order=ORDER)" in lines
    assert "ORDER: snake, short-side-snake, hilbert, generalised-hilbert, morton" in lines


@pytest.mark.parametrize("name", ["noX", "list-scheduling(expand_limit=1.0, compacting=False)"])
def test_one_solver(name: str, capsys: Capture) -> None:
    (page,) = run_json(capsys, "solvers", name)["solvers"]
    assert (page["kind"], page["method"]) == ("evolution", "heuristic")
    assert page["stands_for"] == "list-scheduling(expand_limit=1)"
    assert page["summary"].startswith("Place each application in list order")
    options = {option["name"]: option for option in page["options"]}
    assert list(options) == ["expand_limit", "compacting", "order"]
    assert (options["expand_limit"]["value"], options["expand_limit"]["default"]) == ("1", "inf")
    assert options["expand_limit"]["meaning"].startswith("1 (no expansion) to infinity.")
    assert options["compacting"]["takes"] == "True or False"
    assert [alias["name"] for alias in page["aliases"]] == ["noX", "2X", "2X+c", "infX", "infX+c"]
    text = run(capsys, "solvers", name)
    assert "expand_limit=1 (default: inf)" in text.splitlines()
    assert "compacting=False" in text.splitlines()


def test_solvers_of_one_name_are_all_shown(capsys: Capture) -> None:
    pages = run_json(capsys, "solvers", "cpsat")["solvers"]
    assert {page["kind"]: page["options"][0]["name"] for page in pages} == {
        "evolution": "max_applications",
        "partition": "max_nodes",
        "workload": "max_jobs",
        "reservation": "max_jobs",
        "placement": "max_nodes",
    }
    assert run(capsys, "solvers", "cpsat").count("method  exact") == 5
    pages = run_json(capsys, "solvers", "cpsat(max_nodes=7)")["solvers"]
    assert [page["kind"] for page in pages] == ["partition", "placement"]
    assert "It has no options." in run(capsys, "solvers", "gen-alg")
    said = refused(capsys, "solvers", "grwth")
    assert said.endswith(
        "argument NAME|FAMILY: unknown solver 'grwth'; did you mean growth or growth-best or static-growth?\n"
    )


def test_solvers_with_options(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "p.json"
    write_problem(klein2011(1, num_apps=(4, 4)), file)
    plain = run_json(capsys, "solve", file, "--solver", "noX")
    named = run_json(capsys, "solve", file, "--solver", "list-scheduling( expand_limit=1 )")
    assert (named["solver"], named["objective"]) == ("list-scheduling(expand_limit=1)", plain["objective"])
    solvers = "noX,list-scheduling(order=longest,expand_limit=2),rigid"
    argv = ("score", file, "--solvers", solvers, "--baseline", "infX", "--out", tmp_path / "out")
    names = [score["solver"] for score in run_json(capsys, *argv)["scores"]]
    assert names == ["noX", "list-scheduling(expand_limit=2, order=longest)", "rigid", "infX"]
    twice = "list-scheduling(expand_limit=1),list-scheduling(expand_limit=1, compacting=False)"
    said = refused(capsys, "score", file, "--solvers", twice, "--out", tmp_path / "out")
    assert said.endswith("list-scheduling(expand_limit=1) is named twice\n")


def test_names_are_shown_as_they_are(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "[bold] :smile: 100 %.json"
    write_problem(EvolutionProblem(1, (EvolutionProfile(((1, 1),)),), name="[red]"), file)
    assert f"{file} (1 application, 1 node," in run(capsys, "solve", file, "--solver", "noX")


def test_reproductions_need_a_checkout(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package has none: any words after the command are answered by where they are."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for words in (["reproduce"], ["reproduce", "klein2011", "--count", "3"]):
        said = refused(capsys, *words)
        assert "reproductions are in the repository" in said
        assert "pip install -e ." in said


# --- score --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three small problems."""
    path = tmp_path / "problems"
    path.mkdir()
    for seed in range(3):
        write_problem(klein2011([7, seed], num_apps=(3, 4)), path / f"{seed}.json")
    return path


def test_score_counts_gaps_and_keeps_records(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "scores"
    args = ("score", folder, "--solvers", "rigid,noX", "--baseline", "infX", "--seconds", 5, "--out", out)
    found = run_json(capsys, *args)
    assert [row["solver"] for row in found["scores"]] == ["rigid", "noX", "infX"]
    assert (found["problems"], found["baseline"], found["failures"]) == (3, "infX", [])
    records = out / "records.sqlite"
    assert found["records"] == str(records)
    kept = list(RecordStore(records))
    assert len(kept) == 9
    with (out / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    for row, told in zip(rows, found["rows"], strict=True):
        assert float(row["value"]) == float(row["metrics.makespan"])
        assert {name: row[name] for name in told} == {name: str(cell) for name, cell in told.items()}
    tables = tmp_path / "gaps.tex"
    text = run(capsys, *args, "--latex", tables)  # finds everything done
    assert [one.rows[0][1] for one in latex_tables(tables.read_text(encoding="utf-8"))] == ["3", "noX"]
    assert "exists; --force replaces it" in refused(capsys, *args, "--latex", tables)
    assert list(RecordStore(records)) == kept
    assert "Baseline infX" in text
    for row in found["scores"]:
        gaps = row["gap"]
        shown = next(line.split() for line in text.splitlines() if line.startswith(row["solver"]))
        assert float(shown[1]) == pytest.approx(row["mean_value"], abs=0.05)
        assert shown[2:6] == [*(f"{100 * gaps[name]:.1f}" for name in ("mean", "median", "max")), "-"]
    one, more = (run(capsys, *args[:1], folder / "1.json", *args[2:], *verbose) for verbose in ([], ["-v"]))
    heads = ["solver", "value,", "s", "gap", "optimal"]
    assert heads in [line.split()[:-1] for line in one.splitlines()]
    assert [*heads, "on", "proven", "best", "failed"] in [line.split()[:-1] for line in more.splitlines()]


def test_score_table_fits_80_columns(
    folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("score", folder, "--solvers", "rigid,2X+c,infX+c", "--baseline", "noX", "--seconds", 5)
    shown = {}
    for width in (20, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run(capsys, *args, "--out", tmp_path).splitlines()
        shown[width] = lines[" runs from " in lines[0] :]  # a second run says so
    table = shown[80][:9]
    assert max(map(len, table)) <= 80
    for lines in shown.values():
        assert "…" not in "".join(lines)
        assert [line.split() for line in lines[4:8]] == [line.split() for line in shown[80][4:8]]


def test_score_of_a_suite(tmp_path: Path, capsys: Capture) -> None:
    args = ("score", "tiny", "--solvers", "noX", "--baseline", "noX", "--seconds", 5, "--out", tmp_path)
    found = run_json(capsys, *args, "--expand-limit", "1", "--objective", "completion,makespan")
    evolving = [problem for problem in suite("tiny") if isinstance(problem, EvolutionProblem)]
    assert 1 < found["problems"] <= len(evolving) < len(suite("tiny"))  # tightened, some are the same
    rows = list(RecordStore(tmp_path / "records.sqlite"))
    assert {(row.objective, row.features["expand_limit"]) for row in rows} == {("completion,makespan", 1)}


def test_score_takes_the_problems_of_its_solvers_out_of_a_suite(tmp_path: Path, capsys: Capture) -> None:
    args = ("score", "tiny", "--seconds", 1, "--out", tmp_path, "--solvers")
    partitions = [problem for problem in suite("tiny") if isinstance(problem, PartitionProblem)]
    pairwise = ("--baseline", "cpsat", "--objective", "pairwise")
    for more in (["growth"], ["cpsat", "--baseline", "growth"], ["cpsat", *pairwise]):
        found = run_json(capsys, *args, *more)
        assert (found["objective_name"], found["problems"]) == ("pairwise", len(partitions))
    assert main([str(arg) for arg in (*args, "cpsat")]) == 2
    assert "problems of several kinds" in capsys.readouterr().err


def test_score_interrupted_keeps_records_and_resumes(
    folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ["score", str(folder), "--solvers", "noX", "--baseline", "noX", "--seconds", "5"]
    args += ["--out", str(tmp_path)]
    original, count = RecordStore.append, itertools.count()

    def interrupted(self: RecordStore, *row: Any) -> bool:
        if next(count) == 2:
            raise KeyboardInterrupt
        return original(self, *row)

    records = tmp_path / "records.sqlite"
    with monkeypatch.context() as patch:
        patch.setattr(RecordStore, "append", interrupted)
        assert main(args) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"allocsolve: interrupted; 2 records in {records}, the same command goes on from there\n"
    kept = list(RecordStore(records))
    assert len(kept) == 2
    run(capsys, *args)
    assert list(RecordStore(records))[:2] == kept
    assert len(RecordStore(records)) == 3


def test_score_with_failed_and_unanswered_rows(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    fails, gives_up = "bad_solvers:overlaps", "bad_solvers:gives_up"
    args = ("score", folder, "--solvers", f"{fails},{gives_up}", "--baseline", "rigid", "--seconds", 5)
    text = run(capsys, *args, "--out", tmp_path, status=1)
    assert text.count(f"{fails} failed on klein2011-s7-") == 3
    assert f"{gives_up}: no answer to 3 of 3" in text
    found = run_json(capsys, *args, "--out", tmp_path, status=1)
    assert [row["failed"] for row in found["scores"]] == [3, 0, 0]
    assert found["scores"][0]["gap"] is None
    assert len(found["failures"]) == 3
