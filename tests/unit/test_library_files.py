"""A library on disk and its commands: what is wrong in one line; only what the judge confirms is written."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from json_tools import changed, faults_of, saved, without
from library_tools import KLEIN, entry, small_library

from allocsolve import registry
from allocsolve.bench import RecordStore, improve_suites, plan, verify_suite
from allocsolve.bench.library import design, improve
from allocsolve.bench.library.improve import improved
from allocsolve.bench.runs.execution import execute
from allocsolve.cli import main
from allocsolve.errors import FormatError, InvalidAnswer, InvalidOption, UnknownName, UnsupportedProblem
from allocsolve.exact import EvolutionCpSat
from allocsolve.heuristics import ListScheduling, Rigid
from allocsolve.instances import (
    PACKAGED,
    BestKnown,
    Library,
    digest,
    elastic_workload,
    lina_workload,
    lublin1999,
    read_best_known,
    regenerate,
    write_best_known,
    write_index,
    write_problem,
)
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionSchedule,
    Limit,
    Partition,
    Result,
    Status,
    Value,
)
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.bench import Change
    from allocsolve.families import AnySolver
    from allocsolve.instances import Suite
    from allocsolve.model import WorkloadProblem


def test_suites_and_selections(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    assert list(library) == ["klein", "mesh", "both"]
    assert (len(library), library.folders) == (3, ("klein", "mesh"))
    assert "both" in library
    assert "other" not in library
    assert library["klein"].summary == "three applications"
    assert [digest(problem) for problem in library["klein"].problems()] == [digest(p) for p in KLEIN]
    assert [problem.name for problem in library["both"].problems()] == ["mesh-0", "klein-1"]
    with pytest.raises(UnknownName, match="unknown suite 'klien'; did you mean klein"):
        library["klien"]


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    (tmp_path / "klein" / "klein-0.json").write_text("spoilt")
    assert len(library["klein"].members) == 2
    assert len(library["both"].problems()) == 2
    with pytest.raises(FormatError, match=r"klein-0\.json: line 1"):
        library["klein"].problems()


def test_a_problem_is_named_like_its_file(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    path = tmp_path / "mesh" / "mesh-0.json"
    path.rename(path.with_name("mesh-7.json"))
    with pytest.raises(FormatError, match=r"mesh-7\.json: name: 'mesh-0' is not that of the file"):
        library["mesh"].problems()


def test_best_known_of_a_selection(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    assert library["both"].best_known() == ()
    rows = [BestKnown(f"klein-{idx}", name, "d") for idx in (0, 1) for name in ("completion", "makespan")]
    write_best_known(library["klein"].best_known_path("klein"), rows)
    assert library["both"].best_known() == tuple(rows[2:])
    assert library["klein"].best_known() == tuple(rows)


INDEX: dict[str, Any] = {
    "format": "allocsolve-library/1",
    "suites": [{"name": "a", "summary": ""}, {"name": "b", "summary": ""}],
    "selections": [{"name": "c", "summary": "", "instances": ["a/one"]}],
}


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (changed(INDEX, ("format",), "x/1"), "format: must be 'allocsolve-library/1', not 'x/1'"),
        (changed(INDEX, ("suites", 1, "name"), "a"), "suites[1].name: 'a' stands twice"),
        (changed(INDEX, ("selections", 0, "name"), "a"), "selections[0].name: 'a' stands twice"),
        (
            changed(INDEX, ("selections", 0, "instances"), ["d/one"]),
            "selections[0].instances[0]: 'd/one' is not <suite>/<instance> of a suite above",
        ),
    ],
)
def test_a_faulty_index(document: dict[str, Any], fault: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"library\.json: cannot be read: No such file"):
        list(Library(tmp_path))
    (tmp_path / "library.json").write_text(json.dumps(document))
    assert fault in faults_of(lambda: list(Library(tmp_path)))


ROW: dict[str, Any] = {
    "instance": "i",
    "objective": "makespan",
    "digest": "d",
    "lower": 7,
    "upper": 9,
    "status": "open",
    "history": [
        {
            "kind": kind,
            "value": value,
            "date": "2026-11-20",
            "solver": "S()",
            "versions": {"allocsolve": "0.1.0"},
            "seconds": 1.5,
            **({"solution": "s"} if kind == "solution" else {}),
        }
        for kind, value in (("solution", 9), ("bound", 7))
    ],
}


LAST = ("history", 1)


def best_known_faults(folder: Path, *rows: object) -> tuple[str, ...]:
    path = saved(folder, {"format": "allocsolve-best-known/1", "rows": rows}, "best_known.json")
    return faults_of(lambda: read_best_known(path))


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        (("lower",), 8, "rows[0].lower: 8, but the history says 7"),
        (("upper",), None, "rows[0].upper: null, but the history says 9"),
        (("status",), "optimal", "rows[0].status: 'optimal', but the history says 'open'"),
        ((*LAST, "value"), 10, "rows[0]: history[1]: the bound 10 is above the solution 9"),
        ((*LAST, "kind"), "solution", "rows[0].history[1]: a solution without the digest of a solution"),
        ((*LAST, "solution"), "s", "rows[0].history[1]: a bound with the digest of a solution"),
        (
            (*LAST, "date"),
            "2026-11-19",
            "rows[0]: history[1]: the bound 7 is of 2026-11-19, before 2026-11-20",
        ),
        ((*LAST, "date"), "2026-02-30", "rows[0].history[1].date: '2026-02-30' is no day of the calendar"),
    ],
)
def test_a_faulty_row(place: tuple[str | int, ...], value: object, fault: str, tmp_path: Path) -> None:
    assert fault in best_known_faults(tmp_path, changed(ROW, place, value))


def test_all_faults_are_told(tmp_path: Path) -> None:
    """Those of the form of fields, else those between them."""
    faults = best_known_faults(tmp_path, without(ROW, "upper"), ROW, 5)
    assert faults == ("rows[0].upper: missing", "rows[2]: must be an object, not 5")
    faults = best_known_faults(tmp_path, {**ROW, "objective": 3, "digest": 1, "lower": "x"})
    told = [fault.partition(":")[0] for fault in faults]  # not what a row without a history may have
    assert told == [f"rows[0].{field}" for field in ("objective", "digest", "lower")]
    short = {"instance": "i", "objective": "makespan", "lower": 7}
    faults = best_known_faults(tmp_path, ROW, changed(ROW, ("lower",), 8), short)
    assert faults == (
        "rows[1]: makespan of i is also rows[0]",
        "rows[2]: makespan of i is also rows[0]",
        "rows[2].history: missing",
        "rows[1].lower: 8, but the history says 7",
    )


def test_a_row_that_is_right(tmp_path: Path) -> None:
    path = saved(tmp_path, {"format": "allocsolve-best-known/1", "rows": [ROW]}, "best_known.json")
    (row,) = read_best_known(path)
    assert (row.lower, row.upper, row.optimal) == (7, 9, False)
    assert row.solution is not None
    assert row.solution.solution == "s"
    met = row.with_entry(entry("bound", 9))
    assert met.optimal
    with pytest.raises(InvalidAnswer, match=r"i \(makespan\): history\[3\]: the bound 9 is no better"):
        met.with_entry(entry("bound", 9))
    with pytest.raises(InvalidAnswer, match=r"history\[3\]: the solution 8 is below the bound 9"):
        met.with_entry(entry("solution", 8))
    empty = BestKnown("i", "makespan", "d")
    assert (empty.lower, empty.upper, empty.optimal, empty.solution) == (-math.inf, math.inf, False, None)


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({}, "generator None is not one of klein2011,"),
        ({"generator": "swf", "version": 1}, "generator 'swf' is not one of klein2011,"),
        ({**KLEIN[0].meta, "version": 99}, "generator klein2011 is of version 1, the problem of version 99"),
    ],
)
def test_what_cannot_be_made_again(meta: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regenerate(meta, make_allocator)


@pytest.mark.parametrize(
    "made",
    [
        lambda rigid: elastic_workload(rigid, share=0.5, seed=[3, 1], tick=60),
        lambda rigid: lina_workload(rigid, share=0.7, seed=2, flexibility="full", holds="larger"),
    ],
)
def test_a_workload_made_of_another_is_made_again(made: Callable[[WorkloadProblem], WorkloadProblem]) -> None:
    rigid = replace(lublin1999([5, 1], num_jobs=20), name="rigid jobs")
    problem = made(rigid)
    assert regenerate(problem.meta, make_allocator) == problem
    log = made(replace(rigid, meta={"log": "of a machine"}))
    with pytest.raises(InvalidOption, match="generator None is not one of klein2011,"):
        regenerate(log.meta, make_allocator)


# --- Improving ----------------------------------------------------------------------------------------


BUDGET = Budget(seconds=300)


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def changes(library: Library, *names: str, solvers: tuple[str, ...] = (), **options: Any) -> list[Change]:
    return list(improve_suites([library[name] for name in names], solvers, **{"budget": BUDGET, **options}))


@dataclass(frozen=True)
class Claims:
    """Claims what it is told of the schedule of a list, or of a wrong one."""

    objective: Value | None = None
    bound: Value = -math.inf
    wrong: bool = False

    def __call__(self, problem: EvolutionProblem, _: Budget) -> Result[EvolutionSchedule]:
        answer = ListScheduling()(problem, Budget()).answer
        if self.wrong:
            answer = EvolutionSchedule.of([0] * len(problem.applications), problem.applications)
        return Result(Status.FEASIBLE, answer, self.objective, self.bound)


@pytest.fixture
def baseline(monkeypatch: pytest.MonkeyPatch) -> Callable[[AnySolver], None]:
    """Have a solver stand in for the exact one."""
    make = registry.make_solver

    def stand_in(solver: AnySolver) -> None:
        def made(name: str, *args: Any) -> AnySolver:
            return solver if name == "cpsat" else make(name, *args)

        monkeypatch.setattr(registry, "make_solver", made)

    return stand_in


def test_optima_are_found_kept_and_not_sought_again(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    done = changes(library, "klein", "mesh", "both")
    # of those in both suites nothing is left to do
    assert [(change.instance, change.solver) for change in done] == [
        ("klein-0", "cpsat"),
        ("klein-1", "cpsat"),
        ("mesh-0", "branch-and-bound"),
    ]
    for change in done:
        assert change.error == ""
        assert change.before.history == ()
        assert change.after.optimal
    for name in library:
        assert all(row.optimal for row in library[name].best_known())
        assert list(verify_suite(library[name])) == []
    before = files(tmp_path)
    assert changes(library, "both") == []
    assert files(tmp_path) == before


def test_a_better_solution_replaces_the_old_one(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    suite = library["klein"]
    (task,) = plan([("klein", KLEIN[0])], [Rigid()], budgets=[Budget()])
    start = execute(task, task.make_solver())
    empty = BestKnown("klein-0", "makespan", digest(KLEIN[0]))
    worse = improved(empty, KLEIN[0], start.record, start.answer, exact=False)
    write_best_known(suite.best_known_path("klein"), [worse])
    first = next(iter(changes(library, "klein")))
    assert first.before == worse
    assert first.after.history[0] == worse.history[0]
    assert first.after.upper < worse.upper
    assert [entry.kind for entry in first.after.history] == ["solution", "solution", "bound"]
    assert read_best_known(suite.best_known_path("klein"))[0] == first.after


def test_other_solvers_and_objectives(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    done = changes(library, "both", solvers=("noX", "growth"), budget=Budget(seconds=300))
    assert [change.solver for change in done] == ["branch-and-bound", "cpsat"], "the optimum is proven first"
    done = changes(library, "both", objective="completion")
    assert [(change.instance, change.objective) for change in done] == [("klein-1", "completion")]
    assert {row.objective for row in library["klein"].best_known()} == {"completion", "makespan"}
    assert sorted(path.name for path in (tmp_path / "klein" / "solutions").iterdir()) == [
        "klein-1.completion.json",
        "klein-1.makespan.json",
    ]


def test_a_heuristic_gives_solutions_but_no_bounds(
    tmp_path: Path, baseline: Callable[[AnySolver], None]
) -> None:
    library = small_library(tmp_path)
    baseline(Rigid())
    done = changes(library, "klein", solvers=("noX",))
    assert [change.solver for change in done] == ["cpsat", "noX"] * 2
    for change in done[1::2]:
        assert {entry.kind for entry in change.after.history} == {"solution"}
        assert "ListScheduling" in change.after.history[-1].solver


@pytest.mark.parametrize(
    ("solver", "error"),
    [
        (Claims(objective=1), "InvalidAnswer: the solver claims makespan 1, the judge finds"),
        (Claims(bound=10**9), "InvalidAnswer: the solver claims the bound 1000000000, its own answer has"),
        (Claims(wrong=True), "InvalidAnswer: the answer is not feasible: "),
        (lambda *_: Result(Status.INFEASIBLE), "InvalidAnswer: the solver claims that klein-0 has no answer"),
        (lambda *_: 1 // 0, "ZeroDivisionError: "),
        (lambda *_: Result(Status.FEASIBLE, Partition([])), "InvalidAnswer: the answer is of type Partition"),  # type: ignore[arg-type]  # no schedule
    ],
)
def test_lies_change_nothing(
    solver: AnySolver, error: str, tmp_path: Path, baseline: Callable[[AnySolver], None]
) -> None:
    library = small_library(tmp_path)
    before = files(tmp_path)
    baseline(solver)
    done = changes(library, "klein")
    assert len(done) == 2
    assert error in done[0].error
    assert done[0].after == done[0].before
    assert files(tmp_path) == before


def test_a_bound_above_a_judged_solution_is_refused(
    tmp_path: Path, baseline: Callable[[AnySolver], None]
) -> None:
    library = small_library(tmp_path)
    path = library["klein"].best_known_path("klein")
    nox = ListScheduling()(KLEIN[0], Budget()).answer
    assert nox is not None
    found = int(nox.completions.max())
    rows = (
        BestKnown("klein-0", "makespan", digest(KLEIN[0]), (entry("solution", found - 1),)),
        BestKnown("klein-1", "makespan", digest(KLEIN[1]), (entry("bound", 10**8),)),
    )
    write_best_known(path, rows)
    baseline(Claims(bound=found))
    above, below = changes(library, "klein")
    assert f"claims the bound {found}, but -inf to {found - 1} is known" in above.error
    assert "claims a solution of" in below.error
    assert "but 100000000 to inf is known" in below.error
    assert read_best_known(path) == rows


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, None])
def test_interrupted_keeps_what_is_done(
    interrupt: type[BaseException] | None, tmp_path: Path, baseline: Callable[[AnySolver], None]
) -> None:
    library = small_library(tmp_path)
    last = KLEIN[1].applications

    def solver(problem: EvolutionProblem, budget: Budget) -> Result[EvolutionSchedule]:
        if problem.applications == last:
            if interrupt is not None:
                raise interrupt
            return Result(Status.UNKNOWN, limit=Limit.INTERRUPTED)
        return Rigid()(problem, budget)

    baseline(solver)
    coming = improve_suites([library["klein"]], [], budget=BUDGET)
    first = next(coming)
    with pytest.raises(KeyboardInterrupt):
        next(coming)
    assert first.instance == "klein-0"
    assert read_best_known(tmp_path / "klein" / "best_known.json") == (first.after,)
    assert not [name for name in files(tmp_path) if "/." in name]


def test_what_was_run_before_is_not_run_again(tmp_path: Path, baseline: Callable[[AnySolver], None]) -> None:
    library = small_library(tmp_path)
    store = RecordStore(tmp_path / "improve.sqlite")
    before = files(tmp_path / "klein")
    runs: list[str] = []

    def solver(problem: EvolutionProblem, budget: Budget) -> Result[EvolutionSchedule]:
        runs.append(problem.name)
        return Rigid()(problem, budget)

    baseline(solver)
    first = next(improve_suites([library["klein"]], [], budget=BUDGET, store=store))
    after = files(tmp_path / "klein")
    # As after a kill between the record and the library.
    for name in after:
        path = tmp_path / "klein" / name
        path.write_bytes(before[name]) if name in before else path.unlink()
    again = changes(library, "klein", store=store)
    assert [name for name in runs if name] == ["klein-0", "klein-1"]
    assert again[0] == first
    assert files(tmp_path / "klein").items() >= after.items() - {
        ("best_known.json", after["best_known.json"])
    }
    assert changes(library, "klein", store=store)[0].after == first.after


def test_what_goes_with_nothing_is_refused(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    with pytest.raises(UnknownName, match="unknown solver of these instances 'growth'"):
        changes(library, "klein", solvers=("growth",))
    with pytest.raises(InvalidOption, match="no instance has the objective makespan,waste"):
        changes(library, "klein", objective="makespan,waste")
    path = library["klein"].best_known_path("klein")
    write_best_known(path, [BestKnown("klein-0", "makespan", "d" * 64)])
    with pytest.raises(FormatError, match=r"best_known\.json: klein-0 is another problem"):
        changes(library, "klein")


# --- verify --------------------------------------------------------------------------------------------


def spoil(path: Path, change: Callable[[Any], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


SOLUTION = "solutions/mesh-0.pairwise.json"


def _row(**changed: Any) -> Callable[[Any], object]:
    return lambda document: document["rows"][0].update(changed)


def _other_solution(document: Any) -> None:
    document["rows"][0]["history"][0]["solution"] = "5" * 64


def _worse_bound(document: Any) -> None:
    (row,) = document["rows"]
    (row["history"][1]["value"], row["lower"], row["status"]) = (7, 7, "open")
    (row["history"][0]["value"], row["upper"]) = (7.5, 7.5)


@pytest.mark.parametrize(
    ("file", "change", "fault"),
    [
        ("mesh-0.json", lambda d: d.update(size=3), "mesh/mesh-0 (pairwise): best_known.json is of another"),
        ("mesh-0.json", lambda d: d.update(size=0), "mesh-0.json: size: 0 is below 1"),
        ("mesh-0.json", lambda d: d.update(name="x"), "mesh-0.json: name: 'x' is not that of the file"),
        ("best_known.json", lambda d: d.update(rows=[]), "mesh/mesh-0: nothing is known of its pairwise"),
        ("best_known.json", lambda d: d.pop("rows"), "best_known.json: rows: missing"),
        ("best_known.json", _row(objective="makespan"), "(makespan): no objective of partition problems"),
        ("best_known.json", _row(instance="mesh-9"), "best_known.json: there is no instance mesh-9"),
        ("best_known.json", _other_solution, "best_known.json has 555555555555"),
        ("best_known.json", _worse_bound, "mesh-0.pairwise.json: the judge finds 8, best_known.json has 7.5"),
        ("best_known.json", _worse_bound, "the solution 7.5 is below the combinatorial bound 8"),
        (SOLUTION, lambda d: d.update(nodes=[0, 1, 4, 5]), "mesh-0.pairwise.json: node 5 is busy"),
        (SOLUTION, lambda d: d.pop("nodes"), "mesh-0.pairwise.json: nodes: missing"),
        (SOLUTION, lambda d: d.update(problem="0" * 64), "this solves another problem"),
    ],
)
def test_verify_finds_what_is_wrong(
    file: str, change: Callable[[Any], object], fault: str, tmp_path: Path
) -> None:
    library = small_library(tmp_path)
    changes(library, "mesh")
    assert list(verify_suite(library["mesh"])) == []
    spoil(tmp_path / "mesh" / file, change)
    found = list(verify_suite(library["mesh"]))
    assert any(fault in line for line in found), found
    assert all(len(line.splitlines()) == 1 for line in found)


def test_verify_finds_missing_and_strange_files(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    (missing,) = verify_suite(library["mesh"])
    assert missing.endswith("best_known.json: cannot be read: No such file or directory")
    changes(library, "mesh")
    solutions = tmp_path / "mesh" / "solutions"
    (solutions / "mesh-0.pairwise.json").rename(solutions / "mesh-1.pairwise.json")
    gone, strange = verify_suite(library["mesh"])
    assert "mesh-0.pairwise.json: cannot be read: No such file" in gone
    assert strange.endswith("mesh-1.pairwise.json: belongs to no row of best_known.json")
    assert list(verify_suite(library["both"])) != []


# --- Commands -----------------------------------------------------------------------------------------


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
    found = run_json(capsys, "library", "improve", "klein", "both", "--solvers", "noX", *where)
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


@pytest.mark.usefixtures("in_process")
def test_claims_that_are_refused_and_solvers_that_do_not_apply_are_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_library(tmp_path)
    raised: list[type[Exception]] = [RuntimeError]

    def broken(_: object, problem: EvolutionProblem, __: object) -> Any:
        raise raised[0](f"{problem.name} brings no luck")

    monkeypatch.setattr(ListScheduling, "__call__", broken)
    monkeypatch.setattr(EvolutionCpSat, "__call__", broken)
    args = ("library", "improve", "klein", "--solvers", "noX", "--library", tmp_path)
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


def limited_library(root: Path) -> Library:
    """Two suites of the same applications, under the limits 1 and 2; nothing is known of them."""
    for name, limit in ("tight", 1), ("loose", 2):
        (root / name / "solutions").mkdir(parents=True)
        problem = replace(KLEIN[0], expand_limit=limit, name=f"{name}-0")
        write_problem(problem, root / name / f"{name}-0.json")
    write_index(root, {"tight": "limit 1", "loose": "limit 2"}, [])
    return Library(root)


def test_rows_of_one_problem_under_two_limits_share_what_they_know(
    tmp_path: Path, baseline: Callable[[AnySolver], None]
) -> None:
    library = limited_library(tmp_path)
    first = changes(library, "tight")
    optimum = first[0].after.upper
    baseline(Rigid())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(improve, "judge", SimpleNamespace(violations=lambda *_: ["too wide"]))
        with pytest.raises(InvalidAnswer, match="tight-0: too wide"):
            changes(library, "loose")
    loose, taken = changes(library, "loose")
    assert loose.after.upper > optimum
    assert (taken.instance, taken.solver) == ("loose-0", "what is known of tight-0")
    assert (taken.after.lower, taken.after.upper) == (loose.after.lower, optimum)
    assert taken.after.history[-1].solver.endswith(", on tight-0")
    assert list(verify_suite(library["loose"])) == []
    assert list(improve.implied_rows([library["tight"], library["loose"]])) == []


def test_a_bound_of_a_looser_limit_holds_under_a_tighter_one(
    tmp_path: Path, baseline: Callable[[AnySolver], None]
) -> None:
    library = limited_library(tmp_path)
    baseline(Claims(bound=1))
    changes(library, "tight")
    baseline(Claims(bound=7))
    changes(library, "loose")
    baseline(Claims())
    *_, taken = changes(library, "tight")
    assert (taken.solver, taken.before.lower, taken.after.lower) == ("what is known of loose-0", 1, 7)
