"""A slow twin of Slurm's backfill: what is free at an instant is worked out anew from what is planned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from naive_workload_engine import expected_end, limit_of, score_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from naive_workload_engine import Cluster

    from allocsolve.heuristics import SlurmBackfill


class Planned(NamedTuple):
    """A job that is planned: it holds nodes from `start` to `end`; from `first` to `start` some are left."""

    first: float
    start: float
    end: float
    nodes: int
    left: int


def naive_slurm(policy: SlurmBackfill) -> Callable[[Cluster], None]:
    """Slurm's two schedulers; whoever calls it has to do so at all multiples of the interval."""
    step, window = policy.bf_resolution, 60 * policy.bf_window

    def schedule(cluster: Cluster) -> None:
        now = cluster.now
        queue = sorted(
            cluster.queue, key=lambda job: (score_of(cluster, job, policy), cluster.rows[job].submit, job)
        )
        while queue and cluster.rows[queue[0]].nodes <= cluster.free:
            cluster.start(queue[0], cluster.rows[queue.pop(0)].nodes)
        if now % policy.bf_interval:
            return
        holds = [(expected_end(cluster, run, "limit"), run.nodes) for run in cluster.running]
        plans: list[Planned] = []

        def free_at(time: float) -> int:
            free = cluster.num_nodes - sum(nodes for end, nodes in holds if end > time)
            for plan in plans:
                if plan.first <= time < plan.start:
                    free = min(free, plan.left)
                if plan.start <= time < plan.end:
                    free -= plan.nodes
            return free

        window_end = (now + window) // step * step
        for job in queue[: policy.bf_max_job_test]:
            nodes, limit = cluster.rows[job].nodes, limit_of(cluster.rows[job])
            times = sorted({now, *(end for end, _ in holds), *(time for plan in plans for time in plan[:3])})
            start = next(
                time
                for time in times
                if time >= now
                and min(free_at(at) for at in [time, *times, time + limit] if time <= at <= time + limit)
                >= nodes
            )
            if start == now and nodes <= cluster.free:
                holds.append((now + limit, nodes))
                cluster.start(job, nodes, queue[0])
            elif start < window_end:
                end = min(math.ceil((start + limit) / step) * step, window_end)
                plans.append(Planned(start // step * step, start, end, nodes, free_at(start) - nodes))

    return schedule
