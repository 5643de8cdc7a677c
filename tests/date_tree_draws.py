"""Workloads of a few jobs, wide ones among them, whose dates are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import Job, WorkloadProblem

if TYPE_CHECKING:
    from naive_date_tree import Cut

#: Cuts and edges end here, in seconds.
LAST = 40


def problem_of(seed: int, most: int = 5) -> WorkloadProblem:
    """A few jobs, wide ones among them."""
    random = np.random.default_rng(seed)
    num_nodes = int(random.integers(2, 7))
    return WorkloadProblem(
        num_nodes,
        [
            Job(
                int(random.integers(0, 10)),
                num_nodes if random.random() < 0.4 else int(random.integers(1, num_nodes + 1)),
                int(random.integers(1, 9)),
                weight=int(random.integers(0, 3)),
            )
            for _ in range(int(random.integers(1, most + 1)))
        ],
    )


def walls(seed: int) -> WorkloadProblem:
    """Six jobs, some as wide as the machine, that meet."""
    random = np.random.default_rng(seed)
    return WorkloadProblem(
        4,
        [
            Job(
                int(random.integers(0, 8)),
                4 if idx < 2 else int(random.integers(1, 4)),
                int(random.integers(2, 9)),
            )
            for idx in range(6)
        ],
    )


def holds(path: list[Cut], starts: list[int]) -> bool:
    """Return whether starts are on these sides of the cuts."""
    return all(starts[job] >= cut if later else starts[job] <= cut for job, cut, later in path)
