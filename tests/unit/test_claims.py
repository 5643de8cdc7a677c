"""Several runners on one file of records: each run is made once, and nobody waits for the dead."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from process_tools import environment

from allocsolve.bench import RecordStore, plan, run_missing
from allocsolve.bench.runs.tasks import LEASE_S, task_text
from allocsolve.instances import klein2011, write_problem
from allocsolve.model import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from allocsolve.bench import Task

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
        runner = subprocess.Popen(
            [sys.executable, "-m", "allocsolve", "study", "run", "study.toml", "--json"],
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.runners.append(runner)
        return runner

    def calls(self) -> list[list[str]]:
        path = self.folder / "calls"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def claims(self) -> list[tuple[str, str, float]]:
        with closing(sqlite3.connect(self.folder / "study.sqlite", timeout=30)) as base:
            return base.execute("SELECT task, runner, until FROM claims").fetchall()


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
    with RecordStore(crew.folder / "study.sqlite", read_only=True) as store:
        assert sorted(row.seed for row in store) == list(range(SEEDS))
    assert crew.claims() == []


def test_nobody_waits_for_a_runner_that_was_killed(crew: Crew) -> None:
    victim, survivor = crew.start(), crew.start()
    _until(lambda: len({parent for parent, _, _ in crew.calls()}) == 2)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    theirs = [until for _, runner, until in crew.claims() if json.loads(runner)[1] == victim.pid]
    assert theirs, "it was killed in the midst of a run"
    assert _finished(survivor)["failures"] == []
    assert time.time() < min(theirs), "their time is not over yet"
    with RecordStore(crew.folder / "study.sqlite", read_only=True) as store:
        assert sorted(row.seed for row in store) == list(range(SEEDS))
    assert crew.claims() == []


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
