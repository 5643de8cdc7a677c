"""Running jobs get nodes for which they ask, queued ones start, others shrink for them, and grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import reservation
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import records
from allocsolve.model.job_kinds import MALLEABLE
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance_resizing,
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
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = [
    "Candidates",
    "Growing",
    "LinaRule",
    "initial_candidates",
    "initial_growing",
    "note_growth",
    "run_lina",
    "shrink_for",
    "was_shrunk",
]

#: Codes of `LinaRule.candidates`: the places of the words in `allocsolve.heuristics.workload.lina`.
_APPLICATION: Final = 1
_SYSTEM_PRINTED: Final = 2
_SYSTEM_TEXT: Final = 3

#: Codes of `LinaRule.victims`; the last one, by the time left, is what remains.
_RANDOM: Final = 0
_GAIN: Final = 1
_SHRINKABLE: Final = 2
_EXPANSIONS: Final = 3
_COST: Final = 4

#: Places in `Candidates.counts`: the call for which they are gathered; how many; what they can give up in
#: all; how many started jobs have been looked at.
_CALL: Final = 0
_COUNT: Final = 1
_SPARE: Final = 2
_SEEN: Final = 3

#: Of SplitMix64 (Steele, Lea & Flood 2014).
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR: Final = np.uint64(0x94D049BB133111EB)
_HALF: Final = np.uint64(32)


class LinaRule(NamedTuple):
    """What the policy does, as kernels take it; see `allocsolve.heuristics.Lina`."""

    candidates: int
    victims: int
    seed: int
    soon: float
    utilisation: float
    #: Infinite if all may be victims, however far.
    done: float
    easy: bool
    combine: bool
    fresh: bool
    starts_below: bool
    #: Whether jobs grow only if the queue is empty.
    queue_first: bool
    #: Nodes of the cluster.
    num_nodes: int
    #: Whether nodes may come free later than they were given up: requests do not wait for them.
    gives_later: bool


class Candidates(NamedTuple):
    """The jobs that can be victims in a call, and what is remembered of jobs."""

    #: Shape (4,), see `_CALL` and the constants after it.
    counts: IntArray
    #: Shape (jobs,): the candidates, not in order; the keys of their order, and those of equal keys.
    jobs: IntArray
    keys: FloatArray
    ties: FloatArray
    #: By job: nodes gained in expansions less those given up; expansions; the call in which it last shrank.
    gain: IntArray
    expansions: IntArray
    shrunk: IntArray


def initial_candidates(count: int) -> Candidates:
    """Return what is known of so many jobs before the first call."""

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
    """Note that a job grows by so many nodes."""
    candidates.gain[job] += nodes
    candidates.expansions[job] += 1


@inner_kernel
def _add(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, done: float, job: int
) -> None:
    """Add a running malleable job, of which no change is pending, unless it has nothing to give."""
    spare = resizing.job[job].target - jobs.min_nodes[job]
    if spare > 0 and 1 - work_left(state, resizing, job) / jobs.runtime[job] < done:
        candidates.jobs[candidates.counts[_COUNT]] = job
        candidates.counts[_COUNT] += 1
        candidates.counts[_SPARE] += spare


@inner_kernel
def _gather(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, rule: LinaRule
) -> None:
    """Gather the candidates of this call, and those that started since the last look."""
    counts = candidates.counts
    if counts[_CALL] != resizing.ledger.calls:
        counts[_CALL], counts[_COUNT], counts[_SPARE] = resizing.ledger.calls, 0, 0
        counts[_SEEN] = state.engine.started
        for at in range(resizing.ledger.malleable_running):
            job = resizing.running[at]
            pending = resizing.job[job].target != state.job[job].size
            if not pending and (rule.fresh or state.job[job].start != state.engine.clock):
                _add(jobs, state, resizing, candidates, rule.done, job)
    for at in range(counts[_SEEN], state.engine.started):
        job = state.started[at]
        if rule.fresh and jobs.kind[job] == MALLEABLE:
            _add(jobs, state, resizing, candidates, rule.done, job)
    counts[_SEEN] = state.engine.started


@inner_kernel
def _is_forbidden(state: State, rule: LinaRule) -> bool:
    """Return whether the algorithm lets nobody be shrunk as things are."""
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
    """Set where a candidate stands in the order of victims."""
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
        least, elastic = jobs.min_nodes[job], resizing.job[job]
        key = elastic.stall_fixed + elastic.stall_per_node * (size - least)
        key += elastic.stall_shared / (size + least)
    else:
        key = state.job[job].end
    candidates.keys[at], candidates.ties[at] = key, tie


@inner_kernel
def _comes_first(candidates: Candidates, at: int, other: int) -> bool:
    """Return whether the candidate at one place is shrunk before that at another one."""
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
    """Let victims give up so many nodes for a job, promised to it or free; return whether they can.

    O(1) if they cannot, but for the first time in a call; else O(candidates) for each victim.
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
        held, least = resizing.job[job].target, jobs.min_nodes[job]
        size = largest_size(jobs, job, max(least, held - lack))
        given = held - size
        candidates.gain[job] -= given
        candidates.shrunk[job] = resizing.ledger.calls
        counts[_SPARE] -= given
        resize(jobs, state, resizing, job, size, min(lack, given) if promised else 0)
        lack -= given
        if size == least:
            last = counts[_COUNT] - 1
            counts[_COUNT] = last
            candidates.jobs[first] = candidates.jobs[last]
            candidates.keys[first], candidates.ties[first] = candidates.keys[last], candidates.ties[last]
    return True


class Growing(NamedTuple):
    """Room for the jobs that may grow: a heap by the time left. Shape (jobs,), but there are no places."""

    heap: Records[Entry]
    places: IntArray


def initial_growing(count: int) -> Growing:
    """Return the room for so many jobs."""
    return Growing(records(Entry, count), np.zeros(0, dtype=np.int64))


@inner_kernel
def _answer_requests(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, rule: LinaRule
) -> None:
    """Grant requests, in the order made, from free nodes or from victims; or refuse them."""
    while resizing.ledger.requests:
        job, free = resizing.requests[0], state.engine.free
        more = resizing.job[job].request - state.job[job].size
        granted = more <= free
        if not granted and not rule.gives_later:
            lack = more - free if rule.combine else more
            granted = shrink_for(jobs, state, resizing, candidates, rule, job, lack, False)
        answer(jobs, state, resizing, job, granted)


@inner_kernel
def _start_size(jobs: PackedJobs, state: State, rule: LinaRule, job: int) -> int:
    """Return the nodes on which a job starts now if it may; 0 if there are too few."""
    free = state.engine.free
    if jobs.nodes[job] <= free:
        return int(jobs.nodes[job])
    below = rule.starts_below and jobs.kind[job] == MALLEABLE
    return int(largest_size(jobs, job, free)) if below else 0


@inner_kernel
def _start_queued(jobs: PackedJobs, state: State, resizing: Resizing, rule: LinaRule) -> None:
    """Start jobs in the order of the queue; with EASY only those that do not delay the first that waits."""
    now, engine, at = state.engine.clock, state.engine, state.engine.head
    blocked, shadow_time, extra = -1, np.inf, engine.free
    while at < engine.tail and engine.free:
        job = state.queue[at]
        at += 1
        nodes = _start_size(jobs, state, rule, job)
        if nodes:
            limit = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
            if now + limit > shadow_time:
                if nodes > extra:
                    continue
                extra -= nodes
            leave_queue(state, at - 1)
            why = AT_HEAD if blocked < 0 else BACKFILLED
            begin(state, job, nodes, run_time(jobs, job, nodes), limit, now + limit, why, blocked)
        elif blocked < 0:
            blocked = job
            if rule.easy:
                shadow_time, extra = reservation(state, jobs.nodes[job])
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
        from_free = min(need, state.engine.free) if rule.combine else 0
        if shrink_for(jobs, state, resizing, candidates, rule, job, need - from_free, True):
            leave_queue(state, at)
            promise(state, resizing, job, need, from_free)
            start_promised(jobs, state, resizing)
        at += 1


@inner_kernel
def _grow(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    candidates: Candidates,
    rule: LinaRule,
    growing: Growing,
) -> None:
    """Let malleable jobs that were no victims in this call grow: the one with the longest time left first."""
    if not state.engine.free:
        return
    heap, places, count = growing.heap, growing.places, 0
    for at in range(resizing.ledger.malleable_running):
        job = resizing.running[at]
        pending = resizing.job[job].target != state.job[job].size
        old_enough = rule.fresh or state.job[job].start != state.engine.clock
        if pending or not old_enough or resizing.job[job].target == jobs.max_nodes[job]:
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
    """Run a workload to its end under the policy; False if the log of changes has to grow first."""
    while has_room(state, resizing):
        if not advance_resizing(jobs, state, resizing, np.inf, coalesce):
            return True
        _answer_requests(jobs, state, resizing, candidates, rule)
        _start_queued(jobs, state, resizing, rule)
        _shrink_for_queue(jobs, state, resizing, candidates, rule)
        if not rule.queue_first or state.engine.head == state.engine.tail:
            _grow(jobs, state, resizing, candidates, rule, growing)
    return False
