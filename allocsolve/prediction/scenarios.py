"""Waits of queued jobs in scenarios: run times drawn from the past, and the policy run forward in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.prediction.intervals import LEVELS
from allocsolve.prediction.run_times import RunTimes

if TYPE_CHECKING:
    from allocsolve.model.jobs import FloatArray
    from allocsolve.prediction.history import JobHistory
    from allocsolve.simulation import QueueSnapshot
    from allocsolve.simulation.policy import PolicyLike

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


def waits_in_scenarios(
    snapshot: QueueSnapshot, policy: PolicyLike, run_times: RunTimes, *, seed: int = 0
) -> FloatArray:
    """Return how much longer each queued job waits in each scenario.

    In a scenario each job has a run time that is drawn given how long it has run, and the policy goes on; no
    more jobs are submitted. The draws of a job are spread evenly over its distribution.

    Parameters
    ----------
    snapshot
        The queue.
    policy
        As for `allocsolve.simulation.forecast`.
    run_times
        How long jobs run.
    seed
        Of the draws.

    Returns
    -------
    numpy.ndarray
        Shape (queued, `SCENARIOS`), seconds; NaN for a job that the policy never starts.

    Notes
    -----
    *Complexity*: `SCENARIOS` runs of the policy over the jobs that run or wait.
    """
    rng = np.random.default_rng(seed)
    running = len(snapshot.running_nodes)
    nodes = np.concatenate([snapshot.running_nodes, snapshot.nodes])
    limits = np.concatenate([snapshot.running_limits, snapshot.limits])
    elapsed = np.concatenate([snapshot.now - snapshot.running_starts, np.zeros(len(snapshot.nodes))])
    strata = rng.permuted(np.tile(np.arange(SCENARIOS), (len(nodes), 1)), axis=1)
    chances = (strata + rng.random(strata.shape)) / SCENARIOS
    drawn = np.maximum(run_times.drawn(nodes, limits, elapsed, chances), _SHORTEST_S)
    waits = np.empty((len(snapshot.nodes), SCENARIOS))
    for idx in range(SCENARIOS):
        waits[:, idx] = snapshot.starts(policy, drawn[:running, idx], drawn[running:, idx]) - snapshot.now
    return waits


def waits_by_limits(snapshot: QueueSnapshot, policy: PolicyLike) -> FloatArray:
    """Return how much longer each queued job waits if all jobs run as long as they may, in seconds."""
    return snapshot.starts(policy, snapshot.running_limits, snapshot.limits) - snapshot.now


def levels(waits: FloatArray) -> FloatArray:
    """Return `LEVELS` of the waits of each job in scenarios. Shape (queued, 3).

    They are estimates from few draws, so between two draws they are interpolated, unlike
    `allocsolve.judge.quantiles.quantile` of what has happened.
    """
    quantiles: FloatArray = np.quantile(waits, LEVELS, axis=1).T
    return quantiles


#: A job runs at least so long, in seconds.
_SHORTEST_S: Final = 1.0
