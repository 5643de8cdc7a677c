"""Published policies that shrink running jobs for waiting ones and expand them into free nodes.

The module holds the four policies, the run of a whole workload and the decision on a view. What differs
between the policies is their `MalleableRule`: how they measure the size of a job, and how nodes move, job by
job, each as far as needed, or node by node over all jobs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload._kernels_queue import (
    FIRST_FIT,
    MIN_SIZE,
    PREFERRED_SIZE,
    Blocked,
    Estimates,
    initial_estimates,
    nothing_blocked,
    one_pass,
)
from allocsolve.heuristics.workload.policies import queue_rule
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import records
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.job_kinds import MALLEABLE, POWERS_OF_TWO
from allocsolve.model.speedup import SPEEDUP_TABLE
from allocsolve.simulation import EngineRules, Promise, Resize, Start
from allocsolve.simulation.compiled import ResizingSolver, run_to_end
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance,
    has_room,
    largest_size,
    leave_queue,
    packed_jobs,
    promise,
    renumbered,
    resize,
    resizing_of_view,
    start_of,
    start_promised,
    state_of_view,
    take_in,
    take_running,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.heuristics.workload._kernels_queue import QueueRule
    from allocsolve.kernels.records import Records
    from allocsolve.model import FloatArray, IntArray, PackedJobs, WorkloadProblem
    from allocsolve.simulation import QueueView

#: Codes of `MalleableRule.measure`: nodes above the fewest or the preferred ones, as numbers; or above the
#: fewest as shares of the range to the most nodes: then jobs shrink and grow node by node, all together.
ABOVE_MIN: Final = 0
ABOVE_PREFERRED: Final = 1
SHARE_ABOVE_MIN: Final = 2

#: Codes that stand in the notes of decisions in place of the job that a resize is for.
FOR_NOBODY: Final = -1
PROMISED_NODES: Final = -2
STARTED_NOW: Final = -3


class MalleableRule(NamedTuple):
    """The options of a policy for kernels."""

    queue: QueueRule
    measure: int
    #: Whether a waiting job asks for its preferred nodes, and whether running jobs keep their preferred
    #: nodes.
    needs_preferred: bool
    keeps_preferred: bool
    #: Whether a waiting job that gets no nodes then asks for its fewest nodes, and in the end lets running
    #: jobs shrink to their fewest nodes.
    relaxes: bool


class Scratch(NamedTuple):
    """Arrays for the work of one call, and its decisions. Shape (jobs,) unless another one is given."""

    #: By job: the size that it will have, and the call in which it last shrank.
    level: IntArray
    victim: IntArray
    #: A heap of jobs by measure, which takes the place of time; `places` is empty, as not needed.
    heap: Records[Entry]
    places: IntArray
    #: Jobs whose sizes change.
    touched: IntArray
    #: Shape (room, 3): job, nodes, and the job that a resize is for or a code.
    decisions: IntArray
    #: Shape (1,): the number of decisions, which may be larger than the room.
    decided: IntArray


def initial_scratch(count: int, room: int) -> Scratch:
    """Return the arrays for `count` jobs, and room for `room` decisions."""
    return Scratch(
        level=np.zeros(count, dtype=np.int64),
        victim=np.full(count, -1, dtype=np.int64),
        heap=records(Entry, count),
        places=np.zeros(0, dtype=np.int64),
        touched=np.zeros(count, dtype=np.int64),
        decisions=np.zeros((room, 3), dtype=np.int64),
        decided=np.zeros(1, dtype=np.int64),
    )


@inner_kernel
def _measure(jobs: PackedJobs, job: int, size: int, measure: int) -> float:
    """Return how far above its base a job of a given size is, by a measure."""
    base = jobs.min_nodes[job] if measure in (ABOVE_MIN, SHARE_ABOVE_MIN) else jobs.nodes[job]
    above = float(size - base)
    if measure in (ABOVE_MIN, ABOVE_PREFERRED):
        return above
    span = jobs.max_nodes[job] - base
    return above / span if span else 0.0


@inner_kernel
def _larger_size(jobs: PackedJobs, job: int, size: int) -> int:
    """Return the next larger number of nodes on which a job can run; its size is below its most nodes."""
    if jobs.speedup[job] == SPEEDUP_TABLE:
        row = jobs.table_offsets[job]
        while jobs.table_nodes[row] <= size:
            row += 1
        return int(jobs.table_nodes[row])
    step = jobs.size_step[job]
    return 2 * size if step == POWERS_OF_TWO else size + step


@inner_kernel
def _may_change(state: State, resizing: Resizing, job: int) -> bool:
    """Return whether a running job has no change pending from an earlier call."""
    is_pending = resizing.job[job].target != state.job[job].size
    return bool(not is_pending or resizing.job[job].decided == resizing.ledger.calls)


@inner_kernel
def _note(scratch: Scratch, job: int, nodes: int, other: int) -> None:
    """Note a decision if there is room: job, nodes, and the job that a resize is for or a code."""
    decisions, at = scratch.decisions, scratch.decided[0]
    if at < len(decisions):
        decisions[at, 0], decisions[at, 1], decisions[at, 2] = job, nodes, other
    scratch.decided[0] = at + 1


@inner_kernel
def _give(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    scratch: Scratch,
    job: int,
    size: int,
    lack: int,
    waiting: int,
) -> int:
    """Shrink a job to a size for a waiting job that lacks `lack` nodes; return how many are still lacking."""
    given = min(lack, resizing.job[job].target - size)
    scratch.victim[job] = resizing.ledger.calls
    resize(jobs, state, resizing, job, size, given)
    _note(scratch, job, size, waiting)
    return int(lack - given)


@inner_kernel
def _floor(jobs: PackedJobs, job: int, preferred: bool) -> int:
    """Return the preferred nodes of a job, or its fewest ones."""
    return int(jobs.nodes[job] if preferred else jobs.min_nodes[job])


@inner_kernel
def _shrinkable(jobs: PackedJobs, state: State, resizing: Resizing, preferred: bool) -> int:
    """Return how many nodes running jobs can give up together. O(running jobs)."""
    total = 0
    for at in range(resizing.ledger.malleable_running):
        job = resizing.running[at]
        spare = resizing.job[job].target - _floor(jobs, job, preferred)
        if spare > 0 and _may_change(state, resizing, job):
            total += spare
    return total


@inner_kernel
def _shrink_one_by_one(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    scratch: Scratch,
    rule: MalleableRule,
    preferred: bool,
    lack: int,
    waiting: int,
) -> int:
    """Shrink the job that is furthest above its base as far as needed and possible, then the next one.

    Return how many of `lack` nodes are still lacking.
    """
    while lack > 0:
        victim, furthest = -1, -np.inf
        for at in range(resizing.ledger.malleable_running):
            job = resizing.running[at]
            size = resizing.job[job].target
            if size <= _floor(jobs, job, preferred) or not _may_change(state, resizing, job):
                continue
            above = _measure(jobs, job, size, rule.measure)
            if above > furthest or (above == furthest and job < victim):
                victim, furthest = job, above
        floor = _floor(jobs, victim, preferred)
        size = largest_size(jobs, victim, max(floor, resizing.job[victim].target - lack))
        lack = _give(jobs, state, resizing, scratch, victim, size, lack, waiting)
    return lack


@inner_kernel
def _shrink_level(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    scratch: Scratch,
    rule: MalleableRule,
    preferred: bool,
    lack: int,
    waiting: int,
) -> int:
    """Shrink the job that is furthest above its base by one step, and repeat.

    Return how many of `lack` nodes are still lacking.
    """
    count, touched, missing = 0, 0, lack
    for at in range(resizing.ledger.malleable_running):
        job = resizing.running[at]
        size = resizing.job[job].target
        if size > _floor(jobs, job, preferred) and _may_change(state, resizing, job):
            scratch.level[job] = size
            key = -_measure(jobs, job, size, rule.measure)
            raise_up(scratch.heap, scratch.places, BY_ITEM, count, key, job)
            count += 1
    while missing > 0:
        job = scratch.heap[0].item
        size = scratch.level[job]
        if size == resizing.job[job].target:
            scratch.touched[touched] = job
            touched += 1
        scratch.level[job] = largest_size(jobs, job, size - 1)
        missing -= size - scratch.level[job]
        key = -_measure(jobs, job, scratch.level[job], rule.measure)
        if scratch.level[job] <= _floor(jobs, job, preferred):
            count -= 1
            job, key = scratch.heap[count].item, scratch.heap[count].time
        lower(scratch.heap, scratch.places, BY_ITEM, count, 0, key, job)
    for at in range(touched):
        job = scratch.touched[at]
        lack = _give(jobs, state, resizing, scratch, job, scratch.level[job], lack, waiting)
    return lack


@inner_kernel
def _promise_nodes(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    scratch: Scratch,
    rule: MalleableRule,
    at: int,
    needs_preferred: bool,
    keeps_preferred: bool,
) -> bool:
    """Shrink running jobs for the queued job at a place and promise it nodes, if they can give up enough."""
    job = state.queue[at]
    need = _floor(jobs, job, needs_preferred)
    if _shrinkable(jobs, state, resizing, keeps_preferred) < need:
        return False
    which = jobs, state, resizing, scratch, rule, keeps_preferred
    if rule.measure in (ABOVE_MIN, ABOVE_PREFERRED):
        lack = _shrink_one_by_one(*which, need, job)
    else:
        lack = _shrink_level(*which, need, job)
    leave_queue(state, at)
    promise(state, resizing, job, need, lack)
    start_promised(jobs, state, resizing)
    _note(scratch, job, need, PROMISED_NODES)
    return True


@inner_kernel
def shrink_for_queue(
    jobs: PackedJobs, state: State, resizing: Resizing, scratch: Scratch, rule: MalleableRule
) -> None:
    """Promise nodes to the jobs of the queue, in their order."""
    at = state.engine.head
    while at < state.engine.tail:
        promised = _promise_nodes(
            jobs, state, resizing, scratch, rule, at, rule.needs_preferred, rule.keeps_preferred
        )
        if not promised and rule.relaxes:
            promised = _promise_nodes(jobs, state, resizing, scratch, rule, at, False, True)
        if not promised and rule.relaxes:
            promised = _promise_nodes(jobs, state, resizing, scratch, rule, at, False, False)
        at += 1


@inner_kernel
def _may_grow(jobs: PackedJobs, state: State, resizing: Resizing, scratch: Scratch, job: int) -> bool:
    """Return whether a job was not shrunk in this call and its next size fits into the free nodes."""
    size = resizing.job[job].target
    if size >= jobs.max_nodes[job] or scratch.victim[job] == resizing.ledger.calls:
        return False
    return bool(_larger_size(jobs, job, size) - size <= state.engine.free)


@inner_kernel
def expand_one_by_one(
    jobs: PackedJobs, state: State, resizing: Resizing, scratch: Scratch, rule: MalleableRule
) -> None:
    """Expand the job that is least above its base as far as possible, then the next one.

    With preferred nodes as the base, a job below them grows to them first.
    """
    while state.engine.free:
        chosen, nearest = -1, np.inf
        for at in range(resizing.ledger.malleable_running):
            job = resizing.running[at]
            if not _may_grow(jobs, state, resizing, scratch, job):
                continue
            if not _may_change(state, resizing, job):
                continue
            above = _measure(jobs, job, resizing.job[job].target, rule.measure)
            if above < nearest or (above == nearest and job < chosen):
                chosen, nearest = job, above
        if chosen < 0:
            return
        limit = resizing.job[chosen].target + state.engine.free
        if nearest < 0:
            next_size = _larger_size(jobs, chosen, resizing.job[chosen].target)
            limit = min(limit, max(jobs.nodes[chosen], next_size))
        size = largest_size(jobs, chosen, limit)
        resize(jobs, state, resizing, chosen, size, 0)
        _note(scratch, chosen, size, FOR_NOBODY)


@inner_kernel
def expand_level(
    jobs: PackedJobs, state: State, resizing: Resizing, scratch: Scratch, rule: MalleableRule
) -> None:
    """Expand the job that is least above its base by one step, and repeat."""
    free, count, touched = state.engine.free, 0, 0
    if not free:
        return
    for at in range(resizing.ledger.malleable_running):
        job = resizing.running[at]
        if _may_grow(jobs, state, resizing, scratch, job) and _may_change(state, resizing, job):
            size = resizing.job[job].target
            scratch.level[job] = size
            key = _measure(jobs, job, size, rule.measure)
            raise_up(scratch.heap, scratch.places, BY_ITEM, count, key, job)
            count += 1
    while free and count:
        job = scratch.heap[0].item
        size = scratch.level[job]
        stays = size >= jobs.max_nodes[job]
        if not stays:
            larger = _larger_size(jobs, job, size)
            stays = larger - size > free
        if stays:
            count -= 1
            job, key = scratch.heap[count].item, scratch.heap[count].time
        else:
            if size == resizing.job[job].target:
                scratch.touched[touched] = job
                touched += 1
            scratch.level[job] = larger
            free -= larger - size
            key = _measure(jobs, job, larger, rule.measure)
        lower(scratch.heap, scratch.places, BY_ITEM, count, 0, key, job)
    for at in range(touched):
        job = scratch.touched[at]
        resize(jobs, state, resizing, job, scratch.level[job], 0)
        _note(scratch, job, scratch.level[job], FOR_NOBODY)


@inner_kernel
def _one_call(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    estimates: Estimates,
    scratch: Scratch,
    rule: MalleableRule,
    memory: Blocked,
) -> None:
    """Make the decisions of one call: queued jobs start, running jobs shrink for others, or grow."""
    before = state.engine.started
    one_pass(jobs, state, estimates, rule.queue, memory, state.engine.tail - state.engine.submitted)
    for at in range(before, state.engine.started):
        _note(scratch, state.started[at], state.job[state.started[at]].size, STARTED_NOW)
    take_in(jobs, state, resizing)
    if state.engine.head < state.engine.tail and resizing.ledger.malleable_running:
        shrink_for_queue(jobs, state, resizing, scratch, rule)
    if rule.measure in (ABOVE_MIN, ABOVE_PREFERRED):
        expand_one_by_one(jobs, state, resizing, scratch, rule)
    else:
        expand_level(jobs, state, resizing, scratch, rule)


@kernel
def run_malleable(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    estimates: Estimates,
    scratch: Scratch,
    rule: MalleableRule,
    memory: Blocked,
    coalesce: bool,
) -> bool:
    """Run a workload to its end under a policy; return False if the log of changes has to grow first."""
    while has_room(state, resizing):
        if not advance(state, np.inf, coalesce, jobs, resizing):
            return True
        _one_call(jobs, state, resizing, estimates, scratch, rule, memory)
    return False


@kernel
def decide_malleable(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    estimates: Estimates,
    scratch: Scratch,
    rule: MalleableRule,
    memory: Blocked,
    running: IntArray,
    expected_ends: FloatArray,
) -> None:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs."""
    take_running(jobs, state, resizing, running, expected_ends)
    _one_call(jobs, state, resizing, estimates, scratch, rule, memory)


#: A decision of a policy that resizes jobs.
ResizeDecision: TypeAlias = Start | Resize | Promise


def _rule(
    measure: int,
    start_size: int = MIN_SIZE,
    *,
    needs_preferred: bool = False,
    keeps_preferred: bool = False,
    relaxes: bool = False,
) -> MalleableRule:
    queue = queue_rule(FIRST_FIT)._replace(moldable=start_size)
    return MalleableRule(queue, measure, needs_preferred, keeps_preferred, relaxes)


@dataclass(frozen=True, slots=True)
class _Malleable(ResizingSolver):
    """The base of the four policies; each of them adds its rule, see `MalleableMin`."""

    #: What the loop of events takes.
    malleable_rule: ClassVar[MalleableRule]
    #: Of a machine with malleable jobs: a policy that moves nodes one by one takes seconds for more.
    most_nodes: ClassVar[int] = MAX_INTEGER
    answers = False

    def decide(self, view: QueueView) -> tuple[ResizeDecision, ...]:
        """Return the decisions on a view; this method is a policy for `allocsolve.simulation.run_policy`."""
        self._check(view.num_nodes, view.jobs.kind)
        return decide_resizes(view, self.malleable_rule)

    def _check(self, num_nodes: int, kind: IntArray) -> None:
        if num_nodes > self.most_nodes and (kind == MALLEABLE).any():
            msg = f"{num_nodes} nodes: this policy moves them one by one, and takes at most {self.most_nodes}"
            raise UnsupportedProblem(msg)

    def run(self, problem: WorkloadProblem, rules: EngineRules) -> tuple[State, Resizing]:
        """Run a workload to its end; return the states of the engine."""
        self._check(problem.num_nodes, problem.packed.kind)
        scratch = initial_scratch(len(problem.jobs), room=0)
        estimates, memory = (
            initial_estimates(problem.packed.estimate),
            nothing_blocked(usable=False),
        )
        fixed = estimates, scratch, self.malleable_rule, memory, rules.coalesce
        return run_to_end(
            problem,
            lambda jobs, state, resizing: run_malleable(jobs, state, resizing, *fixed),
            ordered=False,
        )


@dataclass(frozen=True, slots=True)
class MalleableMin(_Malleable):
    """Jobs start on their fewest nodes; the largest surplus above them is given up first.

    At every call: queued jobs start by backfilling, each on its fewest nodes. For each job that still waits,
    in the order of the queue, running malleable jobs shrink if together they can give up what it needs, its
    fewest nodes: first the one that has the most nodes above its fewest, as far as needed and possible; then
    the job is promised these nodes. What is free after that goes to running malleable jobs, first to the one
    that has the fewest nodes above its fewest ones, as many as it takes. Of equal ones the first submitted
    (by index) comes first. Rigid jobs start and wait as others do; moldable ones choose at their start only.

    Notes
    -----
    *Complexity*: O(running jobs) for each call and for each job that changes its size. *Guarantee*: feasible;
    without malleable jobs the schedule of first fit, or of EASY, with `moldable` ``min``.
    *References*: Zojer, Posner & Oezden, MalleableJobScheduling, 2023; Zojer 2025. Where they leave a step
    open, the defaults are those under which the published mean turnaround of Cori KNL comes out (1,695 s).

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(4, [Job(0, 2, 100, **job), Job(52, 2, 100, **job)])
    >>> schedule = MalleableMin()(problem, Budget()).answer
    >>> [(start, nodes) for start, _, nodes in schedule.pieces(0)], schedule.first_starts.tolist()
    ([(0.0, 1), (20.0, 4), (55.0, 3)], [0.0, 55.0])
    """

    malleable_rule = _rule(ABOVE_MIN)


@dataclass(frozen=True, slots=True)
class MalleableAverage(_Malleable):
    """Jobs start on their fewest nodes; running ones shrink and grow together, by the share of their range.

    As `MalleableMin`, but nodes are given up one by one, always by the job that is highest in its range, and
    taken one by one, always by the job that is lowest. `UnsupportedProblem` on more than 2^24 nodes.

    Notes
    -----
    *Complexity*: O(running jobs) for each call, O(log running jobs) for each node that moves.
    *Guarantee*: as of `MalleableMin`. *References*: as of `MalleableMin`.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(6, [Job(0, 2, 100, **job), Job(0, 2, 100, **job)])
    >>> [piece[2] for piece in MalleableAverage()(problem, Budget()).answer.pieces(0)]
    [1, 3]
    """

    malleable_rule = _rule(SHARE_ABOVE_MIN)
    most_nodes = 2**24


@dataclass(frozen=True, slots=True)
class MalleablePref(_Malleable):
    """Jobs start on their preferred nodes, or fewer; those that have most above them give up nodes first.

    As `MalleableMin`, but a job starts on as many nodes as are free, its preferred ones at most. For a
    waiting job running jobs give up its preferred nodes and keep their own preferred ones; if they cannot,
    its fewest nodes; if they still cannot, they give up all but their own fewest. First come those with the
    most nodes above their preferred ones. Jobs grow to their preferred nodes before others grow beyond them.

    Notes
    -----
    *Complexity*: as of `MalleableMin`. *Guarantee*: feasible; on rigid jobs that of first fit, or of EASY.
    *References*: as of `MalleableMin`.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(4, [Job(0, 2, 100, **job), Job(60, 2, 100, **job)])
    >>> [piece[2] for piece in MalleablePref()(problem, Budget()).answer.pieces(1)]
    [2, 4]
    """

    malleable_rule = _rule(
        ABOVE_PREFERRED, PREFERRED_SIZE, needs_preferred=True, keeps_preferred=True, relaxes=True
    )


@dataclass(frozen=True, slots=True)
class MalleablePrefkeeper(_Malleable):
    """As `MalleablePref`, but no running job ever gives up its preferred nodes.

    A job starts on as many nodes as are free, its preferred ones at most. For a waiting job running jobs give
    up what they have above their preferred nodes.

    Notes
    -----
    *Complexity*: as of `MalleableMin`. *Guarantee*: feasible; on rigid jobs that of first fit, or of EASY.
    *References*: as of `MalleableMin`.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(1), "kind": "malleable", "points": 10}
    >>> problem = WorkloadProblem(4, [Job(0, 2, 100, **job), Job(60, 2, 100, **job)])
    >>> schedule = MalleablePrefkeeper()(problem, Budget()).answer
    >>> [piece[2] for piece in schedule.pieces(0)], schedule.pieces(1)[0][2]
    ([2, 4], 2)
    """

    malleable_rule = _rule(ABOVE_PREFERRED, PREFERRED_SIZE, keeps_preferred=True)


def decide_resizes(view: QueueView, rule: MalleableRule) -> tuple[ResizeDecision, ...]:
    """Return what a policy decides on a view. O(running + queue), and the cost of the policy."""
    view, listed = renumbered(view)
    room = 4 * len(listed) + 64  # enough for most calls; a call that needs more is repeated
    while True:
        scratch = initial_scratch(len(listed), room)
        state = _state_after(view, rule, scratch)
        room = int(scratch.decided[0])
        if room <= len(scratch.decisions):
            return tuple(_decisions(state, scratch.decisions[:room], listed))


def _state_after(view: QueueView, rule: MalleableRule, scratch: Scratch) -> State:
    """Return the state after one call on a view."""
    state, columns, memory = state_of_view(view, resizable=True), view.jobs, nothing_blocked(usable=False)
    estimates, resizing = (
        initial_estimates(columns.estimate),
        resizing_of_view(view),
    )
    which = packed_jobs(columns), state, resizing, estimates, scratch, rule, memory
    decide_malleable(*which, view.running, view.expected_ends)
    return state


def _decisions(state: State, decisions: IntArray, listed: IntArray) -> Iterator[ResizeDecision]:
    for job, nodes, other in decisions.tolist():
        if other == STARTED_NOW:
            yield start_of(state, job, listed, nodes)
        elif other == PROMISED_NODES:
            yield Promise(int(listed[job]), nodes)
        else:
            yield Resize(int(listed[job]), nodes, None if other == FOR_NOBODY else int(listed[other]))
