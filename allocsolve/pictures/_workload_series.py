"""Workloads over time: busy nodes and waiting jobs as means over bins, in units of time that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.pictures.chart import Axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadSchedule

__all__ = [
    "TimeUnit",
    "binned",
    "busy_nodes",
    "level_axis",
    "node_prices",
    "span",
    "time_unit",
    "waiting_jobs",
]


class TimeUnit(NamedTuple):
    """A unit of time with its seconds, and up to how many seconds it is used on an axis."""

    name: str
    seconds: float
    up_to: float

    def axis(self, low: float, high: float, *, title: bool = True) -> Axis:
        """Return the axis from one time to another, both in seconds."""
        end = high if high > low else low + self.seconds
        return Axis(f"time [{self.name}]" if title else "", low / self.seconds, end / self.seconds)


_UNITS: Final = (
    TimeUnit("s", 1, 600),
    TimeUnit("min", 60, 7200),
    TimeUnit("h", 3600, 4 * 86400),
    TimeUnit("d", 86400, float("inf")),
)


#: A linear axis shows nothing of a value that is so many times below another.
_SKEWED: Final = 20

#: Ticks of the low planes that stand one under another.
_STEPS: Final = 5


def level_axis(title: str, highest: Sequence[float], least: float) -> Axis:
    """Return the axis of several series from 0, logarithmic if a linear one would flatten some.

    Parameters
    ----------
    title
        Of the axis.
    highest
        What is to be told apart: the largest value of each series, or all values.
    least
        Values below it are drawn as none on a logarithmic axis.
    """
    top = max(highest, default=0.0)
    if top > _SKEWED * max(min(highest, default=top), least):
        axis = Axis.around(title, [top], log=True, steps=_STEPS)
        return Axis(title, least, axis.high, log=True, zero=f"<{least:g}", steps=_STEPS)
    return Axis.around(title, [top], steps=_STEPS)


def time_unit(seconds: float) -> TimeUnit:
    """Return the unit of an axis of so many seconds."""
    return next(unit for unit in _UNITS if seconds < unit.up_to)


def span(problem: WorkloadProblem, schedules: Sequence[WorkloadSchedule]) -> tuple[float, float]:
    """Return the time from the first submission to the last end of some schedules, in seconds."""
    first = float(problem.packed.submit.min(initial=np.inf)) if len(problem.jobs) else 0.0
    return first, max((float(schedule.ends.max(initial=first)) for schedule in schedules), default=first)


def binned(times: FloatArray, changes: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the means of a step function over the bins between edges.

    Parameters
    ----------
    times, changes
        Shape (changes,): when the function, 0 at first and at last, changes by how much.
    edges
        Shape (bins + 1,), rising.

    Returns
    -------
    numpy.ndarray
        Shape (bins,). O(changes log changes + bins log changes).
    """
    if not len(times):
        return np.zeros(len(edges) - 1)
    order = np.argsort(times, kind="stable")
    moments, level = times[order], np.cumsum(changes[order])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(moments))])
    means: FloatArray = np.diff(np.interp(edges, moments, area)) / np.diff(edges)
    return np.maximum(means, 0.0)  # sums of many terms may end a rounding below 0


def busy_nodes(schedule: WorkloadSchedule, edges: FloatArray) -> FloatArray:
    """Return how many nodes are held, as means over the bins between edges (seconds)."""
    times = np.concatenate([schedule.starts, schedule.ends])
    return binned(times, np.concatenate([schedule.nodes, -schedule.nodes]).astype(np.float64), edges)


def waiting_jobs(problem: WorkloadProblem, schedule: WorkloadSchedule, edges: FloatArray) -> FloatArray:
    """Return how many jobs wait, as means over the bins between edges (seconds)."""
    submit, starts = problem.packed.submit, schedule.first_starts
    waits = starts > submit
    ones = np.ones(int(waits.sum()))
    return binned(np.concatenate([submit[waits], starts[waits]]), np.concatenate([ones, -ones]), edges)


def node_prices(
    problem: WorkloadProblem, certificate: Mapping[str, Any], edges: FloatArray
) -> FloatArray | None:
    """Return the price of a node-second of a certificate, as means over the bins between edges (seconds).

    Parameters
    ----------
    problem
        The problem.
    certificate
        Of a bound that prices time: ``time-prices``, or ``job-prices``, of which the price of a node-second
        is what the jobs that pay most for a node would pay together, were they to fill all nodes, by node.
    edges
        Shape (bins + 1,), rising.

    Returns
    -------
    numpy.ndarray
        Shape (bins,), in units of the sum of the objective over all jobs; None if nothing prices time.
    """
    if certificate.get("kind") not in ("time-prices", "job-prices"):
        return None
    slots = np.asarray(certificate["edges"], dtype=np.float64)
    prices = np.asarray(certificate["prices"], dtype=np.float64) / float(certificate["unit"])
    if certificate["kind"] == "job-prices":
        prices = _filled(problem, certificate, prices, len(slots) - 1)
    if len(slots) != len(prices) + 1 or not len(prices):
        return None
    return binned(slots, np.diff(prices, prepend=0.0, append=0.0), edges)


def _filled(
    problem: WorkloadProblem, certificate: Mapping[str, Any], prices: FloatArray, num_slots: int
) -> FloatArray:
    """Return for each slot what the dearest jobs, by node, pay for a node if they fill the cluster."""
    offsets = np.asarray(certificate["offsets"], dtype=np.int64)
    first = np.asarray(certificate["first_slots"], dtype=np.int64)
    jobs = np.repeat(np.arange(len(first)), np.diff(offsets))
    slots, nodes = np.arange(len(prices)) - offsets[jobs] + first[jobs], problem.packed.nodes[jobs]
    order = np.lexsort((-prices / nodes, slots))
    slots, nodes, prices = slots[order], nodes[order], prices[order]
    before = np.cumsum(nodes) - nodes
    before -= before[np.searchsorted(slots, slots)]
    seated = np.clip(problem.num_nodes - before, 0, nodes)
    return np.bincount(slots, prices * seated / nodes, minlength=num_slots) / problem.num_nodes
