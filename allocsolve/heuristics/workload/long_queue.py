"""The tree of a queue in which very many jobs wait, see `_kernels_long_queue`: its leaves and its ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.workload._kernels_long_queue import NOBODY, Least, LongQueue, score_all
from allocsolve.heuristics.workload._kernels_queue import FIRST_AGING, ORDER_CODES
from allocsolve.kernels.records import records
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedJobs

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
