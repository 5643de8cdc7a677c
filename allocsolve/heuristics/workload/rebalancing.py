"""Policies that give each running job the size that pays at the clearing price of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload._kernels_clearing import (
    HIGHEST,
    Demand,
    Offers,
    accept_requests,
    cheapness_at,
    clearing,
    grant_accepted,
    initial_offers,
    price_takers,
    size_at,
)
from allocsolve.heuristics.workload._kernels_queue import ORDER_CODES, sort_queue
from allocsolve.heuristics.workload.policies import QueueOrder
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import MALLEABLE, PROFILE, frozen
from allocsolve.model.options import Within
from allocsolve.simulation import Answer, EngineRules, Resize
from allocsolve.simulation.compiled import CompiledSolver, run_to_end, simulation_of
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance,
    begin,
    has_room,
    largest_size,
    leave_queue,
    packed_jobs,
    renumbered,
    resize,
    resizing_of_view,
    run_time,
    start_of,
    state_of_view,
    take_in,
    take_running,
    time_ratio,
)

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.malleable import ResizeDecision
    from allocsolve.model import Clock, FloatArray, IntArray, PackedJobs, WorkloadProblem
    from allocsolve.simulation import QueueView, Simulation

#: Ratio of the time that a job is expected to go on to the time that it has run; decides whether a change
#: that stalls the job pays.
_RUNS_ON: Final = 1 / 3

#: The results of `run_rebalancing`: the workload is at its end, the log of changes has to grow first, or the
#: given number of calls has been made.
COMPLETE, LOG_FULL, CALLS_MADE = range(3)


class RebalancingRule(NamedTuple):
    """The options of a policy for kernels."""

    #: A running job changes its size only if the two sizes differ by more than this share of the smaller one.
    hysteresis: float
    #: The code of the order of the queue, see `_kernels_queue.ORDER_CODES`.
    order: int


class Auction(NamedTuple):
    """The arrays of a call. Shape (jobs,) unless another one is given."""

    demand: Demand
    #: Shape (1,): the rung of cheapness at the last clearing, where the next search starts.
    rung: IntArray
    #: Jobs that take part in the clearing: first the malleable jobs that run, then the malleable and evolving
    #: jobs that may start and choose their size. By job: the size that it is to have.
    members: IntArray
    wanted: IntArray
    #: Places of jobs in the queue that may start.
    admitted: IntArray
    #: By job, for the order of the queue.
    scores: FloatArray
    #: By job, in seconds: when it may start; read-only, and empty if all jobs may start at once. Shape (1,):
    #: when the next job that waits for this may start, infinite for never.
    earliest: FloatArray
    wake: FloatArray
    #: The requests of running jobs.
    offers: Offers


def initial_auction(demand: Demand, earliest: FloatArray | None = None) -> Auction:
    """Return the auction before the first call; jobs may not start before their `earliest` seconds."""
    count = len(demand.scale)
    return Auction(
        demand=demand,
        rung=np.zeros(1, dtype=np.int64),
        members=np.zeros(count, dtype=np.int64),
        wanted=np.zeros(count, dtype=np.int64),
        admitted=np.zeros(count, dtype=np.int64),
        scores=np.zeros(count),
        earliest=frozen(np.empty(0)) if earliest is None else earliest,
        wake=np.full(1, np.inf),
        offers=initial_offers(count),
    )


class Supply(NamedTuple):
    """The nodes of a call."""

    #: The number of running jobs that may change, and of all members (these and the jobs that choose a size
    #: to start on).
    running: int
    members: int
    #: The number of queued jobs that may start, and the nodes that they and the granted requests need at
    #: least.
    admitted: int
    needed: int
    #: The nodes for the members of the clearing, and the nodes that pending changes will set free.
    shared: int
    incoming: int


@inner_kernel
def _supply(jobs: PackedJobs, state: State, resizing: Resizing, auction: Auction) -> Supply:
    """Find the members: running jobs, and queued jobs that fit (first fit) if all running ones shrink."""
    members = auction.members
    running = incoming = shared = floors = 0
    for at in range(resizing.ledger.malleable_running):
        job = resizing.running[at]
        size, target = state.job[job].size, resizing.job[job].target
        if size == target:
            members[running] = job
            running += 1
            shared += size
            floors += jobs.min_nodes[job]
        else:
            incoming += max(0, size - target)
    shared += state.engine.free + incoming
    room, count, admitted, needed = shared - floors, running, 0, 0
    auction.wake[0] = np.inf
    for at in range(state.engine.head, state.engine.tail):
        if room <= 0 and not len(auction.earliest):
            break
        job = state.queue[at]
        if len(auction.earliest) and auction.earliest[job] > state.engine.clock:
            auction.wake[0] = min(auction.wake[0], auction.earliest[job])
            continue
        need = jobs.min_nodes[job]
        if need > room:
            continue
        room -= need
        needed += need
        auction.admitted[admitted] = at
        admitted += 1
        if jobs.kind[job] >= MALLEABLE:
            members[count] = job
            count += 1
        else:
            shared -= need
    return Supply(running, count, admitted, needed, shared, incoming)


@inner_kernel
def _stays(
    jobs: PackedJobs, state: State, resizing: Resizing, job: int, wanted: int, hysteresis: float
) -> bool:
    """Return whether a running job keeps its size, because it is nearly right or a change does not pay."""
    size, elastic = state.job[job].size, resizing.job[job]
    if max(wanted, size) <= (1 + hysteresis) * min(wanted, size):
        return True
    fixed, per_node, shared = elastic.stall_fixed, elastic.stall_per_node, elastic.stall_shared
    if fixed + per_node + shared == 0.0:
        return False
    stall = fixed + per_node * abs(wanted - size) + shared / (size + wanted)
    gain = abs(1 - time_ratio(jobs, job, wanted) / time_ratio(jobs, job, size))
    return bool(stall > gain * _RUNS_ON * (state.engine.clock - state.job[job].start))


@inner_kernel
def _clear(jobs: PackedJobs, state: State, resizing: Resizing, auction: Auction, supply: Supply) -> Supply:
    """Find the clearing price and the requests to grant; return the supply that is left for the members.

    If requests are granted, the price is that at which the members want the nodes that are left.
    """
    members, count, offers = auction.members, supply.members, auction.offers
    offers.total[0] = 0
    if count:
        auction.rung[0] = clearing(jobs, auction.demand, members, count, supply.shared, auction.rung[0])
    if not resizing.ledger.requests:
        return supply
    rung = auction.rung[0] if count else HIGHEST
    more = accept_requests(jobs, state, resizing, offers, auction.demand, members, count, supply.shared, rung)
    if more and count:
        auction.rung[0] = clearing(
            jobs, auction.demand, members, count, supply.shared - more, auction.rung[0]
        )
    return Supply(
        supply.running, count, supply.admitted, supply.needed + more, supply.shared - more, supply.incoming
    )


@inner_kernel
def _set_sizes(
    jobs: PackedJobs, state: State, resizing: Resizing, auction: Auction, supply: Supply, hysteresis: float
) -> None:
    """Set the size of each member: what it wants at the clearing price, unless its present size is near that.

    While nodes are lacking, jobs shrink to the wanted size even if their present size is near it.
    """
    members, wanted, count = auction.members, auction.wanted, supply.members
    if not count:
        return
    rung = auction.rung[0]
    cheapness = cheapness_at(rung)
    lack = -supply.shared
    for at in range(count):
        job = members[at]
        wanted[job] = size_at(jobs, auction.demand, job, cheapness)
        stays = at < supply.running and _stays(jobs, state, resizing, job, wanted[job], hysteresis)
        lack += state.job[job].size if stays else wanted[job]
    for at in range(supply.running):
        job = members[at]
        size = state.job[job].size
        if _stays(jobs, state, resizing, job, wanted[job], hysteresis):
            if lack > 0 and wanted[job] < size:
                lack -= size - wanted[job]
            else:
                wanted[job] = size


@inner_kernel
def _shrink(
    jobs: PackedJobs, state: State, resizing: Resizing, members: IntArray, wanted: IntArray, supply: Supply
) -> int:
    """Shrink running jobs to their wanted sizes; return the nodes that pending changes will set free."""
    incoming = supply.incoming
    for at in range(supply.running):
        job = members[at]
        size = state.job[job].size
        if wanted[job] < size:
            resize(jobs, state, resizing, job, wanted[job], 0)
            incoming += state.job[job].size - wanted[job]
    return incoming


@inner_kernel
def _start(jobs: PackedJobs, state: State, resizing: Resizing, at: int, nodes: int) -> None:
    """Start the job at the place `at` of the queue."""
    job, head = state.queue[at], state.queue[state.engine.head]
    first = job == head
    leave_queue(state, at)
    estimate = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
    key, seconds = state.engine.clock + estimate, run_time(jobs, job, nodes)
    begin(state, job, nodes, seconds, estimate, key, AT_HEAD if first else BACKFILLED, -1 if first else head)


@inner_kernel
def shrink_and_start(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    members: IntArray,
    wanted: IntArray,
    admitted: IntArray,
    supply: Supply,
) -> int:
    """Shrink running jobs to their wanted sizes and start queued ones; return the nodes to spare.

    `members` and `wanted` are those of `Auction`; `admitted` are places in the queue, rising. Some of the
    nodes to spare may still have to wait for pending changes.
    """
    incoming = _shrink(jobs, state, resizing, members, wanted, supply)
    # Nodes beyond the fewest nodes of all admitted jobs; some of them wait for pending changes.
    spare = state.engine.free + incoming - supply.needed
    for nth in range(supply.admitted):
        at = admitted[nth]
        job = state.queue[at]
        need = jobs.min_nodes[job]
        if need > state.engine.free:
            continue
        nodes = need
        if jobs.kind[job] >= MALLEABLE:
            limit = min(wanted[job], need + max(0, spare), state.engine.free)
            nodes = largest_size(jobs, job, limit)
            spare -= nodes - need
        _start(jobs, state, resizing, at, nodes)
    take_in(jobs, state, resizing)
    return int(spare)


@inner_kernel
def grow(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    members: IntArray,
    wanted: IntArray,
    supply: Supply,
    spare: int,
) -> None:
    """Let running jobs grow to their wanted sizes, into nodes that are free and to spare."""
    spare = min(spare, state.engine.free)
    for at in range(supply.running):
        job = members[at]
        size = state.job[job].size
        if spare > 0 and wanted[job] > size:
            nodes = largest_size(jobs, job, min(wanted[job], size + spare))
            if nodes > size:
                resize(jobs, state, resizing, job, nodes, 0)
                spare -= nodes - size


@inner_kernel
def rebalance(
    jobs: PackedJobs, state: State, resizing: Resizing, auction: Auction, rule: RebalancingRule
) -> None:
    """Make the decisions of one call."""
    if rule.order:
        first = state.engine.tail - state.engine.submitted
        sort_queue(jobs, state, jobs.estimate, auction.scores, rule.order, first)
    supply = _supply(jobs, state, resizing, auction)
    supply = _clear(jobs, state, resizing, auction, supply)
    _set_sizes(jobs, state, resizing, auction, supply, rule.hysteresis)
    members, wanted = auction.members, auction.wanted
    spare = shrink_and_start(jobs, state, resizing, members, wanted, auction.admitted, supply)
    grant_accepted(jobs, state, resizing, auction.offers)
    grow(jobs, state, resizing, members, wanted, supply, spare)


@kernel
def run_rebalancing(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    auction: Auction,
    rule: RebalancingRule,
    coalesce: bool,
    calls: int,
) -> int:
    """Make at most `calls` calls of a policy; return `COMPLETE`, or why the run stopped before its end."""
    for _ in range(calls):
        if not has_room(state, resizing):
            return LOG_FULL
        if not advance(state, auction.wake[0], coalesce, jobs, resizing):
            return COMPLETE
        rebalance(jobs, state, resizing, auction, rule)
    return CALLS_MADE


@kernel
def decide_rebalancing(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    auction: Auction,
    rule: RebalancingRule,
    running: IntArray,
    expected_ends: FloatArray,
) -> None:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs."""
    take_running(jobs, state, resizing, running, expected_ends)
    rebalance(jobs, state, resizing, auction, rule)


#: The end of the message for workloads that the policy does not support.
_NO_PROFILES = "has a profile: static-price knows no price of nodes that a job has to wait for"

#: Calls of the policy between two checks of the clock, and for Ctrl-C: a tenth of a second if a thousand jobs
#: run.
_CALLS = 4_000


@dataclass(frozen=True, slots=True)
class StaticPrice(CompiledSolver):
    """Every running job has the size that is worthwhile at the price at which all nodes are in demand.

    At a price l of a node a job wants the size on which a unit of its work costs least, its time and l times
    its node-seconds: with Amdahl's law and the parallel share p that is ``sqrt(p / (l (1 - p)))`` nodes,
    within its limits. At every call the price is set such that running jobs and those that may start want as
    many nodes as there are. Those may start that would fit in the order of the queue if all malleable jobs
    shrank as far as they can: first fit. The policy knows speedups and limits of sizes; it knows no run
    times, and asks for no estimates unless the order of the queue does.

    Evolving jobs choose the size on which they start like malleable ones, and cannot be shrunk. A request for
    more nodes is granted if at the clearing price a unit of the work costs less on them: jobs that start come
    first, then requests, the one that pays at the highest price before others, in full or not yet; a
    request that is not granted stays open. Where more nodes do as much more, as in jobs with phases, the jobs
    with the fewest nodes come first. Jobs with a `allocsolve.model.Profile` are refused.

    `InvalidOption, UnknownName` if an option is not as said; when called, `UnsupportedProblem` if a job has a
    profile.

    Parameters
    ----------
    hysteresis
        A running job keeps its size while what it wants is no more than this share above or below, unless
        waiting jobs lack nodes: each change may cost a job time. 0: it always follows the price. Where a
        change stalls the job, it keeps its size, too, if the stall takes longer than the change would save,
        or cost, in a third of the time for which it has run.
    order
        Which queued job comes first; see `allocsolve.heuristics.workload.policies.QueueOrder`.

    Notes
    -----
    Nodes that a job gives up at a later point of its work are free from then on; nobody is promised them, but
    running jobs do not grow into what queued jobs lack until then.

    *Complexity*: O(running jobs + queue) for each of ten or twenty looks at a price in each call, and for
    each open request that might be granted.
    *Guarantee*: feasible; on rigid jobs the schedule of first fit in the order of the queue.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 6, "speedup": Amdahl(0.9), "kind": "malleable"}
    >>> problem = WorkloadProblem(6, [Job(0, 2, 110, **job), Job(40, 2, 110, **job)])
    >>> [[piece[2] for piece in StaticPrice()(problem, Budget()).answer.pieces(idx)] for idx in range(2)]
    [[6, 3], [3, 6]]
    """

    hysteresis: Annotated[float, Within(0)] = 0.25
    order: QueueOrder = "submission"

    @property
    def _rule(self) -> RebalancingRule:
        return RebalancingRule(float(self.hysteresis), ORDER_CODES[self.order])

    def simulated(
        self, problem: WorkloadProblem, rules: EngineRules | None = None, clock: Clock | None = None
    ) -> Simulation:
        """Run a workload to its end in the compiled loop, with the reasons of all starts.

        `UnsupportedProblem` if a job has a `allocsolve.model.Profile`; `InvalidOption` if the rules do not
        fit the workload; `TimeoutError` if the time of the clock ends before the run does.
        """
        problem.jobs.refuse(problem.jobs.evolving.reading == PROFILE, _NO_PROFILES)
        rules = rules or self.rules
        problem.check_plain("sizes")
        rules.check(problem)
        problem = rules.applied(problem)
        auction = initial_auction(price_takers(problem.packed))
        return run_auctions(problem, auction, self._rule, rules, clock=clock)

    def decide(self, view: QueueView) -> tuple[ResizeDecision | Answer, ...]:
        """Return the decisions on a view; this method is a policy for `allocsolve.simulation.run_policy`."""
        profiles = view.queue[view.jobs.reading[view.queue] == PROFILE]
        if len(profiles):
            raise UnsupportedProblem(f"job {int(profiles[0])} {_NO_PROFILES}")
        view, listed = renumbered(view)
        packed, state, resizing = (
            packed_jobs(view.jobs),
            state_of_view(view, resizable=True),
            resizing_of_view(view),
        )
        state.engine["submitted"] = len(view.queue)  # so that the whole queue is sorted
        auction = initial_auction(price_takers(packed))
        running = view.running[packed.kind[view.running] == MALLEABLE]
        before, targets = resizing.job["target"][running], resizing.job["target"]
        decide_rebalancing(packed, state, resizing, auction, self._rule, view.running, view.expected_ends)
        changed = [
            (job, after, after > held)
            for job, held, after in zip(
                listed[running].tolist(), before.tolist(), targets[running].tolist(), strict=True
            )
            if after != held
        ]
        starts = state.started[len(view.running) : state.engine["started"]].tolist()
        granted = view.requests[resizing.job["request"][view.requests] == 0]
        return (
            *(Resize(job, size) for job, size, grows in changed if not grows),
            *(start_of(state, job, listed) for job in starts),
            *(Answer(job) for job in listed[granted].tolist()),
            *(Resize(job, size) for job, size, grows in changed if grows),
        )


def run_auctions(
    problem: WorkloadProblem,
    auction: Auction,
    rule: RebalancingRule,
    rules: EngineRules,
    estimate: FloatArray | None = None,
    clock: Clock | None = None,
) -> Simulation:
    """Run a workload, which the rules and the policy admit, to its end.

    The auction is the result of `initial_auction`. The queue is sorted by the run times `estimate`, shape
    (jobs,), in seconds; by the estimates of users if left out. `TimeoutError` if the time of the clock ends
    before the run does.
    """

    def run(jobs: PackedJobs, state: State, resizing: Resizing) -> bool:
        stopped = CALLS_MADE
        while stopped == CALLS_MADE:
            stopped = run_rebalancing(jobs, state, resizing, auction, rule, rules.coalesce, _CALLS)
            if stopped != COMPLETE and clock is not None and clock.remaining == 0:
                raise TimeoutError
        return stopped == COMPLETE

    return simulation_of(run_to_end(problem, run, ordered=None, estimate=estimate))
