"""What the library or a folder states of problems counts; rows that contradict each other are named."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, in_this_process, refused, run, run_json
from hypothesis import given, strategies as st
from study_tools import failed, row

from allocsolve.bench import (
    SUITES,
    Record,
    RecordStore,
    best,
    compare,
    merge_records,
    plan,
    problems_of,
    solver_scores,
)
from allocsolve.bench.library.design import folder_references, library_statements
from allocsolve.bench.scores.catalogue import LIBRARY, Catalogue, Reference, select
from allocsolve.bench.scores.gaps import Best, consistent, contradictions, stated_remark
from allocsolve.bench.scores.summary import export
from allocsolve.cli import main
from allocsolve.errors import FormatError
from allocsolve.instances import BestKnown, HistoryEntry, digest, klein2011, write_best_known, write_problem
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile, Status, terms
from allocsolve.report import examine, markdown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from allocsolve.bench import Record


SUITE = "klein-8-l1"
STATED = {row.digest: row for row in SUITES[SUITE].best_known() if row.objective == "makespan"}
FIRST = next(iter(STATED.values()))
ALL_STATED = "10 of 10 best known bounds and values are stated by the library, not by this study."


def _row(
    value: float | None, bound: float = -math.inf, *, solver: str = "x", suite: str = SUITE, **fields: Any
) -> Record:
    """A run on the first instance of the suite."""
    return row(FIRST.instance, solver, value, bound, suite=suite, digest=FIRST.digest, **fields)


pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of a study of one weak solver on a suite whose optima the library has proven."""
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(f'suites = ["{SUITE}"]\nsolvers = ["noX"]\n', encoding="utf-8")
    with in_this_process():
        assert main(["study", "run", str(path)]) == 0
    return path.with_suffix(".sqlite")


def _gaps(records: RecordStore) -> list[float]:
    """By hand: how far each value is above the optimum that ``best_known.json`` has."""
    return [record.value / STATED[record.digest].upper - 1 for record in records]  # type: ignore[operator]  # one term, answered


def test_a_report_measures_against_the_optima_of_the_library(
    study: Path, tmp_path: Path, capsys: Capture
) -> None:
    table = tmp_path / "r.md"
    found = run_json(capsys, "study", "report", study, "--out", tmp_path / "r.html", "--out", table)
    with RecordStore(study, read_only=True) as store:
        gaps = _gaps(store)
    assert all(stated.optimal for stated in STATED.values())
    assert f"{100 * sum(gaps) / len(gaps):.1f}" == "23.7"
    (headline,) = found["headlines"]
    assert headline == (
        "noX on 10 evolution problems: makespan 23.7 % above the best known bound on average, "
        f"best known value on 0 of 10. {ALL_STATED}"
    )
    text = table.read_text(encoding="utf-8")
    assert text.count(ALL_STATED) == 2, "in the headline and beside the table of gaps"
    assert f"| {SUITE} | evolution | makespan | 10 | 10 | 0 | 0 | 1 | 1 | 10 |" in text


def test_an_export_has_what_is_stated_beside_what_was_found(
    study: Path, tmp_path: Path, capsys: Capture
) -> None:
    run(capsys, "study", "export", study, "--out", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    for cells in rows:
        stated = STATED[cells["digest"]]
        assert (float(cells["stated.bound"]), float(cells["stated.value"])) == (stated.lower, stated.upper)
        assert (cells["stated.by"], cells["bound"]) == (LIBRARY, "-inf")


def test_score_says_what_it_owes_to_the_library(tmp_path: Path, capsys: Capture) -> None:
    args = ("score", SUITE, "--solvers", "noX", "--baseline", "rigid", "--out", tmp_path / "out")
    found = run_json(capsys, *args)
    assert (found["optima_proven"], found["bounds_stated"]) == (10, 10)
    nox = next(one for one in found["scores"] if one["solver"] == "noX")
    assert f"{100 * nox['gap']['mean']:.1f}" == f"{100 * nox['optimum_gap']['mean']:.1f}" == "23.7"
    assert ALL_STATED.replace("this study", "these runs") in run(capsys, *args)
    exact = run(capsys, "score", SUITE, "--solvers", "noX", "--out", tmp_path / "exact")
    assert "stated" not in exact, "the baseline proves all of it"


def test_two_studies_are_measured_against_the_library(study: Path, capsys: Capture) -> None:
    found = run_json(capsys, "study", "compare", study, study)
    (change,) = found["changes"]
    assert f"{100 * change['gap_before']:.1f}" == "23.7"
    assert ALL_STATED.replace("this study", "these studies") in run(capsys, "study", "compare", study, study)


def test_from_python_the_library_counts_too(study: Path, tmp_path: Path) -> None:
    with RecordStore(study, read_only=True) as store:
        rows, gaps, catalogue = list(store), _gaps(store), store.catalogue()
    for given_catalogue in (None, catalogue):
        (score,) = solver_scores(rows, given_catalogue)
        assert score.gap is not None
        assert score.gap.mean == pytest.approx(sum(gaps) / 10)
        (comparison,) = compare(rows, given_catalogue)
        assert stated_remark(comparison.best_by_digest.values()) == ALL_STATED
        assert examine(rows, catalogue=given_catalogue).headlines[0].endswith(ALL_STATED)
    with RecordStore(study, read_only=True) as store, RecordStore(tmp_path / "merged.sqlite") as merged:
        merge_records(merged, [store])
        assert not merged.kept_catalogue().references, "no file of records keeps what the library says"
    export(rows, tmp_path / "t.json")
    assert '"stated.by": "the library"' in (tmp_path / "t.json").read_text(encoding="utf-8")
    (score,) = solver_scores(rows, Catalogue())
    assert score.gap is not None
    assert f"{100 * score.gap.mean:.1f}" == "73.5", "by the records alone, where that is asked for"


def test_problems_that_a_study_has_changed_are_not_those_of_the_library() -> None:
    changed = replace(_row(60000), digest="another")
    assert best([changed])["another"].value == 60000
    assert best([replace(_row(60000), suite="mine")])[FIRST.digest].bound == -math.inf


def test_an_answer_better_than_a_stated_optimum_is_named() -> None:
    better = _row(FIRST.upper - 1)
    findings = examine([better])
    claim = f"the library claims the bound {FIRST.lower}, x found {better.value}"
    said = [f"contradiction on {FIRST.instance}: {claim}"]
    assert [str(one) for one in findings.contradictions] == said
    assert findings.records == (better,)
    assert f"| {FIRST.instance} | makespan | the library | the bound {FIRST.lower} | x |" in markdown(
        findings
    )


def test_a_certified_bound_above_a_stated_value_is_named() -> None:
    certified = _row(FIRST.upper + 9, FIRST.upper + 1, certified_bound=FIRST.upper + 1)
    kept, catalogue, named = consistent([certified], library_statements([certified]))
    assert kept == (certified,)
    assert catalogue.reference(FIRST.digest, "makespan") is None
    assert [str(one).partition(": ")[2] for one in named] == [
        f"the certificate of x claims the bound {FIRST.upper + 1}, the library found {FIRST.upper}"
    ]


def test_a_false_claim_does_not_cost_the_statement_that_refutes_it() -> None:
    honest, liar = _row(FIRST.upper + 9), _row(FIRST.upper + 9, FIRST.upper + 1, solver="liar")
    kept, catalogue, (named,) = consistent([honest, liar], library_statements([honest]))
    assert (kept, named.struck) == ((honest,), (liar,))
    assert best(kept, catalogue)[FIRST.digest].bound == FIRST.lower
    mine = Catalogue(references={(FIRST.digest, "makespan"): Reference(-math.inf, FIRST.upper, "mine")})
    kept, catalogue, (named,) = consistent([honest, liar], mine)
    assert (kept, named.struck, catalogue.references) == ((honest,), (liar,), {}), "nobody has judged it"


_BOUNDS = st.sampled_from([-math.inf, 3.0, 5.0, 7.0])
_VALUES = st.sampled_from([7.0, 9.0, 11.0])


@given(
    st.lists(st.tuples(st.none() | _VALUES, _BOUNDS, _BOUNDS), min_size=1, max_size=3),
    _BOUNDS,
    _VALUES | st.just(math.inf),
    st.sampled_from(["makespan", "makespan,waste"]),
)
def test_the_better_of_study_and_library_counts_and_says_whose_it_is(
    runs: list[tuple[float | None, float, float]], lower: float, upper: float, objective: str
) -> None:
    rows = [
        _row(value, bound, combinatorial_bound=cheap, solver=f"x{idx}", objective=objective)
        for idx, (value, bound, cheap) in enumerate(runs)
    ]
    stated = Catalogue(references={(FIRST.digest, "makespan"): Reference(lower, upper, LIBRARY)})
    own = best(rows, Catalogue())[FIRST.digest]
    both = best(rows, stated)[FIRST.digest]
    assert both.bound == max(own.bound, lower)
    assert both.bound_stated_by == (LIBRARY if lower > own.bound else "")  # type: ignore[operator]  # of one term
    least = math.inf if own.value is None else own.value
    counts = objective == "makespan" and upper < least  # type: ignore[operator]  # of one term
    assert (both.value, both.value_stated_by) == ((upper, LIBRARY) if counts else (own.value, ""))
    assert (both.standing == "stated") == bool(both.bound_stated_by)
    assert not consistent(rows, stated)[2]


def test_two_files_that_contradict_each_other_are_named() -> None:
    honest = _row(FIRST.upper + 9)
    stated = Reference(FIRST.lower, FIRST.upper, LIBRARY).merged(Reference(0, FIRST.upper - 5, "mine"))
    catalogue = Catalogue(references={(FIRST.digest, "makespan"): stated})
    kept, left, (named,) = consistent([honest], catalogue)
    assert (kept, left.references) == ((honest,), {})
    assert "the library, mine claims the bound" in str(named)


def test_the_remark_counts_and_names_the_sources() -> None:
    known = [
        Best("a", 9, 5, 3, bound_stated_by=LIBRARY),
        Best("b", 9, 5, 3, bound_stated_by=f"mine, {LIBRARY}", value_stated_by="mine"),
        Best("c", 9, 5, 5),
    ]
    assert stated_remark(known) == (
        "2 of 3 best known bounds and 1 of 3 best known values are stated by the library and the suite mine, "
        "not by this study."
    )
    assert stated_remark(known[2:]) == ""


# --- Folders ------------------------------------------------------------------------------------------


PROBLEMS = [replace(klein2011([7, seed], num_apps=(3, 4)), name=f"p{idx}") for idx, seed in enumerate((0, 2))]
FORMAT = "allocsolve-best-known/1"


def _folder(path: Path, *rows: dict[str, Any], form: str = FORMAT) -> Path:
    path.mkdir(parents=True)
    for problem in PROBLEMS:
        write_problem(problem, path / f"{problem.name}.json")
    (path / "best_known.json").write_text(json.dumps({"format": form, "rows": rows}), encoding="utf-8")
    return path


def _stated(instance: str = "p0", objective: str = "makespan", **fields: Any) -> dict[str, Any]:
    return {"instance": instance, "objective": objective, **fields}


def test_rows_are_short_or_have_a_history(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "mine", _stated(lower=25, upper=30), _stated(objective="waste", upper=7))
    identity = digest(PROBLEMS[0])
    stated = folder_references(folder)
    assert stated[identity, "makespan"] == (25, 30, "mine")
    assert stated[identity, "waste"] == (-math.inf, 7, "mine")
    assert {suite for suite, _, _ in problems_of(str(folder))} == {"mine"}
    entry = HistoryEntry("bound", 28, "2026-11-20", "CpSat()", {}, 1.0)
    (folder / "best_known.json").unlink()
    assert folder_references(folder) == {}
    assert {suite for suite, _, _ in problems_of(str(folder))} == {""}
    write_best_known(folder / "best_known.json", [BestKnown("p0", "makespan", identity, (entry,))])
    assert folder_references(folder) == {(identity, "makespan"): (28, math.inf, "mine")}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (_stated("p7", lower=1), "p7: there is no file p7.json"),
        (_stated(digest="0" * 64, lower=1), "p0 is another problem, "),
        (_stated(objective="pairwise", lower=1), "p0: pairwise is not one of makespan, completion, waste"),
        (_stated(), "rows[0]: states neither lower nor upper"),
        (_stated(lower=9, upper=3), "rows[0]: the bound 9 is above the solution 3"),
        (_stated(lower="9"), "rows[0].lower: must be a number or null, not '9'"),
        (_stated(lower=9, proof="mine"), "rows[0]: unknown field 'proof'"),
        (_stated(history=[]), "rows[0].digest: missing"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    folder = _folder(tmp_path / "mine", row)
    with pytest.raises(FormatError) as refusal:
        folder_references(folder)
    assert str(refusal.value).startswith(f"{folder / 'best_known.json'}: ")
    assert fault in str(refusal.value)


def test_a_row_stands_once_and_no_suite_of_the_package_is_meant(tmp_path: Path, capsys: Capture) -> None:
    folder = _folder(tmp_path / "mine", _stated(lower=1), _stated(upper=30))
    assert "makespan of p0 is also rows[0]" in refused(capsys, "score", folder, "--solvers", "noX")
    folder = _folder(tmp_path / "tiny", _stated(lower=1))
    assert "a suite of the package is called tiny" in refused(capsys, "score", folder, "--solvers", "noX")


def test_score_measures_against_what_is_stated(tmp_path: Path, capsys: Capture) -> None:
    folder = _folder(tmp_path / "mine", _stated(lower=30000, upper=32000), _stated("p1", lower=11126))
    args = ("score", folder, "--solvers", "noX", "--baseline", "rigid", "--out", tmp_path / "out")
    found = run_json(capsys, *args)
    nox = next(one for one in found["scores"] if one["solver"] == "noX")
    assert nox["gap"]["max"] == pytest.approx(32696 / 30000 - 1)
    assert (nox["optimal"], found["optima_proven"]) == (1, 1)
    assert "or stated by a suite" in run(capsys, *args)
    page, table = tmp_path / "r.html", tmp_path / "r.md"
    run(capsys, "study", "report", tmp_path / "out" / "records.sqlite", "--out", page, "--out", table)
    text = table.read_text(encoding="utf-8")
    assert "## mine: makespan" in text
    assert f"| noX | 2 | {50 * (32696 / 30000 - 1):.2f} " in text


def test_a_study_keeps_what_is_stated_and_a_false_statement_is_named(tmp_path: Path, capsys: Capture) -> None:
    _folder(tmp_path / "mine", _stated(lower=24000), _stated("p1", lower=11127))
    study = tmp_path / "study.toml"
    study.write_text('suites = ["mine"]\nsolvers = ["noX"]\n', encoding="utf-8")
    run(capsys, "study", "run", study)
    with RecordStore(tmp_path / "study.sqlite", read_only=True) as store:
        stated = set(store.catalogue().references.values())
        assert stated == {(24000, math.inf, "mine"), (11127, math.inf, "mine")}
    report = ("study", "report", tmp_path / "study.sqlite", "--out", tmp_path / "r.html")
    out = run(capsys, *report, status=1)
    assert "contradiction on p1: mine claims the bound 11127, noX found 11126; 0 records struck out" in out
    score = ("score", tmp_path / "mine", "--solvers", "noX", "--baseline", "rigid")
    out = run(capsys, *score, "--out", tmp_path / "out", status=1)
    assert "contradiction on p1: mine claims the bound 11127, noX found 11126; 0 records struck out" in out
    assert "noX" in out


# --- Contradictions -----------------------------------------------------------------------------------


HONEST = [row("a", "x", 120), row("a", "y", 100, 100), row("b", "x", 90), row("b", "y", 80, 70)]
#: Its answer is no worse than others', its bound is false.
FALSE_BOUND = row("a", "liar", 115, 125)
FALSE_PROOF = replace(row("b", "other-liar", None), status=Status.INFEASIBLE)

_CLAIMED = st.sampled_from([-math.inf, 3, 5, 7])


@st.composite
def _rows(draw: st.DrawFn) -> list[Record]:
    """Runs of three solvers on two instances that claim what they like."""
    return [
        row(
            instance,
            solver,
            draw(st.none() | st.integers(3, 7)),
            draw(_CLAIMED),
            status=draw(st.sampled_from([Status.UNKNOWN, Status.INFEASIBLE])),
            certified_bound=draw(_CLAIMED),
        )
        for instance in "ab"
        for solver in draw(st.sets(st.sampled_from("xyz")))
    ]


@st.composite
def _references(draw: st.DrawFn) -> Catalogue:
    lower = draw(_CLAIMED)
    upper = draw(st.sampled_from([max(lower, 3), max(lower, 6), math.inf]))
    return Catalogue(references={("digest of a", "makespan"): Reference(lower, upper, "mine")})


@given(_rows(), st.just(Catalogue()) | _references())
def test_what_is_left_contradicts_nothing(rows: list[Record], catalogue: Catalogue) -> None:
    left, left_catalogue, found = consistent(rows, catalogue)
    struck = [one for each in found for one in each.struck]
    assert [one for one in rows if one not in struck] == list(left)
    best(left, left_catalogue)  # raises if something contradicts
    assert consistent(left, left_catalogue) == (left, left_catalogue, ())
    if not found:
        assert (list(left), left_catalogue) == (rows, catalogue)
    else:
        with pytest.raises(Exception, match="contradiction on"):
            best(rows, catalogue)


@given(_rows())
def test_a_judged_answer_is_struck_by_recomputed_bounds_only(rows: list[Record]) -> None:
    claimed = [replace(one, certified_bound=-math.inf) for one in rows]
    left, _, _ = consistent(claimed, Catalogue())
    for one in [one for one in claimed if one not in left]:
        same = [other.value for other in claimed if other.digest == one.digest]
        least = min(terms(value) for value in same if value is not None)
        assert terms(one.bound) > least or one.status is Status.INFEASIBLE


def test_who_contradicts_whom_by_what_numbers() -> None:
    (one,) = contradictions([*HONEST[:2], FALSE_BOUND])
    assert str(one) == "contradiction on a: liar claims the bound 125, y found 100"
    assert one.struck == (FALSE_BOUND,)
    certified = replace(FALSE_BOUND, certified_bound=125)
    (one,) = contradictions([*HONEST[:2], certified])
    assert str(one) == "contradiction on a: the certificate of liar claims the bound 125, y found 100"
    assert one.struck == (*HONEST[:2], certified)  # which of two computations is wrong is not known


def test_a_report_says_what_it_says_without_the_struck_rows() -> None:
    honest = examine(HONEST)
    found = examine([*HONEST[:2], FALSE_BOUND, *HONEST[2:], FALSE_PROOF])
    assert found.records == honest.records
    assert (found.sections, found.headlines) == (honest.sections, honest.headlines)
    lines = markdown(found).splitlines()
    assert "| a | makespan | liar | the bound 125 | y | 100 | 1 | liar |" in lines
    assert "| b | makespan | other-liar | it is infeasible | y | 80 | 1 | other-liar |" in lines
    assert any(line.startswith("2 records struck out") for line in lines)
    assert lines.index("## Contradictions") < lines.index("## Study")
    before, _, after = "\n".join(lines).partition("## Contradictions")
    assert before + after[after.index("## Study") :] == markdown(honest).rstrip("\n")


def _problem(name: str, nodes: int) -> EvolutionProblem:
    return EvolutionProblem(nodes, (EvolutionProfile([(10, 1)]),), name=name)


def _written(path: Path, rows: Iterable[Record]) -> Path:
    """A file of rows, each about the problem that its instance stands for."""
    with RecordStore(path) as store:
        for one in rows:
            problem = _problem(one.instance, ord(one.instance))
            store.append(replace(one, digest=digest(problem)), problem, None)
    return path


def test_the_page_comes_in_spite_of_a_false_bound(tmp_path: Path, capsys: Capture) -> None:
    study = _written(tmp_path / "s.sqlite", [*HONEST, FALSE_BOUND])
    page, table = tmp_path / "r.html", tmp_path / "r.md"
    out = run(capsys, "study", "report", study, "--out", page, "--out", table, status=1)
    assert "contradiction on a: liar claims the bound 125, y found 100; 1 record struck out\n" in out
    assert '<td class="text" data-key="the bound 125">' in page.read_text(encoding="utf-8")
    assert "## Contradictions" in table.read_text(encoding="utf-8")
    found = run_json(capsys, "study", "report", study, "--out", page, "--force", status=1)
    assert found["contradictions"] == ["contradiction on a: liar claims the bound 125, y found 100"]
    assert (found["records"], found["struck_out"]) == (4, 1)
    out = run(capsys, "study", "report", study, "--out", page, "--force", "--exclude", "liar")
    assert "contradiction" not in out
    assert '<h3 id="t0">Contradictions' not in page.read_text(encoding="utf-8")
    study = _written(tmp_path / "all.sqlite", [row("a", "x", 99, certified_bound=100)])
    run(capsys, "study", "report", study, "--out", page, "--force", status=1)
    assert "the certificate of x" in page.read_text(encoding="utf-8"), "all rows are struck out"


def test_a_report_of_some_solvers_knows_nothing_of_the_others(tmp_path: Path, capsys: Capture) -> None:
    study = _written(tmp_path / "s.sqlite", [*HONEST, failed(row("a", "z(b=1, c=2)", 1), "Boom: x")])
    table, page = tmp_path / "r.md", tmp_path / "r.html"
    run(capsys, "study", "report", study, "--out", page, "--out", table, "--solvers", "x,z(b=1, c=2)")
    text = table.read_text(encoding="utf-8")
    assert "| x | 2 | - |" in text  # the bounds were of y
    assert "| y |" not in text
    exported = tmp_path / "t.json"
    out = run(capsys, "study", "export", study, "--out", exported, "--exclude", "x,y")
    assert out == f"{exported}: 1 record\n"
    assert [one["solver"] for one in json.loads(exported.read_text())] == ["z(b=1, c=2)"]
    said = refused(capsys, "study", "report", study, "--out", page, "--force", "--solvers", "w")
    assert "unknown solver of the records 'w'" in said
    said = refused(capsys, "study", "export", study, "--out", exported, "--force", "--suite", "files")
    assert "unknown suite of the records 'files'" in said
    assert main(["study", "report", str(study), "--out", str(page), "--solvers", "x", "--exclude", "x"]) == 2


def test_an_instance_counts_in_every_suite_that_names_it(tmp_path: Path, capsys: Capture) -> None:
    ten = [_problem(f"p{nodes}", nodes) for nodes in range(1, 11)]
    named = [("small", one) for one in ten[:2]] + [("ten", one) for one in ten] + [("", ten[0])]
    tasks = plan(named, ["noX"], budgets=[Budget(seconds=9)])
    assert len(tasks) == 10
    path = tmp_path / "s.sqlite"
    with RecordStore(path) as store:
        store.add_catalogue(Catalogue({task.key.digest: task.suites for task in tasks}))
        for task in tasks:
            made = row(task.problem.name, "noX", 10, 10, suite=task.suite, digest=task.key.digest)
            store.append(made, task.problem, None)
        catalogue = store.catalogue()
        counts = {one.suite: len(one.best_by_digest) for one in compare(store, catalogue)}
        assert counts == {"small": 2, "ten": 10, "": 1}
        rows, chosen = select(store, catalogue, suites=["ten"])
        assert {one.suite: len(one.best_by_digest) for one in compare(rows, chosen)} == {"ten": 10}
        rows, chosen = select(store, catalogue, suites=["files", "small"])
        assert {one.suite: len(one.best_by_digest) for one in compare(rows, chosen)} == {"small": 2, "": 1}
    table = tmp_path / "r.md"
    out = run(capsys, "study", "report", path, "--out", tmp_path / "r.html", "--out", table)
    assert "Report of 10 records" in out
    lines = table.read_text(encoding="utf-8").splitlines()
    shown = [line.split(" | ")[3] for line in lines if line.startswith(("| small", "| ten", "| files"))]
    assert shown == ["2", "10", "1"]


def test_a_resumed_study_learns_of_new_suites_and_old_files_have_those_of_their_rows(tmp_path: Path) -> None:
    path = _written(tmp_path / "s.sqlite", [row("a", "x", 5, suite="old")])
    identity = digest(_problem("a", ord("a")))
    with RecordStore(path, read_only=True) as store:
        assert store.catalogue() == Catalogue({identity: ("old",)})
    with RecordStore(path) as store:
        store.add_catalogue(Catalogue({identity: ("new",)}))
        store.add_catalogue(Catalogue({identity: ("new", "newer")}))
        assert set(store.catalogue().suites[identity]) == {"old", "new", "newer"}
        assert len(store) == 1
