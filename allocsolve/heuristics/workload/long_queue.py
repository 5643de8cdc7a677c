"""First fit and EASY of rigid jobs where very many wait at once: a tree in place of a look at each job.

The decisions are those of `_kernels_queue`. The leaves of the tree are all jobs of the workload, split in
halves in turn by their nodes and their estimates; of the jobs that wait in it, a subtree knows the fewest
nodes, the least estimate and the first rank in the queue.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import (
    EASY,
    FIRST_AGING,
    ORDER_CODES,
    Blocked,
    Estimates,
    QueueRule,
    reservation,
    score_of,
    start,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.records import Record, records
from allocsolve.model.arrays import frozen
from allocsolve.simulation.kernels import State, advance

if TYPE_CHECKING:
    from allocsolve.kernels.records import Records
    from allocsolve.model import FloatArray, IntArray, PackedJobs

#: The fewest nodes and the first rank where no job waits.
NOBODY: Final = 2**62


class Least(Record):
    """The least numbers of the jobs that wait in a subtree; `NOBODY` and infinite if none does."""

    nodes: int
    estimate: float
    rank: int


class LongQueue(NamedTuple):
    """The queue as a tree. Its root is at 1, the children of the place p are at 2 p and 2 p + 1.

    The ranks of an order that changes with time have two rows: while no time has passed since the one instant
    of submission, and from then on.
    """

    tree: Records[Least]
    #: Shape (jobs,): the places of the leaves.
    leaf: IntArray
    #: Shape (rows, jobs): the ranks of all jobs in the queue, and the jobs by rank.
    rank: IntArray
    ranked: IntArray
    #: Shape (rows, jobs): by rank, the rank behind those jobs whose order among each other depends on how
    #: scores are rounded; rank + 1 for a job whose rank is certain.
    peers: IntArray
    #: Room for the subtrees that a search has still to see.
    stack: IntArray


@kernel
def score_all(
    jobs: PackedJobs, estimate: FloatArray, now: float, order: int, scores: FloatArray, divisors: FloatArray
) -> None:
    """Score all jobs at one time; under UNICEF with what their waits are divided by as well."""
    for job in range(len(scores)):
        scores[job] = score_of(jobs, job, estimate[job], now, order)
        divisors[job] = math.log2(float(jobs.nodes[job])) * estimate[job]


@inner_kernel
def _gather(tree: Records[Least], place: int) -> bool:
    """Set the least numbers of a subtree from those of its halves; return whether any has changed."""
    left, right, both = tree[2 * place], tree[2 * place + 1], tree[place]
    nodes, estimate = min(left.nodes, right.nodes), min(left.estimate, right.estimate)
    rank = min(left.rank, right.rank)
    changes = bool(nodes != both.nodes or estimate != both.estimate or rank != both.rank)
    both.nodes, both.estimate, both.rank = nodes, estimate, rank
    return changes


@inner_kernel
def _set(queue: LongQueue, job: int, nodes: int, estimate: float, rank: int) -> None:
    """Set what the tree knows of a job. O(log jobs)."""
    tree, place = queue.tree, queue.leaf[job]
    tree[place].nodes, tree[place].estimate, tree[place].rank = nodes, estimate, rank
    place >>= 1
    while place and _gather(tree, place):
        place >>= 1


@inner_kernel
def _rank_again(queue: LongQueue, row: int) -> None:
    """Give the jobs in the queue the ranks of another row. O(jobs)."""
    tree = queue.tree
    for job in range(len(queue.leaf)):
        place = queue.leaf[job]
        if tree[place].rank < NOBODY:
            tree[place].rank = queue.rank[row, job]
    for place in range(len(tree) // 2 - 1, 0, -1):
        _gather(tree, place)


@inner_kernel
def _may_start(
    nodes: int, estimate: float, free: int, now: float, shadow_time: float, extra: int, strict: bool
) -> bool:
    """Return whether a job of these nodes and this estimate fits, and delays no reservation."""
    end = now + estimate
    return nodes <= free and (nodes <= extra or end < shadow_time or (end == shadow_time and not strict))


@inner_kernel
def _first_to_start(
    queue: LongQueue, row: int, free: int, now: float, shadow_time: float, extra: int, strict: bool
) -> int:
    """Return the first rank of a job that may start, as far as ranks are certain; `NOBODY` if there is none.

    If no job may start, a subtree is searched only if some of its jobs are small enough and others short
    enough. Of two halves, which differ in one of the two, this is true of one at most (of two, where there
    are extra nodes), so O(log jobs) subtrees are seen. Else it is O(sqrt(jobs)) at worst, as in any search
    of a k-d tree (Bentley, Communications of the ACM 18(9), 1975).
    """
    tree, stack, first = queue.tree, queue.stack, NOBODY
    stack[0], waiting = 1, 1
    while waiting:
        waiting -= 1
        place = stack[waiting]
        least = tree[place]
        if least.rank >= first or not _may_start(
            least.nodes, least.estimate, free, now, shadow_time, extra, strict
        ):
            continue
        own = tree[queue.leaf[queue.ranked[row, least.rank]]]
        if _may_start(own.nodes, own.estimate, free, now, shadow_time, extra, strict):
            first = least.rank
            continue
        left = 2 * place
        right_first = tree[left + 1].rank < tree[left].rank
        stack[waiting] = left if right_first else left + 1
        stack[waiting + 1] = left + 1 if right_first else left
        waiting += 2
    return first


@inner_kernel
def _next_to_start(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    queue: LongQueue,
    row: int,
    free: int,
    shadow_time: float,
    extra: int,
) -> int:
    """Return the first job of the queue that may start; -1 if there is none."""
    now = state.engine.clock
    first = _first_to_start(queue, row, free, now, shadow_time, extra, rule.strict)
    if first == NOBODY:
        return -1
    chosen = queue.ranked[row, first]
    if queue.peers[row, first] > first + 1:
        best = score_of(jobs, chosen, estimates.queued[chosen], now, rule.order)
        for rank in range(first + 1, queue.peers[row, first]):
            job = queue.ranked[row, rank]
            own = queue.tree[queue.leaf[job]]
            if _may_start(own.nodes, own.estimate, free, now, shadow_time, extra, rule.strict):
                score = score_of(jobs, job, estimates.queued[job], now, rule.order)
                if score < best:  # ranks of equal scores are in the order of the jobs
                    chosen, best = job, score
    return int(chosen)


@inner_kernel
def _start_out_of(
    jobs: PackedJobs, state: State, estimates: Estimates, queue: LongQueue, job: int, blocked: int
) -> None:
    """Start a job that waits in the tree; the engine counts the jobs that are left in the queue."""
    _set(queue, job, NOBODY, np.inf, NOBODY)
    state.engine.head += 1
    start(jobs, state, estimates, job, jobs.nodes[job], blocked)


@inner_kernel
def _one_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    queue: LongQueue,
    row: int,
) -> None:
    """Make the decisions of one call, as `_kernels_queue.one_pass` does.

    A job that may not start at its turn may not do so later in the call, as nodes only become fewer. So the
    search takes all of the queue each time, also beside the reservation of the last call.
    """
    engine = state.engine
    everything = NOBODY - 1
    shadow_time, extra = np.inf, 0
    head = -1
    while engine.head < engine.tail:
        head = _next_to_start(jobs, state, estimates, rule, queue, row, everything, np.inf, 0)
        if jobs.nodes[head] > engine.free:
            break
        _start_out_of(jobs, state, estimates, queue, head, -1)
    if memory.flags[1] and not engine.completed and memory.shadow_time[0] >= engine.clock:
        shadow_time, extra = memory.shadow_time[0], memory.extra[0]
    else:
        memory.flags[1] = 0
        if not engine.free or engine.head + 1 >= engine.tail:
            return
        if rule.kind == EASY:
            shadow_time, extra = reservation(state, jobs.nodes[head])
            if not rule.extra_nodes:
                extra = 0
    while engine.free:
        job = _next_to_start(jobs, state, estimates, rule, queue, row, engine.free, shadow_time, extra)
        if job < 0:
            break
        end = engine.clock + estimates.queued[job]
        if not (end < shadow_time or (end == shadow_time and not rule.strict)):
            extra -= jobs.nodes[job]
        _start_out_of(jobs, state, estimates, queue, job, head)
    if memory.flags[0]:
        memory.flags[1] = 1
        memory.shadow_time[0], memory.extra[0] = shadow_time, extra


@kernel
def run_long(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    queue: LongQueue,
    coalesce: bool,
) -> None:
    """Run a workload of rigid jobs to its end, under first fit or EASY with a look at all jobs."""
    engine, row = state.engine, 0
    while advance(state, np.inf, coalesce):
        if row + 1 < len(queue.rank) and engine.clock > jobs.submit[0]:
            row += 1
            _rank_again(queue, row)
        for at in range(engine.completed, engine.completed + engine.submitted):
            job = state.events[at]
            _set(queue, job, jobs.nodes[job], estimates.queued[job], queue.rank[row, job])
        _one_pass(jobs, state, estimates, rule, memory, queue, row)


#: Scores that differ by a larger part than this are in the same order at any time: rounding makes less than
#: 32 times 2^-53 of it.
_ROUNDING: Final = 1e-14
#: Between these many seconds, no score is too large or too small for its digits.
_LEAST_SECONDS: Final = 1e-20
_MOST_SECONDS: Final = 1e20


def long_queue(jobs: PackedJobs, estimate: FloatArray, order: int) -> LongQueue | None:
    """Return an empty queue for rigid jobs; None if ranks of an order that changes with time are not certain.

    They are certain if all jobs are submitted at one instant: all waits are equal then, so they change no
    order, except for rounding.
    Waiting jobs are scored and backfilled by `estimate`, in seconds; `order` is a code of `ORDER_CODES`.
    O(jobs log jobs).
    """
    count = len(estimate)
    if order < FIRST_AGING:
        scores = jobs.submit if order == ORDER_CODES["submission"] else _scored(jobs, estimate, 0.0, order)[0]
        ranked = [np.lexsort((jobs.submit, scores))]
        peers = [np.arange(1, count + 1)]
    else:
        times = np.concatenate([estimate, jobs.runtime])
        if np.ptp(jobs.submit) or times.min() < _LEAST_SECONDS or times.max() > _MOST_SECONDS:
            return None
        at_once, _ = _scored(jobs, estimate, float(jobs.submit[0]), order)
        later, behind = _aged(jobs, estimate, order)
        ranked = [np.argsort(at_once, kind="stable"), later]
        peers = [np.arange(1, count + 1), behind]
    rank = np.empty((len(ranked), count), dtype=np.int64)
    for row, order_of_jobs in enumerate(ranked):
        rank[row, order_of_jobs] = np.arange(count)
    depth = max(count - 1, 1).bit_length()
    return LongQueue(
        tree=records(Least, 2 << depth, nodes=NOBODY, estimate=np.inf, rank=NOBODY),
        leaf=_leaves(jobs.nodes, estimate, depth),
        rank=rank,
        ranked=np.array(ranked),
        peers=np.array(peers),
        stack=np.empty(depth + 2, dtype=np.int64),
    )


def _scored(jobs: PackedJobs, estimate: FloatArray, now: float, order: int) -> tuple[FloatArray, FloatArray]:
    """Return the scores at a time, and the divisors of UNICEF."""
    scores, divisors = np.empty(len(estimate)), np.empty(len(estimate))
    score_all(jobs, estimate, now, order, scores, divisors)
    return scores, divisors


def _aged(jobs: PackedJobs, estimate: FloatArray, order: int) -> tuple[IntArray, IntArray]:
    """Return the jobs in an order that changes with time, after any wait, and the peers by rank.

    Jobs whose scores are equal but for rounding are in the order of their numbers, which is right if they are
    equal with it, too: jobs with one divisor under UNICEF; under WFP3 those whose nodes and estimates have
    the same digits, as a power of two changes no digit.
    """
    at_origin = jobs._replace(submit=frozen(np.zeros(len(estimate))))
    scores, divisors = _scored(at_origin, estimate, 1.0, order)
    if order == ORDER_CODES["unicef"]:
        digits = [divisors]
    else:
        digits = [np.frexp(jobs.nodes.astype(np.float64))[0], np.frexp(estimate)[0]]
    by_score = np.argsort(scores, kind="stable")
    before, after = scores[by_score[:-1]], scores[by_score[1:]]
    # where scores are infinite they are equal, or one of them is finite: the second
    with np.errstate(invalid="ignore"):
        new = (before != after) & (after - before > _ROUNDING * -after)
    group = np.zeros(len(scores), dtype=np.int64)
    group[by_score[1:]] = np.cumsum(new)
    ranked = np.argsort(group, kind="stable")
    of_rank = group[ranked]
    same = of_rank[1:] == of_rank[:-1]
    differ = np.zeros(len(same), dtype=bool)
    for column in digits:
        differ |= column[ranked[1:]] != column[ranked[:-1]]
    uncertain = np.zeros(int(of_rank[-1]) + 1, dtype=bool)
    uncertain[of_rank[1:][same & differ]] = True
    behind = np.searchsorted(of_rank, of_rank, side="right")
    return ranked, np.where(uncertain[of_rank], behind, np.arange(1, len(scores) + 1))


def _leaves(nodes: IntArray, estimate: FloatArray, depth: int) -> IntArray:
    """Return the leaves: at each depth half of the jobs go left, by nodes and by estimates in turn.

    Ties, and places without jobs, are split as well, in the order of the jobs.
    """
    count, places = len(nodes), 1 << depth
    vacant = np.arange(count, places)
    # Both list the places of one subtree after those of the other, in each sorted by one of the numbers.
    split = np.concatenate([np.argsort(nodes, kind="stable"), vacant])
    other = np.concatenate([np.argsort(estimate, kind="stable"), vacant])
    goes_right = np.empty(places, dtype=bool)
    for at in range(depth):
        half = places >> (at + 1)
        halves = split.reshape(-1, 2, half)
        goes_right[halves[:, 0]], goes_right[halves[:, 1]] = False, True
        right = goes_right[other]
        sides = [other[~right].reshape(-1, half), other[right].reshape(-1, half)]
        split, other = np.stack(sides, axis=1).ravel(), split
    leaf = np.empty(places, dtype=np.int64)
    leaf[split] = np.arange(places, 2 * places)
    return leaf[:count]
