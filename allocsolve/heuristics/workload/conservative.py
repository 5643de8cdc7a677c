"""Conservative backfilling: every job has a reservation from its submission on.

A job is known by its place among all jobs in queue order; it may come to the queue after one that stands
behind it. Free is what is so from now on: running jobs hold what they need until their expected end, queued
jobs for their estimate, from their reservation on. A search for an earlier place stops at the present
reservation of the job, because from there on what it needs is its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption, UnsupportedProblem
from allocsolve.heuristics.workload._kernels_capacity import (
    Facts,
    begin_at,
    book,
    earliest_room,
    known,
    no_facts,
    note,
)
from allocsolve.heuristics.workload._kernels_queue import RESERVING
from allocsolve.heuristics.workload.policies import (
    ALL_JOBS,
    QueuePolicy,
    decide_view,
    queue_rule,
    queue_starts_from,
    run_queue,
)
from allocsolve.heuristics.workload.resources import (
    Machine,
    check_machine,
    given_to_kernels,
    hold,
    is_open,
    move_on,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.free_nodes import new_free_nodes
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import Record, Records, record, records
from allocsolve.model import WorkloadProblem, frozen
from allocsolve.model.checks import instance
from allocsolve.simulation import EngineRules, Log, Simulation, Wake
from allocsolve.simulation.compiled import CompiledSolver
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    NOBODY,
    Continuation,
    Restart,
    Started,
    State,
    advance,
    begin,
    start_of,
    waiting_state,
)
from allocsolve.simulation.outcome import log_of, schedule_of

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.resources import Given
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray, PackedJobs
    from allocsolve.simulation import Decision, QueueView
    from allocsolve.simulation.node_choice import Pieces

#: What happens to reservations when a job ends before its expected end.
NO_COMPRESSION: Final = 0
COMPRESS: Final = 1
REPLAN: Final = 2


class PlanNumbers(Record):
    """The single numbers of `Reservations`."""

    #: Number of jobs with reservations.
    in_use: int
    #: When the next reservation begins, in seconds; infinite for never.
    due: float
    #: Until when there is more room than at the last compression, in seconds.
    freed: float


class Reserved(Record):
    """A job in the queue, and its reservation; times in seconds."""

    #: Given: its nodes, its run time, and the run time that the policy expects.
    nodes: int
    runtime: float
    estimate: float
    #: When the reservation begins, infinite if there is none; when the first one began.
    start: float
    promised: float
    #: The places of the jobs before it and behind it in the queue.
    before: int
    behind: int


#: How many reservations make no fact worth its time.
_FEW_JOBS: Final = 32


class Reservations(NamedTuple):
    """What conservative backfilling keeps from call to call; all is written."""

    numbers: PlanNumbers
    #: By place. Those in the queue are a ring that the last one closes.
    jobs: Records[Reserved]
    #: The job at each place, and the place of each job; read-only.
    order: IntArray
    place: IntArray
    #: A heap of the reservations, and where each job is on it.
    next: Records[Entry]
    places: IntArray
    free: FreeNodes
    facts: Facts


def no_reservations(
    free: FreeNodes, order: IntArray, nodes: IntArray, runtime: FloatArray, estimate: FloatArray
) -> Reservations:
    """Return an empty queue with room for the jobs of `order`, in queue order.

    The other columns, in seconds and nodes, are those of all jobs; `free` has room for all of them.
    """
    count, numbers = len(order), record(PlanNumbers)
    numbers["due"] = np.inf
    jobs = records(Reserved, count + 1, start=np.inf)
    for name, column in ("nodes", nodes), ("runtime", runtime), ("estimate", estimate):
        jobs[name][:count] = column[order]
    jobs["before"][count] = jobs["behind"][count] = count
    place = np.full(len(nodes), -1)
    place[order] = np.arange(count)
    heap, places = records(Entry, count), np.empty(count, dtype=np.int64)
    return Reservations(numbers, jobs, frozen(order), frozen(place), heap, places, free, no_facts())


@inner_kernel
def _book(plan: Reservations, place: int, start: float) -> None:
    """Note the reservation of a job that has none. O(log queue)."""
    plan.jobs[place].start = start
    raise_up(plan.next, plan.places, BY_ITEM, plan.numbers.in_use, start, place)
    plan.numbers.in_use += 1


@inner_kernel
def _take_first(plan: Reservations) -> int:
    """Take the reservation that begins next off the heap, and return the place of its job. O(log queue)."""
    entries, count = plan.next, plan.numbers.in_use - 1
    place = entries[0].item
    plan.numbers.in_use = count
    lower(entries, plan.places, BY_ITEM, count, 0, entries[count].time, entries[count].item)
    return place


@inner_kernel
def _enter(plan: Reservations, place: int) -> None:
    """Put a job at its place in the queue. O(jobs behind it)."""
    jobs, end = plan.jobs, len(plan.jobs) - 1
    behind = end
    while jobs[behind].before != end and jobs[behind].before > place:
        behind = jobs[behind].before
    before = jobs[behind].before
    jobs[before].behind = jobs[behind].before = place
    jobs[place].before, jobs[place].behind = before, behind


@inner_kernel
def _leave(plan: Reservations, place: int) -> None:
    """Take a job out of the queue."""
    before, behind = plan.jobs[place].before, plan.jobs[place].behind
    plan.jobs[before].behind, plan.jobs[behind].before = behind, before


@inner_kernel
def _reserve(plan: Reservations, place: int, now: float, machine: Machine | None = None) -> None:
    """Give a job without a reservation the earliest possible one."""
    row, job = plan.jobs[place], plan.order[place]
    begin, many = now, plan.numbers.in_use > _FEW_JOBS
    if many:
        begin = max(now, known(plan.facts, row.nodes, row.estimate))
    start = earliest_room(plan.free, job, row.nodes, begin, row.estimate, np.inf, machine)
    if many and start > begin:
        note(plan.facts, job, row.nodes, row.estimate, start, machine)
    _book(plan, place, start)
    book(plan.free, job, row.nodes, start, start + row.estimate, -1, machine)


@inner_kernel
def _replan(plan: Reservations, now: float, machine: Machine | None = None) -> None:
    """Drop all reservations and make them anew in queue order."""
    jobs, end = plan.jobs, len(plan.jobs) - 1
    place = jobs[end].behind
    while place != end:
        row = jobs[place]
        until = row.start + row.estimate
        book(plan.free, plan.order[place], row.nodes, max(now, row.start), until, 1, machine)
        place = row.behind
    plan.numbers.in_use = plan.facts.used[0] = 0
    place = jobs[end].behind
    while place != end:
        _reserve(plan, place, now, machine)
        place = jobs[place].behind
    plan.numbers.freed = 0.0


@inner_kernel
def _compress(plan: Reservations, now: float, machine: Machine | None = None) -> None:
    """Move each job, in queue order, to its earliest place while all others keep their reservations.

    There is more room than before until an instant only: a job that gets earlier starts before that, and then
    there is more room until the end of what it leaves. Jobs before it in the queue have not been asked
    whether they want that, so they are next time.
    """
    jobs, end, free = plan.jobs, len(plan.jobs) - 1, plan.free
    freed, left = plan.numbers.freed, 0.0
    plan.facts.used[0] = 0
    many = plan.numbers.in_use > _FEW_JOBS
    place = jobs[end].behind
    while place != end:
        row, job = jobs[place], plan.order[place]
        place = row.behind
        nodes, seconds, before = row.nodes, row.estimate, row.start
        if many and -known(plan.facts, nodes, seconds) <= before:
            continue
        latest = until = min(before, freed) if many else before
        start = earliest_room(free, job, nodes, now, seconds, latest, machine)
        if start < latest < before:  # it has room until then at least
            until = before
            start = earliest_room(free, job, nodes, start, seconds, before, machine)
        if start >= latest:
            if many and latest == freed:
                note(plan.facts, job, nodes, seconds, -until, machine)
        else:
            plan.facts.used[0] = 0
            left = max(left, before + seconds)
            freed = max(freed, left)
            # It keeps what the two places have in common.
            book(free, job, nodes, max(before, start + seconds), before + seconds, 1, machine)
            book(free, job, nodes, start, min(before, start + seconds), -1, machine)
            row.start = start
            mine = plan.place[job]
            raise_up(plan.next, plan.places, BY_ITEM, plan.places[mine], start, mine)
    plan.numbers.freed = left
    plan.facts.used[0] = 0


@inner_kernel
def _release(state: State, plan: Reservations, machine: Machine | None = None) -> bool:
    """Free what jobs held that have ended; return whether one did so before its expected end."""
    now, early = state.engine.clock, False
    for at in range(state.engine.completed):
        row = state.job[state.events[at]]
        early |= row.expected > now
        plan.numbers.freed = max(plan.numbers.freed, row.expected)
        book(plan.free, state.events[at], row.size, now, row.expected, 1, machine)
    return early


@inner_kernel
def _start_due(state: State, plan: Reservations, machine: Machine | None = None) -> None:
    """Start the jobs whose reservations have begun, in queue order, unless others hold what they need."""
    engine, end = state.engine, len(plan.jobs) - 1
    now, late = engine.clock, -1  # jobs whose nodes others hold for longer than estimated, in a chain; few
    while plan.numbers.in_use and plan.next[0].time <= now:
        place = _take_first(plan)
        row, job = plan.jobs[place], plan.order[place]
        if row.nodes > engine.free or (machine is not None and not is_open(machine, job)):
            plan.places[place] = late
            late = place
            continue
        first = plan.jobs[end].behind
        _leave(plan, place)
        engine.head += 1
        why, blocked = AT_HEAD, -1
        if first != place:
            why, blocked = BACKFILLED, plan.order[first]
        until = now + row.estimate
        begin(state, job, row.nodes, row.runtime, row.estimate, until, why, blocked)
        if machine is not None:
            hold(machine, job, row.nodes, until, 1)
    plan.numbers.due = plan.next[0].time if plan.numbers.in_use else np.inf
    while late >= 0:
        place, late = late, plan.places[late]
        _book(plan, place, now)


@inner_kernel
def _one_call(
    state: State, compression: int, plan: Reservations, early: bool, machine: Machine | None = None
) -> None:
    """Make the decisions of one call; `early` says whether a job has ended before its expected end.

    In queue order all jobs, then the new ones as they come, get their earliest reservations.
    """
    engine, now = state.engine, state.engine.clock
    # A reservation has passed where another job runs longer than estimated.
    is_late = plan.numbers.in_use > 0 and plan.next[0].time < now
    plan.facts.used[0] = 0
    if is_late or (early and compression == REPLAN):
        _replan(plan, now, machine)
    elif early and compression == COMPRESS:
        _compress(plan, now, machine)
    for at in range(engine.tail - engine.submitted, engine.tail):
        place = plan.place[state.queue[at]]
        if plan.jobs[place].start == np.inf:
            _enter(plan, place)
            _reserve(plan, place, now, machine)
        plan.jobs[place].promised = plan.jobs[place].start
    _start_due(state, plan, machine)


@kernel
def run_conservative(
    state: State,
    compression: int,
    plan: Reservations,
    jobs: PackedJobs,
    started: Started,
    machine: Machine | None = None,
) -> None:
    """Run a workload to its end, after placing the jobs that have started.

    Jobs are in `plan` by their places; `jobs` are looked at for those that have started.
    """
    for at in range(len(started.jobs)):
        job, clock = started.jobs[at], started.starts[at]
        state.engine.clock = clock
        nodes, estimate = jobs.nodes[job], jobs.estimate[job]
        begin(state, job, nodes, jobs.runtime[job], estimate, clock + estimate, AT_HEAD, -1)
        book(plan.free, job, nodes, clock, clock + estimate, -1, machine)
        if machine is not None:
            hold(machine, job, nodes, clock + estimate, 1)
    while advance(state, plan.numbers.due, True):
        if machine is not None:
            move_on(state, machine)
        begin_at(plan.free, state.engine.clock, machine)
        early = _release(state, plan, machine)
        _one_call(state, compression, plan, early, machine)


@kernel
def decide_conservative(
    state: State, compression: int, plan: Reservations, held: IntArray, expected_ends: FloatArray, early: bool
) -> None:
    """Make the decisions of one call, on a state with a filled queue.

    Jobs that have a reservation already begin with it in the plan. Running jobs hold `held` nodes until their
    expected ends; `early` says whether a job has ended before its expected end since the last call.
    """
    engine, now = state.engine, state.engine.clock
    begin_at(plan.free, now)
    plan.numbers.freed = np.inf
    for at in range(len(held)):
        book(plan.free, at, held[at], now, expected_ends[at], -1)
    engine.submitted = 0
    for place in range(engine.tail):
        row = plan.jobs[place]
        if row.start == np.inf:
            engine.submitted = max(engine.submitted, engine.tail - place)
            continue
        _enter(plan, place)
        _book(plan, place, row.start)
        book(plan.free, place, row.nodes, max(now, row.start), row.start + row.estimate, -1)
    _one_call(state, compression, plan, early)


#: How the reservations change when a job ends before its expected end.
Compression: TypeAlias = Literal[
    "compress",  # each job, in queue order, is taken out of the plan and put back at its earliest place
    "replan",  # all reservations are dropped and made anew in queue order
    "none",  # reservations stay; only jobs that are submitted later use the nodes
]

#: All compressions, the default first.
COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)

#: Their codes for kernels.
_CODES: dict[Compression, int] = {
    "compress": COMPRESS,
    "replan": REPLAN,
    "none": NO_COMPRESSION,
}


class ConservativePlan(NamedTuple):
    """When and why jobs start, and when they were promised to start."""

    #: Shape (jobs,), seconds.
    starts: FloatArray
    #: Shape (jobs,), seconds: the reservation that each job got when it was submitted.
    promised: FloatArray
    log: Log


@dataclass(frozen=True, slots=True)
class Conservative(CompiledSolver):
    """Conservative backfilling: a job may start early if that delays no job before it in the queue.

    The queue is in the order of submission. When a job is submitted it gets the earliest reservation that
    the plan (running jobs until their expected ends, and the reservations of all queued jobs) allows, for
    its estimate; it starts when its reservation begins. At one instant jobs end first, then the plan is
    compressed, then jobs are submitted.

    A job that runs longer than estimated is expected to end at once. Where it keeps another job from starting
    in time, all reservations are made anew in queue order at the next event. A moldable job runs on
    `allocsolve.model.Job.nodes` nodes. On a machine with counted resources or closed windows a reservation
    has room for all that the job needs; with closed windows none may run longer than its estimate. Where
    nodes are places, only ``"replan"`` is possible, as `allocsolve.heuristics.Easy` with all reservations.

    Parameters
    ----------
    compression
        What happens to the reservations when a job ends before its expected end. ``"compress"``: in queue
        order, one job is taken out of the plan and put back at its earliest place, while all others keep
        theirs: none ever gets later. ``"replan"``: all reservations are dropped and made anew in queue
        order: a job may get later than it was promised. ``"none"``: reservations stay; jobs that are
        submitted later may use the nodes.
    estimate
        What the policy takes for the run time of a job: its limit (``"limit"``; 1.25 times the run time where
        there is none), or the run time itself (``"actual"``).

    Notes
    -----
    *Guarantee*: with ``"compress"`` or ``"none"``, no job starts after the reservation that it got when it
    was submitted, as long as no job runs longer than estimated. With exact estimates nothing is ever
    compressed, and the schedule is that of list scheduling in queue order. *Complexity*: a reservation
    passes over the stretches of the plan in which nothing can fit, and 100,000 jobs that are queued at one
    instant are planned in 1 to 4 s. A job that ends early costs one reservation for each queued job, so
    ``"compress"`` and ``"replan"`` are quadratic in the queue where limits are too long, as nearly every
    job that waits moves then. Where most jobs end early, ``"replan"`` plans jobs at each event only as far as
    somebody may start now. 41,524 jobs of Cori KNL take .2 s, 1.7 s where thousands wait for a window to end,
    11,434 of Cirrus, of which up to 7,600 wait at a time, 4 s.

    References
    ----------
    Mu'alem & Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the
    IBM SP2 with backfilling", IEEE Transactions on Parallel and Distributed Systems 12(6), 2001.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 90)])
    >>> Conservative()(problem, Budget()).answer.first_starts.tolist()
    [0.0, 100.0, 110.0, 3.0]
    """

    compression: Compression = "compress"
    estimate: Literal["limit", "actual"] = "limit"

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy."""
        return EngineRules(knowledge="actual" if self.estimate == "actual" else "estimate")

    def online(self) -> OnlineConservative:
        """Return the same policy as one that decides on views, for drivers that call it at each event."""
        return OnlineConservative(self)

    @property
    def replanned(self) -> QueuePolicy:
        """What it is where nodes are places. `UnsupportedProblem` if reservations are not made anew."""
        if self.compression != "replan":
            msg = f"compression={self.compression!r}: on nodes that are places only 'replan' is possible"
            raise UnsupportedProblem(msg)
        rule = queue_rule(RESERVING, reservations=ALL_JOBS)
        return QueuePolicy(rule, self.estimate, self.estimate)

    def plan(self, problem: WorkloadProblem) -> ConservativePlan:
        """Return when and why jobs start, and when they were promised to."""
        state, promised = self._run(problem)
        return ConservativePlan(state.job["start"].copy(), promised, log_of(state))

    def _run(self, problem: WorkloadProblem) -> tuple[State, FloatArray]:
        """Run a workload; return the state at its end, and what each job was promised."""
        packed = instance("problem", problem, WorkloadProblem).jobs.packed
        expected = packed.estimate if self.estimate == "limit" else packed.runtime
        check_machine(problem, expected)
        EngineRules().check(problem, answers=False)
        given = given_to_kernels(problem, len(packed.submit))
        state, order = _queue(given.state(problem, None, ordered=None), given, packed.submit)
        plan = no_reservations(given.free, order, packed.nodes, packed.runtime, expected)
        run_conservative(state, _CODES[self.compression], plan, packed, NOBODY, given.machine)
        promised = np.empty(len(packed.submit))
        promised[order] = plan.jobs["promised"][:-1]
        return state, promised

    def first_reservations(self, problem: WorkloadProblem) -> FloatArray:
        """Return the reservation that each job gets when it is submitted. Shape (jobs,), seconds."""
        return self.plan(problem).promised

    def starts_from(
        self,
        problem: WorkloadProblem,
        running: IntArray,
        now: float,
        runtimes: FloatArray,
        pieces: Pieces | None = None,
    ) -> FloatArray:
        """Return the start of each job in each scenario, see `allocsolve.simulation.forecast.Continuing`.

        The jobs that wait get their reservations now, in the order of the queue.
        """
        if pieces is not None:
            return queue_starts_from(problem, self.replanned, running, now, runtimes, pieces)
        then, packed = Continuation.of(problem, running, now), problem.jobs.packed
        given, begun = given_to_kernels(problem, len(packed.submit)), np.empty(runtimes.shape)
        state, order = _queue(given.state(problem, then, ordered=None), given, packed.submit)
        machine = given.machine
        plan = no_reservations(given.free, order, packed.nodes, packed.runtime, packed.estimate)
        restart = Restart(state[:2], plan, () if machine is None else tuple(machine))
        for row, runtime in enumerate(runtimes):
            restart()
            jobs = packed._replace(runtime=runtime)
            if self.estimate == "actual":
                jobs = jobs._replace(estimate=runtime)
            check_machine(problem, jobs.estimate, runtime=runtime, running=then.started.jobs)
            plan.jobs["runtime"][:-1], plan.jobs["estimate"][:-1] = runtime[order], jobs.estimate[order]
            run_conservative(state, _CODES[self.compression], plan, jobs, then.started, machine)
            begun[row] = state.job["start"]
        return begun

    def _plans_at_starts(self, problem: WorkloadProblem) -> bool:
        """Return whether who starts is the same, and found sooner, if jobs are planned only for that.

        A plan that is made anew at each end serves to say who starts now: it need not go beyond the last job
        that may, see `_kernels_reservations`. Where most jobs end when they are expected to, plans last.
        """
        jobs, asked = problem.jobs.packed, problem.jobs.requirements
        if self.compression != "replan" or self.estimate == "actual" or not problem.is_rigid:
            return False
        if len(asked.eligible) or len(asked.boost):  # who comes late may stand before others
            return False
        early, late = np.count_nonzero(jobs.runtime < jobs.estimate), (jobs.runtime > jobs.estimate).any()
        return bool(2 * early > len(jobs.runtime) and not late)

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end in the compiled loop of this policy, with the reasons of all starts.

        `InvalidOption` if rules are given that differ from those of the policy in more than `kill_at_limit`.
        """
        if rules is not None:
            problem = rules.applied(problem)
        if rules not in {None, self.rules, dataclasses.replace(self.rules, kill_at_limit=True)}:
            raise InvalidOption(f"conservative backfilling has the rules {self.rules}, not {rules}")
        if problem.node_types or self._plans_at_starts(problem):
            return run_queue(problem, self.replanned, self.replanned.rules)
        state, _ = self._run(problem)
        return Simulation(schedule_of(state), log_of(state))


def _queue(state: State, given: Given, submit: FloatArray) -> tuple[State, IntArray]:
    """Return a state in which jobs of one instant come in queue order, and the jobs to come in that order."""
    jobs, times = np.ascontiguousarray(state.arrivals["item"]), state.arrivals["time"]
    if given.machine is None:
        return state, jobs
    order = jobs[np.lexsort((jobs, submit[jobs], given.jobs.submit[jobs]))]
    place = np.empty_like(submit)
    place[order] = np.arange(len(order))
    by = np.lexsort((place[jobs], times))
    return state._replace(arrivals=records(Entry, len(by), frozen=True, time=times[by], item=jobs[by])), order


def conservative_plan(
    problem: WorkloadProblem,
    compression: Compression = "compress",
    estimate: Literal["limit", "actual"] = "limit",
) -> ConservativePlan:
    """Plan by `Conservative`, which says what its options are.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(4, [Job(0, 3, 50, limit=100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> plan = conservative_plan(problem)
    >>> plan.starts.tolist(), plan.promised.tolist()
    ([0.0, 50.0, 60.0], [0.0, 100.0, 112.5])
    """
    return Conservative(compression, estimate).plan(problem)


class OnlineConservative:
    """Conservative backfilling that decides on views and remembers the reservations between calls.

    The options are those of `policy`; the defaults if left out.

    Notes
    -----
    Under the engine of `allocsolve.simulation` it gives the schedule of `Conservative`. *Complexity*:
    O(queued jobs x segments of the plan) for each call.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> from allocsolve.simulation import simulate
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000), Job(3, 1, 90)])
    >>> simulate(problem, OnlineConservative().decide).first_starts.tolist()
    [0.0, 100.0, 110.0, 3.0]
    """

    def __init__(self, policy: Conservative | None = None) -> None:
        self.policy = policy or Conservative()
        self.reset()

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation under this policy."""
        return self.policy.rules

    def reset(self, seed: int = 0) -> None:  # noqa: ARG002 - nothing is random
        """Forget all reservations: a new run begins."""
        self._reserved: dict[int, float] = {}
        self._due = np.inf

    def decide(self, view: QueueView) -> list[Decision]:
        """Return which jobs start now, and when the next reservation begins.

        `InvalidOption` if the policy needs actual run times, which the view hides.
        """
        if view.places is not None:
            return [*decide_view(view, self.policy.replanned)]
        known, queue, ended = view.jobs, view.queue, view.completed
        is_known = all(job in self._reserved for job in queue.tolist())
        is_event = len(ended) or len(view.submitted) or not is_known  # who goes on elsewhere knows nobody
        if view.woken and self._due != view.now and not is_event:
            return []  # the reservation for which this call was asked no longer exists
        if not len(queue):
            self.reset()
            return []
        lengths = known.estimate if self.policy.estimate == "limit" else known.runtime
        if np.isnan(lengths[queue]).any():
            raise InvalidOption("the view hides actual run times, which the policy needs")
        early = bool((known.start[ended] + lengths[ended] > view.now).any())
        state = waiting_state(view)
        free = new_free_nodes(view.free + int(view.held.sum()), len(queue) + len(view.held))
        places = np.arange(len(queue))
        plan = no_reservations(free, places, known.nodes[queue], known.runtime[queue], lengths[queue])
        plan.jobs["start"][:-1] = [self._reserved.get(job, np.inf) for job in queue.tolist()]
        code = _CODES[self.policy.compression]
        decide_conservative(state, code, plan, view.held, view.expected_ends, early)
        started = state.started[: state.engine["started"]].tolist()
        starts = [start_of(state, place, queue) for place in started]
        gone = {start.job for start in starts}
        reserved = zip(queue.tolist(), plan.jobs["start"][:-1].tolist(), strict=True)
        self._reserved = {job: start for job, start in reserved if job not in gone}
        self._due = float(plan.numbers["due"])
        return [*starts, Wake(self._due)] if self._due < np.inf else [*starts]
