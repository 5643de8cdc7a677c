"""Conservative backfilling from its definition: holes are looked for by trying every end of an interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

__all__ = ["Interval", "earliest_hole", "naive_conservative", "naive_list_starts"]


class Interval(NamedTuple):
    start: float
    end: float
    nodes: int


def earliest_hole(intervals: list[Interval], num_nodes: int, nodes: int, length: float, now: float) -> float:
    """Return the earliest start from now on at which the nodes are free for this long."""
    for start in sorted({now, *(i.end for i in intervals if i.end > now)}):
        instants = {start, *(i.start for i in intervals if start < i.start < start + length)}
        held = [sum(i.nodes for i in intervals if i.start <= at < i.end) for at in instants]
        if max(held) + nodes <= num_nodes:
            return start
    raise AssertionError


def naive_list_starts(problem: WorkloadProblem) -> list[float]:
    """Place each job at its earliest hole for its run time, in the order of submission."""
    jobs = list(problem.jobs)
    starts = [math.nan] * len(jobs)
    placed: list[Interval] = []
    for idx in sorted(range(len(jobs)), key=lambda idx: jobs[idx].submit):
        job = jobs[idx]
        start = earliest_hole(placed, problem.num_nodes, job.nodes, job.runtime, job.submit)
        placed.append(Interval(start, start + job.runtime, job.nodes))
        starts[idx] = start
    return starts


def naive_conservative(
    problem: WorkloadProblem, compression: str, *, exact: bool = False
) -> tuple[list[float], list[float]]:
    """Return when each job starts and the first reservation of each."""
    jobs = list(problem.jobs)
    estimates = (problem.packed.runtime if exact else problem.packed.estimate).tolist()
    future = sorted(range(len(jobs)), key=lambda idx: jobs[idx].submit)
    starts, promised = [math.nan] * len(jobs), [math.nan] * len(jobs)
    queue: list[int] = []
    reserved: dict[int, float] = {}
    running: list[int] = []
    now = -math.inf

    def place(idx: int, latest: float = math.inf) -> float:
        plan = [Interval(starts[j], starts[j] + estimates[j], jobs[j].nodes) for j in running]
        plan += [Interval(reserved[j], reserved[j] + estimates[j], jobs[j].nodes) for j in reserved]
        return min(latest, earliest_hole(plan, problem.num_nodes, jobs[idx].nodes, estimates[idx], now))

    while future or queue:
        events = [starts[j] + jobs[j].runtime for j in running] + [reserved[j] for j in queue]
        events += [jobs[j].submit for j in future]
        ends = [starts[j] + jobs[j].runtime for j in running]
        now = min(time for time in events if time > now or (time == now and time in ends))
        over = [j for j in running if starts[j] + jobs[j].runtime <= now]
        early = any(starts[j] + estimates[j] > now for j in over)
        running = [j for j in running if j not in over]
        if any(reserved[j] < now for j in queue) or (early and compression == "replan"):
            reserved.clear()
            for j in queue:
                reserved[j] = place(j)
        elif early and compression == "compress":
            for j in queue:
                before = reserved.pop(j)
                reserved[j] = place(j, before)
        while future and jobs[future[0]].submit <= now:
            j = future.pop(0)
            queue.append(j)
            promised[j] = reserved[j] = place(j)
        for j in tuple(queue):
            idle = problem.num_nodes - sum(jobs[i].nodes for i in running)
            if reserved[j] == now and jobs[j].nodes <= idle:
                starts[j] = now
                queue.remove(j)
                del reserved[j]
                running.append(j)
    return starts, promised
