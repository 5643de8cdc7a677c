"""The judge of machines with counted resources and closed windows: what is held and what there is, when."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.judge.messages import shown_seconds
from allocsolve.judge.sums import held_after
from allocsolve.judge.workload.places import open_amount_seconds, place_violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import ClosedWindow, FloatArray, IntArray, WorkloadProblem, WorkloadSchedule


def machine_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, left: FloatArray, tolerance: float
) -> list[str]:
    """Return a line for each span of time in which jobs hold more of a resource than is there.

    Nodes come first. What a piece holds is there for others from the time on that is in `left`; windows may
    end up to `tolerance` seconds late. What is given back at an instant is there for jobs that take it at
    that instant. O(resources x (pieces + windows) log pieces).
    """
    job_of = np.repeat(np.arange(len(schedule.offsets) - 1), np.diff(schedule.offsets))
    times = schedule.starts, left, schedule.ends
    lines = []
    for name, there in resources_of(problem).items():
        if name == "nodes" and problem.node_types:
            lines += place_violations(problem, schedule, left, tolerance)
            continue
        held = schedule.nodes if name == "nodes" else needed(problem, name)[job_of]
        lines += _overloads(problem, times, held, name, there, tolerance)
    return lines


def resources_of(problem: WorkloadProblem) -> dict[str, int]:
    """Return how much there is of each resource; nodes are the first one."""
    return {"nodes": problem.num_nodes, **dict(problem.resources)}


def closures(problem: WorkloadProblem, name: str) -> Iterator[tuple[ClosedWindow, int]]:
    """Yield the windows that close a part of a resource, each with how much of it."""
    there = resources_of(problem)[name]
    for window in problem.closed:
        amount = dict(window.amounts).get(name, 0) if window.amounts else there
        if amount:
            yield window, amount


def closures_in_units(
    problem: WorkloadProblem, name: str, per_second: int, shorter: int
) -> Iterator[tuple[int, int, int]]:
    """Yield begin, end and amount of these in units of time, rounded to the inside and shorter by some."""
    for window, amount in closures(problem, name):
        begin = math.ceil(Fraction(window.start) * per_second)
        end = math.floor(Fraction(window.end) * per_second) - shorter
        if begin < end:
            yield begin, end, amount


def needed(problem: WorkloadProblem, name: str) -> IntArray:
    """Return how much of a resource each job needs."""
    nodes, asked = problem.jobs.packed.nodes, problem.jobs.requirements
    if name == "nodes":
        return nodes
    needs = np.zeros(len(nodes), dtype=np.int64)
    for idx, mine in enumerate(asked.needs):
        needs[idx] = dict(mine).get(name, 0)
    for idx, partition in enumerate(asked.partitions):
        if partition == name:
            needs[idx] = nodes[idx]
    return needs


def _overloads(
    problem: WorkloadProblem,
    times: tuple[FloatArray, FloatArray, FloatArray],
    held: IntArray,
    name: str,
    there: int,
    tolerance: float,
) -> list[str]:
    """Return the lines for one resource, of which each piece holds so much.

    `times` are the starts of the pieces, from when on others may have what they hold, and their ends.
    """
    begins, ends, amounts = _closures(problem, name)
    starts, left, piece_ends = times
    given_back = np.maximum(ends - tolerance, begins)
    counted = np.concatenate([starts, left, begins, given_back])
    moments, first_at, at = np.unique(counted, return_index=True, return_inverse=True)
    shown = np.concatenate([starts, piece_ends, begins, ends])[first_at]
    pieces = len(held)
    use = held_after(len(moments), held, *np.split(at[: 2 * pieces], 2))
    closed = held_after(len(moments), amounts, *np.split(at[2 * pieces :], 2))
    free = np.maximum(there - closed, 0)
    excess = use - free
    over = excess > 0
    lines = []
    for first in np.flatnonzero(over & ~np.concatenate([[False], over[:-1]])).tolist():
        until = first + int(np.argmin(over[first:]))
        peak = first + int(np.argmax(excess[first:until]))
        lines.append(
            f"from {shown_seconds(shown[first])} s to {shown_seconds(shown[until])} s more "
            f"{name} are held than there are, most at {shown_seconds(shown[peak])} s: "
            f"{use[peak]} of {free[peak]}"
        )
    return lines


def _closures(problem: WorkloadProblem, name: str) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return starts and ends (seconds) of the windows that close a part of a resource, and how much of it."""
    rows = [(window.start, window.end, amount) for window, amount in closures(problem, name)]
    begins, ends, amounts = zip(*rows, strict=True) if rows else ((), (), ())
    return (
        np.array(begins, dtype=np.float64),
        np.array(ends, dtype=np.float64),
        np.array(amounts, dtype=np.int64),
    )


def early_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """Return a line for each job that starts after its submission, but before it is eligible."""
    eligible = problem.jobs.requirements.eligible
    if not len(eligible):
        return []
    starts = schedule.first_starts
    early = (starts < eligible - tolerance) & (starts >= problem.jobs.packed.submit - tolerance)
    return [
        f"job {problem.jobs.names[idx]!r} starts at {shown_seconds(starts[idx])} s, "
        f"before it is eligible at {shown_seconds(eligible[idx])} s"
        for idx in np.flatnonzero(early).tolist()
    ]


def open_node_seconds(problem: WorkloadProblem, first: float, last: float) -> float:
    """Return the node-seconds that are there from an instant to another one.

    Where nodes are places, it is what they have of what is scarcest.
    """
    if problem.node_types:
        return open_amount_seconds(problem, first, last)
    begins, ends, amounts = _closures(problem, "nodes")
    edges = np.unique(np.concatenate([begins, ends, [first, last]]).clip(first, last))
    at = (np.searchsorted(edges, times.clip(first, last)) for times in (begins, ends))
    closed = held_after(len(edges), amounts, *at)[:-1]
    open_nodes = np.maximum(problem.num_nodes - closed, 0)
    return float((open_nodes * np.diff(edges)).sum())
