"""Kills at random moments: whatever was finished is kept, and nothing is run or kept twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from allocsolve.bench import RecordStore, open_executor, read_study, run

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.bench import Record

pytestmark = pytest.mark.slow

#: Tasks of about 20 ms each.
STUDY = 'suites = ["klein-5-inf"]\nsolvers = ["bad_solvers:dawdles", "noX"]\nseeds = {seeds}\n'


def _study(folder: Path, seeds: int) -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY.format(seeds=list(range(seeds))))
    return path


def _rows(path: Path) -> list[Record]:
    if not path.exists():
        return []
    with RecordStore(path) as store:
        return list(store)


def test_twenty_kills_of_the_runner_lose_and_double_nothing(tmp_path: Path) -> None:
    study = _study(tmp_path, seeds=40)
    out = study.with_suffix(".sqlite")
    command = [sys.executable, "-m", "allocsolve", "study", "run", str(study), "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    rng = random.Random(20)
    kept: list[Record] = []
    kills = 0
    while kills < 20:
        runner = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        started = len(kept)
        while len(_keys(out)) <= started and runner.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.3))
        helpers = psutil.Process(runner.pid).children(recursive=True) if runner.poll() is None else []
        runner.kill()
        assert runner.wait() == -signal.SIGKILL, "killed before it was done"
        kills += 1
        rows = _rows(out)
        assert rows[: len(kept)] == kept, "not one is lost or changed"
        assert len(rows) > len(kept), "every start gets further"
        kept = rows
        gone, alive = psutil.wait_procs(helpers, timeout=20)
        assert not alive, "the processes of the solvers end with their runner"
        assert len(gone) == len(helpers)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    rows = _rows(out)
    expected = {task.key for task in read_study(study).tasks()}
    assert len(expected) == 800
    assert rows[: len(kept)] == kept
    assert len(rows) == 800
    assert {row.key for row in rows} == expected
    assert not [row.error for row in rows if row.error]


def _keys(path: Path) -> list[object]:
    if not path.exists():
        return []
    try:
        with RecordStore(path, read_only=True) as store:
            return list(store.keys())
    except ValueError:  # the runner is making it
        return []


def test_five_kills_of_a_dask_worker_lose_and_double_nothing(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    study = read_study(_study(tmp_path, seeds=40))
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
            while len(killed) < 5 and not done.is_set():
                if progress[0] >= (len(killed) + 1) * len(tasks) // 10:
                    pid = rng.choice([worker.pid for worker in cluster.workers.values() if worker.pid])
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
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
        assert len(killed) == 5
        assert [row.key for row in rows] == [task.key for task in tasks]
        assert not [row.error for row in rows if row.error]
        assert list(store.keys()) == [row.key for row in store], "what is in the file is every row, once"
        assert len(store) == len(tasks) == 800
