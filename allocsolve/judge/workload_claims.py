"""What schedules of workloads claim to be, and the first time that they are not.

A schedule that was made anywhere can be held to the rules of the machine (``capacity``, ``release``,
``run-times``, ``limits``, ``sizes``, ``points``) and to what its policy is said to be (``fcfs``,
``work-conserving``, ``non-idling``, ``easy``, ``eager``, ``conservative``). `WORKLOAD_CLAIMS` says what each
one means.

The queue is in the order of submission; jobs of one instant stand in it as in the problem. At each instant
jobs end first, then jobs are submitted, then jobs start. The *head* is the first job that waits after all
starts of the instant. The *shadow time* of the head is the first instant, from this one on, at which as many
nodes are free as the fewest that it allows, if each running job ends when it is expected to: after the run
time that its user asked for (1.25 times its run time where none is given), or now if it has run for longer.
The *extra nodes* are those that are free at the shadow time, but for the fewest of the head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName
from allocsolve.judge.workload import schedule_tolerance
from allocsolve.judge.workload_claims_machine import (
    capacity_breach,
    limit_breach,
    point_breach,
    release_breach,
    run_time_breach,
    size_breach,
)
from allocsolve.judge.workload_claims_queue import (
    conservative_breach,
    eager_breach,
    easy_breach,
    fcfs_breach,
    idling_breach,
)
from allocsolve.judge.workload_history import Breach, History
from allocsolve.model import MALLEABLE
from allocsolve.model.job_kinds import JOB_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.model import WorkloadProblem, WorkloadSchedule

__all__ = ["WORKLOAD_CLAIMS", "Breach", "workload_breaches"]

#: All claims, each with what it means.
WORKLOAD_CLAIMS: Final[Mapping[str, str]] = {
    "capacity": "at no time more nodes are held than there are",
    "release": "no job starts before its submission",
    "run-times": "each job runs once, without a break, for as long as its work takes",
    "limits": "no job of one size runs for longer than its user asked for",
    "sizes": "jobs hold numbers of nodes that they allow",
    "points": "malleable jobs change their sizes at their points only",
    "fcfs": "jobs start in the order of their submission",
    "work-conserving": "no nodes idle that are enough for the head of the queue",
    "non-idling": "no nodes idle that are enough for any job that waits",
    "easy": "no start makes the shadow time of the head later",
    "eager": "no job is passed over that fits and would leave the shadow time of the head where it is",
    "conservative": "no start makes the planned start of a job before it in the queue later",
}

#: Claims that need expected ends, and so jobs that keep their size.
_EXPECTING: Final = ("easy", "eager", "conservative")


def workload_breaches(
    problem: WorkloadProblem, schedule: WorkloadSchedule, claims: Sequence[str] = tuple(WORKLOAD_CLAIMS)
) -> tuple[Breach, ...]:
    """Return the first breach of each claim that a schedule does not keep; empty if it keeps them all.

    ``easy``: several jobs that start at one instant do so in the order of the queue. A start by which the
    shadow time of the head moves is a breach; that is so if, and only if, the job neither is expected to end
    by the shadow time nor finds enough extra nodes. Which job is blamed depends on the order, whether there
    is a breach does not. ``eager``: jobs behind the head have their turns in the order of the queue, too; it
    is about rigid jobs. A schedule of rigid jobs keeps ``easy``, ``eager`` and ``work-conserving`` if, and
    only if, it is the one of EASY backfilling. ``conservative``: the plan is made anew at each instant: jobs
    that wait are planned one after the other in the order of the queue, each as early as possible on
    `Job.nodes` nodes. Where estimates are exact every kind of conservative backfilling keeps it; where jobs
    end early, one that keeps older reservations may not.

    Parameters
    ----------
    problem, schedule
        What was to be run, and what was made of it. It need not be feasible: a job that never runs waits for
        ever.
    claims
        Names of `WORKLOAD_CLAIMS`; all of them if left out.

    Returns
    -------
    tuple of Breach
        In the order of `claims`. Times that are multiples of a quarter of a second are compared exactly,
        others with `TIME_TOLERANCE_S`.

    Raises
    ------
    UnknownName
        If there is no such claim.
    InvalidOption
        If a claim needs expected ends, and there are jobs that change their sizes.
    InvalidAnswer
        If the schedule is none of this problem, or has a job in pieces where a claim needs expected ends.

    Notes
    -----
    *Complexity*: O((jobs + pieces) log) but for ``easy`` (times the running jobs), ``eager`` (times those and
    the queue) and ``conservative`` (times the square of those and the queue).

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem, WorkloadSchedule
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 1000, 1000)])
    >>> (breach,) = workload_breaches(problem, WorkloadSchedule.of(problem, [0, 1002, 2]), ["easy"])
    >>> breach.job, breach.at, breach.numbers["shadow_time"], breach.numbers["shadow_time_after"]
    ('j2', 2.0, 100.0, 1002.0)
    >>> workload_breaches(problem, WorkloadSchedule.of(problem, [0, 100, 110]), ["easy", "eager"])
    ()
    """
    for claim in claims:
        if claim not in WORKLOAD_CLAIMS:
            raise UnknownName("claim", claim, WORKLOAD_CLAIMS)
    if len(schedule.offsets) != len(problem.jobs) + 1:
        msg = f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted"
        raise InvalidAnswer(msg)
    for claim in claims:
        if claim in _EXPECTING:
            _check_expected(problem, schedule, claim)
    history = History.of(problem, schedule, schedule_tolerance(problem, schedule))
    found = (_BREACHES[claim](history) for claim in claims)
    return tuple(breach for breach in found if breach is not None)


def _check_expected(problem: WorkloadProblem, schedule: WorkloadSchedule, claim: str) -> None:
    """Refuse jobs of which nobody can say when they are expected to end."""
    elastic = np.flatnonzero(problem.packed.kind >= MALLEABLE)
    if len(elastic):
        name, kind = problem.jobs.names[elastic[0]], JOB_KINDS[problem.packed.kind[elastic[0]]]
        msg = f"the claim {claim} is about jobs that keep their size, job {name!r} is {kind}"
        raise InvalidOption(msg)
    pieces = np.diff(schedule.offsets)
    if (pieces > 1).any():
        job = int(np.argmax(pieces > 1))
        msg = (
            f"the claim {claim} is about jobs of one piece, job {problem.jobs.names[job]!r} has {pieces[job]}"
        )
        raise InvalidAnswer(msg)


_BREACHES: Final[Mapping[str, Callable[[History], Breach | None]]] = {
    "capacity": capacity_breach,
    "release": release_breach,
    "run-times": run_time_breach,
    "limits": limit_breach,
    "sizes": size_breach,
    "points": point_breach,
    "fcfs": fcfs_breach,
    "work-conserving": lambda history: idling_breach(history, "work-conserving", head_only=True),
    "non-idling": lambda history: idling_breach(history, "non-idling", head_only=False),
    "easy": easy_breach,
    "eager": eager_breach,
    "conservative": conservative_breach,
}
