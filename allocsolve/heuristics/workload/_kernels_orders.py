"""Annealing of the order of serial generation: a move changes the order and plans anew what comes after.

What is free over time lies in one list of steps for all resources, whose amounts share words of 64 bits: each
has a field, and a bit above it that is set in what is free. Where a need is subtracted from what is free,
that bit stays if there is as much. Copies of the list are kept as it is after some of the jobs: a move begins
at the last of them before its first change, and one that is not taken has nothing to put back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.heuristics.workload._kernels_serial import placed_cost
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.random import uniform
from allocsolve.kernels.search import bisect_right

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_serial import Costs
    from allocsolve.model import FloatArray, IntArray


#: A move ends where its jobs cost more than the same ones before, by more than it may at last and so many
#: temperatures. Of 20,000 moves that were taken on two machines under load, .3 % had done so; a sixth of the
#: work is left out.
_HOPE: Final = 3.0


class OrderedJobs(NamedTuple):
    """Jobs on sizes that they keep; read-only."""

    #: Shape (jobs,), seconds: no job starts before.
    release: FloatArray
    #: Shape (jobs,), seconds: the run times.
    seconds: FloatArray
    #: Shape (jobs, words): the fields of what they need.
    needs: IntArray
    #: Shape (words,): the highest bits of all fields, which are set in what is free.
    marks: IntArray


class FreeLists(NamedTuple):
    """What some first jobs of an order leave free of each resource, in some lists of steps.

    List ``at`` has the first ``counts[at]`` steps: from ``times[at, step]`` seconds on there is
    ``free[at, step]``. No step is as the one before it. List 0 is for the work of a move, list 1 is the
    machine without jobs, and list ``1 + k`` has the first ``k * spacing[0]`` jobs of the order.
    """

    #: Shape (1,).
    spacing: IntArray
    #: Shape (lists,), (lists, steps) and (lists, steps, words).
    counts: IntArray
    times: FloatArray
    free: IntArray


class Orders(NamedTuple):
    """The order of a plan, the best starts that were met, and arrays for the work of a move."""

    #: Shape (jobs,): the order in which the jobs of the plan are placed, and that of a move.
    order: IntArray
    trial: IntArray
    #: Shape (jobs,), seconds: the starts, and the best ones, by job; those of a move, in its order.
    starts: FloatArray
    best_starts: FloatArray
    tried: FloatArray
    #: Shape (jobs + 1,): what the first jobs of the order cost together beyond their least costs.
    costs: FloatArray
    #: Shape (1,): the least such costs of all jobs that were met.
    least: FloatArray
    #: Shape (1,): the state of the random numbers.
    random: NDArray[np.uint64]


class OrderMoves(NamedTuple):
    """How many moves are made, and which."""

    number: int
    #: In units of cost.
    temperature: float
    #: How many places a job moves at most; of a random number this power is taken, so most moves are short.
    farthest: int
    power: float
    #: The share of moves that put a job elsewhere; others change two places.
    insertions: float


@inner_kernel
def _rearrange(orders: Orders, moves: OrderMoves) -> tuple[int, int, bool]:
    """Fill in another order; return its first changed place, and the one behind the last.

    Return whether all that has changed is that a job comes before others that it came after, too.
    """
    order, trial, random = orders.order, orders.trial, orders.random
    jobs = len(order)
    at = int(uniform(random) * jobs)
    to = 1 + int(uniform(random) ** moves.power * moves.farthest)
    if uniform(random) < 0.5:
        to = -to
    to = min(max(at + to, 0), jobs - 1)
    first, last = min(at, to), max(at, to)
    for moved in range(first, jobs):  # a copy of a slice would allocate
        trial[moved] = order[moved]
    inserts = uniform(random) < moves.insertions
    if inserts:
        step = 1 if at < to else -1
        for moved in range(at, to, step):
            trial[moved] = order[moved + step]
        trial[to] = order[at]
    else:
        trial[at], trial[to] = order[to], order[at]
    return first, last + 1, inserts and to < at


@inner_kernel
def _copy(lists: FreeLists, source: int, to: int) -> None:
    """Let a list be as another one."""
    times, free = lists.times, lists.free
    lists.counts[to] = lists.counts[source]
    for step in range(lists.counts[source]):
        times[to, step] = times[source, step]
        for word in range(free.shape[2]):
            free[to, step, word] = free[source, step, word]


@inner_kernel
def _earliest(lists: FreeLists, jobs: OrderedJobs, job: int) -> tuple[float, int, int]:
    """Return the first instant from which a job has room in the list of a move. O(steps).

    Return the step in which it is, too, and the first one that begins at its end or later.
    """
    count, times, free, needs = lists.counts[0], lists.times[0], lists.free[0], jobs.needs[job]
    start, seconds = jobs.release[job], jobs.seconds[job]
    begin = bisect_right(times, count, start) - 1
    step = begin
    while step < count and times[step] < start + seconds:
        has_room = True
        for word in range(len(needs)):
            mark = jobs.marks[word]
            has_room = has_room and (free[step, word] - needs[word]) & mark == mark
        step += 1
        if not has_room:
            start, begin = times[step], step
    return start, begin, step


@inner_kernel
def _insert(lists: FreeLists, step: int, time: float) -> None:
    """Add a step at a place of the list of a move, which is not the first; nothing changes with it yet."""
    count, times, free = lists.counts[0], lists.times[0], lists.free[0]
    for later in range(count, step, -1):
        times[later] = times[later - 1]
        for word in range(free.shape[1]):
            free[later, word] = free[later - 1, word]
    times[step] = time
    for word in range(free.shape[1]):
        free[step, word] = free[step - 1, word]
    lists.counts[0] = count + 1


@inner_kernel
def _drop_if_same(lists: FreeLists, step: int) -> None:
    """Drop a step of the list of a move, which is not the first, if as much is free before it."""
    count, times, free = lists.counts[0], lists.times[0], lists.free[0]
    for word in range(free.shape[1]):
        if free[step, word] != free[step - 1, word]:
            return
    for later in range(step, count - 1):
        times[later] = times[later + 1]
        for word in range(free.shape[1]):
            free[later, word] = free[later + 1, word]
    lists.counts[0] = count - 1


@inner_kernel
def _take(lists: FreeLists, jobs: OrderedJobs, job: int, start: float, begin: int, until: int) -> None:
    """Take what a job needs out of the list of a move. O(steps).

    It starts in the step `begin`, and `until` is the first step that begins at its end or later.
    """
    end, needs, times, free = start + jobs.seconds[job], jobs.needs[job], lists.times[0], lists.free[0]
    if end <= start:  # by rounding
        return
    if until == lists.counts[0] or times[until] != end:
        _insert(lists, until, end)
    if times[begin] != start:
        begin += 1
        until += 1
        _insert(lists, begin, start)
    for step in range(begin, until):
        for word in range(len(needs)):
            free[step, word] -= needs[word]
    _drop_if_same(lists, until)
    if begin:
        _drop_if_same(lists, begin)


@inner_kernel
def _take_at(lists: FreeLists, jobs: OrderedJobs, job: int, start: float) -> None:
    """Take what a job needs that starts at an instant out of the list of a move."""
    count, times = lists.counts[0], lists.times[0]
    begin = bisect_right(times, count, start) - 1
    until = begin + 1
    while until < count and times[until] < start + jobs.seconds[job]:
        until += 1
    _take(lists, jobs, job, start, begin, until)


@inner_kernel
def _accept(
    lists: FreeLists, jobs: OrderedJobs, costs: Costs, orders: Orders, first: int, until: int
) -> None:
    """Let the order and its starts be those of a move between two places; later ones are as they were."""
    order, starts, number = orders.order, orders.starts, len(orders.order)
    for at in range(first, until):
        job, start = orders.trial[at], orders.tried[at]
        order[at], starts[job] = job, start
        cost = placed_cost(costs, job, start, jobs.seconds[job]) - costs.least[job]
        orders.costs[at + 1] = orders.costs[at] + cost
    spacing = lists.spacing[0]
    at, last = first - first % spacing, until - 1 - (until - 1) % spacing  # of two lists
    if at < last:
        _copy(lists, 1 + at // spacing, 0)
    while at < last:
        _take_at(lists, jobs, order[at], starts[order[at]])
        at += 1
        if at % spacing == 0:
            _copy(lists, 0, 1 + at // spacing)
    if orders.costs[number] < orders.least[0]:
        orders.least[0] = orders.costs[number]
        for at in range(number):  # a copy of an array would allocate
            orders.best_starts[at] = starts[at]


@kernel
def anneal_order(
    lists: FreeLists, jobs: OrderedJobs, costs: Costs, orders: Orders, moves: OrderMoves
) -> None:
    """Make moves; one that costs more stays with a probability that falls with what it costs (Metropolis).

    The lists are filled in at first. O(jobs) places for a move, which ends as soon as it costs too much, or
    as the jobs that have changed places start when they did: two moves of three, and those are taken.
    """
    number, spacing = len(orders.order), lists.spacing[0]
    order, trial, starts, tried = orders.order, orders.trial, orders.starts, orders.tried
    for at in range(number):
        trial[at], tried[at] = order[at], starts[order[at]]
    _accept(lists, jobs, costs, orders, 0, number)
    for _ in range(moves.number):
        first, until, is_earlier = _rearrange(orders, moves)
        whole = orders.costs[number]
        limit = whole * (1.0 + 1e-12) - moves.temperature * math.log(1.0 - uniform(orders.random))
        at = first - first % spacing
        _copy(lists, 1 + at // spacing, 0)
        while at < first:
            _take_at(lists, jobs, order[at], starts[order[at]])
            at += 1
        cost, same, met, hopeless = orders.costs[first], True, False, False
        while at < number and cost <= limit and not met and not hopeless:
            job = trial[at]
            start, begin, end = _earliest(lists, jobs, job)
            cost += placed_cost(costs, job, start, jobs.seconds[job]) - costs.least[job]
            same = same and start == starts[job]
            tried[at] = start
            _take(lists, jobs, job, start, begin, end)
            at += 1
            if same and is_earlier:  # it fits beside those that it comes before now: they stay, too
                while at < until:
                    tried[at] = starts[trial[at]]
                    at += 1
                cost = orders.costs[at]
            met = same and at == until
            more = cost - orders.costs[at]
            hopeless = at >= until and not met and more > limit - whole + _HOPE * moves.temperature
        if met:
            cost += whole - orders.costs[at]
        if cost <= limit and not hopeless and (met or at == number):
            _accept(lists, jobs, costs, orders, first, at)
