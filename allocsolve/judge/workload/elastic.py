"""The judge of jobs that may change their sizes: each is followed from piece to piece."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.judge.messages import shown_seconds
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S, beyond_rounding
from allocsolve.model import MALLEABLE, PROFILE, REACTIVE, REQUESTED, Profile, expand_ratio
from allocsolve.model.profile import max_expanded_duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule


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


class Progress(NamedTuple):
    """How much of their work jobs have done in their pieces."""

    #: The first fault of each job that has one, by the row of the job among those asked for.
    matters: dict[int, str]
    #: Shape (pieces of the schedule,): the share of the work done when a piece begins; 0 for other jobs.
    before: FloatArray
    #: Shape (pieces of the schedule,) and (rows,): by which share of the work the begin of a piece, and the
    #: end of a job, may be off the point at which they should be.
    slack: FloatArray
    slack_at_end: FloatArray


def work_done(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, tolerance: float
) -> Progress:
    """Follow jobs with a law of speedup, of one or more pieces each, from start to end. O(pieces).

    Sizes must be allowed, pieces must follow each other without gaps, sizes of malleable jobs must change at
    points, each change costs its stall, and at the end all work must be done: what is left or too much must
    take at most `TIME_TOLERANCE_S` on the slowest of the sizes that the job has in that time before its end.
    All times may be off by `tolerance` besides: then so may be what is done in that time in each piece.
    """
    packed, count = problem.jobs.packed, np.diff(schedule.offsets)[jobs]
    last_ends = schedule.ends[schedule.offsets[jobs + 1] - 1]
    # The share of the work that is done: a sum, and what rounding has taken from it.
    done, lost = np.zeros((2, len(jobs)))
    stalled_until, last_times = np.full(len(jobs), -np.inf), np.full(len(jobs), np.nan)
    before, slack = np.zeros((2, len(schedule.nodes)))
    matters: dict[int, str] = {}
    pieces = _of_pieces(problem, schedule, jobs, count, tolerance)
    rates = np.zeros(len(jobs))  # the sum of those of the pieces so far, each a share of the work a second
    rows = np.arange(len(jobs))
    # First the first pieces of all jobs, then the second pieces of jobs that have one, and so on.
    for nth in range(int(count.max(initial=0))):
        rows = rows[count[rows] > nth]
        at = schedule.offsets[jobs[rows]] + nth
        before[at] = done[rows] + lost[rows]
        times, ahead = pieces.times[at], pieces.ahead[at]
        starts, ends = schedule.starts[at], schedule.ends[at]
        off_point = np.zeros(len(rows), dtype=bool)
        if nth:
            until = np.maximum(starts, stalled_until[rows]) + pieces.cost[at]
            stalled_until[rows] = np.where(pieces.stalls_at_once[at], until, stalled_until[rows])
            slack[at] = TIME_TOLERANCE_S / pieces.times[at - 1] + tolerance * rates[rows]
            if pieces.at_points:
                at_point = _is_at_point(packed.points[jobs[rows]], before[at], slack[at])
                off_point = ~at_point & pieces.changes[at]
        running = ends - ahead - np.maximum(starts, stalled_until[rows])
        cut_short = (ahead > 0) & (running < -tolerance - TIME_TOLERANCE_S)
        faulty = pieces.faulty[at] | off_point | cut_short
        good = ~faulty
        for row in np.flatnonzero(faulty).tolist():
            idx, piece = int(jobs[rows[row]]), int(at[row])
            matters[int(rows[row])] = _matter(
                problem, schedule, idx, piece, pieces, is_off_point=bool(off_point[row])
            )
        # What is missing from a stall before a change is missing from the work.
        share = np.where(ahead > 0, running, np.maximum(running, 0)) / times
        total = done[rows] + share
        added = total - done[rows]
        lost[rows] += (done[rows] - (total - added)) + (share - added)
        done[rows] = total
        is_late = ends >= last_ends[rows] - TIME_TOLERANCE_S
        last_times[rows] = np.where(is_late, np.fmax(last_times[rows], times), last_times[rows])
        rates[rows] += 1 / times
        rows = rows[good]
    off = (done - 1) + lost
    left, over = (np.maximum(0, share - tolerance * rates) * last_times for share in (-off, off))
    stall = np.where(left > 0, np.maximum(0, stalled_until - last_ends - tolerance), 0)
    for row in np.flatnonzero(~(np.maximum(left + stall, over) <= TIME_TOLERANCE_S)).tolist():
        matters.setdefault(row, f"ends with {1 + off[row]:.15g} of its work done")
    return Progress(matters, before, slack, TIME_TOLERANCE_S / last_times + tolerance * rates)


def off_points(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> IntArray:
    """Return the pieces at whose start malleable jobs change their sizes between their points. O(pieces)."""
    packed = problem.jobs.packed
    jobs = np.flatnonzero((packed.kind == MALLEABLE) & (packed.points > 0))
    progress = work_done(problem, schedule, jobs, tolerance)
    off = [
        piece
        for job in jobs.tolist()
        for piece in range(int(schedule.offsets[job]) + 1, int(schedule.offsets[job + 1]))
        if schedule.nodes[piece] != schedule.nodes[piece - 1]
        and not _is_at_point(packed.points[job], progress.before[piece], progress.slack[piece])
    ]
    return np.array(off, dtype=np.int64)


class _Pieces(NamedTuple):
    """What holds for single pieces: arrays of shape (pieces of the schedule,), and one flag."""

    times: FloatArray  #: seconds that all work of the job takes on the nodes of the piece; NaN if not allowed
    cost: FloatArray  #: seconds that the change of size at its start costs; 0 for first pieces
    stalls_at_once: NDArray[np.bool_]  #: whether the job stalls from the start of the piece on
    ahead: FloatArray  #: seconds that the job stalls before the end of the piece, still holding its nodes
    changes: NDArray[np.bool_]  #: whether it has another number of nodes than the piece before
    is_broken: NDArray[np.bool_]  #: whether it does not begin when the piece before ends
    #: Whether its size is not allowed, it ends before it begins, or it is broken.
    faulty: NDArray[np.bool_]
    at_points: bool  #: whether some job may change its size at points only


def _of_pieces(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, count: IntArray, tolerance: float
) -> _Pieces:
    """Return what holds for the single pieces of these jobs."""
    evolving, nodes, total = problem.jobs.evolving, schedule.nodes, len(schedule.nodes)
    mine = np.repeat(jobs, count)
    nth = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(schedule.offsets[jobs], count) + nth
    times, cost, ahead = np.full(total, np.nan), np.zeros(total), np.zeros(total)
    times[at] = problem.run_times(nodes[at], mine)
    later = nth > 0
    follows, of = at[later], mine[later]
    cost[follows] = _stalls(problem, of, nodes[follows - 1], nodes[follows])
    holds_larger, grows = evolving.holds_larger[of] == 1, nodes[follows] > nodes[follows - 1]
    stalls_at_once, changes, is_broken = (np.zeros(total, dtype=bool) for _ in range(3))
    stalls_at_once[follows] = (~holds_larger | grows) & (cost[follows] > 0)
    ahead[follows - 1] = np.where(holds_larger & ~grows, cost[follows], 0.0)
    changes[follows] = nodes[follows] != nodes[follows - 1]
    is_broken[follows] = np.abs(schedule.starts[follows] - schedule.ends[follows - 1]) > tolerance
    faulty = np.isnan(times) | (schedule.ends < schedule.starts) | is_broken
    at_points = bool((problem.jobs.packed.points[jobs] > 0).any())
    return _Pieces(times, cost, stalls_at_once, ahead, changes, is_broken, faulty, at_points)


def _matter(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule,
    job: int,
    piece: int,
    pieces: _Pieces,
    *,
    is_off_point: bool,
) -> str:
    """Return what is wrong with a piece of a job."""
    when, end = shown_seconds(schedule.starts[piece]), shown_seconds(schedule.ends[piece])
    if np.isnan(pieces.times[piece]):
        return f"holds {schedule.nodes[piece]} nodes, {needed_sizes(problem, job)}"
    if schedule.ends[piece] < schedule.starts[piece]:
        return f"has a piece from {when} s to {end} s"
    if pieces.is_broken[piece]:
        ended = shown_seconds(schedule.ends[piece - 1])
        return f"has a piece that ends at {ended} s and the next one from {when} s"
    if is_off_point:
        parts = problem.jobs.packed.points[job]
        return f"changes its size at {when} s, between its points ({parts} equal parts of its work)"
    stall = f"before its stall of {shown_seconds(pieces.ahead[piece])} s is over"
    return f"gives up nodes at {end} s, {stall}"


def needed_sizes(problem: WorkloadProblem, idx: int) -> str:
    """Return which numbers of nodes a job allows, for a message."""
    packed = problem.jobs.packed
    low, high = packed.min_nodes[idx], packed.max_nodes[idx]
    return f"but needs {low}" if low == high else f"but needs one of its numbers in {low}..{high}"


def _stalls(problem: WorkloadProblem, jobs: IntArray, old: IntArray, new: IntArray) -> FloatArray:
    """Return what changes of sizes cost, in seconds; 0 where the size stays."""
    evolving = problem.jobs.evolving
    cost = evolving.stall_fixed[jobs] + evolving.stall_per_node[jobs] * np.abs(new - old)
    cost += evolving.stall_shared[jobs] / np.maximum(new + old, 1)
    return np.where(new == old, 0.0, cost)


def _is_at_point(points: IntArray, done: FloatArray, slack: FloatArray) -> NDArray[np.bool_]:
    """Return where the work done is a whole number of parts, or the size may change at any time."""
    parts = done * points
    at_point: NDArray[np.bool_] = (points == 0) | (np.abs(parts - np.rint(parts)) <= slack * points)
    return at_point


def elastic_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """Return the first fault of each job that may change its size, of one or more pieces each. O(pieces)."""
    matters = elastic_matters(problem, schedule, tolerance)
    return [f"job {problem.jobs.names[job]!r} {matters[job]}" for job in sorted(matters)]


def elastic_matters(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> dict[int, str]:
    """Return the first fault of each job that may change its size, by job; see `elastic_violations`."""
    reading = problem.jobs.evolving.reading
    by_law = np.flatnonzero((problem.jobs.packed.kind == MALLEABLE) | (reading == REQUESTED))
    progress = work_done(problem, schedule, by_law, tolerance)
    matters = {int(by_law[row]): matter for row, matter in progress.matters.items()}
    for row in np.flatnonzero(reading[by_law] == REQUESTED).tolist():
        job = int(by_law[row])
        at_end = float(progress.slack_at_end[row])
        matter = matters.get(job) or _request_matter(problem, schedule, job, progress, at_end)
        if matter:
            matters[job] = matter
    for code, matter_of in ((PROFILE, _profile_matter), (REACTIVE, reactive_matter)):
        for job in np.flatnonzero(reading == code).tolist():
            matter = matter_of(problem, schedule, job, tolerance)
            if matter:
                matters[job] = matter
    return matters


def _request_matter(
    problem: WorkloadProblem, schedule: WorkloadSchedule, job: int, progress: Progress, slack_at_end: float
) -> str | None:
    """Return what is wrong with the changes of a job with requests: it must ask for each of them."""
    packed, evolving = problem.jobs.packed, problem.jobs.evolving
    low, high = int(packed.min_nodes[job]), int(packed.max_nodes[job])
    rows = range(int(evolving.offsets[job]), int(evolving.offsets[job + 1]))
    moments = [(float(evolving.amounts[row]), int(evolving.nodes[row])) for row in rows]
    first, last = int(schedule.offsets[job]), int(schedule.offsets[job + 1])
    held, asked = int(schedule.nodes[first]), None
    for piece in (*range(first + 1, last), last):
        left = 0.0 if piece == last else 1 - float(progress.before[piece])
        slack = slack_at_end if piece == last else float(progress.slack[piece])
        size = held if piece == last else int(schedule.nodes[piece])
        # The moments that the job has passed before this piece, and the one at which the piece begins.
        while moments and moments[0][0] >= left - slack:
            remaining, change = moments[0]
            wanted = min(max(held + change, low), high)
            at_boundary = piece < last and remaining <= left + slack
            del moments[0]
            asked = wanted if wanted > held else None
            if wanted < held:
                if not at_boundary or size != wanted:
                    share = f"{100 * remaining:.15g} % of its work left"
                    return f"does not give back {held - wanted} of {held} nodes with {share}"
                held = wanted
        if size == held:
            continue
        when = shown_seconds(schedule.starts[piece])
        if size != asked:
            wish = "nothing" if asked is None else f"{asked} nodes"
            return f"changes from {held} to {size} nodes at {when} s, but asks for {wish}"
        held, asked = size, None
    return None


def _profile_matter(
    problem: WorkloadProblem, schedule: WorkloadSchedule, job: int, tolerance: float
) -> str | None:
    """Return what is wrong with a job with a profile: each step needs a piece, of its nodes, long enough.

    All pieces together may be too short or too long by `TIME_TOLERANCE_S`, each one by `tolerance` besides.
    """
    profile = problem.jobs.evolutions[job]
    assert isinstance(profile, Profile)
    first, last = int(schedule.offsets[job]), int(schedule.offsets[job + 1])
    if last - first != len(profile.steps):
        return f"runs in {last - first} pieces, but has {len(profile.steps)} steps"
    ratio, off = expand_ratio(profile.expand_limit), 0.0
    for idx, (seconds, nodes) in enumerate(profile.steps):
        piece = first + idx
        start, end = float(schedule.starts[piece]), float(schedule.ends[piece])
        longest = math.inf if ratio is None else max_expanded_duration(seconds, ratio)
        lasts = end - start
        if schedule.nodes[piece] != nodes:
            return f"holds {schedule.nodes[piece]} nodes in step {idx}, but needs {nodes}"
        if idx and abs(start - float(schedule.ends[piece - 1])) > tolerance:
            return f"begins step {idx} at {shown_seconds(start)} s, not when the one before ends"
        off += beyond_rounding(max(0.0, seconds - lasts - tolerance, lasts - longest - tolerance), end)
        if not off <= TIME_TOLERANCE_S:
            limits = f"{seconds} to {longest} s" if longest < math.inf else f"{seconds} s or more"
            return f"holds the nodes of step {idx} for {shown_seconds(lasts)} s instead of {limits}"
    return None
