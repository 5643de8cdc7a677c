"""Simulated annealing of the order in which serial generation plans few jobs, on any machine.

Reinsertion leaves all jobs but a few where they are, so it does not pack others into the holes that it makes.
Here a change of the order plans all jobs anew that come after it, which seldom brings a job that waits for
the end of a window before it, as too much else changes with it. So both take turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.workload._kernels_orders import (
    FreeLists,
    OrderedJobs,
    OrderMoves,
    Orders,
    anneal_order,
)
from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import Plan, plan_costs
from allocsolve.model import frozen, packed_machine
from allocsolve.model.options import Params

#: Of so many lists of what is free, one begins each move.
_KEPT: Final = 16
#: Of a word, which has a sign.
_BITS: Final = 63

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import Clock, FloatArray, IntArray, WorkloadObjective


@dataclass(frozen=True, slots=True)
class OrderSearchParams(Params):
    """The numbers of a search for an order, measured on 120 jobs under load."""

    #: The first temperature, in what jobs of the first plan cost in the mean beyond their least costs, or a
    #: job that is later by a mean run time, if that is more: jobs that wait for long behind a closed window
    #: change places with those before it only then. The last one, in what a job costs that is later by a mean
    #: run time: below a few tenths little is gained.
    hottest: float = 1.0
    coldest: float = 0.3
    #: How many places a job moves at most; of a random number this power is taken, so most moves are short.
    farthest: int = 100
    power: float = 3.0
    #: The share of moves that put a job elsewhere; others change two places.
    insertions: float = 0.6
    #: Moves between two looks at the clock, and those of reinsertion before them.
    round_moves: int = 300
    round_reinsertions: int = 150


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
    small jobs that fill holes do not come before the wide ones around them. Before each round of such moves
    come some of reinsertion, which stay only if the plan costs no more; the order is then that of its starts.

    *Complexity*: O(jobs) places for a move; about 8 microseconds for 120 jobs under load.

    References
    ----------
    Martin & Otto, "Combining simulated annealing with local search heuristics", Annals of Operations Research
    63, 1996.
    """

    def __init__(
        self,
        plan: Plan,
        objective: WorkloadObjective,
        seed: int,
        params: OrderSearchParams = OrderSearchParams(),
    ) -> None:
        order: IntArray = np.argsort(plan.placed.starts, kind="stable")
        plan = Plan.in_order(plan.problem, plan.sizes, plan.placed.chosen, order)
        starts, seconds = plan.placed.starts, plan.seconds
        self._reinserter = Reinserter(plan, objective, seed)
        self._given, self._params = plan, params
        self._costs = plan_costs(plan.problem, objective[0], plan.sizes)
        self._typical = float(self._costs.slope.mean()) * float(seconds.mean())
        times = starts + seconds * self._costs.of_end
        costs = np.maximum(self._costs.floor, self._costs.slope * (times - self._costs.reference))
        waits = float((costs - self._costs.least).mean())
        self._hottest = params.hottest * (max(1.0, waits / self._typical) if self._typical > 0 else 1.0)
        machine = packed_machine(plan.problem)
        needs = np.zeros((len(order), len(machine.names)), dtype=np.int64)
        needs[np.repeat(np.arange(len(order)), np.diff(machine.offsets)), machine.resource] = machine.amount
        needs[:, 0] = plan.nodes
        packed, marks = _packed(np.concatenate((needs, machine.capacity)), machine.capacity.max(axis=0))
        self._jobs = OrderedJobs(
            frozen(machine.release), frozen(seconds), frozen(packed[: len(order)].copy()), frozen(marks)
        )
        times = machine.times.copy()
        times[0] = min(times[0], machine.release.min())
        self._lists = _lists(times, packed[len(order) :] | marks, len(order))
        self._orders = Orders(
            order=order.copy(),
            trial=order.copy(),
            starts=starts.copy(),
            best_starts=starts.copy(),
            tried=starts.copy(),
            costs=np.zeros(len(order) + 1),
            least=np.full(1, np.inf),
            random=np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1),
        )

    @property
    def order(self) -> IntArray:
        """The present order. Shape (jobs,)."""
        return self._orders.order

    @property
    def plan(self) -> Plan:
        """The present plan, which is serial generation in the present order."""
        return self._plan(self._orders.starts)

    def best(self) -> Plan:
        """Return the plan of least cost that was met."""
        return self._plan(self._orders.best_starts)

    def _plan(self, starts: FloatArray) -> Plan:
        given = self._given
        return Plan(given.problem, given.sizes, starts, given.placed.chosen)

    def run(self, clock: Clock, moves: float, stop: Callable[[], bool]) -> None:
        """Anneal until the time is over, or so many moves are made.

        The temperature falls with the time where there is a limit, and otherwise with the moves.
        """
        params, limit, made = self._params, clock.divisible, 0
        hottest, coldest = self._hottest, params.coldest
        while made < moves and clock.remaining > 0 and not stop():
            done = made / moves if limit == math.inf else 1 - clock.remaining / limit
            temperature = hottest * self._typical * (coldest / hottest) ** min(1.0, max(0.0, done))
            reinsertions = int(min(params.round_reinsertions, moves - made))
            self._reinsert(reinsertions)
            made += reinsertions
            count = int(min(params.round_moves, moves - made))
            drawn = OrderMoves(count, temperature, params.farthest, params.power, params.insertions)
            anneal_order(self._lists, self._jobs, self._costs, self._orders, drawn)
            made += count

    def _reinsert(self, moves: int) -> None:
        """Go on from what reinsertion makes of the present plan, in the order of its starts."""
        plan = self._reinserter.plan = self.plan
        self._reinserter.run(moves)
        order: IntArray = np.argsort(plan.placed.starts, kind="stable")
        again = Plan.in_order(plan.problem, plan.sizes, plan.placed.chosen, order)
        self._orders.order[:], self._orders.starts[:] = order, again.placed.starts


def _packed(amounts: IntArray, most: IntArray) -> tuple[IntArray, IntArray]:
    """Return amounts, shape (rows, resources), in words, shape (rows, words), and the marks of the words.

    A resource has a field for up to `most` and a bit above it, which is its mark. No word is negative.
    """
    words: list[IntArray] = []
    marks: list[int] = []
    used = _BITS
    for resource, bits in enumerate(int(each).bit_length() for each in most.tolist()):
        if used + bits + 1 > _BITS:
            words.append(np.zeros(len(amounts), dtype=np.int64))
            marks.append(0)
            used = 0
        words[-1] += amounts[:, resource] << used
        used += bits + 1
        marks[-1] += 1 << (used - 1)
    return np.stack(words, axis=1), np.array(marks)


def _lists(times: FloatArray, free: IntArray, jobs: int) -> FreeLists:
    """Return lists of what is free, of which that without jobs is filled in. A job adds two steps at most."""
    spacing = max(1, math.ceil(jobs / _KEPT))
    kept, steps = 2 + jobs // spacing, 2 * jobs + len(times) + 1
    lists = FreeLists(
        spacing=np.array([spacing]),
        counts=np.ones(kept, dtype=np.int64),
        times=np.zeros((kept, steps)),
        free=np.zeros((kept, steps, free.shape[1]), dtype=np.int64),
    )
    lists.counts[1] = len(times)
    lists.times[1, : len(times)] = times
    lists.free[1, : len(times)] = free
    return lists
