"""Workloads in the Standard Workload Format, as other simulators read them; with a schedule, with its waits.

Of the 18 fields these are filled: job number, submission, wait (-1 without a schedule), run time, size (5 and
8), requested time, status and user. The others are -1. There is no room for more: what is elastic about a job
is not held. See `allocsolve.instances.read_swf_log` for reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.instances.formats.unheld import Unheld, elastic_kinds
from allocsolve.instances.formats.workload_window import pieces_within
from allocsolve.judge.workload import TIME_TOLERANCE_S
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import WorkloadProblem, WorkloadSchedule

__all__ = ["swf_text", "swf_with_unheld"]

_COMPLETED, _UNKNOWN = 1, -1
_HEADER = """\
; Version: 2.2
; Computer: {name}
; MaxJobs: {count}
; MaxRecords: {count}
; MaxNodes: {num_nodes}
; MaxProcs: {num_nodes}
; Note: sizes are numbers of nodes; written by allocsolve
"""


def swf_text(
    problem: WorkloadProblem, schedule: WorkloadSchedule, window: tuple[float, float] | None = None
) -> str:
    """Return a schedule as a log; see `swf_with_unheld`. Jobs that run in the window in part are whole."""
    return swf_with_unheld(problem, schedule, window)[0]


def swf_with_unheld(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule | None = None,
    window: tuple[float, float] | None = None,
) -> tuple[str, Unheld]:
    """Return a problem, or a schedule of it, as a log, and what that does not hold.

    Parameters
    ----------
    problem
        The problem. Its jobs are written in order of submission.
    schedule
        An answer to it, feasible or not, from which sizes, waits and run times are taken.
    window
        First and last instant in seconds: only jobs that run then; None for all.
    """
    packed, jobs = problem.packed, problem.jobs
    order = np.argsort(packed.submit, kind="stable")
    if schedule is not None and window is not None:
        order = order[np.isin(order, pieces_within(schedule, window)[1])]
    unheld = Unheld()
    unheld.add("order of the jobs, now by submission", bool((np.diff(packed.submit) < 0).any()))
    numbers = _numbers(jobs.names, [*range(1, len(jobs) + 1)])
    if [*map(str, numbers)] != [*jobs.names]:
        unheld.add("names of jobs, now numbers", len(jobs))
    users = _users(jobs.users or (None,) * len(jobs), unheld)
    for kind, count in elastic_kinds(problem).items():
        unheld.add(f"{kind} jobs, as rigid ones", count)
    unheld.add("weights of jobs", int((packed.weight != 1).sum()))
    unheld.add("name of the problem", bool(problem.name))
    unheld.add("meta of the problem", bool(problem.meta))
    lines, fractions = [], 0
    for idx in order.tolist():
        submit, limit = float(packed.submit[idx]), float(jobs.limit[idx])
        wait, run, size = _run(problem, schedule, idx, unheld)
        times = submit, wait, run, -1 if np.isnan(limit) else limit
        fractions += any(time % 1 for time in times)
        texts = [*map(_text, times)]
        fields = [str(numbers[idx]), *texts[:3], str(size), "-1", "-1", str(int(packed.nodes[idx])), texts[3]]
        status = _COMPLETED if schedule is None or wait >= 0 else _UNKNOWN
        lines.append(" ".join([*fields, "-1", str(status), str(users[idx]), *["-1"] * 6]))
    unheld.add("jobs with fractions of seconds, which some readers refuse", fractions)
    header = _HEADER.format(name=_line(problem.name), count=len(lines), num_nodes=problem.num_nodes)
    return header + "".join(f"{line}\n" for line in lines), unheld


def _run(
    problem: WorkloadProblem, schedule: WorkloadSchedule | None, idx: int, unheld: Unheld
) -> tuple[float, float, int]:
    """Return wait, run time and size of a job."""
    packed = problem.packed
    runtime, nodes = float(packed.runtime[idx]), int(packed.nodes[idx])
    if schedule is None:
        return -1, runtime, nodes
    pieces = schedule.pieces(idx)
    if not pieces:
        unheld.add("jobs that never run")
        return -1, runtime, nodes
    start, end, size = pieces[0][0], pieces[-1][1], pieces[0][2]
    unheld.add(
        "scheduled jobs that change their size: the first one", len({piece[2] for piece in pieces}) > 1
    )
    wait = start - float(packed.submit[idx])
    unheld.add("scheduled jobs that start before their submission", wait < 0)
    # The sum of start and run time may have been rounded.
    took = runtime if abs(end - start - runtime) <= TIME_TOLERANCE_S else end - start
    return wait, took, size


def _numbers(names: Sequence[str], else_: list[int]) -> list[int]:
    """Return the names as job numbers if all of them are such, else other numbers."""
    if all(name.isascii() and name.isdigit() and str(int(name[:17])) == name for name in names):
        numbers = [*map(int, names)]
        if max(numbers, default=0) < MAX_INTEGER:
            return numbers
    return else_


def _users(users: Sequence[str | None], unheld: Unheld) -> list[int]:
    """Return the users as numbers; -1 for nobody."""
    known = [user for user in dict.fromkeys(users) if user is not None]
    number_of = dict(zip(known, _numbers(known, [*range(1, len(known) + 1)]), strict=True))
    unheld.add("users, now numbers", sum(str(number) != user for user, number in number_of.items()))
    return [-1 if user is None else number_of[user] for user in users]


def _line(text: str) -> str:
    return " ".join(text.split())


def _text(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
