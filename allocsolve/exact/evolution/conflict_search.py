"""Evolution-profile scheduling by clause learning over differences of times."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated

from allocsolve.exact.evolution._expansion import LATEST
from allocsolve.exact.evolution._kernels_sum import MAX_APPS
from allocsolve.exact.evolution._makespan_lanes import (
    Beside,
    CpSatLane,
    FromAbove,
    FromBelow,
    Knowledge,
    LaneParams,
    Orders,
    TotalKnowledge,
)
from allocsolve.exact.evolution.cpsat import EvolutionCpSat, start_budget, step_starts
from allocsolve.heuristics import Annealing
from allocsolve.heuristics.evolution.annealing import reported_value
from allocsolve.heuristics.evolution.list_scheduling import schedule_of
from allocsolve.kernels.threads import run_in_threads
from allocsolve.model import EvolutionObjective, Limit, Result
from allocsolve.model.options import Options, Within
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from allocsolve.exact.evolution._makespan_lanes import Lane
    from allocsolve.model import Budget, EvolutionProblem, EvolutionSchedule


@dataclass(frozen=True, slots=True)
class EvolutionConflictSearch(Options):
    """Prove the least makespan, or without expansion the least mean completion time, by clause learning.

    Whatever else is asked for (with expansion the mean completion time or the waste, one of makespan and mean
    completion time among the optima of the other) is handed to `EvolutionCpSat`.

    Parameters
    ----------
    objective
        As for `EvolutionCpSat`.
    max_applications
        Larger problems get the start schedule and a combinatorial bound only (limit ``size``).
    max_proof_mb
        Megabytes of the log from which the judge recomputes the bound; a longer log is dropped, and with 0
        there is none. Results of the makespan as the first term have the best bound that is left as
        `certificate`; those of the mean completion have that of `strong_completion_bound` or none.

    Notes
    -----
    *Method*: variables are the differences of all pairs of starts, closed under the triangle inequality; each
    pair has holes (offsets at which two of their blocks would over-commit the cluster), and triples of blocks
    give clauses of six differences. With expansion an application has several starts, one for each segment
    that moves by itself: some optimal schedule expands only the valleys of a profile, under a limit the
    slopes beside them as well. Conflicts are analysed to clauses as in a SAT solver. The relaxation is closed
    by covers, added when an answer violates them. One search looks for a better schedule than the best
    known, from above; one refutes times from below, while annealing goes on. With one worker they take turns;
    with two, the second thread has a second search from above too, and the two exchange short
    clauses. With expansion what steps may waste is limited by what the horizon leaves beside the areas
    (`_kernels_waste`), what is held before and after each step takes as long as it takes to pay for it, at
    prices with which the bound of `strong_makespan_bound` is above the area (`_kernels_prices`), and searches
    lean towards the best known schedule. For the makespan a third worker runs CP-SAT on the same relaxation;
    more search from above. For the mean completion time a limit on the sum of the starts joins the clauses:
    applications that one start moves, and pairs of applications of which one is late whichever comes first,
    add up to more than the limit, or bound a start (`_kernels_sum`).
    *Guarantee*: ``optimal`` is a proof; the bound holds at any time. With one worker and no time limit the
    same seed gives the same answer.
    *Complexity*: exponential; 15-17 applications of Klein's kind take seconds, 18-20 seconds to hours; with
    expansion ten take seconds to minutes, and of 15-20 three of twenty were proven, within 100 s each.

    References
    ----------
    Ohrimenko, Stuckey & Codish, "Propagation via lazy clause generation", Constraints 14, 2009 (explained
    bounds); Dechter, Meiri & Pearl, "Temporal constraint networks", Artificial Intelligence 49, 1991
    (differences with holes, closed under paths).
    """

    objective: EvolutionObjective = ("makespan",)
    max_applications: Annotated[int, Within(0)] = 40
    max_proof_mb: Annotated[int, Within(0)] = 8
    params: LaneParams = field(default=LaneParams(), repr=False)

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Solve within the budget."""
        packed = problem.packed
        rigid = bool((packed.durations == packed.max_durations).all())
        leading = next((term for term in self.objective if term != "waste"), None)
        if (
            (not rigid and self.objective != ("makespan",))
            or leading is None
            or {"makespan", "completion"} <= set(self.objective)
            or not len(packed.releases)
            or problem.horizon >= LATEST
        ):
            return EvolutionCpSat(self.objective)(problem, budget)
        clock = budget.start()
        start = Annealing(self.objective)(problem, start_budget(problem, budget, clock))
        assert start.answer is not None
        knowledge = Knowledge if leading == "makespan" else TotalKnowledge
        # The checker of the judge knows no sums.
        proof_bytes = self.max_proof_mb * 10**6 if leading == "makespan" else 0
        shared = knowledge(problem, clock, step_starts(start.answer), proof_bytes, self.params)
        max_apps = self.max_applications if leading == "makespan" else min(self.max_applications, MAX_APPS)
        small = len(packed.releases) <= max_apps
        if not small:
            shared.limit = Limit.SIZE
        elif start.limit is Limit.INTERRUPTED:
            shared.limit = start.limit
        elif shared.open:
            try:
                _run(shared, budget)
            except KeyboardInterrupt:
                shared.limit = Limit.INTERRUPTED
        proven = shared.bound >= shared.value
        # Terms after the first open term have no bound; waste is never open.
        open_at = len(self.objective) if proven else self.objective.index(leading) + 1
        shown = partial(reported_value, objective=self.objective, num_applications=len(packed.releases))
        met = ((seconds, shown(self._terms(value))) for seconds, value in shared.incumbents)
        return search_result(
            schedule_of(problem, shared.starts),
            self._terms(shared.value),
            self._terms(shared.bound)[:open_at],
            shared.limit,
            clock,
            (*start.incumbents, *met),
            certificate=shared.certificate if self.objective[0] == leading else None,
            shown=shown,
        )

    def _terms(self, value: float) -> tuple[float, ...]:
        """Return the terms of a schedule without expansion, thus without waste."""
        return tuple(0 if term == "waste" else value for term in self.objective)


def _turns(shared: Knowledge, budget: Budget) -> list[tuple[Lane, ...]]:
    """Return the lanes that take turns in each worker."""

    def seed(number: int) -> int:
        return (budget.seed + number) % 2**31

    # The annealing at the start used the seed itself.
    below, orders = FromBelow(shared, budget.seed), Orders(shared, seed(1))
    log = shared.new_log()
    # With expansion schedules near the best known are better much sooner, and proofs are as long.
    elastic = shared.problem.expand_limit > 1
    if budget.racing_workers == 1:
        above = FromAbove(shared, budget.seed, log, towards=elastic)
        beside = Beside(shared, below, above)
        return [(above, above, beside, above, above, beside, orders)]
    searches = [
        FromAbove(shared, seed(number), log, towards=elastic or number % 2 == 0 < number)
        for number in (0, *range(2, max(3, budget.racing_workers)))
    ]
    for search in searches:
        search.share_with(searches)
    first, second, *more = searches
    beside = Beside(shared, below, second)
    turns: list[tuple[Lane, ...]] = [(first,), (beside, beside, beside, orders)]
    if budget.racing_workers > 2 and shared.objective == ("makespan",):
        turns.append((CpSatLane(shared, budget.seed),))
    return [*turns, *((lane,) for lane in more)]


def _run(shared: Knowledge, budget: Budget) -> None:
    """Let the lanes search, in turn with one worker, else in threads."""

    def search(turns: tuple[Lane, ...]) -> None:
        try:
            for lane in itertools.takewhile(lambda _: shared.open, itertools.cycle(turns)):
                lane.advance()
        finally:
            shared.stop.set()

    # Without expansion what is refuted soon is more, and the verified checker takes it.
    if shared.problem.expand_limit > 1:
        shared.strengthen()
    alone, *more = _turns(shared, budget)
    if more:
        run_in_threads([partial(search, turns) for turns in (alone, *more)], shared.stop)
    else:
        search(alone)
