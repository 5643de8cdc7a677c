"""Who holds which nodes when: rectangles over time and curve rank, or samples where they are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.judge.reservation_shape import curve_bits
from allocsolve.model import node_order
from allocsolve.pictures._workload_series import binned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import FloatArray, IntArray, ReservationProblem, ReservationSchedule, Topology

__all__ = ["Boxes", "boxes_within", "busy_instants", "curve_ranks", "held_nodes", "holders", "time_span"]

#: More rectangles are sampled: at so many instants, on so many ranks.
_MOST_BOXES: Final = 2000
_INSTANTS: Final = 300
_ROWS: Final = 128


class Boxes(NamedTuple):
    """Rectangles over time and rank, as columns of shape (boxes,)."""

    job: IntArray
    start: FloatArray  #: seconds
    end: FloatArray
    low: FloatArray  #: first rank
    high: FloatArray  #: behind the last rank
    sampled_s: float  #: seconds from a sample to the next; 0 if the rectangles are exact


def curve_ranks(topology: Topology) -> IntArray:
    """Return the rank of each node on the Hilbert curve, shape (nodes,)."""
    ranks = np.empty(topology.num_nodes, dtype=np.int64)
    ranks[node_order(topology, "hilbert", bits=curve_bits(topology))] = np.arange(topology.num_nodes)
    return ranks


def time_span(problem: ReservationProblem, schedules: Sequence[ReservationSchedule]) -> tuple[float, float]:
    """Return the time from the first arrival to the last end of a hold, in seconds; never empty."""
    first = float(problem.packed.arrival.min(initial=2**53)) if len(problem.jobs) else 0.0
    last = max((float(one.hold_ends.max(initial=first)) for one in schedules), default=first)
    return first, last if last > first else first + 1.0


def boxes_within(
    problem: ReservationProblem, schedule: ReservationSchedule, window: tuple[float, float]
) -> Boxes:
    """Return what jobs hold in a window of time (seconds), each run of consecutive ranks as one rectangle.

    Where that makes too many rectangles, they are those of evenly spaced instants and ranks. O(holds log
    holds + nodes log holds).
    """
    ranks = curve_ranks(problem.topology)[schedule.nodes]
    inside = (schedule.hold_starts < window[1]) & (schedule.hold_ends > window[0])
    job = schedule.job_of_hold[inside]
    starts, ends = (np.clip(times[inside], *window) for times in (schedule.hold_starts, schedule.hold_ends))
    exact = _runs(job, starts, ends, ranks[inside])
    if len(exact.job) <= _MOST_BOXES:
        return exact
    return _sampled(problem, schedule, window)


def _runs(job: IntArray, starts: FloatArray, ends: FloatArray, ranks: IntArray, step_s: float = 0.0) -> Boxes:
    """Unite cells of one job and time whose ranks are consecutive."""
    order = np.lexsort((ranks, ends, starts, job))
    job, starts, ends, ranks = job[order], starts[order], ends[order], ranks[order]
    same = (job[1:] == job[:-1]) & (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1])
    is_first = np.ones(len(job), dtype=np.bool_)
    is_first[1:] = ~(same & (ranks[1:] == ranks[:-1] + 1))
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(job))[: len(first)] - 1
    low, high = ranks[first].astype(np.float64), ranks[last] + 1.0
    return Boxes(job[first], starts[first], ends[first], low, high, step_s)


def _sampled(
    problem: ReservationProblem, schedule: ReservationSchedule, window: tuple[float, float]
) -> Boxes:
    num_nodes = problem.topology.num_nodes
    rows = min(num_nodes, _ROWS)
    edges = np.linspace(*window, _INSTANTS + 1)
    by_rank = np.argsort(curve_ranks(problem.topology))
    chosen = by_rank[((np.arange(rows) + 0.5) * num_nodes / rows).astype(np.int64)]
    cells = holders(schedule, (edges[1:] + edges[:-1]) / 2, chosen)
    changes = np.ones((rows, _INSTANTS), dtype=np.bool_)
    changes[:, 1:] = cells[:, 1:] != cells[:, :-1]
    row, first = np.nonzero(changes)
    flat = row * _INSTANTS + first
    last = np.append(flat[1:], rows * _INSTANTS) - row * _INSTANTS
    job = cells[row, first]
    held = job >= 0
    step = float(edges[1] - edges[0])
    boxes = _runs(job[held], edges[first[held]], edges[last[held]], row[held], step)
    scale = num_nodes / rows
    return boxes._replace(low=boxes.low * scale, high=boxes.high * scale)


def holders(schedule: ReservationSchedule, times: FloatArray, nodes: IntArray) -> IntArray:
    """Return which job holds each of some nodes at each of some instants; -1 where none does.

    Parameters
    ----------
    schedule
        The schedule.
    times
        Shape (times,), seconds.
    nodes
        Shape (nodes,).

    Returns
    -------
    IntArray
        Shape (nodes, times). O(holds log holds + nodes * times log holds).
    """
    order = np.lexsort((schedule.hold_starts, schedule.nodes))
    starts, ends = schedule.hold_starts[order], schedule.hold_ends[order]
    job, node_of = schedule.job_of_hold[order], schedule.nodes[order]
    bounds = np.searchsorted(node_of, nodes), np.searchsorted(node_of, nodes, side="right")
    held = np.full((len(nodes), len(times)), -1, dtype=np.int64)
    for idx, (first, behind) in enumerate(zip(*(bound.tolist() for bound in bounds), strict=True)):
        if first == behind:
            continue
        at = first + np.searchsorted(starts[first:behind], times, side="right") - 1
        row = np.maximum(at, first)
        there = (at >= first) & (times < ends[row])
        held[idx, there] = job[row[there]]
    return held


def held_nodes(schedule: ReservationSchedule, window: tuple[float, float], bins: int) -> FloatArray:
    """Return how many nodes are held, as means over equal parts of a window (seconds); shape (bins,)."""
    ones, first = np.ones(len(schedule.nodes)), window[0]
    # Counted from the start of the window, as parts of a second are lost on late times.
    times = np.concatenate([schedule.hold_starts, schedule.hold_ends]) - first
    edges = np.linspace(0, window[1] - first, bins + 1)
    return binned(times, np.concatenate([ones, -ones]), edges)


def busy_instants(schedule: ReservationSchedule, count: int) -> list[float]:
    """Return instants between which about as many node-seconds are held, in seconds; none without holds."""
    if not len(schedule.nodes):
        return []
    times = np.concatenate([schedule.hold_starts, schedule.hold_ends])
    changes = np.repeat([1.0, -1.0], len(schedule.nodes))
    order = np.argsort(times, kind="stable")
    moments, level = times[order], np.cumsum(changes[order])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(moments))])
    shares = (np.arange(count) + 0.5) / count
    instants: list[float] = np.unique(np.interp(shares * area[-1], area, moments)).tolist()
    return instants
