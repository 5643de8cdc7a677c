"""EvolvEasyBack: running jobs get nodes in the order of their requests, queued jobs start on the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import reservation
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model.evolving import PROFILE, REQUESTED
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance,
    answer,
    begin,
    has_room,
    largest_start,
    leave_queue,
    run_time,
    take_in,
    time_ratio,
)

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs


class EasybackRule(NamedTuple):
    """The options of the policy for kernels, see `allocsolve.heuristics.EvolvEasyback`."""

    cooldown: float
    polling: float
    wake_up: bool
    requests_first: bool
    start_counts: bool
    safe: bool
    #: Shape (rows,), read-only: the most nodes that a job with a profile may need from each step on.
    claims: IntArray
    #: Whether claims fall when steps end. The policy is not called if the next step needs as many nodes, so
    #: it has to look at each tick.
    falling: bool


class Ticking(NamedTuple):
    """What the policy remembers between calls, and arrays for the work of one call."""

    #: Shape (2,), seconds: the next tick of the clock, infinite if none is needed; the last tick.
    clock: FloatArray
    #: Shape (jobs,): jobs with profiles that cannot end yet.
    unable: IntArray


#: Places in `Ticking.clock`.
_NEXT: Final = 0
_LAST: Final = 1


def initial_ticking(count: int) -> Ticking:
    """Return the memory before the first call, for `count` jobs."""
    return Ticking(np.array([np.inf, -np.inf]), np.zeros(count, dtype=np.int64))


@inner_kernel
def _all_can_end(
    state: State, resizing: Resizing, claims: IntArray, unable: IntArray, job: int, more: int
) -> bool:
    """Return whether running jobs can end one after another if a job with a profile gets `more` free nodes.

    This is the banker's algorithm (Dijkstra, EWD 623) with one kind of resource: a job with a profile can end
    as soon as the claimed nodes that it lacks are free; all other jobs can end at any time. O(running jobs)
    for each round in which at least one more job can end.
    """
    engine = state.engine
    available, count = engine.free - more, 1
    unable[0] = job
    for at in range(engine.first, engine.last):
        other = state.held[at].job
        if other < 0 or other == job:
            continue
        if resizing.job[other].reading == PROFILE:
            unable[count] = other
            count += 1
        else:
            available += state.job[other].size
    while count:
        still = 0
        for at in range(count):
            other = unable[at]
            held = state.job[other].size + (more if other == job else 0)
            if claims[resizing.job[other].row] - held <= available:
                available += held
            else:
                unable[still] = other
                still += 1
        if still == count:
            return False
        count = still
    return True


@inner_kernel
def _grant(jobs: PackedJobs, state: State, resizing: Resizing, rule: EasybackRule, unable: IntArray) -> bool:
    """Grant requests in the order in which they were made; return whether a later call may do more.

    That is the case if a job that cools down could have its nodes now. If queued jobs come first, it is also
    the case if nodes were granted, because queued jobs were tested against the earlier sizes.
    """
    now, at, again = state.engine.clock, 0, False
    while at < resizing.ledger.requests and state.engine.free:
        job = resizing.requests[at]
        more = resizing.job[job].request - state.job[job].size
        changed = resizing.job[job].changed
        if rule.start_counts:
            changed = max(changed, state.job[job].start)
        at += 1
        if more > state.engine.free:
            continue
        if now - changed < rule.cooldown:
            again = True
            continue
        banked = rule.safe and resizing.job[job].reading == PROFILE
        if banked and not _all_can_end(state, resizing, rule.claims, unable, job, more):
            continue
        answer(jobs, state, resizing, job, True)
        at -= 1
        again = again or not rule.requests_first
    return again


@inner_kernel
def _start_queued(
    jobs: PackedJobs, state: State, resizing: Resizing, rule: EasybackRule, unable: IntArray
) -> None:
    """Start jobs in the order of the queue; behind the first that cannot start, only jobs that end before it.

    A job for which enough nodes are free but which would keep others from ending has a reservation for its
    most nodes.
    """
    now, engine, at = state.engine.clock, state.engine, state.engine.head
    blocked, shadow_time = -1, np.inf
    while at < engine.tail and engine.free:
        job = state.queue[at]
        reading = resizing.job[job].reading
        at += 1
        nodes = largest_start(jobs, resizing, job, engine.free)
        limit = resizing.job[job].estimate
        if nodes and reading == REQUESTED:
            limit *= time_ratio(jobs, job, nodes)
        fits = nodes > 0 and (blocked < 0 or now + limit < shadow_time)
        if fits and rule.safe and reading == PROFILE:
            fits = _all_can_end(state, resizing, rule.claims, unable, job, nodes)
        if fits:
            leave_queue(state, at - 1)
            why = AT_HEAD if blocked < 0 else BACKFILLED
            begin(state, job, nodes, run_time(jobs, job, nodes), limit, now + limit, why, blocked)
        elif blocked < 0:
            needed = jobs.nodes[job] if reading == PROFILE else jobs.min_nodes[job]
            if nodes:
                needed = jobs.max_nodes[job]
            blocked, shadow_time = job, reservation(state, needed)[0]
    take_in(jobs, state, resizing)


@inner_kernel
def _ticks_by(now: float, polling: float) -> float:
    """Return the number of ticks up to now: the largest count with ``count * polling <= now``, as rounded."""
    count = np.floor(now / polling)
    if count * polling > now:
        return float(count - 1)
    return float(count + 1 if (count + 1) * polling <= now else count)


@kernel
def run_easyback(
    jobs: PackedJobs, state: State, resizing: Resizing, rule: EasybackRule, ticking: Ticking, coalesce: bool
) -> bool:
    """Run a workload to its end under the policy; return False if the log of changes has to grow first."""
    clock, unable = ticking.clock, ticking.unable
    while has_room(state, resizing):
        if not advance(state, clock[_NEXT], coalesce, jobs, resizing):
            return True
        now = state.engine.clock
        count = _ticks_by(now, rule.polling)
        again = True
        if rule.wake_up or (count * rule.polling == now and clock[_LAST] != now):
            clock[_LAST] = now
            if rule.requests_first:
                again = _grant(jobs, state, resizing, rule, unable)
            _start_queued(jobs, state, resizing, rule, unable)
            if not rule.requests_first:
                again = _grant(jobs, state, resizing, rule, unable)
        waits = resizing.ledger.requests > 0 or state.engine.head < state.engine.tail
        again = again or (rule.falling and waits)
        clock[_NEXT] = max(np.nextafter(now, np.inf), (count + 1) * rule.polling) if again else np.inf
    return False
