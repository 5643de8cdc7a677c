"""Which answers with numbers of any size are right, and what they are worth: in fractions, event by event."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.model import SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.model import EvolutionProblem, EvolutionSchedule, Job, WorkloadProblem, WorkloadSchedule


class ExactHold(NamedTuple):
    """An amount that is taken from one instant to another."""

    start: Fraction
    end: Fraction
    amount: int


def most_beyond(held: Iterable[ExactHold], closed: Iterable[ExactHold], there: int) -> int:
    """Return by how much more is held than is open, at most; what is closed adds up, down to nothing."""
    changes: dict[Fraction, list[int]] = defaultdict(lambda: [0, 0])
    for kind, listed in enumerate((held, closed)):
        for start, end, amount in listed:
            if start < end:
                changes[start][kind] += amount
                changes[end][kind] -= amount
    most = used = shut = 0
    for at in sorted(changes):
        used, shut = used + changes[at][0], shut + changes[at][1]
        most = max(most, used - max(there - shut, 0))
    return most


def is_workload(problem: WorkloadProblem, schedule: WorkloadSchedule) -> bool:
    """Tell whether a schedule of rigid jobs, and of elastic ones that may change at any time, breaks no rule.

    An elastic job has the same run time on all sizes of its table, so its pieces last that long together.
    """
    held: dict[str, list[ExactHold]] = defaultdict(list)
    for idx, job in enumerate(problem.jobs):
        pieces = [
            ExactHold(Fraction(start), Fraction(end), nodes) for start, end, nodes in schedule.pieces(idx)
        ]
        if not pieces or not _is_run(job, pieces):
            return False
        held["nodes"] += pieces
        for name, amount in (job.needs or {}).items():
            held[name].append(ExactHold(pieces[0].start, pieces[-1].end, amount))
        if job.partition is not None:
            held[job.partition] += pieces
    for name, there in (("nodes", problem.num_nodes), *problem.resources):
        closed = [
            ExactHold(Fraction(window.start), Fraction(window.end), dict(window.amounts).get(name, 0))
            if window.amounts
            else ExactHold(Fraction(window.start), Fraction(window.end), there)
            for window in problem.closed
        ]
        if most_beyond(held[name], closed, there) > 0:
            return False
    return True


def _is_run(job: Job, pieces: list[ExactHold]) -> bool:
    """Tell whether pieces are a run of a job, had it the machine for itself."""
    sizes = {job.nodes}
    if isinstance(job.speedup, SpeedupTable):
        assert {seconds for _, seconds in job.speedup.rows} == {job.runtime}
        sizes = {nodes for nodes, _ in job.speedup.rows}
    return (
        pieces[0].start >= job.submit
        and (len(pieces) == 1 or job.kind == "malleable")
        and all(one.end == two.start for one, two in pairwise(pieces))
        and all(piece.start <= piece.end and piece.amount in sizes for piece in pieces)
        and pieces[-1].end - pieces[0].start == Fraction(job.runtime)
    )


def workload_values(problem: WorkloadProblem, schedule: WorkloadSchedule) -> dict[str, float]:
    """Return metrics of a schedule that breaks no rule, rounded once."""
    total: dict[str, Fraction] = defaultdict(Fraction)
    resized = 0
    for idx, job in enumerate(problem.jobs):
        pieces = schedule.pieces(idx)
        weight, turnaround = Fraction(job.weight), Fraction(pieces[-1][1]) - Fraction(job.submit)
        wait = Fraction(pieces[0][0]) - Fraction(job.submit)
        area = sum((Fraction(end) - Fraction(start)) * nodes for start, end, nodes in pieces)
        resized += sum(abs(two[2] - one[2]) for one, two in pairwise(pieces))
        total["weight"] += weight
        total["turnaround"] += weight * turnaround
        total["wait"] += weight * wait
        total["slowdown"] += weight * max(Fraction(1), turnaround / max(Fraction(job.runtime), Fraction(10)))
        total["area"] += area
        total["response"] += weight * area * turnaround
        total["weighted area"] += weight * area
    first, last = min(job.submit for job in problem.jobs), float(schedule.ends.max())
    values = {
        name: float(total[name] / total["weight"]) if total["weight"] else 0.0
        for name in ("turnaround", "wait", "slowdown")
    }
    if total["weighted area"]:
        values["area_weighted_response"] = float(total["response"] / total["weighted area"])
    there = _open_area(problem, Fraction(first), Fraction(last))
    if there:
        values["utilisation"] = float(total["area"] / there)
    return {**values, "makespan": last, "resized_nodes": resized}


def _open_area(problem: WorkloadProblem, first: Fraction, last: Fraction) -> Fraction:
    """Return the node-seconds that are open between two instants."""
    windows = [(Fraction(each.start), Fraction(each.end), dict(each.amounts)) for each in problem.closed]
    edges = {
        first,
        last,
        *(edge for start, end, _ in windows for edge in (start, end) if first < edge < last),
    }
    instants, area = sorted(edges), Fraction(0)
    for begin, end in pairwise(instants):
        shut = sum(
            amounts.get("nodes", 0) if amounts else problem.num_nodes
            for start, until, amounts in windows
            if start <= begin < until
        )
        area += (end - begin) * max(problem.num_nodes - shut, 0)
    return area


def is_evolution(problem: EvolutionProblem, schedule: EvolutionSchedule) -> bool:
    """Tell whether a schedule of evolving applications breaks no rule."""
    held = []
    limit = None if math.isinf(problem.expand_limit) else Fraction(problem.expand_limit)
    for idx, (app, release) in enumerate(zip(problem.applications, problem.releases, strict=True)):
        now = int(schedule.starts[idx])
        rows = slice(int(schedule.offsets[idx]), int(schedule.offsets[idx + 1]))
        steps = [*zip(schedule.durations[rows].tolist(), schedule.nodes[rows].tolist(), strict=True)]
        if now < release or len(steps) != len(app.steps):
            return False
        for (lasts, nodes), (duration, wanted) in zip(steps, app.steps, strict=True):
            if nodes != wanted or lasts < duration or (limit is not None and lasts > limit * duration):
                return False
            held.append(ExactHold(Fraction(now), Fraction(now + lasts), nodes))
            now += lasts
    return most_beyond(held, (), problem.num_nodes) == 0


def evolution_values(problem: EvolutionProblem, schedule: EvolutionSchedule) -> dict[str, float]:
    """Return metrics of a schedule that breaks no rule."""
    spans = [
        schedule.durations[int(first) : int(last)].tolist()
        for first, last in zip(schedule.offsets[:-1], schedule.offsets[1:], strict=True)
    ]
    ends = [start + sum(span) for start, span in zip(schedule.starts.tolist(), spans, strict=True)]
    useful = sum(duration * nodes for app in problem.applications for duration, nodes in app.steps)
    held = sum(
        lasts * nodes
        for span, app in zip(spans, problem.applications, strict=True)
        for lasts, (_, nodes) in zip(span, app.steps, strict=True)
    )
    count = len(ends)
    return {
        "makespan": max(ends),
        "mean_completion": float(Fraction(sum(ends), count)),
        "mean_turnaround": float(Fraction(sum(ends) - sum(problem.releases), count)),
        "mean_waiting": float(Fraction(sum(schedule.starts.tolist()) - sum(problem.releases), count)),
        "total_waste": held - useful,
        "allocated_area": held,
        "utilisation": float(Fraction(held, problem.num_nodes * max(ends))),
    }
