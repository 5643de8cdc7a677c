"""A slow twin of a policy of prices: sizes by definition, the price by halving, objects and lists."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING

from allocsolve.model import Amdahl, PowerLaw, SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from naive_malleable import Cluster

    from allocsolve.heuristics.workload import StaticPrice

#: The rungs of prices, the highest price first.
RUNGS = range(-300_000, 300_001)


def best_size(cluster: Cluster, job: int, cheapness: float) -> int:
    """Return the size that a job wants; the price of a node is the cheapness to the power of -2."""
    law, sizes = cluster.rows[job].speedup, cluster.sizes(job)
    if isinstance(law, SpeedupTable):
        price, times = Fraction(cheapness**-2.0), dict(law.rows)
        return min(sizes, key=lambda nodes: (Fraction(times[nodes]) * (1 + price * nodes), nodes))
    if isinstance(law, Amdahl):
        wanted = min(math.sqrt(_ratio(law.parallel)), 1e9) * cheapness
    else:
        assert isinstance(law, PowerLaw)
        wanted = (min(math.sqrt(_ratio(law.exponent)), 1e9) * cheapness) ** 2
    return min(sizes, key=lambda nodes: (abs(nodes - wanted), -nodes))


def _ratio(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf


def clearing_rung(wanted: Callable[[int], int], capacity: int) -> int:
    """Return the highest rung at which no more nodes are wanted than there are, or the lowest."""
    return max(RUNGS[0], RUNGS[0] + bisect_right(RUNGS, capacity, key=wanted) - 1)


def in_order(cluster: Cluster, policy: StaticPrice) -> list[int]:
    """Return the queue in the order of the policy."""

    def score(job: int) -> float:
        nodes = cluster.rows[job].nodes
        estimate = cluster.estimate(job, nodes)
        return {
            "submission": 0.0,
            "shortest-estimate": estimate,
            "smallest-area": estimate * nodes,
            "largest": -nodes,
            "smallest": nodes,
            "wfp3": -(((cluster.now - cluster.rows[job].submit) / estimate) ** 3) * nodes,
        }[policy.order]

    return sorted(cluster.queue, key=lambda job: (score(job), cluster.rows[job].submit, job))


def is_malleable(cluster: Cluster, job: int) -> bool:
    return cluster.rows[job].kind == "malleable"


def least(cluster: Cluster, job: int) -> int:
    return cluster.sizes(job)[0]


def admitted_jobs(cluster: Cluster, policy: StaticPrice, room: int) -> list[int]:
    """Return queued jobs that fit one after the other: first fit."""
    admitted = []
    for job in in_order(cluster, policy):
        if least(cluster, job) <= room:
            room -= least(cluster, job)
            admitted.append(job)
    return admitted


def wanted_sizes(
    cluster: Cluster, hysteresis: float, running: list[int], new: list[int], shared: int
) -> dict[int, int]:
    """Return the sizes at the clearing price, or those that jobs have where these are near."""
    members = [*running, *new]

    def at_rung(rung: int) -> dict[int, int]:
        return {job: best_size(cluster, job, math.exp(1e-4 * rung)) for job in members}

    def near(wanted: int, size: int) -> bool:
        return max(wanted, size) <= (1 + hysteresis) * min(wanted, size)

    wanted = at_rung(clearing_rung(lambda rung: sum(at_rung(rung).values()), shared))
    sizes = {job: cluster.running[job].size for job in running}
    steady = {job for job in running if near(wanted[job], sizes[job])}
    lack = sum(sizes[job] if job in steady else wanted[job] for job in members) - shared
    for job in sorted(steady):
        if lack > 0 and wanted[job] < sizes[job]:
            lack -= sizes[job] - wanted[job]
        else:
            wanted[job] = sizes[job]
    return wanted


def shrink(cluster: Cluster, running: list[int], wanted: dict[int, int]) -> int:
    """Shrink running jobs to what they want; return the nodes that come free later."""
    given = 0
    for job in running:
        run = cluster.running[job]
        if wanted[job] < run.size:
            cluster.resize(run, wanted[job])
            given += run.size - wanted[job]
    return given


def start(cluster: Cluster, admitted: list[int], wanted: dict[int, int], spare: int) -> int:
    """Start jobs with what they want of the nodes that no other needs; return those that are left."""
    for job in admitted:
        need = least(cluster, job)
        if need <= cluster.free:
            most = min(wanted.get(job, need), need + max(0, spare), cluster.free)
            nodes = max(size for size in cluster.sizes(job) if size <= most)
            spare -= nodes - need
            cluster.start(job, nodes)
    return min(spare, cluster.free)


def grow(cluster: Cluster, running: list[int], wanted: dict[int, int], spare: int) -> None:
    for job in running:
        run = cluster.running[job]
        most = min(wanted[job], run.size + max(0, spare))
        if most > run.size:
            nodes = max(size for size in cluster.sizes(job) if size <= most)
            if nodes > run.size:
                spare -= nodes - run.size
                cluster.resize(run, nodes)


def naive_static_price(policy: StaticPrice) -> Callable[[Cluster], None]:
    """Return what the policy decides in each call."""

    def decide(cluster: Cluster) -> None:
        ran = [run for run in cluster.running.values() if is_malleable(cluster, run.job)]
        incoming = sum(max(0, run.size - run.target) for run in ran)
        running = sorted(run.job for run in ran if run.size == run.target)
        shared = cluster.free + incoming + sum(cluster.running[job].size for job in running)
        room = shared - sum(least(cluster, job) for job in running)
        admitted = admitted_jobs(cluster, policy, room)
        new = [job for job in admitted if is_malleable(cluster, job)]
        shared -= sum(least(cluster, job) for job in admitted if job not in new)
        wanted = wanted_sizes(cluster, policy.hysteresis, running, new, shared)
        incoming += shrink(cluster, running, wanted)
        spare = cluster.free + incoming - sum(least(cluster, job) for job in admitted)
        grow(cluster, running, wanted, start(cluster, admitted, wanted, spare))

    return decide
