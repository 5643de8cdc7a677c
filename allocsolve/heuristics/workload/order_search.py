"""Simulated annealing of the order in which serial generation plans few jobs, on any machine.

Reinsertion leaves all jobs but a few where they are, so it does not pack others into the holes that it makes.
Here a change of the order plans all jobs anew that come after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_serial import OrderMoves, Orders
from allocsolve.heuristics.workload.serial import Plan, plan_costs
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import Clock, IntArray, WorkloadObjective


@dataclass(frozen=True, slots=True)
class OrderSearchParams(Params):
    """The numbers of a search for an order, measured on 120 jobs under load."""

    #: The first and the last temperature, in what a job costs that is later by a mean run time.
    hottest: float = 3.0
    coldest: float = 0.03
    #: How many places a job moves at most; of a random number this power is taken, so most moves are short.
    farthest: int = 100
    power: float = 3.0
    #: The share of moves that put a job elsewhere; others change two places.
    insertions: float = 0.6
    #: Moves between two looks at the clock.
    round_moves: int = 200


class OrderSearch:
    """The state of an annealing of orders.

    Parameters
    ----------
    plan
        The plan to begin with, of rigid jobs.
    objective
        The objective to minimise, of which the first term counts.
    seed
        The seed of the random numbers.

    Notes
    -----
    A move takes a job to another place of the order, or exchanges two. The jobs from the first changed place
    on are planned anew, each at its earliest place. What costs more is kept with a probability that falls
    with its cost and over time (Metropolis). The order stays as it is: of two jobs the first has its way, so
    small jobs that fill holes do not come before the wide ones around them.

    *Complexity*: O(jobs) places for a move; about 25 microseconds for 120 jobs.
    """

    def __init__(
        self,
        plan: Plan,
        objective: WorkloadObjective,
        seed: int,
        params: OrderSearchParams = OrderSearchParams(),
    ) -> None:
        starts = plan.placed.starts
        order: IntArray = np.argsort(starts, kind="stable")
        #: The present plan, which is serial generation in the present order.
        self.plan = plan = Plan.in_order(plan.problem, plan.sizes, plan.placed.chosen, order)
        self._params = params
        self._costs = plan_costs(plan.problem, objective[0], plan.sizes)
        starts, seconds = plan.placed.starts, plan.seconds
        self._typical = float(self._costs.slope.mean()) * float(seconds.mean())
        times = starts + seconds * self._costs.of_end
        costs = np.maximum(self._costs.floor, self._costs.slope * (times - self._costs.reference))
        excess = float((costs - self._costs.least).sum())
        self._orders = Orders(
            order=order.copy(),
            trial=order.copy(),
            old_starts=starts.copy(),
            best_starts=starts.copy(),
            costs=np.array([excess, excess]),
            random=np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1),
        )

    @property
    def order(self) -> IntArray:
        """The present order. Shape (jobs,)."""
        return self._orders.order

    def best(self) -> Plan:
        """Return the plan of least cost that was met."""
        plan = self.plan
        return Plan(plan.problem, plan.sizes, self._orders.best_starts, plan.placed.chosen)

    def run(self, clock: Clock, moves: float, stop: Callable[[], bool]) -> None:
        """Anneal until the time is over, or so many moves are made.

        The temperature falls with the time where there is a limit, and otherwise with the moves.
        """
        plan, params, limit, made = self.plan, self._params, clock.divisible, 0
        while made < moves and clock.remaining > 0 and not stop():
            done = made / moves if limit == math.inf else 1 - clock.remaining / limit
            share = params.coldest / params.hottest
            temperature = params.hottest * self._typical * share ** min(1.0, max(0.0, done))
            count = int(min(params.round_moves, moves - made))
            drawn = OrderMoves(count, temperature, params.farthest, params.power, params.insertions)
            plan.free.anneal(plan.sizes, self._costs, plan.placed, self._orders, drawn)
            made += count
