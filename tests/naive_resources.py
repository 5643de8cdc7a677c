"""Slow, obvious twins for machines with counted resources and closed windows: instant by instant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction

    from allocsolve.model import Job, WorkloadProblem

#: When a job begins and ends, and what it holds.
Placed: TypeAlias = tuple[float, float, dict[str, int]]


def available(problem: WorkloadProblem, at: float | Fraction) -> dict[str, int]:
    """Return how much of each resource is open at an instant."""
    there = {"nodes": problem.num_nodes, **dict(problem.resources)}
    left = dict(there)
    for window in problem.closed:
        if window.start <= at < window.end:
            for name, amount in (dict(window.amounts) or there).items():
                left[name] -= amount
    return {name: max(amount, 0) for name, amount in left.items()}


def needs_of(job: Job, nodes: int | None = None) -> dict[str, int]:
    """Return how much a job needs of each resource, nodes among them; only rigid jobs need others."""
    needs = {"nodes": job.nodes if nodes is None else nodes, **(job.needs or {})}
    if job.partition is not None:
        needs[job.partition] = job.nodes
    return needs


def release_of(job: Job) -> float:
    """Return when a job may start at the earliest."""
    return max(job.submit, job.eligible or 0)


def naive_breaks(problem: WorkloadProblem, starts: Sequence[float]) -> bool:
    """Tell whether jobs that start at these instants break a rule."""
    jobs = list(problem.jobs)
    if any(start < release_of(job) for job, start in zip(jobs, starts, strict=True)):
        return True
    for at in [*starts, *edges_of(problem)]:
        held: dict[str, int] = {}
        for job, start in zip(jobs, starts, strict=True):
            if start <= at < start + job.runtime:
                for name, amount in needs_of(job).items():
                    held[name] = held.get(name, 0) + amount
        there = available(problem, at)
        if any(amount > there[name] for name, amount in held.items()):
            return True
    return False


def place_in_queue(
    job: Job, idx: int, now: float, estimate: float, order: str
) -> tuple[float, float, float, int]:
    """Return what orders the queue, the least first: a job counts as submitted earlier by its head start."""
    s = job.submit - job.boost
    r, n, w, since = estimate, job.nodes, now - s, math.log10(max(s, 1))
    scores: dict[str, Callable[[], float]] = {
        "submission": lambda: s,
        "shortest-estimate": lambda: r,
        "smallest-area": lambda: r * n,
        "largest": lambda: -n,
        "smallest": lambda: n,
        "f1": lambda: math.log10(r) * n + 870 * since,
        "f2": lambda: math.sqrt(r) * n + 25_600 * since,
        "f3": lambda: r * n + 6_860_000 * since,
        "f4": lambda: r * math.sqrt(n) + 530_000 * since,
        "wfp3": lambda: -((w / r) * (w / r) * (w / r)) * n,
        "unicef": lambda: -math.inf if n == 1 else -w / (math.log2(n) * r),
    }
    return scores[order](), s, job.submit, idx


def edges_of(problem: WorkloadProblem) -> set[float]:
    """Return when closed windows begin and end."""
    return {edge for window in problem.closed for edge in (window.start, window.end)}


def has_room(
    problem: WorkloadProblem, needs: dict[str, int], at: float, until: float, placed: Sequence[Placed]
) -> bool:
    """Tell whether a job has what it needs for a time beside those that are placed."""

    def moments() -> Iterator[float]:
        yield at
        yield from {*edges_of(problem), *(begin for begin, _, _ in placed)}

    for moment in moments():
        if at <= moment < until:
            there = available(problem, moment)
            inside = [held for begin, end, held in placed if begin <= moment < end]
            for name, amount in needs.items():
                if amount + sum([held.get(name, 0) for held in inside]) > there[name]:
                    return False
    return True


def naive_earliest(
    problem: WorkloadProblem, placed: Sequence[Placed], needs: dict[str, int], seconds: float, release: float
) -> float:
    """Return the first instant from the release on at which a job has all that it needs for so long."""
    changes = edges_of(problem) | {end for _, end, _ in placed}
    moments = sorted({release, *(moment for moment in changes if moment > release)})
    return next(at for at in moments if has_room(problem, needs, at, at + seconds, placed))


def naive_reservations(
    problem: WorkloadProblem, compression: str, estimates: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the starts and the first reservations under conservative backfilling, from the definitions."""
    jobs = list(problem.jobs)
    needs = [needs_of(job) for job in jobs]
    future = sorted(range(len(jobs)), key=lambda idx: (release_of(jobs[idx]), *_order(jobs, idx)))
    starts, promised, reserved = {}, {}, {}  # type: dict[int, float], dict[int, float], dict[int, float]
    queue: list[int] = []
    running: list[int] = []
    now = -1.0

    def place(idx: int) -> float:
        begins = {**{other: starts[other] for other in running}, **reserved}
        placed = [(begin, begin + estimates[other], needs[other]) for other, begin in begins.items()]
        return naive_earliest(problem, placed, needs[idx], estimates[idx], now)

    while future or queue:
        ends = [starts[idx] + jobs[idx].runtime for idx in running]
        events = [*ends, *(reserved[idx] for idx in queue), *(release_of(jobs[idx]) for idx in future)]
        now = min(time for time in events if time > now or (time == now and time in ends))
        over = [idx for idx in running if starts[idx] + jobs[idx].runtime <= now]
        early = any(starts[idx] + estimates[idx] > now for idx in over)
        running = [idx for idx in running if idx not in over]
        if any(reserved[idx] < now for idx in queue) or (early and compression == "replan"):
            reserved.clear()
            for idx in queue:
                reserved[idx] = place(idx)
        elif early and compression == "compress":
            for idx in queue:
                before = reserved.pop(idx)
                reserved[idx] = min(before, place(idx))
        while future and release_of(jobs[future[0]]) <= now:
            idx = future.pop(0)
            promised[idx] = reserved[idx] = place(idx)
            queue = sorted([*queue, idx], key=lambda idx: _order(jobs, idx))
        for idx in tuple(queue):
            held = [(now, now + 1.0, needs[other]) for other in running]
            if reserved[idx] == now and has_room(problem, needs[idx], now, now + 0.5**40, held):
                starts[idx] = now
                queue.remove(idx)
                del reserved[idx]
                running.append(idx)
    return [starts[idx] for idx in range(len(jobs))], [promised[idx] for idx in range(len(jobs))]


def _order(jobs: Sequence[Job], idx: int) -> tuple[float, float, int]:
    return jobs[idx].submit - jobs[idx].boost, jobs[idx].submit, idx
