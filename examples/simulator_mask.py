"""A simulator with a mask of free nodes, served by two allocators to see whose jobs lie closer together.

Jobs arrive, hold nodes for a while and leave; first come, first served. An allocator is a function from the
topology, the mask and a size to node ids, and the simulator needs to know no more of it.

    python simulator_mask.py
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from allocsolve import Mesh, Partition, PartitionProblem, Topology
from allocsolve.heuristics import manhattan_median, sorted_free_list
from allocsolve.judge import partition_metrics
from allocsolve.model import BoolArray, IntArray

Allocator: TypeAlias = Callable[[Topology, BoolArray, int], IntArray]

MACHINE = Mesh((16, 16))


class Job(NamedTuple):
    """What arrives; times in seconds."""

    arrival: float
    size: int
    duration: float


def arrivals(count: int, seed: int) -> list[Job]:
    """Draw jobs of 2 to 48 nodes."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(60, count))
    sizes, durations = rng.integers(2, 49, count), rng.exponential(420, count)
    return [Job(*job) for job in zip(times.tolist(), sizes.tolist(), durations.tolist(), strict=True)]


def simulate(jobs: list[Job], allocate: Allocator) -> tuple[float, float]:
    """Return the mean over jobs of the mean hop distance between two of their nodes, and the share busy."""
    free = np.ones(MACHINE.num_nodes, dtype=np.bool_)
    running: list[tuple[float, int, IntArray]] = []  # a heap: (end, job, nodes)
    distances, busy_seconds, now = [], 0.0, 0.0
    for idx, job in enumerate(jobs):
        now = max(now, job.arrival)
        while running and (running[0][0] <= now or free.sum() < job.size):
            end, _, nodes = heapq.heappop(running)
            now = max(now, end)
            free[nodes] = True
        nodes = allocate(MACHINE, free, job.size)
        chosen = PartitionProblem(MACHINE, free, job.size)
        distances.append(partition_metrics(chosen, Partition(nodes)).average_distance)
        free[nodes] = False
        heapq.heappush(running, (now + job.duration, idx, nodes))
        busy_seconds += job.size * job.duration
    last = max(end for end, _, _ in running)
    return float(np.mean(distances)), busy_seconds / (MACHINE.num_nodes * last)


def main() -> None:
    """Serve the same jobs by both."""
    jobs = arrivals(2000, seed=1)
    allocators: dict[str, Allocator] = {
        "first free nodes": sorted_free_list,
        "nearest to a median": manhattan_median,
    }
    print("allocator            mean pairwise distance   nodes busy")
    for name, allocate in allocators.items():
        distance, busy = simulate(jobs, allocate)
        print(f"{name:20} {distance:17.2f} hops {busy:12.0%}")


if __name__ == "__main__":
    main()
