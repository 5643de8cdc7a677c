"""A family of a third party goes through every command and contract: the seam holds."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import toy_family
from browser_tools import Opened, open_browser
from cli_tools import refused, run, run_json
from plugin_tools import Site, site
from schema_draws import Document, compare, names_in, spoil, through_text
from toy_family import TOY, Exhaustive, Greedy, MachineSchedule, MachinesProblem

from allocsolve import solve
from allocsolve.bench import RecordStore
from allocsolve.errors import FormatError, InvalidAnswer, InvalidOption, PluginError, UnknownName
from allocsolve.families import families, family_named, family_of, unusable_families
from allocsolve.instances import digest, read_problem, read_solution, write_problem
from allocsolve.instances.formats.own.envelope import (
    parse_problem,
    parse_solution,
    problem_document,
    solution_document,
)
from allocsolve.judge import confirm
from allocsolve.model import Budget, Result, Status
from allocsolve.testing import SolverConformance, check_solver, example_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

#: The greedy order ends at 7 s, the optimum is 6 s.
PROBLEM = MachinesProblem(2, (3, 3, 2, 2, 2), "five jobs")


@pytest.fixture(autouse=True)
def third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A distribution whose entry point is the toy family."""
    folder = tmp_path / "third"
    folder.mkdir()
    with site(folder, monkeypatch) as made:
        made.entry_points("toybox", "allocsolve.families", machines="toy_family:TOY")
        monkeypatch.setenv("PYTHONPATH", str(toy_family.__file__).rpartition("/")[0])
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "five.json"
    write_problem(PROBLEM, path)
    return path


def test_it_is_found_by_kind_and_by_problem() -> None:
    assert [family.kind for family in families()][-1] == "machines"
    assert family_named("machines") is family_of(PROBLEM) is family_of(MachinesProblem) is TOY
    assert not unusable_families()
    assert len(example_problems("machines")) == 4


def test_files(file: Path) -> None:
    assert read_problem(file) == PROBLEM
    assert digest(read_problem(file)) == digest(PROBLEM) != digest(MachinesProblem(3, PROBLEM.jobs))
    broken = {**json.loads(file.read_text()), "machines": 0, "jobs": [3, "x"], "speed": 1}
    file.write_text(json.dumps(broken))
    with pytest.raises(
        FormatError, match=r"machines: 0 is below 1; jobs\[1\]: must be an integer.*unknown field 'speed'"
    ):
        read_problem(file)


def test_its_schemas_take_what_its_readers_take(capsys: Capture) -> None:
    problem, answer = problem_document(PROBLEM), solution_document(PROBLEM, MachineSchedule((0,) * 5), {})
    readers: dict[str, tuple[Document, Callable[[Document], object]]] = {
        "machines": (problem, lambda document: parse_problem(document, "file")),
        "machine-schedule": (answer, lambda document: parse_solution(document, "file", PROBLEM)),
    }
    for kind, (document, read) in readers.items():
        assert kind in run(capsys, "schema")
        schema = run_json(capsys, "schema", kind)
        compare(schema, through_text(document), lambda: read(document))  # noqa: B023 - called at once
        for seed in range(300):
            changed = json.loads(json.dumps(document))
            spoil(changed, names_in(schema), Random(seed))
            found = through_text(changed)
            if found is not None and found.get("problem", "") == document.get("problem", ""):
                compare(schema, found, lambda: read(found))  # noqa: B023 - called at once


def test_the_judge_has_the_last_word() -> None:
    result = solve(PROBLEM, "greedy")
    assert (result.objective, result.status) == (7, Status.FEASIBLE)
    assert solve(PROBLEM, "exhaustive").objective == 6
    late: Result[Any] = Result(Status.FEASIBLE, MachineSchedule((0, 0, 0, 0, 5)))
    with pytest.raises(InvalidAnswer, match="job 4: there is no machine 5"):
        confirm(PROBLEM, late, ("makespan",))
    with pytest.raises(UnknownName, match="unknown machines solver 'gready'; did you mean greedy"):
        solve(PROBLEM, "gready")


def test_solve_and_check(file: Path, tmp_path: Path, capsys: Capture) -> None:
    out, plot = tmp_path / "answer.json", tmp_path / "answer.svg"
    text = run(capsys, "solve", file, "--solver", "greedy", "--out", out, "--plot", plot)
    for part in ("5 jobs on 2 machines", "makespan", "7 s", "idle"):
        assert part in text
    assert "<svg" in plot.read_text()
    assert read_solution(out, PROBLEM) == solve(PROBLEM, "greedy").answer
    assert "feasible (5 jobs on 2 machines)" in run(capsys, "check", file, out)
    shown = run_json(capsys, "solve", file, "--solver", "exhaustive", "--objective", "makespan")
    assert (shown["objective"], shown["status"], shown["metrics"]["idle"]) == (6, "optimal", 0)
    alone = run_json(capsys, "solve", file, "--solver", "greedy", "--machines", 1)
    assert alone["objective"] == 12
    assert "machines=3 is looser" in refused(capsys, "solve", file, "--solver", "greedy", "--machines", 3)
    assert "expand_limit=1 does not go with" in refused(
        capsys, "solve", file, "--solver", "greedy", "--expand-limit", "1"
    )


def test_its_answers_are_held_to_its_claims(file: Path, tmp_path: Path, capsys: Capture) -> None:
    even, odd, picture = tmp_path / "even.json", tmp_path / "odd.json", tmp_path / "odd.svg"
    for out, solver in ((even, "exhaustive"), (odd, "greedy")):
        run(capsys, "solve", file, "--solver", solver, "--out", out)
    told = run(capsys, "check", file, even, "--claims", "busy").splitlines()
    assert [told[0].split(), told[-1]] == [["busy", "holds"], "all hold (5 jobs on 2 machines)"]
    words = ["check", file, odd, "--claims", "busy"]
    assert "broken: machine 1 is idle from 5 s on" in run(capsys, *words, "--plot", picture, status=1)
    assert "<svg" in picture.read_text(encoding="utf-8")
    said = run_json(capsys, *words, status=1)
    gap = {"claim": "busy", "at": 5, "message": "machine 1 is idle from 5 s on", "machine": 1}
    assert said == {"holds": False, "tolerance_s": 0, "breaches": {"busy": gap}}
    assert run_json(capsys, *words, "--tolerance", 2)["holds"]
    assert "unknown claim 'bus'; did you mean busy" in refused(capsys, *words[:-1], "bus")
    assert "busy all machines end at once" in " ".join(run(capsys, "check", "--help").split())


@pytest.mark.usefixtures("in_process")
def test_score_study_and_report(file: Path, tmp_path: Path, capsys: Capture) -> None:
    found = run_json(capsys, "score", file, "--solvers", "greedy", "--out", tmp_path / "out")
    assert found["baseline"] == "exhaustive"
    gaps = {score["solver"]: score["gap"]["mean"] for score in found["scores"]}
    assert gaps == {"greedy": pytest.approx(1 / 6), "exhaustive": 0}
    study = tmp_path / "study.toml"
    study.write_text(
        'suites = ["five.json"]\nsolvers = ["greedy", "exhaustive"]\nset = { machines = [2, 1] }\n'
    )
    run(capsys, "study", "run", study)
    with RecordStore(tmp_path / "study.sqlite", read_only=True) as store:
        rows = list(store)
    assert {(row.solver, row.value) for row in rows} == {
        *(("greedy", 7), ("greedy", 12), ("exhaustive", 6), ("exhaustive", 12))
    }
    assert {row.kind for row in rows} == {"machines"}


def test_a_term_is_one_value(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """It is minimised, judged, scored, told of and exported by what stands in its family alone."""
    answer, out = tmp_path / "answer.json", tmp_path / "out"
    told = run(capsys, "solve", file, "--solver", "greedy", "--objective", "idle", "--out", answer)
    assert "idle" in told
    assert "2 s" in told
    assert run_json(capsys, "check", file, answer)["metrics"]["idle"] == 2
    assert "makespan, idle" in run(capsys, "solve", "--help")
    options = ("--baseline", "greedy+longest", "--objective", "idle", "--out", out)
    scored = run_json(capsys, "score", file, "--solvers", "greedy", *options)
    assert scored["objective_name"] == "idle"
    assert {row["solver"] for row in scored["scores"]} == {"greedy", "greedy+longest"}
    report = tmp_path / "report.html"
    run(capsys, "study", "report", out / "records.sqlite", "--out", report)
    assert "idle" in report.read_text(encoding="utf-8")
    assert "idle" in run(capsys, "schema", "study")
    with pytest.raises(UnknownName, match=r"objective 'waste'.*makespan, idle"):
        solve(PROBLEM, "greedy", "waste")


def test_a_kind_of_certificate_is_one_value(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """What is proved is recomputed, told, scored and in the schema by what stands in its family alone."""
    answer, proof = tmp_path / "answer.json", tmp_path / "proof.json"
    run(capsys, "solve", file, "--solver", "exhaustive", "--out", answer, "--certificate", proof)
    told = run(capsys, "check", file, answer, "--certificate", proof, status=1)
    assert "certified: makespan is at least 3 s, here it is 6 s: not proven optimal" in told
    scored = run_json(capsys, "score", file, "--solvers", "greedy", "--out", tmp_path / "out")
    assert scored["bounds_certified"] == 1
    assert '"longest"' in run(capsys, "schema", "certificate")
    told = refused(capsys, "check", file, answer, "--certificate", proof, "--out", tmp_path / "proof.txt")
    assert "bounds of machines problems are not verified" in told
    document = json.loads(proof.read_text())
    for change, said in (
        ({"job": 9}, "job 9 of the certificate is none"),
        ({"kind": "shortest"}, "kind 'shortest' of the certificate is not longest"),
    ):
        proof.write_text(json.dumps({**document, "certificate": {**document["certificate"], **change}}))
        assert said in refused(capsys, "check", file, answer, "--certificate", proof)


@pytest.mark.xdist_group("browser")
def test_its_report_in_a_browser(file: Path, tmp_path: Path, capsys: Capture) -> None:
    study = tmp_path / "study.toml"
    study.write_text(f'suites = ["{file.name}", "tiny"]\nsolvers = ["greedy", "noX", "gen-alg"]\n')
    run(capsys, "study", "run", study)
    report = tmp_path / "report.html"
    run(capsys, "study", "report", tmp_path / "study.sqlite", "--out", report)
    shown = {}
    with contextlib.contextmanager(open_browser)() as browser:
        opened = Opened(browser, report)
        for section in opened.page.locator("#pick-section option").all_inner_texts():
            opened.page.select_option("#pick-section", label=section)
            opened.page.wait_for_function("document.querySelector('#chosen svg') !== null")
            shown[section] = opened.page.locator("#chosen").inner_html()
    assert not opened.faults
    (mine,) = (drawing for section, drawing in shown.items() if "machines" in section)
    assert 'class="chosen"' in mine
    assert len(shown) == 3


@pytest.mark.usefixtures("in_process")
def test_the_gate_times_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(
        "allocsolve.bench.gate.gate.suite_problems", lambda _: tuple(example_problems("machines"))
    )
    baseline = tmp_path / "gate.json"
    run(capsys, "gate", "--baseline", baseline, "--update", "--suite", "tiny")
    solvers = {row["solver"]: row for row in json.loads(baseline.read_text())["solvers"]}
    assert solvers["greedy"]["timed_on"] == "2000-jobs"
    assert solvers["exhaustive"]["mean_gap"] == 0
    document = json.loads(baseline.read_text())
    worse = next(row for row in document["results"] if row["solver"] == "greedy" and row["value"] == 7)
    worse["value"] = 6
    baseline.write_text(json.dumps(document))
    assert "greedy" in run(capsys, "gate", "--baseline", baseline, status=1)


def test_solvers_are_listed(capsys: Capture) -> None:
    rows = [row for row in run_json(capsys, "solvers")["solvers"] if row["kind"] == "machines"]
    assert [row["name"] for row in rows] == ["greedy", "exhaustive"]
    assert {
        "name": "greedy+longest",
        "kind": "machines",
        "stands_for": "greedy(longest_first=True)",
    } in run_json(capsys, "solvers")["aliases"]
    (page,) = run_json(capsys, "solvers", "greedy+longest")["solvers"]
    assert [(row["name"], row["default"], row["value"]) for row in page["options"]] == [
        ("longest_first", "False", "True")
    ]
    assert "makespan" in run(capsys, "solve", "--help")


def test_options_in_names() -> None:
    answer = Greedy(longest_first=True)(PROBLEM, Budget()).answer
    for name in ("greedy+longest", "greedy(longest_first=True)", "greedy+longest(longest_first=True)"):
        assert solve(PROBLEM, name).answer == answer
    with pytest.raises(InvalidOption, match=r"machines solver greedy.* takes True or False, not 1 "):
        solve(PROBLEM, "greedy(longest_first=1)")


@pytest.mark.parametrize("solver", [Greedy(), Greedy(longest_first=True), Exhaustive()], ids=repr)
def test_the_contract(solver: Any) -> None:
    check_solver(solver)


class TestGreedy(SolverConformance):
    solver: ClassVar[Any] = Greedy(longest_first=True)


def test_a_family_that_cannot_be_used_is_said(third: Site, capsys: Capture) -> None:
    third.module("broken", "raise RuntimeError('no licence')", head="")
    toys = {"rooms": "toy_family:TOY", "partition": "toy_family:TOY"}
    third.entry_points("trouble", "allocsolve.families", queues="broken:FAMILY", numbers="math:pi", **toys)
    assert unusable_families() == {
        "numbers": "math:pi is no allocsolve.families.Family",
        "partition": "toy_family:TOY is of the kind 'machines': name the entry point after it",
        "queues": "loading broken:FAMILY raised RuntimeError: no licence",
        "rooms": "toy_family:TOY is of the kind 'machines': name the entry point after it",
    }
    rows = [row for row in run_json(capsys, "solvers")["solvers"] if row["method"] == "family"]
    assert [row["kind"] for row in rows] == ["numbers", "partition", "queues", "rooms"]
    assert rows[2]["summary"] == "unusable, loading broken:FAMILY raised RuntimeError: no licence"
    with pytest.raises(PluginError, match="plug-in 'queues': loading broken:FAMILY raised RuntimeError"):
        family_named("queues")
    assert family_named("machines") is TOY
    assert family_named("partition").kind == "partition"


def test_two_distributions_of_one_family(third: Site) -> None:
    third.entry_points("again", "allocsolve.families", machines="toy_family:TOY")
    assert unusable_families() == {"machines": "there is a family of the kind 'machines' already"}


def test_another_process_finds_it_too(third: Site, file: Path) -> None:
    code = f"import sys; sys.path[:0] = [{str(third.folder)!r}]; from allocsolve.cli import entry; entry()"
    argv = [sys.executable, "-c", code, "solve", str(file), "--solver", "greedy", "--json"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["objective"] == 7


def test_its_export_is_a_format(file: Path, tmp_path: Path, capsys: Capture) -> None:
    solution, table = tmp_path / "solution.json", tmp_path / "out.txt"
    run(capsys, "solve", file, "--solver", "greedy", "--out", solution)
    words = ["convert", file, table, "--solution", solution, "--format", "listing"]
    run(capsys, *words)
    whole = table.read_text(encoding="utf-8")
    assert refused(capsys, *words) == f"allocsolve: error: {table}: exists; --force replaces it\n"
    run(capsys, *words, "--force", "--window", "1:2.5")
    assert table.read_text(encoding="utf-8") == whole.replace("None", "(1.0, 2.5)")
    for window in ("9:0", "9", "0:inf", "a:9"):
        assert "--window" in refused(capsys, *words, "--window", window)
    other = tmp_path / "other.json"
    write_problem(next(iter(example_problems("evolution"))), other)
    words = ["convert", other, tmp_path / "new.txt", "--format", "listing"]
    assert refused(capsys, *words) == (
        "allocsolve: error: --format listing: it is not written for problems of the kind evolution\n"
    )
    assert not (tmp_path / "new.txt").exists()
