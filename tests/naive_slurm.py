"""A slow twin of Slurm on any machine: what is free at an instant is worked out anew from what is planned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from naive_resources import available, edges_of, needs_of, place_in_queue, release_of

if TYPE_CHECKING:
    from allocsolve.heuristics import SlurmBackfill
    from allocsolve.model import WorkloadProblem


class Planned(NamedTuple):
    """A job that runs or is planned.

    It holds what it needs from `start` to `end`; from `first` to `start` so much is left at most.
    """

    first: float
    start: float
    end: float
    needs: dict[str, int]
    left: dict[str, int]


def naive_slurm(problem: WorkloadProblem, policy: SlurmBackfill) -> list[tuple[int, float, int]]:  # noqa: C901 - one step after the other
    """Return who starts in which order, when, and before which blocked job (-1: as the head)."""
    jobs, limits = list(problem.jobs), problem.jobs.packed.estimate.tolist()
    step, window = policy.bf_resolution, 60 * policy.bf_window
    edges = edges_of(problem)
    started: dict[int, float] = {}
    order: list[tuple[int, float, int]] = []
    now = -1.0

    def left_of(entries: list[Planned], at: float, there: dict[str, int]) -> dict[str, int]:
        """Return what is free at an instant, if so much is there."""
        free = dict(there)
        for one in entries:
            if one.first <= at < one.start:
                free = {name: min(amount, one.left[name]) for name, amount in free.items()}
            if one.start <= at < one.end:
                free = {name: amount - one.needs.get(name, 0) for name, amount in free.items()}
        return free

    def has_room(idx: int, at: float, until: float, entries: list[Planned], moments: set[float]) -> bool:
        """Tell whether a job has room; what is planned from `until` on counts, what closes then does not."""
        for moment in {at, until, *(moment for moment in moments if at < moment < until)}:
            open_at = max(edge for edge in (at, *edges) if edge < until) if moment == until else moment
            free = left_of(entries, moment, available(problem, open_at))
            if any(amount > free[name] for name, amount in needs_of(jobs[idx]).items()):
                return False
        return True

    while len(started) < len(jobs):
        ends = {at + jobs[idx].runtime for idx, at in started.items()}
        next_pass = (now // policy.bf_interval + 1) * policy.bf_interval
        now = min(time for time in (*map(release_of, jobs), *ends, *edges, next_pass) if time > now)
        running = {idx: at for idx, at in started.items() if at + jobs[idx].runtime > now}
        held = [Planned(now, now, math.inf, needs_of(jobs[idx]), {}) for idx in running]
        entries = [
            Planned(now, now, max(at + limits[idx], now), needs_of(jobs[idx]), {})
            for idx, at in running.items()
        ]
        queue = [idx for idx, job in enumerate(jobs) if idx not in started and release_of(job) <= now]
        queue.sort(key=lambda idx: place_in_queue(jobs[idx], idx, now, limits[idx], policy.order))

        def fits(idx: int, now: float = now, held: list[Planned] = held) -> bool:
            free = left_of(held, now, available(problem, now))
            return all(amount <= free[name] for name, amount in needs_of(jobs[idx]).items())

        def start(
            idx: int,
            blocked: int,
            now: float = now,
            held: list[Planned] = held,
            entries: list[Planned] = entries,
        ) -> None:
            started[idx] = now
            order.append((idx, now, blocked))
            held.append(Planned(now, now, math.inf, needs_of(jobs[idx]), {}))
            entries.append(Planned(now, now, now + limits[idx], needs_of(jobs[idx]), {}))

        while queue and fits(queue[0]) and has_room(queue[0], now, now + limits[queue[0]], entries, edges):
            start(queue.pop(0), -1)
        if now % policy.bf_interval:
            continue
        window_end = (now + window) // step * step
        for idx in queue[: policy.bf_max_job_test]:
            limit, needs = limits[idx], needs_of(jobs[idx])
            moments = {now, *edges, *(time for one in entries for time in one[:3])}
            at = next(
                time
                for time in sorted(moments)
                if time >= now and has_room(idx, time, time + limit, entries, moments)
            )
            if at == now and fits(idx):
                start(idx, queue[0])
            elif at < window_end:
                end = min(math.ceil((at + limit) / step) * step, window_end)
                free = left_of(entries, at, available(problem, at))
                left = {name: amount - needs.get(name, 0) for name, amount in free.items()}
                entries.append(Planned(at // step * step, at, end, needs, left))
    return order
