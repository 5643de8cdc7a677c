"""Claims about schedules of workloads, and the first time at which a schedule breaks one.

A schedule from any source can be held to the rules of the machine (``capacity``, ``release``, ``run-times``,
``limits``, ``sizes``, ``points``) and to those of a policy (``fcfs``, ``work-conserving``, ``non-idling``,
``easy``, ``eager``, ``conservative``). `WORKLOAD_CLAIMS` says what each claim means.

The queue is in the order of submission; jobs of one instant stand in it as in the problem. At each instant
jobs end first, then jobs are submitted, then jobs start. The *head* is the first job that waits after all
starts of the instant. The *shadow time* of the head is the first instant, from the present one on, at which
the fewest nodes on which it may start are free, if each running job ends when it is expected to: after the
run time that its user asked for (1.25 times its run time where none is given), or now if it has already run
for longer. The *extra nodes* are the nodes that are free at the shadow time beyond these fewest nodes of the
head.
"""

from __future__ import annotations

import bisect
import heapq
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName
from allocsolve.judge.messages import shown_seconds
from allocsolve.judge.workload.elastic import elastic_matters, needed_sizes, off_points
from allocsolve.judge.workload.history import History
from allocsolve.model import MALLEABLE, PROFILE
from allocsolve.model.job_kinds import JOB_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.judge.workload.history import Breach, Decision
    from allocsolve.model import IntArray, WorkloadProblem, WorkloadSchedule


def capacity_breach(history: History) -> Breach | None:
    """Return the first instant from which on more nodes are held than there are.

    Of the jobs that take nodes at that instant, the last one in the queue is named.
    """
    instants, num_nodes = history.instants(), history.problem.num_nodes
    idle = history.idle_after(instants)
    if not (idle < 0).any():
        return None
    row = int(np.argmax(idle < 0))
    at, held = float(instants[row]), num_nodes - int(idle[row])
    pieces = np.flatnonzero(history.piece_starts == at)
    place = int(np.flatnonzero(np.isin(history.jobs, _jobs_of(history, pieces)))[-1])
    matter = f"takes nodes at {shown_seconds(at)} s, from when on {held} are held of {num_nodes}"
    return history.breach("capacity", place, at, matter, held=held, num_nodes=num_nodes)


def release_breach(history: History) -> Breach | None:
    """Return the first start that is before the submission of the job."""
    early = np.flatnonzero(history.start < history.submit)
    if not len(early):
        return None
    place = int(early[np.argmin(history.start[early])])
    at, submit = float(history.start[place]), float(history.submit[place])
    matter = f"starts at {shown_seconds(at)} s, before its submission at {shown_seconds(submit)} s"
    return history.breach("release", place, at, matter, submit=submit)


def limit_breach(history: History) -> Breach | None:
    """Return the first job that runs for longer than its limit, at the time at which the limit is over.

    A limit is meant for `Job.nodes` nodes; it changes with the size as the run time does. Jobs that change
    their size and jobs without a limit are not checked.
    """
    problem = history.problem
    rigid = (problem.packed.kind < MALLEABLE)[history.jobs]
    has_limit = ~np.isnan(problem.jobs.limit)[history.jobs] & rigid & (history.start < np.inf)
    limit = history.estimates(range(len(history.jobs)), history.held.tolist())
    start = np.where(has_limit, history.start, 0)
    ran = np.where(has_limit, history.end, 0) - start
    over = np.flatnonzero(has_limit & (ran > limit + history.tolerance))
    if not len(over):
        return None
    place = int(over[np.argmin((start + limit)[over])])
    at, end = float(start[place] + limit[place]), float(history.end[place])
    matter = (
        f"runs from {shown_seconds(start[place])} s to {shown_seconds(end)} s, "
        f"beyond its limit of {shown_seconds(limit[place])} s"
    )
    return history.breach("limits", place, at, matter, limit=limit[place], ran=ran[place], end=end)


def run_time_breach(history: History) -> Breach | None:
    """Return the first job that does not run once, without a break, for as long as its work takes.

    The time is its end, or its submission if it never runs. Jobs of wrong sizes and jobs that change their
    sizes between points break other claims, and are skipped.
    """
    problem, schedule = history.problem, history.schedule
    pieces, elastic = np.diff(schedule.offsets), problem.packed.kind >= MALLEABLE
    faults: dict[int, tuple[float, str]] = {}
    for job in np.flatnonzero(np.where(elastic, pieces < 1, pieces != 1)).tolist():
        if pieces[job]:
            second = int(schedule.offsets[job]) + 1
            matter = f"runs in {pieces[job]} pieces, but cannot change its size"
            faults[job] = (float(history.piece_starts[second]), matter)
        else:
            faults[job] = (float(problem.packed.submit[job]), "never runs")
    whole = np.flatnonzero(~elastic & (pieces == 1))
    at = schedule.offsets[whole]
    lasted = schedule.ends[at] - schedule.starts[at]
    needed = problem.run_times(schedule.nodes[at], whole)  # NaN, which is above nothing, for wrong sizes
    for row in np.flatnonzero(np.abs(lasted - needed) > history.tolerance).tolist():
        matter = f"runs for {shown_seconds(lasted[row])} s, but takes {shown_seconds(needed[row])} s"
        faults[int(whole[row])] = (float(schedule.ends[at[row]]), matter)
    if elastic.any() and (pieces[elastic] > 0).all():
        others = _jobs_of(history, np.concatenate([_wrong_sizes(history), _off_points(history)])).tolist()
        matters = elastic_matters(problem, schedule, history.rounding)
        ends = schedule.ends[schedule.offsets[1:] - 1]
        faults |= {job: (float(ends[job]), matters[job]) for job in set(matters) - set(others)}
    if not faults:
        return None
    job = min(faults, key=lambda idx: (faults[idx][0], idx))
    at_once, matter = faults[job]
    return history.breach("run-times", history.place(job), at_once, matter, pieces=int(pieces[job]))


def size_breach(history: History) -> Breach | None:
    """Return the first piece of a size that its job does not allow; profiles are left to the run times."""
    piece = _first(history, _wrong_sizes(history))
    if piece is None:
        return None
    job = int(_jobs_of(history, np.array([piece]))[0])
    at, nodes = float(history.piece_starts[piece]), int(history.schedule.nodes[piece])
    needed = needed_sizes(history.problem, job)
    matter = f"holds {_counted_nodes(nodes)} from {shown_seconds(at)} s on, {needed}"
    return history.breach("sizes", history.place(job), at, matter, nodes=nodes)


def point_breach(history: History) -> Breach | None:
    """Return the first change of a size between the points of a malleable job."""
    piece = _first(history, _off_points(history))
    if piece is None:
        return None
    job = int(_jobs_of(history, np.array([piece]))[0])
    at, points = float(history.piece_starts[piece]), int(history.problem.packed.points[job])
    old, new = (int(history.schedule.nodes[row]) for row in (piece - 1, piece))
    matter = (
        f"changes from {old} to {new} nodes at {shown_seconds(at)} s, between its points "
        f"({points} equal parts of its work)"
    )
    return history.breach("points", history.place(job), at, matter, points=points, old=old, new=new)


def _counted_nodes(nodes: int) -> str:
    """Return a number of nodes for a message, such as ``1 node``."""
    return f"{nodes} node{'s' * (nodes != 1)}"


def _jobs_of(history: History, pieces: IntArray) -> IntArray:
    jobs: IntArray = np.searchsorted(history.schedule.offsets, pieces, side="right") - 1
    return jobs


def _first(history: History, pieces: IntArray) -> int | None:
    """Return the piece that begins first, of several the piece of the first job; None if there is none."""
    return int(pieces[np.argmin(history.piece_starts[pieces])]) if len(pieces) else None


def _wrong_sizes(history: History) -> IntArray:
    """Return the pieces of sizes that are not allowed."""
    problem, nodes = history.problem, history.schedule.nodes
    jobs = _jobs_of(history, np.arange(len(nodes)))
    wrong = np.isnan(problem.run_times(nodes, jobs)) & (problem.jobs.evolving.reading[jobs] != PROFILE)
    return np.flatnonzero(wrong)


def _off_points(history: History) -> IntArray:
    return off_points(history.problem, history.schedule, history.rounding)


def fcfs_breach(history: History) -> Breach | None:
    """Return the first start of a job while a job before it in the queue waits."""
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
    """Return the first instant from which on enough nodes are idle for the head, or for any waiting job.

    Enough are the fewest nodes on which the job may start. O((instants + jobs) log jobs).
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
                f"{who} at {shown_seconds(at)} s for {_counted_nodes(fewest[place])}, {free} idle; "
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
    """The running jobs, instant by instant."""

    def __init__(self, history: History) -> None:
        estimate = history.estimates(range(len(history.jobs)), history.held.tolist())
        self._expected = (history.start + estimate).tolist()
        self._end, self._held = history.end.tolist(), history.held.tolist()
        self._start = history.start.tolist()
        self.runs: list[_Run] = []

    def leave(self, at: float) -> None:
        """Remove the jobs that have ended at an instant."""
        self.runs = [run for run in self.runs if run.end > at]

    def join(self, place: int) -> None:
        """Add a job that starts."""
        self.runs.append(self.run(place))

    def run(self, place: int) -> _Run:
        """Return the run of a job."""
        return _Run(self._end[place], self._expected[place], self._held[place])

    def expected_ends(self, at: float) -> list[tuple[float, int]]:
        """Return when which numbers of nodes are expected to be free: now, if a job is overdue."""
        return sorted((max(at, run.expected), run.nodes) for run in self.runs)


class _Shadow(NamedTuple):
    """When the head is expected to start, and how many nodes it then leaves idle."""

    time: float
    extra_nodes: int


def _shadow(history: History, running: _Running, at: float, needed: int) -> _Shadow:
    """Return the first instant from `at` on at which the `needed` nodes are expected to be free."""
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
        f"starts at {shown_seconds(decision.at)} s on {_counted_nodes(run.nodes)}, expected to end at "
        f"{shown_seconds(run.expected)} s: the shadow time of {head!r}, the head, which needs "
        f"{_counted_nodes(needed)}, moves from {shown_seconds(before.time)} s "
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

    Jobs behind the head have their turns in queue order, each after the starts of the jobs before it. Only
    jobs that allow a single number of nodes are checked. O(instants * (running jobs + queue)).
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
    """Return the breach by a job that waits without a reason."""
    head, needed = history.name(decision.head), int(history.fewest[place])
    expected, starts = decision.at + estimate, float(history.start[place])
    matter = (
        f"waits at {shown_seconds(decision.at)} s for {_counted_nodes(needed)}, {free} idle; it would be "
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
        """Return the row that begins at a time, after inserting it if there is none."""
        row = bisect.bisect_left(self._times, time)
        if row == len(self._times) or self._times[row] != time:
            self._times.insert(row, time)
            self._free.insert(row, self._free[row - 1])
        return row

    def fits(self, start: float, seconds: float, nodes: int) -> bool:
        """Return whether this number of nodes is free for this time."""
        until = start + seconds - self._tolerance
        return all(
            free >= nodes
            for row, (time, free) in enumerate(zip(self._times, self._free, strict=True))
            if time < until and (row + 1 == len(self._times) or self._times[row + 1] > start)
        )

    def earliest(self, seconds: float, nodes: int) -> float:
        """Return the first time from which on this number of nodes is free for this time."""
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
        """Hold the nodes of a job as early as possible, and return its planned start."""
        start = self.earliest(job.seconds, job.nodes)
        self.take(start, job.seconds, job.nodes)
        return start

    def take(self, start: float, seconds: float, nodes: int) -> None:
        """Hold nodes for some time."""
        first, last = self._cut(start), self._cut(start + seconds)
        for row in range(first, last):
            self._free[row] -= nodes


def conservative_breach(history: History) -> Breach | None:
    """Return the first start that delays the planned start of a job before it in the queue.

    Only a start that does not fit into the plan of the jobs before it can do so, since more nodes that are
    held never make a planned start earlier. O(starts * queue * (running jobs + queue)).
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
    """Return the breach by a job that delays the planned start of a job before it; None if it delays none."""
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
        f"starts at {shown_seconds(at)} s on {_counted_nodes(run.nodes)}, expected to end at "
        f"{shown_seconds(run.expected)} s: the planned start of {other!r}, which came first, "
        f"moves from {shown_seconds(early)} s to {shown_seconds(late)} s"
    )
    numbers = {"nodes": run.nodes, "expected_end": run.expected, "delayed": other}
    numbers |= {"planned_start": early, "planned_start_after": late}
    return history.breach("conservative", place, at, matter, **numbers)


#: All claims, each with what it means.
WORKLOAD_CLAIMS: Final[Mapping[str, str]] = {
    "capacity": "at no time more nodes are held than there are",
    "release": "no job starts before its submission",
    "run-times": "each job runs once, without a break, for as long as its work takes",
    "limits": "no job of one size runs for longer than its user asked for",
    "sizes": "jobs hold numbers of nodes that they allow",
    "points": "malleable jobs change their sizes at their points only",
    "fcfs": "jobs start in the order of their submission",
    "work-conserving": "no nodes idle that are enough for the head of the queue",
    "non-idling": "no nodes idle that are enough for any job that waits",
    "easy": "no start makes the shadow time of the head later",
    "eager": "no job is passed over that fits and would leave the shadow time of the head where it is",
    "conservative": "no start makes the planned start of a job before it in the queue later",
}

#: Claims that need expected ends, and thus jobs that keep their size.
_EXPECTING: Final = ("easy", "eager", "conservative")


def workload_breaches(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule,
    claims: Sequence[str] = tuple(WORKLOAD_CLAIMS),
    *,
    tolerance: float = 0,
) -> tuple[Breach, ...]:
    """Return the first breach of each claim that a schedule does not keep; empty if it keeps them all.

    ``easy``: jobs that start at one instant start in the order of the queue. A start that delays the shadow
    time of the head is a breach; it does so if and only if the job neither is expected to end by the shadow
    time nor fits into the extra nodes. The order decides which job is blamed, not whether there is a breach.
    ``eager``: jobs behind the head have their turns in the order of the queue, too; this is about rigid jobs.
    A schedule of rigid jobs keeps ``easy``, ``eager`` and ``work-conserving`` if and only if it is that of
    EASY backfilling. ``conservative``: the plan is made anew at each instant: waiting jobs are planned one
    after the other in the order of the queue, each as early as possible on `Job.nodes` nodes. With exact
    estimates every kind of conservative backfilling keeps this claim; if jobs end early, a kind that keeps
    older reservations may break it. Where nodes are places and all jobs hold whole ones, nodes are counted,
    and a claim says nothing of which; jobs that share nodes are refused.

    `InvalidOption` if a claim needs expected ends, and there are jobs that change their sizes.

    The schedule need not be feasible: a job that never runs waits for ever. Claims are names of
    `WORKLOAD_CLAIMS`, all of them if left out; breaches come in their order. Times that differ by at most
    `TIME_TOLERANCE_S` and the given tolerance, in seconds, are one instant, for schedules of other programs,
    which round them; multiples of a quarter of a second never do without one.

    Notes
    -----
    *Complexity*: O((jobs + pieces) log) but for ``easy`` (times the running jobs), ``eager`` (times those and
    the queue) and ``conservative`` (times the square of those and the queue).

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem, WorkloadSchedule
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 1000, 1000)])
    >>> (breach,) = workload_breaches(problem, WorkloadSchedule.of(problem, [0, 1002, 2]), ["easy"])
    >>> breach.job, breach.at, breach.numbers["shadow_time"], breach.numbers["shadow_time_after"]
    ('j2', 2.0, 100.0, 1002.0)
    >>> workload_breaches(problem, WorkloadSchedule.of(problem, [0, 100, 110]), ["easy", "eager"])
    ()
    """
    for claim in claims:
        if claim not in WORKLOAD_CLAIMS:
            raise UnknownName("claim", claim, WORKLOAD_CLAIMS)
    if len(schedule.offsets) != len(problem.jobs) + 1:
        raise InvalidAnswer(f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted")
    if problem.node_types and (counts := problem.on_counts()).is_plain:
        problem = counts
    for claim in claims:
        if claim in _EXPECTING:
            _check_expected(problem, schedule, claim)
    history = History.of(problem, schedule, tolerance)
    breaches = (_BREACHES[claim](history) for claim in claims)
    return tuple(breach for breach in breaches if breach is not None)


def _check_expected(problem: WorkloadProblem, schedule: WorkloadSchedule, claim: str) -> None:
    """Refuse jobs that have no expected end."""
    elastic = np.flatnonzero(problem.packed.kind >= MALLEABLE)
    if len(elastic):
        name, kind = problem.jobs.names[elastic[0]], JOB_KINDS[problem.packed.kind[elastic[0]]]
        raise InvalidOption(f"the claim {claim} is about jobs that keep their size, job {name!r} is {kind}")
    pieces = np.diff(schedule.offsets)
    if (pieces > 1).any():
        job = int(np.argmax(pieces > 1))
        msg = (
            f"the claim {claim} is about jobs of one piece, job {problem.jobs.names[job]!r} has {pieces[job]}"
        )
        raise InvalidAnswer(msg)


_BREACHES: Final[Mapping[str, Callable[[History], Breach | None]]] = {
    "capacity": capacity_breach,
    "release": release_breach,
    "run-times": run_time_breach,
    "limits": limit_breach,
    "sizes": size_breach,
    "points": point_breach,
    "fcfs": fcfs_breach,
    "work-conserving": lambda history: idling_breach(history, "work-conserving", head_only=True),
    "non-idling": lambda history: idling_breach(history, "non-idling", head_only=False),
    "easy": easy_breach,
    "eager": eager_breach,
    "conservative": conservative_breach,
}
