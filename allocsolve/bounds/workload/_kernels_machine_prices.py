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
    #: Shape (resources, slots + 1): the prices in each slot, and 0 after the last.
    prices: FloatArray
    #: Shape (resources, slots + 1): the cost from the first edge to each edge.
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
    #: Shape (resources, slots + 1): what is used in each slot, times seconds; a column for the rest of time.
    usage: FloatArray
    #: Shape (resources, slots + 2), work space of the kernel.
    steps: FloatArray
    #: Shape (2, slots + 1), work space: the composite price of a job in each slot, and its sum up to edges.
    composite: FloatArray


class _Run(NamedTuple):
    """A job as `RigidJobs` has it, and the slots in which it begins and ends if it starts at its release."""

    submit: float
    release: float
    length: float
    slope: float
    floor: float
    begun: int
    ended: int


@inner_kernel
def _paid(edges: FloatArray, prices: FloatArray, integral: FloatArray, slot: int, moment: float) -> float:
    """Return what is paid until a moment, which lies in the slot."""
    if slot < 0:
        return 0.0
    return float(integral[slot] + prices[slot] * (moment - edges[slot]))


@inner_kernel
def _cost_between(
    edges: FloatArray,
    prices: FloatArray,
    integral: FloatArray,
    begun: int,
    begin: float,
    ended: int,
    end: float,
) -> float:
    """Return what is paid from a moment in one slot to a moment in another one."""
    return _paid(edges, prices, integral, ended, end) - _paid(edges, prices, integral, begun, begin)


@inner_kernel
def _best_start(
    edges: FloatArray, prices: FloatArray, integral: FloatArray, amount: float, last: int, run: _Run
) -> tuple[float, float]:
    """Return the least cost of a job that pays `amount` times these prices, and its start.

    The cost is linear in the start between those where the job starts or ends at an edge or leaves its floor.
    Its minimum is at the release, or where its slope rises: where the job leaves the floor, starts at an edge
    at which the price falls, or ends at one at which it rises. Edges after `last` are not looked at.
    """
    submit, start, length, slope, floor, begun, ended = run
    end = start + length
    best = max(floor, slope * (end - submit))
    best += amount * _cost_between(edges, prices, integral, begun, start, ended, end)
    free = submit + floor / slope - length
    if free > start and floor < best:
        slot, until = slot_of(edges, free), slot_of(edges, free + length)
        paid = _cost_between(edges, prices, integral, slot, free, until, free + length)
        if floor + amount * paid < best:
            best, start = floor + amount * paid, free
    until = ended
    for k in range(begun + 1, last + 1):
        end = edges[k] + length
        delay = max(floor, slope * (end - submit))
        if delay >= best:
            break
        if k > 0 and prices[k] < prices[k - 1]:
            while until + 1 < len(edges) and edges[until + 1] <= end:
                until += 1
            cost = delay + amount * (_paid(edges, prices, integral, until, end) - integral[k])
            if cost < best:
                best, start = cost, edges[k]
    at = begun
    for k in range(ended + 1, last + 1):
        delay = max(floor, slope * (edges[k] - submit))
        if delay >= best:
            break
        if k == 0 or prices[k] > prices[k - 1]:
            begin = edges[k] - length
            while at + 1 < len(edges) and edges[at + 1] <= begin:
                at += 1
            cost = delay + amount * (integral[k] - _paid(edges, prices, integral, at, begin))
            if cost < best:
                best, start = cost, begin
    return best, start


@inner_kernel
def _compose(listed: MachinePriceList, jobs: RigidJobs, job: int, run: _Run, composite: FloatArray) -> int:
    """Write the composite price of a job as far as it may matter; return the last edge to be looked at.

    An edge does not matter if the delay of a job that starts or ends there costs more than a start at the
    release.
    """
    edges, last = listed.edges, len(listed.edges) - 1
    at_release = max(run.floor, run.slope * (run.release + run.length - run.submit))
    for at in range(jobs.offsets[job], jobs.offsets[job + 1]):
        row = jobs.resource[at]
        at_release += jobs.amount[at] * _cost_between(
            edges,
            listed.prices[row],
            listed.integral[row],
            run.begun,
            run.release,
            run.ended,
            run.release + run.length,
        )
    latest = run.submit + at_release / run.slope
    until = min(last, slot_of(edges, latest) + 1)
    stop = min(last, slot_of(edges, latest + run.length) + 1)
    begin = max(0, run.begun)
    for k in range(begin, stop + 1):
        composite[0, k] = composite[1, k] = 0.0
    for at in range(jobs.offsets[job], jobs.offsets[job + 1]):
        row, amount = jobs.resource[at], float(jobs.amount[at])
        prices, integral = listed.prices[row], listed.integral[row]
        for k in range(begin, stop + 1):
            composite[0, k] += amount * prices[k]
            composite[1, k] += amount * integral[k]
    return int(until)


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
        length, release, slope, floor = (
            max(0.0, jobs.runtime[job] - slack),
            jobs.release[job],
            jobs.slope[job],
            jobs.floor[job],
        )
        begun, ended = slot_of(edges, release), slot_of(edges, release + length)
        run = _Run(jobs.submit[job], release, length, slope, floor, begun, ended)
        first = jobs.offsets[job]
        if slope == 0:
            cost, start = floor, max(release, edges[last])
        elif jobs.offsets[job + 1] == first + 1:
            row, amount = jobs.resource[first], float(jobs.amount[first])
            cost, start = _best_start(edges, listed.prices[row], listed.integral[row], amount, last, run)
        else:
            until = _compose(listed, jobs, job, run, out.composite)
            cost, start = _best_start(edges, out.composite[0], out.composite[1], 1.0, until, run)
        out.costs[job], out.starts[job] = cost, start
        total += cost
        begun, ended = slot_of(edges, start), slot_of(edges, start + length)
        for at in range(first, jobs.offsets[job + 1]):
            row, held = jobs.resource[at], jobs.amount[at]
            if begun == ended:
                usage[row, begun] += held * length
            else:
                usage[row, begun] += held * (edges[begun + 1] - start)
                usage[row, ended] += held * (start + length - edges[max(ended, 0)])
                steps[row, begun + 1] += held
                steps[row, ended] -= held
    for row in range(len(usage)):
        level = 0.0
        for k in range(last):
            level += steps[row, k]
            usage[row, k] += level * (edges[k + 1] - edges[k])
    return total
