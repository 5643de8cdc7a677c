"""The coarsest exact time grid of an evolution problem, and where on it each step can lie.

Time is counted in units of the greatest common divisor of all durations, releases and binding limits on a
hold. That is exact. Take an optimal schedule and keep every relation "step i ends before step j starts"
that it satisfies: with durations, limits, releases and horizon these are difference constraints whose
right-hand sides are multiples of the unit. Every schedule that satisfies them fits the cluster: steps that
overlap in it pairwise did so before, and intervals that overlap pairwise share an instant (Helly). The matrix
is totally unimodular, so the vertices of this polyhedron are multiples of the unit; and makespan, sum of
completions and waste are attained at a vertex, lexicographic combinations too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from allocsolve.bounds import total_completion
from allocsolve.model import EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.model import EvolutionObjective, EvolutionProblem

__all__ = [
    "Times",
    "Window",
    "coarsened",
    "fits",
    "list_schedule",
    "objective_values",
    "time_unit",
    "windows",
]

#: Of each application: when its steps start, and when the last one ends.
Times: TypeAlias = "Sequence[Sequence[int]]"


def time_unit(problem: EvolutionProblem) -> int:
    """Return the greatest common divisor of all times that bind, in seconds (proof: see the module)."""
    limits = problem.packed.max_durations
    binding = limits[limits < problem.horizon]  # the others never bind within the horizon
    return math.gcd(*problem.packed.durations.tolist(), *problem.releases, *binding.tolist()) or 1


def coarsened(problem: EvolutionProblem, unit: int) -> EvolutionProblem:
    """Return the problem in units of `unit` seconds, a divisor of `time_unit`.

    The limits come out right: if unit divides floor(limit * d), it is unit * floor(limit * d / unit); and a
    limit that does not bind within the horizon still does not.
    """
    apps = (
        EvolutionProfile(tuple((duration // unit, nodes) for duration, nodes in app.steps))
        for app in problem.applications
    )
    releases = tuple(release // unit for release in problem.releases)
    return replace(problem, applications=tuple(apps), releases=releases)


class Window(NamedTuple):
    """When the boundaries of an application can be: the starts of its steps and the end of the last."""

    #: Of each boundary, if nothing delays or expands the application.
    earliest: list[int]
    #: Latest minus earliest, which is one number for all boundaries.
    width: int
    #: Boundaries that do not follow the previous one at a fixed distance.
    free: list[int]


def windows(problem: EvolutionProblem, objective: EvolutionObjective, *, max_cells: int) -> list[Window]:
    """Return windows that contain some optimal schedule.

    The first and the last step are not expanded: starting later, or letting go earlier, harms no objective.

    Parameters
    ----------
    problem
        With all times in the unit of the windows.
    objective
        Of the optimal schedule.
    max_cells
        List schedules narrow the windows unless applications times time line are more cells than this.
    """
    places = []
    limits = problem.packed.max_durations.tolist()
    for idx, deadline in enumerate(_deadlines(problem, objective, max_cells)):
        app, release = problem.applications[idx], problem.releases[idx]
        first = int(problem.packed.offsets[idx])
        inner = range(1, len(app.steps) - 1)
        places.append(
            Window(
                earliest=list(accumulate(app.durations, initial=release)),
                width=deadline - release - app.duration,
                free=[0, *(step + 1 for step in inner if limits[first + step] > app.durations[step])],
            )
        )
    return places


def _deadlines(problem: EvolutionProblem, objective: EvolutionObjective, max_cells: int) -> list[int]:
    """Return completions that some optimal schedule keeps.

    A schedule without expansion wastes nothing, the least there is. So an optimal schedule is at least as
    good as it in the first other term, whether or not waste comes before; and if waste is all, it is optimal.
    """
    apps = problem.applications
    if not apps or len(apps) * (problem.horizon - min(problem.releases)) > max_cells:
        return [problem.horizon] * len(apps)
    term = next((term for term in objective if term != "waste"), "makespan")
    value = max if term == "makespan" else sum
    orders = (
        sorted(range(len(apps)), key=lambda idx: -keys[idx])
        for keys in ([0] * len(apps), [app.area for app in apps], [app.duration for app in apps])
    )
    best = min((list_schedule(problem, order) for order in orders), key=value)
    if term == "makespan":
        return [max(best)] * len(apps)
    spare = sum(best) - total_completion(problem)
    released = zip(problem.releases, apps, strict=True)
    return [min(problem.horizon, release + app.duration + spare) for release, app in released]


def list_schedule(problem: EvolutionProblem, order: Iterable[int]) -> list[int]:
    """Return the completions when each application in turn starts as early as it fits, unexpanded.

    On an array of the whole time line, O(steps * span): an exact model shall not rest on the kernels that it
    is there to check.
    """
    origin = min(problem.releases)
    used = np.zeros(problem.horizon - origin, dtype=np.int64)
    completions = [0] * len(problem.applications)
    for idx in order:
        app, first = problem.applications[idx], problem.releases[idx] - origin
        num_starts = len(used) - app.duration - first + 1
        possible = np.ones(num_starts, dtype=bool)
        begin = first
        for duration, nodes in app.steps:
            over = np.cumsum(np.concatenate([[0], used > problem.num_nodes - nodes]))
            end = begin + duration
            possible &= over[end : end + num_starts] == over[begin : begin + num_starts]
            begin = end
        start = first + int(possible.argmax())  # after all others it fits
        used[start : start + app.duration] += np.repeat(app.nodes, app.durations)
        completions[idx] = origin + start + app.duration
    return completions


def fits(problem: EvolutionProblem, times: Times) -> bool:
    """Tell whether the times keep releases, durations and limits, and never need more than all nodes."""
    limits = iter(problem.packed.max_durations.tolist())
    changes = []
    for release, app, row in zip(problem.releases, problem.applications, times, strict=True):
        if row[0] < release:
            return False
        for (duration, nodes), (start, end) in zip(app.steps, pairwise(row), strict=True):
            if not duration <= end - start <= next(limits):
                return False
            changes += [(start, nodes), (end, -nodes)]
    # At the same time, what is let go comes before what is taken.
    return max(accumulate(nodes for _, nodes in sorted(changes)), default=0) <= problem.num_nodes


def objective_values(
    problem: EvolutionProblem, times: Times, objective: EvolutionObjective
) -> tuple[int, ...]:
    """Return the terms of the objective: makespan, total completion, waste."""
    ends = [row[-1] for row in times]
    held = sum(
        nodes * (end - start)
        for app, row in zip(problem.applications, times, strict=True)
        for nodes, (start, end) in zip(app.nodes, pairwise(row), strict=True)
    )
    values = {"makespan": max(ends, default=0), "completion": sum(ends), "waste": held - problem.area}
    return tuple(values[term] for term in objective)
