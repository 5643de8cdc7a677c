"""How good the answers to questions of the past would have been, on real logs and on made ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from workload_traces import swf_log

from allocsolve.heuristics import Conservative, Easy
from allocsolve.instances import log_problem
from allocsolve.model import Jobs, WorkloadProblem
from allocsolve.prediction import JobHistory, past_answers
from allocsolve.prediction.scenarios import waits_by_limits
from allocsolve.prediction.when import METHODS, calibrated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from allocsolve.model import FloatArray, IntArray
    from allocsolve.prediction import Method, Moment
    from allocsolve.prediction.when import PastAnswers
    from allocsolve.simulation import QueueSnapshot

#: The logs, and by how much the times between their submissions are multiplied.
LOGS = {
    "KTH": ("KTH-SP2-1996-2.1-cln", 1.0),
    "KIT": ("KIT-FH2-2016-1-first25326", 1.0),
    "Atlas": ("LLNL-Atlas-2006-2.1-cln", 0.7),
}


def recorded_history(traces: Path, name: str) -> JobHistory:
    """Return the jobs of a log as they ran."""
    return JobHistory.of(swf_log(traces, LOGS[name][0]))


def easy_history(traces: Path, name: str) -> JobHistory:
    """Return the jobs of a log as they run under EASY backfilling by their limits."""
    file, share = LOGS[name]
    log = swf_log(traces, file)
    jobs = log_problem(log).packed
    problem = WorkloadProblem(log.num_nodes, Jobs(jobs.submit * share, jobs.nodes, jobs.runtime, log.limits))
    schedule = Easy().simulated(problem).schedule
    starts, submits = schedule.first_starts, problem.packed.submit
    return JobHistory(log.num_nodes, submits, starts, starts + jobs.runtime, jobs.nodes, log.limits)


#: Fewer earlier questions than twice as many do not calibrate an answer.
LEAST = 100


class Quality(NamedTuple):
    """How good the intervals of held-out questions were; times in seconds."""

    method: Method
    questions: int
    raw_coverage: float  #: of the quantiles of the scenarios or analogues as they are; NaN of analogues
    coverage: float
    sides: tuple[float, float]  #: how often each end held
    width: float  #: half of the intervals are at most so wide
    error: float  #: of the middle, half of them at most
    score: float


def held_out(history: JobHistory, times: FloatArray) -> IntArray:
    """Return which questions are asked in the second half of the jobs, and calibrated by others before."""
    half = history.submits[len(history.submits) // 2]
    asked = np.flatnonzero(times >= half)
    return asked[asked >= 2 * LEAST]


def qualities(history: JobHistory, past: PastAnswers) -> Iterator[Quality]:
    """Yield how good each method was at the held-out questions, each calibrated by the 600 before it."""
    asked = held_out(history, past.times)
    waits = past.waits[asked]
    predicted = past.quantiles[asked]
    for method in METHODS:
        one = calibrated(past, method, np.inf)
        moved = one.intervals[asked]
        holds = np.column_stack([moved[:, 0] <= waits, waits <= moved[:, 2]])
        raw = float(((predicted[:, 0] <= waits) & (waits <= predicted[:, 2])).mean())
        yield Quality(
            method,
            len(asked),
            raw if method == "simulation" else np.nan,
            float(holds.all(axis=1).mean()),
            (float(holds[:, 0].mean()), float(holds[:, 1].mean())),
            float(np.median(moved[:, 2] - moved[:, 0])),
            float(np.median(np.abs(moved[:, 1] - waits))),
            one.score,
        )


def plan_errors(history: JobHistory, moment: Moment, count: int, most: int = 100) -> tuple[float, float]:
    """Return the median error of the plan by limits under conservative and EASY backfilling, in seconds.

    Of at most so many of the held-out questions, at even distances.
    """
    asked = history.questions(count, moment)
    chosen = held_out(history, asked.times)
    chosen = chosen[:: -(-len(chosen) // most)]
    errors: list[tuple[float, float]] = []
    for job, now in zip(asked.jobs[chosen].tolist(), asked.times[chosen].tolist(), strict=True):
        snapshot, queued = history.snapshot(now)
        at, wait = int(np.searchsorted(queued, job)), float(history.starts[job] - now)
        plans = conservative_plan(snapshot)[at], waits_by_limits(snapshot, Easy())[at]
        errors.append((abs(plans[0] - wait), abs(plans[1] - wait)))
    conservative, easy = np.median(np.array(errors), axis=0)
    return float(conservative), float(easy)


def conservative_plan(snapshot: QueueSnapshot) -> FloatArray:
    """Return the waits if each queued job has a reservation by its limit, in the order of the queue."""
    left = snapshot.running_starts + snapshot.running_limits - snapshot.now
    count = len(left)
    problem = WorkloadProblem(
        snapshot.num_nodes,
        Jobs(
            np.zeros(count + len(snapshot.nodes)),
            np.concatenate([snapshot.running_nodes, snapshot.nodes]),
            np.concatenate([np.maximum(left, 1.0), snapshot.limits]),
            np.concatenate([np.maximum(left, 1.0), snapshot.limits]),
        ),
    )
    return Conservative().first_reservations(problem)[count:]


def measured(history: JobHistory, moment: Moment, count: int, *, seed: int = 0) -> list[Quality]:
    """Ask so many questions of a history, and return how good the answers to the held-out ones were."""
    return [*qualities(history, past_answers(history, Easy(), moment, count=count, seed=seed))]
