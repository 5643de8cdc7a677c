"""Waits of queued jobs in scenarios: run times drawn from the past, and the policy run forward in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.prediction.intervals import LEVELS
from allocsolve.prediction.run_times import RunTimes

if TYPE_CHECKING:
    from allocsolve.model.columns import FloatArray
    from allocsolve.prediction.history import JobHistory
    from allocsolve.simulation import PolicyLike, QueueSnapshot

#: Scenarios that are run for one answer.
SCENARIOS: Final = 40
#: How many jobs of the past tell about run times, the latest.
RECENT_JOBS: Final = 10_000


def run_times_until(history: JobHistory, now: float) -> RunTimes:
    """Return what is known at an instant of how long jobs run, from the last `RECENT_JOBS` that began."""
    last = int(np.searchsorted(history.submits, now, side="right"))
    started = np.flatnonzero(history.starts[:last] <= now)[-RECENT_JOBS:]
    ends = history.ends[started]
    ended = ends <= now
    spans = np.where(ended, ends, now) - history.starts[started]
    return RunTimes(history.nodes[started], history.limits[started], spans, ended)


def waits_by_limits(snapshot: QueueSnapshot, policy: PolicyLike) -> FloatArray:
    """Return how much longer each queued job waits if all jobs run as long as they may, in seconds."""
    return _waits(snapshot, policy, _limits(snapshot)[None])[:, 0]


def levels(waits: FloatArray) -> FloatArray:
    """Return `LEVELS` of the waits of each job in scenarios. Shape (queued, 3).

    They are estimates from few draws, so between two draws they are interpolated, unlike
    `allocsolve.judge.quantiles.quantile` of what has happened.
    """
    quantiles: FloatArray = np.quantile(waits, LEVELS, axis=1).T
    return quantiles


class Predicted(NamedTuple):
    """What is predicted of the waits of queued jobs, in seconds."""

    #: Shape (queued, 3): `LEVELS` of the waits in scenarios.
    quantiles: FloatArray
    #: Shape (queued,): the waits if all jobs run as long as they may.
    plan: FloatArray


def predicted(
    snapshot: QueueSnapshot, policy: PolicyLike, run_times: RunTimes, *, seed: int = 0
) -> Predicted:
    """Return what is predicted of the waits of queued jobs, in one run over all.

    In a scenario each job has a run time that is drawn given how long it has run, and the policy goes on; no
    more jobs are submitted. The policy is as for `allocsolve.simulation.forecast`; the seed is that of the
    draws. NaN for a job that the policy never starts.
    *Complexity*: `SCENARIOS` runs of the policy over the jobs that run or wait.
    """
    rows = np.vstack([drawn(snapshot, run_times, seed), _limits(snapshot)])
    waits = _waits(snapshot, policy, rows)
    return Predicted(levels(waits[:, :-1]), waits[:, -1])


def drawn(snapshot: QueueSnapshot, run_times: RunTimes, seed: int) -> FloatArray:
    """Return run times of the running and the queued jobs. Shape (`SCENARIOS`, running + queued), seconds.

    The draws of a job are spread evenly over its distribution.
    """
    rng = np.random.default_rng(seed)
    nodes = np.concatenate([snapshot.running_nodes, snapshot.nodes])
    elapsed = np.concatenate([snapshot.now - snapshot.running_starts, np.zeros(len(snapshot.nodes))])
    strata = rng.permuted(np.tile(np.arange(SCENARIOS), (len(nodes), 1)), axis=1)
    chances = (strata + rng.random(strata.shape)) / SCENARIOS
    spread: FloatArray = run_times.drawn(nodes, _limits(snapshot), elapsed, chances).T
    return np.maximum(spread, _SHORTEST_S)


def _limits(snapshot: QueueSnapshot) -> FloatArray:
    return np.concatenate([snapshot.running_limits, snapshot.limits])


def _waits(snapshot: QueueSnapshot, policy: PolicyLike, run_times: FloatArray) -> FloatArray:
    """Return the waits if jobs run so long; shape (queued, scenarios), seconds."""
    running = len(snapshot.running_nodes)
    starts = snapshot.starts(policy, run_times[:, :running], run_times[:, running:])
    return starts.T - snapshot.now


#: A job runs at least so long, in seconds.
_SHORTEST_S: Final = 1.0
