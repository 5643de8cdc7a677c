"""Kernel: the cheapest start of each rigid job under prices of several resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.bounds.workload._kernels_prices import slot_of
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray


class MachinePriceList(NamedTuple):
    """What a second of one of each resource costs: nothing outside the slots. Read-only."""

    #: Shape (slots + 1,), increasing, seconds.
    edges: FloatArray
    #: Shape (slots + 1, resources): the prices in each slot, and 0 after the last.
    prices: FloatArray
    #: Shape (slots + 1, resources): the cost from the first edge to each edge.
    integral: FloatArray


class RigidJobs(NamedTuple):
    """Rigid jobs, read-only; the needs of job ``j`` are ``offsets[j]:offsets[j + 1]``."""

    #: Shape (jobs,), seconds; no job starts before its release.
    submit: FloatArray
    release: FloatArray
    runtime: FloatArray
    #: Shape (jobs,): a job that ends at C costs ``max(floor, slope (C - submit))``.
    slope: FloatArray
    floor: FloatArray
    offsets: IntArray
    resource: IntArray
    amount: IntArray


class CheapestStarts(NamedTuple):
    """Where `cheapest_on_machine` writes."""

    #: Shape (jobs,).
    costs: FloatArray
    starts: FloatArray
    #: Shape (slots + 1, resources): what is used in each slot, times seconds; one row for the rest of time.
    usage: FloatArray
    #: Shape (slots + 2, resources), work space of the kernel.
    steps: FloatArray


@inner_kernel
def _paid(
    listed: MachinePriceList, jobs: RigidJobs, job: int, begun: int, begin: float, ended: int, end: float
) -> float:
    """Return what a job pays from a moment in the slot `begun` to one in the slot `ended`."""
    edges, prices, integral = listed.edges, listed.prices, listed.integral
    paid = 0.0
    for at in range(jobs.offsets[job], jobs.offsets[job + 1]):
        resource = jobs.resource[at]
        one = 0.0
        if ended >= 0:
            one = integral[ended, resource] + prices[ended, resource] * (end - edges[ended])
        if begun >= 0:
            one -= integral[begun, resource] + prices[begun, resource] * (begin - edges[begun])
        paid += jobs.amount[at] * one
    return paid


@inner_kernel
def _rise(listed: MachinePriceList, jobs: RigidJobs, job: int, k: int) -> float:
    """Return by how much the composite price of a job rises at an edge."""
    rise = 0.0
    for at in range(jobs.offsets[job], jobs.offsets[job + 1]):
        resource = jobs.resource[at]
        before = listed.prices[k - 1, resource] if k > 0 else 0.0
        rise += jobs.amount[at] * (listed.prices[k, resource] - before)
    return rise


@inner_kernel
def _best_start(listed: MachinePriceList, jobs: RigidJobs, job: int, length: float) -> tuple[float, float]:
    """Return the least cost of a job and its start.

    The cost is linear in the start between those where the job starts or ends at an edge or leaves its floor.
    Its minimum is at the release, or where its slope rises: where the job leaves the floor, starts at an edge
    at which the composite price falls, or ends at one at which it rises.
    """
    edges = listed.edges
    last = len(edges) - 1
    submit, release, slope, floor = (
        jobs.submit[job],
        jobs.release[job],
        jobs.slope[job],
        jobs.floor[job],
    )
    start = release
    begun, ended = slot_of(edges, start), slot_of(edges, start + length)
    best = max(floor, slope * (start + length - submit)) + _paid(
        listed, jobs, job, begun, start, ended, start + length
    )
    if slope == 0:
        return (floor, max(release, edges[last])) if floor < best else (best, start)
    free = submit + floor / slope - length
    if free > release and floor < best:
        cost = floor + _paid(
            listed, jobs, job, slot_of(edges, free), free, slot_of(edges, free + length), free + length
        )
        if cost < best:
            best, start = cost, free
    until = ended
    for k in range(begun + 1, last + 1):
        end = edges[k] + length
        delay = max(floor, slope * (end - submit))
        if delay >= best:
            break
        if _rise(listed, jobs, job, k) < 0:
            while until < last and edges[until + 1] <= end:
                until += 1
            cost = delay + _paid(listed, jobs, job, k, edges[k], until, end)
            if cost < best:
                best, start = cost, edges[k]
    at = begun
    for k in range(ended + 1, last + 1):
        delay = max(floor, slope * (edges[k] - submit))
        if delay >= best:
            break
        if _rise(listed, jobs, job, k) > 0:
            begin = edges[k] - length
            while at < last and edges[at + 1] <= begin:
                at += 1
            cost = delay + _paid(listed, jobs, job, at, begin, k, edges[k])
            if cost < best:
                best, start = cost, begin
    return best, start


@kernel
def cheapest_on_machine(
    listed: MachinePriceList, jobs: RigidJobs, slack: float, out: CheapestStarts
) -> float:
    """Return the sum of the least costs of the jobs, each by itself; write the costs, and what the jobs use.

    Run times are taken shorter by `slack` (seconds).
    """
    edges, steps, usage = listed.edges, out.steps, out.usage
    last = len(edges) - 1
    steps[:] = 0
    usage[:] = 0
    total = 0.0
    for job in range(len(jobs.submit)):
        length = max(0.0, jobs.runtime[job] - slack)
        cost, start = _best_start(listed, jobs, job, length)
        out.costs[job], out.starts[job] = cost, start
        total += cost
        begun, ended = slot_of(edges, start), slot_of(edges, start + length)
        for at in range(jobs.offsets[job], jobs.offsets[job + 1]):
            resource, amount = jobs.resource[at], jobs.amount[at]
            if begun == ended:
                usage[begun, resource] += amount * length
            else:
                usage[begun, resource] += amount * (edges[begun + 1] - start)
                usage[ended, resource] += amount * (start + length - edges[max(ended, 0)])
                steps[begun + 1, resource] += amount
                steps[ended, resource] -= amount
    for resource in range(usage.shape[1]):
        level = 0.0
        for k in range(last):
            level += steps[k, resource]
            usage[k, resource] += level * (edges[k + 1] - edges[k])
    return total
