"""Profile fit: jobs whose demand changes in steps are planned by those of their steps that are known.

The plan is a resource profile whose times are real numbers of seconds. `place` and `compact` of the evolution
family, which place the steps of one job, are made for whole seconds; they work here, too, because all that
they compute with times is exact for both.

The loop is not that of `simulation`: a plan is final except for what becomes known, so nothing is decided
where jobs start, go on or end, and the engine would only carry the plan out. That alone, without the
planning, takes it 6.7 ms for the 28,467 jobs of KTH-SP2 as rigid ones, and 18.5 ms if each has three steps.
Planning them here takes 7.6 and 14.2 ms; with two known steps at a time 16 and 270 ms (CPU time, two shared
cores of an AMD EPYC).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics._kernels_fit import Request, Segments, compact, place
from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.model import NOT_EVOLVING, PROFILE, WorkloadProblem, WorkloadSchedule, expand_ratio, frozen
from allocsolve.model.checks import instance
from allocsolve.model.profile import ExpandLimit, max_expanded_durations
from allocsolve.simulation import EngineRules, Log, ProfileKnowledge, Simulation
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray


class JobSteps(NamedTuple):
    """The steps of all jobs; read-only."""

    #: Shape (jobs,), seconds.
    submit: FloatArray
    #: Shape (jobs + 1,): the steps of job j are ``offsets[j]:offsets[j + 1]``.
    offsets: IntArray
    #: Shape (steps,): the seconds and nodes of each step, and the longest time (s) for which it may hold its
    #: nodes.
    seconds: FloatArray
    nodes: IntArray
    longest: FloatArray
    #: Shape (steps,): the seconds of all later steps of the same job.
    after: FloatArray
    #: Shape (jobs,): the seconds of all steps, the most nodes, and whether steps may hold their nodes for
    #: ever.
    runtime: FloatArray
    peak: IntArray
    patient: IntArray


class Reserved(NamedTuple):
    """The reservations of jobs, and what is known of them. Shape (jobs,) unless another one is given."""

    #: Shape (jobs, pieces): when each piece begins, and its nodes. By job: the number of pieces, and when the
    #: last piece ends.
    begins: FloatArray
    nodes: IntArray
    pieces: IntArray
    end: FloatArray
    #: One of `_QUEUED`, `_WAITING`, `_COMPUTING`.
    state: IntArray
    #: The present step, or the step for which the job waits; when it began or is planned to begin.
    step: IntArray
    begin: FloatArray


class Room(NamedTuple):
    """Arrays for placing one job."""

    request: Request
    starts: FloatArray
    late: FloatArray
    work: IntArray


#: Codes of `Reserved.state`: not started, waiting for the nodes of a step, in a step.
_QUEUED: Final = 0
_WAITING: Final = 1
_COMPUTING: Final = 2

#: The most rows of a request of `place_known_steps`: a moment without nodes, the nodes that a job holds, two
#: steps, and the rest of the job.
ROWS: Final = 5


def new_plan(num_bounds: int) -> Segments:
    """Return an idle plan with room for `num_bounds` bounds of reservations."""
    times, usage = np.zeros(num_bounds + 1), np.zeros(num_bounds + 1, dtype=np.int64)
    return Segments(times, usage, np.ones(1, dtype=np.int64))  # type: ignore[arg-type]  # times are real


def new_room(rows: int) -> Room:
    """Return arrays for placing jobs of at most `rows` rows."""
    request = Request(np.zeros(rows), np.zeros(rows, dtype=np.int64), np.zeros(rows))  # type: ignore[arg-type]  # times are real
    return Room(request, np.zeros(rows), np.zeros(rows), np.zeros((2, rows), dtype=np.int64))


def no_reservations(jobs: int) -> Reserved:
    """Return the reservations before any job is submitted."""
    return Reserved(
        np.zeros((jobs, ROWS)),
        np.zeros((jobs, ROWS), dtype=np.int64),
        np.zeros(jobs, dtype=np.int64),
        np.zeros(jobs),
        np.full(jobs, _QUEUED),
        np.zeros(jobs, dtype=np.int64),
        np.zeros(jobs),
    )


@inner_kernel
def _bound(plan: Segments, time: float) -> int:
    """Return the segment that begins at a time, not before the first segment; split one if there is none."""
    times, usage, count = plan.times, plan.usage, plan.in_use[0]
    at = bisect_right(times, count, time) - 1
    if times[at] == time:
        return at
    for k in range(count, at + 1, -1):
        times[k] = times[k - 1]
        usage[k] = usage[k - 1]
    times[at + 1] = time
    usage[at + 1] = usage[at]
    plan.in_use[0] = count + 1
    return at + 1


@inner_kernel
def _change(plan: Segments, begin: float, end: float, nodes: int) -> None:
    """Make `nodes` more nodes busy from `begin` to `end`. O(segments)."""
    first = _bound(plan, begin)
    for k in range(first, _bound(plan, end)):
        plan.usage[k] += nodes


@inner_kernel
def _forget(plan: Segments, now: float) -> None:
    """Drop the segments before now, and join neighbours of the same usage. O(segments)."""
    times, usage, count = plan.times, plan.usage, plan.in_use[0]
    used = 0
    for k in range(bisect_right(times, count, now) - 1, count):
        if not used or usage[used - 1] != usage[k]:
            times[used] = times[k]
            usage[used] = usage[k]
            used += 1
    plan.in_use[0] = used


@inner_kernel
def _first_busy(plan: Segments, begin: float, end: float, capacity: int) -> float:
    """Return the start of the first segment that meets ``[begin, end)`` with more than `capacity` busy nodes.

    The start may be before `begin`; it is -1 if there is no such segment.
    """
    k = bisect_right(plan.times, plan.in_use[0], begin) - 1
    while k < plan.in_use[0] and plan.times[k] < end:
        if plan.usage[k] > capacity:
            return float(plan.times[k])
        k += 1
    return -1.0


@inner_kernel
def _fit(
    plan: Segments, request: Request, num_nodes: int, earliest: float, compacting: bool, room: Room
) -> float:
    """Write the starts of the steps of a request into the room; return when the last step ends."""
    steps = len(request.durations)
    starts, late = room.starts[:steps], room.late[:steps]
    place(plan, request, num_nodes, earliest, starts, room.work)  # type: ignore[arg-type]  # times are real
    end = starts[steps - 1] + request.durations[steps - 1]
    if compacting and compact(plan, _first_busy, earliest, request, num_nodes, end, late):  # type: ignore[arg-type]  # times are real
        for i in range(steps):
            starts[i] = late[i]
    return float(end)


@kernel
def place_jobs(
    order: IntArray,
    jobs: JobSteps,
    num_nodes: int,
    compacting: bool,
    plan: Segments,
    room: Room,
    starts: FloatArray,
) -> None:
    """Place jobs in the order of their submission, knowing all steps; write the starts, shape (steps,).

    The plan needs room for two bounds of each step; `room` needs as many rows as any job has steps.
    """
    for job in order:
        _forget(plan, jobs.submit[job])
        a, b = jobs.offsets[job], jobs.offsets[job + 1]
        request = Request(jobs.seconds[a:b], jobs.nodes[a:b], jobs.longest[a:b])  # type: ignore[arg-type]  # times are real
        end = _fit(plan, request, num_nodes, jobs.submit[job], compacting, room)
        for step in range(a, b):
            starts[step] = room.starts[step - a]
        for step in range(a, b):
            _change(plan, starts[step], starts[step + 1] if step + 1 < b else end, jobs.nodes[step])


@inner_kernel
def _take_out(plan: Segments, reserved: Reserved, job: int, now: float) -> None:
    """Remove the reservation of a job from now on from the plan."""
    for at in range(reserved.pieces[job]):
        last = at + 1 == reserved.pieces[job]
        end = reserved.end[job] if last else reserved.begins[job, at + 1]
        if end > now:
            _change(plan, max(now, reserved.begins[job, at]), end, -reserved.nodes[job, at])


@inner_kernel
def _known_rows(jobs: JobSteps, reserved: Reserved, job: int, now: float, request: Request) -> int:
    """Write the known demand of a job from now on into a request; return the number of rows.

    The demand is the present step, the next one, and the most nodes for the time that is left after them. For
    a job that has started, the request begins with a moment without nodes, because the first row of a request
    is never extended.
    """
    seconds, nodes, longest = request
    first, step, last = jobs.offsets[job], reserved.step[job], jobs.offsets[job + 1]
    count = 0
    if reserved.state[job] != _QUEUED:
        seconds[0] = 0
        nodes[0] = 0
        count = 1
    if reserved.state[job] == _WAITING:
        seconds[count] = 0
        nodes[count] = jobs.nodes[first + step - 1]
        count += 1
    for at in range(first + step, min(first + step + 2, last)):
        seconds[count] = jobs.seconds[at]
        if at == first + step and reserved.state[job] == _COMPUTING:
            seconds[count] = reserved.begin[job] + jobs.seconds[at] - now
        nodes[count] = jobs.nodes[at]
        count += 1
    if first + step + 2 < last:
        seconds[count] = jobs.after[first + step + 1]
        nodes[count] = jobs.peak[job]
        count += 1
    for at in range(count):
        waits = jobs.patient[job] and at + 1 < count and nodes[at + 1] > nodes[at]
        longest[at] = np.inf if waits else seconds[at]
    if reserved.state[job] != _QUEUED:
        longest[0] = 0
    return count


@inner_kernel
def _put(
    plan: Segments,
    jobs: JobSteps,
    num_nodes: int,
    compacting: bool,
    job: int,
    now: float,
    reserved: Reserved,
    room: Room,
) -> None:
    """Reserve the earliest place for the known demand of a job from now on."""
    rows = _known_rows(jobs, reserved, job, now, room.request)
    seconds, nodes, longest = room.request
    request = Request(seconds[:rows], nodes[:rows], longest[:rows])
    queued = reserved.state[job] == _QUEUED
    end = _fit(plan, request, num_nodes, now, compacting and queued, room)
    if queued:
        reserved.begin[job] = room.starts[0]
    elif reserved.state[job] == _WAITING:
        reserved.begin[job] = room.starts[2]
    pieces = 0
    for at in range(rows):
        until = room.starts[at + 1] if at + 1 < rows else end
        if until > room.starts[at]:
            reserved.begins[job, pieces] = room.starts[at]
            reserved.nodes[job, pieces] = nodes[at]
            pieces += 1
            _change(plan, room.starts[at], until, nodes[at])
    reserved.pieces[job] = pieces
    reserved.end[job] = end


@inner_kernel
def _next_end(jobs: JobSteps, reserved: Reserved, active: IntArray, count: int) -> float:
    """Return the earliest end of a step that is not the last one of its job; infinite for none."""
    time = np.inf
    for at in range(count):
        job = active[at]
        step = jobs.offsets[job] + reserved.step[job]
        if step + 1 < jobs.offsets[job + 1]:
            time = min(time, reserved.begin[job] + jobs.seconds[step])
    return time


@inner_kernel
def _end_step(jobs: JobSteps, reserved: Reserved, job: int, now: float, starts: FloatArray) -> bool:
    """Update what a planned job has done until now; return whether one of its steps ends now.

    A job whose last step has begun needs no further update: its reservation is exact.
    """
    if reserved.state[job] != _COMPUTING and reserved.begin[job] < now:
        reserved.state[job] = _COMPUTING
    first, step = jobs.offsets[job], jobs.offsets[job] + reserved.step[job]
    starts[step] = reserved.begin[job]
    over = reserved.begin[job] + jobs.seconds[step] <= now
    if reserved.state[job] != _COMPUTING or step + 1 == jobs.offsets[job + 1] or not over:
        return False
    reserved.step[job] = step + 1 - first
    if jobs.nodes[step + 1] > jobs.nodes[step]:
        reserved.state[job] = _WAITING
    else:
        reserved.begin[job] = now
    return True


@kernel
def place_known_steps(
    order: IntArray,
    jobs: JobSteps,
    num_nodes: int,
    compacting: bool,
    plan: Segments,
    reserved: Reserved,
    room: Room,
    active: IntArray,
    starts: FloatArray,
) -> None:
    """Place jobs in the order of their submission, knowing two steps at a time; write the starts, (steps,).

    Whenever steps end, the jobs that go on are taken out of the plan and put back as early as possible, each
    with the step that is now known. Then this is repeated for all jobs in the plan, because room may have
    become free. The plan needs room for 32 bounds of each job, `room` for `ROWS` rows.
    """
    number = len(order)
    count = arrived = 0
    while True:
        now = _next_end(jobs, reserved, active, count)
        if arrived < number:
            now = min(now, jobs.submit[order[arrived]])
        if now == np.inf:
            break
        _forget(plan, now)
        known = still = 0
        for at in range(count):
            job = active[at]
            if _end_step(jobs, reserved, job, now, starts):
                known += 1
                _take_out(plan, reserved, job, now)
                _put(plan, jobs, num_nodes, compacting, job, now, reserved, room)
            if reserved.end[job] > now:
                active[still] = job
                still += 1
        count = still
        if known:
            for at in range(count):
                job = active[at]
                _take_out(plan, reserved, job, now)
                _put(plan, jobs, num_nodes, compacting, job, now, reserved, room)
        while arrived < number and jobs.submit[order[arrived]] == now:
            job = order[arrived]
            _put(plan, jobs, num_nodes, compacting, job, now, reserved, room)
            active[count] = job
            arrived += 1
            count += 1
    for at in range(count):
        job = active[at]
        starts[jobs.offsets[job] + reserved.step[job]] = reserved.begin[job]


@dataclass(frozen=True, slots=True)
class ProfileFit(CompiledSolver):
    """Plan every job when it is submitted, with the steps of its profile that are known by then.

    The plan says when each step of each job will begin. Jobs are put into it in the order of submission, each
    by the base fit of Klein & Perez: it completes as early as the jobs before it allow, and a step may hold
    its nodes until the next one, which needs more, has them. For what is not known of a job its most nodes
    are reserved, for the time that is left of its run time.

    `InvalidOption` when called, if a job evolves in another way than by a profile.

    Parameters
    ----------
    knowledge
        What is known of a profile, see `allocsolve.simulation.EngineRules`. ``all``: all steps, the plan
        is carried out as it was made. ``next``: the present step and the next one; whenever a step ends,
        jobs that go on are planned again with what is known now, then, in the order of submission, all jobs
        that have not ended: none ever gets later. ``none``: nothing but the most nodes, which are
        reserved from start to end. The run time of a job is known in any case.
    expand_limit
        How many times its duration a step may hold its nodes, 1 (it never waits) to infinity; the limit of
        the profile holds as well. With ``next`` knowledge steps wait only if there is no limit, as how long
        the next one will have to wait is not known.
    compacting
        Start as late as the planned completion allows, so that less is held while waiting.

    Notes
    -----
    Jobs without a profile are of one step, on `allocsolve.model.Job.nodes` nodes; malleable ones keep them.

    *Guarantee*: feasible and never at a standstill; no job completes after the completion that was planned
    when it was submitted. With ``all`` the schedule is that of `allocsolve.heuristics.ListScheduling` in
    the order of submission, without a limit or with limit 1, and not compacted (other limits differ: here a
    job gives nodes back as soon as it does not need them); with ``none`` that of
    `allocsolve.heuristics.Rigid`. *Complexity*: O(steps x segments of the plan); with ``next`` O(jobs in the
    plan x its segments) for every step.
    *Reference*: Klein & Perez, "Towards scheduling evolving applications", 2011, Algorithm 2, for the fit.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, Profile, WorkloadProblem
    >>> grows = Profile([(10, 1), (10, 3)])
    >>> problem = WorkloadProblem(
    ...     4, [Job(0, 3, 15), Job(0, 1, 20, min_nodes=1, max_nodes=3, evolution=grows), Job(1, 2, 5)]
    ... )
    >>> for knowledge in "all", "none":
    ...     schedule = ProfileFit(knowledge)(problem, Budget()).answer
    ...     print([schedule.pieces(job) for job in (1, 2)])
    [((5.0, 15.0, 1), (15.0, 25.0, 3)), ((25.0, 30.0, 2),)]
    [((15.0, 25.0, 1), (25.0, 35.0, 3)), ((35.0, 40.0, 2),)]
    """

    knowledge: ProfileKnowledge = "all"
    expand_limit: ExpandLimit = math.inf
    compacting: bool = False

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy: they say what it knows."""
        return EngineRules(knowledge="actual", profile_knowledge=self.knowledge)

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop of this policy, with the reasons of all starts.

        `InvalidOption` if rules are given that differ from those of the policy in more than `kill_at_limit`;
        `UnsupportedProblem` if a job evolves without a profile.
        """
        if rules is not None:
            problem = rules.applied(problem)
        if rules not in {None, self.rules, dataclasses.replace(self.rules, kill_at_limit=True)}:
            raise InvalidOption(f"profile fit has the rules {self.rules}, not {rules}")
        steps = _job_steps(instance("problem", problem, WorkloadProblem), self.expand_limit)
        order = frozen(np.argsort(problem.packed.submit, kind="stable"))
        starts = self._step_starts(order, steps, problem.num_nodes)
        ends = np.append(starts[1:], 0.0)[: len(starts)]
        last = steps.offsets[1:] - 1
        ends[last] = starts[last] + steps.seconds[last]
        schedule = WorkloadSchedule(steps.offsets, starts, ends, steps.nodes)
        return Simulation(schedule, _log(order, schedule.first_starts))

    def _step_starts(self, order: IntArray, steps: JobSteps, num_nodes: int) -> FloatArray:
        """Return the start of each step, in seconds; jobs are planned in this order."""
        jobs, starts = len(order), np.zeros(len(steps.seconds))
        lengths = np.diff(steps.offsets)
        if self.knowledge == "next":
            state = (
                new_plan(32 * jobs),
                no_reservations(jobs),
                new_room(ROWS),
                np.zeros_like(order),
            )
            place_known_steps(order, steps, num_nodes, self.compacting, *state, starts)
        elif self.knowledge == "all":
            plan, room = new_plan(2 * len(starts)), new_room(lengths.max(initial=1))
            place_jobs(order, steps, num_nodes, self.compacting, plan, room, starts)
        else:
            begins, plan = np.zeros(jobs), new_plan(2 * jobs)
            place_jobs(order, _in_one_step(steps), num_nodes, self.compacting, plan, new_room(1), begins)
            starts = np.repeat(steps.runtime, lengths) - (steps.after + steps.seconds)
            starts += np.repeat(begins, lengths)
        return starts


def _job_steps(problem: WorkloadProblem, expand_limit: float) -> JobSteps:
    """Return the steps of all jobs, which have profiles or one step."""
    problem.check_plain("sizes")
    packed, plan = problem.jobs.packed, problem.jobs.evolving
    profiled = plan.reading == PROFILE
    other = ~profiled & (plan.reading != NOT_EVOLVING)
    problem.jobs.refuse(other, "evolves without a profile: profile fit does not answer its requests")
    lengths = np.where(profiled, np.diff(plan.offsets), 1)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    seconds, nodes = np.repeat(packed.runtime, lengths), np.repeat(packed.nodes, lengths)
    of_profiles = np.repeat(profiled, lengths)
    seconds[of_profiles], nodes[of_profiles] = plan.amounts, plan.nodes
    # Sums of whole seconds are exact.
    done, last = np.cumsum(np.where(of_profiles, seconds, 0)), offsets[1:] - 1
    limits = np.minimum(plan.expand_limit, expand_limit)
    longest = seconds.copy()
    # A job gives nodes back as soon as it can: only a step before one that needs more nodes may wait.
    waits = np.zeros(len(nodes), dtype=bool)
    waits[:-1] = nodes[1:] > nodes[:-1]
    waits[last] = False
    step_limits = np.repeat(limits, lengths)
    for limit in np.unique(step_limits[waits]).tolist():
        these = waits & (step_limits == limit)
        ratio = expand_ratio(limit)
        longest[these] = (
            np.inf if ratio is None else max_expanded_durations(seconds[these].astype(np.int64), ratio)
        )
    return JobSteps(
        submit=packed.submit,
        offsets=frozen(offsets),
        seconds=frozen(seconds),
        nodes=frozen(nodes),
        longest=frozen(longest),
        after=frozen(np.repeat(done[last], lengths) - done),
        runtime=packed.runtime,
        peak=frozen(np.maximum.reduceat(nodes, offsets[:-1]) if len(lengths) else nodes.copy()),
        patient=frozen(np.isinf(limits).astype(np.int64)),
    )


def _in_one_step(steps: JobSteps) -> JobSteps:
    """Return the jobs with a single step each, in which they hold their most nodes from start to end."""
    jobs = len(steps.submit)
    return steps._replace(
        offsets=frozen(np.arange(jobs + 1)),
        seconds=steps.runtime,
        nodes=steps.peak,
        longest=steps.runtime,
        after=frozen(np.zeros(jobs)),
    )


def _log(order: IntArray, starts: FloatArray) -> Log:
    """Return why jobs started: at the head of the queue, or before a job that was submitted earlier."""
    latest = np.maximum.accumulate(starts[order])
    first = np.searchsorted(latest, starts, side="right")
    blocked = np.full(len(order), -1)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    passed = first < places
    blocked[passed] = order[first[passed]]
    reasons = np.where(blocked < 0, AT_HEAD, BACKFILLED).astype(np.int64)
    started = order[np.argsort(starts[order], kind="stable")]
    return Log(frozen(started), frozen(reasons), frozen(blocked))
