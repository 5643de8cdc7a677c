"""Queue policies: FCFS, first fit, and EASY backfilling with one reservation or more.

The module holds the orders of the queue, `QueuePolicy` (all that the compiled loop needs), its two drivers (a
whole workload, and one view) and the solvers, with the EASYs of other tools as presets.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload._kernels_queue import (
    EASY,
    FCFS,
    FIRST_FIT,
    HPCOPT,
    MJS2023,
    NO_USERS,
    ORDER_CODES,
    RAPS,
    RESERVING,
    SLURM,
    Blocked,
    Estimates,
    QueueRule,
    decide_variant,
    initial_estimates,
    learn,
    nothing_blocked,
    one_pass,
    run_variant,
    sort_queue,
    start,
)
from allocsolve.heuristics.workload._kernels_reservations import KeptPlan, no_plan, planning_pass
from allocsolve.heuristics.workload.long_queue import long_queue, run_long
from allocsolve.heuristics.workload.on_places import (
    continued_on_places,
    decided_on_places,
    simulate_on_places,
)
from allocsolve.heuristics.workload.queue_lengths import has_long_queue
from allocsolve.heuristics.workload.resources import (
    Machine,
    check_machine,
    given_to_kernels,
    held_now,
    move_on,
    next_step,
    on_own_nodes,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.free_nodes import new_free_nodes
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import shown
from allocsolve.model.options import Options, Within
from allocsolve.simulation import EngineRules, Wake
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.kernels import (
    NOBODY,
    Continuation,
    Restart,
    Started,
    advance,
    queue_state,
    start_of,
)
from allocsolve.simulation.node_choice import NodeChoice
from allocsolve.simulation.outcome import Simulation, log_of, schedule_of
from allocsolve.simulation.view import user_numbers

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.resources import Given
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray, PackedJobs, WorkloadProblem
    from allocsolve.simulation import Decision, QueueView
    from allocsolve.simulation.kernels import State
    from allocsolve.simulation.node_choice import Pieces


@inner_kernel
def _place(
    jobs: PackedJobs, state: State, estimates: Estimates, started: Started, machine: Machine | None = None
) -> None:
    """Let jobs run that have started, on the sizes that the state has of them.

    Where a part of a machine is closed by now or later, they keep what they hold.
    """
    for at in range(len(started.jobs)):
        job = started.jobs[at]
        state.engine.clock = started.starts[at]
        start(jobs, state, estimates, job, state.job[job].size, -1, machine)


@inner_kernel
def _take_in(
    jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, machine: Machine | None = None
) -> int:
    """Learn from the jobs that have ended, and put those that were submitted in their places in the queue.

    Return the first place that has changed.
    """
    if rule.learning:
        learn(state, estimates)
    first = state.engine.tail - state.engine.submitted
    if machine is not None:
        return sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, first, machine.submit)
    if rule.order:
        return sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, first)
    return int(first)


@kernel
def run(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    coalesce: bool,
    started: Started,
    machine: Machine | None = None,
    free: FreeNodes | None = None,
    kept: KeptPlan | None = None,
) -> None:
    """Run a workload to its end under a policy, after placing the jobs that have started.

    Policies that plan are given what is free over time, and what they keep of their plans.
    """
    _place(jobs, state, estimates, started, machine)
    wake = np.inf
    while advance(state, wake, coalesce):
        if machine is not None and move_on(state, machine):
            memory.flags[1] = 0
            if kept is not None:
                kept.numbers.is_there = 0
        new, wake = _take_in(jobs, state, estimates, rule, machine), np.inf
        if kept is not None and new < kept.numbers.place:
            kept.numbers.is_there = 0
        if free is None:
            one_pass(jobs, state, estimates, rule, memory, new, machine)
        elif state.engine.head < state.engine.tail:  # a call with all these arrays costs something
            wake = planning_pass(jobs, state, estimates, rule, free, machine, kept)
        if machine is not None:
            wake = min(wake, next_step(state, machine))


@kernel
def decide(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    started: Started,
    free: FreeNodes | None = None,
) -> float:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs.

    Return when the policy wants to be called, infinite for never.
    """
    now, head = state.engine.clock, state.engine.head
    _place(jobs, state, estimates, started)
    state.engine.clock = now
    if rule.order:
        sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, head)
    if free is not None:
        return planning_pass(jobs, state, estimates, rule, free)
    one_pass(jobs, state, estimates, rule, memory, head)
    return np.inf


#: Which job comes first; ties go to the job that was submitted first. Let r be the estimate (s) of a job, n
#: its size (nodes), s its submission (s, at least 1) and w its wait so far (s):
#:
#: ``submission``; ``shortest-estimate``: least r; ``smallest-area``: least r n; ``largest``: largest n;
#: ``smallest``: least n; ``wfp3``: largest (w/r)^3 n; ``unicef``: largest w / (r log2 n), jobs of one node
#: first; ``f1``: least log10(r) n + 870 log10(s); ``f2``: sqrt(r) n + 25,600 log10(s); ``f3``: r n +
#: 6,860,000 log10(s); ``f4``: r sqrt(n) + 530,000 log10(s) (Carastan-Santos & de Camargo, SC'17, which also
#: has WFP3 and UNICEF).
#:
#: A job with a head start counts as submitted so much earlier, in s, w and ties.
QueueOrder: TypeAlias = Literal[
    "submission",
    "shortest-estimate",
    "smallest-area",
    "largest",
    "smallest",
    "f1",
    "f2",
    "f3",
    "f4",
    "wfp3",
    "unicef",
]

#: All orders, the default first.
QUEUE_ORDERS: tuple[QueueOrder, ...] = get_args(QueueOrder)


#: Where a policy takes run times from, see `Easy`.
EstimateSource: TypeAlias = Literal["limit", "actual", "user-average"]

#: The scan limit and the number of reservations, in jobs, that stand for all: more than any queue holds.
ALL_JOBS: Final = 2**62

#: Kinds of policies that have kernels of their own.
_VARIANTS: Final = frozenset({HPCOPT, RAPS, MJS2023})
#: Kinds of policies that need running jobs in the order of their expected ends.
_ORDERED: Final = frozenset({EASY, HPCOPT, RAPS, RESERVING, SLURM})


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """A queue policy: its rule, the run times that it expects of running and waiting jobs, and its calls."""

    rule: QueueRule
    running: EstimateSource = "limit"
    queued: EstimateSource = "limit"
    coalesce: bool = True
    choice: NodeChoice = "first"

    @property
    def plans(self) -> bool:
        """Whether jobs are planned on what is free over time."""
        return self.rule.kind in {RESERVING, SLURM}

    def given(self, problem: WorkloadProblem) -> Given:
        """Return what kernels take of a workload: of a planned job in passes three steps at most."""
        if self.rule.kind != SLURM:
            return given_to_kernels(problem, len(problem.jobs) * self.plans)
        given = given_to_kernels(problem, 2 * len(problem.jobs))
        return given._replace(jobs=on_own_nodes(given.jobs))

    def plan_of(
        self, given: Given, problem: WorkloadProblem
    ) -> tuple[FreeNodes, KeptPlan] | tuple[None, None]:
        """Return what is free over time, and that no plan is kept so far; None if nobody is planned."""
        if not self.plans:
            return None, None
        lasting = self.running == self.queued and _looks_at_all(self.rule)
        return given.free, no_plan(usable=problem.is_rigid and lasting)

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy, unless others are given."""
        return EngineRules(self.coalesce, "actual" if "actual" in {self.running, self.queued} else "estimate")

    def check(self, rules: EngineRules) -> None:
        """Refuse rules that hide what the policy needs, or that call it more often than it makes passes."""
        if self.rule.kind == SLURM and not rules.coalesce:
            raise InvalidOption("coalesce=False: Slurm's passes are made once an instant")
        if rules.knowledge != "actual" and "actual" in {self.running, self.queued}:
            msg = f"knowledge {rules.knowledge!r} hides actual run times, which the policy needs"
            raise InvalidOption(msg)


def run_queue(problem: WorkloadProblem, policy: QueuePolicy, rules: EngineRules) -> Simulation:
    """Run a workload to its end under a policy."""
    policy.check(rules)
    problem, rule = rules.applied(problem), policy.rule
    estimates, memory = _prepared(problem, policy)
    _check(problem, rule, estimates)
    rules.check(problem, answers=False)
    if problem.node_types:
        return simulate_on_places(problem, rule, estimates, policy.choice, coalesce=rules.coalesce)
    given = policy.given(problem)
    jobs, machine, (free, kept) = given.jobs, given.machine, policy.plan_of(given, problem)
    state = given.state(problem, None, ordered=rule.kind in _ORDERED)
    tree = machine is None and _can_be_tree(rule) and problem.is_rigid and has_long_queue(problem)
    queue = long_queue(jobs, estimates.queued, rule.order) if tree else None
    if rule.kind in _VARIANTS:
        run_variant(jobs, state, estimates, rule, rules.coalesce)
    elif queue is not None:
        run_long(jobs, state, estimates, rule, memory, queue, rules.coalesce)
    else:
        run(jobs, state, estimates, rule, memory, rules.coalesce, NOBODY, machine, free, kept)
    return Simulation(schedule_of(state), log_of(state))


def queue_starts_from(
    problem: WorkloadProblem,
    policy: QueuePolicy,
    running: IntArray,
    now: float,
    runtimes: FloatArray,
    pieces: Pieces | None = None,
) -> FloatArray:
    """Return the start of each job in each scenario if those `running` have started and a policy goes on.

    Where nodes are places, `pieces` says where they are.
    """
    then, rule = Continuation.of(problem, running, now), policy.rule
    begun = np.empty(runtimes.shape)
    estimates, memory = _prepared(problem, policy)
    learned = (estimates.running, estimates.queued, estimates.last_runs) if rule.learning else ()
    on, coalesce = None, True
    if pieces is not None:
        on, packed = continued_on_places(problem, rule, policy.choice, running, pieces), problem.jobs.packed
        state = then.state(problem, ordered=rule.kind in _ORDERED)
        restart = Restart(state[:2], learned, on.written)
    else:
        given = policy.given(problem)
        packed, machine, (free, kept) = given.jobs, given.machine, policy.plan_of(given, problem)
        state = given.state(problem, then, ordered=rule.kind in _ORDERED)
        restart = Restart(state[:2], learned, memory.flags, held_now(machine), kept or ())
    for row, runtime in enumerate(runtimes):
        restart()
        jobs = packed._replace(runtime=runtime)
        if policy.running == "actual":
            estimates.running[:] = runtime
        if policy.queued == "actual":
            estimates.queued[:] = runtime
        _check(problem, rule, estimates, runtime, then.started.jobs)
        if on is not None:
            on.run(jobs, state, estimates, coalesce=coalesce, submit=packed.submit, started=then.started)
        else:
            run(jobs, state, estimates, rule, memory, coalesce, then.started, machine, free, kept)
        begun[row] = state.job["start"]
    return begun


def _check(
    problem: WorkloadProblem,
    rule: QueueRule,
    estimates: Estimates,
    runtime: FloatArray | None = None,
    running: IntArray = NOBODY.jobs,
) -> None:
    """Refuse a machine for which a rule is not made; `runtime` (s) replaces the run times of the jobs."""
    check_machine(
        problem,
        *(estimates.queued, estimates.running),
        runtime=runtime,
        learning=rule.learning,
        variant=rule.kind in _VARIANTS,
        running=running,
    )


def _prepared(problem: WorkloadProblem, policy: QueuePolicy) -> tuple[Estimates, Blocked]:
    """Return the estimates and the memory with which a run begins."""
    packed = problem.jobs.packed
    sources = {"limit": packed.estimate, "actual": packed.runtime, "user-average": packed.estimate}
    users = user_numbers(problem) if policy.rule.learning else NO_USERS
    estimates = initial_estimates(
        packed.estimate, sources[policy.running], sources[policy.queued], users=users
    )
    # If running and queued jobs have different estimates, a start may move the shadow time of the jobs
    # behind.
    lasting = policy.running == policy.queued and _looks_at_all(policy.rule)
    return estimates, nothing_blocked(usable=problem.is_rigid and lasting)


def decide_view(view: QueueView, policy: QueuePolicy) -> tuple[Decision, ...]:
    """Return the decisions of a policy on a view. O(running^2 + queue) at worst, plus the cost of the policy.

    A policy that learns from users also examines all jobs that have ended.
    """
    seen = queue_state(view)
    jobs, state, running, starts, listed = seen
    if policy.rule.kind == SLURM:
        jobs = on_own_nodes(jobs)
    sources = {"limit": jobs.estimate, "actual": jobs.runtime}
    if "actual" in {policy.running, policy.queued} and np.isnan(jobs.runtime).any():
        raise InvalidOption("the view hides actual run times, which the policy needs")
    if policy.rule.learning:
        sources["user-average"] = _learned(view, listed)
    estimates = initial_estimates(jobs.estimate, sources[policy.running], sources[policy.queued])
    wake, pieces = np.inf, None
    if view.places is not None:
        wake, pieces = decided_on_places(view, seen, estimates, policy.rule, policy.choice)
    elif policy.rule.kind in _VARIANTS:
        decide_variant(jobs, state, estimates, policy.rule, running, starts)
    else:
        free = new_free_nodes(view.num_nodes, 2 * len(listed)) if policy.plans else None
        memory, begun = nothing_blocked(usable=False), Started(frozen(running), frozen(starts))
        wake = decide(jobs, state, estimates, policy.rule, memory, begun, free)
    chosen = state.started[len(running) : state.engine["started"]].tolist()
    starting = tuple(start_of(state, job, listed, pieces=pieces) for job in chosen)
    return (*starting, Wake(wake)) if wake < np.inf else starting


def _looks_at_all(rule: QueueRule) -> bool:
    """Return whether new jobs come last, and jobs that cannot start now cannot start before the next end."""
    plain = rule.kind in {FIRST_FIT, RESERVING} or (rule.kind == EASY and not rule.strict)
    return plain and rule.order == 0 and rule.scan_limit == ALL_JOBS


def _can_be_tree(rule: QueueRule) -> bool:
    """Return whether a rule looks at all jobs, with estimates that stay, so that a tree finds who starts."""
    return rule.kind in {FIRST_FIT, EASY} and rule.scan_limit == ALL_JOBS and not rule.learning


def _learned(view: QueueView, wanted: IntArray) -> FloatArray:
    """Return the estimates that `learn` makes of the wanted jobs at their submission. O(jobs log jobs)."""
    jobs = view.jobs
    learned = jobs.estimate[wanted]
    completed = np.flatnonzero(jobs.end <= view.now)
    completed = completed[np.lexsort((completed, jobs.end[completed]))]
    for place, job in enumerate(wanted.tolist()):
        mine = completed[(jobs.user[completed] == jobs.user[job]) & (jobs.end[completed] <= jobs.submit[job])]
        runs = (jobs.end[mine[-2:]] - jobs.start[mine[-2:]]).tolist()
        if runs and jobs.user[job] >= 0:
            learned[place] = min(learned[place], sum(reversed(runs)) / len(runs))
    return learned


#: On how many nodes moldable jobs start, see `Easy`.
Moldable: TypeAlias = Literal["max", "min", "fit"]
_MOLDABLE: Final = get_args(Moldable)

#: Tools whose EASY can be reproduced as it is, see `Easy`.
Preset: TypeAlias = Literal["", "flux", "accasim", "cqsim", "mjs2023", "hpcopt", "raps"]
#: All presets.
EASY_PRESETS: tuple[Preset, ...] = get_args(Preset)[1:]


class QueueSolver(CompiledSolver):
    """The base of the queue policies."""

    __slots__ = ()

    @property
    def queue_policy(self) -> QueuePolicy:
        """What the loop of events takes."""
        raise NotImplementedError

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy, unless others are given."""
        return self.queue_policy.rules

    def decide(self, view: QueueView) -> tuple[Decision, ...]:
        """Return who starts now, and when to call it; a policy for `allocsolve.simulation.run_policy`."""
        return decide_view(view, self.queue_policy)

    def starts_from(
        self,
        problem: WorkloadProblem,
        running: IntArray,
        now: float,
        runtimes: FloatArray,
        pieces: Pieces | None = None,
    ) -> FloatArray | None:
        """Return the start of each job in each scenario; None of a variant of EASY.

        See `allocsolve.simulation.forecast.Continuing`.
        """
        policy = self.queue_policy
        policy.check(policy.rules)
        if policy.rule.kind in _VARIANTS:
            return None
        return queue_starts_from(problem, policy, running, now, runtimes, pieces)

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop, with the reasons of all starts."""
        return run_queue(problem, self.queue_policy, rules or self.queue_policy.rules)


@dataclass(frozen=True, slots=True)
class Fcfs(QueueSolver):
    """First come, first served: who does not fit blocks all that were submitted later.

    Parameters
    ----------
    moldable
        On how many nodes a moldable job starts: ``max``: on as many as are free, within its range;
        ``min``: on the fewest that it allows.
    choice
        On which nodes a job starts where nodes are places (`allocsolve.model.WorkloadProblem.node_types`),
        see `allocsolve.simulation.node_choice.NodeChoice`.

    Notes
    -----
    *Complexity*: O(log running jobs) for each job. *Guarantee*: feasible; no job starts before one that was
    submitted earlier.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, WorkloadProblem
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> Fcfs()(problem, Budget()).answer.first_starts.tolist()
    [0.0, 100.0, 110.0]
    """

    moldable: Literal["max", "min"] = "max"
    choice: NodeChoice = "first"

    @property
    def queue_policy(self) -> QueuePolicy:
        """What the loop of events takes."""
        return QueuePolicy(queue_rule(FCFS, self.moldable), choice=self.choice)


@dataclass(frozen=True, slots=True)
class FirstFit(QueueSolver):
    """Backfilling without a reservation: in the order of submission, every job starts that fits.

    Wide jobs may wait for as long as narrow ones come. What several tools call EASY behaves so.

    Parameters
    ----------
    moldable, choice
        As of `Fcfs`.

    Notes
    -----
    *Complexity*: O(log running jobs) for each job, O(queue) for each event; for rigid jobs, 2000 of which or
    more are submitted at one instant, O(log jobs) for each event and O(sqrt(jobs)) at worst for each start.
    *Guarantee*: feasible; no job waits while it fits.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, WorkloadProblem
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> FirstFit()(problem, Budget()).answer.first_starts.tolist()
    [0.0, 1002.0, 2.0]
    """

    moldable: Literal["max", "min"] = "max"
    choice: NodeChoice = "first"

    @property
    def queue_policy(self) -> QueuePolicy:
        """What the loop of events takes."""
        return QueuePolicy(queue_rule(FIRST_FIT, self.moldable), choice=self.choice)


@dataclass(frozen=True, slots=True)
class Easy(QueueSolver):
    """EASY backfilling: the first job that does not fit has a reservation, others may not delay it.

    The head of the queue starts while it fits. The first one that does not is expected to start at the shadow
    time, when enough running jobs are expected to have ended; of the nodes that are then free it leaves the
    extra nodes. A later job starts if it fits and is expected to end by the shadow time, or needs no more
    than the extra nodes, which it uses up.

    With more than one reservation, the first jobs that cannot start have one each, in the order of the queue,
    at the earliest time that running jobs and the reservations before it leave. A later job starts if it fits
    and delays none of them. The plan is made anew in each call.

    Parameters
    ----------
    reservations
        How many jobs that cannot start have a reservation; ``"all"`` is conservative backfilling whose plan
        is made anew in each call. More than one need the other options of the reservation, `extra_nodes` and
        `strict`, as they are by default.
    extra_nodes
        Whether jobs that end after the shadow time may use the extra nodes.
    strict
        Whether a job has to end before the shadow time, not at it.
    estimate
        Which run times the policy takes: ``limit``: those that users asked for (1.25 times the run time where
        none is given); ``actual``: the true ones; ``user-average``: the mean of the last two run times of the
        same user (of the one, if there is one) at the submission, at most the limit; the limit without them.
    order
        Which job is the head, and who is next; see `allocsolve.heuristics.workload.policies.QueueOrder`.
    scan_limit
        How many jobs behind the head are looked at; all if None.
    moldable
        On how many nodes a moldable job starts. ``max``: on as many as are free, within its range (as EASY
        does in Posner et al. 2024), and is not backfilled if it would delay the head on so many; ``min``: on
        the fewest; ``fit``: as ``max``, but backfilled on as many as do not delay the head. Reservations are
        for the fewest nodes; one of several that begins at once is a start. A malleable job is treated as a
        moldable one, so it keeps the nodes on which it has started: `MalleableMin` and `StaticPrice` change
        sizes, and do far better.
    coalesce
        As of `allocsolve.simulation.EngineRules`.
    like
        Behave as the EASY of a tool, defects included; then all other options stay as they are by default.
        ``flux`` (flux-core, sched-backfill): no extra nodes. ``accasim``: no reservation. ``cqsim``: jobs
        that wait are backfilled by their true run times. ``mjs2023`` (MalleableJobScheduling): nothing is
        backfilled before the time is the estimate of the head, then everything that fits; after each start
        the next job is passed over; one call an event. ``hpcopt``: no extra nodes, true ends of running
        jobs, and no reservation in a call in which the head starts. ``raps``: no extra nodes, and running
        jobs are taken to end in the order of their limits.
    choice
        As of `Fcfs`.

    Notes
    -----
    A running job that has taken longer than expected is expected to end now. All jobs that are expected to
    end by the shadow time count for the extra nodes.

    On a machine with counted resources or closed windows, a job can start if it has room beside running jobs
    until its expected end, the shadow time is the earliest instant at which the head can start, and a later
    job starts if it can and the head still can then. A moldable job starts on the most nodes that it can keep
    until its expected end. With closed windows no job may run longer than its estimate, so none are learned;
    `like` ``hpcopt``, ``raps`` and ``mjs2023`` are for plain machines.

    Where nodes are places, the shadow time is the earliest expected end of a running job at which the head
    fits what is free then. The head is planned there on the nodes on which least of it would fit now, the
    first by id among equals, and is planned anew when somebody has started. A later job that ends after the
    shadow time starts on what is free both now and, beside that plan, then. Several reservations lie on nodes
    that are told in the order in which they begin, for each as for the head, and anew for those that begin
    later when one is made, and for all when somebody has started; where one would then not fit, nodes stay
    as they are. A later job starts on what is free now and beside each of them. On whole nodes of one type
    all this is as above. At most 2000 jobs may have reservations there.

    *Guarantee*: feasible. With order ``submission``, estimates that are no less than run times, and without
    `like`, no job that has once been the head starts after its shadow time at that moment; exactly the jobs
    start that leave the shadow time where it is. With any number of reservations, none of these is delayed
    by a start. With ``"all"``, where no job runs longer than estimated, the schedule is that of conservative
    backfilling with compression ``replan``.
    *Complexity*: O(running jobs + queue) for each event; with more reservations O(running jobs + queue x
    steps of the plan). With one reservation, no scan limit and estimates that are not learned, for rigid
    jobs, 2000 of which or more are submitted at one instant, or 10,000 of which are more than the nodes can
    run meanwhile: O(running jobs + log jobs) for each event and O(sqrt(jobs)) at worst for each start; with
    the orders ``wfp3`` and ``unicef`` only if all jobs are submitted at one instant.
    *References*: Lifka, JSSPP 1995; Mu'alem & Feitelson, IEEE TPDS 12(6), 2001; user averages: Tsafrir,
    Etsion & Feitelson, IEEE TPDS 18(6), 2007.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, WorkloadProblem
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 50)])
    >>> Easy()(problem, Budget()).answer.first_starts.tolist()
    [0.0, 100.0, 110.0, 3.0]
    """

    extra_nodes: bool = True
    strict: bool = False
    estimate: EstimateSource = "limit"
    order: QueueOrder = "submission"
    scan_limit: Annotated[int, Within(0)] | None = None
    moldable: Moldable = "max"
    coalesce: bool = True
    like: Preset = ""
    reservations: Annotated[int, Within(1)] | Literal["all"] = 1
    choice: NodeChoice = "first"

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.reservations != 1 and (self.strict or not self.extra_nodes):
            departure = "strict=True" if self.strict else "extra_nodes=False"
            msg = f"{departure} is for one reservation, not for reservations={shown(self.reservations)}"
            raise InvalidOption(msg)
        for option in fields(self):
            value = getattr(self, option.name)
            if self.like and option.name != "like" and value != option.default:
                msg = f"like={self.like!r} sets all options, so {option.name}={shown(value)} cannot be set"
                raise InvalidOption(msg)

    @property
    def queue_policy(self) -> QueuePolicy:
        """What the loop of events takes."""
        if self.like:
            return _PRESETS[self.like]
        rule = queue_rule(
            EASY if self.reservations == 1 else RESERVING,
            self.moldable,
            extra_nodes=self.extra_nodes,
            strict=self.strict,
            order=ORDER_CODES[self.order],
            scan_limit=ALL_JOBS if self.scan_limit is None else min(self.scan_limit, ALL_JOBS),
            learning=self.estimate == "user-average",
            reservations=ALL_JOBS if self.reservations == "all" else min(self.reservations, ALL_JOBS),
        )
        return QueuePolicy(rule, self.estimate, self.estimate, self.coalesce, self.choice)


def queue_rule(
    kind: int,
    moldable: Moldable = "max",
    *,
    extra_nodes: bool = False,
    strict: bool = False,
    order: int = 0,
    scan_limit: int = ALL_JOBS,
    learning: bool = False,
    reservations: int = 1,
) -> QueueRule:
    """Return a rule for kernels."""
    sizes = _MOLDABLE.index(moldable)
    return QueueRule(kind, extra_nodes, strict, order, sizes, scan_limit, learning, reservations)


#: How the EASYs of other tools behave, defects included, see `Easy`.
_PRESETS: Final = {
    "flux": QueuePolicy(queue_rule(EASY)),
    "accasim": QueuePolicy(queue_rule(FIRST_FIT)),
    "cqsim": QueuePolicy(queue_rule(EASY, extra_nodes=True), queued="actual"),
    "mjs2023": QueuePolicy(queue_rule(MJS2023), coalesce=False),
    "hpcopt": QueuePolicy(queue_rule(HPCOPT), running="actual"),
    "raps": QueuePolicy(queue_rule(RAPS)),
}

#: First fit, for which least areas come first, by true run times.
SMALLEST_AREA_FIRST: Final = QueuePolicy(
    queue_rule(FIRST_FIT, order=ORDER_CODES["smallest-area"]), running="actual", queued="actual"
)
