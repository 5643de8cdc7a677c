"""Annealing of the order of serial generation: a move changes the order and plans anew what comes after."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.heuristics.workload._kernels_capacity import book
from allocsolve.heuristics.workload._kernels_serial import place, placed_cost
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.random import uniform

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_serial import Costs, Placed, Sizes
    from allocsolve.heuristics.workload.resources import Machine
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray


class Orders(NamedTuple):
    """The order of a plan, the best starts that were met, and arrays for the work of a move."""

    #: Shape (jobs,): the order in which the jobs of the plan were placed, and that of a move.
    order: IntArray
    trial: IntArray
    #: Shape (jobs,), seconds: the starts before a move, and the best ones.
    old_starts: FloatArray
    best_starts: FloatArray
    #: Shape (2,): the costs of the plan and the least that were met, beyond the least costs of the jobs.
    costs: FloatArray
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
def _rearrange(orders: Orders, moves: OrderMoves) -> tuple[int, int]:
    """Fill in another order; return its first changed place, and the one behind the last."""
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
    if uniform(random) < moves.insertions:
        step = 1 if at < to else -1
        for moved in range(at, to, step):
            trial[moved] = order[moved + step]
        trial[to] = order[at]
    else:
        trial[at], trial[to] = order[to], order[at]
    return first, last + 1


@kernel
def anneal_order(
    profile: FreeNodes,
    sizes: Sizes,
    submit: FloatArray,
    costs: Costs,
    placed: Placed,
    orders: Orders,
    moves: OrderMoves,
    machine: Machine | None = None,
) -> None:
    """Make moves; one that costs more stays with a probability that falls with what it costs (Metropolis).

    Jobs keep their sizes. O(jobs) places for a move, which ends as soon as it costs too much.
    """
    order, trial, starts, old = orders.order, orders.trial, placed.starts, orders.old_starts
    jobs = len(order)
    for _ in range(moves.number):
        first, until = _rearrange(orders, moves)
        limit = orders.costs[0] * (1.0 + 1e-12) - moves.temperature * math.log(1.0 - uniform(orders.random))
        cost = 0.0
        for at in range(jobs):
            job, size = order[at], placed.chosen[order[at]]
            if at < first:
                cost += placed_cost(costs, job, starts[job], sizes.seconds[size]) - costs.least[job]
                continue
            old[job] = starts[job]
            book(profile, job, sizes.nodes[size], old[job], old[job] + sizes.seconds[size], 1, machine)
        put, same = first, True
        while put < jobs:
            job, size = trial[put], placed.chosen[trial[put]]
            start = old[job]
            if not same or put < until:  # else all that comes before is where it was
                start, size = place(profile, sizes, job, size, size + 1, submit[job], machine)
            cost += placed_cost(costs, job, start, sizes.seconds[size]) - costs.least[job]
            if cost > limit:
                break
            same = same and start == old[job]
            starts[job] = start
            book(profile, job, sizes.nodes[size], start, start + sizes.seconds[size], -1, machine)
            put += 1
        if put == jobs:
            order[first:] = trial[first:]
            orders.costs[0] = cost
            if cost < orders.costs[1]:
                orders.costs[1] = cost
                orders.best_starts[:] = starts
            continue
        for at in range(first, put):
            job, size = trial[at], placed.chosen[trial[at]]
            book(profile, job, sizes.nodes[size], starts[job], starts[job] + sizes.seconds[size], 1, machine)
        for at in range(first, jobs):
            job, size = order[at], placed.chosen[order[at]]
            starts[job] = old[job]
            book(profile, job, sizes.nodes[size], old[job], old[job] + sizes.seconds[size], -1, machine)
