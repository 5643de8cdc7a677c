"""What evolving jobs may do: sizes change when the jobs ask for it, and only as they ask."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.judge.workload_reactive import reactive_matter
from allocsolve.judge.workload_shown import shown_seconds
from allocsolve.judge.workload_work import work_done
from allocsolve.model import MALLEABLE, PROFILE, REACTIVE, REQUESTED, Profile, expand_ratio
from allocsolve.model.profile import max_expanded_duration

if TYPE_CHECKING:
    from allocsolve.judge.workload_work import Progress
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

__all__ = ["elastic_matters", "elastic_violations"]


def elastic_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """Return the first thing that is wrong with each job that may change its size, each of some pieces.

    O(pieces).
    """
    matters = elastic_matters(problem, schedule, tolerance)
    return [f"job {problem.jobs.names[job]!r} {matters[job]}" for job in sorted(matters)]


def elastic_matters(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> dict[int, str]:
    """Return what `elastic_violations` says, by job."""
    reading = problem.jobs.evolving.reading
    by_law = np.flatnonzero((problem.packed.kind == MALLEABLE) | (reading == REQUESTED))
    progress = work_done(problem, schedule, by_law, tolerance)
    matters = {int(by_law[row]): matter for row, matter in progress.matters.items()}
    for row in np.flatnonzero(reading[by_law] == REQUESTED).tolist():
        job = int(by_law[row])
        matter = matters.get(job) or _request_matter(
            problem, schedule, job, progress, float(progress.slack[row])
        )
        if matter:
            matters[job] = matter
    for code, matter_of in ((PROFILE, _profile_matter), (REACTIVE, reactive_matter)):
        for job in np.flatnonzero(reading == code).tolist():
            matter = matter_of(problem, schedule, job, tolerance)
            if matter:
                matters[job] = matter
    return matters


def _request_matter(
    problem: WorkloadProblem, schedule: WorkloadSchedule, job: int, progress: Progress, slack: float
) -> str | None:
    """Return what is wrong with the changes of a job with requests: each must be one that it asks for."""
    packed, evolving = problem.packed, problem.jobs.evolving
    low, high = int(packed.min_nodes[job]), int(packed.max_nodes[job])
    rows = range(int(evolving.offsets[job]), int(evolving.offsets[job + 1]))
    moments = [(float(evolving.amounts[row]), int(evolving.nodes[row])) for row in rows]
    first, last = int(schedule.offsets[job]), int(schedule.offsets[job + 1])
    held, asked = int(schedule.nodes[first]), None
    for piece in (*range(first + 1, last), last):
        left = 0.0 if piece == last else 1 - float(progress.before[piece])
        size = held if piece == last else int(schedule.nodes[piece])
        # Moments that the job came to before this piece, and at last the one at which the piece begins.
        while moments and moments[0][0] >= left - slack:
            remaining, change = moments[0]
            wanted = min(max(held + change, low), high)
            at_boundary = piece < last and remaining <= left + slack
            del moments[0]
            asked = wanted if wanted > held else None
            if wanted < held:
                if not at_boundary or size != wanted:
                    share = f"{100 * remaining:.15g} % of its work left"
                    return f"does not give back {held - wanted} of {held} nodes with {share}"
                held = wanted
        if size == held:
            continue
        when = shown_seconds(schedule.starts[piece])
        if size != asked:
            wish = "nothing" if asked is None else f"{asked} nodes"
            return f"changes from {held} to {size} nodes at {when} s, but asks for {wish}"
        held, asked = size, None
    return None


def _profile_matter(
    problem: WorkloadProblem, schedule: WorkloadSchedule, job: int, tolerance: float
) -> str | None:
    """Return what is wrong with a job with a profile: a piece for each step, of its nodes, long enough."""
    profile = problem.jobs.evolutions[job]
    assert isinstance(profile, Profile)
    first, last = int(schedule.offsets[job]), int(schedule.offsets[job + 1])
    if last - first != len(profile.steps):
        return f"runs in {last - first} pieces, but has {len(profile.steps)} steps"
    ratio = expand_ratio(profile.expand_limit)
    for idx, (seconds, nodes) in enumerate(profile.steps):
        piece = first + idx
        start, end = float(schedule.starts[piece]), float(schedule.ends[piece])
        longest = math.inf if ratio is None else max_expanded_duration(seconds, ratio)
        lasts = end - start
        if schedule.nodes[piece] != nodes:
            return f"holds {schedule.nodes[piece]} nodes in step {idx}, but needs {nodes}"
        if idx and abs(start - float(schedule.ends[piece - 1])) > tolerance:
            return f"begins step {idx} at {shown_seconds(start)} s, not when the one before ends"
        if not seconds - tolerance <= lasts <= longest + tolerance:
            limits = f"{seconds} to {longest} s" if longest < math.inf else f"{seconds} s or more"
            return f"holds the nodes of step {idx} for {shown_seconds(lasts)} s instead of {limits}"
    return None
