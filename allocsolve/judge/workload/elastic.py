"""The judge of jobs that may change their sizes: each is followed from piece to piece."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.judge.messages import shown_seconds
from allocsolve.judge.workload.reactive import reactive_matter
from allocsolve.judge.workload.tolerance import TIME_TOLERANCE_S, beyond_rounding
from allocsolve.model import MALLEABLE, PROFILE, REACTIVE, REQUESTED, Profile, expand_ratio
from allocsolve.model.profile import max_expanded_duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule


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
