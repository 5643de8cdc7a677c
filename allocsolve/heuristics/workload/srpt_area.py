"""Clairvoyant: the job with the least remaining area gets all the nodes that it can use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_srpt_area import initial_ranking, run_ranked
from allocsolve.heuristics.workload.policies import SMALLEST_AREA_FIRST, run_queue
from allocsolve.model import MALLEABLE, Result, Status
from allocsolve.simulation import EngineRules
from allocsolve.simulation.compiled import run_to_end
from allocsolve.simulation.outcome import schedule_of

if TYPE_CHECKING:
    from allocsolve.model import Budget, WorkloadProblem, WorkloadSchedule


@dataclass(frozen=True, slots=True)
class SrptArea:
    """Clairvoyant: shortest remaining processing time first, time being that of all nodes together.

    At every event each running malleable job keeps its least nodes. The others go to running and queued jobs
    in the order of what is left of them, in node-seconds on their most nodes: running jobs grow as far as
    they can, queued ones start with as many nodes as are left if these are enough. Jobs of other kinds start
    on their least nodes and have these, which is what their area is for.

    Notes
    -----
    *Complexity*: O(running jobs + queue) for each event; 41,524 jobs of Cori KNL take seconds.
    *Guarantee*: feasible. On one node, where all jobs are submitted together, least mean turnaround.
    *Reference*: Schrage, Oper. Res. 16 (1968), for one machine and jobs that can be suspended.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 6, "speedup": Amdahl(0.9), "kind": "malleable"}
    >>> problem = WorkloadProblem(6, [Job(0, 2, 110, **job), Job(40, 2, 11, **job)])
    >>> [[piece[2] for piece in SrptArea()(problem, Budget()).answer.pieces(idx)] for idx in range(2)]
    [[6, 1, 6], [5]]
    """

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Run the workload; the budget does not limit it."""
        clock = budget.start()
        return Result(Status.FEASIBLE, srpt_area_schedule(problem), runtime=clock.elapsed)


def srpt_area_schedule(problem: WorkloadProblem, *, coalesce: bool = True) -> WorkloadSchedule:
    """Return the schedule in which the least remaining area comes first, see `SrptArea`.

    `coalesce` has the meaning that it has in `allocsolve.simulation.EngineRules`.
    """
    if problem.is_rigid:  # the same, by a kernel that other policies have compiled
        policy = replace(SMALLEST_AREA_FIRST, coalesce=coalesce)
        return run_queue(problem, policy, policy.rules).schedule
    EngineRules(coalesce).check(problem, answers=False)
    packed, count = problem.packed, len(problem.jobs)
    nodes = np.where(packed.kind == MALLEABLE, packed.max_nodes, packed.min_nodes)
    ranking = initial_ranking(packed, problem.run_times(nodes, np.arange(count)), nodes)

    return schedule_of(
        *run_to_end(
            problem,
            lambda jobs, state, resizing: run_ranked(jobs, state, resizing, ranking, coalesce),
            ordered=None,
        )
    )
