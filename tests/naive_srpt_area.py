"""A slow twin of the clairvoyant rule of the least area left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from naive_rebalancing import grow, is_malleable, least, shrink, start

if TYPE_CHECKING:
    from naive_malleable import Cluster, Run


def area(cluster: Cluster, job: int) -> float:
    """Return the node-seconds of a job on its most nodes, if it can change its size."""
    nodes = cluster.sizes(job)[-1 if is_malleable(cluster, job) else 0]
    return cluster.run_time(job, nodes) * nodes


def area_left(cluster: Cluster, run: Run) -> float:
    return cluster.work_left(run) * (area(cluster, run.job) / cluster.rows[run.job].runtime)


def naive_srpt_area(cluster: Cluster) -> None:
    """Decide what the rule says now."""

    def queue_key(job: int) -> tuple[float, int, float, int]:
        nodes = cluster.rows[job].nodes
        return area(cluster, job) / nodes * nodes, 1, cluster.rows[job].submit, job

    ran = [run for run in cluster.running.values() if is_malleable(cluster, run.job)]
    steady = [run for run in ran if run.size == run.target]
    incoming = sum(max(0, run.size - run.target) for run in ran)
    shared = cluster.free + incoming + sum(run.size for run in steady)
    room = shared - sum(least(cluster, run.job) for run in steady)
    keys = [(area_left(cluster, run), 0, 0.0, run.job) for run in steady]
    keys += [queue_key(job) for job in cluster.queue]
    running: list[int] = []
    admitted: list[int] = []
    wanted: dict[int, int] = {}
    for _, queued, _, job in sorted(keys):
        need = least(cluster, job)
        if queued and need > room:
            continue
        given = 0 if queued else need
        fitting = [size for size in cluster.sizes(job) if size <= room + given]
        wanted[job] = fitting[-1] if is_malleable(cluster, job) else need
        room -= wanted[job] - given
        (admitted if queued else running).append(job)
    incoming += shrink(cluster, running, wanted)
    spare = cluster.free + incoming - sum(least(cluster, job) for job in admitted)
    grow(cluster, running, wanted, start(cluster, admitted, wanted, spare))
