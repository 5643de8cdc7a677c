"""List scheduling as a kernel: applications placed one after the other in a given order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics._jit import kernel
from allocsolve.heuristics._kernels_fit import add, compact, place

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["anneal_order", "list_schedule"]


@kernel
def _place_all(
    order: IntArray,
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
    starts: IntArray,
    profile: IntArray,
    work: IntArray,
) -> None:
    """Write the starts of all steps into `starts`, shape (steps,).

    `profile` has shape (2, steps + applications + 1), `work` (3, >= steps of any application).
    """
    times, usage = profile[0], profile[1]
    times[0] = 0
    usage[0] = 0
    count = 1
    for app in order:
        a, b = offsets[app], offsets[app + 1]
        ds, ns, ls, placed = durations[a:b], nodes[a:b], max_durations[a:b], starts[a:b]
        place(times, usage, count, ds, ns, ls, num_nodes, releases[app], placed, work)
        completion = placed[-1] + ds[-1]
        # An application that was not stretched has nothing to gain.
        stretched = completion - placed[0] > ds.sum()
        late = work[2, : b - a]
        if compacting and stretched and compact(times, usage, count, ds, ns, ls, num_nodes, completion, late):
            placed[:] = late
        count = add(times, usage, count, placed, ns, completion)


@kernel
def list_schedule(
    order: IntArray,
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
) -> IntArray:
    """Return the starts of all steps, shape (steps,).

    `order` may name some of the applications only; the steps of the others keep start 0.
    """
    longest = 0
    for app in range(len(releases)):
        longest = max(longest, offsets[app + 1] - offsets[app])
    starts = np.zeros(len(durations), dtype=np.int64)
    profile = np.empty((2, len(durations) + len(releases) + 1), dtype=np.int64)
    work = np.empty((3, longest), dtype=np.int64)
    _place_all(
        order,
        offsets,
        durations,
        nodes,
        max_durations,
        releases,
        num_nodes,
        compacting,
        starts,
        profile,
        work,
    )
    return starts


@kernel
def anneal_order(
    order: IntArray,
    offsets: IntArray,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    releases: IntArray,
    num_nodes: int,
    compacting: bool,
    weight: tuple[float, float],
    temperatures: tuple[float, float],
    iterations: int,
    seed: int,
) -> tuple[float, IntArray]:
    """Return the least cost met and its step starts, by simulated annealing over list orders.

    The cost is ``weight[0] * makespan + weight[1] * total completion``; a move swaps two applications or
    inserts one elsewhere; the temperature falls geometrically from the first to the second of
    `temperatures`. Needs at least one application.
    """
    np.random.seed(seed)  # noqa: NPY002 - jitted code has its own generator, private to this thread
    num_apps = len(order)
    longest = 0
    for app in range(num_apps):
        longest = max(longest, offsets[app + 1] - offsets[app])
    starts = np.zeros(len(durations), dtype=np.int64)
    profile = np.empty((2, len(durations) + num_apps + 1), dtype=np.int64)
    work = np.empty((3, longest), dtype=np.int64)
    current = order.copy()
    trial = order.copy()
    best_starts = starts.copy()
    current_cost = np.inf
    best_cost = np.inf
    temperature = temperatures[0]
    cooling = (temperatures[1] / temperatures[0]) ** (1.0 / max(iterations, 1))
    for _ in range(iterations + 1):
        _place_all(
            trial,
            offsets,
            durations,
            nodes,
            max_durations,
            releases,
            num_nodes,
            compacting,
            starts,
            profile,
            work,
        )
        makespan, total = 0, 0
        for app in range(num_apps):
            completion = starts[offsets[app + 1] - 1] + durations[offsets[app + 1] - 1]
            makespan = max(makespan, completion)
            total += completion
        cost = weight[0] * makespan + weight[1] * total
        worse = cost - current_cost
        if worse <= 0 or np.random.random() < np.exp(-worse / temperature):  # noqa: NPY002 - as above
            current[:] = trial
            current_cost = cost
            if cost < best_cost:
                best_cost = cost
                best_starts[:] = starts
        trial[:] = current
        a, b = np.random.randint(num_apps), np.random.randint(num_apps)  # noqa: NPY002 - as above
        if np.random.random() < 0.5:  # noqa: NPY002 - as above
            trial[a], trial[b] = current[b], current[a]
        else:
            moved = current[a]
            step = 1 if b > a else -1
            for k in range(a, b, step):
                trial[k] = current[k + step]
            trial[b] = moved
        temperature *= cooling
    return best_cost, best_starts
