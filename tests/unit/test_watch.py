"""Studies: the file, the tasks that it stands for, the commands, and who watches a run."""

from __future__ import annotations

import itertools
import json
import math
import os
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run
from hypothesis import given, strategies as st
from sample_records import RECORD

from allocsolve.bench import RecordStore, read_study
from allocsolve.bench.runs import watch as watch_module
from allocsolve.bench.runs.watch import LOOK_S, WALL_FACTOR, Watch, kept_waiting
from allocsolve.instances import klein2011, uniform_occupancy, write_problem
from allocsolve.model import Budget, Mesh

if TYPE_CHECKING:
    from pathlib import Path


SECONDS = st.floats(0, 100)
THREADS = st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("threads", "workers", "expected"),
    [
        ([(10.0, 0.0)], 1, 0.0),  # it ran all the time
        ([(4.0, 6.0)], 1, 6.0),  # it waited while others ran
        ([(0.0, 0.0)], 1, 0.0),  # it slept, nobody held it back
        ([(1.0, 9.0)] * 20, 1, 0.0),  # its own threads were in its way: together they ran for 20 s
        ([(5.0, 5.0), (0.0, 0.0)], 2, 5.0),
        ([(5.0, 5.0), (10.0, 0.0)], 2, 2.5),  # a quarter of what two processors give
    ],
)
def test_what_a_machine_keeps_a_process_waiting(
    threads: list[tuple[float, float]], workers: int, expected: float
) -> None:
    schedule = {str(idx): thread for idx, thread in enumerate(threads)}
    assert kept_waiting({}, schedule, 10.0, workers) == pytest.approx(expected)


@given(threads=THREADS, seconds=SECONDS, workers=st.integers(1, 4))
def test_it_is_never_more_than_the_time_nor_than_the_longest_wait(
    threads: list[tuple[float, float]], seconds: float, workers: int
) -> None:
    schedule = {str(idx): thread for idx, thread in enumerate(threads)}
    waited = kept_waiting({}, schedule, seconds, workers)
    assert 0 <= waited <= min(seconds, max(wait for _, wait in threads))
    assert kept_waiting(schedule, schedule, seconds, workers) == 0


class _Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    return _set_by_hand(monkeypatch)


def _set_by_hand(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    made = _Clock()
    monkeypatch.setattr(watch_module, "clock", made)
    monkeypatch.setattr(watch_module, "_schedule", lambda _: {})
    monkeypatch.setattr(watch_module, "scheduled", lambda _: (0.0, 0.0))
    return made


def _pass(watch: Watch, clock: _Clock, seconds: float) -> None:
    """Look as often as it should be."""
    for _ in range(round(seconds / LOOK_S)):
        clock.now += LOOK_S
        watch.look()


def test_a_limit_ends_at_the_limit(clock: _Clock) -> None:
    watch = Watch(os.getpid(), 300.0)
    _pass(watch, clock, 2.0)
    watch.begin(10.0, 2.0)
    _pass(watch, clock, 11.9)
    assert not watch.overdue
    _pass(watch, clock, 0.2)
    assert watch.overdue
    assert watch.elapsed == pytest.approx(12.1)


def test_a_watcher_that_sleeps_does_not_hold_that_against_the_process(clock: _Clock) -> None:
    """As after Ctrl-Z: what was done meanwhile has not been looked at."""
    watch = Watch(os.getpid(), 300.0)
    watch.begin(10.0, 2.0)
    _pass(watch, clock, 5.0)
    clock.now += 1000
    watch.look()
    assert not watch.overdue
    assert watch.timing().apart > 900
    _pass(watch, clock, 2.2)
    assert watch.overdue, "it has its time beyond the limit from then on"


def test_a_begin_that_is_seen_one_look_after_a_late_one_is_seen_late(clock: _Clock) -> None:
    """The pipe is read, the look comes late, the process begins meanwhile: the next look shows that."""
    watch = Watch(os.getpid(), 300.0)
    _pass(watch, clock, 1.0)
    exact = watch.timing().apart
    clock.now += LOOK_S + 0.5
    watch.look()  # nothing has been read
    clock.now += 0.001
    watch.look()  # it began up to half a second ago
    watch.begin(10.0, 2.0)
    _pass(watch, clock, 0.1)
    assert watch.timing().seconds == pytest.approx(0.1)
    assert watch.timing().apart == pytest.approx(exact + 0.5, abs=0.01)
    _pass(watch, clock, 1.0)
    watch.begin(10.0, 2.0)
    assert watch.timing().apart == pytest.approx(exact, abs=0.01), "what was late long ago is past"


def test_what_the_machine_keeps_it_waiting_after_the_limit_is_granted(
    clock: _Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = clock.now
    monkeypatch.setattr(watch_module, "_schedule", lambda _: {"1": (0.0, 0.75 * (clock.now - start))})
    watch = Watch(os.getpid(), 10.0)
    watch.begin(10.0, 2.0)
    _pass(watch, clock, 17.5)
    assert not watch.overdue
    _pass(watch, clock, 1.0)
    assert watch.overdue


@given(
    share=st.floats(0.1, 1),
    workers=st.integers(1, 3),
    gaps=st.lists(st.floats(LOOK_S, 3), min_size=1, max_size=5),
)
def test_a_loop_is_killed_when_it_has_run_for_its_time(share: float, workers: int, gaps: list[float]) -> None:
    """However small its share of the processors is, and however late the watcher comes."""
    with pytest.MonkeyPatch.context() as patched:
        clock = _set_by_hand(patched)
        start = clock.now

        def schedule(_: int) -> dict[str, tuple[float, float]]:
            seconds = clock.now - start
            return {str(idx): (share * seconds, (1 - share) * seconds) for idx in range(workers)}

        patched.setattr(watch_module, "_schedule", schedule)
        watch = Watch(os.getpid(), 300.0)
        watch.begin(4.0, 2.0, workers)
        passed, watched = math.inf, 0.0
        for gap in itertools.cycle(gaps):
            clock.now += gap
            watch.look()
            if clock.now > start + 4.0:
                passed = min(passed, clock.now)
                watched += min(LOOK_S, clock.now - start - 4.0)
            ran = share * max(0.0, clock.now - passed)
            if watch.overdue:
                assert ran > 2.0 - LOOK_S - 1e-6, "it has its time beyond the limit"
                break
            assert min(watched, ran) < 2.0 + 1e-6


@given(limit=st.floats(0.1, 3), beyond=st.floats(0.1, 1), gap=st.floats(LOOK_S, 3))
def test_what_gets_no_processor_is_killed_too(limit: float, beyond: float, gap: float) -> None:
    with pytest.MonkeyPatch.context() as patched:
        clock = _set_by_hand(patched)
        start = clock.now
        patched.setattr(watch_module, "_schedule", lambda _: {"1": (0.0, clock.now - start)})
        watch = Watch(os.getpid(), 300.0)
        watch.begin(limit, beyond)
        most = (WALL_FACTOR + 1) * (limit + beyond)
        for look in itertools.count(1):
            clock.now += gap
            watch.look()
            if watch.overdue:
                break
            assert look < most / LOOK_S + 2
        assert clock.now - start > most - 1e-6, "the machine has kept it waiting"


@pytest.mark.parametrize(("runtime", "overran"), [(10.0, False), (11.0, False), (11.2, True)])
def test_a_search_beyond_its_limit_is_marked(runtime: float, overran: bool) -> None:
    assert replace(RECORD, solver="annealing", seconds=10.0, runtime_s=runtime).overran is overran
    assert not replace(RECORD, seconds=10.0, runtime_s=runtime).overran, "noX does not search"


# --- Study --------------------------------------------------------------------------------------------

Capture = pytest.CaptureFixture[str]

SMALL = 'suites = ["problems"]\nsolvers = ["noX", "growth"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with problems of both kinds."""
    problems = tmp_path / "problems"
    problems.mkdir()
    for idx in range(2):
        write_problem(klein2011([1, idx], num_apps=(3, 3)), problems / f"klein-{idx}.json")
    write_problem(uniform_occupancy(Mesh((6, 5)), 0.3, 6, 1), problems / "mesh.json")
    return tmp_path


def _study(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_every_solver_runs_on_the_problems_of_its_family(folder: Path) -> None:
    text = """
        suites = ["problems"]
        solvers = ["noX", "growth", "cpsat"]
        seeds = [0, 4]
        set = { expand_limit = [1, "inf"] }
        memory_mb = 900
        policy_seconds = 30
        [objectives]
        evolution = "completion"
        [[budgets]]
        seconds = 2
        workers = 2
        [[budgets]]
        iterations = 100
    """
    study = read_study(_study(folder, text))
    assert (study.memory_mb, study.policy_seconds) == (900, 30)
    assert study.budgets == (Budget(seconds=2.0, workers=2), Budget(iterations=100))
    tasks = study.tasks()
    # 2 problems at 2 limits for two solvers, 1 mesh for two solvers, 2 seeds, 2 budgets.
    assert len(tasks) == len({task.key for task in tasks}) == (2 * 2 * 2 + 2) * 2 * 2
    found = {f"{task.solver} {task.key.objective}" for task in tasks}
    assert found == {"noX completion", "cpsat completion", "growth pairwise", "cpsat pairwise"}
    assert {task.key.seed for task in tasks} == {0, 4}


def test_solvers_with_options(folder: Path) -> None:
    text = """
        suites = ["problems"]
        solvers = ["noX(order=longest)", "curve-fit(order = snake, method=first-fit)", "cpsat(max_nodes=9)"]
    """
    tasks = read_study(_study(folder, text)).tasks()
    assert {(task.solver, task.key.solver_repr) for task in tasks} == {
        (
            "list-scheduling(expand_limit=1, order=longest)",
            "ListScheduling(fit=Fit(expand_limit=1, compacting=False), order='longest')",
        ),
        (
            "curve-fit(method=first-fit, order=snake)",
            "CurveFit(method='first-fit', order='snake', bits=None, fallback='min-span')",
        ),
        ("cpsat(max_nodes=9)", "PartitionCpSat(max_nodes=9)"),
    }


def test_defaults_and_whole_numbers_with_a_point(folder: Path) -> None:
    study = read_study(_study(folder, SMALL))
    assert (study.seeds, study.budgets, dict(study.objectives)) == ((0,), (Budget(seconds=10.0),), {})
    assert [name for name, _ in study.problems] == [""] * 3
    tiny = read_study(_study(folder, 'suites=["tiny"]\nsolvers=["noX"]')).problems
    assert {name for name, _ in tiny} == {"tiny"}
    text = f"{SMALL}seeds = [0, 1.0]\n[[budgets]]\nworkers = 2.0\niterations = 1e2"
    study = read_study(_study(folder, text))
    assert (study.seeds, study.budgets) == ((0, 1), (Budget(workers=2, iterations=100),))
    assert all(type(number) is int for number in (*study.seeds, study.budgets[0].workers))


@pytest.mark.usefixtures("in_process")
def test_a_study_is_reported_on(folder: Path, capsys: Capture) -> None:
    path = _study(folder, SMALL)
    run(capsys, "study", "run", path)
    records, page = path.with_suffix(".sqlite"), folder / "page.html"
    before = records.read_bytes()
    more = ("--out", folder / "tables.md", "--figures", folder / "figures")
    assert "\nReport of 3 records: " in run(capsys, "study", "report", records, "--out", page, *more)
    assert "noX" in page.read_text(encoding="utf-8")
    assert "noX" in (folder / "tables.md").read_text(encoding="utf-8")
    assert {file.suffix for file in (folder / "figures").iterdir()} == {".svg"}
    assert records.read_bytes() == before
    assert "there is no such file" in refused(
        capsys, "study", "report", folder / "x.sqlite", "--out", page, "--force"
    )
    lost = folder / "no" / "page.html"
    assert "there is no directory" in refused(capsys, "study", "report", records, "--out", lost)


def test_more_of_a_study_adds_rows(folder: Path, capsys: Capture) -> None:
    path = _study(folder, SMALL)
    run(capsys, "study", "run", path)
    path = _study(folder, SMALL + "seeds = [0, 1]")
    assert json.loads(run(capsys, "study", "run", path, "--json", "-j", 2))["run"] == 3
    assert len(RecordStore(path.with_suffix(".sqlite"))) == 6


def test_executors_and_files_that_will_not_do(folder: Path, capsys: Capture) -> None:
    path = _study(folder, SMALL)
    for name, fault in (
        ("slurm", "executor 'slurm' is not local, dask:ADDRESS or mpi"),
        ("dask:tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0"),
    ):
        assert fault in refused(capsys, "study", "run", path, "--executor", name)
    base = sqlite3.connect(path.with_suffix(".sqlite"))
    base.execute("PRAGMA user_version = 5")
    base.close()
    assert "records of format 5" in refused(capsys, "study", "run", path)


def test_a_read_only_folder(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _study(folder, SMALL)
    # The tests may run as root, whom no permission stops.
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "cannot be written: permission denied" in refused(capsys, "study", "run", path)
