"""Jobs with phases, followed from start to end: which nodes they ask for, and when they give them back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from allocsolve.judge.workload_shown import shown_seconds

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

__all__ = ["reactive_matter"]


@dataclass(slots=True)
class _Job:
    """A job with phases while it runs; times in seconds."""

    phases: list[tuple[float, int]]
    max_nodes: int
    release_delay: float
    grow: float
    shrink: float
    now: float
    #: Nodes held, and those of them that are useful.
    held: int
    useful: int
    #: Nothing is done before.
    resume: float
    #: When a node joins, when one stops being useful, and when that one is free; infinite for never.
    joins: float = math.inf
    stops: float = math.inf
    leaves: float = math.inf
    phase: int = 0
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.phases[0][0]
        self._watch()

    @property
    def done(self) -> bool:
        return self.phase == len(self.phases)

    @property
    def most_useful(self) -> int:
        return self.phases[self.phase][1]

    @property
    def wants_node(self) -> bool:
        """Whether a request is open."""
        at_rest = self.joins == self.stops == self.leaves == math.inf
        return not self.done and at_rest and self.held < min(self.most_useful, self.max_nodes)

    @property
    def phase_ends(self) -> float:
        return max(self.now, self.resume) + self.left / min(self.useful, self.most_useful)

    def next_event(self) -> float:
        """Return when something happens next if nobody gives the job a node."""
        return min(self.phase_ends, self.joins, self.stops, self.leaves)

    def go_to(self, time: float) -> None:
        """Work until a time before which nothing happens."""
        worked = max(0.0, time - max(self.now, self.resume))
        self.left -= worked * min(self.useful, self.most_useful)
        self.now = time

    def happen(self) -> bool:
        """Let the next event happen; whether a node has left."""
        time = self.next_event()
        ends = self.phase_ends == time
        self.go_to(time)
        if ends:
            self.phase += 1
            if self.done:
                return False
            self.left = self.phases[self.phase][0]
        if self.stops == time and self.useful > self.most_useful:
            self.useful -= 1
            self.leaves = time + self.shrink
            self.stops = math.inf
        left = self.leaves <= time
        if left:
            self.held -= 1
            self.leaves = math.inf
        if self.joins == time:
            self.useful += 1
            self.joins = math.inf
        self._watch()
        return left

    def take_node(self) -> None:
        self.held += 1
        if self.grow:
            self.joins = self.now + self.grow
        else:
            self.useful += 1
            self._watch()

    def _watch(self) -> None:
        """Begin or end the delay before a node is given back."""
        if self.useful <= self.most_useful:
            self.stops = math.inf
        elif self.stops == math.inf and self.leaves == math.inf:
            self.stops = self.now + self.release_delay


def reactive_matter(
    problem: WorkloadProblem, schedule: WorkloadSchedule, idx: int, tolerance: float
) -> str | None:
    """Return what is wrong with a job with phases, of some pieces; None if it behaves as it is said to."""
    packed, evolving = problem.packed, problem.jobs.evolving
    pieces = list(schedule.pieces(idx))
    rows = slice(int(evolving.offsets[idx]), int(evolving.offsets[idx + 1]))
    (start, _, nodes), low, high = pieces[0], int(packed.min_nodes[idx]), int(packed.max_nodes[idx])
    if not low <= nodes <= high:
        return f"starts on {nodes} nodes, but needs one of its numbers in {low}..{high}"
    job = _Job(
        phases=list(zip(evolving.amounts[rows].tolist(), evolving.nodes[rows].tolist(), strict=True)),
        max_nodes=high,
        release_delay=float(evolving.release_delay[idx]),
        grow=float(evolving.join_grow[idx]),
        shrink=float(evolving.join_shrink[idx]),
        now=start,
        held=nodes,
        useful=nodes,
        resume=start + float(evolving.join_start[idx]),
    )
    for (_, ended, _), (begun, _, size) in pairwise(pieces):
        if abs(begun - ended) > tolerance:
            gap = f"ends at {shown_seconds(ended)} s and the next one from {shown_seconds(begun)} s"
            return f"has a piece that {gap}"
        matter = _change(job, begun, size, tolerance)
        if matter:
            return matter
    return _ending(job, pieces[-1][1], tolerance)


def _change(job: _Job, time: float, size: int, tolerance: float) -> str | None:
    """Follow a job to a change at a time, to so many nodes."""
    left = False
    # A node that leaves about now makes the change; other events about now come first, too.
    while not job.done and not left and job.next_event() <= time + tolerance:
        if job.leaves > time + tolerance and job.held + 1 == size and job.wants_node:
            break
        left = job.happen()
        if left and job.now < time - tolerance:
            return f"gives back a node at {shown_seconds(job.now)} s, but holds {job.held + 1} after that"
    when = shown_seconds(time)
    if job.done:
        return f"has done its work at {shown_seconds(job.now)} s, but holds {size} nodes at {when} s"
    if size == job.held:
        return None
    if size != job.held + 1 or not job.wants_node:
        wish = "one more" if job.wants_node else "no more"
        return f"changes from {job.held} to {size} nodes at {when} s, but asks for {wish}"
    if time > job.now:
        job.go_to(time)
    job.take_node()
    return None


def _ending(job: _Job, end: float, tolerance: float) -> str | None:
    """Follow a job to its end."""
    while not job.done:
        if job.next_event() > end + tolerance:
            return (
                f"ends at {shown_seconds(end)} s with {job.left:.15g} node-seconds of phase {job.phase} left"
            )
        if job.happen() and job.now < end - tolerance:
            return f"gives back a node at {shown_seconds(job.now)} s, but holds {job.held + 1} after that"
    if job.now < end - tolerance:
        return f"has done its work at {shown_seconds(job.now)} s, but ends at {shown_seconds(end)} s"
    return None
