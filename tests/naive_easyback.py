"""A slow twin of evolv-easyback for jobs of all kinds: a policy in Python that looks at every tick."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from allocsolve.model.evolving import PROFILE, REACTIVE, REQUESTED
from allocsolve.simulation import Answer, Start, Wake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.heuristics import EvolvEasyback
    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation import Decision, QueueView


class NaiveEasyback:
    """The policy; jobs with phases may not cool down, as it does not see when they begin to let a node go."""

    def __init__(self, problem: WorkloadProblem, options: EvolvEasyback) -> None:
        self.reading = problem.jobs.evolving.reading.tolist()
        self.most = problem.packed.max_nodes.tolist()
        self.options, self.rules = options, options.rules
        self.changed: dict[int, float] = {}
        self.last_tick = -math.inf

    def __call__(self, view: QueueView) -> Iterator[Decision]:
        self.changed |= dict.fromkeys(view.resized.tolist(), view.now)
        ticks = 0
        while ticks * self.options.polling < view.now:
            ticks += 1
        is_tick = ticks * self.options.polling == view.now
        yield Wake((ticks + is_tick) * self.options.polling)
        if not self.options.wake_up and (not is_tick or self.last_tick == view.now):
            return
        self.last_tick = view.now
        self.free, self.view = view.free, view
        self.held = dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
        self.ends: dict[int, float] = dict(
            zip(view.running.tolist(), view.expected_ends.tolist(), strict=True)
        )
        for job in self.held:
            if self.reading[job] != REQUESTED:
                self.ends[job] = float(view.jobs.start[job] + view.jobs.estimate[job])
        if self.options.requests == "first":
            yield from self.grants(view)
            yield from self.starts(view)
        else:
            yield from self.starts(view)
            yield from self.grants(view)

    def grants(self, view: QueueView) -> Iterator[Answer]:
        for job, size in zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True):
            more = size - self.held[job]
            changed = self.changed.get(job, -math.inf)
            if self.options.start_counts:
                changed = max(changed, view.jobs.start[job])
            cool = view.now - changed >= self.options.cooldown
            if more <= self.free and cool and self.is_safe(job, more):
                self.free -= more
                self.held[job] += more
                self.changed[job] = view.now
                yield Answer(job)

    def starts(self, view: QueueView) -> Iterator[Start]:
        blocked, shadow_time = None, math.inf
        for job in view.queue.tolist():
            least, nodes = self.start_sizes(view, job)
            limit = float(view.jobs.estimate[job])
            if nodes and self.reading[job] == REQUESTED:
                limit = view.estimate(job, nodes)
            in_time = blocked is None or view.now + limit < shadow_time
            if nodes and in_time and self.is_safe(job, nodes):
                self.free -= nodes
                self.held[job], self.ends[job] = nodes, view.now + limit
                yield Start(job, nodes)
            elif blocked is None:
                blocked, shadow_time = job, self.shadow_time(view.now, self.most[job] if nodes else least)

    def start_sizes(self, view: QueueView, job: int) -> tuple[int, int]:
        """Return the fewest nodes, and those on which it would start now."""
        sizes = view.sizes(job)
        if self.reading[job] == REACTIVE:
            sizes = tuple(range(int(view.jobs.min_nodes[job]), self.most[job] + 1))
        return sizes[0], max((size for size in sizes if size <= self.free), default=0)

    def shadow_time(self, now: float, needed: int) -> float:
        free = self.free
        for end, job in sorted((end, job) for job, end in self.ends.items()):
            free += self.held[job]
            if free >= needed:
                return max(now, end)
        raise AssertionError

    def claim(self, job: int) -> int:
        """Return the most nodes that a job with a profile may still need, as far as the view shows."""
        known = [nodes for _, nodes in self.view.profile(job)]
        if self.options.knowledge == "all" or len(known) == 1:
            return int(max(known))
        return int(self.most[job])

    def is_safe(self, job: int, more: int) -> bool:
        """Return whether running jobs can end one after another, by trying all orders."""
        if not self.options.safe or self.reading[job] != PROFILE:
            return True
        held = {**self.held, job: self.held.get(job, 0) + more}
        lacks = {one: self.claim(one) - held[one] if self.reading[one] == PROFILE else 0 for one in held}
        for order in itertools.permutations(held):
            free = self.free - more
            for one in order:
                if lacks[one] > free:
                    break
                free += held[one]
            else:
                return True
        return False
