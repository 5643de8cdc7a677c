"""Kills at random moments: whatever was finished is kept, and nothing is run or kept twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest
from process_tools import environment
from tiers import before_a_release

from allocsolve.bench import RecordStore, open_executor, read_study, run

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.bench import Record, RecordKey


#: Kills of runners and of processes of solvers, and of Dask workers: a hundred in the longest tier.
KILLS, WORKERS_KILLED = (95, 5) if before_a_release() else (8, 2)
#: More runs than are done before the last of the kills, on ten problems.
SEEDS = 3 * KILLS + 15

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
        self.study = _study(folder, '"dawdles:solver"', seeds=SEEDS)
        self.out = self.study.with_suffix(".sqlite")
        self.alive: list[subprocess.Popen[bytes]] = []

    def start(self, seconds: float, *more: str) -> subprocess.Popen[bytes]:
        """Start a runner whose solver takes that long."""
        command = [sys.executable, "-m", "allocsolve", "study", "run", "study.toml", "--jobs", "2", *more]
        return subprocess.Popen(
            command,
            cwd=self.study.parent,
            env=environment(DAWDLE_S=str(seconds)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def victims(self) -> list[tuple[subprocess.Popen[bytes], list[psutil.Process]]]:
        """Return the runners that have processes of solvers, with these; there are two runners afterwards."""
        for runner in [one for one in self.alive if one.poll() is not None]:
            self.alive.remove(runner)
            assert b"Traceback" not in runner.communicate()[1]
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
    assert len(kept) < 10 * SEEDS, "there was work to the end"
    assert {row.error for row in kept.values() if row.error} == {"the process of the solver died: SIGKILL"}
    calm = Runners(tmp_path / "calm")
    for runner in (disturbed.start(0, "--retry-failed"), calm.start(0)):
        assert b"Traceback" not in runner.communicate()[1]
        assert runner.returncode == 0
    expected = _rows(calm.out)
    assert len(expected) == 10 * SEEDS
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
    assert len(attempts) == 10 * SEEDS + len(failed)
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
