"""What schedules of rigid and moldable jobs claim, checked instant by instant as the definitions say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from naive_conservative import Interval, earliest_hole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import WorkloadProblem, WorkloadSchedule


class Run(NamedTuple):
    job: int
    submit: float
    start: float
    end: float
    nodes: int
    fewest: int
    expected: float  #: seconds on the nodes that it holds


def naive_breaches(problem: WorkloadProblem, schedule: WorkloadSchedule) -> dict[str, tuple[str, float]]:
    """Return the job and the instant of the first breach of each claim that does not hold."""
    runs = [run_of(problem, schedule, job) for job in range(len(problem.jobs))]
    queue = sorted(runs, key=lambda run: run.submit)
    found: dict[str, tuple[str, float]] = {}
    for claim, run, at in [*early(queue), *breaches(problem, queue)]:
        found.setdefault(claim, (problem.jobs.names[run.job], at))
    return found


def early(queue: list[Run]) -> Iterator[tuple[str, Run, float]]:
    for run in sorted(queue, key=lambda run: run.start):
        if run.start < run.submit:
            yield "release", run, run.start


def breaches(problem: WorkloadProblem, queue: list[Run]) -> Iterator[tuple[str, Run, float]]:
    """Yield what is wrong at each instant, in order of time."""
    instants = {time for run in queue for time in (run.submit, run.start, run.end)}
    for at in sorted(instants - {math.inf}):
        started = [run for run in queue if run.start == at]
        waiting = [run for run in queue if run.submit <= at < run.start]
        running = [run for run in queue if run.start < at < run.end]
        held = sum(run.nodes for run in [*running, *started])
        if started and held > problem.num_nodes:
            yield "capacity", started[-1], at
        if waiting:
            fitting = [run for run in waiting if run.fewest <= problem.num_nodes - held]
            yield from (("non-idling", run, at) for run in fitting)
            yield from (("work-conserving", run, at) for run in fitting if run == waiting[0])
            place = queue.index(waiting[0])
            running += [run for run in started if queue.index(run) < place]
            yield from behind(problem, running, waiting, queue[place + 1 :], at)


def behind(
    problem: WorkloadProblem, running: list[Run], waiting: list[Run], others: list[Run], at: float
) -> Iterator[tuple[str, Run, float]]:
    """Yield what is wrong with jobs behind the head, which have their turns in queue order."""
    head = waiting[0]
    for run in others:
        if run.start == at:
            yield "fcfs", run, at
            if later(problem, running, run, [head], at, least=True):
                yield "easy", run, at
            ahead = [other for other in waiting if (other.submit, other.job) < (run.submit, run.job)]
            if later(problem, running, run, ahead, at, least=False):
                yield "conservative", run, at
            running.append(run)
        elif run in waiting and is_rigid(problem, run):
            free = problem.num_nodes - sum(other.nodes for other in running)
            begun = run._replace(start=at, nodes=run.fewest)
            begun = begun._replace(expected=estimate(problem, begun))
            if run.fewest <= free and not later(problem, running, begun, [head], at, least=True):
                yield "eager", run, at


def run_of(problem: WorkloadProblem, schedule: WorkloadSchedule, job: int) -> Run:
    pieces, row = schedule.pieces(job), problem.jobs[job]
    fewest = int(problem.packed.min_nodes[job])
    if not pieces:
        return Run(job, row.submit, math.inf, math.inf, 0, fewest, math.nan)
    ((start, end, nodes),) = pieces
    run = Run(job, row.submit, start, end, nodes, fewest, 0)
    return run._replace(expected=estimate(problem, run))


def is_rigid(problem: WorkloadProblem, run: Run) -> bool:
    return bool(problem.packed.min_nodes[run.job] == problem.packed.max_nodes[run.job])


def estimate(problem: WorkloadProblem, run: Run) -> float:
    """Return for how long a job is expected to run on the nodes that it holds."""
    row = problem.jobs[run.job]
    asked = 1.25 * row.runtime if row.limit is None else row.limit
    if run.nodes in (0, row.nodes) or row.speedup is None:
        return asked
    (seconds,) = problem.run_times(np.array([run.nodes]), np.array([run.job])).tolist()
    return float(asked * (seconds / row.runtime))


def later(
    problem: WorkloadProblem, running: list[Run], run: Run, ahead: list[Run], at: float, *, least: bool
) -> bool:
    """Return whether a start makes the planned start of a job ahead later; `least`: on its fewest nodes."""
    before, after = (planned(problem, held, ahead, at, least=least) for held in (running, [*running, run]))
    return any(late > early + 1e-6 for early, late in zip(before, after, strict=True))


def planned(
    problem: WorkloadProblem, running: list[Run], ahead: list[Run], at: float, *, least: bool
) -> list[float]:
    """Return when jobs can start, one after the other; one that runs for too long is expected to end now."""
    plan = [Interval(-math.inf, max(at, run.start + run.expected), run.nodes) for run in running]
    starts = []
    for run in ahead:
        nodes = run.fewest if least else problem.jobs[run.job].nodes
        length = math.inf if least else estimate(problem, run._replace(nodes=nodes))
        starts.append(earliest_hole(plan, problem.num_nodes, nodes, length, at))
        plan.append(Interval(starts[-1], starts[-1] + length, nodes))
    return starts
