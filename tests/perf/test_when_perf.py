"""When will my job start? 1,000 queued jobs are answered in 1 s, once the past has been asked; 400 with it.

How good the answers are on whole logs takes minutes each: it is measured if ``ALLOCSOLVE_LONG_BENCHMARKS`` is
set.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from when_tools import easy_history, measured, plan_errors, recorded_history

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
