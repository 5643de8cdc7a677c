"""Nodes for jobs that have starts: of the shape that a problem asks for."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.reservation._kernels_labels import label_nodes
from allocsolve.judge.reservation_shape import curve_bits
from allocsolve.model import BOOKED, REJECTED, ReservationSchedule, frozen, node_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import BoolArray, IntArray, ReservationProblem, Topology

__all__ = ["placed"]


def placed(problem: ReservationProblem, starts: IntArray) -> ReservationSchedule:
    """Return a schedule of bookings from starts that fit the machine by count.

    Parameters
    ----------
    problem
        The problem.
    starts
        Shape (jobs,), seconds; negative for a rejected job.

    Notes
    -----
    Sets of any shape always exist: in order of starts, each job takes free nodes. Runs and connected sets are
    taken in order of starts, too, from the shortest free run or the smallest free part that suffices; a job
    for which there is none waits for the next end of another, and is rejected if it comes too late.
    *Complexity*: O(nodes of all jobs) for any shape, else O(jobs * nodes of the machine) for each wait.
    """
    if problem.shape == "any":
        return _labelled(problem, starts)
    choose = _run_chooser(problem.topology) if problem.shape == "run" else _part_chooser(problem.topology)
    return _in_time_order(problem, starts, choose)


def _labelled(problem: ReservationProblem, starts: IntArray) -> ReservationSchedule:
    packed = problem.packed
    accepted = np.flatnonzero(starts >= 0)
    offsets = np.concatenate([[0], np.cumsum(np.where(starts >= 0, packed.nodes, 0))])
    nodes = np.empty(int(offsets[-1]), dtype=np.int64)
    ends = starts + packed.runtime
    by_start = accepted[np.argsort(starts[accepted], kind="stable")]
    by_end = accepted[np.argsort(ends[accepted], kind="stable")]
    columns = (starts.astype(np.int64), ends.astype(np.int64))
    label_nodes(
        frozen(by_start),
        frozen(by_end),
        (frozen(columns[0]), frozen(columns[1])),
        frozen(offsets),
        problem.topology.num_nodes,
        nodes,
    )
    outcomes = np.where(starts >= 0, BOOKED, REJECTED)
    return ReservationSchedule.of_sets(problem, outcomes, starts, offsets, nodes)


def _in_time_order(
    problem: ReservationProblem,
    starts: IntArray,
    choose: Callable[[BoolArray, int], IntArray | None],
) -> ReservationSchedule:
    packed = problem.packed
    latest = (packed.deadline - packed.runtime).tolist()
    until = np.zeros(problem.topology.num_nodes, dtype=np.int64)  # when each node is left
    waiting = [(int(starts[job]), latest[job], job) for job in np.flatnonzero(starts >= 0).tolist()]
    heapq.heapify(waiting)
    bookings: dict[int, tuple[int, list[int]]] = {}
    while waiting:
        moment, last, job = heapq.heappop(waiting)
        nodes = choose(until <= moment, int(packed.nodes[job]))
        if nodes is not None:
            until[nodes] = moment + int(packed.runtime[job])
            bookings[job] = moment, nodes.tolist()
            continue
        later = int(until[until > moment].min())
        if later <= last:
            heapq.heappush(waiting, (later, last, job))
    return ReservationSchedule.of(problem, bookings)


def _run_chooser(topology: Topology) -> Callable[[BoolArray, int], IntArray | None]:
    """Return a function that takes nodes from the shortest run of free ones on the Hilbert curve."""
    curve = node_order(topology, "hilbert", bits=curve_bits(topology))

    def choose(free: BoolArray, count: int) -> IntArray | None:
        turns = np.flatnonzero(np.diff(np.concatenate([[False], free[curve], [False]]).astype(np.int8)))
        begins, lengths = turns[::2], turns[1::2] - turns[::2]
        enough = np.flatnonzero(lengths >= count)
        if not len(enough):
            return None
        begin = begins[enough[np.argmin(lengths[enough])]]
        return curve[begin : begin + count]

    return choose


def _part_chooser(topology: Topology) -> Callable[[BoolArray, int], IntArray | None]:
    """Return a function that takes nodes from the smallest connected part of the free ones.

    They are those nearest, within the part, to its node of the fewest free neighbours.
    """
    neighbours = [topology.neighbours(node) for node in range(topology.num_nodes)]

    def reach(first: int, inside: set[int]) -> list[int]:
        met, seen = [first], {first}
        for node in met:
            near = [other for other in neighbours[node] if other in inside and other not in seen]
            seen.update(near)
            met += near
        return met

    def choose(free: BoolArray, count: int) -> IntArray | None:
        left = set(np.flatnonzero(free).tolist())
        parts: list[list[int]] = []
        while left:
            part = reach(min(left), left)
            left.difference_update(part)
            parts.append(part)
        enough = [part for part in parts if len(part) >= count]
        if not enough:
            return None
        _, chosen = min((len(part), part) for part in enough)
        inside = set(chosen)
        degree = {node: sum(other in inside for other in neighbours[node]) for node in sorted(inside)}
        corner = min(degree, key=lambda node: degree[node])
        return np.array(sorted(reach(corner, inside)[:count]), dtype=np.int64)

    return choose
