"""Improving and verifying a library: only what the judge confirms is written, and what is wrong is found."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from library_tools import KLEIN, entry, small_library

from allocsolve import registry
from allocsolve.bench import RecordStore, improve_suites, plan, verify_suite
from allocsolve.bench.library.closing import implied_rows
from allocsolve.bench.library.improve import improved
from allocsolve.bench.runs.execution import execute
from allocsolve.errors import FormatError, InvalidOption, UnknownName
from allocsolve.heuristics import ListScheduling, Rigid
from allocsolve.instances import (
    BestKnown,
    Library,
    digest,
    read_best_known,
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

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.bench import Change
    from allocsolve.families import AnySolver

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
    assert [change.after.optimal for change in first] == [True]
    optimum = first[0].after.upper
    baseline(Rigid())
    loose, taken = changes(library, "loose")
    assert loose.after.upper > optimum
    assert (taken.instance, taken.solver) == ("loose-0", "what is known of tight-0")
    assert (taken.after.lower, taken.after.upper) == (loose.after.lower, optimum)
    assert taken.after.history[-1].solver.endswith(", on tight-0")
    # What comes from there is judged like any other solution, and is taken once.
    assert list(verify_suite(library["loose"])) == []
    assert list(implied_rows([library["tight"], library["loose"]])) == []


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
