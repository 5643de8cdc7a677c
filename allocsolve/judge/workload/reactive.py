"""Jobs with phases, followed from start to end: when they ask for nodes and when they give them back."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from allocsolve.judge.messages import shown_seconds
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S, beyond_rounding

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule


@dataclass(slots=True)
class _Job:
    """A job with phases while it runs; times in seconds, infinite for never."""

    phases: list[tuple[float, int]]
    max_nodes: int
    release_delay: float
    grow: float
    shrink: float
    now: float
    held: int
    #: The end of its start: nothing happens before.
    ready: float
    #: When a granted node becomes useful, when the next node is given back, and when a leaving node is free.
    joins: float = math.inf
    gives: float = math.inf
    leaves: float = math.inf
    #: Whether a request is open.
    asks: bool = False
    phase: int = 0
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.phases[0][0]

    def begin(self) -> None:
        """Look at the nodes for the first time."""
        self._watch()
        self._ask()

    @property
    def done(self) -> bool:
        return self.phase == len(self.phases)

    @property
    def useful(self) -> int:
        return self.held - (self.joins < math.inf) - (self.leaves < math.inf)

    @property
    def _rate(self) -> int:
        return min(self.useful, self.phases[self.phase][1])

    def _phase_ends(self) -> float:
        return self.now + self.left / self._rate

    def next_event(self) -> float:
        """Return the time of the next event, if the job is granted no node before."""
        if self.now < self.ready:
            return self.ready
        gives = max(self.gives, self.leaves) if self.leaves < math.inf else self.gives
        return min(self._phase_ends(), self.joins, self.leaves, gives)

    def work_until(self, time: float) -> None:
        """Advance to a time before which nothing happens."""
        if self.now >= self.ready:
            self.left -= (time - self.now) * self._rate
        self.now = time

    def happen(self) -> None:
        """Advance to the next event: phases end, then nodes join, leave, and are asked for."""
        time = self.next_event()
        starting = self.now < self.ready
        ends = not starting and self._phase_ends() <= time
        self.work_until(time)
        if ends:
            self.phase += 1
            if self.done:
                return
            self.left = self.phases[self.phase][0]
        if self.joins <= time:
            self.joins = math.inf
        self._watch()
        while min(self.leaves, self.gives) <= time:
            if self.leaves <= time:
                self.held -= 1
                self.leaves = math.inf
            elif self.leaves < math.inf:
                break
            else:
                self.leaves, self.gives, self.asks = time + self.shrink, math.inf, False
            self._watch()
        self._ask()

    def take_node(self) -> None:
        """Take a node that was granted."""
        self.held += 1
        self.asks = False
        if self.grow:
            self.joins = self.now + self.grow
        self._watch()
        self._ask()

    def _watch(self) -> None:
        """Begin or end the delay after which a node is given back."""
        if self.useful <= self.phases[self.phase][1]:
            self.gives = math.inf
        elif self.gives == math.inf:
            self.gives = self.now + self.release_delay

    def _ask(self) -> None:
        if self.joins == math.inf and self.held < min(self.phases[self.phase][1], self.max_nodes):
            self.asks = True


def reactive_matter(
    problem: WorkloadProblem, schedule: WorkloadSchedule, idx: int, tolerance: float
) -> str | None:
    """Return what is wrong with a job with phases, of one or more pieces; None if nothing is.

    The job is followed from event to event. It must lose the nodes that it gives back at that instant,
    neither earlier nor later, and take only nodes that it asks for, before or after the other events of the
    instant. If its start costs nothing, some of its first nodes may have been granted at its start. What it
    gives back, at last at its end, may be early by `TIME_TOLERANCE_S` in all, and each time by `tolerance`.
    """
    first = schedule.pieces(idx)[0][2]
    matter = _matter_from(problem, schedule, idx, tolerance, first)
    if matter and not problem.jobs.evolving.join_start[idx]:
        packed = problem.jobs.packed  # more than the most nodes count as these
        for fewer in range(min(first, int(packed.max_nodes[idx])) - 1, int(packed.min_nodes[idx]) - 1, -1):
            if _matter_from(problem, schedule, idx, tolerance, fewer) is None:
                return None
    return matter


def _matter_from(
    problem: WorkloadProblem, schedule: WorkloadSchedule, idx: int, tolerance: float, first: int
) -> str | None:
    """Return what is wrong with a job if it starts on `first` nodes."""
    packed, evolving = problem.jobs.packed, problem.jobs.evolving
    pieces = schedule.pieces(idx)
    rows = slice(int(evolving.offsets[idx]), int(evolving.offsets[idx + 1]))
    (start, _, nodes), low, high = pieces[0], int(packed.min_nodes[idx]), int(packed.max_nodes[idx])
    job = _Job(
        phases=list(zip(evolving.amounts[rows].tolist(), evolving.nodes[rows].tolist(), strict=True)),
        max_nodes=high,
        release_delay=float(evolving.release_delay[idx]),
        grow=float(evolving.join_grow[idx]),
        shrink=float(evolving.join_shrink[idx]),
        now=start,
        # It may start on more nodes than it uses, and give the others back at once.
        held=min(max(first, low), high),
        ready=start + float(evolving.join_start[idx]),
    )
    if job.ready <= start:
        job.begin()
    around, early = tolerance + TIME_TOLERANCE_S, 0.0
    for nth, (begun, ended, size) in enumerate(pieces):
        if nth:
            before = pieces[nth - 1][1]
            if abs(begun - before) > tolerance:
                gap = f"ends at {shown_seconds(before)} s and the next one from {shown_seconds(begun)} s"
                return f"has a piece that {gap}"
        matter = _take_up(job, begun, size, around)
        if nth and size < pieces[nth - 1][2]:
            early += beyond_rounding(max(0.0, job.now - begun - tolerance), begun)
        if matter and not nth:
            return f"starts on {nodes} nodes, but needs one of its numbers in {low}..{high}"
        matter = matter or _go_through(job, ended, size, around)
        if matter:
            return matter
    end = pieces[-1][1]
    matter = _ending(job, end, around)
    early += beyond_rounding(max(0.0, job.now - end - tolerance), end)
    if matter is None and early > TIME_TOLERANCE_S:
        return f"gives nodes back {early:.3g} s early, all in all"
    return matter


def _take_up(job: _Job, time: float, size: int, tolerance: float) -> str | None:
    """Follow a job to the time at which a piece of this size begins; return what is wrong."""
    earlier = None
    while not job.done and job.next_event() <= time + tolerance:
        if earlier is None and job.asks and job.next_event() >= time - tolerance:
            earlier = copy.copy(job)
        job.happen()
    when = shown_seconds(time)
    if job.done:
        if abs(job.now - time) <= tolerance and size <= job.held:
            return None  # it gives nodes back at its end, up to rounding
        return f"has done its work at {shown_seconds(job.now)} s, but holds {size} nodes at {when} s"
    if time > job.now:
        job.work_until(time)
    before = job.held
    if not _holds(job, size) and not _held_if_granted_first(job, earlier, time + tolerance, size):
        wish = "nothing" if job.held == before and not job.asks else f"{job.held + job.asks} nodes"
        return f"changes from {before} to {size} nodes at {when} s, but asks for {wish}"
    return None


def _go_through(job: _Job, end: float, size: int, tolerance: float) -> str | None:
    """Follow a job through a piece; return what is wrong.

    A node that it gives back and takes again at one instant leaves no trace.
    """
    while not job.done and job.next_event() < end - tolerance:
        earlier, time = copy.copy(job) if job.asks else None, job.next_event()
        job.happen()
        if job.done:
            return f"has done its work at {shown_seconds(job.now)} s, but ends at {shown_seconds(end)} s"
        if not _holds(job, size) and not _held_if_granted_first(job, earlier, time, size):
            return f"gives back a node at {shown_seconds(job.now)} s, but holds {size} after that"
    return None


def _holds(job: _Job, size: int) -> bool:
    """Grant nodes up to `size` as long as the job asks; return whether it then holds that number."""
    while job.held < size and job.asks:
        job.take_node()
    return job.held == size


def _held_if_granted_first(job: _Job, earlier: _Job | None, time: float, size: int) -> bool:
    """Grant the request that was open before the last event; return whether the job then holds `size` nodes.

    If so, the job continues from there.
    """
    if earlier is None:
        return False
    earlier.work_until(earlier.next_event())
    earlier.take_node()
    while not earlier.done and earlier.next_event() <= time:
        earlier.happen()
    if earlier.done or not _holds(earlier, size):
        return False
    for name in _Job.__slots__:
        setattr(job, name, getattr(earlier, name))
    return True


def _ending(job: _Job, end: float, tolerance: float) -> str | None:
    """Follow a job to its end; return what is wrong."""
    if job.done and end > job.now + tolerance:
        return f"has done its work at {shown_seconds(job.now)} s, but ends at {shown_seconds(end)} s"
    while not job.done:
        if job.next_event() > end + tolerance:
            left = f"{job.left:.15g} node-seconds of phase {job.phase} left"
            return f"ends at {shown_seconds(end)} s with {left}"
        job.happen()
    return None
