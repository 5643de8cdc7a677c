"""Queue policies for kernels: one call.

In it the head of the queue starts while it fits, then other jobs are backfilled around it. The module
also holds the orders of the queue and the estimates that are learned from users. The EASYs of other tools
come last; see `allocsolve.heuristics.workload.policies.Easy` for what each tool does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload.resources import Machine, can_start, hold, leaves_head, reserve, use_extra
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model.speedup import SPEEDUP_TABLE
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    State,
    advance,
    begin,
    largest_size,
    leave_queue,
    run_time,
    time_ratio,
)

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs

#: Codes of the orders; from `FIRST_AGING` on, scores change with time. See
#: `allocsolve.heuristics.workload.policies.QueueOrder` for their meaning.
ORDER_CODES: Final = {
    "submission": 0,
    "shortest-estimate": 1,
    "smallest-area": 2,
    "largest": 3,
    "smallest": 4,
    "f1": 5,
    "f2": 6,
    "f3": 7,
    "f4": 8,
    "wfp3": 9,
    "unicef": 10,
}
FIRST_AGING: Final = 9


@inner_kernel
def _submission_score(nodes: float, submit: float, estimate: float, order: int) -> float:
    """Return the score F1, F2, F3 or F4 of Carastan-Santos & de Camargo (SC'17)."""
    since = math.log10(max(submit, 1.0))
    if order == 5:
        return math.log10(estimate) * nodes + 870.0 * since
    if order == 6:
        return math.sqrt(estimate) * nodes + 25600.0 * since
    if order == 7:
        return estimate * nodes + 6860000.0 * since
    return estimate * math.sqrt(nodes) + 530000.0 * since


@inner_kernel
def _aging_score(nodes: float, wait: float, estimate: float, order: int) -> float:
    """Return the score WFP3 or UNICEF; the least one comes first, so both are negative."""
    if order == 9:
        return -((wait / estimate) ** 3) * nodes
    return -math.inf if nodes == 1.0 else -wait / (math.log2(nodes) * estimate)


@inner_kernel
def score_of(jobs: PackedJobs, job: int, estimate: float, now: float, order: int) -> float:
    """Return the score of a queued job, by which the least comes first; `estimate` is in seconds."""
    nodes = float(jobs.nodes[job])
    if order == 0:
        return float(jobs.submit[job])
    if order == 1:
        return estimate
    if order == 2:
        return estimate * nodes
    if order == 3:
        return -nodes
    if order == 4:
        return nodes
    if order < FIRST_AGING:
        return _submission_score(nodes, float(jobs.submit[job]), estimate, order)
    return _aging_score(nodes, now - float(jobs.submit[job]), estimate, order)


@inner_kernel
def _is_before(
    jobs: PackedJobs, scores: FloatArray, job: int, other: int, submit: FloatArray | None = None
) -> bool:
    """Return whether a job stands before another one in the queue."""
    if scores[job] != scores[other]:
        return bool(scores[job] < scores[other])
    if jobs.submit[job] != jobs.submit[other]:
        return bool(jobs.submit[job] < jobs.submit[other])
    if submit is not None and submit[job] != submit[other]:
        return bool(submit[job] < submit[other])
    return job < other


@inner_kernel
def sort_queue(
    jobs: PackedJobs,
    state: State,
    estimates: FloatArray,
    scores: FloatArray,
    order: int,
    first: int,
    submit: FloatArray | None = None,
) -> int:
    """Score the jobs from the place `first` of the queue on, and move each to its place in the order.

    The queue before `first` must be sorted already. Under an order that changes with time, the whole queue is
    scored and sorted again. Insertion sort is fast here, as the order changes little from event to event:
    O(queue) if nothing changes. Return the first place that has changed.

    `submit` is given if head starts are part of ``jobs.submit``: when jobs are submitted, in seconds.
    """
    now, head, tail = state.engine.clock, state.engine.head, state.engine.tail
    if order >= FIRST_AGING:
        first = head
    queue, changed = state.queue, tail
    for at in range(first, tail):
        job = queue[at]
        scores[job] = score_of(jobs, job, estimates[job], now, order)
    for at in range(first, tail):
        job, place = queue[at], at
        while place > head and _is_before(jobs, scores, job, queue[place - 1], submit):
            queue[place] = queue[place - 1]
            place -= 1
        queue[place] = job
        changed = min(changed, place)
    return int(changed)


#: Codes of `QueueRule.kind`. The EASYs of other tools have further ones, see below.
FCFS: Final = 0
FIRST_FIT: Final = 1
EASY: Final = 2

#: EASY with any number of reservations, and Slurm's two schedulers: both plan on what is free over time, see
#: `_kernels_reservations`.
RESERVING: Final = 6
SLURM: Final = 7

#: Codes of `QueueRule.moldable`, the choice of the size on which a job starts.
MAX_SIZE: Final = 0
MIN_SIZE: Final = 1
FIT_SIZE: Final = 2
PREFERRED_SIZE: Final = 3


class Passes(NamedTuple):
    """When passes are made under the kind `SLURM`, and how far they look; times in seconds."""

    interval: float = 0.0
    window: float = 0.0
    resolution: float = 0.0
    #: How many jobs of the queue are tested.
    max_jobs: int = 0


class QueueRule(NamedTuple):
    """The options of a queue policy for kernels."""

    kind: int
    extra_nodes: bool
    strict: bool
    order: int
    moldable: int
    #: The number of jobs behind the head that are examined.
    scan_limit: int
    #: Whether estimates are learned from completed jobs.
    learning: bool
    #: How many jobs that cannot start have reservations, under the kind `RESERVING`.
    reservations: int = 1
    passes: Passes = Passes()


class Blocked(NamedTuple):
    """The reservation of the last call. While no job completes, only new jobs can start beside it.

    Jobs that waited have less time until the shadow time than before, and no more nodes. This does not hold
    for jobs that choose their sizes, and it requires that new jobs come last in the queue.
    """

    #: Shape (2,): whether a reservation can be reused at all, and whether there is one.
    flags: IntArray
    #: Shape (1,) each: the shadow time, in seconds, and the extra nodes that are left.
    shadow_time: FloatArray
    extra: IntArray


def nothing_blocked(*, usable: bool) -> Blocked:
    """Return the memory before the first call, without a reservation."""
    return Blocked(np.array([usable, 0], dtype=np.int64), np.empty(1), np.empty(1, dtype=np.int64))


class Estimates(NamedTuple):
    """What a policy knows of run times, in seconds. Shape (jobs,) unless another one is given.

    Times refer to the own number of nodes of each job.
    """

    #: The estimates of the users.
    limit: FloatArray
    #: The run times that the policy expects of running jobs, and of waiting jobs.
    running: FloatArray
    queued: FloatArray
    #: The scores of the order; written if the queue is not in the order of submission.
    scores: FloatArray
    #: The number of the user; -1 if the user is not known.
    user: IntArray
    #: Shape (users, 2): the run times of the last two completed jobs, the latest first; NaN if there are
    #: fewer.
    last_runs: FloatArray


#: The users where nothing is learned from them.
NO_USERS: Final = np.empty(0, dtype=np.int64)


def initial_estimates(limit: FloatArray, *expected: FloatArray, users: IntArray = NO_USERS) -> Estimates:
    """Return the estimates (s) with which a policy begins: of users, of running and of queued jobs.

    Those that are `expected` are those of users if left out.
    """
    running, queued = expected or (limit, limit)
    return Estimates(
        limit=limit,
        running=running.copy(),
        queued=queued.copy(),
        scores=np.empty(len(limit)),
        user=users,
        last_runs=np.full((int(users.max(initial=-1)) + 1, 2), np.nan),
    )


@inner_kernel
def size_now(jobs: PackedJobs, job: int, free: int, moldable: int) -> int:
    """Return the number of nodes on which a job starts if `free` nodes are free; 0 if it does not fit."""
    if moldable == MIN_SIZE:
        return int(jobs.min_nodes[job]) if jobs.min_nodes[job] <= free else 0
    if moldable == PREFERRED_SIZE:
        free = min(free, jobs.nodes[job])
    return largest_size(jobs, job, free)


@inner_kernel
def size_to_start(
    jobs: PackedJobs,
    job: int,
    free: int,
    moldable: int,
    estimate: float,
    now: float,
    machine: Machine | None = None,
) -> int:
    """Return the number of nodes on which a job starts now if `free` nodes are free; 0 if it cannot.

    Of a machine it takes as many as it can keep until its expected end.
    """
    nodes = size_now(jobs, job, free, moldable)
    if machine is not None:
        while nodes and not can_start(machine, job, nodes, now + estimate * time_ratio(jobs, job, nodes)):
            nodes = largest_size(jobs, job, nodes - 1)
    return nodes


@inner_kernel
def start(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    job: int,
    nodes: int,
    blocked: int,
    machine: Machine | None = None,
) -> None:
    """Start a job that has left the queue, as its head (`blocked` is -1) or before a blocked job."""
    estimate = estimates.running[job] * time_ratio(jobs, job, nodes)
    why = AT_HEAD if blocked < 0 else BACKFILLED
    until = state.engine.clock + estimate
    begin(state, job, nodes, run_time(jobs, job, nodes), estimate, until, why, blocked)
    if machine is not None:
        hold(machine, job, nodes, until, 1)


@inner_kernel
def start_heads(
    jobs: PackedJobs, state: State, estimates: Estimates, moldable: int, machine: Machine | None = None
) -> None:
    """Start the head of the queue while it fits."""
    engine = state.engine
    while engine.head < engine.tail:
        job = state.queue[engine.head]
        nodes = size_to_start(jobs, job, engine.free, moldable, estimates.queued[job], engine.clock, machine)
        if not nodes:
            break
        engine.head += 1
        start(jobs, state, estimates, job, nodes, -1, machine)


@inner_kernel
def reservation(state: State, needed: int) -> tuple[float, int]:
    """Return when `needed` nodes are expected to be free (the shadow time), and how many extra ones are then.

    A job that has run longer than expected is expected to end now. All jobs that are expected to end at the
    shadow time count for the extra nodes. O(running jobs).
    """
    now, last = state.engine.clock, state.engine.last
    free, shadow_time, at = state.engine.free, now, state.engine.first
    while at < last and free < needed:
        free += state.held[at].nodes
        shadow_time = max(now, state.held[at].key)
        at += 1
    while at < last and state.held[at].key <= shadow_time:
        free += state.held[at].nodes
        at += 1
    return shadow_time, free - needed


@inner_kernel
def harmless_size(
    jobs: PackedJobs,
    job: int,
    limit: int,
    estimate: float,
    shadow_time: float,
    extra: int,
    now: float,
    rule: QueueRule,
    machine: Machine | None = None,
) -> tuple[int, bool]:
    """Return the size, at most `limit`, for backfilling a job, or 0; and whether it uses extra nodes."""
    nodes = size_now(jobs, job, limit, rule.moldable)
    while nodes:
        end, fewer = now + estimate * time_ratio(jobs, job, nodes), nodes - 1
        if machine is None or can_start(machine, job, nodes, end):
            if end < shadow_time or (end == shadow_time and not rule.strict):
                return nodes, False
            if nodes <= extra and (machine is None or leaves_head(machine, job, nodes, end, shadow_time)):
                return nodes, machine is None or end > shadow_time
            if rule.moldable != FIT_SIZE:
                return 0, False
            # On fewer nodes a job runs longer, except by some tables: these need every smaller size tried.
            if jobs.speedup[job] != SPEEDUP_TABLE:
                fewer = min(extra, fewer)
        nodes = largest_size(jobs, job, fewer)
    return 0, False


@inner_kernel
def backfill(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    shadow_time: float,
    extra: int,
    at: int,
    machine: Machine | None = None,
) -> int:
    """Start jobs that end by the shadow time or need no more than the extra nodes, from the place `at` on.

    Return the extra nodes that are left.
    """
    engine, queue, now = state.engine, state.queue, state.engine.clock
    head = engine.head
    blocked = queue[head]
    stop = min(engine.tail, head + 1 + rule.scan_limit)
    while at < stop and engine.free > 0:
        job = queue[at]
        if jobs.min_nodes[job] <= engine.free:
            nodes, uses_extra = harmless_size(
                jobs, job, engine.free, estimates.queued[job], shadow_time, extra, now, rule, machine
            )
            if nodes:
                if uses_extra:
                    extra -= nodes
                    if machine is not None:
                        use_extra(machine, job)
                leave_queue(state, at)
                start(jobs, state, estimates, job, nodes, blocked, machine)
        at += 1
    return extra


@inner_kernel
def one_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    new: int,
    machine: Machine | None = None,
) -> None:
    """Make the decisions of one call; the queue has changed from the place `new` on since the last one."""
    engine = state.engine
    if (
        memory.flags[1]
        and not engine.completed
        and new > engine.head
        and memory.shadow_time[0] >= engine.clock
    ):
        memory.extra[0] = backfill(
            jobs, state, estimates, rule, memory.shadow_time[0], memory.extra[0], new, machine
        )
        return
    memory.flags[1] = 0
    start_heads(jobs, state, estimates, rule.moldable, machine)
    if rule.kind == FCFS or engine.free <= 0 or engine.head + 1 >= engine.tail:
        return
    shadow_time, extra = np.inf, 0
    if rule.kind == EASY:
        head = state.queue[engine.head]
        fewest = jobs.min_nodes[head]
        if machine is None:
            shadow_time, extra = reservation(state, fewest)
        else:
            seconds = estimates.queued[head] * time_ratio(jobs, head, fewest)
            shadow_time, extra = reserve(state, machine, head, fewest, seconds)
        if not rule.extra_nodes:
            extra = 0
    extra = backfill(jobs, state, estimates, rule, shadow_time, extra, engine.head + 1, machine)
    if memory.flags[0]:
        memory.flags[1] = 1
        memory.shadow_time[0], memory.extra[0] = shadow_time, extra


@inner_kernel
def learn(state: State, estimates: Estimates) -> None:
    """Estimate new jobs by the mean of the last two run times of their users (Tsafrir et al. 2007)."""
    completed = state.engine.completed
    for at in range(completed):
        job = state.events[at]
        user = estimates.user[job]
        if user >= 0:
            estimates.last_runs[user, 1] = estimates.last_runs[user, 0]
            estimates.last_runs[user, 0] = state.job[job].end - state.job[job].start
    for at in range(completed, completed + state.engine.submitted):
        job = state.events[at]
        user = estimates.user[job]
        estimate = estimates.limit[job]
        if user >= 0:
            last, before = estimates.last_runs[user, 0], estimates.last_runs[user, 1]
            if before == before:  # noqa: PLR0124 - true unless it is NaN
                estimate = min(estimate, (last + before) / 2)
            elif last == last:  # noqa: PLR0124 - true unless it is NaN
                estimate = min(estimate, last)
        estimates.running[job] = estimates.queued[job] = estimate


#: Further codes of `QueueRule.kind`: the EASYs of other tools, as they are, defects included. Only those are
#: here that differ from EASY in more than an option of `QueueRule`.
HPCOPT: Final = 3
RAPS: Final = 4
MJS2023: Final = 5


@inner_kernel
def _start(
    jobs: PackedJobs, state: State, estimates: Estimates, job: int, nodes: int, kind: int, blocked: int
) -> None:
    """Start a job that has left the queue; RAPS lists running jobs by their limits, not by their ends."""
    estimate = estimates.running[job] * time_ratio(jobs, job, nodes)
    key = estimate if kind == RAPS else state.engine.clock + estimate
    why = AT_HEAD if blocked < 0 else BACKFILLED
    begin(state, job, nodes, run_time(jobs, job, nodes), estimate, key, why, blocked)


@inner_kernel
def _pass_hpcopt(jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule) -> None:
    """Start jobs as EASY without extra nodes, and without a reservation if the head has started now."""
    engine = state.engine
    first = engine.head
    start_heads(jobs, state, estimates, rule.moldable)
    if not engine.free or engine.head + 1 >= engine.tail:
        return
    shadow_time = np.inf
    if engine.head == first:
        shadow_time, _ = reservation(state, jobs.min_nodes[state.queue[first]])
    backfill(jobs, state, estimates, rule, shadow_time, 0, engine.head + 1)


@inner_kernel
def _shadow_by_limit(state: State, needed: int) -> float:
    """Return the shadow time as RAPS computes it: running jobs release nodes in the order of their limits."""
    free, shadow_time, at = state.engine.free, 0.0, state.engine.first
    while at < state.engine.last and free < needed:
        job = state.held[at].job
        if job >= 0:
            free += state.job[job].size
            shadow_time = state.job[job].expected
        at += 1
    return shadow_time


@inner_kernel
def _pass_raps(jobs: PackedJobs, state: State, estimates: Estimates) -> None:
    """Start heads; then the first job that fits and ends by the shadow time, and repeat."""
    engine, queue, now = state.engine, state.queue, state.engine.clock
    while engine.head < engine.tail:
        job = queue[engine.head]
        nodes = largest_size(jobs, job, engine.free)
        if not nodes:
            break
        engine.head += 1
        _start(jobs, state, estimates, job, nodes, RAPS, -1)
    at = engine.head
    while at < engine.tail:
        shadow_time = _shadow_by_limit(state, jobs.min_nodes[queue[engine.head]])
        at = engine.head + 1
        while at < engine.tail:
            job = queue[at]
            nodes = largest_size(jobs, job, engine.free)
            if nodes and now + estimates.queued[job] * time_ratio(jobs, job, nodes) <= shadow_time:
                blocked = queue[engine.head]
                leave_queue(state, at)
                _start(jobs, state, estimates, job, nodes, RAPS, blocked)
                break
            at += 1


@inner_kernel
def _pass_mjs2023(jobs: PackedJobs, state: State, estimates: Estimates) -> None:
    """Start jobs as the schedulers of MalleableJobScheduling (2023) do.

    They compare the present time with the estimate of the head, and after each start they skip the next job.
    """
    engine, queue, now = state.engine, state.queue, state.engine.clock
    at = engine.head
    while at < engine.tail and engine.free:
        job, head = queue[at], queue[engine.head]
        nodes = largest_size(jobs, job, engine.free)
        if nodes and (job == head or now >= estimates.queued[head]):
            leave_queue(state, at)
            _start(jobs, state, estimates, job, nodes, MJS2023, -1 if job == head else head)
            at += 1
        at += 1


@inner_kernel
def _one_pass(jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule) -> None:
    """Make the decisions of one call."""
    if rule.kind == HPCOPT:
        _pass_hpcopt(jobs, state, estimates, rule)
    elif rule.kind == RAPS:
        _pass_raps(jobs, state, estimates)
    else:
        _pass_mjs2023(jobs, state, estimates)


@kernel
def run_variant(
    jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, coalesce: bool
) -> None:
    """Run a workload to its end under the EASY of a tool."""
    while advance(state, np.inf, coalesce):
        _one_pass(jobs, state, estimates, rule)


@kernel
def decide_variant(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    running: IntArray,
    starts: FloatArray,
) -> None:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs."""
    now = state.engine.clock
    for at in range(len(running)):
        job = running[at]
        state.engine.clock = starts[at]
        _start(jobs, state, estimates, job, state.job[job].size, rule.kind, -1)
    state.engine.clock = now
    _one_pass(jobs, state, estimates, rule)
