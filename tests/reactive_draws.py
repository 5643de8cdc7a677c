"""Random workloads of rigid and moldable jobs and jobs with phases, and random options of evolv-easyback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from naive_reactive import Cluster, NaiveEvolvEasyback

from allocsolve.model import Amdahl, Job, Join, Phases, WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    import random


def draw_reactive(rng: random.Random, most: int = 12) -> WorkloadProblem:
    """Return a small workload with few distinct times, so that events meet."""
    num_nodes = rng.choice([1, 2, 4, 7, 16])
    unit = rng.choice([1, 1, 0.25])
    span = rng.choice([0, 5, 60])

    def seconds(limit: int, least: int = 0) -> float:
        return unit * rng.randint(least, limit)

    def job() -> Job:
        row: dict[str, Any] = {"submit": seconds(span), "limit": rng.choice([None, 60, seconds(60, 1)])}
        low, nodes, high = sorted(rng.choices(range(1, num_nodes + 1), k=3))
        kind = rng.choice(["rigid", "moldable", "evolving", "evolving", "evolving"])
        if kind == "rigid":
            return Job(nodes=nodes, runtime=seconds(40, 1), **row)
        row |= {"nodes": nodes, "min_nodes": low, "max_nodes": high}
        if kind == "moldable":
            return Job(runtime=seconds(40, 1), speedup=Amdahl(rng.choice([0, 0.5, 0.9, 1])), **row)
        phases = Phases(
            [(seconds(60, 1), rng.choice([None, 1, 1, 2, 5])) for _ in range(rng.randint(1, 5))],
            rng.choice([0, 0, 1, 5, 10]) * unit,
        )
        join = Join(*(rng.choice([0, seconds(6)]) for _ in range(3)))
        runtime = join.start + phases.run_time(nodes)
        return Job(runtime=runtime, evolution=phases, reconfiguration=join, **row)

    return WorkloadProblem(num_nodes, [job() for _ in range(rng.randint(0, most))])


def draw_policy(rng: random.Random) -> NaiveEvolvEasyback:
    return NaiveEvolvEasyback(
        cooldown=rng.choice([0, 1, 7.5, 60]),
        polling=rng.choice([1, 5, 30]),
        wake_up=rng.random() < 0.7,
        requests=rng.choice(["first", "last"]),
        start_counts=rng.random() < 0.3,
    )


def schedule_of(cluster: Cluster) -> WorkloadSchedule:
    """Return the schedule of a run of the twin; neighbours of one size are two pieces."""
    pieces = [cluster.done[job].pieces for job in range(len(cluster.rows))]
    offsets = np.cumsum([0, *map(len, pieces)])
    starts, ends, sizes = (
        zip(*(piece for row in pieces for piece in row), strict=True) if pieces else ((), (), ())
    )
    return WorkloadSchedule(
        offsets, np.array(starts, np.float64), np.array(ends, np.float64), np.array(sizes, np.int64)
    )
