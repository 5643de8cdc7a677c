"""Compiled: at which prices the work of a job pays on how many nodes, for each law of speedup."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model import AMDAHL, OVERHEAD, POWER, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.model import PackedJobs

__all__ = ["WorkLaw", "held_nodes", "level_price", "work_law"]

#: Steps of Newton's method for a cubic that end it, from a start that is close.
_NEWTON_STEPS = 20


class WorkLaw(NamedTuple):
    """A job: it does ``rate(n)`` of its work per second on n nodes, and all of it is 1."""

    submit: float
    law: int
    parameter: float
    #: The rate on one node, if the law held there; of `OVERHEAD` without any.
    speed: float
    low: float
    #: Not above the fastest number.
    high: float
    #: Its rows in the tables.
    first: int
    last: int


@inner_kernel
def work_law(jobs: PackedJobs, j: int) -> WorkLaw:
    """Return the law of a job."""
    law, parameter, nodes = jobs.speedup[j], jobs.parameter[j], float(jobs.nodes[j])
    low, high = float(jobs.min_nodes[j]), float(jobs.max_nodes[j])
    first, last = 0, 0
    speed = 1.0 / jobs.runtime[j]
    if law == AMDAHL:
        speed *= 1 - parameter + parameter / nodes
    elif law == POWER:
        speed *= nodes**-parameter
    elif law == SPEEDUP_TABLE:
        first, last = jobs.table_offsets[j], jobs.table_offsets[j + 1]
    elif law == OVERHEAD:
        speed *= 1 / nodes + parameter * nodes
        if parameter > 0:
            high = max(low, min(high, 1 / np.sqrt(parameter)))
    return WorkLaw(jobs.submit[j], law, parameter, speed, low, high, first, last)


@inner_kernel
def _rate(job: WorkLaw, nodes: float) -> float:
    """Return the share of the work that is done per second; not of a table."""
    if job.law == AMDAHL:
        return job.speed * nodes / (nodes * (1 - job.parameter) + job.parameter)
    if job.law == OVERHEAD:
        return job.speed * nodes / (1 + job.parameter * nodes * nodes)
    return float(job.speed * nodes**job.parameter)


@inner_kernel
def held_nodes(jobs: PackedJobs, job: WorkLaw, price: float, work_price: float) -> tuple[float, float]:
    """Return the nodes on which a second gains most, and the rate on these.

    It gains the work done, at its price, less the nodes held, at theirs.
    """
    parameter = job.parameter
    if job.law == SPEEDUP_TABLE:
        best, nodes, rate = np.inf, job.low, 0.0
        for row in range(job.first, job.last):
            cost = price * jobs.table_nodes[row] - work_price / jobs.table_seconds[row]
            if cost < best:
                best, nodes, rate = cost, float(jobs.table_nodes[row]), 1 / jobs.table_seconds[row]
        return nodes, rate
    linear = parameter == (0 if job.law == OVERHEAD else 1)
    if parameter == 0 and not linear:
        nodes = job.low
    elif price <= 0:
        nodes = job.high
    elif linear:
        nodes = job.high if work_price * job.speed > price else job.low
    elif job.law == OVERHEAD and work_price * job.speed <= price:
        nodes = job.low
    elif job.law == OVERHEAD:
        # With q = 1 + y n^2 the rate rises by speed (2 - q) / q^2 for each node.
        root = np.sqrt(1 + 8 * price / (work_price * job.speed))
        nodes = np.sqrt(max(0.0, (3 - root) / ((1 + root) * parameter)))
        nodes = min(max(nodes, job.low), job.high)
    else:
        ratio = work_price * job.speed * parameter / price
        if job.law == AMDAHL:
            nodes = (np.sqrt(ratio) - parameter) / (1 - parameter)
        else:
            nodes = ratio ** (1 / (1 - parameter))
        nodes = min(max(nodes, job.low), job.high)
    return nodes, _rate(job, nodes)


@inner_kernel
def _level_of_overhead(slope: float, price: float, per_node: float) -> float:
    """Return which n is best for (slope + price n) (1 / n + y n).

    As a multiple u of the fastest number it is the one root above 0 of ``c u^3 + u^2 - 1``. The start is not
    below it, and from there Newton's steps fall towards it.
    """
    fastest = 1 / np.sqrt(per_node)
    cubic = 2 * price * fastest / slope
    u = 1.0 if cubic <= 1 else cubic ** (-1 / 3)
    for _ in range(_NEWTON_STEPS):
        after = u - (cubic * u * u * u + u * u - 1) / (3 * cubic * u * u + 2 * u)
        if after >= u:
            break
        u = after
    return float(u * fastest)


@inner_kernel
def level_price(jobs: PackedJobs, job: WorkLaw, slope: float, price: float) -> tuple[float, float]:
    """Return the work price at which one more second gains what it costs, and the rate there."""
    parameter = job.parameter
    if job.law == SPEEDUP_TABLE:
        least, rate = np.inf, 1.0
        for row in range(job.first, job.last):
            each = (slope + price * jobs.table_nodes[row]) * jobs.table_seconds[row]
            if each < least:
                least, rate = each, 1 / jobs.table_seconds[row]
        return least, rate
    linear = parameter == (0 if job.law == OVERHEAD else 1)
    if parameter == 0 and not linear:
        nodes = job.low
    elif price <= 0 or linear:
        nodes = job.high
    else:
        if job.law == OVERHEAD:
            nodes = _level_of_overhead(slope, price, parameter)
        else:
            ratio = slope * parameter / (price * (1 - parameter))
            nodes = np.sqrt(ratio) if job.law == AMDAHL else ratio
        nodes = min(max(nodes, job.low), job.high)
    rate = _rate(job, nodes)
    return (slope + price * nodes) / rate, rate
