"""Waits of queued jobs in scenarios: run times drawn from the past, and the policy run forward in each.

Of jobs that would not end before a part of the machine is closed they tell which limits would start
them before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.prediction.intervals import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray
    from allocsolve.prediction.history import JobHistory
    from allocsolve.simulation import PolicyLike, QueueSnapshot

#: For how many jobs of a class those of the wider class count, all together.
PRIOR_JOBS: Final = 10.0


def job_classes(nodes: IntArray, limits: FloatArray) -> NDArray[np.int64]:
    """Return the class of each job by its limit and by its nodes.

    Limits are in seconds. Shape (jobs, 2): half octaves of the limit, octaves of the nodes.
    """
    by_limit = np.floor(2 * np.log2(limits)).astype(np.int64)
    return np.column_stack([by_limit, np.floor(np.log2(nodes)).astype(np.int64)])


class RunTimes:
    """The distribution of run time over limit, by classes of limit and nodes.

    In each class the survival function is that of Kaplan and Meier with weights: jobs of the class count 1
    each, those of its class of limits together as much as 10 jobs, and so do all. Jobs that still
    run are censored. What survives all jobs ends at its limit.

    Parameters
    ----------
    nodes, limits
        Shape (jobs,); limits in seconds.
    spans
        Shape (jobs,): how long each job ran, or has run so far, in seconds. What ran longer than its limit
        counts as one that ended at it.
    ended
        Shape (jobs,): whether it has ended.

    Notes
    -----
    *Complexity*: O(jobs log jobs), and O(jobs) more for each class that is asked for.
    *References*: Kaplan & Meier, Journal of the American Statistical Association 53(282), 1958.

    Examples
    --------
    >>> nodes, limits = np.array([1, 1, 1]), np.array([100.0, 100.0, 100.0])
    >>> past = RunTimes(nodes, limits, np.array([20.0, 50.0, 50.0]), np.array([True, True, False]))
    >>> past.survival(1, 100.0, np.array([0.1, 0.2, 0.5])).round(3).tolist()
    [1.0, 0.667, 0.333]
    """

    def __init__(
        self, nodes: IntArray, limits: FloatArray, spans: FloatArray, ended: NDArray[np.bool_]
    ) -> None:
        shares = np.minimum(spans / limits, 1.0)
        order = np.lexsort(
            (~ended, shares)
        )  # who ends at a share is at risk together with who is censored at it
        self._shares = shares[order]
        self._ended = ended[order]
        self._classes = job_classes(nodes, limits)[order]
        self._curves: dict[tuple[int, int], FloatArray] = {}

    def _curve(self, key: tuple[int, int]) -> FloatArray:
        """Return what survives each job, in the order of shares. Shape (jobs,)."""
        if key not in self._curves:
            same_limit = self._classes[:, 0] == key[0]
            same = same_limit & (self._classes[:, 1] == key[1])
            weights = same.astype(np.float64)
            weights += same_limit * (PRIOR_JOBS / max(int(same_limit.sum()), 1))
            weights += PRIOR_JOBS / max(len(weights), 1)
            at_risk = np.cumsum(weights[::-1])[::-1]
            self._curves[key] = np.cumprod(1 - np.minimum(self._ended * weights / at_risk, 1.0))
        return self._curves[key]

    def survival(self, nodes: int, limit: float, shares: FloatArray) -> FloatArray:
        """Return the probability that a job runs longer than these shares of its limit; 0 from 1 on."""
        key = job_classes(np.array([nodes]), np.array([limit]))[0]
        survived = np.concatenate([[1.0], self._curve((int(key[0]), int(key[1])))])
        at = np.searchsorted(self._shares, shares, side="right")
        return np.where(shares >= 1, 0.0, survived[at])

    def drawn(
        self, nodes: IntArray, limits: FloatArray, elapsed: FloatArray, chances: FloatArray
    ) -> FloatArray:
        """Return run times, given how long the jobs have run.

        Shape (jobs,), in seconds; `elapsed` is 0 for a job that has not started. `chances`, shape (jobs,
        draws) and in 0..1, are the chance that a job runs longer than is drawn; uniform ones give a sample.
        Shape of these, seconds: at least the time elapsed, and else at most the limit.
        """
        times = np.empty(chances.shape)
        classes, place = np.unique(job_classes(nodes, limits), axis=0, return_inverse=True)
        ends = np.append(self._shares, 1.0)
        for idx, key in enumerate(classes.tolist()):
            rows = np.flatnonzero(place.ravel() == idx)
            curve = self._curve((key[0], key[1]))
            so_far = np.concatenate([[1.0], curve])[
                np.searchsorted(self._shares, elapsed[rows] / limits[rows], side="right")
            ]
            wanted = chances[rows] * so_far[:, None]
            at = np.searchsorted(-curve, -wanted, side="left")
            times[rows] = ends[at] * limits[rows, None]
        return np.maximum(times, elapsed[:, None])


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


#: Limits are whole minutes, in seconds.
_MINUTE_S: Final = 60.0


class ShorterLimit(NamedTuple):
    """The longest limit with which a job would start before a closed window, if all run to their limits."""

    limit: float  #: seconds, whole minutes
    start: float  #: seconds
    window: float  #: when the window begins, in seconds


def shorter_limits(
    snapshot: QueueSnapshot, policy: PolicyLike, plan: FloatArray, jobs: Iterable[int]
) -> dict[int, ShorterLimit]:
    """Return the longest limit with which a job would start before a closed window that delays it.

    `plan`, shape (queued,), are the starts in seconds if all jobs run as long as they may, and `jobs` places
    in the queue. By place; only jobs that would start earlier if nothing were closed, and that some shorter
    limit starts before a window that begins by their start: the last one of these that can be.

    Notes
    -----
    All other jobs keep their limits. If a limit is short enough, shorter ones are taken to be, too.
    *Complexity*: for each job three runs of the policy as a rule, at worst one for each bit of the limit.
    """
    if not snapshot.closed:
        return {}
    free = waits_by_limits(replace(snapshot, closed=()), policy) + snapshot.now
    windows = np.unique([window.start for window in snapshot.closed])
    found: dict[int, ShorterLimit] = {}
    for job in jobs:
        coming = windows[(windows > snapshot.now) & (windows <= plan[job])]
        if plan[job] > free[job] and len(coming):
            tried = (_shorter(snapshot, policy, job, window) for window in coming[::-1].tolist())
            shorter = next((one for one in tried if one is not None), None)
            if shorter is not None:
                found[job] = shorter
    return found


def _shorter(snapshot: QueueSnapshot, policy: PolicyLike, job: int, window: float) -> ShorterLimit | None:
    """Return the longest limit with which a job starts before a window; None if there is none."""

    def start(limit: float) -> float:
        limits = snapshot.limits.copy()
        limits[job] = limit
        return float(waits_by_limits(replace(snapshot, limits=limits), policy)[job] + snapshot.now)

    low, first = _MINUTE_S, start(_MINUTE_S)
    if first >= window:
        return None
    high = np.ceil(snapshot.limits[job] / _MINUTE_S) * _MINUTE_S  # with that, it starts later
    if high <= low:
        return None
    until = np.floor((window - first) / _MINUTE_S) * _MINUTE_S  # then it ends when the window begins
    guesses = [until, until + _MINUTE_S]
    while high - low > _MINUTE_S:
        limit = guesses.pop(0) if guesses else low
        if not low < limit < high:
            limit = low + np.floor((high - low) / 2 / _MINUTE_S) * _MINUTE_S
        begins = start(limit)
        if begins < window:
            low, first = limit, begins
        else:
            high = limit
    return ShorterLimit(float(low), first, window)
