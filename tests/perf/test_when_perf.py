"""What questions of operators cost: when a job starts, and `whatif` from the log to the page."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from when_tools import easy_history, measured, plan_errors, recorded_history
from workload_traces import trace

from allocsolve.adaptors import named_policy
from allocsolve.heuristics import Easy
from allocsolve.prediction import JobHistory, PastAnswers, StartIntervals, past_answers, when
from allocsolve.prediction.when import QUESTIONS
from allocsolve.simulation import QueueSnapshot

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture


NODES = 1000
QUEUED = 1000
#: Seconds of CPU.
MOST_S = 1.0


def history(count: int, rng: np.random.Generator) -> JobHistory:
    """Return jobs that wait for up to an hour each and use a part of their limits."""
    submits = np.cumsum(rng.exponential(120, count))
    limits = rng.choice([1800.0, 7200.0, 43_200.0], count)
    starts = submits + rng.exponential(1800, count)
    return JobHistory(
        NODES, submits, starts, starts + limits * rng.random(count), rng.integers(1, 65, count), limits
    )


def queue(now: float, rng: np.random.Generator, count: int = QUEUED) -> QueueSnapshot:
    """Return a full machine, and a queue of jobs like those of the past."""
    running = np.full(NODES // 8, 8)
    limits = rng.choice([1800.0, 7200.0, 43_200.0], count)
    submits = now - np.sort(rng.exponential(20_000, count))[::-1]
    return QueueSnapshot(
        NODES,
        now,
        running,
        now - rng.random(len(running)) * 7200,
        np.full(len(running), 7200.0),
        rng.integers(1, 65, count),
        submits,
        limits,
        submits,
    )


def test_a_thousand_queued_jobs(benchmark: BenchmarkFixture) -> None:
    rng = np.random.default_rng(0)
    past = history(20_000, rng)
    now = float(past.submits[-1]) + 1
    times = now - np.sort(rng.random(QUESTIONS) * 1e6)[::-1] - 1e5
    waits = rng.exponential(20_000, QUESTIONS)
    predicted = np.sort(rng.exponential(20_000, (QUESTIONS, 3)), axis=1)
    asked = [PastAnswers("instant", times, predicted, rng.random((QUESTIONS, 9)), waits)]
    snapshot = queue(now, rng)

    def answer() -> tuple[StartIntervals, float]:
        begin = time.process_time()
        told = when(snapshot, Easy(), past, past=asked)
        return told, time.process_time() - begin

    answer()  # compiles
    told, seconds = benchmark.pedantic(answer, rounds=3)
    assert seconds < MOST_S
    assert (now <= told.earliest).all()
    assert (told.earliest <= told.median).all()
    assert (told.median <= told.latest).all()
    assert np.isfinite(told.latest).all()


#: Seconds of CPU for a queue of 400 jobs and the 1,000 questions of the past.
WITH_THE_PAST_S = {"easy": 5.0, "conservative": 15.0}


@pytest.mark.parametrize("name", WITH_THE_PAST_S)
def test_400_queued_jobs_and_the_past(benchmark: BenchmarkFixture, name: str) -> None:
    """What `when --log` computes: some 16 jobs wait and 90 run when a question of the past is asked."""
    rng = np.random.default_rng(0)
    past = history(20_000, rng)
    snapshot = queue(float(past.submits[-1]) + 1, rng, 400)
    policy = named_policy(name)
    past_answers(past, policy, "instant", count=2)  # compiles

    def answer() -> tuple[StartIntervals, float]:
        begin = time.process_time()
        asked = [past_answers(past, policy, "instant", before=snapshot.now)]
        told = when(snapshot, policy, past, past=asked)
        return told, time.process_time() - begin

    told, seconds = benchmark.pedantic(answer, rounds=1)
    assert seconds < WITH_THE_PAST_S[name]
    assert told.questions == (QUESTIONS,) * 400
    assert (snapshot.now <= told.earliest).all()
    assert np.isfinite(told.latest).all()
    assert (told.by_limits == snapshot.starts(policy, snapshot.running_limits, snapshot.limits)).all()


long = pytest.mark.skipif(
    not os.environ.get("ALLOCSOLVE_LONG_BENCHMARKS"), reason="takes long: set ALLOCSOLVE_LONG_BENCHMARKS"
)


@long
@pytest.mark.parametrize(("name", "count"), [("KTH", 1322), ("KIT", 1100), ("Atlas", 2014)])
def test_nine_of_ten_intervals_hold(benchmark: BenchmarkFixture, traces: Path, name: str, count: int) -> None:
    """Questions at submissions, of every tenth job of the second half that waits; of KIT of every fourth."""
    history = easy_history(traces, name)
    simulation, analogues = benchmark.pedantic(measured, (history, "submission", count))
    by_limits, _ = plan_errors(history, "submission", count)
    benchmark.extra_info |= {"answers": simulation._asdict(), "error of the plan": by_limits}
    assert 0.88 <= simulation.coverage <= 0.92
    assert simulation.error <= by_limits / 2
    assert simulation.score < analogues.score


@long
def test_recorded_starts_are_told_by_analogues(benchmark: BenchmarkFixture, traces: Path) -> None:
    history = recorded_history(traces, "KTH")
    simulation, analogues = benchmark.pedantic(measured, (history, "submission", 1322))
    benchmark.extra_info |= {"answers": analogues._asdict()}
    assert analogues.coverage >= 0.9
    assert analogues.score < simulation.score


# --- Whatif -------------------------------------------------------------------------------------------
#
# The work is fixed: 10 s of search by two workers, beside the four policies; all else is reading, judging and
# writing. What operators ask besides may take 90 s: each other machine has a search of its own.

#: Of the log of Cirrus, whose jobs share nodes.
PROCESSORS = 12_960
JOBS = "11,434 jobs on 12,960 processors"


@pytest.mark.parametrize("kernels", ["compiled", "to be compiled"])
def test_from_the_log_to_the_page(
    kernels: str, benchmark: BenchmarkFixture, traces: Path, tmp_path: Path
) -> None:
    log = trace(traces, "cirrus_2024Q1_sacct.csv.gz")
    argv = [sys.executable, "-m", "allocsolve", "whatif", str(log), "--nodes", str(PROCESSORS)]
    argv += ["--unit", "processors", "--seconds", "10", "--workers", "2"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if kernels == "to be compiled":
        env["ALLOCSOLVE_KERNELS"] = str(tmp_path / "cache")

    def command() -> str:
        for left in tmp_path.glob("page.*"):  # else nothing would be run again
            left.unlink()
        out = [*argv, "--out", str(tmp_path / "page.html")]
        return subprocess.run(out, check=True, capture_output=True, text=True, env=env).stdout

    text = benchmark.pedantic(command, rounds=1)
    assert JOBS in text
    assert "No scheduler, however clever, could have brought the mean wait below 1" in text
    assert (tmp_path / "page.html").stat().st_size < 200_000


#: Seconds that were asked for, with two cores.
_ASKED_S = 90.0


def test_sizes_orders_and_a_window(benchmark: BenchmarkFixture, traces: Path, tmp_path: Path) -> None:
    log = trace(traces, "KTH-SP2-1996-2.1-cln.swf.gz")
    argv = [sys.executable, "-m", "allocsolve", "whatif", str(log), "--nodes", "95,100,105", "--workers", "2"]
    argv += [
        "--policy",
        "fcfs,first-fit,easy,conservative,easy(order=shortest-estimate)",
        "--closed",
        "1997-01-10T08:00+8h",
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def command() -> str:
        for left in tmp_path.glob("page.*"):
            left.unlink()
        out = [*argv, "--out", str(tmp_path / "page.html")]
        return subprocess.run(out, check=True, capture_output=True, text=True, env=env).stdout

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = benchmark.pedantic(command, rounds=1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    benchmark.extra_info |= {"cpu_s": round(cpu_s, 1), "asked_s": _ASKED_S}
    for row in (
        *(r"as it is: 100 nodes +1\.9 h", r"95 nodes +2\.3 h", r"105 nodes +1\.4 h"),
        *(r"shortest estimate first +1\.3 h", r"closed 1997-01-10T08:00\+8h +1\.9 h"),
    ):
        assert re.search(f"^{row} ", text, re.MULTILINE), row
    assert "With 95 nodes no scheduler can bring the mean wait below 1" in text
    assert (tmp_path / "page.html").stat().st_size < 200_000
