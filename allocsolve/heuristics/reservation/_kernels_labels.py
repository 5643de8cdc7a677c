"""Nodes for jobs whose starts fit the machine by count: the nodes that were left last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["label_nodes"]


@kernel
def label_nodes(
    by_start: IntArray,
    by_end: IntArray,
    times: tuple[IntArray, IntArray],
    offsets: IntArray,
    num_nodes: int,
    nodes: IntArray,
) -> None:
    """Fill in the nodes of each job. O(nodes of all jobs).

    Parameters
    ----------
    by_start, by_end
        The accepted jobs by start, and by end.
    times
        Starts and ends, shape (jobs,) each.
    offsets
        Shape (jobs + 1,): job j gets ``nodes[offsets[j]:offsets[j + 1]]``.
    num_nodes
        Of the machine: at no time do more belong to jobs.
    nodes
        Written.
    """
    starts, ends = times
    free = np.arange(num_nodes - 1, -1, -1)
    count, left = num_nodes, 0
    for at in range(len(by_start)):
        job = by_start[at]
        while left < len(by_end) and ends[by_end[left]] <= starts[job]:
            over = by_end[left]
            for row in range(offsets[over], offsets[over + 1]):
                free[count] = nodes[row]
                count += 1
            left += 1
        for row in range(offsets[job], offsets[job + 1]):
            count -= 1
            nodes[row] = free[count]
