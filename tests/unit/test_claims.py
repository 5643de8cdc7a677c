"""Runners side by side claim their tasks, also under MPI."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from cli_tools import refused
from process_tools import environment
from tiers import before_a_release

from allocsolve.bench import RecordStore, open_executor, plan, read_study, run, run_missing
from allocsolve.bench.runs.tasks import LEASE_S, task_text
from allocsolve.instances import klein2011, write_problem
from allocsolve.model import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.bench import Record, RecordKey, Task


#: Writes down each call, and starts only when the processes of two runners are there.
WATCHED = """
import os, pathlib, time
from allocsolve import Budget, EvolutionProblem
from allocsolve.heuristics import ListScheduling

def solver(problem: EvolutionProblem, budget: Budget):
    if problem.name:
        pathlib.Path(f"runner-{os.getppid()}").touch()
        while len(list(pathlib.Path().glob("runner-*"))) < 2:
            time.sleep(0.02)
        with open("calls", "a") as calls:
            calls.write(f"{os.getppid()} {problem.name} {budget.seed}\\n")
        time.sleep(0.05)
    return ListScheduling()(problem, budget)
"""
SEEDS = 40


def _runner(folder: Path, *options: str, **variables: str) -> subprocess.Popen[str]:
    """Start a process that runs the study in a folder."""
    command = [sys.executable, "-m", "allocsolve", "study", "run", "study.toml", *options]
    where = environment(**variables)
    return subprocess.Popen(
        command, cwd=folder, env=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class Crew:
    """Runners on one file, each a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "watched.py").write_text(WATCHED)
        text = 'suites = ["one.json"]\nsolvers = ["watched:solver"]\n[[budgets]]\nseconds = 300\n'
        (folder / "study.toml").write_text(f"seeds = {list(range(SEEDS))}\n{text}")

        write_problem(klein2011(8, num_apps=(3, 3)), folder / "one.json")
        self.runners: list[subprocess.Popen[str]] = []

    def start(self) -> subprocess.Popen[str]:
        self.runners.append(_runner(self.folder, "--json"))
        return self.runners[-1]

    def calls(self) -> list[list[str]]:
        path = self.folder / "calls"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def claims(self) -> list[tuple[str, str, float]]:
        with closing(sqlite3.connect(self.folder / "study.sqlite", timeout=30)) as base:
            return base.execute("SELECT task, runner, until FROM claims").fetchall()

    def has_done_all(self) -> None:
        with RecordStore(self.folder / "study.sqlite", read_only=True) as store:
            assert sorted(row.seed for row in store) == list(range(SEEDS))
        assert self.claims() == []


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    """A study for several runners; those that still live in the end are killed."""
    made = Crew(tmp_path)
    yield made
    for runner in made.runners:
        runner.kill()
        runner.communicate()


def _finished(runner: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = runner.communicate(timeout=300)
    assert (runner.returncode, err.count("Traceback")) == (0, 0), err
    document: dict[str, Any] = json.loads(out)
    return document


def _until(condition: Any) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_two_runners_share_the_work_and_both_end_with_all_rows(crew: Crew) -> None:
    for runner in (crew.start(), crew.start()):
        assert _finished(runner)["failures"] == []
    calls = crew.calls()
    assert len(calls) == SEEDS, "each run is made once"
    assert len({seed for _, _, seed in calls}) == SEEDS
    assert len({parent for parent, _, _ in calls}) == 2, "both have worked"
    crew.has_done_all()


def test_nobody_waits_for_a_runner_that_was_killed(crew: Crew) -> None:
    victim, survivor = crew.start(), crew.start()
    _until(lambda: len({parent for parent, _, _ in crew.calls()}) == 2)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    theirs = [until for _, runner, until in crew.claims() if json.loads(runner)[1] == victim.pid]
    assert theirs, "it was killed in the midst of a run"
    assert _finished(survivor)["failures"] == []
    assert time.time() < min(theirs), "their time is not over yet"
    crew.has_done_all()


def test_a_runner_waits_where_another_one_opens_the_same_file(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "records.sqlite"
    RecordStore(path).close()
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        over = threading.Timer(0.3, other.execute, ["COMMIT"])

        def just_before_the_mode_is_chosen(_: Path) -> bool:
            other.execute("BEGIN IMMEDIATE")
            over.start()
            return False

        monkeypatch.setattr("allocsolve.bench.runs.rows._is_on_network", just_before_the_mode_is_chosen)
        with RecordStore(path) as store:
            assert len(store) == 0
        over.join()


def _tasks(count: int) -> list[Task]:
    budgets = [Budget(seconds=60, seed=seed) for seed in range(count)]
    return plan([("", klein2011(8, num_apps=(3, 3)))], ["noX"], budgets=budgets)


def _claim(path: Path, task: Task, runner: object, seconds: float) -> None:
    base = sqlite3.connect(path)
    claim = task_text(task.key, 1), json.dumps(runner), time.time() + seconds
    base.execute("INSERT INTO claims VALUES (?, ?, ?)", claim)
    base.commit()
    base.close()


def test_a_claim_of_another_machine_is_kept_until_its_time_is_over(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    said: list[str] = []
    first, second = _tasks(2)
    with RecordStore(path) as store:
        _claim(path, first, ["far-away/1", 77, 1.5, 0], 2.5)
        over = time.time() + 2.5
        run_missing([first, second], store, progress=lambda _, __, what: said.append(what))
        assert time.time() > over
        assert [row.seed for row in store] == [1, 0]
    assert "waiting for process 77 on far-away" in said


@pytest.mark.parametrize("runner", [["far-away/1", 77, 1.5, 0], "nonsense", {}, ["host", "pid"], 5])
def test_claims_of_no_sense_or_of_the_past_are_void(tmp_path: Path, runner: object) -> None:
    path = tmp_path / "records.sqlite"
    tasks = _tasks(3)
    with RecordStore(path) as store:
        _claim(path, tasks[0], runner, -1.0)
        _claim(path, tasks[1], runner, 1e12)
        run_missing(tasks, store)
        assert [row.seed for row in store] == [0, 1, 2]


def test_what_another_runner_does_meanwhile_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    tasks = _tasks(3)
    with RecordStore() as scratch:
        run_missing(tasks, scratch)
        made = list(scratch)
    with RecordStore(path) as store, RecordStore(path) as other:
        assert other.claim(tasks[0].key, 1)
        assert not store.claim(tasks[0].key, 1)
        assert other.claim(tasks[0].key, 1), "its own"
        working = threading.Event()

        def notice(*told: object) -> None:
            if str(told[-1]).startswith("waiting for "):
                working.set()

        def work() -> None:
            with RecordStore(path) as third:
                run_missing(tasks, third, progress=notice)

        thread = threading.Thread(target=work)
        thread.start()
        assert working.wait(60), "the others are done"
        other.append(made[0], tasks[0].problem, None)
        thread.join(60)
        assert not thread.is_alive()
        store.refresh()
        assert {row.key for row in store} == {task.key for task in tasks}
        assert store[tasks[0].key] == made[0]
        assert not store.claim(tasks[0].key, 1), "it has been made"
        assert store.claim(tasks[0].key, 2)
        store.release()
        assert other.claim(tasks[0].key, 2), "it was given back"


def test_claims_are_renewed_while_their_runner_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allocsolve.bench.runs.tasks._BEAT_S", 0.05)
    path = tmp_path / "records.sqlite"
    (task,) = _tasks(1)
    with RecordStore(path) as store:
        store.claim(task.key, 1)
        base = sqlite3.connect(path)

        def until() -> float:
            return float(base.execute("SELECT until FROM claims").fetchone()[0])

        first = until()
        _until(lambda: until() > first)
        assert until() - time.time() <= LEASE_S
        base.close()


# --- Kills --------------------------------------------------------------------------------------------


#: Kills of runners and of processes of solvers, and of Dask workers: a hundred in the longest tier.
KILLS, WORKERS_KILLED = (95, 5) if before_a_release() else (8, 2)
#: More runs than are done before the last of the kills, on ten problems.
RUNS = 3 * KILLS + 15

STUDY = 'suites = ["klein-5-inf"]\nsolvers = [{solvers}]\nseeds = {seeds}\n[[budgets]]\nseconds = 300\n'

#: Takes as long as it is told.
DAWDLES = """
import os, time
from allocsolve import Budget, EvolutionProblem
from allocsolve.heuristics import ListScheduling

def solver(problem: EvolutionProblem, budget: Budget):
    time.sleep(float(os.environ["DAWDLE_S"]) if problem.name else 0)
    return ListScheduling(order="random")(problem, budget)
"""


def _study(folder: Path, solvers: str, seeds: int) -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY.format(solvers=solvers, seeds=list(range(seeds))))
    return path


def _rows(path: Path) -> dict[RecordKey, Record]:
    if not path.exists():
        return {}
    with RecordStore(path) as store:
        return {row.key: row for row in store}


class Runners:
    """Runners of one study, two at a time, each with two processes of solvers."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "dawdles.py").write_text(DAWDLES)
        self.study = _study(folder, '"dawdles:solver"', seeds=RUNS)
        self.out = self.study.with_suffix(".sqlite")
        self.alive: list[subprocess.Popen[str]] = []

    def start(self, seconds: float, *more: str) -> subprocess.Popen[str]:
        """Start a runner whose solver takes that long."""
        return _runner(self.study.parent, "-j", "2", *more, DAWDLE_S=str(seconds))

    def victims(self) -> list[tuple[subprocess.Popen[str], list[psutil.Process]]]:
        """Return the runners that have processes of solvers, with these; there are two runners afterwards."""
        for runner in [one for one in self.alive if one.poll() is not None]:
            self.alive.remove(runner)
            assert "Traceback" not in runner.communicate()[1]
        while len(self.alive) < 2:
            self.alive.append(self.start(0.1))
        found = []
        for runner in self.alive:
            with suppress(psutil.Error):
                # A runner has other children, too: they tell it what the plug-in is.
                children = psutil.Process(runner.pid).children(recursive=True)
                if helpers := [one for one in children if "runs.worker" in " ".join(one.cmdline())]:
                    found.append((runner, helpers))
        return found

    def end(self) -> None:
        """Kill what is left."""
        for runner in self.alive:
            runner.kill()
            runner.communicate()


def _result(row: Record) -> Record:
    """Return a record without what differs from run to run."""
    return replace(row, runtime_s=0.0, when="", attempt=1)


def test_kills_of_runners_and_solvers_leave_what_an_undisturbed_run_has(tmp_path: Path) -> None:
    disturbed = Runners(tmp_path / "disturbed")
    rng = random.Random(100)
    kept: dict[RecordKey, Record] = {}
    kills = {"runner": 0, "solver": 0, "both": 0}
    try:
        while sum(kills.values()) < KILLS:
            victims = disturbed.victims()
            if not victims:
                time.sleep(0.02)
                continue
            time.sleep(rng.uniform(0, 0.4))
            runner, helpers = rng.choice(victims)
            what = rng.choice(["runner", "solver", "solver", "both"])
            if what != "solver":
                runner.kill()
            for helper in helpers if what == "both" else [rng.choice(helpers)] if what == "solver" else []:
                with suppress(psutil.Error):
                    helper.kill()
            kills[what] += 1
            rows = _rows(disturbed.out)
            assert {key: rows.get(key) for key in kept} == kept, "not one is lost or changed"
            kept = rows
    finally:
        disturbed.end()
    assert len(kept) < 10 * RUNS, "there was work to the end"
    assert {row.error for row in kept.values() if row.error} == {"the process of the solver died: SIGKILL"}
    calm = Runners(tmp_path / "calm")
    for runner in (disturbed.start(0, "--rerun", "failed"), calm.start(0)):
        assert "Traceback" not in runner.communicate()[1]
        assert runner.returncode == 0
    expected = _rows(calm.out)
    assert len(expected) == 10 * RUNS
    rows = _rows(disturbed.out)
    assert {key: _result(row) for key, row in rows.items()} == {
        key: _result(row) for key, row in expected.items()
    }
    base = sqlite3.connect(disturbed.out)
    attempts = base.execute("SELECT digest, seed, attempt, error FROM records").fetchall()
    claims = base.execute("SELECT count(*) FROM claims").fetchone()
    base.close()
    assert len({attempt[:3] for attempt in attempts}) == len(attempts)
    again = {attempt[:2] for attempt in attempts if attempt[2] > 1}
    failed = {attempt[:2] for attempt in attempts if attempt[3]}
    assert again == failed, "nothing was made twice in vain"
    assert len(attempts) == 10 * RUNS + len(failed)
    assert claims == (0,)


def test_kills_of_dask_workers_lose_and_double_nothing(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    study = read_study(_study(tmp_path, '"bad_solvers:dawdles", "noX"', seeds=8 * WORKERS_KILLED))
    tasks = study.tasks()
    rng = random.Random(5)
    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        open_executor(f"dask:{cluster.scheduler_address}", jobs=1) as executor,
        RecordStore(tmp_path / "records.sqlite") as store,
    ):
        done = threading.Event()

        def kill_now_and_then() -> None:
            """Kill a worker each time that another tenth is done; its nanny starts a new one."""
            while len(killed) < WORKERS_KILLED and not done.is_set():
                if progress[0] >= (len(killed) + 1) * len(tasks) // (2 * WORKERS_KILLED):
                    # A nanny gives up a worker that dies before it has begun.
                    begun = [
                        nanny.process.pid
                        for nanny in cluster.workers.values()
                        if nanny.process and nanny.process.status == distributed.Status.running
                    ]
                    if begun:
                        killed.append(rng.choice(begun))
                        os.kill(killed[-1], signal.SIGKILL)
                time.sleep(0.02)

        progress = [0]
        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        try:
            rows = run(
                tasks,
                store=store,
                executor=executor,
                progress=lambda count, *_: progress.__setitem__(0, count),
            )
        finally:
            done.set()
            killer.join()
        assert len(killed) == WORKERS_KILLED
        assert [row.key for row in rows] == [task.key for task in tasks]
        assert not [row.error for row in rows if row.error]
        assert list(store.keys()) == [row.key for row in store], "what is in the file is every row, once"
        assert len(store) == len(tasks) == 160 * WORKERS_KILLED


# --- Mpi ----------------------------------------------------------------------------------------------

#: Open MPI asks before it runs as root, or more ranks than there are processors.
_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def test_a_study_without_mpiexec_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    study.write_text('suites = ["klein-5-inf"]\nsolvers = ["noX"]\n')
    expected = "--executor mpi goes with: mpiexec -n N python -m mpi4py.futures -m allocsolve ..."
    told = refused(capsys, "study", "run", study, "--executor", "mpi")
    assert told == f"allocsolve: error: {expected}\n"


def test_a_study_under_mpiexec_has_every_row_once(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed", exc_type=ImportError)
    beside = Path(sys.executable).parent
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    study = tmp_path / "study.toml"
    study.write_text('suites = ["klein-5-inf"]\nsolvers = ["noX", "infX"]\nseeds = [0, 1]\n')
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "allocsolve"]
    done = subprocess.run(
        [*command, "study", "run", str(study), "--executor", "mpi"],
        env={**_OPEN_MPI, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with RecordStore(study.with_suffix(".sqlite"), read_only=True) as store:
        rows = list(store)
    tasks = read_study(study).tasks()
    assert sorted(row.key for row in rows) == sorted(task.key for task in tasks)
    assert not [row.error for row in rows if row.error]
