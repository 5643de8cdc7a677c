"""Claims about the queue of a workload: who may pass whom, and who must not wait.

Written from the definitions: nothing here is shared with the simulation or the policies, which have to keep
these claims.
"""

from __future__ import annotations

import bisect
import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.judge.workload_history import counted_nodes
from allocsolve.judge.workload_shown import shown_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.judge.workload_history import Breach, Decision, History

__all__ = ["conservative_breach", "eager_breach", "easy_breach", "fcfs_breach", "idling_breach"]


def fcfs_breach(history: History) -> Breach | None:
    """Return the first start of a job while one before it in the queue waits."""
    for decision in history.decisions():
        if decision.head >= decision.submitted:
            continue
        for place in decision.started:
            if place > decision.head:
                head = history.name(decision.head)
                matter = f"starts at {shown_seconds(decision.at)} s, before {head!r}, which came first"
                later = float(history.start[decision.head])
                return history.breach("fcfs", place, decision.at, matter, head=head, head_starts=later)
    return None


def idling_breach(history: History, claim: str, *, head_only: bool) -> Breach | None:
    """Return the first instant from which on nodes idle that are enough for the head, or for any that waits.

    A job fits where as many nodes idle as the fewest that it allows. O((instants + jobs) log jobs).
    """
    instants = history.instants()
    idle, fewest, start = history.idle_after(instants).tolist(), history.fewest.tolist(), history.start
    waiting: list[tuple[int, int]] = []
    seen = 0
    for decision, free in zip(history.decisions(), idle, strict=True):
        at, place = decision.at, decision.head
        if head_only:
            fits = place < decision.submitted and fewest[place] <= free
        else:
            for joined in range(seen, decision.submitted):
                heapq.heappush(waiting, (fewest[joined], joined))
            seen = decision.submitted
            while waiting and start[waiting[0][1]] <= at:
                heapq.heappop(waiting)
            fits = bool(waiting) and waiting[0][0] <= free
        if fits:
            if not head_only:
                place = min(row for need, row in waiting if need <= free and start[row] > at)
            who = "is the head of the queue and waits" if place == decision.head else "waits"
            matter = (
                f"{who} at {shown_seconds(at)} s for {counted_nodes(fewest[place])}, {free} idle; "
                f"it starts {_seconds_or_never(float(start[place]))}"
            )
            return history.breach(
                claim, place, at, matter, nodes=fewest[place], idle=free, starts=float(start[place])
            )
    return None


def _seconds_or_never(time: float) -> str:
    return f"at {shown_seconds(time)} s" if time < np.inf else "never"


class _Run(NamedTuple):
    """A running job: its end, its expected end (seconds), and the nodes that it holds."""

    end: float
    expected: float
    nodes: int


class _Running:
    """The jobs that run, instant by instant."""

    def __init__(self, history: History) -> None:
        estimate = history.estimates(range(len(history.jobs)), history.held.tolist())
        self._expected = (history.start + estimate).tolist()
        self._end, self._held = history.end.tolist(), history.held.tolist()
        self._start = history.start.tolist()
        self.runs: list[_Run] = []

    def leave(self, at: float) -> None:
        """Take away what has ended at an instant."""
        self.runs = [run for run in self.runs if run.end > at]

    def join(self, place: int) -> None:
        """Add what starts."""
        self.runs.append(self.run(place))

    def run(self, place: int) -> _Run:
        """Return a job as it runs from its start on."""
        return _Run(self._end[place], self._expected[place], self._held[place])

    def expected_ends(self, at: float) -> list[tuple[float, int]]:
        """Return when nodes are expected to be free: of a job that runs for longer than expected, now."""
        return sorted((max(at, run.expected), run.nodes) for run in self.runs)


class _Shadow(NamedTuple):
    """When the head is expected to start, and how many nodes it then leaves."""

    time: float
    extra_nodes: int


def _shadow(history: History, running: _Running, at: float, needed: int) -> _Shadow:
    """Return the first instant from `at` on at which so many nodes are expected to be free."""
    ends = running.expected_ends(at)
    free = history.problem.num_nodes - sum(nodes for _, nodes in ends)
    time, row = at, 0
    while True:
        while row < len(ends) and ends[row][0] <= time + history.tolerance:
            free += ends[row][1]
            row += 1
        if free >= needed or row == len(ends):
            return _Shadow(time, free - needed)
        time = ends[row][0]


def easy_breach(history: History) -> Breach | None:
    """Return the first start that makes the shadow time of the head later. O(starts * running jobs)."""
    running = _Running(history)
    for decision in history.decisions():
        at, head = decision.at, decision.head
        running.leave(at)
        waits = head < decision.submitted
        before: _Shadow | None = None
        for place in decision.started:
            if not waits or place < head:
                running.join(place)
                continue
            needed = int(history.fewest[head])
            before = before or _shadow(history, running, at, needed)
            running.join(place)
            after = _shadow(history, running, at, needed)
            if after.time > before.time + history.tolerance:
                return _delay(history, decision, place, running.run(place), before, after)
            before = after
    return None


def _delay(
    history: History, decision: Decision, place: int, run: _Run, before: _Shadow, after: _Shadow
) -> Breach:
    """Return the breach by a job that delays the head."""
    head, needed = history.name(decision.head), int(history.fewest[decision.head])
    matter = (
        f"starts at {shown_seconds(decision.at)} s on {counted_nodes(run.nodes)}, expected to end at "
        f"{shown_seconds(run.expected)} s: the shadow time of {head!r}, the head, which needs "
        f"{counted_nodes(needed)}, moves from {shown_seconds(before.time)} s "
        f"({before.extra_nodes} extra) to {shown_seconds(after.time)} s"
    )
    return history.breach(
        "easy",
        place,
        decision.at,
        matter,
        nodes=run.nodes,
        expected_end=run.expected,
        head=head,
        head_nodes=needed,
        shadow_time=before.time,
        extra_nodes=before.extra_nodes,
        shadow_time_after=after.time,
    )


def eager_breach(history: History) -> Breach | None:
    """Return the first job that is passed over although it fits and would not delay the head.

    Jobs behind the head have their turns in queue order, each after the starts of those before it. Only those
    of one allowed number of nodes are looked at. O(instants * (running jobs + queue)).
    """
    running = _Running(history)
    packed, num_nodes = history.problem.packed, history.problem.num_nodes
    one_size = (packed.min_nodes == packed.max_nodes)[history.jobs]
    estimate = history.estimates(range(len(history.jobs)), history.fewest.tolist())
    for decision in history.decisions():
        at, head = decision.at, decision.head
        running.leave(at)
        started = [place for place in decision.started if place > head]
        for place in decision.started[: len(decision.started) - len(started)]:
            running.join(place)
        turn = head + 1
        for starter in (*started, None):
            free = num_nodes - sum(run.nodes for run in running.runs)
            until = decision.submitted if starter is None else min(starter, decision.submitted)
            rows = slice(turn, max(turn, until))
            fits = one_size[rows] & (history.start[rows] > at) & (history.fewest[rows] <= free)
            if fits.any():
                shadow = _shadow(history, running, at, int(history.fewest[head]))
                in_time = at + estimate[rows] <= shadow.time + history.tolerance
                fits &= in_time | (history.fewest[rows] <= shadow.extra_nodes)
            if fits.any():
                place = turn + int(np.argmax(fits))
                return _passed_over(history, decision, place, free, float(estimate[place]), shadow)
            if starter is not None:
                running.join(starter)
                turn = starter + 1
    return None


def _passed_over(
    history: History, decision: Decision, place: int, free: int, estimate: float, shadow: _Shadow
) -> Breach:
    """Return the breach by a job that waits for no reason."""
    head, needed = history.name(decision.head), int(history.fewest[place])
    expected, starts = decision.at + estimate, float(history.start[place])
    matter = (
        f"waits at {shown_seconds(decision.at)} s for {counted_nodes(needed)}, {free} idle; it would be "
        f"expected to end at {shown_seconds(expected)} s, which leaves the shadow time of {head!r}, the "
        f"head, at {shown_seconds(shadow.time)} s ({shadow.extra_nodes} extra); "
        f"it starts {_seconds_or_never(starts)}"
    )
    return history.breach(
        "eager",
        place,
        decision.at,
        matter,
        nodes=needed,
        idle=free,
        expected_end=expected,
        head=head,
        shadow_time=shadow.time,
        extra_nodes=shadow.extra_nodes,
        starts=starts,
    )


class _Waiting(NamedTuple):
    """A job that waits: its place in the queue, its nodes, and how long it is expected to run (seconds)."""

    place: int
    nodes: int
    seconds: float


class _Plan:
    """How many nodes are expected to be free from an instant on: a step function."""

    def __init__(self, history: History, running: _Running, at: float) -> None:
        self._tolerance = history.tolerance
        ends = running.expected_ends(at)
        free = history.problem.num_nodes - sum(nodes for _, nodes in ends)
        self._times, self._free = [at], [free]
        for end, nodes in ends:
            free += nodes
            if end > self._times[-1]:
                self._times.append(end)
                self._free.append(free)
            else:
                self._free[-1] = free

    def _cut(self, time: float) -> int:
        """Return the row that begins at a time, made if there is none."""
        row = bisect.bisect_left(self._times, time)
        if row == len(self._times) or self._times[row] != time:
            self._times.insert(row, time)
            self._free.insert(row, self._free[row - 1])
        return row

    def fits(self, start: float, seconds: float, nodes: int) -> bool:
        """Return whether so many nodes are free for so long."""
        until = start + seconds - self._tolerance
        return all(
            free >= nodes
            for row, (time, free) in enumerate(zip(self._times, self._free, strict=True))
            if time < until and (row + 1 == len(self._times) or self._times[row + 1] > start)
        )

    def earliest(self, seconds: float, nodes: int) -> float:
        """Return the first time at which so many nodes are free for so long."""
        start = None
        for time, free in zip(self._times, self._free, strict=True):
            if start is not None and time >= start + seconds - self._tolerance:
                break
            if free < nodes:
                start = None
            elif start is None:
                start = time
        assert start is not None, "no job needs more nodes than there are"
        return start

    def place(self, job: _Waiting) -> float:
        """Hold the nodes of a job as early as possible, and return from when on."""
        start = self.earliest(job.seconds, job.nodes)
        self.take(start, job.seconds, job.nodes)
        return start

    def take(self, start: float, seconds: float, nodes: int) -> None:
        """Hold nodes for some time."""
        first, last = self._cut(start), self._cut(start + seconds)
        for row in range(first, last):
            self._free[row] -= nodes


def conservative_breach(history: History) -> Breach | None:
    """Return the first start that makes the planned start of a job before it in the queue later.

    Only a start that does not fit into the plan of those before it can do so: none of them is planned earlier
    while more nodes are held. O(starts * queue * (running jobs + queue)).
    """
    running = _Running(history)
    sizes = history.problem.packed.nodes[history.jobs].tolist()
    estimate = history.estimates(range(len(sizes)), sizes).tolist()
    for decision in history.decisions():
        at, head = decision.at, decision.head
        running.leave(at)
        waits = head < decision.submitted
        passing = [place for place in decision.started if waits and place > head]
        for place in decision.started[: len(decision.started) - len(passing)]:
            running.join(place)
        if not passing:
            continue
        plan = _Plan(history, running, at)
        waiting: list[_Waiting] = []
        row = head
        for place in passing:
            for joined in range(row, min(place, decision.submitted)):
                if history.start[joined] > at:
                    waiting.append(_Waiting(joined, sizes[joined], estimate[joined]))
                    plan.place(waiting[-1])
            row = place + 1
            run = running.run(place)
            fits = plan.fits(at, run.expected - at, run.nodes)
            if not fits and (breach := _postponement(history, running, at, place, waiting)):
                return breach
            plan.take(at, run.expected - at, run.nodes)
            running.join(place)
    return None


def _postponement(
    history: History, running: _Running, at: float, place: int, waiting: Sequence[_Waiting]
) -> Breach | None:
    """Return the breach by a job, with the first job before it whose planned start it makes later, if any."""
    before = _Plan(history, running, at)
    after = _Plan(history, running, at)
    run = running.run(place)
    after.take(at, run.expected - at, run.nodes)
    for job in waiting:
        early, late = before.place(job), after.place(job)
        if late > early + history.tolerance:
            break
    else:
        return None
    other = history.name(job.place)
    matter = (
        f"starts at {shown_seconds(at)} s on {counted_nodes(run.nodes)}, expected to end at "
        f"{shown_seconds(run.expected)} s: the planned start of {other!r}, which came first, "
        f"moves from {shown_seconds(early)} s to {shown_seconds(late)} s"
    )
    numbers = {"nodes": run.nodes, "expected_end": run.expected, "delayed": other}
    numbers |= {"planned_start": early, "planned_start_after": late}
    return history.breach("conservative", place, at, matter, **numbers)
