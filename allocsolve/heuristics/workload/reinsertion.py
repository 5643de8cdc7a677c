"""Remove-and-reinsert: improve a plan of a whole workload by a few jobs at a time, knowing all run times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload import workload_bound
from allocsolve.heuristics.workload._kernels_serial import MAX_REMOVED, Moves, Sizes
from allocsolve.heuristics.workload.serial import (
    BestPlan,
    Plan,
    job_sizes,
    plan_costs,
    serial_order,
    serial_plan,
)
from allocsolve.model import Limit, Result, WorkloadObjective, frozen
from allocsolve.model.options import Options, Params
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.heuristics.workload._kernels_serial import Costs
    from allocsolve.heuristics.workload.serial import SerialOrder
    from allocsolve.model import Budget, Clock, FloatArray, IntArray, WorkloadProblem, WorkloadSchedule


@dataclass(frozen=True, slots=True)
class ReinsertionParams(Params):
    """The numbers of `Reinsertion`; 20,000 moves take about .2 s."""

    #: Moves for each job, and the least number of moves, if the budget limits neither seconds nor iterations.
    moves_per_job: int = 50
    least_moves: int = 20_000
    #: The same if the budget limits the seconds only: a search of few jobs ends long before its time.
    timed_moves_per_job: int = 10_000
    least_timed_moves: int = 200_000
    #: Moves between two checks of the clock and two updates from the whole plan: about 40 ms.
    round_moves: int = 4_000


#: Orders and windows (s) of serial generation, the best of which is improved.
_STARTS: tuple[tuple[SerialOrder, float | None], ...] = (
    ("few-nodes", None),
    ("area", None),
    ("submit", None),
    ("area", 86_400.0),
    ("area", 21_600.0),
    ("area", 3_600.0),
)

#: Windows (s) for orders by the cheapest starts under prices, from a quarter of an hour to four hours.
_DUAL_WINDOWS = (900.0, 3_600.0, 7_200.0, 14_400.0)


def serial_plans(problem: WorkloadProblem, sizes: Sizes | None = None) -> Iterator[Plan]:
    """Yield plans by serial generation from which a search may start, the one by few nodes first.

    For moldable jobs, there are also plans in which only sizes of a small area are allowed. The sizes are
    those of `job_sizes` if they are left out.
    """
    sizes = job_sizes(problem) if sizes is None else sizes
    for order, window in _STARTS:
        for factor in (math.inf,) if problem.is_rigid else (math.inf, 2.0, 1.25, 1.0):
            allowed, index = _frugal(sizes, factor)
            starts, chosen = serial_plan(problem, serial_order(problem, order, window), allowed)
            yield Plan(problem, sizes, starts, index[chosen])


def dual_plans(problem: WorkloadProblem, starts: FloatArray, nodes: IntArray, sizes: Sizes) -> Iterator[Plan]:
    """Yield plans by serial generation in the order of given starts, or by area within windows of them.

    `starts` (s) and `nodes`, shape (jobs,), are those with which each job is cheapest under the prices of a
    bound; `sizes` are those that jobs may take.
    """
    chosen = sizes.offsets[:-1].copy()
    for job in np.flatnonzero(np.diff(sizes.offsets) > 1).tolist():
        choices = sizes.nodes[sizes.offsets[job] : sizes.offsets[job + 1]]
        chosen[job] += int(np.argmin(np.abs(choices - nodes[job])))
    for window in (None, *_DUAL_WINDOWS):
        order = serial_order(problem, "area", window, starts)
        yield Plan.in_order(problem, sizes, chosen, order)
        if not problem.is_rigid:
            yield Plan(problem, sizes, *serial_plan(problem, order, sizes))


def _frugal(sizes: Sizes, factor: float) -> tuple[Sizes, IntArray]:
    """Return the sizes of at most `factor` times the least area of their job, and their indices."""
    area = sizes.nodes * sizes.seconds
    if not len(area) or factor == math.inf:
        return sizes, np.arange(len(area))
    least_area = np.minimum.reduceat(area, sizes.offsets[:-1])
    allowed = area <= np.repeat(least_area, np.diff(sizes.offsets)) * factor
    offsets = np.concatenate([[0], np.cumsum(allowed)])[sizes.offsets]
    kept = Sizes(frozen(offsets), frozen(sizes.nodes[allowed]), frozen(sizes.seconds[allowed]))
    return kept, np.flatnonzero(allowed)


class Reinserter:
    """The state of a search: a plan, which is changed in place, the costs of its jobs and the random numbers.

    Moves are compared by the first two terms of the objective that are means over the jobs. If the makespan
    comes first, it is first reduced to `target`, a lower bound on it in seconds, and after that never rises
    above it. The same seed gives the same moves.
    """

    def __init__(self, plan: Plan, objective: WorkloadObjective, seed: int, target: float = 0.0) -> None:
        self.plan, self.objective = plan, objective
        problem, sizes = plan.problem, plan.sizes
        count = len(problem.jobs)
        self._target = target
        self._drawn = np.ones(count, dtype=bool)
        self._makespan = plan_costs(problem, "makespan", sizes, target)
        means = [plan_costs(problem, term, sizes) for term in objective if term != "makespan"]
        self._means: tuple[Costs, Costs] = (self._makespan, self._makespan)
        if means:
            zeros = frozen(np.zeros(count))
            none = means[0]._replace(slope=zeros, floor=zeros, least=zeros)
            self._means = means[0], means[1] if len(means) > 1 else none
        state = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
        self._moves = Moves(
            by_start=np.zeros(count, dtype=np.int64),
            sorted_starts=np.zeros(count),
            cumulative=np.zeros(count),
            random=state,
            latest_end=np.array([math.inf]),
            jobs=np.zeros(MAX_REMOVED, dtype=np.int64),
            old_starts=np.zeros(MAX_REMOVED),
            old_chosen=np.zeros(MAX_REMOVED, dtype=np.int64),
            keys=np.zeros(MAX_REMOVED),
        )

    def only(self, jobs: IntArray) -> None:
        """Let moves be about the waits of some jobs only; they may move others, too."""
        self._drawn[:] = False
        self._drawn[jobs] = True

    def run(self, moves: int) -> bool:
        """Make moves; return False if there were none to make because no plan can be better."""
        plan = self.plan
        starts, seconds = plan.placed.starts, plan.seconds
        latest = float((starts + seconds).max(initial=0))
        first, second = self._means
        self._moves.latest_end[0] = math.inf
        if "makespan" in self.objective:
            leads = self.objective[0] == "makespan"
            if leads and latest > self._target:
                first, second = self._makespan, first
            self._moves.latest_end[0] = max(latest, self._target) if leads else math.inf
        weights = _excess(first, starts, seconds) * self._drawn
        if not weights.sum() > 0:
            weights = _excess(second, starts, seconds) * self._drawn
        if not weights.sum() > 0:
            return False
        order = np.argsort(starts, kind="stable")
        self._moves.by_start[:] = order
        self._moves.sorted_starts[:] = starts[order]
        np.cumsum(weights, out=self._moves.cumulative)
        plan.free.reinsert(plan.sizes, (first, second), plan.placed, self._moves, moves)
        return True

    def excess(self) -> FloatArray:
        """Return the cost of each job beyond its least cost, by the first term of the objective."""
        return _excess(self._leading(), self.plan.placed.starts, self.plan.seconds)

    def slopes(self, jobs: IntArray) -> FloatArray:
        """Return the cost of a second of delay of each of these jobs."""
        slopes: FloatArray = self._leading().slope[jobs]
        return slopes

    def cost_of(self, jobs: IntArray) -> float:
        """Return the total cost of these jobs."""
        costs, plan = self._leading(), self.plan
        times = plan.placed.starts[jobs] + plan.seconds[jobs] * costs.of_end
        return math.fsum(
            np.maximum(costs.floor[jobs], costs.slope[jobs] * (times - costs.reference[jobs])).tolist()
        )

    def _leading(self) -> Costs:
        """Return the costs under the first term of the objective."""
        return self._makespan if self.objective[0] == "makespan" else self._means[0]


def _excess(costs: Costs, starts: FloatArray, seconds: FloatArray) -> FloatArray:
    """Return the cost of each job beyond its least cost."""
    times = starts + seconds * costs.of_end
    return np.maximum(costs.floor, costs.slope * (times - costs.reference)) - costs.least


@dataclass(frozen=True, slots=True)
class Reinsertion(Options):
    """Start from serial generation; take a waiting job and some that overlap its wait out, put them back.

    Clairvoyant, as `SerialGeneration`.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them, lexicographic.

    Notes
    -----
    A move draws a job in proportion to what its wait costs, takes it and 1 to 16 jobs out that run between
    its submission and its end (or in a span of that), and puts them back one by one at their earliest places,
    in one of four kinds of order. It stays if it costs no more. The budget's iterations count moves; if it
    limits nothing, 50 moves are made for each job, at least 20,000; if it limits the time only, 10,000 for
    each job, at least 200,000. Same seed and iterations, same answer.

    *Guarantee*: feasible; no worse than serial generation in six orders, which it tries first. The cheap
    bound ends the search where a plan meets it: that is ``optimal``. No other bound.
    *Complexity*: about 10 microseconds for a move.

    References
    ----------
    Ruiz & Stützle, "A simple and effective iterated greedy algorithm for the permutation flowshop scheduling
    problem", European Journal of Operational Research 177(3), 2007 (destruction and construction).

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, WorkloadProblem
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> Reinsertion(("makespan",))(problem, Budget(iterations=100)).objective
    1011.0
    """

    objective: WorkloadObjective = ("turnaround",)
    params: ReinsertionParams = field(default=ReinsertionParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Search within the budget of seconds and moves."""
        clock = budget.start()
        moves = budget.iterations
        if moves is None:
            timed = max(self.params.least_timed_moves, self.params.timed_moves_per_job * len(problem.jobs))
            moves = timed if clock.remaining < math.inf else default_moves(problem, self.params)
        best = BestPlan(problem, self.objective, clock)
        limit: Limit | None = None
        least = -math.inf
        if len(self.objective) == 1:
            least = workload_bound(problem.on_plain_machine(), self.objective[0])
        try:
            for plan in serial_plans(problem):
                best.offer(plan)
                if clock.remaining == 0:
                    break
            limit = improve(best, moves, budget.seed, least=least, params=self.params)
        except KeyboardInterrupt:
            if not best.values:
                raise
            limit = Limit.INTERRUPTED
        bounds = best.values if best.values[0] <= least else ()
        return search_result(best.schedule(), best.values, bounds, limit, clock, best.incumbents)


def default_moves(problem: WorkloadProblem, params: ReinsertionParams = ReinsertionParams()) -> int:
    """Return the number of moves that are made if the budget limits nothing."""
    return max(params.least_moves, params.moves_per_job * len(problem.jobs))


def improve(
    best: BestPlan,
    moves: int,
    seed: int,
    clock: Clock | None = None,
    target: float = 0.0,
    least: float = -math.inf,
    *,
    params: ReinsertionParams = ReinsertionParams(),
) -> Limit | None:
    """Make moves from the best plan on, as long as there is time; return the limit that ended them.

    None if no plan can be better. The clock is that of `best` if it is left out; `target` is a lower bound on
    the makespan, in seconds, `least` one on the only term of the objective.
    """
    clock = best.clock if clock is None else clock
    search = Reinserter(best.plan(), best.objective, seed, target)
    while moves > 0:
        if best.values[0] <= least:
            return None
        if clock.remaining == 0:
            return Limit.TIME
        count = min(moves, params.round_moves)
        if not search.run(count):
            return None
        best.offer(search.plan)
        moves -= count
    return Limit.ITERATIONS
