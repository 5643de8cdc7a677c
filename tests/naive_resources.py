"""Slow, obvious twins for machines with counted resources and closed windows: instant by instant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from naive_malleable import Cluster, seconds_on, sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
    moments = {at, *edges_of(problem), *(begin for begin, _, _ in placed)}
    for moment in sorted(moment for moment in moments if at <= moment < until):
        there = available(problem, moment)
        inside = [held for begin, end, held in placed if begin <= moment < end]
        for name, amount in needs.items():
            if amount + sum(held.get(name, 0) for held in inside) > there[name]:
                return False
    return True


def naive_earliest(
    problem: WorkloadProblem, placed: Sequence[Placed], needs: dict[str, int], seconds: float, release: float
) -> float:
    """Return the first instant from the release on at which a job has all that it needs for so long."""
    changes = edges_of(problem) | {end for _, end, _ in placed}
    moments = sorted({release, *(moment for moment in changes if moment > release)})
    return next(at for at in moments if has_room(problem, needs, at, at + seconds, placed))


class Situation:
    """A machine at an instant: who has started on how many nodes, and who could."""

    def __init__(self, problem: WorkloadProblem, estimates: Sequence[float], moldable: str) -> None:
        self.problem, self.estimates, self.moldable = problem, estimates, moldable
        self.jobs = list(problem.jobs)
        self.ratio = Cluster(self.jobs, problem.num_nodes).ratio
        self.edges = edges_of(problem)
        #: The size of each job that runs or is planned.
        self.size = [sizes_of(job)[0] for job in self.jobs]
        self.starts: dict[int, float] = {}
        self.now = 0.0

    @property
    def running(self) -> dict[int, float]:
        return {idx: at for idx, at in self.starts.items() if self.end(idx) > self.now}

    def end(self, idx: int) -> float:
        return self.starts[idx] + seconds_on(self.jobs[idx], self.size[idx])

    def lasts(self, idx: int) -> float:
        return self.estimates[idx] * self.ratio(idx, self.size[idx])

    def expected(self) -> dict[int, float]:
        """Return the expected ends of running jobs."""
        return {idx: max(at + self.lasts(idx), self.now) for idx, at in self.running.items()}

    def needs(self, idx: int) -> dict[str, int]:
        return needs_of(self.jobs[idx], self.size[idx])

    def can(self, idx: int, at: float, ends: dict[int, float], later: dict[int, float] | None = None) -> bool:
        """Tell whether a job can start, if the others hold what they need until these ends.

        Those in `later` hold what they need from then on for as long as they are expected to run.
        """
        placed = [(-math.inf, end, self.needs(other)) for other, end in ends.items()]
        placed += [(begin, begin + self.lasts(one), self.needs(one)) for one, begin in (later or {}).items()]
        return has_room(self.problem, self.needs(idx), at, at + self.lasts(idx), placed)

    def can_now(self, idx: int) -> bool:
        """Tell whether a job can start; who runs longer than expected holds everything for this instant."""
        ends = {other: at + self.lasts(other) for other, at in self.running.items()}
        ends = {other: end if end > self.now else self.now + 1e-9 for other, end in ends.items()}
        return self.can(idx, self.now, ends)

    def first(self, idx: int, reserved: dict[int, float]) -> float:
        """Return the earliest instant at which a job can start beside those with reservations."""
        ends = self.expected()
        over = {begin + self.lasts(one) for one, begin in reserved.items()}
        moments = sorted({self.now, *ends.values(), *over, *(edge for edge in self.edges if edge > self.now)})
        return next(moment for moment in moments if self.can(idx, moment, ends, reserved))

    def start(self, idx: int, harms: Callable[[], bool] = lambda: False) -> bool:
        """Start a job on the largest size on which it can; if it harms there, "fit" tries the others."""
        sizes = sizes_of(self.jobs[idx])
        for nodes in sizes[:1] if self.moldable == "min" else sizes[::-1]:
            self.size[idx] = nodes
            if self.can_now(idx):
                if not harms():
                    self.starts[idx] = self.now
                    return True
                if self.moldable != "fit":
                    break
        self.size[idx] = sizes[0]
        return False

    def reserve(self, examined: Sequence[int], reservations: float) -> None:
        """Start jobs around those that have reservations, or give them one."""
        reserved: dict[int, float] = {}
        for idx in examined:
            if self.start(idx, lambda idx=idx: not self.can(idx, self.now, self.expected(), reserved)):  # type: ignore[misc]  # mypy infers no lambda with a default
                continue
            if len(reserved) < reservations:
                first = self.first(idx, reserved)
                if first == self.now and self.can_now(idx):
                    self.starts[idx] = first
                else:
                    reserved[idx] = first

    def backfill(self, examined: Sequence[int], *, beside_head: bool) -> None:
        """Start jobs behind the head, if it has to be so that it can still start at its shadow time."""
        head, *others = examined
        shadow = self.first(head, {})
        for idx in others:

            def harms(idx: int = idx) -> bool:
                ends = {**self.expected(), idx: self.now + self.lasts(idx)}
                return beside_head and not self.can(head, shadow, ends)

            self.start(idx, harms)


def naive_starts(
    problem: WorkloadProblem,
    kind: str,
    estimates: Sequence[float],
    *,
    reservations: float = 1,
    order: str = "submission",
    scan_limit: int | None = None,
    moldable: str = "max",
) -> list[float]:
    """Return the starts under ``fcfs``, ``first-fit``, ``easy`` or ``reserving``, from the definitions."""
    it = Situation(problem, estimates, moldable)
    jobs, starts = it.jobs, it.starts
    events = sorted({release_of(job) for job in jobs} | it.edges)
    while events:
        now = it.now = events.pop(0)
        waiting = [idx for idx, job in enumerate(jobs) if idx not in starts and release_of(job) <= now]
        waiting.sort(key=lambda idx, now=now: place_in_queue(jobs[idx], idx, now, estimates[idx], order))  # type: ignore[misc]  # mypy infers no lambda with a default
        while waiting and it.start(waiting[0]):
            waiting.pop(0)
        examined = waiting[: None if scan_limit is None else scan_limit + 1]
        if kind == "reserving":
            it.reserve(examined, reservations)
        elif waiting and kind != "fcfs":
            it.backfill(examined, beside_head=kind == "easy")
        events = sorted({*events, *(it.end(idx) for idx, at in starts.items() if at == now)})
    return [starts[idx] for idx in range(len(jobs))]


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
