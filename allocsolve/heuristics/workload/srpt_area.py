"""Clairvoyant: the job with the least remaining area gets all the nodes that it can use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import sort_queue
from allocsolve.heuristics.workload.policies import SMALLEST_AREA_FIRST, run_queue
from allocsolve.heuristics.workload.rebalancing import Supply, grow, shrink_and_start
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import MALLEABLE, Result, Status, frozen
from allocsolve.simulation import EngineRules
from allocsolve.simulation.compiled import run_to_end
from allocsolve.simulation.kernels import Resizing, State, advance, has_room, largest_size, work_left
from allocsolve.simulation.outcome import schedule_of

if TYPE_CHECKING:
    from allocsolve.model import Budget, FloatArray, IntArray, PackedJobs, WorkloadProblem, WorkloadSchedule

#: The code of the order of the queue by area, see `_kernels_queue.ORDER_CODES`.
_SMALLEST_AREA: Final = 2


class Ranking(NamedTuple):
    """The arrays of a call. Shape (jobs,) unless another one is given."""

    #: The node-seconds, on its most nodes, of a second of work on its own number of nodes; read-only.
    area: FloatArray
    #: The node-seconds of a job over its own number of nodes, by which the queue is sorted; read-only.
    share: FloatArray
    #: By job: the node-seconds that are left, infinite after its end.
    left: FloatArray
    #: Malleable jobs that run, by what was left in the last call; shape (2,): their number, and the number of
    #: started jobs that have been taken in.
    ranked: IntArray
    counts: IntArray
    #: As in `allocsolve.heuristics.workload.rebalancing.Auction`.
    members: IntArray
    wanted: IntArray
    admitted: IntArray


def initial_ranking(jobs: PackedJobs, seconds: FloatArray, nodes: IntArray) -> Ranking:
    """Return the ranking before the first call. Shape (jobs,): jobs run for `seconds` on `nodes` nodes."""
    count = len(nodes)

    def numbers() -> IntArray:
        return np.zeros(count, dtype=np.int64)

    return Ranking(
        area=frozen(seconds * nodes / jobs.runtime),
        share=frozen(seconds * nodes / jobs.nodes),
        left=np.zeros(count),
        ranked=numbers(),
        counts=np.zeros(2, dtype=np.int64),
        members=numbers(),
        wanted=numbers(),
        admitted=numbers(),
    )


@inner_kernel
def _rank(jobs: PackedJobs, state: State, resizing: Resizing, ranking: Ranking) -> int:
    """Sort running malleable jobs by the area that is left, then by index; return their number.

    Insertion sort is fast here, as the order changes little from call to call.
    """
    ranked, left = ranking.ranked, ranking.left
    for at in range(state.engine.completed):
        left[state.events[at]] = np.inf
    count = 0
    for at in range(ranking.counts[0]):
        if left[ranked[at]] < np.inf:
            ranked[count] = ranked[at]
            count += 1
    for at in range(ranking.counts[1], state.engine.started):
        job = state.started[at]
        if jobs.kind[job] == MALLEABLE and left[job] < np.inf:
            ranked[count] = job
            count += 1
    ranking.counts[0], ranking.counts[1] = count, state.engine.started
    for at in range(count):
        job = ranked[at]
        area = work_left(state, resizing, job) * ranking.area[job]
        left[job] = area
        place = at
        while place > 0:
            before = ranked[place - 1]
            if left[before] < area or (left[before] == area and before < job):
                break
            ranked[place] = before
            place -= 1
        ranked[place] = job
    return count


@inner_kernel
def _share_out(jobs: PackedJobs, state: State, resizing: Resizing, ranking: Ranking, count: int) -> Supply:
    """Set the size of each job: running jobs keep their fewest nodes, the rest goes by least area left."""
    running = incoming = shared = floors = 0
    for at in range(count):
        job = ranking.ranked[at]
        size, target = state.job[job].size, resizing.job[job].target
        if size == target:
            ranking.members[running] = job
            running += 1
            shared += size
            floors += jobs.min_nodes[job]
        else:
            incoming += max(0, size - target)
    shared += state.engine.free + incoming
    room, nth, at, admitted, needed = shared - floors, 0, state.engine.head, 0, 0
    tail = state.engine.tail
    while nth < running or (room > 0 and at < tail):
        queued = room > 0 and at < tail
        if nth < running and queued:
            queued = ranking.left[state.queue[at]] < ranking.left[ranking.members[nth]]
        if not queued:
            job = ranking.members[nth]
            nth += 1
            ranking.wanted[job] = largest_size(jobs, job, jobs.min_nodes[job] + room)
            room -= ranking.wanted[job] - jobs.min_nodes[job]
            continue
        job = state.queue[at]
        need = jobs.min_nodes[job]
        if need <= room:
            ranking.wanted[job] = largest_size(jobs, job, room) if jobs.kind[job] == MALLEABLE else need
            room -= ranking.wanted[job]
            needed += need
            ranking.admitted[admitted] = at
            admitted += 1
        at += 1
    return Supply(running, running, admitted, needed, shared, incoming)


@kernel
def run_ranked(jobs: PackedJobs, state: State, resizing: Resizing, ranking: Ranking, coalesce: bool) -> bool:
    """Run a workload to its end; return False if the log of changes has to grow first."""
    while has_room(state, resizing):
        if not advance(state, np.inf, coalesce, jobs, resizing):
            return True
        count = _rank(jobs, state, resizing, ranking)
        first = state.engine.tail - state.engine.submitted
        sort_queue(jobs, state, ranking.share, ranking.left, _SMALLEST_AREA, first)
        supply = _share_out(jobs, state, resizing, ranking, count)
        members, wanted = ranking.members, ranking.wanted
        spare = shrink_and_start(jobs, state, resizing, members, wanted, ranking.admitted, supply)
        grow(jobs, state, resizing, members, wanted, supply, spare)
    return False


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
    if problem.is_rigid and not problem.node_types:  # the same, by a kernel that other policies have compiled
        policy = replace(SMALLEST_AREA_FIRST, coalesce=coalesce)
        return run_queue(problem, policy, policy.rules).schedule
    problem.check_plain("sizes")
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
