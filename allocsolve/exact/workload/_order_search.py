"""Simulated annealing of the order in which serial generation plans few jobs, on any machine.

Reinsertion leaves all jobs but a few where they are, so it does not pack others into the holes that it makes.
Here a change of the order plans all jobs anew that come after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import Plan
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
    round_moves: int = 50


class OrderSearch:
    """The state of an annealing of orders.

    Parameters
    ----------
    plan
        The plan to begin with, of rigid jobs; it is changed in place.
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

    *Complexity*: O(jobs) places for a move; about 40 microseconds for 120 jobs.
    """

    def __init__(
        self,
        plan: Plan,
        objective: WorkloadObjective,
        seed: int,
        params: OrderSearchParams = OrderSearchParams(),
    ) -> None:
        self._plan, self._params = plan, params
        self._costs = Reinserter(plan, objective, seed)
        self._random = np.random.default_rng(seed)
        count = len(plan.problem.jobs)
        slope = float(self._costs.slopes(np.arange(count)).mean())
        self._typical = slope * float(plan.seconds.mean())
        self._least = math.inf
        self._note(self._cost())

    def best(self) -> Plan:
        """Return the plan of least cost that was met."""
        plan = self._plan
        return Plan(plan.problem, plan.sizes, self._starts, plan.placed.chosen)

    def run(self, clock: Clock, moves: float, stop: Callable[[], bool]) -> None:
        """Anneal until the time is over, or so many moves are made.

        The temperature falls with the time where there is a limit, and otherwise with the moves.
        """
        params, limit = self._params, clock.divisible
        order: IntArray = np.argsort(self._plan.placed.starts, kind="stable")
        cost, made = self._cost(), 0
        while made < moves and clock.remaining > 0 and not stop():
            done = made / moves if limit == math.inf else 1 - clock.remaining / limit
            share = params.coldest / params.hottest
            temperature = params.hottest * self._typical * share ** min(1.0, max(0.0, done))
            for _ in range(int(min(params.round_moves, moves - made))):
                order, cost = self._move(order, cost, temperature)
            made += params.round_moves

    def _move(self, order: IntArray, cost: float, temperature: float) -> tuple[IntArray, float]:
        """Return the order and its cost after a move, or as they were."""
        random, params, plan = self._random, self._params, self._plan
        at = int(random.integers(len(order)))
        far = 1 + int(random.random() ** params.power * params.farthest)
        to = at + far if random.random() < 0.5 else at - far
        to = min(max(to, 0), len(order) - 1)
        first = min(at, to)
        new = order.copy()
        if random.random() < params.insertions:
            low, high = first, max(at, to) + 1
            new[low:high] = np.roll(order[low:high], -1 if at < to else 1)
        else:
            new[at], new[to] = order[to], order[at]
        before = plan.placed.starts.copy()
        plan.take_out(order[first:])
        plan.put(new[first:])
        after = self._cost()
        if after <= cost or random.random() < math.exp((cost - after) / temperature):
            self._note(after)
            return new, after
        plan.take_out(new[first:])
        plan.placed.starts[:] = before
        plan.put(order[first:], where_they_are=True)
        return order, cost

    def _cost(self) -> float:
        return float(self._costs.excess().sum())

    def _note(self, cost: float) -> None:
        if cost < self._least:
            self._least, self._starts = cost, self._plan.placed.starts.copy()
