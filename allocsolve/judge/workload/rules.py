"""The judge of workloads: feasibility, objectives and metrics of schedules, from the definitions alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.messages import overloads, shown_seconds
from allocsolve.judge.sums import are_sums, held_after, summable
from allocsolve.judge.workload.machine import (
    early_violations,
    machine_violations,
    open_node_seconds,
)
from allocsolve.judge.workload.reactive import reactive_matter
from allocsolve.model import (
    EVOLVING,
    MALLEABLE,
    MAX_INTEGER,
    PROFILE,
    REACTIVE,
    REQUESTED,
    SLOWDOWN_FLOOR_S,
    SPEEDUP_TABLE,
    Profile,
    expand_ratio,
)
from allocsolve.model.profile import max_expanded_duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import (
        FloatArray,
        IntArray,
        Value,
        WorkloadObjective,
        WorkloadProblem,
        WorkloadSchedule,
    )

#: The share of its work by which a job may be off its end or one of its points, besides the tolerance of
#: times: sums over many pieces are rounded.
WORK_TOLERANCE: Final = 1e-9


class Progress(NamedTuple):
    """How much of their work jobs have done in their pieces."""

    #: The first fault of each job that has one, by the row of the job among those asked for.
    matters: dict[int, str]
    #: Shape (pieces of the schedule,): the share of the work done when a piece begins; 0 for other jobs.
    before: FloatArray
    #: Shape (rows,): by how much shares may be off, because of the tolerance of times and of rounding.
    slack: FloatArray


def work_done(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, tolerance: float
) -> Progress:
    """Follow jobs with a law of speedup, of one or more pieces each, from start to end. O(pieces).

    Sizes must be allowed, pieces must follow each other without gaps, sizes of malleable jobs must change at
    points, each change costs its stall, and at the end all work must be done.
    """
    packed = problem.jobs.packed
    count = np.diff(schedule.offsets)[jobs]
    done, run_times = np.zeros(len(jobs)), packed.runtime[jobs]
    stalled_until = np.full(len(jobs), -np.inf)
    before = np.zeros(len(schedule.nodes))
    matters: dict[int, str] = {}
    pieces = _of_pieces(problem, schedule, jobs, count, tolerance)
    rates = np.zeros(len(jobs))  # the sum of those of the pieces so far, each a share of the work a second
    rows = np.arange(len(jobs))
    # First the first pieces of all jobs, then the second pieces of jobs that have one, and so on.
    for nth in range(int(count.max(initial=0))):
        rows = rows[count[rows] > nth]
        at = schedule.offsets[jobs[rows]] + nth
        before[at] = done[rows]
        times, ahead = pieces.times[at], pieces.ahead[at]
        starts, ends = schedule.starts[at], schedule.ends[at]
        off_point = np.zeros(len(rows), dtype=bool)
        if nth:
            until = np.maximum(starts, stalled_until[rows]) + pieces.cost[at]
            stalled_until[rows] = np.where(pieces.stalls_at_once[at], until, stalled_until[rows])
            if pieces.at_points:
                mine = jobs[rows]
                slack = _slack(problem, mine, run_times[rows], rates[rows], tolerance)
                off_point = ~_is_at_point(packed.points[mine], done[rows], slack) & pieces.changes[at]
        running = ends - ahead - np.maximum(starts, stalled_until[rows])
        cut_short = (ahead > 0) & (running < -tolerance)
        faulty = pieces.faulty[at] | off_point | cut_short
        good = ~faulty
        for row in np.flatnonzero(faulty).tolist():
            idx, piece = int(jobs[rows[row]]), int(at[row])
            matters[int(rows[row])] = _matter(
                problem, schedule, idx, piece, pieces, is_off_point=bool(off_point[row])
            )
        done[rows[good]] += (np.maximum(running, 0) / times)[good]
        run_times[rows] = times
        rates[rows] += 1 / times
        rows = rows[good]
    every = _slack(problem, jobs, run_times, rates, tolerance)
    for row in np.flatnonzero(np.abs(done - 1) > every).tolist():
        matters.setdefault(row, f"ends with {done[row]:.15g} of its work done")
    return Progress(matters, before, every)


def off_points(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> IntArray:
    """Return the pieces at whose start malleable jobs change their sizes between their points. O(pieces)."""
    packed = problem.jobs.packed
    jobs = np.flatnonzero((packed.kind == MALLEABLE) & (packed.points > 0))
    progress = work_done(problem, schedule, jobs, tolerance)
    off = [
        piece
        for job, slack in zip(jobs.tolist(), progress.slack, strict=True)
        for piece in range(int(schedule.offsets[job]) + 1, int(schedule.offsets[job + 1]))
        if schedule.nodes[piece] != schedule.nodes[piece - 1]
        and not _is_at_point(packed.points[job], progress.before[piece], slack)
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


def _slack(
    problem: WorkloadProblem, jobs: IntArray, run_times: FloatArray, rates: FloatArray, tolerance: float
) -> FloatArray:
    """Return the share by which the work done may be off, because of the tolerance and of rounding."""
    if tolerance > TIME_TOLERANCE_S:  # times that others have rounded: each piece may be off by as much
        return WORK_TOLERANCE + tolerance * rates
    shortest: FloatArray = np.fmin(run_times, problem.jobs.packed.runtime[jobs])
    return WORK_TOLERANCE + tolerance / shortest


def _is_at_point(points: IntArray, done: FloatArray, slack: FloatArray) -> NDArray[np.bool_]:
    """Return where the work done is a whole number of parts, or the size may change at any time."""
    parts = done * points
    at_point: NDArray[np.bool_] = (points == 0) | (np.abs(parts - np.rint(parts)) <= slack * points)
    return at_point


def reconfigurations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, areas: FloatArray
) -> dict[str, Any]:
    """Return the metrics of sizes that change: see `allocsolve.judge.WorkloadMetrics`.

    `areas` are the node-seconds that each job holds.
    """
    held = float(areas.sum())
    useful = float(_least_areas(problem).sum()) / held if held else 0.0
    fields: dict[str, Any] = {"resizes": 0, "resized_nodes": 0, "useful_share": useful}
    fields |= {"expansions_per_job": 0.0, "shrinks_per_job": 0.0}
    inner = np.ones(len(schedule.nodes), dtype=bool)
    inner[schedule.offsets[:-1]] = False
    change = np.diff(summable(schedule.nodes), prepend=0)[inner]
    if len(change):
        # An infeasible schedule may divide rigid jobs into pieces, too.
        elastic = max(1, int((problem.jobs.packed.kind >= MALLEABLE).sum()))
        fields["resizes"] = int((change != 0).sum())
        fields["resized_nodes"] = int(summable(np.abs(change)).sum())
        fields["expansions_per_job"] = int((change > 0).sum()) / elastic
        fields["shrinks_per_job"] = int((change < 0).sum()) / elastic
    return fields


def least_areas_by_law(problem: WorkloadProblem) -> FloatArray:
    """Return the least node-seconds of each job by its law of speedup; phases and profiles do not count.

    On more nodes of a law a job takes more node-seconds, but for tables.
    """
    packed = problem.jobs.packed
    if problem.is_rigid:
        return packed.nodes * packed.runtime
    least: FloatArray = packed.min_nodes * problem.run_times(packed.min_nodes)
    for idx in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        rows = slice(packed.table_offsets[idx], packed.table_offsets[idx + 1])
        least[idx] = (packed.table_nodes[rows] * packed.table_seconds[rows]).min()
    return least


def _least_areas(problem: WorkloadProblem) -> FloatArray:
    """Return the least node-seconds of each job."""
    evolving, least = problem.jobs.evolving, least_areas_by_law(problem)
    for idx in np.flatnonzero(problem.jobs.packed.kind == EVOLVING).tolist():
        rows = slice(evolving.offsets[idx], evolving.offsets[idx + 1])
        if evolving.reading[idx] == REACTIVE:
            least[idx] = evolving.amounts[rows].sum()
        elif evolving.reading[idx] == PROFILE:
            least[idx] = (evolving.amounts[rows] * evolving.nodes[rows]).sum()
    return least


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
        matter = matters.get(job) or _request_matter(
            problem, schedule, job, progress, float(progress.slack[row])
        )
        if matter:
            matters[job] = matter
    for code, matter_of in ((PROFILE, _profile_matter), (REACTIVE, reactive_matter)):
        for job in np.flatnonzero(reading == code).tolist():
            matter = matter_of(problem, schedule, job, tolerance)
            if matter:
                matters[job] = matter
    return matters


def _request_matter(
    problem: WorkloadProblem, schedule: WorkloadSchedule, job: int, progress: Progress, slack: float
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
    """Return what is wrong with a job with a profile: each step needs a piece, of its nodes, long enough."""
    profile = problem.jobs.evolutions[job]
    assert isinstance(profile, Profile)
    first, last = int(schedule.offsets[job]), int(schedule.offsets[job + 1])
    if last - first != len(profile.steps):
        return f"runs in {last - first} pieces, but has {len(profile.steps)} steps"
    ratio = expand_ratio(profile.expand_limit)
    for idx, (seconds, nodes) in enumerate(profile.steps):
        piece = first + idx
        start, end = float(schedule.starts[piece]), float(schedule.ends[piece])
        longest = math.inf if ratio is None else max_expanded_duration(seconds, ratio)
        lasts = end - start
        if schedule.nodes[piece] != nodes:
            return f"holds {schedule.nodes[piece]} nodes in step {idx}, but needs {nodes}"
        if idx and abs(start - float(schedule.ends[piece - 1])) > tolerance:
            return f"begins step {idx} at {shown_seconds(start)} s, not when the one before ends"
        if not seconds - tolerance <= lasts <= longest + tolerance:
            limits = f"{seconds} to {longest} s" if longest < math.inf else f"{seconds} s or more"
            return f"holds the nodes of step {idx} for {shown_seconds(lasts)} s instead of {limits}"
    return None


#: Seconds by which times may differ that should be equal; multiples of a quarter of a second are compared
#: exactly.
TIME_TOLERANCE_S: Final = 1e-6


def workload_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float = 0
) -> tuple[str, ...]:
    """Return what is wrong with a schedule; empty if it answers the problem.

    W1: each job runs once, not before its submission, without a break, on numbers of nodes that it allows. A
    rigid or moldable job keeps its number of nodes and runs for its run time on that number. A malleable job
    changes its number only at its points, when that much of its work is done, and ends when all work is done:
    a second on n nodes does ``1 / run time on n nodes`` of the work, a second of a stall does none. An
    evolving job changes its number when it asks for that or gives nodes back, and at no other time. W2: at no
    time more than `num_nodes` nodes are held; nodes that jobs give back at an instant are free for jobs that
    take them at the same instant. Of a machine with counted resources and closed windows, this holds for each
    resource and what is open of it, and no job starts before it is eligible.

    Messages name the job, the time (seconds) and the value. Multiples of a quarter of a second are compared
    exactly, other times with `TIME_TOLERANCE_S`. All times of a schedule of another program, which rounds
    them, may be off by `tolerance` seconds besides; how much of its work a malleable job has done then may be
    off by what it does in that time in each of its pieces. O(pieces log pieces).
    """
    if len(schedule.offsets) != len(problem.jobs) + 1:
        return (f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted",)
    tolerance += schedule_tolerance(problem, schedule)
    return (
        *_job_violations(problem, schedule, tolerance),
        *_capacity_violations(problem, schedule, tolerance),
    )


def schedule_tolerance(problem: WorkloadProblem, schedule: WorkloadSchedule) -> float:
    """Return the seconds by which times of a schedule may differ that should be equal."""
    exact = problem.is_exact and _in_quarters(schedule.starts) and _in_quarters(schedule.ends)
    return 0.0 if exact else TIME_TOLERANCE_S


def _in_quarters(times: FloatArray) -> bool:
    return bool((4 * times % 1 == 0).all())


def _job_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """Return what breaks W1."""
    pieces, names = np.diff(schedule.offsets), problem.jobs.names
    elastic = np.zeros(len(pieces), dtype=bool)
    if problem.is_elastic:
        elastic = problem.jobs.packed.kind >= MALLEABLE
    wrong_count = np.where(elastic, pieces < 1, pieces != 1)
    if wrong_count.any():
        return [
            f"job {names[idx]!r} never runs"
            if pieces[idx] == 0
            else f"job {names[idx]!r} runs in {pieces[idx]} pieces, but cannot change its size"
            for idx in np.flatnonzero(wrong_count).tolist()
        ]
    violations = _early_violations(problem, schedule, tolerance)
    violations += _run_violations(problem, schedule, np.flatnonzero(~elastic), tolerance)
    if elastic.any():
        violations += elastic_violations(problem, schedule, tolerance)
    return violations


def _early_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    submit, starts = problem.jobs.packed.submit, schedule.first_starts
    return [
        *(
            f"job {problem.jobs.names[idx]!r} starts at {shown_seconds(starts[idx])} s, "
            f"before its submission at {shown_seconds(submit[idx])} s"
            for idx in np.flatnonzero(starts < submit - tolerance).tolist()
        ),
        *early_violations(problem, schedule, tolerance),
    ]


def _run_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, tolerance: float
) -> list[str]:
    """Return the violations of these jobs, of one piece each."""
    at = schedule.offsets[jobs]
    nodes, lasted = schedule.nodes[at], schedule.ends[at] - schedule.starts[at]
    times = problem.run_times(nodes, jobs)
    wrong_size = np.isnan(times)
    in_time = np.abs(lasted - times) <= tolerance
    if not tolerance:  # then what is rounded away counts
        in_time &= are_sums(schedule.ends[at], schedule.starts[at], times)
    wrong_time = ~wrong_size & ~in_time
    violations = []
    for row in np.flatnonzero(wrong_size | wrong_time).tolist():
        idx = int(jobs[row])
        job = f"job {problem.jobs.names[idx]!r}"
        if wrong_size[row]:
            violations.append(f"{job} holds {nodes[row]} nodes, {needed_sizes(problem, idx)}")
        else:
            on = f" on {nodes[row]} nodes" if problem.jobs.speedups else ""
            violations.append(
                f"{job} runs for {shown_seconds(lasted[row])} s, but takes {shown_seconds(times[row])} s{on}"
            )
    return violations


def _capacity_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """Return what breaks W2. Usage rises at starts only, so it is compared with all nodes there."""
    if problem.resources or problem.closed:
        return machine_violations(problem, schedule, tolerance)
    begun = np.argsort(schedule.starts, kind="stable")
    ended = np.argsort(schedule.ends, kind="stable")
    starts, ends = schedule.starts[begun], schedule.ends[ended] - tolerance
    nodes = summable(schedule.nodes)
    taken = np.cumsum(nodes[begun])
    returned = np.concatenate([[0], np.cumsum(nodes[ended])])
    used = taken - returned[np.searchsorted(ends, starts, side="right")]
    # Of several starts at one instant, the last one counts all of them.
    last = np.ones(len(starts), dtype=bool)
    last[:-1] = starts[:-1] != starts[1:]
    if not (used[last] > problem.num_nodes).any():
        return []
    return _overloads(problem, schedule, tolerance)


def _overloads(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """Return a line for each span of time in which more than all nodes are held, by a sweep."""
    times = np.concatenate([schedule.starts, schedule.ends - tolerance])
    moments, at = np.unique(times, return_inverse=True)
    held = held_after(len(moments), schedule.nodes, *np.split(at, 2))
    return overloads(moments, held, problem.num_nodes, tolerance)


@dataclass(frozen=True, slots=True)
class WorkloadMetrics:
    """What a schedule is worth; times in seconds.

    Means are weighted; medians, 95th percentiles and maxima are those of the jobs that count: of weights
    above 0. Turnaround is end minus submission, wait is start minus submission, slowdown is
    ``max(1, turnaround / max(run time, 10 s))`` with the run time on `Job.nodes` nodes. All are 0 if no job
    counts.
    """

    turnaround: float
    slowdown: float
    wait: float
    #: The latest end of a job, counted or not, from time 0.
    makespan: float
    median_turnaround: float
    median_slowdown: float
    median_wait: float
    #: The least value that 95 % of the jobs do not exceed.
    p95_turnaround: float
    p95_slowdown: float
    p95_wait: float
    max_turnaround: float
    max_slowdown: float
    max_wait: float
    #: Node-seconds that jobs hold / those of all open nodes from the first submission to the last end.
    utilisation: float
    #: The mean number of jobs that wait during that time.
    mean_queue_length: float
    #: Jobs that start before a job submitted earlier (at one instant: before a job listed earlier).
    backfilled_jobs: int
    #: Mean turnaround, weighted by the node-seconds of the jobs times their weights (AWRT).
    area_weighted_response: float
    #: Changes of the sizes of running jobs, and the nodes that jobs took or gave up by them.
    resizes: int
    resized_nodes: int
    #: Mean numbers of changes to more and to fewer nodes of malleable and evolving jobs; 0 without such jobs.
    expansions_per_job: float
    shrinks_per_job: float
    #: The least node-seconds that the jobs could hold / those that they hold.
    useful_share: float


def workload_metrics(problem: WorkloadProblem, schedule: WorkloadSchedule) -> WorkloadMetrics:
    """Return the metrics of a feasible schedule. O(pieces log pieces).

    Raises
    ------
    InvalidAnswer
        If a job has no piece: then there is no mean over all jobs.
    """
    packed = problem.jobs.packed
    idle = np.diff(schedule.offsets) == 0
    if idle.any():
        msg = f"job {problem.jobs.names[int(np.argmax(idle))]!r} never runs"
        raise InvalidAnswer(msg)
    if not len(problem.jobs):
        return WorkloadMetrics(**dict.fromkeys(WorkloadMetrics.__slots__, 0))
    starts, ends = schedule.first_starts, schedule.last_ends
    turnarounds, waits = ends - packed.submit, starts - packed.submit
    slowdowns = np.maximum(1, turnarounds / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
    areas = _job_areas(schedule)
    span = max(float(ends.max() - packed.submit.min()), TIME_TOLERANCE_S)
    counts = packed.weight > 0
    there = problem.num_nodes * span
    if problem.closed:
        first = float(packed.submit.min())
        there = open_node_seconds(problem, first, first + span) or there
    columns = {"turnaround": turnarounds, "slowdown": slowdowns, "wait": waits}
    fields: dict[str, Any] = {}
    for name, column in columns.items():
        fields[name] = _mean(column, packed.weight)
        spread = _spread(column[counts])
        fields |= dict(zip((f"median_{name}", f"p95_{name}", f"max_{name}"), spread, strict=True))
    return WorkloadMetrics(
        **fields,
        makespan=float(ends.max()),
        utilisation=float(areas.sum()) / there,
        mean_queue_length=float(waits.sum()) / span,
        backfilled_jobs=_backfilled(packed.submit, starts),
        area_weighted_response=_mean(turnarounds, packed.weight * areas),
        **reconfigurations(problem, schedule, areas),
    )


def _job_areas(schedule: WorkloadSchedule) -> FloatArray:
    """Return the node-seconds that each job holds."""
    areas = (schedule.ends - schedule.starts) * schedule.nodes
    if len(areas) == len(schedule.offsets) - 1:
        return areas
    total: FloatArray = np.add.reduceat(areas, schedule.offsets[:-1])
    return total


def _mean(values: FloatArray, weights: FloatArray) -> float:
    total = _sum(weights)
    return _sum(values * weights) / total if total else 0.0


def _sum(values: FloatArray) -> float:
    """Return the sum, rounded once; sums of multiples of a quarter are exact up to 2^51."""
    if float(np.abs(values).sum()) < MAX_INTEGER / 4 and _in_quarters(values):
        return float(values.sum())
    return math.fsum(values.tolist())


def _spread(values: FloatArray) -> tuple[float, float, float]:
    """Return median, 95th percentile and maximum."""
    count = len(values)
    if not count:
        return 0.0, 0.0, 0.0
    middle, high = count // 2, -(-95 * count // 100) - 1
    ordered = np.partition(values, (max(middle - 1, 0), middle, high, count - 1))
    median = ordered[middle] if count % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return float(median), float(ordered[high]), float(ordered[-1])


def _backfilled(submits: FloatArray, starts: FloatArray) -> int:
    if (np.diff(submits) < 0).any():
        starts = starts[np.argsort(submits, kind="stable")]
    return int((starts < np.maximum.accumulate(starts)).sum())


def value_of_workload_metrics(metrics: WorkloadMetrics, objective: WorkloadObjective) -> Value:
    """Return the value of a schedule with these metrics: a tuple for an objective of several terms."""
    values = tuple(float(getattr(metrics, term)) for term in objective)
    return values if len(objective) > 1 else values[0]


def workload_value(
    problem: WorkloadProblem, schedule: WorkloadSchedule, objective: WorkloadObjective = ("turnaround",)
) -> Value:
    """Return the objective value of a feasible schedule; a tuple for an objective of several terms."""
    return value_of_workload_metrics(workload_metrics(problem, schedule), objective)


@dataclass(frozen=True, slots=True)
class WindowMetrics:
    """Unweighted means over the jobs of a window; times in seconds."""

    jobs: int
    turnaround: float
    wait: float
    slowdown: float
    #: Node-seconds that all jobs hold in the window / those of all nodes that are open.
    utilisation: float


def window_metrics(
    problem: WorkloadProblem, schedule: WorkloadSchedule, first_submit: float, last_end: float
) -> WindowMetrics:
    """Return the means of the jobs that are submitted at `first_submit` or later and end by `last_end`.

    Which jobs these are depends on the schedule. Papers that leave out the cool-down count like this (Zojer
    et al. 2025). For an objective, give weights of 0 instead: they leave out the same jobs in every schedule.
    """
    packed, ends = problem.jobs.packed, schedule.last_ends
    inside = (packed.submit >= first_submit) & (ends <= last_end)
    ones = inside.astype(np.float64)
    turnarounds = ends - packed.submit
    slowdowns = np.maximum(1, turnarounds / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
    held = np.minimum(schedule.ends, last_end) - np.maximum(schedule.starts, first_submit)
    there = problem.num_nodes * max(last_end - first_submit, TIME_TOLERANCE_S)
    if problem.closed:
        there = open_node_seconds(problem, first_submit, last_end) or there
    area = float((np.maximum(held, 0) * schedule.nodes).sum())
    return WindowMetrics(
        jobs=int(inside.sum()),
        turnaround=_mean(turnarounds, ones),
        wait=_mean(schedule.first_starts - packed.submit, ones),
        slowdown=_mean(slowdowns, ones),
        utilisation=area / there,
    )
