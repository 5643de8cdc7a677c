"""The commands `reproduce ...`: tables, JSON, CSV, pictures, records that are kept, and what they refuse."""

from __future__ import annotations

import csv
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import Capture, refused, run, run_json

from allocsolve import bench
from allocsolve.bench import RecordKey, RecordStore
from allocsolve.bench.runs.execution import failed_outcome
from allocsolve.instances import lublin1999
from allocsolve.model import Job, Mesh, WorkloadProblem
from reproductions import klein2011, lina2022, zojer2025
from reproductions.bender2008 import command as bender2008
from reproductions.linnert2024 import ADMISSIONS, PROGRAMS, STRATEGIES, TERMS
from reproductions.posner2024 import READINGS

if TYPE_CHECKING:
    from pathlib import Path

KLEIN = ("reproduce", "klein2011")
LINA = ("reproduce", "lina2022", "--share", "10,100", "--count", 1, "--seconds", 0.3)
LINNERT = ("reproduce", "linnert2024", "--load", "heavy", "--count", 1, "--num-jobs", 30, "--seconds", 0.5)
POSNER = ("reproduce", "posner2024", "--count", 1, "--share", "0,100", "--seconds", 1)
ZOJER = ("reproduce", "zojer2025", "--share", "0", "--policy", "first-fit", "--seconds", 0.5)
SEARCH_SECONDS = 0.2
#: Strategies and readings of one kind of programs of Linnert, without what is asked for twice.
EXECUTED = 4 + 2 + 4 + 2 + 4


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands on real logs take small workloads, that of Klein the smallest size and little time."""
    draws = functools.partial(klein2011.expansion_draws, stems=["klein-5"])
    monkeypatch.setattr("reproductions.klein2011.command.expansion_draws", draws)
    monkeypatch.setattr("reproductions.klein2011.expansion.HEURISTIC_SECONDS", SEARCH_SECONDS)
    problem = lublin1999(1, num_jobs=30)
    logs = lina2022.Log("KIT", problem, full=False), lina2022.Log("KIT_full", problem, full=True)
    taken = "reproductions.lina2022.command.paper_logs"
    monkeypatch.setattr(taken, lambda _, names: logs if "KIT" in names else logs[1:])
    rng = np.random.default_rng(5)
    drawn = zip(rng.integers(1, 33, 144).tolist(), rng.integers(60, 20_000, 144).tolist(), strict=True)
    jobs = [Job(1800 * idx, nodes, seconds) for idx, (nodes, seconds) in enumerate(drawn)]
    log = WorkloadProblem(32, jobs, name="small", meta={"lines": 144})
    monkeypatch.setattr("reproductions.zojer2025.command.cori_knl", lambda _: log)


class Shown:
    """What a command says in all its ways, the second time without running anything again."""

    def __init__(
        self, capsys: Capture, out: Path, *command: object, plot: bool = True, table: bool = True
    ) -> None:
        picture, records = out / "x.svg", out / "records.sqlite"
        args = (*command, "--out", out)
        self.found = run_json(capsys, *args, *(("--plot", picture) if plot else ()))
        assert (self.found["records"], self.found["failures"]) == (str(records), [])
        assert not plot or picture.read_text().startswith("<svg")
        with RecordStore(records, read_only=True) as store:
            self.kept = list(store)
        if table:
            with (out / "runs.csv").open(newline="") as file:
                self.rows = list(csv.DictReader(file))
        self.text = run(capsys, *args)
        with RecordStore(records, read_only=True) as store:
            assert list(store) == self.kept, "nothing was run again"
        assert "nan" not in self.text
        assert f"Records: {records}" in self.text
        self.lines = [line.split() for line in self.text.splitlines()]


def test_an_executor_that_is_none_is_refused_before_a_folder_is_made(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    said = refused(capsys, *LINA, "--executor", "moon", "--out", out)
    assert "executor 'moon' is not local, dask:ADDRESS or mpi" in said
    assert not out.exists()


def test_klein2011_beside_the_paper(capsys: Capture) -> None:
    text = run(capsys, *KLEIN, "--count", 6)
    assert max(map(len, text.splitlines())) <= 100
    lines = [line.split() for line in text.splitlines()]
    for algorithm in klein2011.ALGORITHMS:
        assert sum(line[:2] == [algorithm, "paper"] for line in lines) == 2
    assert sum(line[:1] == ["ours"] for line in lines) == 12
    assert text.endswith("allocsolve reproduce klein2011 --optimal\n")
    assert "nan" not in text


def test_klein2011_as_json(capsys: Capture) -> None:
    found = run_json(capsys, *KLEIN, "--count", 2, "--seed", 5)
    assert (found["paper"], found["tests"], found["seed"]) == ("klein2011", 2, 5)
    ours = klein2011.reproduce(2, 5).rows
    for algorithm, columns in found["algorithms"].items():
        for column, cell in columns.items():
            assert cell["paper"] == klein2011.PAPER[algorithm][column]._asdict()
            if column != "schedule_time":
                assert cell["ours"] == ours[algorithm][column]._asdict()


def test_klein2011_optimal(tmp_path: Path, capsys: Capture) -> None:
    asked = ("--optimal", "--count", 2, "--seconds", 20, "--seed", 3, "--workers", 2)
    shown = Shown(capsys, tmp_path, *KLEIN, *asked, table=False)
    found, kept = shown.found, shown.kept
    assert len(kept) == 2 * (len(klein2011.heuristics()) + 3)
    assert {(record.key.seed, record.key.workers) for record in kept} == {(3, 2)}
    assert found["machines"] == [dict(kept[0].machine)]
    assert (found["tests"], found["seconds"], found["seed"]) == (2, 20, 3)
    assert [one["name"] for one in found["instances"]] == ["klein-5-00", "klein-5-01"]
    values = {(record.instance, record.solver): record.value for record in kept}
    for one in found["instances"]:
        (low, high), (least, most) = one["optimum"]["1"], one["worth"]["inf"]
        assert low <= high <= values[one["name"].replace("5-", "5-l1-"), "conflict-search"]
        assert least <= one["optimum"]["inf"][1] / high <= most
        for by in one["heuristics"]:
            suffix = {"1": "l1"}.get(by["limit"], by["limit"].replace("2", "l2"))
            assert by["makespan"] == values[one["name"].replace("5-", f"5-{suffix}-"), by["solver"]]
    assert [(row["apps"], row["limit"]) for row in found["worth"]] == [("5", "1"), ("5", "2"), ("5", "inf")]
    for row in found["worth"]:
        start = [row["limit"], str(row["proven"]), "of", "2"]
        (cells,) = (line for line in shown.lines if start in (line[:4], line[1:5]))
        if row["limit"] != "1" and row["optimum"]["mean"] is not None:
            assert f"{row['optimum']['mean']:.3f}" in cells
            assert f"{row['listed']['mean']:.3f}" in cells
    for row in found["heuristics"]:
        assert any(row["solver"] in line and row["limit"] in line for line in shown.lines)


def test_lina2022(tmp_path: Path, capsys: Capture) -> None:
    shown = Shown(capsys, tmp_path, *LINA, plot=False)
    found = shown.found
    # first-fit and easy of the one rigid problem once; 24 and 4 of each share; three bounds
    assert len(shown.kept) == 2 + 2 * (24 + 4) + 3
    assert (found["seeds"], found["paper"]) == (1, "lina2022")
    values = {(cell["log"], cell["share"], cell["algorithm"], cell["rule"]): cell for cell in found["cells"]}
    assert len(values) == len(found["cells"]) == 2 * 2 + 2 * (24 + 4)
    for row in shown.rows:
        cell = values[row["log"], float(row["share"]), row["algorithm"], row["rule"]]
        assert float(row["turnaround"]) == cell["figures"]["turnaround"]
    assert [(row["log"], row["share"]) for row in found["bounds"]] == [("KIT", 0), ("KIT", 0.1), ("KIT", 1)]
    assert all(row["bound"] <= row["best"] for row in found["bounds"])
    assert {row["metric"] for row in found["orders"]} == set(lina2022.METRICS)
    assert "19 claims: " in shown.text
    assert "Gain / Random 5.7 % at 70 %" in shown.text


def test_linnert2024(tmp_path: Path, capsys: Capture) -> None:
    shown = Shown(capsys, tmp_path, *LINNERT)
    found = shown.found
    assert len(shown.kept) == EXECUTED * len(PROGRAMS) + len(ADMISSIONS) + len(TERMS)
    assert (found["loads"], found["jobs"]) == (["heavy"], 30)
    accepted = {row["allocator"]: row for row in found["accepted"]}
    bounds = {row["term"]: row for row in found["bounds"]}
    for row in accepted.values():
        assert row["jobs"]["mean"] / 30 <= bounds["rejected"]["most"]["mean"] + 1e-9
        assert row["area"]["mean"] <= bounds["rejected-area"]["most"]["mean"] + 1e-9
    for row in found["executed"]:
        if row["strategy"] in accepted:
            assert row["accepted"] == accepted[row["strategy"]]["jobs"]
        elif row["reading"] != "no queue":
            assert row["accepted"]["mean"] == 30
    assert {one["verdict"] for one in found["claims"]} >= {"not run"}
    assert len(shown.rows) == len(PROGRAMS) * len(STRATEGIES) * 5 + len(ADMISSIONS)
    assert "28 claims" in shown.text


def test_posner2024(tmp_path: Path, capsys: Capture) -> None:
    shown = Shown(capsys, tmp_path, *POSNER)
    found = shown.found
    assert len(shown.kept) == 4 + 4 + 9 + 2
    assert found["batches"] == ["evotree-s42"]
    published = [row for row in found["rows"] if row["reading"] == READINGS[0].name]
    figures = {(row["scheduler"], row["share"]): row["figures"] for row in published}
    assert figures["EasyBackfilling", 0] == figures["EvolvEasyBack", 0]
    assert figures["EvolvEasyBack", 1]["makespan"] == pytest.approx(921.6, abs=0.05)
    bounds = {(row["scheduler"], row["share"]): row for row in found["bounds"]}
    for (scheduler, share), figure in figures.items():
        bound = bounds["EvolvEasyBack" if scheduler == "static-price" else scheduler, share]
        assert bound["turnaround"] <= bound["claimed"] <= bound["best"] + 1e-9
        assert bound["best"] <= figure["turnaround"] + 1e-9
        assert bound["makespan"] <= figure["makespan"]
    assert bounds["EvolvEasyBack", 1]["turnaround"] > 150
    assert bounds["EvolvEasyBack", 1]["best"] < figures["static-price", 1]["turnaround"] * 0.95
    assert len(shown.rows) == 4 * len(READINGS) + 1
    assert "35 sentences" in shown.text
    assert ["EvolvEasyBack", "921.6"] in [line[:2] for line in shown.lines]
    assert ["rigid", "EasyBackfilling,", "paper", "1507"] in [line[:4] for line in shown.lines]


def test_zojer2025(tmp_path: Path, capsys: Capture) -> None:
    shown = Shown(capsys, tmp_path, *ZOJER)
    found = shown.found
    assert sorted(record.solver for record in shown.kept) == ["easy", "first-fit", "prices"]
    values = {record.solver: record.value for record in shown.kept}
    for row in found["policies"]:
        assert row["figures"]["all_turnaround"]["mean"] == values[row["policy"]]
        assert row["thesis"]["turnaround"] == "4551"
    (bound,) = found["bounds"]
    assert bound["bound"]["mean"] == max(record.certified_bound for record in shown.kept)
    assert (found["seeds"], found["log"]["lines"]) == (10, 144)
    assert {one["verdict"] for one in found["sentences"]} >= {"does not hold", "cannot be tested", "not run"}
    written = {row["policy"]: float(row["all_turnaround"]) for row in shown.rows}
    assert written == {name: values[name] for name in ("first-fit", "easy")}
    assert ["0", "%", "thesis", "4551", "85", "%"] in shown.lines
    assert any(line[:1] == ["easy"] and f"{values['easy']:.1f}" in line for line in shown.lines)


def test_bender2008(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heuristic that is nearly always optimal stands in for the exact solver."""
    monkeypatch.setattr("reproductions.bender2008.command.EXACT", "manhattan-median+swaps")
    few = ("manhattan-median", "leak", "random")
    monkeypatch.setattr("reproductions.bender2008.command.HEURISTICS", few)
    found = run_json(capsys, "reproduce", "bender2008", "--count", 1, "--seed", 5)
    assert (found["paper"], found["tests"], found["seed"]) == ("bender2008", 1, 5)
    for case in found["tight_family"]:
        distance = case["distance"]
        assert (case["median"], case["optimum"]) == (28 * distance - 33, 16 * distance + 24)
        assert case["ratio"] == case["median"] / case["optimum"] < 7 / 4
    assert [case["distance"] for case in found["tight_family"]] == [10, 33, 100, 200]
    assert all(case["proven"] for case in found["tight_family"])
    tables = found["occupancies"]
    assert [(table["machine"], table["occupancy"]) for table in tables] == [
        (machine, occupancy) for machine in ("16x8", "32x32") for occupancy in ("uniform", "churned")
    ]
    for table in tables:
        assert [row["solver"] for row in table["scores"]] == [*few, "manhattan-median+swaps"]
        assert table["tests"] == 1
    text = run(capsys, "reproduce", "bender2008", "--count", 1)
    assert max(map(len, text.splitlines())) <= 100
    assert "1.727" in text
    assert "16x8 uniform: 0 of 1 optima proven" in text


def test_occupancy_tables_with_proven_optima(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproductions.bender2008.command._MACHINES", (Mesh((8, 7)),))
    monkeypatch.setattr("reproductions.bender2008.command._SIZES", (4, 9))
    told: list[tuple[int, int]] = []
    tables = bender2008.occupancy_tables(
        2, seconds=20, progress=lambda done, total, _: told.append((done, total))
    )
    total = 4 * (len(bender2008.HEURISTICS) + 1) + 4  # once more for connected sets
    assert told == [(done, total) for done in range(total + 1)]
    for table in tables:
        assert (table.tests, table.proven) == (2, 2)
        by_name = {score.solver: score.optimum_gap for score in table.scores}
        assert list(by_name) == [*bender2008.HEURISTICS, "branch-and-bound"]
        exact, median = by_name["branch-and-bound"], by_name["manhattan-median"]
        assert exact is not None
        assert exact.max == 0
        assert table.connected is not None
        assert table.connected.count <= 2
        assert table.connected.mean >= 0
        assert median is not None
        assert median.max <= 3 / 4


def test_a_failed_run_is_told_and_the_rest_is_shown(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(tasks: list[bench.Task], *, store: RecordStore, **_: Any) -> list[bench.Record]:
        for task in tasks:
            store.append(failed_outcome(task, "RuntimeError: boom", 0.1).record, task.problem, None)
        return [store[task.key] for task in tasks]

    with monkeypatch.context() as patch:
        patch.setattr(bench, "run", failing)
        text = run(capsys, *ZOJER, "--out", tmp_path, status=1)
    assert "easy failed on small-elastic0-s1: RuntimeError: boom" in text
    assert "nan" not in text
    told = run_json(capsys, *ZOJER, "--out", tmp_path, "--rerun", "failed")
    assert told["failures"] == []
    assert "unknown solver of these runs" in refused(capsys, *ZOJER, "--out", tmp_path, "--rerun", "fcfs")


def test_optima_are_those_of_the_library_if_all_runs_fail(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "run", _failing)
    text = run(capsys, *KLEIN, "--optimal", "--count", 5, "--seconds", 5, "--out", tmp_path, status=1)
    assert "noX failed on klein-5-l1-04: RuntimeError: boom" in text
    assert "nan" not in text
    lines = [line.split() for line in text.splitlines()]
    assert any(line[:6] == ["5", "1", "5", "of", "5", "-"] for line in lines), "proven by the library"
    found = run_json(capsys, *KLEIN, "--optimal", "--count", 5, "--seconds", 5, "--out", tmp_path, status=1)
    assert len(found["failures"]) == 5 * (len(klein2011.heuristics()) + 3)
    assert found["failures"][0]["error"] == "RuntimeError: boom"
    assert all(row["own"]["count"] == 0 for row in found["heuristics"])


def _failing(tasks: list[bench.Task], **_: Any) -> list[bench.Record]:
    return [failed_outcome(task, "RuntimeError: boom", 0.1).record for task in tasks]


def test_the_command_defaults_to_ten_tests_and_a_minute(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RecordKey] = []

    def listen(tasks: list[bench.Task], **_: Any) -> list[bench.Record]:
        asked.extend(task.key for task in tasks)
        return _failing(tasks)

    monkeypatch.setattr(bench, "run", listen)
    monkeypatch.chdir(tmp_path)
    found = run_json(capsys, *KLEIN, "--optimal", status=1)
    assert (found["tests"], found["seconds"], "records" in found) == (10, 60, False)
    assert not [*tmp_path.iterdir()], "nothing is kept unasked"
    assert {key.seconds for key in asked} == {60, SEARCH_SECONDS}


@pytest.mark.parametrize(
    ("command", "options", "fault"),
    [
        ((*KLEIN, "--optimal"), ("--plot", "gone/x.svg"), "gone/x.svg: cannot be written: there is no"),
        ((*KLEIN, "--optimal"), ("--plot", "."), "is a directory"),
        ((*KLEIN, "--optimal"), ("--out", __file__), "is not a directory"),
        (LINA, ("--share", "0,10"), "not all are above 0"),
        (LINA, ("--share", "20,20"), "nothing, or some twice"),
        (LINA, ("--count", 0), "is below 1"),
        (LINA, ("--executor", "moon"), "executor 'moon' is not local"),
        (LINNERT, ("--load", "idle"), "'idle'"),
        (LINNERT, ("--count", 0), "is below 1"),
        (LINNERT, ("--num-jobs", 0), "is below 1"),
        (LINNERT, ("--plot", "gone/x.svg"), "there is no directory"),
        (POSNER, ("--share", "0,120"), "is not in 0..1"),
        (POSNER, ("--share", "20,20"), "a share twice"),
        (POSNER, ("--count", 0), "is below 1"),
        (POSNER[:2], ("gone.json",), "gone.json"),
        (POSNER[:2], ("gone.json", "--seed", 3), "one of the two"),
        (POSNER, ("--plot", "gone/x.svg"), "there is no directory"),
        (ZOJER, ("--share", "0,120"), "is not in 0..1"),
        (ZOJER, ("--share", "a"), "'a' is not a number"),
        (ZOJER, ("--share", "20,20"), "nothing, or some twice"),
        (ZOJER, ("--policy", "malleable-maximal"), "unknown solver"),
        (ZOJER, ("--count", 0), "is below 1"),
        (ZOJER, ("--executor", "moon"), "executor 'moon' is not local"),
        (ZOJER, ("--plot", "gone/x.svg"), "there is no directory"),
    ],
)
def test_what_cannot_be_done_is_refused(
    command: tuple[object, ...], options: tuple[object, ...], fault: str, tmp_path: Path, capsys: Capture
) -> None:
    assert fault in refused(capsys, *command, "--out", tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()


def test_without_the_log_the_message_says_where_it_is(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproductions.zojer2025.command.cori_knl", zojer2025.cori_knl)
    err = refused(capsys, *ZOJER, "--log", tmp_path, "--out", tmp_path / "out")
    assert "elastic-sim" in err
    assert not (tmp_path / "out").exists()
