"""A slow twin of a policy of prices: sizes by definition, the price by halving, objects and lists."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING

from naive_evolving import ElasticCluster
from naive_resources import place_in_queue

from allocsolve.model import Amdahl, Overhead, Phases, PowerLaw, SpeedupTable, Stall

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
    if isinstance(law, Overhead):
        wanted = with_overhead(law, cluster.rows[job].nodes, float(cheapness**-2.0))
    elif law is None:  # phases: without a serial share
        wanted = 1e9 * cheapness
    elif isinstance(law, Amdahl):
        wanted = min(math.sqrt(_ratio(law.parallel)), 1e9) * cheapness
    else:
        assert isinstance(law, PowerLaw)
        wanted = (min(math.sqrt(_ratio(law.exponent)), 1e9) * cheapness) ** 2
    return min(sizes, key=lambda nodes: (abs(nodes - wanted), -nodes))


def with_overhead(law: Overhead, reference: int, price: float) -> float:
    """Return where ``(1 / n + y n) (1 + price n)`` is least: its derivative is 0, by halving."""
    low, high = 0.0, min(1e9, law.per_node(reference) ** -0.5 if law.overhead else math.inf)
    fastest = high
    while low < (middle := (low + high) / 2) < high:
        if middle * middle * (1 + 2 * price * middle) > fastest * fastest:
            high = middle
        else:
            low = middle
    return low


def _ratio(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf


def clearing_rung(wanted: Callable[[int], int], capacity: int) -> int:
    """Return the highest rung at which no more nodes are wanted than there are, or the lowest."""
    return max(RUNGS[0], RUNGS[0] + bisect_right(RUNGS, capacity, key=wanted) - 1)


def in_order(cluster: Cluster, policy: StaticPrice) -> list[int]:
    """Return the queue in the order of the policy."""
    rows = cluster.rows

    def place(job: int) -> tuple[float, ...]:
        estimate = cluster.estimate(job, rows[job].nodes)
        return place_in_queue(rows[job], job, cluster.now, estimate, policy.order)

    return sorted(cluster.queue, key=place)


def is_malleable(cluster: Cluster, job: int) -> bool:
    return cluster.rows[job].kind == "malleable"


def chooses_its_start(cluster: Cluster, job: int) -> bool:
    return cluster.rows[job].kind in {"malleable", "evolving"}


def paying_cheapness(cluster: Cluster, job: int, asked: int) -> float:
    """Return from which cheapness on a unit of work costs no more on the nodes asked for."""
    if isinstance(cluster.rows[job].evolution, Phases):
        return asked / 1e9
    held = cluster.running[job].size
    slower, faster = cluster.ratio(job, held), cluster.ratio(job, asked)
    if faster >= slower:
        return math.inf
    more_area = max(0.0, asked * faster - held * slower)
    return max(asked / 1e9, math.sqrt(more_area / (slower - faster)))


def accepted_requests(cluster: Cluster, members: list[int], shared: int) -> tuple[list[tuple[int, int]], int]:
    """Return requests that pay where others want few enough nodes; and how many are left."""
    requests = cluster.requests if isinstance(cluster, ElasticCluster) else []
    accepted = []
    for job, asked in sorted(requests, key=lambda request: paying_cheapness(cluster, *request)):
        cheapness = paying_cheapness(cluster, job, asked)
        left = shared - (asked - cluster.running[job].size)
        if cheapness < math.inf and sum(best_size(cluster, one, cheapness) for one in members) <= left:
            accepted.append((job, asked))
            shared = left
    return accepted, shared


def grant(cluster: Cluster, accepted: list[tuple[int, int]]) -> None:
    for job, asked in accepted:
        if asked - cluster.running[job].size <= cluster.free:
            assert isinstance(cluster, ElasticCluster)
            cluster.answer(job, granted=True)


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

    def stays(job: int, wanted: int, size: int) -> bool:
        if max(wanted, size) <= (1 + hysteresis) * min(wanted, size):
            return True
        cost, ran = cluster.rows[job].reconfiguration, cluster.now - cluster.running[job].start
        stall = cost.seconds(size, wanted) if isinstance(cost, Stall) else 0.0
        gain = abs(1 - cluster.ratio(job, wanted) / cluster.ratio(job, size))
        return stall > gain * (1 / 3) * ran

    wanted = at_rung(clearing_rung(lambda rung: sum(at_rung(rung).values()), shared))
    sizes = {job: cluster.running[job].size for job in running}
    steady = {job for job in running if stays(job, wanted[job], sizes[job])}
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
    return spare


def grow(cluster: Cluster, running: list[int], wanted: dict[int, int], spare: int) -> None:
    spare = min(spare, cluster.free)
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
        new = [job for job in admitted if chooses_its_start(cluster, job)]
        shared -= sum(least(cluster, job) for job in admitted if job not in new)
        accepted, shared = accepted_requests(cluster, [*running, *new], shared)
        needed = sum(least(cluster, job) for job in admitted)
        needed += sum(asked - cluster.running[job].size for job, asked in accepted)
        wanted = wanted_sizes(cluster, policy.hysteresis, running, new, shared)
        incoming += shrink(cluster, running, wanted)
        spare = start(cluster, admitted, wanted, cluster.free + incoming - needed)
        grant(cluster, accepted)
        grow(cluster, running, wanted, spare)

    return decide
