"""A machine and what jobs need of it as kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.model.arrays import frozen
from allocsolve.model.machine import NODES

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.workload import WorkloadProblem


class PackedMachine(NamedTuple):
    """A machine and what jobs need of it as read-only arrays; nodes are resource 0.

    The needs of job ``j`` are ``offsets[j]:offsets[j + 1]``, its nodes first.
    """

    #: Of the resources.
    names: tuple[str, ...]
    #: Shape (steps,), seconds, rising, the first one 0: the capacities change there.
    times: FloatArray
    #: Shape (steps, resources): what is there from each time on.
    capacity: IntArray
    #: Shape (jobs + 1,).
    offsets: IntArray
    #: Shape (needs,).
    resource: IntArray
    amount: IntArray
    #: Shape (jobs,), seconds: a job may start from then on.
    release: FloatArray
    #: Shape (jobs,), seconds: the least one comes first in the queue.
    order: FloatArray


def packed_machine(problem: WorkloadProblem) -> PackedMachine:
    """Return a machine, which may be plain, and the needs of rigid jobs as arrays. O(jobs + windows^2).

    `UnsupportedProblem` if its nodes are places: what reads these arrays counts them.
    """
    if problem.node_types:
        msg = "the nodes of the workload are places (node_types), and here nodes are only counted"
        raise UnsupportedProblem(msg)
    jobs = problem.jobs.packed
    asked = problem.jobs.requirements
    names = (NODES, *(name for name, _ in problem.resources))
    place = {name: idx for idx, name in enumerate(names)}
    count = len(jobs.submit)
    rows = [np.arange(count)]
    resource, amount = [np.zeros(count, dtype=np.int64)], [jobs.nodes]
    more: list[tuple[int, int, int]] = []
    for idx, needs in enumerate(asked.needs):
        more += [(idx, place[name], number) for name, number in needs]
    for idx, partition in enumerate(asked.partitions):
        if partition is not None:
            more.append((idx, place[partition], int(jobs.nodes[idx])))
    if more:
        table = np.array(more, dtype=np.int64)
        rows.append(table[:, 0])
        resource.append(table[:, 1])
        amount.append(table[:, 2])
    row, kind = np.concatenate(rows), np.concatenate(resource)
    by_job = np.lexsort((kind, row))
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=count), out=offsets[1:])
    times, capacity = _steps(problem)
    order = jobs.submit
    if len(asked.boost):
        order = frozen(jobs.submit - asked.boost)
    return PackedMachine(
        names,
        frozen(times),
        frozen(capacity),
        frozen(offsets),
        frozen(kind[by_job]),
        frozen(np.concatenate(amount)[by_job]),
        asked.release(jobs.submit),
        order,
    )


def _steps(problem: WorkloadProblem) -> tuple[FloatArray, IntArray]:
    """Return when capacities change, and all of them from then on: what windows close adds up, down to 0."""
    whole = {NODES: problem.num_nodes, **dict(problem.resources)}
    edges = {0.0, *(edge for window in problem.closed for edge in (window.start, window.end))}
    times = np.array(sorted(edges))
    capacity = np.tile(np.array([*whole.values()], dtype=np.int64), (len(times), 1))
    for window in problem.closed:
        amounts = dict(window.amounts) or whole
        closed = np.array([amounts.get(name, 0) for name in whole], dtype=np.int64)
        inside = (times >= window.start) & (times < window.end)
        capacity[inside] = np.maximum(capacity[inside] - closed, 0)
    changes = np.ones(len(times), dtype=bool)
    changes[1:] = (capacity[1:] != capacity[:-1]).any(axis=1)
    return times[changes], np.ascontiguousarray(capacity[changes])
