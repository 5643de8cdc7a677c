"""Lina's three algorithms: running jobs shrink for requests and waiting jobs, and grow into free nodes.

The module holds the choice of victims (jobs that give up nodes), the four steps of a call (answer requests,
start queued jobs, shrink for waiting jobs, grow), the loop over a whole workload, and the solvers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import records
from allocsolve.model.evolving import PROFILE, REACTIVE
from allocsolve.model.job_kinds import MALLEABLE
from allocsolve.model.options import Within
from allocsolve.simulation.compiled import ResizingSolver, run_to_end
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance,
    answer,
    begin,
    has_room,
    largest_size,
    leave_queue,
    promise,
    resize,
    run_time,
    start_promised,
    take_in,
    time_ratio,
    work_left,
)

if TYPE_CHECKING:
    from allocsolve.kernels.records import Records
    from allocsolve.model import FloatArray, IntArray, PackedJobs, WorkloadProblem
    from allocsolve.simulation import EngineRules

#: Codes of `LinaRule.candidates`: their places in `ShrinkCandidates` of
#: `allocsolve.heuristics.workload.lina`.
_APPLICATION: Final = 1
_SYSTEM_PRINTED: Final = 2
_SYSTEM_TEXT: Final = 3

#: Codes of `LinaRule.victims`: their places in `VictimOrder`. Any other code stands for the last one,
#: ``remaining``.
_RANDOM: Final = 0
_GAIN: Final = 1
_SHRINKABLE: Final = 2
_EXPANSIONS: Final = 3
_COST: Final = 4

#: Places in `Candidates.counts`: the call for which candidates are gathered, their number, the nodes that
#: they can give up together, and the number of started jobs that have been examined.
_CALL: Final = 0
_COUNT: Final = 1
_SPARE: Final = 2
_SEEN: Final = 3

#: The constants of SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA
#: 2014).
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR: Final = np.uint64(0x94D049BB133111EB)
#: Bits of half a random word, of which a key takes the upper half and a tie the lower one.
_HALF: Final = np.uint64(32)


class LinaRule(NamedTuple):
    """The options of the policy for kernels, see `allocsolve.heuristics.Lina`."""

    candidates: int
    victims: int
    seed: int
    soon: float
    utilisation: float
    #: The share of its work beyond which a job cannot be a victim; infinite for no limit.
    done: float
    #: Nodes of the cluster.
    num_nodes: int
    #: Whether nodes may become free later than they are given up: then no job shrinks for a request, which
    #: would have to wait.
    gives_later: bool


class Candidates(NamedTuple):
    """The jobs that can be victims in a call, and the history of all jobs."""

    #: Shape (4,), see `_CALL` and the constants after it.
    counts: IntArray
    #: Shape (jobs,): the candidates in no order, their keys, and second keys that decide among equal ones.
    jobs: IntArray
    keys: FloatArray
    ties: FloatArray
    #: By job: nodes gained in expansions less nodes given up, expansions, and the call in which it last
    #: shrank.
    gain: IntArray
    expansions: IntArray
    shrunk: IntArray


def initial_candidates(count: int) -> Candidates:
    """Return the candidates before the first call, for `count` jobs."""

    def numbers(value: int = 0) -> IntArray:
        return np.full(count, value, dtype=np.int64)

    return Candidates(
        counts=np.array([-1, 0, 0, 0]),
        jobs=numbers(),
        keys=np.zeros(count),
        ties=np.zeros(count),
        gain=numbers(),
        expansions=numbers(),
        shrunk=numbers(-1),
    )


@inner_kernel
def was_shrunk(resizing: Resizing, candidates: Candidates, job: int) -> bool:
    """Return whether a job is a victim of this call."""
    return bool(candidates.shrunk[job] == resizing.ledger.calls)


@inner_kernel
def note_growth(candidates: Candidates, job: int, nodes: int) -> None:
    """Note that a job grows by `nodes` nodes."""
    candidates.gain[job] += nodes
    candidates.expansions[job] += 1


@inner_kernel
def _add(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, done: float, job: int
) -> None:
    """Add a running malleable job without a pending change to the candidates, if it can give up nodes."""
    spare = resizing.job[job].target - jobs.min_nodes[job]
    if spare > 0 and 1 - work_left(state, resizing, job) / jobs.runtime[job] < done:
        candidates.jobs[candidates.counts[_COUNT]] = job
        candidates.counts[_COUNT] += 1
        candidates.counts[_SPARE] += spare


@inner_kernel
def _gather(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, rule: LinaRule
) -> None:
    """Gather the candidates of this call, at its first use; later add jobs that started since then."""
    counts = candidates.counts
    if counts[_CALL] != resizing.ledger.calls:
        counts[_CALL], counts[_COUNT], counts[_SPARE] = resizing.ledger.calls, 0, 0
        counts[_SEEN] = state.engine.started
        for at in range(resizing.ledger.malleable_running):
            job = resizing.running[at]
            pending = resizing.job[job].target != state.job[job].size
            if not pending:
                _add(jobs, state, resizing, candidates, rule.done, job)
    for at in range(counts[_SEEN], state.engine.started):
        job = state.started[at]
        if jobs.kind[job] == MALLEABLE:
            _add(jobs, state, resizing, candidates, rule.done, job)
    counts[_SEEN] = state.engine.started


@inner_kernel
def _is_forbidden(state: State, rule: LinaRule) -> bool:
    """Return whether the algorithm forbids all shrinks in the present state."""
    soon = state.engine.running > 0 and state.ends[0].time - state.engine.clock <= rule.soon
    loaded = rule.num_nodes - state.engine.free > rule.utilisation * rule.num_nodes
    if rule.candidates == _APPLICATION:
        return bool(soon)
    if rule.candidates == _SYSTEM_PRINTED:
        return bool(loaded and soon)
    return bool(rule.candidates == _SYSTEM_TEXT and loaded)


@inner_kernel
def _mixed(bits: np.uint64) -> np.uint64:
    """Return 64 random bits (SplitMix64)."""
    bits = bits + _STEP
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST_FACTOR
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND_FACTOR
    return bits ^ (bits >> np.uint64(31))


@inner_kernel
def _set_key(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    candidates: Candidates,
    rule: LinaRule,
    at: int,
    asking: int,
) -> None:
    """Set the keys of a candidate in the order of victims."""
    job = candidates.jobs[at]
    size = resizing.job[job].target
    tie = 0.0
    if rule.victims == _RANDOM:
        bits = _mixed(_mixed(_mixed(np.uint64(rule.seed)) + np.uint64(asking)) + np.uint64(job))
        key, tie = float(bits >> _HALF), float(bits & np.uint64(0xFFFFFFFF))
    elif rule.victims == _GAIN:
        key = -float(candidates.gain[job])
    elif rule.victims == _SHRINKABLE:
        key, tie = -float(size - jobs.min_nodes[job]), -float(size)
    elif rule.victims == _EXPANSIONS:
        key = -float(candidates.expansions[job])
    elif rule.victims == _COST:
        floor, elastic = jobs.min_nodes[job], resizing.job[job]
        key = elastic.stall_fixed + elastic.stall_per_node * (size - floor)
        key += elastic.stall_shared / (size + floor)
    else:
        key = state.job[job].end
    candidates.keys[at], candidates.ties[at] = key, tie


@inner_kernel
def _comes_first(candidates: Candidates, at: int, other: int) -> bool:
    """Return whether the candidate at the place `at` is shrunk before the one at the place `other`."""
    keys, ties = candidates.keys, candidates.ties
    if keys[at] != keys[other]:
        return bool(keys[at] < keys[other])
    if ties[at] != ties[other]:
        return bool(ties[at] < ties[other])
    return bool(candidates.jobs[at] < candidates.jobs[other])


@inner_kernel
def shrink_for(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    candidates: Candidates,
    rule: LinaRule,
    asking: int,
    lack: int,
    promised: bool,
) -> bool:
    """Let victims give up `lack` nodes for the job `asking`; return whether they can.

    The nodes are promised to the job, or become free. O(running jobs) for the first time in a call; after
    that O(1) if the victims cannot, else O(candidates) for each victim.
    """
    if lack == 0:
        return True
    _gather(jobs, state, resizing, candidates, rule)
    counts = candidates.counts
    if counts[_SPARE] < lack or _is_forbidden(state, rule):
        return False
    for at in range(counts[_COUNT]):
        _set_key(jobs, state, resizing, candidates, rule, at, asking)
    while lack > 0:
        first = 0
        for at in range(1, counts[_COUNT]):
            if _comes_first(candidates, at, first):
                first = at
        job = candidates.jobs[first]
        held, floor = resizing.job[job].target, jobs.min_nodes[job]
        size = largest_size(jobs, job, max(floor, held - lack))
        given = held - size
        candidates.gain[job] -= given
        candidates.shrunk[job] = resizing.ledger.calls
        counts[_SPARE] -= given
        resize(jobs, state, resizing, job, size, min(lack, given) if promised else 0)
        lack -= given
        if size == floor:
            last = counts[_COUNT] - 1
            counts[_COUNT] = last
            candidates.jobs[first] = candidates.jobs[last]
            candidates.keys[first], candidates.ties[first] = candidates.keys[last], candidates.ties[last]
    return True


class Growing(NamedTuple):
    """A heap of the jobs that may grow, by the time left. Shape (jobs,); places are empty, as not needed."""

    heap: Records[Entry]
    places: IntArray


@inner_kernel
def _answer_requests(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, rule: LinaRule
) -> None:
    """Grant requests in the order in which they were made, from free nodes or victims, or refuse them."""
    while resizing.ledger.requests:
        job, free = resizing.requests[0], state.engine.free
        more = resizing.job[job].request - state.job[job].size
        granted = more <= free
        if not granted and not rule.gives_later:
            granted = shrink_for(jobs, state, resizing, candidates, rule, job, more, False)
        answer(jobs, state, resizing, job, granted)


@inner_kernel
def _start_queued(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Start the jobs that fit, in the order of the queue."""
    now, engine, at = state.engine.clock, state.engine, state.engine.head
    blocked = -1
    while at < engine.tail and engine.free:
        job = state.queue[at]
        at += 1
        nodes = jobs.nodes[job]
        if nodes <= engine.free:
            limit = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
            leave_queue(state, at - 1)
            why = AT_HEAD if blocked < 0 else BACKFILLED
            begin(state, job, nodes, run_time(jobs, job, nodes), limit, now + limit, why, blocked)
        elif blocked < 0:
            blocked = job
    take_in(jobs, state, resizing)


@inner_kernel
def _shrink_for_queue(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, rule: LinaRule
) -> None:
    """Promise queued jobs, in their order, the nodes that victims give up for them."""
    at = state.engine.head
    while at < state.engine.tail:
        job = state.queue[at]
        need = jobs.min_nodes[job] if jobs.kind[job] == MALLEABLE else jobs.nodes[job]
        if shrink_for(jobs, state, resizing, candidates, rule, job, need, True):
            leave_queue(state, at)
            promise(state, resizing, job, need, 0)
            start_promised(jobs, state, resizing)
        at += 1


@inner_kernel
def _grow(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, growing: Growing
) -> None:
    """Let malleable jobs that were not victims in this call grow, the longest time left first."""
    if not state.engine.free:
        return
    heap, places, count = growing.heap, growing.places, 0
    for at in range(resizing.ledger.malleable_running):
        job = resizing.running[at]
        pending = resizing.job[job].target != state.job[job].size
        if pending or resizing.job[job].target == jobs.max_nodes[job]:
            continue
        if not was_shrunk(resizing, candidates, job):
            raise_up(heap, places, BY_ITEM, count, -state.job[job].end, job)
            count += 1
    while count and state.engine.free:
        job = heap[0].item
        count -= 1
        lower(heap, places, BY_ITEM, count, 0, heap[count].time, heap[count].item)
        before = resizing.job[job].target
        size = largest_size(jobs, job, before + state.engine.free)
        if size > before:
            note_growth(candidates, job, size - before)
            resize(jobs, state, resizing, job, size, 0)


@kernel
def run_lina(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    candidates: Candidates,
    rule: LinaRule,
    growing: Growing,
    coalesce: bool,
) -> bool:
    """Run a workload to its end under the policy; return False if the log of changes has to grow first."""
    while has_room(state, resizing):
        if not advance(state, np.inf, coalesce, jobs, resizing):
            return True
        _answer_requests(jobs, state, resizing, candidates, rule)
        _start_queued(jobs, state, resizing)
        _shrink_for_queue(jobs, state, resizing, candidates, rule)
        _grow(jobs, state, resizing, candidates, growing)
    return False


#: When running jobs may be shrunk at all, see `Lina`.
ShrinkCandidates: TypeAlias = Literal["default", "application", "system-printed", "system-text"]

#: Which job is shrunk first, see `Lina`.
VictimOrder: TypeAlias = Literal["random", "gain", "shrinkable", "expansions", "cost", "remaining"]

#: The values of the options that are words, in the order of their codes in kernels.
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "candidates": get_args(ShrinkCandidates),
    "victims": get_args(VictimOrder),
}


@dataclass(frozen=True, slots=True)
class Lina(ResizingSolver):
    """Running malleable jobs shrink for requests and for waiting jobs, after Lina, Ghafoor & Hines.

    At every call:

    1. Each request of an evolving job, in the order made: it is granted if enough nodes are free. Else
       victims give all of them; if they cannot, it is refused, for good.
    2. Queued jobs that fit start on their own nodes (`Job.nodes`), in the order of the queue.
    3. For each job that still waits, in that order, victims give all the nodes that it needs: its fewest ones
       if it is malleable, else its own. It starts on them. If they cannot, the next job is tried.
    4. Running malleable jobs that were no victims in this call grow to their most nodes while nodes are free,
       the one with the longest time left first.

    Victims are running malleable jobs on more than their fewest nodes. Unless together they have enough to
    give, none is shrunk. Each gives what it can, the last one only the rest. Of equal ones the first by index
    comes first.

    `InvalidOption, UnknownName` if an option is not as said; when it runs, if a job has phases or a profile
    (`Phases`, `Profile`).

    Parameters
    ----------
    candidates
        Which algorithm. ``default``: all may be victims. ``application``: nobody is shrunk if some running
        job ends within `soon` seconds at its present size, and jobs with a share `done` of their work done
        are no victims. ``system-printed``: nobody is shrunk if more than `utilisation` of the nodes are not
        free and some job ends so soon. ``system-text``: nobody is if more than that are not free.
    victims
        Who is shrunk first. ``random``: by 64 random bits for each pair of jobs (SplitMix64). ``gain``: the
        most nodes gained in expansions, less those given up. ``shrinkable``: the most nodes above its fewest;
        of these the largest. ``expansions``: the most expansions. ``cost``: the shortest stall if it shrinks
        to its fewest nodes. ``remaining``: the first to end.
    seed
        Of ``victims="random"``, below 2^63.
    soon
        Seconds.
    utilisation
        A share of the nodes.
    done
        A share of the work of a job; infinite for no such limit. Of ``candidates="application"`` only.

    Notes
    -----
    With ``candidates="system-printed"`` the paper's listing is followed: a shrink is forbidden only if the
    cluster is loaded *and* a job ends soon. The text of the paper says what ``system-text`` does. Nothing in
    the paper says what a job that has a `done` share of its work is left for.

    Where nodes come free only later than they are given up, as victims hold them while they stall
    (`Stall.holds`) or change their sizes at points only (`Job.points`), the job for which they are has the
    promise of them: it starts when they are there, first come, first served. Requests are granted from free
    nodes only then. Moldable jobs start on their own nodes.

    *Complexity*: O(running jobs + queue) for each call, O(running jobs) for each victim.
    *Guarantee*: feasible; every job ends. Nodes for a job in the queue are never shared out in part.
    *Reference*: Lina, Ghafoor & Hines, "Scheduling of elastic message passing applications on HPC systems",
    JSSPP 2022, section 4.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, Overhead, WorkloadProblem
    >>> elastic = {"kind": "malleable", "min_nodes": 2, "max_nodes": 8, "speedup": Overhead(0)}
    >>> problem = WorkloadProblem(8, [Job(0, 4, 100, **elastic), Job(10, 6, 30)])
    >>> schedule = Lina()(problem, Budget()).answer
    >>> [schedule.pieces(job) for job in (0, 1)]
    [((0.0, 10.0, 8), (10.0, 40.0, 2), (40.0, 72.5, 8)), ((10.0, 40.0, 6),)]
    """

    candidates: ShrinkCandidates = "default"
    victims: VictimOrder = "gain"
    seed: Annotated[int, Within(0, 2**63 - 1)] = 0
    soon: Annotated[float, Within(0, infinite=True)] = 5.0
    utilisation: Annotated[float, Within(0, infinite=True)] = 0.8
    done: Annotated[float, Within(0, infinite=True)] = np.inf

    def run(self, problem: WorkloadProblem, rules: EngineRules) -> tuple[State, Resizing]:
        """Run a workload to its end; return the states of the engine."""
        plan = problem.jobs.evolving
        others = (plan.reading == REACTIVE) | (plan.reading == PROFILE)
        problem.jobs.refuse(others, "has phases or a profile: this policy answers jobs with requests only")
        count, rule = len(problem.jobs), self._rule(problem)
        candidates = initial_candidates(count)
        growing = Growing(records(Entry, count), np.zeros(0, dtype=np.int64))
        return run_to_end(
            problem,
            lambda jobs, state, resizing: run_lina(
                jobs, state, resizing, candidates, rule, growing, rules.coalesce
            ),
            ordered=False,
        )

    def _rule(self, problem: WorkloadProblem) -> LinaRule:
        """Return the options for kernels."""
        later = problem.jobs.evolving.holds_larger.any() or problem.packed.points.any()
        return LinaRule(
            candidates=_CHOICES["candidates"].index(self.candidates),
            victims=_CHOICES["victims"].index(self.victims),
            seed=self.seed,
            soon=float(self.soon),
            utilisation=float(self.utilisation),
            done=float(self.done) if self.candidates == "application" else np.inf,
            num_nodes=problem.num_nodes,
            gives_later=bool(later),
        )
