"""Execution of bookings: each job runs its program on the nodes that it booked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.model import BOOKED, REJECTED, SUCCESSFUL, ReservationProblem, ReservationSchedule
from allocsolve.model.checks import choice, instance
from reproductions.linnert2024.programs._kernels_execution import run_jobs
from reproductions.linnert2024.programs.calibration import calibrate
from reproductions.linnert2024.programs.program_set import program_set
from reproductions.linnert2024.programs.rules import OVERRUNS, ExecutionRules, LeakRules, Overrun, machine_of
from reproductions.linnert2024.programs.state import executed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import FloatArray
    from reproductions.linnert2024.programs.program import Program


def execute(
    problem: ReservationProblem,
    schedule: ReservationSchedule,
    rules: ExecutionRules | None = None,
    *,
    overrun: Overrun = "end",
    programs: Mapping[int, Program] | None = None,
) -> ReservationSchedule:
    """Run the programs of all booked jobs where and when they are booked.

    A job starts at its booking, on its nodes. Its first processes are laid on the nodes in the order of the
    Hilbert curve; a forked process goes to the node of the job with the fewest processes, of these to the
    nearest, of these to the first. The job is successful if it ends by its limit (what ends within a
    thousandth of a second behind it ends at it), else it is cancelled there. A job without a program computes
    on all of its nodes until its booking ends, and is successful.

    `InvalidAnswer` if the schedule is not one of bookings, or two bookings overlap on a node;
    `InvalidProblem` if a program does not end, or takes no time.

    Parameters
    ----------
    schedule
        Rejected and booked jobs.
    rules
        How programs run; all defaults if None.
    overrun
        ``end``: a job has to end by the end of its booking. ``grace``: by its deadline and the next booking
        of one of its nodes.
    programs
        Programs of jobs by their index, in place of those of their kinds.

    Returns
    -------
    ReservationSchedule
        Of each job what became of it; it holds its nodes until its booking is over, and if it may run on,
        until it ends.

    Notes
    -----
    *Guarantee*: a job on its reference partition (see `ExecutionRules`) takes its run time, as long as no
    other job uses its links. *Complexity*: O(log processes) for each operation, O(nodes of the job) for a
    fork; with contention O(flows x links) for each message.

    References
    ----------
    Linnert et al. 2024, section 5.

    Examples
    --------
    >>> from allocsolve.model import DeadlineJob, Mesh
    >>> problem = ReservationProblem(Mesh((4, 2)), [DeadlineJob(0, 4, 60, 90, program=0)] * 2)
    >>> booked = ReservationSchedule.of(problem, {0: (0, [0, 1, 4, 5]), 1: (20, [2, 3, 6, 7])})
    >>> execute(problem, booked).outcomes.tolist()
    [2, 2]
    >>> apart = ReservationSchedule.of(problem, {0: (0, [0, 3, 4, 7])})
    >>> [execute(problem, apart, overrun=rule).ends[0].tolist() for rule in ("end", "grace")]
    [60.0, 66.0]
    """
    instance("problem", problem, ReservationProblem)
    instance("schedule", schedule, ReservationSchedule, InvalidAnswer)
    choice("overrun", overrun, OVERRUNS)
    rules, own = rules or ExecutionRules(), programs or {}
    limits = _limits(problem, schedule, overrun)
    idxs = [
        idx
        for idx in np.flatnonzero(schedule.outcomes == BOOKED).tolist()
        if problem.jobs[idx].program is not None or idx in own
    ]
    outcomes, ends = np.where(schedule.outcomes == BOOKED, SUCCESSFUL, REJECTED), schedule.ends.copy()
    computed = np.where(schedule.outcomes == BOOKED, problem.packed.nodes * problem.packed.runtime, 0.0)
    if idxs:
        runs = program_set(problem, idxs, own)
        scales = calibrate(problem, idxs, runs, rules)
        machine = machine_of(problem.topology, rules, LeakRules())
        sets = [schedule.nodes[schedule.offsets[idx] : schedule.offsets[idx + 1]] for idx in idxs]
        alone = not rules.contention  # without contention, jobs do not affect each other
        jobs, state = executed(
            machine,
            runs.arrays,
            program=runs.of_job,
            nodes=problem.packed.nodes[idxs],
            start=schedule.first_starts[idxs],
            limit=limits[idxs],
            scales=scales,
            sets=sets,
            alone=alone,
        )
        run_jobs(machine, runs.arrays, jobs, state, alone)
        outcomes[idxs], ends[idxs] = state.job["outcome"], state.job["finished"]
        computed[idxs] = state.job["worked"] * scales.factor
    return ReservationSchedule(
        outcomes,
        ends,
        schedule.offsets,
        schedule.nodes,
        schedule.hold_starts,
        np.fmax(ends, schedule.ends)[schedule.job_of_hold],
        computed,
    )


def _limits(problem: ReservationProblem, schedule: ReservationSchedule, overrun: Overrun) -> FloatArray:
    """Return the time (s) by which each booked job has to end; refuse schedules that are not of bookings."""
    count = len(problem.jobs)
    if len(schedule.outcomes) != count:
        raise InvalidAnswer(f"the schedule is of {len(schedule.outcomes)} jobs, the problem has {count}")
    of, starts, ends = schedule.job_of_hold, schedule.hold_starts, schedule.hold_ends
    booked = schedule.outcomes == BOOKED
    wrong = ~(booked | (schedule.outcomes == REJECTED))
    wrong |= np.where(booked, problem.packed.nodes, 0) != np.diff(schedule.offsets)
    firsts = schedule.first_starts
    wrong[of[(starts != firsts[of]) | (ends != firsts[of] + problem.packed.runtime[of])]] = True
    wrong[of[(schedule.nodes < 0) | (schedule.nodes >= problem.topology.num_nodes)]] = True
    if wrong.any():
        name = problem.names[int(np.argmax(wrong))]
        raise InvalidAnswer(f"job {name!r} is neither rejected nor booked on its nodes for its run time")
    order = np.lexsort((starts, schedule.nodes))
    after, before = order[1:], order[:-1]
    same = schedule.nodes[after] == schedule.nodes[before]
    overlaps = same & (starts[after] < ends[before])
    if overlaps.any():
        k = int(np.argmax(overlaps))
        names = [problem.names[of[order[k + step]]] for step in range(2)]
        msg = f"jobs {names[0]!r} and {names[1]!r} have node {schedule.nodes[order[k]]} at the same time"
        raise InvalidAnswer(msg)
    limits = firsts + problem.packed.runtime
    if overrun == "grace":
        limits = np.maximum(limits, problem.packed.deadline)
        np.minimum.at(limits, of[before[same]], starts[after[same]])
    return limits
