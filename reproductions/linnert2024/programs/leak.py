"""Leaking jobs: they book nothing, start as soon as a node is free, and take nodes as they fork."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.model import REJECTED, ReservationProblem, ReservationSchedule
from allocsolve.model.checks import instance
from reproductions.linnert2024.programs._kernels_execution import run_jobs
from reproductions.linnert2024.programs.calibration import calibrate
from reproductions.linnert2024.programs.program_set import program_set
from reproductions.linnert2024.programs.rules import (
    ExecutionRules,
    LeakRules,
    machine_of,
)
from reproductions.linnert2024.programs.state import executed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.kernels.records import Records
    from allocsolve.model import FloatArray, IntArray
    from reproductions.linnert2024.programs.program import Program
    from reproductions.linnert2024.programs.state import Hold


def execute_leaking(
    problem: ReservationProblem,
    rules: ExecutionRules | None = None,
    leak: LeakRules | None = None,
    programs: Mapping[int, Program] | None = None,
) -> ReservationSchedule:
    """Run the programs of all jobs, which take their nodes as they go.

    A job starts as soon as one node is free, those before it in the queue first: on the first free node on
    the snake, looked for from row (index of the job) modulo (number of rows) on, and on as many more as it
    has first processes and asks for nodes, breadth-first from there, as far as there are. A forked process
    goes to its parent's node if a core is free there; else to a free neighbour of that node; else to one of
    another node of the job, breadth-first from there, then by id; else, if not contiguous, to the next free
    node on the snake; else to its parent's node. A node is given back when the last process on it has
    ended. A job that has not ended by its deadline is cancelled there, also while it waits.

    `InvalidProblem` if a program does not end or takes no time; `UnsupportedProblem` if a job has no program;
    if jobs may not leak; if the problem asks for sets of nodes of a shape: a contiguous leak starts on
    ``connected`` ones, and no other shape is kept to.

    The schedule says of each job what became of it, and has a hold for each stretch of time in which the job
    had a node.

    Parameters
    ----------
    problem
        All jobs have programs. A job whose deadline is before its arrival plus its run time is rejected.
    rules, leak
        How programs run, and how jobs take nodes; all defaults if None.
    programs
        Programs of jobs by their index, in place of those of their kinds.

    Notes
    -----
    Events at one instant come in this order: ends of computations, arrivals of messages, starts of forked
    processes, arrivals of results, ends by deadline, arrivals of jobs; then jobs of the queue start.

    *Guarantee*: none. *Complexity*: O(log processes) for each operation, O(nodes) for a fork at worst.

    References
    ----------
    Linnert et al. 2024, section 4.

    Examples
    --------
    >>> from allocsolve.model import DeadlineJob, Mesh
    >>> problem = ReservationProblem(Mesh((2, 2)), [DeadlineJob(0, 3, 60, 90, program=1)] * 2, leaking=True)
    >>> schedule = execute_leaking(problem)
    >>> # The second job has all of its processes on one node.
    >>> schedule.outcomes.tolist(), schedule.ends.round(6).tolist()
    ([2, 2], [60.0, 54.0])
    """
    instance("problem", problem, ReservationProblem)
    rules, leak, own = rules or ExecutionRules(), leak or LeakRules(), programs or {}
    for idx, (name, job) in enumerate(zip(problem.names, problem.jobs, strict=True)):
        if job.program is None and idx not in own:
            raise UnsupportedProblem(f"job {name!r} has no program: only programs can leak")
    if not problem.leaking:
        msg = "the problem asks for bookings: jobs leak only where it says that they may (leaking)"
        raise UnsupportedProblem(msg)
    if problem.shape == "run" or (problem.shape == "connected" and not leak.contiguous):
        msg = f"the problem asks for nodes of the shape {problem.shape!r}, which this leak does not keep to"
        raise UnsupportedProblem(msg)
    packed, count = problem.packed, len(problem.jobs)
    idxs = np.flatnonzero(packed.arrival + packed.runtime <= packed.deadline).tolist()
    outcomes, ends, computed = np.full(count, REJECTED), np.full(count, np.nan), np.zeros(count)
    runs = program_set(problem, idxs, own)
    scales = calibrate(problem, idxs, runs, rules)
    machine = machine_of(problem.topology, rules, leak)
    arrival, limit = packed.arrival[idxs].astype(np.float64), packed.deadline[idxs].astype(np.float64)
    rows = problem.topology.num_nodes // problem.topology.shape[0]
    jobs, state = executed(
        machine,
        runs.arrays,
        program=runs.of_job,
        nodes=packed.nodes[idxs],
        start=arrival,
        limit=limit,
        scales=scales,
        sets=[np.zeros(0, dtype=np.int64)] * len(idxs),
        alone=False,
        row=np.array(idxs, dtype=np.int64) % rows,
    )
    run_jobs(machine, runs.arrays, jobs, state, alone=False)
    outcomes[idxs], ends[idxs] = state.job["outcome"], state.job["finished"]
    computed[idxs] = state.job["worked"] * scales.factor
    ends[outcomes == REJECTED] = np.nan
    holds = state.holds[: state.counts["rows"]]
    of = np.array(idxs, dtype=np.int64)[holds["job"]]
    return _with_holds(outcomes, ends, computed, of, holds)


def _with_holds(
    outcomes: IntArray, ends: FloatArray, computed: FloatArray, of: IntArray, holds: Records[Hold]
) -> ReservationSchedule:
    """Return the schedule with sorted holds; two holds are joined if a job took a node again at once."""
    order = np.lexsort((holds["start"], holds["node"], of))
    of, nodes = of[order], holds["node"][order]
    starts, finishes = holds["start"][order], holds["end"][order]
    goes_on = (of[1:] == of[:-1]) & (nodes[1:] == nodes[:-1]) & (starts[1:] == finishes[:-1])
    begins = np.flatnonzero(np.append(True, ~goes_on)[: len(of)])
    lasts = np.append(begins[1:], len(of))[: len(begins)] - 1
    of, nodes, starts, finishes = of[begins], nodes[begins], starts[begins], finishes[lasts]
    lasting = np.flatnonzero(starts < finishes)
    order = lasting[np.lexsort((nodes[lasting], starts[lasting], of[lasting]))]
    offsets = np.searchsorted(of[order], np.arange(len(outcomes) + 1))
    return ReservationSchedule(
        outcomes, ends, offsets, nodes[order], starts[order], finishes[order], computed
    )
