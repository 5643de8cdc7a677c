"""Figures for print, and the page of quality figures."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import Capture, refused, run, run_json
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from study_tools import MemoryStudy, row

from allocsolve import (
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    Mesh,
    WorkloadProblem,
    solve,
)
from allocsolve.cli import main
from allocsolve.errors import InvalidOption, SolverUnavailable, UnknownName
from allocsolve.families import families, family_named
from allocsolve.figures import FORMATS, gantt, plot, write_figures
from allocsolve.instances import Library, klein2011, lublin1999, uniform_occupancy, write_problem
from allocsolve.model import (
    ClosedWindow,
    DeadlineJob,
    ReservationProblem,
    ReservationSchedule,
    WorkloadSchedule,
)
from allocsolve.registry import make_solver
from allocsolve.report import Section, examine

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.bench import Record


#: In per cent, on eight instances; the names are not what they are in TeX, and one solver fails once.
GAPS = {"noX": (5, 20, 20, 30, 30, 40, 65, 200), "$my_{$": (0, 0, 1, 1, 2, 3, 5, None)}


def _rows() -> list[Record]:
    return [
        row(f"i{idx}", solver, None, 100)
        if gap is None
        else row(f"i{idx}", solver, 100 + gap, 100, incumbents=((0.1, 150 + gap), (0.5, 100 + gap)))
        for solver, gaps in GAPS.items()
        for idx, gap in enumerate(gaps)
    ]


def _section(rows: list[Record]) -> Section:
    (only,) = examine(rows).sections
    return only


def _plot(*what: Any, kind: str = "") -> Any:
    return plot(*what, kind=kind, ax=Figure())


def _legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def _width(axes: Any) -> float:
    """The inches across of the figure, in which everything that is drawn has room."""
    axes.figure.draw_without_rendering()
    box, (width, height) = axes.figure.get_tightbbox(), axes.figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02
    return float(width)


def _lines(axes: Any) -> dict[str, list[tuple[float, float]]]:
    return {str(line.get_label()): line.get_xydata().tolist() for line in axes.lines}


def test_boxes_show_the_gaps_of_the_table() -> None:
    section = _section(_rows())
    axes = _plot(section)
    assert axes.get_xlabel() == "gap to the best known bound [%]"
    assert axes.get_title() == "s: makespan\ngaps; n: the instances with a gap"
    assert _legend(axes) == ["median", "mean", "outliers"]
    assert [text.get_text() for text in axes.texts] == [r"\$my_{\$, n = 7 of 8", "noX, n = 8"]
    ends = [np.ravel(line.get_xdata()).tolist() for line in axes.lines]
    for summary in section.summaries:
        assert summary.gap is not None
        assert pytest.approx([100 * summary.gap.mean]) in ends
        assert pytest.approx([100 * summary.gap.median] * 2) in ends
    assert pytest.approx([200]) in ends, "the only outlier"
    boxes = [patch.get_path().get_extents().intervalx.tolist() for patch in axes.patches]
    assert boxes == [pytest.approx([0, 3]), pytest.approx([20, 40])]
    assert _width(axes) == 3.4


def test_infinite_gaps_are_at_the_end_of_the_axis() -> None:
    rows = [row("a", "x", 5, 0), *(row(f"i{gap}", "x", 100 + gap, 100) for gap in (0, 0.1, 0.2, 900))]
    axes = _plot(rows)
    assert (axes.get_xscale(), axes.get_xticklabels()[-1].get_text()) == ("symlog", "inf")
    assert axes.get_xticks()[-1] == _lines(axes)["mean"][0][0]
    assert _width(axes) == 3.4


def test_curves_are_those_of_the_statistics() -> None:
    section = _section(_rows())
    axes = _plot(section, kind="profile")
    for entrant, name in zip(("$my_{$", "noX"), _legend(axes), strict=True):
        assert name == entrant.replace("$", r"\$")
        assert _lines(axes)[name][1:-1] == [pytest.approx(step) for step in section.profiles[entrant]]
    assert axes.get_title().endswith("\nperformance profile, n = 8")
    assert axes.get_ylabel() == "share of the instances"
    axes = _plot(section, kind="primal")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time [s]", "mean primal gap [%]")
    for curve in section.primal_curves:
        drawn = _lines(axes)[curve.entrant.replace("$", r"\$")][1:-1]
        assert drawn == [pytest.approx((time, max(100 * gap, 0.01))) for time, gap in curve.steps]
    assert _width(axes) == 3.4
    rows = [row("a", "x", 100, 100), row("a", "y", 100, 100, runtime=30)]
    assert _plot(rows, kind="proof-profile").get_xscale() == "log"


def test_seven_solvers_can_be_told_apart_in_grey() -> None:
    rows = [row(name, f"s{idx}", 100 + idx, 100) for idx in range(9) for name in "ab"]
    axes = _plot(rows, kind="profile")
    assert axes.get_title().endswith("n = 2, 7 of 9 solvers")
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in axes.lines}) == 7
    assert len({line.get_color() for line in axes.lines}) == 7


def test_a_gantt_chart_shows_steps_and_what_is_held_longer() -> None:
    apps = (EvolutionProfile([(10, 3), (20, 1), (10, 2)]), EvolutionProfile([(30, 4)]))
    problem = EvolutionProblem(4, apps, expand_limit=2)
    schedule = EvolutionSchedule.of([0, 45], [EvolutionProfile([(10, 3), (25, 1), (10, 2)]), apps[1]])
    axes = _plot(problem, schedule)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(problem.application_names)
    assert _legend(axes) == ["waits", "grows", "shrinks", "held longer than asked"]
    boxes = [(patch.get_x(), patch.get_width()) for patch in axes.patches]
    assert boxes == [(0, 10), (10, 20), (30, 5), (35, 10), (45, 30), (30, 5)]
    heights = [patch.get_height() for patch in axes.patches[:5]]
    assert np.array(heights) / heights[-1] == pytest.approx([0.75, 0.25, 0.25, 0.5, 1])
    lines = _lines(axes)
    assert ([x for x, _ in lines["grows"]], [x for x, _ in lines["shrinks"]]) == ([35], [10])
    assert (axes.get_xlabel(), _width(axes)) == ("time [s]", 7.0)


def test_who_grew_and_who_shrank_in_a_window() -> None:
    problem = WorkloadProblem(8, [Job(0, 2, 100, name="a"), Job(0, 2, 100, name="b"), Job(500, 1, 9)])
    held = [0, 1, 3, 4], [0, 0, 50, 500], [50, 50, 90, 509], [2, 2, 6, 1]
    schedule = WorkloadSchedule(*(np.array(column) for column in held))
    axes = gantt(problem, schedule, window=(10, 400), ax=Figure())
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert [x for x, _ in _lines(axes)["grows"]] == [50]
    assert {"2", "6"} == {text.get_text() for text in axes.texts}
    with pytest.raises(InvalidOption, match="1 to 48 jobs, not 0: choose"):
        gantt(problem, schedule, window=(1000, 2000))
    many = klein2011(1, num_apps=(49, 49))
    with pytest.raises(InvalidOption, match="1 to 48 jobs, not 49: choose"):
        plot(many, solve(many, "noX"))


@pytest.mark.parametrize("count", [20, 400])
def test_nodes_in_use_add_up(count: int) -> None:
    jobs = lublin1999(5, num_jobs=count, num_nodes=64).jobs
    start = float(jobs.packed.submit[count // 2])
    problem = WorkloadProblem(64, jobs, closed=[ClosedWindow(start, start + 600, {"nodes": 30})])
    answers = {name: solve(problem, name) for name in ("easy", "fcfs")}
    axes = _plot(problem, answers, kind="use")
    assert _legend(axes) == ["easy", "fcfs", "all 64 nodes", "closed"]
    assert ("means over" in axes.get_xlabel()) == (count == 400)
    hour = 3600 if "time [h]" in axes.get_xlabel() else 86400
    for stairs, result in zip(axes.patches[:2], answers.values(), strict=True):
        values, edges, _ = stairs.get_data()
        schedule = result.answer
        assert schedule is not None
        area = float((schedule.nodes * (schedule.ends - schedule.starts)).sum())
        assert (values * np.diff(edges)).sum() * hour == pytest.approx(area)
    assert _width(axes) == 3.4


def test_counted_resources_are_shares_beside_the_nodes() -> None:
    jobs = [Job(0, 2, 60, needs={"gpus": 4}), Job(0, 1, 120, needs={"gpus": 2, "licences": 1})]
    problem = WorkloadProblem(4, jobs, resources={"gpus": 8, "licences": 1})
    axes = _plot(problem, solve(problem, "easy"), kind="use")
    assert _legend(axes) == ["nodes", "gpus of 8", "licences of 1", "all 4 nodes"]
    assert [patch.get_data()[0].tolist() for patch in axes.patches] == [[75, 25], [75, 25], [100, 100]]
    assert len({str(patch.get_linestyle()) for patch in axes.patches}) == 3, "told apart in grey"
    assert axes.get_ylabel() == "in use [%]"


def test_reservations_have_gantt_charts() -> None:
    problem = ReservationProblem(
        Mesh((2, 2)), tuple(DeadlineJob(0, n, 10, 20, name=f"job {n}") for n in (1, 2, 4))
    )
    schedule = ReservationSchedule(
        *map(np.array, ([2, 1, 0], [10, 15, np.nan], [0, 1, 4, 4], [0, 1, 2, 3])),
        *map(np.array, ([0.0, 0.0, 0.0, 10.0], [10.0, 10.0, 15.0, 15.0])),
    )
    axes = _plot(problem, schedule)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["job 1", "job 2"], "one is rejected"
    assert [text.get_text() for text in axes.texts] == ["1", "2", "2"]
    assert _plot(problem, schedule, kind="use").patches[0].get_data()[0].tolist() == [3, 2]


def test_what_cannot_be_drawn_is_said_in_a_line() -> None:
    mesh = uniform_occupancy(Mesh((4, 4)), 0.3, 4, 1)
    rows = _rows()
    cases: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: plot(rows, kind="pie"), UnknownName, "kind of figure 'pie'; did you mean profile"),
        (lambda: plot([*rows, row("a", "x", 1, suite="t")]), InvalidOption, "s: makespan; t: makespan"),
        (lambda: plot([row("a", "x", 1)]), InvalidOption, "s: makespan: no instance has a gap to draw"),
        (lambda: plot([row("a", "x", 1)], kind="primal"), InvalidOption, "what its solver met"),
        (lambda: plot(rows, kind="proof-profile"), InvalidOption, "needs two solvers that prove optima"),
        (lambda: plot(mesh, solve(mesh, "growth")), InvalidOption, "not of the family partition"),
        (lambda: plot(mesh), InvalidOption, "there is no answer to draw"),
        (lambda: plot(mesh, {}, kind="use"), InvalidOption, "1 to 7 answers can be told apart, not 0"),
    ]
    for call, error, line in cases:
        with pytest.raises(error, match=line):
            call()


def test_axes_of_others_keep_their_size_and_style() -> None:
    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    assert [plot(_rows(), ax=left), plot(_rows(), kind="profile", ax=right)] == [left, right]
    assert figure.get_size_inches().tolist() == [9, 4]
    assert left.title.get_fontsize() == plt.rcParams["font.size"] * 1.2
    axes = plot(_rows())
    assert plt.gcf() is axes.figure
    plt.close()


def test_figures_are_files_and_the_same_again(tmp_path: Path) -> None:
    problem = klein2011(3, num_apps=(3, 3))
    study = MemoryStudy(problems={"digest of a": problem})
    for name in ("noX", "infX"):
        result = solve(problem, name)
        study.records.append(row("a", name, result.objective, 10.0))
        study.answers[study.records[-1].key] = result.answer
    kinds = ("gaps", "infX-gantt", "noX-gantt", "profile", "use")
    for form, begins in zip(FORMATS, (b"%PDF", b"<?xml", b"\x89PNG"), strict=True):
        drawn = write_figures(examine(study), tmp_path, form, study=study)
        assert sorted(drawn) == [tmp_path / f"s-makespan-{kind}.{form}" for kind in kinds]
        assert all(path.read_bytes().startswith(begins) for path in drawn)
    del study.problems["digest of a"]
    before = [path.read_bytes() for path in sorted(tmp_path.glob("*-gaps.*"))]
    assert len(write_figures(examine(study), tmp_path, "pdf", study=study)) == 2, "the problem is lost"
    assert [path.read_bytes() for path in sorted(tmp_path.glob("*-gaps.*"))] == before


@pytest.mark.usefixtures("in_process")
def test_commands_write_figures(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for idx in range(2):
        write_problem(klein2011([1, idx], num_apps=(3, 3)), tmp_path / f"{idx}.json")
    score = ["score", *sorted(tmp_path.glob("*.json")), "--solvers", "noX", "--out", tmp_path / "out"]
    figures = tmp_path / "figures"
    told = run_json(capsys, *score, "--figures", figures, "--format", "pdf")["figures"]
    assert sorted(told) == [str(path) for path in sorted(figures.iterdir())]
    report = ["study", "report", tmp_path / "out" / "records.sqlite", "--out", tmp_path / "r.html"]
    assert f"figures: {figures}" in run(capsys, *report, "--figures", figures, "--format", "svg")
    other = [*report[:-1], tmp_path / "other.html", "--figures", figures, "--format", "svg"]
    assert "figures/evolution-files-makespan-gaps.svg: exists; --force" in refused(capsys, *other)
    assert "--format is that of --figures" in refused(capsys, *score, "--format", "png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = "figures for print need matplotlib: pip install 'allocsolve[plots]'"
    assert main([*map(str, score), "--figures", str(figures), "--format", "png"]) == 1
    assert line in capsys.readouterr().err
    with pytest.raises(SolverUnavailable, match="need matplotlib"):
        plot(_rows())


# --- Quality ------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def quality() -> Any:
    spec = importlib.util.spec_from_file_location("quality", ROOT / "docs" / "quality.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_its_data(quality: Any) -> None:
    text = quality.DATA.read_text(encoding="utf-8")
    versions = json.loads(text)
    assert quality.data_text(versions) == text
    assert quality.page(versions) == quality.PAGE.read_text(encoding="utf-8")


def test_the_newest_figures_are_of_this_version_and_of_every_suite(quality: Any) -> None:
    newest = json.loads(quality.DATA.read_text(encoding="utf-8"))[-1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert newest["version"] == project["version"]
    for table in ("runs", "known"):
        assert list(dict.fromkeys(row["suite"] for row in newest[table])) == list(Library().folders)


def test_figures_of_earlier_versions_stay(quality: Any) -> None:
    first, second, again = ({"version": name, "seconds": idx} for idx, name in enumerate(("1", "2", "2")))
    assert quality.with_version([], first) == [first]
    assert quality.with_version([first], second) == [first, second]
    assert quality.with_version([first, second], again) == [first, again]
    with pytest.raises(InvalidOption, match="1 was measured before 2: its figures stay"):
        quality.with_version([first, second], first)
    assert quality.with_versions([first], [second, again]) == [first, again]


def test_means_are_over_the_gaps_there_are(quality: Any) -> None:
    row = quality.summary("s", "makespan", [0.0, 0.5, float("inf")])
    expected = {"suite": "s", "objective": "makespan", "problems": 3, "optimal": 1}
    assert row == {**expected, "without_gap": 1, "gap": 0.25}
    nothing = quality.summary("s", "makespan", [float("inf")])
    version = {"version": "1", "runs": [row, {**nothing, "suite": "t"}]}
    table = quality.gap_table([version, {"version": "2", "runs": [row]}], "runs").splitlines()
    assert table[2] == "| s | makespan | 3 | 25.0 %, 1 optimal, 1 without | 25.0 %, 1 optimal, 1 without |"
    assert table[3] == "| t | makespan | 1 | -, 0 optimal, 1 without | - |"


def test_each_family_has_a_solver_that_is_measured(quality: Any) -> None:
    assert list(quality.SOLVERS) == [family.kind for family in families()]
    for kind, name in quality.SOLVERS.items():
        make_solver(name, family_named(kind).problem)  # raises if it has none of this name
