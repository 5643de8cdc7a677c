"""Small workloads at the edges of what the model allows, on which solvers go wrong first, and random ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import Amdahl, Job, Jobs, PowerLaw, SpeedupTable, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import Speedup

__all__ = ["random_workload", "workload_examples"]


def random_workload(seed: int, num_jobs: int, num_nodes: int = 64, *, load: float = 0.9) -> WorkloadProblem:
    """Return rigid jobs of log-uniform sizes and log-normal run times, submitted by a Poisson process.

    Parameters
    ----------
    seed
        Of the random choices, >= 0.
    num_jobs
        How many jobs.
    num_nodes
        Nodes of the cluster; a job has at most half of them.
    load
        Expected node-seconds submitted per node and second.
    """
    rng = np.random.default_rng(seed)
    nodes = np.exp(rng.uniform(0, math.log(max(num_nodes // 2, 1) + 1), num_jobs)).astype(np.int64)
    runtimes = np.ceil(rng.lognormal(6, 1.5, num_jobs))
    mean_area = float((nodes * runtimes).mean()) if num_jobs else 1.0
    gaps = rng.exponential(mean_area / (load * num_nodes), num_jobs)
    limits = np.ceil(runtimes * rng.uniform(1, 4, num_jobs))
    jobs = Jobs(np.floor(np.cumsum(gaps)), np.maximum(nodes, 1), runtimes, limits)
    meta = {"generator": "random_workload", "seed": seed, "load": load}
    return WorkloadProblem(num_nodes, jobs, f"random-{num_jobs}-jobs-{num_nodes}-nodes-s{seed}", meta)


def workload_examples() -> Iterator[WorkloadProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds."""
    yield WorkloadProblem(3, (), name="no job")
    yield WorkloadProblem(5, [Job(7, 5, 3)], name="one job, submitted late")
    yield WorkloadProblem(1, [Job(0, 1, 1), Job(0, 1, 2)], name="one node")
    yield WorkloadProblem(3, [Job(0, 3, 2)] * 3, name="three times the full machine")
    yield WorkloadProblem(4, [Job(0, 2, 2), Job(0, 2, 2)], name="two halves of the machine")
    yield WorkloadProblem(4, [Job(5, 3, 2), Job(0, 1, 9), Job(2, 4, 1)], name="submitted out of order")
    yield WorkloadProblem(
        4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)], name="backfilling would delay the head"
    )
    yield WorkloadProblem(
        4, [Job(0, 3, 100, 80), Job(1, 4, 10, 10), Job(2, 1, 90, 95)], name="over the limit"
    )
    yield WorkloadProblem(
        2, [Job(0, 2, 10.25), Job(0.75, 1, 1.5), Job(1, 1, 0.25)], name="quarters of seconds"
    )
    yield WorkloadProblem(3, [Job(0, 2, 1 / 3), Job(0.1, 2, 0.7), Job(0.2, 1, math.pi)], name="real times")
    yield WorkloadProblem(2, [Job(0, 2, 5, weight=0), Job(0, 1, 3), Job(0, 1, 1, weight=4)], name="weights")
    yield WorkloadProblem(2, [Job(0, 2, 5, weight=0)], name="no job counts")
    yield WorkloadProblem(
        3, [Job(0, 3, 2), Job(2**40, 2, 5), Job(2**40, 2, 1)], name="submitted after 2^40 s"
    )
    laws: tuple[Speedup, ...] = (Amdahl(0.9), PowerLaw(0.5), SpeedupTable([(1, 8), (2, 5), (3, 4)]))
    yield WorkloadProblem(
        3,
        [Job(idx, 2, 5, min_nodes=1, max_nodes=3, speedup=law) for idx, law in enumerate(laws)],
        name="moldable jobs of each law",
    )
    yield WorkloadProblem(
        4,
        [
            Job(0, 2, 8, 10),
            Job(0, 2, 6, 8, min_nodes=1, max_nodes=4, speedup=SpeedupTable([(1, 10), (2, 6), (4, 4)])),
            Job(1, 3, 4, 5),
        ],
        name="rigid and moldable jobs",
    )
    yield WorkloadProblem(
        4,
        [
            Job(0, 3, 6),
            *(
                Job(idx, 2, 5, min_nodes=1, max_nodes=3, speedup=law, kind="malleable", points=2 * idx)
                for idx, law in enumerate(laws)
            ),
            Job(1, 2, 4, min_nodes=1, max_nodes=4, speedup=laws[0], size_set="powers-of-two"),
        ],
        name="malleable jobs of each law",
    )
    for seed in range(2):
        yield _tiny(seed)


def _tiny(seed: int) -> WorkloadProblem:
    rng = np.random.default_rng(seed)
    highest = ((0, 8), (1, 5), (1, 7), (1, 12))  # submit, nodes, run time, limit
    rows = [[int(rng.integers(low, high)) for low, high in highest] for _ in range(5)]
    jobs = [Job(submit, nodes, runtime, limit) for submit, nodes, runtime, limit in rows]
    return WorkloadProblem(4, jobs, name=f"random, seed {seed}")
