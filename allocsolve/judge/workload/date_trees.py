"""Bounds of workloads that the judge recomputes from trees of dates, one for each stretch of the jobs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import integers, items, malformed, positive_integer
from allocsolve.judge.workload._kernels_job_prices import fullest_sets
from allocsolve.judge.workload._kernels_prices import JobRows, WindowPrices
from allocsolve.judge.workload.date_tree import DateTree, Machine, check_steps, check_totals
from allocsolve.judge.workload.job_prices import (
    check_slots,
    earned,
    edges_of,
    job_rows,
    mean_of,
    price_windows,
    ticks_of,
)
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import IntArray
    from allocsolve.model.workload import WorkloadProblem


def date_trees_bound(problem: WorkloadProblem, certificate: Mapping[str, object], objective: str) -> float:
    """Return a lower bound on a weighted mean, recomputed from a tree of cuts between dates for each stretch.

    *Certificate.* ``kind``: "date-trees". ``term``, ``edges``, ``nodes`` and ``unit`` as in
    `job_price_bound`. ``shared``: prices, by ``first_slots``, ``offsets`` and ``prices`` as there.
    ``stretches``: the number of the tree of each job. ``trees``: each has ``slots``, two edges by their
    numbers; ``lists``, ``jobs``, ``cuts`` and ``totals`` as `DateTree` has them, with jobs counted within
    the stretch, slots from the first edge on and prices between the edges only. One of the kind "date-tree"
    has the tree of a single stretch in itself, from the first edge to the last, and nothing is shared.
    `InvalidAnswer` as for `job_price_bound`, and if a total is not what the judge finds.

    Jobs are rigid; the objective is ``turnaround``, ``slowdown`` or ``wait``.

    Notes
    -----
    *Proof.* In any schedule the jobs pay at most W(t) of shared prices at the instant t, the greatest sum of
    the shared prices of jobs that fit into the cluster together. So the cost of all jobs is at least the sum
    over the stretches of the cost of their jobs and the shared prices that these pay, less the integral of
    W. The schedule of the jobs of one stretch, by itself, is a schedule of the machine. So the proof of
    `DateTree` holds for the first sum, stretch by stretch, where shared prices are a part of the cost
    of a start: jobs pay them also where they surely run.

    *Complexity*: the sum of that of the trees. No code is shared with the solver.
    """
    found = tree_totals(problem, certificate, objective)
    for (name, tree), totals in zip(rule(certificate), found, strict=True):
        check_totals(tree, totals, name and f" of {name}")
    return bound_of_trees(problem, certificate, objective)


def rule(certificate: Mapping[str, object]) -> list[tuple[str, Any]]:
    """Return the trees of a certificate by what messages call them: nothing if it is a tree itself."""
    if certificate.get("kind") == "date-tree":
        return [("", certificate)]
    return [(f"trees[{number}]", tree) for number, tree in enumerate(items(certificate, "trees"))]


def _shared(certificate: Mapping[str, object], edges: IntArray, jobs: int) -> WindowPrices:
    """Return the shared prices, of which a single tree has none."""
    if certificate.get("kind") == "date-tree":
        nowhere = np.zeros(jobs + 1, dtype=np.int64)
        return WindowPrices(frozen(edges), frozen(nowhere[1:]), frozen(nowhere), frozen(nowhere[:0]))
    listed = certificate.get("shared")
    if not isinstance(listed, dict):
        raise malformed(f"shared of the certificate is {type(listed).__name__}, not an object")
    shared = price_windows(listed, edges, jobs)
    check_slots(shared)
    return shared


def bound_of_trees(problem: WorkloadProblem, certificate: Mapping[str, Any], objective: str) -> float:
    """Return the bound of a certificate whose ``totals`` are those of `tree_totals`."""
    tick = ticks_of(problem)
    unit, divisor = (positive_integer(certificate, key) for key in ("unit", "nodes"))
    shared = _shared(certificate, edges_of(certificate, tick), len(problem.jobs))
    fullest = np.zeros(len(shared.edges) - 1, dtype=np.int64)
    nodes, capacity = Machine.of(problem, divisor)
    room = frozen(np.full((len(fullest), 1), capacity))
    fullest_sets(shared, frozen(nodes[:, np.newaxis]), room, capacity + 1, fullest)
    total = -earned(shared.edges, fullest)
    for name, tree in rule(certificate):
        reached = [each for each in tree["totals"] if each is not None]
        if not reached:
            where = name and f"{name} of "
            raise InvalidAnswer(f"no leaf of {where}the certificate has room for a schedule, which cannot be")
        total += min(reached)
    return mean_of(problem, Fraction(total, unit * tick), objective)


def tree_totals(
    problem: WorkloadProblem, certificate: Mapping[str, object], objective: str
) -> list[list[int | None]]:
    """Return the totals of the leaves of each tree as the judge finds them, whatever ``totals`` it has."""
    is_one = certificate.get("kind") == "date-tree"
    tick = ticks_of(problem)
    unit, divisor = (positive_integer(certificate, key) for key in ("unit", "nodes"))
    edges = edges_of(certificate, tick)
    rows = job_rows(problem, objective, unit, tick)
    count = len(problem.jobs)
    shared, trees = _shared(certificate, edges, count), rule(certificate)
    owner = np.zeros(count, dtype=np.int64) if is_one else integers(certificate, "stretches", 0)
    if len(owner) != count:
        raise InvalidAnswer(f"{len(owner)} stretches in the certificate for {count} jobs")
    if count and owner.max() >= len(trees):
        job = int(np.argmax(owner))
        raise InvalidAnswer(f"stretches[{job}] {owner[job]} of the certificate is none of {len(trees)} trees")
    nodes, capacity = Machine.of(problem, divisor)
    order = np.argsort(owner, kind="stable")
    begins = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(trees)))))
    read: list[tuple[DateTree, Machine]] = []
    steps, leaves = float(len(shared.prices)) * (capacity + 1), 0
    for number, (name, tree) in enumerate(trees):
        own = order[begins[number] : begins[number + 1]]
        low, high = (0, len(edges) - 1) if is_one else _slots(tree, name, len(edges))
        part = _part(shared, own, low, high, name)
        own_rows = JobRows(*(frozen(column[own]) for column in rows))
        try:
            one = DateTree.read(tree, part.edges, own_rows, tick, part)
        except InvalidAnswer as fault:
            if is_one:
                raise
            raise InvalidAnswer(f"{name}: {fault}", breaks_schema=fault.breaks_schema) from fault
        read.append((one, Machine(frozen(nodes[own]), capacity)))
        steps += one.steps * (capacity + 1)
        leaves += len(one.leaves)
        check_steps(steps, leaves)
    return [tree.totals(machine) for tree, machine in read]


def _slots(tree: Any, name: str, num_edges: int) -> tuple[int, int]:  # noqa: ANN401 - JSON
    """Return the numbers of the first and the last edge of a tree."""
    if not isinstance(tree, dict):
        raise malformed(f"{name} of the certificate is {type(tree).__name__}, not an object")
    slots = integers(tree, "slots", 0).tolist()
    if len(slots) != 2 or not slots[0] < slots[1] < num_edges:
        msg = f"slots {shown(slots)} of {name} in the certificate are not two of {num_edges} edges"
        raise InvalidAnswer(msg)
    return slots[0], slots[1]


def _part(shared: WindowPrices, jobs: IntArray, low: int, high: int, name: str) -> WindowPrices:
    """Return the shared prices of some jobs, which must lie between two edges."""
    counts = np.diff(shared.offsets)[jobs]
    first = np.where(counts > 0, shared.first[jobs] - low, 0)
    if (first < 0).any() or (first + counts > high - low).any():
        job = int(jobs[np.argmax((first < 0) | (first + counts > high - low))])
        raise InvalidAnswer(f"job {job} has shared prices outside of the slots of {name} in the certificate")
    offsets = np.concatenate(([0], np.cumsum(counts)))
    entries = np.arange(int(offsets[-1])) + np.repeat(shared.offsets[jobs] - offsets[:-1], counts)
    return WindowPrices(
        frozen(shared.edges[low : high + 1]), frozen(first), frozen(offsets), frozen(shared.prices[entries])
    )
