"""Simulated annealing over the order in which evolving jobs are served, as a solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from allocsolve.errors import InvalidAnswer
from allocsolve.families import quick_answers
from allocsolve.heuristics.workload.list_annealing import BestSchedule, ListParams, anneal_lists
from allocsolve.heuristics.workload.service import Server, ServiceAnnealer
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Limit, WorkloadObjective, WorkloadSchedule
from allocsolve.model.options import Options

if TYPE_CHECKING:
    from allocsolve.model import Budget, Result, WorkloadProblem


@dataclass(frozen=True, slots=True)
class EvolvingAnnealingParams(ListParams):
    """The numbers of `EvolvingAnnealing`, measured on draws of evolving jobs, whose lists take longer."""

    lists_times_jobs: int = 400_000
    least_lists: int = 200
    most_lists: int = 20_000
    least_timed_lists: int = 0
    list_s_per_job: float = 1e-6
    list_s_per_pair: float = 1e-8


@dataclass(frozen=True, slots=True)
class EvolvingAnnealing(Options):
    """Clairvoyant: at each event free nodes go to jobs in the order of a list; the list is annealed.

    A list has an entry for the start of each job and one for its requests in each of its phases, each with a
    size: a job starts on as many nodes as are free, up to that size, and is granted requests up to that size.
    An entry may insist: it waits for its size in full, and keeps what is free from those behind it.

    `UnsupportedProblem` when called, if the machine has counted resources or closed windows.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them, lexicographic: lists are
        compared by the first one, schedules by all.
    start
        A feasible schedule, such as the answer of an earlier run: no result is worse.

    Notes
    -----
    A move takes an entry to another place in the list, lets two change places, changes a size or whether an
    entry insists; it is kept by Metropolis' rule, at a temperature that falls from the mean cost of a job
    (above its least cost) to a hundredth of it. The budget's iterations count lists; if it limits nothing,
    400,000 over the number of jobs are tried, 200 to 20,000; if it limits the time only, 50,000 for each job.
    Same seed and iterations, same answer.

    *Guarantee*: feasible; no worse than a registered policy that takes the workload, as
    `allocsolve.families.quick_answers` runs them, nor than `start`. The cheap bound ends the search where a
    schedule meets it: that is ``optimal``. No other bound. More than 5,000 jobs get the best of these
    schedules only (limit ``size``).
    *Not in any list*: changes of malleable jobs, which keep the size on which they start (`ListAnnealing` is
    made for them); starts and grants between events. Lists do not know how long a profile may expand.
    *Complexity*: O(events x jobs that want nodes) for a list; 20 microseconds for 20 jobs of 3 phases, 10
    ms for 1,000.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, Phases, WorkloadProblem
    >>> tree = {"min_nodes": 1, "max_nodes": 4, "evolution": Phases([(40, None)])}
    >>> problem = WorkloadProblem(4, [Job(0, 2, 20, **tree), Job(0, 2, 20, **tree)])
    >>> EvolvingAnnealing()(problem, Budget(iterations=100)).objective
    15.0
    """

    objective: WorkloadObjective = ("turnaround",)
    start: WorkloadSchedule | None = field(default=None, repr=False)
    params: EvolvingAnnealingParams = field(default=EvolvingAnnealingParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Search within the budget of seconds and lists."""
        clock = budget.start()
        problem.check_plain("sizes")
        best = BestSchedule(problem, self.objective, clock)
        if self.start is not None:
            faults = workload_violations(problem, self.start)
            if faults:
                raise InvalidAnswer(f"the schedule to start from is not feasible: {faults[0]}")
        given = [] if self.start is None else [self.start]
        quick = (answer for answer, _ in quick_answers(problem, self.objective, clock, seed=budget.seed))
        return best.searched(
            chain(given, quick),
            lambda starts, least: anneal_service_lists(best, starts, budget, self.params, least=least),
        )


def anneal_service_lists(
    best: BestSchedule,
    starts: list[WorkloadSchedule],
    budget: Budget,
    params: EvolvingAnnealingParams = EvolvingAnnealingParams(),
    *,
    least: float,
) -> Limit | None:
    """Anneal from the best list of some schedules; return the limit that ended it.

    None if no schedule can be better. `least` is a lower bound on the first term, if it is the only one; the
    time is that of the clock of `best`, of the budget the iterations and the seed count.
    """
    problem, clock, count = best.problem, best.clock, len(best.problem.jobs)
    if best.values[0] <= least:
        return None
    if count > params.most_jobs:
        return Limit.SIZE
    if clock.remaining == 0:
        return Limit.TIME
    if not count:
        return Limit.ITERATIONS
    server = Server(problem, best.objective[0])
    listed = min([*map(server.list_of, starts), server.list_by_area()], key=server.cost)
    search = ServiceAnnealer(server, listed, budget.seed)
    return anneal_lists(best, search, budget, params, least=least, clock=clock)
