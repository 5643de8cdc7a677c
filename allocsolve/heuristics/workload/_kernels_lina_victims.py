"""Running malleable jobs that give up nodes: whether they may, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model.job_kinds import MALLEABLE
from allocsolve.simulation.kernels import Resizing, State, largest_size, resize, work_left

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = [
    "Candidates",
    "LinaRule",
    "initial_candidates",
    "note_growth",
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
