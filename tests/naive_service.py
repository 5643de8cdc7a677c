"""A slow twin of service in the order of a list: a policy of the naive engine, by definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from naive_evolving import ElasticCluster, naive_elastic

from allocsolve.model import Phases, Profile, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: An entry: a job and its row, -1 for its start.
Entry = tuple[int, int]


def present_row(cluster: ElasticCluster, job: int) -> int:
    """Return the phase or step for which a job asks, or the moment at which it did."""
    evolution = cluster.rows[job].evolution
    left = len(cluster.running[job].plan)
    if isinstance(evolution, Phases):
        return len(evolution.phases) - left
    if isinstance(evolution, Profile):
        return len(evolution.steps) - left
    assert evolution is not None
    return len(evolution.events) - left - 1


def is_late(cluster: ElasticCluster, job: int) -> bool:
    run = cluster.running[job]
    if not isinstance(cluster.rows[job].evolution, Phases) or len(run.plan) > 1:
        return False
    return cluster.work_left(run) <= cluster.join(run).grow * cluster.rate(run)


def start_size(cluster: ElasticCluster, job: int, most: int) -> int:
    if isinstance(cluster.rows[job].evolution, Profile):
        own = cluster.rows[job].nodes
        return own if own <= most else 0
    return max((size for size in cluster.sizes(job) if size <= most), default=0)


def naive_service(
    order: Sequence[Entry], sizes: Mapping[Entry, int], insists: Mapping[Entry, int]
) -> Callable[[ElasticCluster], None]:
    """Return what is decided in each call."""

    def decide(cluster: ElasticCluster) -> None:
        asked = dict(cluster.requests)
        wanting = [(job, -1) for job in cluster.queue]
        wanting += [(job, present_row(cluster, job)) for job in asked]
        for job, row in sorted(wanting, key=lambda entry: order.index(entry) if entry in order else 10**9):
            size = sizes[job, row]
            if row < 0:
                nodes = start_size(cluster, job, size)
                if nodes > cluster.free:
                    nodes = 0 if insists[job, row] else start_size(cluster, job, cluster.free)
                if nodes:
                    cluster.start(job, nodes)
                elif insists[job, row]:
                    return
            elif not cluster.has_profile(job) and (asked[job] > size or is_late(cluster, job)):
                cluster.drop_request(job)
            elif asked[job] - cluster.running[job].size <= cluster.free:
                cluster.answer(job, granted=True)
            elif insists[job, row]:
                return

    return decide


def served(
    problem: WorkloadProblem,
    order: Sequence[Entry],
    sizes: Mapping[Entry, int],
    insists: Mapping[Entry, int],
) -> ElasticCluster:
    """Return the cluster at the end of the workload, or when jobs wait for each other for ever."""
    return naive_elastic(problem, naive_service(order, sizes, insists))
