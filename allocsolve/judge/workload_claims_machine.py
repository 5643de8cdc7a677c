"""Claims about the machine and single jobs of a workload: the rules of the problem, one by one.

`allocsolve.judge.violations` says at once whether they all hold, and what breaks them; here each rule is a
claim of its own, with the instant of its first breach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.judge.workload_evolving import elastic_matters
from allocsolve.judge.workload_history import counted_nodes
from allocsolve.judge.workload_shown import needed_sizes, shown_seconds
from allocsolve.judge.workload_work import off_points
from allocsolve.model import MALLEABLE, PROFILE

if TYPE_CHECKING:
    from allocsolve.judge.workload_history import Breach, History
    from allocsolve.model import IntArray

__all__ = [
    "capacity_breach",
    "limit_breach",
    "point_breach",
    "release_breach",
    "run_time_breach",
    "size_breach",
]


def capacity_breach(history: History) -> Breach | None:
    """Return the first instant from which on more nodes are held than there are.

    Of those who take nodes then, the last one in the queue is named.
    """
    instants, num_nodes = history.instants(), history.problem.num_nodes
    idle = history.idle_after(instants)
    if not (idle < 0).any():
        return None
    row = int(np.argmax(idle < 0))
    at, held = float(instants[row]), num_nodes - int(idle[row])
    pieces = np.flatnonzero(history.piece_starts == at)
    place = int(np.flatnonzero(np.isin(history.jobs, _jobs_of(history, pieces)))[-1])
    matter = f"takes nodes at {shown_seconds(at)} s, from when on {held} are held of {num_nodes}"
    return history.breach("capacity", place, at, matter, held=held, num_nodes=num_nodes)


def release_breach(history: History) -> Breach | None:
    """Return the first start that is before the submission of the job."""
    early = np.flatnonzero(history.start < history.submit)
    if not len(early):
        return None
    place = int(early[np.argmin(history.start[early])])
    at, submit = float(history.start[place]), float(history.submit[place])
    matter = f"starts at {shown_seconds(at)} s, before its submission at {shown_seconds(submit)} s"
    return history.breach("release", place, at, matter, submit=submit)


def limit_breach(history: History) -> Breach | None:
    """Return the first job that has run for longer than its limit, and when the limit was over.

    A limit is for the run time on `Job.nodes` nodes, and changes with the size as the run time does. Jobs
    that change their size, and those without a limit, are not held to any.
    """
    problem = history.problem
    rigid = (problem.packed.kind < MALLEABLE)[history.jobs]
    has_limit = ~np.isnan(problem.jobs.limit)[history.jobs] & rigid & (history.start < np.inf)
    limit = history.estimates(range(len(history.jobs)), history.held.tolist())
    start = np.where(has_limit, history.start, 0)
    ran = np.where(has_limit, history.end, 0) - start
    over = np.flatnonzero(has_limit & (ran > limit + history.tolerance))
    if not len(over):
        return None
    place = int(over[np.argmin((start + limit)[over])])
    at, end = float(start[place] + limit[place]), float(history.end[place])
    matter = (
        f"runs from {shown_seconds(start[place])} s to {shown_seconds(end)} s, "
        f"beyond its limit of {shown_seconds(limit[place])} s"
    )
    return history.breach("limits", place, at, matter, limit=limit[place], ran=ran[place], end=end)


def run_time_breach(history: History) -> Breach | None:
    """Return the first job that does not run once, without a break, for as long as its work takes.

    At its end; at its submission if it never runs. Jobs of wrong sizes, or that change them between points,
    are left to those claims.
    """
    problem, schedule = history.problem, history.schedule
    pieces, elastic = np.diff(schedule.offsets), problem.packed.kind >= MALLEABLE
    faults: dict[int, tuple[float, str]] = {}
    for job in np.flatnonzero(np.where(elastic, pieces < 1, pieces != 1)).tolist():
        if pieces[job]:
            second = int(schedule.offsets[job]) + 1
            matter = f"runs in {pieces[job]} pieces, but cannot change its size"
            faults[job] = (float(history.piece_starts[second]), matter)
        else:
            faults[job] = (float(problem.packed.submit[job]), "never runs")
    whole = np.flatnonzero(~elastic & (pieces == 1))
    at = schedule.offsets[whole]
    lasted = schedule.ends[at] - schedule.starts[at]
    needed = problem.run_times(schedule.nodes[at], whole)
    for row in np.flatnonzero(np.abs(lasted - needed) > history.tolerance).tolist():  # never those of NaN
        matter = f"runs for {shown_seconds(lasted[row])} s, but takes {shown_seconds(needed[row])} s"
        faults[int(whole[row])] = (float(schedule.ends[at[row]]), matter)
    if elastic.any() and (pieces[elastic] > 0).all():
        others = _jobs_of(history, np.concatenate([_wrong_sizes(history), _off_points(history)])).tolist()
        matters = elastic_matters(problem, schedule, history.tolerance)
        ends = schedule.ends[schedule.offsets[1:] - 1]
        faults |= {job: (float(ends[job]), matters[job]) for job in set(matters) - set(others)}
    if not faults:
        return None
    job = min(faults, key=lambda idx: (faults[idx][0], idx))
    at_once, matter = faults[job]
    return history.breach("run-times", history.place(job), at_once, matter, pieces=int(pieces[job]))


def size_breach(history: History) -> Breach | None:
    """Return the first piece of a size that its job does not allow; of profiles run times tell."""
    piece = _first(history, _wrong_sizes(history))
    if piece is None:
        return None
    job = int(_jobs_of(history, np.array([piece]))[0])
    at, nodes = float(history.piece_starts[piece]), int(history.schedule.nodes[piece])
    needed = needed_sizes(history.problem, job)
    matter = f"holds {counted_nodes(nodes)} from {shown_seconds(at)} s on, {needed}"
    return history.breach("sizes", history.place(job), at, matter, nodes=nodes)


def point_breach(history: History) -> Breach | None:
    """Return the first change of a size between the points of a malleable job."""
    piece = _first(history, _off_points(history))
    if piece is None:
        return None
    job = int(_jobs_of(history, np.array([piece]))[0])
    at, points = float(history.piece_starts[piece]), int(history.problem.packed.points[job])
    old, new = (int(history.schedule.nodes[row]) for row in (piece - 1, piece))
    matter = (
        f"changes from {old} to {new} nodes at {shown_seconds(at)} s, between its points "
        f"({points} equal parts of its work)"
    )
    return history.breach("points", history.place(job), at, matter, points=points, old=old, new=new)


def _jobs_of(history: History, pieces: IntArray) -> IntArray:
    jobs: IntArray = np.searchsorted(history.schedule.offsets, pieces, side="right") - 1
    return jobs


def _first(history: History, pieces: IntArray) -> int | None:
    """Return the piece that begins first, of equal ones that of the first job; None if there is none."""
    return int(pieces[np.argmin(history.piece_starts[pieces])]) if len(pieces) else None


def _wrong_sizes(history: History) -> IntArray:
    """Return the pieces of sizes that are not allowed."""
    problem, nodes = history.problem, history.schedule.nodes
    jobs = _jobs_of(history, np.arange(len(nodes)))
    wrong = np.isnan(problem.run_times(nodes, jobs)) & (problem.jobs.evolving.reading[jobs] != PROFILE)
    return np.flatnonzero(wrong)


def _off_points(history: History) -> IntArray:
    return off_points(history.problem, history.schedule, history.tolerance)
