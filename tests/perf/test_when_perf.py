"""When will my job start? 1,000 queued jobs are answered in 1 s, once the past has been asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics import Easy
from allocsolve.prediction import JobHistory, PastAnswers, StartIntervals, when
from allocsolve.prediction.answers import QUESTIONS
from allocsolve.simulation import QueueSnapshot

if TYPE_CHECKING:
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


def queue(now: float, rng: np.random.Generator) -> QueueSnapshot:
    """Return a full machine, and a queue of jobs like those of the past."""
    running = np.full(NODES // 8, 8)
    limits = rng.choice([1800.0, 7200.0, 43_200.0], QUEUED)
    submits = now - np.sort(rng.exponential(20_000, QUEUED))[::-1]
    return QueueSnapshot(
        NODES,
        now,
        running,
        now - rng.random(len(running)) * 7200,
        np.full(len(running), 7200.0),
        rng.integers(1, 65, QUEUED),
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
