"""EvolvEasyBack: backfilling next to running jobs that ask for nodes and give them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import reservation
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import PROFILE, REQUESTED, frozen
from allocsolve.model.options import Within
from allocsolve.simulation import EngineRules, ProfileKnowledge
from allocsolve.simulation.compiled import ResizingSolver, run_to_end
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
    from allocsolve.model import FloatArray, IntArray, PackedJobs, WorkloadProblem


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


#: When requests of running jobs are granted: before queued jobs start, or after.
RequestOrder: TypeAlias = Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class EvolvEasyback(ResizingSolver):
    """EasyBackfilling for jobs that evolve, after Posner: running jobs that ask for nodes come first.

    A call grants requests in the order in which they were made, each in full or not yet; those that have to
    wait, for nodes or as their jobs cool down, keep their places, and later ones go ahead. Then, with what is
    left, jobs start in the order of the queue, each on as many nodes as are free and it can use. From the
    first one that cannot start on, its shadow time is when enough running jobs reach their limits, and later
    jobs start only if they reach theirs before it. What a job gives back is used in the next call.

    Parameters
    ----------
    cooldown
        So many seconds after a job was granted nodes or began to give some back, it is granted none.
    polling
        Seconds between two ticks of the clock, which ticks at the multiples of it.
    wake_up
        Whether the policy is called when a job ends, is submitted, asks for nodes or has given some back;
        the clock is then for jobs that have cooled down. Without that it is called at ticks only.
    requests
        Whether requests come ``first`` or ``last``, after queued jobs.
    start_counts
        Whether a job also cools down after its start.
    safe
        Whether jobs with a `allocsolve.model.Profile` get nodes, and start, only if afterwards all running
        jobs could still end one after another, each with the most nodes that it may need. Else such jobs can
        wait for each other for ever.
    knowledge
        Which nodes those are, see `allocsolve.simulation.EngineRules`. ``none``: the most of the profile.
        ``next``: these, but no more than it holds if the present step is the last one. ``all``: the most of
        the steps that are left. For how long steps last the policy does not ask; while anybody waits it looks
        again at every tick, as nothing tells it that a step has ended if the next one needs as many nodes.

    Notes
    -----
    As published, a job has to end before the shadow time, not at it, and there is no use of extra nodes; the
    limit of a job does not depend on the size on which it starts. **If all limits are equal nothing is ever
    backfilled**: a job that starts now does not reach its limit before one that started earlier. So in the
    published experiments, in which no job has a limit, EASY is first come, first served.

    A job with `allocsolve.model.Requests` is expected to run longer on fewer nodes, as in all other policies.
    A job with a profile that fits, but is not safe, has a reservation for its most nodes. Malleable jobs keep
    the size on which they start, as under all policies of the queue.

    *Complexity*: O(running jobs + queue + open requests) for each call, and that of `safe`: O(jobs with
    profiles that run) for each of their requests and starts, squared at worst.
    *Guarantee*: feasible, but where a profile has an `expand_limit`: the policy does not know it, and a step
    may be held for longer, which the judge refuses. With `safe` no workload comes to a standstill. Without
    it, there is no answer if jobs wait for each other for ever: `allocsolve.errors.Deadlock` says who waits
    for whom.
    *Reference*: Posner, "EvolvEasyBack", 2024. The cool-down is in its program only.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, Phases, WorkloadProblem
    >>> tree = Phases([(40, None)])
    >>> problem = WorkloadProblem(
    ...     4, [Job(0, 3, 10), Job(0, 1, 40, min_nodes=1, max_nodes=4, evolution=tree), Job(5, 1, 10)]
    ... )
    >>> schedule = EvolvEasyback(cooldown=0)(problem, Budget()).answer
    >>> [schedule.pieces(job) for job in (1, 2)]
    [((0.0, 10.0, 1), (10.0, 20.0, 3)), ((10.0, 20.0, 1),)]
    """

    cooldown: Annotated[float, Within(0)] = 60.0
    polling: Annotated[float, Within(0, above=True)] = 5.0
    wake_up: bool = True
    requests: RequestOrder = "first"
    start_counts: bool = False
    safe: bool = True
    knowledge: ProfileKnowledge = "none"

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy, unless others are given."""
        return EngineRules(profile_knowledge=self.knowledge)

    def run(self, problem: WorkloadProblem, rules: EngineRules) -> tuple[State, Resizing]:
        """Run a workload to its end; return the states of the engine."""
        rule = EasybackRule(
            float(self.cooldown),
            float(self.polling),
            self.wake_up,
            self.requests == "first",
            self.start_counts,
            self.safe,
            _claims(problem, self.knowledge),
            self.safe and self.knowledge != "none",
        )
        ticking = Ticking(np.array([np.inf, -np.inf]), np.zeros(len(problem.jobs), dtype=np.int64))
        return run_to_end(
            problem,
            lambda jobs, state, resizing: run_easyback(jobs, state, resizing, rule, ticking, rules.coalesce),
            ordered=True,
        )


def _claims(problem: WorkloadProblem, knowledge: ProfileKnowledge) -> IntArray:
    """Return the most nodes that jobs with profiles may need from each step on, by what the policy knows."""
    plan = problem.jobs.evolving
    claims = np.repeat(problem.packed.max_nodes, np.diff(plan.offsets))
    for job in np.flatnonzero(plan.reading == PROFILE).tolist() if knowledge != "none" else ():
        first, last = plan.offsets[job], plan.offsets[job + 1]
        if knowledge == "next":
            first = last - 1
        claims[first:last] = np.maximum.accumulate(plan.nodes[first:last][::-1])[::-1]
    return frozen(claims)
